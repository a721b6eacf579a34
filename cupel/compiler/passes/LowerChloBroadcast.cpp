// The broadcast_* operations: bring the operands to one shape, then apply the plain operation.
#include "cupel/compiler/passes/LowerChloPatterns.h"
#include "cupel/compiler/passes/Shapes.h"
#include "cupel/ir/chlo/Broadcasting.h"

using namespace mlir;

namespace cupel::compiler {

namespace {

/// Operands of one shape, and that shape (with some element type).
struct Broadcast {
  SmallVector<Value> operands;
  RankedTensorType shape;
};

// The size of a result dimension at run time: that of the operand that is not 1 there.
Value getBroadcastSize(OpBuilder &builder, Location loc, ValueRange operands,
                       ArrayRef<SmallVector<int64_t>> maps, int64_t dimension) {
  auto scalarI1 = RankedTensorType::get({}, builder.getI1Type());
  Value size;
  for (auto [operand, map] : llvm::zip(operands, maps)) {
    auto position = llvm::find(map, dimension);
    if (position == map.end())
      continue;
    int64_t operandDimension = position - map.begin();
    if (cast<RankedTensorType>(operand.getType()).getDimSize(operandDimension) == 1)
      continue;
    Value next = getSize(builder, loc, operand, operandDimension);
    if (!size) {
      size = next;
      continue;
    }
    NamedAttribute equal = builder.getNamedAttr(
        "comparison_direction", stablehlo::ComparisonDirectionAttr::get(
                                    builder.getContext(), stablehlo::ComparisonDirection::EQ));
    Value isOne = builder.create<stablehlo::CompareOp>(
        loc, TypeRange{scalarI1}, ValueRange{size, makeSize(builder, loc, 1)}, equal);
    size = builder.create<stablehlo::SelectOp>(loc, TypeRange{size.getType()},
                                               ValueRange{isOne, next, size});
  }
  return size ? size : makeSize(builder, loc, 1);
}

FailureOr<Broadcast> broadcastOperands(Operation *op, PatternRewriter &rewriter) {
  Location loc = op->getLoc();
  SmallVector<RankedTensorType> types;
  for (Type type : op->getOperandTypes()) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked) {
      op->emitOpError("cannot be decomposed to stablehlo: ")
          << type << " has no rank; stablehlo has ranked tensors only";
      return failure();
    }
    types.push_back(ranked);
  }
  auto report = [&](const Twine &message) { op->emitError(message); };
  auto maps = chlo::mapToResultDimensions(
      types, op->getAttrOfType<DenseI64ArrayAttr>("broadcast_dimensions"), report);
  if (maps.empty())
    return failure();
  FailureOr<SmallVector<int64_t>> sizes = chlo::inferBroadcastShape(types, maps, report);
  if (failed(sizes))
    return failure();

  // The result type of the operation may know more.
  RankedTensorType shape = RankedTensorType::get(*sizes, rewriter.getI1Type());
  if (auto ranked = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
    if (std::optional<Type> both =
            stablehlo::mostSpecific({shape, ranked.clone(rewriter.getI1Type())}))
      shape = cast<RankedTensorType>(*both);

  auto isIdentity = [&](RankedTensorType type) {
    return type.hasStaticShape() && type.getShape() == shape.getShape();
  };
  Broadcast result{{}, shape};
  if (llvm::all_equal(op->getOperands()) || llvm::all_of(types, isIdentity)) {
    result.operands.assign(op->operand_begin(), op->operand_end());
    return result;
  }
  Value runtimeShape;
  if (!shape.hasStaticShape()) {
    SmallVector<Value> runtimeSizes;
    for (auto [dimension, size] : llvm::enumerate(shape.getShape()))
      runtimeSizes.push_back(
          ShapedType::isDynamic(size)
              ? getBroadcastSize(rewriter, loc, op->getOperands(), maps, dimension)
              : makeSize(rewriter, loc, size));
    runtimeShape = packSizes(rewriter, loc, runtimeSizes);
  }
  for (auto [operand, type, map] : llvm::zip(op->getOperands(), types, maps))
    result.operands.push_back(isIdentity(type) ? operand
                                               : broadcastTo(rewriter, loc, operand,
                                                             shape.clone(type.getElementType()),
                                                             map, runtimeShape));
  return result;
}

/// chlo.broadcast_x as stablehlo.x.
template <typename ChloOp, typename StablehloOp>
struct BroadcastPattern : public OpRewritePattern<ChloOp> {
  using OpRewritePattern<ChloOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ChloOp op, PatternRewriter &rewriter) const override {
    FailureOr<Broadcast> broadcast = broadcastOperands(op, rewriter);
    if (failed(broadcast))
      return failure();
    Type type = op.getType();
    if (!isa<RankedTensorType>(type))
      type = broadcast->shape.clone(getElementTypeOrSelf(type));
    SmallVector<NamedAttribute> attributes;
    if constexpr (std::is_same_v<ChloOp, chlo::BroadcastCompareOp>) {
      MLIRContext *context = op.getContext();
      auto direction = static_cast<stablehlo::ComparisonDirection>(op.getComparisonDirection());
      attributes.push_back(rewriter.getNamedAttr(
          "comparison_direction", stablehlo::ComparisonDirectionAttr::get(context, direction)));
      if (std::optional<chlo::ComparisonType> kind = op.getCompareType())
        attributes.push_back(rewriter.getNamedAttr(
            "compare_type", stablehlo::ComparisonTypeAttr::get(
                                context, static_cast<stablehlo::ComparisonType>(*kind))));
    }
    rewriter.replaceOpWithNewOp<StablehloOp>(op, TypeRange{type}, broadcast->operands, attributes);
    return success();
  }
};

