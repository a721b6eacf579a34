// Products and convolutions by oneDNN 3 in place of tiles.h and convolution.h, where the program is built with
// CUPEL_ONEDNN (cmake -DCUPEL_ONEDNN=ON). What oneDNN does not take is left to them.
#pragma once

#include "tensor.h"

#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace ops {
namespace onednn {

using dnnl::memory;
using Tag = memory::format_tag;

inline const dnnl::engine &processor() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}
/// One a thread: products of a batch come from several at once.
inline dnnl::stream &stream() {
  static thread_local dnnl::stream made(processor());
#ifdef _OPENMP
  omp_set_num_threads(int(Workers::get().count()));
#endif
  return made;
}
inline memory::desc described(const memory::dims &dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }
inline memory held(const memory::desc &desc, const float *data) {
  return memory(desc, processor(), const_cast<float *>(data));
}

/// In the order that a primitive wants, which may be the one it has.
inline memory ordered(const memory &given, const memory::desc &wanted) {
  if (given.get_desc() == wanted)
    return given;
  memory made(wanted, processor());
  dnnl::reorder(given, made).execute(stream(), const_cast<memory &>(given), made);
  stream().wait();
  return made;
}

/// A primitive for given sizes, made once.
template <class Description> struct Made {
  Description description;
  dnnl::primitive primitive;
};
template <class Description, class Make>
inline std::shared_ptr<const Made<Description>> made_once(const Dims &sizes, const Make &make) {
  static std::mutex guard;
  static std::map<Dims, std::shared_ptr<const Made<Description>>> all;
  std::lock_guard<std::mutex> lock(guard);
  auto &found = all[sizes];
  if (!found) {
    Description description = make();
    found = std::make_shared<const Made<Description>>(Made<Description>{description, dnnl::primitive(description)});
  }
  return found;
}

/// Weights in a primitive's order; those that never change are brought into it once.
inline memory weights_for(const memory::desc &wanted, const memory::desc &given, const float *data, bool is_fixed) {
  if (!is_fixed)
    return ordered(held(given, data), wanted);
  struct Kept {
    memory::desc given; // The same numbers may be read by rows and by columns.
    memory value;
  };
  static std::mutex guard;
  static std::map<const float *, std::vector<Kept>> all;
  std::lock_guard<std::mutex> lock(guard);
  std::vector<Kept> &kept = all[data];
  for (const Kept &one : kept)
    if (one.given == given && one.value.get_desc() == wanted)
      return one.value;
  kept.push_back({given, ordered(held(given, data), wanted)});
  return kept.back().value;
}

template <class Description>
inline void run(const Made<Description> &made, const memory &from, const memory &weights, const memory::desc &given, float *to) {
  memory result = held(given, to), own = result;
  memory::desc wanted = made.description.dst_desc();
  if (wanted != given)
    own = memory(wanted, processor());
  made.primitive.execute(stream(), {{DNNL_ARG_SRC, ordered(from, made.description.src_desc())},
                                    {DNNL_ARG_WEIGHTS, weights},
                                    {DNNL_ARG_DST, own}});
  if (wanted != given)
    dnnl::reorder(own, result).execute(stream(), own, result);
  stream().wait();
}

/// c (rows x columns, one row behind the other) = a * b; false where that is nothing for oneDNN.
template <class Matrix>
inline bool product(int64_t rows, int64_t columns, int64_t depth, const Matrix &a, const Matrix &b, bool b_is_fixed, float *c) {
  auto lies_plainly = [](const Matrix &m, int64_t high, int64_t wide) {
    return (m.column_step == 1 && m.row_step >= wide) || (m.row_step == 1 && m.column_step >= high);
  };
  if (depth == 0 || !lies_plainly(a, rows, depth) || !lies_plainly(b, depth, columns))
    return false;
  memory::desc left({rows, depth}, memory::data_type::f32, {a.row_step, a.column_step});
  memory::desc right({depth, columns}, memory::data_type::f32, {b.row_step, b.column_step});
  memory::desc result({rows, columns}, memory::data_type::f32, {columns, 1});
  auto made = made_once<dnnl::matmul::primitive_desc>({rows, columns, depth, a.row_step, a.column_step, b.row_step, b.column_step, b_is_fixed}, [&] {
    return dnnl::matmul::primitive_desc(processor(), left, b_is_fixed ? described({depth, columns}, Tag::any) : right, result);
  });
  run(*made, held(left, a.data), weights_for(made->description.weights_desc(), right, b.data, b_is_fixed), result, c);
  return true;
}

/// As `convolve` of convolution.h; false where that is nothing for oneDNN.
template <class Convolution>
inline bool convolve(const Convolution &c, const float *x, const float *kernel, bool kernel_is_fixed, float *to) {
  // Spatial dimensions of one place are left out in front, down to two.
  int first = c.size[0] == 1 && c.window[0] == 1 && c.count[0] == 1 && c.before[0] == 0 ? 1 : 0;
  memory::dims from = {c.images, c.channels * c.groups}, weights, results = {c.images, c.features};
  memory::dims strides, gaps, before, after;
  if (c.groups > 1)
    weights.push_back(c.groups);
  weights.insert(weights.end(), {c.features / c.groups, c.channels});
  if (c.batch_groups != 1 || c.images == 0)
    return false;
  for (int d = first; d < Convolution::dims; ++d) {
    int64_t span = (c.window[d] - 1) * c.dilation[d] + 1;
    int64_t behind = std::max<int64_t>(0, (c.count[d] - 1) * c.stride[d] + span - c.size[d] - c.before[d]);
    bool is_so = (c.size[d] + c.before[d] + behind - span) / c.stride[d] + 1 == c.count[d];
    if (c.spread[d] != 1 || c.before[d] < 0 || c.count[d] <= 0 || !is_so)
      return false;
    from.push_back(c.size[d]);
    weights.push_back(c.window[d]);
    results.push_back(c.count[d]);
    strides.push_back(c.stride[d]);
    gaps.push_back(c.dilation[d] - 1);
    before.push_back(c.before[d]);
    after.push_back(behind);
  }
  Tag plain = first ? Tag::abcd : Tag::abcde;
  Tag plain_weights = weights.size() == 4 ? Tag::abcd : weights.size() == 5 ? Tag::abcde : Tag::abcdef;
  Dims sizes = {kernel_is_fixed};
  for (const memory::dims &list : {from, weights, results, strides, gaps, before, after})
    sizes.insert(sizes.end(), list.begin(), list.end());
  auto made = made_once<dnnl::convolution_forward::primitive_desc>(sizes, [&] {
    return dnnl::convolution_forward::primitive_desc(processor(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                                     described(from, Tag::any), described(weights, Tag::any), described(results, Tag::any),
                                                     strides, gaps, before, after);
  });
  run(*made, held(described(from, plain), x), weights_for(made->description.weights_desc(), described(weights, plain_weights), kernel, kernel_is_fixed),
      described(results, plain), to);
  return true;
}

} // namespace onednn
} // namespace ops
