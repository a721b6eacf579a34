#include "cupel/testbench/procedures/Procedure.h"

#include "cupel/support/Files.h"
#include "cupel/testbench/config/Edit.h"
#include "cupel/testbench/procedures/Resolve.h"
#include "cupel/testbench/procedures/ShadowZoo.h"
#include "cupel/testbench/triage/Accept.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace cupel::testbench::procedures {

using config::BringupStatus;
using config::FieldValue;
using config::TestStatus;
using results::Family;
using results::familyOf;
using results::TestRecord;
namespace fs = std::filesystem;

config::BringupStatus stageOf(const TestRecord &record) {
  std::string text = record.message + "\n" + record.output;
  auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  if (has("error: ") || has("ttir.") || has("ttnn.") || has("ElementsAttr") || has("Aborted") ||
      has("core dumped"))
    return BringupStatus::FailedDeviceCompilation;
  if (has("TT_FATAL") || has("TT_THROW"))
    return BringupStatus::FailedRuntime;
  std::optional<BringupStatus> found = config::parseBringupStatus(record.bringupStatus);
  bool isStage = found && (*found == BringupStatus::FailedDeviceCompilation ||
                           *found == BringupStatus::FailedRuntime);
  return isStage ? *found : BringupStatus::FailedFrontendCompilation;
}

namespace {

constexpr std::string_view kRegistry = "training_utils.py";

std::string readText(const std::string &path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return "";
  Result<FileContents> contents = readInput(path);
  return contents ? std::string(contents->bytes()) : "";
}

std::string cut(const std::string &text) {
  TestRecord record;
  record.message = text;
  return triage::reasonText(record);
}

std::string describe(const CpuPhase &phase) {
  std::string label = phase.dtype == "float32" ? "FLOAT32" : "BFLOAT16";
  return phase.ok ? label + ": OK"
                  : fmt::format("{}: FAILED - {} [{}]", label, phase.errorLine(), phase.step);
}

bool isPass(const TestRecord &record) {
  return familyOf(record.outcome) == Family::Pass ||
         familyOf(record.outcome) == Family::UnexpectedPass;
}

/// A test whose device gave results, and wrong ones.
bool isOnlyWrong(const TestRecord &record) {
  return record.bringupStatus == config::name(BringupStatus::IncorrectResult);
}

struct Candidate {
  const TestItem *item = nullptr;
  CpuRun before;
  std::optional<CpuRun> after;
  EntryOutcome outcome;
  bool isAffected = false;
};

class Engine {
public:
  Engine(const Procedure &procedure, const Inputs &inputs, const Seams &seams)
      : procedure(procedure), inputs(inputs), seams(seams) {}

  Result<ProcedureReport> run(const std::string &test) {
    report.test = test;
    Result<Resolved> resolved = resolve(inputs, test);
    if (!resolved)
      return stopped(resolved.message());
    report.key = resolved->key;
    report.loader = loaderPath(*resolved->item);
    config::Expectation entry = inputs.configuration->expectation(report.key);
    report.reason = entry.reason;
    report.status = config::name(entry.status);
    report.bringup = entry.bringupStatus ? std::string(config::name(*entry.bringupStatus)) : "";
    report.flavour = std::string(procedure.name);
    if (procedure.gate) {
      std::optional<std::string> flavour = procedure.gate(entry.reason);
      if (!flavour)
        return stopped(fmt::format("This is for {} only. The failing reason here is: {}.",
                                   procedure.handles,
                                   entry.reason.empty() ? "none" : entry.reason));
      report.flavour = *flavour;
    }
    if (Status status = gather(*resolved->item); !status)
      return status.error();
    return decide();
  }

private:
  std::string loaderPath(const TestItem &item) const { return item.modelPath + "/loader.py"; }

  Result<ProcedureReport> stopped(std::string why) {
    report.stopped = std::move(why);
    return std::move(report);
  }

  CpuTest cpuTest(const TestItem &item) const {
    return {loaderPath(item), item.variant, uint32_t(item.expectation.batchSize.value_or(0))};
  }

  Result<std::vector<CpuRun>> cpu(const std::string &zoo,
                                  const std::vector<const TestItem *> &items) {
    std::vector<CpuTest> tests;
    for (const TestItem *item : items)
      tests.push_back(cpuTest(*item));
    Result<std::vector<CpuRun>> runs = seams.cpu(zoo, tests);
    if (runs && runs->size() != items.size())
      return Error{
          fmt::format("{} tests were run on the CPU, and {} answered", items.size(), runs->size())};
    return runs;
  }

