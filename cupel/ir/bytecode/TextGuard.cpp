#include "cupel/ir/bytecode/TextGuard.h"

#include "cupel/ir/bytecode/TextTokens.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

using namespace cupel::bytecode;

namespace {
/// How deep an alias reaches and how much it stands for when written out.
struct Reach {
  uint64_t depth = 0;
  uint64_t expanded = 0;
};

class TextChecker {
public:
  TextChecker(std::string_view text, const Limits &limits)
      : text(text), limits(limits), tokens(text) {}

  TextProblem run() {
    while (!problem.found() && step()) {
    }
    if (!problem.found() && largestUse.first && largestUse.first >= largestDefinition)
      fail(largestUse.second, "result number " + std::to_string(largestUse.first) +
                                  " is used, but no operation here has as many results");
    if (problem.found())
      locate();
    return std::move(problem);
  }

private:
  bool step();
  bool beginsOperation(const Token &token) const;
  void open(const Token &token);
  void close(const Token &token);
  void number(const Token &token);
  void identifier(const Token &token);
  void shape(size_t from);
  void prefixed(const Token &token);
  void resource(const Token &token);
  void endAlias();

  void fail(size_t at, std::string what) {
    if (!problem.found())
      problem = {at, 0, 0, std::move(what)};
  }
  void locate() {
    std::string_view before = text.substr(0, problem.offset);
    problem.line = 1 + std::count(before.begin(), before.end(), '\n');
    size_t lineStart = before.rfind('\n');
    problem.column = problem.offset - (lineStart == std::string_view::npos ? 0 : lineStart + 1) + 1;
  }
  char spelledAs(const Token &token) const { return text[token.begin]; }
  /// The value of a decimal number, or the largest where it does not fit.
  uint64_t valueOf(std::string_view digits) const {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() ? value : ~uint64_t(0);
  }

  std::string_view text;
  const Limits &limits;
  TextTokens tokens;
  TextProblem problem;
  Token previous, beforePrevious;

  /// The brackets that are open.
  std::vector<char> brackets;
  /// Where an affine map or set is being read: the bracket depth around it, and the operators seen.
  size_t affineDepth = 0;
  bool inAffine = false;
  uint64_t affineOperators = 0;
  uint64_t minusRun = 0;

  std::unordered_map<std::string_view, Reach> aliases;
  std::string_view aliasName;
  Reach aliasReach;
  bool inResources = false;
  /// Where a "{-#" stands that no "#-}" has closed.
  std::optional<size_t> openResources;
  std::pair<uint64_t, size_t> largestUse{0, 0};
  uint64_t largestDefinition = 1;
};
} // namespace

bool TextChecker::step() {
  Token token = tokens.next();
  if (!aliasName.empty() && brackets.empty() && beginsOperation(token))
    endAlias();
  switch (token.kind) {
  case Token::End:
    endAlias();
    // MLIR's parser may take the end of the text for a value there, and read on behind it.
    if (openResources)
      fail(*openResources, "the file's resources are never closed by '#-}'");
    return false;
  case Token::String:
    if (inResources)
      resource(token);
    break;
  case Token::Number:
    number(token);
    break;
  case Token::Identifier:
    identifier(token);
    break;
  case Token::Prefixed:
    prefixed(token);
    break;
  case Token::Arrow:
    break;
  case Token::Punctuation:
    switch (spelledAs(token)) {
    case '(':
    case '[':
    case '{':
    case '<':
      open(token);
      break;
    case ')':
    case ']':
    case '}':
    case '>':
      close(token);
      break;
    case '+':
    case '*':
      affineOperators += inAffine;
      break;
    case '-':
      affineOperators += inAffine;
      if (++minusRun > limits.textDepth)
        fail(token.begin,
             "more than " + std::to_string(limits.textDepth) + " minus signs in a row");
      break;
    case '=':
      // "#name =" and "!name =" at the start define an alias.
      if (brackets.empty() && previous.kind == Token::Prefixed &&
          (spelledAs(previous) == '#' || spelledAs(previous) == '!')) {
        endAlias();
        aliasName = tokens.spelling(previous);
        aliasReach = {};
      }
      break;
    case '#':
      // "{-#" begins the resources of a file.
      if (previous.kind == Token::Punctuation && spelledAs(previous) == '-' &&
          beforePrevious.kind == Token::Punctuation && spelledAs(beforePrevious) == '{') {
        inResources = true;
        openResources = beforePrevious.begin;
      }
      break;
    }
    break;
  }
  if (!(token.kind == Token::Punctuation && spelledAs(token) == '-'))
    minusRun = 0;
  if (inAffine && affineOperators > limits.affineOperators)
    fail(token.begin, "an affine map or set with more than " +
                          std::to_string(limits.affineOperators) + " operators");
  beforePrevious = previous;
  previous = token;
  return true;
}

