// Gathers of single elements whose index vectors are a grid (one part of the vectors for each dimension, which goes along dimensions of the
// batch that no other part goes along) become a gather of each dimension by itself. Then nobody makes the grid, and what only counts or repeats
// is a move (GathersAsMoves.cpp). So images are resized and cut into patches where an importer knows no better.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

#include <numeric>

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_SEPARATEGATHERS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// What one part of index vectors is along the dimensions of the batch where it is not the same.
struct Along {
  int64_t dimension = 0;           // Of what is gathered from.
  SmallVector<int64_t, 2> batch;   // None: it is one place.
  SmallVector<int64_t, 2> sizes;   // Of those, in the order in which the values lie.
  Value values;                    // Of other sizes than these it has 1.
  bool isCounted = false;          // Instead of values: places from 0 on.
  int64_t count() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }
};

/// `part` without the dimension of index vectors, the last one, which has size 1.
Value withoutVectorDim(Value part, ArrayRef<int64_t> batch) {
  auto reshape = part.getDefiningOp<stablehlo::ReshapeOp>();
  return reshape && shapedType(reshape.getOperand()).getShape() == batch ? reshape.getOperand() : part;
}

std::optional<Along> alongOf(Value part, int64_t dimension, ArrayRef<int64_t> batch) {
  part = withoutVectorDim(part, batch);
  Along along;
  along.dimension = dimension;
  if (auto iota = part.getDefiningOp<stablehlo::IotaOp>()) {
    along.batch = {int64_t(iota.getIotaDimension())};
    along.sizes = {shapedType(part).getDimSize(along.batch[0])};
    along.isCounted = true;
    return along.batch[0] < int64_t(batch.size()) ? std::optional(along) : std::nullopt;
  }
  SmallVector<int64_t> dims(shapedType(part).getRank());
  std::iota(dims.begin(), dims.end(), 0);
  along.values = part;
  if (auto broadcast = part.getDefiningOp<stablehlo::BroadcastInDimOp>()) {
    along.values = broadcast.getOperand();
    dims = llvm::to_vector(broadcast.getBroadcastDimensions());
  } else if (auto constant = part.getDefiningOp<stablehlo::ConstantOp>(); constant && isa<SplatElementsAttr>(constant.getValue())) {
    return along; // The same everywhere; of its values one is taken.
  }
  for (auto [size, dim] : llvm::zip(shapedType(along.values).getShape(), dims)) {
    if (size == 1)
      continue;
    if (dim >= int64_t(batch.size()))
      return std::nullopt;
    along.batch.push_back(dim);
    along.sizes.push_back(size);
  }
  return along;
}

/// Gathers of one dimension that were made before in a block: by what is gathered from, the dimension, and the places (a value, or what a constant
/// holds) and their number.
struct Made {
  Block *block = nullptr;
  llvm::DenseMap<std::tuple<Value, int64_t, const void *, int64_t>, Value> gathers;
};

class Separate {
public:
  Separate(stablehlo::GatherOp op, Made &made) : op(op), numbers(op.getDimensionNumbers()), builder(op), location(op.getLoc()), made(made) {}

  void run() {
    if (!isGrid() || !isWorthIt() || !compiler::mayRewrite(op, "separate-gather"))
      return;
    Value taken = op.getOperand();
    for (const Along &along : parts)
      taken = gathered(taken, along);
    op.getResult().replaceAllUsesWith(inPlace(taken));
    op.erase();
  }

private:
  bool isGrid() {
    auto from = shapedType(op.getOperand()), at = shapedType(op.getStartIndices());
    auto vectors = op.getStartIndices().getDefiningOp<stablehlo::ConcatenateOp>();
    int64_t last = at.getRank() - 1;
    if (!vectors || !from.hasStaticShape() || from.getEncoding() || !at.hasStaticShape() || !numbers.getOperandBatchingDims().empty() ||
        numbers.getIndexVectorDim() != last || int64_t(vectors.getDimension()) != last ||
        vectors.getInputs().size() != numbers.getStartIndexMap().size() || from.getNumElements() == 0 || at.getNumElements() == 0)
      return false;
    for (int64_t d = 0; d < from.getRank(); ++d) {
      bool isTaken = llvm::is_contained(numbers.getStartIndexMap(), d);
      if (op.getSliceSizes()[d] != (isTaken ? 1 : from.getDimSize(d)) || isTaken != llvm::is_contained(numbers.getCollapsedSliceDims(), d))
        return false;
    }
    ArrayRef<int64_t> batch = at.getShape().drop_back();
    llvm::SmallDenseSet<int64_t> used;
    for (auto [part, dimension] : llvm::zip(vectors.getInputs(), numbers.getStartIndexMap())) {
      std::optional<Along> along = alongOf(part, dimension, batch);
      if (!along || !llvm::all_of(along->batch, [&](int64_t d) { return used.insert(d).second; }))
        return false;
      parts.push_back(*along);
    }
    return true;
  }

