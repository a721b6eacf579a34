// Convolutions: patches of images are the columns of a matrix that is never whole in memory, and
// products of products.h do the rest.
#pragma once

#include "products.h"

namespace ops {

/// What a convolution is, with the batch, features and three spatial dimensions in this order.
struct Convolution {
  static constexpr int dims = 3;
  int64_t images = 1, channels = 1, features = 1, groups = 1, batch_groups = 1; ///< channels: of a group.
  int64_t size[dims] = {1, 1, 1}, window[dims] = {1, 1, 1}, stride[dims] = {1, 1, 1}, spread[dims] = {1, 1, 1};
  int64_t dilation[dims] = {1, 1, 1}, before[dims] = {}, count[dims] = {1, 1, 1};
  int64_t places() const { return count[0] * count[1] * count[2]; }
  int64_t taps() const { return window[0] * window[1] * window[2]; }
  int64_t each() const { return features / (groups * batch_groups); }
  int64_t depth() const { return channels * taps(); }
};

/// Rows are short: a call would take longer than the copy. The last vector overlaps the one before.
inline void copy_row(const float *from, float *to, int64_t n) {
  constexpr int few = 4;
  if (n >= lanes) {
    for (int64_t i = 0; i + lanes <= n; i += lanes)
      std::memcpy(to + i, from + i, sizeof(Vector));
    std::memcpy(to + n - lanes, from + n - lanes, sizeof(Vector));
  } else if (n >= few) {
    for (int64_t i = 0; i + few <= n; i += few)
      std::memcpy(to + i, from + i, few * sizeof(float));
    std::memcpy(to + n - few, from + n - few, few * sizeof(float));
  } else
    for (int64_t i = 0; i < n; ++i)
      to[i] = from[i];
}

/// A plane of the input with its border, and split by the remainders of the stride: then the elements that
/// a tap meets at neighbouring places are neighbours.
struct Planes {
  int64_t length[Convolution::dims], phases = 1, phase_size = 1;
  std::vector<char> is_used;        ///< Of each phase.
  std::vector<int64_t> tap_offsets; ///< Where in a plane each tap begins.
  std::vector<int64_t> runs;        ///< Offset of each row of places.
  int64_t run_length = 1;
  bool is_input = true; ///< The input itself is already so.

  explicit Planes(const Convolution &c) {
    constexpr int dims = Convolution::dims;
    for (int d = 0; d < dims; ++d) {
      int64_t total = (c.count[d] - 1) * c.stride[d] + (c.window[d] - 1) * c.dilation[d] + 1;
      length[d] = (total + c.stride[d] - 1) / c.stride[d];
      phases *= c.stride[d];
      phase_size *= length[d];
      is_input = is_input && c.stride[d] == 1 && c.spread[d] == 1 && c.before[d] == 0 && length[d] == c.size[d];
    }
    is_used.resize(size_t(phases));
    for (int64_t a = 0; a < c.window[0]; ++a)
      for (int64_t b = 0; b < c.window[1]; ++b)
        for (int64_t e = 0; e < c.window[2]; ++e) {
          int64_t at[dims] = {a * c.dilation[0], b * c.dilation[1], e * c.dilation[2]}, phase = 0, offset = 0;
          for (int d = 0; d < dims; ++d) {
            phase = phase * c.stride[d] + at[d] % c.stride[d];
            offset = offset * length[d] + at[d] / c.stride[d];
          }
          is_used[size_t(phase)] = 1;
          tap_offsets.push_back(phase * phase_size + offset);
        }
    // Rows that follow each other without a gap are one.
    run_length = c.count[2];
    bool joins_rows = length[2] == c.count[2], joins_planes = joins_rows && length[1] == c.count[1];
    if (joins_rows)
      run_length *= c.count[1];
    if (joins_planes)
      run_length *= c.count[0];
    for (int64_t a = 0; a < (joins_planes ? 1 : c.count[0]); ++a)
      for (int64_t b = 0; b < (joins_rows ? 1 : c.count[1]); ++b)
        runs.push_back((a * length[1] + b) * length[2]);
  }
  int64_t size() const { return phases * phase_size; }

