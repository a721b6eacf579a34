// Runs the self-checking programs of a folder of StableHLO conformance vectors (judge `interpret`)
// in one process, several files at a time, each chunk on its own, and prints one line for each that
// fails.

#include "tests/conformance/Vectors.h"

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Plan.h"
#include "cupel/tensor/Print.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

using namespace cupel;
using namespace cupel::conformance;

namespace {

struct Options {
  std::string folder, exceptions, filter;
  std::string fileCheck = "/usr/lib/llvm-19/bin/FileCheck";
  unsigned jobs = 1;
};

constexpr const char *kUsage =
    "usage: cupel_interpret --vectors FOLDER [options]\n"
    "Runs the vectors of FOLDER (with its manifest.tsv) that check themselves.\n\n"
    "  --exceptions FILE   rows that are known to fail, with the reason: path, interpret, reason\n"
    "  --filter TEXT       only rows whose path contains TEXT\n"
    "  --filecheck PATH    LLVM's FileCheck\n"
    "  --jobs N            files at a time (all cores unless told)\n";

bool parseOptions(int argc, char **argv, Options &options) {
  options.exceptions = CUPEL_CONFORMANCE_EXCEPTIONS;
  std::string jobs = std::to_string(std::max(1u, std::thread::hardware_concurrency()));
  const std::map<std::string_view, std::string *> flags = {{"--vectors", &options.folder},
                                                           {"--exceptions", &options.exceptions},
                                                           {"--filter", &options.filter},
                                                           {"--filecheck", &options.fileCheck},
                                                           {"--jobs", &jobs}};
  for (int i = 1; i < argc; i += 2) {
    auto flag = flags.find(argv[i]);
    if (flag == flags.end() || i + 1 == argc)
      return false;
    *flag->second = argv[i + 1];
  }
  options.jobs = unsigned(std::atoi(jobs.c_str()));
  return !options.folder.empty() && options.jobs != 0;
}

/// One context for many programs; what is said in it is kept for a message.
class Interpreter {
public:
  Interpreter()
      : context(registry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &d) {
          if (d.getSeverity() == mlir::DiagnosticSeverity::Error && complaint.empty()) {
            llvm::raw_string_ostream os(complaint);
            os << reference::describeLocation(d.getLocation()) << ": " << d.str();
          }
          return mlir::success();
        }) {}

  /// Empty if all checks hold, else what is wrong.
  std::string run(const std::string &text, const std::string &name, const Row &row,
                  const std::string &probeFolder, std::string &printed) {
    complaint.clear();
    mlir::ParserConfig config(&context);
    auto module = cupel::ir::readProgram(llvm::MemoryBufferRef(text, name), config);
    if (!module)
      return "cannot be read: " + complaint;
    if (failed(compiler::lowerChlo(*module)))
      return "chlo cannot be lowered: " + complaint;
    auto plan = reference::Plan::create(*module);
    if (!plan)
      return plan.message();
    std::vector<reference::Value> arguments;
    if (row.needs.find("args") != std::string::npos)
      for (int32_t value : {1, 2})
        arguments.push_back(tensor::Tensor::of<tensor::DType::I32>({2}, {value, value}));
    reference::RunOptions options;
    options.timeoutSeconds = 30;
    options.maxSteps = 2'000'000'000;
    options.threads = 1; // Files run side by side.
    options.maxMemory = int64_t(4) << 30;
    options.probeFolder = probeFolder;
    options.print = [&](const std::string &text) { printed += text; };
    // Where upstream, which rounds every step, misses the values, they ask for wide sums.
    if (row.disabled == "inaccurate")
      options.accumulate = reference::Accumulate::Wide;
    reference::Run run(options);
    auto results = (*plan)->run(run, std::move(arguments));
    if (!results)
      return results.message();
    for (const reference::Value &value : *results)
      if (value.isTensor())
        printed += tensor::tensorText(value.tensor()) + "\n";
    return "";
  }

private:
  static const mlir::DialectRegistry &registry() {
    static const mlir::DialectRegistry all = [] {
      mlir::DialectRegistry registry;
      ir::registerAllDialects(registry);
      return registry;
    }();
    return all;
  }
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  std::string complaint;
};

