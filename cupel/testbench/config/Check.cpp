#include "cupel/testbench/config/Check.h"

#include "cupel/support/Text.h"
#include "cupel/testbench/config/TestId.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace cupel::testbench::config {

namespace fs = std::filesystem;

namespace {

bool contains(const auto &words, std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool needsReason(TestStatus status) {
  return status == TestStatus::KnownFailureXfail || status == TestStatus::NotSupportedSkip;
}

bool isFailure(BringupStatus status) {
  return status == BringupStatus::FailedFrontendCompilation ||
         status == BringupStatus::FailedDeviceCompilation ||
         status == BringupStatus::FailedRuntime || status == BringupStatus::NotStarted;
}

bool contradicts(const Fields &fields) {
  if (!fields.status || !fields.bringupStatus)
    return false;
  return (*fields.status == TestStatus::ExpectedPassing && isFailure(*fields.bringupStatus)) ||
         (*fields.status == TestStatus::KnownFailureXfail &&
          *fields.bringupStatus == BringupStatus::Passed);
}

/// What a file's name and folder say of the entries in it; empty where they say nothing.
struct FilePurpose {
  std::string runMode, parallelism, folder;
};

FilePurpose purposeOf(const std::string &path) {
  FilePurpose purpose;
  fs::path file(path);
  std::string stem = file.stem().string();
  constexpr std::string_view kPrefix = "test_config_";
  if (stem.starts_with(kPrefix)) {
    std::string rest = stem.substr(kPrefix.size());
    for (const char *mode : {"inference", "training"})
      for (const char *parallelism : {"single_device", "data_parallel", "tensor_parallel"})
        if (rest == std::string(mode) + "_" + parallelism) {
          purpose.runMode = mode;
          purpose.parallelism = parallelism;
        }
  }
  std::string folder = file.parent_path().filename().string();
  if (folder == "torch" || folder == "jax" || folder == "torch_llm")
    purpose.folder = folder;
  return purpose;
}

/// The characters that a word of -m may have, and no operator.
bool isSelectable(std::string_view marker) {
  if (marker.empty() || marker == "and" || marker == "or" || marker == "not")
    return false;
  return std::all_of(marker.begin(), marker.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("_:+-./[]\\").find(c) != std::string_view::npos;
  });
}

/// Checks entry by entry.
class Checker {
public:
  Checker(const Configuration &configuration, const CheckOptions &options,
          std::vector<Diagnostic> &found)
      : configuration(configuration), found(found) {
    archs = knownArchs();
    archs.insert(archs.end(), options.furtherArchs.begin(), options.furtherArchs.end());
  }

  void run() {
    for (const YamlFile &file : configuration.files())
      purposes.push_back(purposeOf(file.path()));
    for (const Entry &entry : configuration.entries())
      checkEntry(entry);
    for (const Entry &entry : configuration.placeholders())
      checkLists(entry, entry.fields, *entry.value);
  }

private:
  void complain(Code code, const Entry &entry, const YamlNode &at, std::string message,
                std::string hint = {}) {
    found.push_back(Diagnostic{code, info(code).severity, configuration.fileName(entry), at.line,
                               at.column, std::move(message), std::move(hint)});
  }

  /// Where a field of this mapping stands, or the fallback.
  static const YamlNode &keyOf(const YamlNode &mapping, std::string_view field,
                               const YamlNode &fallback) {
    for (size_t i = 0; mapping.isMapping() && i < mapping.pairCount(); ++i)
      if (mapping.key(i).isScalar() && mapping.key(i).text == field)
        return mapping.key(i);
    return fallback;
  }

  void checkEntry(const Entry &entry) {
    checkId(entry);
    checkLists(entry, entry.fields, *entry.value);
    checkStatus(entry);
    for (const Override &override : entry.overrides)
      checkOverride(entry, override);
    if (const YamlNode *overrides = entry.value->find(kOverridesField);
        overrides && overrides->isMapping() && overrides->items.empty())
      complain(Code::EmptyOverride, entry, *overrides, "arch_overrides is empty", "remove it");
    checkDefaults(entry);
  }

