#include "cupel/tensor/Quantize.h"

#include "cupel/tensor/Convert.h"
#include "cupel/tensor/ConvertElement.h"

#include <cmath>

#pragma STDC FP_CONTRACT OFF

namespace cupel::tensor {
namespace {

Shape shapeOf(const Tensor &tensor) { return {tensor.shape().begin(), tensor.shape().end()}; }

Error wrong(const ElementType &type, const std::string &what) { return {type.str() + ": " + what}; }

/// Row-major elements as [outer][slices][inner], where each slice has parameters of its own.
struct Slices {
  int64_t outer = 1, count = 1, inner = 1;
};

Slices slicesOf(int axis, std::span<const int64_t> shape) {
  Slices s;
  if (axis < 0) {
    s.inner = elementCount(shape).value_or(0);
    return s;
  }
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    (i < axis ? s.outer : i == axis ? s.count : s.inner) *= shape[i];
  return s;
}

/// Calls body(slice, first element, elements) for each run of elements with the same parameters.
template <typename Body> void forEachRun(const Slices &s, Body body) {
  if (s.inner == 0)
    return;
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t k = 0; k < s.count; ++k)
      body(k, (o * s.count + k) * s.inner, s.inner);
}

/// Elements pass through blocks of int32 (int64 for 32-bit storage, whose differences need it):
/// that keeps storage types and expressed types apart, and both loops vectorise.
constexpr int64_t kBlock = 1024;

template <typename Body> void forEachBlock(int64_t first, int64_t count, Body body) {
  for (int64_t end = first + count; first < end; first += kBlock)
    body(first, std::min(kBlock, end - first));
}

template <typename Integer> constexpr DType kIntegerType = DType::I32;
template <> inline constexpr DType kIntegerType<int64_t> = DType::I64;

template <typename Integer>
void loadStored(const Tensor &tensor, int64_t first, Integer *block, int64_t count) {
  convertElements(tensor.dtype(), tensor.data() + first * info(tensor.dtype()).bytes,
                  kIntegerType<Integer>, block, count);
}
template <typename Integer>
void storeStored(DType type, std::byte *data, int64_t first, const Integer *block, int64_t count) {
  convertElements(kIntegerType<Integer>, block, type, data + first * info(type).bytes, count);
}

template <typename F> void dispatchInteger(bool wide, F &&f) {
  if (wide)
    f.template operator()<int64_t>();
  else
    f.template operator()<int32_t>();
}

/// The type that arithmetic on an expressed type runs in; narrow results are rounded after each
/// step.
template <DType expressed>
using Arithmetic = std::conditional_t<expressed == DType::F64, double, float>;

template <DType expressed> Arithmetic<expressed> rounded(Arithmetic<expressed> value) {
  if constexpr (isNarrowFloat(expressed))
    return toFloat<expressed>(fromFloat<expressed>(value));
  else
    return value;
}
template <DType expressed> Arithmetic<expressed> roundedConstant(double value) {
  return static_cast<Arithmetic<expressed>>(toDouble<expressed>(fromDouble<expressed>(value)));
}

/// Clamped to [low, high] and rounded to even; NaN counts as 0.
template <typename Wide> int64_t settle(Wide value, Wide low, Wide high, int64_t min, int64_t max) {
  value = value != value ? Wide{0} : value;
  value = value < low ? low : value;
  value = value > high ? high : value;
  // Adding this leaves the integer nearest to the value in the low bits.
  constexpr double anchor = 0x1.8p52;
  int64_t whole =
      std::bit_cast<int64_t>(static_cast<double>(value) + anchor) - std::bit_cast<int64_t>(anchor);
  // In narrow types the bounds are rounded themselves: clamp once more in integers.
  return std::clamp(whole, min, max);
}

} // namespace

Status checkQuantization(const ElementType &type, std::span<const int64_t> shape) {
  if (!type.quantization)
    return wrong(type, "is not a quantized type");
  const Quantization &q = *type.quantization;
  if (!isInteger(type.storage) || info(type.storage).bits > 32)
    return wrong(type, "quantized values are stored as integers of 2 to 32 bits");
  if (!isFloat(q.expressed))
    return wrong(type, "quantized values express a float type");
  bool isSigned = info(type.storage).kind == Kind::Signed;
  int64_t high = (int64_t{1} << (info(type.storage).bits - isSigned)) - 1;
  int64_t low = isSigned ? -high - 1 : 0;
  if (q.storageMin < low || q.storageMax > high || q.storageMin >= q.storageMax)
    return wrong(type, "the storage range must not be empty and lie within " + std::to_string(low) +
                           " to " + std::to_string(high));
  if (q.axis >= static_cast<int64_t>(shape.size()))
    return wrong(type, "the quantized dimension is not one of " + describe(type, shape));
  size_t slices = q.axis < 0 ? 1 : static_cast<size_t>(shape[q.axis]);
  if (q.scales.size() != slices || q.zeroPoints.size() != slices)
    return wrong(type, "has " + std::to_string(q.scales.size()) + " scales and " +
                           std::to_string(q.zeroPoints.size()) + " zero points where " +
                           std::to_string(slices) + " are needed");
  for (double scale : q.scales)
    if (!(scale > 0) || std::isinf(scale))
      return wrong(type, "a scale is not finite and positive");
  for (int64_t zero : q.zeroPoints)
    if (zero < q.storageMin || zero > q.storageMax)
      return wrong(type,
                   "the zero point " + std::to_string(zero) + " lies outside the storage range");
  return {};
}

