// dot_general, of integers of 8 bits as well, becomes products whose sides are read as they lie, through whatever moved them.

#include "cupel/compiler/passes/NarrowProducts.h"
#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/IntegerSides.h"
#include "cupel/compiler/tensor/OperationMarks.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FORMPRODUCTS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

using Dims = SmallVector<int64_t>;

/// How a product reads one of its sides.
struct Side {
  Value value;
  ViewAttr view;
};

int64_t sizeOf(Value value, ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t d : dims)
    size *= cast<RankedTensorType>(value.getType()).getDimSize(d);
  return size;
}

/// What each dimension of a batch is cut into, outermost first.
using Cuts = SmallVector<Dims>;

/// A loop over each of `batch`, cut so, then `first` as one dimension, then `second` as one.
LoopNest nestOf(Value value, ArrayRef<int64_t> batch, const Cuts &cuts, ArrayRef<int64_t> first,
                ArrayRef<int64_t> second, bool throughMoves) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> strides = rowMajorStrides(shape), sizes, own;
  SmallVector<int> marks;
  int mark = 0;
  auto add = [&](int64_t size, int64_t stride) {
    sizes.push_back(size);
    own.push_back(stride);
    marks.push_back(mark);
  };
  for (auto [d, cut] : llvm::zip(batch, cuts)) {
    int64_t inner = shape[d];
    for (int64_t size : cut) {
      inner /= size;
      add(size, strides[d] * inner);
      ++mark;
    }
  }
  for (ArrayRef<int64_t> dims : {first, second}) {
    for (int64_t d : dims)
      add(shape[d], strides[d]);
    if (dims.empty())
      add(1, 0);
    ++mark;
  }
  LoopNest nest(sizes, marks);
  nest.add(value, own, [&](Value) { return !throughMoves; });
  return nest;
}

Cuts uncut(Value value, ArrayRef<int64_t> batch) {
  Cuts cuts;
  for (int64_t d : batch)
    cuts.push_back({cast<RankedTensorType>(value.getType()).getDimSize(d)});
  return cuts;
}

/// Reads `value` over each of `batch`, cut so, then `first` as one dimension, then `second` as one.
std::optional<Side> readAs(Value value, ArrayRef<int64_t> batch, const Cuts &cuts,
                           ArrayRef<int64_t> first, ArrayRef<int64_t> second, bool throughMoves) {
  LoopNest nest = nestOf(value, batch, cuts, first, second, throughMoves);
  size_t count = 2;
  for (const Dims &cut : cuts)
    count += cut.size();
  if (!nest.collapse() || nest.sizes().size() != count || !nest.readings()[0].valid.empty())
    return std::nullopt;
  return Side{nest.readings()[0].value, nest.view(0)};
}
std::optional<Side> readAs(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> first,
                           ArrayRef<int64_t> second, bool throughMoves) {
  return readAs(value, batch, uncut(value, batch), first, second, throughMoves);
}

/// The cuts of a batch that let `value` be read through what moved it, which merged dimensions of
/// which some are repeated (heads that share keys); none where it can be read without, or not at
/// all.
std::optional<Cuts> cutsOf(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> first,
                           ArrayRef<int64_t> second) {
  Operation *maker = value.getDefiningOp();
  if (!maker || maker->hasAttr(kAloneAttr) ||
      readAs(value, batch, first, second, /*throughMoves=*/true))
    return std::nullopt;
  LoopNest nest = nestOf(value, batch, uncut(value, batch), first, second, /*throughMoves=*/true);
  nest.collapse();
  Cuts cuts(batch.size());
  SmallVector<int> others(2);
  for (auto [size, mark] : llvm::zip(nest.sizes(), nest.marks())) {
    if (size_t(mark) < batch.size())
      cuts[size_t(mark)].push_back(size);
    else
      ++others[size_t(mark) - batch.size()];
  }
  if (others[0] != 1 || others[1] != 1 || !nest.readings()[0].valid.empty())
    return std::nullopt;
  return cuts;
}

