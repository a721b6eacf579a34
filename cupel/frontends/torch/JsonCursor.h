// A place in a JSON document that knows its own path. Asking for what is not there or is of another
// kind leaves a complaint in the document (the first is kept) and yields a harmless value, so that
// readers are written straight on and look once at the end. Private to the readers of archives.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/MappedFile.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace cupel::frontends::torch_import {

/// Passes over everything and keeps what is said of the first mistake.
class FirstMistake : public nlohmann::json_sax<nlohmann::json> {
public:
  std::string message;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t &) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) override {
    message = error.what();
    return false;
  }
};

class JsonDocument {
public:
  using Json = nlohmann::json;
  /// Asks the library for no exception: beside code that is compiled without them it may have the
  /// linker take its other form, which ends the process instead.
  static Result<JsonDocument> parse(std::string_view text, const std::string &where) {
    JsonDocument document;
    document.where = where;
    document.root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (document.root.is_discarded()) {
      FirstMistake mistake;
      Json::sax_parse(text, &mistake);
      return Error{where + ": not valid JSON: " + oneLine(mistake.message)};
    }
    return document;
  }
  static std::string oneLine(std::string text) {
    for (char &c : text)
      if (static_cast<unsigned char>(c) < 32)
        c = ' ';
    return text.substr(0, 300);
  }

  Json root;
  std::string where, complaint;
};

class JsonCursor {
public:
  using Json = nlohmann::json;
  explicit JsonCursor(JsonDocument &document) : document(document), value(&document.root) {}

  /// Neither missing nor null.
  bool present() const { return value && !value->is_null(); }
  bool isString() const { return value && value->is_string(); }
  bool isInteger() const { return value && value->is_number_integer(); }
  bool isArray() const { return value && value->is_array(); }
  bool isObject() const { return value && value->is_object(); }
  bool failed() const { return !document.complaint.empty(); }

  /// The parent must outlive the result, which knows its place through it: no chains.
  JsonCursor operator[](const char *) const && = delete;
  JsonCursor operator[](const char *key) const & {
    const Json *found = nullptr;
    if (value && value->is_object()) {
      if (auto at = value->find(key); at != value->end())
        found = &*at;
    } else if (value && !value->is_null()) {
      complain("should be an object");
    }
    return JsonCursor(document, found, this, key);
  }

  std::string text() const {
    if (value && value->is_string())
      return value->get<std::string>();
    complain("should be a string");
    return {};
  }
  int64_t integer() const {
    if (value && value->is_number_integer()) {
      if (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t(INT64_MAX))
        complain("is too large a number");
      else
        return value->get<int64_t>();
    } else {
      complain("should be an integer");
    }
    return 0;
  }
  bool flag() const {
    if (value && value->is_boolean())
      return value->get<bool>();
    complain("should be true or false");
    return false;
  }
  /// A number, or the words PyTorch writes for those that JSON does not have.
  double number() const {
    if (value && value->is_number())
      return value->get<double>();
    if (value && value->is_string()) {
      const std::string &word = value->get_ref<const std::string &>();
      if (word == "Infinity")
        return std::numeric_limits<double>::infinity();
      if (word == "-Infinity")
        return -std::numeric_limits<double>::infinity();
      if (word == "NaN")
        return std::numeric_limits<double>::quiet_NaN();
    }
    complain("should be a number");
    return 0;
  }
  /// Each element of a list; stops at the first complaint.
  void each(const std::function<void(const JsonCursor &)> &visit) const {
    if (!value || !value->is_array())
      return complain("should be a list");
    for (size_t i = 0; i < value->size() && !failed(); ++i)
      visit(JsonCursor(document, &(*value)[i], this, {}, i));
  }
  void eachMember(const std::function<void(const std::string &, const JsonCursor &)> &visit) const {
    if (!value || !value->is_object())
      return complain("should be an object");
    for (auto at = value->begin(); at != value->end() && !failed(); ++at)
      visit(at.key(), JsonCursor(document, &*at, this, at.key()));
  }
  /// A union: the one key of the object and what it holds.
  void only(const std::function<void(const std::string &, const JsonCursor &)> &visit) const {
    if (!value || !value->is_object() || value->size() != 1)
      return complain("should be an object with one key");
    eachMember(visit);
  }

  void complain(const std::string &what) const {
    if (document.complaint.empty())
      document.complaint = document.where + ": " + path() + " " + what;
  }

private:
  JsonCursor(JsonDocument &document, const Json *value, const JsonCursor *up, std::string key,
             size_t index = SIZE_MAX)
      : document(document), value(value), up(up), key(std::move(key)), index(index) {}
  std::string path() const {
    if (!up)
      return "the document";
    std::string before = up->up ? up->path() : "";
    if (index != SIZE_MAX)
      return before + "[" + std::to_string(index) + "]";
    return before + (before.empty() ? "" : ".") + tensor::printable(key);
  }

  JsonDocument &document;
  const Json *value;
  const JsonCursor *up = nullptr;
  std::string key;
  size_t index = SIZE_MAX;
};

} // namespace cupel::frontends::torch_import
