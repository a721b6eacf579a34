// The strict verdict on one output, from the cheapest question to the dearest: is it within what
// every program is allowed; within the noise of this one, by one evaluation or by a few; of more of
// them, where few may have been too quiet by chance; is it what a rounding decides; is what is
// expected itself less exact than the program. Used wherever Cupel judges: runs, `cupel eval`,
// cupel-device, the C API. Whoever has a program gives the noise; nobody but this decides what
// follows from it.

#pragma once

#include "cupel/compare/Repeat.h"

#include <functional>

namespace cupel::compare {

/// What may be asked of the noise of an output.
enum class NoiseLook : uint8_t {
  First,      ///< The first of the few, where these are two: limits only grow with the second.
  Few,        ///< As many moved evaluations as a run asks for.
  More,       ///< These and others.
  OtherOrder, ///< Others, of a program in which updates of a scatter may meet, in another order.
  Wider,      ///< Others, moved by kWiderBy roundings, of a program in which floats decide.
  Framework,  ///< As if a program that has a narrow float type kept every number in it.
};
inline constexpr double kWiderBy = 4;
/// From noise of this share of an output's size on rounding decides it: limits of elements are
/// larger than the elements, and correlation says nothing. A wrong result may well be within them.
inline constexpr double kDecided = 0.25;
/// From noise of this share on a result that is a quarter too large is within its limits as a whole (4x
/// noise): a pass tells little, and who can judges what computed it by itself.
inline constexpr double kTellsLittle = 1.0 / 16;
/// How many evaluations there are beyond the few, and how many are wider ones.
inline constexpr uint32_t kMoreSamples = 6, kWiderSamples = 8;

/// Measured when it is first asked for. Noise without samples: there is nothing more to know.
using NoiseOf = std::function<Noise(NoiseLook)>;

/// Whether more evaluations than a few could still let a result pass that is off by so much of the
/// noise, in its worst element and as a whole.
bool moreCouldTell(double worst, double whole);

struct StrictVerdict : NoiseVerdict {
  bool isMeasured = false; ///< Noise was asked for.
  /// The result is what the reference computes, and wrong by what others said is expected.
  bool isExpectedOff = false;
  /// It did not pass, and evaluations are scattered over orders, so that this says nothing: a result that
  /// another draw would have given. Who cannot judge what computes it by itself calls it wrong.
  bool isScattered = false;
};

Result<StrictVerdict> checkStrictly(const tensor::Tensor &actual, const tensor::Tensor &expected,
                                    const DevicePrecision &precision, const NoiseOf &noise,
                                    const Options &options = {});

/// Whether two executions on the same inputs may differ as they do, asked in the same way.
Result<RepeatVerdict> checkRepeatedStrictly(const tensor::Tensor &now, const tensor::Tensor &before,
                                            const DevicePrecision &precision, const NoiseOf &noise,
                                            const Options &options = {});

} // namespace cupel::compare
