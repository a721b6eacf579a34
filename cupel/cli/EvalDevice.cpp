#include "cupel/cli/EvalDevice.h"

#include "cupel/ir/vhlo/Version.h"
#include "cupel/pjrt/host/PluginErrors.h"
#include "cupel/support/Error.h"
#include "cupel/tensor/Print.h"
#include "cupel/testbench/worker/Comparators.h"
#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/ProgramInputs.h"
#include "cupel/testbench/worker/ProgramReader.h"
#include "cupel/workload/Folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>

namespace cupel::cli {

using namespace testbench::worker;
using tensor::Tensor;
namespace fs = std::filesystem;

namespace {

constexpr const char *kHelp =
    "Runs StableHLO programs on a device and compares the results with the golden reference, or "
    "by\n"
    "the checks of a program that checks itself; or saves them as workload folders.\n"
    "\n"
    "usage: cupel eval FILE|DIR... --device DEVICE [OPTIONS]\n"
    "       cupel eval FILE|DIR... --save-workload DIR [OPTIONS]\n"
    "\n"
    "Options:\n"
    "  --device DEVICE         cupel (our own plugin, with 8 devices), an architecture that it\n"
    "                          presents (n300), the path of a PJRT plugin's .so file, or\n"
    "                          reference; options of the plugin may follow: cupel?num_devices=2\n"
    "  --save-workload DIR     write DIR/NAME with program, inputs and what is expected, which\n"
    "                          cupel-device runs on a machine that has the plugin alone\n"
    "  --versions X.Y.Z,...    of StableHLO to save the program for (newest, 1.13.0, 1.0.0)\n"
    "  --seed N                of random arguments (0)\n"
    "  --timeout SECONDS       for each program (300)\n"
    "  --print                 print the results\n"
    "  --help                  this text\n"
    "\n"
    "Examples:\n"
    "  cupel eval zoo/programs --device cupel\n"
    "  cupel eval model.mlir --device vendor_plugin.so --print\n"
    "  cupel eval tests/ --save-workload cases\n"
    "      then, where the device is: cupel-device run vendor_plugin.so cases/*\n";

struct Options {
  std::vector<std::string> inputs;
  std::string device, saveFolder;
  std::vector<workload::ProgramVersion> versions;
  uint64_t seed = 0;
  double timeout = 300;
  bool print = false, showHelp = false;

  Status parse(const std::vector<std::string> &words);
};

template <typename T> bool parseNumber(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Status parseVersions(const std::string &text, std::vector<workload::ProgramVersion> &versions) {
  for (llvm::StringRef word : llvm::split(text, ',')) {
    std::string problem;
    std::optional<vhlo::Version> version = vhlo::parseTargetVersion(word, problem);
    if (!version)
      return Error{problem};
    versions.push_back({version->major, version->minor, version->patch});
  }
  return {};
}

Status Options::parse(const std::vector<std::string> &words) {
  for (size_t i = 0; i < words.size(); ++i) {
    std::string name = words[i], value;
    if (!name.starts_with("-") || name == "-") {
      inputs.push_back(name);
      continue;
    }
    if (name == "--help" || name == "-h" || name == "--print") {
      (name == "--print" ? print : showHelp) = true;
      continue;
    }
    if (size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    }
    bool good = !value.empty();
    if (name == "--device")
      device = value;
    else if (name == "--save-workload")
      saveFolder = value;
    else if (name == "--seed")
      good = parseNumber(value, seed);
    else if (name == "--timeout")
      good = parseNumber(value, timeout) && timeout > 0;
    else if (name == "--versions") {
      if (Status parsed = parseVersions(value, versions); !parsed)
        return parsed;
    } else
      return Error{"option " + name + " does not go with --device or --save-workload (cupel eval " +
                   "--device cupel --help explains)"};
    if (!good)
      return Error{"'" + value + "' is no value for " + name};
  }
  if (versions.empty())
    versions = {newestVersion(), {1, 13, 0}, {1, 0, 0}};
  if (inputs.empty() && !showHelp)
    return Error{"no program was named"};
  return {};
}

Result<std::vector<std::string>> collectFiles(const std::vector<std::string> &inputs) {
  std::vector<std::string> files;
  for (const std::string &input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      files.push_back(input);
      continue;
    }
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator it(input, error), end; !error && it != end;
         it.increment(error)) {
      std::string extension = it->path().extension();
      if (extension == ".mlir" || extension == ".mlirbc" || extension == ".bc")
        found.push_back(it->path());
    }
    if (error)
      return Error{input + ": " + error.message()};
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty())
    return Error{"no .mlir, .mlirbc or .bc file lies there"};
  return files;
}

class DeviceRun {
public:
  explicit DeviceRun(const Options &options) : options(options) {}

  Status open() {
    Result<std::unique_ptr<Device>> golden = openDevice("reference");
    if (!golden)
      return golden.error();
    reference = std::move(*golden);
    if (options.device.empty())
      return {};
    Result<std::unique_ptr<Device>> opened = openDevice(options.device);
    if (!opened)
      return opened.error();
    device = std::move(*opened);
    return {};
  }

  /// Every program of a file.
  void file(const std::string &path) {
    for (uint32_t part = 0;; ++part) {
      Result<std::string> bytes = reader.load(path, part);
      if (!bytes) {
        // Past the last of several; a file that cannot be read fails at its first.
        if (part == 0)
          tell(path, Error{bytes.message()});
        return;
      }
      tell(path, program(*bytes, path, part));
    }
  }

