// Operations on elements, and those that move elements.

#include "cupel/reference/ShardsOf.h"
#include "cupel/compiler/partition/Partitioner.h"

namespace cupel::compiler {

using namespace mlir;

bool Partitioner::lowerConstant(Operation &op) {
  auto constant = cast<stablehlo::ConstantOp>(op);
  Split split = Split::whole(rankOf(constant));
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (elements && elements.isSplat())
    split = hintOf(constant);
  RankedTensorType type = device.pieceType(constant.getType(), split);
  Operation *made = device.builder.clone(*constant.getOperation());
  if (split.hasTiles()) {
    made->setAttr("value", elements.resizeSplat(type));
    made->getResult(0).setType(type);
  }
  set(constant, made->getResult(0), split);
  return true;
}

bool Partitioner::lowerIota(Operation &op) {
  auto iota = cast<stablehlo::IotaOp>(op);
  Location loc = iota.getLoc();
  Split split = hintOf(iota.getResult());
  RankedTensorType type = device.pieceType(iota.getType(), split);
  Operation *made = again(*iota.getOperation(), {}, {type});
  mlir::Value value = made->getResult(0);
  int64_t dim = iota.getIotaDimension();
  if (device.parts(split.dims[dim]) > 1) {
    mlir::Value start = device.offset(loc, split.dims[dim], type.getDimSize(dim));
    auto scalar = RankedTensorType::get({}, type.getElementType());
    start = device.make(loc, "stablehlo.convert", scalar, start)->getResult(0);
    OpBuilder &builder = device.builder;
    mlir::Value all =
        device
            .make(loc, "stablehlo.broadcast_in_dim", type, start,
                  builder.getNamedAttr("broadcast_dimensions", builder.getDenseI64ArrayAttr({})))
            ->getResult(0);
    value = device.make(loc, "stablehlo.add", type, {value, all})->getResult(0);
  }
  set(iota.getResult(), value, split);
  return true;
}

MeshAxes Partitioner::summandsThrough(Operation &op) {
  auto of = [&](unsigned i) { return local(op.getOperand(i)).split.unreduced; };
  auto isFloat = [](mlir::Value value) { return stablehlo::isFloat(getElementTypeOrSelf(value)); };
  // Sums that are taken over devices in the same way.
  auto areAlike = [&](unsigned i) { return of(i) == of(0); };
  if (op.hasTrait<stablehlo::Linear>())
    return llvm::all_of(llvm::seq(op.getNumOperands()), areAlike) ? of(0) : MeshAxes();
  // Rounds every summand, which is for the program to ask for.
  if (op.hasTrait<stablehlo::LinearButRounds>() && local(op.getOperand(0)).keepsSummands &&
      isFloat(op.getOperand(0)) && isFloat(op.getResult(0)))
    return of(0);
  auto isFree = [&](unsigned i, const MeshAxes &axes) {
    return llvm::none_of(axes, [&](int axis) { return local(op.getOperand(i)).split.uses(axis); });
  };
  if (op.hasTrait<stablehlo::LinearInEach>()) {
    if (!of(0).empty() && isFree(1, of(0)))
      return of(0);
    if (!of(1).empty() && isFree(0, of(1)))
      return of(1);
  }
  if (op.hasTrait<stablehlo::LinearInFirst>() && isFloat(op.getResult(0)) && isFree(1, of(0)))
    return of(0);
  return {};
}

bool Partitioner::lowerElementwise(Operation &op) {
  MeshAxes summands = summandsThrough(op);
  bool keeps = false;
  SmallVector<mlir::Value> shaped;
  for (mlir::Value operand : op.getOperands()) {
    if (summands.empty())
      reduced(operand);
    else
      keeps |= local(operand).keepsSummands;
    if (rankOf(operand) == rankOf(op.getResult(0)))
      shaped.push_back(operand);
  }
  if (failed)
    return false;
  Split split = common(op, shaped);
  for (MeshAxes &axes : split.dims)
    if (llvm::any_of(axes, [&](int axis) { return llvm::is_contained(summands, axis); }))
      axes.clear();
  if (!device.isEven(op.getResult(0).getType(), split))
    return false;
  SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op.getOperands()) {
    Split wanted = rankOf(operand) == rankOf(op.getResult(0)) ? split : Split::whole(0);
    // Of a product one factor alone is a sum.
    if (local(operand).split.unreduced == summands)
      wanted.unreduced = summands;
    operands.push_back(as(operand, wanted));
  }
  if (failed)
    return false;
  Operation *made = again(op, operands, {device.pieceType(op.getResult(0).getType(), split)});
  split.unreduced = summands;
  if (made)
    set(op.getResult(0), made->getResult(0), split, keeps);
  return made;
}

