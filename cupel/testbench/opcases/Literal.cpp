#include "cupel/testbench/opcases/Literal.h"

#include "cupel/support/Text.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace cupel::testbench::opcases {

Value Value::of(bool value) {
  Value made;
  made.kind = Kind::Bool;
  made.flag = value;
  return made;
}
Value Value::of(int64_t value) {
  Value made;
  made.kind = Kind::Int;
  made.integer = value;
  return made;
}
Value Value::of(double value) {
  Value made;
  made.kind = Kind::Float;
  made.number = value;
  return made;
}
Value Value::of(std::string value) {
  Value made;
  made.kind = Kind::Text;
  made.text = std::move(value);
  return made;
}
Value Value::list(std::vector<Value> items, Kind kind) {
  Value made;
  made.kind = kind;
  made.items = std::move(items);
  return made;
}

std::string Value::str() const {
  auto joined = [&] {
    std::string all;
    for (size_t i = 0; i < items.size(); ++i)
      all += (i ? ", " : "") + items[i].str();
    return all;
  };
  switch (kind) {
  case Kind::None:
    return "None";
  case Kind::Ellipsis:
    return "Ellipsis";
  case Kind::Bool:
    return flag ? "True" : "False";
  case Kind::Int:
    return std::to_string(integer);
  case Kind::Float: {
    if (std::isnan(number))
      return "nan";
    if (std::isinf(number))
      return number > 0 ? "inf" : "-inf";
    char buffer[40];
    auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
    std::string digits(buffer, end);
    return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
  }
  case Kind::Text: {
    std::string quoted = "'";
    for (char c : text) {
      if (c == '\'' || c == '\\')
        quoted += '\\';
      if (c == '\n')
        quoted += "\\n";
      else
        quoted += c;
    }
    return quoted + "'";
  }
  case Kind::List:
    return "[" + joined() + "]";
  case Kind::Tuple:
    return "(" + joined() + (items.size() == 1 ? ",)" : ")");
  case Kind::Slice:
    return "slice(" + joined() + ")";
  }
  return "";
}

namespace {

class Parser {
public:
  Parser(std::string_view text, LiteralError &problem) : text(text), problem(problem) {}

  bool parseAll(Value &value) {
    if (!parse(value, 0))
      return false;
    skipBlanks();
    // `1, 2` is a tuple without its brackets.
    if (peek() == ',') {
      std::vector<Value> items;
      items.push_back(std::move(value));
      while (accept(',')) {
        skipBlanks();
        if (at == text.size())
          break;
        Value next;
        if (!parse(next, 1))
          return false;
        items.push_back(std::move(next));
        skipBlanks();
      }
      value = Value::list(std::move(items), Value::Kind::Tuple);
    }
    skipBlanks();
    return at == text.size() || fail("something follows the value");
  }

private:
  bool fail(std::string message, size_t where = std::string_view::npos) {
    problem = {where == std::string_view::npos ? at : where, std::move(message)};
    return false;
  }
  void skipBlanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'))
      ++at;
  }
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool accept(char c) {
    skipBlanks();
    if (peek() != c || at >= text.size())
      return false;
    ++at;
    return true;
  }

  bool parse(Value &value, uint32_t depth) {
    if (depth > kMaxLiteralDepth)
      return fail("it is nested more than 32 deep");
    skipBlanks();
    if (at == text.size())
      return fail("a value is missing");
    char c = peek();
    if (c == '(')
      return parseSequence(value, ')', Value::Kind::Tuple, depth);
    if (c == '[')
      return parseSequence(value, ']', Value::Kind::List, depth);
    if (c == '\'' || c == '"')
      return parseText(value);
    if (text.substr(at).starts_with("...")) {
      at += 3;
      value.kind = Value::Kind::Ellipsis;
      return true;
    }
    if (c == '-' || c == '+' || (c >= '0' && c <= '9') || c == '.')
      return parseNumber(value);
    return parseName(value, depth);
  }

  bool parseSequence(Value &value, char end, Value::Kind kind, uint32_t depth) {
    size_t begin = at++;
    std::vector<Value> items;
    bool sawComma = false;
    while (!accept(end)) {
      if (at >= text.size())
        return fail(std::string("the '") + text[begin] + "' is never closed", begin);
      if (!items.empty() && !sawComma)
        return fail(std::string("expected ',' or '") + end + "'");
      Value item;
      if (!parse(item, depth + 1))
        return false;
      items.push_back(std::move(item));
      sawComma = accept(',');
    }
    // Brackets around one value without a comma only group it.
    if (kind == Value::Kind::Tuple && items.size() == 1 && !sawComma) {
      Value inner = std::move(items[0]);
      value = std::move(inner);
      return true;
    }
    value = Value::list(std::move(items), kind);
    return true;
  }

