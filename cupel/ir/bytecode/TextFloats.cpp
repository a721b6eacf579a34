#include "cupel/ir/bytecode/TextFloats.h"

#include "cupel/ir/bytecode/FloatTypes.h"
#include "cupel/ir/bytecode/TextTokens.h"
#include "cupel/tensor/Float.h"
#include "cupel/tensor/Print.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

using namespace cupel;
using namespace cupel::bytecode;
using tensor::DType;

namespace {

constexpr std::string_view kTypePrefix = "!stablehlo.", kBits = "#stablehlo.bits",
                           kVhloTensor = "#vhlo.tensor_v1";

bool namesOne(std::string_view text) {
  for (const NewFloat &type : kNewFloats)
    if (!type.known && text.find(type.name) != std::string_view::npos)
      return true;
  return false;
}

/// The type in "0xf8E3M4>", which the lexer takes for a hexadecimal number: no elements.
std::optional<std::string_view> rareFloatBehindZero(std::string_view text, const Token &token) {
  if (token.kind != Token::Number || !text.substr(token.begin).starts_with("0x"))
    return std::nullopt;
  std::string_view rest = text.substr(token.begin + 2);
  return rareFloatAtEnd(rest.substr(0, std::min(rest.find_first_of("<>,: \n"), rest.size())));
}

/// The bits that a literal stands for; nothing for one that MLIR does not take for a float.
std::optional<unsigned> bitsOf(std::string_view literal, bool negative, DType type) {
  if (literal.starts_with("0x")) {
    unsigned bits = 0;
    auto [end, error] =
        std::from_chars(literal.data() + 2, literal.data() + literal.size(), bits, 16);
    bool whole = error == std::errc() && end == literal.data() + literal.size();
    return whole && !negative && bits >> tensor::info(type).bits == 0 ? std::optional(bits)
                                                                      : std::nullopt;
  }
  if (literal.find('.') == std::string_view::npos)
    return std::nullopt;
  double value = std::strtod(std::string(literal).c_str(), nullptr);
  // A type without zero has its least number there, as LLVM writes it.
  if (type == DType::F8E8M0FNU && value == 0)
    return 0;
  return tensor::dispatch(type, [&]<DType t>() -> unsigned {
    if constexpr (tensor::isRareFloat(t))
      return tensor::fromDouble<t>(negative ? -value : value);
    else
      return 0;
  });
}

std::string numberOf(std::string_view bits, DType type) {
  unsigned value = 0;
  std::from_chars(bits.data(), bits.data() + bits.size(), value);
  auto stored = static_cast<uint8_t>(value);
  return tensor::elementText(type, &stored);
}

/// A text that is copied piece by piece, with other words in some places.
class Edited {
public:
  explicit Edited(std::string_view text) : text(text) { result.reserve(text.size() + 256); }

  void replace(size_t begin, size_t end, std::string_view words) {
    result.append(text.substr(copied, begin - copied)).append(words);
    copied = end;
  }
  std::string finish() {
    result.append(text.substr(copied));
    return std::move(result);
  }

private:
  std::string_view text;
  std::string result;
  size_t copied = 0;
};

/// Reads `dense<...> : tensor<4xTYPE>` (or, printed by us, `#stablehlo.bits<dense<...> : tensor<4xui8>> :
/// tensor<4x!stablehlo.TYPE>`) from a token on.
struct Literal {
  struct Number {
    size_t begin, end; // with its sign
    size_t digits;     // without
  };
  std::vector<Number> numbers;
  std::string_view string; // "0x...", with its quotes
  size_t end = 0;          // behind the ">" that closes it
  std::string_view dimensions;
  DType type = DType::F8E3M4;
  size_t typeEnd = 0; // behind the ">" of the tensor type
};

/// From behind "dense" on; nothing if it is not a literal of one of the types.
class LiteralReader {
public:
  LiteralReader(std::string_view text, size_t from) : text(text), tokens(text, from) {}

  std::optional<Literal> read() {
    if (!readBody())
      return std::nullopt;
    literal.end = tokenEnd;
    return readType() ? std::optional(std::move(literal)) : std::nullopt;
  }

