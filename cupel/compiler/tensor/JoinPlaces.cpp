// Parts of index vectors that point into dimensions which lie side by side become one part, which points into those dimensions as one: places are
// numbers that a map computes beside what they follow from, and nobody writes vectors of them out. Parts that can say nothing, since there is one
// place only, are left out. So images are sampled (`grid_sample`), patches are added up (`fold`) and elements are picked by two lists of places.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_JOINPLACES
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// What happens to places outside: gathers take the nearest inside, scatters leave the update out.
enum class Outside { IsHeld, IsSkipped };

/// Index vectors with fewer parts, and the dimensions that they then point into.
class Joined {
public:
  /// `single`: dimensions of `target` of which windows have one element and results none.
  Joined(Operation *op, Value indices, int64_t vectorDim, ArrayRef<int64_t> target, ArrayRef<int64_t> map, ArrayRef<int64_t> single, Outside outside)
      : op(op), target(target), single(single), outside(outside), builder(op) {
    auto at = shapedType(indices);
    auto concatenate = indices.getDefiningOp<stablehlo::ConcatenateOp>();
    if (!concatenate || !at.hasStaticShape() || at.getNumElements() == 0 || vectorDim != at.getRank() - 1 ||
        int64_t(concatenate.getDimension()) != vectorDim || concatenate.getInputs().size() != map.size() ||
        !llvm::all_of(concatenate.getInputs(), [](Value part) { return shapedType(part).getShape().back() == 1; }) ||
        !(at.getElementType().isSignlessInteger(32) || at.getElementType().isSignlessInteger(64)))
      return;
    batch = llvm::to_vector(at.getShape().drop_back());
    element = at.getElementType();
    for (auto [dimension, part] : llvm::zip(map, concatenate.getInputs()))
      parts.push_back(Part{.dimension = dimension, .value = part, .isLeftOut = false, .head = nullptr, .others = {}});
  }

  /// Whether anything is left out or joined; nothing is rewritten yet.
  bool find() {
    for (Part &part : parts)
      part.isLeftOut = isSingle(part.dimension) && target[part.dimension] == 1 &&
                       (outside == Outside::IsHeld || matchesZero(part.value));
    if (parts.empty() || llvm::all_of(parts, [](const Part &part) { return part.isLeftOut; }))
      return false;
    // Parts that only count are batching dimensions of others (`gathers-as-moves`).
    SmallVector<Part *> joinable;
    for (Part &part : parts)
      if (!part.isLeftOut && isSingle(part.dimension) && !countedDimension(part.value, batch))
        joinable.push_back(&part);
    llvm::sort(joinable, [](const Part *a, const Part *b) { return a->dimension < b->dimension; });
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    for (size_t i = 1; i < joinable.size(); ++i) {
      Part &first = joinable[i - 1]->head ? *joinable[i - 1]->head : *joinable[i - 1], &next = *joinable[i];
      if (!areNeighbours(joinable[i - 1]->dimension, next.dimension) || target[next.dimension] > kMost / std::max<int64_t>(1, sizeOf(first)))
        continue;
      next.head = &first;
      first.others.push_back(&next);
    }
    return llvm::any_of(parts, [](const Part &part) { return part.isLeftOut || part.head; });
  }

  /// The dimension that an old one has become; none if there is none of its own.
  std::optional<int64_t> dimensionOf(int64_t old) const {
    if (isGone(old))
      return std::nullopt;
    int64_t number = 0;
    for (int64_t d = 0; d < old; ++d)
      number += isGone(d) ? 0 : 1;
    return number;
  }
  SmallVector<int64_t> dimensionsOf(ArrayRef<int64_t> old) const {
    SmallVector<int64_t> dims;
    for (int64_t d : old)
      if (std::optional<int64_t> now = dimensionOf(d))
        dims.push_back(*now);
    return dims;
  }
  /// Sizes of the dimensions that are left.
  SmallVector<int64_t> shape() const {
    SmallVector<int64_t> sizes;
    for (int64_t d = 0; d < int64_t(target.size()); ++d)
      if (!isGone(d)) {
        const Part *part = partOf(d);
        sizes.push_back(part ? sizeOf(*part) : target[d]);
      }
    return sizes;
  }
  SmallVector<int64_t> map() const {
    SmallVector<int64_t> dims;
    for (const Part &part : parts)
      if (!part.isLeftOut && !part.head)
        dims.push_back(*dimensionOf(part.dimension));
    return dims;
  }

