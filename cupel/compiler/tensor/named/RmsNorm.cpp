#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchRmsNorm(Operation *op) {
  if (!isa<stablehlo::DivideOp, stablehlo::MultiplyOp>(op)) // By the deviation, or times what that divides one by.
    return std::nullopt;
  return FunctionOfRows::find(op, [](const FunctionOfRows &function) {
    if (function.givesElement())
      return false;
    std::vector<double> row = sampleRow(function.length());
    std::optional<std::vector<double>> made = function.at(row);
    if (!made)
      return false;
    double squares = 0;
    for (double x : row)
      squares += x * x;
    SmallVector<double> epsilons(function.numbers());
    epsilons.push_back(0);
    return llvm::any_of(epsilons, [&](double epsilon) {
      if (!(epsilon >= 0 && epsilon < 0.1))
        return false;
      std::vector<double> expected;
      for (double x : row)
        expected.push_back(x / std::sqrt(squares / double(row.size()) + epsilon));
      return areNear(*made, expected);
    });
  });
}

const NamedFusion kRmsNormFusion{.name = "rms_norm", .summary = "x / sqrt(mean(x * x) + epsilon) of rows; a weight behind it is fused with it", .match = matchRmsNorm};

} // namespace cupel::tir