bool Partitioner::lowerConstraint(Operation &op, sdy::TensorShardingAttr sharding) {
  mlir::Value input = op.getOperand(0);
  sdy::MeshAttr its = reference::meshOf(sharding, module);
  if (its && !its.isMaximal() && its.getAxes().empty()) {
    map[op.getResult(0)] = Local(local(input));
    return true;
  }
  std::optional<Split> wanted = splitOf(sharding);
  if (!wanted || static_cast<int64_t>(wanted->dims.size()) != rankOf(input))
    return false;
  // Open dimensions stay as they are.
  Split now = local(input).split;
  for (auto [dim, stated] : llvm::enumerate(sharding.getDimShardings()))
    if (!stated.getIsClosed() && stated.getAxes().empty()) {
      bool isFree = llvm::none_of(now.dims[dim], [&](int axis) { return wanted->uses(axis); });
      if (isFree)
        wanted->dims[dim] = now.dims[dim];
    }
  if (!device.isEven(input.getType(), *wanted))
    return false;
  set(op.getResult(0), as(input, *wanted), *wanted, !wanted->unreduced.empty());
  return true;
}

bool Partitioner::move(Operation &op, const Split &from, Split to) {
  Local now = local(op.getOperand(0));
  Split source = from;
  source.unreduced = to.unreduced = now.split.unreduced;
  for (const MeshAxes &axes : to.dims)
    for (int axis : axes)
      if (llvm::is_contained(to.unreduced, axis))
        return false;
  if (!device.isEven(op.getResult(0).getType(), to))
    return false;
  Operation *made =
      again(op, {as(op.getOperand(0), source)}, {device.pieceType(op.getResult(0).getType(), to)});
  if (made)
    set(op.getResult(0), made->getResult(0), to, now.keepsSummands);
  return made;
}

bool Partitioner::lowerBroadcast(Operation &given) {
  auto op = cast<stablehlo::BroadcastInDimOp>(given);
  mlir::Value operand = op.getOperand(), result = op.getResult();
  Split from = local(operand).split, hint = hintOf(result), to = Split::whole(rankOf(result));
  SmallVector<bool> isTaken(rankOf(result), false);
  for (auto [i, dim] : llvm::enumerate(op.getBroadcastDimensions())) {
    if (shapeOf(operand)[i] != shapeOf(result)[dim])
      from.dims[i].clear();
    else
      isTaken[dim] = true;
  }
  // What propagation found for the whole result, where the operand can follow; else as it is.
  bool follows = llvm::none_of(from.unreduced, [&](int axis) { return hint.uses(axis); });
  for (auto [i, dim] : llvm::enumerate(op.getBroadcastDimensions()))
    if (isTaken[dim])
      follows &= from.dims[i].empty() || from.dims[i] == hint.dims[dim];
  for (auto [i, dim] : llvm::enumerate(op.getBroadcastDimensions()))
    if (isTaken[dim]) {
      if (follows)
        from.dims[i] = hint.dims[dim];
      to.dims[dim] = from.dims[i];
    }
  for (int64_t dim = 0; dim < rankOf(result); ++dim)
    if (!isTaken[dim] && follows)
      to.dims[dim] = hint.dims[dim];
  if (!device.isEven(operand.getType(), from))
    return false;
  return move(*op.getOperation(), from, to);
}

bool Partitioner::lowerTranspose(Operation &given) {
  auto op = cast<stablehlo::TransposeOp>(given);
  Split from = local(op.getOperand()).split, to = Split::whole(rankOf(op.getResult()));
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    to.dims[i] = from.dims[dim];
  return move(*op.getOperation(), from, to);
}

