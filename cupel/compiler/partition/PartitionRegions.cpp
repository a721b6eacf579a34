// Control flow, manual computations and custom calls.

#include "cupel/compiler/partition/Partitioner.h"

#include "mlir/IR/IRMapping.h"

namespace cupel::compiler {

using namespace mlir;

bool Partitioner::lowerManual(sdy::ManualComputationOp manual) {
  for (sdy::MeshAxisAttr axis : mesh.getAxes())
    if (axis.getSize() > 1 && llvm::none_of(manual.getManualAxes(), [&](StringAttr name) {
          return name.getValue() == axis.getName();
        }))
      return false;
  IRMapping mapping;
  Block &body = manual.getBody().front();
  for (auto [operand, inside, sharding] :
       llvm::zip_equal(manual->getOperands(), body.getArguments(),
                       manual.getInShardingsAttr().getShardings())) {
    std::optional<Split> split = splitOf(sharding);
    if (!split || !device.isEven(operand.getType(), *split))
      return false;
    mlir::Value piece = as(operand, *split);
    if (failed || piece.getType() != inside.getType())
      return false;
    mapping.map(inside, piece);
  }
  for (Operation &op : body.without_terminator())
    device.builder.clone(op, mapping);
  for (auto [result, inside, sharding] :
       llvm::zip_equal(manual->getResults(), body.getTerminator()->getOperands(),
                       manual.getOutShardingsAttr().getShardings())) {
    std::optional<Split> split = splitOf(sharding);
    if (!split || !device.isEven(result.getType(), *split) ||
        device.pieceType(result.getType(), *split) != inside.getType())
      return false;
    set(result, mapping.lookup(inside), *split, !split->unreduced.empty());
  }
  return true;
}

Split Partitioner::carried(mlir::Value value, mlir::Value result) {
  Local now = local(value);
  if (!now.keepsSummands)
    now = reduced(value);
  Split hint = hintOf(result);
  if (now.split.unreduced.empty() && hint.hasTiles())
    return hint;
  return now.split;
}

bool Partitioner::lowerLoop(Operation &op) {
  SmallVector<Split> splits;
  SmallVector<mlir::Value> operands;
  SmallVector<mlir::Type> types;
  for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults())) {
    splits.push_back(carried(operand, result));
    operands.push_back(as(operand, splits.back()));
    types.push_back(device.pieceType(operand.getType(), splits.back()));
  }
  if (failed)
    return false;
  Operation *made = device.make(op.getLoc(), op.getName().getStringRef(), types, operands, {},
                                /*regions=*/2);
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), made->getRegions())) {
    OpBuilder::InsertionGuard guard(device.builder);
    Block *block = device.builder.createBlock(&to, {}, types,
                                              SmallVector<Location>(types.size(), op.getLoc()));
    for (auto [i, argument] : llvm::enumerate(from.getArguments()))
      set(argument, block->getArgument(i), splits[i], !splits[i].unreduced.empty());
    if (!lower(from.front()))
      return false;
    SmallVector<mlir::Value> ends;
    for (auto [i, value] : llvm::enumerate(from.front().getTerminator()->getOperands()))
      ends.push_back(from.getRegionNumber() == 0 ? whole(value) : as(value, splits[i]));
    device.make(op.getLoc(), "stablehlo.return", {}, ends);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    set(result, made->getResult(i), splits[i], !splits[i].unreduced.empty());
  return true;
}

bool Partitioner::lowerBranches(Operation &op) {
  SmallVector<Split> splits;
  SmallVector<mlir::Type> types;
  for (mlir::Value result : op.getResults()) {
    splits.push_back(hintOf(result));
    types.push_back(device.pieceType(result.getType(), splits.back()));
  }
  mlir::Value index = whole(op.getOperand(0));
  if (failed)
    return false;
  Operation *made =
      device.make(op.getLoc(), op.getName().getStringRef(), types, index, {}, op.getNumRegions());
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), made->getRegions())) {
    OpBuilder::InsertionGuard guard(device.builder);
    device.builder.createBlock(&to);
    if (!lower(from.front()))
      return false;
    SmallVector<mlir::Value> ends;
    for (auto [i, value] : llvm::enumerate(from.front().getTerminator()->getOperands()))
      ends.push_back(as(value, splits[i]));
    device.make(op.getLoc(), "stablehlo.return", {}, ends);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    set(result, made->getResult(i), splits[i]);
  return true;
}

bool Partitioner::callApart(Operation &op) {
  SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op.getOperands())
    operands.push_back(reduced(operand).value);
  return !failed && again(op, operands, {});
}

bool Partitioner::lowerCustomCall(Operation &given) {
  auto op = cast<stablehlo::CustomCallOp>(given);
  if (auto attributes = op->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes"))
    if (attributes.contains("cupel_partitioned") && !op->getNumResults())
      return callApart(given);
  // Where and how a value lies means nothing to the value itself.
  if (llvm::is_contained({"Sharding", "LayoutConstraint", "annotate_device_placement"},
                         op.getCallTargetName()) &&
      op->getNumOperands() == 1 && op->getNumResults() == 1 &&
      op->getOperand(0).getType() == op->getResult(0).getType()) {
    Split split = local(op->getOperand(0)).split;
    return !failed && move(*op.getOperation(), split, split);
  }
  if (op.getHasSideEffect() || op.getCallTargetName().starts_with("cupel_") ||
      !op.getCalledComputations().empty())
    return false;
  // Calls on many matrices say how many dimensions count these.
  int64_t batch = 0;
  if (auto attributes = op->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes"))
    if (auto text = attributes.getAs<StringAttr>("num_batch_dims"))
      if (text.getValue().getAsInteger(10, batch))
        batch = 0;
  auto hasBatch = [&](mlir::Value value) { return rankOf(value) >= batch; };
  SmallVector<MeshAxes> axes(batch);
  if (llvm::all_of(op->getOperands(), hasBatch) && llvm::all_of(op->getResults(), hasBatch))
    for (mlir::Value operand : op->getOperands()) {
      Split now = reduced(operand).split;
      if (failed)
        return false;
      bool isFirst = llvm::all_of(axes, [](const MeshAxes &one) { return one.empty(); });
      for (int64_t dim = 0; dim < batch && isFirst; ++dim)
        axes[dim] = now.dims[dim];
    }
  auto splitFor = [&](mlir::Value value) {
    Split split = Split::whole(rankOf(value));
    for (auto [dim, one] : llvm::enumerate(axes))
      if (dim < split.dims.size())
        split.dims[dim] = one;
    return split;
  };
  SmallVector<mlir::Value> operands;
  SmallVector<mlir::Type> types;
  for (mlir::Value operand : op->getOperands()) {
    if (!device.isEven(operand.getType(), splitFor(operand)))
      return false;
    operands.push_back(as(operand, splitFor(operand)));
  }
  for (mlir::Value result : op->getResults()) {
    if (!device.isEven(result.getType(), splitFor(result)))
      return false;
    types.push_back(device.pieceType(result.getType(), splitFor(result)));
  }
  Operation *made = failed ? nullptr : again(*op.getOperation(), operands, types);
  if (!made)
    return false;
  for (auto [result, here] : llvm::zip_equal(op->getResults(), made->getResults()))
    set(result, here, splitFor(result));
  return true;
}

void Partitioner::addCallRules(Rules &rules) {
  rules[stablehlo::CustomCallOp::getOperationName()] = &Partitioner::lowerCustomCall;
}

} // namespace cupel::compiler
