#include "cupel/reference/DotAndConvolution.h"

#include "cupel/reference/MatrixProduct.h"
#include "cupel/reference/Parallel.h"
#include "cupel/tensor/Convert.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

std::string sizes(std::span<const int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return "[" + text + "]";
}

/// One dimension of a walk: how many steps of how many bytes.
struct Walk {
  int64_t size, step;
};

/// The byte offsets of a walk, last dimension fastest.
std::vector<int64_t> offsetsOf(std::span<const Walk> walks, int64_t first = 0) {
  std::vector<int64_t> offsets{first};
  for (const Walk &walk : walks) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * walk.size);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < walk.size; ++i)
        next.push_back(offset + i * walk.step);
    offsets = std::move(next);
  }
  return offsets;
}

std::vector<Walk> walksOf(const Tensor &tensor, std::span<const int64_t> dimensions) {
  std::vector<Walk> walks;
  for (int64_t d : dimensions)
    walks.push_back({tensor.dim(d), tensor.strides()[d]});
  return walks;
}

/// Matrix products of one size: many side by side, few with all threads on each.
template <typename F> void multiplySeveral(int64_t count, double products, F &&multiply) {
  constexpr double each = 0.05;
  if (count < 2 * workThreads()) {
    for (int64_t i = 0; i < count && !isStopped(); ++i)
      multiply(i);
    return;
  }
  forBlocks(count, 50 + each * products, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      multiply(i);
  });
}

/// The dimensions that neither list names, in order; nothing if a name is out of range or repeated.
std::optional<std::vector<int64_t>> remaining(int64_t rank, std::span<const int64_t> first,
                                              std::span<const int64_t> second) {
  std::vector<bool> used(rank, false);
  for (std::span<const int64_t> list : {first, second})
    for (int64_t d : list) {
      if (d < 0 || d >= rank || used[d])
        return std::nullopt;
      used[d] = true;
    }
  std::vector<int64_t> rest;
  for (int64_t d = 0; d < rank; ++d)
    if (!used[d])
      rest.push_back(d);
  return rest;
}

} // namespace

Result<Shape> dotGeneralShape(std::span<const int64_t> lhs, std::span<const int64_t> rhs,
                              const DotDimensions &dims) {
  auto lhsFree = remaining(static_cast<int64_t>(lhs.size()), dims.lhsBatching, dims.lhsContracting);
  auto rhsFree = remaining(static_cast<int64_t>(rhs.size()), dims.rhsBatching, dims.rhsContracting);
  if (!lhsFree || !rhsFree || dims.lhsBatching.size() != dims.rhsBatching.size() ||
      dims.lhsContracting.size() != dims.rhsContracting.size())
    return Error{"dot_general: dimension numbers do not fit operands of shapes " + sizes(lhs) +
                 " and " + sizes(rhs)};
  Shape shape;
  for (size_t i = 0; i < dims.lhsBatching.size(); ++i) {
    shape.push_back(lhs[dims.lhsBatching[i]]);
    if (shape.back() != rhs[dims.rhsBatching[i]])
      return Error{"dot_general: batching dimensions of " + sizes(lhs) + " and " + sizes(rhs) +
                   " differ in size"};
  }
  for (size_t i = 0; i < dims.lhsContracting.size(); ++i)
    if (lhs[dims.lhsContracting[i]] != rhs[dims.rhsContracting[i]])
      return Error{"dot_general: contracting dimensions of " + sizes(lhs) + " and " + sizes(rhs) +
                   " differ in size"};
  for (int64_t d : *lhsFree)
    shape.push_back(lhs[d]);
  for (int64_t d : *rhsFree)
    shape.push_back(rhs[d]);
  return shape;
}

/// What the rare floats are multiplied and summed in, before one rounding to their type.
static constexpr DType kWideForRare = DType::F64;

