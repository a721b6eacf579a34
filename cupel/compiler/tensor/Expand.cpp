// Tensor IR written out as StableHLO. A view is a gather from the flat operand, a body is its own
// operations on whole tensors: no cleverness that a fusion might share.

#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cupel::tir {

namespace {

using Sizes = SmallVector<int64_t>;

class Expansion {
public:
  explicit Expansion(Operation *op) : builder(op), location(op->getLoc()) {}

  LogicalResult run(MapOp op) {
    IRMapping mapping;
    for (auto [input, view, argument] : llvm::zip(
             op.getInputs(), op.getViews().getAsRange<ViewAttr>(), op.getBody().getArguments()))
      mapping.map(argument, read(input, view, op.getSizes()));
    return finish(op, elements(op.getBody().front(), mapping, op.getSizes()));
  }

  LogicalResult run(ReduceOp op) {
    IRMapping mapping;
    for (auto [input, view, argument] : llvm::zip(
             op.getInputs(), op.getViews().getAsRange<ViewAttr>(), op.getBody().getArguments()))
      mapping.map(argument, read(input, view, op.getSizes()));
    Value all = elements(op.getBody().front(), mapping, op.getSizes())[0];
    return finish(op, {reduce(all, op.getInit(), op.getCombiner(), op.getReduced())});
  }

  LogicalResult run(RowOp op) {
    Sizes full(op.getSizes());
    full.push_back(op.getLength());
    Sizes pieces(op.getSizes());
    if (std::optional<uint64_t> piece = op.getPiece())
      pieces.append({int64_t(op.getLength() / *piece), int64_t(*piece)});
    auto readRow = [&](Value input, ViewAttr view) {
      return op.getPiece() ? reshape(read(input, view, pieces), full) : read(input, view, full);
    };
    IRMapping mapping;
    for (auto [input, view, argument] : llvm::zip(
             op.getInputs(), op.getViews().getAsRange<ViewAttr>(), op.getBody().getArguments()))
      mapping.map(argument, isRow(argument) ? readRow(input, view) : read(input, view, op.getSizes()));
    Block &body = op.getBody().front();
    for (Operation &inner : body.without_terminator())
      expandInRow(inner, mapping, op.getSizes(), full);
    SmallVector<Value> values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(mapping.lookup(value));
    return finish(op, values);
  }

  LogicalResult run(ProductOp op) {
    auto views = llvm::to_vector(op.getViews().getAsRange<ViewAttr>());
    Sizes left(op.getBatch()), right(op.getBatch()), result(op.getBatch());
    left.append({int64_t(op.getRows()), int64_t(op.getDepth())});
    right.append({int64_t(op.getDepth()), int64_t(op.getColumns())});
    result.append({int64_t(op.getRows()), int64_t(op.getColumns())});
    Type element = cast<RankedTensorType>(op.getBody().getArgument(0).getType()).getElementType();
    Value product = multiply(numbers(read(op.getLhs(), views[0], left), op.getZeros(), 0),
                             numbers(read(op.getRhs(), views[1], right), op.getZeros(), 1), element);
    Sizes flat = {this->product(ArrayRef(result).drop_back()), result.back()};
    IRMapping mapping;
    mapping.map(op.getBody().getArgument(0), reshape(product, flat));
    for (auto [i, extra] : llvm::enumerate(op.getExtras()))
      mapping.map(op.getBody().getArgument(i + 1), read(extra, views[i + 2], flat));
    return finish(op, elements(op.getBody().front(), mapping, flat));
  }

