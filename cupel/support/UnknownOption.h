// What a command line with an option that nobody knows is told: the option, and the nearest one that
// there is. Used by all binaries that parse with CLI11; apart from Text.h, because it needs that.
#pragma once

#include "cupel/support/Text.h"

#include <CLI/App.hpp>
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

} // namespace cupel
