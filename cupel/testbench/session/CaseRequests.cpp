#include "cupel/testbench/session/CaseRequests.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

namespace cupel::testbench::session {

using results::Outcome;
using runner::Prepared;

namespace {

constexpr size_t kKeptFiles = 8;

Prepared over(Outcome outcome, std::string_view errorClass, std::string message) {
  results::TestRecord record;
  record.outcome = outcome;
  record.errorClass = errorClass;
  record.message = std::move(message);
  return {std::move(record), {}};
}

} // namespace

std::string deviceType(std::string_view device) {
  device = device.substr(0, std::min(device.find('?'), device.find('@')));
  std::string name = std::filesystem::path(device).stem().string();
  for (std::string_view prefix : {"lib", "pjrt_plugin_", "pjrt_", "pjrt-plugin-"})
    if (name.starts_with(prefix))
      name.erase(0, prefix.size());
  for (std::string_view suffix : {"_pjrt_plugin", "_pjrt", "_plugin"})
    if (name.ends_with(suffix))
      name.erase(name.size() - suffix.size());
  return name;
}

Result<const opcases::CaseFile *> CaseRequests::load(const std::string &path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0)
    return Error{path + ": " + std::strerror(errno)};
  int64_t modified = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
  for (auto it = kept.begin(); it != kept.end(); ++it) {
    if (it->path != path)
      continue;
    if (it->modified == modified && it->size == info.st_size) {
      kept.splice(kept.begin(), kept, it);
      return static_cast<const opcases::CaseFile *>(&kept.front().file);
    }
    kept.erase(it);
    break;
  }
  Result<opcases::CaseFile> read = opcases::readCaseFile(path);
  if (!read)
    return read.error();
  kept.push_front({path, modified, int64_t(info.st_size), std::move(*read)});
  if (kept.size() > kKeptFiles)
    kept.pop_back();
  return static_cast<const opcases::CaseFile *>(&kept.front().file);
}

Prepared CaseRequests::prepare(const TestItem &item, const std::string &device) {
  Result<const opcases::CaseFile *> file = load(item.file);
  if (!file)
    return over(Outcome::Failed, "unreadable_file", file.message());
  const std::vector<opcases::Case> &cases = (*file)->cases;
  auto one = std::ranges::find(cases, item.part, &opcases::Case::number);
  if (one == cases.end())
    return over(Outcome::Failed, "unreadable_file",
                fmt::format("{}: there is no sound case at place {} any more", item.file,
                            item.part + 1));
  opcases::Surroundings surroundings{.device = backend == "cupel" ? deviceType(device) : backend,
                                     .compileBackend = backend,
                                     .arch = arch,
                                     .model = (*file)->model,
                                     .name = one->name,
                                     .op = one->op,
                                     .dtype = one->dtype};
  for (const opcases::SkipRule &rule : one->skipIf) {
    Result<bool> skips = rule.condition.holds(surroundings);
    if (!skips)
      return over(Outcome::Failed, "bad_case",
                  fmt::format("{}:{}: skip_if: {}: {}", item.file, one->line, rule.text,
                              skips.message()));
    if (*skips)
      return over(Outcome::Skipped, "", rule.reason);
  }
  return {std::nullopt, "{\"case\":" + opcases::toJson(*one) + "}"};
}

} // namespace cupel::testbench::session
