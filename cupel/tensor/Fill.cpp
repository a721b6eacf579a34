#include "cupel/tensor/Fill.h"

#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Quantize.h"

#include <bit>
#include <cmath>

#pragma STDC FP_CONTRACT OFF

namespace cupel::tensor {
namespace {

constexpr int64_t kBlock = 1024; // even: a generator block gives two draws

/// Draws first, first + 1, ... of a sequence; `first` is even.
void draw(FillKey key, uint64_t first, uint64_t *out, int64_t count) {
  std::array<uint32_t, 2> seed = {static_cast<uint32_t>(key.seed),
                                  static_cast<uint32_t>(key.seed >> 32)};
  for (int64_t i = 0; i < count; i += 2) {
    uint64_t block = (first + static_cast<uint64_t>(i)) / 2;
    std::array<uint32_t, 4> w =
        philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                    static_cast<uint32_t>(key.stream), static_cast<uint32_t>(key.stream >> 32)},
                   seed);
    out[i] = w[0] | uint64_t{w[1]} << 32;
    if (i + 1 < count)
      out[i + 1] = w[2] | uint64_t{w[3]} << 32;
  }
}

template <size_t n> double horner(const double (&c)[n], double x) {
  double sum = c[0];
  for (size_t i = 1; i < n; ++i)
    sum = sum * x + c[i];
  return sum;
}

/// The natural logarithm for 0 < x < 1, normal: exponent and the series of 2 artanh, in a fixed
/// order of operations.
double naturalLog(double x) {
  auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  auto m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 0x1.6a09e667f3bcdp+0) { // the square root of 2
    m = m * 0.5;
    exponent = exponent + 1;
  }
  double s = (m - 1.0) / (m + 1.0), t = s * s;
  double sum = 1.0 / 23.0;
  for (int k = 21; k >= 1; k -= 2)
    sum = sum * t + 1.0 / k;
  return exponent * 0x1.62e42fefa39efp-1 + 2.0 * s * sum; // the logarithm of 2
}

double roundToEven(double x) {
  if (!(std::fabs(x) < 0x1p52)) // whole already, or NaN
    return x;
  double anchor = std::copysign(0x1p52, x);
  return (x + anchor) - anchor;
}

/// The type of one part of a complex number, else the type itself.
DType partType(DType type) {
  return type == DType::C64 ? DType::F32 : type == DType::C128 ? DType::F64 : type;
}

/// Draws `count` values of `type`, each made of draws by `make(draws, carriers, n)`.
template <typename C, typename Make>
void fillParts(DType type, DType carrier, std::byte *data, int64_t count, FillKey key, Make make) {
  uint64_t draws[kBlock];
  C values[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    int64_t n = std::min(kBlock, count - at);
    draw(key, static_cast<uint64_t>(at), draws, n);
    for (int64_t i = 0; i < n; ++i)
      values[i] = make(draws[i]);
    convertElements(carrier, values, type, data + at * info(type).bytes, n);
  }
}

Error outside(const ElementType &type, const std::string &range) {
  return {"cannot fill with " + range + ": outside the range of " + type.str()};
}

std::string rangeText(const Integers &range) {
  uint64_t high = static_cast<uint64_t>(range.low) + range.span;
  return "integers from " + std::to_string(range.low) + " to " +
         (range.low < 0 ? std::to_string(static_cast<int64_t>(high)) : std::to_string(high));
}

bool contains(const Integers &outer, const Integers &inner) {
  if (inner.low < outer.low)
    return false;
  uint64_t offset = static_cast<uint64_t>(inner.low) - static_cast<uint64_t>(outer.low);
  return offset <= outer.span && inner.span <= outer.span - offset;
}

/// The values that may be stored in a type, where it has integers.
Integers storable(const ElementType &type) {
  if (type.quantization)
    return Integers::between(type.quantization->storageMin, type.quantization->storageMax);
  return Integers::all(type.storage);
}

