#include "cupel/results/report/Xlsx.h"

#include "cupel/support/Process.h"
#include "cupel/support/TemporaryFolder.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace cupel::results {
namespace {

using testing::HasSubstr;

/// The book as a reader that is not ours sees it.
std::string read(const std::string &path) {
  Result<CommandOutput> output =
      runCommand({"python3", std::string(CUPEL_TESTDATA) + "/read_xlsx.py", path});
  return output && output->exitCode == 0
             ? output->text
             : "unreadable: " + (output ? output->text : output.message());
}

TEST(Xlsx, KeepsTextsNumbersAndHiddenRows) {
  TemporaryFolder folder("cupel-xlsx-test");
  std::string path = folder.path / "book.xlsx";
  XlsxBook book;
  XlsxSheet &sheet = book.sheet("Tests");
  sheet.heading({"Name", "PCC", "Share"});
  sheet.row({"a<b>&\"\x1b[31m", 0.25, Cell(0.5).percent()}, CellStyle::Yellow);
  sheet.row({"below", std::numeric_limits<double>::quiet_NaN(), Cell()}, CellStyle::Plain, true);
  sheet.skipRow();
  sheet.row({uint64_t(7), Cell("red").in(CellStyle::Red)});
  ASSERT_TRUE(book.save(path));
  EXPECT_EQ(read(path), "[Tests]\nA1=Name\nB1=PCC\nC1=Share\nA2=a<b>&\"#x1B[31m\nB2=0.25\nC2=0.5\n"
                        "hidden:3=yes\nA3=below\nB3=nan\nA5=7\nB5=red\n");
}

TEST(Xlsx, FitsNamesToTheFormat) {
  TemporaryFolder folder("cupel-xlsx-test");
  std::string path = folder.path / "book.xlsx";
  XlsxBook book;
  EXPECT_EQ(book.sheet("bert/masked_lm[base]:1*?\\'x").name(), "bert_masked_lm_base__1____x");
  EXPECT_EQ(book.sheet("Name").name(), "Name");
  EXPECT_EQ(book.sheet("name").name(), "name_1"); // Names differ by more than case.
  EXPECT_EQ(book.sheet("NAME").name(), "NAME_2");
  std::string twentyNine = "äbcdefghijklmnopqrstuvwxyzäbc";
  EXPECT_EQ(book.sheet(twentyNine).name(), "äbcdefghijklmnopqrstuvwxyzäb");
  EXPECT_EQ(book.sheet(twentyNine).name(), "äbcdefghijklmnopqrstuvwxyzäb_1");
  EXPECT_EQ(book.sheet("").name(), "_");
  ASSERT_TRUE(book.save(path));
  EXPECT_THAT(read(path), HasSubstr("[äbcdefghijklmnopqrstuvwxyzäb_1]"));
}

TEST(Xlsx, CutsTextsThatNoCellTakes) {
  TemporaryFolder folder("cupel-xlsx-test");
  std::string path = folder.path / "book.xlsx";
  XlsxBook book;
  book.sheet("Long").row({std::string(100'000, 'x'), std::string(32'767, 'y')});
  ASSERT_TRUE(book.save(path));
  EXPECT_THAT(read(path), HasSubstr("A1=(32767 characters)\nB1=(32767 characters)"));
}

TEST(Xlsx, LeavesNothingWhereItCannotWrite) {
  TemporaryFolder folder("cupel-xlsx-test");
  XlsxBook book;
  book.sheet("One").row({"x"});
  Status saved = book.save((folder.path / "missing" / "book.xlsx").string());
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.message(), HasSubstr("missing/book.xlsx"));
  EXPECT_FALSE(std::filesystem::exists(folder.path / "missing"));
}

} // namespace
} // namespace cupel::results
