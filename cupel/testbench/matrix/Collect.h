// From what the user typed to the tests that are meant: finds everything that is a test below the
// given paths or in the project, joins it with the configuration, and keeps what the selection
// wants. `cupel list` and `cupel run` both call `collect` and nothing else, so what is listed is
// what is run. It runs no Python unless `importUndecided` is set, and never guesses: what cannot be
// decided is reported as such.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/TestItem.h"
#include "cupel/testbench/zoo/Remark.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cupel::testbench::matrix {

class Table;
struct Annotation;

struct CollectOptions {
  /// Files and folders, or ids: what names something on disk is a path, everything else an id
  /// (`id`, `suite::id` or pytest's `file::function[id]`). With no path among them the project
  /// file's zoo, programs and op cases are taken.
  std::vector<std::string> arguments;
  std::string zoo;        ///< --zoo: root of a tree of loaders; overrides the project file.
  std::string config;     ///< --config: folder of the YAML configuration; overrides likewise.
  std::string project;    ///< The project file; empty: `cupel.yaml` here or above, if any.
  bool useProject = true; ///< False: no project file is looked for.
  std::string arch;       ///< --arch: whose overrides apply; empty: none.

  std::vector<std::string> frameworks = {"pytorch", "jax"}; ///< --frameworks.
  std::vector<std::string> suites;                          ///< --suite; empty: all.
  std::string keyword;                                      ///< -k
  std::string markers;                                      ///< -m
  std::string preset;                                       ///< --preset FILE[:name]
  /// --model: of operator cases only those of these models, and nothing else.
  std::vector<std::string> models;
  /// --dedupe: of operator cases that test the same only the first is run.
  bool dedupe = true;

  /// -R: what became of the tests in earlier runs, by full name (`suite::id`). Kept are those for
  /// which this is false (failed, not run) and those it has nothing on (new).
  std::optional<std::unordered_map<std::string, bool>> succeededBefore;
  /// Where set, only these full names are kept (`--resume`).
  std::optional<std::vector<std::string>> only;

  uint32_t shard = 0, shards = 1; ///< --shard i/n, counted from 0 here.
  /// Seconds a test took when last measured, by full name; balances the shards.
  std::function<std::optional<double>(const std::string &fullName)> knownSeconds;

  bool importUndecided = false; ///< --import: let Python import what cannot be read statically.
  std::string python = "python3";
  std::string cache;    ///< Folder of the cache; empty: $CUPEL_CACHE, else ~/.cache/cupel.
  bool useCache = true; ///< --no-cache.
  unsigned threads = 0; ///< 0: one a core.
};

/// A loader whose tests cannot be told from its text.
struct UndecidedLoader {
  std::string modelPath; ///< `llama/causal_lm/pytorch`.
  Remark why;
};

/// What was found and what of it is selected. The tests stay in a compact table (a hundred thousand
/// of them in a few megabytes); a `TestItem` is made on demand.
class Collection {
public:
  Collection();
  Collection(Collection &&) noexcept;
  Collection &operator=(Collection &&) noexcept;
  ~Collection();

  /// How many tests are selected; they are numbered from 0 in the order they are listed.
  size_t size() const { return selected.size(); }
  TestItem item(size_t index) const;
  std::vector<TestItem> items() const;
  /// Appends the id, or `suite::id`, of a selected test; cheaper than `item`.
  void appendId(size_t index, std::string &out) const;
  void appendFullName(size_t index, std::string &out) const;

  size_t found = 0;    ///< Tests there are, selected or not.
  size_t excluded = 0; ///< Of these, configured as EXCLUDE_MODEL; never selected.
  std::vector<UndecidedLoader> undecided; ///< Loaders with no tests yet, and why.
  std::vector<Remark> doubts; ///< Loaders whose tests are known but not all that is said of them.
  std::vector<Remark> errors; ///< What could not be read; everything else went on.
  std::vector<Remark> warnings;
  /// Of the warnings those about values of the configuration that were not taken: no test may be
  /// judged without them.
  std::vector<Remark> notTaken;
  std::string projectFile;  ///< The one used, if any.
  std::string resultsStore; ///< As the project file names it, absolute; else empty.

  // For those who print many: the table itself.
  const Table &table() const { return *tests; }
  uint32_t row(size_t index) const { return selected[index].row; }
  const Annotation &annotation(size_t index) const;

private:
  friend class Collector;
  struct Chosen {
    uint32_t row;
    uint32_t annotation; ///< Whose markers and expectations hold: a preset may have several.
    uint32_t twin = ~uint32_t{0}; ///< The row that is run in its place.
  };
  std::unique_ptr<Table> tests;
  std::vector<Annotation> annotations;
  std::vector<Chosen> selected;
};

/// Finds and selects. An error is a command line that cannot be followed (bad expression, no such
/// path, unknown suite); what is wrong inside the files found is in the collection.
Result<Collection> collect(const CollectOptions &options);

} // namespace cupel::testbench::matrix
