#include "cupel/reference/Execute.h"

#include <cstdio>
#include <unistd.h>

namespace cupel::reference {

Run::Run(RunOptions given) : options(std::move(given)) {
  if (options.timeoutSeconds > 0)
    deadline = std::chrono::steady_clock::now() +
               std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                   std::chrono::duration<double>(options.timeoutSeconds));
}

Status Run::checkTime() const {
  if (options.timeoutSeconds > 0 && std::chrono::steady_clock::now() > deadline) {
    char text[40];
    std::snprintf(text, sizeof text, "%g", options.timeoutSeconds);
    return Error{ErrorCode::TimedOut, "the run took longer than " + std::string(text) +
                                          " s (--timeout sets the limit)"};
  }
  return {};
}

bool Run::pollTime() {
  if (std::chrono::steady_clock::now() <= deadline)
    return false;
  hasStopped = true;
  return true;
}

Status Run::stopped() {
  if (hasStopped.load(std::memory_order_relaxed))
    return checkTime();
  if (failed())
    return Error{"another process failed"};
  if (options.stop && options.stop->load(std::memory_order_relaxed))
    return Error{ErrorCode::Cancelled, "the run was stopped"};
  return {};
}

Status Run::step(int64_t count) {
  int64_t before = steps.fetch_add(count, std::memory_order_relaxed);
  if (options.maxSteps && before + count > options.maxSteps)
    return Error{"more than " + std::to_string(options.maxSteps) +
                 " operations were executed (--max-steps sets the limit)"};
  if (hasFailed.load(std::memory_order_relaxed))
    return Error{"another process failed"};
  // The clock is not asked every time.
  if ((before ^ (before + count)) & ~int64_t(63))
    return checkTime();
  return {};
}

Status Run::reserve(int64_t bytes) const {
  // Small values cannot be what a limit is about.
  if (bytes < (1 << 20))
    return {};
  if (Status status = checkTime(); !status)
    return status;
  if (!options.maxMemory)
    return {};
  int64_t resident = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    long size, pages, shared;
    if (std::fscanf(file, "%ld %ld %ld", &size, &pages, &shared) == 3)
      resident = (pages - shared) * sysconf(_SC_PAGESIZE);
    std::fclose(file);
  }
  if (resident + bytes > options.maxMemory)
    return Error{ErrorCode::OutOfMemory,
                 "a value of " + std::to_string(bytes) + " bytes would need more than the " +
                     std::to_string(options.maxMemory) +
                     " bytes allowed (--max-memory of cupel eval and --memory of cupel run set the limit)"};
  return {};
}

void Run::fail(Error error) {
  std::lock_guard lock(mutex);
  if (!first)
    first = std::move(error);
  hasFailed = true;
}

std::optional<Error> Run::failure() {
  std::lock_guard lock(mutex);
  return first;
}

} // namespace cupel::reference
