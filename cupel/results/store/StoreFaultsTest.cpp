// What must not hurt the store: other processes, death at any moment, a full disk.

#include "cupel/results/store/Database.h"
#include "cupel/results/store/Journal.h"
#include "cupel/results/store/Store.h"
#include "cupel/results/store/TestFolder.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cupel;
using namespace cupel::results;

namespace {

/// Runs `body` in a child process; its exit code is what body returns.
template <typename Body> pid_t inChild(Body &&body) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(body());
  return child;
}

int exitCodeOf(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void expectSound(const std::string &folder) {
  std::unique_ptr<Database> db = openSqlite(folder + "/results.sqlite", false, false);
  Query check = db->query("PRAGMA integrity_check");
  ASSERT_TRUE(check.next());
  EXPECT_EQ(check.text(), "ok");
  Query keys = db->query("PRAGMA foreign_key_check");
  EXPECT_FALSE(keys.next());
}

std::vector<TestRecord> batch(int number, int size) {
  std::vector<TestRecord> records;
  for (int i = 0; i < size; ++i)
    records.push_back(simpleRecord("t" + std::to_string(number * size + i)));
  return records;
}

TEST(StoreFaults, TwoRunsAtOnceOnOneNewStore) {
  TestFolder folder;
  std::string place = folder / "s";
  constexpr int kBatches = 40, kSize = 25;
  auto runner = [&] {
    Result<Store> store = Store::open(place);
    if (!store)
      return 2;
    RunInfo run;
    if (!store->beginRun(run))
      return 3;
    for (int i = 0; i < kBatches; ++i)
      if (!store->add(run.id, batch(i, kSize)))
        return 4;
    run.endedAt = run.startedAt + 1;
    return store->endRun(run) ? 0 : 5;
  };
  pid_t first = inChild(runner), second = inChild(runner);
  EXPECT_EQ(exitCodeOf(first), 0);
  EXPECT_EQ(exitCodeOf(second), 0);
  Result<Store> store = Store::open(place);
  ASSERT_TRUE(store) << store.message();
  auto runs = store->runs(10);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2u);
  for (const RunRow &run : *runs)
    EXPECT_EQ(run.outcomes, uint64_t(kBatches * kSize));
  EXPECT_EQ(store->known("", "")->size(), uint64_t(kBatches * kSize));
  expectSound(place);
}

