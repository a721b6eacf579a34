#include "cupel/runtime/Options.h"

#include "cupel/support/Files.h"
#include "cupel/support/Text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace cupel::runtime {

using Type = OptionInfo::Type;

std::string_view OptionInfo::typeName() const {
  return type == Type::String ? "text" : type == Type::Integer ? "integer" : "boolean";
}

std::vector<std::string_view> optionWords(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    size_t end = std::min(list.find(' '), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

namespace {

bool isCalled(const OptionInfo &option, std::string_view name) {
  std::vector<std::string_view> aliases = optionWords(option.aliases);
  return option.name == name || std::ranges::find(aliases, name) != aliases.end();
}

const OptionInfo *find(std::string_view name) {
  for (const OptionInfo &option : optionTable())
    if (isCalled(option, name))
      return &option;
  return nullptr;
}

std::string_view wordFor(OptionScope scope) {
  switch (scope) {
  case OptionScope::Client: return "client";
  case OptionScope::Program: return "compile";
  case OptionScope::Codegen: return "code generation";
  }
  return "";
}

/// JAX looks for the first words.
Error noSuchOption(std::string_view name, OptionScope scope) {
  std::string message = "No such " + std::string(wordFor(scope)) + " option: '" + std::string(name) + "'";
  if (find(name))
    return Error{ErrorCode::InvalidArgument, message + "; it is one for others (docs/reference/plugin-options.md)"};
  std::vector<std::string_view> names;
  for (const OptionInfo &option : optionTable())
    if (option.isFor(scope)) {
      names.push_back(option.name);
      for (std::string_view alias : optionWords(option.aliases))
        names.push_back(alias);
    }
  auto nearest = std::ranges::min_element(names, {}, [&](std::string_view one) { return editDistance(one, name); });
  message += "; the nearest is '" + std::string(*nearest) + "'";
  if (editDistance(*nearest, name) * 2 > nearest->size()) { // Too far away to have been meant.
    message += " of";
    for (std::string_view one : names)
      message += (one == names.front() ? " " : ", ") + std::string(one);
  }
  return Error{ErrorCode::InvalidArgument, message};
}

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<bool> parseBoolean(const OptionValue &value) {
  if (const auto *number = std::get_if<int64_t>(&value); number && (*number == 0 || *number == 1))
    return *number == 1;
  if (const auto *truth = std::get_if<bool>(&value))
    return *truth;
  const auto *text = std::get_if<std::string>(&value);
  std::string word = text ? lowered(*text) : "";
  if (word == "true" || word == "1" || word == "yes" || word == "on")
    return true;
  if (word == "false" || word == "0" || word == "no" || word == "off")
    return false;
  return std::nullopt;
}

Error refused(const OptionInfo &option, std::string_view what) {
  return Error{ErrorCode::InvalidArgument, "the option '" + std::string(option.name) + "' " + std::string(what)};
}

/// The word of ours that was meant.
Result<OptionValue> chooseWord(const OptionInfo &option, const std::string &given) {
  std::string word = lowered(given);
  std::string all;
  std::vector<std::string_view> ours = optionWords(option.choices), known;
  for (std::string_view choice : ours) {
    std::string_view first = choice.substr(0, choice.find('|'));
    for (std::string_view rest = choice; !rest.empty();) {
      std::string_view one = rest.substr(0, rest.find('|'));
      if (one == word)
        return OptionValue(std::string(first));
      known.push_back(one);
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    }
    all += (all.empty() ? "" : choice == ours.back() ? " or " : ", ") + std::string(first);
  }
  std::string_view nearest = nearestWord(word, known);
  return refused(option, "is '" + given + "'; it takes " + all +
                             (nearest.empty() ? "" : "; the nearest is '" + std::string(nearest) + "'"));
}

/// As the option's type has it.
Result<OptionValue> converted(const OptionInfo &option, OptionValue value) {
  const auto *text = std::get_if<std::string>(&value);
  std::string behind = text ? ", not '" + *text + "'" : "";
  switch (option.type) {
  case Type::String:
    if (!text)
      return refused(option, "takes text");
    if (option.mayBeFile && text->ends_with(".json")) {
      Result<FileContents> file = readInput(*text);
      if (!file)
        return refused(option, "cannot be read: " + file.message());
      return OptionValue(std::string(file->bytes()));
    }
    if (option.choices.empty())
      return value;
    return chooseWord(option, *text);
  case Type::Integer: {
    if (text)
      if (std::optional<int64_t> number = parseInteger(*text))
        value = *number;
    const auto *number = std::get_if<int64_t>(&value);
    if (!number)
      return refused(option, "takes a whole number" + behind);
    if (*number < option.least || *number > option.most)
      return refused(option, "is " + std::to_string(*number) + "; the " +
                                 (*number < option.least ? "least is " + std::to_string(option.least)
                                                         : "most is " + std::to_string(option.most)));
    return value;
  }
  case Type::Boolean:
    if (std::optional<bool> truth = parseBoolean(value))
      return OptionValue(*truth);
    return refused(option, "takes true or false" + behind);
  }
  return value;
}

std::string wholePathsIn(const OptionInfo &option, std::string_view value) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto whole = [&](std::string_view path) {
    fs::path full = path.empty() ? fs::path() : fs::absolute(path, error).lexically_normal();
    return error || full.empty() ? std::string(path) : full.string();
  };
  switch (option.paths) {
  case OptionInfo::Paths::None: return std::string(value);
  case OptionInfo::Paths::One: return whole(value);
  case OptionInfo::Paths::IfThere: return fs::is_regular_file(value, error) ? whole(value) : std::string(value);
  case OptionInfo::Paths::List: break;
  }
  std::string all;
  for (size_t at = 0; at <= value.size();) {
    size_t end = std::min(value.find(',', at), value.size());
    all += (at ? "," : "") + whole(value.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

} // namespace

std::string withWholePaths(std::string_view option) {
  size_t at = std::min(option.find('='), option.size());
  std::string name(option.substr(0, at));
  std::ranges::replace(name, '-', '_');
  const OptionInfo *known = find(name);
  if (!known || at == option.size())
    return std::string(option);
  return std::string(option.substr(0, at + 1)) + wholePathsIn(*known, option.substr(at + 1));
}

void makePathsOfEnvironmentWhole() {
  for (const OptionInfo &option : optionTable())
    if (option.paths != OptionInfo::Paths::None)
      for (std::string_view variable : optionWords(option.environment))
        if (const char *text = std::getenv(std::string(variable).c_str()); text && *text)
          ::setenv(std::string(variable).c_str(), wholePathsIn(option, text).c_str(), 1);
}

Status Options::set(std::string_view name, OptionValue value) {
  std::string plain(name);
  std::ranges::replace(plain, '-', '_');
  const OptionInfo *option = find(plain);
  if (!option || !option->isFor(scope))
    return noSuchOption(plain, scope);
  Result<OptionValue> fit = converted(*option, std::move(value));
  if (!fit)
    return fit.error();
  values[option->name] = std::move(*fit);
  return {};
}

Status Options::setText(std::string_view text) {
  size_t at = text.find('=');
  if (at == 0 || at == std::string_view::npos)
    return Error{ErrorCode::InvalidArgument, "'" + std::string(text) + "' is no option, which are NAME=VALUE"};
  return set(text.substr(0, at), std::string(text.substr(at + 1)));
}

Status Options::readEnvironment() {
  for (const OptionInfo &option : optionTable()) {
    if (!option.isFor(OptionScope::Client) || isGiven(option.name))
      continue;
    for (std::string_view variable : optionWords(option.environment)) {
      const char *text = std::getenv(std::string(variable).c_str());
      if (!text || !*text)
        continue;
      Result<OptionValue> fit = converted(option, std::string(text));
      if (!fit)
        return fit.error().within(std::string(variable));
      values[option.name] = std::move(*fit);
      break;
    }
  }
  return {};
}

template <typename T> static std::optional<T> valueIn(const std::map<std::string_view, OptionValue> &values, std::string_view name) {
  auto it = values.find(name);
  return it == values.end() ? std::nullopt : std::optional<T>(std::get<T>(it->second));
}

std::optional<std::string> Options::string(std::string_view name) const { return valueIn<std::string>(values, name); }
std::optional<int64_t> Options::integer(std::string_view name) const { return valueIn<int64_t>(values, name); }
std::optional<bool> Options::boolean(std::string_view name) const { return valueIn<bool>(values, name); }

/// Whether a word was chosen; what stood there if none was.
static bool isChosen(const Options &options, std::string_view name, std::string_view word, bool otherwise) {
  std::optional<std::string> given = options.string(name);
  return given ? *given == word : otherwise;
}

void chooseNumerics(const Options &options, Numerics &numerics) {
  std::string precision = options.string("precision").value_or("");
  numerics = {isChosen(options, "accumulate", "f64", numerics.wideAccumulation),
              isChosen(options, "scatter", "windows", numerics.scatterSkipsWindows),
              isChosen(options, "number_formats", "program", numerics.programTypes),
              isChosen(options, "partition", "whole", numerics.computesWhole),
              precision.empty() ? numerics.narrowsProducts : precision != "f32",
              precision.empty() ? numerics.keepsNarrow : precision == "bf16/bf16"};
}

void chooseRewrites(const Options &options, Rewrites &rewrites) {
  rewrites.limit = options.integer("opt_bisect_limit").value_or(rewrites.limit);
  rewrites.wrong = options.integer("plant_wrong_rewrite").value_or(rewrites.wrong);
  rewrites.level = options.integer("optimization_level").value_or(rewrites.level);
  rewrites.alwaysCode = isChosen(options, "machine_code", "always", rewrites.alwaysCode);
}

bool choosesCopies(const Options &options) { return isChosen(options, "host_reads", "copied", false); }

} // namespace cupel::runtime
