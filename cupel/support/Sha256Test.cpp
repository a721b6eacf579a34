#include "cupel/support/Sha256.h"

#include <gtest/gtest.h>

using namespace cupel;

namespace {

// Digests published with the standard (NIST's example values).
TEST(Sha256, AgreesWithTheStandardsExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsTheSameWithoutTheProcessorsInstructions) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    Sha256 plain(/*isPlain=*/true);
    plain.update(text);
    ASSERT_EQ(plain.finish(), sha256(text));
    text.push_back(char(i * i >> 3));
  }
}

TEST(Sha256, DoesNotCareHowTheBytesArrive) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text.push_back(char(i * 7));
  for (size_t size = 0; size <= text.size(); ++size)
    for (size_t piece : {size_t(1), size_t(63), size_t(64), size_t(65)}) {
      Sha256 hash;
      for (size_t at = 0; at < size; at += piece)
        hash.update(std::string_view(text).substr(at, std::min(piece, size - at)));
      ASSERT_EQ(hash.finish(), sha256(std::string_view(text).substr(0, size)));
    }
}

} // namespace
