// Convolutions (of lines and volumes as well, and transposed ones; of halves in f32) and pools of
// images are brought to channels inmost, between transposes that `sink-transposes` moves out of the
// way. Kernels are read as they lie. Gradients of kernels, whose window is most of the image,
// become correlations.

#include "cupel/compiler/passes/NarrowProducts.h"
#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/IntegerSides.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/Windows.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FORMCONVOLUTIONS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

bool isHalf(Value value) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  return type.isBF16() || type.isF16();
}

bool hasImageShape(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() >= 3 && type.getRank() <= 5 && type.hasStaticShape() &&
         !type.getEncoding() && type.getNumElements() > 0;
}

bool isImage(Value value) {
  return hasImageShape(value) && cast<RankedTensorType>(value.getType()).getElementType().isF32();
}

Value transposed(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> order) {
  if (llvm::is_sorted(order))
    return value;
  return builder.create<stablehlo::TransposeOp>(location, value, order);
}

/// Back to the layout of the program.
Value restored(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> order) {
  Value back = transposed(builder, location, value, order);
  if (back != value)
    back.getDefiningOp()->setAttr(kLayoutAttr, builder.getUnitAttr());
  return back;
}

RankedTensorType permuted(Value value, ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(value.getType());
  Dims shape;
  for (int64_t d : order)
    shape.push_back(type.getDimSize(d));
  return RankedTensorType::get(shape, type.getElementType());
}

/// A line is an image of one row: brought from batch x width x channels to that, or back.
Value reshaped(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return builder.create<stablehlo::ReshapeOp>(
      location, RankedTensorType::get(shape, type.getElementType()), value);
}

/// With what a dimension of height adds in front where there is none.
Dims asImage(ArrayRef<int64_t> sizes, bool isLine, ArrayRef<int64_t> height) {
  Dims all(sizes);
  if (isLine)
    all.insert(all.begin(), height.begin(), height.end());
  return all;
}

/// The kernel as it is read: over the window, channels of a group and filters.
std::pair<Value, ViewAttr> readKernel(OpBuilder &builder, stablehlo::ConvolutionOp op, Value kernel, bool isLine) {
  auto numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> spatial = numbers.getKernelSpatialDimensions();
  if (std::optional<ArrayRef<bool>> reversal = op.getWindowReversal()) {
    Dims turned;
    for (auto [i, isTurned] : llvm::enumerate(*reversal))
      if (isTurned)
        turned.push_back(spatial[i]);
    if (!turned.empty())
      kernel = builder.create<stablehlo::ReverseOp>(op.getLoc(), kernel, turned);
  }
  Dims order(spatial);
  order.push_back(numbers.getKernelInputFeatureDimension());
  order.push_back(numbers.getKernelOutputFeatureDimension());
  auto shape = cast<RankedTensorType>(kernel.getType()).getShape();
  Dims all = rowMajorStrides(shape), strides, sizes;
  for (int64_t d : order) {
    strides.push_back(all[d]);
    sizes.push_back(shape[d]);
  }
  sizes = asImage(sizes, isLine, {1});
  strides = asImage(strides, isLine, {0});
  // Dimensions that stay as many as they are.
  SmallVector<int> kept = llvm::to_vector(llvm::seq<int>(0, int(sizes.size())));
  LoopNest nest(sizes, kept);
  nest.add(kernel, strides);
  if (nest.collapse() && nest.sizes().size() == kept.size() && nest.readings()[0].valid.empty())
    return {nest.readings()[0].value, nest.view(0)};
  return {kernel, ViewAttr::get(op.getContext(), 0, strides, {}, {})};
}

Value converted(OpBuilder &builder, Location location, Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return builder.create<stablehlo::ConvertOp>(
      location, RankedTensorType::get(type.getShape(), element), value);
}