  bool parseText(Value &value) {
    size_t begin = at;
    char quote = text[at++];
    std::string out;
    while (at < text.size() && text[at] != quote) {
      if (text[at] == '\\') {
        ++at;
        if (at == text.size())
          break;
        char c = text[at];
        if (c != '\\' && c != '\'' && c != '"' && c != 'n' && c != 't')
          return fail("this escape is not taken; there are \\\\ \\' \\\" \\n \\t");
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      } else {
        out += text[at];
      }
      ++at;
    }
    if (at == text.size())
      return fail("the text is never closed", begin);
    ++at;
    value = Value::of(std::move(out));
    return true;
  }

  bool parseNumber(Value &value) {
    size_t begin = at;
    bool negative = false;
    while (peek() == '-' || peek() == '+') {
      negative ^= peek() == '-';
      ++at;
      skipBlanks();
    }
    std::string word;
    bool isFloat = false;
    auto isLetter = [&](size_t i) {
      return i < text.size() && ((text[i] >= 'a' && text[i] <= 'z') ||
                                 (text[i] >= 'A' && text[i] <= 'Z') || text[i] == '_');
    };
    if (isLetter(at)) {
      Value inner;
      if (!parseName(inner, 0))
        return false;
      if (inner.kind != Value::Kind::Float)
        return fail("a sign stands before what is no number", begin);
      value = Value::of(negative ? -inner.number : inner.number);
      return true;
    }
    while (at < text.size()) {
      char c = text[at];
      bool isExponentSign =
          (c == '+' || c == '-') && !word.empty() && (word.back() == 'e' || word.back() == 'E');
      if (!((c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '_' ||
            isExponentSign))
        break;
      isFloat |= c == '.' || c == 'e' || c == 'E';
      if (c != '_')
        word += c;
      ++at;
    }
    if (isLetter(at))
      return fail("this is no number", begin);
    const char *first = word.data(), *last = word.data() + word.size();
    if (!isFloat) {
      // Parsed with its sign, so that the least integer can be written too.
      std::string all = (negative ? "-" : "") + word;
      int64_t integer = 0;
      auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), integer);
      if (error == std::errc::result_out_of_range)
        return fail("the integer does not fit 64 bits", begin);
      if (error != std::errc() || end != all.data() + all.size() || word.empty())
        return fail("this is no number", begin);
      value = Value::of(integer);
      return true;
    }
    double number = 0;
    auto [end, error] = std::from_chars(first, last, number);
    if (end != last || (error != std::errc() && error != std::errc::result_out_of_range))
      return fail("this is no number", begin);
    value = Value::of(negative ? -number : number);
    return true;
  }

  bool parseName(Value &value, uint32_t depth) {
    size_t begin = at;
    while (at < text.size() &&
           ((text[at] >= 'a' && text[at] <= 'z') || (text[at] >= 'A' && text[at] <= 'Z') ||
            text[at] == '_' || text[at] == '.' || (text[at] >= '0' && text[at] <= '9')))
      ++at;
    std::string_view name = text.substr(begin, at - begin);
    if (name.empty())
      return fail(std::string("'") + text[begin] + "' begins no value");
    if (name == "None") {
      value = Value::none();
    } else if (name == "Ellipsis") {
      value.kind = Value::Kind::Ellipsis;
    } else if (name == "True" || name == "False") {
      value = Value::of(name == "True");
    } else if (name == "inf" || name == "nan") {
      value = Value::of(name == "inf" ? std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::quiet_NaN());
    } else if (name == "slice") {
      skipBlanks();
      if (peek() != '(')
        return fail("expected '(' after slice");
      Value arguments;
      size_t open = at;
      if (!parseSequence(arguments, ')', Value::Kind::List, depth))
        return false;
      if (arguments.items.empty() || arguments.items.size() > 3)
        return fail("slice takes one to three values", open);
      for (const Value &argument : arguments.items)
        if (argument.kind != Value::Kind::None && argument.kind != Value::Kind::Int)
          return fail("slice takes integers and None", open);
      std::vector<Value> parts = std::move(arguments.items);
      if (parts.size() == 1)
        parts.insert(parts.begin(), Value::none());
      parts.resize(3);
      value = Value::list(std::move(parts), Value::Kind::Slice);
    } else {
      static const std::vector<std::string_view> kNames = {"None",  "Ellipsis", "True", "False",
                                                           "slice", "inf",      "nan"};
      std::string_view near = nearestWord(name, kNames);
      return fail("the name '" + std::string(name.substr(0, 40)) + "' is not allowed in a literal" +
                      (near.empty()
                           ? "; allowed are None, Ellipsis, True, False, slice, inf and nan"
                           : "; did you mean " + std::string(near) + "?"),
                  begin);
    }
    skipBlanks();
    if (peek() == '(')
      return fail("only slice(...) may be called in a literal");
    return true;
  }

  std::string_view text;
  size_t at = 0;
  LiteralError &problem;
};

} // namespace

bool parseLiteral(std::string_view text, Value &value, LiteralError &problem) {
  value = Value();
  return Parser(text, problem).parseAll(value);
}

} // namespace cupel::testbench::opcases
