#include "cupel/runtime/Options.h"

#include "cupel/runtime/DeviceName.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace cupel::runtime {
namespace {

using ::testing::HasSubstr;

TEST(OptionsTest, EveryNameOfTheTableIsThereOnceAndSaysWhatItIs) {
  std::set<std::string_view> names, variables;
  for (const OptionInfo &option : optionTable()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    for (std::string_view alias : optionWords(option.aliases))
      EXPECT_TRUE(names.insert(alias).second) << alias;
    for (std::string_view variable : optionWords(option.environment)) {
      EXPECT_TRUE(variables.insert(variable).second) << variable;
      EXPECT_TRUE(option.isFor(OptionScope::Client)) << option.name;
    }
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_FALSE(option.defaultText.empty()) << option.name;
    EXPECT_NE(option.scopes, 0) << option.name;
    EXPECT_THAT(optionsPage(), HasSubstr("| `" + std::string(option.name) + "` | ")) << option.name;
    // What a program takes, its client takes for all of them.
    EXPECT_TRUE(!option.isFor(OptionScope::Program) || option.isFor(OptionScope::Client)) << option.name;
  }
}

TEST(OptionsTest, TextStandsForNumbersAndBooleans) {
  Options options(OptionScope::Client);
  EXPECT_TRUE(options.set("num_devices", "3"));
  EXPECT_EQ(options.integer("num_devices"), 3);
  for (auto [text, expected] : {std::pair("yes", true), std::pair("ON", true), std::pair("1", true), std::pair("off", false),
                                std::pair("No", false), std::pair("false", false)}) {
    EXPECT_TRUE(options.set("strict", text));
    EXPECT_EQ(options.boolean("strict"), expected) << text;
  }
  EXPECT_TRUE(options.set("strict", int64_t(1)));
  EXPECT_TRUE(options.setText("opt-bisect-limit=7")); // Dashes are underscores.
  EXPECT_EQ(options.integer("opt_bisect_limit"), 7);
  EXPECT_FALSE(options.isGiven("scatter"));
}

TEST(OptionsTest, WordsOfOtherStacksAreOurs) {
  Options options(OptionScope::Program);
  EXPECT_TRUE(options.set("backend", "TTNN_FlatBuffer"));
  EXPECT_EQ(options.string("backend"), "cpu");
  EXPECT_TRUE(options.set("backend", "codegen_py"));
  EXPECT_EQ(options.string("backend"), "codegen_py");
}

TEST(OptionsTest, WhatIsWrongIsRefusedWithWhatWouldBeRight) {
  Options program(OptionScope::Program);
  auto complaint = [](Options &options, std::string_view text) {
    Status status = options.setText(text);
    return status ? "taken" : status.message();
  };
  EXPECT_EQ(complaint(program, "acumulate=f64"), "No such compile option: 'acumulate'; the nearest is 'accumulate'");
  EXPECT_THAT(complaint(program, "speed=1"), HasSubstr(" of export_path, accumulate, "));
  EXPECT_THAT(complaint(program, "num_threads=2"), HasSubstr("it is one for others"));
  EXPECT_EQ(complaint(program, "accumulate=f32"), "the option 'accumulate' is 'f32'; it takes native or f64");
  EXPECT_THAT(complaint(program, "backend=nul"), HasSubstr("; the nearest is 'null'"));
  EXPECT_EQ(complaint(program, "strict=perhaps"), "the option 'strict' takes true or false, not 'perhaps'");
  EXPECT_EQ(complaint(program, "opt_bisect_limit=-2"), "the option 'opt_bisect_limit' is -2; the least is -1");
  EXPECT_EQ(complaint(program, "opt_bisect_limit=few"), "the option 'opt_bisect_limit' takes a whole number, not 'few'");
  EXPECT_EQ(complaint(program, "strict"), "'strict' is no option, which are NAME=VALUE");
  Options client(OptionScope::Client);
  EXPECT_EQ(complaint(client, "num_threads=5000"), "the option 'num_threads' is 5000; the most is 4096");
  EXPECT_FALSE(program.set("accumulate", true));
  EXPECT_FALSE(program.set("opt_bisect_limit", 1.5));
}

TEST(OptionsTest, TheEnvironmentSpeaksWhereNobodyElseDoes) {
  ::setenv("CUPEL_SCATTER", "windows", 1);
  ::setenv("CUPEL_STRICT", "yes", 1);
  Options options(OptionScope::Client);
  EXPECT_TRUE(options.set("scatter", "elements"));
  EXPECT_TRUE(options.readEnvironment());
  EXPECT_EQ(options.string("scatter"), "elements");
  EXPECT_EQ(options.boolean("strict"), true);
  ::setenv("CUPEL_STRICT", "perhaps", 1);
  Status wrong = Options(OptionScope::Client).readEnvironment();
  ::unsetenv("CUPEL_SCATTER");
  ::unsetenv("CUPEL_STRICT");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.message(), HasSubstr("CUPEL_STRICT"));
}

TEST(OptionsTest, PathsAreWholeForWhoRunsElsewhere) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(withWholePaths("export_path=stages"), "export_path=" + here + "/stages");
  EXPECT_EQ(withWholePaths("export-path=/stages"), "export-path=/stages");
  EXPECT_EQ(withWholePaths("fusion_patterns=a.pdll,/b.pdll"), "fusion_patterns=" + here + "/a.pdll,/b.pdll");
  EXPECT_EQ(withWholePaths("experimental_weight_dtype={\"a\": \"bfp8\"}"), "experimental_weight_dtype={\"a\": \"bfp8\"}");
  EXPECT_EQ(withWholePaths("arch=n300"), "arch=n300");
  EXPECT_EQ(withWholePaths("precision=bf16/bf16"), "precision=bf16/bf16");
  EXPECT_EQ(withWholePaths("their_own=a/b"), "their_own=a/b");
  const std::string file = "options_test_formats.json";
  std::ofstream(file) << "{}";
  EXPECT_EQ(withWholePaths("experimental_weight_dtype=" + file), "experimental_weight_dtype=" + here + "/" + file);
  std::filesystem::remove(file);
  ::setenv("CUPEL_DUMP_DIR", "stages", 1);
  makePathsOfEnvironmentWhole();
  EXPECT_EQ(std::string(std::getenv("CUPEL_DUMP_DIR")), here + "/stages");
  ::unsetenv("CUPEL_DUMP_DIR");
}

TEST(OptionsTest, DevicesTakeThoseOfTheirCompilers) {
  DeviceName ours = DeviceName::parse("n300");
  EXPECT_TRUE(ours.addCompilerOptions({"partition=whole", "strict=true"}));
  EXPECT_EQ(ours.str(), "cupel?arch=n300&partition=whole&strict=true");
  Status unknown = ours.addCompilerOptions({"partitions=whole"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.message(), HasSubstr("the nearest is 'partition'"));
  DeviceName theirs = DeviceName::parse("/a/b.so?x=1");
  EXPECT_TRUE(theirs.addCompilerOptions({"their_own=2"}));
  EXPECT_EQ(theirs.str(), "/a/b.so?x=1&compile.their_own=2");
  EXPECT_FALSE(theirs.addCompilerOptions({"no value"}));
  DeviceName reference = DeviceName::parse("reference");
  EXPECT_FALSE(reference.addCompilerOptions({"strict=true"}));
  EXPECT_TRUE(reference.addCompilerOptions({}));
}

} // namespace
} // namespace cupel::runtime