/// A convolution of halves is computed in f32 and rounded once. Its f32 form, or the operation itself.
stablehlo::ConvolutionOp widened(stablehlo::ConvolutionOp op) {
  auto isKnown = [](Value value) {
    return isHalf(value) || cast<RankedTensorType>(value.getType()).getElementType().isF32();
  };
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (!isHalf(op.getLhs()) || !isKnown(op.getRhs()) || !isKnown(op.getResult()) ||
      op.getBatchGroupCount() != 1 || type.getRank() < 3 || type.getRank() > 5 ||
      type.getNumElements() == 0 || !compiler::mayRewrite(op, "widen-convolution"))
    return op;
  OpBuilder builder(op);
  Type wide = builder.getF32Type();
  auto made = cast<stablehlo::ConvolutionOp>(builder.clone(*op));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(made);
  made->setOperand(0, converted(builder, op.getLoc(), op.getLhs(), wide));
  made->setOperand(1, converted(builder, op.getLoc(), op.getRhs(), wide));
  made.getResult().setType(RankedTensorType::get(type.getShape(), wide));
  builder.setInsertionPointAfter(made);
  op.getResult().replaceAllUsesWith(
      converted(builder, op.getLoc(), made.getResult(), type.getElementType()));
  op.erase();
  return made;
}

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// What a conversion from one type to another was made of, or null.
Value convertedFrom(Value value, bool fromBf16) {
  auto conversion = value.getDefiningOp<stablehlo::ConvertOp>();
  bool isThat = conversion && (fromBf16 ? elementOf(conversion.getOperand()).isBF16() && elementOf(value).isF32()
                                        : elementOf(conversion.getOperand()).isF32() && elementOf(value).isBF16());
  return isThat ? conversion.getOperand() : Value();
}

/// Whether both sides are numbers of bf16 and the kernels for these take the shape: small groups only where a vector may hold whole ones.
bool multipliesBf16(stablehlo::ConvolutionOp op, Value kernel) {
  if (!op->hasAttr(compiler::kNarrowedAttr) &&
      (!convertedFrom(op.getLhs(), true) || !convertedFrom(kernel, true) || compiler::asksForMore(op)))
    return false;
  constexpr int64_t kSmallGroup = 16;
  auto numbers = op.getDimensionNumbers();
  int64_t channels = cast<RankedTensorType>(op.getLhs().getType()).getDimSize(numbers.getInputFeatureDimension());
  auto groups = int64_t(op.getFeatureGroupCount());
  bool isDepthwise = groups == channels;
  int64_t filters = cast<RankedTensorType>(op.getType()).getDimSize(numbers.getOutputFeatureDimension());
  bool fillsVectors = filters == channels && llvm::isPowerOf2_64(static_cast<uint64_t>(channels / groups));
  return (groups == 1 || isDepthwise || channels / groups > kSmallGroup || fillsVectors) && compiler::mayRewrite(op, "round-in-convolution");
}

/// The image of such a convolution: in bf16 if that is what there is, or what its maker can as well give; in f32,
/// which the convolution rounds, if that is there anyway.
Value imageBefore(Value value) {
  Value narrow = convertedFrom(value, true);
  Value wide = narrow ? convertedFrom(narrow, false) : Value();
  bool isThere = wide && (isa<BlockArgument>(wide) || llvm::any_of(wide.getUsers(), [](Operation *user) {
                            return user->getNumResults() != 1 || !convertedFrom(user->getResult(0), false);
                          }));
  return isThere ? wide : narrow ? narrow : value;
}

/// The kernel of such a convolution, before it was rounded, or widened: it is packed once.
Value kernelBefore(Value value) {
  Value narrow = convertedFrom(value, true);
  Value wide = narrow ? convertedFrom(narrow, false) : Value();
  return wide ? wide : narrow ? narrow : value;
}

/// With what is done to the elements of an argument done behind its transpose, so that one loop does both.
Value transposedImage(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> order) {
  auto conversion = value.getDefiningOp<stablehlo::ConvertOp>();
  Value origin = value;
  while (auto one = origin.getDefiningOp<stablehlo::ConvertOp>())
    origin = one.getOperand();
  if (!conversion || !isa<BlockArgument>(origin) || llvm::is_sorted(order))
    return transposed(builder, location, value, order);
  Value before = transposedImage(builder, location, conversion.getOperand(), order);
  return converted(builder, conversion.getLoc(), before, elementOf(value));
}

