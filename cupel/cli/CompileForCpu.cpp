#include "cupel/cli/CompileForCpu.h"

#include "cupel/cli/BenchPrepare.h"
#include "cupel/cli/GraphOptions.h"
#include "cupel/cli/RewriteWatch.h"
#include "cupel/cli/TraceProgram.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/backends/cpu/CpuBackend.h"
#include "cupel/compiler/backends/cpu/Report.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/support/Files.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Support/Timing.h>

namespace cupel::cli {

using namespace mlir;

namespace {

/// The passes that a list names; `all` is each of them.
class PassNames {
public:
  explicit PassNames(StringRef list) {
    SmallVector<StringRef> words;
    list.split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef word : words)
      names.insert(word.trim());
  }

  bool isEmpty() const { return names.empty(); }
  bool has(StringRef pass) {
    met.insert(pass);
    return names.contains("all") || names.contains(pass);
  }
  /// One that no pass has, once all have been met; empty if there is none.
  std::string unknown() const {
    for (const auto &name : names)
      if (name.getKey() != "all" && !met.contains(name.getKey()))
        return name.getKey().str();
    return "";
  }
  std::string known() const {
    SmallVector<StringRef> sorted(met.keys().begin(), met.keys().end());
    llvm::sort(sorted);
    return llvm::join(sorted, ", ");
  }

private:
  llvm::StringSet<> names, met;
};

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ir::printProgram(module, os);
  return text + "\n";
}

/// The program at every level, on the device of the options. Rates are this machine's, and known only
/// where it is measured anyhow.
Result<std::vector<compiler::LevelReport>> reportLevels(ModuleOp module, func::FuncOp entry,
                                                        const GraphOptions &options, int64_t runs) {
  compiler::MachineRates rates;
  if (runs > 0)
    rates = measureMachine(/*threads=*/0);
  std::vector<compiler::LevelReport> levels;
  for (int64_t level : {0, 1, 2}) {
    OwningOpRef<ModuleOp> copy = module.clone();
    compiler::CpuLowering lowering;
    lowering.level = level;
    lowering.sramBytes = options.sramBytes;
    lowering.withoutFusions = options.withoutFusions;
    if (Status status =
            compiler::lowerForCpu(*copy, entry ? entry.getName() : StringRef("main"), lowering);
        !status)
      return status.error().within("at level " + std::to_string(level));
    Result<compiler::CpuReport> report = compiler::reportForCpu(*copy, runs);
    if (!report)
      return report.error();
    std::optional<double> estimated = compiler::estimatedSeconds(*report, rates);
    levels.push_back({level, std::move(*report), estimated});
  }
  return levels;
}

} // namespace

Result<std::string> compileForCpu(const llvm::json::Object &request, MLIRContext &context,
                                  ModuleOp module) {
  auto word = [&](StringRef key) { return request.getString(key).value_or("").str(); };
  bool isTensor = word("emit") == "tensor", isDevice = word("emit") == "device",
       isAssembly = word("emit") == "asm";
  bool reports = request.getBoolean("report").value_or(false);
  std::string reportFile = word("report_file");
  std::string traceFile = word("trace");
  bool needsDevice = isDevice || isAssembly || reports || !reportFile.empty() || !traceFile.empty();
  if (!isTensor && !needsDevice)
    return std::string();

  func::FuncOp entry = compiler::entryOf(module);
  OwningOpRef<ModuleOp> lowered = module.clone(), plain;
  const llvm::json::Object *given = request.getObject("options");
  Result<GraphOptions> options = GraphOptions::apply(given ? *given : llvm::json::Object(), *lowered, /*fuses=*/false);
  if (!options)
    return options.error();
  if (!options->notCompiled.empty())
    return Error{"is not compiled: " + options->notCompiled};
  int64_t limit = request.getInteger("opt_bisect_limit").value_or(-1);
  std::string tensorStage;
  PassNames before(word("print_before")), after(word("print_after"));
  DefaultTimingManager timing;
  timing.setEnabled(request.getBoolean("timing").value_or(false));
  {
    TimingScope scope = timing.getRootScope();
    RewriteWatch rewrites(context, limit >= 0 ? limit : options->rewriteLimit,
                          request.getBoolean("print_rewrites").value_or(false));
    if (Status status = options->fuse(*lowered); !status)
      return status.error();
    if (reports || !reportFile.empty() || !traceFile.empty())
      plain = lowered->clone(); // For the other levels, and to be compiled anew.
    auto watch = [&](PassManager &passes, compiler::CpuStage stage) {
      if (stage == compiler::CpuStage::Device && isTensor)
        tensorStage = printed(*lowered);
      passes.enableTiming(scope);
      for (Pass &pass : passes.getPasses()) { // So that wrong names are known.
        (void)before.has(pass.getArgument());
        (void)after.has(pass.getArgument());
      }
      if (!before.isEmpty() || !after.isEmpty())
        passes.enableIRPrinting(
            [&](Pass *pass, Operation *) { return before.has(pass->getArgument()); },
            [&](Pass *pass, Operation *) { return after.has(pass->getArgument()); },
            /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/true);
    };
    compiler::CpuLowering lowering{
        .level = options->level, .sramBytes = options->sramBytes, .withoutFusions = options->withoutFusions, .watch = watch};
    if (!needsDevice)
      lowering.stage = compiler::CpuStage::Tensor;
    if (Status status = compiler::lowerForCpu(
            *lowered, entry ? entry.getName() : StringRef("main"), lowering);
        !status)
      return status.error().within("is not compiled");
  }
  for (const PassNames *names : {&before, &after})
    if (std::string unknown = names->unknown(); !unknown.empty())
      return Error{"there is no pass '" + unknown + "' among those of the cpu backend; there are all, " +
                   names->known()};

  if (reports || !reportFile.empty()) {
    OwningOpRef<ModuleOp> copy = lowered->clone();
    Result<compiler::CpuReport> report =
        compiler::reportForCpu(*copy, request.getInteger("report_runs").value_or(0));
    if (!report)
      return report.error();
    report->weights = options->weights;
    report->narrowProducts = options->narrowProducts;
    report->keepsNarrow = options->keepsNarrow;
    report->fusions = options->fusions;
    report->recognised = compiler::namedFusionsOf(*lowered);
    report->composites = compiler::compositesIn(module);
    Result<std::vector<compiler::LevelReport>> levels =
        reportLevels(*plain, entry, *options, request.getInteger("report_runs").value_or(0));
    if (!levels)
      return levels.error();
    if (reports)
      llvm::errs() << compiler::asText(*report) << compiler::asText(*levels);
    if (!reportFile.empty())
      if (Status status = writeOutput(reportFile, compiler::asJson(*report, *levels)); !status)
        return status.error();
  }
  if (!traceFile.empty()) {
    Result<runtime::TraceFile> trace = recordTrace(*plain, *options);
    if (!trace)
      return trace.error();
    if (Status status = writeOutput(traceFile, trace->bytes()); !status)
      return status.error();
  }
  if (isAssembly) {
    OwningOpRef<ModuleOp> copy = lowered->clone();
    return compiler::assemblyForCpu(*copy);
  }
  if (isTensor)
    return tensorStage.empty() ? printed(*lowered) : tensorStage;
  return isDevice ? printed(*lowered) : std::string();
}

} // namespace cupel::cli
