// dot_general and sums of Einstein's on top of products of matrices.
#pragma once

#include "reductions.h"
#include "tiles.h"

namespace ops {

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

/// Up to this many products sums are formed in double: tests of single operations look at the last bit.
constexpr int64_t few_products = 1 << 13;

/// Types whose products are formed in float.
template <class T> constexpr bool is_float_product_v = std::is_same<T, float>::value || is_small_float<T>::value;

/// Dimensions of a tensor as one: how many places there are, and the step between them if it is the same.
struct Joined {
  int64_t size = 1, step = 0;
  bool is_even = true;
  Joined(const Dims &shape, const Dims &list) {
    Dims steps = strides_of(shape);
    for (int64_t d : list) {
      int64_t n = shape[size_t(d)], s = steps[size_t(d)];
      if (n != 1) {
        is_even = is_even && (size == 1 || step == n * s);
        step = s;
      }
      size *= n;
    }
  }
};

/// Sums of products of any types.
template <class R, class A, class B>
inline R dot_line(int64_t depth, const A *a, int64_t a_step, const B *b, int64_t b_step) {
  using Sum = typename Accumulates<R>::type;
  Sum sum = convert<Sum>(0.0);
  for (int64_t k = 0; k < depth; ++k)
    sum = add(sum, multiply(convert<Sum>(a[k * a_step]), convert<Sum>(b[k * b_step])));
  return convert<R>(sum);
}

inline Dims joined_lists(Dims a, const Dims &b, const Dims &c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}
inline Dims others(int64_t rank, const Dims &a, const Dims &b) {
  Dims rest;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(a, d) && !contains(b, d))
      rest.push_back(d);
  return rest;
}
/// The dimensions first, first + 1, ...
inline Dims range_of(size_t first, size_t count) {
  Dims list(count);
  std::iota(list.begin(), list.end(), int64_t(first));
  return list;
}

template <class R, class A, class B>
inline Tensor<R> dot_general(const Tensor<A> &a, const Tensor<B> &b, const Dims &a_batch, const Dims &b_batch,
                             const Dims &a_contract, const Dims &b_contract, const Finish &finish = nullptr) {
  Dims a_rest = others(a.rank(), a_batch, a_contract), b_rest = others(b.rank(), b_batch, b_contract);
  Joined batch(a.shape, a_batch), rows(a.shape, a_rest), a_depth(a.shape, a_contract);
  Joined b_batches(b.shape, b_batch), columns(b.shape, b_rest), b_depth(b.shape, b_contract);
  // Dimensions that do not lie evenly are brought into order first.
  if (!batch.is_even || !rows.is_even || !a_depth.is_even)
    return dot_general<R>(transpose(a, joined_lists(a_batch, a_rest, a_contract)), b, range_of(0, a_batch.size()), b_batch,
                          range_of(a_batch.size() + a_rest.size(), a_contract.size()), b_contract, finish);
  if (!b_batches.is_even || !columns.is_even || !b_depth.is_even)
    return dot_general<R>(a, transpose(b, joined_lists(b_batch, b_contract, b_rest)), a_batch, range_of(0, b_batch.size()),
                          a_contract, range_of(b_batch.size(), b_contract.size()), finish);
  int64_t depth = a_depth.size, each = rows.size * columns.size;
  if constexpr (is_small_float<A>::value && is_float_product_v<B> && is_float_product_v<R>) {
    if (each * depth > few_products)
      return dot_general<R>(convert_elements<float>(a), b, a_batch, b_batch, a_contract, b_contract, finish);
  } else if constexpr (std::is_same<A, float>::value && is_small_float<B>::value && is_float_product_v<R>) {
    if (each * depth > few_products)
      return dot_general<R>(a, convert_elements<float>(b), a_batch, b_batch, a_contract, b_contract, finish);
  } else if constexpr (std::is_same<A, float>::value && std::is_same<B, float>::value && is_small_float<R>::value) {
    if (each * depth > few_products)
      return convert_elements<R>(dot_general<float>(a, b, a_batch, b_batch, a_contract, b_contract));
  }
  Dims shape;
  for (int64_t d : joined_lists(a_batch, a_rest, {}))
    shape.push_back(a.shape[size_t(d)]);
  for (int64_t d : b_rest)
    shape.push_back(b.shape[size_t(d)]);
  Tensor<R> result(shape);
  auto compute = [&](int64_t n) {
    const A *x = a.data() + n * batch.step;
    const B *y = b.data() + n * b_batches.step;
    R *to = result.data() + n * each;
    if constexpr (std::is_same<A, float>::value && std::is_same<B, float>::value && std::is_same<R, float>::value)
      if (each * depth > few_products) {
        matrix_product(rows.size, columns.size, depth, {x, rows.step, a_depth.step}, {y, b_depth.step, columns.step},
                       b.is_fixed, to, finish, n * each);
        return;
      }
    parallel_for(each, std::max<int64_t>(1, 65536 / std::max<int64_t>(depth, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = dot_line<R>(depth, x + i / columns.size * rows.step, a_depth.step, y + i % columns.size * columns.step,
                            b_depth.step);
    });
    if constexpr (std::is_same<R, float>::value)
      for (int64_t i = 0; finish && i < rows.size; ++i)
        finish(result.data(), n * each + i * columns.size, n * each + (i + 1) * columns.size);
  };
  parallel_for(batch.size, batch.size < Workers::get().count() ? batch.size : 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      compute(n);
  });
  return result;
}
template <class R, class A, class B> inline Tensor<R> dot(const Tensor<A> &a, const Tensor<B> &b) {
  return dot_general<R>(a, b, {}, {}, {a.rank() - 1}, {0});
}

