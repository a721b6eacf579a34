#include "tests/fuzz/Runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cupel::fuzz;

namespace {
using Clock = std::chrono::steady_clock;

double secondsNow() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// What a child tells its parent, in memory that both see.
struct Board {
  std::atomic<uint64_t> current;
  std::atomic<double> since;
  std::atomic<uint64_t> peakMemory;
  std::atomic<double> longest;
  std::atomic<uint64_t> longestNumber;
};

/// Inputs [next, end) that a child works on.
struct Batch {
  uint64_t next, end;
  pid_t child = -1;
  Board *board = nullptr;
};

constexpr uint64_t kBatchSize = 250;
enum ExitCode { kDone = 0, kTooMuchMemory = 77 };

uint64_t peakMemory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return uint64_t(usage.ru_maxrss) * 1024;
}

class Run {
public:
  Run(const InputSource &inputs, const Reader &reader, const RunOptions &options)
      : inputs(inputs), reader(reader), options(options) {
    outcomes = static_cast<uint8_t *>(shared(inputs.size() + 1));
    std::memset(outcomes, 0xFF, inputs.size());
  }
  ~Run() { munmap(outcomes, inputs.size() + 1); }

  Summary run();

private:
  static void *shared(size_t size) {
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("mmap");
      std::exit(2);
    }
    return memory;
  }
  void start(Batch &batch);
  [[noreturn]] void work(const Batch &batch);
  /// True when the batch is finished.
  bool poll(Batch &batch);
  void fail(uint64_t number, std::string what);

  const InputSource &inputs;
  const Reader &reader;
  const RunOptions &options;
  uint8_t *outcomes;
  Summary summary;
};
} // namespace

void Run::start(Batch &batch) {
  batch.board->current = batch.next;
  batch.board->since = secondsNow();
  std::fflush(nullptr);
  batch.child = fork();
  if (batch.child < 0) {
    std::perror("fork");
    std::exit(2);
  }
  if (batch.child == 0)
    work(batch);
}

void Run::work(const Batch &batch) {
#ifndef CUPEL_SANITIZED
  // A wild allocation fails here rather than taking the machine down. (The sanitizers reserve far
  // more than this.)
  rlimit limit{uint64_t(8) << 30, uint64_t(8) << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (uint64_t number = batch.next; number < batch.end; ++number) {
    Input input = inputs.make(number);
    double begin = secondsNow();
    batch.board->since = begin;
    batch.board->current = number;
    outcomes[number] = uint8_t(reader(input));
    double taken = secondsNow() - begin;
    if (taken > batch.board->longest) {
      batch.board->longest = taken;
      batch.board->longestNumber = number;
    }
    uint64_t peak = peakMemory();
    if (peak > batch.board->peakMemory)
      batch.board->peakMemory = peak;
    if (peak > options.memoryLimit)
      _exit(kTooMuchMemory);
  }
  _exit(kDone);
}

void Run::fail(uint64_t number, std::string what) {
  Input input = inputs.make(number);
  Failure failure{number, input.name, std::move(what), ""};
  if (!options.saveTo.empty()) {
    std::filesystem::create_directories(options.saveTo);
    std::string extension = options.extension;
    if (extension.empty())
      extension = input.content.starts_with("ML\xefR") ? ".mlir.bc" : ".mlir";
    failure.savedAs = options.saveTo + "/" + std::to_string(number) + extension;
    std::ofstream(failure.savedAs, std::ios::binary) << input.content;
  }
  std::fprintf(stderr, "FAIL input %llu (%s): %s%s%s\n", static_cast<unsigned long long>(number),
               failure.name.c_str(), failure.what.c_str(),
               failure.savedAs.empty() ? "" : ", saved as ", failure.savedAs.c_str());
  summary.failures.push_back(std::move(failure));
}

bool Run::poll(Batch &batch) {
  int status = 0;
  pid_t ended = waitpid(batch.child, &status, WNOHANG);
  uint64_t current = batch.board->current;
  if (ended == 0) {
    if (secondsNow() - batch.board->since > options.secondsPerInput) {
      kill(batch.child, SIGKILL);
      waitpid(batch.child, &status, 0);
      fail(current, "no end after " + std::to_string(int(options.secondsPerInput)) + " s");
      batch.next = current + 1;
      if (batch.next == batch.end)
        return true;
      start(batch);
    }
    return false;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kDone)
    return true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kTooMuchMemory)
    fail(current, "took " + std::to_string(batch.board->peakMemory >> 20) + " MiB of memory");
  else if (WIFSIGNALED(status))
    fail(current, std::string("crashed: ") + strsignal(WTERMSIG(status)));
  else
    fail(current, "ended with exit code " + std::to_string(WEXITSTATUS(status)));
  batch.next = current + 1;
  if (batch.next == batch.end)
    return true;
  start(batch);
  return false;
}

Summary Run::run() {
  Board *boards = static_cast<Board *>(shared(sizeof(Board) * options.jobs));
  std::vector<std::optional<Batch>> running(options.jobs);
  for (unsigned i = 0; i < options.jobs; ++i)
    new (&boards[i]) Board{};
  uint64_t next = 0, finished = 0;
  bool terminal = options.progress && isatty(STDERR_FILENO);
  while (true) {
    bool busy = false;
    for (unsigned i = 0; i < options.jobs; ++i) {
      std::optional<Batch> &batch = running[i];
      if (batch && poll(*batch)) {
        finished += kBatchSize;
        batch.reset();
      }
      if (!batch && next < inputs.size() && summary.failures.size() < options.failures) {
        batch = Batch{next, std::min(next + kBatchSize, inputs.size())};
        batch->board = &boards[i];
        next = batch->end;
        start(*batch);
      }
      busy |= batch.has_value();
    }
    if (!busy)
      break;
    if (terminal)
      std::fprintf(stderr, "\r%llu of %llu inputs",
                   static_cast<unsigned long long>(std::min(finished, inputs.size())),
                   static_cast<unsigned long long>(inputs.size()));
    usleep(2000);
  }
  if (terminal)
    std::fprintf(stderr, "\r\033[K");
  for (uint64_t number = 0; number < inputs.size(); ++number) {
    if (outcomes[number] >= kOutcomes)
      continue;
    ++summary.counts[inputs.kind(number)][outcomes[number]];
    if (Outcome(outcomes[number]) == Outcome::Silent)
      fail(number, "refused without a message");
  }
  for (unsigned i = 0; i < options.jobs; ++i) {
    summary.largestMemory = std::max<uint64_t>(summary.largestMemory, boards[i].peakMemory);
    if (boards[i].longest > summary.longest) {
      summary.longest = boards[i].longest;
      summary.longestName = inputs.make(boards[i].longestNumber).name;
    }
  }
  munmap(boards, sizeof(Board) * options.jobs);
  return std::move(summary);
}

Summary cupel::fuzz::run(const InputSource &inputs, const Reader &reader,
                         const RunOptions &options) {
  return Run(inputs, reader, options).run();
}
