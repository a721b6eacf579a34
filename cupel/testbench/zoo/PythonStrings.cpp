#include "cupel/testbench/zoo/PythonStrings.h"

#include <cstdint>

namespace cupel::testbench::zoo {
namespace {

void appendUtf8(std::string &out, uint32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    out += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (point >> 18 & 7));
    out += static_cast<char>(0x80 | (point >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  }
}

int digitValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 16;
}

} // namespace

std::optional<std::string> unescape(std::string_view raw, bool isFormat, bool isRaw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (isFormat && (c == '{' || c == '}') && i + 1 < raw.size() && raw[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    if (c == '\r') { // Python reads every line end as \n.
      out += '\n';
      if (i + 1 < raw.size() && raw[i + 1] == '\n')
        ++i;
      continue;
    }
    if (c != '\\' || isRaw || i + 1 >= raw.size()) {
      out += c;
      continue;
    }
    c = raw[++i];
    auto number = [&](int base, size_t digits) {
      uint32_t value = 0;
      size_t used = 0;
      while (used < digits && i + 1 < raw.size() && digitValue(raw[i + 1]) < base) {
        value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digitValue(raw[++i]));
        ++used;
      }
      return value;
    };
    switch (c) {
    case '\n':
      break;
    case '\r':
      if (i + 1 < raw.size() && raw[i + 1] == '\n')
        ++i;
      break;
    case 'n':
      out += '\n';
      break;
    case 't':
      out += '\t';
      break;
    case 'r':
      out += '\r';
      break;
    case 'a':
      out += '\a';
      break;
    case 'b':
      out += '\b';
      break;
    case 'f':
      out += '\f';
      break;
    case 'v':
      out += '\v';
      break;
    case '\\':
    case '\'':
    case '"':
      out += c;
      break;
    case 'x':
      appendUtf8(out, number(16, 2));
      break;
    case 'u':
      appendUtf8(out, number(16, 4));
      break;
    case 'U':
      appendUtf8(out, number(16, 8));
      break;
    case 'N':
      return std::nullopt;
    default:
      if (c >= '0' && c <= '7') {
        --i;
        appendUtf8(out, number(8, 3));
      } else {
        out += '\\';
        out += c;
      }
    }
  }
  return out;
}

} // namespace cupel::testbench::zoo
