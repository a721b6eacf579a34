// Small entries are kept in one file, found by other processes, passed over when damaged, and bounded.

#include "cupel/support/SmallCache.h"

#include "cupel/support/Sha256.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace cupel {
namespace {

namespace fs = std::filesystem;

class SmallCacheTest : public testing::Test {
protected:
  SmallCacheTest() {
    std::string pattern = testing::TempDir() + "cupel-small-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~SmallCacheTest() override { fs::remove_all(folder); }
  static std::string found(SmallCache &cache, const std::string &name) {
    return cache.find(sha256(name)).value_or("nothing");
  }

  std::string folder;
};

TEST_F(SmallCacheTest, FindsWhatWasKeptByAnybody) {
  SmallCache one(folder, 1 << 20), other(folder, 1 << 20);
  EXPECT_EQ(found(one, "a"), "nothing");
  one.keep(sha256("a"), "first");
  EXPECT_EQ(found(one, "a"), "first");
  EXPECT_EQ(found(other, "a"), "first");
  other.keep(sha256("b"), std::string("with\0zero\ncupels1:", 18));
  other.keep(sha256("empty"), "");
  EXPECT_EQ(found(one, "b"), std::string("with\0zero\ncupels1:", 18));
  EXPECT_EQ(found(one, "empty"), "");
  EXPECT_EQ(found(one, "c"), "nothing");
  SmallCache later(folder, 1 << 20);
  EXPECT_EQ(found(later, "a"), "first");
  later.keep(sha256("large"), std::string(SmallCache::kLargest + 1, 'x'));
  EXPECT_EQ(found(later, "large"), "nothing");
}

TEST_F(SmallCacheTest, PassesOverWhatIsDamaged) {
  {
    SmallCache cache(folder, 1 << 20);
    for (const char *name : {"a", "b", "c"})
      cache.keep(sha256(name), std::string(50, name[0]));
  }
  std::string path = folder + "/small.log";
  std::string text;
  {
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  // A byte of the second is another one; of a fourth only half was written, and a fifth is behind it.
  text[text.find(std::string(50, 'b')) + 20] = 'x';
  text += text.substr(0, text.size() / 6);
  {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
  }
  SmallCache cache(folder, 1 << 20);
  cache.keep(sha256("d"), "behind it");
  EXPECT_EQ(found(cache, "a"), std::string(50, 'a'));
  EXPECT_EQ(found(cache, "b"), "nothing");
  EXPECT_EQ(found(cache, "c"), std::string(50, 'c'));
  EXPECT_EQ(found(cache, "d"), "behind it");
}

TEST_F(SmallCacheTest, StaysWithinItsLimitAndForgetsTheOldest) {
  constexpr uint64_t kLimit = 20000;
  SmallCache cache(folder, kLimit);
  for (int i = 0; i < 200; ++i)
    cache.keep(sha256(std::to_string(i)), std::string(400, char('a' + i % 26)));
  uint64_t bytes = 0;
  for (const auto &entry : fs::directory_iterator(folder))
    bytes += entry.file_size();
  EXPECT_LE(bytes, kLimit + 2 * 1000);
  EXPECT_EQ(found(cache, "0"), "nothing");
  EXPECT_EQ(found(cache, "199"), std::string(400, char('a' + 199 % 26)));
}

TEST_F(SmallCacheTest, ManyAtOnceLoseNothing) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      SmallCache own(folder, 1 << 24);
      for (int i = 0; i < 100; ++i)
        own.keep(sha256(std::to_string(t * 1000 + i)), std::to_string(t * 1000 + i));
    });
  for (std::thread &thread : threads)
    thread.join();
  SmallCache cache(folder, 1 << 24);
  for (int t = 0; t < 4; ++t)
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(found(cache, std::to_string(t * 1000 + i)), std::to_string(t * 1000 + i));
}

} // namespace
} // namespace cupel
