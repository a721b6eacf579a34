#include "cupel/results/store/Store.h"
#include "cupel/results/store/Journal.h"
#include "cupel/results/store/StoreTesting.h"
#include "cupel/support/Sha256.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <sstream>

using namespace cupel;
using namespace cupel::results;

namespace {

using StoreTest = OverDatabases;

TestRecord fullRecord() {
  TestRecord r = simpleRecord("llama/causal_lm/pytorch-3_2_1B-single_device-inference");
  r.suite = "models";
  r.framework = "pytorch";
  r.markers = {"inference", "n150"};
  r.testStatus = "EXPECTED_PASSING";
  r.bringupStatus = "INCORRECT_RESULT";
  r.outcome = Outcome::Failed;
  r.startedAt = 1763200000.125;
  r.peakMemoryBytes = uint64_t(1) << 40;
  r.tryOutcomes = {Outcome::Crashed, Outcome::Failed};
  r.attempts = 2;
  r.flaky = true;
  r.signal = 9;
  r.errorClass = "AssertionError";
  r.message = "pcc 0.5 < 0.99 'quoted'";
  r.output = std::string("line one\nline two \"quoted\"\x1b[0m");
  ComparisonRecord good, bad;
  good.passed = true;
  good.pcc = 0.5;
  good.maxAbsolute = 3.5;
  good.pccThreshold = 0.99;
  good.pccAsserted = true;
  good.sentence = "pcc 0.5 < 0.99";
  good.rule = "configured";
  good.strictPassed = false;
  good.strictSentence = "all elements are beyond 8x noise";
  good.precision = "tf32/f32";
  good.noise = 1e-6;
  good.worstInNoise = 340;
  good.wholeInNoise = std::numeric_limits<double>::infinity();
  bad.output = 1;
  bad.pcc = std::numeric_limits<double>::quiet_NaN();
  bad.maxAbsolute = std::numeric_limits<double>::infinity();
  bad.relativeL2 = 1e-300;
  r.comparisons = {good, bad};
  r.reasons = {{"PCC", "pcc too low", "compare", "0.5"}, {"OTHER", "", "", ""}};
  r.guidance = {"RM_XFAIL"};
  r.artifacts = {{"vhlo.mlir", std::string(64, 'a'), 77}};
  r.notes = {{"ambiguous", "2"}};
  return r;
}

TEST_P(StoreTest, GivesBackWhatItWasGiven) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 1763200000.5);
  EXPECT_EQ(run.id, "20251115-094640-8000");
  TestRecord record = fullRecord();
  ASSERT_TRUE(store.add(run.id, std::vector{record, simpleRecord("add.mlir")}));
  run.endedAt = 1763200001;
  run.exitCode = 1;
  ASSERT_TRUE(store.endRun(run));

  Result<RunInfo> again = store.run(run.id);
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(*again, run);
  auto loaded = store.record(run.id, record.fullName());
  ASSERT_TRUE(loaded) << loaded.message();
  ASSERT_TRUE(*loaded);
  TestRecord &got = **loaded;
  // NaN is not equal to itself; look at it, then take it away.
  ASSERT_EQ(got.comparisons.size(), 2u);
  EXPECT_TRUE(std::isnan(*got.comparisons[1].pcc));
  got.comparisons[1].pcc = record.comparisons[1].pcc = 0;
  EXPECT_EQ(got, record);

  auto rows = store.outcomes(run.id);
  ASSERT_TRUE(rows) << rows.message();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].fullName(), record.fullName());
  EXPECT_EQ((*rows)[0].reason, "PCC");
  EXPECT_TRUE((*rows)[0].flaky);
  EXPECT_TRUE(std::isnan(*(*rows)[0].pcc));
  EXPECT_TRUE(std::isinf(*(*rows)[0].maxAbsolute));
  EXPECT_FALSE((*rows)[1].pcc);

  auto missing = store.record(run.id, "programs::none");
  ASSERT_TRUE(missing);
  EXPECT_FALSE(*missing);
}