Result<Tensor> dequantize(const Tensor &source) {
  const ElementType &type = source.elementType();
  if (Status ok = checkQuantization(type, source.shape()); !ok)
    return ok.error();
  const Quantization &q = *type.quantization;
  Result<Tensor> stored = source.contiguous();
  if (!stored)
    return stored;
  Result<Tensor> result = Tensor::uninitialized(q.expressed, shapeOf(source));
  if (!result)
    return result;
  Slices slices = slicesOf(q.axis, source.shape());
  dispatchInteger(info(type.storage).bits > 16, [&]<typename Integer>() {
    dispatch(q.expressed, [&]<DType e>() {
      if constexpr (isFloat(e)) {
        using Wide = Arithmetic<e>;
        auto *out = result->mutableAs<Storage<e>>();
        forEachRun(slices, [&](int64_t k, int64_t first, int64_t n) {
          Wide scale = roundedConstant<e>(q.scales[k]);
          auto zero = static_cast<Integer>(q.zeroPoints[k]);
          forEachBlock(first, n, [&](int64_t at, int64_t size) {
            Integer block[kBlock];
            loadStored(*stored, at, block, size);
            for (int64_t i = 0; i < size; ++i) {
              Integer difference = block[i] - zero;
              Wide real = static_cast<Wide>(toCarrier<e>(fromCarrier<e>(difference)));
              out[at + i] = fromCarrier<e>(real * scale);
            }
          });
        });
      }
    });
  });
  return result;
}

Result<Tensor> quantize(const Tensor &source, const ElementType &type) {
  if (Status ok = checkQuantization(type, source.shape()); !ok)
    return ok.error();
  const Quantization &q = *type.quantization;
  if (source.elementType().quantization || source.dtype() != q.expressed)
    return wrong(type, "cannot quantize " + describe(source.elementType(), source.shape()) +
                           ", convert it to " + std::string(info(q.expressed).name) + " first");
  Result<Tensor> real = source.contiguous();
  if (!real)
    return real;
  Result<Tensor> result = Tensor::uninitialized(type, shapeOf(source));
  if (!result)
    return result;
  Slices slices = slicesOf(q.axis, source.shape());
  std::byte *out = result->mutableData();
  dispatch(q.expressed, [&]<DType e>() {
    if constexpr (isFloat(e)) {
      using Wide = Arithmetic<e>;
      const auto *in = real->dataAs<Storage<e>>();
      Wide low = roundedConstant<e>(static_cast<double>(q.storageMin));
      Wide high = roundedConstant<e>(static_cast<double>(q.storageMax));
      forEachRun(slices, [&](int64_t k, int64_t first, int64_t n) {
        Wide scale = roundedConstant<e>(q.scales[k]);
        Wide zero = roundedConstant<e>(static_cast<double>(q.zeroPoints[k]));
        forEachBlock(first, n, [&](int64_t at, int64_t size) {
          int64_t block[kBlock];
          for (int64_t i = 0; i < size; ++i) {
            Wide value = rounded<e>(rounded<e>(toCarrier<e>(in[at + i]) / scale) + zero);
            block[i] = settle<Wide>(value, low, high, q.storageMin, q.storageMax);
          }
          storeStored(type.storage, out, at, block, size);
        });
      });
    }
  });
  return result;
}

Result<Tensor> requantize(const Tensor &source, const ElementType &type) {
  if (Status ok = checkQuantization(source.elementType(), source.shape()); !ok)
    return ok.error();
  if (Status ok = checkQuantization(type, source.shape()); !ok)
    return ok.error();
  const Quantization &from = *source.elementType().quantization, &to = *type.quantization;
  if (from.axis >= 0 && to.axis >= 0 && from.axis != to.axis)
    return wrong(type, "cannot requantize from another quantized dimension (" +
                           source.elementType().str() + "), dequantize first");
  Result<Tensor> stored = source.contiguous();
  if (!stored)
    return stored;
  Result<Tensor> result = Tensor::uninitialized(type, shapeOf(source));
  if (!result)
    return result;
  Slices slices = slicesOf(std::max(from.axis, to.axis), source.shape());
  std::byte *out = result->mutableData();
  auto run = [&]<typename Wide>() {
    auto low = static_cast<Wide>(to.storageMin), high = static_cast<Wide>(to.storageMax);
    forEachRun(slices, [&](int64_t k, int64_t first, int64_t n) {
      int64_t i1 = from.axis < 0 ? 0 : k, i2 = to.axis < 0 ? 0 : k;
      double merged = from.scales[i1] / to.scales[i2];
      auto scale = static_cast<Wide>(merged);
      auto zero = static_cast<Wide>(static_cast<double>(to.zeroPoints[i2]) -
                                    static_cast<double>(from.zeroPoints[i1]) * merged);
      forEachBlock(first, n, [&](int64_t at, int64_t size) {
        int64_t block[kBlock];
        loadStored(*stored, at, block, size);
        for (int64_t i = 0; i < size; ++i) {
          Wide value = static_cast<Wide>(block[i]) * scale + zero;
          block[i] = settle<Wide>(value, low, high, to.storageMin, to.storageMax);
        }
        storeStored(type.storage, out, at, block, size);
      });
    });
  };
  if (from.expressed == DType::F64 && to.expressed == DType::F64)
    run.template operator()<double>();
  else
    run.template operator()<float>();
  return result;
}

} // namespace cupel::tensor
