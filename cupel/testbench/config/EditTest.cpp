#include "cupel/testbench/config/Edit.h"

#include "cupel/testbench/config/Check.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <unistd.h>

namespace cupel::testbench::config {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char *kId = "a/pytorch-x-single_device-inference";
constexpr const char *kText = R"(# Head.
test_config:
  a/pytorch-x-single_device-inference:
    supported_archs: [n150, "p150"]  # both
    status: EXPECTED_PASSING
    # why 0.97
    required_pcc: 0.97   # measured
    reason: "a \"b\" - c"
    # about x

  # about b
  b/pytorch-y-single_device-inference:
      status: known_failure_xfail
      reason: 'it''s slow'
      arch_overrides:
        n150:
          status: EXPECTED_PASSING
        p150:
          reason: "hangs"
          required_pcc: 0.9

  c/pytorch-single_device-training:
    filechecks:
      - one.mlir
      # about two
      - two.mlir # second
    status: EXCLUDE_MODEL
)";

FileEditor opened(std::string text) {
  Result<FileEditor> editor = FileEditor::fromText("f.yaml", std::move(text));
  EXPECT_TRUE(bool(editor)) << (editor ? "" : editor.message());
  return std::move(*editor);
}

/// The text with one part replaced, which must occur once.
std::string with(std::string text, const std::string &part, const std::string &replacement) {
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  EXPECT_EQ(text.find(part, at + 1), std::string::npos) << part;
  return text.replace(at, part.size(), replacement);
}

void expectOk(const Status &status) { EXPECT_TRUE(bool(status)) << status.message(); }

TEST(Edit, NothingChangesNothing) {
  FileEditor editor = opened(kText);
  expectOk(editor.setField(kId, "status", std::string("expected_passing")));
  expectOk(editor.setField(kId, "required_pcc", 0.970));
  expectOk(editor.setField(kId, "reason", std::string("a \"b\" - c")));
  expectOk(editor.setField(kId, "supported_archs", std::vector<std::string>{"n150", "p150"}));
  expectOk(editor.removeField(kId, "markers"));
  expectOk(editor.removeField(kId, "reason", "n150"));
  expectOk(editor.removeEntry("nobody"));
  EXPECT_EQ(editor.text(), kText);
  EXPECT_FALSE(editor.isChanged());
}

