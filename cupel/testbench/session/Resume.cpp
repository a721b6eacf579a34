// Going on with a run that was killed or interrupted.

#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/session/Session.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace cupel::testbench::session {
namespace {

namespace fs = std::filesystem;
using results::Outcome;
using results::TestRecord;
using runner::Journal;
using runner::JournalContents;

/// The journal to go on with: the one named, else the newest that is not done.
Result<std::string> findJournal(const std::string &folder, const std::string &wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder + "/journals", error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".jsonl" &&
        (wanted.empty() || it->path().stem().string().starts_with(wanted)))
      names.push_back(it->path());
  std::ranges::sort(names, std::greater<>());
  if (names.empty())
    return Error{wanted.empty() ? folder + ": no run is kept here"
                                : folder + ": no run '" + wanted + "' is kept here"};
  if (!wanted.empty() && names.size() > 1)
    return Error{fmt::format("'{}' begins the names of {} runs", wanted, names.size())};
  for (const std::string &path : names) {
    Result<JournalContents> contents = runner::readJournal(path);
    if (contents && contents->selectionComplete && contents->canResume())
      return path;
    if (!wanted.empty())
      return contents ? Error{"run " + contents->run.id + " has ended; nothing is left of it to do"}
                      : contents.error();
  }
  return Error{"no run is left to go on with: all that are kept in " + folder + " have ended"};
}

/// A test of the selection that has no outcome and will not get one by running: the record of it.
std::optional<TestRecord> withoutTrying(const TestItem &item, bool isThere,
                                        const JournalContents &contents) {
  TestRecord record;
  record.suite = item.suite;
  record.id = item.id;
  record.file = item.file;
  auto kills = contents.killedWhileRunning.find(item.fullName());
  if (!isThere) {
    record.outcome = Outcome::NotRun;
    record.message = "it is not there any more";
  } else if (kills != contents.killedWhileRunning.end() && kills->second >= runner::kMostKills) {
    record.outcome = Outcome::Interrupted;
    record.errorClass = runner::kKilledRunner;
    record.message =
        fmt::format("it was running each of the {} times that the run was killed", kills->second);
  } else {
    return std::nullopt;
  }
  return record;
}

} // namespace

Ending Session::resume(const ResumeRequest &request, const ReadOptions &readOptions) {
  options.say = request.say;
  if (Status status = useResults(fs::absolute(request.results)); !status)
    return {kExitUsage, status.message()};
  const std::string folder = options.results;
  options.database = request.database;
  openStore();
  Result<std::string> path = findJournal(folder, request.run);
  if (!path)
    return {kExitUsage, path.message()};
  Result<std::unique_ptr<Journal>> reopened = Journal::reopen(*path);
  if (!reopened)
    return {kExitUsage, reopened.message()};
  journal = std::move(*reopened);
  // Once more, now that nobody else can go on with it.
  Result<JournalContents> read = runner::readJournal(*path);
  if (!read || !read->canResume())
    return {kExitUsage, read ? "run " + read->run.id + " has ended meanwhile" : read.message()};
  JournalContents &contents = *read;
  // As it was begun, from where it was begun.
  info = std::move(contents.run);
  info.endedAt = 0;
  info.exitCode = -1;
  if (info.commandLine.size() < 2)
    return {kExitUsage, *path + ": does not say how the run was begun"};
  if (auto begun = info.environment.find("folder"); begun != info.environment.end())
    if (chdir(begun->second.c_str()) != 0)
      return {kExitUsage,
              begun->second + ": the folder the run was begun in cannot be entered any more"};
  std::optional<SessionOptions> begun = readOptions(info.commandLine);
  if (!begun)
    return {kExitUsage};
  options = std::move(*begun);
  options.results = folder;
  options.database = request.database;
  learn();
  only = contents.selection;
  Result<std::vector<TestItem>> present = select();
  if (!present)
    return {kExitUsage, present.message()};
  if (Status status = journal->cutAt(contents.validBytes); !status)
    return {kExitUsage, status.message()};
  journal->resumed();

  // In the order of the selection; what is gone from the disk is still accounted for.
  std::unordered_map<std::string, size_t> at;
  for (size_t i = 0; i < present->size(); ++i)
    at[(*present)[i].fullName()] = i;
  std::vector<TestItem> items;
  std::unordered_map<std::string, TestRecord> done;
  for (const std::string &name : contents.selection) {
    auto item = at.find(name);
    if (item != at.end()) {
      items.push_back(std::move((*present)[item->second]));
    } else {
      TestItem gone;
      size_t colons = name.find("::");
      gone.suite = name.substr(0, colons);
      gone.id = colons == std::string::npos ? "" : name.substr(colons + 2);
      items.push_back(std::move(gone));
    }
    auto recorded = contents.records.find(name);
    if (recorded != contents.records.end() && JournalContents::isFinal(recorded->second)) {
      done[name] = std::move(recorded->second);
    } else if (auto record = withoutTrying(items.back(), item != at.end(), contents)) {
      journal->record(*record);
      done[name] = std::move(*record);
    }
  }
  return go(std::move(items), std::move(done));
}

} // namespace cupel::testbench::session
