#include "cupel/compiler/analysis/OpKinds.h"

#include "llvm/ADT/StringSet.h"

namespace cupel::compiler {

using namespace mlir;

bool isElementwise(Operation &op) {
  static const llvm::StringSet<> kNames = {"abs",
                                           "add",
                                           "and",
                                           "atan2",
                                           "cbrt",
                                           "ceil",
                                           "clamp",
                                           "compare",
                                           "complex",
                                           "convert",
                                           "cosine",
                                           "count_leading_zeros",
                                           "divide",
                                           "exponential",
                                           "exponential_minus_one",
                                           "floor",
                                           "imag",
                                           "is_finite",
                                           "log",
                                           "log_plus_one",
                                           "logistic",
                                           "maximum",
                                           "minimum",
                                           "multiply",
                                           "negate",
                                           "not",
                                           "or",
                                           "popcnt",
                                           "power",
                                           "real",
                                           "reduce_precision",
                                           "remainder",
                                           "round_nearest_afz",
                                           "round_nearest_even",
                                           "rsqrt",
                                           "select",
                                           "shift_left",
                                           "shift_right_arithmetic",
                                           "shift_right_logical",
                                           "sign",
                                           "sine",
                                           "sqrt",
                                           "subtract",
                                           "tan",
                                           "tanh",
                                           "xor"};
  return op.getName().getDialectNamespace() == "stablehlo" &&
         kNames.contains(op.getName().stripDialect());
}

} // namespace cupel::compiler