  void checkId(const Entry &entry) {
    std::optional<TestId> id = parseTestId(entry.id);
    const FilePurpose &purpose = purposes[entry.file];
    if (!id) {
      // Upstream's files hold entries of loaders; any other may speak of files and folders too.
      if (purpose.folder.empty() && purpose.runMode.empty() && mayBeFileTestId(entry.id))
        return;
      complain(Code::MalformedId, entry, *entry.key,
               std::string(entry.id) + " is no id that a test can have",
               "an id ends in -<parallelism>-<run mode>, like resnet/pytorch-50-single_device-"
               "inference");
      return;
    }
    std::string wantedFolder = purpose.folder;
    if (!purpose.folder.empty())
      wantedFolder = !id->phase.empty()           ? "torch_llm"
                     : id->framework == "jax"     ? "jax"
                     : id->framework == "pytorch" ? "torch"
                                                  : purpose.folder;
    bool wrongFolder = wantedFolder != purpose.folder;
    bool wrongName = !purpose.runMode.empty() &&
                     (purpose.runMode != id->runMode || purpose.parallelism != id->parallelism);
    if (!wrongFolder && !wrongName)
      return;
    std::string own = fs::path(configuration.fileName(entry)).filename().string();
    std::string wanted = wrongName ? "test_config_" + std::string(id->runMode) + "_" +
                                         std::string(id->parallelism) + ".yaml"
                                   : own;
    if (!wantedFolder.empty()) {
      wanted = wantedFolder + "/" + wanted;
      own = purpose.folder + "/" + own;
    }
    complain(Code::WrongFile, entry, *entry.key, std::string(entry.id) + " stands in " + own,
             "it belongs in " + wanted);
  }

  void checkLists(const Entry &entry, const Fields &fields, const YamlNode &mapping) {
    auto list = [&](std::string_view field, auto &&perItem) {
      const YamlNode *value = mapping.find(field);
      if (!value || !value->isSequence())
        return;
      for (size_t i = 0; i < value->items.size(); ++i) {
        const YamlNode &item = value->items[i];
        if (!item.isScalar())
          continue;
        bool repeated = false;
        for (size_t k = 0; k < i && k < kLongestList && !repeated; ++k)
          repeated = value->items[k].isScalar() && value->items[k].text == item.text;
        if (repeated)
          complain(Code::RepeatedListItem, entry, item,
                   std::string(field) + ": " + std::string(item.text.substr(0, 80)) +
                       " stands twice",
                   "remove one");
        perItem(item);
      }
    };
    if (fields.supportedArchs)
      list("supported_archs", [&](const YamlNode &item) {
        if (!contains(archs, item.text))
          complain(Code::UnknownSupportedArch, entry, item,
                   "supported_archs: no architecture is called " +
                       std::string(item.text.substr(0, 80)),
                   archHint(item.text));
      });
    if (fields.markers)
      list("markers", [&](const YamlNode &item) {
        if (!isSelectable(item.text))
          complain(Code::UnusableMarker, entry, item,
                   "markers: \"" + std::string(item.text.substr(0, 80)) +
                       "\" cannot be named in an expression",
                   "rename it");
      });
    if (fields.filechecks)
      list("filechecks", [](const YamlNode &) {});
  }

  std::string archHint(std::string_view word) const {
    std::string_view near = word.size() > 100 ? "" : nearestWord(word, archs);
    if (!near.empty())
      return "did you mean " + std::string(near) + "?";
    std::string all = "known are ";
    for (size_t i = 0; i < archs.size(); ++i)
      all += (i ? ", " : "") + std::string(archs[i]);
    return all;
  }

