// What `cupel explore` changes in a program before it is compiled: options of single operations
// (--override) and the choice of a part (--extract). Operations are named by the numbers that the
// graph of the program as StableHLO has for them. What is made must compute what the words say or be
// refused.
#pragma once

#include "cupel/support/Error.h"

#include <mlir/IR/BuiltinOps.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cupel::cli {

/// A node and what is asked of it: one of OperationOptions.def, such as `precision=bf16`.
using Override = std::pair<size_t, std::string>;

Status overrideOperations(mlir::ModuleOp module, const std::vector<Override> &overrides);

/// Makes a program of these operations of main: what they take from outside become its arguments
/// (constants stay inside), what others take from them its results. Arguments with a name of
/// `weights` come last, as whoever reads weights beside a program wants them; `inputs` is how many
/// come before.
Status extractOperations(mlir::ModuleOp module, const std::vector<size_t> &nodes,
                         const std::set<std::string> &weights, size_t &inputs);

} // namespace cupel::cli