  LogicalResult run(AttentionOp op) {
    auto views = llvm::to_vector(op.getViews().getAsRange<ViewAttr>());
    auto rows = int64_t(op.getRows()), columns = int64_t(op.getColumns()),
         depth = int64_t(op.getDepth()), width = int64_t(op.getWidth());
    auto with = [&](std::initializer_list<int64_t> inner) {
      Sizes sizes(op.getBatch());
      sizes.append(inner);
      return sizes;
    };
    Type element = cast<RankedTensorType>(op.getQuery().getType()).getElementType();
    Value scores = multiply(read(op.getQuery(), views[0], with({rows, depth})),
                            read(op.getKey(), views[1], with({depth, columns})), element);
    Sizes full(op.getSizes());
    full.push_back(columns);
    Block &body = op.getBody().front();
    IRMapping mapping;
    mapping.map(body.getArgument(0), reshape(scores, full));
    for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
      Value argument = body.getArgument(i + 1);
      mapping.map(argument,
                  read(extra, views[i + 3], isRow(argument) ? ArrayRef(full) : op.getSizes()));
    }
    for (Operation &inner : body.without_terminator())
      expandInRow(inner, mapping, op.getSizes(), full);
    Value weights = mapping.lookup(body.getTerminator()->getOperand(0));
    Value result = multiply(reshape(weights, with({rows, columns})),
                            read(op.getValue(), views[2], with({columns, width})), element);
    SmallVector<int64_t> order = op.placedOrder();
    order.push_back(int64_t(order.size()));
    Sizes placed;
    for (int64_t d : order)
      placed.push_back(cast<RankedTensorType>(result.getType()).getDimSize(d));
    return finish(op, {builder.create<stablehlo::TransposeOp>(
                          location, RankedTensorType::get(placed, element), result,
                          builder.getDenseI64ArrayAttr(order))});
  }

  LogicalResult run(ConvolutionOp op) {
    MLIRContext *context = builder.getContext();
    Sizes result = op.resultSizes();
    Type element = cast<RankedTensorType>(op.getBody().getArgument(0).getType()).getElementType();
    auto spatial = int64_t(op.getWindow().size()), inmost = spatial + 1;
    auto inside = llvm::to_vector(llvm::seq<int64_t>(1, inmost)),
         window = llvm::to_vector(llvm::seq<int64_t>(0, spatial));
    auto numbers = stablehlo::ConvDimensionNumbersAttr::get(context, 0, inmost, inside, spatial,
                                                            inmost, window, 0, inmost, inside);
    auto padding = DenseIntElementsAttr::get(
        RankedTensorType::get({spatial, 2}, builder.getI64Type()), op.getPadding());
    OperationState state(location, stablehlo::ConvolutionOp::getOperationName());
    int64_t channels = cast<RankedTensorType>(op.getImage().getType()).getDimSize(inmost),
            filters = result.back();
    Sizes kernelSizes(op.getWindow());
    kernelSizes.append({channels / int64_t(op.getGroups()), filters});
    Value kernel = read(op.getKernel(), cast<ViewAttr>(op.getViews()[0]), kernelSizes);
    Value image = op.getImage();
    if (op.getRounded())
      for (Value *side : {&image, &kernel})
        for (Type rounding : {Type(builder.getBF16Type()), Type(builder.getF32Type())})
          if (auto given = cast<RankedTensorType>(side->getType()); given.getElementType() != rounding)
            *side = builder.create<stablehlo::ConvertOp>(location, given.clone(rounding), *side);
    state.addOperands({this->numbers(image, op.getZeros(), 0), this->numbers(kernel, op.getZeros(), 1)});
    state.addTypes(RankedTensorType::get(result, element));
    state.addAttribute("window_strides", op.getStridesAttr());
    state.addAttribute("padding", padding);
    if (op.getSpread())
      state.addAttribute("lhs_dilation", op.getSpreadAttr());
    state.addAttribute("rhs_dilation", op.getDilationsAttr());
    state.addAttribute("dimension_numbers", numbers);
    state.addAttribute("feature_group_count", op.getGroupsAttr());
    state.addAttribute("batch_group_count", builder.getI64IntegerAttr(1));
    Value computed = builder.create(state)->getResult(0);
    Sizes sizes = {ShapedType::getNumElements(ArrayRef(result).drop_back()), filters};
    IRMapping mapping;
    mapping.map(op.getBody().getArgument(0), reshape(computed, sizes));
    for (auto [i, extra] : llvm::enumerate(op.getExtras()))
      mapping.map(op.getBody().getArgument(i + 1),
                  read(extra, cast<ViewAttr>(op.getViews()[i + 1]), sizes));
    SmallVector<Value> made = elements(op.getBody().front(), mapping, sizes);
    if (op.getTurned()) {
      Sizes order = {0, inmost};
      llvm::append_range(order, inside);
      made[0] = builder.create<stablehlo::TransposeOp>(location, op.getResult().getType(), reshape(made[0], result),
                                                       builder.getDenseI64ArrayAttr(order));
    }
    return finish(op, made);
  }