  /// As MLIR printed bits: "<dense<...> : tensor<...>> : tensor<...>".
  std::optional<Literal> readBits() {
    if (!isNext('<') || next().kind != Token::Identifier || spelling() != "dense" || !readBody() ||
        !isNext(':') || next().kind != Token::Identifier || !isNext('<'))
      return std::nullopt;
    while (next().kind != Token::End && !tokens.is(token, '>')) {
    }
    if (!isNext('>'))
      return std::nullopt;
    literal.end = tokenEnd;
    return readType() ? std::optional(std::move(literal)) : std::nullopt;
  }

private:
  const Token &next() {
    token = tokens.next();
    tokenEnd = token.end;
    return token;
  }
  bool isNext(char c) { return tokens.is(next(), c); }
  std::string_view spelling() const { return tokens.spelling(token); }

  /// "<" up to the ">" that belongs to it.
  bool readBody() {
    if (!isNext('<'))
      return false;
    std::optional<size_t> minus;
    while (next().kind != Token::End) {
      if (tokens.is(token, '>'))
        return true;
      if (token.kind == Token::Number)
        literal.numbers.push_back({minus.value_or(token.begin), token.end, token.begin});
      else if (token.kind == Token::String)
        literal.string = spelling();
      else if (token.kind != Token::Punctuation || tokens.is(token, '<'))
        return false;
      minus = tokens.is(token, '-') ? std::optional(token.begin) : std::nullopt;
    }
    return false;
  }

  bool readType() {
    if (!isNext(':') || next().kind != Token::Identifier || spelling() != "tensor" || !isNext('<'))
      return false;
    size_t begin = token.end;
    while (next().kind != Token::End && !tokens.is(token, '>')) {
      std::string_view word = spelling();
      std::optional<std::string_view> name;
      size_t nameBegin = token.begin;
      if (token.kind == Token::Identifier && (name = rareFloatAtEnd(word))) {
        nameBegin = token.end - name->size();
      } else if ((name = rareFloatBehindZero(text, token))) {
        nameBegin = token.begin + text.substr(token.begin).find(*name);
        tokens = TextTokens(text, nameBegin + name->size());
      } else if (token.kind == Token::Prefixed && word.starts_with(kTypePrefix)) {
        name = rareFloatAtEnd(word.substr(kTypePrefix.size()));
      }
      if (!name)
        continue;
      literal.type = *tensor::parseDType(*name);
      literal.dimensions = text.substr(begin, nameBegin - begin);
      if (!isNext('>'))
        return false;
      literal.typeEnd = tokenEnd;
      return true;
    }
    return false;
  }

  std::string_view text;
  TextTokens tokens;
  Token token;
  size_t tokenEnd = 0;
  Literal literal;
};

/// Every number of a literal as the bits that stand for it. A literal that is no float stays one
/// that MLIR refuses here: a number with a point among integers.
std::string bitsAsNumber(std::string_view text, const Literal::Number &number, DType type) {
  std::string_view digits = text.substr(number.digits, number.end - number.digits);
  if (auto bits = bitsOf(digits, number.begin != number.digits, type))
    return std::to_string(*bits);
  return digits.starts_with("0x") ? "0.0" : std::string(digits) + ".0";
}

std::string asHexadecimal(std::string_view text, const Literal &literal) {
  if (!literal.string.empty())
    return std::string(literal.string);
  std::string result = "\"0x";
  for (const Literal::Number &number : literal.numbers) {
    std::string_view digits = text.substr(number.digits, number.end - number.digits);
    unsigned bits = bitsOf(digits, number.begin != number.digits, literal.type).value_or(0);
    result += "0123456789ABCDEF"[bits >> 4 & 15];
    result += "0123456789ABCDEF"[bits & 15];
  }
  return result + "\"";
}

} // namespace