/// Whether `token`, outside all brackets, cannot belong to an alias's value, which follows the "=".
bool TextChecker::beginsOperation(const Token &token) const {
  char before = previous.kind == Token::Punctuation ? spelledAs(previous) : 0;
  if (before == '=')
    return false;
  switch (token.kind) {
  case Token::String:
    return true;
  case Token::Prefixed:
    return spelledAs(token) == '%' || (spelledAs(token) == '@' && before != ':');
  case Token::Punctuation:
    return spelledAs(token) == '{';
  default:
    return false;
  }
}

void TextChecker::open(const Token &token) {
  brackets.push_back(spelledAs(token));
  if (brackets.size() > limits.textDepth)
    fail(token.begin,
         "brackets are nested more than " + std::to_string(limits.textDepth) + " deep");
  aliasReach.depth = std::max<uint64_t>(aliasReach.depth, brackets.size());
}

// A "<" or ">" may be a comparison, so a bracket of another kind closes over it and it closes
// nothing else.
void TextChecker::close(const Token &token) {
  char closing = spelledAs(token);
  char opening = closing == ')' ? '(' : closing == ']' ? '[' : closing == '}' ? '{' : '<';
  if (opening != '<')
    while (!brackets.empty() && brackets.back() == '<' &&
           std::find(brackets.begin(), brackets.end(), opening) != brackets.end())
      brackets.pop_back();
  if (!brackets.empty() && brackets.back() == opening)
    brackets.pop_back();
  if (inAffine && brackets.size() <= affineDepth)
    inAffine = false;
}

void TextChecker::number(const Token &token) {
  if (token.end - token.begin > limits.numberLength)
    fail(token.begin, "a number of more than " + std::to_string(limits.numberLength) + " digits");
  bool afterColon = previous.kind == Token::Punctuation && spelledAs(previous) == ':';
  bool ofValue = beforePrevious.kind == Token::Prefixed && spelledAs(beforePrevious) == '%';
  if (afterColon && ofValue) {
    // "%name:8 = ...": that operation lists as many types, so no more than half the text has room
    // for.
    uint64_t results = std::min<uint64_t>(valueOf(tokens.spelling(token)), text.size() / 2 + 1);
    largestDefinition = std::max(largestDefinition, results);
  }
}

void TextChecker::identifier(const Token &token) {
  std::string_view word = tokens.spelling(token);
  std::string_view rest = word;
  if (rest.starts_with("si") || rest.starts_with("ui"))
    rest.remove_prefix(1);
  // The last part of "tensor<4xi32>" is the identifier "xi32" here.
  if (rest.starts_with('x'))
    rest = rest.substr(std::min(rest.find_last_of('i'), rest.size() - 1));
  if (rest.size() > 4 && rest.starts_with('i') &&
      rest.find_first_not_of("0123456789", 1) == std::string_view::npos &&
      valueOf(rest.substr(1)) > limits.integerWidth)
    fail(token.begin, "integer type " + std::string(rest.substr(0, 24)) + " has more than " +
                          std::to_string(limits.integerWidth) + " bits");
  if (word == "tensor" || word == "vector" || word == "memref")
    shape(token.end);
  else if (word == "affine_map" || word == "affine_set") {
    inAffine = true;
    affineDepth = brackets.size();
    affineOperators = 0;
  } else if (inAffine &&
             (word == "mod" || word == "floordiv" || word == "ceildiv" || word == "and"))
    ++affineOperators;
}