  void checkStatus(const Entry &entry) {
    bool anywhere = entry.fields.status.has_value();
    for (const Override &override : entry.overrides)
      anywhere |= override.fields.status.has_value();
    // A status that could not be read has its own error.
    bool isWritten = entry.value->find("status") != nullptr;
    for (const Override &override : entry.overrides)
      isWritten |= override.value->isMapping() && override.value->find("status");
    if (!anywhere && !isWritten && !entry.value->items.empty()) {
      complain(Code::MissingStatus, entry, *entry.key,
               std::string(entry.id) + " has no status, so it counts as unspecified", "add one");
    } else if (!entry.fields.status && anywhere) {
      std::string silent;
      for (std::string_view arch : entry.supportedArchs({}))
        if (!entry.resolved(arch).status)
          silent += (silent.empty() ? "" : ", ") + std::string(arch);
      if (!silent.empty())
        complain(Code::MissingStatusOnArch, entry, *entry.key,
                 std::string(entry.id) + " has no status on " + silent,
                 "add one to the entry or to each override");
    }

    if (entry.fields.status && needsReason(*entry.fields.status) &&
        entry.fields.reason.value_or("").empty() && !everyArchHasItsOwn(entry))
      complain(Code::MissingReason, entry, keyOf(*entry.value, "status", *entry.key),
               std::string(name(*entry.fields.status)) + " without a reason",
               "add a reason, best with a link");
    if (contradicts(entry.fields))
      complain(Code::Contradiction, entry, keyOf(*entry.value, "bringup_status", *entry.key),
               "bringup_status " + std::string(name(*entry.fields.bringupStatus)) +
                   " contradicts status " + std::string(name(*entry.fields.status)),
               "correct the one that is out of date");
  }

  /// Whether the base's want of a reason never shows, as each architecture has one or needs none.
  static bool everyArchHasItsOwn(const Entry &entry) {
    for (std::string_view arch : entry.supportedArchs({})) {
      Fields fields = entry.resolved(arch);
      if (needsReason(*fields.status) && fields.reason.value_or("").empty())
        return false;
    }
    return true;
  }

  void checkOverride(const Entry &entry, const Override &override) {
    if (!contains(archs, override.arch))
      complain(Code::UnknownOverrideArch, entry, *override.key,
               "arch_overrides: no architecture is called " +
                   std::string(override.arch.substr(0, 80)),
               archHint(override.arch));
    else if (std::vector<std::string_view> supported = entry.supportedArchs(override.arch);
             !contains(supported, override.arch))
      complain(Code::UnsupportedOverrideArch, entry, *override.key,
               "arch_overrides: " + std::string(override.arch) +
                   " is not among the supported architectures",
               "add it to supported_archs, or remove the override");
    if (!override.value->isMapping() || override.value->items.empty()) {
      complain(Code::EmptyOverride, entry, *override.key,
               "the override for " + std::string(override.arch.substr(0, 80)) + " is empty",
               "remove it");
      return;
    }
    checkLists(entry, override.fields, *override.value);
    for (const FieldInfo &field : fieldTable()) {
      if (!field.isSet(override.fields))
        continue;
      const YamlNode &at = keyOf(*override.value, field.name, *override.key);
      if (field.isSet(entry.fields) && field.isEqual(entry.fields, override.fields))
        complain(Code::OverrideEqualsBase, entry, at,
                 "arch_overrides: " + std::string(override.arch) + ": " + std::string(field.name) +
                     " is what the entry says anyway",
                 "remove it from the override");
      else if (!field.isSet(entry.fields) && field.isDefault(override.fields))
        complain(Code::DefaultValue, entry, at,
                 "arch_overrides: " + std::string(override.arch) + ": " + std::string(field.name) +
                     " is " + std::string(field.defaultText) + " anyway");
    }

    Fields merged = entry.resolved(override.arch);
    bool baseTold = entry.fields.status && needsReason(*entry.fields.status) &&
                    !everyArchHasItsOwn(entry) && !override.fields.status;
    if (merged.status && needsReason(*merged.status) && merged.reason.value_or("").empty() &&
        !baseTold)
      complain(Code::MissingReason, entry, keyOf(*override.value, "status", *override.key),
               std::string(name(*merged.status)) + " on " + std::string(override.arch) +
                   " without a reason",
               "add a reason, best with a link");
    if (contradicts(merged) && !contradicts(entry.fields) &&
        (override.fields.status || override.fields.bringupStatus))
      complain(Code::Contradiction, entry, keyOf(*override.value, "bringup_status", *override.key),
               "bringup_status " + std::string(name(*merged.bringupStatus)) + " on " +
                   std::string(override.arch) + " contradicts status " +
                   std::string(name(*merged.status)),
               "correct the one that is out of date");
  }

