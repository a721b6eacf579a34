// Comparison for the C API: the one that runs and tests use.

#include "cupel/capi/Errors.h"
#include "cupel/capi/Tensors.h"
#include "cupel/compare/Verdict.h"

using namespace cupel;

int cupel_compare(const CupelTensor *actual, const CupelTensor *expected, CupelTolerance tolerance,
                  char **sentence, char **error) {
  Result<tensor::Tensor> a = capi::borrowed(*actual), e = capi::borrowed(*expected);
  if (!a || !e) {
    capi::failed(error, a ? e.message() : a.message());
    return -1;
  }
  compare::Tolerance bounds;
  auto bound = [](double number) {
    return number < 0 ? std::optional<double>() : std::optional<double>(number);
  };
  bounds.pcc = bound(tolerance.pcc);
  bounds.atol = bound(tolerance.atol);
  bounds.rtol = bound(tolerance.rtol);
  Result<compare::Verdict> verdict = compare::check(*a, *e, bounds);
  if (!verdict) {
    capi::failed(error, verdict.message());
    return -1;
  }
  *sentence = strdup(verdict->sentence.c_str());
  return verdict->passed ? 1 : 0;
}
