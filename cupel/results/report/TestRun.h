// A run with one test of every kind, for the tests of reports.
#pragma once

#include "cupel/results/report/Changes.h"

#include <limits>
#include <vector>

namespace cupel::results {

inline RunInfo sampleRun() {
  RunInfo run;
  run.id = "20251115-094640-8000";
  run.startedAt = 1763200000.5;
  run.endedAt = 1763200083.25;
  run.commandLine = {"cupel", "run"};
  run.arch = "n150";
  run.device = "reference";
  run.selected = 13;
  run.exitCode = 1;
  run.environment = {{"host", "bench-1 <&>"}, {"git", "4df0411"}};
  return run;
}

inline std::vector<TestRecord> sampleRecords() {
  auto record = [](const char *suite, std::string id, Outcome outcome, double seconds,
                   std::string message = "") {
    TestRecord r;
    r.suite = suite;
    r.id = std::move(id);
    r.outcome = outcome;
    r.lastStage = outcome == Outcome::Passed || outcome == Outcome::XPassed   ? Stage::Done
                  : outcome == Outcome::NotRun || outcome == Outcome::Skipped ? Stage::None
                                                                              : Stage::Execute;
    r.seconds = seconds;
    r.startedAt = seconds > 0 ? 1763200001 : 0;
    r.attempts = seconds > 0 ? 1 : 0;
    r.message = std::move(message);
    return r;
  };
  auto model = [&](const char *framework, std::string path, std::string variant, Outcome outcome,
                   double seconds, std::string message = "") {
    std::string id = path + (variant.empty() ? "" : "-" + variant) + "-single_device-inference";
    TestRecord r = record("models", id, outcome, seconds, std::move(message));
    r.framework = framework;
    r.modelPath = path;
    r.variant = variant;
    r.parallelism = "single_device";
    r.runMode = "inference";
    r.modelName = std::string(framework) + "_" + path.substr(0, path.find('/'));
    r.group = "red";
    r.task = "nlp_causal_lm";
    r.source = "huggingface";
    r.arch = "n150";
    r.testStatus = "EXPECTED_PASSING";
    return r;
  };
  std::vector<TestRecord> records;
  records.push_back(record("programs", "elementwise/add.mlir", Outcome::Passed, 0.012));
  records.back().lastStage = Stage::Done;

  TestRecord pcc = model("pytorch", "llama/causal_lm/pytorch", "3_2_1B", Outcome::Failed, 41.5,
                         "output 0: pcc 0.913 is below the required 0.99; it's 'close'");
  pcc.lastStage = Stage::Compare;
  pcc.bringupStatus = "INCORRECT_RESULT";
  ComparisonRecord low;
  low.pcc = 0.913;
  low.maxAbsolute = 0.25;
  low.pccThreshold = 0.99;
  low.atolThreshold = 0.16;
  low.pccAsserted = true;
  low.sentence = "pcc 0.913 < 0.99";
  ComparisonRecord fine;
  fine.output = 1;
  fine.passed = true;
  fine.pcc = 0.999;
  pcc.comparisons = {fine, low};
  pcc.reasons = {{"DATA_MISMATCH_WRONG_PCC", "The correlation is below what is required", "compare",
                  "0.913 < 0.99"}};
  pcc.output = "loading None\n\x1b[31mdone\x1b[0m\n";
  records.push_back(pcc);

  TestRecord nan = model("jax", "bert/masked_lm/jax", "base", Outcome::Failed, 3.25, "pcc is nan");
  nan.lastStage = Stage::Compare;
  nan.bringupStatus = "INCORRECT_RESULT";
  ComparisonRecord none;
  none.pcc = std::numeric_limits<double>::quiet_NaN();
  none.maxAbsolute = std::numeric_limits<double>::infinity();
  none.sentence = "pcc is nan";
  nan.comparisons = {none};
  nan.reasons = {{"DATA_MISMATCH_PCC_IS_NAN", "The correlation is not a number", "compare", ""},
                 {"OTHER", "Another one", "", ""}};
  nan.notes["ambiguous"] = "DATA_MISMATCH_PCC_IS_NAN OTHER";
  records.push_back(nan);

  records.push_back(model("pytorch", "resnet/pytorch", "50", Outcome::XFailed, 2.5, "known: #12"));
  records.back().testStatus = "KNOWN_FAILURE_XFAIL";
  records.push_back(model("pytorch", "vgg/pytorch", "", Outcome::XPassed, 2.25, ""));
  records.back().testStatus = "KNOWN_FAILURE_XFAIL";
  records.back().bringupStatus = "PASSED";
  records.back().guidance = {"RM_XFAIL"};
  TestRecord skipped =
      record("llm", "gpt/pytorch-2-llm_decode-seq_1-batch_1-single_device-mesh_default-inference",
             Outcome::Skipped, 0, "not supported: needs 8 chips");
  skipped.framework = "pytorch";
  skipped.phase = "llm_decode";
  skipped.sequenceLength = 1;
  skipped.batchSize = 1;
  records.push_back(skipped);
  TestRecord placeholder =
      record("placeholder", "future_model", Outcome::Skipped, 0, "placeholder: no loader yet");
  placeholder.bringupStatus = "NOT_STARTED";
  records.push_back(placeholder);
  records.push_back(record("programs", "crash.mlir", Outcome::Crashed, 0.5, "signal 11"));
  records.back().signal = 11;
  records.back().reasons = {{"SEG_FAULT", "The process died of a segmentation fault", "", ""}};
  records.push_back(record("programs", "loop.mlir", Outcome::TimedOut, 60, "no end after 60 s"));
  records.back().reasons = {{"TIMEOUT", "It did not end in time", "", "60 s"}};
  records.push_back(record("programs", "big.mlir", Outcome::OutOfMemory, 4, "used 8 GiB"));
  records.back().reasons = {{"OUT_OF_MEMORY", "No memory left", "", ""}};
  records.push_back(record("programs", "flaky.mlir", Outcome::Passed, 0.25));
  records.back().attempts = 2;
  records.back().flaky = true;
  records.back().tryOutcomes = {Outcome::Failed, Outcome::Passed};
  records.back().notes["tries_allowed"] = "3";
  records.push_back(record("programs", "alone.mlir", Outcome::Unjudged, 0.125,
                           "no expectation: nobody says what it should give"));
  records.back().lastStage = Stage::Done;
  records.push_back(record("opcases", "add_f32", Outcome::NotRun, 0, "needs the op-case runner"));
  return records;
}

/// What changed since an earlier run of most of them.
inline RunChanges sampleChanges() {
  std::vector<OutcomeRow> before, after;
  for (const TestRecord &record : sampleRecords()) {
    after.push_back(briefly(record, "20251115-094640-8000"));
    OutcomeRow row = after.back();
    row.run = "20251114-094640-8000";
    if (row.id == "crash.mlir")
      row.outcome = Outcome::Passed;
    if (row.id == "flaky.mlir")
      row.outcome = Outcome::Failed;
    if (row.id.starts_with("resnet"))
      row.seconds = 0.5;
    if (row.id.starts_with("llama"))
      row.pcc = 0.98;
    if (row.id != "big.mlir")
      before.push_back(row);
  }
  return compareOutcomes(before, after);
}

} // namespace cupel::results