/// Looks at the dimensions of "tensor<4x?x8xf32>" from the bracket on.
void TextChecker::shape(size_t from) {
  size_t pos = from;
  if (pos >= text.size() || text[pos] != '<')
    return;
  ++pos;
  uint64_t elements = 1;
  while (pos < text.size()) {
    size_t digits = pos;
    while (pos < text.size() && (text[pos] >= '0' && text[pos] <= '9'))
      ++pos;
    bool dynamic = pos == digits && pos < text.size() && text[pos] == '?';
    if (dynamic)
      ++pos;
    if ((pos == digits) || pos >= text.size() || text[pos] != 'x')
      return;
    if (!dynamic) {
      uint64_t dimension = valueOf(text.substr(digits, pos - digits));
      if (dimension != 0 && (__builtin_mul_overflow(elements, dimension, &elements) ||
                             elements > uint64_t(INT64_MAX))) {
        fail(digits, "the shape has more than 2^63 elements");
        return;
      }
    }
    ++pos;
  }
}

void TextChecker::prefixed(const Token &token) {
  if (tokens.spelling(token) == "#-" && token.end < text.size() && text[token.end] == '}')
    openResources.reset();
  std::string_view digits = tokens.spelling(token).substr(1);
  if (spelledAs(token) == '#' && previous.kind == Token::Prefixed && spelledAs(previous) == '%' &&
      digits.find_first_not_of("0123456789") == std::string_view::npos) {
    // "%name#7": MLIR makes room for as many values under that name.
    uint64_t use = valueOf(digits);
    if (use > largestUse.first)
      largestUse = {use, token.begin};
  }
  if (aliasName.empty())
    return;
  char prefix = spelledAs(token);
  if (prefix != '#' && prefix != '!')
    return;
  auto known = aliases.find(tokens.spelling(token));
  if (known == aliases.end())
    return;
  aliasReach.depth = std::max(aliasReach.depth, brackets.size() + known->second.depth);
  aliasReach.expanded = std::min(aliasReach.expanded + known->second.expanded, uint64_t(1) << 62);
  if (aliasReach.depth > limits.attributeDepth)
    fail(token.begin, "attributes and types are nested more than " +
                          std::to_string(limits.attributeDepth) + " deep");
  if (aliasReach.expanded > limits.expandedSize)
    fail(token.begin,
         "an alias expands to more than " + std::to_string(limits.expandedSize) + " parts");
}

void TextChecker::endAlias() {
  if (aliasName.empty())
    return;
  ++aliasReach.expanded;
  aliases[aliasName] = aliasReach;
  aliasName = {};
}

/// A blob in the resources of a file begins with its alignment, four little-endian bytes in
/// hexadecimal digits.
void TextChecker::resource(const Token &token) {
  std::string_view digits = tokens.spelling(token);
  if (!digits.starts_with("\"0x") || digits.size() < 11)
    return;
  digits = digits.substr(3, 8);
  uint32_t reversed = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), reversed, 16);
  if (error != std::errc() || end != digits.data() + digits.size())
    return;
  uint32_t alignment = __builtin_bswap32(reversed);
  if (alignment > limits.alignment)
    fail(token.begin, "resource alignment " + std::to_string(alignment) + " is above " +
                          std::to_string(limits.alignment));
}

TextProblem cupel::bytecode::checkText(std::string_view text, const Limits &limits) {
  return TextChecker(text, limits).run();
}
