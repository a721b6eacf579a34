// Programs on whole tensors of which devices hold pieces, as shardings say: how arguments and results
// lie, and tests of such programs with whole values in the place of pieces, which the reference
// evaluates and which are taken apart like any others. Used by explain, by what makes programs ready
// for devices, and by what measures noise. It never decides how a device computes: it follows what the program states.
#pragma once

#include "cupel/tensor/Shards.h"
#include "cupel/testbench/worker/Device.h"
#include "cupel/testbench/worker/Prepared.h"

#include <mlir/IR/BuiltinOps.h>

namespace cupel::testbench::worker {

/// How the arguments and results of a program lie on its devices.
struct Spread {
  std::vector<tensor::Shards> arguments, results;
};

/// What a program says of that; what it says nothing of lies whole on every device. An error where it
/// makes no sense, or where pieces would not be of one size.
Result<Spread> spreadOf(mlir::ModuleOp module, uint32_t devices);

/// Whether a program says of tensors that devices hold pieces of them.
bool speaksOfPieces(mlir::ModuleOp module);

/// Whether this is a saved test whose devices hold pieces of the tensors that its program is about.
bool isSpread(const Prepared &test);

/// Such a test with whole values. What its operations give is marked with how it lies
/// (compiler::kLiesAttr), so that the values of a part lie as they do in the whole.
Result<Prepared> gathered(const Prepared &test);

/// Such a test evaluated by the reference: pieces are put together, the program computes with whole
/// values, and every device gets what it would hold of the results; one list, where all hold all of it.
Result<RunWorkload> evaluatedWhole(Device &reference, const Prepared &test);

/// The inputs of such a test, each changed a little (nearbyInputs), as its devices hold them: copies of
/// a value stay copies, and what a program means by them is defined. Empty where nothing can be changed.
std::optional<TensorLists> nearbyPieces(const Prepared &test, uint32_t look);

/// The pieces that each device holds of these values.
Result<TensorLists> scattered(const std::vector<tensor::Tensor> &whole,
                              const std::vector<tensor::Shards> &shards, uint32_t devices);

/// What every device gave of a value, with this device's copy wherever others hold the same piece.
std::vector<tensor::Tensor> withCopyOf(size_t device, std::vector<tensor::Tensor> pieces,
                                       const tensor::Shards &shards);

/// The whole values out of what every device gave, of these types. Where devices hold different copies
/// of something, all values stand there once more, with a copy that differs: both must be right.
Result<std::vector<tensor::Tensor>> assembled(const TensorLists &given,
                                              const std::vector<tensor::Shards> &shards,
                                              const std::vector<ValueType> &types);

} // namespace cupel::testbench::worker
