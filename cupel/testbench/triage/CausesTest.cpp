#include "cupel/testbench/triage/Causes.h"

#include "cupel/results/Explanation.h"

#include <gtest/gtest.h>

namespace cupel::testbench::triage {
namespace {

using results::Outcome;
using results::TestRecord;

TestRecord failed(std::vector<std::string> reasons, std::map<std::string, std::string> notes = {}) {
  TestRecord record;
  record.suite = "programs";
  record.id = "a.mlir";
  record.outcome = Outcome::Failed;
  for (std::string &reason : reasons)
    record.reasons.push_back({std::move(reason), "", "", ""});
  record.notes = std::move(notes);
  return record;
}

TEST(Causes, GuiltyOperationExplainsAllReasons) {
  TestRecord record = failed({"DATA_MISMATCH_WRONG_PCC", "OTHER"}, {{"guilty", "stablehlo.tanh"}});
  EXPECT_EQ(causesOf(record), (std::vector<Cause>{{Cause::Kind::Operation, "stablehlo.tanh"}}));
  record.notes["guilty"] = "stablehlo.add, stablehlo.tanh"; // Wrong only together.
  EXPECT_EQ(causesOf(record),
            (std::vector<Cause>{{Cause::Kind::Operation, "stablehlo.add + stablehlo.tanh"}}));
}

TEST(Causes, ReasonsThatFitAreAllCauses) {
  EXPECT_EQ(causesOf(failed({"B", "A", "B"})),
            (std::vector<Cause>{{Cause::Kind::Reason, "A"}, {Cause::Kind::Reason, "B"}}));
}

TEST(Causes, UnmatchedGoByTheShapeOfTheirMessage) {
  TestRecord one = failed({"UNCLASSIFIED"}), other = one;
  one.message = "core 3 at 0xdeadbeef: cannot allocate 4096 bytes for 'matmul_7' in /tmp/a/b.bin";
  other.message = "core 12 at 0x10: cannot allocate 17 bytes for 'conv' in /var/c.bin";
  EXPECT_EQ(causesOf(one), causesOf(other));
  EXPECT_EQ(causesOf(one).front().kind, Cause::Kind::Message);
  other.message = "core 12 at 0x10: cannot free 17 bytes for 'conv' in /var/c.bin";
  EXPECT_NE(causesOf(one), causesOf(other));
}

TEST(Causes, NoneWhereNothingFailed) {
  TestRecord record = failed({"A"});
  for (Outcome outcome : {Outcome::Passed, Outcome::XPassed, Outcome::Skipped, Outcome::Unjudged}) {
    record.outcome = outcome;
    EXPECT_TRUE(causesOf(record).empty()) << name(outcome);
  }
  record.outcome = Outcome::XFailed; // Known, but a failure.
  EXPECT_EQ(causesOf(record).size(), 1u);
}

TEST(Causes, ShapesOfMessages) {
  EXPECT_EQ(messageShape("tensor<4x8xbf16> does not fit (4, 8) at -1.5e-3"),
            "SHAPE does not fit SHAPE at N");
  EXPECT_EQ(messageShape("a\nb"), "a");
  EXPECT_EQ(messageShape("\x1b[31mred\x1b[0m  alert"), "red alert");
}

TEST(Causes, PropertiesOfTheGuilty) {
  TestRecord record = failed(
      {}, {{"guilty", "stablehlo.transpose"},
           {"guilty form", "stablehlo.transpose {permutation = array<i64: 1, 0>, tag = \"a, b\"} : "
                           "(tensor<4x8xbf16>) -> tensor<8x4xbf16>"}});
  EXPECT_EQ(propertiesOf(record), (Properties{{"type", "bf16"},
                                              {"rank", "2"},
                                              {"shapes", "(tensor<4x8xbf16>) -> tensor<8x4xbf16>"},
                                              {"permutation", "array<i64: 1, 0>"},
                                              {"tag", "\"a, b\""}}));
  // As `cupel run --explain` leaves it.
  results::Explanation explanation;
  explanation.operations = {
      {"stablehlo.sort", "(tensor<4xi8>) -> tensor<4xi8>", "m.py:1", "dimension = 0 : i64"}};
  record.notes = {{"explanation", toJson(explanation)}};
  EXPECT_EQ(propertiesOf(record), (Properties{{"type", "i8"},
                                              {"rank", "1"},
                                              {"shapes", "(tensor<4xi8>) -> tensor<4xi8>"},
                                              {"dimension", "0 : i64"}}));
  // A sentence is all that there is.
  record.notes = {{"explained", "stablehlo.tanh (m.py:3:1) : (tensor<f32>) -> tensor<f32> alone is "
                                "wrong: pcc 0.5"}};
  EXPECT_EQ(propertiesOf(record).at("type"), "f32");
  EXPECT_EQ(propertiesOf(record).at("rank"), "0");
  EXPECT_TRUE(propertiesOf(failed({"A"})).empty());
}

TEST(Causes, GroupsTellTheirOperationsApart) {
  TestRecord record = failed({}, {{"guilty form", "a.x : (tensor<4xf32>) -> tensor<4xf32>\n"
                                                  "a.y {k} : (tensor<4x4xi8>) -> tensor<4x4xi8>"}});
  Properties properties = propertiesOf(record);
  EXPECT_EQ(properties.at("a.x type"), "f32");
  EXPECT_EQ(properties.at("a.y rank"), "2");
  EXPECT_EQ(properties.at("a.y k"), "set");
}

TEST(Causes, SharedIsWhatAllHaveAlike) {
  Properties a = {{"type", "bf16"}, {"rank", "2"}, {"axis", "1"}};
  Properties b = {{"type", "bf16"}, {"rank", "3"}};
  const Properties *both[] = {&a, &b};
  EXPECT_EQ(sharedProperties(both), (Properties{{"type", "bf16"}}));
  EXPECT_TRUE(sharedProperties({}).empty());
}

} // namespace
} // namespace cupel::testbench::triage
