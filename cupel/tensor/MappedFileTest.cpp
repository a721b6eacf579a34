// Files that are mapped: parts of them give their memory back when nobody has them any more.

#include "cupel/tensor/MappedFile.h"
#include "cupel/tensor/MappedPages.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <numeric>
#include <sys/vfs.h>
#include <unistd.h>
#include <vector>

namespace cupel::tensor {
namespace {

/// Bytes of files that are resident in this process.
int64_t residentOfFiles() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:"))
      return std::strtoll(line.c_str() + 8, nullptr, 10) * 1024;
  return 0;
}

TEST(MappedFile, PartsGiveTheirPagesBack) {
  constexpr size_t kSize = 32 << 20;
  std::string path = testing::TempDir() + "mapped-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << std::string(kSize, '\1');
  Result<SharedBytes> file = mapFile(path);
  ASSERT_TRUE(file) << file.message();
  EXPECT_TRUE(file->isMapped);
  auto sum = [&] {
    return std::accumulate(file->bytes.begin(), file->bytes.end(), size_t{0},
                           [](size_t all, std::byte one) { return all + size_t(one); });
  };
  EXPECT_EQ(sum(), kSize);
  int64_t before = residentOfFiles();
  {
    // Neither begins nor ends with a page.
    SharedBytes part = file->part(1000, kSize / 2);
    std::shared_ptr<const void> owner = part.ownerOfPart(), other = owner;
    owner.reset();
    EXPECT_GT(residentOfFiles(), before - (4 << 20)); // Somebody has it yet.
  }
  EXPECT_LT(residentOfFiles(), before - int64_t(kSize / 2) + (4 << 20));
  EXPECT_EQ(sum(), kSize); // It is still the file.
  // The part keeps the file mapped.
  SharedBytes part = file->part(0, kSize);
  std::shared_ptr<const void> owner = part.ownerOfPart();
  *file = SharedBytes();
  EXPECT_EQ(part.bytes[kSize - 1], std::byte{1});
  owner.reset();
  std::remove(path.c_str());
}

TEST(MappedFile, PagesOfFilesAloneAreGivenBack) {
  constexpr size_t kSize = size_t{32} << 20;
  std::string path = testing::TempDir() + "given-back-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << std::string(kSize, '\1');
  Result<SharedBytes> file = mapFile(path);
  ASSERT_TRUE(file) << file.message();
  auto areOnes = [](std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{1}; });
  };
  EXPECT_TRUE(areOnes(file->bytes));
  EXPECT_TRUE(areMapped(file->bytes.subspan(1000, 10)));
  int64_t before = residentOfFiles();
  giveBackPages(file->bytes.subspan(1000, kSize / 2));
  struct statfs disk;
  ASSERT_EQ(::statfs(path.c_str(), &disk), 0);
  if (disk.f_type != TMPFS_MAGIC)
    EXPECT_LT(residentOfFiles(), before - int64_t(kSize / 2) + (4 << 20));
  EXPECT_TRUE(areOnes(file->bytes));
  // Memory that no file has again, also where a file was before it.
  std::vector<std::byte> heap(kSize, std::byte{1});
  giveBackPages(heap);
  EXPECT_TRUE(areOnes(heap));
  EXPECT_FALSE(areMapped(heap));
  *file = SharedBytes();
  giveBackPages(heap);
  EXPECT_TRUE(areOnes(heap));
  std::remove(path.c_str());
}

TEST(MappedFile, WhatIsNotMappedKeepsItsOwner) {
  auto bytes = std::make_shared<std::vector<std::byte>>(1 << 20);
  SharedBytes shared{*bytes, bytes};
  EXPECT_EQ(shared.ownerOfPart(), shared.owner);
}

} // namespace
} // namespace cupel::tensor
