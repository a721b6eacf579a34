#include "cupel/testbench/config/Configuration.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cupel::testbench::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Configuration one(std::string text, std::string name = "test_config_inference_single_device.yaml") {
  return Configuration::fromTexts({{std::move(name), std::move(text)}});
}

std::vector<std::string> rendered(const Configuration &configuration) {
  std::vector<std::string> lines;
  for (const Diagnostic &diagnostic : configuration.diagnostics())
    lines.push_back(render(diagnostic));
  return lines;
}

/// The real files, where they are at hand.
std::string realFolder() {
  const char *given = std::getenv("CUPEL_REAL_CONFIG");
  std::string folder = given ? given : CUPEL_SOURCE_DIR "/../shared/realworld/tt-xla/test_config";
  return std::filesystem::is_directory(folder) ? folder : "";
}

TEST(Configuration, ReadsEveryField) {
  Configuration configuration = one(R"(
test_config:
  a/pytorch-x-single_device-inference:
    required_pcc: 0.97
    assert_pcc: False
    assert_atol: true
    required_atol: 1e-2
    assert_allclose: TRUE
    allclose_rtol: .5
    allclose_atol: 1
    status: expected_passing
    reason: "a \"quoted\" reason"
    bringup_status: INCORRECT_RESULT
    markers: [push, "nightly"]
    supported_archs:
      - n150
      - n300-llmbox
    batch_size: 0x10
    execution_pass: FORWARD
    filechecks: []
    enable_weight_bfp8_conversion: true
    optimization_level: 2
    inject_custom_moe: false
    emitpy_assert_exact: true
)");
  EXPECT_THAT(rendered(configuration), IsEmpty());
  Expectation got = configuration.expectation("a/pytorch-x-single_device-inference");
  EXPECT_TRUE(got.hasEntry);
  EXPECT_EQ(got.line, 3u);
  EXPECT_EQ(got.file, "test_config_inference_single_device.yaml");
  EXPECT_EQ(got.requiredPcc, 0.97);
  EXPECT_EQ(got.assertPcc, false);
  EXPECT_EQ(got.assertAtol, true);
  EXPECT_EQ(got.requiredAtol, 0.01);
  EXPECT_EQ(got.assertAllclose, true);
  EXPECT_EQ(got.allcloseRtol, 0.5);
  EXPECT_EQ(got.allcloseAtol, 1.0);
  EXPECT_EQ(got.status, TestStatus::ExpectedPassing);
  EXPECT_EQ(got.reason, "a \"quoted\" reason");
  EXPECT_EQ(got.bringupStatus, BringupStatus::IncorrectResult);
  EXPECT_THAT(got.markers, ElementsAre("push", "nightly"));
  EXPECT_THAT(*got.supportedArchs, ElementsAre("n150", "n300-llmbox"));
  EXPECT_EQ(got.batchSize, 16);
  EXPECT_EQ(got.executionPass, "FORWARD");
  EXPECT_EQ(got.enableWeightBfp8Conversion, true);
  EXPECT_EQ(got.optimizationLevel, 2);
  EXPECT_EQ(got.injectCustomMoe, false);
  EXPECT_EQ(got.emitpyAssertExact, true);
}

TEST(Configuration, WithoutEntryEverythingIsDefault) {
  Configuration configuration = one("test_config:\n");
  EXPECT_EQ(configuration.expectation("a/pytorch-single_device-inference"), Expectation{});
  EXPECT_EQ(configuration.find("x"), nullptr);
}

TEST(Configuration, OverridesReplaceFieldByField) {
  Configuration configuration = one(R"(
test_config:
  a/pytorch-x-single_device-inference:
    status: EXPECTED_PASSING
    required_pcc: 0.97
    markers: [push, large]
    supported_archs: [n150, p150, n300]
    arch_overrides:
      n150:
        status: NOT_SUPPORTED_SKIP
        reason: too large
      p150:
        markers: [nightly]
        supported_archs: []
)");
  const char *id = "a/pytorch-x-single_device-inference";
  Expectation n150 = configuration.expectation(id, "n150");
  EXPECT_EQ(n150.status, TestStatus::NotSupportedSkip);
  EXPECT_EQ(n150.reason, "too large");
  EXPECT_EQ(n150.requiredPcc, 0.97);
  EXPECT_THAT(n150.markers, ElementsAre("push", "large"));
  Expectation p150 = configuration.expectation(id, "p150");
  EXPECT_EQ(p150.status, TestStatus::ExpectedPassing);
  EXPECT_THAT(p150.markers, ElementsAre("nightly"));
  EXPECT_EQ(p150.supportedArchs, std::nullopt); // Empty counts as silence.
  EXPECT_THAT(configuration.find(id)->supportedArchs("p150"), ElementsAre("n150", "p150"));
  EXPECT_THAT(configuration.find(id)->supportedArchs("n150"), ElementsAre("n150", "p150", "n300"));
  EXPECT_EQ(configuration.expectation(id, "n300"), configuration.expectation(id));
}

