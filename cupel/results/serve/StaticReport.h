// A run as a folder of pages that opens from disk, for CI to keep: the same pages as the server's,
// and its answers as scripts beside them, since a page from disk may load nothing else.
#pragma once

#include "cupel/results/serve/Api.h"
#include "cupel/support/Error.h"

#include <string>

namespace cupel::results::serve {

struct StaticReportSummary {
  uint64_t tests = 0, files = 0, bytes = 0;
};

/// Writes the report of a run into `folder`, which is made where it is missing; files of an earlier
/// report in it are replaced.
Result<StaticReportSummary> writeStaticReport(Api &api, Store &store, const std::string &run,
                                              const std::string &folder);

} // namespace cupel::results::serve