  void checkDefaults(const Entry &entry) {
    size_t set = 0, defaults = 0;
    for (const FieldInfo &field : fieldTable()) {
      set += field.isSet(entry.fields);
      defaults += field.isDefault(entry.fields);
    }
    bool overrides = std::any_of(entry.overrides.begin(), entry.overrides.end(),
                                 [](const Override &o) { return !(o.fields == Fields{}); });
    // Fields that could not be read leave nothing set; their errors say enough.
    size_t written = entry.value->pairCount() - (entry.value->find(kOverridesField) ? 1 : 0);
    if (set == defaults && !overrides && written == set) {
      complain(Code::RepeatsDefaults, entry, *entry.key,
               std::string(entry.id) + " says only what holds without it", "remove the entry");
      return;
    }
    for (const FieldInfo &field : fieldTable())
      if (field.isDefault(entry.fields) && field.name != "status")
        complain(Code::DefaultValue, entry, keyOf(*entry.value, field.name, *entry.key),
                 std::string(field.name) + " is " + std::string(field.defaultText) + " anyway");
  }

  static constexpr size_t kLongestList = 1000; ///< Beyond it repetitions are not looked for.
  const Configuration &configuration;
  std::vector<Diagnostic> &found;
  std::vector<std::string_view> archs;
  std::vector<FilePurpose> purposes;
};

/// Letters and digits in lower case: names of one model are written in many ways.
std::string normalized(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c >= 'A' && c <= 'Z')
      result += char(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      result += c;
  return result;
}

std::string_view modelPathOf(std::string_view id) {
  if (std::optional<TestId> parsed = parseTestId(id))
    return parsed->modelPath;
  return id.substr(0, id.find('-'));
}

} // namespace

std::vector<Diagnostic> check(const Configuration &configuration, const CheckOptions &options) {
  std::vector<Diagnostic> found(configuration.diagnostics().begin(),
                                configuration.diagnostics().end());
  Checker(configuration, options, found).run();
  sortDiagnostics(found);
  return found;
}

std::vector<std::string_view> closestIds(std::string_view id, std::span<const std::string> ids,
                                         size_t count) {
  constexpr size_t kLongestId = 400; // Distances take time in proportion to the product.
  if (id.size() > kLongestId)
    return {};
  struct Candidate {
    size_t distance;
    std::string_view id;
    size_t inCommon = 0; ///< At the beginning: names get longer more often than they change.
    bool operator<(const Candidate &other) const {
      if (distance != other.distance)
        return distance < other.distance;
      return inCommon != other.inCommon ? inCommon > other.inCommon : id < other.id;
    }
  };
  // First the model's folder, or the folders most like it; then within these.
  std::string_view path = modelPathOf(id);
  std::vector<Candidate> paths;
  for (const std::string &known : ids) {
    std::string_view knownPath = modelPathOf(known);
    if (paths.empty() || paths.back().id != knownPath)
      paths.push_back({knownPath == path ? 0 : 1 + editDistance(path, knownPath), knownPath});
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end(),
                          [](const Candidate &a, const Candidate &b) { return a.id == b.id; }),
              paths.end());
  if (paths.empty())
    return {};
  std::vector<std::string_view> wanted;
  for (const Candidate &candidate : paths)
    if (candidate.distance == paths.front().distance && candidate.distance <= path.size() / 3 + 1)
      wanted.push_back(candidate.id);
  std::vector<Candidate> best;
  for (const std::string &known : ids)
    if (contains(wanted, modelPathOf(known)))
      best.push_back({editDistance(id, known), known,
                      size_t(std::mismatch(id.begin(), id.end(), known.begin(), known.end()).first -
                             id.begin())});
  std::sort(best.begin(), best.end());
  std::vector<std::string_view> result;
  for (const Candidate &candidate : best)
    if (result.size() < count && candidate.distance <= id.size() / 3 + 1 &&
        !contains(result, candidate.id))
      result.push_back(candidate.id);
  return result;
}