  Status add(const std::vector<const TestItem *> &items) {
    Result<std::vector<CpuRun>> runs = cpu(inputs.zoo, items);
    if (!runs)
      return runs.error();
    for (size_t i = 0; i < items.size(); ++i) {
      Candidate &one = candidates.emplace_back();
      one.item = items[i];
      one.before = std::move((*runs)[i]);
      one.outcome.id = items[i]->id;
      one.outcome.cpuBefore = describe(one.before.bfloat16());
      bool isOurs = procedure.isFailure(one.before.bfloat16());
      one.isAffected = isOurs && !(procedure.needsFloat32 && !one.before.float32().ok);
      if (!one.isAffected) {
        one.outcome.state = "unchanged";
        if (i && !one.before.bfloat16().ok)
          report.review.push_back(fmt::format("{} fails otherwise and is left out: {}",
                                              items[i]->id, one.before.bfloat16().errorLine()));
      }
    }
    return {};
  }

  /// The loader on the CPU as it is, for every entry that shares it.
  Status gather(const TestItem &primary) {
    std::vector<const TestItem *> items = {&primary};
    for (const TestItem *item : trainingEntries(inputs, primary.modelPath))
      if (item->id != primary.id)
        items.push_back(item);
    seams.say(fmt::format("{} on the CPU, {} of its loader", primary.id,
                          items.size() == 1 ? "the only entry"
                                            : fmt::format("one of {} entries", items.size())));
    if (Status status = add(items); !status)
      return status;
    for (const CpuPhase &phase : candidates.front().before.phases)
      report.cpuBefore.push_back(describe(phase));
    return {};
  }

  Result<ProcedureReport> decide() {
    Decision decision = procedure.decide(candidates.front().before);
    if (decision.kind == Decision::Kind::Stop)
      return stopped(decision.why);
    if (decision.kind == Decision::Kind::OnlyYaml) {
      report.noFix = decision.why;
      report.branch = 'B';
      candidates.front().isAffected = true;
      candidates.front().after = candidates.front().before;
      return verify(inputs.zoo);
    }
    if (!procedure.mayFix(report.flavour)) {
      report.noFix = "nothing in a loader mends this";
      return branchA();
    }
    FixRequest request;
    request.flavour = report.flavour;
    request.loaderPath = report.loader;
    request.loader = readText(inputs.zoo + "/" + report.loader);
    request.registryPath = std::string(kRegistry);
    request.registry = readText(inputs.zoo + "/" + request.registryPath);
    request.cpu = &candidates.front().before;
    Result<std::vector<FileFix>> fix = procedure.fix(request);
    report.review.insert(report.review.end(), request.review.begin(), request.review.end());
    if (!fix) {
      report.noFix = fix.message();
      return branchA();
    }
    return tryFix(std::move(*fix));
  }

  /// Entries of other loaders that the same line of a registry mends.
  Status widen(const std::vector<FileFix> &fix) {
    bool isGlobal =
        std::ranges::any_of(fix, [](const FileFix &one) { return one.path == kRegistry; }) &&
        fix.size() == 1;
    if (!isGlobal)
      return {};
    std::vector<const TestItem *> others;
    for (const TestItem &item : inputs.items)
      if (item.runMode == "training" && item.modelPath != candidates.front().item->modelPath &&
          inputs.configuration->find(item.id) &&
          procedure.saysSo(inputs.configuration->expectation(item.id).reason))
        others.push_back(&item);
    if (others.empty())
      return {};
    size_t before = candidates.size();
    if (Status status = add(others); !status)
      return status;
    // Only what gives the very class.
    for (size_t i = before; i < candidates.size(); ++i)
      if (candidates[i].before.bfloat16().outputClass !=
          candidates.front().before.bfloat16().outputClass) {
        candidates[i].isAffected = false;
        candidates[i].outcome.state = "unchanged";
      }
    return {};
  }

