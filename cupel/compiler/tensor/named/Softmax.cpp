#include "cupel/compiler/tensor/named/Functions.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchSoftmax(Operation *op) {
  if (!isa<stablehlo::DivideOp, stablehlo::MultiplyOp>(op)) // By the sum, or times what that divides one by.
    return std::nullopt;
  return FunctionOfRows::find(op, [](const FunctionOfRows &function) {
    if (function.givesElement())
      return false;
    std::vector<double> row = sampleRow(function.length()), expected;
    double largest = *std::max_element(row.begin(), row.end()), sum = 0;
    for (double x : row)
      sum += std::exp(x - largest);
    for (double x : row)
      expected.push_back(std::exp(x - largest) / sum);
    std::optional<std::vector<double>> made = function.at(row);
    return made && areNear(*made, expected);
  });
}

const NamedFusion kSoftmaxFusion{
    .name = "softmax", .summary = "exp(x) / sum(exp(x)) of rows, with or without their largest subtracted", .match = matchSoftmax};

} // namespace cupel::tir
