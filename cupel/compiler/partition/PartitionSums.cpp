// Operations that combine elements of different pieces: reductions, products, gathers, scatters.

#include "cupel/compiler/partition/Partitioner.h"

#include "mlir/IR/Matchers.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

/// The one operation on elements that a region applies; null if it does more.
Operation *combinerOf(Region &region) {
  if (!region.hasOneBlock() || region.front().getNumArguments() != 2)
    return nullptr;
  Block &block = region.front();
  Operation &first = block.front();
  bool isPlain = first.getNumOperands() == 2 && first.getNumResults() == 1 &&
                 first.getNextNode() == block.getTerminator() &&
                 block.getTerminator()->getOperands() == first.getResults() &&
                 first.getOperand(0) != first.getOperand(1) &&
                 llvm::all_of(first.getOperands(), [&](mlir::Value operand) {
                   return llvm::is_contained(block.getArguments(), operand);
                 });
  return isPlain && isa<stablehlo::CombinerOpInterface>(first) ? &first : nullptr;
}

/// A constant of one number all over; null if the value is anything else.
DenseElementsAttr splatOf(mlir::Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (DenseElementsAttr elements; matchPattern(op, m_Constant(&elements)))
      return elements.isSplat() ? elements : DenseElementsAttr();
    bool isMoved = op->hasTrait<stablehlo::MovesElements>() && op->getNumOperands() == 1;
    if (!isMoved && !isa<sdy::ShardingConstraintOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// A sum of numbers, which may be put off: the other combiners must be applied at once.
bool isSum(Operation *combiner, mlir::Value result) {
  return combiner->hasTrait<stablehlo::Linear>() && !getElementTypeOrSelf(result).isInteger(1);
}

} // namespace

bool Partitioner::lowerReduce(Operation &given) {
  auto op = cast<stablehlo::ReduceOp>(given);
  unsigned count = op->getNumResults();
  ArrayRef<int64_t> dimensions = op.getDimensions();
  Operation *combiner = count == 1 ? combinerOf(op->getRegion(0)) : nullptr;
  DenseElementsAttr init = splatOf(op->getOperand(1));
  bool mayCombine =
      combiner && init && cast<stablehlo::CombinerOpInterface>(combiner).isNeutral(init);
  for (mlir::Value operand : op->getOperands())
    reduced(operand);
  if (failed)
    return false;
  Split from = local(op->getOperand(0)).split;
  MeshAxes summed;
  for (int64_t dim : dimensions) {
    if (!mayCombine)
      from.dims[dim].clear();
    summed.append(from.dims[dim]);
  }
  llvm::sort(summed);
  Split to = Split::whole(0);
  for (auto [dim, axes] : llvm::enumerate(from.dims))
    if (!llvm::is_contained(dimensions, static_cast<int64_t>(dim)))
      to.dims.push_back(axes);
  SmallVector<mlir::Value> operands;
  SmallVector<mlir::Type> types;
  for (unsigned i = 0; i < count; ++i) {
    operands.push_back(as(op->getOperand(i), from));
    types.push_back(device.pieceType(op->getResult(i).getType(), to));
  }
  for (unsigned i = count; i < 2 * count; ++i)
    operands.push_back(whole(op->getOperand(i)));
  Operation *made = failed ? nullptr : again(*op.getOperation(), operands, types);
  if (!made)
    return false;
  for (unsigned i = 0; i < count; ++i) {
    mlir::Value value = made->getResult(i);
    Split split = to;
    if (!summed.empty()) {
      if (isSum(combiner, value))
        split.unreduced = summed;
      else
        value = device.allReduce(op.getLoc(), value, summed, combiner->getName().getStringRef());
    }
    set(op->getResult(i), value, split);
  }
  return true;
}

bool Partitioner::lowerDot(Operation &given) {
  auto op = cast<stablehlo::DotGeneralOp>(given);
  mlir::Value lhs = op->getOperand(0), rhs = op->getOperand(1), result = op->getResult(0);
  Split left = reduced(lhs).split, right = reduced(rhs).split, hint = hintOf(result);
  if (failed)
    return false;
  auto numbers = op.getDotDimensionNumbers();
  ArrayRef<int64_t> batch[] = {numbers.getLhsBatchingDimensions(),
                               numbers.getRhsBatchingDimensions()};
  ArrayRef<int64_t> contracted[] = {numbers.getLhsContractingDimensions(),
                                    numbers.getRhsContractingDimensions()};
  Split wantLeft = Split::whole(rankOf(lhs)), wantRight = Split::whole(rankOf(rhs)),
        to = Split::whole(rankOf(result));
  llvm::SmallDenseSet<int> used;
  auto claim = [&](const MeshAxes &axes) {
    if (axes.empty() || llvm::any_of(axes, [&](int axis) { return used.contains(axis); }))
      return false;
    used.insert(axes.begin(), axes.end());
    return true;
  };
  // Sums over pieces that both have; then the dimensions that stay; the rest is gathered.
  for (auto [l, r] : llvm::zip_equal(contracted[0], contracted[1]))
    if (left.dims[l] == right.dims[r] && claim(left.dims[l])) {
      wantLeft.dims[l] = wantRight.dims[r] = left.dims[l];
      to.unreduced.append(left.dims[l]);
    }
  llvm::sort(to.unreduced);
  int64_t at = 0;
  for (auto [l, r] : llvm::zip_equal(batch[0], batch[1])) {
    for (const MeshAxes &axes : {left.dims[l], right.dims[r], hint.dims[at]})
      if (claim(axes)) {
        wantLeft.dims[l] = wantRight.dims[r] = to.dims[at] = axes;
        break;
      }
    ++at;
  }
  auto free = [&](unsigned side, const Split &now, Split &want) {
    for (int64_t dim = 0; dim < static_cast<int64_t>(now.dims.size()); ++dim) {
      if (llvm::is_contained(batch[side], dim) || llvm::is_contained(contracted[side], dim))
        continue;
      for (const MeshAxes &axes : {now.dims[dim], hint.dims[at]})
        if (claim(axes)) {
          want.dims[dim] = to.dims[at] = axes;
          break;
        }
      ++at;
    }
  };
  free(0, left, wantLeft);
  free(1, right, wantRight);
  if (!device.isEven(result.getType(), to) || !device.isEven(lhs.getType(), wantLeft) ||
      !device.isEven(rhs.getType(), wantRight))
    return false;
  SmallVector<mlir::Value> operands{as(lhs, wantLeft), as(rhs, wantRight)};
  Operation *made =
      failed ? nullptr
             : again(*op.getOperation(), operands, {device.pieceType(result.getType(), to)});
  if (made)
    set(result, made->getResult(0), to);
  return made;
}

bool Partitioner::lowerConvolution(Operation &given) {
  auto op = cast<stablehlo::ConvolutionOp>(given);
  auto numbers = op.getDimensionNumbers();
  mlir::Value lhs = op->getOperand(0), rhs = op->getOperand(1), result = op->getResult(0);
  Split now = reduced(lhs).split, from = Split::whole(rankOf(lhs)),
        to = Split::whole(rankOf(result));
  if (failed)
    return false;
  if (op.getBatchGroupCount() == 1)
    from.dims[numbers.getInputBatchDimension()] = to.dims[numbers.getOutputBatchDimension()] =
        now.dims[numbers.getInputBatchDimension()];
  SmallVector<mlir::Value> operands{as(lhs, from), whole(rhs)};
  Operation *made =
      failed ? nullptr
             : again(*op.getOperation(), operands, {device.pieceType(result.getType(), to)});
  if (made)
    set(result, made->getResult(0), to);
  return made;
}

SmallVector<int64_t> Partitioner::withoutVector(int64_t rank, int64_t vectorDim) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != vectorDim)
      dims.push_back(dim);
  return dims;
}