/// Cuts wherever one of the two is cut; nothing where one cut would go through a piece of the
/// other.
std::optional<Cuts> joined(const Cuts &a, const Cuts &b) {
  Cuts all;
  for (auto [one, other] : llvm::zip(a, b)) {
    SmallVector<int64_t> inner; // Sizes of what lies within each cut.
    for (const Dims &cut : {one, other}) {
      int64_t within = 1;
      for (int64_t size : llvm::reverse(cut))
        inner.push_back(within *= size);
    }
    llvm::sort(inner);
    inner.erase(std::unique(inner.begin(), inner.end()), inner.end());
    Dims cut;
    for (int64_t within = 1; int64_t next : inner) {
      if (next % within != 0)
        return std::nullopt;
      cut.insert(cut.begin(), next / within);
      within = next;
    }
    all.push_back(cut);
  }
  return all;
}

Side readSide(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> batch,
              ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
  Operation *maker = value.getDefiningOp();
  bool isApart = maker && maker->hasAttr(kAloneAttr);
  for (bool throughMoves : {true, false})
    if (throughMoves && isApart)
      continue;
    else if (std::optional<Side> side = readAs(value, batch, first, second, throughMoves))
      return *side;
  // Dimensions that are one in the product do not lie beside each other: they are brought there.
  Dims order(batch);
  order.append(first.begin(), first.end());
  order.append(second.begin(), second.end());
  Value moved = builder.create<stablehlo::TransposeOp>(location, value, order);
  auto range = [](size_t from, size_t count) {
    Dims dims;
    for (size_t i = 0; i < count; ++i)
      dims.push_back(from + i);
    return dims;
  };
  return *readAs(moved, range(0, batch.size()), range(batch.size(), first.size()),
                 range(batch.size() + first.size(), second.size()), false);
}

Dims others(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
  Dims dims;
  for (int64_t d = 0; d < cast<RankedTensorType>(value.getType()).getRank(); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracting, d))
      dims.push_back(d);
  return dims;
}

/// Of f32, or of bf16 with a result in either.
bool isPlainProduct(stablehlo::DotGeneralOp dot) {
  auto left = cast<RankedTensorType>(dot.getLhs().getType()),
       right = cast<RankedTensorType>(dot.getRhs().getType()),
       result = cast<RankedTensorType>(dot.getResult().getType());
  for (RankedTensorType type : {left, right, result})
    if (!type.hasStaticShape() || type.getEncoding() || type.getNumElements() == 0)
      return false;
  Type element = left.getElementType();
  bool isKnown = element.isF32() ? result.getElementType().isF32()
                                 : element.isBF16() && (result.getElementType().isF32() ||
                                                        result.getElementType().isBF16());
  return isKnown && right.getElementType() == element && !dot.getAlgorithm() &&
         dot.getDotDimensionNumbers().getLhsBatchingDimensions().size() <= 4;
}

/// Both sides as they were before they were widened from bf16: products of such numbers are the same, and there are
/// kernels for them. Who asks for more than the default gets f32.
void readBf16(stablehlo::DotGeneralOp dot, Side &left, Side &right) {
  auto before = [](Value value) {
    auto widening = value.getDefiningOp<stablehlo::ConvertOp>();
    bool isBf16 = widening && cast<RankedTensorType>(widening.getOperand().getType()).getElementType().isBF16();
    return isBf16 ? widening.getOperand() : Value();
  };
  Value narrowLeft = before(left.value), narrowRight = before(right.value);
  if (!narrowLeft || !narrowRight || compiler::asksForMore(dot) ||
      !dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty() || !compiler::mayRewrite(dot, "read-bf16"))
    return;
  left.value = narrowLeft;
  right.value = narrowRight;
}

