#include "cupel/ir/bytecode/TextLocations.h"

#include "cupel/ir/bytecode/TextTokens.h"

#include <algorithm>

using namespace cupel::bytecode;

namespace {
/// Recognises  STRING : LINE : COLUMN to [LINE] : COLUMN , token by token.
class RangeMatcher {
public:
  RangeMatcher(const TextTokens &tokens) : tokens(tokens) {}

  /// True if `token` ends a range; then [cutBegin, token.end) is what makes it more than a point.
  bool accept(const Token &token) {
    auto number = [&] { return token.kind == Token::Number; };
    auto colon = [&] { return tokens.is(token, ':'); };
    auto to = [&] { return token.kind == Token::Identifier && tokens.spelling(token) == "to"; };
    if (token.kind == Token::String) {
      matched = 1;
      return false;
    }
    switch (matched) {
    case 1:
    case 3:
      return advance(colon());
    case 2:
      return advance(number());
    case 4:
      cutBegin = token.end;
      return advance(number());
    case 5:
      return advance(to());
    case 6:
      // The end line is left out where it is that of the beginning.
      if (colon())
        matched = 7;
      return advance(number() || colon());
    case 7:
      return advance(colon());
    case 8:
      if (number()) {
        matched = 0;
        return true;
      }
    }
    matched = 0;
    return false;
  }

  size_t cutBegin = 0;

private:
  bool advance(bool fits) {
    matched = fits ? matched + 1 : 0;
    return false;
  }
  const TextTokens &tokens;
  int matched = 0;
};
} // namespace

std::optional<std::string> cupel::bytecode::pointLocations(std::string_view text) {
  TextTokens tokens(text);
  RangeMatcher matcher(tokens);
  std::optional<std::string> result;
  size_t copied = 0;
  for (Token token = tokens.next(); token.kind != Token::End; token = tokens.next()) {
    if (!matcher.accept(token))
      continue;
    if (!result) {
      result.emplace();
      result->reserve(text.size());
    }
    result->append(text.substr(copied, matcher.cutBegin - copied));
    // A range written over several lines must not move the lines below it.
    std::string_view cut = text.substr(matcher.cutBegin, token.end - matcher.cutBegin);
    result->append(std::count(cut.begin(), cut.end(), '\n'), '\n');
    copied = token.end;
  }
  if (result)
    result->append(text.substr(copied));
  return result;
}
