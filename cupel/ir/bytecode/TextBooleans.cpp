#include "cupel/ir/bytecode/TextBooleans.h"

#include <cstdint>

using namespace cupel::bytecode;

namespace {

constexpr std::string_view kOpen = "dense<\"0x";
constexpr std::string_view kTensor = "tensor<";

/// The element count of `AxBxi1>` at the beginning of `text`; nothing for any other type.
std::optional<uint64_t> booleanCount(std::string_view text) {
  uint64_t count = 1;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    uint64_t size = 0;
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
      if (__builtin_mul_overflow(size, 10, &size))
        return std::nullopt;
      size += text[0] - '0';
      text.remove_prefix(1);
    }
    if (__builtin_mul_overflow(count, size, &count) || text.empty() || text[0] != 'x')
      return std::nullopt;
    text.remove_prefix(1);
  }
  return text.starts_with("i1>") ? std::optional(count) : std::nullopt;
}

/// `digits` holds two hexadecimal digits for each element, 00 or 01; gives the digits of the packed
/// bytes, or nothing if a byte is something else.
std::optional<std::string> pack(std::string_view digits) {
  std::string packed;
  for (size_t element = 0; element < digits.size() / 2; element += 8) {
    unsigned byte = 0;
    for (size_t bit = 0; bit < 8 && element + bit < digits.size() / 2; ++bit) {
      std::string_view value = digits.substr(2 * (element + bit), 2);
      if (value != "00" && value != "01")
        return std::nullopt;
      byte |= unsigned(value[1] - '0') << bit;
    }
    packed += "0123456789ABCDEF"[byte >> 4];
    packed += "0123456789ABCDEF"[byte & 15];
  }
  return packed;
}

} // namespace

std::optional<std::string> cupel::bytecode::packBooleanLiterals(std::string_view text) {
  std::optional<std::string> result;
  size_t copied = 0;
  for (size_t at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen, at)) {
    size_t begin = at + kOpen.size();
    size_t end = text.find('"', begin);
    at = begin;
    if (end == std::string_view::npos)
      break;
    // `> : tensor<`, with any blanks.
    size_t next = end + 1;
    auto skip = [&](std::string_view expected) {
      next = text.find_first_not_of(" \t\n\r", next);
      bool found = next != std::string_view::npos && text.substr(next).starts_with(expected);
      next += found ? expected.size() : 0;
      return found;
    };
    if (!skip(">") || !skip(":") || !skip(kTensor))
      continue;
    std::string_view digits = text.substr(begin, end - begin);
    std::optional<uint64_t> count = booleanCount(text.substr(next));
    // Up to one element, packed and unpacked look the same.
    if (!count || *count <= 1 || digits.size() != 2 * *count)
      continue;
    std::optional<std::string> packed = pack(digits);
    if (!packed)
      continue;
    if (!result)
      result.emplace();
    result->append(text.substr(copied, begin - copied)).append(*packed);
    copied = end;
    at = end;
  }
  if (result)
    result->append(text.substr(copied));
  return result;
}