/// Whether what the program printed matches its CHECK comments.
std::string matchPrinted(const Options &options, const std::string &path,
                         const std::string &printed) {
  llvm::SmallString<128> input;
  if (llvm::sys::fs::createTemporaryFile("cupel-interpret", "txt", input))
    return "no temporary file";
  {
    std::error_code error;
    llvm::raw_fd_ostream os(input, error);
    os << printed;
  }
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(""),
                                                llvm::StringRef("")};
  std::string inputFlag = "--input-file=" + input.str().str();
  int status = llvm::sys::ExecuteAndWait(options.fileCheck, {options.fileCheck, inputFlag, path},
                                         std::nullopt, redirects, 60);
  llvm::sys::fs::remove(input);
  return status == 0 ? "" : "what it prints does not match its CHECK comments:\n" + printed;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parseOptions(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  auto rows = readManifest(options.folder);
  if (!rows) {
    std::fprintf(stderr, "%s/manifest.tsv cannot be read\n", options.folder.c_str());
    return 2;
  }
  std::map<std::string, std::string> exceptions;
  if (!options.exceptions.empty()) {
    auto list = readExceptions(options.exceptions);
    if (!list) {
      std::fprintf(stderr, "%s cannot be read\n", options.exceptions.c_str());
      return 2;
    }
    for (Exception &exception : *list)
      if (exception.judge == "interpret")
        exceptions[exception.path] = exception.reason;
  }

  struct Outcome {
    const Row *row;
    std::vector<std::string> failures;
    size_t chunks = 0;
    double seconds = 0;
  };
  auto begin = std::chrono::steady_clock::now();
  std::vector<Outcome> outcomes;
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  auto work = [&] {
    Interpreter interpreter;
    for (size_t index; (index = next++) < rows->size();) {
      const Row &row = (*rows)[index];
      bool stdoutToo = llvm::is_contained(row.judges, "stdout");
      // What upstream does not run checks itself all the same.
      if (row.path.find(options.filter) == std::string::npos ||
          (!llvm::is_contained(row.judges, "interpret") && row.disabled.empty()))
        continue;
      auto start = std::chrono::steady_clock::now();
      Outcome outcome{&row, {}, 0, 0};
      std::optional<std::string> text = readFile(options.folder + "/" + row.path);
      if (!text) {
        outcome.failures.push_back("the file cannot be read");
      } else {
        std::string printed;
        llvm::SmallString<128> probeFolder;
        if (row.needs.find("probe-dir") != std::string::npos)
          (void)llvm::sys::fs::createUniqueDirectory("cupel-probe", probeFolder);
        for (const Chunk &chunk : splitChunks(*text)) {
          ++outcome.chunks;
          std::string failure =
              interpreter.run(chunk.text, row.path, row, probeFolder.str().str(), printed);
          if (!failure.empty())
            outcome.failures.push_back("chunk " + std::to_string(chunk.index) + ": " + failure);
        }
        if (!probeFolder.empty())
          llvm::sys::fs::remove_directories(probeFolder);
        if (stdoutToo && outcome.failures.empty())
          if (std::string failure = matchPrinted(options, options.folder + "/" + row.path, printed);
              !failure.empty())
            outcome.failures.push_back(failure);
      }
      outcome.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::lock_guard lock(mutex);
      outcomes.push_back(std::move(outcome));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != options.jobs; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  std::sort(outcomes.begin(), outcomes.end(),
            [](const Outcome &lhs, const Outcome &rhs) { return lhs.row->path < rhs.row->path; });

  size_t passed = 0, failed = 0, excepted = 0, informative = 0;
  for (const Outcome &outcome : outcomes) {
    const char *path = outcome.row->path.c_str();
    auto exception = exceptions.find(outcome.row->path);
    bool isExcepted = exception != exceptions.end();
    if (outcome.failures.empty()) {
      if (isExcepted) {
        ++failed;
        std::printf("FAILED  %s: passes although it is listed as an exception (%s)\n", path,
                    exception->second.c_str());
      } else {
        ++passed;
        informative += !outcome.row->disabled.empty();
      }
      continue;
    }
    if (isExcepted) {
      ++excepted;
      std::printf("except  %s: %s\n", path, exception->second.c_str());
      continue;
    }
    ++failed;
    for (const std::string &failure : outcome.failures)
      std::printf("FAILED  %s%s: %s\n", path,
                  outcome.row->disabled.empty()
                      ? ""
                      : (" (upstream: " + outcome.row->disabled + ")").c_str(),
                  failure.c_str());
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%zu exceptions, %zu of the passed that upstream does not run, %.1f s\n"
              "%zu passed, %zu failed\n",
              excepted, informative, seconds, passed, failed);
  return failed ? 1 : 0;
}
