#include "cupel/testbench/config/Configuration.h"

#include "cupel/runtime/BuiltInArchitectures.h"
#include "cupel/support/Files.h"
#include "cupel/support/Text.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace cupel::testbench::config {

std::vector<std::string_view> knownArchs() {
  std::vector<std::string_view> names;
  for (const runtime::BuiltInArchitecture &one : runtime::builtInArchitectures())
    if (one.name != "cpu")
      names.push_back(one.name);
  return names;
}

namespace fs = std::filesystem;

namespace {

/// Complaints about one file after which it is not what it seems to be.
constexpr size_t kMaxComplaints = 1000;
constexpr std::string_view kTestsSection = "test_config";
constexpr std::string_view kPlaceholdersSection = "PLACEHOLDER_MODELS";

void addDiagnostic(std::vector<Diagnostic> &found, Code code, const std::string &file,
                   const YamlNode *at, std::string message, std::string hint = {}) {
  found.push_back(Diagnostic{code, info(code).severity, file, at ? at->line : 0,
                             at ? at->column : 0, std::move(message), std::move(hint)});
}

using SeenKeys = std::unordered_map<std::string_view, const YamlNode *>;

/// What a message quotes of a name: names are short, hostile ones are not.
std::string shortened(std::string_view name) {
  constexpr size_t kShown = 120;
  std::string text(name.substr(0, kShown));
  for (char &c : text)
    if (c == '\n' || c == '\r')
      c = ' ';
  return name.size() > kShown ? text + "..." : text;
}

std::string_view nearestName(std::string_view name, const std::vector<std::string_view> &names) {
  constexpr size_t kLongest = 100;
  return name.size() > kLongest ? std::string_view() : nearestWord(name, names);
}

std::string place(const YamlNode &node) { return "line " + std::to_string(node.line); }

/// Reads the entries of one file.
class Reader {
public:
  Reader(const std::string &file, uint32_t fileIndex, std::vector<Diagnostic> &found)
      : file(file), fileIndex(fileIndex), found(found) {}

  void readSection(const YamlNode &section, std::string_view name, bool withOverrides,
                   std::vector<Entry> &entries) {
    if (section.isNull())
      return;
    if (!section.isMapping()) {
      complain(Code::NotAMapping, section,
               std::string(name) + ": expected a mapping of tests, found " + describe(section));
      return;
    }
    SeenKeys seen;
    seen.reserve(section.pairCount());
    entries.reserve(entries.size() + section.pairCount());
    size_t before = found.size();
    for (size_t i = 0; i < section.pairCount(); ++i) {
      if (found.size() - before > kMaxComplaints) {
        complain(Code::TooLarge, section.key(i),
                 "more than " + std::to_string(kMaxComplaints) +
                     " errors before this; the rest of the file is not read");
        return;
      }
      const YamlNode &key = section.key(i);
      const YamlNode &value = section.value(i);
      if (!key.isScalar() || key.text.empty()) {
        complain(Code::NotAMapping, key, "expected a test id, found " + describe(key));
        continue;
      }
      auto [first, isNew] = seen.try_emplace(key.text, &key);
      if (!isNew) {
        complain(Code::DuplicateInFile, key,
                 shortened(key.text) + " stands twice in this file, first in " +
                     place(*first->second),
                 "the first holds; remove one");
        continue;
      }
      if (!value.isMapping()) {
        complain(Code::NotAMapping, value.isNull() ? key : value,
                 shortened(key.text) + ": expected a mapping of fields, found " + describe(value));
        continue;
      }
      Entry entry;
      entry.id = key.text;
      entry.file = fileIndex;
      entry.key = &key;
      entry.value = &value;
      readFields(value, entry.fields, withOverrides ? &entry.overrides : nullptr);
      entries.push_back(std::move(entry));
    }
  }

private:
  void complain(Code code, const YamlNode &at, std::string message, std::string hint = {}) {
    addDiagnostic(found, code, file, &at, std::move(message), std::move(hint));
  }

  /// The key before the i-th that says the same, or null. `seen` holds those before it where
  /// comparing with each would take too long.
  static const YamlNode *firstOf(const YamlNode &mapping, size_t i, SeenKeys &seen) {
    constexpr size_t kFew = 32;
    const YamlNode &key = mapping.key(i);
    if (mapping.pairCount() > kFew) {
      auto [at, isNew] = seen.try_emplace(key.text, &key);
      return isNew ? nullptr : at->second;
    }
    for (size_t k = 0; k < i; ++k)
      if (mapping.key(k).isScalar() && mapping.key(k).text == key.text)
        return &mapping.key(k);
    return nullptr;
  }

