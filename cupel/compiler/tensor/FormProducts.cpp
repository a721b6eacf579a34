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

/// Reads `value` over each of `batch`, then `first` as one dimension, then `second` as one.
std::optional<Side> readAs(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> first,
                           ArrayRef<int64_t> second, bool throughMoves) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> strides = rowMajorStrides(shape), sizes, own;
  SmallVector<int> marks;
  int mark = 0;
  auto add = [&](ArrayRef<int64_t> dims, bool asOne) {
    for (int64_t d : dims) {
      sizes.push_back(shape[d]);
      own.push_back(strides[d]);
      marks.push_back(mark);
      mark += asOne ? 0 : 1;
    }
    if (asOne && dims.empty()) {
      sizes.push_back(1);
      own.push_back(0);
      marks.push_back(mark);
    }
    mark += asOne ? 1 : 0;
  };
  add(batch, false);
  add(first, true);
  add(second, true);
  LoopNest nest(sizes, marks);
  nest.add(value, own, [&](Value) { return !throughMoves; });
  if (!nest.collapse() || nest.sizes().size() != batch.size() + 2 ||
      !nest.readings()[0].valid.empty())
    return std::nullopt;
  return Side{nest.readings()[0].value, nest.view(0)};
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
  Side left = readSide(builder, dot.getLoc(), lhs, leftBatch, rows, leftDepth),
       right = readSide(builder, dot.getLoc(), rhs, rightBatch, rightDepth, columns);
  if (cast<RankedTensorType>(lhs.getType()).getElementType().isF32())
    readBf16(dot, left, right);
  Dims batch;
  for (int64_t d : leftBatch)
    batch.push_back(cast<RankedTensorType>(lhs.getType()).getDimSize(d));
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
        if ((bytes || isPlainProduct(dot)) && compiler::mayRewrite(dot, "product"))
          form(dot, bytes);
      }
    });
  }
};

} // namespace
} // namespace cupel::tir