  LogicalResult run(CorrelationOp op) {
    // Images are what is summed over: the features of a convolution.
    auto numbers = stablehlo::ConvDimensionNumbersAttr::get(builder.getContext(), 3, 0, {1, 2}, 0, 3, {1, 2}, 2,
                                                            3, {0, 1});
    OperationState state(location, stablehlo::ConvolutionOp::getOperationName());
    state.addOperands({op.getImage(), op.getWindow()});
    state.addTypes(op.getResult().getType());
    state.addAttribute("window_strides", op.getStridesAttr());
    state.addAttribute("padding", DenseIntElementsAttr::get(
                                      RankedTensorType::get({2, 2}, builder.getI64Type()), op.getPadding()));
    state.addAttribute("rhs_dilation", op.getDilationsAttr());
    state.addAttribute("dimension_numbers", numbers);
    state.addAttribute("feature_group_count", builder.getI64IntegerAttr(1));
    state.addAttribute("batch_group_count", builder.getI64IntegerAttr(1));
    return finish(op, {builder.create(state)->getResult(0)});
  }

  LogicalResult run(PoolOp op) {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Type element = type.getElementType();
    bool isMax = op.getCombiner() == "maximum";
    TypedAttr init;
    if (auto integer = dyn_cast<IntegerType>(element)) // Whose least is what padding is.
      init = builder.getIntegerAttr(integer, integer.isUnsigned() ? APInt::getZero(integer.getWidth())
                                                                  : APInt::getSignedMinValue(integer.getWidth()));
    else
      init = builder.getFloatAttr(element, isMax ? APFloat::getInf(cast<FloatType>(element).getFloatSemantics(), true)
                                                 : APFloat::getZero(cast<FloatType>(element).getFloatSemantics()));
    SmallVector<int64_t> padding = {0, 0};
    llvm::append_range(padding, op.getPadding());
    padding.append({0, 0});
    OperationState state(location, stablehlo::ReduceWindowOp::getOperationName());
    state.addOperands({op.getImage(), scalar(init)});
    state.addTypes(type);
    auto aside = [&](ArrayRef<int64_t> two) {
      return builder.getDenseI64ArrayAttr({1, two[0], two[1], 1});
    };
    state.addAttribute("window_dimensions", aside(op.getWindow()));
    state.addAttribute("window_strides", aside(op.getStrides()));
    state.addAttribute("padding", DenseIntElementsAttr::get(
                                      RankedTensorType::get({4, 2}, builder.getI64Type()), padding));
    combine(*state.addRegion(), op.getCombiner(), element);
    return finish(op, {builder.create(state)->getResult(0)});
  }

private:
  /// Products of the matrices in the last two dimensions.
  /// The numbers that integers of 8 bits stand for, in the 32 of their sums; others are what they are.
  Value numbers(Value side, std::optional<ArrayRef<int64_t>> zeros, size_t which) {
    auto type = cast<RankedTensorType>(side.getType());
    if (!type.getElementType().isInteger(8))
      return side;
    auto wide = RankedTensorType::get(type.getShape(), builder.getI32Type());
    Value made = builder.create<stablehlo::ConvertOp>(location, wide, side);
    if (!zeros)
      return made;
    auto zero = DenseElementsAttr::get(wide, builder.getI32IntegerAttr(int32_t((*zeros)[which])));
    return builder.create<stablehlo::SubtractOp>(location, made, builder.create<stablehlo::ConstantOp>(location, wide, zero));
  }

