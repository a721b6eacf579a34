#include "cupel/testbench/triage/Predicate.h"

#include <algorithm>
#include <re2/re2.h>

namespace cupel::testbench::triage {

Predicate::Predicate() = default;
Predicate::Predicate(Predicate &&) noexcept = default;
Predicate &Predicate::operator=(Predicate &&) noexcept = default;
Predicate::~Predicate() = default;

bool Predicate::holds(std::string_view subject) const {
  auto holdsHere = [&](const Predicate &part) { return part.holds(subject); };
  switch (kind) {
  case Kind::Contains:
    return subject.find(text) != std::string_view::npos;
  case Kind::StartsWith:
    return subject.starts_with(text);
  case Kind::Equals:
    return subject == text;
  case Kind::Regex:
    return re2::RE2::PartialMatch(re2::StringPiece(subject.data(), subject.size()), *regex);
  case Kind::AnyOf:
    return std::any_of(parts.begin(), parts.end(), holdsHere);
  case Kind::AllOf:
    return std::all_of(parts.begin(), parts.end(), holdsHere);
  case Kind::Not:
    return std::none_of(parts.begin(), parts.end(), holdsHere);
  case Kind::LastLine: {
    std::string_view line = lastLine(subject);
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Predicate &part) { return part.holds(line); });
  }
  }
  return false;
}

std::string_view lastLine(std::string_view text) {
  size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos)
    return {};
  text = text.substr(0, end + 1);
  size_t begin = text.rfind('\n');
  return begin == std::string_view::npos ? text : text.substr(begin + 1);
}

std::string withoutColours(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b' || i + 1 >= text.size() || text[i + 1] != '[') {
      plain.push_back(text[i]);
      continue;
    }
    // Parameters, then one letter that says what to do.
    size_t end = i + 2;
    while (end < text.size() && (text[end] < 0x40 || text[end] > 0x7e))
      ++end;
    i = end;
  }
  return plain;
}

} // namespace cupel::testbench::triage
