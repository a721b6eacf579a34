#include "cupel/support/CommandWords.h"

#include <gtest/gtest.h>

namespace cupel {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  Result<Words> words = commandWords(text);
  return words ? *words : Words{"error", words.message()};
}

TEST(CommandWords, AreSplitAtSpaces) {
  EXPECT_EQ(split("ssh lab"), (Words{"ssh", "lab"}));
  EXPECT_EQ(split("  ssh\t-p 22\n lab "), (Words{"ssh", "-p", "22", "lab"}));
  EXPECT_EQ(split(""), Words{});
}

TEST(CommandWords, AreHeldTogetherByQuotes) {
  EXPECT_EQ(split("sh -c 'exec \"$0\" \"$@\"'"), (Words{"sh", "-c", "exec \"$0\" \"$@\""}));
  EXPECT_EQ(split("\"/my tools/ssh\" la'b '"), (Words{"/my tools/ssh", "lab "}));
  EXPECT_EQ(split("a '' b"), (Words{"a", "", "b"}));
  EXPECT_EQ(split("a\\ b \\'"), (Words{"a b", "'"}));
  EXPECT_EQ(split(R"("a \" \\ \n")"), (Words{R"(a " \ \n)"}));
}

TEST(CommandWords, SayWhichQuoteIsOpen) {
  EXPECT_EQ(commandWords("sh -c 'x").message(), "a ' is not closed in: sh -c 'x");
  EXPECT_EQ(commandWords("\"").message(), "a \" is not closed in: \"");
}

TEST(CommandWords, QuotedReadBackTheSame) {
  for (std::string word : {"plain", "", "two words", "it's", "$HOME;`x`", "a\\b", "\"", "a?b&c"})
    EXPECT_EQ(split(quotedForShell(word)), Words{word});
  EXPECT_EQ(quotedForShell("/opt/vendor.so"), "/opt/vendor.so");
}

} // namespace
} // namespace cupel
