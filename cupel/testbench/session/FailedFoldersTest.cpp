#include "cupel/testbench/session/FailedFolders.h"

#include "cupel/support/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace cupel::testbench::session {
namespace {

namespace fs = std::filesystem;

class FailedFolders : public testing::Test {
protected:
  void run(const std::string &id, size_t bytes) {
    fs::create_directories(folder.path / id / "programs-a");
    std::ofstream(folder.path / id / "programs-a" / "inputs") << std::string(bytes, 'x');
  }
  TemporaryFolder folder{"cupel-failed"};
};

TEST_F(FailedFolders, OldestGoFirst) {
  for (const char *id : {"20261101-000000-0000", "20261102-000000-0000", "20261103-000000-0000",
                         "20261104-000000-0000"})
    run(id, 100);
  EXPECT_EQ(pruneFailed(folder.path, "20261104-000000-0000", 300),
            std::vector<std::string>{"20261101-000000-0000"});
  EXPECT_TRUE(fs::exists(folder.path / "20261102-000000-0000"));
  EXPECT_FALSE(fs::exists(folder.path / "20261101-000000-0000"));
}

TEST_F(FailedFolders, ThisRunAndTheOneBeforeStay) {
  for (const char *id : {"1", "2", "3"})
    run(id, 1000);
  EXPECT_EQ(pruneFailed(folder.path, "3", 10), std::vector<std::string>{"1"});
  EXPECT_TRUE(fs::exists(folder.path / "3"));
  EXPECT_TRUE(fs::exists(folder.path / "2"));
}

TEST_F(FailedFolders, WithoutALimitOrAFolderNothingHappens) {
  run("1", 1000);
  run("2", 1000);
  run("3", 1000);
  EXPECT_TRUE(pruneFailed(folder.path, "3", 0).empty());
  EXPECT_TRUE(pruneFailed(folder.path / "nowhere", "3", 10).empty());
  EXPECT_TRUE(fs::exists(folder.path / "1"));
}

} // namespace
} // namespace cupel::testbench::session
