// Transposes are moved behind what works on elements and behind what moves them, until they meet others that undo them.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_SINKTRANSPOSES
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

using Dims = SmallVector<int64_t>;

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// Sizes of what a transpose with this permutation makes `shape` of.
Dims before(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  Dims sizes(shape.size());
  for (auto [i, d] : llvm::enumerate(permutation))
    sizes[d] = shape[i];
  return sizes;
}

/// Dimensions of more than one element stay in their order.
bool isReshape(stablehlo::TransposeOp transpose) {
  int64_t last = -1;
  for (auto [i, d] : llvm::enumerate(transpose.getPermutation()))
    if (shapeOf(transpose.getResult())[i] != 1) {
      if (d < last)
        return false;
      last = d;
    }
  return true;
}

/// What the operand is before such a transpose makes it what it is; null if that is not there
/// without work.
Value withoutTranspose(OpBuilder &builder, Value operand, ArrayRef<int64_t> permutation) {
  if (cast<RankedTensorType>(operand.getType()).getRank() == 0)
    return operand;
  Dims sizes = before(shapeOf(operand), permutation);
  auto type = RankedTensorType::get(sizes, elementOf(operand));
  Location location = operand.getLoc();
  if (auto transpose = operand.getDefiningOp<stablehlo::TransposeOp>())
    return transpose.getPermutation() == permutation ? transpose.getOperand() : Value();
  if (TypedAttr number = splatOf(operand))
    return builder.create<stablehlo::ConstantOp>(
        location, type, DenseElementsAttr::get(type, ArrayRef<Attribute>{number}));
  if (auto broadcast = operand.getDefiningOp<stablehlo::BroadcastInDimOp>()) {
    Dims dims;
    for (int64_t d : broadcast.getBroadcastDimensions())
      dims.push_back(permutation[d]);
    return builder.create<stablehlo::BroadcastInDimOp>(location, type, broadcast.getOperand(), dims);
  }
  return {};
}

/// What made the value, if that is a transpose that may be moved.
stablehlo::TransposeOp layoutOf(Value value) {
  auto transpose = value.getDefiningOp<stablehlo::TransposeOp>();
  return transpose && transpose->hasAttr(kLayoutAttr) ? transpose : nullptr;
}

/// In the place of the operation: what was made without the transpose, and then that.
void replaceBy(Operation *op, Value made, ArrayRef<int64_t> permutation) {
  OpBuilder builder(op);
  auto back = builder.create<stablehlo::TransposeOp>(op->getLoc(), made, permutation);
  back->setAttr(kLayoutAttr, builder.getUnitAttr());
  op->getResult(0).replaceAllUsesWith(back);
}

bool sinkThroughElementwise(Operation *op) {
  if (!isElementwise(*op) || op->getNumRegions() != 0 ||
      op->getNumResults() != 1 || !cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape())
    return false;
  stablehlo::TransposeOp transpose;
  for (Value operand : op->getOperands())
    if (!transpose)
      transpose = layoutOf(operand);
  if (!transpose)
    return false;
  OpBuilder builder(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = withoutTranspose(builder, operand, transpose.getPermutation());
    if (!value)
      return false; // What was made for others is unused, and erased.
    operands.push_back(value);
  }
  if (!compiler::mayRewrite(op, "sink-through-elementwise"))
    return false;
  Dims sizes = before(shapeOf(op->getResult(0)), transpose.getPermutation());
  BodyWriter writer(builder, op->getLoc());
  Value made = writer.copy(op, operands, sizes);
  replaceBy(op, made, transpose.getPermutation());
  return true;
}

bool sinkThroughReduction(stablehlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1 || !isSimpleReduction(reduce))
    return false;
  stablehlo::TransposeOp transpose = layoutOf(reduce.getInputs()[0]);
  if (!transpose)
    return false;
  Dims dims, kept; // Of the transpose's operand; those that stay in the order of the result.
  for (auto [i, d] : llvm::enumerate(transpose.getPermutation()))
    (llvm::is_contained(reduce.getDimensions(), int64_t(i)) ? dims : kept).push_back(d);
  if (!compiler::mayRewrite(reduce, "sink-through-reduction"))
    return false;
  llvm::sort(dims);
  // What is left of the transpose goes behind.
  Dims inOrder(kept), sizes, left;
  llvm::sort(inOrder);
  for (int64_t d : inOrder)
    sizes.push_back(shapeOf(transpose.getOperand())[size_t(d)]);
  for (int64_t d : kept)
    left.push_back(llvm::find(inOrder, d) - inOrder.begin());
  OpBuilder builder(reduce);
  OperationState state(reduce.getLoc(), reduce->getName());
  state.addOperands({transpose.getOperand(), reduce.getInitValues()[0]});
  state.addTypes(RankedTensorType::get(sizes, elementOf(reduce.getResult(0))));
  state.addAttribute("dimensions", builder.getDenseI64ArrayAttr(dims));
  IRMapping mapping;
  reduce.getBody().cloneInto(state.addRegion(), mapping);
  Value made = builder.create(state)->getResult(0);
  if (llvm::is_sorted(left))
    reduce.getResult(0).replaceAllUsesWith(made);
  else
    replaceBy(reduce, made, left);
  return true;
}

