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

/// The shorter of MLIR's two decimal forms that gives the value back: six digits (and a zero), or
/// as many as the type needs, plain where the exponent is small. Nothing if the second form has no
/// point: MLIR would read an integer.
template <DType type> bool appendDecimal(std::string &out, double value, Storage<type> stored) {
  auto readsBack = [&](const char *text) {
    Storage<type> again = fromDouble<type>(std::strtod(text, nullptr));
    return std::memcmp(&again, &stored, sizeof stored) == 0;
  };
  char text[40];
  std::snprintf(text, sizeof text, "%.5e", value);
  if (readsBack(text)) {
    const char *mark = std::strchr(text, 'e');
    out.append(text, mark - text) += '0';
    out += mark;
    return true;
  }
  constexpr int precision = 2 + significandBits<type>() * 59 / 196;
  std::snprintf(text, sizeof text, "%.*e", precision - 1, std::fabs(value));
  char *mark = std::strchr(text, 'e');
  int exponent = std::atoi(mark + 1);
  std::string digits(1, text[0]);
  digits.append(text + 2, mark);
  digits.erase(digits.find_last_not_of('0') + 1);
  int count = static_cast<int>(digits.size());
  int last = exponent - (count - 1); // the power of ten of the last digit
  bool scientific = last >= 0 ? last > 3 || count + last > precision : exponent < -3;
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
