// What a model's batch size does to it: a point for each size that was measured, when to stop, and
// which size wins and why. Filled by `cupel tune`, shown in the terminal, as SVG and as JSON, from
// which it goes on where it was interrupted. Values and words only: nothing here measures.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/bench/Measurement.h"

#include <nlohmann/json_fwd.hpp>

namespace cupel::testbench::bench {

struct TunePoint {
  int64_t batch = 0;
  double seconds = 0; ///< Of one run, the median after warm-up.
  std::vector<double> first; ///< The runs before, in order.
  std::optional<double> peakBytes;
  std::string sram;    ///< What our own device says of its SRAM; empty where it has none.
  std::string failure; ///< Why there is no time.

  bool ran() const { return failure.empty() && seconds > 0; }
  double samplesPerSecond() const { return ran() ? double(batch) / seconds : 0; }
  /// Whether it failed because memory ended.
  bool isOutOfMemory() const;
  /// How many buffers found no room in SRAM; nothing where there is no SRAM.
  std::optional<int64_t> spilled() const;
};

/// The point of a batch size that was measured.
TunePoint pointOf(int64_t batch, const Measurement &measurement);

struct Tuning {
  std::string key; ///< Of all that the points depend on: others are not gone on with.
  std::string model, device;
  uint32_t threads = 0;
  std::vector<TunePoint> points; ///< In the order in which they were measured.

  const TunePoint *find(int64_t batch) const;
  /// Why no larger size is worth a try; empty where one is.
  std::string reasonToStop() const;
  /// The smallest size whose throughput is within 2 % of the best; null where none ran.
  const TunePoint *winner() const;
  /// What it gives, and what others would cost: in one or two sentences.
  std::string why() const;
};

std::string asText(const Tuning &tuning);
std::string asSvg(const Tuning &tuning);
nlohmann::ordered_json asJson(const Tuning &tuning);
Result<Tuning> tuningFromJson(const std::string &text);

} // namespace cupel::testbench::bench
