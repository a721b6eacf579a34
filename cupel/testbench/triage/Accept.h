// From results to a patch of the configuration: what passes now is expected to, what fails now is a
// known failure with its reason, thresholds follow what was measured. Only what several runs agree
// on counts, and a threshold is never lowered unless that was asked for and is written down. Values
// in, values out; nothing reaches the disk before `save`.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"
#include "cupel/testbench/config/Configuration.h"
#include "cupel/testbench/config/Edit.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::triage {

struct AcceptOptions {
  uint32_t runs = 3; ///< That must agree.
  bool passes = true, failures = true, thresholds = true;
  bool allowLowerPcc = false; ///< A PCC that is too low lowers the threshold, and is no failure.
  std::string why;            ///< Goes into the ledger; wanted with allowLowerPcc.
};

/// The last outcomes of a test on one architecture, newest first: of the last runs that it was
/// selected in, whether or not it ran there.
struct LastOutcomes {
  std::vector<results::TestRecord> records;
  std::vector<std::string> runs; ///< One for each record.
};
/// By id, then by architecture (empty: the run had none).
using AllEvidence = std::map<std::string, std::map<std::string, LastOutcomes>>;

struct FieldChange {
  std::string arch; ///< Empty: of the entry itself.
  std::string field;
  std::optional<config::FieldValue> value; ///< Nothing: the field goes.
};

/// What should become of one entry.
struct Proposal {
  std::string id, file;
  bool isNewEntry = false;
  std::vector<FieldChange> changes;
  /// `passes in 3 runs: no longer a known failure`, for each architecture that says something new.
  std::vector<std::string> because;
};

/// A test whose results would change its entry, and why they do not.
struct HeldBack {
  std::string id, arch, why;
};

struct LoweredThreshold {
  std::string id, arch;
  double from = 0, to = 0;
  std::vector<std::string> runs;
};

struct Acceptance {
  std::vector<Proposal> proposals;
  std::vector<HeldBack> heldBack;
  std::vector<LoweredThreshold> lowered;
};

Acceptance propose(const config::Configuration &configuration, const AllEvidence &evidence,
                   const AcceptOptions &options);

/// The edited files and the ledger, in memory.
class ConfigurationPatch {
public:
  /// Makes all edits. `ledger` is a file of one JSON object a line, to which lowered thresholds are
  /// added with `when` (a date) and `why`.
  static Result<ConfigurationPatch> make(const Acceptance &acceptance, const std::string &ledger,
                                         const std::string &when, const std::string &why);

  /// A unified diff of all files; paths are shown as seen from `folder` where they lie below it.
  std::string text(const std::string &folder) const;
  Status save();

private:
  struct File {
    std::string path, before;
    config::FileEditor editor;
  };
  std::vector<File> files;
  std::string ledgerPath, ledgerBefore, ledgerAfter;
  bool ledgerExisted = false;
};

/// The reason as an entry has it: one line, verbatim, cut at about 120 characters.
std::string reasonText(const results::TestRecord &record);

} // namespace cupel::testbench::triage
