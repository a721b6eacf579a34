// Comparison for the C API: the one that runs and tests use.

#include "cupel/capi/Errors.h"
#include "cupel/capi/Tensors.h"
#include "cupel/compare/Defaults.h"
#include "cupel/compare/Noise.h"
#include "cupel/compare/Strict.h"
#include "cupel/compare/Verdict.h"

#include <limits>
#include <string_view>

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

double cupel_comparator_default(const char *name) {
  constexpr std::pair<std::string_view, double> kDefaults[] = {
      {"required_pcc", compare::kDefaultPcc},
      {"required_atol", compare::kDefaultAtol},
      {"model_required_atol", compare::kDefaultModelAtol},
      {"allclose_rtol", compare::kDefaultAllcloseRtol},
      {"allclose_atol", compare::kDefaultAllcloseAtol},
      {"captured_share", compare::kCapturedShare},
      {"tells_little", compare::kTellsLittle}};
  for (const auto &[known, value] : kDefaults)
    if (known == name)
      return value;
  return std::numeric_limits<double>::quiet_NaN();
}

int cupel_judge_without_noise(const CupelTensor *actual, const CupelTensor *expected,
                              const char *precision, char **sentence, char **error) {
  Result<tensor::Tensor> a = capi::borrowed(*actual), e = capi::borrowed(*expected);
  Result<compare::DevicePrecision> declared = compare::DevicePrecision::parse(precision);
  if (!a || !e || !declared) {
    capi::failed(error, !declared ? declared.message() : a ? e.message() : a.message());
    return -1;
  }
  Result<compare::NoiseVerdict> verdict = compare::checkWithoutNoise(*a, *e, *declared);
  if (!verdict) {
    capi::failed(error, verdict.message());
    return -1;
  }
  *sentence = strdup(verdict->sentence.c_str());
  return verdict->passed ? 1 : 0;
}
