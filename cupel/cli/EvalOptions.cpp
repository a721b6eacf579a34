#include "cupel/cli/EvalOptions.h"

#include <algorithm>
#include <charconv>
#include <thread>
#include <unistd.h>

namespace cupel::cli {

const char *EvalOptions::help() {
  return "Runs StableHLO programs on the golden reference. A program that checks itself passes, "
         "or\n"
         "the first check that fails is told with its location and values. Files may hold several\n"
         "programs, separated by '// -----'; of a folder every .mlir, .mlirbc and .bc file below "
         "it\n"
         "is run, in processes of their own: one that crashes costs itself alone. Ends with the\n"
         "number of programs that passed and failed.\n"
         "\n"
         "usage: cupel eval FILE|DIR... [OPTIONS]\n"
         "       cupel eval FILE|DIR... --device DEVICE      on a device; see --device cupel "
         "--help\n"
         "       cupel eval FILE|DIR... --save-workload DIR  for a machine that has a device\n"
         "\n"
         "Options:\n"
         "  --entry NAME            the function to run (main, or the only one)\n"
         "  --args VALUE...         its arguments: random, zeros, FILE.npy or 'dense<...>'; one\n"
         "                          value alone stands for all arguments. random:2x3 says the\n"
         "                          shape where the type leaves it open, random:?=2 each open\n"
         "                          size. The last ones, if NAME.weights.safetensors beside the\n"
         "                          program has their names, are taken from there\n"
         "  --seed N                of random arguments and of stablehlo.rng (0)\n"
         "  --print                 print the results\n"
         "  --save DIR              write the results there as resultN.npy\n"
         "  --processes RxP         run R replicas of P partitions side by side (1x1)\n"
         "  --accumulate f64|native how sums and products of floats are formed (native: in the\n"
         "                          program's own types, step by step)\n"
         "  --trace WHICH           print values as they are computed: all, an operation's name\n"
         "                          (stablehlo.add), line:N, or its number #N; at most 1024\n"
         "                          elements of each\n"
         "  --probes DIR            where interpreter.probe writes\n"
         "  --max-memory SIZE       of a process, such as 4G (80 % of the machine's, divided by "
         "the\n"
         "                          number of files at a time)\n"
         "  --max-steps N           operations a program may execute (no limit)\n"
         "  --timeout SECONDS       for each program (no limit)\n"
         "  -j, --jobs N            files at a time, each in a process of its own (all cores)\n"
         "  --threads N             for the operations of one program (all cores; 1 where several\n"
         "                          files run side by side); results do not depend on it\n"
         "  --help                  this text\n"
         "\n"
         "Examples:\n"
         "  cupel eval tests/\n"
         "      run all self-checking programs below a folder\n"
         "  cupel eval model.mlir --args random --seed 7 --print\n"
         "      random inputs, the same for the same seed\n"
         "  cupel eval model.mlir --args x.npy 'dense<1.0>' --save out\n"
         "      given inputs, results as NumPy files\n"
         "  cupel eval sharded.mlir --processes 2x1\n"
         "      two replicas, which meet in collectives\n"
         "  cupel eval model.mlir --device vendor_plugin.so\n"
         "      through a PJRT plugin, compared with the reference\n";
}

namespace {

template <typename T> bool parseNumber(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Where the values of --args end.
bool isOption(const std::string &word) { return word.starts_with("--") || word.starts_with("-j"); }

bool parseSize(std::string_view text, int64_t &value) {
  int shift = 0;
  if (!text.empty()) {
    size_t unit = std::string_view("KMGT").find(static_cast<char>(std::toupper(text.back())));
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  return parseNumber(text, value) && value > 0 && value < (int64_t(1) << (62 - shift)) &&
         ((value <<= shift), true);
}

} // namespace

Status EvalOptions::parse(int argc, char **argv) {
  jobs = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::string> words(argv + 1, argv + argc);
  for (size_t i = 0; i < words.size(); ++i) {
    std::string name = words[i], value;
    bool hasValue = false;
    if (name.starts_with("-j") && !name.starts_with("--")) { // -j 4, -j4, -j=4
      value = name.substr(std::min<size_t>(name.size(), name.starts_with("-j=") ? 3 : 2));
      hasValue = name.size() > 2;
      name = "--jobs";
    }
    if (!name.starts_with("--")) {
      if (name.starts_with("-") && name != "-" && name != "-h")
        return Error{"unknown option " + name + " (cupel eval --help explains)"};
      if (name == "-h")
        showHelp = true;
      else
        inputs.push_back(name);
      continue;
    }
    if (size_t equals = name.find('='); !hasValue && equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      hasValue = true;
    }
    if (name == "--help") {
      showHelp = true;
      continue;
    }
    if (name == "--print") {
      print = true;
      continue;
    }
    if (name == "--args") {
      if (hasValue)
        args.push_back(value);
      else
        while (i + 1 < words.size() && !isOption(words[i + 1]))
          args.push_back(words[++i]);
      continue;
    }
    if (!hasValue) {
      if (i + 1 == words.size())
        return Error{name + " needs a value (cupel eval --help explains)"};
      value = words[++i];
    }
    bool good = !value.empty();
    if (name == "--entry")
      entry = value;
    else if (name == "--save")
      saveFolder = value;
    else if (name == "--trace")
      trace = value;
    else if (name == "--probes")
      run.probeFolder = value;
    else if (name == "--seed")
      good = parseNumber(value, run.seed);
    else if (name == "--jobs")
      good = parseNumber(value, jobs) && jobs > 0 && jobs <= 1024;
    else if (name == "--threads")
      good = parseNumber(value, run.threads) && run.threads > 0 && run.threads <= 256;
    else if (name == "--max-steps")
      good = parseNumber(value, run.maxSteps) && run.maxSteps > 0;
    else if (name == "--max-memory")
      good = parseSize(value, run.maxMemory);
    else if (name == "--timeout")
      good = parseNumber(value, run.timeoutSeconds) && run.timeoutSeconds > 0;
    else if (name == "--accumulate") {
      good = value == "f64" || value == "native";
      run.accumulate = value == "f64" ? reference::Accumulate::Wide : reference::Accumulate::Native;
    } else if (name == "--processes") {
      size_t by = value.find('x');
      good = by != std::string::npos && parseNumber(value.substr(0, by), replicas) &&
             parseNumber(value.substr(by + 1), partitions) && replicas > 0 && partitions > 0 &&
             uint64_t(replicas) * partitions <= 4096;
    } else {
      return Error{"unknown option " + name + " (cupel eval --help explains)"};
    }
    if (!good)
      return Error{"'" + value + "' is no value for " + name + " (cupel eval --help explains)"};
  }
  if (inputs.empty() && !showHelp)
    return Error{"no FILE or DIR was given (cupel eval --help explains)"};
  return {};
}

void EvalOptions::divideMemory(unsigned processes) {
  if (!run.maxMemory)
    run.maxMemory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 5 * 4 /
                    std::max(1u, processes);
}

} // namespace cupel::cli
