// Saving failed tests as workloads. A test that failed is prepared once more, by a worker and
// without the device, after its outcome is certain: whatever goes wrong there costs the folder and
// never the outcome, and tests that pass cost nothing.

#include "cupel/results/Explanation.h"
#include "cupel/testbench/runner/Loop.h"
#include "cupel/testbench/runner/Outcomes.h"
#include "cupel/testbench/runner/Scratch.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace cupel::testbench::runner {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using worker::Request;

std::string keptName(const TestItem &item) {
  constexpr size_t kLongest = 100;
  std::string full = item.suite + "-" + item.id, name;
  for (char c : full)
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ? c
                                                                                            : '_';
  if (name == full && name.size() <= kLongest)
    return name;
  // Two ids may become one name: what sets them apart is added.
  uint64_t hash = 14695981039346656037u;
  for (char c : full)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{}-{:08x}", name.substr(0, kLongest), uint32_t(hash ^ (hash >> 32)));
}

/// Whether there is a program to save, and somebody who wants it.
bool Loop::isToBeKept(const TestItem &item, const TestRecord &record) const {
  bool hasProgram = record.lastStage == Stage::Compile || record.lastStage == Stage::Execute ||
                    (record.lastStage == Stage::Reference && kindOf(item).steps.size() < 2) || record.lastStage == Stage::Compare;
  bool isForeign = kindOf(item).takesBackend && options.compileBackend != "cupel";
  return !options.keep.folder.empty() && results::isFailure(record.outcome) && hasProgram && !isForeign &&
         !outcome.interrupted;
}

/// Records a test that ended, or holds it back until it is saved.
void Loop::recordOrKeep(size_t test, TestRecord record) {
  const TestItem &item = items[test];
  if (!isToBeKept(item, record))
    return this->record(test, std::move(record));
  if (item.suite == "workloads" || item.suite == "generated") {
    // It is its own reproduction; of generated code no operation can be run alone.
    std::error_code error;
    record.reproduction = std::filesystem::absolute(item.file, error).string();
    if (item.suite == "generated" || explained >= options.keep.explain)
      return this->record(test, std::move(record));
  }
  if (options.keep.runBytes && keptBytes >= options.keep.runBytes) {
    tellOnce(fmt::format("further failed tests are not kept: {} MiB of this run are "
                         "(--keep-failed DIR keeps all)",
                         options.keep.runBytes >> 20));
    record.notes["not kept"] = "the failed tests of this run take too much already";
    return this->record(test, std::move(record));
  }
  toKeep.emplace_back(test, std::move(record));
}

/// Has the worker save the next test, as if it ran it once more.
bool Loop::keepNext(Slot &slot) {
  if (toKeep.empty())
    return false;
  Attempt &attempt = slot.attempt.emplace();
  attempt.test = toKeep.front().first;
  attempt.kept = std::move(toKeep.front().second);
  toKeep.pop_front();
  attempt.began = attempt.stageBegan = Clock::now();
  const TestItem &item = items[attempt.test];
  if (options.prepare && kindOf(item).steps.size() > 1) {
    Prepared prepared = options.prepare(item, options.devices[slot.device].name,
                                        tests[attempt.test].isDoubted);
    attempt.handover = std::move(prepared.handover);
    attempt.python = std::move(prepared.python);
  }
  serve(slot);
  return true;
}

/// Makes a request one to save the test that ended as `record`.
void Loop::askToKeep(Request &request, const TestRecord &record) const {
  request.kind = Request::Kind::Keep;
  request.device = record.device;
  request.keep.folder = options.keep.folder + "/" + keptName(request.item);
  request.keep.save = record.reproduction.empty();
  request.keep.explain = explained < options.keep.explain;
  if (request.keep.explain && options.keep.explainSeconds > 0) {
    request.search.seconds = options.keep.explainSeconds - explainedSeconds;
    request.keep.explain = request.search.seconds > 0;
  }
  request.keep.maxBytes = options.keep.testBytes;
  if (uint64_t all = options.keep.runBytes) {
    uint64_t left = all - std::min(keptBytes, all);
    request.keep.maxBytes = request.keep.maxBytes ? std::min(request.keep.maxBytes, left) : left;
  }
  request.keep.outcome = results::name(record.outcome);
  request.keep.stage = results::name(record.lastStage);
  request.keep.message = record.message;
}

/// Takes what became of the saving; the outcome of the test itself is certain.
void Loop::keepEnded(size_t test, TestRecord record, const TestRecord &found,
                     Clock::time_point began) {
  if (explained < options.keep.explain) {
    // What was known before took no time: those that are new count.
    auto known = found.notes.find("explanation");
    Result<results::Explanation> answer = known == found.notes.end()
                                              ? Result<results::Explanation>(Error{"there is none"})
                                              : results::explanationFromJson(known->second);
    explained += !answer || !answer->isRemembered;
    explainedSeconds += std::chrono::duration<double>(Clock::now() - began).count();
    for (const char *note :
         {"explained", "explanation", "guilty", "reduced", "not explained", "not reduced"})
      if (auto told = found.notes.find(note); told != found.notes.end())
        record.notes[note] = told->second;
    if (!record.notes.contains("explained") && !record.notes.contains("not explained"))
      record.notes["not explained"] =
          !found.message.empty()                                  ? found.message
          : explainedSeconds >= options.keep.explainSeconds &&
                  options.keep.explainSeconds > 0
              ? "the time for explanations is used up (--explain-time)"
              : "nobody said why";
  }
  if (!record.reproduction.empty()) {
    // It was there before.
  } else if (found.outcome == Outcome::Passed && !found.reproduction.empty()) {
    record.reproduction = found.reproduction;
    if (auto bytes = found.notes.find("bytes"); bytes != found.notes.end())
      keptBytes += std::strtoull(bytes->second.c_str(), nullptr, 10);
    if (auto note = found.notes.find("without expected values"); note != found.notes.end())
      record.notes["kept without expected values"] = note->second;
  } else {
    std::string why = found.outcome == Outcome::Interrupted ? "the run was interrupted"
                      : found.message.empty()               ? "nobody said why"
                                                            : found.message;
    record.notes["not kept"] = why;
    if (found.outcome != Outcome::Interrupted)
      tellOnce("a failed test could not be kept: " + record.fullName() + ": " + why);
  }
  this->record(test, std::move(record));
}

/// Nobody will save these any more; their outcomes are certain all the same.
void Loop::giveUpKeeping(const std::string &why) {
  for (; !toKeep.empty(); toKeep.pop_front()) {
    toKeep.front().second.notes["not kept"] = why;
    this->record(toKeep.front().first, std::move(toKeep.front().second));
  }
}

void Loop::tellOnce(const std::string &text) {
  if (!std::exchange(toldOfKeeping, true))
    observer.notice(text);
}

/// What workers that were ended in the middle of saving left behind.
void Loop::removeHalfKept() const {
  std::error_code error;
  if (options.keep.folder.empty())
    return;
  for (const auto &entry : std::filesystem::directory_iterator(options.keep.folder, error))
    if (entry.path().filename().string().starts_with('.'))
      removeFolder(entry.path().string());
}

} // namespace cupel::testbench::runner
