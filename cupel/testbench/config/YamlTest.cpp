#include "cupel/testbench/config/Yaml.h"

#include "cupel/testbench/config/Check.h"
#include "cupel/testbench/config/Configuration.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>

namespace cupel::testbench::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// What is wrong with a text, or "" if nothing is.
std::string failure(std::string text) {
  std::vector<Diagnostic> found;
  YamlFile file("f.yaml", std::move(text), found);
  EXPECT_EQ(found.empty() || file.root() == nullptr, true);
  EXPECT_LE(found.size(), 1u);
  return found.empty() ? "" : render(found[0]);
}

TEST(Yaml, NodesKnowTheirSpans) {
  std::string text = "# é\na:\n  \"k\\u0041\" : {x: [1, \"é\" , c], y: }\n  b: |\n    foo\n    "
                     "bar\n\n  c: d e  # cm\n  d:\n  - p\n  - 'q'\n  k: mult\n    line\nz:\n";
  std::vector<Diagnostic> found;
  YamlFile file("f.yaml", text, found);
  ASSERT_TRUE(found.empty()) << render(found[0]);
  auto span = [&](const YamlNode &node) {
    return std::string(file.bytes().substr(node.begin, node.end - node.begin));
  };
  const YamlNode &root = *file.root();
  const YamlNode &a = *root.find("a");
  ASSERT_EQ(a.pairCount(), 5u);
  EXPECT_EQ(a.key(0).text, "kA");
  EXPECT_EQ(span(a.key(0)), "\"k\\u0041\"");
  EXPECT_EQ(a.key(0).line, 3u);
  EXPECT_EQ(a.key(0).column, 3u);
  EXPECT_EQ(span(a.value(0)), "{x: [1, \"é\" , c], y: }");
  EXPECT_EQ(span(*a.value(0).find("x")), "[1, \"é\" , c]");
  EXPECT_EQ(a.value(0).find("x")->items[1].text, "é");
  EXPECT_EQ(a.value(0).find("x")->items[2].column, 29u);
  EXPECT_TRUE(a.value(0).find("y")->isNull());
  EXPECT_EQ(span(*a.find("b")), "|\n    foo\n    bar");
  EXPECT_EQ(a.find("b")->text, "foo\nbar\n");
  EXPECT_EQ(span(*a.find("c")), "d e");
  EXPECT_EQ(span(*a.find("d")), "- p\n  - 'q'");
  EXPECT_EQ(a.find("k")->text, "mult line");
  EXPECT_EQ(span(*a.find("k")), "mult\n    line");
  EXPECT_EQ(span(a).substr(0, 9), "\"k\\u0041\"");
  EXPECT_TRUE(root.find("z")->isNull());
  EXPECT_EQ(root.find("z")->line, 14u);
  EXPECT_EQ(root.find("nothing"), nullptr);
}

TEST(Yaml, ScalarsHaveTheCoreSchemasKinds) {
  auto node = [](std::string_view text, YamlNode::Style style = YamlNode::Style::Plain) {
    YamlNode result;
    result.text = text;
    result.style = style;
    return result;
  };
  EXPECT_EQ(asBool(node("True")), true);
  EXPECT_EQ(asBool(node("tRue")), std::nullopt);
  EXPECT_EQ(asBool(node("true", YamlNode::Style::DoubleQuoted)), std::nullopt);
  EXPECT_EQ(asInteger(node("+12")), 12);
  EXPECT_EQ(asInteger(node("-12")), -12);
  EXPECT_EQ(asInteger(node("0o17")), 15);
  EXPECT_EQ(asInteger(node("0xFF")), 255);
  EXPECT_EQ(asInteger(node("+-1")), std::nullopt);
  EXPECT_EQ(asInteger(node("0x")), std::nullopt);
  EXPECT_EQ(asInteger(node("0x-1")), std::nullopt);
  EXPECT_EQ(asInteger(node("99999999999999999999")), std::nullopt);
  EXPECT_EQ(asNumber(node("99999999999999999999")), 1e20);
  EXPECT_EQ(asNumber(node("-.5e1")), -5.0);
  EXPECT_EQ(asNumber(node("-.inf")), -INFINITY);
  EXPECT_EQ(asNumber(node("inf")), std::nullopt);
  EXPECT_EQ(asNumber(node("1.2.3")), std::nullopt);
  EXPECT_EQ(asNumber(node("+-5.0")), std::nullopt);
  EXPECT_EQ(asText(node("yes")), "yes");
  EXPECT_EQ(asText(node("1")), std::nullopt);
  EXPECT_EQ(asText(node("1", YamlNode::Style::SingleQuoted)), "1");
  EXPECT_TRUE(node("~").isNull() && node("Null").isNull() && node("").isNull());
  EXPECT_FALSE(node("", YamlNode::Style::DoubleQuoted).isNull());
}

