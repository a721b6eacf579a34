// For tests only: the narrow float formats a second time, slowly and from their definitions. Values
// come from ldexp, rounding from a search among all values of the format. Shares nothing with
// Float.h.

#pragma once

#include "cupel/tensor/DType.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cupel::tensor::slow {

struct Format {
  DType type;
  int exponentBits, mantissaBits, bias;
  bool hasInfinity;
  bool negativeZeroIsNan;
  bool numbersOnly = false; // overflow gives the largest, NaN the zero of the other sign
  bool powersOnly = false;  // no sign, no zero, no fraction; ties go up
};

inline const Format kFormats[] = {
    {DType::F8E4M3, 4, 3, 7, true, false},     {DType::F8E4M3FN, 4, 3, 7, false, false},
    {DType::F8E4M3FNUZ, 4, 3, 8, false, true}, {DType::F8E4M3B11FNUZ, 4, 3, 11, false, true},
    {DType::F8E5M2, 5, 2, 15, true, false},    {DType::F8E5M2FNUZ, 5, 2, 16, false, true},
    {DType::F16, 5, 10, 15, true, false},      {DType::BF16, 8, 7, 127, true, false},
    {DType::F8E3M4, 3, 4, 3, true, false},     {DType::F4E2M1FN, 2, 1, 1, false, false, true},
    {DType::F6E2M3FN, 2, 3, 1, false, false, true},
    {DType::F6E3M2FN, 3, 2, 3, false, false, true},
    {DType::F8E8M0FNU, 8, 0, 127, false, false, false, true},
};

inline const Format *find(DType type) {
  for (const Format &f : kFormats)
    if (f.type == type)
      return &f;
  return nullptr;
}

/// All non-negative finite values, in the order of their patterns 0, 1, 2, ..., and after them the
/// value that the next pattern would have: what reaches its side of the middle overflows.
inline std::vector<long double> magnitudes(const Format &f) {
  int patterns = 1 << (f.exponentBits + f.mantissaBits);
  int finite = f.hasInfinity                          ? patterns - (1 << f.mantissaBits)
               : f.negativeZeroIsNan || f.numbersOnly ? patterns
                                                      : patterns - 1;
  std::vector<long double> values;
  for (int p = 0; p <= finite; ++p) {
    int exponent = p >> f.mantissaBits, mantissa = p & ((1 << f.mantissaBits) - 1);
    if (f.powersOnly)
      values.push_back(std::ldexp(1.0L, p - f.bias));
    else if (exponent == 0)
      values.push_back(std::ldexp(static_cast<long double>(mantissa), 1 - f.bias - f.mantissaBits));
    else
      values.push_back(std::ldexp(static_cast<long double>(mantissa + (1 << f.mantissaBits)),
                                  exponent - f.bias - f.mantissaBits));
  }
  return values;
}

class Reference {
public:
  explicit Reference(const Format &format) : f(format), values(magnitudes(format)) {}

  int finiteCount() const { return static_cast<int>(values.size()) - 1; }
  int signBit() const { return 1 << (f.exponentBits + f.mantissaBits); }
  int patternCount() const { return f.powersOnly ? signBit() : 2 * signBit(); }
  const std::vector<long double> &ladder() const { return values; }

  bool isNan(unsigned pattern) const {
    unsigned magnitude = pattern & (signBit() - 1);
    if (f.negativeZeroIsNan)
      return pattern == static_cast<unsigned>(signBit());
    return magnitude > static_cast<unsigned>(finiteCount()) ||
           (!f.hasInfinity && magnitude == static_cast<unsigned>(finiteCount()));
  }
  long double decode(unsigned pattern) const {
    if (isNan(pattern)) {
      bool negative = !f.negativeZeroIsNan && static_cast<int>(pattern) & signBit();
      return std::copysign(std::nanl(""), negative ? -1.0L : 1.0L);
    }
    int magnitude = static_cast<int>(pattern) & (signBit() - 1);
    long double value = magnitude == finiteCount() ? HUGE_VALL : values[magnitude];
    return static_cast<int>(pattern) & signBit() ? -value : value;
  }
  /// The nearest pattern; -1 stands for "some NaN".
  int encode(long double value) const {
    bool negative = std::signbit(value);
    if (std::isnan(value))
      return !f.numbersOnly ? -1 : negative ? 0 : signBit();
    if (f.powersOnly && value <= 0)
      return -1;
    long double magnitude = std::fabs(value);
    int best;
    if (magnitude >= values.back()) {
      best = finiteCount();
    } else if (f.powersOnly && magnitude < values[1]) {
      best = magnitude > values[0]; // As ml_dtypes has it: the first two have no middle.
    } else {
      int above = static_cast<int>(std::upper_bound(values.begin(), values.end(), magnitude) -
                                   values.begin());
      long double toLower = magnitude - values[above - 1], toUpper = values[above] - magnitude;
      bool tieGoesDown = above % 2 == 1 && !f.powersOnly;
      best = toLower < toUpper || (toLower == toUpper && tieGoesDown) ? above - 1 : above;
    }
    if (best == finiteCount() && f.numbersOnly)
      best = finiteCount() - 1;
    if (best == finiteCount() && !f.hasInfinity)
      return -1;
    if (best == 0 && f.negativeZeroIsNan)
      return 0;
    return best | (negative ? signBit() : 0);
  }

private:
  Format f;
  std::vector<long double> values;
};

} // namespace cupel::tensor::slow
