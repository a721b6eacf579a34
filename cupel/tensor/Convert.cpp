#include "cupel/tensor/Convert.h"

#include "cupel/tensor/ConvertElement.h"

#include <cstring>

namespace cupel::tensor {
namespace {

/// Between source and target lies a block of carriers in the first cache: sources times carriers
/// plus carriers times targets are far fewer loops than sources times targets.
constexpr int64_t kBlock = 1024;

template <typename C>
void storeBlock(DType to, const C *__restrict block, void *target, int64_t offset, int64_t count) {
  dispatch(to, [&]<DType type>() {
    auto *__restrict out = static_cast<Storage<type> *>(target) + offset;
    for (int64_t i = 0; i < count; ++i)
      out[i] = fromCarrier<type>(block[i]);
  });
}

template <DType from>
void loadBlock(const Storage<from> *__restrict source, Carrier<from> *__restrict block,
               int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    block[i] = toCarrier<from>(source[i]);
}

/// Whether carriers of type C are how this type is stored.
template <typename C> bool isStoredAs(DType type) {
  return dispatch(type,
                  [&]<DType t>() { return std::is_same_v<Storage<t>, C> && info(t).bits >= 32; });
}

template <DType from>
void convertFrom(const Storage<from> *source, DType to, void *target, int64_t count) {
  using C = Carrier<from>;
  if constexpr (std::is_same_v<C, Storage<from>>) {
    storeBlock<C>(to, source, target, 0, count);
  } else {
    if (isStoredAs<C>(to))
      return loadBlock<from>(source, static_cast<C *>(target), count);
    C block[kBlock];
    for (int64_t offset = 0; offset < count; offset += kBlock) {
      int64_t size = std::min(kBlock, count - offset);
      loadBlock<from>(source + offset, block, size);
      storeBlock<C>(to, block, target, offset, size);
    }
  }
}

template <typename From, typename To>
void convertComplex(const void *source, void *target, int64_t count) {
  auto *in = static_cast<const From *>(source);
  auto *out = static_cast<To *>(target);
  for (int64_t i = 0; i < 2 * count; ++i)
    out[i] = static_cast<To>(in[i]);
}

/// What floats are most often: the same loops, with the vectors of this machine.
constexpr bool isCommon(DType type) {
  return type == DType::BF16 || type == DType::F32 || type == DType::F64;
}

template <DType from, DType to>
[[gnu::always_inline]] inline void convertCommon(const Storage<from> *__restrict source,
                                                 Storage<to> *__restrict target, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    target[i] = fromCarrier<to>(toCarrier<from>(source[i]));
}

#if defined(__x86_64__)
template <DType from, DType to>
__attribute__((target("avx2"))) void convertByAvx2(const void *source, void *target, int64_t count) {
  convertCommon<from, to>(static_cast<const Storage<from> *>(source),
                          static_cast<Storage<to> *>(target), count);
}
template <DType from, DType to>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void
convertByAvx512(const void *source, void *target, int64_t count) {
  convertCommon<from, to>(static_cast<const Storage<from> *>(source),
                          static_cast<Storage<to> *>(target), count);
}
#endif

/// Whether it was done.
bool convertByVectors(DType from, const void *source, DType to, void *target, int64_t count) {
#if defined(__x86_64__)
  static const bool hasVectors = __builtin_cpu_supports("avx2");
  static const bool hasLongVectors =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!hasVectors || !isCommon(from) || !isCommon(to))
    return false;
  dispatch(from, [&]<DType one>() {
    dispatch(to, [&]<DType other>() {
      if constexpr (isCommon(one) && isCommon(other)) {
        if (hasLongVectors)
          convertByAvx512<one, other>(source, target, count);
        else
          convertByAvx2<one, other>(source, target, count);
      }
    });
  });
  return true;
#else
  return false;
#endif
}

} // namespace

void convertElements(DType from, const void *source, DType to, void *target, int64_t count) {
  if (count <= 0)
    return;
  if (from == to)
    std::memcpy(target, source, static_cast<size_t>(count) * info(from).bytes);
  else if (from == DType::C64 && to == DType::C128)
    convertComplex<float, double>(source, target, count);
  else if (from == DType::C128 && to == DType::C64)
    convertComplex<double, float>(source, target, count);
  else if (!convertByVectors(from, source, to, target, count))
    dispatch(from, [&]<DType type>() {
      convertFrom<type>(static_cast<const Storage<type> *>(source), to, target, count);
    });
}

Result<Tensor> convert(const Tensor &source, DType to) {
  if (source.elementType().quantization)
    return Error{describe(source.elementType(), source.shape()) +
                 " is quantized: dequantize it before converting"};
  Result<Tensor> from = source.contiguous();
  if (!from || source.dtype() == to)
    return from;
  Result<Tensor> result =
      Tensor::uninitialized(to, Shape(from->shape().begin(), from->shape().end()));
  if (result)
    convertElements(from->dtype(), from->data(), to, result->mutableData(), from->size());
  return result;
}

} // namespace cupel::tensor