  Value vectors() {
    SmallVector<const Part *> left;
    for (const Part &part : parts)
      if (!part.isLeftOut && !part.head)
        left.push_back(&part);
    // Alone they may be of half the size: what they point into is small enough where something was joined.
    Type type = left.size() == 1 && !left[0]->others.empty() ? Type(builder.getI32Type()) : element;
    SmallVector<int64_t> single(batch);
    single.push_back(1);
    SmallVector<Value> values;
    for (const Part *part : left)
      values.push_back(part->others.empty() ? part->value : reshaped(place(*part, type), single));
    return values.size() == 1 ? values[0] : Value(builder.create<stablehlo::ConcatenateOp>(op->getLoc(), values, uint64_t(batch.size())));
  }

  Value reshaped(Value value, ArrayRef<int64_t> shape) {
    if (shapedType(value).getShape() == shape)
      return value;
    if (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>(); reshape && shapedType(reshape.getOperand()).getShape() == shape)
      return reshape.getOperand();
    return builder.create<stablehlo::ReshapeOp>(op->getLoc(), RankedTensorType::get(shape, shapedType(value).getElementType()), value);
  }

private:
  struct Part {
    int64_t dimension = 0;
    Value value;
    bool isLeftOut = false;
    Part *head = nullptr; // The one that it is joined to.
    SmallVector<Part *, 2> others;
  };

  bool isSingle(int64_t dimension) const { return llvm::is_contained(single, dimension); }
  const Part *partOf(int64_t dimension) const {
    const auto *found = llvm::find_if(parts, [&](const Part &part) { return part.dimension == dimension; });
    return found == parts.end() ? nullptr : found;
  }
  bool isGone(int64_t dimension) const {
    const Part *part = partOf(dimension);
    return part && (part->isLeftOut || part->head);
  }
  bool areNeighbours(int64_t a, int64_t b) const {
    return llvm::all_of(llvm::seq(a + 1, b), [&](int64_t between) {
      const Part *part = partOf(between);
      return part && part->isLeftOut;
    });
  }
  int64_t sizeOf(const Part &part) const {
    int64_t size = target[part.dimension];
    for (const Part *other : part.others)
      size *= target[other->dimension];
    return size;
  }
  static bool matchesZero(Value value) {
    while (Operation *from = value.getDefiningOp()) {
      if (auto constant = dyn_cast<stablehlo::ConstantOp>(from)) {
        auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
        return splat && splat.getSplatValue<APInt>().isZero();
      }
      if (!isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(from))
        return false;
      value = from->getOperand(0);
    }
    return false;
  }

  Value number(int64_t value, Type type) {
    auto shaped = RankedTensorType::get(batch, type);
    return builder.create<stablehlo::ConstantOp>(op->getLoc(), DenseElementsAttr::get(shaped, builder.getIntegerAttr(type, value)));
  }
  Value isLess(Value a, Value b) {
    return builder.create<stablehlo::CompareOp>(op->getLoc(), a, b, stablehlo::ComparisonDirection::LT, stablehlo::ComparisonType::SIGNED);
  }

  /// One part of a joined one and those that follow it, as one number.
  Value place(const Part &head, Type type) {
    Location location = op->getLoc();
    SmallVector<const Part *> all = {&head};
    llvm::append_range(all, head.others);
    Value sum, isOutside;
    for (const Part *part : all) {
      Value given = reshaped(part->value, batch), zero = number(0, element), last = number(target[part->dimension] - 1, element);
      if (outside == Outside::IsHeld) {
        given = builder.create<stablehlo::MaximumOp>(location, given, zero);
        given = builder.create<stablehlo::MinimumOp>(location, given, last);
      } else {
        Value either = builder.create<stablehlo::OrOp>(location, isLess(given, zero), isLess(last, given));
        isOutside = isOutside ? Value(builder.create<stablehlo::OrOp>(location, isOutside, either)) : either;
      }
      if (type != element)
        given = builder.create<stablehlo::ConvertOp>(location, RankedTensorType::get(batch, type), given);
      if (sum)
        sum = builder.create<stablehlo::MultiplyOp>(location, sum, number(target[part->dimension], type));
      sum = sum ? Value(builder.create<stablehlo::AddOp>(location, sum, given)) : given;
    }
    return isOutside ? Value(builder.create<stablehlo::SelectOp>(location, isOutside, number(-1, type), sum)) : sum;
  }