TEST(Yaml, ErrorsHaveAPlace) {
  EXPECT_EQ(failure("a: b: c\n"),
            "f.yaml:1:5: error: not YAML: invalid nested block mapping on the same line [C002]");
  EXPECT_THAT(failure("a: [1, 2"), StartsWith("f.yaml:"));
  EXPECT_THAT(failure("a: [1, 2"), HasSubstr("flow sequence without a closing bracket"));
  EXPECT_THAT(failure("a:\n  b: \"x\n"), HasSubstr("[C002]"));
  EXPECT_EQ(failure("a: \"\xff\"\n"), "f.yaml:1:5: error: bytes that are not UTF-8 in a file that "
                                      "must be UTF-8 text; save the file as UTF-8 without control "
                                      "characters [C002]");
  EXPECT_THAT(failure("é: \xc3"), StartsWith("f.yaml:1:4: error: bytes that are not UTF-8"));
  EXPECT_THAT(failure(std::string("a:\n b\0c", 7)),
              StartsWith("f.yaml:2:3: error: control character 0x00"));
  EXPECT_THAT(failure("a: \xed\xa0\x80"), HasSubstr("not UTF-8")); // A surrogate.
  EXPECT_THAT(failure("a: \xf4\x90\x80\x80"), HasSubstr("not UTF-8"));
  EXPECT_THAT(failure("a: \xc0\x80"), HasSubstr("not UTF-8"));
  EXPECT_EQ(failure(""), "");
  EXPECT_EQ(failure("# nothing\n"), "");
}

TEST(Yaml, WhatItDoesNotTakeIsNamed) {
  EXPECT_EQ(failure("a: &x 1\nb: *x\n"),
            "f.yaml:1:5: error: anchors (&name) are not supported; write the value out where it is "
            "needed [C004]");
  EXPECT_EQ(failure("a: *x\n").substr(0, 45), "f.yaml:1:5: error: aliases (*name) are not su");
  EXPECT_THAT(failure("a: !!str 1\n"), HasSubstr("tags (!name) are not supported"));
  EXPECT_THAT(failure("a: 1\n---\nb: 2\n"), HasSubstr("a second YAML document"));
}

TEST(Yaml, HostileFilesAreRefusedCheaply) {
  auto start = std::chrono::steady_clock::now();
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'i'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i)
      bomb += std::string(i ? ", *" : "*") + char(c - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(failure(bomb), HasSubstr("[C004]"));
  EXPECT_THAT(failure(std::string(1000000, '[')), HasSubstr("nested more than 32 levels deep"));
  EXPECT_THAT(failure("a: " + std::string(1000000, '{')), HasSubstr("[C003]"));
  std::string deep;
  for (int i = 0; i < 2000; ++i)
    deep += std::string(size_t(i), ' ') + "a:\n";
  EXPECT_THAT(failure(deep), StartsWith("f.yaml:33:33: error: nested more than 32"));
  std::string dashes;
  for (int i = 0; i < 100000; ++i)
    dashes += "- ";
  EXPECT_THAT(failure(dashes), HasSubstr("[C003]"));
  std::string questions;
  for (int i = 0; i < 100000; ++i)
    questions += "? ";
  EXPECT_NE(failure(questions), "");
  EXPECT_THAT(failure("a: \"" + std::string(100000000, 'x') + "\"\n"),
              HasSubstr("the file has 100000006 bytes, more than the 16777216"));
  EXPECT_THAT(failure("a: \"" + std::string(2000000, 'x') + "\"\n"),
              HasSubstr("a value of 2000000 bytes, more than the 1048576"));
  EXPECT_THAT(failure("b: [" +
                      [] {
                        std::string items;
                        for (int i = 0; i < 2000000; ++i)
                          items += "1,";
                        return items;
                      }() +
                      "]\n"),
              HasSubstr("more than 1048576 values"));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << "took " << took.count() << " s\n";
#ifndef CUPEL_SANITIZED
  EXPECT_LT(took.count(), 20.0);
#endif
}

