// The methods of strings, dictionaries, lists and sets.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::zoo {

Value Evaluator::callMethod(Value self, std::string_view name, Arguments &arguments, const Node *at,
                            ModuleState *in) {
  if (arguments.unknown)
    return Value::unknown(arguments.unknown);
  switch (self.kind) {
  case ValueKind::Str:
    return stringMethod(self.text(), name, arguments, at, in);
  case ValueKind::Dict:
    return dictMethod(*self.dict, name, arguments, at, in);
  case ValueKind::Sequence:
    return sequenceMethod(*self.sequence, name, arguments, at, in);
  default:
    return unknown(at, in, fmt::format("'{}' cannot be called here", name));
  }
}

Value Evaluator::dictMethod(Dict &self, std::string_view name, Arguments &arguments, const Node *at,
                            ModuleState *in) {
  auto &given = arguments.positional;
  if (name == "update") {
    Arguments copy = arguments;
    Value added = given.empty() && arguments.named.empty() ? Value::of(heap.make<Dict>())
                                                           : callBuiltin("dict", copy, at, in);
    if (added.kind != ValueKind::Dict)
      return added; // The caller taints the dictionary.
    if (added.dict->tainted)
      self.tainted = added.dict->tainted;
    for (auto &[key, value] : added.dict->entries)
      dictSet(self, key, value);
    return {};
  }
  if (self.tainted)
    return Value::unknown(self.tainted);
  if (name == "keys" || name == "values" || name == "items") {
    Value made = sequence(SequenceForm::List);
    for (auto &[key, value] : self.entries)
      made.sequence->items.push_back(name == "keys" ? key
                                     : name == "values"
                                         ? value
                                         : sequence(SequenceForm::Tuple, {key, value}));
    return made;
  }
  if (name == "copy")
    return Value::of(heap.make<Dict>(self));
  if (name == "clear") {
    self.entries.clear();
    self.index.clear();
    return {};
  }
  if ((name == "get" || name == "pop" || name == "setdefault") && !given.empty()) {
    bool decided = true;
    Value *found = dictGet(self, given[0], &decided);
    if (!decided)
      return given[0].isUnknown() ? given[0] : unknown(at, in, "this key is not known");
    Value result = found ? *found : given.size() > 1 ? given[1] : Value();
    if (!found && name == "pop" && given.size() < 2)
      return unknown(at, in, "the dictionary has no such key");
    if (name == "pop" && found)
      dictErase(self, given[0]);
    if (name == "setdefault" && !found)
      dictSet(self, given[0], result);
    return result;
  }
  return unknown(at, in, fmt::format("'{}' of a dictionary cannot be followed", name));
}

Value Evaluator::sequenceMethod(Sequence &self, std::string_view name, Arguments &arguments,
                                const Node *at, ModuleState *in) {
  auto &given = arguments.positional;
  const Why *why = nullptr;
  if ((name == "append" || name == "add") && given.size() == 1) {
    bool present = self.form == SequenceForm::Set &&
                   std::any_of(self.items.begin(), self.items.end(),
                               [&](Value item) { return equal(item, given[0]).value_or(false); });
    if (!present)
      self.items.push_back(given[0]);
    return {};
  }
  if ((name == "extend" || name == "update" || name == "union") && given.size() == 1) {
    auto all = iterate(given[0], at, in, &why);
    if (!all)
      return Value::unknown(why);
    steps += all->size();
    if (isExhausted())
      return unknown(at, in, "evaluating this takes too many steps");
    Sequence *target = name == "union" ? heap.make<Sequence>(self) : &self;
    for (Value value : *all)
      if (self.form != SequenceForm::Set ||
          std::none_of(target->items.begin(), target->items.end(),
                       [&](Value item) { return equal(item, value).value_or(false); }))
        target->items.push_back(value);
    return name == "union" ? Value::of(target) : Value();
  }
  if (self.tainted)
    return Value::unknown(self.tainted);
  if (name == "copy")
    return Value::of(heap.make<Sequence>(self));
  if (name == "index" && given.size() == 1)
    for (size_t i = 0; i < self.items.size(); ++i)
      if (equal(self.items[i], given[0]).value_or(false))
        return Value::of(static_cast<int64_t>(i));
  if (name == "remove" && given.size() == 1)
    for (size_t i = 0; i < self.items.size(); ++i)
      if (equal(self.items[i], given[0]).value_or(false)) {
        self.items.erase(self.items.begin() + static_cast<ptrdiff_t>(i));
        return {};
      }
  return unknown(at, in, fmt::format("'{}' of a list cannot be followed", name));
}