bool sinkThroughConcatenation(stablehlo::ConcatenateOp op) {
  stablehlo::TransposeOp transpose;
  for (Value operand : op.getInputs())
    if (!transpose)
      transpose = layoutOf(operand);
  if (!transpose || !cast<RankedTensorType>(op.getType()).hasStaticShape())
    return false;
  OpBuilder builder(op);
  SmallVector<Value> operands;
  for (Value operand : op.getInputs()) {
    operands.push_back(withoutTranspose(builder, operand, transpose.getPermutation()));
    if (!operands.back())
      return false;
  }
  if (!compiler::mayRewrite(op, "sink-through-concatenation"))
    return false;
  auto type = RankedTensorType::get(before(shapeOf(op), transpose.getPermutation()), elementOf(op));
  replaceBy(op, builder.create<stablehlo::ConcatenateOp>(op.getLoc(), type, operands, transpose.getPermutation()[op.getDimension()]),
            transpose.getPermutation());
  return true;
}

bool sinkThroughSlice(stablehlo::SliceOp op) {
  stablehlo::TransposeOp transpose = layoutOf(op.getOperand());
  if (!transpose || !compiler::mayRewrite(op, "sink-through-slice"))
    return false;
  OpBuilder builder(op);
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  auto type = RankedTensorType::get(before(shapeOf(op), permutation), elementOf(op));
  replaceBy(op,
            builder.create<stablehlo::SliceOp>(op.getLoc(), type, transpose.getOperand(), before(op.getStartIndices(), permutation),
                                               before(op.getLimitIndices(), permutation), before(op.getStrides(), permutation)),
            permutation);
  return true;
}

bool sinkThroughPad(stablehlo::PadOp op) {
  stablehlo::TransposeOp transpose = layoutOf(op.getOperand());
  if (!transpose || !compiler::mayRewrite(op, "sink-through-pad"))
    return false;
  OpBuilder builder(op);
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  auto type = RankedTensorType::get(before(shapeOf(op), permutation), elementOf(op));
  replaceBy(op,
            builder.create<stablehlo::PadOp>(op.getLoc(), type, transpose.getOperand(),
                                             op.getPaddingValue(),
                                             before(op.getEdgePaddingLow(), permutation),
                                             before(op.getEdgePaddingHigh(), permutation),
                                             before(op.getInteriorPadding(), permutation)),
            permutation);
  return true;
}

bool sinkThroughReverse(stablehlo::ReverseOp op) {
  stablehlo::TransposeOp transpose = layoutOf(op.getOperand());
  if (!transpose || !compiler::mayRewrite(op, "sink-through-reverse"))
    return false;
  Dims turned;
  for (int64_t d : op.getDimensions())
    turned.push_back(transpose.getPermutation()[size_t(d)]);
  llvm::sort(turned);
  OpBuilder builder(op);
  replaceBy(op, builder.create<stablehlo::ReverseOp>(op.getLoc(), transpose.getOperand(), turned),
            transpose.getPermutation());
  return true;
}

/// Places along one dimension, as images are padded by reflection.
bool sinkThroughGather(stablehlo::GatherOp op) {
  stablehlo::TransposeOp transpose = layoutOf(op.getOperand());
  std::optional<int64_t> taken = transpose ? takenDimension(op) : std::nullopt;
  if (!taken || !compiler::mayRewrite(op, "sink-through-gather"))
    return false;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  int64_t along = permutation[size_t(*taken)];
  Dims others;
  for (int64_t d = 0; d < int64_t(permutation.size()); ++d)
    if (d != along)
      others.push_back(d);
  OpBuilder builder(op);
  auto numbers = stablehlo::GatherDimensionNumbersAttr::get(op.getContext(), others, {along}, {},
                                                            {}, {along}, 1);
  auto type = RankedTensorType::get(before(shapeOf(op.getResult()), permutation),
                                    elementOf(op.getResult()));
  replaceBy(op,
            builder.create<stablehlo::GatherOp>(
                op.getLoc(), type, transpose.getOperand(), op.getStartIndices(), numbers,
                before(op.getSliceSizes(), permutation), op.getIndicesAreSorted()),
            permutation);
  return true;
}

