#include "cupel/testbench/config/Check.h"

#include "cupel/testbench/config/TestId.h"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace cupel::testbench::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kFile = "torch/test_config_inference_single_device.yaml";

Configuration load(std::string text, std::string file = kFile) {
  return Configuration::fromTexts({{std::move(file), std::move(text)}});
}

std::vector<std::string> lines(const std::vector<Diagnostic> &diagnostics) {
  std::vector<std::string> result;
  for (const Diagnostic &diagnostic : diagnostics)
    result.push_back(render(diagnostic));
  return result;
}

/// The findings for one entry's fields, without the name of the file.
std::vector<std::string> ofEntry(const std::string &fields) {
  std::vector<std::string> result =
      lines(check(load("test_config:\n  a/pytorch-x-single_device-inference:\n" + fields)));
  for (std::string &line : result)
    line = line.substr(std::string(kFile).size() + 1);
  return result;
}

TEST(Codes, TheTableIsInOrderAndItsIdsAreUnique) {
  size_t index = 0;
  std::string previous;
  for (const CodeInfo &row : codes()) {
    EXPECT_EQ(size_t(row.code), index++) << row.id;
    EXPECT_EQ(&info(row.code), &row);
    EXPECT_LT(previous, row.id);
    previous = row.id;
    EXPECT_FALSE(row.title.empty() || row.explanation.empty() || row.remedy.empty()) << row.id;
    EXPECT_EQ(findCode(row.id), &row);
    EXPECT_THAT(codesPage(), HasSubstr("\n## " + std::string(row.id) + "\n"));
  }
  EXPECT_EQ(index, size_t(Code::UndecidedTests) + 1);
  EXPECT_EQ(findCode("c010")->code, Code::UnknownField);
  EXPECT_EQ(findCode("C999"), nullptr);
  EXPECT_EQ(findCode("C01"), nullptr);
}

TEST(Codes, EveryExampleShowsWhatItStandsFor) {
  for (const CodeInfo &row : codes()) {
    if (row.example.empty())
      continue;
    std::vector<Diagnostic> found = check(load(std::string(row.example) + "\n", "a.yaml"));
    std::vector<std::string_view> ids;
    for (const Diagnostic &diagnostic : found) {
      ids.push_back(info(diagnostic.code).id);
      EXPECT_EQ(diagnostic.severity, info(diagnostic.code).severity);
      EXPECT_EQ(diagnostic.message.find('\n'), std::string::npos);
      EXPECT_GT(diagnostic.line, 0u) << render(diagnostic);
    }
    EXPECT_THAT(ids, Contains(row.id)) << testing::PrintToString(lines(found));
    // And nothing worse than it: the example is about one thing.
    for (const Diagnostic &diagnostic : found)
      EXPECT_TRUE(diagnostic.code == row.code || diagnostic.severity < row.severity ||
                  row.code == Code::OverrideEqualsBase || row.code == Code::UnknownStatus)
          << row.id << ": " << render(diagnostic);
  }
}

TEST(Check, FieldsAreNamedWithTheNearest) {
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    required_pc: 0.98\n"),
              ElementsAre("4:5: error: required_pc: unknown field; did you mean required_pcc? "
                          "[C010]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    zzzzzzz: 1\n"),
              ElementsAre("4:5: error: zzzzzzz: unknown field [C010]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    arch_overrides:\n      n150:\n        "
                      "arch_overrides:\n          p150:\n            batch_size: 3\n"),
              ElementsAre("6:9: error: arch_overrides: unknown field; overrides stand only "
                          "directly in an entry of test_config [C010]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    ? [a]\n    : b\n"),
              ElementsAre("4:7: error: expected the name of a field, found a list [C010]"));
}

TEST(Check, KindsAndRanges) {
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    required_pcc: \"0.98\"\n"),
              ElementsAre("4:19: error: required_pcc: expected a number, found the text \"0.98\"; "
                          "leave the quotes out [C011]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    assert_pcc: no\n"),
              ElementsAre("4:17: error: assert_pcc: expected true or false, found the text "
                          "\"no\" [C011]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    markers: push\n"),
              ElementsAre("4:14: error: markers: expected a list of words, found the text "
                          "\"push\"; write it as [first, second] [C011]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    markers: [push, 3]\n"),
              ElementsAre("4:21: error: markers: expected a word in the list, found the number "
                          "3; put it in quotes [C011]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    reason:\n"),
              ElementsAre("4:12: error: reason: expected text, found nothing; write some, or "
                          "leave the field out [C011]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    batch_size: 1.5\n"),
              ElementsAre("4:17: error: batch_size: expected a whole number, found the number "
                          "1.5 [C011]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    required_pcc: 98\n    batch_size: 0\n"
                      "    optimization_level: 3\n    required_atol: -1\n"),
              ElementsAre(HasSubstr("98 is out of range; from -1 to 1 [C014]"),
                          HasSubstr("0 is out of range; at least 1 [C014]"),
                          HasSubstr("3 is out of range; from 0 to 2 [C014]"),
                          HasSubstr("-1 is out of range; at least 0 [C014]")));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    required_pcc: .nan\n"),
              ElementsAre(HasSubstr("out of range")));
}

