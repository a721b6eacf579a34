// Entries are kept, found, noticed when damaged, and dropped when there are too many.

#include "cupel/support/ContentCache.h"

#include "cupel/support/Sha256.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

namespace cupel {
namespace {

namespace fs = std::filesystem;

class ContentCacheTest : public testing::Test {
protected:
  ContentCacheTest() {
    std::string pattern = testing::TempDir() + "cupel-cache-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~ContentCacheTest() override { fs::remove_all(folder); }
  static void keep(ContentCache &cache, const std::string &name, std::string_view bytes) {
    cache.keep(sha256(name), {{bytes}});
  }
  static std::string found(const ContentCache &cache, const std::string &name) {
    auto entry = cache.find(sha256(name));
    return entry ? std::string(entry->bytes()) : "nothing";
  }
  std::string pathOf(const std::string &name) const {
    std::string key = sha256(name);
    return folder + "/" + key.substr(0, 2) + "/" + key.substr(2);
  }

  std::string folder;
};

TEST_F(ContentCacheTest, FindsWhatWasKept) {
  ContentCache cache(folder, 1 << 20);
  EXPECT_EQ(found(cache, "a"), "nothing");
  std::string_view pieces[] = {"one ", "", "two"};
  cache.keep(sha256("a"), pieces);
  keep(cache, "empty", "");
  EXPECT_EQ(found(cache, "a"), "one two");
  EXPECT_EQ(found(cache, "empty"), "");
  EXPECT_EQ(found(ContentCache(folder, 1), "a"), "one two");
  EXPECT_EQ(cache.usage().entries, 2u);
}

TEST_F(ContentCacheTest, DropsWhatIsDamaged) {
  ContentCache cache(folder, 1 << 20);
  for (int how = 0; how < 4; ++how) {
    keep(cache, "a", "a result that took long");
    ASSERT_EQ(found(cache, "a"), "a result that took long");
    std::string path = pathOf("a");
    uint64_t size = fs::file_size(path);
    if (how == 0) {
      fs::resize_file(path, size - 1);
    } else if (how == 1) {
      fs::resize_file(path, 0);
    } else if (how == 2) {
      std::fstream(path).seekp(3).write("X", 1);
    } else {
      std::fstream(path).seekp(std::streamoff(size) - 1).write("g", 1);
    }
    EXPECT_EQ(found(cache, "a"), "nothing") << how;
    EXPECT_FALSE(fs::exists(path)) << how;
  }
}

TEST_F(ContentCacheTest, NoticesEveryDamagedByteAndAnothersName) {
  ContentCache cache(folder, 1 << 20);
  keep(cache, "a", "an object");
  auto contents = [](const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  auto overwrite = [](const std::string &path, const std::string &bytes) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  };
  const std::string path = pathOf("a"), sound = contents(path);
  for (size_t i = 0; i < sound.size(); ++i) {
    std::string damaged = sound;
    damaged[i] = char(damaged[i] ^ 1);
    overwrite(path, damaged);
    EXPECT_EQ(found(cache, "a"), "nothing") << i;
    EXPECT_FALSE(fs::exists(path)) << i;
    overwrite(path, sound.substr(0, i));
    EXPECT_EQ(found(cache, "a"), "nothing") << i;
  }
  EXPECT_EQ(cache.damaged(), int64_t(2 * sound.size()));
  overwrite(pathOf("b"), sound);
  EXPECT_EQ(found(cache, "b"), "nothing");
  overwrite(path, sound);
  EXPECT_EQ(found(cache, "a"), "an object");
}

TEST_F(ContentCacheTest, RemovesTheLeastRecentlyUsed) {
  ContentCache cache(folder, 1 << 20);
  for (const char *name : {"old", "older", "used"}) {
    keep(cache, name, std::string(1000, 'x'));
    int64_t used = std::string_view(name) == "older" ? 1'000'000'000 : 1'500'000'000;
    timespec times[2] = {{used, 0}, {used, 0}};
    utimensat(AT_FDCWD, pathOf(name).c_str(), times, 0);
  }
  EXPECT_NE(found(cache, "used"), "nothing"); // Which makes it the newest.
  EXPECT_EQ(cache.prune(2500).entries, 1u);
  EXPECT_EQ(found(cache, "older"), "nothing");
  EXPECT_EQ(cache.prune(1500).entries, 1u);
  EXPECT_NE(found(cache, "used"), "nothing");
}

TEST_F(ContentCacheTest, StaysBelowItsLimit) {
  ContentCache cache(folder, 10'000);
  keep(cache, "too large", std::string(3000, 'x'));
  EXPECT_EQ(found(cache, "too large"), "nothing");
  for (int i = 0; i < 100; ++i)
    keep(cache, std::to_string(i), std::string(1000, 'x'));
  EXPECT_LE(cache.usage().bytes, 12'000u);
  EXPECT_GE(cache.usage().entries, 5u);
}

TEST_F(ContentCacheTest, NeverFailsItsUser) {
  ContentCache nowhere("", 1 << 20), unwritable("/proc/cupel", 1 << 20);
  keep(nowhere, "a", "b");
  keep(unwritable, "a", "b");
  EXPECT_EQ(found(nowhere, "a"), "nothing");
  EXPECT_EQ(found(unwritable, "a"), "nothing");
  EXPECT_EQ(unwritable.usage().entries, 0u);
}

TEST_F(ContentCacheTest, IsSharedByThreads) {
  ContentCache cache(folder, 200'000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        std::string name = std::to_string((i * 7 + t) % 50), value(2000, char('a' + name.size()));
        keep(cache, name, name + value);
        std::string seen = found(cache, name);
        wrong += seen != "nothing" && seen != name + value;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.damaged(), 0);
}

TEST(CacheFolder, FollowsTheEnvironment) {
  setenv("CUPEL_CACHE_DIR", "/somewhere", 1);
  EXPECT_EQ(cacheFolder("golden"), "/somewhere/golden");
  unsetenv("CUPEL_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(cacheFolder("golden"), "/xdg/cupel/golden");
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(ContentCacheTest, VerifiesAllOfThem) {
  ContentCache cache(folder, 1 << 20);
  for (const char *name : {"a", "b", "c"})
    keep(cache, name, "a result that took long");
  EXPECT_EQ(cache.verify().entries, 0u);
  std::ofstream(pathOf("b"), std::ios::app) << "x";
  std::ofstream(folder + "/half-written.tmp") << "x";
  EXPECT_EQ(cache.verify().entries, 1u);
  EXPECT_EQ(found(cache, "a"), "a result that took long");
  EXPECT_EQ(found(cache, "b"), "nothing");
  EXPECT_TRUE(fs::exists(folder + "/half-written.tmp")); // Somebody may be writing it.
}

TEST(CacheKinds, HaveLimitsOfTheirOwn) {
  unsetenv("CUPEL_GOLDEN_CACHE");
  EXPECT_EQ(cacheLimit("golden"), uint64_t{2} << 30);
  setenv("CUPEL_GOLDEN_CACHE", "1.5M", 1);
  EXPECT_EQ(cacheLimit("golden"), 3u << 19);
  setenv("CUPEL_GOLDEN_CACHE", "0", 1);
  EXPECT_EQ(cacheLimit("golden"), 0u);
  unsetenv("CUPEL_GOLDEN_CACHE");
  EXPECT_EQ(cacheLimit("nonsense"), 0u);
  for (const CacheKind &kind : cacheKinds())
    EXPECT_GT(kind.limit, 0u) << kind.name;
}

} // namespace
} // namespace cupel
