#include "cupel/testbench/selection/Expression.h"

#include <algorithm>
#include <cassert>

namespace cupel::testbench::selection {

ItemSet::ItemSet(size_t size, bool value)
    : itemCount(size), blocks((size + 63) / 64, value ? ~uint64_t{0} : 0) {
  clearTail();
}

void ItemSet::clearTail() {
  if (itemCount % 64)
    blocks.back() &= (uint64_t{1} << (itemCount % 64)) - 1;
}

size_t ItemSet::count() const {
  size_t total = 0;
  for (uint64_t block : blocks)
    total += size_t(__builtin_popcountll(block));
  return total;
}

ItemSet &ItemSet::operator&=(const ItemSet &other) {
  assert(itemCount == other.itemCount);
  for (size_t i = 0; i < blocks.size(); ++i)
    blocks[i] &= other.blocks[i];
  return *this;
}

ItemSet &ItemSet::operator|=(const ItemSet &other) {
  assert(itemCount == other.itemCount);
  for (size_t i = 0; i < blocks.size(); ++i)
    blocks[i] |= other.blocks[i];
  return *this;
}

void ItemSet::flip() {
  for (uint64_t &block : blocks)
    block = ~block;
  clearTail();
}

/// Recursive descent; what was read becomes steps in reverse Polish order.
class ExpressionParser {
public:
  explicit ExpressionParser(std::string_view text) : text(text) {}

  Result<Expression> parse() {
    advance();
    if (token != Token::End) {
      parseOr();
      if (message.empty() && token != Token::End)
        expected("end of input");
    }
    if (!message.empty())
      return Error{message};
    return std::move(result);
  }

private:
  enum class Token : uint8_t { LeftParenthesis, RightParenthesis, Or, And, Not, Word, End };

  static std::string_view nameOf(Token token) {
    static constexpr std::string_view kNames[] = {
        "left parenthesis", "right parenthesis", "or", "and", "not", "identifier", "end of input"};
    return kNames[size_t(token)];
  }

  /// Letters beyond ASCII count as letters, as they do in Python.
  static bool isWordCharacter(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c >= 0x80 || std::string_view("_:+-./[]\\").find(char(c)) != std::string_view::npos;
  }

  size_t column(size_t offset) const {
    size_t characters = 0;
    for (size_t i = 0; i < offset; ++i)
      characters += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    return characters + 1;
  }

  void fail(size_t offset, std::string what) {
    if (message.empty())
      message = "at column " + std::to_string(column(offset)) + ": " + std::move(what);
    token = Token::End;
    position = text.size();
  }
  void expected(std::string_view what) {
    fail(tokenStart, "expected " + std::string(what) + "; got " + std::string(nameOf(token)));
  }

  void advance() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\t'))
      ++position;
    tokenStart = position;
    if (position >= text.size()) {
      token = Token::End;
      return;
    }
    char c = text[position];
    if (c == '(' || c == ')') {
      token = c == '(' ? Token::LeftParenthesis : Token::RightParenthesis;
      ++position;
      return;
    }
    while (position < text.size() && isWordCharacter(static_cast<unsigned char>(text[position])))
      ++position;
    word = text.substr(tokenStart, position - tokenStart);
    if (word.empty())
      return fail(tokenStart, std::string("unexpected character \"") + c + "\"");
    token = word == "or"    ? Token::Or
            : word == "and" ? Token::And
            : word == "not" ? Token::Not
                            : Token::Word;
  }

  /// Keeps a hostile expression from exhausting our stack, and evaluation from its own.
  bool enter() {
    if (++depth < Expression::kMaxStack / 2)
      return true;
    fail(tokenStart, "nested too deeply");
    return false;
  }

  void parseOr() {
    if (!enter())
      return;
    parseAnd();
    while (message.empty() && token == Token::Or) {
      advance();
      parseAnd();
      emit(Expression::Step::Or);
    }
    --depth;
  }

  void parseAnd() {
    parseNot();
    while (message.empty() && token == Token::And) {
      advance();
      parseNot();
      emit(Expression::Step::And);
    }
  }

  void parseNot() {
    if (!message.empty())
      return;
    if (token == Token::Not) {
      // A loop, not a recursion: a chain of `not` only counts.
      bool negated = false;
      while (message.empty() && token == Token::Not) {
        negated = !negated;
        advance();
      }
      parsePrimary();
      if (negated)
        emit(Expression::Step::Not);
      return;
    }
    parsePrimary();
  }

  void parsePrimary() {
    if (!message.empty())
      return;
    if (token == Token::LeftParenthesis) {
      advance();
      parseOr();
      if (!message.empty())
        return;
      if (token != Token::RightParenthesis)
        return expected("right parenthesis");
      advance();
      return;
    }
    if (token != Token::Word)
      return expected("not OR left parenthesis OR identifier");
    auto &words = result.distinctWords;
    auto at = std::find(words.begin(), words.end(), word);
    uint32_t index = uint32_t(at - words.begin());
    if (at == words.end())
      words.emplace_back(word);
    result.code.push_back({Expression::Step::Word, index});
    advance();
  }

  void emit(Expression::Step::Kind kind) {
    if (message.empty())
      result.code.push_back({kind, 0});
  }

  std::string_view text, word;
  size_t position = 0, tokenStart = 0;
  Token token = Token::End;
  uint32_t depth = 0;
  std::string message;
  Expression result;
};

Result<Expression> Expression::parse(std::string_view text) {
  return ExpressionParser(text).parse();
}

ItemSet Expression::evaluate(size_t itemCount, std::span<const ItemSet *const> sets) const {
  if (code.empty())
    return ItemSet(itemCount, true);
  assert(sets.size() == distinctWords.size());
  std::vector<ItemSet> stack;
  for (const Step &step : code) {
    if (step.kind == Step::Word) {
      stack.push_back(*sets[step.word]);
      continue;
    }
    if (step.kind == Step::Not) {
      stack.back().flip();
      continue;
    }
    ItemSet right = std::move(stack.back());
    stack.pop_back();
    if (step.kind == Step::And)
      stack.back() &= right;
    else
      stack.back() |= right;
  }
  return std::move(stack.back());
}

} // namespace cupel::testbench::selection
