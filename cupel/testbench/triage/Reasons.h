// The table of named failure reasons: data (zoo/reasons.yaml and files of the user), read with
// positions in every error, and matched against what a failed test left behind. Matching takes time
// linear in the text (RE2) and never fails, whatever the text.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::triage {

/// What a test left behind, as the table sees it.
struct Evidence {
  results::Outcome outcome = results::Outcome::Failed;
  results::Stage stage = results::Stage::None;
  std::optional<int> signal;
  std::string_view errorClass, message, output;
  /// Comparisons that did not hold: `pcc`, `pcc-nan`, `pcc-not-asserted`, `atol`, `allclose`, `noise`.
  std::vector<std::string> checks;
  std::string_view testStatus; ///< NOT_SUPPORTED_SKIP, ...
};

class ReasonTable {
public:
  /// Reads files in order; an entry of a later one replaces an earlier one of the same name. Error
  /// codes that none of them speaks of get a reason from the list of codes.
  static Result<ReasonTable> load(std::span<const std::string> files);
  /// The same from text; `name` stands in error messages.
  static Result<ReasonTable> parse(std::string_view yaml, const std::string &name);

  ReasonTable(); ///< Without reasons: everything is UNCLASSIFIED.
  ReasonTable(ReasonTable &&) noexcept;
  ReasonTable &operator=(ReasonTable &&) noexcept;
  ~ReasonTable();

  /// Adds the reasons of another file to this table.
  Status add(std::string_view yaml, const std::string &name);

  /// All that match, in the table's order, each with its summary. Where none does, the first
  /// general one that does.
  std::vector<results::ReasonRecord> match(const Evidence &evidence) const;
  /// The component that the texts point to, by the table; empty where none.
  std::string component(const Evidence &evidence) const;

  size_t size() const;
  std::vector<std::string> names() const;
  /// Description of a reason; empty where the table has none of that name.
  std::string description(std::string_view name) const;

private:
  /// A reason of its own for every error code that the files say nothing of: no code is
  /// UNCLASSIFIED.
  void addErrorCodes();

  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// `zoo/reasons.yaml` of this installation; empty where it cannot be found.
std::string defaultReasonsFile();

} // namespace cupel::testbench::triage
