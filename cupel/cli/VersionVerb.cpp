// `cupel version`.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/Verbs.h"
#include "cupel/support/Version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {

int runVersionVerb(const Arguments &arguments) {
  CommandLine line("version", "Say which Cupel this is.");
  line.example("cupel version", "one line for people");
  line.example("cupel version --json", "the same for programs");
  bool asJson = false;
  line.flag("--json", asJson, "Print a JSON object");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;

  if (asJson) {
    nlohmann::ordered_json json = {
        {"cupel", version()}, {"build", buildKind()}, {"compiler", compilerVersion()}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("cupel {} ({} build, {})\n", version(), buildKind(), compilerVersion());
  }
  return 0;
}

} // namespace cupel::cli
