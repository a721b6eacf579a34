// Maps, reductions and windows: operations with functions of elements that the program gives. Such a
// function takes elements and gives one, or a tuple of them.
#pragma once

#include "indexing.h"

namespace ops {

/// Functions that reductions know by themselves.
struct Add {
  template <class T> T operator()(const T &a, const T &b) const { return add(a, b); }
};
struct Multiply {
  template <class T> T operator()(const T &a, const T &b) const { return multiply(a, b); }
};
struct Maximum {
  template <class T> T operator()(const T &a, const T &b) const { return maximum(a, b); }
};
struct Minimum {
  template <class T> T operator()(const T &a, const T &b) const { return minimum(a, b); }
};
struct And {
  template <class T> T operator()(const T &a, const T &b) const { return logical_and(a, b); }
};
struct Or {
  template <class T> T operator()(const T &a, const T &b) const { return logical_or(a, b); }
};
template <class F> struct is_known : std::false_type {};
template <> struct is_known<Add> : std::true_type {};
template <> struct is_known<Multiply> : std::true_type {};
template <> struct is_known<Maximum> : std::true_type {};
template <> struct is_known<Minimum> : std::true_type {};
template <> struct is_known<And> : std::true_type {};
template <> struct is_known<Or> : std::true_type {};

/// What folded values are held in: sums and products of floats in double.
template <class F, class T>
using Folded = std::conditional_t<std::is_same<F, Add>::value || std::is_same<F, Multiply>::value,
                                  typename Accumulates<T>::type, T>;
/// The same for windows, which overlap: narrow types are rounded at every step, as the program is
/// written, or running sums that cancel would differ from those of every other device.
template <class F, class T>
using FoldedInWindow = std::conditional_t<(sizeof(T) < sizeof(float)), T, Folded<F, T>>;

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// A function of elements, element by element; tensors of one element go with all of the others.
template <class F, class... T> inline auto map_elements(const F &body, const Tensor<T> &...operands) {
  using R = std::decay_t<decltype(first_of(body(operands[0]...)))>;
  Dims shape;
  bool is_known = false;
  auto look = [&](const Dims &other) {
    if (!is_known || shape.size() < other.size())
      shape = other;
    is_known = true;
  };
  (look(operands.shape), ...);
  Tensor<R> result(shape);
  parallel_for(result.size(), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      result[i] = first_of(body(operands[operands.size() == 1 ? 0 : i]...));
  });
  return result;
}
template <class To, class From> inline Tensor<To> convert_elements(const Tensor<From> &x) {
  if constexpr (std::is_same<To, From>::value)
    return x;
  else {
    Tensor<To> result(x.shape);
    parallel_for(x.size(), 16384, [&](int64_t begin, int64_t end) {
      const From *from = x.data();
      To *to = result.data();
      for (int64_t i = begin; i < end; ++i)
        to[i] = convert<To>(from[i]);
    });
    return result;
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Elements that lie one after the other, folded in parts that fit vector registers.
template <class F, class T, class Wide> inline Wide fold_run(const F &f, const T *x, int64_t n, Wide value) {
  constexpr int parts = 16;
  int64_t i = 0;
  if (n >= 4 * parts) {
    Wide part[parts];
    for (int p = 0; p < parts; ++p)
      part[p] = convert<Wide>(x[p]);
    for (i = parts; i + parts <= n; i += parts)
      for (int p = 0; p < parts; ++p)
        part[p] = f(part[p], convert<Wide>(x[i + p]));
    for (int p = 0; p < parts; ++p)
      value = f(value, part[p]);
  }
  for (; i < n; ++i)
    value = f(value, convert<Wide>(x[i]));
  return value;
}

/// The places of a tensor that a reduction keeps and folds, neighbouring dimensions joined.
struct FoldPlan {
  Dims kept, kept_steps, folded, folded_steps, shape;
  FoldPlan(const Dims &given, const Dims &dimensions) {
    Dims steps = strides_of(given);
    for (size_t d = 0; d < given.size(); ++d) {
      bool is_folded = contains(dimensions, int64_t(d));
      if (!is_folded)
        shape.push_back(given[d]);
      Dims &sizes = is_folded ? folded : kept, &list = is_folded ? folded_steps : kept_steps;
      if (given[d] == 1)
        continue;
      if (!sizes.empty() && list.back() == given[d] * steps[d]) {
        sizes.back() *= given[d];
        list.back() = steps[d];
      } else {
        sizes.push_back(given[d]);
        list.push_back(steps[d]);
      }
    }
  }
  static Dims offsets(const Dims &sizes, const Dims &steps) {
    Dims list;
    for_each_index(sizes, [&](const Dims &index) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d)
        at += index[d] * steps[d];
      list.push_back(at);
    });
    return list;
  }
  int64_t place(int64_t i) const {
    int64_t at = 0;
    for (size_t d = kept.size(); d-- > 0; i /= kept[d])
      at += i % kept[d] * kept_steps[d];
    return at;
  }
};