/// Anything a record may hold.
TestRecord randomRecord(std::mt19937 &random, int number) {
  auto below = [&](int n) { return std::uniform_int_distribution<>(0, n - 1)(random); };
  auto text = [&] {
    static const char *const kPieces[] = {"",   "a", "'",  "\"",        "\n",
                                          "%s", "α", "\\", "x'); DROP", "𝛼"};
    std::string result;
    for (int i = below(6); i > 0; --i)
      result += kPieces[below(10)];
    return result;
  };
  auto number64 = [&]() -> double {
    switch (below(5)) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<double>::infinity();
    case 2:
      return -1.0 / 3;
    default:
      return std::uniform_real_distribution<>(-1e9, 1e-9)(random);
    }
  };
  auto maybe = [&]() -> std::optional<double> {
    return below(2) ? std::optional(number64()) : std::nullopt;
  };
  TestRecord r;
  r.suite = "s" + std::to_string(below(3));
  r.id = std::to_string(number) + "::" + text();
  for (std::string *field :
       {&r.file, &r.framework, &r.modelPath, &r.variant, &r.parallelism, &r.runMode, &r.modelName,
        &r.group, &r.task, &r.source, &r.phase, &r.arch, &r.testStatus, &r.bringupStatus, &r.device,
        &r.errorClass, &r.message, &r.output})
    *field = text();
  r.part = uint32_t(below(9));
  r.sequenceLength = uint32_t(below(9000));
  r.outcome = Outcome(below(10));
  r.lastStage = Stage(below(8));
  for (int i = below(4); i > 0; --i)
    r.stages.push_back({Stage(below(8)), std::abs(number64())});
  r.seconds = below(1000) / 7.0;
  r.peakMemoryBytes = uint64_t(below(1000)) << below(50);
  r.flaky = below(2);
  for (int i = below(3); i > 0; --i)
    r.tryOutcomes.push_back(Outcome(below(10)));
  if (below(2))
    r.signal = below(64);
  for (int i = below(4); i > 0; --i) {
    ComparisonRecord c;
    c.output = uint32_t(below(100));
    c.passed = below(2);
    for (std::optional<double> *field : {&c.pcc, &c.maxAbsolute, &c.maxRelative, &c.relativeL2,
                                         &c.pccThreshold, &c.atolThreshold, &c.rtolThreshold})
      *field = maybe();
    c.pccAsserted = below(2);
    c.allcloseAsserted = below(2);
    c.sentence = text();
    r.comparisons.push_back(c);
  }
  for (int i = below(3); i > 0; --i)
    r.reasons.push_back({text(), text(), text(), text()});
  for (int i = below(3); i > 0; --i)
    r.artifacts.push_back({text(), text(), uint64_t(below(1000))});
  for (int i = below(3); i > 0; --i)
    r.notes[text()] = text();
  r.markers.assign(size_t(below(3)), text());
  return r;
}

TEST_P(StoreTest, GivesBackAnyRecord) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 100);
  std::mt19937 random(42);
  std::vector<TestRecord> records;
  for (int i = 0; i < 500; ++i)
    records.push_back(randomRecord(random, i));
  ASSERT_TRUE(store.add(run.id, records));
  for (const TestRecord &record : records) {
    auto loaded = store.record(run.id, record.fullName());
    ASSERT_TRUE(loaded && *loaded) << record.fullName();
    EXPECT_EQ(**loaded, record) << record.fullName();
  }
  size_t seen = 0;
  ASSERT_TRUE(store.forEachRecord(run.id, [&](const TestRecord &) { ++seen; }));
  EXPECT_EQ(seen, records.size());
}

TEST_P(StoreTest, KeepsOneOutcomeATestAndTheLaterOneWins) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 100);
  ASSERT_TRUE(store.add(run.id, std::vector{simpleRecord("a", Outcome::Interrupted)}));
  ASSERT_TRUE(store.add(run.id, std::vector{simpleRecord("a", Outcome::Passed)}));
  auto rows = store.outcomes(run.id);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].outcome, Outcome::Passed);
  auto record = store.record(run.id, "programs::a");
  ASSERT_TRUE(record);
  EXPECT_EQ((*record)->stages.size(), 2u); // None of the replaced one's.
}

TEST_P(StoreTest, RefusesOutcomesOfARunItDoesNotKnow) {
  Store store = openStore(at(folder / "s"));
  Status status = store.add("nope", std::vector{simpleRecord("a")});
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("no run 'nope'"), std::string::npos) << status.message();
}

