#include "cupel/workload/Judge.h"

#include "cupel/compare/Verdict.h"

#include <algorithm>
#include <fmt/format.h>

using namespace cupel;
using namespace cupel::workload;
using tensor::Tensor;

static Judgement compareTensors(std::string what, const Tensor &actual, const Tensor &expected,
                                const compare::Tolerance &tolerance) {
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
  return judgement;
}

std::vector<Judgement> cupel::workload::judge(const std::vector<Tensor> &results,
                                              const std::vector<Tensor> &expected,
                                              const WorkloadTolerance &tolerance) {
  std::vector<Judgement> judgements;
  if (results.size() != expected.size()) {
    judgements.push_back(
        {false, "results",
         fmt::format("{} results where {} are expected", results.size(), expected.size())});
    return judgements;
  }
  compare::Tolerance bounds;
  bounds.pcc = tolerance.pcc;
  bounds.atol = tolerance.atol;
  bounds.rtol = tolerance.rtol;
  for (size_t i = 0; i < results.size(); ++i) {
    compare::Tolerance own = bounds;
    // Without bounds floats get those that every device should keep; the rest must be equal.
    bool isApproximate =
        tensor::isFloat(expected[i].dtype()) || tensor::isComplex(expected[i].dtype());
    if (tolerance == WorkloadTolerance() && isApproximate)
      own = {.pcc = 0.99, .atol = 1e-3, .rtol = 1e-2};
    else if (!isApproximate)
      own = compare::Tolerance();
    judgements.push_back(compareTensors(fmt::format("result {}", i), results[i], expected[i], own));
  }
  return judgements;
}

std::vector<Judgement> cupel::workload::judgeChecks(const std::vector<Tensor> &results,
                                                    size_t device,
                                                    const std::vector<WorkloadCheck> &checks,
                                                    const std::vector<Tensor> &constants) {
  std::vector<Judgement> judgements;
  for (size_t i = 0; i < checks.size(); ++i) {
    const WorkloadCheck &check = checks[i];
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
    if (check.kind == WorkloadCheck::Kind::Close && !tensor::isFloat(actual.dtype()) &&
        !tensor::isComplex(actual.dtype())) {
      judgements.push_back({false, what,
                            fmt::format("units in the last place are defined for floats alone, not "
                                        "for {}",
                                        tensor::info(actual.dtype()).name)});
      continue;
    }
    compare::Tolerance tolerance = check.kind == WorkloadCheck::Kind::Equal
                                       ? compare::Tolerance::equal()
                                   : check.kind == WorkloadCheck::Kind::AlmostEqual
                                       ? compare::Tolerance::almostEqual(check.tolerance)
                                       : compare::Tolerance::close(check.maxUlps, check.minUlps);
    judgements.push_back(compareTensors(std::move(what), actual, expected, tolerance));
  }
  return judgements;
}
