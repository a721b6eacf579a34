// The pages' server as a whole: who may ask (address, host name, token), what headers every answer
// carries, pages, API and events. `cupel serve` and `cupel explore` run it. Nothing that a result
// contains ever becomes part of a page here: results travel as JSON only.
#pragma once

#include "cupel/results/serve/Api.h"
#include "cupel/results/serve/Connections.h"
#include "cupel/support/Error.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cupel::results::serve {

struct SiteOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8008;
  bool readOnly = false; ///< Nothing can be started from the pages.
  std::string token = {}; ///< Empty: one is made.
};

class Site {
public:
  static Result<std::unique_ptr<Site>> open(SiteOptions options, Api &api);

  /// Adds answers under a path of their own, `/api/v1/jobs` or what lies below it.
  void mount(std::string path, HttpHandler handler) { mounted[std::move(path)] = std::move(handler); }

  /// What to type into a browser, with the token where one is needed to read.
  std::string address() const;
  const std::string &token() const { return settings.token; }
  bool isReadOnly() const { return settings.readOnly; }
  Connections &connections() { return *sockets; }

  /// Serves until `stop`, telling those who listen when the store changes.
  Status run();
  void stop() { sockets->stop(); }

  /// For tests: what a request is answered with.
  HttpAnswer answer(const HttpRequest &request);

private:
  Site(SiteOptions options, Api &api, std::unique_ptr<Connections> sockets)
      : settings(std::move(options)), api(api), sockets(std::move(sockets)) {}
  /// An answer where the request may not be answered.
  std::optional<HttpAnswer> refusalOf(const HttpRequest &request) const;
  HttpAnswer route(const HttpRequest &request);

  SiteOptions settings;
  Api &api;
  std::unique_ptr<Connections> sockets;
  std::map<std::string, HttpHandler> mounted;
};

/// Whether only this machine can reach an address.
bool isLoopback(std::string_view host);

} // namespace cupel::results::serve
