// Making text fit where it goes: into XML, onto a terminal, into a Markdown table; and the few ways
// in which reports write numbers. What tests print may hold any bytes; nothing here may let them
// break a report or drive a terminal.
#pragma once

#include "cupel/results/Record.h"

#include <string>
#include <string_view>

namespace cupel::results {

/// Valid UTF-8 of characters that XML 1.0 allows: others become `#x1B`, bytes that are no UTF-8
/// become U+FFFD.
std::string xmlSafe(std::string_view text);

/// One line without control characters: they become spaces; bytes that are no UTF-8 become U+FFFD.
std::string oneLine(std::string_view text);

/// `oneLine`, at most `columns` code points, with an ellipsis where it was cut.
std::string cutTo(std::string_view text, size_t columns);

/// `oneLine` with what Markdown gives a meaning to made plain.
std::string markdownSafe(std::string_view text);

/// `4.2 ms`, `0.25 s`, `12.3 s`, `3 min 20 s`, `2 h 05 min`.
std::string durationText(double seconds);
/// `2026-11-15T08:15:30Z`, or with a space and without letters for people.
std::string isoTime(double secondsSinceEpoch);
std::string peopleTime(double secondsSinceEpoch);
/// `512 B`, `3.5 MiB`.
std::string bytesText(uint64_t bytes);
/// `1 test`, `2 tests`.
std::string counted(uint64_t count, std::string_view singular);
/// Up to six significant digits; `nan`, `inf`.
std::string figure(double value);

} // namespace cupel::results
