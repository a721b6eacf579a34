// Judges a result by the noise of the program that made it: a device says how precisely it computes,
// the reference says how much each output moves when every step is off by one rounding of that
// precision (jittered evaluations), and the limits follow. This is Cupel's own verdict wherever no
// tolerance was configured; docs/reference/compare.md has the rule and docs/decisions/0022 why it is
// this one. It must never pass what nothing judged.

#pragma once

#include "cupel/compare/Compare.h"
#include "cupel/compare/Precision.h"

#include <optional>
#include <string>
#include <vector>

namespace cupel::compare {

/// How much one output of a program moves by rounding.
struct Noise {
  DevicePrecision precision = {};
  /// The output of jittered evaluations; empty: only the declared precision is known.
  std::vector<tensor::Tensor> samples = {};
  /// The same without jitter, where that is not what is expected (a framework's values).
  std::optional<tensor::Tensor> center = {};
  /// There is none, and limits are those that every program is allowed (checkWithoutNoise).
  bool isNone = false;
};

/// The factors between noise and limits, as they were measured.
struct NoiseFactors {
  double element = 8;     ///< Of an element's noise.
  double whole = 4;       ///< Of the noise of all elements together.
  double count = 4;       ///< Of the number of integers that change.
  double leastSteps = 16; ///< Steps of f32 (f64) that are always allowed,
  double leastNarrow = 2; ///< and steps of narrower outputs,
  double leastGiven = 0.75; ///< and of what a device computes in, if that is less than f32.
};

struct NoiseVerdict {
  bool passed = false;
  std::string sentence; ///< One line, as those of Verdict.h.
  std::string picture;  ///< What a wrong result looks like; may be empty.
  /// Set where noise is a noticeable share of the result: `ill-conditioned: 3 % noise in f32`.
  std::string note;
  /// Root mean squares: noise and error, as a share of the expected values.
  double noise = 0, error = 0;
  /// In units of noise: how far the worst element is off (8 is the limit), and the whole (4).
  double worst = 0, whole = 0;
  int64_t beyond = 0; ///< Elements beyond their limits,
  std::vector<int64_t> low, high; ///< and of floats the smallest box around them, by dimension.
  int64_t count = 0;
  Statistics statistics; ///< Of result and expected values.
};

/// Floats: every element, the whole (relative L2) and the correlation must be within their limits.
/// Integers and booleans must be equal, but for as many as rounding decides. `noise.samples` have
/// the shape of `expected`. An error means that the comparison could not be made.
Result<NoiseVerdict> checkByNoise(const tensor::Tensor &actual, const tensor::Tensor &expected,
                                  const Noise &noise, const NoiseFactors &factors = {},
                                  const Options &options = {});

/// Whether a result is within the limits that a program without any noise has: then it is within
/// those of every program, and nobody need measure the noise of this one.
Result<NoiseVerdict> checkWithoutNoise(const tensor::Tensor &actual, const tensor::Tensor &expected,
                                       const DevicePrecision &precision,
                                       const Options &options = {});

/// Says of a result that is wrong what it looks like, for those who asked without a picture: it is
/// dear, and only what is wrong at last needs one.
void addPicture(NoiseVerdict &verdict, const tensor::Tensor &actual, const tensor::Tensor &expected,
                const Options &options);

/// What is always allowed of a result of this type: as a share of an element's size, and absolute.
double leastShare(tensor::DType type, const DevicePrecision &precision,
                  const NoiseFactors &factors = {});
double smallestNormal(tensor::DType type);

/// Why a comparison with these values says nothing, whatever the result: no element is finite, or
/// all are the same. Nothing where it does say something. Whoever knows that a program gives a
/// constant whatever its inputs are need not ask; one element alone is judged as it is.
std::optional<std::string> vacuous(const tensor::Tensor &expected);

} // namespace cupel::compare