/// An operand of a product whose result is of a rare type.
static Result<Tensor> widened(const Tensor &operand, DType resultType) {
  Result<Tensor> own =
      operand.dtype() == resultType ? operand : tensor::convert(operand, resultType);
  return own ? tensor::convert(*own, kWideForRare) : own;
}

// Spec dot_general: result[b, i, j] = sum over k of lhs[b, i, k] * rhs[b, k, j].
Result<Tensor> dotGeneral(const Tensor &lhs, const Tensor &rhs, const DotDimensions &dims,
                          DType resultType, Accumulate accumulate) {
  Result<Shape> shape = dotGeneralShape(lhs.shape(), rhs.shape(), dims);
  if (!shape)
    return shape.error();
  if (tensor::isRareFloat(resultType)) {
    Result<Tensor> left = widened(lhs, resultType), right = widened(rhs, resultType);
    if (!left || !right)
      return left ? right : left;
    Result<Tensor> wide = dotGeneral(*left, *right, dims, kWideForRare, accumulate);
    return wide ? tensor::convert(*wide, resultType) : wide;
  }
  // Sums of nothing are zeros; all others are written.
  Result<Tensor> result = lhs.size() == 0 || rhs.size() == 0
                              ? Tensor::zeros(resultType, *shape)
                              : Tensor::uninitialized(resultType, *shape);
  if (!result || result->size() == 0)
    return result;
  Result<Tensor> left = lhs.dtype() == resultType ? lhs : tensor::convert(lhs, resultType);
  if (!left)
    return left;
  Result<Tensor> right = rhs.dtype() == resultType ? rhs : tensor::convert(rhs, resultType);
  if (!right)
    return right;

  auto lhsFree = *remaining(lhs.rank(), dims.lhsBatching, dims.lhsContracting);
  auto rhsFree = *remaining(rhs.rank(), dims.rhsBatching, dims.rhsContracting);
  size_t batchRank = dims.lhsBatching.size(), rowRank = lhsFree.size();
  std::vector<Walk> out;
  for (int64_t d = 0; d < result->rank(); ++d)
    out.push_back({result->dim(d), result->strides()[d]});
  std::span<const Walk> outWalks(out);

  auto lhsBatch = offsetsOf(walksOf(*left, dims.lhsBatching));
  auto rhsBatch = offsetsOf(walksOf(*right, dims.rhsBatching));
  auto outBatch = offsetsOf(outWalks.first(batchRank));
  auto lhsRows = offsetsOf(walksOf(*left, lhsFree));
  auto lhsDepth = offsetsOf(walksOf(*left, dims.lhsContracting));
  auto rhsDepth = offsetsOf(walksOf(*right, dims.rhsContracting));
  auto rhsColumns = offsetsOf(walksOf(*right, rhsFree));
  auto outRows = offsetsOf(outWalks.subspan(batchRank, rowRank));
  auto outColumns = offsetsOf(outWalks.subspan(batchRank + rowRank));
  std::byte *target = result->mutableData();
  multiplySeveral(
      static_cast<int64_t>(outBatch.size()),
      static_cast<double>(outRows.size() * outColumns.size() * lhsDepth.size()), [&](int64_t b) {
        // Sums of nothing are zeros, of operands that have no memory.
        auto begin = [](const Tensor &of, int64_t offset) {
          return of.data() ? of.data() + offset : nullptr;
        };
        multiplyMatrices(resultType, accumulate, {begin(*left, lhsBatch[b]), lhsRows, lhsDepth},
                         {begin(*right, rhsBatch[b]), rhsDepth, rhsColumns},
                         {target + outBatch[b], outRows, outColumns});
      });
  return result;
}

Result<DotDimensions> dotDimensions(int64_t lhsRank, int64_t rhsRank) {
  if (lhsRank < 1 || lhsRank > 2 || rhsRank < 1 || rhsRank > 2)
    return Error{"dot: operands must have rank 1 or 2, not " + std::to_string(lhsRank) + " and " +
                 std::to_string(rhsRank)};
  return DotDimensions{{}, {}, {lhsRank - 1}, {0}};
}

