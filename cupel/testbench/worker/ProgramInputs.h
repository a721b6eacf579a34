// What a program is run with and what is expected of it: tensors from the files beside it, else
// made from a seed. Used by the worker. Links no MLIR.
#pragma once

#include "cupel/testbench/worker/Device.h"

#include <map>
#include <optional>

namespace cupel::testbench::worker {

/// `NAME.inputs.safetensors` beside `file`, `NAME.N.inputs.safetensors` for part N of several;
/// empty where there is none. `kind` is `inputs`, `weights` or `expected`.
std::string companionFile(const std::string &file, uint32_t part, std::string_view kind);

/// A value for an argument of a replica, where no file has one.
using MakeUp = std::function<Result<tensor::Tensor>(size_t argument, uint32_t replica)>;

/// The program's arguments: from its companion, by name or position, else made up. The last ones,
/// if they are named so in NAME.weights.safetensors, are those weights. One list, or one for each
/// replica: those in a companion are named `REPLICA/POSITION` (or `REPLICA/NAME`) then, and made-up
/// ones are not the same on any two.
struct Inputs {
  TensorLists lists;
  size_t own = 0;        ///< How many of each list are not weights.
  bool isMadeUp = false; ///< These, all of them.
};
Result<Inputs> inputsFor(const Program &program, const std::string &file, uint32_t part,
                         const MakeUp &makeUp);

/// A model's inputs from its companion, by name; `names` are all it takes, by position. Empty where
/// it has none.
Result<std::map<std::string, tensor::Tensor>>
namedInputsFor(const std::vector<std::string> &names, const std::string &file, uint32_t part);

/// Whether a result is the new value of a buffer or an input that the program writes to.
bool isMutation(const ValueType &result);

/// The expected outputs from the program's companion; nothing where it has none. What the program
/// writes to may be missing at the end. Those of several processes, `PROCESS/POSITION` in the file,
/// lie one after another.
Result<std::optional<std::vector<tensor::Tensor>>>
expectedFor(const Program &program, const std::string &file, uint32_t part);

} // namespace cupel::testbench::worker
