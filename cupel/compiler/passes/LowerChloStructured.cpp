// top_k as a sort, scan as a while loop.
#include "cupel/compiler/passes/LowerChloPatterns.h"
#include "cupel/compiler/passes/Shapes.h"

using namespace mlir;

namespace cupel::compiler {

namespace {

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

struct TopKPattern : public OpRewritePattern<chlo::TopKOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(chlo::TopKOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getOperand().getType());
    if (!type || !isa<RankedTensorType>(op.getValues().getType()) ||
        !isa<RankedTensorType>(op.getIndices().getType()))
      return op.emitOpError("cannot be decomposed to stablehlo: its types must be ranked");
    Location loc = op.getLoc();
    int64_t last = type.getRank() - 1;

    RankedTensorType indexType = type.clone(rewriter.getI32Type());
    NamedAttribute iotaDimension =
        rewriter.getNamedAttr("iota_dimension", rewriter.getI64IntegerAttr(last));
    Value indices;
    if (type.hasStaticShape())
      indices = rewriter.create<stablehlo::IotaOp>(loc, TypeRange{indexType}, ValueRange{},
                                                   iotaDimension);
    else
      indices = rewriter.create<stablehlo::DynamicIotaOp>(
          loc, TypeRange{indexType}, ValueRange{getShape(rewriter, loc, op.getOperand())},
          iotaDimension);

    NamedAttribute attributes[] = {
        rewriter.getNamedAttr("dimension", rewriter.getI64IntegerAttr(last)),
        rewriter.getNamedAttr("is_stable", rewriter.getBoolAttr(op.getIsStable()))};
    auto sort = rewriter.create<stablehlo::SortOp>(
        loc, TypeRange{type, indexType}, ValueRange{op.getOperand(), indices}, attributes);
    buildDescending(rewriter, loc, sort.getComparator(), type.getElementType());

    rewriter.replaceOp(op, {takeFirst(op, sort->getResult(0), op.getValues(), rewriter),
                            takeFirst(op, sort->getResult(1), op.getIndices(), rewriter)});
    return success();
  }

private:
  // Larger first; NaN counts as larger than everything.
  static void buildDescending(PatternRewriter &rewriter, Location loc, Region &region,
                              Type elementType) {
    OpBuilder::InsertionGuard guard(rewriter);
    auto scalar = [&](Type type) { return RankedTensorType::get({}, type); };
    Type value = scalar(elementType), index = scalar(rewriter.getI32Type());
    Block *block = rewriter.createBlock(&region, {}, {value, value, index, index},
                                        SmallVector<Location>(4, loc));
    MLIRContext *context = rewriter.getContext();
    SmallVector<NamedAttribute> attributes = {rewriter.getNamedAttr(
        "comparison_direction",
        stablehlo::ComparisonDirectionAttr::get(context, stablehlo::ComparisonDirection::GT))};
    if (stablehlo::isFloat(elementType))
      attributes.push_back(rewriter.getNamedAttr(
          "compare_type",
          stablehlo::ComparisonTypeAttr::get(context, stablehlo::ComparisonType::TOTALORDER)));
    Value larger = rewriter.create<stablehlo::CompareOp>(
        loc, TypeRange{scalar(rewriter.getI1Type())},
        ValueRange{block->getArgument(0), block->getArgument(1)}, attributes);
    rewriter.create<stablehlo::ReturnOp>(loc, ValueRange{larger});
  }

  // The first k along the last dimension of `sorted`, in the type of `result`.
  static Value takeFirst(chlo::TopKOp op, Value sorted, Value result, PatternRewriter &rewriter) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(sorted.getType());
    int64_t rank = type.getRank();
    if (type.hasStaticShape()) {
      SmallVector<int64_t> limits(type.getShape());
      limits.back() = op.getK();
      NamedAttribute attributes[] = {
          rewriter.getNamedAttr("start_indices",
                                rewriter.getDenseI64ArrayAttr(SmallVector<int64_t>(rank, 0))),
          rewriter.getNamedAttr("limit_indices", rewriter.getDenseI64ArrayAttr(limits)),
          rewriter.getNamedAttr("strides",
                                rewriter.getDenseI64ArrayAttr(SmallVector<int64_t>(rank, 1)))};
      return rewriter.create<stablehlo::SliceOp>(loc, TypeRange{result.getType()},
                                                 ValueRange{sorted}, attributes);
    }
    SmallVector<Value> limits;
    for (int64_t dimension : llvm::seq<int64_t>(0, rank - 1))
      limits.push_back(getSize(rewriter, loc, sorted, dimension));
    limits.push_back(makeSize(rewriter, loc, op.getK()));
    return rewriter.create<stablehlo::RealDynamicSliceOp>(
        loc, TypeRange{result.getType()},
        ValueRange{sorted, makeSizes(rewriter, loc, SmallVector<int32_t>(rank, 0)),
                   packSizes(rewriter, loc, limits),
                   makeSizes(rewriter, loc, SmallVector<int32_t>(rank, 1))});
  }
};

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

