#include "cupel/compare/Alternatives.h"

#include "cupel/compare/NoiseSums.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

using namespace cupel;
using namespace cupel::compare;
using tensor::Tensor;

namespace {

/// An element for which evaluations give this many values has others that none of them gave.
constexpr size_t kOpenFrom = 4;

/// An evaluation went a way if it is nearer to where that leads than this share of the distance between
/// two ways, which lie at least so many steps of the type apart: nearer ones meet by chance.
constexpr double kSameWay = 1.0 / 8, kStepsBetweenWays = 16;
/// Of so many evaluations none is between two ways: fewer may leave the middle empty by chance.
constexpr size_t kToldByMany = 8;

/// The bytes of elements, one after another.
struct Bytes {
  Tensor tensor;
  size_t each = 1;

  static Result<Bytes> of(const Tensor &from) {
    Result<Tensor> plain = from.contiguous();
    if (!plain)
      return plain.error();
    return Bytes{*plain, from.size() ? size_t(from.byteSize() / from.size()) : 1};
  }
  const std::byte *at(int64_t i) const { return tensor.data() + size_t(i) * each; }
};

bool areSame(const Bytes &a, const Bytes &b, int64_t i) {
  return std::memcmp(a.at(i), b.at(i), a.each) == 0;
}

/// The evaluation that has the integer of the result; the result itself where they give so many that
/// rounding alone decides; null where it is just wrong.
const Bytes *chooseInteger(const Bytes &actual, const Bytes &expected,
                           std::span<const Bytes> others, bool mustReach, int64_t i) {
  std::vector<const Bytes *> distinct{&expected};
  const Bytes *found = nullptr;
  bool isReached = !mustReach;
  for (const Bytes &other : others) {
    if (areSame(actual, other, i))
      found = &other;
    isReached |= areSame(expected, other, i);
    if (std::ranges::none_of(distinct, [&](const Bytes *seen) { return areSame(*seen, other, i); }))
      distinct.push_back(&other);
  }
  if (found && isReached)
    return found;
  return distinct.size() >= kOpenFrom + (isReached ? 0 : 1) ? &actual : nullptr;
}

/// How many elements of an evaluation are neither what is expected nor what another evaluation has,
/// where these leave it open.
int64_t countAlone(const Bytes &expected, std::span<const Bytes> others, size_t which) {
  int64_t alone = 0;
  for (int64_t i = 0; i < expected.tensor.size(); ++i) {
    if (areSame(others[which], expected, i))
      continue;
    std::vector<const Bytes *> distinct{&expected};
    bool isAlone = true;
    for (size_t k = 0; k < others.size() && isAlone; ++k) {
      if (k == which)
        continue;
      isAlone = !areSame(others[k], others[which], i);
      if (std::ranges::none_of(distinct,
                               [&](const Bytes *seen) { return areSame(*seen, others[k], i); }))
        distinct.push_back(&others[k]);
    }
    alone += isAlone && distinct.size() < kOpenFrom;
  }
  return alone;
}

/// The largest distance of an element that counts from what is expected.
double farthest(const Bytes &from, const Bytes &expected, const std::vector<bool> *counts) {
  Result<ElementReader> a = ElementReader::make(from.tensor, 1),
                        e = ElementReader::make(expected.tensor, 1);
  if (!a || !e)
    return 0;
  double most = 0;
  for (int64_t i = 0; i < e->size(); ++i)
    if (!counts || (*counts)[size_t(i)])
      most = std::max(most, std::fabs(a->at(i) - e->at(i)));
  return most;
}

/// Floats: evaluations as numbers, and how far a result may be from one of them.
class FloatChoice {
public:
  static Result<FloatChoice> make(const Tensor &actual, const Tensor &expected, const Noise &noise,
                                  std::span<const Bytes> others, double moved,
                                  const NoiseFactors &factors) {
    FloatChoice choice;
    choice.parts = tensor::isComplex(expected.dtype()) ? 2 : 1;
    auto reader = [&](const Tensor &tensor, std::vector<ElementReader> &to) -> Status {
      Result<ElementReader> made = ElementReader::make(tensor, choice.parts);
      if (!made)
        return made.error();
      to.push_back(std::move(*made));
      return {};
    };
    const Tensor &center = noise.center ? *noise.center : expected;
    for (const Tensor *each : {&actual, &expected, &center})
      if (Status made = reader(*each, choice.main); !made)
        return made.error();
    for (const Tensor &sample : noise.samples)
      if (Status made = reader(sample, choice.samples); !made)
        return made.error();
    for (const Bytes &other : others)
      if (Status made = reader(other.tensor, choice.others); !made)
        return made.error();
    NoiseSizes sizes =
        measureNoise({choice.main[0], choice.main[1], choice.main[2], choice.samples},
                     threadsFor(expected.size()));
    choice.limits = limitsFor(expected.dtype(), noise, factors, sizes);
    choice.ways = limitsFor(expected.dtype(), noise, {}, sizes);
    choice.ways.factor *= moved;
    choice.ways.least *= moved;
    return choice;
  }

  /// By element, whether the result is beyond its limits around what is expected, and around what an
  /// evaluation gave.
  std::vector<bool> beyondExpected() const { return beyond(main[0], main[1], limits); }
  std::vector<bool> beyondOther(size_t which) const {
    return beyond(main[0], others[which], limits);
  }
  /// The same of what is expected, around what an evaluation gave.
  std::vector<bool> expectedBeyond(size_t which) const {
    return beyond(main[1], others[which], limits);
  }
  /// Whether an evaluation, or what is expected, took another way than the one without moves.
  std::vector<bool> wentElsewhere(size_t which) const {
    return beyond(others[which], main[2], ways);
  }
  std::vector<bool> isExpectedElsewhere() const { return beyond(main[1], main[2], ways); }

