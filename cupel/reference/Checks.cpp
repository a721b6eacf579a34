#include "cupel/reference/Checks.h"

#include "cupel/compare/Verdict.h"

#include <algorithm>

namespace cupel::reference {

using tensor::Tensor;

static Status expect(const Tensor &actual, const Tensor &expected,
                     const compare::Tolerance &tolerance) {
  // A comparison takes tensors of different types; a check of a program does not.
  if (actual.dtype() != expected.dtype() || !std::ranges::equal(actual.shape(), expected.shape()))
    return Error{"the value is a " + tensor::describe(actual.elementType(), actual.shape()) +
                 " where a " + tensor::describe(expected.elementType(), expected.shape()) +
                 " is expected"};
  // Of quantized tensors the stored integers count.
  auto stored = [](const Tensor &tensor) {
    return tensor.elementType().quantization ? tensor.withElementType(tensor.dtype()) : tensor;
  };
  Result<compare::Verdict> verdict =
      compare::check(stored(actual), stored(expected), tolerance, {.threads = 1});
  if (!verdict)
    return verdict.error();
  if (verdict->passed)
    return {};
  return Error{verdict->sentence};
}

Status expectEqual(const Tensor &actual, const Tensor &expected) {
  return expect(actual, expected, compare::Tolerance::equal());
}

Status expectAlmostEqual(const Tensor &actual, const Tensor &expected, double tolerance) {
  return expect(actual, expected, compare::Tolerance::almostEqual(tolerance));
}

Status expectClose(const Tensor &actual, const Tensor &expected, uint64_t least, uint64_t most) {
  if (!isFloat(actual.dtype()) && !isComplex(actual.dtype()))
    return Error{"units in the last place are defined for floats alone, not for " +
                 std::string(info(actual.dtype()).name)};
  return expect(actual, expected, compare::Tolerance::close(most, least));
}

} // namespace cupel::reference
