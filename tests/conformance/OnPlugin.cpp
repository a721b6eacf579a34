// Runs the self-checking programs of a folder of StableHLO conformance vectors through a PJRT
// plugin, all in one process, and demands of each that its checks hold and that everything it
// computes has the bits that the golden reference computes; of another backend that the checks hold, or
// that results are what sums in f64 give. Prints the time the plugin's way takes
// beside the reference's own, measured in turn on the same programs.

#include "tests/conformance/Vectors.h"

#include "cupel/compare/Compare.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/pjrt/host/RunWorkload.h"
#include "cupel/reference/Plan.h"
#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/ProgramReader.h"
#include "cupel/workload/Judge.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>

using namespace cupel;
using namespace cupel::conformance;
using tensor::Tensor;
using testbench::worker::DeviceProgram;

namespace {

constexpr const char *kUsage =
    "usage: cupel_on_plugin --vectors FOLDER --plugin FILE.so [options]\n"
    "Runs the vectors of FOLDER (with its manifest.tsv) that check themselves through a plugin and "
    "on\n"
    "the golden reference.\n\n"
    "  --filter TEXT       only rows whose path contains TEXT\n"
    "  --ratio N           the plugin's time may be so many times the reference's (3)\n"
    "  --devices N         the option num_devices of the plugin's client (8)\n"
    "  --backend NAME      the option backend of the plugin's client (reference); of another than\n"
    "                      the reference the checks are demanded and not the bits\n";

struct Options {
  std::string folder, plugin, filter, ratio = "3", devices = "8", backend = "reference";

  bool parse(int argc, char **argv) {
    const std::map<std::string_view, std::string *> flags = {{"--vectors", &folder},
                                                             {"--plugin", &plugin},
                                                             {"--filter", &filter},
                                                             {"--ratio", &ratio},
                                                             {"--devices", &devices},
                                                             {"--backend", &backend}};
    for (int i = 1; i < argc; i += 2) {
      auto flag = flags.find(argv[i]);
      if (flag == flags.end() || i + 1 == argc)
        return false;
      *flag->second = argv[i + 1];
    }
    return !folder.empty() && !plugin.empty() && std::atof(ratio.c_str()) > 0 &&
           std::atoi(devices.c_str()) > 0;
  }
};

/// Seconds of the clock on the wall, and of all cores that this process used.
struct Seconds {
  double wall = 0, processor = 0;
};

class Stopwatch {
public:
  explicit Stopwatch(Seconds &total) : total(total) {}
  ~Stopwatch() {
    total.wall += now(CLOCK_MONOTONIC) - wall;
    total.processor += now(CLOCK_PROCESS_CPUTIME_ID) - processor;
  }

private:
  static double now(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  Seconds &total;
  double wall = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
};

bool hasSameBits(const Tensor &a, const Tensor &b) {
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.shape(), b.shape()))
    return false;
  Result<Tensor> left = a.contiguous(), right = b.contiguous();
  return left && right && left->byteSize() == right->byteSize() &&
         (left->byteSize() == 0 ||
          std::memcmp(left->data(), right->data(), static_cast<size_t>(left->byteSize())) == 0);
}

class BothWays {
public:
  BothWays(std::shared_ptr<pjrt::Client> client, bool demandsBits)
      : client(std::move(client)), demandsBits(demandsBits), context(registry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &d) {
          if (d.getSeverity() == mlir::DiagnosticSeverity::Error && complaint.empty())
            complaint = reference::describeLocation(d.getLocation()) + ": " + d.str();
          return mlir::success();
        }) {}

  /// Empty if both ways hold the checks and give the same bits, else what is wrong.
  std::string run(const std::string &text, const Row &row) {
    bool isWide = row.disabled == "inaccurate"; // As cupel_interpret runs it.
    std::vector<Tensor> arguments;
    if (row.needs.find("args") != std::string::npos)
      for (int32_t value : {1, 2})
        arguments.push_back(Tensor::of<tensor::DType::I32>({2}, {value, value}));
    if (Status status = runReference(text, row.path, arguments, isWide); !status)
      return "on the reference: " + status.message();
    return runPlugin(text, row.path, arguments, isWide);
  }

  Seconds referenceSeconds, pluginSeconds;
  size_t compared = 0; // Tensors whose bits were.

