// Random programs on the compiled device, held against the golden reference: what must be exact has
// the same bits, the rest differs by roundings only, and twice the same run gives the same bits.

#include "tests/random_programs/Difference.h"
#include "tests/random_programs/Generate.h"

#include "cupel/compiler/Compile.h"

#include <cstdio>
#include <cstdlib>

using namespace cupel;
using tensor::Tensor;

namespace {

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
        if (!random_programs::hasSameBits(first[r], (*results)[0][r]))
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
    if (std::string what = random_programs::difference((*expected)[i], (*actual)[i], program.isExact[i]); !what.empty())
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
