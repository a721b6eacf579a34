// What the pages ask, as JSON under /api/v1: one table of questions with their parameters and an
// example each, from which requests are answered and docs/reference/api.md is made. Reads the store;
// starts nothing. The pages use nothing else, and others may use it too: fields are only ever added.
#pragma once

#include "cupel/results/serve/Http.h"
#include "cupel/results/serve/Overview.h"
#include "cupel/results/serve/StorePool.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::results::serve {

struct ApiOptions {
  std::string folder;             ///< Of the results store.
  std::vector<std::string> roots; ///< Where files that results name may lie.
  std::string ledger;             ///< The file of lowered thresholds; empty: there is none.
  std::string commandTail;        ///< ` --results DIR` for proposed commands.
};

class Api {
public:
  Api(ApiOptions options, std::function<Result<Store>()> open)
      : settings(std::move(options)), stores(std::move(open)) {}

  struct Parameter {
    std::string_view name, meaning;
  };
  /// One question.
  struct Question {
    std::string_view path, summary;
    std::vector<Parameter> parameters;
    std::string_view query;  ///< Of the example; TEST and RUN stand for what a store has.
    std::string_view answer; ///< Its answer, shortened.
    HttpAnswer (Api::*reply)(const HttpRequest &);
  };
  static std::span<const Question> questions();
  static constexpr std::string_view kRoot = "/api/v1/";

  /// Answers whatever lies under kRoot.
  HttpAnswer answer(const HttpRequest &request);

  /// Imports what journals have grown by, where the store can be written, and returns its state.
  Result<std::string> refresh();
  /// The newest runs as events tell of them.
  Result<std::string> progress();

private:
  HttpAnswer about(const HttpRequest &request);
  HttpAnswer runs(const HttpRequest &request);
  HttpAnswer overview(const HttpRequest &request);
  HttpAnswer select(const HttpRequest &request);
  HttpAnswer test(const HttpRequest &request);
  HttpAnswer history(const HttpRequest &request);
  HttpAnswer diff(const HttpRequest &request);
  HttpAnswer trend(const HttpRequest &request);
  HttpAnswer triage(const HttpRequest &request);
  HttpAnswer thresholds(const HttpRequest &request);
  HttpAnswer operators(const HttpRequest &request);
  HttpAnswer opTable(const HttpRequest &request);
  HttpAnswer durations(const HttpRequest &request);
  HttpAnswer artifact(const HttpRequest &request);
  HttpAnswer workload(const HttpRequest &request);
  HttpAnswer events(const HttpRequest &request);

  Result<std::shared_ptr<const Overview>> overviewOf(Store &store, const std::string &run);
  /// The run that a request names; empty where it names none.
  Result<std::string> namedRunOf(Store &store, const HttpRequest &request);
  /// The run that a request names, else the latest.
  Result<std::string> runOf(Store &store, const HttpRequest &request);
  /// The test that a request names, in the run that it names or else its last one.
  struct Found {
    RunInfo run;
    TestRecord record;
  };
  Result<Found> testOf(Store &store, const HttpRequest &request);

  ApiOptions settings;
  StorePool stores;
  std::mutex reading; ///< Who wants an overview waits for whoever reads one.
  std::mutex mutex;
  /// By run, those of a state of the store.
  std::map<std::string, std::pair<std::string, std::shared_ptr<const Overview>>> overviews;
  std::map<std::string, std::vector<OutcomeCount>> endedCounts; ///< Of runs that are over.
};

/// The page of documentation, as Markdown.
std::string describeApi();

HttpAnswer refuse(int status, std::string_view message);

// For answers of Api, which begin with a handle of the store.
#define CUPEL_TAKE_STORE(store)                                                                    \
  Result<StorePool::Lease> store##Lease = stores.take();                                           \
  if (!store##Lease)                                                                               \
    return refuse(503, store##Lease.message());                                                    \
  Store &store = **store##Lease

} // namespace cupel::results::serve
