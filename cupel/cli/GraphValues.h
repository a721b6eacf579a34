// Statistics of every value of a program, from one evaluation on the golden reference: overlays of
// `cupel explore --values`.
#pragma once

#include "cupel/cli/GraphOfModule.h"
#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cupel::cli {

/// What is known of a node's first result. Values of a loop are those of all its rounds together.
struct ValueStatistics {
  double largest = 0, sum = 0, squares = 0; ///< Of what is finite: the largest magnitude, sums.
  uint64_t elements = 0, zeros = 0, notFinite = 0;
};

/// By node. Arguments that are not `weights`, which are the last ones, are made up from the seed, as
/// for a test. An error where the reference cannot evaluate the program.
Result<std::map<size_t, ValueStatistics>>
valuesOf(mlir::ModuleOp module, const StageGraph &graph, const std::string &name,
         const std::vector<std::pair<std::string, tensor::Tensor>> &weights, uint64_t seed);

} // namespace cupel::cli
