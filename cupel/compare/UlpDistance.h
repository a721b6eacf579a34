// How many representable values lie between two elements. Used by the comparison for
// check.expect_close and for histograms of errors.
//
// Floats: 0 if bitwise equal or both NaN; for two finite values the distance of the magnitudes' bit
// patterns if the signs agree, their sum if not (so +0 and -0 are 0 apart); else kInfiniteUlp.
// Complex numbers: the larger of both parts. Integers: the difference. Different types: counted in
// the coarser one, to which the other's values are rounded first.

#pragma once

#include "cupel/compare/Statistics.h"

namespace cupel::compare {

class UlpMeter {
public:
  /// Contiguous tensors of the same shape. Quantized ones are of the same type and are counted in
  /// steps of their storage.
  UlpMeter(const tensor::Tensor &actual, const tensor::Tensor &expected);

  tensor::DType unit() const { return type; }
  /// Of elements first .. first + count, at most kMaxBlock.
  void measure(int64_t first, int64_t count, uint64_t *distances) const;
  static constexpr int64_t kMaxBlock = 1024;

private:
  tensor::Tensor actual, expected;
  tensor::DType type;
  int parts = 1;
};

} // namespace cupel::compare
