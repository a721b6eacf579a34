#include "cupel/workload/Judge.h"

#include "cupel/compare/NoiseLanes.h"
#include "cupel/compare/Strict.h"
#include "cupel/compare/Verdict.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

using namespace cupel;
using namespace cupel::workload;
using tensor::Tensor;

/// The strict verdict, where the workload has no bounds of its own. Of its noise only what is stored
/// is known here: whoever has the reference may look longer.
static Judgement judgeStrictly(std::string what, const Tensor &actual, const Tensor &expected,
                               const compare::Noise &stored) {
  Judgement judgement{false, std::move(what), ""};
  auto ask = [&](compare::NoiseLook look) {
    return look == compare::NoiseLook::Few ? stored
                                           : compare::Noise{.precision = stored.precision};
  };
  Result<compare::StrictVerdict> verdict =
      compare::checkStrictly(actual, expected, stored.precision, ask);
  if (!verdict) {
    judgement.sentence = verdict.message();
    return judgement;
  }
  judgement.passed = verdict->passed;
  judgement.sentence = verdict->sentence;
  if (!verdict->note.empty())
    judgement.sentence += "; " + verdict->note;
  bool differs = verdict->statistics.different > 0;
  judgement.tellsLittle = verdict->passed && verdict->noise >= compare::kTellsLittle && differs;
  // Equal is equal, whatever the limits are.
  if (stored.samples.empty() && differs)
    judgement.sentence += fmt::format("; the workload has no noise stored: limits from the declared "
                                      "precision {} alone",
                                      stored.precision.text());
  else if (!verdict->passed && stored.samples.size() <= compare::kFewSamples &&
           compare::moreCouldTell(verdict->worst, verdict->whole))
    judgement.sentence += "; more evaluations than are stored could tell: cupel run makes them";
  return judgement;
}

static Judgement compareTensors(std::string what, const Tensor &actual, const Tensor &expected,
                                const compare::Tolerance &tolerance, bool isAsserted = true) {
  Judgement judgement{false, std::move(what), ""};
  // A device that answers another type computed another program.
  if (actual.dtype() != expected.dtype() || !std::ranges::equal(actual.shape(), expected.shape())) {
    judgement.sentence = fmt::format("is a {} where a {} is expected",
                                     tensor::describe(actual.dtype(), actual.shape()),
                                     tensor::describe(expected.dtype(), expected.shape()));
    return judgement;
  }
  Result<compare::Verdict> verdict = compare::check(actual, expected, tolerance);
  judgement.passed = verdict && verdict->passed;
  judgement.sentence = verdict ? verdict->sentence : verdict.message();
  if (verdict && !isAsserted) {
    judgement.passed = true;
    judgement.sentence = "nothing is asserted; " + judgement.sentence;
  }
  return judgement;
}

std::string cupel::workload::describeWrongCount(const Workload &workload, size_t results,
                                                size_t expected) {
  if (results == expected || (workload.expectsFirst && results > expected))
    return {};
  return fmt::format("{} results where {} are expected", results, expected);
}

std::vector<Judgement> cupel::workload::judge(const Workload &workload,
                                              const std::vector<Tensors> &results) {
  std::vector<Judgement> all;
  for (size_t d = 0; d < results.size(); ++d) {
    size_t first = all.size();
    std::ranges::move(judgeChecks(results[d], d, workload.checks, workload.constants),
                      std::back_inserter(all));
    if (!workload.expected.empty()) {
      const Tensors &expected =
          workload.expected.size() > 1 ? workload.expected.at(d) : workload.expected.front();
      std::string wrong = describeWrongCount(workload, results[d].size(), expected.size());
      if (!wrong.empty())
        all.push_back({false, "results", wrong});
      for (size_t i = 0; wrong.empty() && i < expected.size(); ++i) {
        const Tensor &actual = results[d][i];
        std::string what = fmt::format("result {}", i);
        std::optional<compare::Tolerance> tolerance = workload.toleranceFor(i);
        bool isAlike = actual.dtype() == expected[i].dtype() &&
                       std::ranges::equal(actual.shape(), expected[i].shape());
        if (tolerance || !isAlike || !workload.isAsserted)
          all.push_back(compareTensors(std::move(what), actual, expected[i],
                                       tolerance.value_or(compare::Tolerance()),
                                       workload.isAsserted));
        else
          all.push_back(judgeStrictly(std::move(what), actual, expected[i],
                                      workload.noiseFor(d, i)));
      }
    }
    for (size_t i = first; i < all.size(); ++i)
      all[i].device = d;
  }
  return all;
}

std::vector<Judgement> cupel::workload::judgeChecks(const Tensors &results, size_t device,
                                                    const std::vector<Check> &checks,
                                                    const Tensors &constants) {
  std::vector<Judgement> judgements;
  for (size_t i = 0; i < checks.size(); ++i) {
    const Check &check = checks[i];
    if (check.device && *check.device != device)
      continue;
    std::string what = check.location.empty() ? fmt::format("check {}", i)
                                              : fmt::format("check {} ({})", i, check.location);
    const std::vector<Tensor> &others = check.isConstant ? constants : results;
    if (check.actual >= results.size() || check.expected >= others.size()) {
      judgements.push_back({false, what,
                            fmt::format("compares result {} with {} {}, but there are {} and {}",
                                        check.actual, check.isConstant ? "constant" : "result",
                                        check.expected, results.size(), others.size())});
      continue;
    }
    const Tensor &actual = results[check.actual], &expected = others[check.expected];
    if (check.kind == Check::Kind::Close && !tensor::isFloat(actual.dtype()) &&
        !tensor::isComplex(actual.dtype())) {
      judgements.push_back({false, what,
                            fmt::format("units in the last place are defined for floats alone, not "
                                        "for {}",
                                        tensor::info(actual.dtype()).name)});
      continue;
    }
    compare::Tolerance tolerance = check.kind == Check::Kind::Equal
                                       ? compare::Tolerance::equal()
                                   : check.kind == Check::Kind::AlmostEqual
                                       ? compare::Tolerance::almostEqual(check.tolerance)
                                       : compare::Tolerance::close(check.maxUlps, check.minUlps);
    judgements.push_back(compareTensors(std::move(what), actual, expected, tolerance));
  }
  return judgements;
}
