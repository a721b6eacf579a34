// The predicates that reasons are made of: words, regular expressions and combinations of them on a
// text. Made once when a table is read, then only evaluated.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace cupel::testbench::triage {

struct Predicate {
  enum class Kind { Contains, StartsWith, Equals, Regex, AnyOf, AllOf, Not, LastLine };

  Predicate();
  Predicate(Predicate &&) noexcept;
  Predicate &operator=(Predicate &&) noexcept;
  ~Predicate();

  /// Never fails; takes time linear in the text for each part of the predicate.
  bool holds(std::string_view text) const;

  Kind kind = Kind::Contains;
  std::string text;                ///< Of the first three kinds.
  std::unique_ptr<re2::RE2> regex; ///< Of Regex.
  std::vector<Predicate> parts;    ///< Of the others.
};

/// The last line of a text that is not blank.
std::string_view lastLine(std::string_view text);

/// Without the escape sequences that colour a terminal.
std::string withoutColours(std::string_view text);

} // namespace cupel::testbench::triage
