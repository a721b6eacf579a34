#include "tests/fuzz/Frame.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace cupel::fuzz;

Frame::Frame(std::string program, std::string paths)
    : program(std::move(program)), pathsText(std::move(paths)),
      begin(std::chrono::steady_clock::now()) {}

void Frame::flag(std::string name, bool &value) { flags.emplace_back(std::move(name), &value); }

void Frame::number(std::string name, uint64_t &value) {
  numbers.emplace_back(std::move(name), &value);
}

void Frame::usage(std::string_view problem) const {
  std::string further;
  for (const auto &[name, value] : flags)
    further += " [" + name + "]";
  for (const auto &[name, value] : numbers)
    further += " [" + name + " N]";
  std::fprintf(stderr,
               "%s: %.*s\n"
               "usage: %s %s [--seed N] [--jobs N] [--seconds N] [--save FOLDER] "
               "[--only N [--count N]]%s\n",
               program.c_str(), int(problem.size()), problem.data(), program.c_str(),
               pathsText.c_str(), further.c_str());
  std::exit(2);
}

void Frame::parse(int argumentCount, char **arguments) {
  uint64_t jobs = options.jobs, seconds = uint64_t(options.secondsPerInput), first = 0;
  auto known = numbers;
  known.insert(known.end(), {{"--seed", &seed},
                             {"--jobs", &jobs},
                             {"--seconds", &seconds},
                             {"--only", &first},
                             {"--count", &count}});
  auto named = [](const auto &list, std::string_view name) {
    return std::find_if(list.begin(), list.end(),
                        [&](const auto &entry) { return entry.first == name; });
  };
  for (int i = 1; i < argumentCount; ++i) {
    std::string argument = arguments[i];
    if (auto flag = named(flags, argument); flag != flags.end()) {
      *flag->second = true;
    } else if (auto number = named(known, argument); number != known.end()) {
      if (++i == argumentCount)
        usage(argument + " wants a number");
      const char *text = arguments[i];
      auto [end, error] = std::from_chars(text, text + std::strlen(text), *number->second);
      if (error != std::errc() || *end)
        usage(argument + " wants a number, not '" + text + "'");
      if (argument == "--only")
        only = first;
    } else if (argument == "--save") {
      if (++i == argumentCount)
        usage("--save wants a folder");
      options.saveTo = arguments[i];
    } else if (argument.starts_with("-")) {
      usage("unknown option '" + argument + "'");
    } else {
      paths.push_back(std::move(argument));
    }
  }
  if (paths.empty())
    usage("wants " + pathsText);
  if (jobs == 0 || jobs > 1024)
    usage("--jobs wants 1 to 1024");
  options.jobs = unsigned(jobs);
  options.secondsPerInput = double(seconds);
}

int Frame::run(const InputSource &inputs, const Reader &reader) const {
  static constexpr const char *names[kOutcomes] = {"valid", "refused by the guard", "refused",
                                                   "refused without a message"};
  if (only) {
    uint64_t end = *only + std::min(count, inputs.size() - std::min(*only, inputs.size()));
    for (uint64_t number = *only; number < end; ++number) {
      Input input = inputs.make(number);
      Outcome outcome = reader(input);
      std::printf("%s: %s\n", input.name.c_str(), names[unsigned(outcome)]);
    }
    return 0;
  }
  Summary summary = cupel::fuzz::run(inputs, reader, options);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const auto &[kind, counts] : summary.counts)
    std::printf("%-14s %6llu valid, %6llu refused by the guard, %6llu refused\n", kind.c_str(),
                static_cast<unsigned long long>(counts[0]),
                static_cast<unsigned long long>(counts[1]),
                static_cast<unsigned long long>(counts[2]));
  std::printf(
      "fuzz: %llu inputs, %zu failed, seed %llu, %.1f s, at most %llu MiB, slowest %.2f s (%s)\n",
      static_cast<unsigned long long>(inputs.size()), summary.failures.size(),
      static_cast<unsigned long long>(seed), seconds,
      static_cast<unsigned long long>(summary.largestMemory >> 20), summary.longest,
      summary.longestName.c_str());
  return summary.failures.empty() ? 0 : 1;
}
