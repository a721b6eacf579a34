#include "cupel/testbench/selection/Preset.h"

#include "cupel/support/Files.h"
#include "cupel/support/Text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

namespace cupel::testbench::selection {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{16} << 20;
constexpr size_t kMaxJobs = 10000; // A CI takes a few hundred.
constexpr size_t kMaxFiles = 1000; // Includes that include one another many times over.
constexpr size_t kMaxIncludeDepth = 32;
constexpr int64_t kMaxGroups = 1000;

constexpr std::array<std::string_view, 15> kFields = {
    "runs-on",  "name",        "dir",       "test-mark",      "parallel-groups",
    "contains", "args",        "forked",    "shared-runners", "forge-models",
    "require",  "extra-wheel", "multihost", "topology",       "include"};

/// "3:14" of a byte offset.
std::string place(std::string_view text, size_t offset) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < std::min(offset, text.size()); ++i) {
    bool newline = text[i] == '\n';
    line += newline;
    column = newline ? 1 : column + ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80);
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

/// Reads a file and those it includes.
class Loader {
public:
  Status load(const std::string &path) {
    std::error_code error;
    fs::path canonical = fs::weakly_canonical(path, error);
    std::string identity = error ? path : canonical.string();
    if (std::find(open.begin(), open.end(), identity) != open.end()) {
      std::string chain;
      for (const std::string &file : openAsWritten)
        chain += file + " -> ";
      return Error{ErrorCode::AlreadyExists,
                   path + ": includes itself: " + chain + path + "; remove one of the includes"};
    }
    if (++files > kMaxFiles || open.size() >= kMaxIncludeDepth)
      return Error{path + ": too many includes; the files include one another many times over"};
    Result<FileContents> contents = readInput(path, kMaxFileBytes);
    if (!contents)
      return contents.error();
    Json root;
    try {
      root = Json::parse(contents->bytes());
    } catch (const Json::parse_error &failure) {
      // The library's byte is that after the last one it read.
      size_t offset = failure.byte > 0 ? failure.byte - 1 : 0;
      return Error{path + ":" + place(contents->bytes(), offset) +
                   ": not JSON; check brackets, quotes and commas there"};
    }
    if (!root.is_array())
      return Error{path + ":1:1: expected a list of jobs at the top of the file"};
    open.push_back(identity);
    openAsWritten.push_back(path);
    uint32_t number = 0;
    for (const Json &entry : root)
      if (Status status = readEntry(path, ++number, entry); !status)
        return status;
    open.pop_back();
    openAsWritten.pop_back();
    return {};
  }

  PresetJobs result;

private:
  Status readEntry(const std::string &path, uint32_t number, const Json &entry) {
    PresetJob job;
    job.file = path;
    job.number = number;
    if (!entry.is_object())
      return Error{job.where() + ": expected a job, an object in braces"};
    if (entry.contains("include"))
      return readInclude(path, job, entry);

    auto text = [&](const char *field, std::string &to, bool required) -> Status {
      auto at = entry.find(field);
      if (at == entry.end())
        return required ? Status(Error{job.where() + ": the field \"" + field + "\" is missing"})
                        : Status();
      if (!at->is_string())
        return Error{job.where() + ": " + field + ": expected a text in quotes"};
      to = at->get<std::string>();
      return {};
    };
    auto flag = [&](const char *field, bool &to) -> Status {
      auto at = entry.find(field);
      if (at == entry.end())
        return {};
      std::optional<bool> value = asFlag(*at);
      if (!value)
        return Error{job.where() + ": " + field + ": expected true, false, \"true\" or \"false\""};
      to = *value;
      return {};
    };
    for (Status status : {text("name", job.name, false), text("runs-on", job.runsOn, true),
                          text("dir", job.path, false), text("test-mark", job.markers, false),
                          text("contains", job.keyword, false), text("args", job.arguments, false),
                          flag("shared-runners", job.sharedRunners), flag("forked", job.forked),
                          flag("forge-models", job.forgeModels)})
      if (!status)
        return status;
    if (auto at = entry.find("parallel-groups"); at != entry.end()) {
      if (!at->is_number_integer() || at->get<int64_t>() < 1 || at->get<int64_t>() > kMaxGroups)
        return Error{job.where() + ": parallel-groups: expected a number from 1 to " +
                     std::to_string(kMaxGroups)};
      job.groups = uint32_t(at->get<int64_t>());
    }
    if (job.forgeModels)
      job.arch = job.runsOn;
    for (const auto &[field, value] : entry.items())
      if (std::find(kFields.begin(), kFields.end(), field) == kFields.end()) {
        std::string_view near = nearestWord(field, {kFields.begin(), kFields.end()});
        result.warnings.push_back(
            job.where() + ": unknown field \"" + field + "\"" +
            (near.empty() ? "" : "; did you mean " + std::string(near) + "?"));
      }
    Json normal = entry;
    if (normal.contains("shared-runners"))
      normal["shared-runners"] = job.sharedRunners;
    job.json = normal.dump();
    if (result.jobs.size() >= kMaxJobs)
      return Error{job.where() + ": more than " + std::to_string(kMaxJobs) + " jobs"};
    result.jobs.push_back(std::move(job));
    return {};
  }

  Status readInclude(const std::string &path, const PresetJob &job, const Json &entry) {
    const Json &names = entry["include"];
    if (entry.size() != 1)
      return Error{job.where() + ": an entry with \"include\" holds nothing else"};
    if (!names.is_array())
      return Error{job.where() + ": include: expected a list of file names"};
    for (const Json &name : names) {
      if (!name.is_string())
        return Error{job.where() + ": include: expected a file name in quotes"};
      std::string included = (fs::path(path).parent_path() / name.get<std::string>()).string();
      if (Status status = load(included); !status)
        // A circle names its files already.
        return openAsWritten.size() > 1 || status.error().code == ErrorCode::AlreadyExists
                   ? status
                   : Status(Error{status.message() + " (included by " + job.where() + ")"});
    }
    return {};
  }

