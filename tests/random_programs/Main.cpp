// Random programs on the compiled device, held against the golden reference: what must be exact has
// the same bits, the rest differs by roundings only, and neither the number of threads nor saving and
// loading shows in the bits. Optimization levels are held against each other.

#include "tests/random_programs/Difference.h"
#include "tests/random_programs/Evaluate.h"
#include "tests/random_programs/Generate.h"

#include "cupel/compiler/Compile.h"
#include "cupel/kernels/EmulatedBlocks.h"
#include "cupel/kernels/Isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace cupel;
using tensor::Tensor;

namespace {

/// Of each replica.
using Results = runtime::ProcessTensors;
using random_programs::Program;
using random_programs::Roundings;

/// Whether a rewrite of the compiler is made wrong on purpose: who finds nothing then looks at nothing.
bool isPlanted = false;
/// Whether products of f32 take bf16 (precision=bf16, or bf16/bf16 for what is kept as well), whoever computes them.
bool isNarrowed = false, isKept = false;

compiler::CompileOptions optionsFor(const Program &program, const char *backend) {
  compiler::CompileOptions options;
  options.wrongRewrite = isPlanted ? 1 : 0;
  options.replicas = int64_t(program.arguments.size());
  options.backend = backend;
  return options;
}

Result<Results> reference(const Program &program, bool wideAccumulation = false) {
  compiler::CompileOptions options = optionsFor(program, "reference");
  options.wideAccumulation = wideAccumulation;
  auto made = compiler::compile(program.text, options);
  if (!made)
    return made.error();
  return (*made)->execute(program.arguments);
}

/// Arguments that nobody else holds: those that are given up may be overwritten.
Result<Results> ownCopies(const Results &given) {
  Results copies(given.size());
  for (size_t replica = 0; replica < given.size(); ++replica)
    for (const Tensor &one : given[replica]) {
      Result<Tensor> copy = Tensor::uninitialized(one.elementType(), {one.shape().begin(), one.shape().end()});
      if (!copy)
        return copy.error();
      if (one.byteSize() > 0)
        std::memcpy(copy->mutableData(), one.data(), size_t(one.byteSize()));
      copies[replica].push_back(std::move(*copy));
    }
  return copies;
}

/// Where bits are others, as text.
std::string firstDifference(const Tensor &a, const Tensor &b) {
  const int64_t bytes = a.size() > 0 ? a.byteSize() / a.size() : 1;
  auto [here, there] = std::mismatch(a.data(), a.data() + a.byteSize(), b.data());
  const int64_t i = (here - a.data()) / std::max<int64_t>(1, bytes);
  auto bits = [&](const Tensor &tensor) {
    std::string text;
    for (int64_t byte = bytes; byte-- > 0;)
      text += fmt::format("{:02x}", unsigned(tensor.data()[i * bytes + byte]));
    return text;
  };
  return fmt::format("at element {} of {}, {} and {}, ", i, a.size(), bits(a), bits(b));
}

/// What differs between runs that must be the same; empty if nothing.
std::string differsFrom(const Results &first, const Results &other) {
  for (size_t replica = 0; replica < first.size(); ++replica)
    for (size_t r = 0; r < first[replica].size(); ++r)
      if (!random_programs::hasSameNumbers(first[replica][r], other[replica][r]))
        return "result " + std::to_string(r) + " differs " + firstDifference(first[replica][r], other[replica][r]);
  return "";
}

/// The same numbers, bit by bit, with any number of threads, from run to run, saved and loaded again, and with arguments
/// that may be overwritten. Most programs are small: without `alwaysCode` little machine code is made for
/// them.
Result<Results> compiled(const Program &program, bool alwaysCode) {
  compiler::CompileOptions options = optionsFor(program, "cpu");
  options.alwaysMakesCode = alwaysCode;
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
    auto results = (isSecond ? *loaded : *made)->execute(program.arguments);
    if (!results)
      return results.error();
    if (std::string what = differsFrom(first, *results); !what.empty())
      return Error{what + (isSecond ? "when it was saved and loaded"
                                    : "with " + std::to_string(threads) + " threads")};
    if (first.empty())
      first = std::move(*results);
  }
  Result<Results> copies = ownCopies(program.arguments);
  if (!copies)
    return copies.error();
  Result<Results> results = (*made)->execute(std::move(*copies));
  if (!results)
    return results.error();
  if (std::string what = differsFrom(first, *results); !what.empty())
    return Error{what + "when arguments may be overwritten"};
  return first;
}