Dims orderOf(std::initializer_list<ArrayRef<int64_t>> parts) {
  Dims all;
  for (ArrayRef<int64_t> part : parts)
    llvm::append_range(all, part);
  return all;
}

void formCorrelation(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  size_t rank = numbers.getInputSpatialDimensions().size();
  bool isLine = rank == 1;
  OpBuilder builder(op);
  auto brought = [&](Value value, ArrayRef<int64_t> order) {
    Value made = transposed(builder, op.getLoc(), value, order);
    Dims shape(cast<RankedTensorType>(made.getType()).getShape());
    if (isLine)
      shape.insert(shape.begin() + 1, 1);
    return reshaped(builder, op.getLoc(), made, shape);
  };
  Value image = brought(op.getLhs(), orderOf({numbers.getInputFeatureDimension(), numbers.getInputSpatialDimensions(),
                                              numbers.getInputBatchDimension()}));
  Value window = brought(op.getRhs(), orderOf({numbers.getKernelInputFeatureDimension(),
                                               numbers.getKernelSpatialDimensions(),
                                               numbers.getKernelOutputFeatureDimension()}));
  Dims out = orderOf({numbers.getOutputSpatialDimensions(), numbers.getOutputBatchDimension(),
                      numbers.getOutputFeatureDimension()});
  RankedTensorType type = permuted(op.getResult(), out);
  auto sized = [&](ArrayRef<int64_t> sizes) { return asImage(sizes, isLine, {1}); };
  Value made = builder.create<CorrelationOp>(
      op.getLoc(), RankedTensorType::get(sized(type.getShape()), builder.getF32Type()), image, window,
      sized(orOnes(op.getWindowStrides(), rank)), asImage(paddingOf(op.getPadding(), rank), isLine, {0, 0}),
      sized(orOnes(op.getRhsDilation(), rank)));
  made = reshaped(builder, op.getLoc(), made, type.getShape());
  op.getResult().replaceAllUsesWith(restored(builder, op.getLoc(), made, inverse(out)));
  op.erase();
}

/// Of images of integers of 8 bits, whose pixels lie side by side.
std::optional<std::array<IntegerSide, 2>> sidesOfBytes(OpBuilder &builder, stablehlo::ConvolutionOp op) {
  int64_t rank = cast<RankedTensorType>(op.getResult().getType()).getRank();
  if (rank < 3 || rank > 5 || !areOnes(op.getLhsDilation()))
    return std::nullopt;
  return integerSides(builder, op);
}

/// Zeros that lie around an image, as "same" and causal convolutions are written, are the convolution's own padding.
void takePadding(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  while (auto pad = op.getLhs().getDefiningOp<stablehlo::PadOp>()) {
    auto number = dyn_cast_or_null<FloatAttr>(splatOf(pad.getPaddingValue()));
    if (!number || !number.getValue().isPosZero() || !areOnes(op.getLhsDilation()))
      return;
    ArrayRef<int64_t> spatial = numbers.getInputSpatialDimensions();
    for (auto [d, low, high, interior] :
         llvm::enumerate(pad.getEdgePaddingLow(), pad.getEdgePaddingHigh(), pad.getInteriorPadding()))
      if (low < 0 || high < 0 || interior != 0 || ((low > 0 || high > 0) && !llvm::is_contained(spatial, int64_t(d))))
        return;
    if (!compiler::mayRewrite(op, "pad-into-convolution"))
      return;
    Dims padding = paddingOf(op.getPadding(), spatial.size());
    for (auto [i, d] : llvm::enumerate(spatial)) {
      padding[2 * i] += pad.getEdgePaddingLow()[size_t(d)];
      padding[2 * i + 1] += pad.getEdgePaddingHigh()[size_t(d)];
    }
    Builder builder(op.getContext());
    op.setPaddingAttr(DenseIntElementsAttr::get(RankedTensorType::get({int64_t(spatial.size()), 2}, builder.getI64Type()), ArrayRef<int64_t>(padding)));
    op.getLhsMutable().assign(pad.getOperand());
  }
}

