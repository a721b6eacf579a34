// Times the reference on one program: plans it once, runs it again and again with the same
// arguments and prints the best time and the peak of memory as JSON. With --serve it runs once
// for each line it reads and prints that run's time, so that run.py can take turns with NumPy.
//
//   bench_reference PROGRAM [ARGUMENT.npy ...] [--repeat=N] [--serve] [--save=DIR]
//                   [--accumulate=f64|native] [--threads=N]
//
// Arguments that are not given are random.

#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Registry.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Fill.h"
#include "cupel/tensor/Npy.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <fstream>
#include <iostream>

using namespace cupel;
using namespace cupel::reference;

namespace {

struct Options {
  std::string program, saveFolder;
  std::vector<std::string> arguments;
  int repeat = 7, threads = 1;
  bool serve = false;
  Accumulate accumulate = Accumulate::Native;
};

/// Of this process's memory in bytes. Not from getrusage, which remembers the parent's peak.
int64_t peakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  return 0;
}

Result<std::vector<Value>> argumentsFor(const Plan &plan, const Options &options) {
  std::vector<Value> values;
  for (auto [i, type] : llvm::enumerate(plan.entry().argumentTypes)) {
    Result<tensor::ElementType> element = elementTypeOf(mlir::getElementTypeOrSelf(type));
    if (!element)
      return element.error();
    Result<tensor::Tensor> value =
        i < options.arguments.size()
            ? tensor::readNpy(options.arguments[i], element->storage)
            : tensor::randomTensor(*element, shapeOf(type), tensor::defaultFill(*element), {0, i});
    if (!value)
      return value.error();
    values.push_back(std::move(*value));
  }
  return values;
}

/// The seconds of one run; its results go to `saveFolder` if that is named.
Result<double> runOnce(const Plan &plan, const std::vector<Value> &arguments,
                       const Options &options, const std::string &saveFolder) {
  RunOptions runOptions;
  runOptions.accumulate = options.accumulate;
  runOptions.threads = options.threads;
  Run execution(std::move(runOptions));
  std::vector<Value> given = arguments;
  auto start = std::chrono::steady_clock::now();
  Result<std::vector<Value>> results = plan.run(execution, std::move(given));
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!results)
    return results.error();
  if (!saveFolder.empty())
    for (auto [i, value] : llvm::enumerate(*results))
      if (Status status =
              tensor::writeNpy(saveFolder + "/result" + std::to_string(i) + ".npy", value.tensor());
          !status)
        return status.error();
  return seconds.count();
}

Status measure(const Options &options) {
  mlir::DialectRegistry registry;
  ir::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto text = llvm::MemoryBuffer::getFile(options.program);
  if (!text)
    return Error{options.program + ": " + text.getError().message()};
  auto module = ir::readProgram(**text, mlir::ParserConfig(&context));
  if (!module)
    return Error{options.program + ": the program cannot be read"};
  Result<std::unique_ptr<Plan>> plan = Plan::create(*module);
  if (!plan)
    return plan.error();
  Result<std::vector<Value>> arguments = argumentsFor(**plan, options);
  if (!arguments)
    return arguments.error();
  // The first run warms up, and its results are those that are kept.
  if (options.serve || !options.saveFolder.empty())
    if (Result<double> warm = runOnce(**plan, *arguments, options, options.saveFolder); !warm)
      return warm.error();
  if (options.serve) {
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      Result<double> seconds = runOnce(**plan, *arguments, options, {});
      if (!seconds)
        return seconds.error();
      std::cout << *seconds << std::endl;
    }
    return {};
  }
  double best = 1e99;
  for (int i = 0; i < options.repeat; ++i) {
    Result<double> seconds = runOnce(**plan, *arguments, options, {});
    if (!seconds)
      return seconds.error();
    best = std::min(best, *seconds);
  }
  std::cout << "{\"best_s\": " << best << ", \"peak_bytes\": " << peakMemory() << "}" << std::endl;
  return {};
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word.consume_front("--repeat=")) {
      if (word.getAsInteger(10, options.repeat) || options.repeat < 1) {
        llvm::errs() << "bench_reference: --repeat takes a number from 1 on\n";
        return 2;
      }
    } else if (word.consume_front("--threads=")) {
      if (word.getAsInteger(10, options.threads) || options.threads < 1) {
        llvm::errs() << "bench_reference: --threads takes a number from 1 on\n";
        return 2;
      }
    } else if (word.consume_front("--save=")) {
      options.saveFolder = word.str();
    } else if (word == "--accumulate=f64" || word == "--accumulate=native") {
      options.accumulate = word.ends_with("f64") ? Accumulate::Wide : Accumulate::Native;
    } else if (word == "--serve") {
      options.serve = true;
    } else if (word.starts_with("--")) {
      llvm::errs() << "bench_reference: unknown option " << word << "\n";
      return 2;
    } else if (options.program.empty()) {
      options.program = word.str();
    } else {
      options.arguments.push_back(word.str());
    }
  }
  if (options.program.empty()) {
    llvm::errs() << "usage: bench_reference PROGRAM [ARGUMENT.npy ...] [--repeat=N] [--serve] "
                    "[--save=DIR] [--accumulate=f64|native] [--threads=N]\n";
    return 2;
  }
  if (Status status = measure(options); !status) {
    llvm::errs() << "bench_reference: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
