// Measurements as people and programs read them: a table for each model, and JSON. Used by `cupel
// bench`. Shows what was measured and no more: a contestant that did not run says why.
#pragma once

#include "cupel/testbench/bench/Measurement.h"

#include <nlohmann/json_fwd.hpp>

namespace cupel::testbench::bench {

std::string asText(const Measurement &measurement);

/// Described in docs/bench.md. Fields are only ever added.
nlohmann::ordered_json asJson(const Measurement &measurement);

/// `12.3 ms`.
std::string formatSeconds(double seconds);

} // namespace cupel::testbench::bench