TEST(Check, Statuses) {
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASS\n"),
              ElementsAre("3:13: error: status: no status is called \"EXPECTED_PASS\"; did you "
                          "mean EXPECTED_PASSING? [C012]"));
  EXPECT_THAT(ofEntry("    status: expected_pasing\n"),
              ElementsAre(HasSubstr("EXPECTED_PASSING?")));
  EXPECT_THAT(ofEntry("    status: expected_passing\n    bringup_status: incorrect_result\n"
                      "    reason: PCC 0.9\n"),
              IsEmpty());
  EXPECT_THAT(ofEntry("    status: Expected_Passing\n"), ElementsAre(HasSubstr("[C012]")));
  EXPECT_THAT(ofEntry("    status: KNOWN_FAILURE_XFAIL\n"),
              ElementsAre("3:5: warning: KNOWN_FAILURE_XFAIL without a reason; add a reason, best "
                          "with a link [C040]"));
  EXPECT_THAT(ofEntry("    status: not_supported_skip\n    reason: \"\"\n"),
              ElementsAre(HasSubstr("[C040]")));
  EXPECT_THAT(ofEntry("    status: KNOWN_FAILURE_XFAIL\n    reason: hangs\n    bringup_status: "
                      "PASSED\n"),
              ElementsAre(HasSubstr("bringup_status PASSED contradicts status "
                                    "KNOWN_FAILURE_XFAIL")));
  // The blemish of the real files: a bring-up status, and no status from anywhere.
  EXPECT_THAT(ofEntry("    bringup_status: FAILED_RUNTIME\n    reason: out of memory\n"),
              ElementsAre("2:3: warning: a/pytorch-x-single_device-inference has no status, so it "
                          "counts as unspecified; add one [C041]"));
  EXPECT_THAT(ofEntry("    arch_overrides:\n      n150:\n        status: EXPECTED_PASSING\n"
                      "      p150:\n        status: EXPECTED_PASSING\n"),
              IsEmpty());
  EXPECT_THAT(ofEntry("    supported_archs: [n150, n300]\n    arch_overrides:\n      n150:\n"
                      "        status: EXPECTED_PASSING\n"),
              ElementsAre(HasSubstr("has no status on n300")));
}

TEST(Check, ReasonsPerArchitecture) {
  // Each architecture has its own.
  EXPECT_THAT(ofEntry("    status: KNOWN_FAILURE_XFAIL\n    arch_overrides:\n      n150:\n"
                      "        reason: one\n      p150:\n        reason: two\n"),
              IsEmpty());
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    arch_overrides:\n      n150:\n"
                      "        status: KNOWN_FAILURE_XFAIL\n"),
              ElementsAre("6:9: warning: KNOWN_FAILURE_XFAIL on n150 without a reason; add a "
                          "reason, best with a link [C040]"));
  // Said once, where the status is.
  EXPECT_THAT(ofEntry("    status: KNOWN_FAILURE_XFAIL\n    arch_overrides:\n      n150:\n"
                      "        required_pcc: 0.9\n"),
              ElementsAre(HasSubstr("3:5: warning: KNOWN_FAILURE_XFAIL without a reason")));
}