TEST_P(StoreTest, FindsRunsByAgePrefixAndNearness) {
  Store store = openStore(at(folder / "s"));
  auto empty = store.resolveRun("latest");
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.message().find("no runs yet"), std::string::npos);

  RunInfo first = begin(store, 1763200000), second = begin(store, 1763290000);
  // Two that begin in the same instant get different names, in order.
  RunInfo third = begin(store, 1763290000);
  EXPECT_LT(second.id, third.id);
  EXPECT_EQ(*store.resolveRun("latest"), third.id);
  EXPECT_EQ(*store.resolveRun("latest~2"), first.id);
  EXPECT_EQ(*store.resolveRun("20251115"), first.id);
  EXPECT_EQ(*store.resolveRun(second.id), second.id);
  auto text = [&](const char *name) {
    auto found = store.resolveRun(name);
    return found ? "found " + *found : found.message();
  };
  EXPECT_NE(text("20251116").find("fits more than one run"), std::string::npos);
  EXPECT_NE(text("latest~3").find("only 3 runs"), std::string::npos);
  EXPECT_NE(text("latest~x").find("wants a number"), std::string::npos);
  EXPECT_NE(text("lates").find("did you mean latest?"), std::string::npos);
  EXPECT_NE(text("").find("no run ''"), std::string::npos);
  EXPECT_EQ(**store.runBefore(third.id), second.id);
  EXPECT_FALSE(*store.runBefore(first.id));

  auto runs = store.runs(2);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].info.id, third.id);
}

TEST_P(StoreTest, FindsTestsByNameAndSaysWhatIsNear) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 100);
  TestRecord other = simpleRecord("bert/pytorch-base-single_device-inference");
  other.suite = "models";
  TestRecord twin = other;
  twin.suite = "op_by_op";
  TestRecord deepseek = simpleRecord("deepseek/pytorch-single_device-inference");
  deepseek.suite = "models";
  ASSERT_TRUE(store.add(run.id, std::vector{simpleRecord("add.mlir"), other, twin, deepseek}));
  EXPECT_EQ(*store.resolveTest("add.mlir"), "programs::add.mlir");
  EXPECT_EQ(*store.resolveTest("op_by_op::" + twin.id), twin.fullName());
  EXPECT_EQ(*store.resolveTest("tests/runner/test_models.py::test_all_models_torch["
                               "deepseek/pytorch-single_device-inference]"),
            deepseek.fullName());
  auto text = [&](std::string name) {
    auto found = store.resolveTest(name);
    return found ? "found " + *found : found.message();
  };
  EXPECT_NE(text(other.id).find("more than one suite: models::bert"), std::string::npos);
  EXPECT_NE(text("ad.mlir").find("did you mean"), std::string::npos) << text("ad.mlir");
  EXPECT_NE(text("deepseek").find("did you mean models::deepseek/pytorch"), std::string::npos)
      << text("deepseek");
}

TEST_P(StoreTest, LearnsFromTheNewestRunOfTheSameDevice) {
  Store store = openStore(at(folder / "s"));
  RunInfo first = begin(store, 100), second = begin(store, 200), other = begin(store, 300, "cpu");
  ASSERT_TRUE(store.add(second.id, std::vector{simpleRecord("a", Outcome::Failed, 4),
                                               simpleRecord("b", Outcome::Crashed, 7)}));
  // Imported late: older than what is known.
  ASSERT_TRUE(store.add(first.id, std::vector{simpleRecord("a", Outcome::Passed, 1),
                                              simpleRecord("b", Outcome::Passed, 2)}));
  ASSERT_TRUE(store.add(other.id, std::vector{simpleRecord("a", Outcome::Passed, 9)}));
  auto known = store.known("", "reference");
  ASSERT_TRUE(known) << known.message();
  ASSERT_EQ(known->size(), 2u);
  EXPECT_EQ((*known)[0].id, "a");
  EXPECT_EQ((*known)[0].outcome, Outcome::Failed);
  EXPECT_EQ((*known)[0].run, second.id);
  EXPECT_EQ((*known)[0].seconds, 4);
  EXPECT_EQ((*known)[1].outcome, Outcome::Crashed);
  EXPECT_EQ((*known)[1].seconds, 0); // A crash does not say how long it would have taken.

  auto durations = store.durations("", "reference");
  ASSERT_TRUE(durations) << durations.message();
  EXPECT_EQ((*durations)["programs::a"].size(), 2u);
  EXPECT_EQ((*durations)["programs::b"], std::vector<double>{2}); // A crash says nothing.
  EXPECT_EQ((*store.durations("", "reference", 1))["programs::a"], std::vector<double>{4});

  RunInfo third = begin(store, 400);
  ASSERT_TRUE(store.add(third.id, std::vector{simpleRecord("a", Outcome::TimedOut, 60),
                                              simpleRecord("b", Outcome::Passed, 3)}));
  known = store.known("", "reference");
  EXPECT_EQ((*known)[0].seconds, 60);
  EXPECT_EQ((*known)[1].seconds, 3);
  RunInfo fourth = begin(store, 500);
  ASSERT_TRUE(store.add(fourth.id, std::vector{simpleRecord("b", Outcome::NotRun, 0)}));
  known = store.known("", "reference");
  EXPECT_EQ((*known)[1].outcome, Outcome::NotRun);
  EXPECT_EQ((*known)[1].seconds, 3);
  auto history = store.history("programs::b");
  ASSERT_TRUE(history);
  ASSERT_EQ(history->size(), 4u);
  EXPECT_EQ((*history)[0].run, fourth.id);
  EXPECT_EQ((*history)[3].run, first.id);
}

