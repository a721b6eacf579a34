#include "cupel/cli/CompileForCpu.h"

#include "cupel/cli/RewriteWatch.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/backends/cpu/CpuBackend.h"
#include "cupel/compiler/backends/cpu/Report.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/support/Files.h"

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

private:
  llvm::StringSet<> names, met;
};

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ir::printProgram(module, os);
  return text + "\n";
}

} // namespace

Result<std::string> compileForCpu(const llvm::json::Object &request, MLIRContext &context,
                                  ModuleOp module) {
  auto word = [&](StringRef key) { return request.getString(key).value_or("").str(); };
  bool isTensor = word("emit") == "tensor", isDevice = word("emit") == "device",
       isAssembly = word("emit") == "asm";
  bool reports = request.getBoolean("report").value_or(false);
  std::string reportFile = word("report_file");
  bool needsDevice = isDevice || isAssembly || reports || !reportFile.empty();
  if (!isTensor && !needsDevice)
    return std::string();

  func::FuncOp entry = compiler::entryOf(module);
  OwningOpRef<ModuleOp> lowered = module.clone();
  std::vector<compiler::RoundedWeight> weights;
  if (std::string formats = word("weight_dtype"); !formats.empty()) {
    Result<compiler::WeightFormats> chosen = compiler::parseWeightFormats(formats);
    if (!chosen)
      return chosen.error();
    weights = compiler::roundWeights(*lowered, *chosen);
  }
  std::string tensorStage;
  PassNames before(word("print_before")), after(word("print_after"));
  DefaultTimingManager timing;
  timing.setEnabled(request.getBoolean("timing").value_or(false));
  {
    TimingScope scope = timing.getRootScope();
    RewriteWatch rewrites(context, request.getInteger("opt_bisect_limit").value_or(-1),
                          request.getBoolean("print_rewrites").value_or(false));
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
    compiler::CpuLowering lowering{.watch = watch};
    if (!needsDevice)
      lowering.stage = compiler::CpuStage::Tensor;
    if (Status status = compiler::lowerForCpu(
            *lowered, entry ? entry.getName() : StringRef("main"), lowering);
        !status)
      return status.error().within("is not compiled");
  }
  for (const PassNames *names : {&before, &after})
    if (std::string unknown = names->unknown(); !unknown.empty())
      return Error{"there is no pass '" + unknown + "' among those of the cpu backend"};

  if (reports || !reportFile.empty()) {
    OwningOpRef<ModuleOp> copy = lowered->clone();
    Result<compiler::CpuReport> report =
        compiler::reportForCpu(*copy, request.getInteger("report_runs").value_or(0));
    if (!report)
      return report.error();
    report->weights = std::move(weights);
    if (reports)
      llvm::errs() << compiler::asText(*report);
    if (!reportFile.empty())
      if (Status status = writeOutput(reportFile, compiler::asJson(*report)); !status)
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
