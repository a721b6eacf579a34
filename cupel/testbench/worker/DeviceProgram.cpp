#include "cupel/testbench/worker/DeviceProgram.h"

#include "cupel/compiler/passes/ExtractChecks.h"
#include "cupel/compiler/passes/HoistConstants.h"
#include "cupel/ir/portable/Portable.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Diagnostics.h>

namespace cupel::testbench::worker {

using namespace mlir;

pjrt::ProgramVersion newestVersion() {
  constexpr vhlo::Version kVersion = vhlo::kCurrentVersion;
  return {kVersion.major, kVersion.minor, kVersion.patch};
}

static vhlo::Version toVhlo(const pjrt::ProgramVersion &version) {
  return {static_cast<uint32_t>(version[0]), static_cast<uint32_t>(version[1]),
          static_cast<uint32_t>(version[2])};
}

/// Devices know the stored integers of quantized types alone.
static Result<tensor::Tensor> storedTensor(ElementsAttr value) {
  Result<tensor::Tensor> tensor = reference::constantTensor(value, value.getType());
  if (tensor && tensor->elementType().quantization)
    return tensor->withElementType(tensor->dtype());
  return tensor;
}

static Answer<DeviceProgram> describeChecks(const compiler::ExtractedChecks &extracted) {
  using Kind = compiler::ExtractedCheck::Kind;
  DeviceProgram result;
  result.ownResults = extracted.ownResults;
  for (const compiler::ExtractedCheck &check : extracted.checks) {
    pjrt::WorkloadCheck out;
    out.kind = check.kind == Kind::Equal         ? pjrt::WorkloadCheck::Kind::Equal
               : check.kind == Kind::AlmostEqual ? pjrt::WorkloadCheck::Kind::AlmostEqual
                                                 : pjrt::WorkloadCheck::Kind::Close;
    out.actual = check.actual;
    out.tolerance = check.tolerance;
    out.minUlps = check.minUlps;
    out.maxUlps = check.maxUlps;
    out.location = reference::describeLocation(check.location);
    if (check.expected) {
      out.expected = *check.expected;
    } else {
      Result<tensor::Tensor> value = storedTensor(check.value);
      if (!value)
        return DeviceError{ErrorCode::Unsupported, out.location + ": " + value.message()};
      out.isConstant = true;
      out.expected = static_cast<uint32_t>(result.constants.size());
      result.constants.push_back(std::move(*value));
    }
    result.checks.push_back(std::move(out));
  }
  return result;
}

Answer<DeviceProgram> prepareForDevice(const Program &program,
                                       const std::vector<pjrt::ProgramVersion> &versions) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(program.module).clone();
  std::string complaint;
  ScopedDiagnosticHandler handler(module->getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = reference::describeLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
  FailureOr<compiler::ExtractedChecks> extracted = compiler::extractChecks(*module);
  if (failed(extracted))
    return DeviceError{ErrorCode::Unsupported, complaint};
  Answer<DeviceProgram> result = describeChecks(*extracted);
  if (!result)
    return result;

  for (ElementsAttr value : compiler::hoistConstants(*module)) {
    Result<tensor::Tensor> input = storedTensor(value);
    if (!input)
      return DeviceError{ErrorCode::Unsupported, input.message()};
    result->inputs.push_back(std::move(*input));
  }

  std::vector<pjrt::ProgramVersion> targets = versions;
  if (targets.empty())
    targets.push_back(newestVersion());
  for (const pjrt::ProgramVersion &target : targets) {
    std::string bytes;
    llvm::raw_string_ostream out(bytes);
    complaint.clear();
    if (succeeded(portable::writePortable(*module, toVhlo(target), out)))
      result->artifacts.push_back({target, std::move(bytes)});
  }
  if (result->artifacts.empty())
    return DeviceError{ErrorCode::Unsupported, "cannot be written for StableHLO " +
                                                   pjrt::toString(targets.back()) + ": " +
                                                   complaint};
  return result;
}

} // namespace cupel::testbench::worker
