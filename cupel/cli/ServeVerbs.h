// The verbs of `cupel-serve` and what they share: the API over the store that options name, and the
// site that is served until somebody stops it.
#pragma once

#include "cupel/cli/CommandLine.h"
#include "cupel/results/serve/Site.h"

#include <functional>
#include <memory>
#include <string>

namespace cupel::cli {

int serveVerb(const Arguments &arguments);
int reportVerb(const Arguments &arguments);
int exploreVerb(const Arguments &arguments);

struct ServeOptions {
  std::string results, host = "127.0.0.1", token;
  std::vector<std::string> devices; ///< That jobs may use beside our own.
  uint32_t port = 8008;
  bool readOnly = false, open = false;

  void addTo(CommandLine &line);
};

/// Over the store that `--results` or the project names; fails where there is none.
Result<std::unique_ptr<results::serve::Api>> openApi(const std::string &results);

/// Serves until a signal ends it. `prepare` may add to the site before it is opened to anybody;
/// `page` is the view that the printed address opens. The exit code.
int serveSite(std::string_view verb, const ServeOptions &options, results::serve::Api &api,
              const std::function<void(results::serve::Site &)> &prepare = {},
              std::string_view page = {});

} // namespace cupel::cli