Result<Tensor> dot(const Tensor &lhs, const Tensor &rhs, DType resultType, Accumulate accumulate) {
  Result<DotDimensions> dims = dotDimensions(lhs.rank(), rhs.rank());
  if (!dims)
    return dims.error();
  return dotGeneral(lhs, rhs, *dims, resultType, accumulate);
}

namespace {

/// One spatial dimension, with all defaults filled in.
struct Spatial {
  int64_t input, kernel; // sizes
  int64_t stride, low, lhsDilation, rhsDilation;
  bool reversed;
  int64_t padded; // size of the input after dilation and padding
  int64_t output;
};

/// Sizes beyond this cannot be meant; sums of a few of them still fit.
constexpr __int128 kLargest = __int128{1} << 60;

Result<std::vector<Spatial>> spatialDimensions(std::span<const int64_t> lhs,
                                               std::span<const int64_t> rhs,
                                               const ConvolutionDimensions &dims,
                                               const ConvolutionWindow &window) {
  size_t count = dims.inputSpatial.size();
  if (lhs.size() != count + 2 || rhs.size() != count + 2 || dims.kernelSpatial.size() != count ||
      dims.outputSpatial.size() != count)
    return Error{"convolution: dimension numbers do not fit operands of shapes " + sizes(lhs) +
                 " and " + sizes(rhs)};
  for (auto list : {&window.strides, &window.paddingLow, &window.paddingHigh, &window.lhsDilation,
                    &window.rhsDilation})
    if (!list->empty() && list->size() != count)
      return Error{"convolution: a window attribute has " + std::to_string(list->size()) +
                   " entries for " + std::to_string(count) + " spatial dimensions"};
  if (!window.reversal.empty() && window.reversal.size() != count)
    return Error{"convolution: window_reversal has " + std::to_string(window.reversal.size()) +
                 " entries for " + std::to_string(count) + " spatial dimensions"};
  auto entry = [](const std::vector<int64_t> &list, size_t i, int64_t otherwise) {
    return list.empty() ? otherwise : list[i];
  };
  std::vector<Spatial> result;
  for (size_t i = 0; i < count; ++i) {
    Spatial s{};
    s.input = lhs[dims.inputSpatial[i]];
    s.kernel = rhs[dims.kernelSpatial[i]];
    s.stride = entry(window.strides, i, 1);
    s.low = entry(window.paddingLow, i, 0);
    int64_t high = entry(window.paddingHigh, i, 0);
    s.lhsDilation = entry(window.lhsDilation, i, 1);
    s.rhsDilation = entry(window.rhsDilation, i, 1);
    s.reversed = !window.reversal.empty() && window.reversal[i];
    if (s.stride < 1 || s.lhsDilation < 1 || s.rhsDilation < 1)
      return Error{"convolution: strides and dilations must be positive"};
    auto dilated = [](int64_t size, int64_t dilation) -> __int128 {
      return size == 0 ? __int128{0} : __int128{size - 1} * dilation + 1;
    };
    __int128 padded = dilated(s.input, s.lhsDilation) + s.low + high;
    __int128 reach = dilated(s.kernel, s.rhsDilation);
    if (padded > kLargest || s.low > kLargest || s.low < -kLargest)
      return Error{"convolution: spatial dimension " + std::to_string(i) +
                   " is too large after padding and dilation"};
    s.padded = static_cast<int64_t>(std::max<__int128>(padded, 0));
    s.output =
        padded <= 0 || reach > padded ? 0 : static_cast<int64_t>((padded - reach) / s.stride) + 1;
    result.push_back(s);
  }
  return result;
}

Result<Shape> outputShape(std::span<const int64_t> lhs, std::span<const int64_t> rhs,
                          const ConvolutionDimensions &dims, const ConvolutionWindow &window,
                          std::span<const Spatial> spatial) {
  int64_t batch = lhs[dims.inputBatch], features = lhs[dims.inputFeature];
  int64_t outputs = rhs[dims.kernelOutputFeature];
  int64_t featureGroups = window.featureGroups, batchGroups = window.batchGroups;
  if (featureGroups < 1 || batchGroups < 1 || (featureGroups > 1 && batchGroups > 1) ||
      features % featureGroups || outputs % featureGroups || batch % batchGroups ||
      outputs % batchGroups || rhs[dims.kernelInputFeature] != features / featureGroups)
    return Error{"convolution: " + std::to_string(featureGroups) + " feature groups and " +
                 std::to_string(batchGroups) + " batch groups do not fit operands of shapes " +
                 sizes(lhs) + " and " + sizes(rhs)};
  Shape shape(lhs.size());
  shape[dims.outputBatch] = batch / batchGroups;
  shape[dims.outputFeature] = outputs;
  for (size_t i = 0; i < spatial.size(); ++i)
    shape[dims.outputSpatial[i]] = spatial[i].output;
  return shape;
}

bool isPermutation(std::span<const int64_t> spatial, int64_t a, int64_t b) {
  std::vector<int64_t> named{a, b};
  return remaining(static_cast<int64_t>(spatial.size()) + 2, spatial, named).has_value();
}

/// The range of positions of one dimension that padding does not cut off.
std::pair<int64_t, int64_t> keptRange(const Spatial &s) {
  int64_t begin = s.low < 0 ? (-s.low + s.lhsDilation - 1) / s.lhsDilation : 0;
  int64_t end = s.low >= s.padded ? 0 : (s.padded - 1 - s.low) / s.lhsDilation + 1;
  return {begin, std::clamp(end, begin, std::max(begin, s.input))};
}

/// The input as [batch, spatial..., feature], dilated and padded with zeros; a view where there is
/// nothing to insert. In memory features are neighbours, but where positions are in the input and
/// windows move over them one by one: they stay so then, and rows are copied and read as wholes.
Result<Tensor> paddedInput(const Tensor &input, const ConvolutionDimensions &dims,
                           std::span<const Spatial> spatial) {
  std::vector<int64_t> order{dims.inputBatch};
  order.insert(order.end(), dims.inputSpatial.begin(), dims.inputSpatial.end());
  order.push_back(dims.inputFeature);
  Tensor source = input.transposed(order);
  if (std::all_of(spatial.begin(), spatial.end(), [](const Spatial &s) {
        return s.low == 0 && s.padded == s.input && s.lhsDilation == 1;
      }))
    return source;

  // Dimensions of `source` as they lie in the result, the closest last.
  const int64_t rank = source.rank(), bytes = tensor::info(source.dtype()).bytes;
  constexpr int64_t kLongRow = 8;
  std::vector<int64_t> lying(rank);
  std::iota(lying.begin(), lying.end(), 0);
  for (int64_t d = 1; d + 1 < rank; ++d)
    if (source.strides()[d] == bytes && source.dim(rank - 1) > 1 &&
        spatial[d - 1].output >= kLongRow) {
      // Batch and features outside, positions inside.
      lying.erase(lying.begin() + d);
      lying.erase(lying.end() - 1);
      lying.insert(lying.begin() + 1, rank - 1);
      lying.push_back(d);
      break;
    }
  Shape shape(rank), back(rank);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t d = lying[i];
    shape[i] = d > 0 && d + 1 < rank ? spatial[d - 1].padded : source.dim(d);
    back[d] = i;
  }
  Result<Tensor> laid = Tensor::zeros(source.elementType(), shape);
  if (!laid)
    return laid;
  std::byte *memory = laid->mutableData(); // before there are two who have it
  Tensor result = laid->transposed(back);
  if (result.size() == 0 || source.size() == 0)
    return result;
  // Where each position lands in bytes, but for the last dimension; those that negative padding
  // cuts off do not appear.
  struct Dimension {
    int64_t first, count, from, to, start; // `start`: where the first of them lands
  };
  auto dimensionOf = [&](int64_t d) {
    int64_t from = source.strides()[d], to = result.strides()[d];
    if (d == 0 || d + 1 == rank)
      return Dimension{0, source.dim(d), from, to, 0};
    const Spatial &s = spatial[d - 1];
    auto [begin, end] = keptRange(s);
    return Dimension{begin, end - begin, from, to * s.lhsDilation,
                     (s.low + begin * s.lhsDilation) * to};
  };
  std::vector<std::pair<int64_t, int64_t>> pairs{{0, 0}};
  for (int64_t l = 0; l + 1 < rank; ++l) {
    Dimension dimension = dimensionOf(lying[l]);
    std::vector<std::pair<int64_t, int64_t>> next;
    next.reserve(pairs.size() * dimension.count);
    for (auto [a, b] : pairs)
      for (int64_t i = 0; i < dimension.count; ++i)
        next.push_back({a + (dimension.first + i) * dimension.from,
                        b + dimension.start + i * dimension.to});
    pairs = std::move(next);
  }
  const Dimension last = dimensionOf(lying[rank - 1]);
  const std::byte *from = source.data() + last.first * last.from;
  std::byte *to = memory + last.start;
  forBlocks(static_cast<int64_t>(pairs.size()), 2.0 * static_cast<double>(last.count),
            [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) {
                auto [a, b] = pairs[i];
                if (last.from == bytes && last.to == bytes) {
                  std::memcpy(to + b, from + a, last.count * bytes);
                  continue;
                }
                for (int64_t f = 0; f < last.count; ++f)
                  std::memcpy(to + b + f * last.to, from + a + f * last.from, bytes);
              }
            });
  return result;
}

} // namespace

