#include "cupel/compiler/program/ProgramText.h"

#include "cupel/compiler/passes/EnterManualComputation.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Indexing.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

constexpr StringLiteral kSharding = "sdy.sharding";

/// What our passes noted for each other.
void dropNotes(ModuleOp module) {
  for (NamedAttribute attribute : llvm::to_vector(module->getDiscardableAttrs()))
    if (attribute.getName().strref().starts_with("cupel."))
      module->removeDiscardableAttr(attribute.getName());
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, kWholeTypeAttr);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.removeResultAttr(i, StringAttr::get(module.getContext(), kWholeTypeAttr));
  }
}

/// MLIR writes larger constants as hexadecimal bytes.
constexpr int64_t kHexadecimalFrom = 100;

void dropShardings(ModuleOp module) {
  module.walk([](Operation *op) {
    op->removeDiscardableAttr(kSharding);
    op->removeDiscardableAttr(reference::kWholeWindowsAttr);
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, kSharding);
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        function.removeResultAttr(i, StringAttr::get(op->getContext(), kSharding));
    } else if (isa<sdy::ShardingConstraintOp, sdy::ReshardOp, sdy::PropagationBarrierOp,
                   sdy::DataFlowEdgeOp>(op)) {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
    } else if (isa<sdy::ShardingGroupOp>(op)) {
      op->erase();
    }
  });
}

Value customCall(OpBuilder &builder, Location loc, StringRef target, Value operand, Type type) {
  if (operand.getType() == type)
    return operand;
  NamedAttribute attributes[] = {
      builder.getNamedAttr("call_target_name", builder.getStringAttr(target))};
  return builder
      .create<stablehlo::CustomCallOp>(loc, TypeRange{type}, ValueRange{operand},
                                       ArrayRef(attributes))
      ->getResult(0);
}

void spliceBetweenCalls(sdy::ManualComputationOp manual) {
  OpBuilder builder(manual);
  Location loc = manual.getLoc();
  SmallVector<Value> arguments;
  for (auto [operand, inside] :
       llvm::zip_equal(manual->getOperands(), manual.getBody().front().getArguments()))
    arguments.push_back(
        customCall(builder, loc, "SPMDFullToShardShape", operand, inside.getType()));
  SmallVector<Value> results = inlineRegion(manual, manual.getBody(), arguments);
  builder.setInsertionPoint(manual);
  for (auto [result, inside] : llvm::zip_equal(manual->getResults(), results))
    result.replaceAllUsesWith(
        customCall(builder, loc, "SPMDShardToFullShape", inside, result.getType()));
  manual->erase();
}

/// What is started is done at once. A future that goes elsewhere than to async_done stays.
void finishAtOnce(stablehlo::AsyncStartOp start) {
  for (Operation *user : start->getUsers())
    if (!isa<stablehlo::AsyncDoneOp>(user))
      return;
  SmallVector<Value> results = inlineRegion(start, start.getBody(), start->getOperands());
  for (Operation *done : llvm::make_early_inc_range(start->getUsers())) {
    done->replaceAllUsesWith(results);
    done->erase();
  }
  start->erase();
}

/// Hosts' MLIR disagrees with ours on how truth values look as bytes; a constant of many becomes
/// one of numbers that is converted.
void spellOutTruthValues(ModuleOp module) {
  SmallVector<stablehlo::ConstantOp> constants;
  module.walk([&](stablehlo::ConstantOp constant) { constants.push_back(constant); });
  for (stablehlo::ConstantOp constant : constants) {
    auto value = dyn_cast<DenseIntElementsAttr>(constant.getValue());
    if (!value || !value.getElementType().isInteger(1) || value.isSplat() ||
        value.getNumElements() <= kHexadecimalFrom)
      continue;
    OpBuilder builder(constant);
    SmallVector<int8_t> numbers;
    for (bool truth : value.getValues<bool>())
      numbers.push_back(truth);
    auto type = RankedTensorType::get(value.getType().getShape(), builder.getI8Type());
    auto wide = builder.create<stablehlo::ConstantOp>(
        constant.getLoc(), TypeRange{type}, ValueRange{},
        builder.getNamedAttr("value", DenseElementsAttr::get(type, ArrayRef<int8_t>(numbers))));
    auto narrow = builder.create<stablehlo::ConvertOp>(
        constant.getLoc(), constant->getResultTypes(), ValueRange{wide->getResult(0)},
        ArrayRef<NamedAttribute>());
    constant->replaceAllUsesWith(narrow);
    constant->erase();
  }
}

} // namespace

std::string programText(const DeviceProgram &program) {
  std::lock_guard lock(program.context->use);
  OwningOpRef<ModuleOp> module = ModuleOp(*program.module).clone();
  dropShardings(*module);
  SmallVector<sdy::ManualComputationOp> manuals; // Inner ones first.
  module->walk([&](sdy::ManualComputationOp manual) { manuals.push_back(manual); });
  for (sdy::ManualComputationOp manual : manuals) {
    auto function = dyn_cast<func::FuncOp>(manual->getParentOp());
    if (function && function.isPublic() && wholeComputation(function) == manual)
      enterManualComputation(function, manual);
    else
      spliceBetweenCalls(manual);
  }
  dropNotes(*module);
  SmallVector<stablehlo::AsyncStartOp> starts;
  module->walk([&](stablehlo::AsyncStartOp start) { starts.push_back(start); });
  for (stablehlo::AsyncStartOp start : starts)
    finishAtOnce(start);
  for (sdy::MeshOp mesh : llvm::make_early_inc_range(module->getOps<sdy::MeshOp>()))
    mesh.erase();
  spellOutTruthValues(*module);
  std::string text;
  llvm::raw_string_ostream os(text);
  ir::printProgram(*module, os);
  return text;
}

} // namespace cupel::compiler
