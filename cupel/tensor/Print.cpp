#include "cupel/tensor/Print.h"

#include "cupel/tensor/Float.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cupel::tensor {
namespace {

template <DType type> constexpr int significandBits() {
  if constexpr (type == DType::F64)
    return 53;
  else if constexpr (type == DType::F32)
    return 24;
  else
    return FormatOf<type>::value.mantissaBits + 1;
}

template <typename Bits> void appendHex(std::string &out, Bits bits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llX", static_cast<unsigned long long>(bits));
  out += text;
}

/// The decimal digits of a number, first digit times ten to the exponent, no zeros at the end.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

/// The leading digits of |value| as LLVM's APFloat finds them: the exact digits are first cut off
/// (not rounded) a little above the bits that `precision` digits need, then rounded half up.
template <DType type> Decimal leadingDigits(double value, int precision) {
  if (value == 0)
    return {"0", 0};
  char text[800]; // the longest double has 767 digits
  std::snprintf(text, sizeof text, "%.*e", type == DType::F64 ? 770 : 120, std::fabs(value));
  char *mark = std::strchr(text, 'e');
  Decimal out{std::string(1, text[0]), std::atoi(mark + 1)};
  out.digits.append(text + 2, mark - (text + 2));
  out.digits.erase(out.digits.find_last_not_of('0') + 1);

  // The digits are those of an integer: the value itself, or times the power of ten that makes it
  // one. Its length in bits decides how much is cut off.
  int exponent;
  double fraction = std::frexp(std::fabs(value), &exponent);
  auto odd = static_cast<uint64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  exponent += std::countr_zero(odd);
  odd >>= std::countr_zero(odd);
  int bits = static_cast<int>(std::bit_width(odd));
  if (exponent >= 0) {
    out.digits.resize(out.exponent + 1, '0');
    bits += exponent;
  } else {
    bits = static_cast<int>(
               std::floor(std::log2(static_cast<long double>(odd)) - exponent * std::log2(5.0L))) +
           1;
  }
  int cut = std::max(0, bits - (precision * 196 + 58) / 59) * 59 / 196;
  out.digits.resize(out.digits.size() - cut);
  if (static_cast<int>(out.digits.size()) > precision) {
    bool up = out.digits[precision] >= '5';
    out.digits.resize(precision);
    while (up && !out.digits.empty() && out.digits.back() == '9')
      out.digits.pop_back();
    if (up && out.digits.empty()) {
      out.digits = "1";
      ++out.exponent;
    } else if (up) {
      ++out.digits.back();
    }
  }
  out.digits.erase(std::max<size_t>(1, out.digits.find_last_not_of('0') + 1));
  return out;
}

/// The shorter of MLIR's two decimal forms that gives the value back: six digits (and zeros), or as
/// many as the type needs, plain where the exponent is small. Nothing if the second form has no
/// point: MLIR would read an integer.
template <DType type> bool appendDecimal(std::string &out, double value, Storage<type> stored) {
  constexpr int few = 6, all = 2 + significandBits<type>() * 59 / 196;
  char text[40];
  if (std::fabs(value) < 1e6 && value == std::trunc(value)) { // six digits and no question
    std::snprintf(text, sizeof text, "%.*e", few - 1, value);
  } else {
    Decimal d = leadingDigits<type>(value, few);
    std::snprintf(text, sizeof text, "%s%c.%se%+03d", std::signbit(value) ? "-" : "", d.digits[0],
                  (d.digits.substr(1) + std::string(few - d.digits.size(), '0')).c_str(),
                  d.exponent);
  }
  Storage<type> again = fromDouble<type>(std::strtod(text, nullptr));
  if (std::memcmp(&again, &stored, sizeof stored) == 0) {
    const char *mark = std::strchr(text, 'e');
    out.append(text, mark - text) += '0';
    out += mark;
    return true;
  }
  auto [digits, exponent] = leadingDigits<type>(value, all);
  int count = static_cast<int>(digits.size());
  int last = exponent - (count - 1); // the power of ten of the last digit
  bool scientific = last >= 0 ? last > 3 || count + last > all : exponent < -3;
  if (!scientific && last >= 0)
    return false;
  if (std::signbit(value))
    out += '-';
  if (scientific) {
    out += digits[0];
    out += '.';
    out += count == 1 ? "0" : digits.substr(1);
    out += exponent < 0 ? "E-" : "E+";
    out += std::to_string(std::abs(exponent));
  } else if (exponent >= 0) {
    out += digits.substr(0, exponent + 1) + "." + digits.substr(exponent + 1);
  } else {
    out += "0." + std::string(-exponent - 1, '0') + digits;
  }
  return true;
}

template <DType type> void appendFloat(std::string &out, Storage<type> stored) {
  double value = toDouble<type>(stored);
  if (std::isfinite(value) && appendDecimal<type>(out, value, stored))
    return;
  if constexpr (type == DType::F32)
    appendHex(out, std::bit_cast<uint32_t>(stored));
  else if constexpr (type == DType::F64)
    appendHex(out, std::bit_cast<uint64_t>(stored));
  else
    appendHex(out, stored);
}

enum class Style { Braces, Dense, Short };

template <DType type> void appendElement(std::string &out, Storage<type> stored, Style style) {
  constexpr Kind kind = info(type).kind;
  if constexpr (kind == Kind::Boolean) {
    out += stored ? "true" : "false";
  } else if constexpr (kind == Kind::Complex) {
    constexpr DType part = type == DType::C64 ? DType::F32 : DType::F64;
    out += style == Style::Braces ? '[' : '(';
    appendElement<part>(out, stored.real(), style);
    out += style == Style::Dense ? "," : ", ";
    appendElement<part>(out, stored.imag(), style);
    out += style == Style::Braces ? ']' : ')';
  } else if constexpr (kind == Kind::Float) {
    if (style != Style::Short)
      return appendFloat<type>(out, stored);
    char text[40];
    std::to_chars_result end{};
    if constexpr (type == DType::F64)
      end = std::to_chars(text, text + sizeof text, stored);
    else
      end = std::to_chars(text, text + sizeof text, toFloat<type>(stored));
    out.append(text, end.ptr);
  } else {
    char text[24];
    auto end = std::to_chars(text, text + sizeof text, +stored);
    out.append(text, end.ptr);
  }
}

/// Calls f(element address) in row-major order with the brackets' callbacks in between.
template <typename Element>
void appendNested(std::string &out, const Tensor &t, int64_t dim, const std::byte *at,
                  const std::string *indent, Element element) {
  if (dim == t.rank())
    return element(at);
  int64_t size = t.dim(dim), step = t.strides()[dim];
  bool isRow = dim + 1 == t.rank();
  std::string inner = indent ? *indent + "  " : "";
  if (indent)
    out += *indent;
  out += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0)
      out += isRow || !indent ? ", " : ",";
    if (indent && !isRow)
      out += '\n';
    appendNested(out, t, dim + 1, at + i * step, indent && !isRow ? &inner : nullptr, element);
  }
  if (indent && !isRow && size > 0)
    out += "\n" + *indent;
  out += ']';
}