Result<Tensor> fillIntegers(const ElementType &type, Shape shape, const Integers &range,
                            FillKey key) {
  bool isWhole = !isFloat(type.storage) && !isComplex(type.storage);
  if (isWhole && !contains(storable(type), range))
    return outside(type, rangeText(range));
  uint64_t last = static_cast<uint64_t>(range.low) + range.span;
  if (range.low < 0 && range.span > static_cast<uint64_t>(-(range.low + 1)) &&
      last > static_cast<uint64_t>(INT64_MAX))
    return outside(type, "integers beyond 64 bits");
  Result<Tensor> result = Tensor::uninitialized(type, std::move(shape));
  if (!result)
    return result;
  DType carrier = range.low < 0 ? DType::I64 : DType::U64;
  DType part = partType(type.storage);
  int64_t parts = result->size() * (part == type.storage ? 1 : 2);
  fillParts<uint64_t>(part, carrier, result->mutableData(), parts, key, [&](uint64_t u) {
    uint64_t values = range.span + 1; // 0 stands for 2^64
    uint64_t offset =
        values == 0 ? u : static_cast<uint64_t>((static_cast<unsigned __int128>(u) * values) >> 64);
    return static_cast<uint64_t>(range.low) + offset;
  });
  return result;
}

template <typename Make>
Result<Tensor> fillReals(const ElementType &type, Shape shape, FillKey key, Make make) {
  ElementType real = type.quantization ? ElementType(type.quantization->expressed) : type;
  Result<Tensor> result = Tensor::uninitialized(real, std::move(shape));
  if (!result)
    return result;
  DType part = partType(real.storage);
  int64_t parts = result->size() * (part == real.storage ? 1 : 2);
  fillParts<double>(part, DType::F64, result->mutableData(), parts, key, make);
  return type.quantization ? quantize(*result, type) : std::move(result);
}

Result<Tensor> fillUniform(const ElementType &type, Shape shape, const Uniform &range,
                           FillKey key) {
  double width = range.high - range.low;
  if (!(range.low <= range.high) || !std::isfinite(width))
    return Error{"a uniform range needs finite bounds, the lower one first"};
  if (!type.quantization && !isFloat(type.storage) && !isComplex(type.storage)) {
    double low = std::ceil(range.low), high = std::floor(range.high);
    if (low > high)
      return Error{"there is no integer in the uniform range"};
    if (low < -0x1p63 || high >= 0x1p63)
      return outside(type, "numbers beyond 64 bits");
    return fillIntegers(type, std::move(shape),
                        Integers::between(static_cast<int64_t>(low), static_cast<int64_t>(high)),
                        key);
  }
  return fillReals(type, std::move(shape), key, [&](uint64_t u) {
    return range.low + width * (static_cast<double>(u >> 11) * 0x1p-53);
  });
}

Result<Tensor> fillNormal(const ElementType &type, Shape shape, const Normal &normal, FillKey key) {
  if (!std::isfinite(normal.mean) || !(normal.deviation >= 0) || !std::isfinite(normal.deviation))
    return Error{"a normal distribution needs a finite mean and a finite deviation of at least 0"};
  if (type.storage == DType::I1)
    return Error{"i1 has no normal distribution: fill it with booleans"};
  bool isWhole = isInteger(type.storage) && !type.quantization;
  return fillReals(type, std::move(shape), key, [&](uint64_t u) {
    double p = static_cast<double>((u >> 12) * 2 + 1) * 0x1p-53;
    double value = normal.mean + normal.deviation * normalQuantile(p);
    return isWhole ? roundToEven(value) : value;
  });
}

Result<Tensor> fillBooleans(const ElementType &type, Shape shape, const Booleans &booleans,
                            FillKey key) {
  if (!(booleans.probability >= 0 && booleans.probability <= 1))
    return Error{"a probability lies between 0 and 1"};
  if (!contains(storable(type), Integers::between(0, 1)))
    return outside(type, "0 and 1");
  Result<Tensor> result = Tensor::uninitialized(type, std::move(shape));
  if (!result)
    return result;
  DType part = partType(type.storage);
  int64_t parts = result->size() * (part == type.storage ? 1 : 2);
  double threshold = booleans.probability * 0x1p53;
  fillParts<int32_t>(part, DType::I32, result->mutableData(), parts, key,
                     [&](uint64_t u) { return static_cast<double>(u >> 11) < threshold ? 1 : 0; });
  return result;
}

} // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  auto [c0, c1, c2, c3] = counter;
  auto [k0, k1] = key;
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

