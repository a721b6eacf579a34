// ragged_dot as dot_general and a mask that says which positions belong to which group.
#include "cupel/compiler/passes/LowerChloPatterns.h"
#include "cupel/compiler/passes/Shapes.h"
#include "cupel/ir/chlo/RaggedDot.h"

using namespace mlir;

namespace cupel::compiler {

namespace {

class RaggedDotBuilder {
public:
  RaggedDotBuilder(chlo::RaggedDotOp op, PatternRewriter &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()), numbers(op.getRaggedDotDimensionNumbers()),
        lhs(cast<RankedTensorType>(op.getLhs().getType())),
        rhs(cast<RankedTensorType>(op.getRhs().getType())),
        groupSizes(cast<RankedTensorType>(op.getGroupSizes().getType())),
        result(cast<RankedTensorType>(op.getType())),
        ragged(numbers.getLhsRaggedDimensions().front()), groups(groupSizes.getShape().back()) {}

  Value build() {
    switch (chlo::getRaggedDotMode(numbers)) {
    case chlo::RaggedDotMode::Free:
      return buildFree();
    case chlo::RaggedDotMode::Contracting:
      return buildContracting();
    case chlo::RaggedDotMode::Batching:
      // Groups of batches do not mix anyway.
      return dot(op.getLhs(), op.getRhs(), result, numbers.getLhsBatchingDimensions(),
                 numbers.getRhsBatchingDimensions(), numbers.getLhsContractingDimensions(),
                 numbers.getRhsContractingDimensions());
    }
    llvm_unreachable("all modes are handled");
  }

private:
  // [b,m,k], [g,b,k,n] -> [b,m,n]: every row meets the rhs of every group, the products with the
  // group it is not in become zero (selected, not multiplied: 0 * inf would be NaN), and the group
  // dimension is summed away.
  Value buildFree() {
    int64_t group = numbers.getRhsGroupDimensions().front();
    SmallVector<int64_t> lhsFree = chlo::getFreeDimensions(
        lhs.getRank(), {numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions()});
    SmallVector<int64_t> rhsFree = chlo::getFreeDimensions(
        rhs.getRank(), {numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions()});
    // Where the dimensions of lhs and the group dimension are in the product.
    SmallVector<int64_t> place(lhs.getRank(), -1);
    SmallVector<int64_t> shape;
    auto append = [&](RankedTensorType type, ArrayRef<int64_t> dimensions, bool isLhs) {
      for (int64_t dimension : dimensions) {
        if (isLhs)
          place[dimension] = shape.size();
        shape.push_back(type.getDimSize(dimension));
      }
    };
    append(lhs, numbers.getLhsBatchingDimensions(), true);
    append(lhs, lhsFree, true);
    int64_t groupPlace = shape.size() + (llvm::find(rhsFree, group) - rhsFree.begin());
    append(rhs, rhsFree, false);

    auto productType = RankedTensorType::get(shape, result.getElementType());
    Value product = dot(op.getLhs(), op.getRhs(), productType, numbers.getLhsBatchingDimensions(),
                        numbers.getRhsBatchingDimensions(), numbers.getLhsContractingDimensions(),
                        numbers.getRhsContractingDimensions());
    Value mask = buildMask(shape, groupPlace, place[ragged], mapPrefix(place));
    Value masked = selectOrZero(mask, product);
    return sumOver(masked, groupPlace);
  }

  // [b,m,k], [b,k,n] -> [g,b,m,n]: both sides once for each group, with zeros outside of it, and
  // the group as a batching dimension.
  Value buildContracting() {
    SmallVector<int64_t> lhsPlace(lhs.getRank()), rhsPlace(lhs.getRank(), -1);
    for (int64_t dimension : llvm::seq<int64_t>(0, lhs.getRank()))
      lhsPlace[dimension] = dimension + 1;
    auto pair = [&](ArrayRef<int64_t> ofLhs, ArrayRef<int64_t> ofRhs) {
      for (auto [l, r] : llvm::zip(ofLhs, ofRhs))
        rhsPlace[l] = r + 1;
    };
    pair(numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions());
    pair(numbers.getLhsContractingDimensions(), numbers.getRhsContractingDimensions());

    auto shifted = [](ArrayRef<int64_t> dimensions, bool withGroup) {
      SmallVector<int64_t> moved;
      if (withGroup)
        moved.push_back(0);
      for (int64_t dimension : dimensions)
        moved.push_back(dimension + 1);
      return moved;
    };
    return dot(spread(op.getLhs(), lhsPlace), spread(op.getRhs(), rhsPlace), result,
               shifted(numbers.getLhsBatchingDimensions(), true),
               shifted(numbers.getRhsBatchingDimensions(), true),
               shifted(numbers.getLhsContractingDimensions(), false),
               shifted(numbers.getRhsContractingDimensions(), false));
  }

