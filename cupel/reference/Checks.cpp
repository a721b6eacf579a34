#include "cupel/reference/Checks.h"

#include "cupel/reference/Widen.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Kind;
using tensor::Tensor;

namespace {

std::string floatText(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6e", value);
  // As MLIR writes them: 1.000000e+00; special values by name.
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  return text;
}

/// As many digits as tell two values apart.
std::string exactText(DType type, double value) {
  if (!std::isfinite(value))
    return floatText(value);
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", type == DType::F64 || type == DType::C128 ? 17 : 9,
                value);
  return text;
}

std::string textOf(const Tensor &tensor, const std::byte *element, bool exact) {
  DType type = tensor.dtype();
  auto real = [&](double value) { return exact ? exactText(type, value) : floatText(value); };
  switch (info(type).kind) {
  case Kind::Boolean:
    return std::to_integer<int>(*element) ? "true" : "false";
  case Kind::Signed: {
    int64_t value;
    convertLanes(type, DType::I64, element, &value, 1);
    return std::to_string(value);
  }
  case Kind::Unsigned: {
    uint64_t value;
    convertLanes(type, DType::U64, element, &value, 1);
    return std::to_string(value);
  }
  case Kind::Float: {
    double value;
    loadDouble(type, element, &value, 1);
    return real(value);
  }
  case Kind::Complex: {
    std::complex<double> value;
    convertLanes(type, DType::C128, element, &value, 1);
    return "[" + real(value.real()) + ", " + real(value.imag()) + "]";
  }
  }
  return "?";
}

std::string positionText(const Tensor &tensor, int64_t index) {
  std::string text = "]";
  for (int64_t i = tensor.rank() - 1; i >= 0; --i) {
    text = std::to_string(index % tensor.dim(i)) + (i + 1 < tensor.rank() ? ", " : "") + text;
    index /= tensor.dim(i);
  }
  return "[" + text;
}

/// Compares element by element; `good(a, e)` gets addresses of contiguous elements.
Status compareAll(const Tensor &actualGiven, const Tensor &expectedGiven, const std::string &what,
                  const std::function<bool(const std::byte *, const std::byte *)> &good) {
  if (actualGiven.dtype() != expectedGiven.dtype() ||
      !std::ranges::equal(actualGiven.shape(), expectedGiven.shape()))
    return Error{"the value is a " +
                 tensor::describe(actualGiven.elementType(), actualGiven.shape()) + " where a " +
                 tensor::describe(expectedGiven.elementType(), expectedGiven.shape()) +
                 " is expected"};
  Result<Tensor> actual = actualGiven.contiguous(), expected = expectedGiven.contiguous();
  if (!actual)
    return Error{actual.message()};
  if (!expected)
    return Error{expected.message()};
  int bytes = info(actual->dtype()).bytes;
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < actual->size(); ++i)
    if (!good(actual->data() + i * bytes, expected->data() + i * bytes)) {
      if (wrong++ == 0)
        first = i;
    }
  if (!wrong)
    return {};
  std::string message = std::to_string(wrong) + " of " + std::to_string(actual->size()) +
                        " elements " + (wrong == 1 ? "is " : "are ") + what + "; the first at " +
                        positionText(*actual, first) + ": " +
                        textOf(*actual, actual->data() + first * bytes, true) + ", expected " +
                        textOf(*expected, expected->data() + first * bytes, true);
  return Error{message};
}

template <typename T> bool equalAs(const std::byte *a, const std::byte *b) {
  T x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x == y;
}

bool equalElements(DType type, const std::byte *a, const std::byte *b) {
  switch (info(type).kind) {
  case Kind::Float: {
    double x, y;
    loadDouble(type, a, &x, 1);
    loadDouble(type, b, &y, 1);
    return x == y;
  }
  case Kind::Complex:
    return type == DType::C64 ? equalAs<std::complex<float>>(a, b)
                              : equalAs<std::complex<double>>(a, b);
  default:
    return std::memcmp(a, b, info(type).bytes) == 0;
  }
}

bool almostEqual(double x, double y, double tolerance) {
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return true;
  if (!std::isfinite(x) || !std::isfinite(y))
    return false;
  return std::fabs(x - y) <= tolerance;
}

constexpr uint64_t kFar = ~0ull;

