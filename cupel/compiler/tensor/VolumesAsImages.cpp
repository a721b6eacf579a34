// What has three spatial dimensions is brought to two where kernels have no more. Of a correlation
// each slice of the depth becomes an image whose channels are those of all slices under the window;
// windows of a pool are folded over height and width and then over the depth, which is exact for
// extremes and another order of sums. Pools of lines become pools of images of one row. Other
// convolutions stay volumes.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/Windows.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_VOLUMESASIMAGES
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool isVolume(Value value) {
  RankedTensorType type = typeOf(value);
  Type element = type.getElementType();
  return type.getRank() == 5 && type.hasStaticShape() && !type.getEncoding() && type.getNumElements() > 0 &&
         (element.isF32() || element.isBF16() || element.isF16());
}

Dims withOut(ArrayRef<int64_t> all, size_t front) { return Dims(all.drop_front(front)); }

/// Writes operations of one location.
class Writer {
public:
  explicit Writer(Operation *op) : builder(op), location(op->getLoc()) {}

  Value transpose(Value value, ArrayRef<int64_t> order) {
    return llvm::is_sorted(order) ? value : builder.create<stablehlo::TransposeOp>(location, value, order);
  }
  /// Back to the layout of the program, from where `sink-transposes` moves it out of the way.
  Value restore(Value value, ArrayRef<int64_t> order) {
    Value back = transpose(value, order);
    if (back != value)
      back.getDefiningOp()->setAttr(kLayoutAttr, builder.getUnitAttr());
    return back;
  }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    if (typeOf(value).getShape() == shape)
      return value;
    return builder.create<stablehlo::ReshapeOp>(location, RankedTensorType::get(shape, typeOf(value).getElementType()), value);
  }
  DenseIntElementsAttr pairs(ArrayRef<int64_t> padding) {
    return DenseIntElementsAttr::get(RankedTensorType::get({int64_t(padding.size() / 2), 2}, builder.getI64Type()), padding);
  }

  OpBuilder builder;
  Location location;
};

/// Slices of the depth that lie under each element of the kernel's, as channels: batch, depth, height, width, groups of channels.
Value slicesAsChannels(Writer &w, Value volume, stablehlo::ConvolutionOp op, int64_t kernelDepth, int64_t depth) {
  Dims padding = paddingOf(op.getPadding(), 3);
  int64_t interior = orOnes(op.getLhsDilation(), 3)[0] - 1, dilation = orOnes(op.getRhsDilation(), 3)[0],
          stride = orOnes(op.getWindowStrides(), 3)[0], groups = int64_t(op.getFeatureGroupCount());
  if (padding[0] != 0 || padding[1] != 0 || interior != 0) {
    Value zero = w.builder.create<stablehlo::ConstantOp>(
        w.location, DenseElementsAttr::get(RankedTensorType::get({}, typeOf(volume).getElementType()),
                                           w.builder.getZeroAttr(typeOf(volume).getElementType())));
    auto padded = [&](Value value, size_t at, int64_t low, int64_t high) -> Value {
      auto rank = size_t(typeOf(value).getRank());
      Dims lows(rank, 0), highs(rank, 0);
      lows[at] = low;
      highs[at] = high;
      return w.builder.create<stablehlo::PadOp>(w.location, value, zero, lows, highs, Dims(rank, 0));
    };
    if (interior != 0) { // Between slices, and behind the last, which goes again: padding at edges is a way of reading.
      ArrayRef<int64_t> shape = typeOf(volume).getShape();
      Value apart = padded(w.reshape(volume, {shape[0], shape[1], 1, shape[2], shape[3], shape[4]}), 2, 0, interior);
      volume = w.reshape(apart, {shape[0], shape[1] * (interior + 1), shape[2], shape[3], shape[4]});
    }
    volume = padded(volume, 1, padding[0], padding[1] - interior);
  }
  SmallVector<Value> slices;
  ArrayRef<int64_t> from = typeOf(volume).getShape();
  for (int64_t k = 0; k < kernelDepth; ++k) {
    Dims low(5, 0), high(from), steps(5, 1);
    low[1] = k * dilation;
    high[1] = low[1] + (depth - 1) * stride + 1;
    steps[1] = stride;
    slices.push_back(w.builder.create<stablehlo::SliceOp>(w.location, volume, low, high, steps));
  }
  Dims shape(typeOf(slices[0]).getShape());
  shape.back() = groups;
  shape.push_back(from.back() / groups);
  if (groups == 1 && slices.size() > 1) { // Slices themselves, which are read where they lie.
    shape.back() *= kernelDepth;
    return w.reshape(w.builder.create<stablehlo::ConcatenateOp>(w.location, slices, uint64_t(4)), shape);
  }
  for (Value &slice : slices)
    slice = w.reshape(slice, shape);
  return slices.size() == 1 ? slices[0] : w.builder.create<stablehlo::ConcatenateOp>(w.location, slices, uint64_t(5));
}