TEST_P(StoreTest, ImportsAJournalAnyNumberOfTimes) {
  Store store = openStore(at(folder / "s"));
  RunInfo run;
  run.id = "20261115-081530-4f2a";
  run.startedAt = 1000;
  run.selected = 3;
  std::string path = store.journalPath(run.id);
  std::string lines = journalBegin(run) + journalLine(simpleRecord("a")) +
                      journalLine(simpleRecord("b", Outcome::Interrupted));
  std::ofstream(path) << lines << "{\"record\":{\"su";
  // One of them came the direct way already.
  RunInfo copy = run;
  ASSERT_TRUE(store.beginRun(copy));
  ASSERT_TRUE(store.add(run.id, std::vector{simpleRecord("a")}));

  auto imported = store.importPending();
  ASSERT_TRUE(imported) << imported.message();
  ASSERT_EQ(imported->size(), 1u);
  EXPECT_EQ((*imported)[0].added, 1u);
  EXPECT_EQ((*imported)[0].unchanged, 1u);
  EXPECT_EQ((*imported)[0].damaged, 0u);

  // The run is resumed: the torn line is overwritten, b runs again, c for the first time.
  run.endedAt = 1010;
  run.exitCode = 0;
  std::ofstream(path) << lines << journalLine(simpleRecord("b")) << journalLine(simpleRecord("c"))
                      << journalEnd(run);
  auto again = store.importJournal(path);
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(again->added, 1u);
  EXPECT_EQ(again->replaced, 1u);
  EXPECT_EQ(again->unchanged, 1u);
  EXPECT_EQ(*store.run(run.id), run);
  again = store.importJournal(path);
  EXPECT_EQ(again->added + again->replaced, 0u);
  EXPECT_EQ(again->unchanged, 3u);
  EXPECT_TRUE(store.importPending()->empty());
  auto rows = store.outcomes(run.id);
  ASSERT_EQ(rows->size(), 3u);
  for (const OutcomeRow &row : *rows)
    EXPECT_EQ(row.outcome, Outcome::Passed) << row.id;

  std::ofstream(store.journalPath("x")) << "hello\n";
  imported = store.importPending();
  ASSERT_EQ(imported->size(), 1u);
  EXPECT_NE((*imported)[0].firstDamage.find("no line that says which run"), std::string::npos);
}

TEST_P(StoreTest, DoesNotReadTheJournalOfACompleteRunAgain) {
  Store store = openStore(at(folder / "s"));
  RunInfo run = begin(store, 100);
  std::vector records = {simpleRecord("a"), simpleRecord("b")};
  ASSERT_TRUE(store.add(run.id, records));
  run.endedAt = 110;
  // Lines that would show if they were read.
  std::ofstream(store.journalPath(run.id)) << journalBegin(run) << "rubbish\n";
  ASSERT_TRUE(store.endRun(run));
  EXPECT_TRUE(store.importPending()->empty());
}