// Wichura's algorithm AS 241 (PPND16), Applied Statistics 37 (1988).
double normalQuantile(double p) {
  static constexpr double kCentreTop[] = {
      2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
      13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608};
  static constexpr double kCentreBottom[] = {
      5226.495278852854561,  28729.085735721942674, 39307.89580009271061,  21213.794301586595867,
      5394.1960214247511077, 687.1870074920579083,  42.313330701600911252, 1.0};
  static constexpr double kMiddleTop[] = {7.7454501427834140764e-4, 0.0227238449892691845833,
                                          0.24178072517745061177,   1.27045825245236838258,
                                          3.64784832476320460504,   5.7694972214606914055,
                                          4.6303378461565452959,    1.42343711074968357734};
  static constexpr double kMiddleBottom[] = {1.05075007164441684324e-9, 5.475938084995344946e-4,
                                             0.0151986665636164571966,  0.14810397642748007459,
                                             0.68976733498510000455,    1.6763848301838038494,
                                             2.05319162663775882187,    1.0};
  static constexpr double kTailTop[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                        0.0012426609473880784386,  0.026532189526576123093,
                                        0.29656057182850489123,    1.7848265399172913358,
                                        5.4637849111641143699,     6.6579046435011037772};
  static constexpr double kTailBottom[] = {2.04426310338993978564e-15, 1.4215117583164458887e-7,
                                           1.8463183175100546818e-5,   7.868691311456132591e-4,
                                           0.0148753612908506148525,   0.13692988092273580531,
                                           0.59983220655588793769,     1.0};
  double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    return q * horner(kCentreTop, r) / horner(kCentreBottom, r);
  }
  double r = std::sqrt(-naturalLog(q < 0.0 ? p : 1.0 - p));
  double x = r <= 5.0 ? horner(kMiddleTop, r - 1.6) / horner(kMiddleBottom, r - 1.6)
                      : horner(kTailTop, r - 5.0) / horner(kTailBottom, r - 5.0);
  return q < 0.0 ? -x : x;
}

Integers Integers::between(int64_t low, int64_t high) {
  return {low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)};
}

Integers Integers::all(DType type) {
  DTypeInfo i = info(type);
  if (i.kind == Kind::Float || i.kind == Kind::Complex)
    return all(DType::I8);
  return {i.kind == Kind::Signed ? static_cast<int64_t>(~uint64_t{0} << (i.bits - 1)) : 0,
          ~uint64_t{0} >> (64 - i.bits)};
}

FillSpec defaultFill(const ElementType &type) {
  if (type.quantization)
    return storable(type);
  DTypeInfo i = info(type.storage);
  switch (i.kind) {
  case Kind::Boolean:
    return Booleans{};
  case Kind::Signed:
    return i.bits <= 4 ? Integers::all(type.storage) : Integers::between(-8, 7);
  case Kind::Unsigned:
    return i.bits <= 4 ? Integers::all(type.storage) : Integers::between(0, 15);
  case Kind::Float:
    if (type.storage == DType::F8E8M0FNU) // It has neither zero nor negative numbers.
      return Uniform{0.25, 4};
    break;
  case Kind::Complex:
    break;
  }
  return Uniform{};
}

Result<Tensor> randomTensor(const ElementType &type, Shape shape, const FillSpec &spec,
                            FillKey key) {
  if (type.quantization)
    if (Status ok = checkQuantization(type, shape); !ok)
      return ok.error();
  if (auto *uniform = std::get_if<Uniform>(&spec))
    return fillUniform(type, std::move(shape), *uniform, key);
  if (auto *normal = std::get_if<Normal>(&spec))
    return fillNormal(type, std::move(shape), *normal, key);
  if (auto *integers = std::get_if<Integers>(&spec))
    return fillIntegers(type, std::move(shape), *integers, key);
  return fillBooleans(type, std::move(shape), std::get<Booleans>(spec), key);
}

} // namespace cupel::tensor
