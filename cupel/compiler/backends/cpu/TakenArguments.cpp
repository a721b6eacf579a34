// Donated arguments: results that may be written over an argument which the host has given away.
// Whether it has is known when a program runs; what is allowed is known when it is loaded.

#include "cupel/compiler/backends/cpu/LoadedProgram.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include "llvm/ADT/MapVector.h"

namespace cupel::compiler {

using namespace mlir;

/// Results look at so many arguments of their type.
static constexpr size_t kMostCandidates = 64;

void LoadedProgram::findTakenArguments(dev::ProgramOp program) {
  taken.assign(results.size(), -1);
  struct Argument {
    int number;
    int64_t lastRead = -1;
    bool isPacked = false; // Products keep what they packed by the memory that it was.
  };
  llvm::MapVector<Value, Argument> arguments;
  for (auto op : program.getBody().getOps<dev::ArgumentOp>())
    arguments[op.getBuffer()].number = int(op.getNumber());
  SmallVector<dev::LaunchOp> all(program.getBody().getOps<dev::LaunchOp>());
  for (auto [time, launch] : llvm::enumerate(all))
    for (Value buffer : launch.getReads())
      if (auto found = arguments.find(dev::rootOf(buffer)); found != arguments.end()) {
        found->second.lastRead = int64_t(time);
        found->second.isPacked |=
            isa<tir::ProductOp, tir::ConvolutionOp>(dev::workOf(launch));
      }
  llvm::DenseMap<Type, SmallVector<Value, 4>> byType;
  for (auto &[buffer, argument] : arguments)
    if (!argument.isPacked && dev::byteSizeOf(cast<dev::BufferType>(buffer.getType()).getTensor()))
      byType[buffer.getType()].push_back(buffer);
  for (auto [time, launch] : llvm::enumerate(all))
    for (auto [w, buffer] : llvm::enumerate(launch.getWrites())) {
      auto result = dev::rootOf(buffer).getDefiningOp<dev::ResultOp>();
      if (!result)
        continue;
      auto mayLieOn = [&](Value candidate) {
        if (arguments[candidate].lastRead < int64_t(time))
          return true;
        if (arguments[candidate].lastRead > int64_t(time))
          return false;
        for (auto [r, read] : llvm::enumerate(launch.getReads()))
          if (dev::rootOf(read) == candidate && !dev::mayWriteOver(launch, r, w))
            return false;
        return true;
      };
      auto &candidates = byType[result.getBuffer().getType()];
      for (size_t i = 0; i < std::min(candidates.size(), kMostCandidates); ++i)
        if (mayLieOn(candidates[i])) {
          taken[result.getNumber()] = arguments[candidates[i]].number;
          candidates.erase(candidates.begin() + i);
          break;
        }
    }
}

} // namespace cupel::compiler
