#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchLayerNorm(Operation *op) {
  if (!isa<stablehlo::DivideOp, stablehlo::MultiplyOp>(op)) // By the deviation, or times what that divides one by.
    return std::nullopt;
  return FunctionOfRows::find(op, [](const FunctionOfRows &function) {
    if (function.givesElement())
      return false;
    std::vector<double> row = sampleRow(function.length());
    std::optional<std::vector<double>> made = function.at(row);
    if (!made)
      return false;
    double mean = 0, squares = 0;
    for (double x : row)
      mean += x / double(row.size());
    for (double x : row)
      squares += (x - mean) * (x - mean);
    SmallVector<double> epsilons(function.numbers());
    epsilons.push_back(0);
    return llvm::any_of(epsilons, [&](double epsilon) {
      if (!(epsilon >= 0 && epsilon < 0.1))
        return false;
      std::vector<double> expected;
      for (double x : row)
        expected.push_back((x - mean) / std::sqrt(squares / double(row.size()) + epsilon));
      return areNear(*made, expected);
    });
  });
}

const NamedFusion kLayerNormFusion{.name = "layer_norm", .summary = "(x - mean(x)) / sqrt(variance(x) + epsilon) of rows; weight and bias behind it are fused with it", .match = matchLayerNorm};

} // namespace cupel::tir
