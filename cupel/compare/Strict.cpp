#include "cupel/compare/Strict.h"

#include "cupel/compare/Alternatives.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

using namespace cupel;
using namespace cupel::compare;
using tensor::Tensor;

namespace {

/// Two evaluations are too quiet by chance now and then, hardly ever by more than this.
constexpr double kNear = 4;
/// Of integers that differ, one in this many may be another than any evaluation gave.
constexpr int64_t kUnseen = 16;
/// One in this many where evaluations, too, have as many that no other one has: numbers that follow
/// from many decisions, as those behind quantized layers do.
constexpr int64_t kUnseenAmongMany = 4;

/// Where rounding decides an output, one element in so many may be farther off than its limit, as
/// far as more evaluations are asked about.
constexpr int64_t kFarther = 1024;

/// Where evaluations of the reference are beyond each other's limits, a result may be off by so many
/// times as much: of eight that differ by orders of magnitude none is the farthest there is.
constexpr double kFartherThanThey = 16;

/// Evaluations are scattered over orders where the farthest two are so many times as far from each other
/// as the nearest, but for the nearest few (an evaluation may meet another one by chance), and the pair in
/// the middle lies between: of eight that a decision divides into two, most pairs are near or most are
/// far. Where two independent numbers and more make the noise, hardly any eight draws are (0.04 %).
constexpr double kScattered = 16, kFromTheMiddle = 3, kToTheMiddle = 2;
constexpr size_t kNearestByChance = 3;
/// There a result is a draw that says nothing, and these orders beyond all of them or beneath not even that.
constexpr double kNoDraw = 256;

/// The root mean square of the difference between two tensors; NaN where it is no number.
double distance(const Tensor &a, const Tensor &b, const Options &options) {
  for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    Result<Statistics> found =
        compare::compare(*from, *to, Tolerance{.atol = 0.0},
                         {.worst = 0, .firstMismatches = 0, .threads = options.threads});
    if (!found || !found->sameShape())
      return NAN;
    if (found->rmsExpected > 0)
      return found->relativeL2 * found->rmsExpected;
    if (found->relativeL2 == 0)
      return 0;
  }
  return NAN;
}

/// The root mean square of a tensor; NaN where it is no number.
double sizeOf(const Tensor &tensor, const Options &options) {
  Result<Statistics> found =
      compare::compare(tensor, tensor, Tolerance{.atol = 0.0},
                       {.worst = 0, .firstMismatches = 0, .threads = options.threads});
  return found ? found->rmsExpected : NAN;
}

bool isExact(const Tensor &tensor) {
  return !tensor::isFloat(tensor.dtype()) && !tensor::isComplex(tensor.dtype());
}

/// Asks in turn, each question only if the one before did not let the result pass.
class StrictJudge {
public:
  StrictJudge(const Tensor &actual, const Tensor &expected, const NoiseOf &ask, const Options &given)
      : actual(actual), expected(expected), ask(ask), options(given), isPictureWanted(given.picture) {
    options.picture = false; // What is wrong by one question may be right by the next.
  }

  Result<StrictVerdict> run(StrictVerdict without) {
    verdict = std::move(without);
    verdict.isMeasured = true;
    Status done;
    if (!isExact(expected))
      if (done = judgeByFirst(); done && verdict.passed)
        return std::move(verdict);
    if (done) {
      noise = ask(NoiseLook::Few);
      done = judgeBy(noise);
    }
    if (done && !verdict.passed && !isExact(expected))
      letFewBeFarther();
    if (done && !verdict.passed && !isExact(expected) && !noise.samples.empty() &&
        moreCouldTell(verdict.worst, verdict.whole))
      done = lookLonger();
    // That few enough integers differ is known, and not yet whether it is those that may.
    bool isByNumber = isExact(expected) && !expected.elementType().quantization;
    if (done && (!verdict.passed || (isByNumber && verdict.statistics.different > 0)))
      done = lookForAlternatives();
    if (done && !verdict.passed && !isExact(expected) && verdict.statistics.sameShape())
      done = lookAtEachOther();
    if (done && !verdict.passed && noise.center)
      done = lookAtExpected();
    if (!done)
      return done.error();
    if (!verdict.passed && isPictureWanted)
      addPicture(verdict, actual, expected, options);
    return std::move(verdict);
  }

private:
  Status judgeBy(const Noise &known) {
    Result<NoiseVerdict> found = checkByNoise(actual, expected, known, {}, options);
    if (!found)
      return found.error();
    static_cast<NoiseVerdict &>(verdict) = std::move(*found);
    return {};
  }

