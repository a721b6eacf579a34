// A saved workload: a folder with a program, its inputs, options and what is expected of it. It is
// the reproduction of a failure and what travels to a machine that has nothing but a plugin. Read
// and written here by everybody who holds one; knows nothing of MLIR.
//
//   program.mlirbc              the program, a portable artifact (or MLIR text or bytecode)
//   program-v1.0.0.mlirbc ...   the same for older versions of StableHLO, as many as wanted
//   inputs.safetensors          arguments by position: 0, 1, ...; d2/0 is argument 0 on device 2
//   expected.safetensors        results in the same way; not always there
//   constants.safetensors       what checks compare results with; not always there
//   options.json                everything else; may be missing
//
// Element types that safetensors lacks are kept as bytes, with the type's name in the metadata.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Safetensors.h"
#include "cupel/workload/CompileOptions.h"

#include <array>
#include <map>
#include <optional>

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
struct WorkloadCheck {
  enum class Kind { Equal, AlmostEqual, Close };
  Kind kind = Kind::Equal;
  uint32_t actual = 0, expected = 0;
  bool isConstant = false; ///< `expected` counts the workload's constants, not the results.
  double tolerance = 0;    ///< AlmostEqual: absolute.
  uint64_t minUlps = 0, maxUlps = 0;   ///< Close.
  std::string location = {};           ///< Where in the program, for messages.
  std::optional<uint32_t> device = {}; ///< Whose results it speaks of; nothing: each device's.
  bool operator==(const WorkloadCheck &) const = default;
};

/// Bounds for results that are compared with expected.safetensors; see docs on comparing.
struct WorkloadTolerance {
  std::optional<double> pcc = {}, atol = {}, rtol = {};
  bool operator==(const WorkloadTolerance &) const = default;
};

struct Workload {
  std::string name;
  std::vector<ProgramBytes> programs; ///< At least one.
  CompileOptions options;
  bool hasDeviceIds = false; ///< Otherwise the first devices of the client are taken.
  /// By device, then by position; one list where all devices take the same.
  std::vector<std::vector<tensor::Tensor>> inputs;
  std::vector<std::vector<tensor::Tensor>> expected; ///< Empty: not known.
  std::vector<WorkloadCheck> checks;
  std::vector<tensor::Tensor> constants; ///< That checks compare with.
  WorkloadTolerance tolerance;

  /// The newest artifact that a plugin of this version understands (nothing: it does not say, and
  /// the oldest one is taken); an error names what there is.
  Result<const ProgramBytes *>
  programFor(const std::optional<std::vector<int64_t>> &pluginVersion) const;
};

Result<Workload> readWorkload(const std::string &folder);
/// Creates the folder. Files of the same names are replaced.
Status writeWorkload(const std::string &folder, const Workload &workload);

/// Tensors by device and position, with every element type.
Status writeTensors(const std::string &path,
                    const std::vector<std::vector<tensor::Tensor>> &tensors);
Result<std::vector<std::vector<tensor::Tensor>>> readTensors(const std::string &path);

} // namespace cupel::workload
