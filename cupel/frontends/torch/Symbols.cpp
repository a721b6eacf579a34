#include "cupel/frontends/torch/Symbols.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

namespace cupel::frontends::torch_import {

namespace {

/// Expressions nest a few levels; what nests deeper is hostile.
constexpr int kMaxDepth = 200;

Error overflow() { return Error{"a size does not fit 64 bits"}; }

Result<Number> sum(Number a, Number b) {
  if (a.isReal() || b.isReal())
    return Number::of(a.real + b.real);
  int64_t value;
  return __builtin_add_overflow(a.integer, b.integer, &value) ? Result<Number>(overflow())
                                                              : Number::of(value);
}
Result<Number> difference(Number a, Number b) {
  if (a.isReal() || b.isReal())
    return Number::of(a.real - b.real);
  int64_t value;
  return __builtin_sub_overflow(a.integer, b.integer, &value) ? Result<Number>(overflow())
                                                              : Number::of(value);
}
Result<Number> product(Number a, Number b) {
  if (a.isReal() || b.isReal())
    return Number::of(a.real * b.real);
  int64_t value;
  return __builtin_mul_overflow(a.integer, b.integer, &value) ? Result<Number>(overflow())
                                                              : Number::of(value);
}
Error divisionByZero() { return Error{"a size is divided by zero"}; }
Result<Number> floorDivide(Number a, Number b) {
  if (a.isReal() || b.isReal())
    return b.real == 0 ? Result<Number>(divisionByZero()) : Number::of(std::floor(a.real / b.real));
  if (b.integer == 0)
    return divisionByZero();
  if (a.integer == INT64_MIN && b.integer == -1)
    return overflow();
  int64_t quotient = a.integer / b.integer, rest = a.integer % b.integer;
  return Number::of(quotient - (rest != 0 && (rest < 0) != (b.integer < 0)));
}
Result<Number> modulo(Number a, Number b) {
  if (a.isReal() || b.isReal()) {
    if (b.real == 0)
      return divisionByZero();
    double rest = std::fmod(a.real, b.real);
    return Number::of(rest != 0 && (rest < 0) != (b.real < 0) ? rest + b.real : rest);
  }
  if (b.integer == 0)
    return divisionByZero();
  if (b.integer == -1)
    return Number::of(int64_t{0});
  int64_t rest = a.integer % b.integer;
  return Number::of(rest != 0 && (rest < 0) != (b.integer < 0) ? rest + b.integer : rest);
}
Result<Number> trueDivide(Number a, Number b) {
  return b.real == 0 ? Result<Number>(divisionByZero()) : Number::of(a.real / b.real);
}
Result<Number> power(Number a, Number b) {
  if (a.isReal() || b.isReal() || b.integer < 0)
    return Number::of(std::pow(a.real, b.real));
  if (b.integer > 64 && (a.integer > 1 || a.integer < -1))
    return overflow();
  Number value = Number::of(int64_t{1});
  for (int64_t i = 0, count = b.integer > 64 ? b.integer % 2 + 2 : b.integer; i < count; ++i) {
    Result<Number> next = product(value, a);
    if (!next)
      return next;
    value = *next;
  }
  return value;
}
int order(Number a, Number b) {
  if (a.isReal() || b.isReal())
    return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
  return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
}
Result<Number> toInteger(double value) {
  if (!(std::abs(value) < 9.2e18))
    return overflow();
  return Number::of(static_cast<int64_t>(value));
}
Number negate(Number a) {
  return a.isReal() ? Number::of(-a.real)
                    : Number::of(static_cast<int64_t>(0 - static_cast<uint64_t>(a.integer)));
}
Result<Number> shift(Number a, Number b, bool left) {
  if (b.integer < 0 || b.integer > 62)
    return overflow();
  Number factor = Number::of(int64_t{1} << b.integer);
  return left ? product(a, factor) : floorDivide(a, factor);
}
Result<Number> roundTo(Number a, double (*function)(double)) {
  return a.isReal() ? toInteger(function(a.real)) : Result<Number>(Number::of(a.integer));
}

/// The functions of both worlds, by the names SymPy (and its subclasses in PyTorch) and Python
/// have.
Result<Number> applyFunction(std::string_view name, std::span<const Number> x) {
  auto has = [&](size_t count) { return x.size() == count; };
  if (name == "Add" || name == "Mul") {
    Number value = Number::of(int64_t{name == "Mul"});
    for (Number term : x) {
      Result<Number> next = name == "Add" ? sum(value, term) : product(value, term);
      if (!next)
        return next;
      value = *next;
    }
    return value;
  }
  if ((name == "Max" || name == "Min") && !x.empty()) {
    Number value = x[0];
    for (Number other : x)
      if (name == "Max" ? order(other, value) > 0 : order(other, value) < 0)
        value = other;
    return value;
  }
  if (name == "And" || name == "Or") {
    bool value = name == "And";
    for (Number other : x)
      value = name == "And" ? value && other.truth() : value || other.truth();
    return Number::of(value);
  }
  if (has(1)) {
    if (name == "Not")
      return Number::of(!x[0].truth());
    if (name == "Abs" || name == "abs")
      return x[0].isReal()       ? Number::of(std::abs(x[0].real))
             : x[0].integer >= 0 ? x[0]
                                 : negate(x[0]);
    if (name == "Identity" || name == "pos")
      return x[0];
    if (name == "neg")
      return negate(x[0]);
    if (name == "ToFloat")
      return Number::of(x[0].real);
    if (name == "TruncToInt")
      return roundTo(x[0], std::trunc);
    if (name == "FloorToInt" || name == "floor")
      return roundTo(x[0], std::floor);
    if (name == "CeilToInt" || name == "ceiling" || name == "ceil")
      return roundTo(x[0], std::ceil);
    if (name == "RoundToInt" || name == "round")
      return roundTo(x[0], std::nearbyint);
    if (name == "TruncToFloat")
      return Number::of(std::trunc(x[0].real));
    using Function = double (*)(double);
    static const std::map<std::string_view, Function> functions = {
        {"sqrt", std::sqrt}, {"exp", std::exp},   {"log", std::log},   {"log2", std::log2},
        {"sin", std::sin},   {"cos", std::cos},   {"tan", std::tan},   {"asin", std::asin},
        {"acos", std::acos}, {"atan", std::atan}, {"sinh", std::sinh}, {"cosh", std::cosh},
        {"tanh", std::tanh}};
    std::string_view bare = name;
    if (bare.starts_with("OpaqueUnaryFn_"))
      bare.remove_prefix(14);
    if (auto found = functions.find(bare); found != functions.end())
      return Number::of(found->second(x[0].real));
  }
  if (has(2)) {
    if (name == "FloorDiv" || name == "CleanDiv")
      return floorDivide(x[0], x[1]);
    if (name == "CeilDiv") {
      Result<Number> down = floorDivide(negate(x[0]), x[1]);
      return down ? Result<Number>(negate(*down)) : down;
    }
    if (name == "Mod" || name == "PythonMod")
      return modulo(x[0], x[1]);
    if (name == "Pow" || name == "PowByNatural")
      return power(x[0], x[1]);
    if (name == "FloatPow")
      return Number::of(std::pow(x[0].real, x[1].real));
    if (name == "IntTrueDiv" || name == "FloatTrueDiv" || name == "Rational")
      return trueDivide(x[0], x[1]);
    if (name == "LShift" || name == "RShift")
      return shift(x[0], x[1], name == "LShift");
    if (name == "RoundDecimal") {
      double scale = std::pow(10.0, x[1].real);
      return Number::of(std::nearbyint(x[0].real * scale) / scale);
    }
    if (name == "Equality" || name == "Eq")
      return Number::of(order(x[0], x[1]) == 0);
    if (name == "Unequality" || name == "Ne")
      return Number::of(order(x[0], x[1]) != 0);
    if (name == "GreaterThan" || name == "Ge")
      return Number::of(order(x[0], x[1]) >= 0);
    if (name == "LessThan" || name == "Le")
      return Number::of(order(x[0], x[1]) <= 0);
    if (name == "StrictGreaterThan" || name == "Gt")
      return Number::of(order(x[0], x[1]) > 0);
    if (name == "StrictLessThan" || name == "Lt")
      return Number::of(order(x[0], x[1]) < 0);
    if (name == "BitwiseFn_bitwise_and")
      return Number::of(x[0].integer & x[1].integer);
    if (name == "BitwiseFn_bitwise_or")
      return Number::of(x[0].integer | x[1].integer);
    if (name == "BitwiseFn_bitwise_xor")
      return Number::of(x[0].integer ^ x[1].integer);
  }
  if (has(3)) {
    if (name == "Where" || name == "ITE")
      return x[0].truth() ? x[1] : x[2];
    if (name == "ModularIndexing") {
      Result<Number> quotient = floorDivide(x[0], x[1]);
      return quotient ? modulo(*quotient, x[2]) : quotient;
    }
  }
  return Error{"'" + std::string(name.substr(0, 40)) + "' of " + std::to_string(x.size()) +
               " arguments is no function on sizes that is known"};
}

class Parser {
public:
  using Values = std::map<std::string, int64_t, std::less<>>;
  Parser(std::string_view text, const Values &values, std::set<std::string> *unbound)
      : text(text), values(values), unbound(unbound) {}