/// Of integers of 8 bits, one matrix on each side.
std::optional<std::array<IntegerSide, 2>> sidesOfBytes(stablehlo::DotGeneralOp dot) {
  if (dot.getAlgorithm() || !dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty())
    return std::nullopt;
  OpBuilder builder(dot);
  return integerSides(builder, dot);
}

/// The last two dimensions have changed places.
ViewAttr turned(ViewAttr view) {
  Dims strides(view.getStrides());
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return ViewAttr::get(view.getContext(), view.getOffset(), strides, view.getValid(), view.getPadding());
}

/// Whether a matrix times one column is better one row times the matrix, whose results lie side by side: it is read where it lies then, once, and what
/// is done to results is done to vectors of them. What the program is given may be weights, which are packed.
bool mayBeOneRow(const Side &matrix, stablehlo::DotGeneralOp dot) {
  ArrayRef<int64_t> strides = matrix.view.getStrides();
  bool isDense = strides[strides.size() - 1] == 1 || strides[strides.size() - 2] == 1;
  return isDense && !isa<BlockArgument>(matrix.value) && cast<RankedTensorType>(matrix.value.getType()).getElementType().isF32() &&
         !matrix.value.getDefiningOp<stablehlo::ConstantOp>() && compiler::mayRewrite(dot, "one-column-as-row");
}

/// The given value, or a constant, that this one is only an order of.
bool isWeightMoved(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(op))
      return isa<stablehlo::ConstantOp>(op);
    value = op->getOperand(0);
  }
  return true;
}

Dims withoutOnes(ArrayRef<int64_t> shape) {
  Dims sizes;
  llvm::copy_if(shape, std::back_inserter(sizes), [](int64_t size) { return size != 1; });
  return sizes;
}

