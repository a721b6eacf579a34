// A device program ready to run: buffers resolved to places, constants in memory, a kernel for every
// launch. Made once from device IR; run any number of times, also side by side.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"
#include "cupel/tensor/Tensor.h"

#include <map>
#include <mutex>
#include <vector>

namespace cupel::compiler {

/// What a program is made of, for reports.
struct ProgramReport {
  int64_t launches = 0, fallbacks = 0;
  int64_t arenaBytes = 0, constantBytes = 0;
  std::map<std::string, int64_t> kernels;   // Kind -> how many.
  std::map<std::string, int64_t> fallbackOps; // Operation -> how many run on the reference.
};

class LoadedProgram {
public:
  /// `functions` is a module for what is planned, which outlives the program.
  static Result<std::unique_ptr<LoadedProgram>> load(dev::ProgramOp program,
                                                     mlir::ModuleOp functions);

  Result<std::vector<tensor::Tensor>> run(reference::GridProcess &process,
                                          std::vector<tensor::Tensor> arguments) const;

  const ProgramReport &report() const { return contents; }

private:
  struct Buffer {
    enum Kind { Argument, Constant, Result, Place } kind;
    int64_t position; // Number of the argument, constant or result; offset in the arena.
  };
  struct Launch {
    KernelPointer kernel;
    std::vector<int> reads, writes; // Buffers.
  };
  struct ResultShape {
    tensor::ElementType type;
    tensor::Shape shape;
  };
  struct Free {
    void operator()(std::byte *memory) const;
  };
  using Memory = std::unique_ptr<std::byte, Free>;

  Memory takeArena() const;
  void giveArena(Memory memory) const;

  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<tensor::Tensor> constants;
  std::vector<ResultShape> results;
  size_t arenaBytes = 0;
  ProgramReport contents;
  mutable std::mutex mutex;
  mutable std::vector<Memory> idle; // Arenas of earlier runs.
};

} // namespace cupel::compiler