  Value multiply(Value left, Value right, Type element) {
    auto leftType = cast<RankedTensorType>(left.getType()),
         rightType = cast<RankedTensorType>(right.getType());
    int64_t rank = leftType.getRank() - 2;
    Sizes batch, result(leftType.getShape().drop_back());
    for (int64_t i = 0; i < rank; ++i)
      batch.push_back(i);
    result.push_back(rightType.getShape().back());
    auto numbers = stablehlo::DotDimensionNumbersAttr::get(builder.getContext(), batch, batch,
                                                           {rank + 1}, {rank});
    return builder.create<stablehlo::DotGeneralOp>(location, RankedTensorType::get(result, element),
                                                   left, right, numbers, ArrayAttr(),
                                                   stablehlo::DotAlgorithmAttr());
  }

  static bool isRow(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 1; }

  LogicalResult finish(Operation *op, ArrayRef<Value> values) {
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
      result.replaceAllUsesWith(
          reshape(value, cast<RankedTensorType>(result.getType()).getShape()));
    op->erase();
    return success();
  }

  Value reshape(Value value, ArrayRef<int64_t> sizes) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == sizes)
      return value;
    return builder.create<stablehlo::ReshapeOp>(
        location, RankedTensorType::get(sizes, type.getElementType()), value);
  }

  Value scalar(TypedAttr number) { return splat(number, {}); }

  Value splat(TypedAttr number, ArrayRef<int64_t> sizes) {
    auto type = RankedTensorType::get(sizes, number.getType());
    return builder.create<stablehlo::ConstantOp>(
        location, type, DenseElementsAttr::get(type, ArrayRef<Attribute>{number}));
  }

  Value read(Value operand, ViewAttr view, ArrayRef<int64_t> sizes) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (view.isIdentity(sizes) && type.getNumElements() == product(sizes))
      return reshape(operand, sizes);
    auto indexType = RankedTensorType::get(sizes, builder.getI64Type());
    auto number = [&](int64_t value) { return splat(builder.getI64IntegerAttr(value), sizes); };
    Value index = number(view.getOffset()), isValid;
    auto iota = [&](size_t i) -> Value {
      return builder.create<stablehlo::IotaOp>(location, indexType, uint64_t(i));
    };
    for (size_t i = 0; i < sizes.size(); ++i)
      if (view.getStrides()[i] != 0) {
        Value step = builder.create<stablehlo::MultiplyOp>(location, indexType, iota(i),
                                                           number(view.getStrides()[i]));
        index = builder.create<stablehlo::AddOp>(location, indexType, index, step);
      }
    auto holds = [&](stablehlo::ComparisonDirection direction, Value left, int64_t right) {
      auto types = RankedTensorType::get(sizes, builder.getI1Type());
      Value one = builder.create<stablehlo::CompareOp>(
          location, types, left, number(right), direction, stablehlo::ComparisonTypeAttr());
      isValid = isValid ? Value(builder.create<stablehlo::AndOp>(location, types, isValid, one)) : one;
    };
    ArrayRef<int64_t> valid = view.getValid();
    for (size_t i = 0; i < sizes.size() && !valid.empty(); ++i) {
      if (valid[2 * i] > 0)
        holds(stablehlo::ComparisonDirection::GE, iota(i), valid[2 * i]);
      if (valid[2 * i + 1] < sizes[i])
        holds(stablehlo::ComparisonDirection::LT, iota(i), valid[2 * i + 1]);
    }
    auto resultType = RankedTensorType::get(sizes, type.getElementType());
    if (type.getNumElements() == 0)
      return view.getPadding() ? splat(view.getPadding(), sizes)
                               : builder.create<stablehlo::ReshapeOp>(location, resultType, operand);
    Value flat = reshape(operand, {type.getNumElements()});
    auto numbers = stablehlo::GatherDimensionNumbersAttr::get(builder.getContext(), {}, {0}, {}, {},
                                                              {0}, int64_t(sizes.size()));
    Value read = builder.create<stablehlo::GatherOp>(location, resultType, flat, index, numbers,
                                                     ArrayRef<int64_t>{1}, false);
    if (isValid)
      read = builder.create<stablehlo::SelectOp>(location, resultType, isValid, read,
                                                 splat(view.getPadding(), sizes));
    return read;
  }

  static int64_t product(ArrayRef<int64_t> sizes) {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return count;
  }

  void cloneTo(Operation &op, IRMapping &mapping, ArrayRef<int64_t> sizes) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    auto wide = RankedTensorType::get(sizes, type.getElementType());
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto values = cast<DenseElementsAttr>(constant.getValue());
      if (values.isSplat()) {
        mapping.map(op.getResult(0), builder.create<stablehlo::ConstantOp>(
                                         location, wide, values.resizeSplat(wide)));
        return;
      }
      // A row of numbers, the same for all rows.
      Value row = builder.create<stablehlo::ConstantOp>(location, type, values);
      mapping.map(op.getResult(0),
                  builder.create<stablehlo::BroadcastInDimOp>(
                      location, wide, row, ArrayRef<int64_t>{int64_t(sizes.size()) - 1}));
      return;
    }
    Operation *copy = builder.clone(op, mapping);
    copy->getResult(0).setType(wide);
  }

  SmallVector<Value> elements(Block &body, IRMapping &mapping, ArrayRef<int64_t> sizes) {
    for (Operation &op : body.without_terminator())
      cloneTo(op, mapping, sizes);
    SmallVector<Value> values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(mapping.lookup(value));
    return values;
  }

  void expandInRow(Operation &op, IRMapping &mapping, ArrayRef<int64_t> sizes,
                   ArrayRef<int64_t> full) {
    if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      auto type = cast<RankedTensorType>(op.getResult(0).getType());
      auto wide = RankedTensorType::get(isRow(op.getResult(0)) ? full : sizes,
                                        type.getElementType());
      Sizes dimensions;
      for (size_t i = 0; i < sizes.size(); ++i)
        dimensions.push_back(i);
      mapping.map(op.getResult(0),
                  builder.create<stablehlo::BroadcastInDimOp>(
                      location, wide, mapping.lookup(broadcast.getOperand()), dimensions));
      return;
    }
    if (auto fold = dyn_cast<stablehlo::ReduceOp>(op)) {
      StringRef name = simpleCombiner(fold.getBody())->getName().stripDialect();
      auto constant = fold.getInitValues()[0].getDefiningOp<stablehlo::ConstantOp>();
      auto number = cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>();
      mapping.map(op.getResult(0), reduce(mapping.lookup(fold.getInputs()[0]),
                                          cast<TypedAttr>(number), name, {int64_t(sizes.size())}));
      return;
    }
    cloneTo(op, mapping, isRow(op.getResult(0)) ? full : sizes);
  }

  /// A region that applies the combiner to its two arguments.
  void combine(Region &region, StringRef combiner, Type element) {
    OpBuilder::InsertionGuard guard(builder);
    auto type = RankedTensorType::get({}, element);
    Block *block = builder.createBlock(&region, {}, {type, type}, {location, location});
    OperationState state(location, ("stablehlo." + combiner).str());
    state.addOperands(block->getArguments());
    state.addTypes(type);
    Operation *made = builder.create(state);
    builder.create<stablehlo::ReturnOp>(location, made->getResults());
  }

  Value reduce(Value input, TypedAttr init, StringRef combiner, ArrayRef<int64_t> dimensions) {
    auto type = cast<RankedTensorType>(input.getType());
    Sizes kept;
    for (auto [i, size] : llvm::enumerate(type.getShape()))
      if (!llvm::is_contained(dimensions, int64_t(i)))
        kept.push_back(size);
    OperationState state(location, stablehlo::ReduceOp::getOperationName());
    state.addOperands({input, scalar(init)});
    state.addTypes(RankedTensorType::get(kept, type.getElementType()));
    state.addAttribute("dimensions", builder.getDenseI64ArrayAttr(dimensions));
    combine(*state.addRegion(), combiner, type.getElementType());
    return builder.create(state)->getResult(0);
  }

  OpBuilder builder;
  Location location;
};

} // namespace