/// Weights of one matrix for each of some experts or heads, brought together so that the columns of
/// all of them are those of one product, as importers write einsum: they would be copied in every
/// run. The same as a product for each matrix, which is read where it lies; null where that is not
/// so.
stablehlo::DotGeneralOp splitColumns(stablehlo::DotGeneralOp dot) {
  constexpr int64_t kFewestColumns = 16;
  auto numbers = dot.getDotDimensionNumbers();
  Value moved = dot.getRhs();
  while (Operation *op = moved.getDefiningOp()) {
    bool isSame =
        isa<stablehlo::ReshapeOp>(op) ||
        (isa<stablehlo::BroadcastInDimOp>(op) && countOf(op->getOperand(0)) == countOf(moved) &&
         llvm::is_sorted(cast<stablehlo::BroadcastInDimOp>(op).getBroadcastDimensions()));
    if (!isSame)
      break;
    moved = op->getOperand(0);
  }
  ArrayRef<int64_t> rightBatch = numbers.getRhsBatchingDimensions(),
                    rightDepth = numbers.getRhsContractingDimensions();
  // There are no kernels for batches in bf16.
  bool isF32 = cast<RankedTensorType>(moved.getType()).getElementType().isF32() &&
               !dot->hasAttr(compiler::kNarrowedAttr);
  if (!isF32 || !moved.getDefiningOp<stablehlo::TransposeOp>() || !isWeightMoved(moved) ||
      sizeOf(dot.getRhs(), rightBatch) != 1 || rightDepth.size() != 1)
    return {};
  Dims columns = others(dot.getRhs(), rightBatch, rightDepth);
  int64_t depth = sizeOf(dot.getRhs(), rightDepth), count = sizeOf(dot.getRhs(), columns);
  // Columns of size one lie anywhere.
  auto right = cast<RankedTensorType>(dot.getRhs().getType());
  const auto *first = llvm::find_if(columns, [&](int64_t d) { return right.getDimSize(d) != 1; });
  bool isDepthFirst = first == columns.end() || rightDepth[0] < *first;
  Dims three = withoutOnes(cast<RankedTensorType>(moved.getType()).getShape()),
       two = withoutOnes(right.getShape());
  Dims expected = isDepthFirst ? Dims{depth, count} : Dims{count, depth};
  if (three.size() != 3 || two != expected || (isDepthFirst ? three[0] : three[2]) != depth ||
      readAs(dot.getRhs(), rightBatch, rightDepth, columns, /*throughMoves=*/true))
    return {};
  int64_t matrices = isDepthFirst ? three[1] : three[0], each = isDepthFirst ? three[2] : three[1];
  if (each < kFewestColumns || !compiler::mayRewrite(dot, "split-columns"))
    return {};
  OpBuilder builder(dot);
  Location location = dot.getLoc();
  auto left = cast<RankedTensorType>(dot.getLhs().getType()),
       result = cast<RankedTensorType>(dot.getResult().getType());
  Value matrixOfEach = builder.create<stablehlo::ReshapeOp>(
      location, RankedTensorType::get(three, left.getElementType()), moved);
  Dims repeated = {matrices}, behind, sizes = {matrices}, rows;
  llvm::append_range(repeated, left.getShape());
  for (int64_t d = 0; d < left.getRank(); ++d) {
    behind.push_back(d + 1);
    if (!llvm::is_contained(numbers.getLhsContractingDimensions(), d)) {
      sizes.push_back(left.getDimSize(d));
      rows.push_back(int64_t(rows.size()) + 1);
    }
  }
  sizes.push_back(each);
  Value lhs = builder.create<stablehlo::BroadcastInDimOp>(
      location, RankedTensorType::get(repeated, left.getElementType()), dot.getLhs(), behind);
  auto split = stablehlo::DotDimensionNumbersAttr::get(
      dot.getContext(), {0}, {isDepthFirst ? 1 : 0}, {numbers.getLhsContractingDimensions()[0] + 1},
      {isDepthFirst ? 0 : 2});
  auto made = cast<stablehlo::DotGeneralOp>(builder.clone(*dot));
  made.getLhsMutable().assign(lhs);
  made.getRhsMutable().assign(matrixOfEach);
  made.setDotDimensionNumbersAttr(split);
  made.getResult().setType(RankedTensorType::get(sizes, result.getElementType()));
  Dims order(rows); // Rows, matrices, columns.
  order.append({0, int64_t(rows.size()) + 1});
  Value back = builder.create<stablehlo::TransposeOp>(location, made.getResult(), order);
  dot.getResult().replaceAllUsesWith(builder.create<stablehlo::ReshapeOp>(location, result, back));
  dot.erase();
  return made;
}

/// How both sides of f32 are read where the batch has to be cut for that.
struct CutSides {
  Dims batch;
  Side left, right;
};
std::optional<CutSides> readCut(stablehlo::DotGeneralOp dot, ArrayRef<int64_t> rows,
                                ArrayRef<int64_t> columns) {
  constexpr size_t kMostDimensions = 4;
  auto numbers = dot.getDotDimensionNumbers();
  ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions(),
                    rightBatch = numbers.getRhsBatchingDimensions(),
                    leftDepth = numbers.getLhsContractingDimensions(),
                    rightDepth = numbers.getRhsContractingDimensions();
  Value lhs = dot.getLhs(), rhs = dot.getRhs();
  std::optional<Cuts> ofLeft = cutsOf(lhs, leftBatch, rows, leftDepth),
                      ofRight = cutsOf(rhs, rightBatch, rightDepth, columns);
  if (!ofLeft && !ofRight)
    return std::nullopt;
  std::optional<Cuts> cuts =
      joined(ofLeft.value_or(uncut(lhs, leftBatch)), ofRight.value_or(uncut(rhs, rightBatch)));
  if (!cuts)
    return std::nullopt;
  CutSides sides;
  for (const Dims &cut : *cuts)
    llvm::append_range(sides.batch, cut);
  std::optional<Side> left = readAs(lhs, leftBatch, *cuts, rows, leftDepth, /*throughMoves=*/true),
                      right = readAs(rhs, rightBatch, *cuts, rightDepth, columns,
                                     /*throughMoves=*/true);
  if (!left || !right || sides.batch.size() > kMostDimensions ||
      !compiler::mayRewrite(dot, "cut-batch"))
    return std::nullopt;
  sides.left = *left;
  sides.right = *right;
  return sides;
}

