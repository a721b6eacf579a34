#include "cupel/testbench/opcases/Case.h"
#include "cupel/testbench/opcases/Writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

namespace cupel::testbench::opcases {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CaseFile read(std::string text) {
  std::vector<config::Diagnostic> diagnostics;
  config::YamlFile yaml("f.yaml", std::move(text), diagnostics);
  EXPECT_THAT(diagnostics, IsEmpty());
  return readCases(yaml);
}

std::string problemIn(std::string text) {
  CaseFile file = read(std::move(text));
  if (file.problems.empty())
    return "";
  const Remark &first = file.problems[0];
  return std::to_string(first.line) + ":" + std::to_string(first.column) + ": " + first.message;
}

/// A file with one case, made of these lines below its name and op.
std::string caseWith(const std::string &lines) {
  return "model: m\ncases:\n  - name: c\n    op: torch.add\n" + lines;
}

TEST(OpCases, TheTemplateOfTheSpecIsRead) {
  Result<CaseFile> file = readCaseFile(std::string(CUPEL_SOURCE_DIR) + "/zoo/ops/template.yaml");
  ASSERT_TRUE(file) << file.message();
  EXPECT_THAT(file->problems, IsEmpty());
  EXPECT_EQ(file->model, "template");
  ASSERT_EQ(file->cases.size(), 13u);
  const Case &add = file->cases[0];
  EXPECT_EQ(add.name, "add_basic");
  EXPECT_EQ(add.op, "torch.add");
  EXPECT_EQ(add.dtype, "float16");
  EXPECT_EQ(add.seed, 123);
  EXPECT_EQ(add.rtol, 1e-3);
  EXPECT_THAT(add.inputs[0].tensors[0].shape, ElementsAre(4, 128, 768));
  EXPECT_EQ(add.inputs[0].tensors[0].init, "randn");
  EXPECT_THAT(add.description, HasSubstr("modeling_gpt_oss.py:138"));
  EXPECT_EQ(add.signature(), "4x128x768xfloat16, 4x128x768xfloat16");
  // An integer tensor, as its name says, although the default is fp16.
  EXPECT_EQ(file->cases[4].inputs[0].tensors[0].dtype, "int64");
  EXPECT_EQ(file->cases[5].inputs[1].value.str(), "[2, 32]");
  EXPECT_EQ(file->cases[6].attrs[0].first, "dim");
  EXPECT_EQ(file->cases[7].inputs[0].tensors.size(), 2u);
  ASSERT_TRUE(file->cases[8].expectsError);
  EXPECT_EQ(file->cases[8].expectsError->match, "view");
  EXPECT_EQ(file->cases[8].inputs[0].tensors[0].preset, "noncontig_slice");
  ASSERT_EQ(file->cases[11].skipIf.size(), 1u);
  EXPECT_EQ(file->cases[11].skipIf[0].reason, "Spyre fp16 rsqrt not supported yet");
  EXPECT_EQ(file->cases[12].inputs[1].value.str(), "(Ellipsis, None, slice(None, None, None))");
}

TEST(OpCases, ProblemsHavePlacesAndTheNearestName) {
  EXPECT_EQ(problemIn(caseWith("    input: []\n")),
            "5:5: a case has no key 'input'; did you mean 'inputs'?");
  EXPECT_EQ(problemIn(caseWith("    inputs:\n      - tensr: {shape: [1]}\n")),
            "6:9: there is no kind of input 'tensr'; did you mean 'tensor'?");
  EXPECT_EQ(problemIn(caseWith("    inputs:\n      - tensor: {shap: [1]}\n")),
            "6:18: a tensor has no key 'shap'; did you mean 'shape'?");
  EXPECT_EQ(problemIn(caseWith("    inputs:\n      - tensor: {shape: [1], init: radn}\n")),
            "6:36: there is no init 'radn'; did you mean 'rand'?");
  EXPECT_EQ(problemIn(caseWith("    dtype: fp17\n")),
            "5:12: there is no dtype 'fp17'; did you mean 'fp16'?");
  EXPECT_EQ(problemIn(caseWith("    inputs:\n      - py: (1, os.getcwd())\n")),
            "6:17: py: the name 'os.getcwd' is not allowed in a literal; allowed are None, "
            "Ellipsis, True, False, slice, inf and nan");
  EXPECT_EQ(problemIn(caseWith("    skip_if:\n      - expr: arhc == 'n150'\n")),
            "6:15: skip_if: there is nothing called 'arhc' here; did you mean arch?");
  EXPECT_THAT(problemIn(caseWith("    inputs:\n      - tensor: {shape: [1], preset: transpose}\n")),
              HasSubstr("there is no preset 'transpose'"));
  EXPECT_THAT(problemIn(caseWith("    expects_error: {type: RuntimeErr}\n")),
              HasSubstr("did you mean 'RuntimeError'?"));
  EXPECT_THAT(problemIn(caseWith("    inputs:\n      - tensor: {shape: [1], init: randint}\n")),
              HasSubstr("'randint' wants init_args with 'high'"));
  EXPECT_THAT(problemIn(caseWith("    inputs:\n      - tensor: {shape: [-1]}\n")),
              HasSubstr("a size is an integer that is not negative"));
  EXPECT_THAT(
      problemIn(caseWith("    inputs:\n      - tensor: {shape: [99999999, 99999999, 99999999]}\n")),
      HasSubstr("more than 2^40"));
  EXPECT_THAT(problemIn(caseWith("    rtol: -1\n")), HasSubstr("not negative"));
  EXPECT_THAT(problemIn("cases:\n  - op: torch.add\n"), HasSubstr("2:5: a case wants a 'name'"));
  EXPECT_THAT(problemIn("defalt: {}\ncases: []\n"), HasSubstr("did you mean 'default'?"));
}

TEST(OpCases, ACaseWithAProblemLeavesTheOthers) {
  CaseFile file = read("cases:\n  - name: a\n    op: torch.add\n  - name: b\n    opp: x\n"
                       "  - name: a\n    op: torch.mul\n  - name: c\n    op: torch.neg\n");
  EXPECT_EQ(file.model, "f");
  ASSERT_EQ(file.cases.size(), 2u);
  EXPECT_EQ(file.cases[1].name, "c");
  EXPECT_EQ(file.cases[1].number, 3u);
  EXPECT_EQ(file.problems.size(), 3u); // The wrong key, the missing op, the second 'a'.
}

TEST(OpCases, OverridesAndForms) {
  CaseFile file =
      read("default: {dtype: bf16, seed: 3, rtol: 0.1}\ncases:\n"
           "  - name: a\n    op: torch.add\n    seed: 4\n    atol: 0.5\n    mark: [nightly, "
           "pytest.mark.slow]\n    inputs:\n      - tensor: {init: data, data: [[1, 2], [3, 4]]}\n"
           "      - value: (1, 2)\n      - value: torch.float32\n      - file: x/y.pt\n"
           "    attrs: {eps: 1.0e-5, w: {tensor: {shape: [3]}}}\n");
  EXPECT_THAT(file.problems, IsEmpty());
  const Case &a = file.cases.at(0);
  EXPECT_EQ(a.seed, 4);
  EXPECT_EQ(a.rtol, 0.1);
  EXPECT_EQ(a.atol, 0.5);
  EXPECT_THAT(a.marks, ElementsAre("nightly", "slow"));
  EXPECT_EQ(a.inputs[0].tensors[0].data.str(), "[[1, 2], [3, 4]]");
  EXPECT_EQ(a.inputs[1].value.kind, Value::Kind::Tuple);
  EXPECT_EQ(a.inputs[2].value.text, "torch.float32");
  EXPECT_TRUE(a.inputs[3].file.ends_with("/x/y.pt"));
  EXPECT_EQ(a.attrs[1].second.tensors[0].dtype, "bfloat16");
  auto json = nlohmann::json::parse(toJson(a));
  EXPECT_EQ(json["inputs"][1]["value"]["tuple"][1], 2);
  EXPECT_EQ(json["attrs"]["w"]["tensor"]["dtype"], "bfloat16");
}

TEST(OpCases, KeysIgnoreNamesAndSpelling) {
  CaseFile file = read(
      "cases:\n"
      "  - {name: a, op: torch.add, inputs: [tensor: {shape: [2], dtype: fp16}], seed: 1}\n"
      "  - {name: b, op: torch.add, inputs: [tensor: {dtype: float16, shape: [2], init: rand}]}\n"
      "  - {name: c, op: torch.add, inputs: [tensor: {shape: [3], dtype: fp16}]}\n"
      "  - {name: d, op: torch.add, inputs: [tensor: {shape: [2], dtype: fp16}], rtol: 0.1}\n"
      "  - {name: e, op: torch.add, inputs: [tensor: {shape: [2], dtype: fp16}], rtol: 0.01}\n");
  ASSERT_EQ(file.cases.size(), 5u);
  EXPECT_EQ(file.cases[0].key(), file.cases[1].key());
  EXPECT_NE(file.cases[0].key(), file.cases[2].key());
  EXPECT_EQ(file.cases[3].key(), file.cases[4].key());
  EXPECT_FALSE(file.cases[3].isAsStrictAs(file.cases[4]));
  EXPECT_TRUE(file.cases[4].isAsStrictAs(file.cases[3]));
}

TEST(OpCases, WhatIsWrittenReadsTheSame) {
  std::string text =
      "model: m\ndefault: {dtype: fp32, seed: 3, rtol: 0.1}\ncases:\n"
      "  - name: a\n    op: torch.add\n    seed: 4\n    atol: 0.5\n    mark: [nightly, slow]\n"
      "    description: |\n      one\n      two # three\n    inputs:\n"
      "      - tensor: {init: data, data: [[1, 2], [3, .inf]]}\n      - value: [1, null, true]\n"
      "      - value: 'true'\n      - py: (Ellipsis, slice(1, None), nan)\n"
      "      - tensor: {shape: [2, 3], dtype: bf16, init: uniform, init_args: {low: -1.5}}\n"
      "      - tensor_list: [{shape: [], init: randint, init_args: {high: 7}}]\n"
      "      - tensor: {shape: [2, 3], preset: permute_view, preset_args: {dims: [1, 0]}}\n"
      "    attrs: {eps: 1.0e-5, w: {tensor: {shape: [3]}}, s: {py: \"(1,)\"}}\n"
      "    skip_if: [{expr: \"arch == 'x'\", reason: \"r: s\"}]\n"
      "  - {name: b, op: torch.view, expects_error: {type: ValueError, match: 'a \"b\"'}}\n";
  CaseFile first = read(text);
  ASSERT_THAT(first.problems, IsEmpty());
  Case defaults;
  defaults.dtype = "float32";
  defaults.seed = 3;
  defaults.rtol = 0.1;
  std::string written = toYaml(first, defaults, "made\nby hand");
  CaseFile second = read(written);
  ASSERT_THAT(second.problems, IsEmpty()) << second.problems[0].message << "\n" << written;
  EXPECT_EQ(second.model, "m");
  ASSERT_EQ(second.cases.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(toJson(first.cases[i]), toJson(second.cases[i])) << written;
    EXPECT_EQ(first.cases[i].key(), second.cases[i].key());
    EXPECT_EQ(first.cases[i].marks, second.cases[i].marks);
    EXPECT_EQ(first.cases[i].description, second.cases[i].description);
  }
  EXPECT_EQ(second.cases[0].skipIf.at(0).reason, "r: s");
}

TEST(OpCases, MutatedFilesNeverCrash) {
  Result<CaseFile> whole = readCaseFile(std::string(CUPEL_SOURCE_DIR) + "/zoo/ops/template.yaml");
  ASSERT_TRUE(whole);
  std::string base = "default: {dtype: fp16, seed: 1}\ncases:\n  - name: a\n    op: torch.add\n"
                     "    skip_if: [{expr: \"arch == 'x'\", reason: r}]\n    inputs:\n"
                     "      - tensor: {shape: [2, 3], init: randint, init_args: {high: 3}}\n"
                     "      - py: (1, None, slice(2))\n      - tensor_list: [{shape: [1]}]\n";
  std::mt19937 random(7);
  size_t good = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = base;
    for (int edits = 0; edits < 1; ++edits) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = " :-[]{},'\"x\n0"[random() % 13];
        break;
      case 1:
        text.erase(at, random() % 4);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 9));
      }
    }
    std::vector<config::Diagnostic> diagnostics;
    config::YamlFile yaml("f.yaml", text, diagnostics);
    if (!diagnostics.empty())
      continue;
    CaseFile file = readCases(yaml);
    for (const Case &one : file.cases) {
      ++good;
      EXPECT_FALSE(toJson(one).empty());
    }
  }
  EXPECT_GT(good, 100u);
}

} // namespace
} // namespace cupel::testbench::opcases