  Result<Number> all() {
    Result<Number> value = expression(0);
    skip();
    if (value && at != text.size())
      return Error{"something follows the expression"};
    return value;
  }

private:
  void skip() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }
  bool eat(char c) {
    skip();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  std::string_view word() {
    skip();
    size_t start = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) ||
                                text[at] == '_' || text[at] == '.'))
      ++at;
    return text.substr(start, at - start);
  }
  std::optional<std::string> quoted() {
    skip();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      return std::nullopt;
    char quote = text[at++];
    size_t end = text.find(quote, at);
    if (end == text.npos)
      return std::nullopt;
    std::string value(text.substr(at, end - at));
    at = end + 1;
    return value;
  }
  /// Skips ", keyword=value" up to the closing parenthesis.
  bool close() {
    size_t end = text.find(')', at);
    if (end == text.npos)
      return false;
    at = end + 1;
    return true;
  }

  Result<Number> expression(int depth) {
    if (depth > kMaxDepth)
      return Error{"the expression nests too deeply"};
    skip();
    if (at < text.size() &&
        (text[at] == '-' || std::isdigit(static_cast<unsigned char>(text[at])))) {
      bool minus = eat('-');
      std::string digits(word());
      if (digits.empty() || digits.size() > 40)
        return Error{"a number is missing"};
      if (digits.find_first_of(".e") != digits.npos)
        return Number::of((minus ? -1 : 1) * std::strtod(digits.c_str(), nullptr));
      errno = 0;
      int64_t value = std::strtoll(((minus ? "-" : "") + digits).c_str(), nullptr, 10);
      return errno ? Result<Number>(overflow()) : Number::of(value);
    }
    std::string_view name = word();
    if (name.empty())
      return Error{"an expression is missing"};
    if (name == "true" || name == "True")
      return Number::of(true);
    if (name == "false" || name == "False")
      return Number::of(false);
    if (name == "oo" || name == "int_oo")
      return Number::of(INT64_MAX);
    if (!eat('('))
      return Error{"'" + std::string(name.substr(0, 40)) + "' is unknown"};
    if (name == "Symbol" || name == "Dummy") {
      std::optional<std::string> symbol = quoted();
      if (!symbol || !close())
        return Error{"a symbol has no name"};
      if (auto found = values.find(*symbol); found != values.end())
        return Number::of(found->second);
      if (!unbound)
        return Error{"the size '" + *symbol + "' is not known"};
      unbound->insert(*symbol);
      return Number::of(int64_t{1});
    }
    if (name == "Float") {
      std::optional<std::string> digits = quoted();
      if (!digits || !close())
        return Error{"a number is missing"};
      return Number::of(std::strtod(digits->c_str(), nullptr));
    }
    std::vector<Number> arguments;
    if (!eat(')')) {
      do {
        Result<Number> argument = expression(depth + 1);
        if (!argument)
          return argument;
        arguments.push_back(*argument);
      } while (eat(','));
      if (!eat(')'))
        return Error{"a parenthesis is missing"};
    }
    if (name == "Integer" && arguments.size() == 1)
      return arguments[0];
    return applyFunction(name, arguments);
  }

  std::string_view text;
  const Values &values;
  std::set<std::string> *unbound;
  size_t at = 0;
};

