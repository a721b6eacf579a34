// Remembers what the reference computed: a second run of the same tests, on another device or the
// next night, evaluates nothing twice. A result goes by the hash of everything that decides it: the
// program, its inputs, how it is evaluated, and which build of the reference did it. Used where the
// worker asks the reference; it never makes anything fail.
#pragma once

#include "cupel/support/ContentCache.h"
#include "cupel/support/SmallCache.h"
#include "cupel/testbench/worker/Prepared.h"

namespace cupel::testbench::worker {

class GoldenCache {
public:
  /// Below cacheFolder("golden"), at most CUPEL_GOLDEN_CACHE bytes (`4G`; 2 GiB by default, 0: off).
  GoldenCache();

  /// Of the results of this test when they are evaluated as `how` says beyond what the test itself
  /// says. Empty where nothing is remembered.
  std::string keyOf(const Prepared &prepared, std::string_view how) const;
  /// Nothing where it is not known, or for an empty key.
  std::optional<TensorLists> find(const std::string &key);
  void keep(const std::string &key, const TensorLists &results);

  /// How often the reference was asked in this process for what was not remembered; whoever evaluates
  /// counts it.
  static void countEvaluations(uint64_t count);
  static uint64_t evaluations();

private:
  uint64_t limit;
  ContentCache cache;
  SmallCache small; ///< Those for which a file each would cost more than evaluating them.
};

/// The results as bytes, and back; nothing where a type has no such form, or the bytes are no
/// results.
std::optional<std::string> packed(const TensorLists &results);
std::optional<TensorLists> unpacked(std::string_view bytes);

} // namespace cupel::testbench::worker