  Operation *op;
  ArrayRef<int64_t> target, single;
  Outside outside;
  OpBuilder builder;
  SmallVector<int64_t> batch;
  Type element;
  SmallVector<Part> parts; // Does not change any more when they point to one another.
};

void join(stablehlo::GatherOp op) {
  auto numbers = op.getDimensionNumbers();
  auto from = shapedType(op.getOperand());
  if (!numbers.getOperandBatchingDims().empty() || !from.hasStaticShape() || from.getEncoding() || from.getNumElements() == 0)
    return;
  Joined joined(op, op.getStartIndices(), numbers.getIndexVectorDim(), from.getShape(), numbers.getStartIndexMap(), numbers.getCollapsedSliceDims(),
                Outside::IsHeld);
  if (!joined.find() || !compiler::mayRewrite(op, "join-places"))
    return;
  OpBuilder builder(op);
  SmallVector<int64_t> slices;
  for (auto [d, size] : llvm::enumerate(op.getSliceSizes()))
    if (joined.dimensionOf(int64_t(d)))
      slices.push_back(size);
  Value vectors = joined.vectors();
  auto fewer = stablehlo::GatherDimensionNumbersAttr::get(op.getContext(), numbers.getOffsetDims(),
                                                          joined.dimensionsOf(numbers.getCollapsedSliceDims()), {}, {}, joined.map(),
                                                          shapedType(vectors).getRank() - 1);
  auto made = builder.create<stablehlo::GatherOp>(op.getLoc(), op.getResult().getType(), joined.reshaped(op.getOperand(), joined.shape()), vectors,
                                                  fewer, slices, false);
  op.getResult().replaceAllUsesWith(made);
  op.erase();
}

void join(stablehlo::ScatterOp op) {
  auto numbers = op.getScatterDimensionNumbers();
  if (op.getInputs().size() != 1)
    return;
  auto to = shapedType(op.getInputs()[0]);
  if (!numbers.getInputBatchingDims().empty() || !to.hasStaticShape() || to.getEncoding() || to.getNumElements() == 0)
    return;
  Joined joined(op, op.getScatterIndices(), numbers.getIndexVectorDim(), to.getShape(), numbers.getScatterDimsToOperandDims(),
                numbers.getInsertedWindowDims(), Outside::IsSkipped);
  if (!joined.find() || !compiler::mayRewrite(op, "join-places"))
    return;
  Value vectors = joined.vectors();
  op.setScatterDimensionNumbersAttr(stablehlo::ScatterDimensionNumbersAttr::get(
      op.getContext(), numbers.getUpdateWindowDims(), joined.dimensionsOf(numbers.getInsertedWindowDims()), {}, {}, joined.map(),
      shapedType(vectors).getRank() - 1));
  op.setUniqueIndices(false); // Of those outside there may be several.
  op.setIndicesAreSorted(false);
  op.getInputsMutable()[0].set(joined.reshaped(op.getInputs()[0], joined.shape()));
  op.getScatterIndicesMutable().assign(vectors);
  Type before = op->getResult(0).getType();
  op->getResult(0).setType(RankedTensorType::get(joined.shape(), to.getElementType()));
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  auto back = builder.create<stablehlo::ReshapeOp>(op.getLoc(), before, op->getResult(0));
  op->getResult(0).replaceAllUsesExcept(back, back);
}

class JoinPlaces : public impl::JoinPlacesBase<JoinPlaces> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
        join(gather);
      else if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
        join(scatter);
    });
  }
};

} // namespace
} // namespace cupel::tir