std::optional<std::string_view> cupel::bytecode::rareFloatAtEnd(std::string_view identifier) {
  for (const NewFloat &type : kNewFloats) {
    std::string_view name = type.name;
    if (!type.known && identifier.ends_with(name) &&
        identifier.substr(0, identifier.size() - name.size()).find_first_not_of("0123456789x") ==
            std::string_view::npos)
      return name;
  }
  return std::nullopt;
}

std::optional<std::string> cupel::bytecode::spellRareFloats(std::string_view text) {
  if (!namesOne(text))
    return std::nullopt;
  Edited edited(text);
  TextTokens tokens(text);
  Token previous, beforePrevious;
  bool changed = false;
  for (Token token = tokens.next(); token.kind != Token::End; token = tokens.next()) {
    std::string_view word = tokens.spelling(token);
    bool afterBits = beforePrevious.kind == Token::Prefixed && tokens.is(previous, '<');
    std::string_view around = afterBits ? tokens.spelling(beforePrevious) : std::string_view();
    beforePrevious = previous;
    previous = token;
    if (std::optional<std::string_view> name = rareFloatBehindZero(text, token)) {
      size_t at = token.begin + text.substr(token.begin).find(*name);
      edited.replace(at, at, kTypePrefix);
      tokens = TextTokens(text, at + name->size());
      changed = true;
      continue;
    }
    if (token.kind != Token::Identifier)
      continue;
    if (word == "dense") {
      std::optional<Literal> literal = LiteralReader(text, token.end).read();
      if (!literal)
        continue;
      changed = true;
      if (around == kVhloTensor) {
        std::string name(tensor::info(literal->type).name);
        edited.replace(token.begin, literal->typeEnd,
                       asHexadecimal(text, *literal) + " : !vhlo.tensor_v1<" +
                           std::string(literal->dimensions) + "!vhlo." + name + "_v1>");
        tokens = TextTokens(text, literal->typeEnd);
        continue;
      }
      edited.replace(token.begin, token.begin, std::string(kBits) + "<");
      for (const Literal::Number &number : literal->numbers)
        edited.replace(number.begin, number.end, bitsAsNumber(text, number, literal->type));
      edited.replace(literal->end, literal->end,
                     " : tensor<" + std::string(literal->dimensions) + "ui8>>");
      tokens = TextTokens(text, literal->end);
      continue;
    }
    std::optional<std::string_view> name = rareFloatAtEnd(word);
    if (!name)
      continue;
    TextTokens ahead = tokens;
    Token following = ahead.next();
    if (ahead.is(following, '='))
      continue; // The name of an attribute.
    changed = true;
    edited.replace(token.end - name->size(), token.end - name->size(), kTypePrefix);
  }
  return changed ? std::optional(edited.finish()) : std::nullopt;
}

std::string cupel::bytecode::nameRareFloats(std::string text) {
  if (!namesOne(text))
    return text;
  Edited edited(text);
  TextTokens tokens(text);
  for (Token token = tokens.next(); token.kind != Token::End; token = tokens.next()) {
    if (token.kind != Token::Prefixed)
      continue;
    std::string_view word = tokens.spelling(token);
    if (word == kBits) {
      std::optional<Literal> literal = LiteralReader(text, token.end).readBits();
      if (!literal)
        continue;
      // "#stablehlo.bits<" goes, and the type of the bits behind the literal.
      size_t dense = text.find("dense", token.end);
      edited.replace(token.begin, dense, "");
      size_t inner = dense;
      for (const Literal::Number &number : literal->numbers) {
        edited.replace(number.begin, number.end,
                       numberOf(std::string_view(text).substr(number.begin, number.end - number.begin),
                                literal->type));
        inner = number.end;
      }
      if (!literal->string.empty())
        inner = static_cast<size_t>(literal->string.data() - text.data()) + literal->string.size();
      size_t close = text.find('>', inner);
      edited.replace(close + 1, literal->end, "");
      tokens = TextTokens(text, literal->end);
      continue;
    }
    if (word.starts_with(kTypePrefix) && rareFloatAtEnd(word.substr(kTypePrefix.size())))
      edited.replace(token.begin, token.begin + kTypePrefix.size(), "");
  }
  return edited.finish();
}