/// Holds results against each other. What roundings alone do to the program is measured once, when
/// somebody asks.
class Comparison {
public:
  Comparison(const Program &program, const Results &expected) : program(program), expected(expected) {}

  std::string operator()(const Results &one, const Results &other, bool isExact = false) {
    for (size_t replica = 0; replica < one.size(); ++replica)
      for (size_t i = 0; i < one[replica].size(); ++i) {
        const Tensor &a = one[replica][i], &b = other[replica][i];
        const Roundings roundings = isExact ? Roundings::None : program.roundings[i];
        std::string what = random_programs::difference(a, b, roundings);
        if (!what.empty() && roundings != Roundings::None) {
          Result<double> noise = noiseOf(i);
          what = noise ? random_programs::difference(a, b, roundings, *noise) : what + "; its noise: " + noise.message();
        }
        if (what.empty())
          continue;
        return "result " + std::to_string(i) + (one.size() > 1 ? " of replica " + std::to_string(replica) : "") + ": " + what;
      }
    return "";
  }

private:
  /// Where numbers cancel, the reference's own roundings may be as large.
  Result<double> noiseOf(size_t result) {
    if (!noise)
      noise = expected.size() > 1 ? noiseOfSums() : random_programs::noiseOf(program.text, program.arguments.front(), expected.front());
    if (!*noise)
      return noise->error();
    return (**noise)[result];
  }

  /// Of several devices, which are not evaluated alone: what it does to add up in a wider type.
  Result<std::vector<double>> noiseOfSums() const {
    Result<Results> wide = reference(program, /*wideAccumulation=*/true);
    if (!wide)
      return wide.error();
    std::vector<double> found(expected.front().size());
    for (size_t replica = 0; replica < expected.size(); ++replica)
      for (size_t i = 0; i < found.size(); ++i)
        found[i] = std::max(found[i], random_programs::largestDistance(expected[replica][i], (*wide)[replica][i]));
    return found;
  }

  const Program &program;
  const Results &expected;
  std::optional<Result<std::vector<double>>> noise;
};

/// Where buffers lie changes no bit; what is fused, roundings at most.
std::string checkLevels(const Program &program, Comparison &comparison) {
  struct Variant {
    const char *name;
    int64_t level, sramBytes;
  };
  std::optional<Results> first;
  for (const Variant &variant : {Variant{"level 1", 1, 0}, Variant{"level 2 with much SRAM", 2, 1 << 24},
                                 Variant{"level 2 with little SRAM", 2, 192}, Variant{"level 0", 0, 0}}) {
    compiler::CompileOptions options = optionsFor(program, "cpu");
    options.level = variant.level;
    options.sramBytes = variant.sramBytes;
    auto made = compiler::compile(program.text, options);
    if (!made)
      return std::string(variant.name) + ": " + made.message();
    auto results = (*made)->execute(program.arguments);
    if (!results)
      return std::string(variant.name) + ": " + results.message();
    if (!first)
      first = std::move(*results);
    else if (std::string what = comparison(*first, *results, variant.level != 0); !what.empty())
      return std::string(variant.name) + " against level 1: " + what;
  }
  return "";
}

/// The program in narrow products, which round what is not exact.
Status narrow(Program &program) {
  Result<std::string> text = random_programs::narrowed(program.text, isKept);
  if (!text)
    return text.error();
  program.text = std::move(*text);
  for (Roundings &one : program.roundings)
    one = one == Roundings::None ? one : Roundings::Narrow;
  return {};
}

