// Changing one file of the configuration as a careful person would: only the bytes that must change
// do, every comment, order, quoting and layout of the rest stays. For verbs that record what was
// found out about a test. Each change is checked against the parsed file before it counts, and
// nothing reaches the disk before `save`.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/config/Configuration.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::testbench::config {

using FieldValues = std::vector<std::pair<std::string, FieldValue>>;

class FileEditor {
public:
  /// Opens a file that must load without errors of syntax. A file that does not exist counts as an
  /// empty one where `create` is set.
  static Result<FileEditor> open(const std::string &path, bool create = false);
  static Result<FileEditor> fromText(std::string name, std::string text);

  const std::string &text() const { return current; }
  bool isChanged() const { return current != original; }
  /// Where this entry stands, or nothing.
  std::optional<uint32_t> lineOf(std::string_view id) const;

  // Each either does all it says or changes nothing and says why. With an arch the field is that of
  // the arch's override, which is made or removed as needed. Setting what holds already and
  // removing what is not there are no changes.
  Status setField(std::string_view id, std::string_view field, const FieldValue &value,
                  std::string_view arch = {});
  /// An entry keeps at least one field; the last one goes with `removeEntry`.
  Status removeField(std::string_view id, std::string_view field, std::string_view arch = {});
  /// Behind the last entry of the same model, else at the end.
  Status addEntry(std::string_view id, const FieldValues &fields);
  Status removeEntry(std::string_view id);

  /// Writes the file, atomically and durably, if it changed. Fails if somebody else changed it
  /// since it was opened.
  Status save();

private:
  FileEditor(std::string name, std::string text);
  struct Splice {
    size_t begin, end;
    std::string with;
  };
  Result<const YamlNode *> findEntry(std::string_view id) const;
  /// Makes the change if afterwards the file parses, says what it should and differs from before
  /// only at `path`.
  Status apply(const Splice &splice, const std::vector<std::string_view> &path,
               std::string_view field);
  Status addOverride(std::string_view id, const YamlNode &entry, std::string_view field,
                     const std::string &rendered, std::string_view arch);
  Status reparse();

  std::string name, original, current;
  std::vector<Diagnostic> ignored;
  std::optional<YamlFile> tree;
  bool existed = true;
};

/// The file of the configuration in which an entry of this id belongs: the one that has it, else
/// the one whose name and folder fit its framework, run mode and parallelism.
std::optional<std::string> fileFor(const Configuration &configuration, std::string_view id);

} // namespace cupel::testbench::config
