// Judges a folder of StableHLO conformance vectors in one process, several files at a time, and
// prints one line for each that fails.

#include "tests/conformance/Judges.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

using namespace cupel::conformance;

namespace {

struct Options {
  Environment env;
  std::string exceptions;
  std::string filter;
  unsigned jobs = 1;
};

constexpr const char *kUsage =
    "usage: cupel_conformance --vectors FOLDER [options]\n"
    "Judges the vectors of FOLDER (with its manifest.tsv) that need no execution: reading, "
    "writing,\n"
    "change of version and round trips. Prints a line for each that fails or is an exception.\n\n"
    "  --exceptions FILE   rows that are known to fail: path, judge, reason, separated by tabs\n"
    "  --filter TEXT       only rows whose path contains TEXT\n"
    "  --filecheck PATH    LLVM's FileCheck\n"
    "  --jobs N            files at a time (all cores unless told)\n\n"
    "example: cupel_conformance --vectors ../shared/conformance/stablehlo --filter vhlo/\n";

bool parseOptions(int argc, char **argv, Options &options) {
  options.env.fileCheck = "/usr/lib/llvm-19/bin/FileCheck";
  options.exceptions = CUPEL_CONFORMANCE_EXCEPTIONS;
  std::string jobs = std::to_string(std::max(1u, std::thread::hardware_concurrency()));
  const std::map<std::string_view, std::string *> flags = {{"--vectors", &options.env.folder},
                                                           {"--exceptions", &options.exceptions},
                                                           {"--filter", &options.filter},
                                                           {"--filecheck", &options.env.fileCheck},
                                                           {"--jobs", &jobs}};
  for (int i = 1; i < argc; i += 2) {
    auto flag = flags.find(argv[i]);
    if (flag == flags.end() || i + 1 == argc)
      return false;
    *flag->second = argv[i + 1];
  }
  options.jobs = unsigned(std::atoi(jobs.c_str()));
  return !options.env.folder.empty() && options.jobs != 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parseOptions(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  auto rows = readManifest(options.env.folder);
  if (!rows) {
    std::fprintf(stderr, "%s/manifest.tsv cannot be read\n", options.env.folder.c_str());
    return 2;
  }
  std::map<std::pair<std::string, std::string>, std::string> exceptions;
  if (!options.exceptions.empty()) {
    auto list = readExceptions(options.exceptions);
    if (!list) {
      std::fprintf(stderr, "%s cannot be read\n", options.exceptions.c_str());
      return 2;
    }
    for (Exception &exception : *list)
      exceptions[{exception.path, exception.judge}] = exception.reason;
  }

  struct Outcome {
    const Row *row;
    std::string judge;
    Verdict verdict;
  };
  auto begin = std::chrono::steady_clock::now();
  std::vector<Outcome> outcomes;
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t index; (index = next++) < rows->size();) {
      const Row &row = (*rows)[index];
      if (row.path.find(options.filter) == std::string::npos)
        continue;
      for (const std::string &name : row.judges)
        if (auto verdict = judge(row, name, options.env)) {
          std::lock_guard lock(mutex);
          outcomes.push_back({&row, name, std::move(*verdict)});
        }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != options.jobs; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  std::sort(outcomes.begin(), outcomes.end(), [](const Outcome &lhs, const Outcome &rhs) {
    return std::tie(lhs.row->path, lhs.judge) < std::tie(rhs.row->path, rhs.judge);
  });

  size_t passed = 0, failed = 0, excepted = 0;
  for (const Outcome &outcome : outcomes) {
    const char *path = outcome.row->path.c_str();
    auto exception = exceptions.find({outcome.row->path, outcome.judge});
    switch (outcome.verdict.kind) {
    case Verdict::Kind::Failed:
      if (exception != exceptions.end()) {
        ++excepted;
        std::printf("except  %s (%s): %s\n", path, outcome.judge.c_str(),
                    exception->second.c_str());
        break;
      }
      ++failed;
      std::printf("FAILED  %s (%s): %s\n", path, outcome.judge.c_str(),
                  outcome.verdict.message.c_str());
      break;
    case Verdict::Kind::Passed:
      if (exception != exceptions.end()) {
        ++failed;
        std::printf("FAILED  %s (%s): passes although it is listed as an exception (%s)\n", path,
                    outcome.judge.c_str(), exception->second.c_str());
        break;
      }
      ++passed;
      break;
    }
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%zu exceptions, %.1f s\n", excepted, seconds);
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return failed ? 1 : 0;
}