TEST(Configuration, ReadsPlaceholders) {
  Configuration configuration = one("PLACEHOLDER_MODELS:\n  KLA K-SegNet:\n    bringup_status: "
                                    "not_started\n  x/Y:\n    bringup_status: PASSED\n");
  EXPECT_THAT(rendered(configuration), IsEmpty());
  ASSERT_EQ(configuration.placeholders().size(), 2u);
  EXPECT_EQ(configuration.placeholders()[0].id, "KLA K-SegNet");
  EXPECT_EQ(configuration.expectation(configuration.placeholders()[0]).bringupStatus,
            BringupStatus::NotStarted);
  EXPECT_TRUE(configuration.entries().empty());
}

TEST(Configuration, LaterFileHolds) {
  Configuration configuration = Configuration::fromTexts(
      {{"a.yaml", "test_config:\n  m/jax-single_device-inference:\n    status: EXCLUDE_MODEL\n"},
       {"b.yaml",
        "test_config:\n  m/jax-single_device-inference:\n    status: EXPECTED_PASSING\n"}});
  EXPECT_EQ(configuration.expectation("m/jax-single_device-inference").status,
            TestStatus::ExpectedPassing);
  EXPECT_THAT(rendered(configuration),
              ElementsAre("b.yaml:2:3: error: m/jax-single_device-inference also stands in "
                          "a.yaml:2, with other fields; the later one, this, holds; remove one "
                          "[C021]"));
  EXPECT_TRUE(configuration.entries()[0].shadowed);
  EXPECT_FALSE(configuration.entries()[1].shadowed);
}

TEST(Configuration, FoldersAreSearchedForYamlFiles) {
  namespace fs = std::filesystem;
  fs::path folder =
      fs::temp_directory_path() / ("cupel-configuration-" + std::to_string(::getpid()));
  auto write = [&](const std::string &name, const std::string &id) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << "test_config:\n  " << id
                                 << "/jax-single_device-inference:\n    status: EXCLUDE_MODEL\n";
  };
  write("b.yaml", "b");
  write("a/deeper/c.yml", "c");
  write(".#b.yaml", "hidden");
  write("a/readme.txt", "text");
  Configuration configuration = Configuration::load({folder.string()});
  std::vector<std::string> ids;
  for (const Entry &entry : configuration.entries())
    ids.emplace_back(entry.id);
  EXPECT_THAT(ids, ElementsAre("c/jax-single_device-inference", "b/jax-single_device-inference"));
  EXPECT_THAT(rendered(configuration), IsEmpty());
  EXPECT_THAT(rendered(Configuration::load({(folder / "none.yaml").string()})),
              ElementsAre(testing::HasSubstr("[C001]")));
  // Moved, it says the same: entries point into what it owns.
  Configuration moved = std::move(configuration);
  EXPECT_EQ(moved.expectation("b/jax-single_device-inference").status, TestStatus::ExcludeModel);
  EXPECT_EQ(moved.expectation("b/jax-single_device-inference").line, 2u);
  fs::remove_all(folder);
}

TEST(Configuration, LoadsTheRealFilesUnchanged) {
  std::string folder = realFolder();
  if (folder.empty())
    GTEST_SKIP() << "the real configuration is not here; set CUPEL_REAL_CONFIG";
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto start = std::chrono::steady_clock::now();
    Configuration configuration = Configuration::load({folder});
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
    EXPECT_EQ(configuration.files().size(), 13u);
    EXPECT_EQ(configuration.entries().size(), 1999u);
    EXPECT_EQ(configuration.placeholders().size(), 15u);
    ASSERT_EQ(configuration.diagnostics().size(), 1u)
        << testing::PrintToString(rendered(configuration));
    EXPECT_EQ(configuration.diagnostics()[0].code, Code::DuplicateAcrossFiles);
    size_t withoutStatus = 0, excluded = 0, withOverrides = 0;
    for (const Entry &entry : configuration.entries()) {
      withoutStatus += !entry.fields.status;
      excluded += entry.fields.status == TestStatus::ExcludeModel;
      withOverrides += !entry.overrides.empty();
    }
    EXPECT_EQ(withoutStatus, 54u - 1u);
    EXPECT_EQ(excluded, 53u);
    EXPECT_EQ(withOverrides, 90u);
  }
  std::cout << "loading took " << best << " ms\n";
#ifndef CUPEL_SANITIZED
  EXPECT_LT(best, 60.0); // Four times what is asked for: machines differ.
#endif
}

} // namespace
} // namespace cupel::testbench::config
