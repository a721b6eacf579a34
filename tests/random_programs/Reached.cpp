#include "tests/random_programs/Reached.h"

#include "cupel/compiler/backends/cpu/Report.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/IR/OwningOpRef.h"

namespace cupel::random_programs {

using namespace mlir;

void Reached::addOperations(ModuleOp module) {
  module.walk([&](Operation *op) { ++ofOperation[op->getName().getStringRef().str()]; });
}

void Reached::addKernels(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  Result<compiler::CpuReport> report = compiler::reportForCpu(*copy, /*runs=*/0);
  if (!report)
    return;
  for (const compiler::LaunchReport &launch : report->launches)
    ++ofKernel[launch.isFallback ? "reference " + launch.operation : launch.kernel];
}

std::vector<std::string> Reached::missing(MLIRContext &context) const {
  std::vector<std::string> names;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (StringRef dialect = name.getDialectNamespace();
        (dialect == "tir" || dialect == "dev") && name.getStringRef() != tir::OnReferenceOp::getOperationName() && // Only where somebody asks for it.
        !ofOperation.contains(name.getStringRef().str()))
      names.push_back(name.getStringRef().str());
  return names;
}

} // namespace cupel::random_programs
