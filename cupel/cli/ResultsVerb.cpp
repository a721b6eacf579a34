// `cupel results`: keeps stores of results in order: takes in journals and merges those of many jobs,
// copies and exports runs, prunes what is old, checks that everything fits together.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/report/Text.h"
#include "cupel/results/store/MergeJournals.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/scale/JobPlan.h"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <set>
#include <unistd.h>

namespace cupel::cli {
namespace {

namespace fs = std::filesystem;
using results::counted;
using results::ImportSummary;
using results::Store;
using results::StorePlace;

int failed(std::string_view message, ExitCode code = kExitUsage) {
  return reportError("results", message, code);
}

Result<Store> openPlace(const std::string &option, Store::Access access) {
  Result<StorePlace> place = resultsPlace(option);
  if (!place)
    return place.error();
  return Store::open(*place, access);
}

/// The journals that the words name: files, and those in folders.
Result<std::vector<std::string>> journalsOf(const std::vector<std::string> &words) {
  std::vector<std::string> paths;
  for (const std::string &word : words) {
    std::error_code error;
    if (!fs::is_directory(word, error)) {
      paths.push_back(word);
      continue;
    }
    size_t before = paths.size();
    for (fs::recursive_directory_iterator it(word, error), end; !error && it != end;
         it.increment(error))
      if (it->path().extension() == ".jsonl" && it->is_regular_file())
        paths.push_back(it->path());
    std::sort(paths.begin() + long(before), paths.end());
    if (paths.size() == before)
      return Error{word + ": no journals (*.jsonl) there"};
  }
  return paths;
}

/// Says what came in; whether all of it did.
bool tell(const ImportSummary &summary, const std::string &path) {
  if (summary.damaged)
    fmt::print(stderr, "warning: {}: {} cannot be read: {}\n", path,
               counted(summary.damaged, "line"), summary.firstDamage);
  if (!summary.run.empty())
    fmt::print("{}: {} added, {} replaced, {} were there\n", summary.run, summary.added,
               summary.replaced, summary.unchanged);
  return summary.damaged == 0;
}

int ingest(const std::string &results, const std::vector<std::string> &words) {
  Result<Store> store = openPlace(results, Store::Access::ReadWrite);
  if (!store)
    return failed(store.message());
  bool good = true;
  if (words.empty()) {
    Result<std::vector<ImportSummary>> pending = store->importPending();
    if (!pending)
      return failed(pending.message(), kExitFailure);
    for (const ImportSummary &summary : *pending)
      good &= tell(summary, store->folder());
    if (pending->empty())
      fmt::print("every journal in {}/journals is in the store\n", store->folder());
    return good ? kExitSuccess : kExitFailure;
  }
  Result<std::vector<std::string>> paths = journalsOf(words);
  if (!paths)
    return failed(paths.message());
  for (const std::string &path : *paths) {
    Result<ImportSummary> summary = store->importJournal(path);
    if (!summary)
      good = failed(summary.message(), kExitFailure) == kExitSuccess;
    else
      good &= tell(*summary, path);
  }
  return good ? kExitSuccess : kExitFailure;
}

/// A folder that goes with its owner.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = fs::temp_directory_path() / "cupel-results-XXXXXX";
    if (const char *made = ::mkdtemp(pattern.data()))
      path = made;
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!path.empty())
      fs::remove_all(path, error);
  }
  std::string path;
};

/// One run out of the journals of many jobs, entered in the store.
int merge(const std::string &results, const std::vector<std::string> &words,
          const std::string &planFile, const std::string &openFile) {
  Result<Store> store = openPlace(results, Store::Access::ReadWrite);
  if (!store)
    return failed(store.message());
  results::MergeRequest request;
  testbench::scale::JobPlan plan;
  if (!planFile.empty()) {
    Result<testbench::scale::JobPlan> read = testbench::scale::readJobPlan(planFile);
    if (!read)
      return failed(read.message());
    plan = std::move(*read);
    request.run = plan.run;
    for (const testbench::scale::Job &job : plan.jobs)
      request.jobs.push_back({job.name, job.tests});
  }
  // With a plan, that no job left anything is an answer too.
  Result<std::vector<std::string>> paths = journalsOf(words);
  if (!paths && planFile.empty())
    return failed(paths.message());
  if (paths)
    request.journals = std::move(*paths);
  TemporaryFolder folder;
  std::string draft = folder.path + "/merged.jsonl";
  std::ofstream out(draft);
  Result<results::MergeSummary> merged = results::mergeJournals(request, out);
  out.close();
  if (!merged)
    return failed(merged.message());
  std::string path = store->journalPath(merged->run.id);
  std::error_code error;
  fs::copy_file(draft, path + ".part", fs::copy_options::overwrite_existing, error);
  if (!error)
    fs::rename(path + ".part", path, error);
  if (error)
    return failed(path + ": " + error.message(), kExitFailure);
  Result<ImportSummary> imported = store->importJournal(path);
  if (!imported)
    return failed("the merged journal is kept (" + path + "), but " + imported.message(),
                  kExitFailure);
  for (const std::string &name : merged->conflicts)
    fmt::print("{} ran twice and ended differently: a flake\n", name);
  if (merged->damaged)
    fmt::print(stderr, "warning: {} of the journals cannot be read\n",
               counted(merged->damaged, "line"));
  fmt::print("{}: {} of {}, {} without a result\n", merged->run.id,
             counted(merged->run.selected, "test"), counted(merged->journals, "journal"),
             merged->open.size());
  if (!openFile.empty()) {
    std::set<std::string> open(merged->open.begin(), merged->open.end());
    plan.run = merged->run.id;
    for (testbench::scale::Job &job : plan.jobs)
      std::erase_if(job.tests, [&](const std::string &test) { return open.erase(test) == 0; });
    std::erase_if(plan.jobs, [](const testbench::scale::Job &job) { return job.tests.empty(); });
    // Without a plan, what is open is one job.
    if (!open.empty())
      plan.jobs.push_back({"open", merged->run.arch, 0, 0, {open.begin(), open.end()}});
    if (Status status = writeOutput(openFile, testbench::scale::toJson(plan)); !status)
      return failed(status.message(), kExitFailure);
  }
  return merged->run.exitCode == kExitSuccess ? kExitSuccess : kExitFailure;
}

