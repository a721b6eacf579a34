// Judges what a comparison found against a tolerance, in one sentence that says what is wrong, how
// much of it, where it is worst, and what it looks like. `check` is the way from two tensors to a
// verdict for every caller.

#pragma once

#include "cupel/compare/Compare.h"

namespace cupel::compare {

struct Verdict {
  bool passed = false;
  /// One line, without a full stop: "pcc 0.913 < 0.99; 12 % of elements differ by more than 0.02;
  /// worst at [0,3,17]: 0.71 vs 0.02; looks like: rows 32..63 are zero". Values are actual vs
  /// expected. A pass is summed up in the same way.
  std::string sentence;
  std::string picture; // what it looks like; empty on a pass, or if nothing is recognised
  Statistics statistics;
};

/// From statistics that `compare` made with the same tolerance.
Verdict judge(Statistics statistics, const Tolerance &tolerance);

/// Compares, judges, and says what a wrong result looks like.
Result<Verdict> check(const tensor::Tensor &actual, const tensor::Tensor &expected,
                      const Tolerance &tolerance, const Options &options = {});

} // namespace cupel::compare