bool Partitioner::lowerGather(Operation &given) {
  auto op = cast<stablehlo::GatherOp>(given);
  auto numbers = op.getDimensionNumbers();
  mlir::Value operand = op->getOperand(0), indices = op->getOperand(1), result = op->getResult(0);
  Split nowOperand = reduced(operand).split, nowIndices = reduced(indices).split;
  if (failed)
    return false;
  Split fromOperand = Split::whole(rankOf(operand)), fromIndices = Split::whole(rankOf(indices)),
        to = Split::whole(rankOf(result));
  auto claim = [&](const MeshAxes &axes) {
    return !axes.empty() && llvm::none_of(axes, [&](int axis) { return to.uses(axis); });
  };
  SmallVector<int64_t> rows = withoutVector(rankOf(indices), numbers.getIndexVectorDim());
  size_t next = 0;
  for (int64_t dim = 0; dim < rankOf(result); ++dim) {
    if (llvm::is_contained(numbers.getOffsetDims(), dim) || next >= rows.size())
      continue;
    int64_t row = rows[next++];
    MeshAxes axes = nowIndices.dims[row];
    int64_t batching = positionOf(numbers.getStartIndicesBatchingDims(), row);
    if (batching >= 0 && axes.empty())
      axes = nowOperand.dims[numbers.getOperandBatchingDims()[batching]];
    if (!claim(axes))
      continue;
    to.dims[dim] = fromIndices.dims[row] = axes;
    if (batching >= 0)
      fromOperand.dims[numbers.getOperandBatchingDims()[batching]] = axes;
  }
  next = 0;
  SmallVector<int64_t> sizes(op.getSliceSizes());
  for (int64_t dim = 0; dim < rankOf(operand) && next < numbers.getOffsetDims().size(); ++dim) {
    if (llvm::is_contained(numbers.getCollapsedSliceDims(), dim) ||
        llvm::is_contained(numbers.getOperandBatchingDims(), dim))
      continue;
    int64_t offset = numbers.getOffsetDims()[next++];
    if (sizes[dim] == shapeOf(operand)[dim] && claim(nowOperand.dims[dim])) {
      to.dims[offset] = fromOperand.dims[dim] = nowOperand.dims[dim];
      sizes[dim] /= device.parts(nowOperand.dims[dim]);
    }
  }
  if (!device.isEven(operand.getType(), fromOperand) ||
      !device.isEven(indices.getType(), fromIndices) || !device.isEven(result.getType(), to))
    return false;
  SmallVector<mlir::Value> operands{as(operand, fromOperand), as(indices, fromIndices)};
  Operation *made =
      failed ? nullptr
             : again(*op.getOperation(), operands, {device.pieceType(result.getType(), to)});
  if (!made)
    return false;
  made->setAttr("slice_sizes", device.builder.getDenseI64ArrayAttr(sizes));
  set(result, made->getResult(0), to);
  return true;
}