  Result<ProcedureReport> tryFix(std::vector<FileFix> fix) {
    if (Status status = widen(fix); !status)
      return status.error();
    std::vector<std::pair<std::string, std::string>> files;
    for (const FileFix &one : fix) {
      files.emplace_back(one.path, one.fix.text);
      report.fix += fmt::format("{}{}:{}: {}", report.fix.empty() ? "" : "; ", one.path,
                                one.fix.line, one.fix.what);
    }
    seams.say("tries " + report.fix);
    Result<ShadowZoo> zoo = ShadowZoo::make(inputs.zoo, files);
    if (!zoo)
      return zoo.error();
    std::vector<const TestItem *> items;
    std::vector<Candidate *> tried;
    for (Candidate &one : candidates)
      if (one.isAffected) {
        items.push_back(one.item);
        tried.push_back(&one);
      }
    Result<std::vector<CpuRun>> runs = cpu(zoo->root(), items);
    if (!runs)
      return runs.error();
    for (size_t i = 0; i < tried.size(); ++i) {
      tried[i]->after = std::move((*runs)[i]);
      tried[i]->outcome.cpuAfter = describe(tried[i]->after->bfloat16());
    }
    const CpuRun &primary = *candidates.front().after;
    for (const CpuPhase &phase : primary.phases)
      report.cpuAfter.push_back(describe(phase));
    if (procedure.isFailure(primary.bfloat16()))
      return undo("after the fix it fails as before on the CPU");
    if (procedure.isFine(primary.bfloat16()) && procedure.needsFloat32 && !primary.float32().ok)
      return undo(
          fmt::format("after the fix it fails in float32: {}", primary.float32().errorLine()));
    report.branch = procedure.isFine(primary.bfloat16()) ? 'B' : 'C';
    for (Candidate &one : candidates)
      if (one.isAffected && procedure.isFailure(one.after->bfloat16())) {
        one.isAffected = false;
        one.outcome.state = "unchanged";
        report.review.push_back(fmt::format("{} still fails after the fix and is left out: {}",
                                            one.item->id, one.after->bfloat16().errorLine()));
      }
    report.files = std::move(fix);
    return verify(zoo->root());
  }

  Result<ProcedureReport> undo(std::string why) {
    report.noFix = fmt::format("{} ({} was taken back)", why, report.fix);
    report.fix.clear();
    report.files.clear();
    for (Candidate &one : candidates) {
      one.isAffected = procedure.isFailure(one.before.bfloat16()) &&
                       !(procedure.needsFloat32 && !one.before.float32().ok);
      // Other loaders are touched by a fix of the registry alone.
      one.isAffected &= one.item->modelPath == candidates.front().item->modelPath;
      one.after.reset();
      if (one.isAffected)
        one.outcome.state.clear();
    }
    return branchA();
  }

  Result<ProcedureReport> branchA() {
    report.branch = 'A';
    return verify(inputs.zoo);
  }

  Result<ProcedureReport> verify(const std::string &zoo) {
    std::vector<std::string> ids;
    for (const Candidate &one : candidates)
      if (one.isAffected)
        ids.push_back(one.item->id);
    std::vector<std::string> inference = report.files.empty() || !procedure.checksInference
                                             ? std::vector<std::string>()
                                             : passingInference();
    std::vector<std::string> all = ids;
    all.insert(all.end(), inference.begin(), inference.end());
    seams.say(fmt::format("verifies {} through the runner",
                          all.size() == 1 ? "1 test" : fmt::format("{} tests", all.size())));
    Result<std::vector<TestRecord>> records = seams.verify(zoo, all);
    if (!records)
      return records.error();
    std::map<std::string, const TestRecord *> byId;
    for (const TestRecord &record : *records)
      byId[record.id] = &record;
    for (const std::string &id : inference)
      if (auto found = byId.find(id); found == byId.end() || !isPass(*found->second)) {
        report.review.push_back(fmt::format("with the fix {} passes no longer", id));
        return undo("inference does not pass with it");
      }
    for (Candidate &one : candidates) {
      if (!one.isAffected)
        continue;
      auto found = byId.find(one.item->id);
      if (found == byId.end()) {
        flag(one, "was not run");
        continue;
      }
      const TestRecord &record = *found->second;
      one.outcome.verified = fmt::format("{}{}", name(record.outcome),
                                         record.message.empty() ? "" : ": " + cut(record.message));
      bool isFixed = one.after && procedure.isFine(one.after->bfloat16());
      if (isFixed && !report.files.empty() && results::isFailure(record.outcome) &&
          !isOnlyWrong(record) && procedure.saysSo(record.message)) {
        report.review.push_back(fmt::format(
            "{} passes on the CPU with the fix, and fails as before when it is run", one.item->id));
        return undo("the old failure comes back when it is run");
      }
      isFixed ? settleFixed(one, record) : settleFailing(one, record);
    }
    finish();
    return std::move(report);
  }

  void flag(Candidate &one, std::string_view why) {
    one.outcome.state = "unchanged";
    report.review.push_back(fmt::format("{} {}: its entry is left as it is", one.item->id, why));
  }

