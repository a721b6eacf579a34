#include "cupel/testbench/opcases/Condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::testbench::opcases {
namespace {

using testing::HasSubstr;

std::string verdict(std::string_view text) {
  Surroundings names{.device = "spyre",
                     .compileBackend = "cupel",
                     .arch = "n150",
                     .model = "gpt_oss",
                     .name = "rsqrt_1",
                     .op = "torch.rsqrt",
                     .dtype = "float16"};
  Condition condition;
  LiteralError problem;
  if (!Condition::parse(text, condition, problem))
    return "at " + std::to_string(problem.at) + ": " + problem.message;
  Result<bool> holds = condition.holds(names);
  return !holds ? holds.message() : *holds ? "yes" : "no";
}

TEST(Condition, SaysWhatPythonWouldSay) {
  EXPECT_EQ(verdict("cfg.test_device.type == 'spyre' and dtype_str == 'fp16'"), "yes");
  EXPECT_EQ(verdict("cfg.test_device.type == 'cupel' and dtype_str == 'fp16'"), "no");
  EXPECT_EQ(verdict("dtype_str in ('bf16', 'torch.float16')"), "yes");
  EXPECT_EQ(verdict("dtype_str not in ['bf16']"), "yes");
  EXPECT_EQ(verdict("not arch == 'p150' or False"), "yes");
  EXPECT_EQ(verdict("'gpt' in model"), "yes");
  EXPECT_EQ(verdict("op != \"torch.rsqrt\""), "no");
  EXPECT_EQ(verdict("1 < 2 < 3"), "yes");
  EXPECT_EQ(verdict("1 < 3 < 2"), "no");
  EXPECT_EQ(verdict("cfg.test_device.index == 0"), "yes");
  EXPECT_EQ(verdict("arch is not None"), "yes");
  EXPECT_EQ(verdict("True or False and False"), "yes");
  EXPECT_EQ(verdict("(True or False) and False"), "no");
  EXPECT_EQ(verdict("cfg.compile_backend"), "yes");
}

TEST(Condition, RefusesWhatItCannotKnow) {
  EXPECT_THAT(verdict("cfg.test_devise.type == 'x'"),
              HasSubstr("at 0: there is nothing called 'cfg.test_devise.type' here; did you mean "
                        "cfg.test_device.type?"));
  EXPECT_THAT(verdict("arch == 'a' and dtyp_str == 'b'"), HasSubstr("at 16:"));
  EXPECT_THAT(verdict("__import__('os')"), HasSubstr("there is nothing called"));
  EXPECT_THAT(verdict("dtype_str.startswith('fp')"), HasSubstr("there is nothing called"));
  EXPECT_THAT(verdict("arch('x')"), HasSubstr("calls, arithmetic and indices are not taken"));
  EXPECT_THAT(verdict("1 + 1 == 2"), HasSubstr("are not taken"));
  EXPECT_THAT(verdict("arch =="), HasSubstr("a value is missing"));
  EXPECT_THAT(verdict("(arch == 'a'"), HasSubstr("never closed"));
  EXPECT_THAT(verdict("arch < 3"), HasSubstr("have no order"));
  EXPECT_THAT(verdict("'a' in 3"), HasSubstr("'in' wants"));
  std::string deep(5000, '(');
  EXPECT_THAT(verdict(deep), HasSubstr("longer"));
  EXPECT_THAT(verdict(deep.substr(0, 4000)), HasSubstr("nested too deep"));
  std::string nots;
  for (int i = 0; i < 900; ++i)
    nots += "not ";
  EXPECT_THAT(verdict(nots + "True"), HasSubstr("nested too deep"));
}

} // namespace
} // namespace cupel::testbench::opcases