TEST(Check, Overrides) {
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    arch_overrides:\n      n15:\n"
                      "        required_pcc: 0.9\n"),
              ElementsAre("5:7: error: arch_overrides: no architecture is called n15; did you mean "
                          "n150? [C030]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    required_pcc: 0.9\n    arch_overrides:\n"
                      "      p150:\n        required_pcc: 9e-1\n"),
              ElementsAre("7:9: warning: arch_overrides: p150: required_pcc is what the entry says "
                          "anyway; remove it from the override [C033]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    arch_overrides:\n      p150:\n"
                      "        assert_pcc: true\n"),
              ElementsAre("6:9: note: arch_overrides: p150: assert_pcc is true anyway [C051]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    arch_overrides: {}\n"),
              ElementsAre("4:21: warning: arch_overrides is empty; remove it [C034]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    arch_overrides:\n      n300:\n"
                      "        required_pcc: 0.9\n"),
              ElementsAre(HasSubstr("5:7: warning: arch_overrides: n300 is not among")));
  CheckOptions options;
  options.furtherArchs = {"m99"};
  EXPECT_THAT(check(load("test_config:\n  a/pytorch-x-single_device-inference:\n    status: "
                         "EXPECTED_PASSING\n    supported_archs: [m99]\n    arch_overrides:\n"
                         "      m99:\n        required_pcc: 0.5\n"),
                    options),
              IsEmpty());
}

TEST(Check, Duplicates) {
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    status: EXCLUDE_MODEL\n"),
              ElementsAre("4:5: error: status stands twice, first in line 3; the first holds; "
                          "remove one [C016]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n  a/pytorch-x-single_device-inference:\n"
                      "    status: EXCLUDE_MODEL\n"),
              ElementsAre("4:3: error: a/pytorch-x-single_device-inference stands twice in this "
                          "file, first in line 2; the first holds; remove one [C020]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    arch_overrides:\n      n150: "
                      "{required_pcc: 0.9}\n      n150: {required_pcc: 0.8}\n"),
              ElementsAre(HasSubstr("6:7: error: n150 stands twice in arch_overrides, first in "
                                    "line 5")));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    markers: [push, large, push]\n"),
              ElementsAre("4:28: warning: markers: push stands twice; remove one [C052]"));
  // A mapping with many keys takes another way to the same end.
  std::string many = "    status: EXPECTED_PASSING\n";
  for (int i = 0; i < 40; ++i)
    many += "    x" + std::to_string(i) + ": 1\n";
  std::vector<std::string> found = ofEntry(many + "    status: EXCLUDE_MODEL\n");
  EXPECT_THAT(found, Contains(HasSubstr("44:5: error: status stands twice, first in line 3")));
}

TEST(Check, WrongFile) {
  auto in = [](const char *file, const char *id) {
    std::vector<std::string> found = lines(check(
        load("test_config:\n  " + std::string(id) + ":\n    status: EXPECTED_PASSING\n", file)));
    return found.empty() ? std::string() : found[0];
  };
  EXPECT_EQ(in("torch/test_config_inference_tensor_parallel.yaml",
               "opengvlab_internvl3/pytorch-OpenGVLab-InternVL3-38B-single_device-inference"),
            "torch/test_config_inference_tensor_parallel.yaml:2:3: warning: "
            "opengvlab_internvl3/pytorch-OpenGVLab-InternVL3-38B-single_device-inference stands in "
            "torch/test_config_inference_tensor_parallel.yaml; it belongs in "
            "torch/test_config_inference_single_device.yaml [C022]");
  EXPECT_THAT(in("torch/test_config_training_single_device.yaml", "a/jax-x-single_device-training"),
              HasSubstr("it belongs in jax/test_config_training_single_device.yaml"));
  EXPECT_THAT(in("torch/test_config_inference_single_device.yaml",
                 "a/pytorch-x-llm_decode-seq_1-batch_1-single_device-mesh_default-inference"),
              HasSubstr("it belongs in torch_llm/test_config_inference_single_device.yaml"));
  EXPECT_EQ(in("torch_llm/test_config_inference_tensor_parallel.yaml",
               "a/pytorch-x-llm_prefill-seq_128-batch_4-fsdp-no_dp-tensor_parallel-mesh_2x4-"
               "inference"),
            "");
  EXPECT_EQ(in("mine.yaml", "a/pytorch-x-single_device-training"), "");
  EXPECT_THAT(in("mine.yaml", "a/pytorch-x-single_devise-training"), HasSubstr("[C023]"));
}

TEST(Check, IdsOfFilesAndFolders) {
  auto in = [](const std::string &file, const std::string &id) {
    return lines(
        check(load("test_config:\n  \"" + id + "\":\n    status: EXPECTED_PASSING\n", file)));
  };
  for (const char *id : {"node/test_dft", "node/test_dft#2", "resnet.onnx", "pytorch/resnet.onnx",
                         "a/llama.pt2", "a/llama.pt2#decode", "ops/template.yaml#add_1", "add.mlir",
                         "add.mlir#3", "a/add.mlirbc", "some_workload"})
    EXPECT_THAT(in("mine.yaml", id), ElementsAre()) << id;
  for (const char *id : {"a/pytorch-x", "a/jax", "node/test_dft-training", "x-inference"})
    EXPECT_THAT(in("mine.yaml", id), ElementsAre(HasSubstr("[C023]"))) << id;
  EXPECT_THAT(in("torch/test_config_inference_single_device.yaml", "node/test_dft"),
              ElementsAre(HasSubstr("[C023]")));
}

