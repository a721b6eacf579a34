// Cuts MLIR text into tokens: just enough of MLIR's lexer to tell strings and comments from the
// rest. The text guard and the location rewriter read through it; it never fails, whatever the
// text.
#pragma once

#include <cstddef>
#include <string_view>

namespace cupel::bytecode {

struct Token {
  enum Kind {
    End,
    String,      // "..."
    Number,      // 12, 0x1F, 1.5e-3
    Identifier,  // tensor, func.func, x4xf32
    Prefixed,    // %0, @f, #loc1, !t, ^bb0, with the prefix
    Punctuation, // one character
    Arrow,       // ->
  };
  Kind kind = End;
  size_t begin = 0;
  size_t end = 0;
};

class TextTokens {
public:
  explicit TextTokens(std::string_view text, size_t from = 0) : text(text), pos(from) {}

  Token next();
  std::string_view spelling(const Token &token) const {
    return text.substr(token.begin, token.end - token.begin);
  }
  bool is(const Token &token, char c) const {
    return token.kind == Token::Punctuation && text[token.begin] == c;
  }

private:
  std::string_view text;
  size_t pos;
};

} // namespace cupel::bytecode
