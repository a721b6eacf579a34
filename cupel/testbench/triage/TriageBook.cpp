// The workbook of `cupel triage`: what to fix first, every failure with the columns that reports of
// model tests have, a line a model in the colours of a traffic light, and what moved.

#include "cupel/results/report/Xlsx.h"
#include "cupel/testbench/triage/TriageReport.h"

#include <fmt/format.h>

namespace cupel::testbench::triage {

using namespace cupel::results;

namespace {

std::string joined(const std::vector<std::string> &names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

CellStyle lightOf(double share) {
  return share >= 1     ? CellStyle::Green
         : share >= 0.8 ? CellStyle::Yellow
         : share >= 0.5 ? CellStyle::Orange
                        : CellStyle::Red;
}

Cell maybe(std::optional<double> value) { return value ? Cell(*value) : Cell(); }

void writeFixes(XlsxBook &book, const TriageReport &report) {
  XlsxSheet &sheet = book.sheet("Fix First");
  sheet.heading({"Fix", "Kind", "Unlocks Tests", "Unlocks Models", "Touches Tests", "All Have",
                 "Models", "Tests"});
  for (const CauseGroup &group : report.plan.groups) {
    std::vector<std::string> tests;
    for (size_t i : group.touched)
      tests.push_back(report.failing[i].name);
    sheet.row({group.cause.name, name(group.cause.kind), uint64_t(group.unlocked.size()),
               uint64_t(group.models.size()), uint64_t(group.touched.size()),
               describe(group.shared), joined(group.models), joined(tests)});
  }
  XlsxSheet &together = book.sheet("Only Together");
  together.heading({"Fixes", "Unlocks Tests", "Unlocks Models", "Models", "Tests"});
  for (const JointFix &fix : report.plan.joint) {
    std::vector<std::string> causes, tests;
    for (const Cause &cause : fix.causes)
      causes.push_back(cause.name);
    for (size_t i : fix.tests)
      tests.push_back(report.failing[i].name);
    together.row({joined(causes), uint64_t(fix.tests.size()), uint64_t(fix.models.size()),
                  joined(fix.models), joined(tests)});
  }
}

void writeFailures(XlsxBook &book, const TriageReport &report) {
  XlsxSheet &sheet = book.sheet("Failures");
  sheet.heading({"Test",
                 "Suite",
                 "Model",
                 "Group",
                 "Framework",
                 "Task",
                 "Source",
                 "Variant",
                 "Run Mode",
                 "Parallelism",
                 "Arch",
                 "Device",
                 "Run",
                 "Outcome",
                 "Last Stage",
                 "Model Test Status",
                 "Bringup Status",
                 "Failing Reason",
                 "Component",
                 "Summary",
                 "Guilty Operation",
                 "Properties",
                 "PCC",
                 "PCC Threshold",
                 "ATOL",
                 "Causes",
                 "Guidance",
                 "Error Message",
                 "Reproduction"});
  for (const FailingTest &test : report.failing)
    for (size_t i = 0; i < test.records.size(); ++i) {
      const TestRecord &r = test.records[i];
      std::vector<std::string> causes;
      for (const Cause &cause : test.causes)
        causes.push_back(cause.name);
      auto guilty = r.notes.find("guilty");
      const ReasonRecord reason = r.reasons.empty() ? ReasonRecord() : r.reasons.front();
      std::optional<double> threshold;
      for (const ComparisonRecord &comparison : r.comparisons)
        if (!threshold || !comparison.passed)
          threshold = comparison.pccThreshold;
      sheet.row({r.id,
                 r.suite,
                 test.model,
                 r.group,
                 r.framework,
                 r.task,
                 r.source,
                 r.variant,
                 r.runMode,
                 r.parallelism,
                 r.arch,
                 r.device,
                 test.runs[i],
                 name(r.outcome),
                 name(r.lastStage),
                 r.testStatus,
                 r.bringupStatus,
                 reason.name,
                 reason.component,
                 reason.summary,
                 guilty == r.notes.end() ? Cell() : Cell(guilty->second),
                 describe(propertiesOf(r)),
                 maybe(worstPcc(r)),
                 maybe(threshold),
                 maybe(largestAbsolute(r)),
                 joined(causes),
                 joined(r.guidance),
                 r.message,
                 r.reproduction},
                test.isKnown ? CellStyle::Plain : CellStyle::Yellow);
    }
}

/// The operations to blame, with the columns that reports of operations have; a line a form.
void writeOperations(XlsxBook &book, const TriageReport &report) {
  struct Found {
    uint64_t count = 0;
    std::set<std::string> models, tests, backends, messages, attributes;
    std::optional<double> pcc, atol;
    Stage stage = Stage::Done; ///< The first that one of them failed in.
  };
  std::map<std::pair<std::string, std::string>, Found> forms; // By name and types.
  for (const FailingTest &test : report.failing)
    for (const TestRecord &r : test.records)
      for (const GuiltyForm &form : guiltyFormsOf(r)) {
        Found &found = forms[{form.name, form.types}];
        ++found.count;
        found.models.insert(test.model.empty() ? test.name : test.model);
        found.tests.insert(test.name);
        found.backends.insert(r.device);
        found.attributes.insert(form.attributes);
        found.stage = std::min(found.stage, r.lastStage);
        if (r.lastStage != Stage::Compare)
          found.messages.insert(r.message);
        if (std::optional<double> pcc = worstPcc(r); pcc && (!found.pcc || *pcc < *found.pcc))
          found.pcc = pcc;
        if (std::optional<double> off = largestAbsolute(r); off && (!found.atol || *off > *found.atol))
          found.atol = off;
      }
  XlsxSheet &sheet = book.sheet("Guilty Operations");
  sheet.heading({"Torch/SHLO Name", "Input Shapes", "Output Shapes", "Backend", "NumOps", "Status",
                 "Models", "PCC", "ATOL", "Ops", "Compile Error", "Tests"});
  auto listed = [](const std::set<std::string> &texts) {
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  for (const auto &[form, found] : forms) {
    const auto &[called, types] = form;
    size_t arrow = types.rfind(" -> ");
    sheet.row({called, types.substr(0, arrow),
               arrow == std::string::npos ? std::string() : types.substr(arrow + 4),
               listed(found.backends), found.count, name(found.stage),
               fmt::format("{}:{}", found.models.size(), listed(found.models)), maybe(found.pcc),
               maybe(found.atol), listed(found.attributes), listed(found.messages),
               listed(found.tests)});
  }
}

void writeModels(XlsxBook &book, const TriageReport &report) {
  XlsxSheet &sheet = book.sheet("Models");
  sheet.heading({"Model", "Passing", "Failing", "Total", "Passing %", "In The Way"});
  std::map<std::string, std::set<Cause>> causes;
  for (const FailingTest &test : report.failing)
    causes[test.model].insert(test.causes.begin(), test.causes.end());
  uint64_t passing = 0, failing = 0, whole = 0;
  for (const auto &[model, counts] : report.models) {
    passing += counts.first;
    failing += counts.second;
    whole += counts.second == 0;
    uint64_t total = counts.first + counts.second;
    double share = total ? double(counts.first) / double(total) : 1;
    std::vector<std::string> names;
    for (const Cause &cause : causes[model])
      names.push_back(cause.name);
    sheet.row({model, counts.first, counts.second, total, Cell(share).percent().in(lightOf(share)),
               joined(names)});
  }
  sheet.row({"Total", passing, failing, passing + failing}, CellStyle::Bold);
  sheet.skipRow();
  sheet.row({"Models Total", uint64_t(report.models.size())});
  sheet.row({"Models Passing", whole});
}

void writeMovement(XlsxBook &book, const TriageReport &report) {
  const std::pair<const char *, const std::vector<Moved> &> kLists[] = {
      {"New Failures", report.movement.newFailures},
      {"Fixed", report.movement.fixed},
      {"Flaky", report.movement.flaky},
      {"Worse", report.movement.worse}};
  for (const auto &[title, list] : kLists) {
    XlsxSheet &sheet = book.sheet(title);
    sheet.heading({"Test", "Arch", "Device", "Before", "Now", "Run", "Why"});
    for (const Moved &m : list)
      sheet.row({m.name, m.arch, m.device, m.before, m.now, m.run, m.why});
  }
  XlsxSheet &sheet = book.sheet("PCC Drift");
  sheet.heading(
      {"Test", "Arch", "Device", "Before", "Now", "Change", "Least", "Most", "Runs", "A Run"});
  for (const Drift &d : report.movement.drift)
    sheet.row({d.name, d.arch, d.device, d.before, d.now,
               Cell(d.now - d.before).in(d.now < d.before ? CellStyle::Orange : CellStyle::Green),
               d.least, d.most, d.runs, d.slope});
}

} // namespace

Status writeXlsx(const std::string &path, const TriageReport &report) {
  XlsxBook book;
  writeFixes(book, report);
  writeFailures(book, report);
  writeOperations(book, report);
  writeModels(book, report);
  if (report.since > 0)
    writeMovement(book, report);
  return book.save(path);
}

} // namespace cupel::testbench::triage
