// What the words of -k and -m mean, by pytest's rules: -m names a marker exactly; a word of -k is a
// case-insensitive part of the test's id or of a name around it (function, file, folders, markers).
// Used where expressions are applied to tests.
#pragma once

#include "cupel/testbench/selection/Expression.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::selection {

/// Whether `text` has the word in it, upper and lower case (of ASCII) being the same. Fast enough
/// for all ids of a zoo: made once a word.
class Keyword {
public:
  explicit Keyword(std::string_view word);
  bool isIn(std::string_view text) const;

private:
  std::string lower;
};

/// The names that pytest sees around every test that is made from a loader, the test's own
/// (`function[id]`) and its markers apart.
std::span<const std::string_view> namesAroundPytestItems();

/// The markers that every test made from a loader has upstream because of how its function is
/// written, besides those that the parameters and the configuration give it.
std::span<const std::string_view> markersOfPytestItems();

/// Markers that mean something whether or not a test has them just now.
std::span<const std::string_view> wellKnownMarkers();

/// One line for each word of a -m expression that is neither well known nor in `present`, with the
/// nearest that is.
std::vector<std::string> unknownMarkers(const Expression &expression,
                                        std::span<const std::string_view> present);

} // namespace cupel::testbench::selection