std::string shortened(std::string_view text) {
  return std::string(text.substr(0, 120)) + (text.size() > 120 ? "..." : "");
}

} // namespace

Result<Number> Symbols::evaluate(std::string_view expression) const {
  Result<Number> value = Parser(expression, values, nullptr).all();
  if (!value)
    return Error{value.message() + " (in " + shortened(expression) + ")"};
  return value;
}

std::optional<std::string> Symbols::symbolOf(std::string_view expression) {
  if (!expression.starts_with("Symbol('"))
    return std::nullopt;
  size_t end = expression.find('\'', 8), close = expression.find(')');
  if (end == expression.npos || close != expression.size() - 1)
    return std::nullopt;
  return std::string(expression.substr(8, end - 8));
}

Result<bool> Symbols::solve(const std::string &expression, int64_t size) {
  std::set<std::string> unbound;
  Result<Number> value = Parser(expression, values, &unbound).all();
  if (!value && unbound.empty())
    return Error{value.message() + " (in " + shortened(expression) + ")"};
  if (unbound.empty()) {
    if (value->isReal() || value->integer != size)
      return Error{"is " + std::to_string(size) + ", where the program needs " +
                   std::to_string(value->integer)};
    return true;
  }
  if (unbound.size() > 1)
    return false;
  const std::string &symbol = *unbound.begin();
  // Linear in the symbol: two values say where it meets `size`; a third checks.
  auto with = [&](int64_t trial) -> std::optional<int64_t> {
    auto bound = values;
    bound[symbol] = trial;
    Result<Number> result = Parser(expression, bound, nullptr).all();
    if (!result || result->isReal())
      return std::nullopt;
    return result->integer;
  };
  std::optional<int64_t> one = with(1), two = with(2);
  if (one && two && *one != *two) {
    int64_t slope = *two - *one, rest = size - *one;
    if (rest % slope == 0)
      if (int64_t candidate = 1 + rest / slope; with(candidate) == size) {
        values[symbol] = candidate;
        return true;
      }
  }
  // FloorDiv and its like: small sizes by trial.
  for (int64_t candidate = 1; candidate <= 65536; ++candidate)
    if (with(candidate) == size) {
      values[symbol] = candidate;
      return true;
    }
  return Error{"is " + std::to_string(size) + ", for which no size '" + symbol + "' fits"};
}

