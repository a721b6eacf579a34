// Packed weights back into plain elements. Packing writes 32-bit words in another order, with zeros between
// them; which order is learnt by packing numbers, so that no form needs an inverse of its own. Used where
// somebody asks for weights that are left in packed form only, which is seldom; internal to this folder.

#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include <numeric>

namespace cupel::compiler {

/// Writes the `count` words that `packed` was made of by `pack`. An error where it does not hold each of them
/// exactly once.
template <typename Packed, typename Pack>
Status unpackWords(int64_t count, const Pack &pack, const Packed &packed, std::byte *to) {
  if (count >= int64_t{UINT32_MAX})
    return Error{ErrorCode::Internal, "so many packed weights cannot be numbered"};
  Result<tensor::Tensor> numbers = tensor::Tensor::uninitialized(tensor::DType::U32, {count});
  if (!numbers)
    return numbers.error().as(ErrorCode::OutOfMemory);
  std::iota(numbers->mutableAs<uint32_t>(), numbers->mutableAs<uint32_t>() + count, 1u);
  const Packed order = pack(numbers->data());
  numbers = tensor::Tensor();
  const auto *place = reinterpret_cast<const uint32_t *>(order.elements());
  const auto *word = reinterpret_cast<const uint32_t *>(packed.elements());
  auto *plain = reinterpret_cast<uint32_t *>(to);
  int64_t words = packed.bytes() / int64_t(sizeof(uint32_t)), found = 0;
  std::vector<bool> has(size_t(count), false);
  bool isGood = order.bytes() == packed.bytes();
  for (int64_t i = 0; isGood && i < words; ++i) {
    if (place[i] == 0)
      continue;
    isGood = place[i] <= count && !has[place[i] - 1];
    if (!isGood)
      break;
    has[place[i] - 1] = true;
    plain[place[i] - 1] = word[i];
    ++found;
  }
  if (!isGood || found != count)
    return Error{ErrorCode::Internal, "packed weights do not hold each of their elements once"};
  return {};
}

} // namespace cupel::compiler