Result<Shape> convolutionShape(std::span<const int64_t> lhs, std::span<const int64_t> rhs,
                               const ConvolutionDimensions &dims, const ConvolutionWindow &window) {
  Result<std::vector<Spatial>> spatial = spatialDimensions(lhs, rhs, dims, window);
  if (!spatial)
    return spatial.error();
  return outputShape(lhs, rhs, dims, window, *spatial);
}

// Spec convolution: every output position is the product of one window of the padded input, read as
// a row of kernel positions x input features, with the kernel read as a matrix of the same rows.
Result<Tensor> convolution(const Tensor &lhs, const Tensor &rhs, const ConvolutionDimensions &dims,
                           const ConvolutionWindow &window, DType resultType,
                           Accumulate accumulate) {
  if (tensor::isRareFloat(resultType)) {
    Result<Tensor> left = widened(lhs, resultType), right = widened(rhs, resultType);
    if (!left || !right)
      return left ? right : left;
    Result<Tensor> wide = convolution(*left, *right, dims, window, kWideForRare, accumulate);
    return wide ? tensor::convert(*wide, resultType) : wide;
  }
  size_t rank = dims.inputSpatial.size() + 2;
  if (lhs.rank() != static_cast<int64_t>(rank) || rhs.rank() != static_cast<int64_t>(rank) ||
      !isPermutation(dims.inputSpatial, dims.inputBatch, dims.inputFeature) ||
      !isPermutation(dims.kernelSpatial, dims.kernelInputFeature, dims.kernelOutputFeature) ||
      !isPermutation(dims.outputSpatial, dims.outputBatch, dims.outputFeature))
    return Error{"convolution: dimension numbers do not fit operands of shapes " +
                 sizes(lhs.shape()) + " and " + sizes(rhs.shape())};
  Result<std::vector<Spatial>> spatial = spatialDimensions(lhs.shape(), rhs.shape(), dims, window);
  if (!spatial)
    return spatial.error();
  Result<Shape> shape = outputShape(lhs.shape(), rhs.shape(), dims, window, *spatial);
  if (!shape)
    return shape.error();
  const bool isOfNothing = lhs.size() == 0 || rhs.size() == 0;
  Result<Tensor> result = isOfNothing ? Tensor::zeros(resultType, *shape)
                                      : Tensor::uninitialized(resultType, *shape);
  if (!result || result->size() == 0 || isOfNothing)
    return result;
  Result<Tensor> left = lhs.dtype() == resultType ? lhs : tensor::convert(lhs, resultType);
  if (!left)
    return left;
  Result<Tensor> kernel = rhs.dtype() == resultType ? rhs : tensor::convert(rhs, resultType);
  if (!kernel)
    return kernel;
  Result<Tensor> input = paddedInput(*left, dims, *spatial);
  if (!input)
    return input;

  int64_t groups = window.featureGroups * window.batchGroups;
  int64_t batch = lhs.dim(dims.inputBatch) / window.batchGroups;
  int64_t features = rhs.dim(dims.kernelInputFeature);
  int64_t outputs = rhs.dim(dims.kernelOutputFeature) / groups;
  int64_t last = input->rank() - 1;
  std::span<const int64_t> inputSteps = input->strides(), kernelSteps = kernel->strides(),
                           outputSteps = result->strides();
  std::vector<Walk> positions{{batch, inputSteps[0]}}, windows, kernels,
      targets{{batch, outputSteps[dims.outputBatch]}};
  int64_t kernelStart = 0;
  for (size_t i = 0; i < spatial->size(); ++i) {
    const Spatial &s = (*spatial)[i];
    positions.push_back({s.output, s.stride * inputSteps[i + 1]});
    windows.push_back({s.kernel, s.rhsDilation * inputSteps[i + 1]});
    int64_t step = kernelSteps[dims.kernelSpatial[i]];
    kernels.push_back({s.kernel, s.reversed ? -step : step});
    if (s.reversed)
      kernelStart += (s.kernel - 1) * step;
    targets.push_back({s.output, outputSteps[dims.outputSpatial[i]]});
  }
  windows.push_back({features, inputSteps[last]});
  kernels.push_back({features, kernelSteps[dims.kernelInputFeature]});
  Walk kernelOutputs[] = {{outputs, kernelSteps[dims.kernelOutputFeature]}};
  Walk outputFeatures[] = {{outputs, outputSteps[dims.outputFeature]}};
  auto rows = offsetsOf(positions), depth = offsetsOf(windows);
  auto kernelRows = offsetsOf(kernels, kernelStart), kernelColumns = offsetsOf(kernelOutputs);
  auto outRows = offsetsOf(targets), outColumns = offsetsOf(outputFeatures);
  std::byte *target = result->mutableData();
  double products = static_cast<double>(rows.size()) * static_cast<double>(outputs * depth.size());
  multiplySeveral(groups, products, [&](int64_t g) {
    int64_t inputStart =
        window.featureGroups > 1 ? g * features * inputSteps[last] : g * batch * inputSteps[0];
    multiplyMatrices(
        resultType, accumulate, {input->data() + inputStart, rows, depth},
        {kernel->data() + g * outputs * kernelOutputs[0].step, kernelRows, kernelColumns},
        {target + g * outputs * outputFeatures[0].step, outRows, outColumns});
  });
  return result;
}

Result<ConvolutionWindow> withPadding(ConvolutionWindow window, const Tensor &padding) {
  if (padding.rank() != 2 || padding.dim(1) != 2 || !tensor::isInteger(padding.dtype()))
    return Error{"dynamic_conv: padding must be integers of shape [spatial dimensions, 2], not " +
                 tensor::describe(padding.elementType(), padding.shape())};
  Result<Tensor> wide = tensor::convert(padding, DType::I64);
  if (!wide)
    return wide.error();
  const int64_t *values = wide->dataAs<int64_t>();
  window.paddingLow.clear();
  window.paddingHigh.clear();
  for (int64_t i = 0; i < padding.dim(0); ++i) {
    window.paddingLow.push_back(values[2 * i]);
    window.paddingHigh.push_back(values[2 * i + 1]);
  }
  return window;
}

} // namespace cupel::reference
