#include "cupel/results/store/MergeJournals.h"

#include "cupel/results/RecordJson.h"
#include "cupel/results/store/Journal.h"
#include "cupel/results/store/RecordColumns.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace cupel::results {
namespace {

/// A test of the merged run.
struct Merged {
  std::optional<RecordColumns> counts;
  std::vector<std::pair<std::string, Outcome>> others; ///< Whole outcomes besides it, and whose.
  std::string job;                                     ///< Who was to run it.
  bool jobEnded = false;
};

/// Takes a record in; the one that counts stays.
void take(Merged &test, RecordColumns record) {
  if (!test.counts || countsBefore(record, *test.counts)) {
    if (test.counts && test.counts->isFinal())
      test.others.emplace_back(test.counts->shard, test.counts->outcome);
    test.counts = std::move(record);
  } else if (record.isFinal()) {
    test.others.emplace_back(record.shard, record.outcome);
  }
}

/// The record as it goes into the merged journal.
std::string finalJson(const std::string &name, const Merged &test, const MergeRequest &request) {
  if (test.counts && test.others.empty())
    return test.counts->json;
  TestRecord record;
  if (test.counts) {
    if (Result<TestRecord> parsed = testRecordFromJson(test.counts->json))
      record = std::move(*parsed);
    std::string text;
    for (const auto &[shard, outcome] : test.others) {
      text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", results::name(outcome), shard);
      record.flaky |= outcome != record.outcome;
    }
    record.notes["ran twice"] = text;
    return toJson(record);
  }
  size_t colons = name.find("::");
  record.suite = name.substr(0, colons);
  record.id = colons == std::string::npos ? "" : name.substr(colons + 2);
  record.outcome = Outcome::NotRun;
  record.errorClass = request.lostClass.empty() ? "job_died" : request.lostClass;
  record.message = !request.lostMessage.empty() ? request.lostMessage
                   : test.jobEnded
                       ? fmt::format("job {} ended without it; is it gone?", test.job)
                       : fmt::format("job died: {} left no outcome of it", test.job);
  return toJson(record);
}

} // namespace

Result<MergeSummary> mergeJournals(const MergeRequest &request, std::ostream &out) {
  MergeSummary summary;
  std::map<std::string, Merged> tests; // In the order of their names: always the same journal.
  for (const MergeJob &job : request.jobs)
    for (const std::string &name : job.tests)
      tests[name].job = job.name;
  RunInfo &run = summary.run;
  for (const std::string &path : request.journals) {
    std::optional<RunInfo> part;
    std::vector<std::string> selected;
    std::vector<RecordColumns> records;
    std::map<std::string, uint32_t> attempts;
    JournalReader reader;
    bool isEnded = false;
    reader.onRun = [&](RunInfo info) {
      isEnded |= info.endedAt > 0;
      if (part)
        info.startedAt = part->startedAt;
      part = std::move(info);
    };
    reader.onRecord = [&](std::string_view json) -> Status {
      RecordColumns &record = records.emplace_back();
      Status status = readColumns(json, record);
      if (status && (record.suite.empty() || record.id.empty()))
        status = Error{"a record without suite or id"};
      if (!status)
        records.pop_back();
      return status;
    };
    reader.onOther = [&](std::string_view line) {
      if (!line.starts_with("{\"select\":"))
        return;
      nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object() && json["select"].is_array())
        for (const nlohmann::json &name : json["select"])
          if (name.is_string())
            selected.push_back(name.get<std::string>());
    };
    reader.onDamage = [&](uint64_t, std::string) { ++summary.damaged; };
    if (Result<uint64_t> read = readJournal(path, reader); !read)
      return read.error();
    if (!part && request.info)
      continue; // A task that was killed before it wrote anything.
    if (!part)
      return Error{path + ": no line that says which run it is of; not a journal of `cupel run`?"};
    ++summary.journals;
    auto named = part->environment.find("job");
    std::string job = named == part->environment.end() ? "of run " + part->id : named->second;
    std::string shard = part->shard.empty() ? part->id : part->shard;
    for (const std::string &name : selected) {
      Merged &test = tests[name];
      if (test.job.empty())
        test.job = job;
      test.jobEnded |= isEnded;
    }
    for (auto &[name, test] : tests)
      if (isEnded && test.job == job)
        test.jobEnded = true;
    for (RecordColumns &record : records) {
      std::string name = record.suite + "::" + record.id;
      record.shard = shard;
      record.attempt = ++attempts[name];
      take(tests[name], std::move(record));
    }
    if (summary.journals == 1) {
      run = *part;
    } else {
      run.startedAt = std::min(run.startedAt, part->startedAt);
      run.endedAt = std::max(run.endedAt, part->endedAt);
      if (run.device != part->device)
        run.device = "several";
      if (run.arch != part->arch)
        run.arch = "several";
    }
  }
  if (request.info) {
    double ended = run.endedAt;
    run = *request.info;
    run.endedAt = std::max(ended, request.info->endedAt);
  }
  if (!request.run.empty())
    run.id = request.run;
  if (run.id.empty())
    return Error{"no journals, and nobody says which run it is"};
  run.shard.clear();
  run.environment.erase("job");
  run.environment[request.info ? "tasks" : "merged"] =
      std::to_string(summary.journals) + (request.info ? "" : " journals");
  run.selected = uint32_t(tests.size());
  run.exitCode = kExitSuccess;
  RunInfo begun = run;
  begun.endedAt = 0;
  begun.exitCode = -1;
  out << "{\"cupel_journal\":1,\"run\":" << toJson(begun) << "}\n";
  nlohmann::json names = nlohmann::json::array();
  for (const auto &[name, test] : tests)
    names.push_back(name);
  out << nlohmann::json({{"select", std::move(names)}})
             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
      << "\n{\"selected\":" << tests.size() << "}\n";
  for (const auto &[name, test] : tests) {
    out << "{\"record\":" << finalJson(name, test, request) << "}\n";
    Outcome outcome = test.counts ? test.counts->outcome : Outcome::NotRun;
    if (familyOf(outcome) == Family::NoResult)
      summary.open.push_back(name);
    summary.isAnyBad |= isBad(outcome);
    summary.isAnyJudged |= isVerdict(outcome);
    summary.isAnyUnjudged |= familyOf(outcome) == Family::Unjudged;
    summary.ranTwice += !test.others.empty();
    if (std::ranges::any_of(test.others, [&](const auto &other) { return other.second != outcome; }))
      summary.conflicts.push_back(name);
  }
  run.exitCode = request.exitCode    ? request.exitCode(summary)
                 : summary.isAnyBad ? kExitFailure
                                    : kExitSuccess;
  // One that did not end for want of its jobs has ended all the same: they are all there is.
  run.endedAt = std::max({run.endedAt, run.startedAt, 1e-6});
  out << "{\"end\":" << toJson(run) << "}\n";
  out.flush();
  return out ? Result<MergeSummary>(std::move(summary))
             : Result<MergeSummary>(Error{"the merged journal could not be written; is the disk full?"});
}

} // namespace cupel::results