template <class F, class T>
inline Tensor<T> reduce_known(const Tensor<T> &x, const Tensor<T> &init, const F &f, const Dims &dimensions) {
  using Wide = Folded<F, T>;
  FoldPlan plan(x.shape, dimensions);
  Tensor<T> result(plan.shape);
  const Wide start = convert<Wide>(init.item());
  bool has_runs = plan.folded_steps.empty() || plan.folded_steps.back() == 1 || plan.kept_steps.empty();
  if (has_runs) {
    int64_t run = plan.folded.empty() ? 1 : plan.folded.back(), step = plan.folded_steps.empty() ? 1 : plan.folded_steps.back();
    Dims outer(plan.folded.begin(), plan.folded.end() - (plan.folded.empty() ? 0 : 1));
    Dims offsets = FoldPlan::offsets(outer, plan.folded_steps);
    parallel_for(result.size(), std::max<int64_t>(1, 16384 / std::max<int64_t>(1, run * int64_t(offsets.size()))),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const T *from = x.data() + plan.place(i);
                     Wide value = start;
                     for (int64_t offset : offsets) {
                       if (step == 1)
                         value = fold_run(f, from + offset, run, value);
                       else
                         for (int64_t k = 0; k < run; ++k)
                           value = f(value, convert<Wide>(from[offset + k * step]));
                     }
                     result[i] = convert<T>(value);
                   }
                 });
    return result;
  }
  // What is kept lies inmost: rows are folded into rows.
  constexpr int64_t block = 512;
  int64_t row = plan.kept.back(), blocks = (row + block - 1) / block, rows = row ? result.size() / row : 0;
  Dims offsets = FoldPlan::offsets(plan.folded, plan.folded_steps);
  parallel_for(rows * blocks, std::max<int64_t>(1, 16384 / (std::min(row, block) * int64_t(offsets.size()) + 1)),
               [&](int64_t begin, int64_t end) {
                 Wide values[block];
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t first = i % blocks * block, have = std::min(block, row - first), at = i / blocks * row + first;
                   const T *from = x.data() + plan.place(at);
                   std::fill_n(values, have, start);
                   for (int64_t offset : offsets)
                     for (int64_t k = 0; k < have; ++k)
                       values[k] = f(values[k], convert<Wide>(from[offset + k * plan.kept_steps.back()]));
                   for (int64_t k = 0; k < have; ++k)
                     result[at + k] = convert<T>(values[k]);
                 }
               });
  return result;
}