TEST(Edit, SetsAValueInItsPlaceAndStyle) {
  FileEditor editor = opened(kText);
  expectOk(editor.setField(kId, "required_pcc", 0.955));
  EXPECT_EQ(editor.text(), with(kText, "0.97   # measured", "0.955   # measured"));
  expectOk(editor.setField(kId, "reason", std::string("new: \\ \"x\"\nline")));
  EXPECT_EQ(editor.text(), with(with(kText, "0.97   # measured", "0.955   # measured"),
                                R"("a \"b\" - c")", R"("new: \\ \"x\"\nline")"));
  editor = opened(kText);
  expectOk(editor.setField("b/pytorch-y-single_device-inference", "reason", std::string("isn't")));
  EXPECT_EQ(editor.text(), with(kText, "'it''s slow'", "'isn''t'"));
  // The spelling of statuses stays.
  editor = opened(kText);
  expectOk(editor.setField("b/pytorch-y-single_device-inference", "status",
                           std::string("NOT_SUPPORTED_SKIP")));
  EXPECT_EQ(editor.text(), with(kText, "known_failure_xfail", "not_supported_skip"));
}

TEST(Edit, SetsLists) {
  FileEditor editor = opened(kText);
  expectOk(
      editor.setField(kId, "supported_archs", std::vector<std::string>{"n300-llmbox", "p150"}));
  EXPECT_EQ(editor.text(),
            with(kText, "[n150, \"p150\"]  # both", "[n300-llmbox, \"p150\"]  # both"));
  editor = opened(kText);
  const char *c = "c/pytorch-single_device-training";
  expectOk(editor.setField(c, "filechecks",
                           std::vector<std::string>{"zero.mlir", "two.mlir", "a b: c"}));
  EXPECT_EQ(editor.text(),
            with(kText, "      - one.mlir\n      # about two\n      - two.mlir # second\n",
                 "      - zero.mlir\n      # about two\n      - two.mlir # second\n"
                 "      - \"a b: c\"\n"));
  editor = opened(kText);
  expectOk(editor.setField(c, "filechecks", std::vector<std::string>{}));
  EXPECT_THAT(editor.text(), HasSubstr("    filechecks: [] # second\n    status: EXCLUDE_MODEL\n"));
}

TEST(Edit, AddsFieldsWhereTheyBelong) {
  FileEditor editor = opened(kText);
  expectOk(editor.setField(kId, "bringup_status", std::string("INCORRECT_RESULT")));
  EXPECT_EQ(editor.text(), with(kText, "    # why 0.97\n",
                                "    bringup_status: INCORRECT_RESULT\n    # why 0.97\n"));
  expectOk(editor.removeField(kId, "bringup_status"));
  EXPECT_EQ(editor.text(), kText);
  const char *b = "b/pytorch-y-single_device-inference";
  expectOk(editor.setField(b, "supported_archs", std::vector<std::string>{"n300"}));
  EXPECT_EQ(editor.text(),
            with(kText, "      status: known_failure_xfail\n",
                 "      supported_archs: [n300]\n      status: known_failure_xfail\n"));
  expectOk(editor.removeField(b, "supported_archs"));
  expectOk(editor.setField(b, "assert_pcc", false));
  EXPECT_EQ(editor.text(), with(kText, "      arch_overrides:\n",
                                "      assert_pcc: false\n      arch_overrides:\n"));
  expectOk(editor.removeField(b, "assert_pcc"));
  expectOk(editor.setField("c/pytorch-single_device-training", "optimization_level", int64_t{2}));
  EXPECT_EQ(editor.text(), with(kText, "      - two.mlir # second\n",
                                "      - two.mlir # second\n    optimization_level: 2\n"));
}

TEST(Edit, Overrides) {
  const char *b = "b/pytorch-y-single_device-inference";
  FileEditor editor = opened(kText);
  expectOk(editor.setField(b, "required_pcc", 0.8, "p150"));
  EXPECT_EQ(editor.text(), with(kText, "required_pcc: 0.9\n", "required_pcc: 0.8\n"));
  editor = opened(kText);
  expectOk(editor.setField(b, "batch_size", int64_t{4}, "n300-llmbox"));
  EXPECT_EQ(editor.text(), with(kText, "required_pcc: 0.9\n",
                                "required_pcc: 0.9\n        n300-llmbox:\n          batch_size: "
                                "4\n"));
  expectOk(editor.removeField(b, "batch_size", "n300-llmbox"));
  EXPECT_EQ(editor.text(), kText);
  expectOk(editor.setField(kId, "status", std::string("KNOWN_FAILURE_XFAIL"), "n150"));
  EXPECT_EQ(editor.text(), with(kText, "    # about x\n",
                                "    arch_overrides:\n      n150:\n        status: "
                                "KNOWN_FAILURE_XFAIL\n    # about x\n"));
  expectOk(editor.removeField(kId, "status", "n150"));
  EXPECT_EQ(editor.text(), kText);
  expectOk(editor.removeField(b, "status", "n150"));
  EXPECT_EQ(editor.text(), with(kText, "        n150:\n          status: EXPECTED_PASSING\n", ""));
}

TEST(Edit, EntriesComeAndGo) {
  FileEditor editor = opened(kText);
  FieldValues fields = {{"status", std::string("KNOWN_FAILURE_XFAIL")},
                        {"reason", std::string("x: y")},
                        {"required_pcc", 1.0},
                        {"markers", std::vector<std::string>{"push"}}};
  expectOk(editor.addEntry("a/pytorch-z-single_device-inference", fields));
  std::string entry = "\n  a/pytorch-z-single_device-inference:\n    status: "
                      "KNOWN_FAILURE_XFAIL\n    reason: \"x: y\"\n    required_pcc: 1.0\n"
                      "    markers: [push]\n";
  // Behind its sibling and the comment that belongs to that.
  EXPECT_EQ(editor.text(), with(kText, "    # about x\n", "    # about x\n" + entry));
  expectOk(editor.removeEntry("a/pytorch-z-single_device-inference"));
  EXPECT_EQ(editor.text(), kText);
  expectOk(editor.addEntry("q/jax-single_device-training", fields));
  EXPECT_EQ(editor.text(), kText + with(entry, "a/pytorch-z-single_device-inference",
                                        "q/jax-single_device-training"));
  expectOk(editor.removeEntry("q/jax-single_device-training"));
  EXPECT_EQ(editor.text(), kText);
  // A comment above stays; the one below goes with it.
  expectOk(editor.removeEntry(kId));
  EXPECT_THAT(editor.text(), testing::StartsWith("# Head.\ntest_config:\n  # about b\n  b/"));
  for (const char *id : {"b/pytorch-y-single_device-inference", "c/pytorch-single_device-training"})
    expectOk(editor.removeEntry(id));
  EXPECT_EQ(editor.text(), "# Head.\ntest_config:\n  # about b\n");
  expectOk(
      editor.addEntry("q/jax-single_device-training", {{"status", std::string("EXCLUDE_MODEL")}}));
  EXPECT_EQ(Configuration::fromTexts({{"f", editor.text()}}).entries().size(), 1u);
}

TEST(Edit, FilesWithoutSectionOrNewline) {
  FileEditor editor = opened("");
  expectOk(editor.addEntry(kId, {{"status", std::string("EXPECTED_PASSING")}}));
  EXPECT_EQ(editor.text(),
            "test_config:\n  " + std::string(kId) + ":\n    status: EXPECTED_PASSING\n");
  std::string unfinished =
      "test_config:\n  " + std::string(kId) + ":\n    status: EXPECTED_PASSING";
  editor = opened(unfinished);
  expectOk(editor.setField(kId, "required_pcc", 0.5));
  EXPECT_EQ(editor.text(), unfinished + "\n    required_pcc: 0.5");
  expectOk(editor.removeField(kId, "required_pcc"));
  EXPECT_EQ(editor.text(), unfinished);
  expectOk(
      editor.addEntry("q/jax-single_device-training", {{"status", std::string("EXCLUDE_MODEL")}}));
  expectOk(editor.removeEntry("q/jax-single_device-training"));
  EXPECT_EQ(editor.text(), unfinished);
  std::string windows =
      "test_config:\r\n  " + std::string(kId) + ":\r\n    status: EXPECTED_PASSING\r\n";
  editor = opened(windows);
  expectOk(editor.setField(kId, "required_pcc", 0.5));
  EXPECT_EQ(editor.text(), windows + "    required_pcc: 0.5\r\n");
  editor = opened("PLACEHOLDER_MODELS:\n  x:\n    bringup_status: NOT_STARTED\n");
  expectOk(editor.addEntry(kId, {{"assert_pcc", false}}));
  EXPECT_EQ(editor.text(), "PLACEHOLDER_MODELS:\n  x:\n    bringup_status: NOT_STARTED\n"
                           "test_config:\n  " +
                               std::string(kId) + ":\n    assert_pcc: false\n");
}

TEST(Edit, FlowMappings) {
  std::string text =
      "test_config:\n  " + std::string(kId) + ": {status: EXCLUDE_MODEL, batch_size: 3}\n";
  FileEditor editor = opened(text);
  expectOk(editor.setField(kId, "markers", std::vector<std::string>{"a", "b c,d"}));
  EXPECT_EQ(editor.text(), with(text, "3}", "3, markers: [a, \"b c,d\"]}"));
  expectOk(editor.removeField(kId, "markers"));
  EXPECT_EQ(editor.text(), text);
  expectOk(editor.removeField(kId, "status"));
  EXPECT_EQ(editor.text(), "test_config:\n  " + std::string(kId) + ": {batch_size: 3}\n");
}

TEST(Edit, WhatCannotBeDoneChangesNothingAndSaysWhy) {
  FileEditor editor = opened(kText);
  auto failure = [&](const Status &status) {
    EXPECT_EQ(editor.text(), kText);
    return status ? std::string("done") : status.message();
  };
  EXPECT_EQ(failure(editor.setField(kId, "required_pc", 0.5)),
            "required_pc: unknown field; did you mean required_pcc?");
  EXPECT_EQ(failure(editor.setField("none", "status", std::string("EXCLUDE_MODEL"))),
            "f.yaml: none has no entry");
  EXPECT_THAT(failure(editor.setField(kId, "required_pcc", 5.0)), HasSubstr("out of range"));
  EXPECT_THAT(failure(editor.setField(kId, "required_pcc", std::string("x"))),
              HasSubstr("expected a number"));
  EXPECT_THAT(failure(editor.setField(kId, "batch_size", true)),
              HasSubstr("expected a whole number"));
  EXPECT_THAT(failure(editor.setField(kId, "status", std::string("FINE"))), HasSubstr("no status"));
  EXPECT_THAT(failure(editor.setField(kId, "reason", std::string("\xff"))), HasSubstr("YAML"));
  EXPECT_THAT(failure(editor.addEntry(kId, {{"status", std::string("EXCLUDE_MODEL")}})),
              HasSubstr("has an entry already, in line 3"));
  EXPECT_THAT(failure(editor.addEntry("new", {})), HasSubstr("at least one field"));
  EXPECT_THAT(failure(editor.addEntry("new", {{"batch_size", int64_t{0}}})),
              HasSubstr("out of range"));
  EXPECT_THAT(failure(editor.addEntry("new", {{"assert_pcc", true}, {"assert_pcc", false}})),
              HasSubstr("given twice"));
  EXPECT_THAT(failure(editor.addEntry("a\nb", {{"assert_pcc", true}})), HasSubstr("one line"));
  EXPECT_FALSE(bool(FileEditor::fromText("f.yaml", "a: [")));
  EXPECT_FALSE(bool(FileEditor::fromText("f.yaml", "[1]")));
  FileEditor lone =
      opened("test_config:\n  " + std::string(kId) + ":\n    status: EXCLUDE_MODEL\n");
  EXPECT_THAT(lone.removeField(kId, "status").message(), HasSubstr("the only field"));
  FileEditor twice = opened("test_config:\n  q:\n    batch_size: 1\n  q:\n    batch_size: 2\n");
  EXPECT_THAT(twice.setField("q", "batch_size", int64_t{3}).message(), HasSubstr("stands twice"));
  EXPECT_THAT(twice.removeEntry("q").message(), HasSubstr("stands twice"));
}

TEST(Edit, SavesWholeAndKeepsOthersChanges) {
  fs::path folder = fs::temp_directory_path() / ("cupel-edit-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::string path = (folder / "f.yaml").string();
  auto write = [&](const std::string &text) { std::ofstream(path, std::ios::binary) << text; };
  auto read = [&] {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  write(kText);
  fs::permissions(path, fs::perms(0640));
  fs::create_symlink("f.yaml", folder / "link.yaml");
  Result<FileEditor> editor = FileEditor::open((folder / "link.yaml").string());
  ASSERT_TRUE(bool(editor));
  expectOk(editor->save()); // Nothing to do.
  expectOk(editor->setField(kId, "required_pcc", 0.5));
  EXPECT_EQ(read(), kText);
  expectOk(editor->save());
  EXPECT_EQ(read(), with(kText, "0.97   # measured", "0.5   # measured"));
  EXPECT_TRUE(fs::is_symlink(folder / "link.yaml"));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
  expectOk(editor->setField(kId, "required_pcc", 0.6));
  write("# mine\n");
  EXPECT_THAT(editor->save().message(), HasSubstr("changed by somebody else"));
  EXPECT_EQ(read(), "# mine\n");
  EXPECT_FALSE(bool(FileEditor::open((folder / "new.yaml").string())));
  Result<FileEditor> fresh = FileEditor::open((folder / "new.yaml").string(), true);
  ASSERT_TRUE(bool(fresh));
  expectOk(fresh->addEntry(kId, {{"assert_pcc", false}}));
  expectOk(fresh->save());
  EXPECT_TRUE(fs::exists(folder / "new.yaml"));
  size_t files = 0;
  for ([[maybe_unused]] const auto &file : fs::directory_iterator(folder))
    ++files;
  EXPECT_EQ(files, 3u); // No temporary file is left.
  fs::remove_all(folder);
}

// --- Properties on the real files --------------------------------------------------------------

struct RealFile {
  std::string path, text;
};

std::vector<RealFile> realFiles() {
  const char *given = std::getenv("CUPEL_REAL_CONFIG");
  std::string folder = given ? given : CUPEL_SOURCE_DIR "/../shared/realworld/tt-xla/test_config";
  std::vector<RealFile> files;
  if (!fs::is_directory(folder))
    return files;
  Configuration configuration = Configuration::load({folder});
  for (const YamlFile &file : configuration.files())
    if (file.root()->find("test_config"))
      files.push_back({file.path(), std::string(file.bytes())});
  return files;
}

/// What a text says of each id, as values that outlive it.
std::map<std::string, std::vector<Expectation>> meaning(const std::string &text) {
  Configuration configuration = Configuration::fromTexts({{"f.yaml", text}});
  std::map<std::string, std::vector<Expectation>> result;
  for (const Entry &entry : configuration.entries()) {
    std::vector<Expectation> &all = result[std::string(entry.id)];
    all.push_back(configuration.expectation(entry));
    for (std::string_view arch : knownArchs())
      all.push_back(configuration.expectation(entry, arch));
    for (Expectation &each : all)
      each.line = 0; // Moves when something above it grows.
  }
  return result;
}

/// How many bytes two texts have in common at their beginning.
size_t commonHead(const std::string &a, const std::string &b) {
  return size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}
/// And at their end.
size_t commonTail(const std::string &a, const std::string &b) {
  return size_t(std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin());
}

TEST(Edit, RandomEditsOfTheRealFilesChangeOnlyWhatTheySay) {
  std::vector<RealFile> files = realFiles();
  if (files.empty())
    GTEST_SKIP() << "the real configuration is not here; set CUPEL_REAL_CONFIG";
  std::mt19937 random(17);
  auto pick = [&](size_t n) { return size_t(random() % n); };
  const std::vector<std::string> words = {"push", "nightly", "x y", "a:b",
                                          "-",    "",        "Ünï", "it's \"q\"",
                                          "# no", "true",    "1.5", "line\nbreak"};
  size_t edits = 0;
  for (int round = 0; round < 300; ++round) {
    const RealFile &file = files[pick(files.size())];
    auto before = meaning(file.text);
    auto at = before.begin();
    std::advance(at, long(pick(before.size())));
    std::string id = at->first;
    const FieldInfo &field = fieldTable()[pick(fieldTable().size())];
    std::string arch = pick(3) == 0 ? std::string(knownArchs()[pick(8)]) : "";

    FieldValue value;
    if (std::holds_alternative<std::optional<TestStatus> Fields::*>(field.member))
      value = std::string(name(TestStatus(pick(5))));
    else if (std::holds_alternative<std::optional<BringupStatus> Fields::*>(field.member))
      value = std::string(name(BringupStatus(pick(7))));
    else if (std::holds_alternative<std::optional<std::string_view> Fields::*>(field.member))
      value = field.words.empty() ? words[pick(words.size())] : std::string(field.words[pick(2)]);
    else if (std::holds_alternative<std::optional<double> Fields::*>(field.member))
      value = double(random()) / 5e9;
    else if (std::holds_alternative<std::optional<bool> Fields::*>(field.member))
      value = bool(pick(2));
    else if (std::holds_alternative<std::optional<int64_t> Fields::*>(field.member))
      value = int64_t(1 + pick(2));
    else
      value = std::vector<std::string>{words[pick(words.size())], words[pick(words.size())]};

    FileEditor editor = opened(file.text);
    auto others = [&](std::map<std::string, std::vector<Expectation>> all) {
      all.erase(id);
      return all;
    };
    // The lines of the entry, as the parser sees it.
    Configuration configuration = Configuration::fromTexts({{"f.yaml", file.text}});
    const Entry &entry = *configuration.find(id);
    size_t begin = file.text.rfind('\n', entry.key->begin) + 1;
    size_t end = file.text.find('\n', entry.value->end);
    end = end == std::string::npos ? file.text.size() : end + 1;

    expectOk(editor.setField(id, field.name, value, arch));
    auto after = meaning(editor.text());
    EXPECT_EQ(others(before), others(after)) << id << " " << field.name;
    edits += editor.isChanged();
    EXPECT_GE(commonHead(file.text, editor.text()), begin) << id << " " << field.name;
    EXPECT_GE(commonTail(file.text, editor.text()), file.text.size() - end)
        << id << " " << field.name;
    // The field says what was asked for, and no other of the entry changed.
    Configuration edited = Configuration::fromTexts({{"f.yaml", editor.text()}});
    const Entry &now = *edited.find(id);
    for (const FieldInfo &other : fieldTable())
      if (&other != &field || !arch.empty()) {
        EXPECT_TRUE(other.isEqual(entry.fields, now.fields)) << id << " " << other.name;
      }
    Fields resolved = now.resolved(arch);
    EXPECT_TRUE(field.isSet(resolved));
    if (const auto *text = std::get_if<std::string>(&value); text && field.name == "reason") {
      EXPECT_EQ(*resolved.reason, *text);
    }
    if (const auto *number = std::get_if<double>(&value)) {
      EXPECT_EQ(*(resolved.*std::get<std::optional<double> Fields::*>(field.member)), *number);
    }
    if (const auto *list = std::get_if<std::vector<std::string>>(&value)) {
      EXPECT_THAT(*(resolved.*
                    std::get<std::optional<std::vector<std::string_view>> Fields::*>(field.member)),
                  testing::ElementsAreArray(*list));
    }

    // Taking a new field away again gives the bytes back.
    Fields own;
    if (arch.empty())
      own = entry.fields;
    for (const Override &override : entry.overrides)
      if (override.arch == arch)
        own = override.fields;
    if (!field.isSet(own)) {
      expectOk(editor.removeField(id, field.name, arch));
      EXPECT_EQ(editor.text() == file.text, true) << id << " " << field.name << " " << arch;
    }
  }
  EXPECT_GT(edits, 250u);
}

TEST(Edit, EntriesOfTheRealFilesComeAndGo) {
  std::vector<RealFile> files = realFiles();
  if (files.empty())
    GTEST_SKIP() << "the real configuration is not here; set CUPEL_REAL_CONFIG";
  std::mt19937 random(23);
  for (const RealFile &file : files) {
    auto before = meaning(file.text);
    for (int round = 0; round < 12; ++round) {
      auto at = before.begin();
      std::advance(at, long(random() % before.size()));
      // A sibling of an entry, added and removed.
      std::string id = at->first.substr(0, at->first.find('-')) + "-new_" + std::to_string(round) +
                       "-single_device-inference";
      FileEditor editor = opened(file.text);
      expectOk(editor.addEntry(id, {{"status", std::string("KNOWN_FAILURE_XFAIL")},
                                    {"reason", std::string("because: it is")}}));
      auto after = meaning(editor.text());
      ASSERT_EQ(after.count(id), 1u);
      EXPECT_EQ(after[id][0].reason, "because: it is");
      after.erase(id);
      EXPECT_EQ(after, before);
      expectOk(editor.removeEntry(id));
      EXPECT_EQ(editor.text() == file.text, true) << file.path << " " << id;
      // One of its own, removed.
      expectOk(editor.removeEntry(at->first));
      auto fewer = before;
      fewer.erase(at->first);
      EXPECT_EQ(meaning(editor.text()), fewer);
    }
  }
}

TEST(Edit, EveryEntryOfTheRealFilesCanBeSetToWhatItSays) {
  std::vector<RealFile> files = realFiles();
  if (files.empty())
    GTEST_SKIP() << "the real configuration is not here; set CUPEL_REAL_CONFIG";
  for (const RealFile &file : files) {
    Configuration configuration = Configuration::fromTexts({{"f.yaml", file.text}});
    FileEditor editor = opened(file.text);
    for (const Entry &entry : configuration.entries()) {
      if (entry.fields.status)
        expectOk(editor.setField(entry.id, "status", std::string(name(*entry.fields.status))));
      if (entry.fields.reason)
        expectOk(editor.setField(entry.id, "reason", std::string(*entry.fields.reason)));
      if (entry.fields.requiredPcc)
        expectOk(editor.setField(entry.id, "required_pcc", *entry.fields.requiredPcc));
    }
    EXPECT_FALSE(editor.isChanged());
  }
}

TEST(Edit, FindsTheFileForAnId) {
  Configuration configuration = Configuration::fromTexts(
      {{"x/torch/test_config_inference_single_device.yaml",
        "test_config:\n  a/pytorch-x-single_device-inference:\n    status: EXCLUDE_MODEL\n"},
       {"x/torch_llm/test_config_inference_tensor_parallel.yaml", "test_config:\n"},
       {"x/jax/test_config_training_data_parallel.yaml", "test_config:\n"}});
  EXPECT_EQ(fileFor(configuration, kId), "x/torch/test_config_inference_single_device.yaml");
  EXPECT_EQ(fileFor(configuration, "n/pytorch-single_device-inference"),
            "x/torch/test_config_inference_single_device.yaml");
  EXPECT_EQ(fileFor(configuration, "n/jax-data_parallel-training"),
            "x/jax/test_config_training_data_parallel.yaml");
  EXPECT_EQ(
      fileFor(configuration,
              "n/pytorch-v-llm_decode-seq_1-batch_1-fsdp-dp-tensor_parallel-mesh_2x4-inference"),
      "x/torch_llm/test_config_inference_tensor_parallel.yaml");
  EXPECT_EQ(fileFor(configuration, "n/pytorch-single_device-training"), std::nullopt);
  EXPECT_EQ(fileFor(configuration, "nonsense"), std::nullopt);
}

} // namespace
} // namespace cupel::testbench::config