  /// Copies a plane of the input to its places inside the border, which is zeros already.
  void fill(const Convolution &c, const float *from, float *to) const {
    int64_t phase = 0;
    for (int64_t p0 = 0; p0 < c.stride[0]; ++p0)
      for (int64_t p1 = 0; p1 < c.stride[1]; ++p1)
        for (int64_t p2 = 0; p2 < c.stride[2]; ++p2, ++phase) {
          if (!is_used[size_t(phase)])
            continue;
          // Places before the first and behind the last lie in the border.
          int64_t stride = c.stride[2], shift = p2 - c.before[2];
          int64_t first = std::min(length[2], shift < 0 ? (-shift + stride - 1) / stride : 0);
          int64_t last = std::max(first, std::min(length[2], (c.size[2] - shift + stride - 1) / stride));
          float *row = to + phase * phase_size;
          for (int64_t a = 0; a < length[0]; ++a)
            for (int64_t b = 0; b < length[1]; ++b, row += length[2]) {
              int64_t z = source(c, 0, a * c.stride[0] + p0), y = source(c, 1, b * c.stride[1] + p1);
              if (z < 0 || y < 0)
                continue;
              const float *line = from + (z * c.size[1] + y) * c.size[2];
              if (c.spread[2] != 1)
                for (int64_t e = 0; e < length[2]; ++e) {
                  int64_t x = source(c, 2, e * stride + p2);
                  row[e] = x < 0 ? 0.0f : line[x];
                }
              else if (stride == 1)
                copy_row(line + first + shift, row + first, last - first);
              else if (stride == 2) // A step that compilers know becomes vector code.
                for (int64_t e = first; e < last; ++e)
                  row[e] = line[e * 2 + shift];
              else
                for (int64_t e = first; e < last; ++e)
                  row[e] = line[e * stride + shift];
            }
        }
  }

private:
  /// Where in the input a place of the bordered plane lies, or -1.
  static int64_t source(const Convolution &c, int d, int64_t place) {
    place -= c.before[d];
    if (c.spread[d] == 1)
      return place < c.size[d] ? place : -1;
    return place < 0 || place % c.spread[d] || place / c.spread[d] >= c.size[d] ? -1 : place / c.spread[d];
  }
};

/// Part of a row of patches: so many places that lie side by side in the planes and in a panel.
struct Piece {
  int64_t to, from, length;
};

/// Packs the panels of a part of a product: row k of the matrix of patches is channel k / taps, shifted to
/// tap k % taps.
class PatchPanels {
public:
  PatchPanels(const Planes &planes, const Dims &row_offsets, const float *channels, const Part &part, int64_t places)
      : row_offsets(row_offsets), channels(channels), first_panel(part.first_panel),
        panel_size((std::min(block_depth, int64_t(row_offsets.size())) + 1) * tile_columns),
        packed(Dims{(part.last_panel - part.first_panel) * panel_size}) {
    for (int64_t p = part.first_panel; p < part.last_panel; ++p)
      for (int64_t at = p * tile_columns, end = std::min(places, at + tile_columns); at < end;) {
        int64_t run = at / planes.run_length, inside = at % planes.run_length;
        int64_t length = std::min(end - at, planes.run_length - inside);
        pieces.push_back({(p - first_panel) * panel_size + at - p * tile_columns, planes.runs[size_t(run)] + inside, length});
        at += length;
      }
    if (part.last_panel * tile_columns > places) // Columns that are not there are zeros.
      std::fill_n(packed.data() + (part.last_panel - 1 - first_panel) * panel_size, panel_size, 0.0f);
  }
  /// Pieces are copied by whole vectors: what is written too far is written again by the next piece, or lies
  /// in the row behind the panel.
  auto operator()(int64_t k0, int64_t depth) {
    float *to = packed.data();
    for (int64_t k = k0; k < k0 + depth; ++k, to += tile_columns) {
      const float *from = channels + row_offsets[size_t(k)];
      for (const Piece &piece : pieces) {
        *reinterpret_cast<Vector *>(to + piece.to) = *reinterpret_cast<const Vector *>(from + piece.from);
        if (piece.length > lanes)
          *reinterpret_cast<Vector *>(to + piece.to + lanes) = *reinterpret_cast<const Vector *>(from + piece.from + lanes);
      }
    }
    return [first = packed.data() - first_panel * panel_size, step = panel_size](int64_t p) { return first + p * step; };
  }

private:
  const Dims &row_offsets;
  const float *channels;
  int64_t first_panel, panel_size;
  Tensor<float> packed;
  std::vector<Piece> pieces;
};

/// One channel to one: the taps of each row are added up. A number of taps that is known to the compiler (or
/// 0) makes faster code.
template <int known_taps>
OPS_FUSED inline void convolve_channel(const Planes &planes, const float *plane, const float *weights, float *to) {
  OPS_FUSED_BLOCK
  constexpr int most = known_taps ? known_taps : 1, at_once = 4;
  int64_t taps = known_taps ? known_taps : int64_t(planes.tap_offsets.size()), length = planes.run_length;
  int64_t offsets[most];
  float factors[most];
  if (known_taps)
    for (int t = 0; t < most; ++t) {
      offsets[t] = planes.tap_offsets[size_t(t)];
      factors[t] = weights[t];
    }
  const int64_t *offset_of = known_taps ? offsets : planes.tap_offsets.data();
  const float *factor_of = known_taps ? factors : weights;
  float *end = to + length * int64_t(planes.runs.size());
  for (int64_t run : planes.runs) {
    const float *from = plane + run;
    int64_t i = 0;
    for (; i + at_once * lanes <= length; i += at_once * lanes) {
      Vector sums[at_once] = {};
      for (int64_t t = 0; t < taps; ++t)
        OPS_UNROLL
        for (int v = 0; v < at_once; ++v)
          sums[v] += factor_of[t] * *reinterpret_cast<const Vector *>(from + offset_of[t] + i + v * lanes);
      OPS_UNROLL
      for (int v = 0; v < at_once; ++v)
        *reinterpret_cast<Vector *>(to + i + v * lanes) = sums[v];
    }
    for (; i < length; i += lanes) {
      Vector sum = {};
      for (int64_t t = 0; t < taps; ++t)
        sum += factor_of[t] * *reinterpret_cast<const Vector *>(from + offset_of[t] + i);
      // What is written behind a row is written again with the next row.
      if (to + i + lanes <= end)
        *reinterpret_cast<Vector *>(to + i) = sum;
      else
        for (int64_t j = i; j < length; ++j)
          to[j] = sum[j - i];
    }
    to += length;
  }
}

/// x: images x channels x planes; kernel: features x channels of a group x taps; all lie so.
inline void convolve(const Convolution &c, const float *x, bool has_slack, const float *kernel, bool kernel_is_fixed,
                     float *result, const Finish &finish) {
#ifdef CUPEL_ONEDNN
  if (onednn::convolve(c, x, kernel, kernel_is_fixed, result)) {
    finish_rows(c.images * c.features, c.places(), result, finish, 0);
    return;
  }
#endif
  const Planes planes(c);
  int64_t groups = c.groups * c.batch_groups, each = c.each(), depth = c.depth(), places = c.places(), taps = c.taps();
  int64_t plane = c.size[0] * c.size[1] * c.size[2];
  int64_t x_images = c.images * c.batch_groups, x_channels = c.channels * c.groups;
  bool is_bordered = planes.is_input && has_slack;
  /// Which channel of x group g of image n begins with.
  auto channel_of = [&](int64_t n, int64_t g) {
    return c.batch_groups > 1 ? (g * c.images + n) * x_channels : n * x_channels + g * c.channels;
  };
  if (c.channels == 1 && each == 1) {
    auto by_taps = taps == 9 ? convolve_channel<9> : taps == 25 ? convolve_channel<25> : convolve_channel<0>;
    // Some channels at a time: what has just been written cannot be read at once by other vectors.
    int64_t together = is_bordered ? 1 : std::max<int64_t>(1, 4096 / planes.size());
    parallel_for(c.images * groups, std::max<int64_t>(1, 16384 / (places * depth + 1)), [&](int64_t begin, int64_t end) {
      Tensor<float> bordered = full<float>(Dims{is_bordered ? 0 : together * planes.size()}, 0.0f);
      for (int64_t first = begin; first < end; first += together) {
        int64_t last = std::min(end, first + together);
        auto from = [&](int64_t i) { return x + channel_of(i / groups, i % groups) * plane; };
        auto filled = [&](int64_t i) { return bordered.data() + (i - first) * planes.size(); };
        for (int64_t i = first; i < last && !is_bordered; ++i)
          planes.fill(c, from(i), filled(i));
        for (int64_t i = first; i < last; ++i) {
          by_taps(planes, is_bordered ? from(i) : filled(i), kernel + i % groups * depth, result + i * places);
          if (finish)
            finish(result, i * places, (i + 1) * places);
        }
      }
    });
    return;
  }
  Tensor<float> bordered;
  if (!is_bordered) {
    bordered = Tensor<float>(Dims{x_images * x_channels, planes.size()});
    parallel_for(x_images * x_channels, std::max<int64_t>(1, 8192 / planes.size()), [&](int64_t begin, int64_t end) {
      std::fill_n(bordered.data() + begin * planes.size(), (end - begin) * planes.size(), 0.0f);
      for (int64_t i = begin; i < end; ++i)
        planes.fill(c, x + i * plane, bordered.data() + i * planes.size());
    });
    x = bordered.data();
  }
  Dims row_offsets;
  for (int64_t k = 0; k < depth; ++k)
    row_offsets.push_back(k / taps * planes.size() + planes.tap_offsets[size_t(k % taps)]);
  std::vector<std::shared_ptr<const PackedRows>> left;
  for (int64_t g = 0; g < groups; ++g)
    left.push_back(PackedWeights<PackedRows>::get(kernel_is_fixed, {kernel, g, each, depth, 0, 0}, [&] {
      auto made = std::make_shared<PackedRows>(each, depth);
      made->pack({kernel + g * each * depth, depth, 1});
      return made;
    }));
  int64_t jobs = c.images * groups;
  parallel_for(jobs, jobs < 4 * Workers::get().count() ? jobs : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t n = i / groups, g = i % groups, offset = (n * c.features + g * each) * places;
      const float *from = x + channel_of(n, g) * planes.size();
      const PackedRows &weights = *left[size_t(g)];
      for_each_part(weights, places, result + offset, finish, offset, [&](const Part &part) {
        multiply_part(weights, part, places, result + offset, PatchPanels(planes, row_offsets, from, part, places));
      });
    }
  });
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

