#include "cupel/reference/Quantized.h"

#include "cupel/reference/QuantizedJitter.h"
#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Float.h"
#include "cupel/tensor/Quantize.h"

#include <algorithm>
#include <cmath>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::ElementType;
using tensor::Quantization;
using tensor::Shape;
using tensor::Tensor;

Shape shapeOf(const Tensor &tensor) { return {tensor.shape().begin(), tensor.shape().end()}; }

bool isPerTensor(const ElementType &type) {
  return type.quantization && type.quantization->axis < 0 && type.quantization->scales.size() == 1;
}

bool expressesF32(const ElementType &type) {
  return type.quantization && type.quantization->expressed == DType::F32;
}

bool zeroPointsAreZero(const ElementType &type) {
  return std::ranges::all_of(type.quantization->zeroPoints, [](int64_t z) { return z == 0; });
}

Result<Tensor> storedAsI32(const Tensor &tensor) {
  return tensor::convert(tensor.withElementType(tensor.dtype()), DType::I32);
}

int32_t wrapped(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

/// f32 to i32 as `convert` does it: toward zero, saturating.
int32_t truncated(float value) {
  if (std::isnan(value))
    return 0;
  return static_cast<int32_t>(
      std::clamp(static_cast<double>(value), double{INT32_MIN}, double{INT32_MAX}));
}

Result<Tensor> storeClamped(Tensor values, const ElementType &type) {
  auto *data = values.mutableAs<int32_t>();
  int64_t count = values.size();
  const Quantization &q = *type.quantization;
  int64_t min = q.storageMin, max = q.storageMax;
  for (int64_t i = 0; i < count; ++i)
    data[i] = static_cast<int32_t>(std::clamp<int64_t>(data[i], min, max));
  Result<Tensor> stored = tensor::convert(values, type.storage);
  if (!stored)
    return stored;
  return stored->withElementType(type);
}

template <DType type> void addReals(const Tensor &a, const Tensor &b, Tensor &sum) {
  auto *lhs = a.dataAs<tensor::Storage<type>>(), *rhs = b.dataAs<tensor::Storage<type>>();
  auto *out = sum.mutableAs<tensor::Storage<type>>();
  for (int64_t i = 0, n = a.size(); i < n; ++i) {
    if constexpr (type == DType::F64)
      out[i] = lhs[i] + rhs[i];
    else
      out[i] =
          tensor::fromFloat<type>(tensor::toFloat<type>(lhs[i]) + tensor::toFloat<type>(rhs[i]));
  }
}

Result<Tensor> addRealTensors(std::span<const Tensor> operands) {
  Result<Tensor> sum = Tensor::uninitialized(operands[0].dtype(), shapeOf(operands[0]));
  if (!sum)
    return sum;
  tensor::dispatch(operands[0].dtype(), [&]<DType type>() {
    if constexpr (tensor::isFloat(type))
      addReals<type>(operands[0], operands[1], *sum);
  });
  return sum;
}

/// The type in which a product is computed as real numbers.
DType realType(const ElementType &result) {
  return result.quantization ? result.quantization->expressed : result.storage;
}

/// Products that can be computed on stored integers.
bool hasIntegerForm(const Tensor &lhs, const Tensor &rhs, const ElementType &result) {
  return !MovesQuantized::isOn() && isPerTensor(lhs.elementType()) && expressesF32(lhs.elementType()) &&
         expressesF32(rhs.elementType()) && expressesF32(result) &&
         zeroPointsAreZero(rhs.elementType()) && zeroPointsAreZero(result);
}

Status checkOperands(const Tensor &lhs, const Tensor &rhs) {
  if (Status ok = tensor::checkQuantization(lhs.elementType(), lhs.shape()); !ok)
    return ok;
  return tensor::checkQuantization(rhs.elementType(), rhs.shape());
}

/// Turns the i32 product of (stored - zero point) and rhs into result values. `offsets` is what the
/// zero point of lhs contributes to the product of the stored values, for each element. Scales may
/// differ along `axis` of the result.
Result<Tensor> rescale(Tensor product, const Tensor &offsets, const Quantization &lhs,
                       const Quantization &rhs, const ElementType &result, int64_t axis) {
  const Quantization &out = *result.quantization;
  if (Status ok = tensor::checkQuantization(result, product.shape()); !ok)
    return ok.error();
  if (axis >= product.rank() || (out.axis >= 0 && out.axis != axis))
    return Error{result.str() + ": scales of rhs and result vary along different dimensions"};
  int64_t slices = axis < 0 ? 1 : product.dim(axis), inner = 1;
  for (int64_t d = axis + 1; axis >= 0 && d < product.rank(); ++d)
    inner *= product.dim(d);
  std::vector<float> scales;
  for (int64_t i = 0; i < slices; ++i) {
    double left = lhs.scales[0];
    double right = rhs.scales[rhs.scales.size() > 1 ? i : 0];
    scales.push_back(static_cast<float>(left * right / out.scales[out.scales.size() > 1 ? i : 0]));
  }
  bool unscaled = slices == 1 && std::abs(static_cast<double>(scales[0]) - 1.0) <= 0.001;
  if (!unscaled) {
    auto *values = product.mutableAs<int32_t>();
    auto *off = offsets.dataAs<int32_t>();
    for (int64_t i = 0, n = product.size(); i < n; ++i) {
      float scale = scales[slices == 1 ? 0 : i / inner % slices];
      int32_t whole = wrapped(int64_t{values[i]} + off[i]);
      values[i] = wrapped(int64_t{truncated(static_cast<float>(whole) * scale)} -
                          truncated(static_cast<float>(off[i]) * scale));
    }
  }
  return storeClamped(std::move(product), result);
}

Result<Tensor> minusZeroPoint(const Tensor &tensor) {
  Result<Tensor> stored = storedAsI32(tensor);
  if (!stored)
    return stored;
  Result<Tensor> shifted = Tensor::uninitialized(DType::I32, shapeOf(tensor));
  if (!shifted)
    return shifted;
  auto *from = stored->dataAs<int32_t>();
  auto *to = shifted->mutableAs<int32_t>();
  int64_t zero = tensor.elementType().quantization->zeroPoints[0];
  for (int64_t i = 0, n = tensor.size(); i < n; ++i)
    to[i] = wrapped(from[i] - zero);
  return shifted;
}

Result<Tensor> filled(Shape shape, int32_t value) {
  Result<Tensor> tensor = Tensor::uninitialized(DType::I32, std::move(shape));
  if (tensor)
    std::fill_n(tensor->mutableAs<int32_t>(), tensor->size(), value);
  return tensor;
}

/// Where a dimension of rhs that is not contracted appears in the result of dot_general.
int64_t resultDimension(int64_t rhsDimension, const Tensor &lhs, const Tensor &rhs,
                        const DotDimensions &dims) {
  auto named = [](const std::vector<int64_t> &list, int64_t d) {
    return std::ranges::find(list, d) != list.end();
  };
  for (size_t i = 0; i < dims.rhsBatching.size(); ++i)
    if (dims.rhsBatching[i] == rhsDimension)
      return static_cast<int64_t>(i);
  int64_t position =
      lhs.rank() - static_cast<int64_t>(dims.lhsContracting.size()); // batching and rest of lhs
  for (int64_t d = 0; d < rhsDimension; ++d)
    position += !named(dims.rhsBatching, d) && !named(dims.rhsContracting, d);
  return position;
}

bool isChannelsLast(const ConvolutionDimensions &dims) {
  auto count = static_cast<int64_t>(dims.inputSpatial.size());
  if (count != 2 && count != 3)
    return false;
  for (int64_t i = 0; i < count; ++i)
    if (dims.inputSpatial[i] != i + 1 || dims.kernelSpatial[i] != i ||
        dims.outputSpatial[i] != i + 1)
      return false;
  return dims.inputBatch == 0 && dims.inputFeature == count + 1 &&
         dims.kernelInputFeature == count && dims.kernelOutputFeature == count + 1 &&
         dims.outputBatch == 0 && dims.outputFeature == count + 1;
}

} // namespace