void rewrite(stablehlo::ConvolutionOp op) {
  if (!isVolume(op.getLhs()) || !isVolume(op.getRhs()) || !isVolume(op.getResult()) ||
      op.getBatchGroupCount() != 1 || !isCorrelation(op) ||
      !compiler::mayRewrite(op, "volume-as-images"))
    return;
  Writer w(op);
  auto numbers = op.getDimensionNumbers();
  auto order = [](int64_t batch, ArrayRef<int64_t> spatial, int64_t feature) {
    return Dims{batch, spatial[0], spatial[1], spatial[2], feature};
  };
  ArrayRef<int64_t> window = numbers.getKernelSpatialDimensions();
  Dims out = order(numbers.getOutputBatchDimension(), numbers.getOutputSpatialDimensions(), numbers.getOutputFeatureDimension());
  Dims sizes;
  for (int64_t d : out)
    sizes.push_back(typeOf(op.getResult()).getDimSize(d));
  int64_t kernelDepth = typeOf(op.getRhs()).getDimSize(window[0]);
  Value image = w.transpose(op.getLhs(), order(numbers.getInputBatchDimension(), numbers.getInputSpatialDimensions(),
                                               numbers.getInputFeatureDimension()));
  image = slicesAsChannels(w, image, op, kernelDepth, sizes[1]);
  ArrayRef<int64_t> shape = typeOf(image).getShape();
  image = w.reshape(image, {shape[0] * shape[1], shape[2], shape[3], shape[4] * shape[5]});
  Value kernel = op.getRhs();
  SmallVector<bool> turned(op.getWindowReversal().value_or(ArrayRef<bool>()));
  if (!turned.empty() && turned[0])
    kernel = w.builder.create<stablehlo::ReverseOp>(w.location, kernel, Dims{window[0]});
  kernel = w.transpose(kernel, {window[1], window[2], window[0], numbers.getKernelInputFeatureDimension(),
                                numbers.getKernelOutputFeatureDimension()});
  shape = typeOf(kernel).getShape();
  kernel = w.reshape(kernel, {shape[0], shape[1], shape[2] * shape[3], shape[4]});
  // All else it says stays.
  NamedAttrList attributes(op->getAttrDictionary());
  auto put = [&](StringRef name, std::optional<ArrayRef<int64_t>> values) {
    if (values)
      attributes.set(name, w.builder.getDenseI64ArrayAttr(withOut(*values, 1)));
  };
  put("window_strides", op.getWindowStrides());
  put("lhs_dilation", op.getLhsDilation());
  put("rhs_dilation", op.getRhsDilation());
  if (op.getPadding())
    attributes.set("padding", w.pairs(withOut(paddingOf(op.getPadding(), 3), 2)));
  if (!turned.empty())
    attributes.set("window_reversal", w.builder.getDenseBoolArrayAttr(ArrayRef(turned).drop_front()));
  attributes.set("dimension_numbers",
                 stablehlo::ConvDimensionNumbersAttr::get(op.getContext(), 0, 3, {1, 2}, 2, 3, {0, 1}, 0, 3, {1, 2}));
  OperationState state(w.location, op->getName(), {image, kernel},
                       {RankedTensorType::get({sizes[0] * sizes[1], sizes[2], sizes[3], sizes[4]},
                                              typeOf(op.getResult()).getElementType())},
                       attributes);
  Value result = w.reshape(w.builder.create(state)->getResult(0), sizes);
  op.getResult().replaceAllUsesWith(w.restore(result, inverse(out)));
  op.erase();
}

/// The same fold over other windows.
Value folded(Writer &w, stablehlo::ReduceWindowOp like, Value value, ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
             ArrayRef<int64_t> padding, ArrayRef<int64_t> shape) {
  NamedAttrList attributes(like->getAttrDictionary());
  attributes.set("window_dimensions", w.builder.getDenseI64ArrayAttr(window));
  attributes.set("window_strides", w.builder.getDenseI64ArrayAttr(strides));
  attributes.set("padding", w.pairs(padding));
  attributes.erase("base_dilations");
  attributes.erase("window_dilations");
  OperationState state(w.location, like->getName(), {value, like.getInitValues()[0]},
                       {RankedTensorType::get(shape, typeOf(value).getElementType())}, attributes);
  IRMapping mapping;
  like.getBody().cloneInto(state.addRegion(), mapping);
  return w.builder.create(state)->getResult(0);
}

/// Folds of which it does not matter how often the initial value takes part, nor in what order.
bool isPool(stablehlo::ReduceWindowOp op) {
  if (op.getInputs().size() != 1 || scannedLines(op) || !areOnes(op.getBaseDilations()) || !areOnes(op.getWindowDilations()) ||
      !typeOf(op.getInputs()[0]).getElementType().isF32() || typeOf(op.getResult(0)).getNumElements() == 0 ||
      typeOf(op.getInputs()[0]).getNumElements() == 0)
    return false;
  Operation *combiner = simpleCombiner(op.getBody());
  auto init = dyn_cast_or_null<FloatAttr>(splatOf(op.getInitValues()[0]));
  return init && ((isa_and_nonnull<stablehlo::MaximumOp>(combiner) && init.getValue().isInfinity() && init.getValue().isNegative()) ||
                  (isa_and_nonnull<stablehlo::AddOp>(combiner) && init.getValue().isPosZero()));
}

