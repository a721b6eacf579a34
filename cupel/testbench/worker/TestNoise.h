// How much the results of one test move by rounding: the reference evaluates its program again with
// every rounding moved (reference/Jitter.h), when the first output asks for it, once more for
// outputs that this does not let pass, and again for whoever looks longer (compare/Strict.h). Where
// the reference cannot, the device itself runs with moved inputs; where nobody can, the declared
// precision alone is known. Used where the worker and `cupel eval` judge; it never makes a test
// fail.
#pragma once

#include "cupel/compare/Strict.h"
#include "cupel/testbench/worker/Device.h"
#include "cupel/testbench/worker/Prepared.h"

#include <functional>
#include <map>

namespace cupel::testbench::worker {

/// Jittered evaluations where nobody says how many.
inline constexpr uint32_t kNoiseSamples = 2;

/// What the noise of a test is measured with.
struct NoiseSources {
  /// The results as the reference gives them, with the jitter of the budget.
  std::function<Result<TensorLists>(const Budget &)> reference;
  /// The results of the device under test on these inputs; may be empty.
  std::function<Result<TensorLists>(const TensorLists &inputs, const Budget &)> device;
  /// The values that are expected are the reference's own, so that samples lie around them.
  bool isExpectedFromReference = false;
};

/// The part of the time that is left which may go into noise.
inline constexpr double kShareOfTime = 0.4;

class TestNoise {
public:
  /// `prepared` must outlive this.
  TestNoise(const Prepared &prepared, compare::DevicePrecision precision, uint32_t samples,
            NoiseSources sources)
      : prepared(prepared), declared(precision), wanted(samples), sources(std::move(sources)) {}

  const compare::DevicePrecision &precision() const { return declared; }
  /// Of output `i` of list `list`, which must have this shape. Measured at the first call.
  compare::Noise of(size_t list, size_t i, std::span<const int64_t> shape,
                    compare::NoiseLook look = compare::NoiseLook::Few);
  /// The same for whoever asks step by step; must not outlive this.
  compare::NoiseOf asker(size_t list, size_t i, std::span<const int64_t> shape);
  /// Where the limits come from, if from elsewhere than the reference; empty: from there.
  const std::string &note() const { return remark; }
  /// Whether nothing is known of it because time ran out.
  bool lacksTime() const { return isOutOfTime; }
  /// The same for lack of memory.
  bool lacksMemory() const { return isOutOfMemory && all.empty(); }
  /// Whether time ran out while it was measured, so that less was looked at than was asked for.
  bool isCutShort() const { return isOutOfTime || wasCut; }
  /// Whether moved inputs stand for moved roundings, for lack of time, in a program where floats
  /// decide: what is equal stays equal under these, and a rounding decides which of it comes first.
  bool missesDecisions() const;
  /// Whether it was the reference that was moved, and not the device itself.
  bool isByReference() const { return isReferences; }
  /// As many as were made, by evaluation, then as results lie; for those who save them.
  const std::vector<TensorLists> &samples();
  const std::optional<TensorLists> &center() const { return exact; }
  /// How long the first evaluation as it is and the first moved one took; 0 where none was made here.
  double plainSeconds() const { return plainTook; }
  double movedSeconds() const { return movedTook; }
  /// Which output rounding decides, and how much: `output 0: 3 % noise in f32`; empty where none.
  const std::string &illConditioned() const { return unsteady; }
  /// Of how many outputs the device computes what the reference does, and something else is
  /// expected.
  size_t expectedOff() const { return offCount; }
  void tellExpectedOff() { ++offCount; }
  /// Outputs that did not pass and tell nothing (compare::StrictVerdict::isScattered), by number.
  const std::vector<uint32_t> &scattered() const { return scatteredOutputs; }
  void tellScattered(uint32_t output) { scatteredOutputs.push_back(output); }
  /// Outputs that passed, with small parts that by themselves would not (compare::areSmallPartsOff).
  const std::vector<uint32_t> &doubted() const { return doubtedOutputs; }
  void tellDoubted(uint32_t output) { doubtedOutputs.push_back(output); }
  void tellIllConditioned(std::string what) {
    if (unsteady.empty())
      unsteady = std::move(what);
  }

private:
  /// Until there are so many evaluations, or it is known that there cannot be.
  void measure(uint32_t count);
  /// False, with a remark, where it could not be done.
  bool measureByReference(uint32_t count);
  bool measureByInputs(std::string why);
  /// Evaluations from this one on as one, for the cache, and back; the first with the exact one.
  TensorLists together(size_t from) const;
  bool take(TensorLists lists, size_t count);
  /// What nobody has asked for yet, by the reference; empty where it cannot.
  const std::vector<TensorLists> &evaluations(compare::NoiseLook look);
  std::vector<TensorLists> evaluate(compare::NoiseLook look);
  /// Sums of narrow floats are taken step by step or in a wider type, as devices please: every other
  /// evaluation does what the test's own does not.
  bool sumsWide(uint64_t evaluation) const;

  const Prepared &prepared;
  compare::DevicePrecision declared;
  uint32_t wanted;
  NoiseSources sources;
  bool isBegun = false, isReferences = false, isOutOfTime = false, isOutOfMemory = false;
  bool wasCut = false;
  std::vector<TensorLists> all;
  std::optional<TensorLists> exact;
  std::map<compare::NoiseLook, std::vector<TensorLists>> others;
  std::string remark, unsteady;
  size_t offCount = 0;
  std::vector<uint32_t> scatteredOutputs, doubtedOutputs;
  double plainTook = 0, movedTook = 0;
};

} // namespace cupel::testbench::worker
