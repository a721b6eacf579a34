#include "cupel/testbench/triage/Accept.h"

#include "cupel/compare/Defaults.h"
#include "cupel/results/report/Text.h"
#include "cupel/results/store/Store.h"
#include "cupel/testbench/triage/Causes.h"
#include "cupel/testbench/triage/Explain.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace cupel::testbench::triage {

using config::BringupStatus;
using config::Entry;
using config::Expectation;
using config::FieldValue;
using config::TestStatus;
using results::Family;
using results::familyOf;
using results::TestRecord;

namespace {

/// The fields that results decide; nothing: the entry says nothing of it.
struct Wanted {
  TestStatus status = TestStatus::Unspecified;
  std::optional<BringupStatus> bringup;
  std::string reason;
  std::optional<double> requiredPcc;
  std::optional<bool> assertPcc;
  std::vector<std::string> markers;

  bool operator==(const Wanted &) const = default;
};

Wanted wantedNow(const Expectation &expectation) {
  return {expectation.status,      expectation.bringupStatus, expectation.reason,
          expectation.requiredPcc, expectation.assertPcc,     expectation.markers};
}

bool passes(const TestRecord &record) {
  return familyOf(record.outcome) == Family::Pass ||
         familyOf(record.outcome) == Family::UnexpectedPass;
}

/// Why these outcomes are no ground to change anything; empty: they are.
std::string whyNot(const LastOutcomes &evidence, uint32_t wanted) {
  const std::vector<TestRecord> &records = evidence.records;
  for (size_t i = 0; i < records.size(); ++i) {
    if (!results::isVerdict(records[i].outcome))
      return fmt::format("{} in run {}", name(records[i].outcome), evidence.runs[i]);
    if (records[i].flaky)
      return fmt::format("flaky in run {}", evidence.runs[i]);
    if (passes(records[i]) != passes(records[0]))
      return fmt::format("{} in run {} and {} in run {}", name(records[0].outcome),
                         evidence.runs[0], name(records[i].outcome), evidence.runs[i]);
    if (!passes(records[0]) && (records[i].bringupStatus != records[0].bringupStatus ||
                                causesOf(records[i]) != causesOf(records[0])))
      return fmt::format("fails otherwise in run {} than in run {}", evidence.runs[0],
                         evidence.runs[i]);
  }
  if (records.size() < wanted)
    return fmt::format("only {} of {} runs", records.size(), wanted);
  return "";
}

/// A threshold that a PCC clears with a margin: hundredths, at most the default.
double thresholdBelow(double pcc) {
  return std::min(compare::kDefaultPcc, std::floor((pcc - kPccMargin) * 100 + 1e-9) / 100);
}

/// The lowest PCC of all outputs in all runs, where a threshold judged all of them.
std::optional<double> lowestPcc(const LastOutcomes &evidence) {
  std::optional<double> lowest;
  for (const TestRecord &record : evidence.records) {
    bool hasThreshold = false;
    for (const results::ComparisonRecord &comparison : record.comparisons)
      if (comparison.pcc && comparison.rule != "strict") {
        hasThreshold = true;
        if (!lowest || !(*comparison.pcc >= *lowest))
          lowest = comparison.pcc;
      }
    if (!hasThreshold)
      return std::nullopt;
  }
  return lowest && std::isfinite(*lowest) ? lowest : std::nullopt;
}

/// Whether a PCC below its threshold is all that is wrong.
bool failsByPccOnly(const LastOutcomes &evidence) {
  return std::ranges::all_of(evidence.records, [](const TestRecord &record) {
    if (record.bringupStatus != config::name(BringupStatus::IncorrectResult) ||
        record.comparisons.empty())
      return false;
    return std::ranges::all_of(record.comparisons, [](const results::ComparisonRecord &one) {
      return one.passed ||
             (one.rule != "strict" && one.pccAsserted && one.pcc && one.pccThreshold &&
              *one.pcc < *one.pccThreshold && !one.atolAsserted && !one.allcloseAsserted);
    });
  });
}

/// What results of one architecture say the entry should be there.
class Judgement {
public:
  Judgement(const Expectation &expectation, const LastOutcomes &evidence, const AcceptOptions &options)
      : now(wantedNow(expectation)), wanted(now), evidence(evidence), options(options) {
    if (passes(evidence.records.front()))
      pass();
    else
      fail();
  }