/// The runs that the words name; all of them where there are none, oldest first.
Result<std::vector<std::string>> runsOf(Store &store, const std::vector<std::string> &words) {
  std::vector<std::string> ids;
  for (const std::string &word : words) {
    Result<std::string> id = store.resolveRun(word);
    if (!id)
      return id.error();
    ids.push_back(*id);
  }
  if (!words.empty())
    return ids;
  Result<std::vector<results::RunRow>> rows = store.runs(INT32_MAX);
  if (!rows)
    return rows.error();
  for (const results::RunRow &row : *rows)
    ids.insert(ids.begin(), row.info.id);
  return ids;
}

/// Artifacts that the run's records name, by content.
Status copyArtifacts(Store &from, Store &to, const std::string &run) {
  Status status;
  Status read = from.forEachRecord(run, [&](const results::TestRecord &record) {
    for (const results::ArtifactRecord &artifact : record.artifacts)
      if (std::error_code error; status && fs::exists(from.artifactPath(artifact.sha256), error))
        if (auto kept = to.keepArtifactFile(artifact.name, from.artifactPath(artifact.sha256)); !kept)
          status = kept.error();
  });
  return read ? status : read;
}

int copy(const std::string &source, const std::string &target,
         const std::vector<std::string> &words) {
  Result<Store> from = openPlace(source, Store::Access::ReadOnly);
  if (!from)
    return failed(from.message());
  Result<Store> to = openPlace(target, Store::Access::ReadWrite);
  if (!to)
    return failed(to.message());
  Result<std::vector<std::string>> ids = runsOf(*from, words);
  if (!ids)
    return failed(ids.message());
  TemporaryFolder folder;
  for (const std::string &id : *ids) {
    std::string path = folder.path + "/" + id + ".jsonl";
    std::ofstream out(path);
    if (Status status = from->exportRun(id, out); !status)
      return failed(status.message(), kExitFailure);
    out.close();
    Result<ImportSummary> summary = to->importJournal(path);
    if (!summary)
      return failed(summary.message(), kExitFailure);
    if (Status status = copyArtifacts(*from, *to, id); !status)
      return failed(status.message(), kExitFailure);
    tell(*summary, path);
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  fmt::print("{} in {}\n", counted(ids->size(), "run"), to->where());
  return kExitSuccess;
}

int exportRuns(const std::string &results, const std::vector<std::string> &words,
               const std::string &folder) {
  Result<Store> store = openResults(results);
  if (!store)
    return failed(store.message());
  Result<std::vector<std::string>> ids = runsOf(*store, words);
  if (!ids)
    return failed(ids.message());
  if (folder.empty()) {
    if (words.size() != 1)
      return failed("give one run, or --output DIR for a journal of each");
    Status status = store->exportRun(ids->front(), std::cout);
    return status ? int(kExitSuccess) : failed(status.message(), kExitFailure);
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return failed(folder + ": " + error.message());
  for (const std::string &id : *ids) {
    std::ofstream out(folder + "/" + id + ".jsonl");
    if (Status status = store->exportRun(id, out); !status)
      return failed(folder + ": " + status.message(), kExitFailure);
  }
  fmt::print("{} in {}\n", counted(ids->size(), "journal"), folder);
  return kExitSuccess;
}

/// `90d`, `12w`, `36h`: seconds.
std::optional<double> parseAge(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, size_t(text.data() + text.size() - end));
  double day = 86400;
  double factor = unit == "h" ? day / 24 : unit == "d" ? day : unit == "w" ? 7 * day
                  : unit == "y" ? 365 * day : 0;
  if (error != std::errc() || factor == 0 || !(number >= 0) || number > 1e6)
    return std::nullopt;
  return number * factor;
}

int prune(const std::string &results, const std::string &age, bool keepJournals) {
  std::optional<double> seconds = parseAge(age);
  if (!seconds)
    return failed(fmt::format("--older-than {}: write 36h, 90d, 12w or 2y", age));
  Result<Store> store = openPlace(results, Store::Access::ReadWrite);
  if (!store)
    return failed(store.message());
  // What is only in journals yet is as old as the rest.
  if (auto pending = store->importPending(); !pending)
    return failed(pending.message(), kExitFailure);
  using namespace std::chrono;
  double now = duration<double>(system_clock::now().time_since_epoch()).count();
  Result<results::PruneSummary> pruned = store->prune(now - *seconds);
  if (!pruned)
    return failed(pruned.message(), kExitFailure);
  std::error_code ignored;
  for (const std::string &run : pruned->runs)
    if (!keepJournals)
      fs::remove(store->journalPath(run), ignored);
  fmt::print("{} pruned, {} removed; their summaries stay\n", counted(pruned->runs.size(), "run"),
             counted(pruned->outcomes, "outcome"));
  return kExitSuccess;
}

int check(const std::string &results) {
  Result<Store> store = openPlace(results, Store::Access::ReadOnly);
  if (!store)
    return failed(store.message());
  Result<results::CheckSummary> checked = store->check();
  if (!checked)
    return failed(checked.message(), kExitFailure);
  for (const std::string &problem : checked->problems)
    fmt::print("{}\n", problem);
  fmt::print("{}: {}, {}, {}\n", store->where(), counted(checked->runs, "run"),
             counted(checked->outcomes, "outcome"),
             checked->problems.empty() ? "nothing wrong"
                                       : counted(checked->problems.size(), "problem"));
  return checked->problems.empty() ? kExitSuccess : kExitFailure;
}

} // namespace

