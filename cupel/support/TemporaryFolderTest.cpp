#include "cupel/support/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace cupel {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, IsMadeWhereTheNamedPlaceIsGone) {
  TemporaryFolder outer("cupel-test");
  ASSERT_FALSE(outer.path.empty());
  const char *before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  const fs::path gone = outer.path / "gone";
  setenv("TMPDIR", gone.c_str(), 1);
  {
    TemporaryFolder inner("cupel-test");
    EXPECT_TRUE(fs::is_directory(inner.path));
    EXPECT_EQ(inner.path.parent_path(), gone);
  }
  if (before)
    setenv("TMPDIR", kept.c_str(), 1);
  else
    unsetenv("TMPDIR");
}

} // namespace
} // namespace cupel