  // One copy of `value` for each group, zero outside of the group; `place` says where the
  // dimensions of lhs are in the copies.
  Value spread(Value value, ArrayRef<int64_t> place) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {groups};
    llvm::append_range(shape, type.getShape());
    auto dimensions = llvm::to_vector(llvm::seq<int64_t>(1, shape.size()));
    Value copies = broadcastTo(rewriter, loc, value,
                               RankedTensorType::get(shape, type.getElementType()), dimensions);
    return selectOrZero(buildMask(shape, 0, place[ragged], mapPrefix(place)), copies);
  }

  // Where the leading dimensions of group_sizes are, given where those of lhs are.
  SmallVector<int64_t> mapPrefix(ArrayRef<int64_t> place) {
    SmallVector<int64_t> prefix;
    if (groupSizes.getRank() > 1)
      for (int64_t dimension : chlo::getGroupSizesPrefix(numbers, lhs.getRank()))
        prefix.push_back(place[dimension]);
    return prefix;
  }

  // True where the position along `raggedPlace` is in the group along `groupPlace`.
  Value buildMask(ArrayRef<int64_t> shape, int64_t groupPlace, int64_t raggedPlace,
                  ArrayRef<int64_t> prefixPlaces) {
    auto wide = RankedTensorType::get(groupSizes.getShape(), rewriter.getI64Type());
    Value sizes = op.getGroupSizes();
    if (sizes.getType() != wide)
      sizes = rewriter.create<stablehlo::ConvertOp>(loc, TypeRange{wide}, ValueRange{sizes});
    Value ends = cumulativeSum(sizes);
    Value starts =
        rewriter.create<stablehlo::SubtractOp>(loc, TypeRange{wide}, ValueRange{ends, sizes});

    auto full = RankedTensorType::get(shape, rewriter.getI64Type());
    NamedAttribute dimension =
        rewriter.getNamedAttr("iota_dimension", rewriter.getI64IntegerAttr(raggedPlace));
    Value position =
        rewriter.create<stablehlo::IotaOp>(loc, TypeRange{full}, ValueRange{}, dimension);
    SmallVector<int64_t> places(prefixPlaces);
    places.push_back(groupPlace);
    Value afterStart =
        compare(position, placed(starts, full, places), stablehlo::ComparisonDirection::GE);
    Value beforeEnd =
        compare(position, placed(ends, full, places), stablehlo::ComparisonDirection::LT);
    return rewriter.create<stablehlo::AndOp>(loc, TypeRange{afterStart.getType()},
                                             ValueRange{afterStart, beforeEnd});
  }

  // Broadcast with any order of target dimensions.
  Value placed(Value value, RankedTensorType type, ArrayRef<int64_t> places) {
    return broadcastTo(rewriter, loc, value, type, places);
  }

  // Along the last dimension, with a window that reaches back to the start.
  Value cumulativeSum(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> window(type.getRank(), 1);
    window.back() = std::max<int64_t>(groups, 1);
    SmallVector<int64_t> padding(2 * type.getRank(), 0);
    padding[padding.size() - 2] = window.back() - 1;
    auto paddingType = RankedTensorType::get({type.getRank(), 2}, rewriter.getI64Type());
    NamedAttribute attributes[] = {
        rewriter.getNamedAttr("window_dimensions", rewriter.getDenseI64ArrayAttr(window)),
        rewriter.getNamedAttr("padding",
                              DenseIntElementsAttr::get(paddingType, ArrayRef(padding)))};
    auto op = rewriter.create<stablehlo::ReduceWindowOp>(
        loc, TypeRange{type}, ValueRange{value, zero(type.getElementType())}, attributes);
    buildSum(op.getBody(), type.getElementType());
    return op->getResult(0);
  }