  /// Passes what the first of two evaluations lets pass: of two the larger noise counts, for
  /// elements, the whole and the correlation, so that no second one makes it wrong. An evaluation
  /// that moved nothing is no measure: the precision stands for it then, which may be more than
  /// another shows.
  Status judgeByFirst() {
    Noise first = ask(NoiseLook::First);
    if (first.samples.size() != 1)
      return {};
    Result<Statistics> moved =
        compare::compare(first.samples[0], first.center ? *first.center : expected,
                         Tolerance{.atol = 0.0},
                         {.worst = 0, .firstMismatches = 0, .threads = options.threads});
    if (!moved || moved->pccState != PccState::Measured || moved->pcc >= 1)
      return moved ? Status() : moved.error();
    return judgeBy(first);
  }

  /// Where rounding chooses which of many things come out, and in which order, a value that few of
  /// them have shows up where no evaluation has it.
  void letFewBeFarther() {
    if (noise.samples.size() < 2 || verdict.noise < kDecided || !std::isfinite(verdict.noise) ||
        verdict.whole > NoiseFactors().whole || !moreCouldTell(verdict.worst, verdict.whole) ||
        verdict.beyond * kFarther > verdict.count)
      return;
    verdict.passed = true;
    verdict.sentence = fmt::format(
        "rounding decides this output: {} of {} elements are beyond {}x noise, the worst by {:.3g}x "
        "(one in {} may be, up to {}x), the whole by {:.3g}x ({}x); noise {:.2g} % in {}",
        verdict.beyond, verdict.count, NoiseFactors().element, verdict.worst, kFarther,
        kNear * NoiseFactors().element, verdict.whole, NoiseFactors().whole, 100 * verdict.noise,
        noise.precision.text());
  }

  Status lookLonger() {
    Noise more = ask(NoiseLook::More);
    if (more.samples.size() <= noise.samples.size())
      return {};
    noise = std::move(more);
    return judgeBy(noise);
  }

  /// What a moved evaluation gives is right too, where a decision of the program hangs on rounding.
  Status lookForAlternatives() {
    // What comes last where updates meet is not far from the others: roundings would hide it.
    if (!isExact(expected))
      if (Status done = takeFrom(ask(NoiseLook::OtherOrder), 1); !done || verdict.passed)
        return done;
    return takeFrom(ask(NoiseLook::Wider), kWiderBy);
  }

  /// `wider`: moved by so many roundings.
  Status takeFrom(Noise wider, double moved) {
    if (wider.samples.empty())
      return {};
    wider.samples.insert(wider.samples.end(), noise.samples.begin(), noise.samples.end());
    if (noise.center)
      wider.samples.push_back(*noise.center);
    Result<Alternatives> other =
        takeAlternatives(actual, expected, noise, wider.samples, moved);
    if (!other)
      return other.error();
    if (isExact(expected))
      return judgeIntegers(*other);
    if (other->taken == 0)
      return {};
    Noise around = noise;
    if (!around.center)
      around.center = expected; // Samples lie around that, and not around what was taken.
    Result<NoiseVerdict> found = checkByNoise(actual, other->expected, around, {}, options);
    if (!found)
      return found.error();
    if (!found->passed)
      return {};
    static_cast<NoiseVerdict &>(verdict) = std::move(*found);
    verdict.sentence +=
        moved > 1 ? fmt::format("; {} elements as rounding decides them: evaluations moved by {} "
                                "roundings have them so too",
                                other->taken, moved)
                  : fmt::format("; {} elements as the order of updates that meet decides them: "
                                "evaluations in another order have them so too",
                                other->taken);
    return {};
  }

  /// Here places and values are known, and the number that change decides no longer.
  Status judgeIntegers(const Alternatives &other) {
    int64_t different = verdict.statistics.different, wrong = different - other.taken;
    bool wasPassed = verdict.passed;
    int64_t most = different / kUnseen;
    if (other.areRestNear)
      most = std::max(most, std::min(other.alone, different / kUnseenAmongMany));
    verdict.passed = wrong <= most;
    if (verdict.passed) {
      verdict.sentence = fmt::format("{} of {} elements are different, as rounding decides them: "
                                     "moved evaluations have them so too",
                                     different, verdict.count);
      return {};
    }
    if (wasPassed) { // By their number alone; say what is wrong.
      Noise still{.precision = noise.precision};
      if (Status done = judgeBy(still); !done)
        return done;
    }
    verdict.beyond = wrong;
    verdict.sentence += fmt::format("; {} of the {} that differ are as no evaluation moved by up to "
                                    "{} roundings has them",
                                    wrong, different, kWiderBy);
    return {};
  }