std::vector<Diagnostic> checkAgainst(const KnownTests &tests, const Configuration &configuration,
                                     const std::string &folder, bool listMissing) {
  std::vector<Diagnostic> found;
  auto complain = [&](Code code, const Entry &entry, std::string message, std::string hint) {
    found.push_back(Diagnostic{code, info(code).severity, configuration.fileName(entry),
                               entry.key->line, entry.key->column, std::move(message),
                               std::move(hint)});
  };
  std::vector<std::string> ids = tests.ids;
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());

  std::map<std::string_view, std::pair<const Entry *, size_t>> undecided; // By model.
  for (const Entry &entry : configuration.entries()) {
    if (std::binary_search(ids.begin(), ids.end(), entry.id))
      continue;
    if (std::string_view model = modelPathOf(entry.id); contains(tests.undecidedModels, model)) {
      auto &[first, count] = undecided.try_emplace(model, &entry, 0).first->second;
      ++count;
      continue;
    }
    // Files and folders are no part of a zoo.
    if (mayBeFileTestId(entry.id))
      continue;
    std::string hint;
    for (std::string_view close : closestIds(entry.id, ids, 3))
      hint += (hint.empty() ? "closest: " : ", ") + std::string(close);
    complain(Code::UnknownTest, entry, std::string(entry.id) + " is the id of no test",
             hint.empty() ? "remove the entry" : hint);
  }

  for (const auto &[model, entries] : undecided)
    complain(Code::UndecidedTests, *entries.first,
             std::to_string(entries.second) + (entries.second == 1 ? " entry" : " entries") +
                 " of " + std::string(model) + ", whose tests are not known",
             "--import asks Python");

  size_t missing = 0;
  for (const std::string &id : ids) {
    if (configuration.find(id))
      continue;
    ++missing;
    if (listMissing)
      found.push_back(Diagnostic{Code::MissingEntry, info(Code::MissingEntry).severity, folder, 0,
                                 0, id + " has no entry", ""});
  }
  if (missing && !listMissing)
    found.push_back(Diagnostic{Code::MissingEntry, info(Code::MissingEntry).severity, folder, 0, 0,
                               std::to_string(missing) + " of " + std::to_string(ids.size()) +
                                   " tests have no entry",
                               "--missing lists them"});

  std::vector<std::string> names;
  for (const std::string &name : tests.modelNames)
    names.push_back(normalized(name));
  std::sort(names.begin(), names.end());
  for (const Entry &entry : configuration.placeholders()) {
    std::string_view last = entry.id.substr(entry.id.rfind('/') + 1);
    for (std::string_view name : {entry.id, last}) {
      std::string wanted = normalized(name);
      if (!wanted.empty() && std::binary_search(names.begin(), names.end(), wanted)) {
        complain(Code::ArrivedPlaceholder, entry,
                 "the zoo has " + std::string(entry.id) + " by now", "remove the placeholder");
        break;
      }
    }
  }
  sortDiagnostics(found);
  return found;
}

} // namespace cupel::testbench::config
