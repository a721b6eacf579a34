#include "cupel/testbench/slurm/Profile.h"

#include "cupel/support/Files.h"
#include "cupel/support/Text.h"
#include "cupel/testbench/config/Yaml.h"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <variant>

namespace cupel::testbench::slurm {
namespace {

using config::YamlNode;
using Json = nlohmann::json;

/// One list of the keys: read from YAML, written as JSON and read back by it.
struct Key {
  std::string_view name;
  std::variant<std::string Profile::*, uint64_t Profile::*, uint32_t Profile::*, double Profile::*,
               bool Profile::*, std::vector<std::string> Profile::*>
      place;
  std::string_view wants;
};

constexpr std::string_view kText = "a text", kCount = "a number of at least 1",
                           kSeconds = "a number of seconds above 0", kYes = "true or false",
                           kLines = "a text or a list of texts", kBytes = "an amount such as 16G";

const Key kKeys[] = {{"partition", &Profile::partition, kText},
                     {"account", &Profile::account, kText},
                     {"time", &Profile::time, "a limit as sbatch takes it, in quotes: \"2:00:00\""},
                     {"gres", &Profile::gres, kText},
                     {"constraint", &Profile::constraint, kText},
                     {"memory", &Profile::memoryBytes, kBytes},
                     {"cpus", &Profile::cpus, kCount},
                     {"slots", &Profile::slots, kCount},
                     {"at_once", &Profile::atOnce, kCount},
                     {"chunk_seconds", &Profile::chunkSeconds, kSeconds},
                     {"stale_seconds", &Profile::staleSeconds, kSeconds},
                     {"modules", &Profile::modules, kLines},
                     {"options", &Profile::options, kLines},
                     {"before", &Profile::before, kLines},
                     {"launcher", &Profile::launcher, kText},
                     {"cupel", &Profile::cupel, kText},
                     {"chips_variable", &Profile::chipsVariable, kText},
                     {"drain", &Profile::drain, kYes},
                     {"local_journal", &Profile::localJournal, kYes}};

/// `16G`, `512M`; nothing where it is no amount.
std::optional<uint64_t> bytesOf(const YamlNode &node) {
  std::string text(node.text);
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  std::string_view unit(end);
  double factor = unit == "K" ? 0x1p10 : unit == "M" ? 0x1p20 : unit == "G" ? 0x1p30
                  : unit == "T" ? 0x1p40 : 0;
  if (end == text.c_str() || factor == 0 || !(number > 0) || number > 1e6)
    return std::nullopt;
  return uint64_t(number * factor);
}

/// Numbers and words alike: `partition: 7` is a name.
std::optional<std::string> wordOf(const YamlNode &node) {
  if (!node.isScalar() || node.isNull() || node.text.empty())
    return std::nullopt;
  return std::string(node.text);
}

/// Sets what the key names; false where the value is not what it wants.
bool assign(Profile &profile, const Key &key, const YamlNode &value) {
  return std::visit(
      [&](auto place) {
        auto &target = profile.*place;
        using Target = std::remove_cvref_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, std::string>) {
          // 2:00:00 without quotes is a text in YAML 1.2, and minutes are a number.
          std::optional<std::string> word = wordOf(value);
          if (word)
            target = std::move(*word);
          return word.has_value();
        } else if constexpr (std::is_same_v<Target, bool>) {
          std::optional<bool> yes = config::asBool(value);
          target = yes.value_or(false);
          return yes.has_value();
        } else if constexpr (std::is_same_v<Target, double>) {
          std::optional<double> number = config::asNumber(value);
          target = number.value_or(0);
          return number && *number > 0 && std::isfinite(*number);
        } else if constexpr (std::is_same_v<Target, uint32_t>) {
          std::optional<int64_t> number = config::asInteger(value);
          bool isGood = number && *number >= 1 && *number <= 1'000'000;
          target = isGood ? uint32_t(*number) : 0;
          return isGood;
        } else if constexpr (std::is_same_v<Target, uint64_t>) {
          std::optional<uint64_t> bytes = value.isScalar() ? bytesOf(value) : std::nullopt;
          target = bytes.value_or(0);
          return bytes.has_value();
        } else {
          for (const YamlNode &node : value.oneOrMany()) {
            std::optional<std::string> word = wordOf(node);
            if (!word)
              return false;
            target.push_back(std::move(*word));
          }
          return true;
        }
      },
      key.place);
}

} // namespace