TEST(Yaml, HostileConfigurationsAreReadCheaply) {
  // Many wrong fields, many repeated ones, many sections: bounded complaints, no quadratic time.
  auto start = std::chrono::steady_clock::now();
  std::string fields = "test_config:\n  a/pytorch-x-single_device-inference:\n";
  for (int i = 0; i < 200000; ++i)
    fields += "    x: 1\n";
  Configuration repeated = Configuration::fromTexts({{"f.yaml", fields}});
  EXPECT_LE(repeated.diagnostics().size(), 1100u);
  std::string sections;
  for (int i = 0; i < 200000; ++i)
    sections += "s" + std::to_string(i) + ": 1\n";
  EXPECT_LE(Configuration::fromTexts({{"f.yaml", sections}}).diagnostics().size(), 1100u);
  std::string entries = "test_config:\n";
  for (int i = 0; i < 200000; ++i)
    entries += "  e" + std::to_string(i) + ": 1\n";
  EXPECT_LE(Configuration::fromTexts({{"f.yaml", entries}}).diagnostics().size(), 1100u);
  std::string longName = "test_config:\n  a/pytorch-x-single_device-inference:\n    " +
                         std::string(100000, 'q') + ": 1\n";
  EXPECT_LT(render(Configuration::fromTexts({{"f.yaml", longName}}).diagnostics()[0]).size(), 400u);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
#ifndef CUPEL_SANITIZED
  EXPECT_LT(took.count(), 20.0);
#endif
}

/// Random damage to a good file: an error with a place or a configuration, never a crash.
TEST(Yaml, DamagedFilesNeverCrash) {
  std::string good =
      "# c\ntest_config:\n  a/pytorch-x-single_device-inference:\n    status: "
      "EXPECTED_PASSING\n    markers: [push, \"large\"]\n    reason: \"x \\\"y\\\" - "
      "z\"\n    arch_overrides:\n      n150:\n        required_pcc: 0.97 # why\n"
      "    filechecks:\n      - a.mlir\n      - b.mlir\nPLACEHOLDER_MODELS:\n  m: "
      "{bringup_status: NOT_STARTED}\n";
  std::mt19937 random(5);
  const std::string signs = "\n :-[]{}\"'#&*!|>%@`,?\t~0a\xc3\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (int edits = 1 + int(random() % 4); edits > 0 && !text.empty(); --edits) {
      size_t at = random() % text.size();
      switch (random() % 4) {
      case 0:
        text[at] = signs[random() % signs.size()];
        break;
      case 1:
        text.insert(at, 1, signs[random() % signs.size()]);
        break;
      case 2:
        text.erase(at, 1 + random() % 8);
        break;
      default:
        text.resize(at + 1);
      }
    }
    Configuration configuration = Configuration::fromTexts({{"f.yaml", text}});
    for (const Diagnostic &diagnostic : check(configuration)) {
      ASSERT_EQ(diagnostic.file, "f.yaml");
      ASSERT_EQ(render(diagnostic).find('\n'), std::string::npos) << text;
      ASSERT_GT(diagnostic.line, 0u) << render(diagnostic) << "\n" << text;
    }
  }
}

} // namespace
} // namespace cupel::testbench::config
