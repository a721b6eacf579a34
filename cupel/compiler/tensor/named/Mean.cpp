#include "cupel/compiler/tensor/named/Functions.h"

#include <numeric>

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchMean(Operation *op) {
  if (!isa<stablehlo::DivideOp, stablehlo::MultiplyOp>(op))
    return std::nullopt;
  return FunctionOfRows::find(op, [](const FunctionOfRows &function) {
    if (!function.givesElement())
      return false;
    std::vector<double> row = sampleRow(function.length());
    std::optional<std::vector<double>> made = function.at(row);
    return made && areNear(*made, {std::accumulate(row.begin(), row.end(), 0.0) / double(row.size())});
  });
}

const NamedFusion kMeanFusion{.name = "mean", .summary = "a sum of rows times one over their length", .match = matchMean};

} // namespace cupel::tir