  const Wanted now;
  Wanted wanted;
  std::string because;
  std::optional<std::pair<double, double>> lowered;

private:
  void say(std::string text) { because += (because.empty() ? "" : "; ") + std::move(text); }

  void pass() {
    std::string runs = results::counted(evidence.records.size(), "run");
    if (options.passes && now.status != TestStatus::ExpectedPassing) {
      say(now.status == TestStatus::KnownFailureXfail
              ? fmt::format("passes in {}: no known failure any more", runs)
              : fmt::format("passes in {}: promoted", runs));
      wanted.status = TestStatus::ExpectedPassing;
      wanted.bringup.reset();
      wanted.reason.clear();
    }
    if (auto found = std::ranges::find(wanted.markers, "experimental");
        options.passes && found != wanted.markers.end()) {
      say(fmt::format("passes in {}: from experimental to nightly", runs));
      if (std::ranges::find(wanted.markers, "nightly") == wanted.markers.end())
        *found = "nightly";
      else
        wanted.markers.erase(found);
    }
    std::optional<double> lowest = options.thresholds ? lowestPcc(evidence) : std::nullopt;
    if (!lowest)
      return;
    double threshold = now.requiredPcc.value_or(compare::kDefaultPcc),
           reached = thresholdBelow(*lowest);
    if (threshold < compare::kDefaultPcc && reached > threshold + 1e-9) {
      say(fmt::format("pcc is at least {} in {}: threshold {} -> {}", results::figure(*lowest),
                      runs, results::figure(threshold), results::figure(reached)));
      wanted.requiredPcc =
          reached >= compare::kDefaultPcc ? std::nullopt : std::optional<double>(reached);
      threshold = reached;
    }
    if (now.assertPcc == false && *lowest > threshold + kPccMargin) {
      say(fmt::format("pcc is at least {} in {}: asserted again", results::figure(*lowest), runs));
      wanted.assertPcc.reset();
    }
  }

  void fail() {
    const TestRecord &record = evidence.records.front();
    std::string runs = results::counted(evidence.records.size(), "run");
    std::optional<BringupStatus> bringup = config::parseBringupStatus(record.bringupStatus);
    if (now.status == TestStatus::NotSupportedSkip || now.status == TestStatus::ExcludeModel)
      return;
    if (now.status == TestStatus::KnownFailureXfail) {
      // What people wrote of a failure stays as long as it is the same failure.
      if (!options.failures || !now.bringup || !bringup || *now.bringup == *bringup)
        return;
      say(fmt::format("fails in {} as {}, no longer as {}", runs, record.bringupStatus,
                      config::name(*now.bringup)));
    } else if (std::optional<double> lowest = lowestPcc(evidence);
               options.allowLowerPcc && lowest && failsByPccOnly(evidence)) {
      double from = now.requiredPcc.value_or(compare::kDefaultPcc), to = thresholdBelow(*lowest);
      say(fmt::format("pcc is {} in {}: threshold lowered {} -> {}", results::figure(*lowest), runs,
                      results::figure(from), results::figure(to)));
      wanted.status = TestStatus::ExpectedPassing;
      wanted.requiredPcc = to;
      lowered = {from, to};
      return;
    } else {
      if (!options.failures)
        return;
      say(fmt::format("fails in {}: a known failure", runs));
    }
    wanted.status = TestStatus::KnownFailureXfail;
    wanted.bringup = bringup;
    wanted.reason = reasonText(record);
  }