std::string check(const Program &program) {
  Result<Results> expected = reference(program);
  if (!expected)
    return "the reference refuses it: " + expected.message();
  Comparison comparison(program, *expected);
  for (bool alwaysCode : {false, true}) {
    Result<Results> actual = compiled(program, alwaysCode);
    std::string what = actual ? comparison(*expected, *actual) : actual.message();
    if (!what.empty())
      return what + (alwaysCode ? " (all of it machine code)" : "");
  }
  return checkLevels(program, comparison);
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

/// Seconds for one program.
constexpr unsigned kMostSeconds = 300, kMostPlantedSeconds = 4;

void reportEndless(int) {
  char text[128];
  int size = std::snprintf(text, sizeof text, "FAILED  seed %llu: does not end within %u s\n0 passed, 1 failed\n", (unsigned long long)currentSeed, kMostSeconds);
  (void)!write(STDOUT_FILENO, text, size_t(size));
  _exit(1);
}

/// In a process of its own: a condition that is made wrong on purpose may be one that never ends a loop.
bool isNoticed(const Program &program) {
  pid_t child = fork();
  if (child == 0) {
    std::signal(SIGALRM, SIG_DFL);
    alarm(kMostPlantedSeconds);
    _exit(check(program).empty() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}

} // namespace

int main(int argc, char **argv) {
  std::optional<kernels::IsaScope> registers;
  for (; argc > 1 && std::string_view(argv[1]).starts_with("--"); --argc, ++argv) {
    const std::string_view option = argv[1];
    if (option == "--registers")
      registers.emplace(kernels::kernelsWithEmulatedBlocks());
    isPlanted |= option == "--planted";
    isKept |= option == "--kept";
    isNarrowed |= option == "--narrowed" || isKept;
  }
  uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  int64_t count = argc > 2 ? std::atoll(argv[2]) : 300;
  if (argc < 2 || argc > 3 || count < 1) {
    std::fputs("usage: cupel_random_programs [--planted] [--narrowed | --kept] [--registers] FIRST_SEED [COUNT]\n"
               "Runs programs of that many seeds; one alone is printed as well. With --planted the compiler\n"
               "rewrites something wrongly, and it passes if that is noticed. With --narrowed products of f32 take bf16, with\n"
               "--kept what they read is bf16 for all that read it, and with --registers kernels have emulated matrix registers.\n",
               stderr);
    return 2;
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE})
    std::signal(signal, reportSeed);
  std::signal(SIGALRM, reportEndless);
  int64_t failed = 0;
  for (int64_t i = 0; i < count; ++i) {
    currentSeed = seed + uint64_t(i);
    random_programs::Program program = random_programs::generate(currentSeed);
    if (Status done = isNarrowed ? narrow(program) : Status(); !done) {
      ++failed;
      std::printf("FAILED  seed %llu: %s\n", (unsigned long long)currentSeed, done.message().c_str());
      continue;
    }
    if (count == 1)
      std::fputs(program.text.c_str(), stdout);
    if (isPlanted) {
      failed += isNoticed(program) ? 1 : 0;
      continue;
    }
    alarm(kMostSeconds);
    std::string what = check(program);
    alarm(0);
    failed += what.empty() ? 0 : 1;
    if (!what.empty())
      std::printf("FAILED  seed %llu: %s\n", (unsigned long long)(seed + uint64_t(i)), what.c_str());
  }
  if (isPlanted) {
    std::printf("the planted rewrite shows in %lld of %lld programs\n%d passed, %d failed\n", (long long)failed, (long long)count, failed > 0, failed == 0);
    return failed > 0 ? 0 : 1;
  }
  std::printf("%lld passed, %lld failed\n", (long long)(count - failed), (long long)failed);
  return failed ? 1 : 0;
}