/// chlo.broadcast_x as the formula of chlo.x.
template <typename ChloOp, auto formula>
struct BroadcastFormulaPattern : public OpRewritePattern<ChloOp> {
  using OpRewritePattern<ChloOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ChloOp op, PatternRewriter &rewriter) const override {
    FailureOr<Broadcast> broadcast = broadcastOperands(op, rewriter);
    if (failed(broadcast))
      return failure();
    if (!stablehlo::isFloat(getElementTypeOrSelf(op.getType())))
      return op.emitOpError("cannot be decomposed to stablehlo: the operands must be real floats");
    ArrayRef<Value> operands = broadcast->operands;
    Emitter emitter(rewriter, op.getLoc(), broadcast->shape, operands.front());
    replaceWith(op, formula(emitter.wrap(operands[0]), emitter.wrap(operands[1])), rewriter);
    return success();
  }
};

} // namespace

void populateLowerChloBroadcast(RewritePatternSet &patterns) {
  patterns.add<
      BroadcastPattern<chlo::BroadcastAddOp, stablehlo::AddOp>,
      BroadcastPattern<chlo::BroadcastAndOp, stablehlo::AndOp>,
      BroadcastPattern<chlo::BroadcastAtan2Op, stablehlo::Atan2Op>,
      BroadcastPattern<chlo::BroadcastCompareOp, stablehlo::CompareOp>,
      BroadcastPattern<chlo::BroadcastComplexOp, stablehlo::ComplexOp>,
      BroadcastPattern<chlo::BroadcastDivideOp, stablehlo::DivideOp>,
      BroadcastPattern<chlo::BroadcastMaximumOp, stablehlo::MaximumOp>,
      BroadcastPattern<chlo::BroadcastMinimumOp, stablehlo::MinimumOp>,
      BroadcastPattern<chlo::BroadcastMultiplyOp, stablehlo::MultiplyOp>,
      BroadcastPattern<chlo::BroadcastOrOp, stablehlo::OrOp>,
      BroadcastPattern<chlo::BroadcastPowerOp, stablehlo::PowerOp>,
      BroadcastPattern<chlo::BroadcastRemainderOp, stablehlo::RemainderOp>,
      BroadcastPattern<chlo::BroadcastSelectOp, stablehlo::SelectOp>,
      BroadcastPattern<chlo::BroadcastShiftLeftOp, stablehlo::ShiftLeftOp>,
      BroadcastPattern<chlo::BroadcastShiftRightArithmeticOp, stablehlo::ShiftRightArithmeticOp>,
      BroadcastPattern<chlo::BroadcastShiftRightLogicalOp, stablehlo::ShiftRightLogicalOp>,
      BroadcastPattern<chlo::BroadcastSubtractOp, stablehlo::SubtractOp>,
      BroadcastPattern<chlo::BroadcastXorOp, stablehlo::XorOp>,
      BroadcastFormulaPattern<chlo::BroadcastNextAfterOp, nextAfter>,
      BroadcastFormulaPattern<chlo::BroadcastPolygammaOp, polygamma>,
      BroadcastFormulaPattern<chlo::BroadcastZetaOp, zeta>>(patterns.getContext());
}

} // namespace cupel::compiler
