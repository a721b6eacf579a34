#include "cupel/testbench/worker/Serve.h"

#include "cupel/testbench/worker/OwnProcesses.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

extern char **environ;

namespace cupel::testbench::worker {

namespace {

/// Below it nobody asks where memory went: the program itself takes a part of it.
constexpr uint64_t kTellableMemory = uint64_t(256) << 20;

/// Blocks of this size go back to the machine when they are freed. Left to itself the allocator keeps ever larger ones, between others that
/// live on: twice a model's weights lay there free while a device ran it.
constexpr int kReturnedFrom = 1 << 20;
/// What may lie free at the end of the heap.
constexpr int kFreeAtEnd = 16 << 20;

/// Sends a frame, or ends the process: without the runner there is nothing to do.
void sendOrExit(int replies, std::string_view payload) {
  std::string frame = framed(payload);
  for (std::string_view rest = frame; !rest.empty();) {
    ssize_t written = write(replies, rest.data(), rest.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      _exit(kExitLostConnection);
    rest.remove_prefix(size_t(written));
  }
}

/// What of this process a test might change, as it was before the first one.
class Surroundings {
public:
  Surroundings() : folder(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    for (int i = 0; i < 3; ++i)
      standard[i] = fcntl(i, F_DUPFD_CLOEXEC, 110);
    folder = moveUp(folder);
    peakReset = moveUp(open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
    for (char **variable = environ; variable && *variable; ++variable)
      environment.emplace_back(*variable);
    sigprocmask(SIG_SETMASK, nullptr, &mask);
  }

  void restore() {
    for (int i = 0; i < 3; ++i)
      dup2(standard[i], i);
    std::fflush(nullptr);
    // Where it cannot be entered any more there is nothing better to do.
    [[maybe_unused]] int ignored = fchdir(folder);
    umask(022);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    std::signal(SIGTERM, SIG_DFL);
    if (!environmentIsSame()) {
      clearenv();
      for (std::string &variable : environment)
        putenv(variable.data());
    }
  }

  /// Makes the next peak of memory that of what follows.
  void resetPeak() { [[maybe_unused]] ssize_t ignored = write(peakReset, "5", 1); }

private:
  static int moveUp(int descriptor) {
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 110);
    close(descriptor);
    return moved;
  }

  bool environmentIsSame() const {
    size_t count = 0;
    for (char **variable = environ; variable && *variable; ++variable, ++count)
      if (count >= environment.size() || environment[count] != *variable)
        return false;
    return count == environment.size();
  }

  int standard[3] = {-1, -1, -1};
  int folder, peakReset = -1;
  std::vector<std::string> environment;
  sigset_t mask;
};

} // namespace

void Progress::enter(results::Stage stage) {
  sendOrExit(replies, encode(StageEntered{number, stage}));
  keepPeak();
  passed = times();
  current = stage;
  since = std::chrono::steady_clock::now();
}

void Progress::tell(const std::string &line) { sendOrExit(replies, encode(Told{number, line})); }

std::vector<results::StageTime> Progress::times() const {
  std::vector<results::StageTime> all = passed;
  if (current == results::Stage::None)
    return all;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
  results::addStageTime(all, current, seconds);
  return all;
}

void Progress::keepPeak() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return;
  uint64_t bytes = uint64_t(usage.ru_maxrss) << 10;
  auto known = std::find_if(peaks.begin(), peaks.end(),
                            [&](const auto &peak) { return peak.first == current; });
  if (known == peaks.end())
    peaks.push_back({current, bytes});
  else
    known->second = std::max(known->second, bytes);
  if (forgetPeak)
    forgetPeak();
}

uint64_t Progress::peakMemoryBytes() {
  keepPeak();
  uint64_t most = 0;
  for (const auto &[stage, bytes] : peaks)
    most = std::max(most, bytes);
  return most;
}

uint64_t Progress::heldNow() {
  unsigned long pages = 0, held = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lu %lu", &pages, &held) != 2)
      held = 0;
    std::fclose(file);
  }
  return uint64_t(held) * uint64_t(sysconf(_SC_PAGESIZE));
}

uint64_t Progress::takenMemoryBytes() {
  const uint64_t most = peakMemoryBytes();
  return most > heldBefore ? most - heldBefore : 0;
}

std::string Progress::memoryNote() {
  if (peakMemoryBytes() < kTellableMemory)
    return {};
  std::string note;
  for (const auto &[stage, bytes] : peaks)
    if (stage != results::Stage::None)
      note +=
          fmt::format("{}{} {} MiB", note.empty() ? "" : ", ", results::name(stage), bytes >> 20);
  return note;
}

Result<ServeOptions> ServeOptions::parse(const std::vector<std::string> &arguments) {
  ServeOptions options;
  for (std::string_view argument : arguments) {
    int *into = argument.starts_with("--requests=")  ? &options.requests
                : argument.starts_with("--replies=") ? &options.replies
                                                     : nullptr;
    std::string_view value = argument.substr(std::min(argument.find('=') + 1, argument.size()));
    if (!into ||
        std::from_chars(value.data(), value.data() + value.size(), *into).ec != std::errc())
      return Error{"'" + std::string(argument) + "' is no option of a worker"};
  }
  for (int descriptor : {options.requests, options.replies})
    if (descriptor < 0 || fcntl(descriptor, F_GETFD) < 0)
      return Error{"a worker is started by 'cupel run', which gives it --requests and --replies"};
  return options;
}

int serve(const ServeOptions &options, const Handler &handler) {
  for (int descriptor : {options.requests, options.replies})
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  Surroundings surroundings;
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, kReturnedFrom);
  mallopt(M_TRIM_THRESHOLD, kFreeAtEnd);
#endif
  sendOrExit(options.replies, encode(Hello{kProtocolVersion, options.name}));
  FrameReader frames;
  char buffer[16 << 10];
  while (true) {
    Result<std::optional<std::string_view>> payload = frames.next();
    if (!payload) {
      std::fprintf(stderr, "the runner sent %s\n", payload.message().c_str());
      return kExitLostConnection;
    }
    if (!*payload) {
      ssize_t got = read(options.requests, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return got == 0 ? 0 : kExitLostConnection;
      frames.append({buffer, size_t(got)});
      continue;
    }
    Result<Request> request = decodeRequest(**payload);
    if (!request) {
      std::fprintf(stderr, "%s\n", request.message().c_str());
      return kExitLostConnection;
    }
    surroundings.resetPeak();
    Progress progress(options.replies, request->number, [&] { surroundings.resetPeak(); });
    if (request->handover.empty())
      progress.enter(results::Stage::Load);
    Finished finished{request->number, handler(*request, progress), {}};
    finished.kept = keptProcesses();
    finished.handover = std::move(progress.handover);
    results::TestRecord &record = finished.record;
    if (record.stages.empty()) // Who runs a test may have had a better clock.
      record.stages = progress.times();
    if (record.lastStage == results::Stage::None)
      record.lastStage = progress.stage();
    record.peakMemoryBytes = progress.peakMemoryBytes();
    if (std::string note = progress.memoryNote(); !note.empty()) {
      record.notes["memory by stage"] = note;
      record.notes["memory of the device's worker"] =
          fmt::format("took {:.1f} MiB for the test", double(progress.takenMemoryBytes()) / (1 << 20));
    }
#ifdef __GLIBC__
    // What is free is the machine's: the next test is measured from here, and others run beside it.
    if (record.peakMemoryBytes >= kTellableMemory)
      malloc_trim(0);
#endif
    surroundings.restore();
    sendOrExit(options.replies, encode(finished));
  }
}

} // namespace cupel::testbench::worker
