// What to fix first: failing tests and their causes become "fixing X unlocks N tests, M models". A
// test counts for a fix only if nothing else stands in its way, and a model only if all of its
// failing tests do. Values in, values out.
#pragma once

#include "cupel/results/store/Store.h"
#include "cupel/testbench/triage/Causes.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cupel::testbench::triage {

/// A test that fails now, wherever it was run.
struct FailingTest {
  std::string name;       ///< suite::id
  std::string model;      ///< Empty for what belongs to no model.
  bool isKnown = false;   ///< The configuration says so, everywhere it fails.
  std::set<Cause> causes; ///< All that stand in its way, on all architectures and devices.
  /// Of each guilty operation, by its cause.
  std::map<Cause, std::vector<Properties>> properties;
  /// Its last failure on each architecture and device, for those who want more.
  std::vector<results::TestRecord> records;
  std::vector<std::string> runs; ///< Where they happened, one for each record.
};

/// What a record's test is a test of: the loader and variant, the operator case's model, the file
/// of a model; empty for programs and workloads.
std::string modelOf(const results::TestRecord &record);

/// Adds a failure of a test to the list; causes of one test join.
class FailingTests {
public:
  void add(const results::TestRecord &record, const std::string &run);
  /// Another way in which the same test fails, once its last failure is there (of a flaky test).
  void addCauses(const results::TestRecord &record);
  std::vector<FailingTest> take();

private:
  std::map<std::string, FailingTest> byName;
};

struct CauseGroup {
  Cause cause;
  std::vector<size_t> touched;     ///< Tests that have it, among others perhaps.
  std::vector<size_t> unlocked;    ///< Tests that have nothing else.
  std::vector<std::string> models; ///< All of whose failing tests are unlocked.
  Properties shared;               ///< What all guilty operations of this cause have in common.
};

/// Causes that must all be fixed.
struct JointFix {
  std::vector<Cause> causes;
  std::vector<size_t> tests; ///< That have exactly these.
  std::vector<std::string> models;
};

struct FixPlan {
  /// Those that unlock most first; then by how many they touch, then by name.
  std::vector<CauseGroup> groups;
  std::vector<JointFix> joint;
};

FixPlan planFixes(const std::vector<FailingTest> &tests);

} // namespace cupel::testbench::triage