bool anyQuantized(std::span<const Tensor> operands, const ElementType &result) {
  return result.quantization || std::ranges::any_of(operands, [](const Tensor &tensor) {
           return tensor.elementType().quantization != nullptr;
         });
}

Result<Tensor> throughRealNumbers(std::span<const Tensor> operands, const ElementType &result,
                                  const RealFunction &compute) {
  std::vector<Tensor> reals;
  for (const Tensor &operand : operands) {
    if (!operand.elementType().quantization) {
      reals.push_back(operand);
      continue;
    }
    Result<Tensor> real = tensor::dequantize(operand);
    if (!real)
      return real;
    reals.push_back(std::move(*real));
  }
  Result<Tensor> real = compute(reals);
  if (!real || !result.quantization)
    return real;
  return quantizedMoving(*real, result);
}

Result<Tensor> quantizedAdd(const Tensor &lhs, const Tensor &rhs, const ElementType &result) {
  if (!std::ranges::equal(lhs.shape(), rhs.shape()))
    return Error{"add: operands have different shapes"};
  const Tensor operands[] = {lhs, rhs};
  // Devices may compute either way: with numbers that move it is the way of real ones.
  bool integer = isPerTensor(result) && expressesF32(result) && !MovesQuantized::isOn();
  for (const Tensor &operand : operands)
    integer &= isPerTensor(operand.elementType()) && expressesF32(operand.elementType());
  if (!integer)
    return throughRealNumbers(operands, result, addRealTensors);

  if (Status ok = checkOperands(lhs, rhs); !ok)
    return ok.error();
  if (Status ok = tensor::checkQuantization(result, lhs.shape()); !ok)
    return ok.error();
  const Quantization &out = *result.quantization;
  Result<Tensor> sum = filled(shapeOf(lhs), 0);
  if (!sum)
    return sum;
  auto *total = sum->mutableAs<int32_t>();
  for (const Tensor &operand : operands) {
    Result<Tensor> stored = storedAsI32(operand);
    if (!stored)
      return stored;
    const Quantization &in = *operand.elementType().quantization;
    auto scale = static_cast<float>(in.scales[0] / out.scales[0]);
    float shift =
        static_cast<float>(out.zeroPoints[0]) - static_cast<float>(in.zeroPoints[0]) * scale;
    auto *values = stored->dataAs<int32_t>();
    for (int64_t i = 0, n = lhs.size(); i < n; ++i) {
      float value = std::nearbyint(static_cast<float>(values[i]) * scale + shift);
      total[i] = wrapped(int64_t{total[i]} + truncated(value));
    }
  }
  for (int64_t i = 0, n = lhs.size(); i < n; ++i)
    total[i] = wrapped(total[i] - out.zeroPoints[0]);
  return storeClamped(std::move(*sum), result);
}

