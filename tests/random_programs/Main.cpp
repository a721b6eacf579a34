// Random programs on the compiled device, held against the golden reference: what must be exact has
// the same bits, the rest differs by roundings only, and neither the number of threads nor saving and
// loading shows in the bits. Optimization levels are held against each other.

#include "tests/random_programs/Difference.h"
#include "tests/random_programs/Evaluate.h"
#include "tests/random_programs/Generate.h"

#include "cupel/compiler/Compile.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace cupel;
using tensor::Tensor;

namespace {

using Results = std::vector<Tensor>;

Result<Results> reference(const random_programs::Program &program) {
  auto made = compiler::compile(program.text, {});
  if (!made)
    return made.error();
  auto results = (*made)->execute({program.arguments});
  if (!results)
    return results.error();
  return std::move((*results)[0]);
}

/// The same bits with any number of threads, from run to run, and saved and loaded again. Most programs
/// are small: without `alwaysCode` little machine code is made for them.
Result<Results> compiled(const random_programs::Program &program, bool alwaysCode) {
  compiler::CompileOptions options;
  options.alwaysMakesCode = alwaysCode;
  options.backend = "cpu";
  auto made = compiler::compile(program.text, options);
  if (!made)
    return made.error();
  auto loaded = compiler::deserialize((*made)->serialize());
  if (!loaded)
    return loaded.error().within("saved and loaded");
  Results first;
  for (int threads : {1, 1, 2, 3, 7}) {
    compiler::useThreads(threads, /*always=*/true);
    bool isSecond = threads == 1 && !first.empty();
    auto results = (isSecond ? *loaded : *made)->execute({program.arguments});
    if (!results)
      return results.error();
    for (size_t r = 0; r < first.size(); ++r)
      if (!random_programs::hasSameBits(first[r], (*results)[0][r]))
        return Error{"result " + std::to_string(r) + " differs " +
                     (isSecond ? "when it was saved and loaded"
                               : "with " + std::to_string(threads) + " threads")};
    if (first.empty())
      first = std::move((*results)[0]);
  }
  return first;
}

std::string check(const random_programs::Program &program, const Results &expected,
                  bool alwaysCode) {
  Result<Results> actual = compiled(program, alwaysCode);
  if (!actual)
    return actual.message();
  std::optional<Result<std::vector<double>>> noise;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor &one = expected[i], &other = (*actual)[i];
    std::string what = random_programs::difference(one, other, program.isExact[i]);
    if (what.empty())
      continue;
    // Where numbers cancel, the reference's own roundings may be as large: they are measured.
    if (!noise)
      noise = random_programs::noiseOf(program.text, program.arguments, expected);
    if (program.isExact[i] || !random_programs::difference(one, other, false, *noise ? (**noise)[i] : 0).empty())
      return "result " + std::to_string(i) + ": " + what;
  }
  return "";
}

/// Where buffers lie changes no bit; what is fused, roundings at most.
std::string checkLevels(const random_programs::Program &program, const Results &expected) {
  struct Variant {
    const char *name;
    int64_t level, sramBytes;
  };
  std::optional<Results> first;
  std::optional<Result<std::vector<double>>> noise;
  for (const Variant &variant : {Variant{"level 1", 1, 0}, Variant{"level 2 with much SRAM", 2, 1 << 24},
                                 Variant{"level 2 with little SRAM", 2, 192}, Variant{"level 0", 0, 0}}) {
    compiler::CompileOptions options;
    options.backend = "cpu";
    options.level = variant.level;
    options.sramBytes = variant.sramBytes;
    auto made = compiler::compile(program.text, options);
    if (!made)
      return std::string(variant.name) + ": " + made.message();
    auto results = (*made)->execute({program.arguments});
    if (!results)
      return std::string(variant.name) + ": " + results.message();
    if (!first) {
      first = std::move((*results)[0]);
      continue;
    }
    for (size_t i = 0; i < first->size(); ++i) {
      const Tensor &one = (*first)[i], &other = (*results)[0][i];
      std::string what = random_programs::difference(one, other, variant.level != 0 || program.isExact[i]);
      if (!what.empty() && variant.level == 0 && !program.isExact[i]) {
        if (!noise)
          noise = random_programs::noiseOf(program.text, program.arguments, expected);
        what = random_programs::difference(one, other, false, *noise ? (**noise)[i] : 0);
      }
      if (!what.empty())
        return "result " + std::to_string(i) + " at " + variant.name + " and at level 1: " + what;
    }
  }
  return "";
}

std::string check(const random_programs::Program &program) {
  Result<Results> expected = reference(program);
  if (!expected)
    return "the reference refuses it: " + expected.message();
  for (bool alwaysCode : {false, true})
    if (std::string what = check(program, *expected, alwaysCode); !what.empty())
      return what + (alwaysCode ? " (all of it machine code)" : "");
  return checkLevels(program, *expected);
}

uint64_t currentSeed = 0;

/// Says which program it was that touched memory it has no business with (CUPEL_GUARD_PAGES).
void reportSeed(int signal) {
  char text[128];
  int size = std::snprintf(text, sizeof text, "FAILED  seed %llu: ended by signal %d\n0 passed, 1 failed\n",
                           (unsigned long long)currentSeed, signal);
  (void)!write(STDOUT_FILENO, text, size_t(size));
  _exit(1);
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
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE})
    std::signal(signal, reportSeed);
  int64_t failed = 0;
  for (int64_t i = 0; i < count; ++i) {
    currentSeed = seed + uint64_t(i);
    random_programs::Program program = random_programs::generate(currentSeed);
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
