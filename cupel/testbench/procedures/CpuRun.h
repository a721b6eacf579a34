// What became of a loader on the CPU, in one phase (a dtype) after the other: as
// python/cupel/worker/ phases.py tells it. The evidence on which procedures decide.
#pragma once

#include "cupel/support/Error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::procedures {

/// An input, or a part of an output: a tensor, or something of a class.
struct NamedValue {
  std::string
      name; ///< Of a mapping's key, a sequence's position, a field; empty: it is all there is.
  std::string dtype; ///< `float32`; empty: no tensor.
  std::string className;
  std::string shape; ///< `2x8`
  bool isFloating = false;
};

struct CpuPhase {
  std::string dtype;
  bool ok = false;
  std::string
      step; ///< The one it ended in: import, load_model, load_inputs, forward, unpack, backward.
  std::string errorClass, error, traceback;

  std::string inputsKind; ///< single, mapping, sequence; empty: it did not come so far.
  std::vector<NamedValue> inputs;
  std::vector<std::string> strays;    ///< Parameters and buffers of another floating type.
  std::vector<std::string> signature; ///< Parameters of the model's forward.
  std::optional<int64_t> decoderStartToken;

  std::string outputClass; ///< Empty: forward did not end.
  std::string outputStructure;
  bool outputIsBare = false; ///< A plain list, tuple or dict.
  std::vector<NamedValue> outputs;
  bool unpackedIsTensor = false;
  std::string unpackedClass;

  /// `RuntimeError: mat1 and mat2 ...`: its first line, as entries have it.
  std::string errorLine() const;
};

struct CpuRun {
  std::string variant;
  std::vector<CpuPhase> phases;
  const CpuPhase &bfloat16() const { return phases.front(); }
  const CpuPhase &float32() const { return phases.back(); }
};

/// From the script's answer.
Result<std::vector<CpuRun>> parseCpuRuns(std::string_view json);

} // namespace cupel::testbench::procedures