Result<Tensor> quantizedDotGeneral(const Tensor &lhs, const Tensor &rhs, const DotDimensions &dims,
                                   const ElementType &result, Accumulate accumulate) {
  bool contracted = rhs.elementType().quantization &&
                    std::ranges::find(dims.rhsContracting, rhs.elementType().quantization->axis) !=
                        dims.rhsContracting.end();
  if (!hasIntegerForm(lhs, rhs, result) || contracted) {
    const Tensor operands[] = {lhs, rhs};
    return throughRealNumbers(operands, result, [&](std::span<const Tensor> reals) {
      return dotGeneral(reals[0], reals[1], dims, realType(result), accumulate);
    });
  }
  if (Status ok = checkOperands(lhs, rhs); !ok)
    return ok.error();
  const Quantization &left = *lhs.elementType().quantization;
  const Quantization &right = *rhs.elementType().quantization;
  Result<Tensor> values = minusZeroPoint(lhs);
  if (!values)
    return values;
  Result<Tensor> weights = storedAsI32(rhs);
  if (!weights)
    return weights;
  Result<Tensor> product = dotGeneral(*values, *weights, dims, DType::I32, accumulate);
  if (!product)
    return product;
  Result<Tensor> zeros = filled(shapeOf(lhs), wrapped(left.zeroPoints[0]));
  if (!zeros)
    return zeros;
  Result<Tensor> offsets = left.zeroPoints[0] == 0
                               ? filled(shapeOf(*product), 0)
                               : dotGeneral(*zeros, *weights, dims, DType::I32, accumulate);
  if (!offsets)
    return offsets;
  int64_t axis =
      right.axis < 0 ? result.quantization->axis : resultDimension(right.axis, lhs, rhs, dims);
  return rescale(std::move(*product), *offsets, left, right, result, axis);
}

Result<Tensor> quantizedConvolution(const Tensor &lhs, const Tensor &rhs,
                                    const ConvolutionDimensions &dims,
                                    const ConvolutionWindow &window, const ElementType &result,
                                    Accumulate accumulate) {
  const auto &weightType = rhs.elementType().quantization;
  bool crossed =
      weightType && weightType->axis >= 0 && weightType->axis != dims.kernelOutputFeature;
  bool dilated = std::ranges::any_of(window.lhsDilation, [](int64_t d) { return d != 1; });
  if (!hasIntegerForm(lhs, rhs, result) || dilated || crossed || !isChannelsLast(dims)) {
    const Tensor operands[] = {lhs, rhs};
    return throughRealNumbers(operands, result, [&](std::span<const Tensor> reals) {
      return convolution(reals[0], reals[1], dims, window, realType(result), accumulate);
    });
  }
  // Less its zero point, lhs may be padded with zeros: they stand for the real number 0.
  if (Status ok = checkOperands(lhs, rhs); !ok)
    return ok.error();
  const Quantization &left = *lhs.elementType().quantization;
  const Quantization &right = *rhs.elementType().quantization;
  Result<Tensor> values = minusZeroPoint(lhs);
  if (!values)
    return values;
  Result<Tensor> weights = storedAsI32(rhs);
  if (!weights)
    return weights;
  Result<Tensor> product = convolution(*values, *weights, dims, window, DType::I32, accumulate);
  if (!product)
    return product;
  // The zero point of lhs contributes the same to every position: itself times the kernel's sum.
  int64_t outputs = rhs.dim(dims.kernelOutputFeature);
  std::vector<int32_t> sums(outputs, 0);
  auto *kernel = weights->dataAs<int32_t>();
  for (int64_t i = 0, n = rhs.size(); i < n; ++i)
    sums[i % outputs] = wrapped(sums[i % outputs] + kernel[i] * left.zeroPoints[0]);
  Result<Tensor> offsets = filled(shapeOf(*product), 0);
  if (!offsets)
    return offsets;
  auto *off = offsets->mutableAs<int32_t>();
  for (int64_t i = 0, n = offsets->size(); i < n; ++i)
    off[i] = sums[i % outputs];
  int64_t axis = right.axis < 0 && result.quantization->axis < 0 ? -1 : dims.outputFeature;
  return rescale(std::move(*product), *offsets, left, right, result, axis);
}

} // namespace cupel::reference