/// Any types and numbers of dimensions: x and kernel lie as (batch, feature, ...) and (output, input, ...).
template <class R, class A, class B>
inline Tensor<R> convolve_any(const Tensor<A> &x, const Tensor<B> &kernel, const Dims &counts, const Dims &strides,
                              const Dims &spread, const Dims &dilation, int64_t feature_groups, int64_t batch_groups,
                              const Dims &padding) {
  using Sum = typename Accumulates<R>::type;
  size_t spatial = strides.size();
  Dims window(kernel.shape.begin() + 2, kernel.shape.end()), plane_shape(x.shape.begin() + 2, x.shape.end());
  Dims plane_steps = strides_of(plane_shape), shape = {x.shape[0] / batch_groups, kernel.shape[0]};
  int64_t groups = feature_groups * batch_groups, images = shape[0], features = kernel.shape[0];
  int64_t channels = kernel.shape[1], each = features / groups, plane = count_of(plane_shape), taps = count_of(window);
  shape.insert(shape.end(), counts.begin(), counts.end());
  Tensor<R> result(shape);
  int64_t places = count_of(counts);
  Dims where(static_cast<size_t>(taps));
  int64_t place = 0;
  for_each_index(counts, [&](const Dims &out) {
    size_t tap = 0;
    for_each_index(window, [&](const Dims &k) {
      int64_t at = 0;
      for (size_t d = 0; d < spatial && at >= 0; ++d) {
        int64_t p = out[d] * strides[d] + k[d] * dilation[d] - padding[2 * d];
        bool is_inside = p >= 0 && p % spread[d] == 0 && p / spread[d] < plane_shape[d];
        at = is_inside ? at + p / spread[d] * plane_steps[d] : -1;
      }
      where[tap++] = at;
    });
    for (int64_t n = 0; n < images; ++n)
      for (int64_t f = 0; f < features; ++f) {
        int64_t g = f / each, image = batch_groups > 1 ? g * images + n : n, channel = batch_groups > 1 ? 0 : g * channels;
        const A *from = x.data() + (image * x.shape[1] + channel) * plane;
        const B *weights = kernel.data() + f * channels * taps;
        Sum sum = convert<Sum>(0.0);
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t t = 0; t < taps; ++t)
            if (where[size_t(t)] >= 0)
              sum = add(sum, multiply(convert<Sum>(from[c * plane + where[size_t(t)]]), convert<Sum>(weights[c * taps + t])));
        result[(n * features + f) * places + place] = convert<R>(sum);
      }
    ++place;
  });
  return result;
}

