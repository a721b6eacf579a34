// `cupel serve`: the dashboard over a results store.

#include "cupel/cli/PageJobs.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/ServeVerbs.h"
#include "cupel/support/Process.h"
#include "cupel/testbench/matrix/Project.h"

#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

using namespace cupel::results;
using namespace cupel::results::serve;

Site *servedSite = nullptr;

/// Starts the desktop's browser, and does not wait for it.
void openBrowser(const std::string &address) {
  std::string opener = findOnPath("xdg-open");
  if (opener.empty()) {
    fmt::print(stderr, "note: there is no xdg-open here to open a browser with\n");
    return;
  }
  // By way of a child that ends at once, so that nobody has to wait for the browser.
  pid_t between = ::fork();
  if (between == 0) {
    ::setsid();
    if (::fork() == 0) {
      ::execl(opener.c_str(), opener.c_str(), address.c_str(), nullptr);
      ::_exit(127);
    }
    ::_exit(0);
  }
  if (between > 0)
    ::waitpid(between, nullptr, 0);
}

} // namespace

void ServeOptions::addTo(CommandLine &line) {
  addResultsOption(line, results);
  line.option("--port", port, "Where to listen; 0 takes any that is free")
      .placeholder("N")
      .between(0, 65535)
      .showDefault();
  line.option("--host", host, "The address to listen on; any other than this machine's own wants the token of every reader")
      .placeholder("ADDRESS")
      .showDefault();
  line.flag("--open", open, "Open the page in the desktop's browser");
  line.flag("--read-only", readOnly, "Refuse every request that is not a question, with or without the token");
  line.option("--device", devices, "A device that jobs may run programs on, beside our own: a PJRT plugin's .so file; may be repeated").placeholder("NAME").oneValueEach();
}

Result<std::unique_ptr<Api>> openApi(const std::string &option) {
  Result<results::StorePlace> place = resultsPlace(option);
  if (!place)
    return place.error();
  std::string whole = place->folder;
  // Opened once here, with what journals have to add, so that a wrong store is an error at once.
  Result<Store> first = openResults(option);
  if (!first)
    return first.error();
  ApiOptions options;
  options.folder = whole;
  options.commandTail = resultsTail(option);
  std::error_code error;
  options.roots = {whole, std::filesystem::current_path(error).string()};
  if (auto project = testbench::matrix::currentProject(); project && *project && !(*project)->config.empty()) {
    options.roots.push_back((*project)->folder);
    std::filesystem::path config = (*project)->config.front();
    if (!std::filesystem::is_directory(config, error))
      config = config.parent_path();
    options.ledger = (config / "lowered-thresholds.jsonl").string();
  }
  return std::make_unique<Api>(std::move(options), [place = *place]() -> Result<Store> {
    Result<Store> store = Store::open(place);
    return store ? std::move(store) : Store::open(place, Store::Access::ReadOnly);
  });
}

int serveSite(std::string_view verb, const ServeOptions &options, Api &api,
              const std::function<void(Site &)> &prepare, std::string_view page) {
  const char *token = std::getenv("CUPEL_TOKEN");
  Result<std::unique_ptr<Site>> site =
      Site::open({.host = options.host, .port = uint16_t(options.port), .readOnly = options.readOnly, .token = token ? token : ""}, api);
  if (!site)
    return reportError(verb, site.message(), kExitUsage);
  if (prepare)
    prepare(**site);
  // Behind #, which browsers keep to themselves: the page takes the token from there, to start work with.
  std::string address = (*site)->address() + "#/" + std::string(page);
  if (!options.readOnly)
    address += "?token=" + (*site)->token();
  fmt::print("{}\n", address);
  fmt::print("Ctrl-C ends it.\n");
  std::fflush(stdout);
  servedSite = site->get();
  std::signal(SIGPIPE, SIG_IGN);
  for (int number : {SIGINT, SIGTERM})
    std::signal(number, [](int) { servedSite->stop(); });
  if (options.open)
    openBrowser(address);
  Status status = (*site)->run();
  return status ? int(kExitSuccess) : reportError(verb, status.message(), kExitFailure);
}

int serveVerb(const Arguments &arguments) {
  CommandLine line("serve", "Show the results store in a browser: which model works on which chip, what changed,\n"
                            "what to fix first. Needs no network; docs/reference/api.md says what programs can ask.");
  line.example("cupel serve --open", "the project's results, in the desktop's browser");
  line.example("cupel serve --results /srv/results --host 0.0.0.0 --read-only", "for others, who need the token that is printed");
  ServeOptions options;
  bool describe = false;
  options.addTo(line);
  line.flag("--describe-api", describe, "Print the documentation of the API as Markdown, and end");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  if (describe) {
    fmt::print("{}", describeApi());
    return kExitSuccess;
  }
  Result<std::unique_ptr<Api>> api = openApi(options.results);
  if (!api)
    return reportError("serve", api.message(), kExitUsage);
  Explorer explorer;
  PageJobs jobs(explorer, options.results, options.devices);
  return serveSite("serve", options, **api, [&](Site &site) { jobs.mountOn(site); });
}

} // namespace cupel::cli
