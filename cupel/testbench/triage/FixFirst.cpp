#include "cupel/testbench/triage/FixFirst.h"

#include <algorithm>
#include <tuple>

namespace cupel::testbench::triage {

using results::TestRecord;

std::string modelOf(const TestRecord &record) {
  if (!record.modelPath.empty())
    return record.variant.empty() ? record.modelPath : record.modelPath + "-" + record.variant;
  if (record.suite == "onnx" || record.suite == "pt2")
    return record.id.substr(0, record.id.rfind('#'));
  return record.modelName;
}

void FailingTests::add(const TestRecord &record, const std::string &run) {
  std::vector<Cause> causes = causesOf(record);
  if (causes.empty())
    return;
  bool isKnown = results::familyOf(record.outcome) == results::Family::KnownFailure;
  auto [place, isNew] = byName.try_emplace(record.fullName());
  FailingTest &test = place->second;
  if (isNew) {
    test.name = record.fullName();
    test.model = modelOf(record);
    test.isKnown = isKnown;
  }
  test.isKnown &= isKnown;
  test.records.push_back(record);
  test.runs.push_back(run);
  addCauses(record);
}

void FailingTests::addCauses(const TestRecord &record) {
  auto found = byName.find(record.fullName());
  if (found == byName.end())
    return;
  FailingTest &test = found->second;
  for (const Cause &cause : causesOf(record)) {
    test.causes.insert(cause);
    if (cause.kind == Cause::Kind::Operation)
      test.properties[cause].push_back(propertiesOf(record));
  }
}

std::vector<FailingTest> FailingTests::take() {
  std::vector<FailingTest> tests;
  for (auto &[name, test] : byName)
    tests.push_back(std::move(test));
  byName.clear();
  return tests;
}

FixPlan planFixes(const std::vector<FailingTest> &tests) {
  std::map<std::string, std::set<Cause>> ofModel; // All that stand in a model's way.
  std::map<Cause, CauseGroup> groups;
  std::map<std::set<Cause>, JointFix> joint;
  for (size_t i = 0; i < tests.size(); ++i) {
    const FailingTest &test = tests[i];
    if (!test.model.empty())
      ofModel[test.model].insert(test.causes.begin(), test.causes.end());
    for (const Cause &cause : test.causes) {
      CauseGroup &group = groups[cause];
      group.cause = cause;
      group.touched.push_back(i);
      if (test.causes.size() == 1)
        group.unlocked.push_back(i);
    }
    if (test.causes.size() > 1)
      joint[test.causes].tests.push_back(i);
  }
  for (const auto &[model, causes] : ofModel)
    if (causes.size() == 1)
      groups[*causes.begin()].models.push_back(model);
    else
      joint[causes].models.push_back(model);

  FixPlan plan;
  for (auto &[cause, group] : groups) {
    std::vector<const Properties *> all;
    for (size_t i : group.touched)
      if (auto found = tests[i].properties.find(cause); found != tests[i].properties.end())
        for (const Properties &properties : found->second)
          all.push_back(&properties);
    group.shared = sharedProperties(all);
    plan.groups.push_back(std::move(group));
  }
  auto weightOf = [](const CauseGroup &group) {
    return std::tuple(group.unlocked.size(), group.models.size(), group.touched.size());
  };
  std::ranges::sort(plan.groups, [&](const CauseGroup &a, const CauseGroup &b) {
    return weightOf(a) != weightOf(b) ? weightOf(a) > weightOf(b) : a.cause < b.cause;
  });
  for (auto &[causes, fix] : joint) {
    fix.causes.assign(causes.begin(), causes.end());
    plan.joint.push_back(std::move(fix));
  }
  std::ranges::sort(plan.joint, [](const JointFix &a, const JointFix &b) {
    return std::tuple(b.tests.size(), b.models.size(), a.causes) <
           std::tuple(a.tests.size(), a.models.size(), b.causes);
  });
  return plan;
}

} // namespace cupel::testbench::triage
