#include "cupel/cli/ShowTrace.h"

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/SiblingVerbs.h"
#include "cupel/runtime/TraceFile.h"
#include "cupel/support/Files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {

int showTrace(const Arguments &arguments) {
  CommandLine line("show trace",
                   "Show a trace: the commands that a program gives the device, with the memory that each reads and "
                   "writes. `cupel compile --trace` writes one.");
  std::string path;
  uint32_t times = 0;
  bool json = false;
  line.option("FILE", path, "What `cupel compile --trace` wrote").required();
  line.option("--replay", times,
              "Replay it so often on the inputs that it was recorded with, and hold the results against the file's and "
              "those of a run without a trace, bit by bit")
      .placeholder("N");
  line.flag("--json", json, "Print JSON");
  line.example("cupel show trace model.trace", "slots and commands");
  line.example("cupel show trace model.trace --replay 100", "run it");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  Result<FileContents> contents = readInput(path);
  if (!contents)
    return reportError("show", contents.message(), kExitUsage);
  Result<runtime::TraceFile> file = runtime::parseTraceFile(contents->bytes());
  if (!file)
    return reportError("show", path + ": " + file.message(), kExitUsage);
  if (times > 0)
    return handOver("show", "cupel-worker",
                    {"replay-trace", nlohmann::json{{"file", path}, {"times", times}}.dump()});
  fmt::print("{}", json ? file->json() : file->text());
  return kExitSuccess;
}

} // namespace cupel::cli