  void readFields(const YamlNode &mapping, Fields &fields, std::vector<Override> *overrides) {
    SeenKeys seen;
    size_t before = found.size();
    for (size_t i = 0; i < mapping.pairCount() && found.size() - before <= kMaxComplaints; ++i) {
      const YamlNode &key = mapping.key(i);
      if (!key.isScalar()) {
        complain(Code::UnknownField, key, "expected the name of a field, found " + describe(key));
        continue;
      }
      if (const YamlNode *first = firstOf(mapping, i, seen)) {
        complain(Code::DuplicateField, key,
                 shortened(key.text) + " stands twice, first in " + place(*first),
                 "the first holds; remove one");
        continue;
      }
      if (key.text == kOverridesField && overrides)
        readOverrides(mapping.value(i), *overrides);
      else if (const FieldInfo *field = findField(key.text))
        readField(*field, mapping.value(i), file, fields, found);
      else
        unknownField(key, overrides != nullptr);
    }
  }

  void unknownField(const YamlNode &key, bool withOverrides) {
    std::vector<std::string_view> names;
    for (const FieldInfo &field : fieldTable())
      names.push_back(field.name);
    if (withOverrides)
      names.push_back(kOverridesField);
    std::string_view near = nearestName(key.text, names);
    std::string hint;
    if (!near.empty())
      hint = "did you mean " + std::string(near) + "?";
    else if (key.text == kOverridesField)
      hint = "overrides stand only directly in an entry of test_config";
    complain(Code::UnknownField, key, shortened(key.text) + ": unknown field", std::move(hint));
  }

  void readOverrides(const YamlNode &mapping, std::vector<Override> &overrides) {
    if (!mapping.isMapping())
      return complain(Code::NotAMapping, mapping,
                      "arch_overrides: expected a mapping of architectures, found " +
                          describe(mapping));
    SeenKeys seen;
    size_t before = found.size();
    for (size_t i = 0; i < mapping.pairCount() && found.size() - before <= kMaxComplaints; ++i) {
      const YamlNode &key = mapping.key(i);
      const YamlNode &value = mapping.value(i);
      if (!key.isScalar()) {
        complain(Code::NotAMapping, key, "expected an architecture, found " + describe(key));
        continue;
      }
      if (const YamlNode *first = firstOf(mapping, i, seen)) {
        complain(Code::DuplicateField, key,
                 shortened(key.text) + " stands twice in arch_overrides, first in " + place(*first),
                 "the first holds; remove one");
        continue;
      }
      if (!value.isMapping() && !value.isNull()) {
        complain(Code::NotAMapping, value,
                 shortened(key.text) + ": expected a mapping of fields, found " + describe(value));
        continue;
      }
      Override next;
      next.arch = key.text;
      next.key = &key;
      next.value = &value;
      if (value.isMapping())
        readFields(value, next.fields, nullptr);
      overrides.push_back(std::move(next));
    }
  }

  const std::string &file;
  uint32_t fileIndex;
  std::vector<Diagnostic> &found;
};

/// The YAML files at or under `path`, sorted.
std::vector<std::string> filesUnder(const std::string &path, std::vector<Diagnostic> &found) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return {path}; // Reading it says what is wrong, if anything is.
  std::vector<std::string> files;
  // Links to folders are not followed: they may lead back here.
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    // Hidden files are editors' locks and backups.
    if (at->path().filename().string().starts_with('.'))
      continue;
    fs::path extension = at->path().extension();
    std::error_code ignored;
    if ((extension == ".yaml" || extension == ".yml") && !at->is_directory(ignored))
      files.push_back(at->path().string());
  }
  if (error)
    addDiagnostic(found, Code::Unreadable, path, nullptr, "cannot be searched: " + error.message());
  std::sort(files.begin(), files.end());
  if (files.empty() && !error)
    addDiagnostic(found, Code::Unreadable, path, nullptr, "no .yaml file is in this folder",
                  "name the folder that holds the test_config files");
  return files;
}

} // namespace

Fields Entry::resolved(std::string_view arch) const {
  Fields result = fields;
  if (!arch.empty())
    for (const Override &override : overrides)
      if (override.arch == arch)
        result.overrideWith(override.fields);
  return result;
}

std::vector<std::string_view> Entry::supportedArchs(std::string_view arch) const {
  const std::optional<std::vector<std::string_view>> *archs = &fields.supportedArchs;
  if (!arch.empty())
    for (const Override &override : overrides)
      if (override.arch == arch && override.fields.supportedArchs)
        archs = &override.fields.supportedArchs;
  if (*archs && !(*archs)->empty())
    return **archs;
  return {std::begin(kDefaultArchs), std::end(kDefaultArchs)};
}

Configuration Configuration::load(const std::vector<std::string> &paths) {
  Configuration configuration;
  for (const std::string &path : paths) {
    for (const std::string &file : filesUnder(path, configuration.found)) {
      Result<FileContents> contents = readInput(file, YamlFile::kMaxBytes);
      if (!contents) {
        addDiagnostic(configuration.found, Code::Unreadable, file, nullptr, contents.message());
        continue;
      }
      configuration.loaded.emplace_back(file, std::string(contents->bytes()), configuration.found);
    }
  }
  configuration.build();
  return configuration;
}

