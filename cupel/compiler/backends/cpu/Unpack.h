// Packed weights back into plain elements. Packing writes words of 32 bits, or halves of them, in another order,
// with zeros between them; which order is learnt by packing numbers, so that no form needs an inverse of its own.
// Used where somebody asks for weights that are left in packed form only, which is seldom; internal to this folder.

#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include <type_traits>

namespace cupel::compiler {

/// Writes the `count` elements that `packed` was made of by `pack`; `Word` is as wide as they are. An error where it
/// does not hold each of them exactly once.
template <typename Word, typename Packed, typename Pack>
Status unpackWords(int64_t count, const Pack &pack, const Packed &packed, std::byte *to) {
  // Numbers of two digits, none of which is zero: zeros lie between elements.
  constexpr int64_t kDigits = std::is_same_v<Word, uint32_t> ? int64_t{UINT32_MAX} : int64_t{UINT16_MAX};
  constexpr tensor::DType kType = std::is_same_v<Word, uint32_t> ? tensor::DType::U32 : tensor::DType::U16;
  if (count >= int64_t{UINT32_MAX})
    return Error{ErrorCode::Internal, "so many packed weights cannot be numbered"};
  Result<tensor::Tensor> numbers = tensor::Tensor::uninitialized(kType, {count});
  if (!numbers)
    return numbers.error().as(ErrorCode::OutOfMemory);
  auto *number = numbers->mutableAs<Word>();
  auto packDigits = [&](int64_t unit) {
    for (int64_t i = 0; i < count; ++i)
      number[i] = Word(i / unit % kDigits + 1);
    return pack(numbers->data());
  };
  const Packed low = packDigits(1);
  const Packed high = count > kDigits ? packDigits(kDigits) : low; // Of one digit it says no more.
  numbers = tensor::Tensor();
  const auto *lowDigit = reinterpret_cast<const Word *>(low.elements());
  const auto *highDigit = reinterpret_cast<const Word *>(high.elements());
  const auto *word = reinterpret_cast<const Word *>(packed.elements());
  auto *plain = reinterpret_cast<Word *>(to);
  int64_t words = packed.bytes() / int64_t(sizeof(Word)), found = 0;
  std::vector<bool> has(size_t(count), false);
  bool isGood = low.bytes() == packed.bytes() && high.bytes() == packed.bytes();
  for (int64_t i = 0; isGood && i < words; ++i) {
    if (lowDigit[i] == 0)
      continue;
    int64_t place = int64_t(lowDigit[i]) - 1 + (count > kDigits ? (int64_t(highDigit[i]) - 1) * kDigits : 0);
    isGood = place >= 0 && place < count && !has[size_t(place)];
    if (!isGood)
      break;
    has[size_t(place)] = true;
    plain[place] = word[i];
    ++found;
  }
  if (!isGood || found != count)
    return Error{ErrorCode::Internal, "packed weights do not hold each of their elements once"};
  return {};
}

} // namespace cupel::compiler