/// Builds the loop of one scan. Its values are: the counter, the inputs (which do not change), the
/// outputs so far, the carries.
class ScanLoop {
public:
  ScanLoop(chlo::ScanOp op, PatternRewriter &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()), dimension(op.getDimension()) {}

  void build() {
    Value length = getLength();
    SmallVector<Value> state = {makeSize(rewriter, loc, 0), length};
    llvm::append_range(state, op.getInputs());
    for (Value output : op.getOutputs())
      state.push_back(makeEmptyOutput(cast<RankedTensorType>(output.getType()), length));
    for (auto [init, carry] : llvm::zip(op.getInits(), op.getCarries()))
      state.push_back(cast(init, carry.getType()));

    auto loop = rewriter.create<stablehlo::WhileOp>(loc, ValueRange(state).getTypes(), state);
    SmallVector<Location> locations(state.size(), loc);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      Block *condition =
          rewriter.createBlock(&loop.getCond(), {}, ValueRange(state).getTypes(), locations);
      Value more = compareLess(condition->getArgument(0), condition->getArgument(1));
      rewriter.create<stablehlo::ReturnOp>(loc, ValueRange{more});
      Block *body =
          rewriter.createBlock(&loop.getBody(), {}, ValueRange(state).getTypes(), locations);
      buildBody(body);
    }
    rewriter.replaceOp(op, loop->getResults().drop_front(2 + op.getInputs().size()));
  }

