// What a procedure found, for people, for programs, as a patch, and onto the disk.

#include "cupel/support/Files.h"
#include "cupel/testbench/procedures/Procedure.h"
#include "cupel/testbench/triage/Patch.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::procedures {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Result<std::string> patchOf(const ProcedureReport &report, const std::string &zoo,
                            const std::string &folder) {
  std::string text;
  auto add = [&](const std::string &path, const std::string &after) -> Status {
    Result<FileContents> before = readInput(path);
    if (!before)
      return before.error();
    std::error_code error;
    std::string relative = fs::absolute(path, error)
                               .lexically_normal()
                               .lexically_relative(fs::absolute(folder, error).lexically_normal());
    text += triage::unifiedDiff(relative.empty() || relative.starts_with("..") ? path : relative,
                                before->bytes(), after);
    return {};
  };
  for (const FileFix &one : report.files)
    if (Status status = add(zoo + "/" + one.path, one.fix.text); !status)
      return status.error();
  for (const auto &[path, after] : report.yaml)
    if (Status status = add(path, after); !status)
      return status.error();
  return text;
}

Status writeFiles(const ProcedureReport &report, const std::string &zoo) {
  for (const FileFix &one : report.files)
    if (Status status = writeOutput(zoo + "/" + one.path, one.fix.text); !status)
      return status;
  for (const auto &[path, after] : report.yaml)
    if (Status status = writeOutput(path, after); !status)
      return status;
  return {};
}

std::string textOf(const ProcedureReport &report) {
  std::string text;
  auto line = [&](std::string_view title, std::string_view what) {
    if (!what.empty())
      text += fmt::format("{:<14} {}\n", title, what);
  };
  auto lines = [&](std::string_view title, const std::vector<std::string> &list) {
    for (size_t i = 0; i < list.size(); ++i)
      line(i ? "" : title, list[i]);
  };
  line("test", report.key.empty() ? report.test : report.key);
  line("loader", report.loader);
  line("flavour", report.flavour);
  line("recorded", report.status + (report.bringup.empty() ? "" : ", " + report.bringup) +
                       (report.reason.empty() ? "" : ": " + report.reason));
  lines("on the CPU", report.cpuBefore);
  if (!report.stopped.empty()) {
    line("stopped", report.stopped);
    return text;
  }
  line("fix", report.fix.empty() ? "none: " + report.noFix : report.fix);
  lines("after the fix", report.cpuAfter);
  line("branch", std::string(1, report.branch));
  for (const EntryOutcome &entry : report.entries) {
    line("entry", entry.id);
    line("  CPU", entry.cpuBefore + (entry.cpuAfter.empty() ? "" : " -> " + entry.cpuAfter));
    line("  run", entry.verified);
    line("  now", entry.state);
  }
  line("inference", report.staleInference.empty() ? "its entries are not touched"
                                                  : "its entries are not touched; stale now:");
  lines("", report.staleInference);
  lines("for a person", report.review);
  if (!report.files.empty())
    line("not committed",
         "the zoo may be a repository of its own; nothing is committed there or here");
  return text;
}

std::string jsonOf(const ProcedureReport &report, const std::string &patch) {
  Json json = {{"schema", "cupel-procedure-1"},
               {"test", report.test},
               {"key", report.key},
               {"loader", report.loader},
               {"flavour", report.flavour},
               {"status", report.status},
               {"bringup_status", report.bringup},
               {"reason", report.reason},
               {"stopped", report.stopped},
               {"cpu_before", report.cpuBefore},
               {"cpu_after", report.cpuAfter},
               {"fix", report.fix},
               {"no_fix", report.noFix},
               {"branch", report.branch ? std::string(1, report.branch) : ""},
               {"stale_inference", report.staleInference},
               {"review", report.review}};
  json["entries"] = Json::array();
  for (const EntryOutcome &entry : report.entries)
    json["entries"].push_back({{"test", entry.id},
                               {"cpu_before", entry.cpuBefore},
                               {"cpu_after", entry.cpuAfter},
                               {"verified", entry.verified},
                               {"state", entry.state}});
  json["patch"] = patch;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace cupel::testbench::procedures