/// Dimensions of an operand that become some of the result, one run of each.
struct DimensionRun {
  int64_t firstFrom = 0, endFrom = 0, firstTo = 0, endTo = 0;
};

/// The shortest runs with as many elements on both sides; none where there are no elements.
SmallVector<DimensionRun> runsOf(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<DimensionRun> runs;
  if (llvm::is_contained(from, 0))
    return runs;
  int64_t i = 0, j = 0, fromRank = int64_t(from.size()), toRank = int64_t(to.size());
  while (i < fromRank) {
    if (from[i] == 1 && j < toRank && to[j] == 1) {
      runs.push_back({i, i + 1, j, j + 1});
      ++i, ++j;
      continue;
    }
    DimensionRun run{i, i + 1, j, j};
    int64_t left = from[i++], right = 1;
    while (left != right) {
      if (right < left)
        right *= to[j++];
      else
        left *= from[i++];
    }
    run.endFrom = i, run.endTo = j;
    runs.push_back(run);
  }
  // What is left are ones.
  if (!runs.empty())
    runs.back().endTo = toRank;
  return runs;
}

/// A reshape that splits and joins dimensions which are neighbours on both sides of the transpose.
bool sinkThroughReshape(stablehlo::ReshapeOp op) {
  stablehlo::TransposeOp transpose = layoutOf(op.getOperand());
  if (!transpose || !cast<RankedTensorType>(op.getType()).hasStaticShape())
    return false;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  SmallVector<DimensionRun> runs = runsOf(shapeOf(transpose), shapeOf(op));
  if (runs.empty())
    return false;
  for (const DimensionRun &run : runs)
    for (int64_t i = run.firstFrom + 1; i < run.endFrom; ++i)
      if (permutation[i] != permutation[i - 1] + 1)
        return false;
  // Groups of channels that are normalised lie in one piece where they are, and a few elements at a time with channels inmost; they are
  // split for shuffles alone.
  const DimensionRun &channels = *llvm::find_if(runs, [&](const DimensionRun &run) {
    return llvm::is_contained(permutation.slice(run.firstFrom, run.endFrom - run.firstFrom), int64_t(permutation.size()) - 1);
  });
  auto isLarge = [&](int64_t size) { return size > 1; };
  if (llvm::count_if(shapeOf(op).slice(channels.firstTo, channels.endTo - channels.firstTo), isLarge) > 1 &&
      !llvm::all_of(op->getUsers(), llvm::IsaPred<stablehlo::TransposeOp>))
    return false;
  if (!compiler::mayRewrite(op, "sink-through-reshape"))
    return false;
  llvm::sort(runs, [&](const DimensionRun &a, const DimensionRun &b) { return permutation[a.firstFrom] < permutation[b.firstFrom]; });
  Dims sizes, after(shapeOf(op).size());
  for (const DimensionRun &run : runs)
    for (int64_t j = run.firstTo; j < run.endTo; ++j) {
      after[j] = int64_t(sizes.size());
      sizes.push_back(shapeOf(op)[j]);
    }
  OpBuilder builder(op);
  auto type = RankedTensorType::get(sizes, elementOf(op));
  replaceBy(op, builder.create<stablehlo::ReshapeOp>(op.getLoc(), type, transpose.getOperand()), after);
  return true;
}

/// A broadcast whose new dimensions stay behind those that they follow: upsampling.
bool sinkThroughBroadcast(stablehlo::BroadcastInDimOp op) {
  stablehlo::TransposeOp transpose = layoutOf(op.getOperand());
  if (!transpose || !cast<RankedTensorType>(op.getType()).hasStaticShape() || !llvm::is_sorted(op.getBroadcastDimensions()) ||
      !compiler::mayRewrite(op, "sink-through-broadcast"))
    return false;
  ArrayRef<int64_t> permutation = transpose.getPermutation(), dimensions = op.getBroadcastDimensions();
  int64_t rank = int64_t(shapeOf(op).size()), count = int64_t(permutation.size());
  Dims inverse(permutation.size()), sizes, after(rank), places(permutation.size());
  for (auto [i, d] : llvm::enumerate(permutation))
    inverse[d] = int64_t(i);
  auto put = [&](int64_t dimension) {
    after[dimension] = int64_t(sizes.size());
    sizes.push_back(shapeOf(op)[dimension]);
  };
  for (int64_t d = 0; d < dimensions[0]; ++d)
    put(d);
  for (int64_t d = 0; d < count; ++d) {
    int64_t i = inverse[d], end = i + 1 < count ? dimensions[i + 1] : rank;
    places[d] = int64_t(sizes.size());
    for (int64_t j = dimensions[i]; j < end; ++j)
      put(j);
  }
  OpBuilder builder(op);
  auto type = RankedTensorType::get(sizes, elementOf(op));
  replaceBy(op, builder.create<stablehlo::BroadcastInDimOp>(op.getLoc(), type, transpose.getOperand(), places), after);
  return true;
}