  /// Noise as a share of what the reference gives, or of what is expected, whichever is the smaller.
  Result<double> noiseShare() const {
    if (!noise.center)
      return verdict.noise;
    Noise around = noise;
    Tensor center = *std::exchange(around.center, std::nullopt);
    Result<NoiseVerdict> own = checkByNoise(center, center, around, {}, options);
    if (!own)
      return own.error();
    return std::max(verdict.noise, own->noise);
  }

  /// Limits say something only if evaluations keep those that follow from the others. Behind a norm of
  /// two samples, or a quotient of what rounding leaves, an output is off by orders of magnitude in
  /// one evaluation and not in the next: there a result may be as far off as they are from each other.
  /// What computes such an output is judged piece by piece.
  Status lookAtEachOther() {
    Result<double> share = noiseShare();
    if (!share)
      return share.error();
    if (noise.samples.size() < 2 || *share < kDecided || !std::isfinite(*share) ||
        !std::isfinite(verdict.worst) || !std::isfinite(verdict.whole))
      return {};
    if (Noise more = ask(NoiseLook::More); more.samples.size() > noise.samples.size()) {
      noise = std::move(more);
      if (Status done = judgeBy(noise); !done)
        return done;
    }
    const size_t count = noise.samples.size();
    if (verdict.passed || count <= kMoreSamples)
      return {};
    bool keepLimits = true;
    double worst = NoiseFactors().element, whole = NoiseFactors().whole;
    int64_t beyond = 1;
    for (size_t i = 0; i < count; ++i) {
      const size_t other = (i + 1) % count;
      Noise rest{.precision = noise.precision, .center = noise.center ? noise.center : expected};
      for (size_t j = 0; j < count; ++j)
        if (j != i && j != other)
          rest.samples.push_back(noise.samples[j]);
      Result<NoiseVerdict> found =
          checkByNoise(noise.samples[i], noise.samples[other], rest, {}, options);
      if (!found)
        return found.error();
      keepLimits &= found->passed;
      worst = std::max(worst, found->worst), whole = std::max(whole, found->whole);
      beyond = std::max(beyond, found->beyond);
    }
    if (keepLimits || verdict.worst > kFartherThanThey * worst ||
        verdict.whole > kFartherThanThey * whole || verdict.beyond > kFartherThanThey * beyond) {
      lookForOrders(*share);
      return {};
    }
    verdict.passed = true;
    verdict.noise = std::max(*share, verdict.noise); // It tells nothing, and pieces are asked.
    verdict.sentence = fmt::format(
        "rounding decides this output by orders of magnitude: evaluations are off from each other by "
        "up to {:.3g}x the noise of the others, and the whole by {:.3g}x; the result by {:.3g}x and "
        "{:.3g}x (at most {} times as much); noise {:.2g} % in {}",
        worst, whole, verdict.worst, verdict.whole, kFartherThanThey, 100 * verdict.noise,
        noise.precision.text());
    return {};
  }

