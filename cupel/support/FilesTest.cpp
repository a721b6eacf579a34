#include "cupel/support/Files.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cupel;
namespace fs = std::filesystem;

namespace {

class FilesTest : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/cupel-files-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const char *name) const { return (folder / name).string(); }
  std::string write(const char *name, const std::string &bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  fs::path folder;
};

TEST_F(FilesTest, ReadsSmallLargeAndPageSizedFilesWithNulAfterwards) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{1} << 20, (size_t{1} << 20) + 5}) {
    std::string bytes(size, 'x');
    Result<FileContents> read = readInput(write("f", bytes));
    ASSERT_TRUE(read) << size;
    EXPECT_EQ(read->bytes(), bytes);
    EXPECT_EQ(read->bytes().data()[size], '\0') << size;
    FileContents moved = std::move(*read);
    EXPECT_EQ(moved.bytes().size(), size);
  }
}

TEST_F(FilesTest, NamesWhatIsWrongWithAnInput) {
  EXPECT_EQ(readInput(path("absent")).message(), path("absent") + ": no such file");
  EXPECT_EQ(readInput(folder.string()).message(), folder.string() + ": is a directory, not a file");
  std::string file = write("f", std::string(3000, 'x'));
  EXPECT_EQ(readInput(file, 2048).message(),
            file + ": is 2.9 KiB, beyond the 2.0 KiB that Cupel reads from one file");
}

TEST_F(FilesTest, RefusesAHugeSparseFileWithoutReadingIt) {
  std::string file = write("huge", "");
  fs::resize_file(file, uint64_t{3} << 30);
  EXPECT_EQ(readInput(file).message(),
            file + ": is 3.0 GiB, beyond the 2.0 GiB that Cupel reads from one file");
}

TEST_F(FilesTest, StopsReadingAnEndlessInput) {
  EXPECT_EQ(readInput("/dev/zero", 1 << 20).message(),
            "/dev/zero: goes on, beyond the 1.0 MiB that Cupel reads from one file");
}

TEST_F(FilesTest, WritesCompletelyAndKeepsTheModeOfWhatItReplaces) {
  std::string file = path("out");
  ASSERT_TRUE(writeOutput(file, "one"));
  EXPECT_EQ(readInput(file)->bytes(), "one");
  chmod(file.c_str(), 0600);
  ASSERT_TRUE(writeOutput(file, "two"));
  EXPECT_EQ(readInput(file)->bytes(), "two");
  struct stat info;
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "a temporary file was left";
}

TEST_F(FilesTest, ReportsWhatCannotBeWritten) {
  EXPECT_EQ(writeOutput(folder.string(), "x").message(),
            folder.string() + ": is a directory, not a file");
  EXPECT_EQ(writeOutput(path("no/such/folder"), "x").message(),
            path("no/such/folder") + ": cannot create: No such file or directory");
  EXPECT_EQ(writeOutput("/dev/full", "x").message(),
            "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(writeOutput("/dev/null", "x"));
}

} // namespace