private:
  static const mlir::DialectRegistry &registry() {
    static const mlir::DialectRegistry all = [] {
      mlir::DialectRegistry registry;
      ir::registerAllDialects(registry);
      return registry;
    }();
    return all;
  }

  Result<std::vector<reference::Value>> evaluate(std::string_view program, const std::string &name,
                                                 const std::vector<Tensor> &arguments,
                                                 bool isWide) {
    complaint.clear();
    mlir::ParserConfig config(&context);
    auto module = ir::readProgram(llvm::MemoryBufferRef(program, name), config);
    if (!module || failed(compiler::lowerChlo(*module)))
      return Error{complaint};
    auto plan = reference::Plan::create(*module);
    if (!plan)
      return plan.error();
    reference::RunOptions options;
    options.threads = 1;
    options.print = [](const std::string &) {};
    if (isWide)
      options.accumulate = reference::Accumulate::Wide;
    reference::Run run(options);
    return (*plan)->run(run, {arguments.begin(), arguments.end()});
  }

  Status runReference(const std::string &text, const std::string &name,
                      const std::vector<Tensor> &arguments, bool isWide) {
    Stopwatch watch(referenceSeconds);
    auto results = evaluate(text, name, arguments, isWide);
    return results ? Status() : Error{results.message()};
  }

  std::string runPlugin(const std::string &text, const std::string &name,
                        const std::vector<Tensor> &arguments, bool isWide) {
    std::vector<std::vector<Tensor>> given, outputs;
    std::optional<DeviceProgram> program;
    std::string failure;
    {
      Stopwatch watch(pluginSeconds);
      auto read = reader.read(text, name);
      if (!read)
        return read.message();
      auto prepared = testbench::worker::prepareForDevice((*read)->program, {});
      if (!prepared)
        return prepared.error().message;
      program = std::move(*prepared);
      auto cut = program->argumentsFor({arguments});
      if (!cut)
        return cut.error().message;
      given = std::move(*cut);
      Status done = execute(*program, given, isWide, outputs);
      if (!done)
        return done.message();
      for (size_t d = 0; d < outputs.size(); ++d)
        for (const workload::Judgement &judgement :
             workload::judgeChecks(outputs[d], d, program->workload.checks,
                                   program->workload.constants))
          if (!judgement.passed && failure.empty())
            failure = judgement.what + ": " + judgement.sentence;
    }
    if (!failure.empty()) {
      // Expectations are XLA's sums in f32, some of them far from the exact ones.
      bool isExact = !demandsBits && outputs.size() == 1 &&
                     isNearExact(program->workload.programs.front().bytes, name, given.front(),
                                 outputs.front());
      if (!isExact)
        return failure;
      std::printf("nearer to the sums in f64 than what is expected: %s\n", name.c_str());
      return "";
    }
    // The checks say what the devices of a grid give.
    if (outputs.size() > 1 || !demandsBits)
      return "";
    auto golden = evaluate(program->workload.programs.front().bytes, name, given.front(), isWide);
    if (!golden)
      return "the prepared program on the reference: " + golden.message();
    if (golden->size() != outputs[0].size())
      return "another number of results than the reference's";
    for (size_t i = 0; i < golden->size(); ++i) {
      if (!(*golden)[i].isTensor())
        continue;
      Tensor expected = (*golden)[i].tensor();
      if (expected.elementType().quantization)
        expected = expected.withElementType(expected.dtype());
      if (!hasSameBits(outputs[0][i], expected))
        return "result " + std::to_string(i) + " has other bits than the reference's";
      ++compared;
    }
    return "";
  }

  /// Whether every f32 result is within 3 ULP, which checks allow, of what sums in f64 give, and
  /// every other is the same.
  bool isNearExact(std::string_view program, const std::string &name,
                   const std::vector<Tensor> &given, const std::vector<Tensor> &outputs) {
    auto exact = evaluate(program, name, given, /*isWide=*/true);
    if (!exact || exact->size() != outputs.size())
      return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!(*exact)[i].isTensor())
        return false;
      const Tensor &expected = (*exact)[i].tensor();
      auto apart = compare::compare(outputs[i], expected,
                                    expected.dtype() == tensor::DType::F32
                                        ? compare::Tolerance::close(3)
                                        : compare::Tolerance::equal());
      if (!apart || !apart->sameShape() || apart->mismatches)
        return false;
    }
    return true;
  }

  Status execute(const DeviceProgram &program, const std::vector<std::vector<Tensor>> &given,
                 bool isWide, std::vector<std::vector<Tensor>> &outputs) {
    pjrt::Deadline deadline = pjrt::deadlineIn(60);
    workload::Workload workload = program.workload;
    if (isWide)
      workload.options.flags.emplace_back("accumulate", std::string("f64"));
    auto loaded = pjrt::LoadedWorkload::compile(*client, workload);
    if (!loaded)
      return loaded.error();
    auto arguments = loaded->transfer(given, deadline);
    if (!arguments)
      return arguments.error();
    auto results = loaded->execute(*arguments, deadline);
    if (!results)
      return results.error();
    auto values = pjrt::LoadedWorkload::readBack(*results, deadline);
    if (!values)
      return values.error();
    outputs = std::move(*values);
    return {};
  }

  std::shared_ptr<pjrt::Client> client;
  bool demandsBits;
  testbench::worker::ProgramReader reader;
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  std::string complaint;
};

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!options.parse(argc, argv)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  auto rows = readManifest(options.folder);
  if (!rows) {
    std::fprintf(stderr, "%s/manifest.tsv cannot be read\n", options.folder.c_str());
    return 2;
  }
  auto plugin = pjrt::Plugin::load(options.plugin);
  if (!plugin) {
    std::fprintf(stderr, "%s\n", plugin.message().c_str());
    return 2;
  }
  auto count = pjrt::parseNamedValue("num_devices=" + options.devices);
  auto backend = pjrt::parseNamedValue("backend=" + options.backend);
  auto client = pjrt::Client::create(*plugin, {*count, *backend});
  if (!client) {
    std::fprintf(stderr, "%s\n", client.message().c_str());
    return 2;
  }

  BothWays ways(*client, options.backend == "reference");
  size_t passed = 0, failed = 0;
  for (const Row &row : *rows) {
    bool checksItself = llvm::is_contained(row.judges, "interpret") || !row.disabled.empty();
    if (row.path.find(options.filter) == std::string::npos || !checksItself)
      continue;
    std::optional<std::string> text = readFile(options.folder + "/" + row.path);
    if (!text) {
      std::printf("FAILED  %s: the file cannot be read\n", row.path.c_str());
      ++failed;
      continue;
    }
    for (const Chunk &chunk : splitChunks(*text)) {
      std::string failure = ways.run(chunk.text, row);
      ++(failure.empty() ? passed : failed);
      if (!failure.empty())
        std::printf("FAILED  %s, chunk %zu: %s\n", row.path.c_str(), chunk.index, failure.c_str());
    }
  }
  // A machine that is busy with other things makes every change of threads wait: the processor's
  // time is what can be held to a bound there.
  const Seconds &ours = ways.pluginSeconds, &theirs = ways.referenceSeconds;
  double ratio = ours.processor / std::max(theirs.processor, 1e-9);
  std::printf("%zu tensors have the reference's bits\n"
              "plugin %.2f s (%.2f s of processor time), reference %.2f s (%.2f s): ratio %.2f "
              "(%.2f)\n",
              ways.compared, ours.wall, ours.processor, theirs.wall, theirs.processor,
              ours.wall / std::max(theirs.wall, 1e-9), ratio);
  // One program is no measure.
  if (passed + failed > 100) {
    bool isFast = ratio <= std::atof(options.ratio.c_str());
    ++(isFast ? passed : failed);
    if (!isFast)
      std::printf("FAILED  the plugin takes %.2f times as long as the reference, more than %s\n",
                  ratio, options.ratio.c_str());
  }
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return failed ? 1 : 0;
}
