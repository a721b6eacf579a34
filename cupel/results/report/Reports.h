// The files a run is reported in: JUnit XML for CI systems, JSON for programs, Markdown for a pull
// request. Each is written from the records alone, one at a time, so that a report of a hundred
// thousand tests needs no more memory than one of ten.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/results/report/Changes.h"
#include "cupel/results/report/Tally.h"
#include "cupel/support/Error.h"

#include <functional>
#include <iosfwd>
#include <span>
#include <string>

namespace cupel::results {

/// Calls its argument with every record of a run. May be called more than once.
using RecordSource = std::function<Status(const std::function<void(const TestRecord &)> &)>;

/// A source of records that are in memory.
RecordSource recordsIn(std::span<const TestRecord> records);

/// JUnit XML as pytest writes it, with upstream's properties (docs/reference/junit.md).
Status writeJUnit(std::ostream &out, const RunInfo &run, const RecordSource &records);

/// One JSON object: run, summary, tests (docs/reference/results.md).
Status writeJson(std::ostream &out, const RunInfo &run, const RecordSource &records);

/// A summary for a pull request: counts, what changed, failures with reasons.
Status writeMarkdown(std::ostream &out, const RunInfo &run, const RecordSource &records,
                     const RunChanges *changes);

/// Writes a report to `path` so that it is complete or absent; `-` is standard output.
Status writeReportFile(const std::string &path, const std::function<Status(std::ostream &)> &write);

/// The class and test name a record has in JUnit XML: `tests.runner.test_models` and
/// `test_all_models_torch[ID]` for models, `cupel.programs` and the id for others.
std::pair<std::string, std::string> junitName(const TestRecord &record);

} // namespace cupel::results
