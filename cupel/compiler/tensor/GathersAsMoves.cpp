// Gathers whose places are known become moves, which others read through: a stretch, backwards or every other element (slices, reversals),
// or elements that are repeated (broadcasts: upsampling by nearest neighbours). Of those whose places are found at run time
// parts of index vectors that only count (gather_elements as its importers write it) become batches, so that nobody has to make the vectors;
// of scatters as well.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_GATHERSASMOVES
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Places `first`, `first + step`, ...
struct Run {
  int64_t first, step, count;
  int64_t last() const { return first + step * (count - 1); }
};

/// Places as they are held inside; none where they are not known.
std::optional<SmallVector<int64_t>> knownPlaces(stablehlo::GatherOp op, int64_t size) {
  auto constant = op.getStartIndices().getDefiningOp<stablehlo::ConstantOp>();
  auto places = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  if (!places || size == 0)
    return std::nullopt;
  bool isUnsigned = cast<IntegerType>(places.getElementType()).isUnsigned();
  SmallVector<int64_t> held;
  for (const APInt &place : places.getValues<APInt>()) {
    bool isAbove = isUnsigned ? place.ugt(uint64_t(size - 1)) : place.sgt(size - 1);
    held.push_back(isAbove ? size - 1 : !isUnsigned && place.isNegative() ? 0 : place.getSExtValue());
  }
  return held;
}

/// The longest run from `begin` on.
Run runFrom(ArrayRef<int64_t> places, size_t begin) {
  Run run{places[begin], 0, 1};
  if (begin + 1 < places.size())
    run.step = places[begin + 1] - places[begin];
  while (begin + size_t(run.count) < places.size() && places[begin + size_t(run.count)] == run.last() + run.step)
    ++run.count;
  return run;
}

/// How often each of neighbouring places is repeated, or 0.
int64_t repeats(ArrayRef<int64_t> places) {
  int64_t count = int64_t(places.size()), times = 1;
  while (times < count && places[times] == places[0])
    ++times;
  if (times < 2 || count % times != 0)
    return 0;
  for (int64_t i = 0; i < count; ++i)
    if (places[i] != places[0] + i / times)
      return 0;
  return times;
}

class Moves {
public:
  Moves(stablehlo::GatherOp op, int64_t dimension) : builder(op), location(op.getLoc()), from(op.getOperand()), d(dimension) {}

  Value stretch(Run run) {
    if (run.step == 0 && run.count > 1)
      return repeated({run.first, 1, 1}, run.count);
    int64_t least = std::min(run.first, run.last()), most = std::max(run.first, run.last());
    SmallVector<int64_t> begin(rank(), 0), end(shapedType(from).getShape()), step(rank(), 1);
    begin[d] = least;
    end[d] = most + 1;
    step[d] = std::max<int64_t>(1, std::abs(run.step));
    Value taken = from;
    if (least > 0 || end[d] != shapedType(from).getDimSize(d) || step[d] > 1)
      taken = builder.create<stablehlo::SliceOp>(location, from, begin, end, step);
    return run.step < 0 ? Value(builder.create<stablehlo::ReverseOp>(location, taken, ArrayRef(d))) : taken;
  }
  Value repeated(Run run, int64_t times) {
    Value taken = stretch(run);
    SmallVector<int64_t> shape(shapedType(taken).getShape()), dims, result = shape;
    for (int64_t k = 0; k < rank(); ++k)
      dims.push_back(k + (k > d ? 1 : 0));
    shape.insert(shape.begin() + d + 1, times);
    result[d] *= times;
    Type element = shapedType(from).getElementType();
    Value wide = builder.create<stablehlo::BroadcastInDimOp>(location, RankedTensorType::get(shape, element), taken, dims);
    return builder.create<stablehlo::ReshapeOp>(location, RankedTensorType::get(result, element), wide);
  }

private:
  int64_t rank() const { return shapedType(from).getRank(); }
  OpBuilder builder;
  Location location;
  Value from;
  int64_t d;
};

