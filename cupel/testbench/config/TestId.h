// A test id of the configuration, taken apart by the rules that ids are made by. The checks use it
// to tell where an entry belongs; it knows nothing of which tests exist.
#pragma once

#include <optional>
#include <string_view>

namespace cupel::testbench::config {

struct TestId {
  std::string_view modelPath;   ///< `llama/causal_lm/pytorch`.
  std::string_view framework;   ///< `pytorch`, `jax`: the last folder of the path.
  std::string_view phase;       ///< `llm_decode` or `llm_prefill`; else empty.
  std::string_view parallelism; ///< `single_device`, `data_parallel`, `tensor_parallel`.
  std::string_view runMode;     ///< `inference`, `training`.
};

/// Nothing for a text that no test can be called.
std::optional<TestId> parseTestId(std::string_view id);

} // namespace cupel::testbench::config
