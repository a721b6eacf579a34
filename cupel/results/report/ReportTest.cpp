// The reports against golden files: `CUPEL_UPDATE_GOLDEN=1` writes them anew, for `git diff` to
// judge.

#include "cupel/results/report/Reports.h"
#include "cupel/results/report/Terminal.h"
#include "cupel/results/report/TestRun.h"
#include "cupel/results/report/Text.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

using namespace cupel;
using namespace cupel::results;

namespace {

void expectGolden(const std::string &name, const std::string &text) {
  std::string path = std::string(CUPEL_TESTDATA) + "/" + name;
  if (std::getenv("CUPEL_UPDATE_GOLDEN")) {
    std::ofstream(path) << text;
    return;
  }
  Result<FileContents> golden = readInput(path);
  ASSERT_TRUE(golden) << golden.message();
  EXPECT_EQ(text, golden->bytes()) << "differs from " << path;
}

template <typename Writer> std::string written(Writer &&writer) {
  std::ostringstream out;
  Status status = writer(out);
  EXPECT_TRUE(status) << status.message();
  return out.str();
}

TEST(Reports, JUnitIsWhatItWas) {
  std::vector<TestRecord> records = sampleRecords();
  expectGolden("junit.xml", written([&](std::ostream &out) {
                 return writeJUnit(out, sampleRun(), recordsIn(records));
               }));
}

TEST(Reports, JsonIsWhatItWas) {
  std::vector<TestRecord> records = sampleRecords();
  std::string text =
      written([&](std::ostream &out) { return writeJson(out, sampleRun(), recordsIn(records)); });
  expectGolden("report.json", text);
  auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["summary"]["total"], records.size());
  EXPECT_EQ(json["tests"].size(), records.size());
  uint64_t sum = 0;
  for (const auto &[name, count] : json["summary"]["outcomes"].items())
    sum += count.get<uint64_t>();
  EXPECT_EQ(sum, records.size());
}

TEST(Reports, MarkdownIsWhatItWas) {
  std::vector<TestRecord> records = sampleRecords();
  RunChanges changes = sampleChanges();
  expectGolden("summary.md", written([&](std::ostream &out) {
                 return writeMarkdown(out, sampleRun(), recordsIn(records), &changes);
               }));
}

TEST(Reports, SummaryIsWhatItWas) {
  Tally tally;
  for (const TestRecord &record : sampleRecords())
    tally.add(record);
  RunChanges changes = sampleChanges();
  expectGolden("summary.txt", summaryText(sampleRun(), tally, &changes, {}));
}

// A row of Outcomes.def is all that an outcome needs: every report counts and shows each of them.
TEST(Reports, KnowsEveryOutcome) {
  std::vector<TestRecord> records;
  for (size_t i = 0; i < kOutcomeCount; ++i) {
    TestRecord record;
    record.suite = "opcases";
    record.id = "case" + std::to_string(i);
    record.outcome = Outcome(i);
    record.notes["op"] = "torch.add";
    records.push_back(record);
    EXPECT_EQ(parseOutcome(name(Outcome(i))), Outcome(i));
    EXPECT_NE(testLine(record, /*colour=*/true).find("\x1b["), std::string::npos);
  }
  RunInfo run = sampleRun();
  pugi::xml_document xml;
  ASSERT_TRUE(xml.load_string(
      written([&](std::ostream &out) { return writeJUnit(out, run, recordsIn(records)); }).c_str()));
  pugi::xml_node suite = xml.child("testsuites").child("testsuite");
  std::map<std::string, unsigned> elements;
  for (pugi::xml_node node : suite.children("testcase"))
    for (const char *element : {"failure", "error", "skipped"})
      elements[element] += !node.child(element).empty();
  EXPECT_EQ(suite.attribute("failures").as_uint(), elements["failure"]);
  EXPECT_EQ(suite.attribute("errors").as_uint(), elements["error"]);
  EXPECT_EQ(suite.attribute("skipped").as_uint(), elements["skipped"]);
  EXPECT_EQ(elements["failure"] + elements["error"] + elements["skipped"], kOutcomeCount - 1);

  auto json = nlohmann::json::parse(
      written([&](std::ostream &out) { return writeJson(out, run, recordsIn(records)); }));
  EXPECT_EQ(json["summary"]["outcomes"].size(), kOutcomeCount);
  const nlohmann::json &cases = json["summary"]["opcases"]["total"];
  size_t counted = 0;
  for (const char *key : {"passed", "failed", "expected_failures", "skipped", "not_run", "unjudged"})
    counted += cases.value(key, size_t(0));
  EXPECT_EQ(counted, kOutcomeCount) << cases;
}