TEST(Check, Defaults) {
  EXPECT_THAT(ofEntry("    status: UNSPECIFIED\n"),
              ElementsAre("2:3: warning: a/pytorch-x-single_device-inference says only what holds "
                          "without it; remove the entry [C050]"));
  EXPECT_THAT(ofEntry("    status: unspecified\n    required_pcc: 0.990\n    markers: []\n"
                      "    supported_archs: [n150, p150]\n"),
              ElementsAre(HasSubstr("[C050]")));
  EXPECT_THAT(ofEntry("    {}\n"), ElementsAre(HasSubstr("[C050]")));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    required_pcc: 0.99\n"),
              ElementsAre("4:5: note: required_pcc is 0.99 anyway [C051]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    assert_pcc: false\n"), IsEmpty());
}

TEST(Check, WordsInLists) {
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    supported_archs: [n150, \"p151\"]\n"),
              ElementsAre("4:29: error: supported_archs: no architecture is called p151; did you "
                          "mean p150? [C031]"));
  EXPECT_THAT(ofEntry("    status: EXPECTED_PASSING\n    markers: [\"two words\", not]\n"),
              ElementsAre(HasSubstr("4:15: warning: markers: \"two words\" cannot be named"),
                          HasSubstr("4:28: warning: markers: \"not\" cannot be named")));
}

TEST(TestIds, AreTakenApart) {
  auto id = parseTestId("distilbert/token_classification/pytorch-Davlan/distilbert-base-"
                        "multilingual-cased-ner-hrl-single_device-inference");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->modelPath, "distilbert/token_classification/pytorch");
  EXPECT_EQ(id->framework, "pytorch");
  EXPECT_EQ(id->parallelism, "single_device");
  EXPECT_EQ(id->runMode, "inference");
  EXPECT_EQ(id->phase, "");
  id = parseTestId("deepseek/pytorch-single_device-training");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->modelPath, "deepseek/pytorch");
  id = parseTestId("a/pytorch-3.1-llm_prefill-seq_2048-batch_4-megatron-no_dp-tensor_parallel-"
                   "mesh_4x8-inference");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->phase, "llm_prefill");
  EXPECT_EQ(id->parallelism, "tensor_parallel");
  for (const char *bad :
       {"", "inference", "-inference", "a/pytorch-inference", "a/pytorch-x-single_device",
        "a-single_device-inference", "a/torch-x-single_device-inference",
        "a/pytorch-seq_1-batch_1-single_device-mesh_default-inference",
        "a/pytorch-llm_decode-seq_-batch_1-single_device-mesh_default-inference"})
    EXPECT_FALSE(parseTestId(bad)) << bad;
}

TEST(CheckAgainst, FindsWhatIsOutOfDate) {
  Configuration configuration = Configuration::fromTexts(
      {{"a.yaml", "test_config:\n"
                  "  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
                  "  resnet/pytorch-5O1-single_device-inference:\n    status: EXPECTED_PASSING\n"
                  "  rsnet/pytorch-101-single_device-training:\n    status: EXPECTED_PASSING\n"
                  "  qqqqqqqqqqqqqqqq/jax-single_device-training:\n    status: EXPECTED_PASSING\n"
                  "PLACEHOLDER_MODELS:\n"
                  "  deepseek-ai/DeepSeek-R1:\n    bringup_status: NOT_STARTED\n"
                  "  WhisperX:\n    bringup_status: NOT_STARTED\n"
                  "  KLA K-SegNet:\n    bringup_status: NOT_STARTED\n"}});
  KnownTests tests;
  for (const char *variant : {"50", "101", "152"})
    for (const char *mode : {"inference", "training"})
      tests.ids.push_back("resnet/pytorch-" + std::string(variant) + "-single_device-" + mode);
  tests.modelNames = {"deepseek_r1", "Whisper", "kla k_segnet"};
  EXPECT_THAT(
      lines(checkAgainst(tests, configuration, "conf")),
      ElementsAre(
          testing::AllOf(
              testing::StartsWith("a.yaml:4:3: error: resnet/pytorch-5O1-single_device-inference "
                                  "is the id of no test; "
                                  "closest: resnet/pytorch-50-single_device-inference, "),
              testing::EndsWith(" [C060]")),
          HasSubstr("a.yaml:6:3: error: rsnet/pytorch-101-single_device-training is the id of no "
                    "test; closest: resnet/pytorch-101-single_device-training"),
          HasSubstr(
              "a.yaml:8:3: error: qqqqqqqqqqqqqqqq/jax-single_device-training is the id of no "
              "test; remove the entry"),
          HasSubstr("a.yaml:11:3: warning: the zoo has deepseek-ai/DeepSeek-R1 by now"),
          HasSubstr("a.yaml:15:3: warning: the zoo has KLA K-SegNet by now"),
          "conf: note: 5 of 6 tests have no entry; --missing lists them [C061]"));
  std::vector<std::string> each = lines(checkAgainst(tests, configuration, "conf", true));
  EXPECT_THAT(each, Contains("conf: note: resnet/pytorch-152-single_device-training has no entry "
                             "[C061]"));
  EXPECT_EQ(each.size(), 10u);
}