TEST(StoreFaults, KilledAtAnyMoment) {
  TestFolder folder;
  std::string place = folder / "s";
  const char *longer = std::getenv("CUPEL_LONG_TESTS");
  int rounds = longer ? 300 : 30;
  std::mt19937 random(7);
  constexpr int kSize = 10;
  for (int round = 0; round < rounds; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::string id = newRunId(1763200000 + round);
    pid_t child = inChild([&] {
      ::close(ends[0]);
      Result<Store> store = Store::open(place);
      RunInfo run;
      run.id = id;
      run.startedAt = 1763200000 + round;
      if (!store || !store->beginRun(run))
        return 2;
      for (int i = 0;; ++i) {
        if (!store->add(run.id, batch(i, kSize)))
          return 3;
        if (::write(ends[1], ".", 1) != 1)
          return 4;
      }
    });
    ::close(ends[1]);
    ::usleep(std::uniform_int_distribution<>(0, 30'000)(random));
    ::kill(child, SIGKILL);
    EXPECT_EQ(exitCodeOf(child), 128 + SIGKILL);
    uint64_t committed = 0;
    for (char c; ::read(ends[0], &c, 1) == 1;)
      ++committed;
    ::close(ends[0]);

    Result<Store> store = Store::open(place);
    ASSERT_TRUE(store) << store.message();
    auto rows = store->outcomes(id);
    if (!rows) { // Killed before the run was entered.
      EXPECT_EQ(committed, 0u);
      continue;
    }
    // What was confirmed is there, and batches are there whole.
    EXPECT_GE(rows->size(), committed * kSize);
    EXPECT_EQ(rows->size() % kSize, 0u);
  }
  expectSound(place);
}

/// Writes to a store until that fails, with a journal elsewhere; then gives it room and imports.
void fillUp(const std::string &place, const std::string &journal,
            const std::function<void()> &giveRoom) {
  Result<Store> store = Store::open(place);
  ASSERT_TRUE(store) << store.message();
  RunInfo run;
  Status status = store->beginRun(run);
  ASSERT_TRUE(status) << status.message();
  std::ofstream lines(journal);
  lines << journalBegin(run);
  uint64_t journalled = 0;
  int failures = 0;
  for (int i = 0; i < 4000 && failures < 3; ++i) {
    std::vector<TestRecord> records = batch(i, 10);
    for (TestRecord &record : records) {
      record.output = std::string(2000, 'x');
      lines << journalLine(record);
      ++journalled;
    }
    if (status = store->add(run.id, records); !status) {
      ++failures;
      EXPECT_TRUE(status.message().find("no room left") != std::string::npos ||
                  status.message().find("is the disk full?") != std::string::npos)
          << status.message();
      EXPECT_NE(status.message().find("the journal keeps every outcome"), std::string::npos);
    }
  }
  lines.close();
  ASSERT_EQ(failures, 3) << "the disk never became full";
  // What was there can be read all the time.
  auto rows = store->outcomes(run.id);
  ASSERT_TRUE(rows) << rows.message();
  EXPECT_LT(rows->size(), journalled);
  EXPECT_EQ(rows->size() % 10, 0u);

  giveRoom();
  auto imported = store->importJournal(journal);
  ASSERT_TRUE(imported) << imported.message();
  EXPECT_EQ(imported->added + imported->unchanged, journalled);
  EXPECT_EQ(store->outcomes(run.id)->size(), journalled);
  expectSound(place);
}

TEST(StoreFaults, AFullDisk) {
  TestFolder folder;
  std::string disk = folder / "disk";
  std::filesystem::create_directories(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=3m") != 0)
    GTEST_SKIP() << "needs root to make a small disk";
  fillUp(disk + "/s", folder / "journal.jsonl",
         [&] { EXPECT_EQ(::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=300m"), 0); });
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST(StoreFaults, ADiskThatCannotBeWritten) {
  TestFolder folder;
  std::string disk = folder / "disk?x"; // A name that means something in a URI.
  std::filesystem::create_directories(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=8m") != 0)
    GTEST_SKIP() << "needs root to mount a disk";
  {
    Result<Store> store = Store::open(disk + "/s");
    ASSERT_TRUE(store) << store.message();
    RunInfo run;
    ASSERT_TRUE(store->beginRun(run));
    ASSERT_TRUE(store->add(run.id, batch(0, 10)));
  }
  ASSERT_EQ(::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  {
    Result<Store> writing = Store::open(disk + "/s");
    EXPECT_FALSE(writing);
    Result<Store> store = Store::open(disk + "/s", Store::Access::ReadOnly);
    EXPECT_TRUE(store) << store.message();
    if (store) {
      auto runs = store->runs(5);
      ASSERT_TRUE(runs) << runs.message();
      EXPECT_EQ(runs->at(0).outcomes, 10u);
    }
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST(StoreFaults, ALimitOnTheSizeOfFiles) {
  TestFolder folder;
  // In a child: the limit cannot be taken back by everybody.
  pid_t child = inChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit small = {6 << 20, before.rlim_max};
    // The journal grows beyond the limit too; it is written first and elsewhere in life.
    std::string journal = folder / "journal.jsonl";
    Result<Store> store = Store::open(folder / "s");
    RunInfo run;
    if (!store || !store->beginRun(run))
      return 2;
    std::vector<TestRecord> all;
    {
      std::ofstream lines(journal);
      lines << journalBegin(run);
      for (int i = 0; i < 800; ++i)
        for (TestRecord &record : batch(i, 10)) {
          record.output = std::string(2000, 'x');
          lines << journalLine(record);
          all.push_back(record);
        }
    }
    ::setrlimit(RLIMIT_FSIZE, &small);
    bool failed = false;
    for (size_t i = 0; i < all.size() && !failed; i += 10) {
      Status status = store->add(run.id, std::span(all).subspan(i, 10));
      failed = !status;
      if (failed && status.message().find("the journal keeps") == std::string::npos)
        return 3;
    }
    if (!failed)
      return 4;
    ::setrlimit(RLIMIT_FSIZE, &before);
    auto imported = store->importJournal(journal);
    if (!imported || imported->added + imported->unchanged != all.size())
      return 5;
    return 0;
  });
  EXPECT_EQ(exitCodeOf(child), 0);
  expectSound(folder / "s");
}

} // namespace