bool isNumberCall(std::string_view target) {
  return target.starts_with("_operator.") || target.starts_with("math.") ||
         target.starts_with("torch.sym_") || target.starts_with("torch._sym_") ||
         target.starts_with("builtins.");
}

Result<Number> callOnNumbers(std::string_view target, std::span<const Number> x) {
  static const std::map<std::string_view, std::string_view> names = {
      {"_operator.add", "Add"},
      {"_operator.mul", "Mul"},
      {"_operator.floordiv", "FloorDiv"},
      {"_operator.mod", "Mod"},
      {"_operator.pow", "Pow"},
      {"_operator.truediv", "FloatTrueDiv"},
      {"_operator.neg", "neg"},
      {"_operator.pos", "pos"},
      {"_operator.abs", "Abs"},
      {"_operator.eq", "Eq"},
      {"_operator.ne", "Ne"},
      {"_operator.lt", "Lt"},
      {"_operator.le", "Le"},
      {"_operator.gt", "Gt"},
      {"_operator.ge", "Ge"},
      {"_operator.lshift", "LShift"},
      {"_operator.rshift", "RShift"},
      {"_operator.xor", "BitwiseFn_bitwise_xor"},
      {"_operator.not_", "Not"},
      {"torch.sym_max", "Max"},
      {"torch.sym_min", "Min"},
      {"torch.sym_not", "Not"},
      {"torch.sym_ite", "Where"},
      {"torch.sym_float", "ToFloat"},
      {"torch.sym_int", "TruncToInt"},
      {"math.trunc", "TruncToInt"},
      {"math.floor", "floor"},
      {"math.ceil", "ceil"},
      {"math.pow", "FloatPow"},
      {"builtins.round", "round"},
      {"builtins.abs", "Abs"},
      {"builtins.max", "Max"},
      {"builtins.min", "Min"},
      {"builtins.float", "ToFloat"},
      {"builtins.int", "TruncToInt"},
  };
  if (target == "_operator.sub" && x.size() == 2)
    return difference(x[0], x[1]);
  if ((target == "_operator.and_" || target == "_operator.or_") && x.size() == 2) {
    bool both = target == "_operator.and_";
    if (x[0].kind == Number::Kind::Bool && x[1].kind == Number::Kind::Bool)
      return applyFunction(both ? "And" : "Or", x);
    return applyFunction(both ? "BitwiseFn_bitwise_and" : "BitwiseFn_bitwise_or", x);
  }
  if (target == "torch.sym_sum" || target == "builtins.sum")
    return applyFunction("Add", x);
  if (auto found = names.find(target); found != names.end())
    return applyFunction(found->second, x);
  std::string_view name = target;
  for (std::string_view prefix : {"math.", "torch.sym_", "torch._sym_"})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      return applyFunction(name, x);
    }
  return Error{"'" + std::string(target) + "' is no function on numbers that is known"};
}

} // namespace cupel::frontends::torch_import
