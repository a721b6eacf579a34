// Batch normalization, and integers that stand for real numbers.
#pragma once

#include "reductions.h"

namespace ops {

/// Calls f(element, feature) for all elements.
template <class F> inline void for_each_feature(const Dims &shape, int64_t feature_index, const F &f) {
  int64_t inner = 1, features = shape[size_t(feature_index)], size = count_of(shape);
  for (size_t d = size_t(feature_index) + 1; d < shape.size(); ++d)
    inner *= shape[d];
  for (int64_t i = 0; i < size; ++i)
    f(i, i / inner % features);
}
template <class T>
inline Tensor<T> batch_norm_inference(const Tensor<T> &x, const Tensor<T> &scale, const Tensor<T> &offset,
                                      const Tensor<T> &mean, const Tensor<T> &variance, double epsilon,
                                      int64_t feature_index) {
  using C = typename Computes<T>::type;
  Tensor<T> result(x.shape);
  for_each_feature(x.shape, feature_index, [&](int64_t i, int64_t c) {
    T centred = convert<T>(C(x[i]) - C(mean[c])), spread = convert<T>(std::sqrt(C(convert<T>(C(variance[c]) + C(convert<T>(epsilon))))));
    T scaled = convert<T>(C(scale[c]) * C(centred));
    result[i] = convert<T>(C(convert<T>(C(scaled) / C(spread))) + C(offset[c]));
  });
  return result;
}
template <class T>
inline std::tuple<Tensor<T>, Tensor<T>, Tensor<T>>
batch_norm_training(const Tensor<T> &x, const Tensor<T> &scale, const Tensor<T> &offset, double epsilon, int64_t feature_index) {
  size_t features = size_t(x.shape[size_t(feature_index)]);
  std::vector<double> sums(features), squares(features);
  double count = features ? double(x.size()) / double(features) : 1;
  Tensor<T> mean(Dims{int64_t(features)}), variance(Dims{int64_t(features)});
  for_each_feature(x.shape, feature_index, [&](int64_t i, int64_t c) { sums[size_t(c)] += double(x[i]); });
  for (size_t c = 0; c < features; ++c)
    mean[int64_t(c)] = convert<T>(sums[c] / count);
  for_each_feature(x.shape, feature_index, [&](int64_t i, int64_t c) {
    double centred = double(x[i]) - double(mean[c]);
    squares[size_t(c)] += centred * centred;
  });
  for (size_t c = 0; c < features; ++c)
    variance[int64_t(c)] = convert<T>(squares[c] / count);
  return {batch_norm_inference(x, scale, offset, mean, variance, epsilon, feature_index), mean, variance};
}
template <class T>
inline std::tuple<Tensor<T>, Tensor<T>, Tensor<T>>
batch_norm_grad(const Tensor<T> &x, const Tensor<T> &scale, const Tensor<T> &mean, const Tensor<T> &variance,
                const Tensor<T> &slope, double epsilon, int64_t feature_index) {
  size_t features = size_t(x.shape[size_t(feature_index)]);
  std::vector<double> sums(features), products(features);
  double count = features ? double(x.size()) / double(features) : 1;
  Tensor<T> result(x.shape), scale_slope(Dims{int64_t(features)}), offset_slope(Dims{int64_t(features)});
  for_each_feature(x.shape, feature_index, [&](int64_t i, int64_t c) {
    sums[size_t(c)] += double(slope[i]);
    products[size_t(c)] += double(slope[i]) * (double(x[i]) - double(mean[c]));
  });
  for_each_feature(x.shape, feature_index, [&](int64_t i, int64_t c) {
    double spread = double(variance[c]) + epsilon, centred = double(x[i]) - double(mean[c]);
    double part = count * double(slope[i]) - sums[size_t(c)] - centred * products[size_t(c)] / spread;
    result[i] = convert<T>(double(scale[c]) / std::sqrt(spread) / count * part);
  });
  for (int64_t c = 0; c < int64_t(features); ++c) {
    scale_slope[c] = convert<T>(products[size_t(c)] / std::sqrt(double(variance[c]) + epsilon));
    offset_slope[c] = convert<T>(sums[size_t(c)]);
  }
  return {result, scale_slope, offset_slope};
}

//===----------------------------------------------------------------------===//
// Quantized values: real = (stored - zero point) * scale
//===----------------------------------------------------------------------===//

/// For the whole tensor (axis -1), or for each slice of an axis.
struct Quantization {
  std::vector<double> scales;
  Dims zero_points;
  int64_t low, high, axis;
  /// Calls f(element, scale, zero point) for all elements.
  template <class F> void for_each(const Dims &shape, const F &f) const {
    if (axis < 0) {
      for (int64_t i = 0, size = count_of(shape); i < size; ++i)
        f(i, scales[0], zero_points[0]);
      return;
    }
    for_each_feature(shape, axis, [&](int64_t i, int64_t c) { f(i, scales[size_t(c)], zero_points[size_t(c)]); });
  }
  template <class S> S stored(double value) const {
    value = value != value ? 0 : std::min(std::max(value, double(low)), double(high));
    return S(int64_t(std::nearbyint(value)));
  }
};
template <class E, class S> inline Tensor<E> dequantize(const Tensor<S> &x, const Quantization &q) {
  using C = typename Computes<E>::type;
  Tensor<E> result(x.shape);
  q.for_each(x.shape, [&](int64_t i, double scale, int64_t zero) {
    result[i] = convert<E>(C(convert<E>(double(int64_t(x[i]) - zero))) * C(convert<E>(scale)));
  });
  return result;
}
/// Rounded to the nearest, ties to even, inside the range.
template <class S, class E> inline Tensor<S> quantize(const Tensor<E> &x, const Quantization &q) {
  using C = typename Computes<E>::type;
  Tensor<S> result(x.shape);
  q.for_each(x.shape, [&](int64_t i, double scale, int64_t zero) {
    E divided = convert<E>(C(x[i]) / C(convert<E>(scale)));
    result[i] = q.stored<S>(double(convert<E>(C(divided) + C(convert<E>(double(zero))))));
  });
  return result;
}
template <class S, class E, class From>
inline Tensor<S> requantize(const Tensor<From> &x, const Quantization &source, const Quantization &target) {
  using C = std::conditional_t<std::is_same<E, double>::value, double, float>;
  Tensor<S> result(x.shape);
  std::vector<std::pair<C, C>> parameters(static_cast<size_t>(x.size()));
  source.for_each(x.shape, [&](int64_t i, double scale, int64_t zero) { parameters[size_t(i)] = {C(scale), C(zero)}; });
  target.for_each(x.shape, [&](int64_t i, double scale, int64_t zero) {
    C ratio = parameters[size_t(i)].first / C(scale);
    C value = C(int64_t(x[i])) * ratio;
    value = value + (C(zero) - parameters[size_t(i)].second * ratio);
    result[i] = target.stored<S>(double(value));
  });
  return result;
}

} // namespace ops
