// Values that follow from small arguments alone, such as the scales of normalisations whose weights
// are arguments: their launches write to a part of the frame that nothing else uses, and are left
// out of a run for which these arguments are the tensors of the run before. Used by LoadedProgram
// and Trace, for the main program only. Arguments that change from run to run cost a comparison.

#pragma once

#include "cupel/compiler/device/DeviceIr.h"
#include "cupel/tensor/Tensor.h"

#include <span>
#include <vector>

namespace cupel::compiler {

/// Which launches those are; known when a program is loaded.
class KeptPlan {
public:
  /// Results may be written over the arguments `taken` where these are given away: such are not held.
  static KeptPlan of(dev::ProgramOp program, llvm::ArrayRef<int> taken);

  struct Launch {
    uint32_t number;            // In the order of the program.
    std::vector<uint32_t> from; // Of `arguments`.
  };
  struct Place {
    mlir::Value buffer;
    int64_t offset; // From where kept values begin.
  };

  std::vector<int> arguments; // Their numbers.
  std::vector<Launch> launches;
  std::vector<Place> places;
  int64_t bytes = 0;
  size_t launchCount = 0; // Of the whole program.
};

/// What a frame has of them.
class KeptValues {
public:
  /// For a run with these arguments: of each launch, whether it is left out. Empty: none is.
  std::span<const uint8_t> begin(const KeptPlan &plan, std::span<const tensor::Tensor> given);
  /// The run has come to its end.
  void end() { isWhole = true; }
  /// What the frame holds is not known any more.
  void forget() { *this = KeptValues(); }

private:
  struct Seen {
    tensor::Tensor tensor; // Held: its memory is neither written to nor given to others meanwhile.
    uint8_t changes = 0;   // One after the other.
    bool isSame = false;
  };
  std::vector<Seen> seen;
  std::vector<uint8_t> left;
  bool isWhole = false; // Every launch of the plan has run since the last change.
};

} // namespace cupel::compiler
