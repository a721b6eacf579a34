// cupel_onnx_fuzz FOLDER... [--seed N] [--jobs N] [--quick] [--save FOLDER] [--only N [--count N]]
//
// Imports damaged ONNX models: some made by hand, the others from the *.onnx below the folders.
// Each must end in a module that verifies or in a message that says what is wrong: no crash, no
// hang, no more than 1 GiB. Exits with 1 if any did not. `--only N` imports that input (with
// `--count N` so many from there on) in this process and prints what is said, for a debugger.
#include "tests/fuzz/OnnxInputs.h"
#include "tests/fuzz/Runner.h"

#include "cupel/frontends/onnx/Import.h"
#include "cupel/ir/Dialects.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

using namespace cupel::fuzz;
namespace onnx_import = cupel::frontends::onnx_import;

namespace {

struct Options {
  std::vector<std::string> folders;
  OnnxAmounts amounts;
  RunOptions run;
  uint64_t seed = 1, largest = 16 << 10;
  std::optional<uint64_t> only;
  uint64_t count = 1;
};

[[noreturn]] void usage(const char *problem) {
  std::fprintf(stderr,
               "cupel_onnx_fuzz: %s\n"
               "usage: cupel_onnx_fuzz FOLDER... [--seed N] [--jobs N] [--quick] [--save FOLDER] "
               "[--largest BYTES] [--only N [--count N]]\n",
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
      options.amounts = {300, 300, 300, 900};
    else if (argument == "--seed")
      options.seed = number(i);
    else if (argument == "--jobs")
      options.run.jobs = unsigned(number(i));
    else if (argument == "--largest")
      options.largest = number(i);
    else if (argument == "--save")
      options.run.saveTo = ++i < count ? arguments[i] : "";
    else if (argument == "--only")
      options.only = number(i);
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

std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  cupel::ir::registerAllDialects(registry);
  auto context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

Outcome import(const Input &input, const std::string &folder, bool verbose,
               mlir::MLIRContext &context) {
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
  std::string message;
  if (auto model = onnx_import::Model::parse(input.content, folder)) {
    cupel::frontends::ImportFailure failure;
    if (onnx_import::importModel(*model, context, {}, failure)) {
      if (verbose)
        std::printf("%s: imported\n", input.name.c_str());
      return Outcome::Valid;
    }
    message = failure.message;
  } else {
    message = model.message();
  }
  if (verbose)
    std::printf("%s: %s\n", input.name.c_str(), message.c_str());
  return message.empty() ? Outcome::Silent : Outcome::Refused;
}

} // namespace

int main(int count, char **arguments) {
  Options options = parse(count, arguments);
  options.run.extension = ".onnx";
  auto begin = std::chrono::steady_clock::now();
  OnnxInputs inputs(readOnnxCorpus(options.folders, options.largest), options.amounts,
                    options.seed);
  // Where hand-made models look for external data.
  std::string folder = options.folders[0];
  if (options.only) {
    // One context for all: under a memory checker, making it takes longer than the rest.
    auto context = makeContext();
    uint64_t end = std::min(*options.only + options.count, inputs.size());
    for (uint64_t number = *options.only; number < end; ++number)
      import(inputs.make(number), folder, true, *context);
    return 0;
  }
  Reader reader = [&](const Input &input) { return import(input, folder, false, *makeContext()); };
  Summary summary = run(inputs, reader, options.run);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const auto &[kind, counts] : summary.counts)
    std::printf("%-14s %6llu imported, %6llu refused\n", kind.c_str(),
                static_cast<unsigned long long>(counts[0]),
                static_cast<unsigned long long>(counts[2]));
  std::printf(
      "fuzz: %llu inputs, %zu failed, seed %llu, %.1f s, at most %llu MiB, slowest %.2f s (%s)\n",
      static_cast<unsigned long long>(inputs.size()), summary.failures.size(),
      static_cast<unsigned long long>(options.seed), seconds,
      static_cast<unsigned long long>(summary.largestMemory >> 20), summary.longest,
      summary.longestName.c_str());
  return summary.failures.empty() ? 0 : 1;
}
