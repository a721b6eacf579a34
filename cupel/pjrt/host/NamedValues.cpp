#include "cupel/pjrt/host/NamedValues.h"

#include <charconv>
#include <fmt/format.h>

using namespace cupel;
using namespace cupel::pjrt;

// No plugin has this many; a larger count is a garbled answer.
static constexpr size_t kMostValues = 1 << 16;
static constexpr size_t kLongestValue = 1 << 24;

std::string NamedValue::str() const {
  struct Printer {
    std::string operator()(const std::string &text) const { return fmt::format("\"{}\"", text); }
    std::string operator()(int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(const std::vector<int64_t> &list) const {
      return fmt::format("[{}]", fmt::join(list, ","));
    }
    std::string operator()(float number) const { return fmt::format("{}", number); }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  };
  return std::visit(Printer(), value);
}

template <typename T> static bool parseWhole(std::string_view text, T &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

static bool parseList(std::string_view text, std::vector<int64_t> &list) {
  if (text.starts_with('[') && text.ends_with(']'))
    text = text.substr(1, text.size() - 2);
  else if (text.find(',') == std::string_view::npos)
    return false;
  while (!text.empty()) {
    size_t comma = text.find(',');
    int64_t number;
    if (!parseWhole(text.substr(0, comma), number))
      return false;
    list.push_back(number);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return true;
}

Result<NamedValue> cupel::pjrt::parseNamedValue(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error{fmt::format("'{}' is not an option of the form NAME=VALUE", text)};
  NamedValue result{std::string(text.substr(0, equals)), std::string()};
  std::string_view value = text.substr(equals + 1);
  int64_t number;
  float real;
  std::vector<int64_t> list;
  if (value == "true" || value == "false")
    result.value = value == "true";
  else if (parseWhole(value, number))
    result.value = number;
  else if (parseList(value, list))
    result.value = std::move(list);
  else if (parseWhole(value, real))
    result.value = real;
  else if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
    result.value = std::string(value.substr(1, value.size() - 2));
  else
    result.value = std::string(value);
  return result;
}

std::vector<PJRT_NamedValue> cupel::pjrt::toPjrt(const std::vector<NamedValue> &values) {
  std::vector<PJRT_NamedValue> result;
  for (const NamedValue &value : values) {
    auto &out = result.emplace_back(makeStruct<PJRT_NamedValue>());
    out.name = value.name.c_str();
    out.name_size = value.name.size();
    out.value_size = 1;
    if (auto *text = std::get_if<std::string>(&value.value)) {
      out.type = PJRT_NamedValue_kString;
      out.string_value = text->c_str();
      out.value_size = text->size();
    } else if (auto *number = std::get_if<int64_t>(&value.value)) {
      out.type = PJRT_NamedValue_kInt64;
      out.int64_value = *number;
    } else if (auto *list = std::get_if<std::vector<int64_t>>(&value.value)) {
      out.type = PJRT_NamedValue_kInt64List;
      out.int64_array_value = list->data();
      out.value_size = list->size();
    } else if (auto *real = std::get_if<float>(&value.value)) {
      out.type = PJRT_NamedValue_kFloat;
      out.float_value = *real;
    } else {
      out.type = PJRT_NamedValue_kBool;
      out.bool_value = std::get<bool>(value.value);
    }
  }
  return result;
}

static constexpr int kLikeliestType = 31;

Result<std::vector<NamedValue>> cupel::pjrt::fromPjrt(const PJRT_NamedValue *values, size_t count,
                                                      std::string_view call) {
  auto bad = [&](std::string message) {
    return callError(ErrorCode::BadAnswer, call, message);
  };
  std::vector<NamedValue> result;
  if (count == 0)
    return result;
  if (!values || count > kMostValues)
    return bad(fmt::format("answered {} named values in {} list", count, values ? "a" : "a null"));
  // The stride is that of whoever made the array: a newer plugin's elements may be longer.
  size_t stride = values->struct_size;
  if (stride < PJRT_NamedValue_STRUCT_SIZE || stride > 4096 || stride % alignof(PJRT_NamedValue))
    stride = sizeof(PJRT_NamedValue);
  for (size_t i = 0; i < count; ++i) {
    const auto &value = *reinterpret_cast<const PJRT_NamedValue *>(
        reinterpret_cast<const char *>(values) + i * stride);
    if (!value.name || value.name_size > kLongestValue)
      return bad(fmt::format("named value {} has no usable name", i));
    NamedValue out{std::string(value.name, value.name_size), std::string()};
    int type = 0; // Read as a number: an enumeration must not hold values it does not have.
    std::memcpy(&type, &value.type, sizeof(type));
    bool isArray = type == PJRT_NamedValue_kString || type == PJRT_NamedValue_kInt64List;
    if (isArray && value.value_size > 0 &&
        (!value.string_value || value.value_size > kLongestValue))
      return bad(fmt::format("attribute '{}' has {} elements at {}", out.name, value.value_size,
                             static_cast<const void *>(value.string_value)));
    switch (type) {
    case PJRT_NamedValue_kString:
      out.value = value.value_size ? std::string(value.string_value, value.value_size) : "";
      break;
    case PJRT_NamedValue_kInt64:
      out.value = value.int64_value;
      break;
    case PJRT_NamedValue_kInt64List:
      out.value =
          std::vector<int64_t>(value.int64_array_value, value.int64_array_value + value.value_size);
      break;
    case PJRT_NamedValue_kFloat:
      out.value = value.float_value;
      break;
    case PJRT_NamedValue_kBool: {
      char flag = 0; // A garbled bool is still some byte.
      std::memcpy(&flag, &value.bool_value, 1);
      out.value = flag != 0;
      break;
    }
    default:
      // Newer interfaces may have more types; a plugin is not refused for one. Others are garbage.
      if (type < 0 || type > kLikeliestType)
        return bad(fmt::format("attribute '{}' is of the unknown type {}", out.name, type));
      out.value = fmt::format("(of type {}, which this version of Cupel does not know)", type);
    }
    result.push_back(std::move(out));
  }
  return result;
}
