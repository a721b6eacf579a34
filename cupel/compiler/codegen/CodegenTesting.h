// What tests of generated code share: bodies from text, memory between guard pages, and kernels run
// in splits that no runtime would choose. Only tests use it.

#pragma once

#include "cupel/compiler/codegen/Codegen.h"
#include "cupel/ir/Dialects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace cupel::codegen {

/// Tests make the code that they test; CodeCacheTest alone has a cache on disk.
inline const int kWithoutCache = setenv("CUPEL_CODE_CACHE", "0", 1);

/// Bytes that end (or begin) where the next page must not be touched.
class GuardedBytes {
public:
  enum class Edge { End, Begin };
  GuardedBytes(size_t size, Edge edge = Edge::End) : size(size) {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    inside = (size + page - 1) / page * page + page;
    length = inside + 2 * page;
    memory = static_cast<char *>(
        mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED || mprotect(memory + page, inside, PROT_READ | PROT_WRITE))
      std::abort();
    bytes = edge == Edge::End ? memory + page + inside - size : memory + page;
    std::memset(memory + page, 0xa5, inside);
  }
  GuardedBytes(const GuardedBytes &) = delete;
  GuardedBytes &operator=(const GuardedBytes &) = delete;
  ~GuardedBytes() { munmap(memory, length); }

  char *data() const { return bytes; }
  template <typename T> T *as() const { return reinterpret_cast<T *>(bytes); }
  /// Whether all that lies beside the bytes in their pages is as it was.
  bool isClean() const {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (const char *at = memory + page; at < memory + page + inside; ++at)
      if ((at < bytes || at >= bytes + size) && *at != static_cast<char>(0xa5))
        return false;
    return true;
  }
  const size_t size;

private:
  size_t inside, length;
  char *memory, *bytes;
};

inline void PrintTo(const Target &target, std::ostream *os) {
  *os << target.cpu << ", " << target.lanes << " lanes";
}

/// Those of the instruction sets that this machine has.
inline std::vector<std::pair<std::string, Target>> namedTargets() {
  std::vector<std::pair<std::string, Target>> targets;
  for (const char *name : {"baseline", "avx2", "avx512"})
    if (Result<Target> target = Target::named(name))
      targets.emplace_back(name, *target);
  return targets;
}
/// And the host as it is.
inline std::vector<std::pair<std::string, Target>> allTargets() {
  auto targets = namedTargets();
  targets.emplace_back("host", Target::host());
  return targets;
}

/// Functions of a module of text as bodies.
class Bodies {
public:
  Bodies() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {}

  /// The body of the only function; null if the text does not parse.
  mlir::Block *parse(const std::string &text) {
    modules.push_back(
        mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context), "body.mlir"));
    if (!modules.back())
      return nullptr;
    auto functions = modules.back()->getOps<mlir::func::FuncOp>();
    return &(*functions.begin()).getBody().front();
  }

private:
  static const mlir::DialectRegistry &registry() {
    static const mlir::DialectRegistry all = [] {
      mlir::DialectRegistry registry;
      ir::registerAllDialects(registry);
      return registry;
    }();
    return all;
  }
  mlir::MLIRContext context;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
};

/// Runs all stages, each in pieces of 1 to `most` units in a shuffled order.
inline void runInPieces(const CompiledKernel &kernel, std::vector<const void *> inputs,
                        std::vector<void *> outputs, int64_t most, uint32_t seed = 1) {
  GuardedBytes workspace(static_cast<size_t>(kernel.workspaceBytes + 63) / 64 * 64);
  if (kernel.workspaceBytes)
    outputs.push_back(workspace.data());
  for (size_t i = 0; i < kernel.inputOffsets.size(); ++i)
    inputs[i] = static_cast<const std::byte *>(inputs[i]) + kernel.inputOffsets[i];
  std::mt19937 random(seed);
  for (const Stage &stage : kernel.stages) {
    std::vector<std::pair<int64_t, int64_t>> pieces;
    for (int64_t begin = 0; begin < stage.units;) {
      int64_t end = std::min<int64_t>(stage.units, begin + 1 + random() % most);
      pieces.emplace_back(begin, end);
      begin = end;
    }
    std::shuffle(pieces.begin(), pieces.end(), random);
    for (auto [begin, end] : pieces) {
      GuardedBytes scratch(static_cast<size_t>(kernel.scratchBytes + 63) / 64 * 64);
      stage.function(inputs.data(), outputs.data(), begin, end, scratch.data());
    }
  }
}

} // namespace cupel::codegen
