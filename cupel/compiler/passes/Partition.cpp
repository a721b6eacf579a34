#include "cupel/compiler/partition/Partition.h"

#include "cupel/compiler/analysis/Cost.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/analysis/Inspect.h"
#include "cupel/compiler/passes/CombineReductions.h"
#include "cupel/compiler/passes/InlineCalls.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/compiler/rewrites/Rewrites.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using cupel::runtime::ProgramInfo;
using cupel::runtime::ValueInfo;

namespace cupel::compiler {

#define GEN_PASS_DEF_PARTITION
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

/// Below this it does not matter if every device does all of it.
constexpr double kSmallWork = 1 << 22;

bool isAnythingSplit(const ProgramInfo &info) {
  auto isTiled = [](const ValueInfo &value) {
    return value.shards.kind == tensor::Shards::Kind::Tiled;
  };
  return llvm::any_of(info.arguments, isTiled) || llvm::any_of(info.results, isTiled);
}

/// The module for one device. The given one stays as it is.
Result<OwningOpRef<ModuleOp>> partitioned(ModuleOp given, const ProgramInfo &info) {
  OwningOpRef<ModuleOp> module = given.clone();
  func::FuncOp entry = entryOf(*module);
  if (!inlineCalls(entry))
    return Error{ErrorCode::Unsupported, "its calls cannot be put in line"};
  if (Status status = partition(*module, entry, info); !status)
    return status.error();
  combineReductions(*module);
  if (failed(verify(*module)))
    return Error{ErrorCode::Internal, "what the partitioner made is not valid"};
  return module;
}

struct PartitionPass : public impl::PartitionBase<PartitionPass> {
  using PartitionBase::PartitionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Devices devices = Devices::of(module);
    func::FuncOp entry = entryOf(module);
    if (!entry || devices.replicas != 1 || devices.partitions < 2 || devices.view != View::Global)
      return;
    Result<ProgramInfo> info = describe(module, entry);
    if (!info || !isAnythingSplit(*info))
      return; // One computes for all.
    if (!mayRewrite(entry, "split"))
      return;
    Result<OwningOpRef<ModuleOp>> made = partitioned(module, *info);
    if (!made)
      return refuse(made.message());
    // What every device computes as a whole, it computes as often as there are devices.
    double whole = workOf(estimateCost(entry)), piece = workOf(estimateCost(entryOf(**made)));
    if (piece * static_cast<double>(devices.partitions) > 2 * whole + kSmallWork)
      return;
    module.getBodyRegion().takeBody((*made)->getBodyRegion());
    devices.view = View::Own;
    devices.write(module);
  }

private:
  void refuse(const std::string &reason) {
    ModuleOp module = getOperation();
    module->setAttr(kNotPartitionedAttr, StringAttr::get(&getContext(), reason));
    InFlightDiagnostic said = strict ? module.emitError() : module.emitWarning();
    said << "the program is not split over its devices: " << reason;
    if (strict)
      signalPassFailure();
  }
};

} // namespace

} // namespace cupel::compiler