  /// An evaluation that went the way of the result, where every one of them went this way or that of what
  /// is expected, and none is between: then they took a decision, and were not just moved, however near
  /// both ways are to each other (the gradient behind a ReLU is itself or zero). Nothing where that is not so.
  std::optional<size_t> decidedAs(int64_t i) const {
    if (parts != 1 || others.size() < kToldByMany)
      return std::nullopt;
    const double have = main[0].at(i), want = main[1].at(i), apart = std::fabs(have - want);
    const double step = std::ldexp(std::max(std::fabs(have), std::fabs(want)), -mantissaBits(main[1].tensor().dtype()));
    if (!std::isfinite(apart) || apart < kStepsBetweenWays * step)
      return std::nullopt;
    std::optional<size_t> found;
    for (size_t k = 0; k < others.size(); ++k) {
      const double other = others[k].at(i);
      if (std::fabs(other - have) <= kSameWay * apart)
        found = k;
      else if (!(std::fabs(other - want) <= kSameWay * apart))
        return std::nullopt;
    }
    return found;
  }

private:
  std::vector<bool> beyond(const ElementReader &given, const ElementReader &around,
                           const ElementLimits &by) const {
    std::vector<bool> marks(size_t(main[1].size() / parts), false);
    markBeyond({given, around, main[2], samples}, by, marks);
    return marks;
  }

  int parts = 1;
  std::vector<ElementReader> main; // result, expected, center
  std::vector<ElementReader> samples, others;
  ElementLimits limits, ways;
};

} // namespace

Result<Alternatives> compare::takeAlternatives(const Tensor &actual, const Tensor &expected,
                                               const Noise &noise,
                                               std::span<const Tensor> evaluations,
                                               double moved, const NoiseFactors &factors) {
  Alternatives found{expected};
  auto isAlike = [&](const Tensor &tensor) {
    return tensor.dtype() == expected.dtype() &&
           std::ranges::equal(tensor.shape(), expected.shape());
  };
  if (!isAlike(actual))
    return found;
  Result<Bytes> a = Bytes::of(actual), e = Bytes::of(expected);
  Result<Tensor> made = Tensor::uninitialized(
      expected.elementType(), tensor::Shape(expected.shape().begin(), expected.shape().end()));
  if (!a || !e || !made)
    return !a ? a.error() : !e ? e.error() : made.error();
  std::vector<Bytes> others;
  for (const Tensor &evaluation : evaluations)
    if (isAlike(evaluation)) {
      Result<Bytes> other = Bytes::of(evaluation);
      if (!other)
        return other.error();
      others.push_back(std::move(*other));
    }
  if (others.empty() || expected.size() == 0)
    return found;
  std::memcpy(made->mutableData(), e->tensor.data(), size_t(expected.byteSize()));
  auto take = [&](const Bytes &from, int64_t i) {
    std::memcpy(made->mutableData() + size_t(i) * e->each, from.at(i), e->each);
    ++found.taken;
  };
  if (!tensor::isFloat(expected.dtype()) && !tensor::isComplex(expected.dtype())) {
    std::vector<bool> rest(size_t(expected.size()), false);
    for (int64_t i = 0; i < expected.size(); ++i)
      if (!areSame(*a, *e, i)) {
        if (const Bytes *from = chooseInteger(*a, *e, others, noise.center.has_value(), i))
          take(*from, i);
        else
          rest[size_t(i)] = true;
      }
    if (std::ranges::find(rest, true) != rest.end()) {
      double reach = 0;
      for (size_t k = 0; k < others.size(); ++k) {
        found.alone = std::max(found.alone, countAlone(*e, others, k));
        reach = std::max(reach, farthest(others[k], *e, nullptr));
      }
      found.areRestNear = farthest(*a, *e, &rest) <= reach;
    }
  } else {
    Result<FloatChoice> choice = FloatChoice::make(actual, expected, noise, others, moved, factors);
    if (!choice)
      return choice.error();
    std::vector<bool> wrong = choice->beyondExpected(), isElsewhere(wrong.size(), false);
    if (noise.center) {
      isElsewhere = choice->isExpectedElsewhere();
      std::vector<bool> isReached(wrong.size(), false);
      for (size_t k = 0; k < others.size(); ++k) {
        std::vector<bool> isBeyond = choice->expectedBeyond(k);
        for (size_t i = 0; i < wrong.size(); ++i)
          isReached[i] = isReached[i] || !isBeyond[i];
      }
      for (size_t i = 0; i < wrong.size(); ++i)
        wrong[i] = wrong[i] && isReached[i];
    }
    for (size_t k = 0; k < others.size(); ++k) {
      // Most evaluations went the same way, and have nothing to offer.
      std::vector<bool> isOtherWay = choice->wentElsewhere(k);
      for (size_t i = 0; i < isOtherWay.size(); ++i)
        isOtherWay[i] = wrong[i] && (isOtherWay[i] || isElsewhere[i]);
      if (std::ranges::find(isOtherWay, true) == isOtherWay.end())
        continue;
      std::vector<bool> stillWrong = choice->beyondOther(k);
      for (int64_t i = 0; i < expected.size(); ++i)
        if (isOtherWay[size_t(i)] && !stillWrong[size_t(i)]) {
          take(others[k], i);
          wrong[size_t(i)] = false;
        }
    }
    for (int64_t i = 0; i < expected.size(); ++i)
      if (wrong[size_t(i)])
        if (std::optional<size_t> k = choice->decidedAs(i))
          take(others[*k], i);
  }
  found.expected = std::move(*made);
  return found;
}