Configuration Configuration::fromTexts(std::vector<std::pair<std::string, std::string>> texts) {
  Configuration configuration;
  for (auto &[name, text] : texts)
    configuration.loaded.emplace_back(std::move(name), std::move(text), configuration.found);
  configuration.build();
  return configuration;
}

void Configuration::build() {
  for (uint32_t index = 0; index < loaded.size(); ++index) {
    const YamlFile &file = loaded[index];
    const YamlNode *root = file.root();
    if (!root)
      continue;
    if (!root->isMapping()) {
      addDiagnostic(found, Code::NotAMapping, file.path(), root,
                    "expected a mapping with the key test_config, found " + describe(*root));
      continue;
    }
    bool hasSection = false;
    Reader reader(file.path(), index, found);
    size_t before = found.size();
    for (size_t i = 0; i < root->pairCount() && found.size() - before <= kMaxComplaints; ++i) {
      const YamlNode &key = root->key(i);
      if (key.isScalar() && (key.text == kTestsSection || key.text == kPlaceholdersSection)) {
        bool isTests = key.text == kTestsSection;
        if (root->find(key.text) != &root->value(i)) {
          addDiagnostic(found, Code::DuplicateField, file.path(), &key,
                        shortened(key.text) + " stands twice in this file",
                        "put the entries under one");
        }
        reader.readSection(root->value(i), key.text, isTests, isTests ? all : placeholderModels);
        hasSection = true;
        continue;
      }
      std::string_view near =
          key.isScalar() ? nearestName(key.text, {kTestsSection, kPlaceholdersSection}) : "";
      addDiagnostic(found, Code::UnknownSection, file.path(), &key,
                    (key.isScalar() ? shortened(key.text) : describe(key)) +
                        ": unknown key at the top of a file",
                    near.empty() ? "test_config or PLACEHOLDER_MODELS"
                                 : "did you mean " + std::string(near) + "?");
    }
    if (!hasSection)
      addDiagnostic(found, Code::NoSection, file.path(), root,
                    "neither test_config nor PLACEHOLDER_MODELS is in this file");
  }

  byId.reserve(all.size());
  for (uint32_t index = 0; index < all.size(); ++index) {
    auto [earlier, isNew] = byId.try_emplace(all[index].id, index);
    if (isNew)
      continue;
    Entry &first = all[earlier->second];
    first.shadowed = true;
    earlier->second = index;
    bool same = first.fields == all[index].fields;
    addDiagnostic(found, Code::DuplicateAcrossFiles, fileName(all[index]), all[index].key,
                  std::string(all[index].id) + " also stands in " + fileName(first) + ":" +
                      std::to_string(first.line()) +
                      (same ? ", with the same fields" : ", with other fields"),
                  "the later one, this, holds; remove one");
  }
  sortDiagnostics(found);
}

const Entry *Configuration::find(std::string_view id) const {
  auto at = byId.find(id);
  return at == byId.end() ? nullptr : &all[at->second];
}

Expectation Configuration::expectation(std::string_view id, std::string_view arch) const {
  const Entry *entry = find(id);
  return entry ? expectation(*entry, arch) : Expectation{};
}

Expectation Configuration::expectation(const Entry &entry, std::string_view arch) const {
  Fields fields = entry.resolved(arch);
  Expectation result;
  result.hasEntry = true;
  result.file = fileName(entry);
  result.line = entry.line();
  result.status = fields.status.value_or(TestStatus::Unspecified);
  result.bringupStatus = fields.bringupStatus;
  result.reason = fields.reason.value_or("");
  auto strings = [](const std::vector<std::string_view> &words) {
    return std::vector<std::string>(words.begin(), words.end());
  };
  if (fields.markers)
    result.markers = strings(*fields.markers);
  if (fields.supportedArchs && !fields.supportedArchs->empty())
    result.supportedArchs = strings(*fields.supportedArchs);
  if (fields.filechecks)
    result.filechecks = strings(*fields.filechecks);
  if (fields.executionPass)
    result.executionPass = std::string(*fields.executionPass);
  result.requiredPcc = fields.requiredPcc;
  result.requiredAtol = fields.requiredAtol;
  result.allcloseRtol = fields.allcloseRtol;
  result.allcloseAtol = fields.allcloseAtol;
  result.assertPcc = fields.assertPcc;
  result.assertAtol = fields.assertAtol;
  result.assertAllclose = fields.assertAllclose;
  result.batchSize = fields.batchSize;
  result.optimizationLevel = fields.optimizationLevel;
  result.enableWeightBfp8Conversion = fields.enableWeightBfp8Conversion;
  result.injectCustomMoe = fields.injectCustomMoe;
  result.emitpyAssertExact = fields.emitpyAssertExact;
  return result;
}

bool Configuration::hasErrors() const {
  return std::any_of(found.begin(), found.end(),
                     [](const Diagnostic &d) { return d.severity == Severity::Error; });
}

} // namespace cupel::testbench::config