  Value sumOver(Value value, int64_t dimension) {
    NamedAttribute attribute =
        rewriter.getNamedAttr("dimensions", rewriter.getDenseI64ArrayAttr({dimension}));
    auto reduce = rewriter.create<stablehlo::ReduceOp>(
        loc, TypeRange{result}, ValueRange{value, zero(result.getElementType())}, attribute);
    buildSum(reduce.getBody(), result.getElementType());
    return reduce->getResult(0);
  }

  void buildSum(Region &region, Type elementType) {
    OpBuilder::InsertionGuard guard(rewriter);
    auto scalar = RankedTensorType::get({}, elementType);
    Block *block = rewriter.createBlock(&region, {}, {scalar, scalar}, {loc, loc});
    Value sum = rewriter.create<stablehlo::AddOp>(loc, TypeRange{scalar}, block->getArguments());
    rewriter.create<stablehlo::ReturnOp>(loc, ValueRange{sum});
  }

  Value zero(Type elementType) {
    return rewriter.create<stablehlo::ConstantOp>(
        loc, cast<ElementsAttr>(rewriter.getZeroAttr(RankedTensorType::get({}, elementType))));
  }

  Value selectOrZero(Value mask, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Value zeros = broadcastTo(rewriter, loc, zero(type.getElementType()), type, {});
    return rewriter.create<stablehlo::SelectOp>(loc, TypeRange{type},
                                                ValueRange{mask, value, zeros});
  }

  Value compare(Value a, Value b, stablehlo::ComparisonDirection direction) {
    NamedAttribute attribute = rewriter.getNamedAttr(
        "comparison_direction",
        stablehlo::ComparisonDirectionAttr::get(rewriter.getContext(), direction));
    auto type = cast<RankedTensorType>(a.getType()).clone(rewriter.getI1Type());
    return rewriter.create<stablehlo::CompareOp>(loc, TypeRange{type}, ValueRange{a, b}, attribute);
  }

  Value dot(Value left, Value right, RankedTensorType type, ArrayRef<int64_t> leftBatching,
            ArrayRef<int64_t> rightBatching, ArrayRef<int64_t> leftContracting,
            ArrayRef<int64_t> rightContracting) {
    SmallVector<NamedAttribute> attributes = {rewriter.getNamedAttr(
        "dot_dimension_numbers",
        stablehlo::DotDimensionNumbersAttr::get(rewriter.getContext(), leftBatching, rightBatching,
                                                leftContracting, rightContracting))};
    if (std::optional<ArrayAttr> config = op.getPrecisionConfig()) {
      SmallVector<Attribute> precisions;
      for (auto precision : config->getAsRange<chlo::PrecisionAttr>())
        precisions.push_back(stablehlo::PrecisionAttr::get(
            rewriter.getContext(), static_cast<stablehlo::Precision>(precision.getValue())));
      attributes.push_back(
          rewriter.getNamedAttr("precision_config", rewriter.getArrayAttr(precisions)));
    }
    return rewriter.create<stablehlo::DotGeneralOp>(loc, TypeRange{type}, ValueRange{left, right},
                                                    attributes);
  }

  chlo::RaggedDotOp op;
  PatternRewriter &rewriter;
  Location loc;
  chlo::RaggedDotDimensionNumbersAttr numbers;
  RankedTensorType lhs, rhs, groupSizes, result;
  int64_t ragged, groups;
};

struct RaggedDotPattern : public OpRewritePattern<chlo::RaggedDotOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(chlo::RaggedDotOp op, PatternRewriter &rewriter) const override {
    SmallVector<Type> types(op->getOperandTypes());
    types.push_back(op.getType());
    for (Type type : types) {
      auto ranked = dyn_cast<RankedTensorType>(type);
      if (!ranked || !ranked.hasStaticShape())
        return op.emitOpError("cannot be decomposed to stablehlo: all shapes must be static, but ")
               << type << " is not";
    }
    rewriter.replaceOp(op, RaggedDotBuilder(op, rewriter).build());
    return success();
  }
};

} // namespace

void populateLowerChloRaggedDot(RewritePatternSet &patterns) {
  patterns.add<RaggedDotPattern>(patterns.getContext());
}

} // namespace cupel::compiler