  static std::optional<bool> asFlag(const Json &value) {
    if (value.is_boolean())
      return value.get<bool>();
    if (value == "true")
      return true;
    if (value == "false")
      return false;
    return std::nullopt;
  }

  std::vector<std::string> open, openAsWritten; ///< The files being read, outermost first.
  size_t files = 0;
};

} // namespace

std::string PresetJob::where() const {
  std::string text = file + ": entry " + std::to_string(number);
  if (!name.empty() || !runsOn.empty())
    text += " (" + name + (runsOn.empty() ? "" : " on " + runsOn) + ")";
  return text;
}

Result<PresetJobs> loadPreset(const std::string &path) {
  Loader loader;
  if (Status status = loader.load(path); !status)
    return status.error();
  return std::move(loader.result);
}

Result<PresetJobs> findPresetJobs(const std::string &spec) {
  std::error_code error;
  size_t colon = spec.rfind(':');
  if (colon == std::string::npos || fs::exists(spec, error))
    return loadPreset(spec);
  Result<PresetJobs> all = loadPreset(spec.substr(0, colon));
  if (!all)
    return all;
  std::string_view wanted = std::string_view(spec).substr(colon + 1);
  if (wanted.starts_with('#')) {
    PresetJobs one{{}, std::move(all->warnings)};
    for (PresetJob &job : all->jobs)
      if (job.file == spec.substr(0, colon) && std::to_string(job.number) == wanted.substr(1))
        one.jobs.push_back(std::move(job));
    if (one.jobs.empty())
      return Error{spec.substr(0, colon) + ": has no entry " + std::string(wanted.substr(1))};
    return one;
  }
  size_t at = wanted.rfind('@');
  std::string_view name = wanted.substr(0, at);
  std::string_view machine = at == std::string_view::npos ? "" : wanted.substr(at + 1);
  PresetJobs result;
  result.warnings = std::move(all->warnings);
  std::vector<std::string_view> names;
  std::string listed;
  for (PresetJob &job : all->jobs) {
    std::string known = job.name + "@" + job.runsOn;
    if (listed.find(" " + known + ",") == std::string::npos && listed.size() < 400)
      listed += " " + known + ",";
    names.push_back(job.name);
  }
  std::string_view near = nearestWord(name, names);
  for (PresetJob &job : all->jobs)
    if (job.name == name && (machine.empty() || job.runsOn == machine))
      result.jobs.push_back(job);
  if (!result.jobs.empty())
    return result;
  if (!listed.empty())
    listed.pop_back();
  return Error{spec.substr(0, colon) + ": no job is called " + std::string(wanted) +
               (!near.empty() && near != name ? "; did you mean " + std::string(near) + "?"
                : listed.empty()              ? "; it has none"
                                              : "; it has" + listed)};
}

const RunnerLabels &sharedRunnerLabels() {
  static const RunnerLabels kLabels = {
      {"n150", "tt-ubuntu-2204-n150-stable"},
      {"n300", "tt-ubuntu-2204-n300-stable"},
      {"n300-high-memory", "tt-ubuntu-2204-n300-stable"},
      {"wormhole_b0", "tt-ubuntu-2204-n300-stable"},
      {"p150", "tt-ubuntu-2204-p150b-stable"},
      {"p150-perf", "tt-ubuntu-2204-p150b-stable"},
      {"n300-llmbox", "tt-ubuntu-2204-n300-llmbox-stable"},
      {"cpu", "tt-ubuntu-2204-large-stable"},
  };
  return kLabels;
}

void PresetJob::splitByDuration(double secondsOfAGroup) {
  if (!measured || measured->seconds <= 0)
    return;
  double needed = std::ceil(measured->seconds / secondsOfAGroup);
  groups = uint32_t(std::clamp(needed, 1.0, double(std::max(measured->tests, 1u))));
}

Result<std::string> jobMatrix(const std::vector<PresetJob> &jobs, const RunnerLabels &labels,
                              bool compact) {
  Json matrix = Json::array();
  for (const PresetJob &job : jobs) {
    Json entry = Json::parse(job.json);
    if (job.sharedRunners) {
      auto label = labels.find(job.runsOn);
      if (label == labels.end()) {
        std::string known;
        for (const auto &[name, mapped] : labels)
          known += (known.empty() ? "" : ", ") + name;
        return Error{job.where() + ": no shared machine is known for " + job.runsOn +
                     "; known are " + known};
      }
      entry["runs-on-original"] = job.runsOn;
      entry["runs-on"] = label->second;
    }
    if (job.measured) {
      entry["tests"] = job.measured->tests;
      if (job.measured->seconds > 0)
        entry["estimated-seconds"] = std::llround(job.measured->seconds / job.groups);
      if (entry.contains("parallel-groups") || job.groups > 1)
        entry["parallel-groups"] = job.groups;
    }
    auto addPlanned = [&](uint32_t group) {
      if (group > job.planned.size())
        return;
      entry["job"] = job.planned[group - 1].number;
      entry["timeout-minutes"] = job.planned[group - 1].timeoutMinutes;
    };
    if (!entry.contains("parallel-groups")) {
      addPlanned(1);
      matrix.push_back(std::move(entry));
      continue;
    }
    for (uint32_t group = 1; group <= job.groups; ++group) {
      entry["group-id"] = group;
      addPlanned(group);
      matrix.push_back(entry);
    }
  }
  return matrix.dump(compact ? -1 : 2, ' ', true);
}

} // namespace cupel::testbench::selection
