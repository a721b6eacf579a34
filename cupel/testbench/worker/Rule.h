// By which rule a result is judged: comparators that somebody named keep their meaning, what nobody
// named is judged by noise, and what the strict rule says is known of every result. Used where the
// worker judges outputs.
#pragma once

#include "cupel/testbench/worker/Comparators.h"
#include "cupel/testbench/worker/Protocol.h"
#include "cupel/testbench/worker/TestNoise.h"

namespace cupel::testbench::worker {

/// What decides, where a comparator is named and where none is.
struct Rule {
  /// Comparators of the configuration, of the case or of upstream's default; nothing: noise decides.
  std::optional<Comparators> comparators;
  std::string name; ///< As the record has it: `strict`, `configured` or `pcc`.

  /// Of output `result` of a test.
  static Rule of(const Request &request, const workload::Workload &workload, size_t result);
};

/// Judges one output by its rule, and says what the strict one has to say. An error where the
/// comparison cannot be made.
Result<results::ComparisonRecord> judgeOutput(uint32_t output, size_t list, size_t position,
                                              const tensor::Tensor &actual,
                                              const tensor::Tensor &expected, const Rule &rule,
                                              TestNoise &noise);

/// The verdict by noise alone, into a record. The noise is measured only if it can matter.
/// `picture`, where it is wanted, is what a wrong result looks like.
Status judgeStrictly(size_t list, size_t position, const tensor::Tensor &actual,
                     const tensor::Tensor &expected, TestNoise &noise,
                     results::ComparisonRecord &record, std::string *picture = nullptr);

/// Whether all that speaks against the results of a test are limits that noise would have widened,
/// had there been time to measure it, or to look as long as before a result is called wrong.
bool isForLackOfTime(const results::TestRecord &record, const TestNoise &noise);
/// The same where there was no memory to measure it.
bool isForLackOfMemory(const results::TestRecord &record, const TestNoise &noise);

/// By which rules the outputs of a test were judged, for the notes of its record.
std::string describeRules(const results::TestRecord &record, const TestNoise &noise);

} // namespace cupel::testbench::worker