TEST(Reports, AnEmptyRunIsStillAReport) {
  RunInfo run;
  run.id = "20261115-081530-0000";
  std::string xml = written([&](std::ostream &out) { return writeJUnit(out, run, recordsIn({})); });
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(xml.c_str()));
  EXPECT_STREQ(document.select_node("//testsuite/@tests").attribute().value(), "0");
  std::string json = written([&](std::ostream &out) { return writeJson(out, run, recordsIn({})); });
  EXPECT_EQ(nlohmann::json::parse(json)["tests"].size(), 0u);
}

TEST(Reports, AFailingSourceLeavesNoFile) {
  std::string path = ::testing::TempDir() + "cupel-report-test.xml";
  std::remove(path.c_str());
  Status status = writeReportFile(path, [](std::ostream &out) -> Status {
    out << "half";
    return Error{"the store went away"};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.message(), "the store went away");
  EXPECT_FALSE(readInput(path));
  ASSERT_TRUE(writeReportFile(path, [](std::ostream &out) -> Status {
    out << "whole";
    return {};
  }));
  Result<FileContents> contents = readInput(path);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->bytes(), "whole");
  std::remove(path.c_str());
  std::string missing = path + ".missing/x.xml";
  Status nowhere = writeReportFile(missing, [](std::ostream &) { return Status(); });
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.message().find(missing + ": cannot write"), std::string::npos);
  Status full = writeReportFile("/dev/full", [](std::ostream &out) {
    out << std::string(100000, 'x');
    return Status();
  });
  EXPECT_FALSE(full);
}

// Any bytes a test may print: the XML stays well-formed, and what is legal arrives unharmed.
TEST(Reports, SurvivesAnyBytes) {
  TestRecord record = sampleRecords()[0];
  record.outcome = Outcome::Failed;
  std::string every;
  for (int i = 0; i < 256; ++i)
    every.push_back(char(i));
  record.output = every + "]]>&<\"'" + "\xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf \xef\xbf\xbe ok ✓ 𝛼";
  record.message = every;
  record.id = "weird/" + every;
  std::string xml = written([&](std::ostream &out) {
    return writeJUnit(out, sampleRun(), recordsIn(std::span(&record, 1)));
  });
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(xml.c_str()));
  std::string output = document.select_node("//system-out").node().text().get();
  EXPECT_NE(output.find("#x1B"), std::string::npos);
  EXPECT_NE(output.find("ok ✓ 𝛼"), std::string::npos);
  EXPECT_NE(output.find("]]>&<\"'"), std::string::npos);
  EXPECT_EQ(output.find('\x1b'), std::string::npos);
  std::string line = testLine(record, false);
  for (unsigned char c : line)
    EXPECT_FALSE(c < 0x20 || c == 0x7f);
  std::string json = written([&](std::ostream &out) {
    return writeJson(out, sampleRun(), recordsIn(std::span(&record, 1)));
  });
  EXPECT_TRUE(nlohmann::json::accept(json));
}

// Other readers than ours: Python's parser, and tags read as JSON and as a Python literal.
TEST(Reports, PythonReadsTheJUnit) {
  std::string python = findOnPath("python3");
  if (python.empty())
    GTEST_SKIP() << "no python3";
  std::vector<TestRecord> records = sampleRecords();
  std::string path = ::testing::TempDir() + "cupel-junit-check.xml";
  ASSERT_TRUE(writeReportFile(
      path, [&](std::ostream &out) { return writeJUnit(out, sampleRun(), recordsIn(records)); }));
  Result<CommandOutput> output =
      runCommand({python, std::string(CUPEL_TESTDATA) + "/check_junit.py", path});
  ASSERT_TRUE(output) << output.message();
  EXPECT_EQ(output->exitCode, 0) << output->text;
  EXPECT_NE(output->text.find(std::to_string(records.size()) + " cases"), std::string::npos)
      << output->text;
  std::remove(path.c_str());
}

TEST(Text, CutsAtCharacters) {
  EXPECT_EQ(cutTo("abcdef", 6), "abcdef");
  EXPECT_EQ(cutTo("abcdef", 5), "abcd…");
  EXPECT_EQ(cutTo("ααα", 2), "α…");
  EXPECT_EQ(cutTo("a\nb", 10), "a b");
  EXPECT_EQ(cutTo("abc", 0), "");
  EXPECT_EQ(cutTo("abc", 1), "…");
}

TEST(Text, WritesTimesAndSizes) {
  EXPECT_EQ(durationText(0.0042), "4.2 ms");
  EXPECT_EQ(durationText(0.0996), "0.10 s");
  EXPECT_EQ(durationText(12.34), "12.3 s");
  EXPECT_EQ(durationText(200), "3 min 20 s");
  EXPECT_EQ(durationText(7500), "2 h 05 min");
  EXPECT_EQ(bytesText(512), "512 B");
  EXPECT_EQ(bytesText(3670016), "3.5 MiB");
  EXPECT_EQ(isoTime(1763200000.9), "2025-11-15T09:46:40Z");
}

} // namespace
