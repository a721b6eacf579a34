#include "cupel/compiler/brief/Walk.h"

#include "cupel/compiler/brief/ElementLoops.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <cstring>

namespace cupel::brief {
namespace {

/// Between storage and what is worked on; the same but for narrow floats.
template <DType type, typename Stored, typename Worked> Worked widened(Stored stored) {
  if constexpr (type == DType::F16 || type == DType::BF16)
    return tensor::toFloat<type>(stored);
  else
    return stored;
}

template <DType type, typename Stored, typename Worked>
void loadRun(const std::byte *memory, int64_t offset, int64_t stride, int64_t count, void *to) {
  const auto *from = reinterpret_cast<const Stored *>(memory) + offset;
  auto *out = static_cast<Worked *>(to);
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i)
      out[i] = widened<type, Stored, Worked>(from[i]);
  else if (stride == 0)
    std::fill_n(out, count, widened<type, Stored, Worked>(*from));
  else
    for (int64_t i = 0; i < count; ++i)
      out[i] = widened<type, Stored, Worked>(from[i * stride]);
}

template <DType type, typename Stored, typename Worked>
void storeRun(std::byte *memory, int64_t offset, int64_t stride, int64_t count, const void *from) {
  auto *to = reinterpret_cast<Stored *>(memory) + offset;
  const auto *in = static_cast<const Worked *>(from);
  for (int64_t i = 0; i < count; ++i)
    if constexpr (type == DType::F16 || type == DType::BF16)
      to[i * stride] = tensor::fromFloat<type>(in[i]); // Rounded already, so exact.
    else
      to[i * stride] = in[i];
}

/// Calls `f` with the type, how it is stored and how it is worked on; only bytes matter for most.
template <typename F> void dispatchStored(DType type, F f) {
  if (type == DType::F16)
    return f.template operator()<DType::F16, uint16_t, float>();
  if (type == DType::BF16)
    return f.template operator()<DType::BF16, uint16_t, float>();
  switch (tensor::info(type).bytes) {
  case 1:
    return f.template operator()<DType::U8, uint8_t, uint8_t>();
  case 2:
    return f.template operator()<DType::U16, uint16_t, uint16_t>();
  case 4:
    return f.template operator()<DType::U32, uint32_t, uint32_t>();
  default:
    return f.template operator()<DType::U64, uint64_t, uint64_t>();
  }
}

} // namespace

Walk::Walk(const codegen::View &view, std::span<const int64_t> sizes)
    : type(view.type), offset(view.offset), isPadded(!view.valid.empty()), padding(view.padding) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    Dimension one{sizes[d], view.strides[d], {0, sizes[d]}};
    if (isPadded)
      one.valid = view.valid[d];
    else if (one.size == 1)
      continue;
    // Two that lie as one are one.
    if (!isPadded && !dimensions.empty() &&
        dimensions.back().stride == one.stride * one.size) {
      dimensions.back().size *= one.size;
      dimensions.back().stride = one.stride;
      dimensions.back().valid.end = dimensions.back().size;
      continue;
    }
    dimensions.push_back(one);
  }
  if (dimensions.empty())
    dimensions.push_back({1, 0, {0, 1}});
}

template <typename Work, typename Outside>
void Walk::forRuns(int64_t begin, int64_t count, Work work, Outside outside) const {
  constexpr size_t kMost = 16;
  if (count == 0) // Maybe a dimension of size 0.
    return;
  size_t rank = dimensions.size();
  int64_t few[kMost];
  std::vector<int64_t> many;
  int64_t *index = few;
  if (rank > kMost) {
    many.resize(rank);
    index = many.data();
  }
  for (size_t d = rank; d-- > 0;) {
    index[d] = begin % dimensions[d].size;
    begin /= dimensions[d].size;
  }
  const Dimension &last = dimensions.back();
  for (int64_t at = 0; at < count;) {
    int64_t first = index[rank - 1], run = std::min(count - at, last.size - first);
    int64_t place = offset;
    bool isInside = true;
    for (size_t d = 0; d + 1 < rank; ++d) {
      place += index[d] * dimensions[d].stride;
      isInside &= index[d] >= dimensions[d].valid.begin && index[d] < dimensions[d].valid.end;
    }
    int64_t low = std::clamp(last.valid.begin, first, first + run),
            high = isInside ? std::clamp(last.valid.end, low, first + run) : low;
    if (low > first)
      outside(at, low - first);
    if (high > low)
      work(place + low * last.stride, last.stride, at + (low - first), high - low);
    if (high < first + run)
      outside(at + (high - first), first + run - high);
    at += run;
    index[rank - 1] = 0; // Unless this was the end, the run ended with its line.
    for (size_t d = rank - 1; d-- > 0;) {
      if (++index[d] < dimensions[d].size)
        break;
      index[d] = 0;
    }
  }
}

void Walk::load(const std::byte *memory, int64_t begin, int64_t count, void *to) const {
  dispatchStored(type, [&]<DType known, typename Stored, typename Worked>() {
    auto *out = static_cast<Worked *>(to);
    forRuns(
        begin, count,
        [&](int64_t place, int64_t stride, int64_t at, int64_t run) {
          loadRun<known, Stored, Worked>(memory, place, stride, run, out + at);
        },
        [&](int64_t at, int64_t run) {
          std::fill_n(out + at, run, widened<known, Stored, Worked>(Stored(padding)));
        });
  });
}

void Walk::store(std::byte *memory, int64_t begin, int64_t count, const void *from) const {
  dispatchStored(type, [&]<DType known, typename Stored, typename Worked>() {
    const auto *in = static_cast<const Worked *>(from);
    forRuns(
        begin, count,
        [&](int64_t place, int64_t stride, int64_t at, int64_t run) {
          storeRun<known, Stored, Worked>(memory, place, stride, run, in + at);
        },
        [](int64_t, int64_t) {});
  });
}

} // namespace cupel::brief
