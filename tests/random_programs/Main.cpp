// Random programs on the compiled device, held against the golden reference: what must be exact has
// the same bits, the rest differs by roundings only, and twice the same run gives the same bits.

#include "tests/random_programs/Generate.h"

#include "cupel/compiler/Compile.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace cupel;
using tensor::DType;
using tensor::Tensor;

namespace {

/// Of the largest number of the result, or of the numbers of about size one that a small one is the
/// difference of.
constexpr double kTolerance = 2e-4, kNarrowTolerance = 0.05, kLeastScale = 0.1;

double numberAt(const Tensor &tensor, int64_t i) {
  switch (tensor.dtype()) {
  case DType::F32: return double(tensor.dataAs<float>()[i]);
  case DType::F64: return tensor.dataAs<double>()[i];
  default: {
    uint32_t bits = uint32_t(tensor.dataAs<uint16_t>()[i]) << 16;
    float wide;
    std::memcpy(&wide, &bits, sizeof wide);
    return double(wide);
  }
  }
}

bool hasSameBits(const Tensor &a, const Tensor &b) {
  return a.byteSize() == b.byteSize() &&
         (a.byteSize() == 0 || std::memcmp(a.data(), b.data(), size_t(a.byteSize())) == 0);
}

/// Empty if all is well.
std::string difference(const Tensor &expected, const Tensor &actual, bool isExact) {
  if (expected.dtype() != actual.dtype() || !std::ranges::equal(expected.shape(), actual.shape()))
    return "another type or shape";
  if (hasSameBits(expected, actual))
    return "";
  if (!tensor::isFloat(expected.dtype()))
    return "other integers";
  double scale = kLeastScale;
  for (int64_t i = 0; i < expected.size(); ++i)
    if (double number = std::abs(numberAt(expected, i)); std::isfinite(number))
      scale = std::max(scale, number);
  double limit = scale * (expected.dtype() == DType::BF16 ? kNarrowTolerance : kTolerance);
  for (int64_t i = 0; i < expected.size(); ++i) {
    double a = numberAt(expected, i), b = numberAt(actual, i);
    bool isSame = (std::isnan(a) && std::isnan(b)) || a == b;
    // NaN has many bits, and which of them an operation gives is left open.
    if (isExact ? !isSame : !isSame && !(std::abs(a - b) <= limit))
      return "element " + std::to_string(i) + " is " + std::to_string(b) + " and not " +
             std::to_string(a) + (isExact ? ", which is exact" : "");
  }
  return "";
}

Result<std::vector<Tensor>> run(const random_programs::Program &program, const char *backend,
                                int times) {
  compiler::CompileOptions options;
  options.backend = backend;
  auto made = compiler::compile(program.text, options);
  if (!made)
    return made.error();
  std::vector<Tensor> first;
  for (int i = 0; i < times; ++i) {
    auto results = (*made)->execute({program.arguments});
    if (!results)
      return results.error();
    if (i > 0)
      for (size_t r = 0; r < first.size(); ++r)
        if (!hasSameBits(first[r], (*results)[0][r]))
          return Error{"result " + std::to_string(r) + " differs from run to run"};
    first = std::move((*results)[0]);
  }
  return first;
}

std::string check(const random_programs::Program &program) {
  auto expected = run(program, "reference", 1);
  if (!expected)
    return "the reference refuses it: " + expected.message();
  auto actual = run(program, "cpu", 2);
  if (!actual)
    return actual.message();
  for (size_t i = 0; i < expected->size(); ++i)
    if (std::string what = difference((*expected)[i], (*actual)[i], program.isExact[i]); !what.empty())
      return "result " + std::to_string(i) + ": " + what;
  return "";
}

} // namespace

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  int64_t count = argc > 2 ? std::atoll(argv[2]) : 300;
  if (argc < 2 || argc > 3 || count < 1) {
    std::fputs("usage: cupel_random_programs FIRST_SEED [COUNT]\n"
               "Runs programs of that many seeds; one alone is printed as well.\n",
               stderr);
    return 2;
  }
  int64_t failed = 0;
  for (int64_t i = 0; i < count; ++i) {
    random_programs::Program program = random_programs::generate(seed + uint64_t(i));
    if (count == 1)
      std::fputs(program.text.c_str(), stdout);
    std::string what = check(program);
    failed += what.empty() ? 0 : 1;
    if (!what.empty())
      std::printf("FAILED  seed %llu: %s\n", (unsigned long long)(seed + uint64_t(i)), what.c_str());
  }
  std::printf("%lld passed, %lld failed\n", (long long)(count - failed), (long long)failed);
  return failed ? 1 : 0;
}