  size_t passed = 0, failed = 0;

private:
  bool hasPart(const std::string &path, uint32_t part) {
    return static_cast<bool>(reader.load(path, part));
  }

  void tell(const std::string &path, const Status &status) {
    if (status) {
      ++passed;
      return;
    }
    ++failed;
    bool named = status.message().starts_with(path);
    reportError("eval", named ? status.message() : path + ": " + status.message(), kExitFailure);
  }

  Status program(const std::string &bytes, const std::string &path, uint32_t part) {
    auto read = reader.read(bytes, path);
    if (!read)
      return read.error();
    const Program &program = (*read)->program;
    Result<std::vector<Tensor>> inputs = inputsFor(program, path, part, options.seed);
    if (!inputs)
      return inputs.error();
    Result<std::optional<std::vector<Tensor>>> beside = expectedFor(program, path, part);
    if (!beside)
      return beside.error();
    // What it should give: its own checks, the file beside it, or what the reference computes.
    std::vector<Tensor> expected;
    if (*beside) {
      expected = std::move(**beside);
    } else if (!program.selfChecking) {
      Result<std::vector<Tensor>> golden = runOn(*reference, program, *inputs);
      if (!golden)
        return Error{"the reference: " + golden.error().message};
      expected = std::move(*golden);
    }
    if (!options.saveFolder.empty())
      if (Status saved = save(program, path, part, *inputs, expected); !saved)
        return saved;
    if (!device)
      return {};

    Result<std::vector<Tensor>> outputs = runOn(*device, program, *inputs);
    if (!outputs)
      return Error{std::string(name(outputs.error().code)) + ": " + outputs.error().message};
    if (options.print)
      for (const Tensor &output : *outputs)
        llvm::outs() << tensor::tensorText(output) << "\n";
    if (program.selfChecking && !*beside)
      return {};
    if (outputs->size() != expected.size())
      return Error{"there are " + std::to_string(outputs->size()) + " results, and " +
                   std::to_string(expected.size()) + " are expected"};
    for (size_t i = 0; i < outputs->size(); ++i) {
      auto comparison =
          compareOutput(static_cast<uint32_t>(i), (*outputs)[i], expected[i], Comparators());
      if (!comparison)
        return comparison.error();
      if (!comparison->passed)
        return Error{"result " + std::to_string(i) + ": " + comparison->sentence};
    }
    return {};
  }

  Result<std::vector<Tensor>> runOn(Device &device, const Program &program,
                                    const std::vector<Tensor> &inputs) {
    Budget budget;
    budget.deadline = pjrt::deadlineIn(options.timeout);
    budget.seed = options.seed;
    Result<std::unique_ptr<Executable>> executable = device.compile(program, budget);
    if (!executable)
      return executable.error();
    return (*executable)->run(inputs, budget);
  }

  Status save(const Program &program, const std::string &path, uint32_t part,
              const std::vector<Tensor> &inputs, const std::vector<Tensor> &expected) {
    Result<DeviceProgram> prepared = prepareForDevice(program, options.versions);
    if (!prepared)
      return Error{prepared.error().message};
    workload::Workload workload;
    std::string stem = fs::path(path).filename().string();
    for (std::string_view extension : {".bc", ".mlirbc", ".mlir"})
      if (stem.ends_with(extension) && stem.size() > extension.size())
        stem.resize(stem.size() - extension.size());
    workload.name = part == 0 && !hasPart(path, 1) ? stem : stem + "-" + std::to_string(part);
    workload.inputs = {inputs};
    // Where checks judge, results of the program's own need not be known.
    if (!expected.empty() && prepared->workload.checks.empty() && !prepared->gridResults)
      workload.expected = {expected};
    Result<workload::Workload> whole = prepared->complete(workload);
    if (!whole)
      return whole.error();
    return workload::writeWorkload((fs::path(options.saveFolder) / workload.name).string(),
                                   *whole);
  }

  const Options &options;
  ProgramReader reader;
  std::unique_ptr<Device> reference, device;
};

} // namespace

bool asksForDevice(const std::vector<std::string> &words) {
  return std::ranges::any_of(words, [](const std::string &word) {
    return word == "--device" || word.starts_with("--device=") || word == "--save-workload" ||
           word.starts_with("--save-workload=");
  });
}

int runEvalOnDevice(const std::vector<std::string> &words) {
  Options options;
  if (Status parsed = options.parse(words); !parsed)
    return reportError("eval", parsed.message(), kExitUsage);
  if (options.showHelp) {
    llvm::outs() << kHelp;
    return kExitSuccess;
  }
  Result<std::vector<std::string>> files = collectFiles(options.inputs);
  if (!files)
    return reportError("eval", files.message(), kExitUsage);
  DeviceRun run(options);
  if (Status opened = run.open(); !opened)
    return reportError("eval", opened.message(), kExitUsage);
  for (const std::string &file : *files)
    run.file(file);
  llvm::outs() << run.passed << (options.device.empty() ? " saved, " : " passed, ") << run.failed
               << " failed\n";
  return run.failed ? kExitFailure : kExitSuccess;
}

} // namespace cupel::cli