void rewrite(stablehlo::ReduceWindowOp op) {
  auto rank = size_t(typeOf(op.getInputs()[0]).getRank());
  if ((rank != 3 && rank != 5) || !isPool(op))
    return;
  Dims window(op.getWindowDimensions()), strides = orOnes(op.getWindowStrides(), rank), padding = paddingOf(op.getPadding(), rank);
  Dims spatial, others;
  for (size_t d = 0; d < rank; ++d) {
    bool isTrivial = window[d] == 1 && strides[d] == 1 && padding[2 * d] == 0 && padding[2 * d + 1] == 0;
    (isTrivial ? others : spatial).push_back(int64_t(d));
  }
  if (spatial.empty() || spatial.size() > rank - 2 || !compiler::mayRewrite(op, "volume-as-images"))
    return;
  Writer w(op);
  Dims from(typeOf(op.getInputs()[0]).getShape()), to(typeOf(op.getResult(0)).getShape());
  if (rank == 3) {
    auto at = size_t(spatial[0]);
    auto grown = [&](ArrayRef<int64_t> all, size_t place, ArrayRef<int64_t> values) {
      Dims grown(all);
      grown.insert(grown.begin() + long(place), values.begin(), values.end());
      return grown;
    };
    Value image = w.reshape(op.getInputs()[0], grown(from, at, {1}));
    Value pool = folded(w, op, image, grown(window, at, {1}), grown(strides, at, {1}), grown(padding, 2 * at, {0, 0}), grown(to, at, {1}));
    op.getResult(0).replaceAllUsesWith(w.reshape(pool, to));
    op.erase();
    return;
  }
  // A dimension beside those that have windows is the depth where it has none: the one before them, but for the first of all.
  while (spatial.size() < 3) {
    int64_t added = others.back();
    for (int64_t d : others)
      if (d > 0 && d < spatial[0])
        added = d;
    llvm::erase(others, added);
    spatial.push_back(added);
    llvm::sort(spatial);
  }
  auto edgesOf = [&](size_t d) { return Dims{padding[2 * d], padding[2 * d + 1]}; };
  // Where no convolution is near, channels would be brought inmost for nothing: slices are images
  // with columns inmost, and then rows of the depth.
  if (others == Dims{0, 1} && !isNearConvolution(op)) {
    Dims deep = edgesOf(2), high = edgesOf(3), wide = edgesOf(4);
    Value x = w.reshape(op.getInputs()[0], {from[0], from[1] * from[2], from[3], from[4]});
    x = folded(w, op, x, {1, 1, window[3], window[4]}, {1, 1, strides[3], strides[4]},
               {0, 0, 0, 0, high[0], high[1], wide[0], wide[1]},
               {from[0], from[1] * from[2], to[3], to[4]});
    x = w.reshape(x, {from[0], from[1], from[2], to[3] * to[4]});
    if (window[2] != 1 || strides[2] != 1 || deep[0] != 0 || deep[1] != 0)
      x = folded(w, op, x, {1, 1, window[2], 1}, {1, 1, strides[2], 1},
                 {0, 0, 0, 0, deep[0], deep[1], 0, 0}, {from[0], from[1], to[2], to[3] * to[4]});
    op.getResult(0).replaceAllUsesWith(w.reshape(x, to));
    op.erase();
    return;
  }
  Dims order = {others[0], spatial[0], spatial[1], spatial[2], others[1]};
  auto picked = [&](ArrayRef<int64_t> all) {
    Dims some;
    for (int64_t d : order)
      some.push_back(all[d]);
    return some;
  };
  Dims f = picked(from), t = picked(to), k = picked(window), s = picked(strides);
  auto edges = [&](size_t d) { return edgesOf(size_t(order[d])); };
  Value x = w.reshape(w.transpose(op.getInputs()[0], order), {f[0] * f[1], f[2], f[3], f[4]});
  Dims high = edges(2), wide = edges(3), deep = edges(1);
  x = folded(w, op, x, {1, k[2], k[3], 1}, {1, s[2], s[3], 1}, {0, 0, high[0], high[1], wide[0], wide[1], 0, 0},
             {f[0] * f[1], t[2], t[3], f[4]});
  x = w.reshape(x, {f[0], f[1], t[2] * t[3], f[4]});
  if (k[1] != 1 || s[1] != 1 || deep[0] != 0 || deep[1] != 0)
    x = folded(w, op, x, {1, k[1], 1, 1}, {1, s[1], 1, 1}, {0, 0, deep[0], deep[1], 0, 0, 0, 0}, {f[0], t[1], t[2] * t[3], f[4]});
  op.getResult(0).replaceAllUsesWith(w.restore(w.reshape(x, t), inverse(order)));
  op.erase();
}

class VolumesAsImages : public impl::VolumesAsImagesBase<VolumesAsImages> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
        rewrite(convolution);
      else if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op))
        rewrite(window);
    });
  }
};

} // namespace
} // namespace cupel::tir