  /// What becomes fewer first, so that little is made in between; of what becomes more the inmost dimension first: what is picked one by one is
  /// picked while it is little, and whole rows are copied behind it.
  bool isWorthIt() {
    // Whole rows are copied in a small part of the time that elements take which are picked one by
    // one.
    constexpr int64_t kMostBetween = 2, kMostOfRowsBetween = 8, kRow = 16;
    SmallVector<int64_t> shape(shapedType(op.getOperand()).getShape());
    auto turn = [&](const Along &one) {
      double growth = double(one.count()) / double(shape[one.dimension]);
      return growth <= 1 ? std::pair(growth, one.dimension) : std::pair(2.0, -one.dimension);
    };
    llvm::sort(parts, [&](const Along &a, const Along &b) { return turn(a) < turn(b); });
    auto sizeOf = [](ArrayRef<int64_t> sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    };
    int64_t result = shapedType(op.getResult()).getNumElements();
    return llvm::all_of(parts, [&](const Along &along) {
      shape[along.dimension] = along.count();
      bool areRows = sizeOf(ArrayRef(shape).drop_front(along.dimension + 1)) >= kRow;
      return sizeOf(shape) <= (areRows ? kMostOfRowsBetween : kMostBetween) * result;
    });
  }

  Value places(const Along &along) {
    if (along.isCounted) {
      SmallVector<int64_t> values(size_t(along.count()));
      std::iota(values.begin(), values.end(), 0);
      return builder.create<stablehlo::ConstantOp>(location, DenseElementsAttr(builder.getI64TensorAttr(values)));
    }
    auto type = RankedTensorType::get({along.count()}, shapedType(along.values).getElementType());
    if (auto constant = along.values.getDefiningOp<stablehlo::ConstantOp>()) {
      auto values = cast<DenseElementsAttr>(constant.getValue());
      return builder.create<stablehlo::ConstantOp>(location, values.isSplat() ? values.resizeSplat(type) : values.reshape(type));
    }
    return along.values.getType() == type ? along.values : Value(builder.create<stablehlo::ReshapeOp>(location, type, along.values));
  }

  /// The elements of one dimension.
  Value gathered(Value from, const Along &along) {
    if (std::exchange(made.block, op->getBlock()) != op->getBlock())
      made.gathers.clear();
    Value &known = made.gathers[{from, along.dimension, keyOf(along), along.count()}];
    if (known)
      return known;
    SmallVector<int64_t> shape(shapedType(from).getShape()), slices = shape, others;
    for (int64_t d = 0; d < int64_t(shape.size()); ++d)
      if (d != along.dimension)
        others.push_back(d);
    slices[along.dimension] = 1;
    shape[along.dimension] = along.count();
    auto one = stablehlo::GatherDimensionNumbersAttr::get(op.getContext(), others, {along.dimension}, {}, {}, {along.dimension}, 1);
    known = builder.create<stablehlo::GatherOp>(location, RankedTensorType::get(shape, shapedType(from).getElementType()), from, places(along), one, slices,
                                                false);
    return known;
  }
  static const void *keyOf(const Along &along) {
    if (along.isCounted)
      return nullptr;
    auto constant = along.values.getDefiningOp<stablehlo::ConstantOp>();
    return constant ? constant.getValue().getAsOpaquePointer() : along.values.getAsOpaquePointer();
  }

  /// Dimensions where the result has them; those of the batch that no part goes along are repeated.
  Value inPlace(Value taken) {
    auto to = shapedType(op.getResult());
    SmallVector<int64_t> ofBatch, shape, dims;
    for (int64_t d = 0; d < to.getRank(); ++d)
      if (!llvm::is_contained(numbers.getOffsetDims(), d))
        ofBatch.push_back(d);
    auto offset = numbers.getOffsetDims().begin();
    for (int64_t d = 0; d < shapedType(taken).getRank(); ++d) {
      const Along *along = llvm::find_if(parts, [&](const Along &one) { return one.dimension == d; });
      if (along == parts.end()) {
        shape.push_back(shapedType(taken).getDimSize(d));
        dims.push_back(*offset++);
        continue;
      }
      for (auto [size, batch] : llvm::zip(along->sizes, along->batch)) {
        shape.push_back(size);
        dims.push_back(ofBatch[size_t(batch)]);
      }
    }
    // Dimensions of one element may be anywhere: nothing is repeated, and nothing moves.
    if (llvm::is_sorted(dims) && shapedType(taken).getNumElements() == to.getNumElements())
      return taken.getType() == to ? taken : Value(builder.create<stablehlo::ReshapeOp>(location, to, taken));
    if (ArrayRef<int64_t>(shape) != shapedType(taken).getShape())
      taken = builder.create<stablehlo::ReshapeOp>(location, RankedTensorType::get(shape, to.getElementType()), taken);
    if (int64_t(dims.size()) != to.getRank())
      return builder.create<stablehlo::BroadcastInDimOp>(location, to, taken, dims);
    SmallVector<int64_t> order(dims.size());
    for (auto [from, at] : llvm::enumerate(dims))
      order[size_t(at)] = int64_t(from);
    return builder.create<stablehlo::TransposeOp>(location, to, taken, order);
  }

  stablehlo::GatherOp op;
  stablehlo::GatherDimensionNumbersAttr numbers;
  OpBuilder builder;
  Location location;
  SmallVector<Along> parts;
  Made &made;
};

class SeparateGathers : public impl::SeparateGathersBase<SeparateGathers> {
public:
  void runOnOperation() override {
    Made made;
    rewriteEach(getOperation(), [&](Operation *op) {
      if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
        Separate(gather, made).run();
    });
  }
};

} // namespace
} // namespace cupel::tir