void form(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  if (op.getBatchGroupCount() != 1)
    return;
  OpBuilder builder(op);
  std::optional<std::array<IntegerSide, 2>> bytes = sidesOfBytes(builder, op);
  if (!bytes && (!isImage(op.getLhs()) || !isImage(op.getRhs()) || !isImage(op.getResult())))
    return;
  if (!bytes && cast<RankedTensorType>(op.getType()).getRank() < 5 && isCorrelation(op) &&
      compiler::mayRewrite(op, "correlation"))
    return formCorrelation(op);
  if (!compiler::mayRewrite(op, "convolution"))
    return;
  size_t rank = numbers.getInputSpatialDimensions().size();
  bool isLine = rank == 1;
  auto order = [](int64_t batch, ArrayRef<int64_t> spatial, int64_t feature) {
    Dims all = {batch};
    llvm::append_range(all, spatial);
    all.push_back(feature);
    return all;
  };
  Dims in = order(numbers.getInputBatchDimension(), numbers.getInputSpatialDimensions(),
                  numbers.getInputFeatureDimension()),
       out = order(numbers.getOutputBatchDimension(), numbers.getOutputSpatialDimensions(),
                   numbers.getOutputFeatureDimension());
  auto [kernel, view] = readKernel(builder, op, bytes ? (*bytes)[1].value : op.getRhs(), isLine);
  bool isOfBf16 = !bytes && multipliesBf16(op, kernel);
  if (isOfBf16)
    kernel = kernelBefore(kernel);
  Value given = bytes ? (*bytes)[0].value : isOfBf16 ? imageBefore(op.getLhs()) : op.getLhs();
  Value image = transposedImage(builder, op.getLoc(), given, in);
  Type sum = bytes ? Type(builder.getI32Type()) : Type(builder.getF32Type());
  auto imageType = cast<RankedTensorType>(image.getType()),
       resultType = permuted(op.getResult(), out);
  auto withHeight = [&](ArrayRef<int64_t> shape) {
    Dims all(shape);
    if (isLine)
      all.insert(all.begin() + 1, 1);
    return all;
  };
  image = reshaped(builder, op.getLoc(), image, withHeight(imageType.getShape()));
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  Dims window;
  for (int64_t d : numbers.getKernelSpatialDimensions())
    window.push_back(rhs.getDimSize(d));
  auto sized = [&](ArrayRef<int64_t> sizes) {
    return builder.getDenseI64ArrayAttr(asImage(sizes, isLine, {1}));
  };
  auto convolution = builder.create<ConvolutionOp>(
      op.getLoc(), RankedTensorType::get(withHeight(resultType.getShape()), sum),
      image, kernel, ValueRange{}, sized(window), sized(orOnes(op.getWindowStrides(), rank)),
      builder.getDenseI64ArrayAttr(asImage(paddingOf(op.getPadding(), rank), isLine, {0, 0})),
      sized(orOnes(op.getRhsDilation(), rank)),
      areOnes(op.getLhsDilation()) ? DenseI64ArrayAttr() : sized(*op.getLhsDilation()),
      builder.getI64IntegerAttr(int64_t(op.getFeatureGroupCount())),
      isOfBf16 ? builder.getUnitAttr() : UnitAttr(), bytes ? zerosOf(builder, *bytes) : DenseI64ArrayAttr(), UnitAttr(),
      builder.getArrayAttr({view}));
  if (isOfBf16 && op->hasAttr(compiler::kNarrowedAttr)) // Kernels want to know who asked for bf16.
    convolution->setAttr(compiler::kNarrowedAttr, builder.getUnitAttr());
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&convolution.getBody(), {},
                                      {RankedTensorType::get({}, sum)}, {op.getLoc()});
    builder.create<YieldOp>(op.getLoc(), body->getArguments());
  }
  Value result =
      reshaped(builder, op.getLoc(), convolution.getResult(), resultType.getShape());
  op.getResult().replaceAllUsesWith(restored(builder, op.getLoc(), result, inverse(out)));
  op.erase();
}