int runResultsVerb(const Arguments &arguments) {
  CommandLine line("results", "Keep the results store in order: take journals in, merge, copy, "
                              "export, prune and check it.");
  std::string place, source, target, folder, age, planFile, openFile;
  std::vector<std::string> journals, merged, copied, exported;
  bool keepJournals = false;
  Options ingesting = line.action("ingest", "Enter what journals hold and the store does not");
  ingesting.option("JOURNALS", journals, "Files, or folders of them (those of the store itself)");
  addResultsOption(ingesting, place);
  Options merging = line.action("merge", "Make one run of the journals of many jobs; tests of a job "
                                         "that died are not run");
  merging.option("JOURNALS", merged, "Files, or folders of them").required();
  merging.option("--plan", planFile, "What the jobs were to run (cupel ci-matrix --plan)")
      .placeholder("FILE");
  merging.option("--open", openFile, "Write a plan of what has no result, to run only that again")
      .placeholder("FILE");
  addResultsOption(merging, place);
  Options copying = line.action("copy", "Copy runs from one store into another");
  copying.option("FROM", source, "A folder, or postgresql://HOST/NAME").required();
  copying.option("TO", target, "Likewise; made where it is missing").required();
  copying.option("RUNS", copied, "Which (all)");
  Options exporting = line.action("export", "Write runs as journals, which any store takes in");
  exporting.option("RUNS", exported, "Which (all)");
  exporting.option("-o,--output", folder, "A folder; without it one run goes to the output")
      .placeholder("DIR");
  addResultsOption(exporting, place);
  Options pruning = line.action("prune", "Remove the outcomes of old runs; their summaries stay");
  pruning.option("--older-than", age, "Since they began: 36h, 90d, 12w, 2y").placeholder("AGE").required();
  pruning.flag("--keep-journals", keepJournals, "Leave their journals in the folder");
  addResultsOption(pruning, place);
  Options checking = line.action("check", "See whether everything in a store fits together");
  addResultsOption(checking, place);
  line.example("cupel results ingest", "what runs could not enter while the database was away");
  line.example("cupel results merge journals --plan jobs.json --open again.json",
               "the jobs of a CI as one run");
  line.example("cupel results copy .cupel/results postgresql://lab/cupel", "move to a server");
  line.example("cupel results export latest > run.jsonl", "one run as a journal");
  line.example("cupel results prune --older-than 90d", "keep three months");
  line.example("cupel results check --results postgresql://lab/cupel", "look at everything once");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  if (ingesting.chosen())
    return ingest(place, journals);
  if (merging.chosen())
    return merge(place, merged, planFile, openFile);
  if (copying.chosen())
    return copy(source, target, copied);
  if (exporting.chosen())
    return exportRuns(place, exported, folder);
  if (pruning.chosen())
    return prune(place, age, keepJournals);
  return check(place);
}

} // namespace cupel::cli
