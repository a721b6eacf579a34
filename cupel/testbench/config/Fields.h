// The fields of an entry, in one table: name, kind, range and where the value is kept. The loader
// reads by it, the checks compare by it, the editor knows from it what may be written. A field that
// is not in the table does not exist.
#pragma once

#include "cupel/testbench/config/Diagnostic.h"
#include "cupel/testbench/config/Expectation.h"
#include "cupel/testbench/config/Yaml.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::testbench::config {

/// What one mapping of fields says, an entry's own or one of its overrides: nothing where it is
/// silent. The views live as long as the configuration.
struct Fields {
  std::optional<TestStatus> status;
  std::optional<BringupStatus> bringupStatus;
  std::optional<std::string_view> reason, executionPass;
  std::optional<std::vector<std::string_view>> markers, supportedArchs, filechecks;
  std::optional<double> requiredPcc, requiredAtol, allcloseRtol, allcloseAtol;
  std::optional<bool> assertPcc, assertAtol, assertAllclose;
  std::optional<int64_t> batchSize, optimizationLevel;
  std::optional<bool> enableWeightBfp8Conversion, injectCustomMoe, emitpyAssertExact;

  /// Replaces what `other` says; lists are replaced, not merged.
  void overrideWith(const Fields &other);
  bool operator==(const Fields &) const = default;
};

using FieldMember =
    std::variant<std::optional<TestStatus> Fields::*, std::optional<BringupStatus> Fields::*,
                 std::optional<std::string_view> Fields::*,
                 std::optional<std::vector<std::string_view>> Fields::*,
                 std::optional<double> Fields::*, std::optional<bool> Fields::*,
                 std::optional<int64_t> Fields::*>;

struct FieldInfo {
  std::string_view name; ///< As the files write it.
  FieldMember member;
  double least, most;                      ///< Of numbers.
  std::span<const std::string_view> words; ///< Of texts that are one of a few; else empty.
  /// What holds where nothing is said, as the files would write it; empty where there is no value
  /// that means the same as silence.
  std::string_view defaultText;

  bool isSet(const Fields &fields) const;
  bool isEqual(const Fields &a, const Fields &b) const;
  bool isDefault(const Fields &fields) const;
  void assign(Fields &to, const Fields &from) const;
};

/// All fields but `arch_overrides`, which holds others.
std::span<const FieldInfo> fieldTable();
const FieldInfo *findField(std::string_view name);
inline constexpr std::string_view kOverridesField = "arch_overrides";

/// What a field is set to: a text (also a status), a number, a boolean or a list of words.
using FieldValue = std::variant<std::string, double, int64_t, bool, std::vector<std::string>>;

/// Reads `value` into the field; what is wrong with it is appended and the field left unset.
void readField(const FieldInfo &field, const YamlNode &value, const std::string &file,
               Fields &fields, std::vector<Diagnostic> &diagnostics);

} // namespace cupel::testbench::config