template <class F, class... T, size_t... k>
inline std::tuple<Tensor<T>...> reduce_all(const std::tuple<Tensor<T>...> &inputs, const std::tuple<Tensor<T>...> &inits,
                                           const F &body, const Dims &dimensions, std::index_sequence<k...>) {
  FoldPlan plan(std::get<0>(inputs).shape, dimensions);
  std::tuple<Tensor<T>...> results((void(sizeof(T)), Tensor<T>(plan.shape))...);
  Dims offsets = FoldPlan::offsets(plan.folded, plan.folded_steps);
  if (contains(plan.folded, 0) || std::get<0>(inputs).size() == 0)
    offsets.clear();
  parallel_for(count_of(plan.shape), std::max<int64_t>(1, 16384 / std::max<int64_t>(1, int64_t(offsets.size()))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t at = plan.place(i);
                   std::tuple<T...> value(std::get<k>(inits).item()...);
                   for (int64_t offset : offsets)
                     value = as_tuple(body(std::get<k>(value)..., std::get<k>(inputs)[at + offset]...));
                   ((std::get<k>(results)[i] = std::get<k>(value)), ...);
                 }
               });
  return results;
}
/// Folds in order. `body` takes what has been folded, then the next elements.
template <class F, class... T>
inline std::tuple<Tensor<T>...> reduce(const std::tuple<Tensor<T>...> &inputs, const std::tuple<Tensor<T>...> &inits,
                                       const F &body, const Dims &dimensions) {
  return reduce_all(inputs, inits, body, dimensions, std::index_sequence_for<T...>());
}
template <class F, class T>
inline Tensor<T> reduce(const Tensor<T> &x, const Tensor<T> &init, const F &body, const Dims &dimensions) {
  if constexpr (is_known<F>::value)
    if (x.size() > 0)
      return reduce_known(x, init, body, dimensions);
  return std::get<0>(reduce(std::make_tuple(x), std::make_tuple(init), body, dimensions));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Where the windows lie.
struct Window {
  Dims sizes, strides, base_dilations, dilations, padding;
  Dims counts(const Dims &shape) const {
    Dims result;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t spread = shape[d] == 0 ? 0 : (shape[d] - 1) * base_dilations[d] + 1;
      int64_t whole = padding[2 * d] + spread + padding[2 * d + 1], span = (sizes[d] - 1) * dilations[d] + 1;
      result.push_back(whole < span ? 0 : (whole - span) / strides[d] + 1);
    }
    return result;
  }
  /// Where element `index` of window `out` lies in dimension d, or -1.
  int64_t place(size_t d, int64_t out, int64_t index, int64_t size) const {
    int64_t at = out * strides[d] + index * dilations[d] - padding[2 * d];
    return at < 0 || at % base_dilations[d] || at / base_dilations[d] >= size ? -1 : at / base_dilations[d];
  }
};

/// Elements that all lie inside, `stride` apart: compilers make vector code of a step that they know.
template <class F, class Wide, class T>
inline void fold_row(const F &f, Wide *values, const T *from, int64_t count, int64_t stride) {
  if (stride == 1)
    for (int64_t o = 0; o < count; ++o)
      values[o] = f(values[o], convert<Wide>(from[o]));
  else if (stride == 2)
    for (int64_t o = 0; o < count; ++o)
      values[o] = f(values[o], convert<Wide>(from[o * 2]));
  else
    for (int64_t o = 0; o < count; ++o)
      values[o] = f(values[o], convert<Wide>(from[o * stride]));
}

