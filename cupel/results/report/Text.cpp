#include "cupel/results/report/Text.h"

#include <cmath>
#include <ctime>
#include <fmt/format.h>

namespace cupel::results {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// The length of the UTF-8 character that `text` starts with and its code point; 0 where the bytes
/// are none (overlong, surrogate, cut).
size_t decode(std::string_view text, char32_t &code) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) {
    code = first;
    return 1;
  }
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length)
    return 0;
  code = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

/// Hands each character, or a replacement for each byte that is part of none, to `put`.
template <typename Put> void forEachCharacter(std::string_view text, Put &&put) {
  while (!text.empty()) {
    char32_t code = 0xfffd;
    size_t length = decode(text, code);
    put(code, length ? text.substr(0, length) : kReplacement);
    text.remove_prefix(length ? length : 1);
  }
}

/// C0, DEL, C1 and the marks that turn the direction of writing.
bool isControl(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x2028 || code == 0x2029;
}

std::string timeText(double seconds, const char *format) {
  std::time_t time = std::time_t(std::floor(seconds));
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, format, &utc));
}

} // namespace

std::string xmlSafe(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  forEachCharacter(text, [&](char32_t code, std::string_view bytes) {
    bool allowed = code == '\t' || code == '\n' || code == '\r' ||
                   (code >= 0x20 && code != 0xfffe && code != 0xffff);
    if (allowed)
      safe += bytes;
    else
      safe += fmt::format("#x{:02X}", uint32_t(code));
  });
  return safe;
}

std::string oneLine(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  forEachCharacter(text, [&](char32_t code, std::string_view bytes) {
    safe += isControl(code) ? std::string_view(" ") : bytes;
  });
  return safe;
}

std::string cutTo(std::string_view text, size_t columns) {
  std::string cut;
  size_t used = 0, keep = 0;
  forEachCharacter(text, [&](char32_t code, std::string_view bytes) {
    if (++used <= columns)
      cut += isControl(code) ? std::string_view(" ") : bytes;
    if (used + 1 == columns)
      keep = cut.size();
  });
  if (used <= columns)
    return cut;
  cut.resize(keep);
  return columns ? cut + "…" : "";
}

std::string markdownSafe(std::string_view text) {
  std::string safe;
  for (char c : oneLine(text)) {
    switch (c) {
    case '<':
      safe += "&lt;";
      break;
    case '&':
      safe += "&amp;";
      break;
    case '|':
    case '`':
    case '*':
    case '_':
    case '[':
    case ']':
    case '\\':
    case '~':
    case '#':
    case '@':
      safe += '\\';
      [[fallthrough]];
    default:
      safe += c;
    }
  }
  return safe;
}

std::string durationText(double seconds) {
  if (seconds < 0.00995)
    return fmt::format("{:.1f} ms", seconds * 1000);
  if (seconds < 0.0995)
    return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 0.995)
    return fmt::format("{:.2f} s", seconds);
  if (seconds < 99.95)
    return fmt::format("{:.1f} s", seconds);
  auto whole = uint64_t(std::llround(seconds));
  if (whole < 3600)
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string isoTime(double seconds) { return timeText(seconds, "%Y-%m-%dT%H:%M:%SZ"); }
std::string peopleTime(double seconds) { return timeText(seconds, "%Y-%m-%d %H:%M:%S"); }

std::string bytesText(uint64_t bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string counted(uint64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

std::string figure(double value) { return fmt::format("{:.6g}", value); }

} // namespace cupel::results