bool isSplat(const Tensor &flat) {
  size_t bytes = info(flat.dtype()).bytes;
  for (int64_t i = 1; i < flat.size(); ++i)
    if (std::memcmp(flat.data(), flat.data() + i * bytes, bytes) != 0)
      return false;
  return flat.size() > 0;
}

} // namespace

std::string elementText(DType type, const void *element) {
  std::string out;
  dispatch(type, [&]<DType t>() {
    appendElement<t>(out, *static_cast<const Storage<t> *>(element), Style::Braces);
  });
  return out;
}

std::string shortElementText(DType type, const void *element) {
  std::string out;
  dispatch(type, [&]<DType t>() {
    appendElement<t>(out, *static_cast<const Storage<t> *>(element), Style::Short);
  });
  return out;
}

std::string tensorText(const Tensor &tensor) {
  std::string out = describe(tensor.elementType(), tensor.shape()) + " {";
  dispatch(tensor.dtype(), [&]<DType t>() {
    auto element = [&](const std::byte *at) {
      appendElement<t>(out, *reinterpret_cast<const Storage<t> *>(at), Style::Braces);
    };
    if (tensor.rank() == 0)
      return element(tensor.data());
    out += '\n';
    std::string indent = "  ";
    appendNested(out, tensor, 0, tensor.data(), &indent, element);
    out += '\n';
  });
  return out + "}";
}

std::string denseText(const Tensor &tensor) {
  std::string type = describe(tensor.elementType(), tensor.shape());
  Result<Tensor> flat = tensor.contiguous();
  if (!flat)
    return "dense<...> : " + type;
  std::string out = "dense<";
  if (flat->size() > 0)
    dispatch(tensor.dtype(), [&]<DType t>() {
      auto element = [&](const std::byte *at) {
        appendElement<t>(out, *reinterpret_cast<const Storage<t> *>(at), Style::Dense);
      };
      if (isSplat(*flat))
        element(flat->data());
      else
        appendNested(out, *flat, 0, flat->data(), nullptr, element);
    });
  return out + "> : " + type;
}

} // namespace cupel::tensor
