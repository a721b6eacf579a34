// Triage of one training test by a table of steps: resolve it, gate on its recorded reason, run its
// loader on the CPU, decide, try the smallest fix of the loader, work out which other tests share
// the failure, verify all of them through the runner, and say what loader and configuration should
// be. Nothing of the user's is touched before `writeFiles`: fixes are tried in a copy of the zoo
// made of links. Inference entries are never edited and nothing is ever committed.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/testbench/TestItem.h"
#include "cupel/testbench/config/Configuration.h"
#include "cupel/testbench/procedures/CpuRun.h"
#include "cupel/testbench/procedures/LoaderEdit.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace cupel::testbench::procedures {

/// A file of the zoo as a fix leaves it.
struct FileFix {
  std::string path; ///< Below the zoo's root.
  LoaderFix fix;
};

/// What a fix is made from.
struct FixRequest {
  std::string flavour;
  std::string loaderPath, loader;     ///< Below the zoo's root, and its text.
  std::string registryPath, registry; ///< Of handlers of outputs; empty: the zoo has none.
  const CpuRun *cpu = nullptr;
  std::vector<std::string> review; ///< What a person should look at.
};

/// What the CPU says of going on.
struct Decision {
  enum class Kind { GoOn, OnlyYaml, Stop } kind = Kind::GoOn;
  std::string why = {};
};

/// One procedure: a row of the table, which is functions on values.
struct Procedure {
  std::string_view name, summary;
  /// What the recorded reason must be like, for the message where it is not.
  std::string_view handles;
  /// The flavour that a recorded reason is of; nothing: not this procedure's business. Null: the
  /// reason is not asked, there is one flavour.
  std::optional<std::string> (*gate)(std::string_view reason);
  /// Whether a phase failed as this procedure is about; whether a message of the runner says so.
  bool (*isFailure)(const CpuPhase &phase);
  bool (*saysSo)(std::string_view message);
  /// Whether a phase came to its end as far as this procedure is concerned.
  bool (*isFine)(const CpuPhase &phase);
  Decision (*decide)(const CpuRun &cpu);
  /// Whether a fix is ever tried.
  bool (*mayFix)(std::string_view flavour);
  /// The files of the zoo with the smallest fix; the error says why there is none.
  Result<std::vector<FileFix>> (*fix)(FixRequest &request);
  bool needsFloat32 = false;    ///< A test is this procedure's only if float32 works.
  bool checksInference = false; ///< Inference must go on passing, or the fix is taken back.
};

std::span<const Procedure *const> allProcedures();
extern const Procedure kBfloat16, kMissingInputs, kUnpackOutput;

struct CpuTest {
  std::string loaderPath, variant; ///< The loader below the zoo's root.
  uint32_t batchSize = 0;          ///< 0: as the runner has it.
};

struct Seams {
  std::function<Result<std::vector<CpuRun>>(const std::string &zoo,
                                            const std::vector<CpuTest> &tests)>
      cpu;
  /// Runs tests whatever the configuration says of them, and reports known failures as failures.
  std::function<Result<std::vector<results::TestRecord>>(const std::string &zoo,
                                                         const std::vector<std::string> &ids)>
      verify;
  std::function<void(const std::string &line)> say;
};

struct Inputs {
  const config::Configuration *configuration = nullptr;
  std::vector<TestItem> items; ///< All tests of PyTorch loaders on single devices.
  std::string zoo;             ///< Its root.
};

/// What became of one entry.
struct EntryOutcome {
  std::string id;
  std::string cpuBefore, cpuAfter, verified; ///< A line each; empty: it did not come to that.
  std::string state; ///< What the entry is now: `EXPECTED_PASSING`, `unchanged`, ...
};

struct ProcedureReport {
  std::string test, key, loader, flavour, reason, status, bringup;
  std::string stopped; ///< Why nothing was done; empty: it came to its end.
  std::vector<std::string> cpuBefore, cpuAfter;
  std::string fix;   ///< `bert/pytorch/loader.py:12: mask = ...`; empty: none is left.
  std::string noFix; ///< Why there is none.
  char branch = 0;   ///< A, B or C.
  std::vector<EntryOutcome> entries;
  std::vector<std::string> staleInference, review;
  std::vector<FileFix> files;              ///< Below the zoo's root, to be written.
  std::map<std::string, std::string> yaml; ///< Configuration files as they should be.
};

/// An error is something that went wrong; a test that is not for this procedure is a report.
Result<ProcedureReport> runProcedure(const Procedure &procedure, const Inputs &inputs,
                                     const std::string &test, const Seams &seams);

/// The patch of all files. Paths of the configuration are shown as seen from `folder`.
Result<std::string> patchOf(const ProcedureReport &report, const std::string &zoo,
                            const std::string &folder);
/// Writes the files; leaves them uncommitted.
Status writeFiles(const ProcedureReport &report, const std::string &zoo);

std::string textOf(const ProcedureReport &report);
std::string jsonOf(const ProcedureReport &report, const std::string &patch);

/// Which stage a new failure is of: by what its message names, else by how far it came.
config::BringupStatus stageOf(const results::TestRecord &record);

} // namespace cupel::testbench::procedures