  /// Evaluations that are scattered over orders say nothing of where the next one is: whoever has the
  /// program may judge what computes this output by itself, and leave the result out. What is expected must
  /// be such a draw too, so that it is the device alone that is left to be judged.
  void lookForOrders(double share) {
    std::vector<double> apart;
    for (size_t i = 0; i < noise.samples.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        apart.push_back(distance(noise.samples[i], noise.samples[j], options));
    if (!std::ranges::all_of(apart, [](double one) { return std::isfinite(one); }))
      return;
    std::ranges::sort(apart);
    const double farthest = apart.back(), nearest = apart[kNearestByChance],
                 middle = apart[apart.size() / 2 - 1];
    const Tensor &center = noise.center ? *noise.center : expected;
    if (nearest == 0 || farthest <= kScattered * nearest || farthest <= kFromTheMiddle * middle ||
        middle <= kToTheMiddle * nearest ||
        !(distance(expected, center, options) <= kFartherThanThey * farthest) ||
        !(distance(actual, center, options) <= kNoDraw * farthest))
      return;
    // Nor is what nobody wrote, which is as far from them as any draw.
    double least = INFINITY;
    for (const Tensor &sample : noise.samples)
      least = std::min(least, sizeOf(sample, options));
    for (const Tensor *one : {&actual, &expected})
      if (!(sizeOf(*one, options) * kNoDraw >= least))
        return;
    verdict.isScattered = true;
    verdict.noise = std::max(share, verdict.noise);
    verdict.sentence += fmt::format(
        "; evaluations are scattered over orders: the farthest two are {:.3g}x as far from each other "
        "as the nearest, and the result says nothing of what computed it",
        farthest / nearest);
  }

  /// Others than the reference said what is expected: a result that is the reference's is judged by
  /// how exact they can have been.
  Status lookAtExpected() {
    Noise around = noise;
    Tensor center = *std::exchange(around.center, std::nullopt);
    Result<NoiseVerdict> byReference = checkByNoise(actual, center, around, {}, options);
    if (!byReference)
      return byReference.error();
    if (!byReference->passed)
      return {};
    Noise rough = ask(NoiseLook::Framework);
    if (!rough.samples.empty()) {
      Result<NoiseVerdict> found = checkByNoise(actual, expected, rough, {}, options);
      if (!found)
        return found.error();
      if (found->passed) {
        static_cast<NoiseVerdict &>(verdict) = std::move(*found);
        verdict.sentence += fmt::format("; what is expected was rounded to {} more often than the "
                                        "program says; by the reference: {}",
                                        rough.precision.rest.name, byReference->sentence);
        return {};
      }
    }
    verdict.isExpectedOff = true;
    return {};
  }

  const Tensor &actual, &expected;
  const NoiseOf &ask;
  Options options;
  bool isPictureWanted;
  Noise noise;
  StrictVerdict verdict;
};

} // namespace

bool compare::moreCouldTell(double worst, double whole) {
  NoiseFactors factors;
  return worst <= kNear * factors.element && whole <= kNear * factors.whole;
}

Result<StrictVerdict> compare::checkStrictly(const Tensor &actual, const Tensor &expected,
                                             const DevicePrecision &precision,
                                             const NoiseOf &noise, const Options &options) {
  Result<NoiseVerdict> without = checkWithoutNoise(actual, expected, precision, options);
  if (!without)
    return without.error();
  StrictVerdict verdict{std::move(*without)};
  if (verdict.passed || !verdict.statistics.sameShape())
    return verdict;
  return StrictJudge(actual, expected, noise, options).run(std::move(verdict));
}

Result<RepeatVerdict> compare::checkRepeatedStrictly(const Tensor &now, const Tensor &before,
                                                     const DevicePrecision &precision,
                                                     const NoiseOf &noise,
                                                     const Options &options) {
  if (areNearlySame(now, before, precision))
    return RepeatVerdict{};
  Noise known = noise(NoiseLook::Few);
  Result<RepeatVerdict> verdict = checkRepeated(now, before, known, {}, options);
  if (!verdict || verdict->passed)
    return verdict;
  if (!isExact(before) && !known.samples.empty()) {
    if (Noise more = noise(NoiseLook::More); more.samples.size() > known.samples.size()) {
      known = std::move(more);
      verdict = checkRepeated(now, before, known, {}, options);
      if (!verdict || verdict->passed)
        return verdict;
    }
  }
  using Look = std::pair<NoiseLook, double>;
  for (auto [look, moved] : {Look(NoiseLook::OtherOrder, 1), Look(NoiseLook::Wider, kWiderBy)}) {
    if (look == NoiseLook::OtherOrder && isExact(before))
      continue;
    Noise wider = noise(look);
    if (wider.samples.empty())
      continue;
    wider.samples.insert(wider.samples.end(), known.samples.begin(), known.samples.end());
    if (known.center)
      wider.samples.push_back(*known.center);
    Result<Alternatives> other = takeAlternatives(now, before, known, wider.samples, moved,
                                                  {.element = RepeatFactors().element});
    if (!other)
      return other.error();
    if (other->taken == 0)
      continue;
    Noise around = known;
    if (!around.center)
      around.center = before;
    verdict = checkRepeated(now, other->expected, around, {}, options);
    if (!verdict || verdict->passed)
      return verdict;
  }
  return verdict;
}
