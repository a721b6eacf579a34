// `cupel report html`: a run as pages that open without a server.

#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/ServeVerbs.h"
#include "cupel/results/report/Text.h"
#include "cupel/results/serve/StaticReport.h"

#include <fmt/format.h>

namespace cupel::cli {

using namespace cupel::results;

int reportVerb(const Arguments &arguments) {
  CommandLine line("report", "Write a run as a folder of pages that open from disk, without a server, e.g. as an artifact of CI.");
  line.example("cupel report html latest -o report", "then open report/index.html");
  std::string form, run = "latest", folder, results;
  line.option("FORM", form, "html").required().oneOf({"html"});
  line.option("RUN", run, "A run: its id or the beginning of it, latest, latest~1 (latest)");
  line.option("-o", folder, "The folder to write; it is made where it is missing").placeholder("DIR").required();
  addResultsOption(line, results);
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  auto fail = [](std::string_view message) { return reportError("report", message, kExitUsage); };
  Result<std::unique_ptr<serve::Api>> api = openApi(results);
  if (!api)
    return fail(api.message());
  Result<Store> store = openResults(results);
  if (!store)
    return fail(store.message());
  Result<std::string> id = store->resolveRun(run);
  if (!id)
    return fail(id.message());
  Result<serve::StaticReportSummary> written = serve::writeStaticReport(**api, *store, *id, folder);
  if (!written)
    return fail(written.message());
  fmt::print("{}/index.html: run {}, {}, {} in {} files\n", folder, *id, counted(written->tests, "test"),
             bytesText(written->bytes), written->files);
  return kExitSuccess;
}

} // namespace cupel::cli