/// Cumulative sums of halves are added up in f32 and rounded once, as pools are.
void scanInFloats(stablehlo::ReduceWindowOp op) {
  if (op.getInputs().size() != 1 || !isHalf(op.getInputs()[0]) || !isHalf(op.getResult(0)) || !simpleCombiner(op.getBody()))
    return;
  auto first = dyn_cast_or_null<FloatAttr>(splatOf(op.getInitValues()[0]));
  if (!first || !compiler::mayRewrite(op, "scan-in-floats"))
    return;
  OpBuilder builder(op);
  Type wide = builder.getF32Type(), element = elementOf(op.getResult(0));
  Value input = converted(builder, op.getLoc(), op.getInputs()[0], wide);
  auto number = DenseElementsAttr::get(RankedTensorType::get({}, wide), builder.getFloatAttr(wide, first.getValueAsDouble()));
  Value init = builder.create<stablehlo::ConstantOp>(op.getLoc(), number);
  OperationState state(op.getLoc(), op->getName());
  state.addOperands({input, init});
  state.addTypes(cast<RankedTensorType>(op.getResult(0).getType()).clone(wide));
  state.addAttributes(op->getAttrs());
  Region *body = state.addRegion();
  body->takeBody(op.getBody());
  for (BlockArgument argument : body->getArguments())
    argument.setType(RankedTensorType::get({}, wide));
  for (Operation &inner : body->front().without_terminator())
    inner.getResult(0).setType(RankedTensorType::get({}, wide));
  Operation *scan = builder.create(state);
  op.getResult(0).replaceAllUsesWith(converted(builder, op.getLoc(), scan->getResult(0), element));
  op.erase();
}

void form(stablehlo::ReduceWindowOp op) {
  if (op.getInputs().size() != 1 || op.getWindowDimensions().size() != 4 ||
      !hasImageShape(op.getInputs()[0]) ||
      !(isImage(op.getInputs()[0]) || isHalf(op.getInputs()[0]) || elementOf(op.getInputs()[0]).isInteger(8)) ||
      !hasImageShape(op.getResult(0)) || elementOf(op.getInputs()[0]) != elementOf(op.getResult(0)) ||
      !areOnes(op.getBaseDilations()) || !areOnes(op.getWindowDilations()))
    return;
  Operation *combiner = simpleCombiner(op.getBody());
  TypedAttr first = splatOf(op.getInitValues()[0]);
  auto init = dyn_cast_or_null<FloatAttr>(first);
  auto least = dyn_cast_or_null<IntegerAttr>(first);
  bool isMax = isa_and_nonnull<stablehlo::MaximumOp>(combiner),
       isSum = isa_and_nonnull<stablehlo::AddOp>(combiner);
  bool isNeutral = init && ((isMax && init.getValue().isInfinity() && init.getValue().isNegative()) ||
                            (isSum && init.getValue().isPosZero()));
  if (least && isMax) {
    bool isUnsigned = elementOf(op.getInputs()[0]).isUnsignedInteger();
    isNeutral = isUnsigned ? least.getValue().isZero() : least.getValue().isMinSignedValue();
  }
  Dims window(op.getWindowDimensions()), strides = orOnes(op.getWindowStrides(), 4),
                                         padding = paddingOf(op.getPadding(), 4);
  Dims spatial, others;
  for (int64_t d = 0; d < 4; ++d) {
    bool isTrivial = window[d] == 1 && strides[d] == 1 && padding[2 * d] == 0 && padding[2 * d + 1] == 0;
    (isTrivial ? others : spatial).push_back(d);
  }
  if (spatial.size() == 1) { // The neighbour has windows of one.
    int64_t beside = spatial[0] == 3 ? 2 : spatial[0] + 1;
    llvm::erase(others, beside);
    spatial.push_back(beside);
    llvm::sort(spatial);
  }
  if (!isNeutral || spatial.size() != 2 || !compiler::mayRewrite(op, "pool"))
    return;
  Dims order = {others[0], spatial[0], spatial[1], others[1]};
  auto pair = [&](ArrayRef<int64_t> all) { return Dims{all[spatial[0]], all[spatial[1]]}; };
  OpBuilder builder(op);
  // Windows of halves are combined in f32 and rounded once; the greatest of bf16 is one of them.
  Type given = elementOf(op.getInputs()[0]);
  Type element = least || (isMax && given.isBF16()) ? given : Type(builder.getF32Type());
  Value wide = converted(builder, op.getLoc(), op.getInputs()[0], element);
  Value image = transposed(builder, op.getLoc(), wide, order);
  Value pool = builder.create<PoolOp>(
      op.getLoc(), permuted(op.getResult(0), order).clone(element), image, isMax ? "maximum" : "add", pair(window),
      pair(strides),
      Dims{padding[2 * spatial[0]], padding[2 * spatial[0] + 1], padding[2 * spatial[1]],
           padding[2 * spatial[1] + 1]});
  Value back = restored(builder, op.getLoc(), pool, inverse(order));
  op.getResult(0).replaceAllUsesWith(converted(builder, op.getLoc(), back, elementOf(op.getResult(0))));
  op.erase();
}

