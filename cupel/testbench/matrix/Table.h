// All tests of a collection in a compact form: a row is sixteen bytes, everything that repeats (the
// model and variant an id begins with, the parameters it ends with, the set of markers) is stored
// once. Built from what was found, annotated from the configuration for an architecture, asked by
// the selection; a TestItem is made for what is wanted.
#pragma once

#include "cupel/testbench/TestItem.h"
#include "cupel/testbench/config/Configuration.h"
#include "cupel/testbench/matrix/Sources.h"
#include "cupel/testbench/zoo/Loader.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cupel::testbench::matrix {

inline constexpr uint32_t kNone = ~uint32_t{0};

/// What an id ends with and the parameters that says.
struct Ending {
  std::string text; ///< `-single_device-inference`.
  std::string_view parallelism, runMode, phase, sharding, mesh;
  uint32_t sequenceLength = 0, batchSize = 0;
  uint32_t part = 0;
};

/// What the ids of one variant of a model, or of one file, begin with.
struct Beginning {
  std::string text;             ///< `llama/causal_lm/pytorch-3.2_1B`.
  uint32_t loader = kNone;      ///< Index of the loader ...
  uint32_t variant = 0;         ///< ... and of its variant,
  bool isPrefill = false;       ///< among those of its prefill class;
  uint32_t file = kNone;        ///< or index of the file;
  uint32_t placeholder = kNone; ///< or of the placeholder.
};

struct Row {
  uint32_t beginning;
  uint32_t ending;
  uint8_t suite; ///< Index into Table::suites.
};

/// The markers and the entry of every row, for one architecture.
struct Annotation {
  std::string arch;
  std::vector<uint32_t> markers; ///< Index into Table::markerSets.
  std::vector<uint32_t> entries; ///< Index into the configuration's entries, or kNone.
  std::vector<bool> excluded;    ///< EXCLUDE_MODEL.
  size_t excludedCount = 0;
};

class Table {
public:
  /// Takes over what was found. Ids that occur twice are reported and kept once.
  void build(std::vector<zoo::Loader> loaders, std::vector<TestFile> files,
             config::Configuration configuration, std::vector<Remark> &errors);

  /// Looks every row up in the configuration.
  Annotation annotate(std::string_view arch);

  size_t size() const { return rows.size(); }
  void appendId(uint32_t row, std::string &out) const;
  void appendFullName(uint32_t row, std::string &out) const;
  std::string_view suiteOf(uint32_t row) const { return suites[rows[row].suite]; }
  std::string_view frameworkOf(uint32_t row) const;
  TestItem item(uint32_t row, const Annotation &annotation) const;

  /// The row of an id in a suite; kNone if there is none.
  uint32_t find(std::string_view suite, std::string_view id);

  std::vector<std::string> suites; ///< Those that occur, in the order they are listed.
  std::vector<Row> rows;
  std::vector<Beginning> beginnings;
  std::deque<Ending> endings;
  std::vector<std::string> markerNames;
  std::vector<std::vector<uint32_t>> markerSets; ///< Indices into markerNames.
  std::vector<zoo::Loader> loaders;
  std::vector<TestFile> files;
  config::Configuration configuration;

private:
  void addLoaders(std::vector<Remark> &errors);
  void addFiles();
  void addPlaceholders();
  uint8_t suite(std::string_view name);
  uint32_t ending(Ending made);
  uint32_t marker(std::string_view name);
  std::string_view group(const Beginning &beginning) const;
  const zoo::Variant *variantOf(const Beginning &beginning) const;
  uint32_t markerSet(uint32_t row, uint32_t entry, std::string_view arch);

  std::unordered_map<std::string, uint32_t> endingNumbers;
  std::map<std::string, uint32_t, std::less<>> markerNumbers;
  std::map<std::vector<uint32_t>, uint32_t> setNumbers;
  std::unordered_map<std::string, uint32_t> byName; ///< Full names; filled when first asked.
};

} // namespace cupel::testbench::matrix
