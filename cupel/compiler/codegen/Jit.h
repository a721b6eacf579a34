// From LLVM IR to object code, and from object code to functions in this process: the only place
// that knows LLVM's code generator and JIT. Objects are plain bytes, so that they can be kept.

#pragma once

#include "cupel/compiler/codegen/Target.h"
#include "cupel/support/Error.h"

#include <memory>
#include <string>
#include <string_view>

namespace llvm {
class Module;
}

namespace cupel::codegen {

/// Functions in memory; freed when nobody has them any more.
class Code {
public:
  /// Links an object; thread-safe.
  static Result<std::shared_ptr<const Code>> link(std::string_view object);
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code();

  /// The address of a function, null if there is none of that name.
  void *function(const std::string &name) const;

private:
  struct Library;
  explicit Code(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library;
};

/// No passes run over the IR, but that functions which say so are inlined; the code generator works at
/// its default level. Thread-safe for
/// modules of different contexts.
Result<std::string> compileObject(llvm::Module &module, const Target &target);
/// The same as text for people.
Result<std::string> compileAssembly(llvm::Module &module, const Target &target);

} // namespace cupel::codegen
