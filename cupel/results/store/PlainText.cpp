#include "cupel/results/store/PlainText.h"

#include <cstdint>
#include <cstring>

namespace cupel::results {
namespace {

/// The bytes of the character at the beginning of `text`; 0: there is none.
size_t characterSize(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80)
    return first ? 1 : 0;
  size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size)
    return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  // Longer than need be, halves of surrogate pairs, beyond the last character.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
    return 0;
  return size;
}

} // namespace

size_t plainPrefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    // Eight characters of ASCII at a time, none of them NUL.
    if (uint64_t word; at + 8 <= text.size()) {
      std::memcpy(&word, text.data() + at, 8);
      constexpr uint64_t kHigh = 0x8080808080808080, kLow = 0x0101010101010101;
      if (!((word | ((word - kLow) & ~word)) & kHigh)) {
        at += 8;
        continue;
      }
    }
    size_t size = characterSize(text.substr(at));
    if (!size)
      break;
    at += size;
  }
  return at;
}

std::string plainText(std::string_view text) {
  std::string plain;
  while (true) {
    size_t good = plainPrefix(text);
    plain += text.substr(0, good);
    if (good == text.size())
      return plain;
    plain += "\xef\xbf\xbd";
    text.remove_prefix(good + 1);
  }
}

} // namespace cupel::results
