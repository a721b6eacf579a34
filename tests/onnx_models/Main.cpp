// cupel_onnx run DIR... | import MODEL [TIMES]
//
// `run` imports DIR/model.onnx with the inputs of DIR/input_N.pb, runs it on the golden reference
// and writes DIR/result_N.npy; one line a folder: "RAN NAME" or "FAILED NAME: why". `import`
// imports a model TIMES times and prints the fastest in milliseconds with the peak memory of the
// process in KiB. For tests and benchmarks, which compare the results with another runtime's.
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/frontends/onnx/Import.h"
#include "cupel/ir/Dialects.h"
#include "cupel/reference/Plan.h"
#include "cupel/tensor/Npy.h"
#include "onnx-ml.pb.h"

#include "mlir/IR/Diagnostics.h"

#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>

namespace fs = std::filesystem;
using namespace cupel;
namespace onnx_import = frontends::onnx_import;

namespace {

/// A context with all dialects that keeps the first complaint.
struct Session {
  Session()
      : context(registry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (complaint.empty())
            complaint = " [" + diagnostic.str() + "]";
        }) {
    context.loadAllAvailableDialects();
  }
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    ir::registerAllDialects(registry);
    return registry;
  }

  mlir::MLIRContext context;
  std::string complaint;
  mlir::ScopedDiagnosticHandler handler;
};

Status runFolder(const fs::path &folder) {
  Session session;
  auto model = onnx_import::Model::load((folder / "model.onnx").string());
  if (!model)
    return model.error();
  const onnx::GraphProto &graph = model->proto().graph();
  std::set<std::string> constants;
  for (const onnx::TensorProto &tensor : graph.initializer())
    constants.insert(tensor.name());
  frontends::ImportOptions options;
  int next = 0;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    if (constants.count(input.name()))
      continue;
    auto value =
        onnx_import::loadTensorFile((folder / fmt::format("input_{}.pb", next++)).string());
    if (!value)
      return value.error();
    options.inputs[input.name()] = std::move(*value);
  }
  auto imported = onnx_import::importModel(*model, session.context, options);
  if (!imported)
    return Error{fmt::format("refused ({}): {}{}", frontends::reasonOf(imported.error().code),
                             imported.message(), session.complaint)};
  if (mlir::failed(compiler::lowerChlo(*imported->module)))
    return Error{"chlo cannot be lowered" + session.complaint};
  auto plan = reference::Plan::create(*imported->module);
  if (!plan)
    return Error{"no plan: " + plan.message()};
  std::vector<reference::Value> arguments;
  for (const frontends::Argument &input : imported->inputs)
    arguments.push_back(options.inputs.at(input.name));
  for (const auto &[name, value] : imported->weights)
    arguments.push_back(value);
  reference::RunOptions runOptions;
  runOptions.threads = 1;
  runOptions.timeoutSeconds = 60;
  reference::Run run(runOptions);
  auto results = (*plan)->run(run, std::move(arguments));
  if (!results)
    return Error{"the run ended: " +
                 results.message()};
  for (size_t i = 0; i < results->size(); ++i)
    if (Status status = tensor::writeNpy((folder / fmt::format("result_{}.npy", i)).string(),
                                         (*results)[i].tensor());
        !status)
      return status;
  return {};
}

/// Of this process since it began; what getrusage says may be its parent's.
int64_t peakKib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::strtoll(line.c_str() + 6, nullptr, 10);
  return 0;
}

double cpuMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

Status importOnly(const std::string &path, int times) {
  double best = 0, bestCpu = 0;
  size_t weights = 0;
  for (int i = 0; i < times; ++i) {
    // As ONNX Runtime's session: from the file to a program that could be compiled.
    auto begin = std::chrono::steady_clock::now();
    double cpu = cpuMilliseconds();
    Session session;
    auto model = onnx_import::Model::load(path);
    if (!model)
      return model.error();
    auto imported = onnx_import::importModel(*model, session.context, {});
    if (!imported)
      return Error{imported.message() + session.complaint};
    double taken =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    cpu = cpuMilliseconds() - cpu;
    best = i == 0 ? taken : std::min(best, taken);
    bestCpu = i == 0 ? cpu : std::min(bestCpu, cpu);
    weights = imported->weights.size();
  }
  fmt::print("import_ms {:.2f} cpu_ms {:.2f} peak_kib {} weights {}\n", best, bestCpu, peakKib(),
             weights);
  return {};
}

} // namespace

int main(int count, char **arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() >= 2 && words[0] == "import") {
    int times = 1;
    if (words.size() > 2)
      std::from_chars(words[2].data(), words[2].data() + words[2].size(), times);
    Status status = importOnly(words[1], std::max(times, 1));
    if (!status)
      fmt::print(stderr, "{}\n", status.message());
    return status ? 0 : 1;
  }
  if (words.size() < 2 || words[0] != "run") {
    fmt::print(stderr, "usage: cupel_onnx run DIR... | import MODEL [TIMES]\n");
    return 2;
  }
  int failed = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    Status status = runFolder(words[i]);
    fs::path folder(words[i]);
    if (!folder.has_filename())
      folder = folder.parent_path();
    std::string name = folder.filename().string();
    std::string message = status ? "" : std::string(status.message());
    for (char &c : message)
      if (c == '\n')
        c = ' ';
    failed += !status;
    if (status)
      fmt::print("RAN {}\n", name);
    else
      fmt::print("FAILED {}: {}\n", name, message);
    std::fflush(stdout);
  }
  return failed ? 1 : 0;
}
