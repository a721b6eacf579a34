#include "cupel/testbench/worker/Prepared.h"

#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/pjrt/host/CompileOptions.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/support/Version.h"
#include "cupel/testbench/worker/DeviceProgram.h"

#include <fmt/format.h>
#include <mlir/IR/BuiltinOps.h>

namespace cupel::testbench::worker {

Prepared Prepared::clone() const {
  Prepared copy{std::make_unique<ProgramReader::Read>(), workload, budget, ownInputs, otherInputs,
                executeSeconds, plainSeconds, movedSeconds, isComplete, isRemembered, deviceDeadline};
  copy.read->module = mlir::cast<mlir::ModuleOp>(program().module).clone();
  copy.read->program = program();
  copy.read->program.module = *copy.read->module;
  return copy;
}

workload::Workload workloadFor(const Request &request, std::string frontend) {
  workload::Workload workload;
  workload.name = request.item.id;
  workload::Provenance &origin = workload.provenance;
  origin.test = request.item.fullName();
  origin.file = placeOf(request);
  origin.part = request.item.part;
  origin.frontend = std::move(frontend);
  origin.variant = request.item.variant;
  origin.parallelism = request.item.parallelism;
  origin.runMode = request.item.runMode;
  origin.seed = request.seed;
  origin.versions["cupel"] = version();
  // As Python does for loaders.
  if (std::optional<int64_t> level = request.item.expectation.optimizationLevel)
    workload.options.flags.emplace_back("optimization_level", *level);
  if (request.item.expectation.enableWeightBfp8Conversion.value_or(false))
    workload.options.flags.emplace_back("experimental_weight_dtype", std::string("bfp_bf8"));
  return workload;
}

std::string overrule(Prepared &prepared, std::string_view device) {
  runtime::DeviceName named = runtime::DeviceName::parse(device);
  auto isNamed = [&](const auto &flag) {
    return !named.option(flag.first).empty() ||
           !named.option(std::string(pjrt::kCompilePrefix) + flag.first).empty();
  };
  std::string told;
  for (const auto &flag : prepared.workload.options.flags)
    if (isNamed(flag))
      std::visit(
          [&](const auto &value) {
            told += fmt::format("{}{}={}", told.empty() ? "" : ", ", flag.first, value);
          },
          flag.second);
  std::erase_if(prepared.workload.options.flags, isNamed);
  if (prepared.read)
    std::erase_if(prepared.read->program.flags, isNamed);
  return told;
}

std::string placeOf(const Request &request) {
  const std::string &shown = request.item.file;
  return shown.starts_with('/') || request.folder.empty() ? shown : request.folder + "/" + shown;
}

Budget budgetOf(const Request &request) {
  Budget budget;
  if (request.timeoutSeconds > 0)
    budget.deadline = std::chrono::steady_clock::now() +
                      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                          std::chrono::duration<double>(request.timeoutSeconds));
  budget.memoryBytes = request.memoryLimitBytes;
  budget.threads = request.threads;
  budget.seed = request.seed;
  return budget;
}

/// The program as it stands before devices, for the reference and for those who look at it.
static workload::Workload asText(const Prepared &prepared) {
  workload::Workload whole = prepared.workload;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::cast<mlir::ModuleOp>(prepared.program().module).clone();
  removeMarks(*module);
  std::string text;
  llvm::raw_string_ostream out(text);
  ir::printProgram(*module, out, mlir::OpPrintingFlags().enableDebugInfo());
  whole.programs = {{std::nullopt, text + "\n"}};
  return whole;
}

workload::Workload portableForm(const Prepared &prepared) {
  if (prepared.isComplete)
    return prepared.workload;
  // The oldest that all plugins read, too; constants are inputs, so that it costs little.
  Result<DeviceProgram> program =
      prepareForDevice(prepared.program(), {newestVersion(), {1, 0, 0}});
  if (!program)
    return asText(prepared);
  Result<workload::Workload> whole = program->complete(prepared.workload);
  if (!whole)
    return asText(prepared);
  whole->provenance.versions["stablehlo"] = workload::toString(newestVersion());
  return std::move(*whole);
}

} // namespace cupel::testbench::worker