Result<Profile> readProfile(const std::string &projectFile, const std::string &name) {
  Profile profile;
  if (!name.empty())
    profile.name = name;
  auto missing = [&](const std::vector<std::string_view> &names) {
    return Error{fmt::format(
        "--on slurm:{}: there is no such profile{}{}", profile.name,
        projectFile.empty() ? "; a cupel.yaml with `slurm:` has them" : " in " + projectFile,
        names.empty() ? "" : fmt::format("; there are: {}", fmt::join(names, ", ")))};
  };
  if (projectFile.empty())
    return profile.name == "default" ? Result<Profile>(profile) : Result<Profile>(missing({}));
  Result<FileContents> contents = readInput(projectFile, config::YamlFile::kMaxBytes);
  if (!contents)
    return contents.error();
  std::vector<config::Diagnostic> diagnostics;
  config::YamlFile yaml(projectFile, std::string(contents->bytes()), diagnostics);
  if (!diagnostics.empty())
    return Error{config::render(diagnostics.front())};
  auto wrong = [&](const YamlNode &at, std::string message) {
    return Error{fmt::format("{}:{}:{}: {}", projectFile, at.line, at.column, message)};
  };
  const YamlNode *all = yaml.root() && yaml.root()->isMapping() ? yaml.root()->find("slurm") : nullptr;
  if (!all)
    return profile.name == "default" ? Result<Profile>(profile) : Result<Profile>(missing({}));
  if (!all->isMapping())
    return wrong(*all, "'slurm' is a mapping of names of profiles to what they say");
  const YamlNode *found = all->find(profile.name);
  if (!found) {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < all->pairCount(); ++i)
      names.push_back(all->key(i).text);
    return missing(names);
  }
  if (found->isNull())
    return profile;
  if (!found->isMapping())
    return wrong(*found, "a profile is a mapping, such as `partition: lab`");
  for (size_t i = 0; i < found->pairCount(); ++i) {
    const YamlNode &key = found->key(i), &value = found->value(i);
    std::vector<std::string_view> names;
    const Key *known = nullptr;
    for (const Key &candidate : kKeys) {
      names.push_back(candidate.name);
      if (key.isScalar() && candidate.name == key.text)
        known = &candidate;
    }
    if (!known) {
      std::string_view near = nearestWord(key.text, names);
      return wrong(key, fmt::format("unknown name '{}' in a profile of Slurm{}", key.text,
                                    near.empty()
                                        ? fmt::format("; there are: {}", fmt::join(names, ", "))
                                        : fmt::format("; did you mean '{}'?", near)));
    }
    if (!assign(profile, *known, value))
      return wrong(value, fmt::format("'{}' wants {}, not {}", known->name, known->wants,
                                      config::describe(value)));
  }
  return profile;
}

std::string toJson(const Profile &profile) {
  Json json = {{"name", profile.name}};
  for (const Key &key : kKeys)
    std::visit([&](auto place) { json[std::string(key.name)] = profile.*place; }, key.place);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Profile> profileFromJson(std::string_view text) {
  try {
    Json json = Json::parse(text);
    Profile profile;
    profile.name = json.at("name").get<std::string>();
    for (const Key &key : kKeys)
      if (auto found = json.find(key.name); found != json.end())
        std::visit([&](auto place) { found->get_to(profile.*place); }, key.place);
    return profile;
  } catch (const Json::exception &error) {
    return Error{std::string("not a profile: ") + error.what()};
  }
}

} // namespace cupel::testbench::slurm
