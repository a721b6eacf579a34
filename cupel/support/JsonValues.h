// Values out of JSON that somebody else wrote, for readers of files and requests. Asks the library
// for nothing that throws: code beside MLIR is compiled without exceptions, where it would end the
// process (docs/decisions/0110). Never converts: a number that a type does not hold is refused, as
// is a truth value or a fraction where a whole number belongs.
#pragma once

#include <nlohmann/json.hpp>

#include <concepts>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cupel::json_values {

template <typename T> inline constexpr bool kIsList = false;
template <typename T> inline constexpr bool kIsList<std::vector<T>> = true;
template <typename T> inline constexpr bool kIsMapping = false;
template <typename T> inline constexpr bool kIsMapping<std::map<std::string, T>> = true;

/// The value as a `T`: truth value, number, text, or a list or mapping of these. False where it is
/// of another kind or does not fit; `out` is then not to be read.
template <typename T, typename Json> bool take(const Json &json, T &out) {
  if constexpr (std::same_as<T, bool>) {
    const auto *value = json.template get_ptr<const typename Json::boolean_t *>();
    return value && (out = *value, true);
  } else if constexpr (std::integral<T>) {
    // Unsigned numbers are integers to the library, too: those are asked for first.
    if (const auto *value = json.template get_ptr<const typename Json::number_unsigned_t *>())
      return std::in_range<T>(*value) && (out = T(*value), true);
    const auto *value = json.template get_ptr<const typename Json::number_integer_t *>();
    return value && std::in_range<T>(*value) && (out = T(*value), true);
  } else if constexpr (std::floating_point<T>) {
    if (const auto *value = json.template get_ptr<const typename Json::number_unsigned_t *>())
      return out = T(*value), true;
    if (const auto *value = json.template get_ptr<const typename Json::number_integer_t *>())
      return out = T(*value), true;
    const auto *value = json.template get_ptr<const typename Json::number_float_t *>();
    return value && (out = T(*value), true);
  } else if constexpr (std::same_as<T, std::string>) {
    const auto *value = json.template get_ptr<const typename Json::string_t *>();
    return value && (out = *value, true);
  } else if constexpr (kIsMapping<T>) {
    if (!json.is_object())
      return false;
    out.clear();
    for (auto element = json.begin(); element != json.end(); ++element)
      if (!take(*element, out[element.key()]))
        return false;
    return true;
  } else {
    static_assert(kIsList<T>, "take() reads truth values, numbers, texts, lists and mappings");
    if (!json.is_array())
      return false;
    out.clear();
    out.reserve(json.size());
    for (const Json &element : json)
      if (!take(element, out.emplace_back()))
        return false;
    return true;
  }
}

/// A member of an object; null where it is none, or has no such member.
template <typename Json> const Json *member(const Json &object, const char *key) {
  if (!object.is_object())
    return nullptr;
  auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// The same, where it is a list.
template <typename Json> const Json *list(const Json &object, const char *key) {
  const Json *found = member(object, key);
  return found && found->is_array() ? found : nullptr;
}

/// The value of a member that must be there.
template <typename T, typename Json> bool take(const Json &object, const char *key, T &out) {
  const Json *found = member(object, key);
  return found && take(*found, out);
}

} // namespace cupel::json_values
