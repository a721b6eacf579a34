// Files of patterns, and their translation by mlir-pdll.

#include "cupel/compiler/fusions/Fusions.h"

#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include "llvm/ADT/StringRef.h"

#include <filesystem>
#include <map>
#include <mutex>

namespace cupel::compiler {

/// By the text of the file: programs are compiled one after another with the same patterns.
static Result<std::string> translated(const std::string &file, const std::string &text) {
  static std::mutex mutex;
  static auto &known = *new std::map<std::pair<std::string, std::string>, std::string>;
  std::lock_guard lock(mutex);
  if (auto found = known.find({file, text}); found != known.end())
    return found->second;
  std::string tool;
  for (const char *name : {"mlir-pdll-19", "mlir-pdll"})
    if (tool.empty())
      tool = findOnPath(name);
  if (tool.empty())
    return Error{ErrorCode::Unsupported,
                 "mlir-pdll is not installed, which translates .pdll (Debian's package mlir-19-tools); a file of the PDL dialect "
                 "(mlir-pdll -x=mlir) needs no tool"};
  std::string folder = std::filesystem::path(file).parent_path().string();
  Result<CommandOutput> output = runCommand({tool, "-x=mlir", "-I", folder.empty() ? "." : folder, file});
  if (!output)
    return output.error().within(file);
  if (output->exitCode != 0)
    return Error{ErrorCode::InvalidArgument, file + " is no file of patterns:\n" + output->text};
  return known[{file, text}] = output->text;
}

Result<std::string> readFusions(const std::string &files) {
  std::string all;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(files).split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names) {
    std::string file = name.trim().str();
    Result<FileContents> contents = readInput(file);
    if (!contents)
      return contents.error().as(ErrorCode::InvalidArgument);
    std::string text(contents->bytes());
    if (llvm::StringRef(file).ends_with(".pdll")) {
      Result<std::string> made = translated(file, text);
      if (!made)
        return made.error();
      text = *made;
    }
    all += (all.empty() ? "" : "\n// -----\n") + text;
  }
  return all;
}

} // namespace cupel::compiler