//===----------------------------------------------------------------------===//
// Einstein sums
//===----------------------------------------------------------------------===//

/// Letters for the dimensions of an operand; what "..." stands for gets capital letters.
inline std::string spelled_out(const std::string &term, int64_t rank) {
  size_t at = term.find("...");
  if (at == std::string::npos)
    return term;
  int64_t missing = rank - int64_t(term.size() - 3);
  std::string capitals;
  for (int64_t i = 0; i < missing; ++i)
    capitals += char('Z' - (missing - 1 - i));
  return term.substr(0, at) + capitals + term.substr(at + 3);
}
template <class R, class... T> inline Tensor<R> einstein_sum(const std::string &given, const Tensor<T> &...operands) {
  using Sum = typename Accumulates<R>::type;
  std::string config;
  for (char c : given)
    if (c != ' ')
      config += c;
  size_t arrow = config.find("->");
  std::string left = config.substr(0, arrow), target = arrow == std::string::npos ? "" : config.substr(arrow + 2);
  std::vector<std::string> terms;
  std::map<char, int64_t> sizes;
  auto add_term = [&](const Dims &shape) {
    size_t comma = left.find(',');
    terms.push_back(spelled_out(left.substr(0, comma), int64_t(shape.size())));
    left = comma == std::string::npos ? "" : left.substr(comma + 1);
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t &size = sizes[terms.back()[d]];
      size = std::max(size, shape[d]);
    }
  };
  (add_term(operands.shape), ...);
  if (target.find("...") != std::string::npos) {
    std::string capitals;
    for (auto &[letter, size] : sizes)
      if (letter >= 'A' && letter <= 'Z')
        capitals += letter;
    target = target.substr(0, target.find("...")) + capitals + target.substr(target.find("...") + 3);
  }
  std::string summed;
  for (auto &[letter, size] : sizes)
    if (target.find(letter) == std::string::npos)
      summed += letter;
  Dims shape, inner;
  for (char letter : target)
    shape.push_back(sizes[letter]);
  for (char letter : summed)
    inner.push_back(sizes[letter]);
  Tensor<R> result(shape);
  int64_t place = 0;
  std::map<char, int64_t> now;
  auto element = [&](const auto &x, const std::string &term) {
    Dims steps = strides_of(x.shape);
    int64_t at = 0;
    for (size_t d = 0; d < term.size(); ++d)
      at += x.shape[d] == 1 ? 0 : now[term[d]] * steps[d];
    return convert<Sum>(x[at]);
  };
  for_each_index(shape, [&](const Dims &outer) {
    for (size_t d = 0; d < outer.size(); ++d)
      now[target[d]] = outer[d];
    Sum sum = convert<Sum>(0.0);
    for_each_index(inner, [&](const Dims &index) {
      for (size_t d = 0; d < index.size(); ++d)
        now[summed[d]] = index[d];
      Sum product = convert<Sum>(1.0);
      size_t number = 0;
      ((product = multiply(product, element(operands, terms[number++]))), ...);
      sum = add(sum, product);
    });
    result[place++] = convert<R>(sum);
  });
  return result;
}
template <class R, class A, class B>
inline Tensor<R> einsum(const Tensor<A> &a, const Tensor<B> &b, const std::string &config) {
  return einstein_sum<R>(config, a, b);
}
template <class R, class A> inline Tensor<R> unary_einsum(const Tensor<A> &a, const std::string &config) {
  return einstein_sum<R>(config, a);
}

} // namespace ops
