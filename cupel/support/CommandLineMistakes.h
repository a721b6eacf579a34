// What a command line with a mistake in it is told: an option that nobody knows and the nearest one
// that there is, or an option whose value was forgotten. Used by all binaries that parse with CLI11;
// apart from Text.h, because it needs that.
#pragma once

#include "cupel/support/Text.h"

#include <CLI/App.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cupel {

/// After a parse that left words over: a sentence about the first of them.
inline std::string describeLeftOver(const CLI::App &app) {
  std::vector<std::string> left = app.remaining(/*recurse=*/true);
  if (left.empty())
    return "a word is left over";
  std::string word = left.front().substr(0, left.front().find('='));
  for (const std::string &other : left)
    if (other.starts_with('-') && !word.starts_with('-'))
      word = other.substr(0, other.find('='));
  if (!word.starts_with('-'))
    return "'" + word + "' was not expected";
  std::vector<std::string> names;
  auto collect = [&](const CLI::App &of) {
    for (const CLI::Option *option : of.get_options()) {
      for (const std::string &name : option->get_lnames())
        names.push_back("--" + name);
      for (const std::string &name : option->get_snames())
        names.push_back("-" + name);
    }
  };
  collect(app);
  for (const CLI::App *action : app.get_subcommands())
    collect(*action);
  std::string_view nearest = nearestWord(word, {names.begin(), names.end()});
  return "there is no option '" + word + "'" +
         (nearest.empty() ? std::string() : "; did you mean '" + std::string(nearest) + "'?");
}

/// Before a parse: a sentence about the first option that would take the next option for its value,
/// as CLI11 lets it (`--keep-failed --json F` would save tests in a folder called `--json`). A value
/// that does look like an option of the command can be given behind `=`.
inline std::optional<std::string> describeMissingValue(const CLI::App &app,
                                                       std::span<const std::string> words) {
  std::vector<const CLI::App *> scopes = {&app};
  auto find = [&](const std::string &word) -> const CLI::Option * {
    std::string name = word.substr(0, word.find('='));
    if (!name.starts_with('-') || name == "-" || name == "--")
      return nullptr;
    for (const CLI::App *scope : scopes)
      if (const CLI::Option *option = scope->get_option_no_throw(name))
        return option;
    return nullptr;
  };
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string &word = words[i];
    for (const CLI::App *action : scopes.back()->get_subcommands({}))
      if (action->get_name() == word) {
        scopes.push_back(action);
        break;
      }
    const CLI::Option *option = find(word);
    if (!option || option->get_expected_min() == 0 || word.find('=') != std::string::npos ||
        i + 1 == words.size())
      continue;
    const std::string &value = words[++i];
    if (find(value))
      return word + " wants a value (" + option->get_type_name() + "), and " + value +
             " is an option; if it is meant as the value, write " + word + "=" + value;
  }
  return std::nullopt;
}

} // namespace cupel
