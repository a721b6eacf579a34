// Makes a results store for the tests of the pages: cupel_make_store FOLDER KIND [TESTS RUNS].
//   small    a few dozen tests on three architectures over several runs, every outcome among them
//   large    TESTS tests (20000) and RUNS runs (500): three whole ones at the end, parts before
//   hostile  names, messages, logs and reasons that would be HTML, script or paths if anybody let them
// Everything is made from the numbers of tests and runs, so that a test knows what to expect.

#include "cupel/results/store/Store.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>

using namespace cupel;
using namespace cupel::results;

namespace {

constexpr double kBegin = 1'790'000'000;
const char *const kArchs[] = {"n150", "p150", "n300"};
const char *const kFamilies[] = {"llama", "resnet", "bert", "whisper", "vit", "falcon", "mamba", "gemma"};
const char *const kTasks[] = {"nlp_causal_lm", "cv_image_cls", "nlp_masked_lm", "audio_asr", "cv_image_cls"};
const char *const kReasons[] = {"OUT_OF_SRAM", "UNSUPPORTED_OP", "WRONG_RESULT", "DEVICE_HANG"};

[[noreturn]] void die(std::string_view message) {
  fmt::print(stderr, "cupel_make_store: {}\n", message);
  std::exit(2);
}
void hold(const Status &status) {
  if (!status)
    die(status.message());
}

Outcome outcomeOf(uint64_t test, uint64_t run) {
  switch ((test * 7919 + run / 40) % 20) {
  case 0: return Outcome::Failed;
  case 1: return Outcome::XFailed;
  case 2: return Outcome::Skipped;
  case 3: return test % 3 == 0 ? Outcome::Crashed : Outcome::TimedOut;
  case 4: return test % 2 == 0 ? Outcome::Unjudged : Outcome::OutOfMemory;
  case 5: return test % 4 == 0 ? Outcome::XPassed : Outcome::Passed;
  default: return Outcome::Passed;
  }
}

TestRecord recordOf(uint64_t test, uint64_t run, const std::string &arch) {
  TestRecord record;
  const char *family = kFamilies[test % std::size(kFamilies)];
  record.suite = "models";
  record.modelPath = fmt::format("{}/{}/pytorch", family, kTasks[test % std::size(kTasks)]);
  record.variant = fmt::format("v{}", test);
  record.id = fmt::format("{}-{}-single_device-{}", record.modelPath, record.variant, test % 2 ? "inference" : "training");
  record.framework = "pytorch";
  record.parallelism = "single_device";
  record.runMode = test % 2 ? "inference" : "training";
  record.modelName = fmt::format("{} {}", family, test);
  record.group = test % 5 ? "generality" : "red";
  record.task = kTasks[test % std::size(kTasks)];
  record.source = test % 3 ? "huggingface" : "torch_hub";
  record.arch = arch;
  record.markers = {arch, record.runMode, "single_device", test % 4 ? "expected_passing" : "known_failure_xfail"};
  record.testStatus = test % 4 ? "EXPECTED_PASSING" : "KNOWN_FAILURE_XFAIL";
  record.outcome = outcomeOf(test, run);
  record.lastStage = record.outcome == Outcome::Passed ? Stage::Done : Stage::Compile;
  record.bringupStatus = record.outcome == Outcome::Passed    ? "PASSED"
                         : record.outcome == Outcome::Failed  ? "INCORRECT_RESULT"
                         : record.outcome == Outcome::Skipped ? "NOT_STARTED"
                                                              : "FAILED_TTMLIR_COMPILATION";
  record.startedAt = kBegin + double(run) * 3600;
  record.seconds = 0.5 + double(test % 97) / 10;
  record.stages = {{Stage::Load, record.seconds / 4}, {Stage::Compile, record.seconds / 2}, {Stage::Execute, record.seconds / 4}};
  record.peakMemoryBytes = (test % 64 + 1) << 20;
  record.attempts = 1;
  record.device = "cupel";
  if (ranThrough(record.outcome)) {
    ComparisonRecord comparison;
    comparison.passed = record.outcome == Outcome::Passed;
    comparison.pcc = comparison.passed ? 0.999 - double(test % 10) / 10000 : 0.62;
    comparison.pccThreshold = 0.99;
    comparison.pccAsserted = test % 6 != 0;
    comparison.maxAbsolute = 0.01;
    comparison.sentence = comparison.passed ? "pcc 0.999 is at least 0.99" : "pcc 0.62 is below 0.99";
    comparison.rule = "pcc";
    record.comparisons = {comparison};
  }
  if (needsReason(record.outcome)) {
    record.message = fmt::format("{} in stage compile", kReasons[test % std::size(kReasons)]);
    record.reasons = {{kReasons[test % std::size(kReasons)], "what this reason means", "compiler", "said the compiler"}};
    record.output = "first line\nsecond line\n";
  }
  return record;
}

void addRun(Store &store, uint64_t run, const std::string &arch, std::vector<TestRecord> records, bool ends = true) {
  RunInfo info;
  info.startedAt = kBegin + double(run) * 3600;
  info.arch = arch;
  info.device = "cupel";
  info.selected = uint32_t(records.size());
  info.commandLine = {"cupel", "run", "zoo", "--arch", arch};
  info.environment = {{"git", fmt::format("commit{:04}", run)}, {"folder", "/somewhere"}};
  hold(store.beginRun(info));
  hold(store.add(info.id, records));
  info.endedAt = ends ? info.startedAt + 900 : 0;
  info.exitCode = 1;
  if (ends)
    hold(store.endRun(info));
}

void makeRuns(Store &store, uint64_t tests, uint64_t runs) {
  for (uint64_t run = 0; run < runs; ++run) {
    std::string arch = kArchs[run % std::size(kArchs)];
    bool isWhole = tests < 1000 || run + std::size(kArchs) >= runs;
    uint64_t step = isWhole ? 1 : std::max<uint64_t>(1, tests / 10);
    std::vector<TestRecord> records;
    for (uint64_t test = isWhole ? 0 : run % step; test < tests; test += step)
      records.push_back(recordOf(test, run, arch));
    addRun(store, run, arch, std::move(records));
  }
}

void makeHostile(Store &store, const std::string &folder) {
  const char *const kTexts[] = {
      "<script>window.stolen=1</script>", "<img src=x onerror=window.stolen=1>", "\"><svg onload=window.stolen=1>",
      "javascript:window.stolen=1", "../../../etc/passwd", "a\nb\tc\x01", "'; DROP TABLE runs; --", "=HYPERLINK(\"http://evil\")",
      "\xff\xfe not utf8", "{{constructor.constructor('window.stolen=1')()}}", "</script><script>window.stolen=1</script>", "%2e%2e%2f%00",
      ("\xe2\x80\xae" "gnp.exe"), "__proto__", "constructor"};
  std::vector<TestRecord> records;
  for (uint64_t i = 0; i < std::size(kTexts); ++i) {
    std::string text = kTexts[i];
    TestRecord record = recordOf(0, 0, "n150");
    record.suite = "programs";
    // A name that is no text has no address.
    record.id = text.find('\xff') == std::string::npos ? text : "bytes that are no text";
    record.modelName = record.modelPath = record.task = record.source = record.group = text;
    record.file = record.variant = record.message = record.output = record.errorClass = record.device = text;
    record.markers = {text};
    record.outcome = Outcome::Failed;
    record.bringupStatus = text;
    record.reasons = {{text, text, text, text}};
    record.guidance = {text};
    record.notes = {{text, text}, {"op table", "/etc/passwd"}};
    record.artifacts = {{text, "../../../../etc/passwd", 4}};
    record.reproduction = "/etc";
    record.comparisons[0].sentence = text;
    record.comparisons[0].pcc = std::numeric_limits<double>::quiet_NaN();
    record.comparisons[0].passed = false;
    records.push_back(std::move(record));
  }
  // A workload that may be taken along, with a link in it that may not.
  std::filesystem::path kept = std::filesystem::path(folder) / "failed" / "kept";
  std::filesystem::create_directories(kept / "inner");
  std::ofstream(kept / "inner" / "program.mlir") << "module {}\n";
  std::error_code error;
  std::filesystem::create_symlink("/etc/passwd", kept / "link", error);
  TestRecord honest = recordOf(1, 0, "n150");
  honest.outcome = Outcome::Failed;
  honest.reproduction = kept.string();
  Result<ArtifactRecord> artifact = store.keepArtifact("log.txt", "what was left behind\n");
  if (!artifact)
    die(artifact.message());
  honest.artifacts = {*artifact};
  records.push_back(std::move(honest));
  addRun(store, 0, "n150", std::move(records));
}

} // namespace

int main(int argc, char **argv) {
  std::string folder = argc > 1 ? argv[1] : "", kind = argc > 2 ? argv[2] : "";
  auto number = [&](int at, uint64_t usual) { return argc > at ? std::strtoull(argv[at], nullptr, 10) : usual; };
  if (folder.empty() || folder.starts_with('-'))
    die("FOLDER KIND [TESTS RUNS]");
  Result<Store> store = Store::open(folder);
  if (!store)
    die(store.message());
  if (kind == "small")
    makeRuns(*store, number(3, 60), number(4, 9));
  else if (kind == "large")
    makeRuns(*store, number(3, 20'000), number(4, 500));
  else if (kind == "hostile")
    makeHostile(*store, folder);
  else
    die("KIND is small, large or hostile");
}