bool Partitioner::lowerReshape(Operation &given) {
  auto op = cast<stablehlo::ReshapeOp>(given);
  mlir::Value operand = op.getOperand(), result = op.getResult();
  Split now = local(operand).split, from = Split::whole(rankOf(operand)),
        to = Split::whole(rankOf(result));
  // Dimensions go together in groups of the same product; only the outermost may stay split.
  ArrayRef<int64_t> a = shapeOf(operand), b = shapeOf(result);
  if (llvm::is_contained(a, 0))
    return computeWhole(*op.getOperation());
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i] == 1 || b[j] == 1) {
      a[i] == 1 ? ++i : ++j;
      continue;
    }
    int64_t parts = device.parts(now.dims[i]);
    if (a[i] % parts == 0 && b[j] % parts == 0)
      to.dims[j] = from.dims[i] = now.dims[i];
    int64_t left = a[i++], right = b[j++];
    while (left != right) {
      if (left < right && i < a.size())
        left *= a[i++];
      else if (right < left && j < b.size())
        right *= b[j++];
      else
        return computeWhole(*op.getOperation());
    }
  }
  return move(*op.getOperation(), from, to);
}

std::optional<bool> Partitioner::lowerAlongDimensions(Operation &op) {
  stablehlo::DimensionRule rule = stablehlo::dimensionRuleOf(&op);
  size_t shaped = rule.apartOperands; // Operands that are split; those behind are whole.
  if (!shaped)
    return std::nullopt;
  auto keep = [&](int64_t dim) { return llvm::is_contained(rule.apart, dim); };
  SmallVector<mlir::Value> first(op.getOperands().take_front(shaped));
  // What only moves elements moves summands as well.
  MeshAxes summands = local(first.front()).split.unreduced;
  bool moves = op.hasTrait<stablehlo::Linear>();
  bool keeps = false;
  for (mlir::Value operand : first) {
    moves &= local(operand).split.unreduced == summands;
    keeps |= local(operand).keepsSummands;
  }
  if (!moves)
    summands.clear();
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    if (!moves || i >= shaped)
      reduced(operand);
  if (failed)
    return false;
  Split split = common(op, first, keep);
  for (MeshAxes &axes : split.dims)
    if (llvm::any_of(axes, [&](int axis) { return llvm::is_contained(summands, axis); }))
      axes.clear();
  split.unreduced = summands;
  SmallVector<mlir::Value> operands;
  SmallVector<mlir::Type> types;
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    if (i < shaped && !device.isEven(operand.getType(), split))
      return false;
    operands.push_back(i < shaped ? as(operand, split) : whole(operand));
  }
  for (mlir::Value result : op.getResults()) {
    if (!device.isEven(result.getType(), split))
      return false;
    types.push_back(device.pieceType(result.getType(), split));
  }
  Operation *made = failed ? nullptr : again(op, operands, types);
  if (!made)
    return false;
  if (!rule.sizes.empty()) {
    SmallVector<int64_t> piece(op.getAttrOfType<DenseI64ArrayAttr>(rule.sizes).asArrayRef());
    for (auto [size, axes] : llvm::zip_equal(piece, split.dims))
      size /= device.parts(axes);
    made->setAttr(rule.sizes, device.builder.getDenseI64ArrayAttr(piece));
  }
  for (auto [result, here] : llvm::zip_equal(op.getResults(), made->getResults()))
    set(result, here, split, keeps && !summands.empty());
  return true;
}

void Partitioner::addElementRules(Rules &rules) {
  rules[stablehlo::ConstantOp::getOperationName()] = &Partitioner::lowerConstant;
  rules[stablehlo::IotaOp::getOperationName()] = &Partitioner::lowerIota;
  rules[stablehlo::BroadcastInDimOp::getOperationName()] = &Partitioner::lowerBroadcast;
  rules[stablehlo::TransposeOp::getOperationName()] = &Partitioner::lowerTranspose;
  rules[stablehlo::ReshapeOp::getOperationName()] = &Partitioner::lowerReshape;
}

} // namespace cupel::compiler