/// Distance of two floats given as bit patterns of `bits` bits.
uint64_t distance(uint64_t a, uint64_t b, int bits, bool aNan, bool bNan, bool finite) {
  if (a == b || (aNan && bNan))
    return 0;
  if (!finite)
    return kFar;
  uint64_t signBit = 1ull << (bits - 1);
  uint64_t x = a & (signBit - 1), y = b & (signBit - 1);
  if ((a & signBit) == (b & signBit))
    return x > y ? x - y : y - x;
  return x + y;
}

uint64_t distance(DType type, const std::byte *a, const std::byte *b) {
  if (type == DType::C64)
    return std::max(distance(DType::F32, a, b), distance(DType::F32, a + 4, b + 4));
  if (type == DType::C128)
    return std::max(distance(DType::F64, a, b), distance(DType::F64, a + 8, b + 8));
  uint64_t x = 0, y = 0; // Little endian, as all machines we run on.
  std::memcpy(&x, a, info(type).bytes);
  std::memcpy(&y, b, info(type).bytes);
  double u, v;
  loadDouble(type, a, &u, 1);
  loadDouble(type, b, &v, 1);
  return distance(x, y, info(type).bits, std::isnan(u), std::isnan(v),
                  std::isfinite(u) && std::isfinite(v));
}

} // namespace

Status expectEqual(const Tensor &actual, const Tensor &expected) {
  DType type = actual.dtype();
  return compareAll(actual, expected, "different",
                    [&](auto *a, auto *b) { return equalElements(type, a, b); });
}

Status expectAlmostEqual(const Tensor &actual, const Tensor &expected, double tolerance) {
  DType type = actual.dtype();
  char limit[40];
  std::snprintf(limit, sizeof limit, "%g", tolerance);
  return compareAll(actual, expected, "further off than " + std::string(limit),
                    [&](const std::byte *a, const std::byte *b) {
                      if (equalElements(type, a, b))
                        return true;
                      std::complex<double> x, y;
                      convertLanes(type, DType::C128, a, &x, 1);
                      convertLanes(type, DType::C128, b, &y, 1);
                      return almostEqual(x.real(), y.real(), tolerance) &&
                             almostEqual(x.imag(), y.imag(), tolerance);
                    });
}

Status expectClose(const Tensor &actual, const Tensor &expected, uint64_t least, uint64_t most) {
  DType type = actual.dtype();
  if (!isFloat(type) && !isComplex(type))
    return Error{"units in the last place are defined for floats alone, not for " +
                 std::string(info(type).name)};
  std::string what = "more than " + std::to_string(most) + " units in the last place off";
  if (least)
    what = "not " + std::to_string(least) + " to " + std::to_string(most) +
           " units in the last place off";
  return compareAll(actual, expected, what, [&](auto *a, auto *b) {
    uint64_t d = distance(type, a, b);
    return least <= d && d <= most;
  });
}

std::string elementText(const Tensor &tensor, int64_t index) {
  const std::byte *element = tensor.data();
  for (int64_t i = tensor.rank() - 1; i >= 0; --i) {
    element += index % tensor.dim(i) * tensor.strides()[i];
    index /= tensor.dim(i);
  }
  return textOf(tensor, element, false);
}

std::string valueText(const Tensor &tensor) {
  std::string type = tensor::describe(tensor.elementType(), tensor.shape());
  if (tensor.rank() == 0)
    return type + " {" + elementText(tensor, 0) + "}";
  std::string text = type + " {\n";
  int64_t next = 0;
  std::function<void(int64_t, int)> dimension = [&](int64_t i, int indent) {
    if (i == tensor.rank() - 1 || tensor.size() == 0) {
      text += std::string(indent, ' ') + "[";
      for (int64_t j = 0; j < (tensor.size() ? tensor.dim(i) : 0); ++j)
        text += (j ? ", " : "") + elementText(tensor, next++);
      text += "]";
      return;
    }
    text += std::string(indent, ' ') + "[\n";
    for (int64_t j = 0; j < tensor.dim(i); ++j) {
      dimension(i + 1, indent + 2);
      text += j + 1 < tensor.dim(i) ? ",\n" : "\n";
    }
    text += std::string(indent, ' ') + "]";
  };
  dimension(0, 2);
  return text + "\n}";
}

} // namespace cupel::reference
