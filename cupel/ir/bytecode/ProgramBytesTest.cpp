#include "cupel/ir/bytecode/ProgramBytes.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::ir;

TEST(CheckIsProgram, AcceptsTextAndBytecode) {
  EXPECT_TRUE(checkIsProgram("f", "module {}\n"));
  EXPECT_TRUE(checkIsProgram("f", "// \xc3\xa9 in a comment\n"));
  EXPECT_TRUE(checkIsProgram("f", std::string_view("ML\xefR\x0d\0\0", 7)));
}

TEST(CheckIsProgram, NamesWhatElseItIs) {
  EXPECT_EQ(checkIsProgram("f", "").message(), "f: is empty");
  EXPECT_EQ(checkIsProgram("f", "ML\xef").message(),
            "f: ends inside the first word of MLIR bytecode");
  EXPECT_EQ(checkIsProgram("f", "\x7f"
                                "ELF...")
                .message(),
            "f: not an MLIR program: this is an ELF binary");
  EXPECT_EQ(checkIsProgram("f", "PK\x03\x04...").message(),
            "f: not an MLIR program: this is a zip archive");
  EXPECT_EQ(checkIsProgram("f", std::string_view("ab\0cd", 5)).message(),
            "f: not an MLIR program: neither text nor MLIR bytecode (it starts with the bytes 61 "
            "62 00 63)");
}

TEST(SplitPrograms, KeepsLineNumbers) {
  EXPECT_EQ(splitPrograms("a\nb\n"), std::vector<std::string>{"a\nb\n"});
  EXPECT_EQ(splitPrograms("a\n// -----\nb\n// ----- more\nc"),
            (std::vector<std::string>{"a\n", "\n\nb\n", "\n\n\n\nc"}));
  EXPECT_EQ(splitPrograms("a\nb // -----\nc"), (std::vector<std::string>{"a\nb ", "\n\nc"}))
      << "what stands before a separator on its line is kept";
  EXPECT_EQ(splitPrograms(""), std::vector<std::string>{""});
}