/// A window that is all of an image is a reduction: there is one place for it along each of its
/// dimensions. Halves stay windows, which are combined in f32.
bool reduceWhole(stablehlo::ReduceWindowOp op) {
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  Dims padding = paddingOf(op.getPadding(), size_t(type.getRank()));
  auto isHeld = [](Value input) { return isImage(input) || isa<IntegerType>(elementOf(input)); };
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      !llvm::all_of(op.getInputs(), isHeld) || !areOnes(op.getBaseDilations()) ||
      llvm::any_of(padding, [](int64_t size) { return size != 0; }))
    return false;
  Dims whole, left;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t window = op.getWindowDimensions()[d],
            result = cast<RankedTensorType>(op.getResult(0).getType()).getDimSize(d);
    if (window > 1 && window == type.getDimSize(d))
      whole.push_back(d);
    else if (window == 1 && result == type.getDimSize(d))
      left.push_back(result);
    else
      return false;
  }
  if (whole.empty() || !compiler::mayRewrite(op, "whole-window"))
    return false;
  OpBuilder builder(op);
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(RankedTensorType::get(left, elementOf(result)));
  auto reduce = builder.create<stablehlo::ReduceOp>(op.getLoc(), types, op.getInputs(),
                                                    op.getInitValues(), whole);
  reduce.getBody().takeBody(op.getBody());
  for (auto [window, reduced] : llvm::zip(op.getResults(), reduce.getResults()))
    window.replaceAllUsesWith(
        builder.create<stablehlo::ReshapeOp>(op.getLoc(), window.getType(), reduced));
  op.erase();
  return true;
}

/// Pools that stay as they are: images of f32 with columns inmost, between which and channels inmost two transposes would lie that nobody takes
/// away. The device has windows of such lines.
bool isPlanarAlone(stablehlo::ReduceWindowOp op) {
  if (op.getInputs().size() != 1 || !isImage(op.getInputs()[0]) || op.getWindowDimensions().size() != 4)
    return false;
  Dims window(op.getWindowDimensions()), padding = paddingOf(op.getPadding(), 4);
  // What the last windows do not reach may be cut off, nothing else.
  bool isCut = llvm::any_of(llvm::seq<size_t>(0, 8), [&](size_t i) { return padding[i] < 0 && i != 5 && i != 7; });
  return window[0] == 1 && window[1] == 1 && !isCut && !isNearConvolution(op);
}

class FormConvolutions : public impl::FormConvolutionsBase<FormConvolutions> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (Operation *op : operationsOf(function.getBody().front()))
        if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op))
          reduceWhole(window);
      // Before any of them changes.
      llvm::DenseSet<Operation *> planar;
      for (auto window : function.getBody().front().getOps<stablehlo::ReduceWindowOp>())
        if (isPlanarAlone(window))
          planar.insert(window);
      for (Operation *op : operationsOf(function.getBody().front())) {
        if (planar.contains(op))
          continue;
        if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op)) {
          takePadding(convolution);
          groupChannels(convolution);
          form(eachImageByItself(widened(convolution)));
        } else if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
          if (scannedLines(window)) // As long as lines: no pool, whose time grows with windows.
            scanInFloats(window);
          else
            form(window);
        }
      }
      eraseUnused(function.getBody().front());
    }
  }
};

} // namespace
} // namespace cupel::tir
