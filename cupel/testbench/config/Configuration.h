// The configuration of the tests: what the YAML files of a folder say of each test id and each
// placeholder model. Discovery takes markers from it, the runner expectations, the checks
// everything. Loading never fails as a whole: what is wrong is a list of diagnostics and the rest
// is there.
#pragma once

#include "cupel/testbench/config/Diagnostic.h"
#include "cupel/testbench/config/Expectation.h"
#include "cupel/testbench/config/Fields.h"
#include "cupel/testbench/config/Yaml.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cupel::testbench::config {

/// The architectures that entries may name: those of zoo/archs, without the plain CPU.
std::vector<std::string_view> knownArchs();
/// Where a test runs whose entry names no architectures.
inline constexpr std::string_view kDefaultArchs[] = {"n150", "p150"};

struct Override {
  std::string_view arch;
  Fields fields;
  const YamlNode *key = nullptr, *value = nullptr;
};

struct Entry {
  std::string_view id;
  uint32_t file = 0; ///< Index into Configuration::files().
  Fields fields;
  std::vector<Override> overrides;
  bool shadowed = false; ///< A later entry of the same id holds instead.
  const YamlNode *key = nullptr, *value = nullptr;

  uint32_t line() const { return key->line; }
  /// The fields with those of `arch` replaced; an empty or unmentioned arch changes nothing.
  Fields resolved(std::string_view arch) const;
  /// Those of `resolved(arch)`, or the default; an empty list counts as none, as upstream has it.
  std::vector<std::string_view> supportedArchs(std::string_view arch) const;
};

class Configuration {
public:
  Configuration() = default;
  Configuration(Configuration &&) noexcept = default;
  Configuration &operator=(Configuration &&) noexcept = default;

  /// Files, and folders searched for `.yaml` and `.yml` files at any depth. The order is that of
  /// the paths given, within a folder that of the names; of two entries of one id the later holds.
  static Configuration load(const std::vector<std::string> &paths);
  /// The same from pairs of a name and the text under it.
  static Configuration fromTexts(std::vector<std::pair<std::string, std::string>> texts);

  /// The entry that holds for `id`, or null.
  const Entry *find(std::string_view id) const;
  /// What is expected of a test; without an entry all defaults.
  Expectation expectation(std::string_view id, std::string_view arch = {}) const;
  /// The same of an entry of this configuration.
  Expectation expectation(const Entry &entry, std::string_view arch = {}) const;

  /// All entries in the order of the files, shadowed ones included.
  std::span<const Entry> entries() const { return all; }
  /// The models of PLACEHOLDER_MODELS; their overrides are always empty.
  std::span<const Entry> placeholders() const { return placeholderModels; }
  std::span<const YamlFile> files() const { return loaded; }
  const std::string &fileName(const Entry &entry) const { return loaded[entry.file].path(); }

  /// What loading found; Check.h finds more.
  std::span<const Diagnostic> diagnostics() const { return found; }
  bool hasErrors() const;

private:
  void build();

  std::vector<YamlFile> loaded;
  std::vector<Entry> all, placeholderModels;
  std::unordered_map<std::string_view, uint32_t> byId;
  std::vector<Diagnostic> found;
};

} // namespace cupel::testbench::config