TEST(CheckAgainst, LeavesFilesAlone) {
  Configuration configuration =
      load("test_config:\n  node/test_dft:\n    status: EXPECTED_PASSING\n"
           "  resnet.onnx:\n    status: EXPECTED_PASSING\n",
           "a.yaml");
  KnownTests tests;
  tests.ids = {"resnet/pytorch-50-single_device-inference"};
  EXPECT_THAT(lines(checkAgainst(tests, configuration, "conf")),
              ElementsAre(HasSubstr("1 of 1 tests have no entry")));
}

TEST(CheckAgainst, LeavesOpenWhatIsNotKnown) {
  Configuration configuration = load("test_config:\n"
                                     "  odd/pytorch-a-single_device-inference:\n    status: "
                                     "EXPECTED_PASSING\n"
                                     "  odd/pytorch-b-single_device-inference:\n    status: "
                                     "EXPECTED_PASSING\n",
                                     "a.yaml");
  KnownTests tests;
  tests.undecidedModels = {"odd/pytorch"};
  EXPECT_THAT(lines(checkAgainst(tests, configuration, "conf")),
              ElementsAre("a.yaml:2:3: note: 2 entries of odd/pytorch, whose tests are not known; "
                          "--import asks Python [C063]"));
}

/// The blemishes that the real files are known to have.
TEST(Check, FindsTheKnownBlemishesOfTheRealFiles) {
  const char *given = std::getenv("CUPEL_REAL_CONFIG");
  std::string folder = given ? given : CUPEL_SOURCE_DIR "/../shared/realworld/tt-xla/test_config";
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "the real configuration is not here; set CUPEL_REAL_CONFIG";
  Configuration configuration = Configuration::load({folder});
  std::map<Code, std::vector<std::string>> found;
  for (const Diagnostic &diagnostic : check(configuration)) {
    found[diagnostic.code].push_back(render(diagnostic).substr(folder.size() + 1));
    EXPECT_GT(diagnostic.line, 0u);
    EXPECT_TRUE(diagnostic.severity != Severity::Error ||
                diagnostic.code == Code::DuplicateAcrossFiles)
        << render(diagnostic);
  }
  EXPECT_THAT(
      found[Code::DuplicateAcrossFiles],
      ElementsAre(HasSubstr("falcon/jax-3_3B_Base-single_device-inference also stands in")));
  EXPECT_THAT(
      found[Code::WrongFile],
      ElementsAre(HasSubstr("jax/test_config_inference_data_parallel.yaml:11:3: warning: "
                            "falcon/jax-3_3B_Base-single_device-inference stands in"),
                  HasSubstr("opengvlab_internvl3/pytorch-OpenGVLab-InternVL3-38B-single_device-"
                            "inference stands in torch/test_config_inference_tensor_parallel")));
  EXPECT_THAT(found[Code::MissingStatus],
              ElementsAre(HasSubstr("gemma/pytorch-2_9B_IT-single_device-training"),
                          HasSubstr("qwen_3/causal_lm/pytorch-14B-single_device-training")));
  EXPECT_TRUE(found[Code::MalformedId].empty());
  // Not in its list, but true: these name no supported_archs, so they run where they have no
  // status.
  EXPECT_EQ(found[Code::MissingStatusOnArch].size(), 5u);
  EXPECT_EQ(found[Code::UnsupportedOverrideArch].size(), 5u);
  EXPECT_EQ(found[Code::OverrideEqualsBase].size(), 6u);
}

} // namespace
} // namespace cupel::testbench::config