inline bool is_in_order(const Dims &list) { return std::is_sorted(list.begin(), list.end()); }

/// Dimensions are given as (batch, feature, spatial...), those of the kernel as (input, output, spatial...).
template <class R, class A, class B>
inline Tensor<R> convolution(const Tensor<A> &x_given, const Tensor<B> &kernel_given, const Dims &input_dims,
                             const Dims &kernel_dims, const Dims &output_dims, const Dims &strides,
                             const Dims &lhs_dilation, const Dims &rhs_dilation, const std::vector<bool> &reversal,
                             int64_t feature_groups, int64_t batch_groups, const Dims &padding,
                             const Finish &finish = nullptr) {
  Tensor<A> x = is_in_order(input_dims) ? x_given : transpose(x_given, input_dims);
  Dims kernel_order = kernel_dims, flipped, counts;
  std::swap(kernel_order[0], kernel_order[1]);
  for (size_t d = 0; d < reversal.size(); ++d)
    if (reversal[d])
      flipped.push_back(int64_t(d) + 2);
  auto arrange = [&] {
    Tensor<B> made = is_in_order(kernel_order) ? kernel_given : transpose(kernel_given, kernel_order);
    return std::make_shared<const Tensor<B>>(flipped.empty() ? made : reverse(made, flipped));
  };
  int64_t order = 0;
  for (int64_t d : kernel_order)
    order = order * 8 + d;
  for (int64_t d : flipped)
    order = order * 8 + d;
  Tensor<B> kernel = *PackedWeights<Tensor<B>>::get(kernel_given.is_fixed, {kernel_given.data(), order, 0, 0, 0, 0}, arrange);
  kernel.is_fixed = kernel_given.is_fixed;
  size_t spatial = strides.size();
  for (size_t d = 0; d < spatial; ++d) {
    int64_t n = x.shape[d + 2], whole = (n == 0 ? 0 : (n - 1) * lhs_dilation[d] + 1) + padding[2 * d] + padding[2 * d + 1];
    int64_t span = (kernel.shape[d + 2] - 1) * rhs_dilation[d] + 1;
    counts.push_back(whole < span ? 0 : (whole - span) / strides[d] + 1);
  }
  Tensor<R> result;
  int64_t products = count_of(counts) * kernel.size() * (x.shape[0] / batch_groups);
  if constexpr (is_float_product_v<A> && is_float_product_v<B> && is_float_product_v<R>) {
    if (spatial <= 3 && products > few_products) {
      Convolution c;
      c.images = x.shape[0] / batch_groups;
      c.channels = kernel.shape[1];
      c.features = kernel.shape[0];
      c.groups = feature_groups;
      c.batch_groups = batch_groups;
      for (size_t d = 0; d < spatial; ++d) {
        size_t to = 3 - spatial + d;
        c.size[to] = x.shape[d + 2];
        c.window[to] = kernel.shape[d + 2];
        c.stride[to] = strides[d];
        c.spread[to] = lhs_dilation[d];
        c.dilation[to] = rhs_dilation[d];
        c.before[to] = padding[2 * d];
        c.count[to] = counts[d];
      }
      Dims shape = {c.images, c.features};
      shape.insert(shape.end(), counts.begin(), counts.end());
      Tensor<float> sums(shape);
      convolve(c, convert_elements<float>(x).data(), !x.is_fixed, convert_elements<float>(kernel).data(),
               std::is_same<B, float>::value && kernel.is_fixed, sums.data(), finish);
      result = convert_elements<R>(sums);
    }
  }
  if (result.data() == nullptr) {
    result = convolve_any<R>(x, kernel, counts, strides, lhs_dilation, rhs_dilation, feature_groups, batch_groups, padding);
    if constexpr (std::is_same<R, float>::value)
      for (int64_t at = 0, row = count_of(counts); finish && at < result.size(); at += row)
        finish(result.data(), at, at + row);
  }
  Dims back(output_dims.size());
  for (size_t d = 0; d < output_dims.size(); ++d)
    back[size_t(output_dims[d])] = int64_t(d);
  return is_in_order(back) ? result : transpose(result, back);
}
template <class R, class A, class B, class I>
inline Tensor<R> dynamic_conv(const Tensor<A> &x, const Tensor<B> &kernel, const Tensor<I> &padding,
                              const Dims &input_dims, const Dims &kernel_dims, const Dims &output_dims,
                              const Dims &strides, const Dims &lhs_dilation, const Dims &rhs_dilation,
                              const std::vector<bool> &reversal, int64_t feature_groups, int64_t batch_groups) {
  return convolution<R>(x, kernel, input_dims, kernel_dims, output_dims, strides, lhs_dilation, rhs_dilation,
                        reversal, feature_groups, batch_groups, sizes_of(padding));
}

} // namespace ops
