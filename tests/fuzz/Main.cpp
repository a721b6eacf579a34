// cupel_fuzz FOLDER... [--quick] [--seed N] [--jobs N] [--save FOLDER] [--only N] [--no-guard]
//
// Reads damaged programs made from the *.mlir and *.mlir.bc below the folders, as Cupel reads
// programs. Each must end in a message or a sound module: no crash, no hang, no more than 1 GiB.
// Exits with 1 if any did not. `--only N` reads that input (with `--count N` so many from there on)
// in this process, for a debugger;
// `--as-bytecode` also takes each text that reads as bytecode of every version.
#include "tests/fuzz/Target.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

using namespace cupel::fuzz;

namespace {
struct Options {
  std::vector<std::string> folders;
  Amounts amounts;
  RunOptions run;
  TargetOptions target;
  uint64_t seed = 1;
  bool only = false;
  uint64_t number = 0, count = 1;
  uint64_t largest = 64 << 10;
  bool asBytecode = false;
};

[[noreturn]] void usage(const char *problem) {
  std::fprintf(stderr,
               "cupel_fuzz: %s\n"
               "usage: cupel_fuzz FOLDER... [--quick] [--seed N] [--jobs N] [--save FOLDER] "
               "[--only N [--count N]] [--largest BYTES]\n"
               "                  [--seconds N] [--as-bytecode] [--no-guard] [--verbose]\n",
               problem);
  std::exit(2);
}

Options parse(int count, char **arguments) {
  Options options;
  auto number = [&](int &i) {
    uint64_t value = 0;
    if (++i == count)
      usage("a number is missing");
    auto [end, error] =
        std::from_chars(arguments[i], arguments[i] + std::strlen(arguments[i]), value);
    if (error != std::errc() || *end)
      usage("not a number");
    return value;
  };
  for (int i = 1; i < count; ++i) {
    std::string_view argument = arguments[i];
    if (argument == "--quick")
      options.amounts = Amounts::quick();
    else if (argument == "--seed")
      options.seed = number(i);
    else if (argument == "--jobs")
      options.run.jobs = unsigned(number(i));
    else if (argument == "--largest")
      options.largest = number(i);
    else if (argument == "--seconds")
      options.run.secondsPerInput = double(number(i));
    else if (argument == "--save")
      options.run.saveTo = ++i < count ? arguments[i] : "";
    else if (argument == "--as-bytecode")
      options.asBytecode = true;
    else if (argument == "--no-guard")
      options.target.guard = false;
    else if (argument == "--verbose")
      options.target.verbose = true;
    else if (argument == "--only")
      options.only = true, options.number = number(i);
    else if (argument == "--count")
      options.count = number(i);
    else if (argument.starts_with("-"))
      usage("unknown option");
    else
      options.folders.emplace_back(argument);
  }
  if (options.folders.empty())
    usage("name at least one folder");
  return options;
}
} // namespace

int main(int count, char **arguments) {
  Options options = parse(count, arguments);
  auto begin = std::chrono::steady_clock::now();
  std::vector<CorpusFile> corpus = readCorpus(options.folders, options.largest);
  if (options.asBytecode) {
    std::vector<CorpusFile> more;
    for (const CorpusFile &file : corpus)
      if (!file.bytecode)
        for (CorpusFile &written : asBytecode(file))
          more.push_back(std::move(written));
    std::move(more.begin(), more.end(), std::back_inserter(corpus));
  }
  Inputs inputs(std::move(corpus), options.amounts, options.seed);
  if (inputs.size() == 0)
    usage("no *.mlir or *.mlir.bc in the folders");

  for (uint64_t number = options.number; options.only && number < options.number + options.count;
       ++number) {
    Input input = inputs.make(number);
    static constexpr const char *outcomes[] = {"valid", "refused by the guard", "refused",
                                               "refused without a message"};
    std::printf("%s: %s\n", input.name.c_str(),
                outcomes[unsigned(readProgram(input, options.target))]);
  }
  if (options.only)
    return 0;

  Reader reader = [&](const Input &input) { return readProgram(input, options.target); };
  Summary summary = run(inputs, reader, options.run);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const auto &[kind, counts] : summary.counts)
    std::printf(
        "%-14s %6llu valid, %6llu refused by the guard, %6llu refused by MLIR or a dialect\n",
        kind.c_str(), static_cast<unsigned long long>(counts[0]),
        static_cast<unsigned long long>(counts[1]), static_cast<unsigned long long>(counts[2]));
  std::printf(
      "fuzz: %llu inputs, %zu failed, seed %llu, %.1f s, at most %llu MiB, slowest %.2f s (%s)\n",
      static_cast<unsigned long long>(inputs.size()), summary.failures.size(),
      static_cast<unsigned long long>(options.seed), seconds,
      static_cast<unsigned long long>(summary.largestMemory >> 20), summary.longest,
      summary.longestName.c_str());
  return summary.failures.empty() ? 0 : 1;
}