/// A transpose of the program that changes neighbours alone (channels that are shuffled) is one of them before the other as well.
bool sinkThroughTranspose(stablehlo::TransposeOp op) {
  stablehlo::TransposeOp transpose = layoutOf(op.getOperand());
  if (!transpose || op->hasAttr(kLayoutAttr))
    return false;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  Dims inner(permutation.size()), moved;
  for (auto [i, d] : llvm::enumerate(op.getPermutation())) {
    inner[permutation[i]] = permutation[d];
    if (d != int64_t(i))
      moved.push_back(permutation[i]);
  }
  llvm::sort(moved);
  // Where all of them are moved, it undoes the other or makes one transpose with it.
  if (moved.empty() || moved.size() + 1 >= permutation.size() || moved.back() - moved.front() + 1 != int64_t(moved.size()) ||
      moved.back() + 1 != int64_t(permutation.size()) || !compiler::mayRewrite(op, "sink-through-transpose"))
    return false;
  OpBuilder builder(op);
  replaceBy(op, builder.create<stablehlo::TransposeOp>(op.getLoc(), transpose.getOperand(), inner), permutation);
  return true;
}

bool cancel(stablehlo::TransposeOp transpose) {
  Value operand = transpose.getOperand();
  if (!cast<RankedTensorType>(operand.getType()).hasStaticShape())
    return false;
  OpBuilder builder(transpose);
  auto inner = operand.getDefiningOp<stablehlo::TransposeOp>();
  if (!inner && !llvm::is_sorted(transpose.getPermutation()) && !isReshape(transpose))
    return false;
  if (!compiler::mayRewrite(transpose, "cancel-transpose"))
    return false;
  if (inner) {
    Dims both;
    for (int64_t d : transpose.getPermutation())
      both.push_back(inner.getPermutation()[d]);
    Value value = inner.getOperand();
    if (!llvm::is_sorted(both))
      value = builder.create<stablehlo::TransposeOp>(transpose.getLoc(), value, both);
    transpose.getResult().replaceAllUsesWith(value);
    return true;
  }
  if (llvm::is_sorted(transpose.getPermutation())) {
    transpose.getResult().replaceAllUsesWith(operand);
    return true;
  }
  transpose.getResult().replaceAllUsesWith(builder.create<stablehlo::ReshapeOp>(
      transpose.getLoc(), transpose.getResult().getType(), operand));
  return true;
}

class SinkTransposes : public impl::SinkTransposesBase<SinkTransposes> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &block = function.getBody().front();
      // Down the program: what an operation passes on is met by those behind it.
      for (Operation *op = &block.front(); op; op = op->getNextNode()) {
        if (op->use_empty())
          continue;
        llvm::TypeSwitch<Operation *>(op)
            .Case([](stablehlo::TransposeOp transpose) {
              return sinkThroughTranspose(transpose) || cancel(transpose);
            })
            .Case([](stablehlo::ReduceOp reduce) { return sinkThroughReduction(reduce); })
            .Case([](stablehlo::ConcatenateOp joined) { return sinkThroughConcatenation(joined); })
            .Case([](stablehlo::SliceOp slice) { return sinkThroughSlice(slice); })
            .Case([](stablehlo::PadOp pad) { return sinkThroughPad(pad); })
            .Case([](stablehlo::ReverseOp reverse) { return sinkThroughReverse(reverse); })
            .Case([](stablehlo::GatherOp gather) { return sinkThroughGather(gather); })
            .Case([](stablehlo::ReshapeOp reshape) { return sinkThroughReshape(reshape); })
            .Case([](stablehlo::BroadcastInDimOp broadcast) {
              return sinkThroughBroadcast(broadcast);
            })
            .Default([](Operation *other) { return sinkThroughElementwise(other); });
      }
      eraseUnused(block);
    }
  }
};

} // namespace
} // namespace cupel::tir