Value Evaluator::stringMethod(std::string_view self, std::string_view name, Arguments &arguments,
                              const Node *at, ModuleState *in) {
  std::vector<std::string_view> given;
  std::vector<int64_t> numbers;
  bool isAscii = std::none_of(self.begin(), self.end(), [](char c) { return c & 0x80; });
  if (name == "format") {
    std::string out;
    size_t next = 0;
    for (size_t i = 0; i < self.size(); ++i) {
      char c = self[i];
      if ((c == '{' || c == '}') && i + 1 < self.size() && self[i + 1] == c) {
        out += c;
        ++i;
        continue;
      }
      if (c != '{') {
        out += c;
        continue;
      }
      size_t end = self.find('}', i);
      if (end == std::string_view::npos)
        return unknown(at, in, "this formatting cannot be followed");
      std::string_view key = self.substr(i + 1, end - i - 1);
      i = end;
      std::optional<Value> value;
      if (key.empty() && next < arguments.positional.size())
        value = arguments.positional[next++];
      else if (key.size() == 1 && isdigit(static_cast<unsigned char>(key[0])) &&
               static_cast<size_t>(key[0] - '0') < arguments.positional.size())
        value = arguments.positional[static_cast<size_t>(key[0] - '0')];
      for (auto &[known, one] : arguments.named)
        if (known == key)
          value = one;
      if (value && value->isUnknown())
        return *value;
      std::optional<std::string> text = value ? stringOf(*value) : std::nullopt;
      if (!text)
        return unknown(at, in, "this formatting cannot be followed");
      out += *text;
    }
    return string(std::move(out));
  }
  if (name == "join" && arguments.positional.size() == 1) {
    const Why *why = nullptr;
    auto parts = iterate(arguments.positional[0], at, in, &why);
    if (!parts)
      return Value::unknown(why);
    std::string out;
    for (size_t i = 0; i < parts->size(); ++i) {
      Value part = (*parts)[i];
      if (part.kind == ValueKind::Member && part.member->type->isStringEnum)
        part = part.member->value;
      if (part.kind != ValueKind::Str)
        return part.isUnknown() ? part : unknown(at, in, "this is not a string");
      if (i)
        out += self;
      out += part.text();
    }
    return string(std::move(out));
  }
  for (auto &[key, value] : arguments.named)
    if (key == "maxsplit" || key == "sep")
      arguments.positional.push_back(value);
  for (Value value : arguments.positional) {
    if (value.isUnknown())
      return value;
    if (value.kind == ValueKind::Str)
      given.push_back(value.text());
    else if (value.kind == ValueKind::Int)
      numbers.push_back(value.integer);
    else if (value.kind == ValueKind::Sequence && (name == "startswith" || name == "endswith")) {
      for (Value one : value.sequence->items)
        if (one.kind == ValueKind::Str)
          given.push_back(one.text());
        else
          return unknown(at, in, "this is not a string");
    } else
      return unknown(at, in, fmt::format("'{}' of a string cannot be followed here", name));
  }
  if ((name == "lower" || name == "upper" || name == "casefold") && isAscii) {
    std::string out(self);
    for (char &c : out)
      c = static_cast<char>(name == "upper" ? toupper(c) : tolower(c));
    return string(std::move(out));
  }
  if ((name == "title" || name == "capitalize") && isAscii) {
    std::string out(self);
    bool start = true;
    for (char &c : out) {
      c = static_cast<char>(start ? toupper(c) : tolower(c));
      start = name == "title" && !isalpha(static_cast<unsigned char>(c));
    }
    return string(std::move(out));
  }
  if (name == "startswith" || name == "endswith") {
    for (std::string_view one : given)
      if (name == "startswith" ? self.starts_with(one) : self.ends_with(one))
        return Value::boolean(true);
    return Value::boolean(false);
  }
  if (name == "replace" && given.size() == 2 && !given[0].empty() && numbers.empty()) {
    std::string out;
    for (size_t i = 0; i < self.size();) {
      if (self.substr(i).starts_with(given[0])) {
        out += given[1];
        i += given[0].size();
      } else {
        out += self[i++];
      }
    }
    return string(std::move(out));
  }
  if (name == "removeprefix" && given.size() == 1)
    return string(std::string(self.starts_with(given[0]) ? self.substr(given[0].size()) : self));
  if (name == "removesuffix" && given.size() == 1)
    return string(std::string(
        self.ends_with(given[0]) ? self.substr(0, self.size() - given[0].size()) : self));
  if ((name == "strip" || name == "lstrip" || name == "rstrip") && given.size() <= 1) {
    std::string_view letters = given.empty() ? std::string_view(" \t\r\n\f\v") : given[0];
    size_t begin = name == "rstrip" ? 0 : self.find_first_not_of(letters);
    if (begin == std::string_view::npos)
      return string("");
    size_t end = name == "lstrip" ? self.size() : self.find_last_not_of(letters) + 1;
    return string(std::string(self.substr(begin, end - begin)));
  }
  if ((name == "split" || name == "rsplit") && given.size() == 1 && !given[0].empty()) {
    int64_t limit = numbers.empty() || numbers[0] < 0 ? INT64_MAX : numbers[0];
    std::vector<std::string_view> parts;
    std::string_view rest = self;
    if (name == "split") {
      for (size_t at2; limit-- > 0 && (at2 = rest.find(given[0])) != std::string_view::npos;
           rest.remove_prefix(at2 + given[0].size()))
        parts.push_back(rest.substr(0, at2));
      parts.push_back(rest);
    } else {
      for (size_t at2; limit-- > 0 && (at2 = rest.rfind(given[0])) != std::string_view::npos;
           rest = rest.substr(0, at2))
        parts.push_back(rest.substr(at2 + given[0].size()));
      parts.push_back(rest);
      std::reverse(parts.begin(), parts.end());
    }
    Value made = sequence(SequenceForm::List);
    for (std::string_view part : parts)
      made.sequence->items.push_back(string(std::string(part)));
    return made;
  }
  if (name == "isdigit" && isAscii)
    return Value::boolean(!self.empty() && std::all_of(self.begin(), self.end(), ::isdigit));
  return unknown(at, in, fmt::format("'{}' of a string cannot be followed here", name));
}

} // namespace cupel::testbench::zoo
