#include "cupel/support/MissingLibrary.h"

#include <gtest/gtest.h>

namespace cupel {
namespace {

TEST(MissingLibrary, NamesThePackage) {
  EXPECT_EQ(missingPackage("cupel-worker: error while loading shared libraries: libMLIR.so.19.1: "
                           "cannot open shared object file: No such file or directory"),
            "; on Debian 12: apt-get install libmlir-19");
  EXPECT_EQ(missingPackage("liblapacke.so.3: cannot open shared object file"),
            "; on Debian 12: apt-get install liblapacke");
}

TEST(MissingLibrary, IsSilentAboutOthers) {
  EXPECT_EQ(missingPackage("libcudart.so.13: cannot open shared object file"), "");
  EXPECT_EQ(missingPackage("libMLIR.so.19.1: invalid ELF header"), "");
  EXPECT_EQ(missingPackage(""), "");
}

} // namespace
} // namespace cupel
