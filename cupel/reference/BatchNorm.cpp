#include "cupel/reference/BatchNorm.h"

#include "cupel/tensor/Convert.h"

#include <cmath>
#include <string>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

/// A tensor read as [outer][features][inner].
struct Layout {
  int64_t outer = 1, features = 1, inner = 1;
  double perFeature() const { return static_cast<double>(outer * inner); }
};

Result<Layout> layoutOf(const Tensor &operand, int64_t feature,
                        std::initializer_list<const Tensor *> parameters) {
  if (feature < 0 || feature >= operand.rank() || !tensor::isFloat(operand.dtype()))
    return Error{"batch_norm: feature_index " + std::to_string(feature) + " does not fit " +
                 tensor::describe(operand.elementType(), operand.shape())};
  Layout layout;
  for (int64_t d = 0; d < operand.rank(); ++d)
    (d < feature ? layout.outer : d == feature ? layout.features : layout.inner) *= operand.dim(d);
  for (const Tensor *parameter : parameters)
    if (parameter->rank() != 1 || parameter->dim(0) != layout.features)
      return Error{"batch_norm: " + tensor::describe(parameter->elementType(), parameter->shape()) +
                   " has not one entry for each of " + std::to_string(layout.features) +
                   " features"};
  return layout;
}

/// The elements as doubles.
class Doubles {
public:
  static Result<Doubles> of(const Tensor &tensor) {
    Result<Tensor> wide = tensor::convert(tensor, DType::F64);
    if (!wide)
      return wide.error();
    return Doubles(std::move(*wide));
  }
  double operator[](int64_t i) const { return values[i]; }

private:
  explicit Doubles(Tensor tensor) : tensor(std::move(tensor)) {
    values = this->tensor.dataAs<double>();
  }
  Tensor tensor;
  const double *values;
};

/// Calls body(feature, element index) in row-major order.
template <typename Body> void forEach(const Layout &layout, Body body) {
  int64_t i = 0;
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t f = 0; f < layout.features; ++f)
      for (int64_t k = 0; k < layout.inner; ++k)
        body(f, i++);
}

Result<Tensor> stored(std::span<const double> values, DType type, std::span<const int64_t> shape) {
  Result<Tensor> result = Tensor::uninitialized(type, {shape.begin(), shape.end()});
  if (result)
    tensor::convertElements(DType::F64, values.data(), type, result->mutableData(), result->size());
  return result;
}

} // namespace

Result<BatchNormTraining> batchNormTraining(const Tensor &operand, const Tensor &scale,
                                            const Tensor &offset, double epsilon, int64_t feature) {
  Result<Layout> layout = layoutOf(operand, feature, {&scale, &offset});
  if (!layout)
    return layout.error();
  auto x = Doubles::of(operand), gain = Doubles::of(scale), shift = Doubles::of(offset);
  for (auto *part : {&x, &gain, &shift})
    if (!*part)
      return part->error();
  std::vector<double> mean(layout->features), variance(layout->features), out(operand.size());
  double count = layout->perFeature();
  forEach(*layout, [&](int64_t f, int64_t i) { mean[f] += (*x)[i]; });
  for (double &value : mean)
    value /= count;
  forEach(*layout, [&](int64_t f, int64_t i) {
    double centered = (*x)[i] - mean[f];
    variance[f] += centered * centered;
  });
  for (double &value : variance)
    value /= count;
  forEach(*layout, [&](int64_t f, int64_t i) {
    out[i] = ((*x)[i] - mean[f]) / std::sqrt(variance[f] + epsilon) * (*gain)[f] + (*shift)[f];
  });
  auto output = stored(out, operand.dtype(), operand.shape());
  auto means = stored(mean, scale.dtype(), scale.shape());
  auto variances = stored(variance, scale.dtype(), scale.shape());
  for (auto *part : {&output, &means, &variances})
    if (!*part)
      return part->error();
  return BatchNormTraining{std::move(*output), std::move(*means), std::move(*variances)};
}

Result<Tensor> batchNormInference(const Tensor &operand, const Tensor &scale, const Tensor &offset,
                                  const Tensor &mean, const Tensor &variance, double epsilon,
                                  int64_t feature) {
  Result<Layout> layout = layoutOf(operand, feature, {&scale, &offset, &mean, &variance});
  if (!layout)
    return layout.error();
  auto x = Doubles::of(operand), gain = Doubles::of(scale), shift = Doubles::of(offset),
       center = Doubles::of(mean), spread = Doubles::of(variance);
  for (auto *part : {&x, &gain, &shift, &center, &spread})
    if (!*part)
      return part->error();
  std::vector<double> out(operand.size());
  forEach(*layout, [&](int64_t f, int64_t i) {
    out[i] =
        ((*x)[i] - (*center)[f]) / std::sqrt((*spread)[f] + epsilon) * (*gain)[f] + (*shift)[f];
  });
  return stored(out, operand.dtype(), operand.shape());
}

// Spec batch_norm_grad: grad_operand = scale / stddev / n *
//   (n * grad - sum(grad) - centered * sum(grad * centered) / (variance + epsilon)).
Result<BatchNormGrad> batchNormGrad(const Tensor &operand, const Tensor &scale, const Tensor &mean,
                                    const Tensor &variance, const Tensor &gradOutput,
                                    double epsilon, int64_t feature) {
  Result<Layout> layout = layoutOf(operand, feature, {&scale, &mean, &variance});
  if (!layout)
    return layout.error();
  if (gradOutput.size() != operand.size())
    return Error{"batch_norm: the gradient is no " +
                 tensor::describe(operand.elementType(), operand.shape())};
  auto x = Doubles::of(operand), gain = Doubles::of(scale), center = Doubles::of(mean),
       spread = Doubles::of(variance), grad = Doubles::of(gradOutput);
  for (auto *part : {&x, &gain, &center, &spread, &grad})
    if (!*part)
      return part->error();
  int64_t features = layout->features;
  std::vector<double> sums(features), products(features), gradScale(features), out(operand.size());
  forEach(*layout, [&](int64_t f, int64_t i) {
    sums[f] += (*grad)[i];
    products[f] += (*grad)[i] * ((*x)[i] - (*center)[f]);
  });
  double count = layout->perFeature();
  for (int64_t f = 0; f < features; ++f)
    gradScale[f] = products[f] / std::sqrt((*spread)[f] + epsilon);
  forEach(*layout, [&](int64_t f, int64_t i) {
    double square = (*spread)[f] + epsilon, centered = (*x)[i] - (*center)[f];
    out[i] = (*gain)[f] / std::sqrt(square) / count *
             (count * (*grad)[i] - sums[f] - centered * products[f] / square);
  });
  auto gradOperand = stored(out, operand.dtype(), operand.shape());
  auto scales = stored(gradScale, scale.dtype(), scale.shape());
  auto offsets = stored(sums, scale.dtype(), scale.shape());
  for (auto *part : {&gradOperand, &scales, &offsets})
    if (!*part)
      return part->error();
  return BatchNormGrad{std::move(*gradOperand), std::move(*scales), std::move(*offsets)};
}

} // namespace cupel::reference