  /// The CPU has no objection: what the runner says holds.
  void settleFixed(Candidate &one, const TestRecord &record) {
    if (isPass(record))
      return set(one, TestStatus::ExpectedPassing, {}, "", false);
    if (isOnlyWrong(record))
      return set(one, TestStatus::ExpectedPassing, {}, "", true);
    if (!results::isFailure(record.outcome))
      return flag(one,
                  fmt::format("ended as {} although it was forced to run", name(record.outcome)));
    set(one, TestStatus::KnownFailureXfail, stageOf(record), triage::reasonText(record), false);
  }

  /// It fails on the CPU: the runner must say the same before the entry does.
  void settleFailing(Candidate &one, const TestRecord &record) {
    const CpuPhase &phase = (one.after ? *one.after : one.before).bfloat16();
    if (isPass(record))
      return flag(one, "fails on the CPU and passes when it is run");
    if (!results::isFailure(record.outcome))
      return flag(one,
                  fmt::format("ended as {} although it was forced to run", name(record.outcome)));
    std::string first = phase.error.substr(0, phase.error.find('\n'));
    bool isSame = phase.ok ? procedure.saysSo(record.message)
                           : record.message.find(first.substr(0, 100)) != std::string::npos;
    if (!isSame)
      return flag(one, fmt::format("fails otherwise when it is run ({})", cut(record.message)));
    set(one, TestStatus::KnownFailureXfail, BringupStatus::FailedFrontendCompilation,
        phase.ok ? triage::reasonText(record) : cut(phase.errorLine()), false);
  }

  void set(Candidate &one, TestStatus status, std::optional<BringupStatus> bringup,
           const std::string &reason, bool withoutPcc) {
    const config::Entry *entry = inputs.configuration->find(one.item->id);
    const std::string &file = inputs.configuration->fileName(*entry);
    auto editor = editors.find(file);
    if (editor == editors.end()) {
      Result<config::FileEditor> opened = config::FileEditor::open(file);
      if (!opened)
        return flag(one, opened.message());
      editor = editors.emplace(file, std::move(*opened)).first;
    }
    auto text = [](std::string_view words) { return FieldValue(std::string(words)); };
    const std::string &id = one.item->id;
    config::FileEditor &edit = editor->second;
    Status done = edit.setField(id, "status", text(config::name(status)));
    if (done)
      done = bringup ? edit.setField(id, "bringup_status", text(config::name(*bringup)))
                     : edit.removeField(id, "bringup_status");
    if (done)
      done = reason.empty() ? edit.removeField(id, "reason")
                            : edit.setField(id, "reason", text(reason));
    if (done && withoutPcc)
      done = edit.setField(id, "assert_pcc", FieldValue(false));
    if (!done)
      return flag(one, done.message());
    if (!entry->overrides.empty())
      report.review.push_back(id + " has overrides for architectures, which stay as they are");
    one.outcome.state =
        fmt::format("{}{}{}", config::name(status), withoutPcc ? " without its PCC check" : "",
                    reason.empty() ? "" : fmt::format(" ({}: {})", config::name(*bringup), reason));
  }

  /// Entries of inference for the same loader that are expected to pass.
  std::vector<std::string> passingInference() const {
    std::vector<std::string> ids;
    for (const Candidate &one : candidates)
      if (one.isAffected)
        for (const TestItem &item : inputs.items)
          if (item.modelPath == one.item->modelPath && item.variant == one.item->variant &&
              item.runMode == "inference" &&
              inputs.configuration->expectation(item.id).status == TestStatus::ExpectedPassing)
            ids.push_back(item.id);
    return ids;
  }

  void finish() {
    for (const auto &[file, editor] : editors)
      if (editor.isChanged())
        report.yaml[file] = editor.text();
    for (Candidate &one : candidates)
      report.entries.push_back(std::move(one.outcome));
    if (report.files.empty())
      return;
    for (const TestItem &item : inputs.items) {
      config::Expectation entry = inputs.configuration->expectation(item.id);
      bool isKnown = entry.status == TestStatus::KnownFailureXfail ||
                     entry.status == TestStatus::NotSupportedSkip;
      if (item.modelPath == candidates.front().item->modelPath && item.runMode == "inference" &&
          isKnown && procedure.saysSo(entry.reason))
        report.staleInference.push_back(item.id);
    }
  }

  const Procedure &procedure;
  const Inputs &inputs;
  const Seams &seams;
  ProcedureReport report;
  std::vector<Candidate> candidates; ///< The test itself first.
  std::map<std::string, config::FileEditor> editors;
};

} // namespace

Result<ProcedureReport> runProcedure(const Procedure &procedure, const Inputs &inputs,
                                     const std::string &test, const Seams &seams) {
  return Engine(procedure, inputs, seams).run(test);
}

} // namespace cupel::testbench::procedures
