// The value of the pipeline: a program with its inputs, what is expected of its results, the devices
// it runs on and where it came from. Frontends yield it, devices run it, judges judge it, and a
// folder of it (Folder.h) is the reproduction of a failure, which travels to a machine that has
// nothing but a plugin. It is a value: it knows nothing of MLIR, and calls nobody back.
#pragma once

#include "cupel/compare/Noise.h"
#include "cupel/compare/Tolerance.h"
#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"
#include "cupel/workload/CompileOptions.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::workload {

using ProgramVersion = std::array<int64_t, 3>;

/// "1.13.7".
std::string toString(const ProgramVersion &version);

/// The version a portable artifact says it was written for; nothing for text and other bytecode.
std::optional<ProgramVersion> artifactVersion(std::string_view bytes);

struct ProgramBytes {
  std::optional<ProgramVersion> version; ///< Nothing: not a portable artifact.
  std::string bytes;
};

/// What is expected of results: result `actual` compared with another result or a constant in the
/// way the check operations of programs compare.
struct Check {
  enum class Kind { Equal, AlmostEqual, Close };
  Kind kind = Kind::Equal;
  uint32_t actual = 0, expected = 0;
  bool isConstant = false; ///< `expected` counts the workload's constants, not the results.
  double tolerance = 0;    ///< AlmostEqual: absolute.
  uint64_t minUlps = 0, maxUlps = 0;   ///< Close.
  std::string location = {};           ///< Where in the program, for messages.
  std::optional<uint32_t> device = {}; ///< Whose results it speaks of; nothing: each device's.
  bool operator==(const Check &) const = default;
};

/// Where a workload came from. Nothing of it decides how it is run or judged but the two fields
/// that say so.
struct Provenance {
  std::string test;                          ///< `suite::id`
  std::string file;                          ///< What it was made from,
  uint32_t part = 0;                         ///< and which part of that.
  std::string frontend;                      ///< stablehlo, onnx, torch
  std::string variant, parallelism, runMode; ///< Of a model.
  std::string expectation;                   ///< Whose word the expected values are.
  std::optional<uint64_t> seed = {}; ///< Of inputs that are made up. The reference draws with it.
  bool wideSums = false;             ///< The reference sums narrow floats in wider ones.
  std::vector<std::string> resultNames = {}; ///< By position; empty: they have none.
  std::string device;                ///< On which it failed,
  std::string outcome, stage, message;         ///< and how.
  std::map<std::string, std::string> versions; ///< Of what made it: cupel, stablehlo, torch, ...
  bool operator==(const Provenance &) const = default;
};

struct Workload {
  std::string name = {};
  /// The program, for several versions of StableHLO where that is wanted. Who holds the program as
  /// a module as well may leave it to be written when somebody asks for it.
  std::vector<ProgramBytes> programs = {};
  CompileOptions options = {};
  bool hasDeviceIds = false; ///< Otherwise the first devices of the client are taken.
  /// By device, then by position; one list where all devices take the same.
  std::vector<std::vector<tensor::Tensor>> inputs = {};
  std::vector<std::vector<tensor::Tensor>> expected = {}; ///< Empty: not known.
  bool expectsFirst = false; ///< Results behind those that are expected may be anything.
  /// How far results may be from what is expected, by position, beginning again where there are
  /// more results; empty: noise decides.
  std::vector<compare::Tolerance> tolerances = {};
  /// What the device is said to compute in, and expected results of jittered evaluations, for those
  /// who cannot evaluate the program themselves (compare/Noise.h). None: limits follow from the
  /// precision alone.
  compare::DevicePrecision precision = {};
  std::vector<std::vector<std::vector<tensor::Tensor>>> noise = {};
  /// The results without jitter, where those are not what is expected.
  std::vector<std::vector<tensor::Tensor>> noiseCenter = {};
  bool isAsserted = true; ///< Otherwise differences are told and nothing is asserted of them.
  std::vector<Check> checks = {};
  std::vector<tensor::Tensor> constants = {}; ///< That checks compare with.
  Provenance provenance = {};

  /// The bounds of a result. Nothing: noise decides.
  std::optional<compare::Tolerance> toleranceFor(size_t result) const;
  /// What is known of the noise of a result.
  compare::Noise noiseFor(size_t device, size_t result) const;

  /// The newest artifact that a plugin of this version understands (nothing: it does not say, and
  /// the oldest one is taken); an error names what there is.
  Result<const ProgramBytes *>
  programFor(const std::optional<std::vector<int64_t>> &pluginVersion) const;

  /// Whether anything is expected of its results.
  bool isJudged() const { return !expected.empty() || !checks.empty(); }
  /// Bytes of the programs and tensors: about what its folder takes.
  uint64_t byteSize() const;
};

} // namespace cupel::workload