TEST_P(StoreTest, KeepsArtifactsOnceByContent) {
  Store store = openStore(at(folder / "s"));
  auto first = store.keepArtifact("a.mlir", "module {}");
  auto second = store.keepArtifact("b.mlir", "module {}");
  ASSERT_TRUE(first) << first.message();
  ASSERT_TRUE(second);
  EXPECT_EQ(first->sha256, sha256("module {}"));
  EXPECT_EQ(first->sha256, second->sha256);
  EXPECT_EQ(second->name, "b.mlir");
  std::ifstream in(store.artifactPath(first->sha256));
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), "module {}");
  size_t files = 0;
  for (auto &entry : std::filesystem::recursive_directory_iterator(folder / "s/artifacts"))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1u);
  // One that was cut short by something outside is put right.
  std::ofstream(store.artifactPath(first->sha256)) << "mod";
  ASSERT_TRUE(store.keepArtifact("a.mlir", "module {}"));
  EXPECT_EQ(std::filesystem::file_size(store.artifactPath(first->sha256)), 9u);
  auto missing = store.keepArtifactFile("x", folder / "none");
  ASSERT_FALSE(missing);
}

TEST_P(StoreTest, CanBeReadWithoutBeingWritten) {
  auto missing = Store::open(at(folder / "s"), Store::Access::ReadOnly);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.message().find(isPostgres() ? "has schema version 0"
                                                : "no results store there; `cupel run` makes one"),
            std::string::npos)
      << missing.message();
  {
    Store store = openStore(at(folder / "s"));
    RunInfo run = begin(store, 100);
    ASSERT_TRUE(store.add(run.id, std::vector{simpleRecord("a")}));
  }
  auto store = Store::open(at(folder / "s"), Store::Access::ReadOnly);
  ASSERT_TRUE(store) << store.message();
  EXPECT_EQ(store->runs(5)->size(), 1u);
  RunInfo run;
  Status status = store->beginRun(run);
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("read-only"), std::string::npos) << status.message();
  EXPECT_FALSE(run.id.empty()); // The run can go on under that name.
}

TEST_P(StoreTest, OverviewsSeeTheLastOutcomeOnEachDevice) {
  Store store = openStore(at(folder / "s"));
  std::vector<std::string> runs;
  std::vector<std::string> states = {*store.state()};
  for (auto [arch, outcome] : {std::pair("n150", Outcome::Failed), std::pair("p150", Outcome::Passed), std::pair("n150", Outcome::Passed)}) {
    RunInfo run;
    run.arch = arch;
    run.device = "cupel";
    run.startedAt = 1'790'000'000 + 100 * double(runs.size());
    ASSERT_TRUE(store.beginRun(run));
    TestRecord record = fullRecord();
    record.outcome = outcome;
    record.bringupStatus = outcome == Outcome::Passed ? "PASSED" : "INCORRECT_RESULT";
    ASSERT_TRUE(store.add(run.id, {&record, 1}));
    run.endedAt = run.startedAt + 1;
    ASSERT_TRUE(store.endRun(run));
    runs.push_back(run.id);
    states.push_back(*store.state());
  }
  for (size_t i = 1; i < states.size(); ++i)
    EXPECT_NE(states[i - 1], states[i]);
  EXPECT_EQ(*store.state(), states.back());

  std::vector<OutcomeBrief> latest;
  ASSERT_TRUE(store.forEachLatest([&](const OutcomeBrief &brief) { latest.push_back(brief); }));
  ASSERT_EQ(latest.size(), 2u);
  EXPECT_EQ(latest[0].arch, "n150");
  EXPECT_EQ(latest[0].row.run, runs[2]);
  EXPECT_EQ(latest[0].row.outcome, Outcome::Passed);
  EXPECT_EQ(latest[1].arch, "p150");
  EXPECT_EQ(latest[1].record.markers, fullRecord().markers);

  std::vector<std::string> seen;
  ASSERT_TRUE(store.forEachBrief(runs[0], [&](const OutcomeBrief &brief) {
    seen.push_back(brief.row.fullName() + " " + brief.record.bringupStatus);
  }));
  EXPECT_EQ(seen, std::vector<std::string>{fullRecord().fullName() + " INCORRECT_RESULT"});
  Result<std::vector<OutcomeCount>> counts = store.counts(runs[1]);
  ASSERT_TRUE(counts);
  ASSERT_EQ(counts->size(), 1u);
  EXPECT_EQ(counts->front().outcome, Outcome::Passed);
  EXPECT_EQ(counts->front().bringupStatus, "PASSED");
  EXPECT_EQ(counts->front().count, 1u);
  EXPECT_FALSE(store.forEachBrief("nosuch", [](const OutcomeBrief &) {}));
}

INSTANTIATE_TEST_SUITE_P(Over, StoreTest,
                         testing::Values(Database::Kind::Sqlite, Database::Kind::Postgres),
                         kindName);

} // namespace
