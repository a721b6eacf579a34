#include "cupel/compare/Verdict.h"

#include "cupel/compare/Elements.h"
#include "cupel/compare/Pictures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

using namespace cupel;
using namespace cupel::compare;

namespace {

/// Few digits, but as many as show on which side of the bound a value lies.
std::string numberAgainst(double value, double bound) {
  for (int digits = 3; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    double shown = std::strtod(text.c_str(), nullptr);
    if ((shown < bound) == (value < bound) && (shown > bound) == (value > bound))
      return text;
  }
  return fmt::format("{}", value);
}

/// "12 % of elements", or "3 of 40 elements" where a share would hide how few there are.
std::string share(int64_t part, int64_t whole) {
  if (part == whole)
    return whole == 1 ? "the element" : whole == 2 ? "both elements" : "all elements";
  double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (whole < 100 || percent < 0.1)
    return fmt::format("{} of {} elements", part, whole);
  return fmt::format("{} % of elements", percent > 99.9
                                             ? fmt::format("{:.4g}", std::min(percent, 99.99))
                                             : fmt::format("{:.2g}", percent));
}

std::string shapeText(const tensor::Shape &shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string place(const Statistics &found, int64_t position) {
  return fmt::format("[{}]", fmt::join(found.indexOf(position), ","));
}

const char *whyNoPcc(const Statistics &found) {
  switch (found.pccState) {
  case PccState::ExpectedConstant:
    return found.rmsExpected == 0 ? "expected is all zero" : "expected is constant";
  case PccState::WithinRounding:
    return "expected varies by a few roundings";
  case PccState::TooFew:
    return found.count == 1 ? "one element" : "too few finite elements";
  case PccState::NothingFinite:
    return "no pair of finite numbers";
  case PccState::ActualConstant:
    return "the result is constant";
  case PccState::Measured:
  case PccState::Equal:
    break;
  }
  return "";
}

/// Where correlation has no meaning, the share of error that is allowed instead: what is missing to
/// 1, but never less than one rounding of the coarser type.
double boundInsteadOfPcc(const Statistics &found, double pcc) {
  double bound = 1 - pcc;
  for (const tensor::ElementType &type : {found.actualType, found.expectedType})
    if (int bits = mantissaBits(type.storage))
      bound = std::max(bound, std::ldexp(1.0, -bits));
  return bound;
}

class Judge {
public:
  /// `extent`: how many elements are off, where the tolerance itself does not count them.
  Judge(const Statistics &found, const Tolerance &tolerance, std::string extent = "")
      : found(found), tolerance(tolerance), extent(std::move(extent)) {}

  Verdict run() {
    if (!found.sameShape()) {
      fail(fmt::format("shape is {}, expected {}", shapeText(found.actualShape),
                       shapeText(found.expectedShape)));
    } else {
      judgeNonFinite();
      judgePcc();
      judgeDifferences();
      judgeRest();
    }
    Verdict verdict;
    verdict.passed = failures.empty();
    if (!verdict.passed && !extent.empty())
      fail(extent);
    if (!verdict.passed && !found.worst.empty()) {
      const Element &worst = found.worst.front();
      fail(found.count == 1 ? fmt::format("{} vs {}", worst.actual, worst.expected)
                            : fmt::format("worst at {}: {} vs {}", place(found, worst.position),
                                          worst.actual, worst.expected));
    }
    verdict.sentence = verdict.passed ? praise() : fmt::format("{}", fmt::join(failures, "; "));
    return verdict;
  }

private:
  void fail(std::string what) { failures.push_back(std::move(what)); }
  void hold(std::string what) { held.push_back(std::move(what)); }

  void judgeNonFinite() {
    if (found.nonFiniteMismatches == 0)
      return;
    const NonFinite &a = found.nonFiniteActual, &e = found.nonFiniteExpected;
    auto describe = [&](int64_t count, const char *what, std::optional<int64_t> first) {
      return fmt::format("{} {}, first at {}",
                         share(count, found.count) + (count == 1 ? " is" : " are"), what,
                         place(found, *first));
    };
    if (a.nans > found.bothNan)
      fail(describe(a.nans, "NaN", a.firstNan) +
           (found.bothNan ? fmt::format(" (expected: {})", e.nans) : ""));
    else if (e.nans > found.bothNan)
      fail(describe(e.nans, "expected to be NaN", e.firstNan) +
           fmt::format(" (actual: {})", a.nans));
    else if (found.bothNan && tolerance.nan == NanPolicy::Unequal)
      fail(describe(found.bothNan, "NaN on both sides, which the tolerance does not accept",
                    a.firstNan));
    if (a.infinities > 0 && (a.infinities != e.infinities || failures.empty()))
      fail(describe(a.infinities, "infinite", a.firstInfinity) +
           fmt::format(" (expected: {})", e.infinities));
    else if (e.infinities > 0 && (a.infinities != e.infinities || failures.empty()))
      fail(describe(e.infinities, "expected to be infinite", e.firstInfinity));
    if (failures.empty()) // complex numbers whose parts differ in this
      fail(share(found.nonFiniteMismatches, found.count) + " differ in NaN or infinity");
  }

  void judgePcc() {
    if (!tolerance.pcc)
      return;
    double wanted = *tolerance.pcc;
    if (!std::isnan(found.pcc)) {
      bool holds = found.pcc >= wanted;
      std::string text =
          fmt::format("pcc {} {} {}", numberAgainst(found.pcc, wanted), holds ? ">=" : "<", wanted);
      if (found.pccState == PccState::ActualConstant)
        text += fmt::format(" ({})", whyNoPcc(found));
      holds ? hold(text) : fail(text);
      return;
    }
    if (found.pccState == PccState::NothingFinite) { // and something differs
      fail(fmt::format("pcc has no meaning ({})", whyNoPcc(found)));
      return;
    }
    if (found.pccState == PccState::WithinRounding) {
      hold(fmt::format("pcc has no meaning ({}), at most {:.3g} apart", whyNoPcc(found),
                       found.maxError));
      return;
    }
    double bound = boundInsteadOfPcc(found, wanted);
    bool near = tolerance.atol && found.maxError <= *tolerance.atol;
    bool holds = found.relativeL2 <= bound || near;
    std::string text = fmt::format("pcc has no meaning ({}), relative L2 {} {} {:.3g}",
                                   whyNoPcc(found), numberAgainst(found.relativeL2, bound),
                                   found.relativeL2 <= bound ? "<=" : ">", bound);
    if (near && found.relativeL2 > bound)
      text += fmt::format(" but all within {}", *tolerance.atol);
    holds ? hold(text) : fail(text);
  }

  void judgeDifferences() {
    if (!tolerance.boundsDifference()) {
      // Nothing bounds single elements, but NaN against a number is wrong under every tolerance.
      return;
    }
    double atol = tolerance.atol.value_or(0), rtol = tolerance.rtol.value_or(0);
    std::string bound;
    if (atol > 0 && rtol > 0)
      bound = fmt::format(" by more than {} + {} * |expected|", atol, rtol);
    else if (rtol > 0)
      bound = fmt::format(" by more than {} * |expected|", rtol);
    else if (atol > 0)
      bound = fmt::format(" by more than {}", atol);
    if (found.closeMismatches > 0)
      fail(fmt::format("{} differ{}{}", share(found.closeMismatches, found.count),
                       found.closeMismatches == 1 ? "s" : "", bound));
    else if (found.different == 0)
      hold(found.count ? "all elements are equal" : "no elements");
    else
      hold(fmt::format("no element differs{}, at most {:.3g}", bound, found.maxError));
  }

  void judgeRest() {
    auto atMost = [&](const char *name, double value, double bound) {
      std::string number = numberAgainst(value, bound);
      value <= bound ? hold(fmt::format("{} {} <= {}", name, number, bound))
                     : fail(fmt::format("{} {} > {}", name, number, bound));
    };
    if (tolerance.largest)
      atMost("largest difference", found.maxError, *tolerance.largest);
    if (tolerance.relativeL2)
      atMost("relative L2", found.relativeL2, *tolerance.relativeL2);
    if (tolerance.cosine) {
      double bound = *tolerance.cosine;
      std::string number = numberAgainst(found.cosine, bound);
      found.cosine >= bound ? hold(fmt::format("cosine {} >= {}", number, bound))
                            : fail(fmt::format("cosine {} < {}", number, bound));
    }
    if (!tolerance.ulp)
      return;
    const UlpRange &range = *tolerance.ulp;
    std::string max =
        found.ulp->max == kInfiniteUlp ? "infinitely many" : fmt::format("{}", found.ulp->max);
    std::string unit(tensor::info(found.ulp->unit).name);
    if (found.ulpMismatches == 0)
      hold(fmt::format("at most {} ULP of {} apart", max, unit));
    else if (range.min == 0)
      fail(fmt::format("{} {} more than {} ULP of {} apart, at most {}",
                       share(found.ulpMismatches, found.count),
                       found.ulpMismatches == 1 ? "is" : "are", range.max, unit, max));
    else
      fail(fmt::format("{} {} not between {} and {} ULP of {} apart, at most {}",
                       share(found.ulpMismatches, found.count),
                       found.ulpMismatches == 1 ? "is" : "are", range.min, range.max, unit, max));
  }

  std::string praise() const {
    std::string text = fmt::format("{}", fmt::join(held, "; "));
    if (found.bothNan)
      text += fmt::format("; {} {} NaN on both sides", share(found.bothNan, found.count),
                          found.bothNan == 1 ? "is" : "are");
    return text;
  }

  const Statistics &found;
  const Tolerance &tolerance;
  std::string extent;
  std::vector<std::string> failures, held;
};

/// Where only the whole is judged, says how many elements are off by a fiftieth of a typical one.
Result<std::string> shareOff(const tensor::Tensor &actual, const tensor::Tensor &expected,
                             const Statistics &found, int threads) {
  double limit = std::strtod(fmt::format("{:.1g}", found.rmsExpected / 50).c_str(), nullptr);
  if (limit <= 0)
    return std::string();
  Result<Statistics> counted =
      compare::compare(actual, expected, {.atol = limit, .nan = NanPolicy::Equal},
                       {.worst = 0, .firstMismatches = 0, .threads = threads});
  if (!counted)
    return counted.error();
  if (counted->mismatches == 0)
    return std::string();
  return fmt::format("{} differ{} by more than {}", share(counted->mismatches, found.count),
                     counted->mismatches == 1 ? "s" : "", limit);
}

} // namespace

Verdict compare::judge(Statistics statistics, const Tolerance &tolerance) {
  Verdict verdict = Judge(statistics, tolerance).run();
  verdict.statistics = std::move(statistics);
  return verdict;
}

Result<Verdict> compare::check(const tensor::Tensor &actual, const tensor::Tensor &expected,
                               const Tolerance &tolerance, const Options &options) {
  Result<Statistics> found = compare(actual, expected, tolerance, options);
  if (!found)
    return found.error();
  Verdict verdict = judge(std::move(*found), tolerance);
  if (verdict.passed || !verdict.statistics.sameShape())
    return verdict;
  const Statistics &statistics = verdict.statistics;
  if (!tolerance.boundsDifference() && !tolerance.ulp && statistics.count > 1) {
    Result<std::string> extent = shareOff(actual, expected, statistics, options.threads);
    if (!extent)
      return extent.error();
    verdict.sentence = Judge(statistics, tolerance, *extent).run().sentence;
  }
  verdict.picture = recognisePicture(actual, expected, statistics, options.threads);
  if (!verdict.picture.empty())
    verdict.sentence += "; looks like: " + verdict.picture;
  return verdict;
}