/// What it holds, in its place.
static LogicalResult expandOnReference(OnReferenceOp op) {
  OpBuilder builder(op);
  IRMapping mapping;
  Block &body = op.getBody().front();
  mapping.map(body.getArguments(), op.getInputs());
  for (Operation &inner : body.without_terminator())
    builder.clone(inner, mapping);
  op->replaceAllUsesWith(llvm::map_to_vector(
      body.getTerminator()->getOperands(), [&](Value value) { return mapping.lookupOrDefault(value); }));
  op.erase();
  return success();
}

Value asOtherElements(OpBuilder &builder, Location location, RankedTensorType type, Value value) {
  auto from = cast<RankedTensorType>(value.getType());
  auto reshaped = [&](Value one, ArrayRef<int64_t> sizes) -> Value {
    return builder.create<stablehlo::ReshapeOp>(location, RankedTensorType::get(sizes, cast<RankedTensorType>(one.getType()).getElementType()), one);
  };
  if (from.getElementType() == type.getElementType())
    return reshaped(value, type.getShape());
  if (isa<ComplexType>(from.getElementType())) {
    Type element = cast<ComplexType>(from.getElementType()).getElementType();
    if (element != type.getElementType()) { // By way of the parts.
      SmallVector<int64_t> pairs = {from.getNumElements(), 2};
      return asOtherElements(builder, location, type, asOtherElements(builder, location, RankedTensorType::get(pairs, element), value));
    }
    auto column = RankedTensorType::get({from.getNumElements(), 1}, type.getElementType());
    auto part = [&](Value one) -> Value { return builder.create<stablehlo::ReshapeOp>(location, column, one); };
    auto partType = from.clone(type.getElementType());
    Value pairs[] = {part(builder.create<stablehlo::RealOp>(location, partType, value)), part(builder.create<stablehlo::ImagOp>(location, partType, value))};
    return reshaped(builder.create<stablehlo::ConcatenateOp>(location, ValueRange(pairs), uint64_t{1}), type.getShape());
  }
  if (!isa<ComplexType>(type.getElementType())) {
    // Bits of elements of another width, the lower ones first.
    auto widthOf = [](RankedTensorType one) { return int64_t(one.getElementTypeBitWidth()); };
    SmallVector<int64_t> parted = {from.getNumElements()}, made = {type.getNumElements()};
    if (widthOf(from) < widthOf(type))
      parted = {type.getNumElements(), widthOf(type) / widthOf(from)};
    else if (widthOf(from) > widthOf(type))
      made = {from.getNumElements(), widthOf(from) / widthOf(type)};
    return reshaped(builder.create<stablehlo::BitcastConvertOp>(location, RankedTensorType::get(made, type.getElementType()), reshaped(value, parted)),
                    type.getShape());
  }
  Type real = cast<ComplexType>(type.getElementType()).getElementType();
  int64_t count = type.getNumElements(), step[] = {1, 1};
  if (from.getElementType() != real)
    return asOtherElements(builder, location, type, asOtherElements(builder, location, RankedTensorType::get({count, 2}, real), value));
  Value pairs = reshaped(value, {count, 2});
  auto part = [&](int64_t which) {
    int64_t from[] = {0, which}, to[] = {count, which + 1};
    return reshaped(builder.create<stablehlo::SliceOp>(location, pairs, ArrayRef(from), ArrayRef(to), ArrayRef(step)), type.getShape());
  };
  Value first = part(0), second = part(1);
  return builder.create<stablehlo::ComplexOp>(location, type, first, second);
}

static LogicalResult expandAs(AsOp op) {
  OpBuilder builder(op);
  op.getResult().replaceAllUsesWith(asOtherElements(builder, op.getLoc(), cast<RankedTensorType>(op.getResult().getType()), op.getOperand()));
  op.erase();
  return success();
}

LogicalResult expand(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<MapOp, RowOp, ReduceOp, ProductOp, AttentionOp, ConvolutionOp, CorrelationOp, PoolOp>(
          [](auto one) { return Expansion(one).run(one); })
      .Case<WhileOp, CaseOp>([](auto one) { return expandControlFlow(one); })
      .Case<OnReferenceOp>(expandOnReference)
      .Case<AsOp>(expandAs)
      .Default([](Operation *other) { return other->emitOpError("has no expansion"); });
}

LogicalResult expandTensorIr(ModuleOp module) {
  SmallVector<Operation *> all;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<TirDialect>(op->getDialect()) && !isa<YieldOp>(op))
      all.push_back(op);
  });
  for (Operation *op : all)
    if (failed(expand(op)))
      return failure();
  return success();
}

} // namespace cupel::tir