/// `bytes` are the sides, where they are integers.
void form(stablehlo::DotGeneralOp dot, std::optional<std::array<IntegerSide, 2>> bytes) {
  auto numbers = dot.getDotDimensionNumbers();
  Value lhs = bytes ? (*bytes)[0].value : dot.getLhs(), rhs = bytes ? (*bytes)[1].value : dot.getRhs();
  ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions(),
                    rightBatch = numbers.getRhsBatchingDimensions(),
                    leftDepth = numbers.getLhsContractingDimensions(),
                    rightDepth = numbers.getRhsContractingDimensions();
  Dims rows = others(lhs, leftBatch, leftDepth), columns = others(rhs, rightBatch, rightDepth);
  OpBuilder builder(dot);
  bool isF32 = !bytes && cast<RankedTensorType>(lhs.getType()).getElementType().isF32();
  Dims batch;
  Side left, right;
  if (std::optional<CutSides> cut = isF32 ? readCut(dot, rows, columns) : std::nullopt) {
    batch = cut->batch;
    left = cut->left;
    right = cut->right;
  } else {
    for (int64_t d : leftBatch)
      batch.push_back(cast<RankedTensorType>(lhs.getType()).getDimSize(d));
    left = readSide(builder, dot.getLoc(), lhs, leftBatch, rows, leftDepth);
    right = readSide(builder, dot.getLoc(), rhs, rightBatch, rightDepth, columns);
  }
  if (cast<RankedTensorType>(lhs.getType()).getElementType().isF32())
    readBf16(dot, left, right);
  auto rowCount = uint64_t(sizeOf(lhs, rows)), columnCount = uint64_t(sizeOf(rhs, columns));
  if (columnCount == 1 && rowCount > 1 && !bytes && mayBeOneRow(left, dot)) {
    std::swap(left, right);
    std::swap(rowCount, columnCount);
    left.view = turned(left.view);
    right.view = turned(right.view);
  }
  auto product = builder.create<ProductOp>(
      dot.getLoc(), dot.getResult().getType(), left.value, right.value, ValueRange{}, batch,
      rowCount, columnCount, uint64_t(sizeOf(lhs, leftDepth)),
      bytes ? zerosOf(builder, *bytes) : DenseI64ArrayAttr(), builder.getArrayAttr({left.view, right.view}));
  Type sum = bytes ? Type(builder.getI32Type()) : Type(builder.getF32Type());
  Block *body = builder.createBlock(&product.getBody(), {}, {RankedTensorType::get({}, sum)}, {dot.getLoc()});
  // Sums of floats are f32, whatever they are made of, and are rounded once.
  Value element = body->getArgument(0);
  if (!bytes && !cast<RankedTensorType>(dot.getResult().getType()).getElementType().isF32())
    element = builder.create<stablehlo::ConvertOp>(
        dot.getLoc(), RankedTensorType::get({}, builder.getBF16Type()), element);
  builder.create<YieldOp>(dot.getLoc(), element);
  dot.getResult().replaceAllUsesWith(product.getResult());
  dot.erase();
}

class FormProducts : public impl::FormProductsBase<FormProducts> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
        std::optional<std::array<IntegerSide, 2>> bytes = sidesOfBytes(dot);
        if (!bytes && !isPlainProduct(dot))
          return;
        if (stablehlo::DotGeneralOp split = bytes ? stablehlo::DotGeneralOp() : splitColumns(dot))
          dot = split;
        if (compiler::mayRewrite(dot, "product"))
          form(dot, bytes);
      }
    });
  }
};

} // namespace
} // namespace cupel::tir
