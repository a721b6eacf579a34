#include "cupel/testbench/worker/Serve.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::testbench::worker {
namespace {

/// A record says in which stage a test held how much: afterwards nobody can tell.
TEST(Progress, TellsThePeakOfMemoryByStage) {
  int peak = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  int replies = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (peak < 0 || write(peak, "5", 1) != 1)
    GTEST_SKIP() << "this kernel does not forget peaks";
  Progress progress(replies, 1, [&] { ASSERT_EQ(write(peak, "5", 1), 1); });
  progress.enter(results::Stage::Load);
  EXPECT_EQ(progress.memoryNote(), "");
  progress.enter(results::Stage::Execute);
  constexpr size_t kBytes = size_t(400) << 20;
  void *memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  munmap(memory, kBytes);
  progress.enter(results::Stage::Compare);
  EXPECT_GE(progress.peakMemoryBytes(), kBytes);
  EXPECT_GE(progress.takenMemoryBytes() + (16 << 20), kBytes); // Something may have been given back since it began.
  EXPECT_LT(progress.takenMemoryBytes(), progress.peakMemoryBytes());
  unsigned load = 0, execute = 0, compare = 0;
  std::string note = progress.memoryNote();
  ASSERT_EQ(std::sscanf(note.c_str(), "load %u MiB, execute %u MiB, compare %u MiB", &load,
                        &execute, &compare),
            3)
      << note;
  EXPECT_GE(execute, 400u) << note;
  EXPECT_LT(load + 300, execute) << note;
  EXPECT_LT(compare + 300, execute) << note;
  close(peak);
  close(replies);
}

uint64_t heldMiB() {
  unsigned long pages = 0, held = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &pages, &held) != 2)
      held = 0;
    std::fclose(file);
  }
  return held * uint64_t(sysconf(_SC_PAGESIZE)) >> 20;
}

/// A request whose handler says what the process holds, and then takes and frees 400 MiB below a
/// block that stays.
results::TestRecord takeAndFree(const Request &, Progress &) {
  results::TestRecord record;
  record.notes["held"] = std::to_string(heldMiB());
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 6400; ++i) {
    blocks.push_back(std::make_unique<char[]>(64 << 10));
    std::memset(blocks.back().get(), 1, 64 << 10);
  }
  static std::vector<std::unique_ptr<char[]>> stays;
  stays.push_back(std::move(blocks.back()));
  return record;
}

TEST(Serve, GivesBackWhatATestFreed) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers keep what is freed";
#endif
  int requests[2], replies[2];
  ASSERT_EQ(pipe(requests), 0);
  ASSERT_EQ(pipe(replies), 0);
  pid_t child = fork();
  if (child == 0) {
    close(requests[1]);
    close(replies[0]);
    ServeOptions options;
    options.requests = requests[0];
    options.replies = replies[1];
    _exit(serve(options, takeAndFree));
  }
  close(requests[0]);
  close(replies[1]);
  for (uint64_t number : {1, 2}) {
    Request request;
    request.number = number;
    std::string frame = framed(encode(request));
    ASSERT_EQ(write(requests[1], frame.data(), frame.size()), ssize_t(frame.size()));
  }
  close(requests[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t got; (got = read(replies[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, size_t(got));
  close(replies[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  std::vector<int> held;
  constexpr std::string_view kKey = "\"held\":\"";
  for (size_t at = said.find(kKey); at != std::string::npos; at = said.find(kKey, at + 1))
    held.push_back(std::atoi(said.c_str() + at + kKey.size()));
  ASSERT_EQ(held.size(), 2u) << said;
  EXPECT_LT(held[1], held[0] + 100) << said;
}

} // namespace
} // namespace cupel::testbench::worker