  const LastOutcomes &evidence;
  const AcceptOptions &options;
};

/// The changes from one state to another, in the order of the fields.
void addChanges(const Wanted &from, const Wanted &to, const std::string &arch,
                std::vector<FieldChange> &changes) {
  auto add = [&](const char *field, bool differs, std::optional<FieldValue> value) {
    if (differs)
      changes.push_back({arch, field, std::move(value)});
  };
  auto text = [](std::string_view words) { return FieldValue(std::string(words)); };
  add("status", from.status != to.status, text(config::name(to.status)));
  add("bringup_status", from.bringup != to.bringup,
      to.bringup ? std::optional(text(config::name(*to.bringup))) : std::nullopt);
  add("reason", from.reason != to.reason,
      to.reason.empty() ? std::nullopt : std::optional(text(to.reason)));
  add("markers", from.markers != to.markers, FieldValue(to.markers));
  add("required_pcc", from.requiredPcc != to.requiredPcc,
      to.requiredPcc ? std::optional<FieldValue>(*to.requiredPcc) : std::nullopt);
  add("assert_pcc", from.assertPcc != to.assertPcc,
      to.assertPcc ? std::optional<FieldValue>(*to.assertPcc) : std::nullopt);
}

/// The same for an architecture's override, which cannot take back what the entry says: what an
/// entry has and this architecture should not is said again as what it means.
void addOverride(const Wanted &base, const Wanted &now, Wanted to, const std::string &arch,
                 std::vector<FieldChange> &changes) {
  std::vector<FieldChange> own;
  addChanges(now, to, arch, own);
  for (FieldChange &change : own) {
    bool isInBase = change.field == "required_pcc"     ? base.requiredPcc.has_value()
                    : change.field == "assert_pcc"     ? base.assertPcc.has_value()
                    : change.field == "bringup_status" ? base.bringup.has_value()
                    : change.field == "reason"         ? !base.reason.empty()
                                                       : false;
    if (!change.value && isInBase) {
      if (change.field == "required_pcc")
        change.value = compare::kDefaultPcc;
      else if (change.field == "assert_pcc")
        change.value = true;
      else if (change.field == "bringup_status")
        change.value = FieldValue(std::string(config::name(BringupStatus::Passed)));
      else
        change.value = FieldValue(fmt::format("passes on {}", arch));
    }
    changes.push_back(std::move(change));
  }
}

class Proposer {
public:
  Proposer(const config::Configuration &configuration, const AcceptOptions &options)
      : configuration(configuration), options(options) {}

  void consider(const std::string &id, const std::map<std::string, LastOutcomes> &byArch) {
    const Entry *entry = configuration.find(id);
    std::map<std::string, Judgement> judged;
    std::set<std::string> held;
    for (const auto &[arch, evidence] : byArch) {
      if (evidence.records.empty() ||
          std::ranges::none_of(evidence.records, [](const TestRecord &record) {
            return results::isVerdict(record.outcome);
          }))
        continue; // It was never run: there is nothing to accept.
      Expectation expectation = entry ? configuration.expectation(*entry, arch) : Expectation();
      // Whether it would change anything is asked of the newest verdict.
      std::string why = whyNot(evidence, options.runs);
      Judgement judgement(expectation, evidence, options);
      if (!why.empty()) {
        held.insert(arch);
        if (!(judgement.wanted == judgement.now))
          result.heldBack.push_back({id, arch, why});
        continue;
      }
      judged.emplace(arch, std::move(judgement));
    }
    bool isAnyNew = std::ranges::any_of(
        judged, [](const auto &one) { return !(one.second.wanted == one.second.now); });
    if (!isAnyNew)
      return;
    std::optional<std::string> file = config::fileFor(configuration, id);
    if (!file) {
      result.heldBack.push_back({id, "", "no file of the configuration is for it"});
      return;
    }
    Proposal proposal{id, *file, entry == nullptr, {}, {}};
    for (const auto &[arch, judgement] : judged)
      if (!judgement.because.empty())
        proposal.because.push_back((arch.empty() ? "" : arch + ": ") + judgement.because);
    if (entry)
      edit(*entry, judged, proposal);
    else
      add(judged, proposal);
    for (const auto &[arch, judgement] : judged)
      if (judgement.lowered)
        result.lowered.push_back(
            {id, arch, judgement.lowered->first, judgement.lowered->second, byArch.at(arch).runs});
    if (!proposal.changes.empty())
      result.proposals.push_back(std::move(proposal));
  }