/// Rows of windows at a time: the elements at one place of all windows of a row are folded together.
template <class F, class... T, size_t... k>
inline std::tuple<Tensor<T>...> reduce_window_all(const std::tuple<Tensor<T>...> &inputs,
                                                  const std::tuple<Tensor<T>...> &inits, const F &body,
                                                  const Window &window, std::index_sequence<k...>) {
  const Dims shape = std::get<0>(inputs).shape, steps = strides_of(shape), counts = window.counts(shape);
  std::tuple<Tensor<T>...> results((void(sizeof(T)), Tensor<T>(counts))...);
  if (shape.empty()) {
    std::tuple<T...> value =
        as_tuple(body(std::get<k>(inits).item()..., std::get<k>(inputs).item()...));
    ((std::get<k>(results)[0] = std::get<k>(value)), ...);
    return results;
  }
  size_t last = shape.size() - 1;
  int64_t row = counts[last], rows = row ? count_of(counts) / row : 0, each = count_of(window.sizes);
  Dims outer_sizes(window.sizes.begin(), window.sizes.end() - 1);
  parallel_for(rows, std::max<int64_t>(1, 16384 / (each * row + 1)), [&](int64_t begin, int64_t end) {
    std::tuple<std::vector<FoldedInWindow<F, T>>...> values((void(sizeof(T)), std::vector<FoldedInWindow<F, T>>(size_t(row)))...);
    std::vector<int64_t> places(static_cast<size_t>(row));
    Dims out(shape.size());
    for (int64_t r = begin; r < end; ++r) {
      int64_t left = r;
      for (size_t d = last; d-- > 0; left /= counts[d])
        out[d] = left % counts[d];
      (std::fill(std::get<k>(values).begin(), std::get<k>(values).end(), convert<FoldedInWindow<F, T>>(std::get<k>(inits).item())), ...);
      for_each_index(outer_sizes, [&](const Dims &index) {
        int64_t at = 0;
        for (size_t d = 0; d < last && at >= 0; ++d) {
          int64_t place = window.place(d, out[d], index[d], shape[d]);
          at = place < 0 ? -1 : at + place * steps[d];
        }
        for (int64_t j = 0; j < window.sizes[last]; ++j) {
          // Windows whose element lies outside meet the initial value.
          auto fold = [&](int64_t o, int64_t place) {
            auto made = as_tuple(body(std::get<k>(values)[size_t(o)]...,
                                      convert<FoldedInWindow<F, T>>(place < 0 ? std::get<k>(inits).item() : std::get<k>(inputs)[place])...));
            ((std::get<k>(values)[size_t(o)] = std::get<k>(made)), ...);
          };
          int64_t shift = j * window.dilations[last] - window.padding[2 * last], stride = window.strides[last];
          int64_t from = 0, to = row;
          if (window.base_dilations[last] == 1) {
            from = std::min(row, std::max<int64_t>(0, (-shift + stride - 1) / stride));
            to = std::max(from, std::min(row, (shape[last] - shift + stride - 1) / stride));
          } else
            to = 0;
          if (at < 0)
            from = to = 0;
          for (int64_t o = 0; o < from; ++o)
            fold(o, -1);
          if constexpr (is_known<F>::value && sizeof...(T) == 1)
            (fold_row(body, std::get<k>(values).data() + from, std::get<k>(inputs).data() + (to > from ? at + from * stride + shift : 0), to - from, stride), ...);
          else
            for (int64_t o = from; o < to; ++o)
              fold(o, at + o * stride + shift);
          for (int64_t o = to; o < row; ++o) {
            int64_t place = at < 0 ? -1 : window.place(last, o, j, shape[last]);
            fold(o, place < 0 ? -1 : at + place);
          }
        }
      });
      for (int64_t o = 0; o < row; ++o)
        ((std::get<k>(results)[r * row + o] = convert<T>(std::get<k>(values)[size_t(o)])), ...);
    }
  });
  return results;
}
template <class F, class... T>
inline std::tuple<Tensor<T>...> reduce_window(const std::tuple<Tensor<T>...> &inputs,
                                              const std::tuple<Tensor<T>...> &inits, const F &body, const Dims &sizes,
                                              const Dims &strides, const Dims &base_dilations, const Dims &dilations,
                                              const Dims &padding) {
  return reduce_window_all(inputs, inits, body, Window{sizes, strides, base_dilations, dilations, padding},
                           std::index_sequence_for<T...>());
}
template <class F, class T>
inline Tensor<T> reduce_window(const Tensor<T> &x, const Tensor<T> &init, const F &body, const Dims &sizes,
                               const Dims &strides, const Dims &base_dilations, const Dims &dilations,
                               const Dims &padding) {
  return std::get<0>(reduce_window(std::make_tuple(x), std::make_tuple(init), body, sizes, strides, base_dilations,
                                   dilations, padding));
}

/// Of each window the element that `select` prefers gets what `source` has for the window.
template <class T, class S, class F, class G>
inline Tensor<S> select_and_scatter(const Tensor<T> &x, const Tensor<S> &source, const Tensor<S> &init,
                                    const F &select, const G &scatter, const Dims &sizes, const Dims &strides,
                                    const Dims &padding) {
  Dims ones(sizes.size(), 1), steps = strides_of(x.shape);
  Window window{sizes, strides, ones, ones, padding};
  Tensor<S> result = full<S>(x.shape, init.item());
  int64_t number = 0;
  for_each_index(window.counts(x.shape), [&](const Dims &out) {
    int64_t chosen = -1;
    for_each_index(sizes, [&](const Dims &index) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        int64_t place = window.place(d, out[d], index[d], x.shape[d]);
        if (place < 0)
          return;
        at += place * steps[d];
      }
      if (chosen < 0 || !first_of(select(x[chosen], x[at])))
        chosen = at;
    });
    if (chosen >= 0)
      result[chosen] = first_of(scatter(result[chosen], source[number]));
    ++number;
  });
  return result;
}

} // namespace ops