private:
  Value getLength() {
    if (int64_t length = op.getScanLength(); !ShapedType::isDynamic(length))
      return makeSize(rewriter, loc, length);
    return getSize(rewriter, loc, op.getInputs().front(), dimension);
  }

  Value makeEmptyOutput(RankedTensorType type, Value length) {
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value zero = rewriter.create<stablehlo::ConstantOp>(
        loc, cast<ElementsAttr>(rewriter.getZeroAttr(scalar)));
    if (type.hasStaticShape())
      return broadcastTo(rewriter, loc, zero, type, {});
    // A dynamic size is the scan's length, or that of an input in the same place.
    SmallVector<Value> sizes;
    for (auto [position, size] : llvm::enumerate(type.getShape()))
      sizes.push_back(static_cast<int64_t>(position) == dimension ? length
                      : ShapedType::isDynamic(size)
                          ? getSize(rewriter, loc, op.getInputs().front(), position)
                          : makeSize(rewriter, loc, size));
    return broadcastTo(rewriter, loc, zero, type, {}, packSizes(rewriter, loc, sizes));
  }

  void buildBody(Block *body) {
    Value counter = body->getArgument(0), length = body->getArgument(1);
    size_t numInputs = op.getInputs().size(), numOutputs = op.getOutputs().size();
    ValueRange inputs = body->getArguments().slice(2, numInputs);
    ValueRange outputs = body->getArguments().slice(2 + numInputs, numOutputs);
    ValueRange carries = body->getArguments().drop_front(2 + numInputs + numOutputs);

    Value one = makeSize(rewriter, loc, 1);
    Value position = counter;
    if (op.getIsReverse())
      position = subtract(subtract(length, one), counter);

    Block &scanned = op.getBody().front();
    SmallVector<Value> arguments;
    for (auto [input, argument] : llvm::zip(inputs, scanned.getArguments()))
      arguments.push_back(
          takeSlice(input, position, mlir::cast<RankedTensorType>(argument.getType())));
    for (auto [carry, argument] : llvm::zip(carries, scanned.getArguments().drop_front(numInputs)))
      arguments.push_back(cast(carry, argument.getType()));

    Operation *terminator = scanned.getTerminator();
    rewriter.inlineBlockBefore(&scanned, body, body->end(), arguments);
    rewriter.setInsertionPointAfter(terminator);
    SmallVector<Value> next = {rewriter.create<stablehlo::AddOp>(loc, TypeRange{counter.getType()},
                                                                 ValueRange{counter, one}),
                               length};
    llvm::append_range(next, inputs);
    for (auto [output, value] : llvm::zip(outputs, terminator->getOperands()))
      next.push_back(putSlice(output, value, position));
    for (auto [carry, value] : llvm::zip(carries, terminator->getOperands().drop_front(numOutputs)))
      next.push_back(cast(value, carry.getType()));
    rewriter.eraseOp(terminator);
    rewriter.create<stablehlo::ReturnOp>(loc, next);
  }

  Value compareLess(Value a, Value b) {
    NamedAttribute less = rewriter.getNamedAttr(
        "comparison_direction", stablehlo::ComparisonDirectionAttr::get(
                                    rewriter.getContext(), stablehlo::ComparisonDirection::LT));
    return rewriter.create<stablehlo::CompareOp>(
        loc, TypeRange{RankedTensorType::get({}, rewriter.getI1Type())}, ValueRange{a, b}, less);
  }

  Value subtract(Value a, Value b) {
    return rewriter.create<stablehlo::SubtractOp>(loc, TypeRange{a.getType()}, ValueRange{a, b});
  }

  /// The same value in a type that knows more or less of its shape.
  Value cast(Value value, Type type) {
    if (value.getType() == type)
      return value;
    return rewriter.create<stablehlo::ConvertOp>(loc, TypeRange{type}, ValueRange{value});
  }
  template <typename T> static T cast(Type type) { return mlir::cast<T>(type); }
  template <typename T> static T cast(Attribute attribute) { return mlir::cast<T>(attribute); }

  /// The start of a slice of `type`: zeros, and `position` in the scan dimension.
  SmallVector<Value> getStarts(RankedTensorType type, Value position) {
    SmallVector<Value> starts(type.getRank(), makeSize(rewriter, loc, 0));
    starts[dimension] = position;
    return starts;
  }

  /// input[..., position, ...] without the scan dimension, as `type`.
  Value takeSlice(Value input, Value position, RankedTensorType type) {
    auto inputType = mlir::cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> sizes(inputType.getShape());
    sizes[dimension] = 1;
    auto sliceType = RankedTensorType::get(sizes, inputType.getElementType());
    if (sliceType.hasStaticShape()) {
      SmallVector<Value> operands = {input};
      llvm::append_range(operands, getStarts(inputType, position));
      NamedAttribute attribute =
          rewriter.getNamedAttr("slice_sizes", rewriter.getDenseI64ArrayAttr(sizes));
      Value slice = rewriter.create<stablehlo::DynamicSliceOp>(loc, TypeRange{sliceType}, operands,
                                                               attribute);
      sizes.erase(sizes.begin() + dimension);
      auto dropped = RankedTensorType::get(sizes, inputType.getElementType());
      return cast(reshapeTo(rewriter, loc, slice, dropped), type);
    }
    // Sizes that are not known here: a gather takes them as a tensor.
    SmallVector<Value> runtimeSizes;
    for (int64_t i : llvm::seq<int64_t>(0, inputType.getRank()))
      runtimeSizes.push_back(i == dimension ? makeSize(rewriter, loc, 1)
                                            : getSize(rewriter, loc, input, i));
    auto kept = llvm::to_vector(llvm::seq<int64_t>(0, inputType.getRank() - 1));
    auto numbers = stablehlo::GatherDimensionNumbersAttr::get(
        rewriter.getContext(), /*offsetDims=*/kept, /*collapsedSliceDims=*/{dimension},
        /*operandBatchingDims=*/{}, /*startIndicesBatchingDims=*/{}, /*startIndexMap=*/{dimension},
        /*indexVectorDim=*/0);
    return rewriter.create<stablehlo::DynamicGatherOp>(
        loc, TypeRange{type},
        ValueRange{input, packSizes(rewriter, loc, position),
                   packSizes(rewriter, loc, runtimeSizes)},
        rewriter.getNamedAttr("dimension_numbers", numbers));
  }

  /// `output` with output[..., position, ...] = value.
  Value putSlice(Value output, Value value, Value position) {
    auto type = mlir::cast<RankedTensorType>(output.getType());
    auto valueType = mlir::cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> sizes(valueType.getShape());
    sizes.insert(sizes.begin() + dimension, 1);
    auto sliceType = RankedTensorType::get(sizes, type.getElementType());
    Value shape;
    if (!sliceType.hasStaticShape()) {
      SmallVector<Value> runtimeSizes;
      for (int64_t i : llvm::seq<int64_t>(0, valueType.getRank()))
        runtimeSizes.push_back(getSize(rewriter, loc, value, i));
      runtimeSizes.insert(runtimeSizes.begin() + dimension, makeSize(rewriter, loc, 1));
      shape = packSizes(rewriter, loc, runtimeSizes);
    }
    SmallVector<Value> operands = {output, reshapeTo(rewriter, loc, value, sliceType, shape)};
    llvm::append_range(operands, getStarts(type, position));
    return rewriter.create<stablehlo::DynamicUpdateSliceOp>(loc, TypeRange{type}, operands);
  }

  chlo::ScanOp op;
  PatternRewriter &rewriter;
  Location loc;
  int64_t dimension;
};

struct ScanPattern : public OpRewritePattern<chlo::ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(chlo::ScanOp op, PatternRewriter &rewriter) const override {
    ScanLoop(op, rewriter).build();
    return success();
  }
};

} // namespace

void populateLowerChloStructured(RewritePatternSet &patterns) {
  patterns.add<TopKPattern, ScanPattern>(patterns.getContext());
}

} // namespace cupel::compiler
