#include "cupel/ir/bytecode/TextTokens.h"

using namespace cupel::bytecode;

namespace {
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isIdentifier(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '$' || c == '.'; }
bool isPrefixedName(char c) { return isIdentifier(c) || c == '-'; }
bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0'; }
} // namespace

Token TextTokens::next() {
  auto at = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  auto token = [&](Token::Kind kind, size_t begin) { return Token{kind, begin, pos}; };

  while (pos < text.size()) {
    if (isSpace(text[pos])) {
      ++pos;
    } else if (text[pos] == '/' && at(pos + 1) == '/') {
      size_t line = text.find('\n', pos);
      pos = line == std::string_view::npos ? text.size() : line;
    } else {
      break;
    }
  }
  size_t begin = pos;
  if (pos == text.size())
    return token(Token::End, begin);

  char c = text[pos++];
  if (c == '"') {
    // A string ends at its quote; one that reaches the end of its line is an error, which MLIR
    // reports.
    while (pos < text.size() && text[pos] != '"' && text[pos] != '\n')
      pos += text[pos] == '\\' ? 2 : 1;
    pos = pos < text.size() ? pos + (text[pos] == '"') : text.size();
    return token(Token::String, begin);
  }
  if (isDigit(c)) {
    if (c == '0' && at(pos) == 'x' && isHexDigit(at(pos + 1))) {
      ++pos;
      while (isHexDigit(at(pos)))
        ++pos;
      return token(Token::Number, begin);
    }
    while (isDigit(at(pos)))
      ++pos;
    if (at(pos) == '.') {
      ++pos;
      while (isDigit(at(pos)))
        ++pos;
      if (at(pos) == 'e' || at(pos) == 'E') {
        size_t exponent = pos + 1;
        if (at(exponent) == '+' || at(exponent) == '-')
          ++exponent;
        if (isDigit(at(exponent))) {
          pos = exponent;
          while (isDigit(at(pos)))
            ++pos;
        }
      }
    }
    return token(Token::Number, begin);
  }
  if (isLetter(c) || c == '_') {
    while (isIdentifier(at(pos)))
      ++pos;
    return token(Token::Identifier, begin);
  }
  if (c == '@' && at(pos) == '"') {
    Token name = next();
    return {Token::Prefixed, begin, name.end};
  }
  if ((c == '%' || c == '#' || c == '!' || c == '^' || c == '@') && isPrefixedName(at(pos))) {
    // "!t->" and "#x->" end before the arrow.
    while (isPrefixedName(at(pos)) && !(at(pos) == '-' && at(pos + 1) == '>'))
      ++pos;
    return token(pos > begin + 1 ? Token::Prefixed : Token::Punctuation, begin);
  }
  if (c == '-' && at(pos) == '>') {
    ++pos;
    return token(Token::Arrow, begin);
  }
  return token(Token::Punctuation, begin);
}