/// Returns whether it is one.
bool moveKnown(stablehlo::GatherOp op) {
  std::optional<int64_t> d = takenDimension(op);
  std::optional<SmallVector<int64_t>> places = d ? knownPlaces(op, shapedType(op.getOperand()).getDimSize(*d)) : std::nullopt;
  if (!places || places->empty() || shapedType(op.getOperand()).getEncoding())
    return false;
  // Of a table of which little is read, the gather says so: nobody copies the whole for it.
  if (shapedType(op.getResult()).getNumElements() <= shapedType(op.getOperand()).getNumElements() / 4)
    return false;
  Run all = runFrom(*places, 0);
  bool isRun = all.count == int64_t(places->size());
  int64_t times = isRun ? 0 : repeats(*places);
  if ((!isRun && times == 0) || !compiler::mayRewrite(op, "gather-as-moves"))
    return false;
  Moves moves(op, *d);
  Value made = isRun ? moves.stretch(all) : moves.repeated({places->front(), 1, int64_t(places->size()) / times}, times);
  op.getResult().replaceAllUsesWith(made);
  op.erase();
  return true;
}

/// Dimensions of what is gathered from or scattered into, and of the index vectors that belong to them.
struct Places {
  SmallVector<int64_t> map, collapsed, ours, theirs;
  int64_t vectorDim;

  /// Makes batches of the parts that count; returns the one part that is left, or nothing.
  Value withoutCounted(RankedTensorType from, Value indices) {
    auto vectors = indices.getDefiningOp<stablehlo::ConcatenateOp>();
    auto at = shapedType(indices);
    if (!vectors || !from.hasStaticShape() || !at.hasStaticShape() || vectorDim != at.getRank() - 1 ||
        int64_t(vectors.getDimension()) != at.getRank() - 1 || vectors.getInputs().size() != map.size())
      return {};
    ArrayRef<int64_t> batch = at.getShape().drop_back();
    SmallVector<Value> left;
    for (auto [part, d] : llvm::zip(vectors.getInputs(), std::exchange(map, {}))) {
      std::optional<int64_t> along = countedDimension(part, batch);
      if (!along || !llvm::is_contained(collapsed, d) || llvm::is_contained(theirs, *along) || batch[*along] != from.getDimSize(d)) {
        left.push_back(part);
        map.push_back(d);
        continue;
      }
      llvm::erase(collapsed, d);
      ours.push_back(d);
      theirs.push_back(*along);
    }
    bool isOne = left.size() == 1 && left.size() < vectors.getInputs().size() && llvm::is_sorted(ours);
    return isOne ? left[0] : Value();
  }
};

void makeBatches(stablehlo::GatherOp op) {
  auto numbers = op.getDimensionNumbers();
  Places places{llvm::to_vector(numbers.getStartIndexMap()), llvm::to_vector(numbers.getCollapsedSliceDims()),
                llvm::to_vector(numbers.getOperandBatchingDims()), llvm::to_vector(numbers.getStartIndicesBatchingDims()), numbers.getIndexVectorDim()};
  Value left = places.withoutCounted(shapedType(op.getOperand()), op.getStartIndices());
  if (!left || !compiler::mayRewrite(op, "gather-in-batches"))
    return;
  op.setDimensionNumbersAttr(stablehlo::GatherDimensionNumbersAttr::get(op.getContext(), numbers.getOffsetDims(), places.collapsed, places.ours, places.theirs,
                                                                        places.map, numbers.getIndexVectorDim()));
  op.getStartIndicesMutable().assign(left);
}

void makeBatches(stablehlo::ScatterOp op) {
  auto numbers = op.getScatterDimensionNumbers();
  Places places{llvm::to_vector(numbers.getScatterDimsToOperandDims()), llvm::to_vector(numbers.getInsertedWindowDims()),
                llvm::to_vector(numbers.getInputBatchingDims()), llvm::to_vector(numbers.getScatterIndicesBatchingDims()), numbers.getIndexVectorDim()};
  Value left = places.withoutCounted(shapedType(op.getInputs()[0]), op.getScatterIndices());
  if (!left || !compiler::mayRewrite(op, "scatter-in-batches"))
    return;
  op.setScatterDimensionNumbersAttr(stablehlo::ScatterDimensionNumbersAttr::get(op.getContext(), numbers.getUpdateWindowDims(), places.collapsed, places.ours,
                                                                                places.theirs, places.map, numbers.getIndexVectorDim()));
  op.getScatterIndicesMutable().assign(left);
}

class GathersAsMoves : public impl::GathersAsMovesBase<GathersAsMoves> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
        makeBatches(scatter);
      else if (auto gather = dyn_cast<stablehlo::GatherOp>(op); gather && !moveKnown(gather))
        makeBatches(gather);
    });
  }
};

} // namespace
} // namespace cupel::tir
