#include "cupel/runtime/DeclaredPrecision.h"

#include <gtest/gtest.h>

namespace cupel::runtime {
namespace {

std::string declared(const std::string &device, const std::string &arch = "") {
  Result<compare::DevicePrecision> found = declaredPrecision(device, arch);
  return found ? found->text() : found.message();
}

TEST(DeclaredPrecisionTest, WhoSaysNothingComputesInF32) {
  for (const char *device : {"reference", "cupel", "cpu", "/a/plugin.so", "plugin.so?x=1", ""})
    EXPECT_EQ(declared(device), "f32") << device;
}

TEST(DeclaredPrecisionTest, TheNameOfTheDeviceSaysIt) {
  EXPECT_EQ(declared("plugin.so?precision=bf16"), "bf16");
  EXPECT_EQ(declared("plugin.so?x=1&precision=tf32/f32&y=2"), "tf32/f32");
  EXPECT_EQ(declared("plugin.so?precision=tf32/f32@ssh lab", "n300"), "tf32/f32");
  EXPECT_NE(declared("plugin.so?precision=f31").find("'f31' is no precision"), std::string::npos);
}

TEST(DeclaredPrecisionTest, AnArchitectureSaysItOfPluginsThatAreNotOurs) {
  EXPECT_EQ(declared("plugin.so", "n300"), "tf32/tf32/tf32");
  EXPECT_EQ(declared("plugin.so", "cpu"), "f32");
  EXPECT_EQ(declared("plugin.so", "somebodys"), "f32");
  // Ours computes with the reference's kernels, and has no f64 where the architecture has none.
  EXPECT_EQ(declared("n300"), "f32/f32/f32");
  EXPECT_EQ(declared("cupel", "n300"), "f32/f32/f32");
  EXPECT_EQ(declared("n300?number_formats=program"), "f32");
  EXPECT_EQ(declared("reference", "n300"), "f32");
}

TEST(DeclaredPrecisionTest, ThePluginIsNotToldOfIt) {
  EXPECT_EQ(withoutPrecision("plugin.so"), "plugin.so");
  EXPECT_EQ(withoutPrecision("plugin.so?precision=bf16"), "plugin.so");
  EXPECT_EQ(withoutPrecision("plugin.so?x=1&precision=bf16&y=2"), "plugin.so?x=1&y=2");
  EXPECT_EQ(withoutPrecision("plugin.so?precision=bf16&y=2@ssh lab"), "plugin.so?y=2@ssh lab");
  EXPECT_EQ(withoutPrecision("reference"), "reference");
  EXPECT_EQ(withoutPrecision("reference?precision=bf16"), "reference");
}

TEST(DeclaredPrecisionTest, OursComputesAsItIsTold) {
  for (const char *device : {"cupel?precision=bf16", "cpu?x=1&precision=bf16", "cupel?precision=bf16/f32", "cupel?precision=bf16@ssh lab"}) {
    EXPECT_EQ(declared(device), "bf16/f32") << device; // Of products alone.
    EXPECT_EQ(withoutPrecision(device), device);
  }
  EXPECT_EQ(declared("cupel?precision=bf16/bf16"), "bf16"); // And of what lies between them.
  EXPECT_EQ(declared("cupel?precision=f32"), "f32");
  EXPECT_EQ(declared("n300?precision=bf16"), "bf16/f32/f32");
  EXPECT_NE(declared("cupel?precision=tf32/f32").find("f32"), std::string::npos);
  EXPECT_FALSE(declaredPrecision("cupel?precision=tf32/f32", ""));
}

} // namespace
} // namespace cupel::runtime