  Acceptance result;

private:
  using Judged = std::map<std::string, Judgement>;

  void edit(const Entry &entry, const Judged &judged, Proposal &proposal) {
    Wanted base = wantedNow(configuration.expectation(entry));
    const Wanted &first = judged.begin()->second.wanted;
    bool isAlike =
        std::ranges::all_of(judged, [&](const auto &one) { return one.second.wanted == first; });
    // The entry speaks for every architecture that the test is for: all of them must have run.
    bool isWhole = judged.contains("");
    if (!isWhole) {
      std::vector<std::string_view> supported = entry.supportedArchs("");
      isWhole = std::ranges::all_of(
          supported, [&](std::string_view arch) { return judged.contains(std::string(arch)); });
    }
    if (isAlike && isWhole) {
      addChanges(base, first, "", proposal.changes);
      // What overrides said is said by the entry now.
      for (const config::Override &own : entry.overrides)
        if (judged.contains(std::string(own.arch)))
          for (const char *field :
               {"status", "bringup_status", "reason", "markers", "required_pcc", "assert_pcc"})
            if (config::findField(field)->isSet(own.fields))
              proposal.changes.push_back({std::string(own.arch), field, std::nullopt});
      return;
    }
    for (const auto &[arch, judgement] : judged)
      if (!(judgement.wanted == judgement.now)) {
        if (arch.empty())
          addChanges(judgement.now, judgement.wanted, "", proposal.changes);
        else
          addOverride(base, judgement.now, judgement.wanted, arch, proposal.changes);
      }
  }

  /// A test that has no entry gets one of what its architectures have in common.
  void add(const Judged &judged, Proposal &proposal) {
    std::vector<std::string> archs;
    for (const auto &[arch, judgement] : judged)
      if (!arch.empty())
        archs.push_back(arch);
    bool isDefault = archs.empty() || std::ranges::is_permutation(archs, config::kDefaultArchs);
    if (!isDefault)
      proposal.changes.push_back({"", "supported_archs", FieldValue(archs)});
    const Wanted &first = judged.begin()->second.wanted;
    addChanges(Wanted(), first, "", proposal.changes);
    for (const auto &[arch, judgement] : judged)
      if (!arch.empty() && !(judgement.wanted == first))
        addOverride(first, first, judgement.wanted, arch, proposal.changes);
  }

  const config::Configuration &configuration;
  const AcceptOptions &options;
};

} // namespace

std::string reasonText(const TestRecord &record) {
  constexpr size_t kLongest = 120;
  std::string text =
      results::oneLine(std::string_view(record.message).substr(0, record.message.find('\n')));
  size_t characters = 0;
  for (size_t at = 0; at < text.size(); ++at)
    if ((uint8_t(text[at]) & 0xC0) != 0x80 && characters++ == kLongest)
      text.resize(at);
  while (text.ends_with(' '))
    text.pop_back();
  if (text.empty() && !record.reasons.empty())
    text = record.reasons.front().name;
  return text;
}

Acceptance propose(const config::Configuration &configuration, const AllEvidence &evidence,
                   const AcceptOptions &options) {
  Proposer proposer(configuration, options);
  for (const auto &[id, byArch] : evidence)
    proposer.consider(id, byArch);
  return std::move(proposer.result);
}

} // namespace cupel::testbench::triage
