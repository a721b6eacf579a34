#include "cupel/cli/ExtractedCases.h"

#include "cupel/results/report/Reports.h"
#include "cupel/testbench/opcases/Writer.h"

#include <filesystem>
#include <fmt/format.h>
#include <ostream>
#include <set>

namespace cupel::cli {

static constexpr std::string_view kVerb = "ops extract";
static constexpr size_t kMostLeftOut = 10;

int writeExtractedCases(const testbench::worker::ExtractedCases &made, const std::string &file,
                        const std::string &output, const std::string &source) {
  if (made.file.cases.empty() && made.leftOut.empty())
    return reportError(kVerb, file + ": calls no operator", kExitNothingSelected);
  std::string heading = fmt::format(
      "{} distinct of {} calls in {}, as `cupel ops extract` found them ({}).",
      made.file.cases.size(), made.calls, std::filesystem::path(file).filename().string(), source);
  std::string text = testbench::opcases::toYaml(made.file, made.defaults, heading);
  Status written =
      results::writeReportFile(output.empty() ? "-" : output, [&](std::ostream &out) -> Status {
        out << text;
        return {};
      });
  if (!written)
    return reportError(kVerb, written.message(), kExitUsage);
  std::set<std::string> ops;
  for (const testbench::opcases::Case &one : made.file.cases)
    ops.insert(one.op);
  fmt::print(stderr, "cupel {}: {} cases of {} operators from {} calls\n", kVerb,
             made.file.cases.size(), ops.size(), made.calls);
  for (size_t i = 0; i < made.leftOut.size() && i < kMostLeftOut; ++i)
    fmt::print(stderr, "cupel {}: left out: {}\n", kVerb, made.leftOut[i]);
  if (made.leftOut.size() > kMostLeftOut)
    fmt::print(stderr, "cupel {}: left out: and {} more\n", kVerb,
               made.leftOut.size() - kMostLeftOut);
  return kExitSuccess;
}

} // namespace cupel::cli
