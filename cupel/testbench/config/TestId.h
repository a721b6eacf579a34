// A test id of the configuration, taken apart by the rules that ids are made by. The checks use it
// to tell where an entry belongs; it knows nothing of which tests exist.
#pragma once

#include <optional>
#include <string_view>

namespace cupel::testbench::config {

/// Frameworks as folders of loaders are called after them.
inline constexpr std::string_view kFrameworks[] = {"pytorch", "jax", "onnx", "paddlepaddle",
                                                   "bounty_jax"};

struct TestId {
  std::string_view modelPath;   ///< `llama/causal_lm/pytorch`.
  std::string_view framework;   ///< `pytorch`, `jax`: the last folder of the path.
  std::string_view phase;       ///< `llm_decode` or `llm_prefill`; else empty.
  std::string_view parallelism; ///< `single_device`, `data_parallel`, `tensor_parallel`.
  std::string_view runMode;     ///< `inference`, `training`.
};

/// Nothing for a text that no test of a loader can be called.
std::optional<TestId> parseTestId(std::string_view id);

/// Whether a text can be the id of a test that is a file or folder (a program, a model, an archive,
/// an operator case, a workload): its path, perhaps with `#PART`. Such paths may be anything, so
/// that only what seems to be meant as a loader's id is not one.
bool mayBeFileTestId(std::string_view id);

} // namespace cupel::testbench::config
