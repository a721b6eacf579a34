// Compares two tensors of any element types: one streaming pass over both, on several threads, with
// results that do not depend on their number. Everybody who compares goes through `compare` (or
// `check` in Verdict.h). It decides nothing but which elements miss the tolerance.

#pragma once

#include "cupel/compare/Statistics.h"
#include "cupel/compare/Tolerance.h"

namespace cupel::compare {

struct Options {
  /// Measure ULP distances even if the tolerance has no bound for them (costs time).
  bool ulp = false;
  int worst = 5;            // how many of the worst elements to list
  int firstMismatches = 16; // how many positions of mismatches to list
  int threads = 0;          // 0: as many as the machine has
  bool picture = true;      // whoever judges by noise also says what a wrong result looks like
};

/// For whoever judges beside others: all cores for results so large that they are waited for, else
/// one. Results do not depend on it.
int threadsFor(int64_t elements);

/// Tensors of different shapes are compared to the fact that they are. An error means that the
/// comparison could not be made (a tolerance without sense, no memory for a contiguous copy).
Result<Statistics> compare(const tensor::Tensor &actual, const tensor::Tensor &expected,
                           const Tolerance &tolerance, const Options &options = {});

} // namespace cupel::compare