int64_t Partitioner::positionOf(ArrayRef<int64_t> list, int64_t wanted) {
  auto it = llvm::find(list, wanted);
  return it == list.end() ? -1 : it - list.begin();
}

bool Partitioner::lowerScatter(Operation &given) {
  auto op = cast<stablehlo::ScatterOp>(given);
  if (op->getNumResults() != 1)
    return computeWhole(*op.getOperation());
  auto numbers = op.getScatterDimensionNumbers();
  Operation *combiner = combinerOf(op->getRegion(0));
  DenseElementsAttr init = splatOf(op->getOperand(0));
  bool mayAdd = combiner && isSum(combiner, op->getResult(0)) && init &&
                cast<stablehlo::CombinerOpInterface>(combiner).isNeutral(init);
  mlir::Value input = op->getOperand(0), indices = op->getOperand(1), updates = op->getOperand(2);
  Split nowInput = reduced(input).split, nowIndices = reduced(indices).split,
        nowUpdates = reduced(updates).split;
  if (failed)
    return false;
  Split fromInput = Split::whole(rankOf(input)), fromIndices = Split::whole(rankOf(indices)),
        fromUpdates = Split::whole(rankOf(updates));
  MeshAxes summands;
  auto claim = [&](const MeshAxes &axes) {
    return !axes.empty() && llvm::none_of(axes, [&](int axis) {
      return fromUpdates.uses(axis) || fromInput.uses(axis);
    });
  };
  SmallVector<int64_t> rows = withoutVector(rankOf(indices), numbers.getIndexVectorDim());
  size_t next = 0;
  for (int64_t dim = 0; dim < rankOf(updates); ++dim) {
    if (llvm::is_contained(numbers.getUpdateWindowDims(), dim) || next >= rows.size())
      continue;
    int64_t row = rows[next++];
    int64_t batching = positionOf(numbers.getScatterIndicesBatchingDims(), row);
    if (batching < 0 && !mayAdd)
      continue;
    MeshAxes axes = nowUpdates.dims[dim];
    if (axes.empty())
      axes = nowIndices.dims[row];
    if (axes.empty() && batching >= 0)
      axes = nowInput.dims[numbers.getInputBatchingDims()[batching]];
    if (!claim(axes))
      continue;
    fromUpdates.dims[dim] = fromIndices.dims[row] = axes;
    if (batching >= 0)
      fromInput.dims[numbers.getInputBatchingDims()[batching]] = axes;
    else
      summands.append(axes);
  }
  next = 0;
  for (int64_t dim = 0; dim < rankOf(input) && next < numbers.getUpdateWindowDims().size(); ++dim) {
    if (llvm::is_contained(numbers.getInsertedWindowDims(), dim) ||
        llvm::is_contained(numbers.getInputBatchingDims(), dim))
      continue;
    int64_t window = numbers.getUpdateWindowDims()[next++];
    bool isWhole = shapeOf(updates)[window] == shapeOf(input)[dim] &&
                   !llvm::is_contained(numbers.getScatterDimsToOperandDims(), dim);
    MeshAxes axes = nowInput.dims[dim].empty() ? nowUpdates.dims[window] : nowInput.dims[dim];
    if (isWhole && claim(axes))
      fromInput.dims[dim] = fromUpdates.dims[window] = axes;
  }
  if (!device.isEven(input.getType(), fromInput) ||
      !device.isEven(updates.getType(), fromUpdates) ||
      !device.isEven(indices.getType(), fromIndices))
    return false;
  SmallVector<mlir::Value> operands{as(input, fromInput), as(indices, fromIndices),
                                    as(updates, fromUpdates)};
  Operation *made =
      failed ? nullptr
             : again(*op.getOperation(), operands, {device.pieceType(input.getType(), fromInput)});
  Split to = fromInput;
  llvm::sort(summands);
  to.unreduced = summands;
  if (made)
    set(op->getResult(0), made->getResult(0), to);
  return made;
}

void Partitioner::addSumRules(Rules &rules) {
  rules[stablehlo::ReduceOp::getOperationName()] = &Partitioner::lowerReduce;
  rules[stablehlo::DotGeneralOp::getOperationName()] = &Partitioner::lowerDot;
  rules[stablehlo::ConvolutionOp::getOperationName()] = &Partitioner::lowerConvolution;
  rules[stablehlo::GatherOp::getOperationName()] = &Partitioner::lowerGather;
  rules[stablehlo::ScatterOp::getOperationName()] = &Partitioner::lowerScatter;
}

} // namespace cupel::compiler
