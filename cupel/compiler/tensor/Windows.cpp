#include "cupel/compiler/tensor/Windows.h"

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/TensorIr.h"

using namespace mlir;

namespace cupel::tir {

/// Known before the program runs, or given to it: worth packing.
static bool isWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::ReverseOp,
             stablehlo::ConvertOp>(op))
      return isa<stablehlo::ConstantOp>(op);
    value = op->getOperand(0);
  }
  return true;
}

static int64_t sizeOf(Value value, ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t d : dims)
    size *= cast<RankedTensorType>(value.getType()).getDimSize(d);
  return size;
}

/// Whether the window is computed and has more pixels than there are places for it.
static bool hasComputedWindow(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  bool isTurned = op.getWindowReversal() && llvm::is_contained(*op.getWindowReversal(), true);
  return areOnes(op.getLhsDilation()) && !isTurned && !isWeight(op.getRhs()) &&
         sizeOf(op.getRhs(), numbers.getKernelSpatialDimensions()) > sizeOf(op.getResult(), numbers.getOutputSpatialDimensions());
}

bool isCorrelation(stablehlo::ConvolutionOp op) {
  constexpr int64_t kFewest = 4;
  auto numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> places = numbers.getOutputSpatialDimensions();
  return op.getFeatureGroupCount() == 1 && hasComputedWindow(op) &&
         sizeOf(op.getRhs(), {numbers.getKernelOutputFeatureDimension()}) >= kFewest &&
         sizeOf(op.getLhs(), {numbers.getInputBatchDimension()}) *
                 sizeOf(op.getResult(), {places.back()}) >=
             kFewest;
}

void groupChannels(stablehlo::ConvolutionOp op) {
  auto image = cast<RankedTensorType>(op.getLhs().getType());
  const auto groups = int64_t(op.getBatchGroupCount());
  if (groups == 1 || !image.hasStaticShape() || image.getNumElements() == 0 || op.getFeatureGroupCount() != 1 ||
      !compiler::mayRewrite(op, "groups-of-channels"))
    return;
  auto numbers = op.getDimensionNumbers();
  const int64_t batch = numbers.getInputBatchDimension(), channel = numbers.getInputFeatureDimension(), rank = image.getRank();
  OpBuilder builder(op);
  // The batch in two, and its groups before the channels.
  SmallVector<int64_t> apart(image.getShape()), order, together;
  apart[batch] = groups;
  apart.insert(apart.begin() + batch + 1, image.getDimSize(batch) / groups);
  auto placeOf = [&](int64_t d) { return d > batch ? d + 1 : d; };
  order.push_back(batch + 1);
  for (int64_t d : numbers.getInputSpatialDimensions())
    order.push_back(placeOf(d));
  order.append({batch, placeOf(channel)});
  for (int64_t d : order)
    together.push_back(apart[d]);
  const int64_t channels = together.pop_back_val();
  together.back() *= channels;
  Value split = builder.create<stablehlo::ReshapeOp>(op.getLoc(), image.clone(apart), op.getLhs());
  Value turned = builder.create<stablehlo::TransposeOp>(op.getLoc(), split, order);
  op.getLhsMutable().assign(builder.create<stablehlo::ReshapeOp>(op.getLoc(), image.clone(together), turned));
  op.setBatchGroupCount(1);
  op.setFeatureGroupCount(uint64_t(groups));
  op.setDimensionNumbersAttr(stablehlo::ConvDimensionNumbersAttr::get(
      op.getContext(), 0, rank - 1, llvm::to_vector(llvm::seq<int64_t>(1, rank - 1)), numbers.getKernelInputFeatureDimension(),
      numbers.getKernelOutputFeatureDimension(), numbers.getKernelSpatialDimensions(), numbers.getOutputBatchDimension(),
      numbers.getOutputFeatureDimension(), numbers.getOutputSpatialDimensions()));
}

stablehlo::ConvolutionOp eachImageByItself(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  auto result = cast<RankedTensorType>(op.getResult().getType()), kernel = cast<RankedTensorType>(op.getRhs().getType());
  const int64_t groups = int64_t(op.getFeatureGroupCount()), feature = numbers.getOutputFeatureDimension();
  const int64_t images = kernel.getDimSize(numbers.getKernelInputFeatureDimension());
  auto isPlain = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.hasStaticShape() && type.getElementType().isF32();
  };
  if (!isPlain(op.getLhs()) || !isPlain(op.getRhs()) || !isPlain(op.getResult()) || op.getBatchGroupCount() != 1 || groups == 1 || images == 1 ||
      result.getDimSize(feature) != groups || !hasComputedWindow(op) ||
      !compiler::mayRewrite(op, "each-image-by-itself"))
    return op;
  OpBuilder builder(op);
  Location location = op.getLoc();
  Type element = result.getElementType();
  auto shaped = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    return builder.create<stablehlo::ReshapeOp>(location, cast<RankedTensorType>(value.getType()).clone(shape), value);
  };
  auto turned = [&](Value value, ArrayRef<int64_t> order) -> Value { return builder.create<stablehlo::TransposeOp>(location, value, order); };
  // Channels of the image: a group's images become the images' groups, as networks have them in memory.
  auto image = cast<RankedTensorType>(op.getLhs().getType());
  const int64_t channel = numbers.getInputFeatureDimension();
  SmallVector<int64_t> apart(image.getShape()), order = llvm::to_vector(llvm::seq<int64_t>(0, image.getRank() + 1));
  apart[channel] = groups;
  apart.insert(apart.begin() + channel + 1, images);
  std::swap(order[channel], order[channel + 1]);
  Value lhs = shaped(turned(shaped(op.getLhs(), apart), order), image.getShape());
  // The window: over its pixels, images and groups.
  SmallVector<int64_t> window(numbers.getKernelSpatialDimensions()), sizes;
  const auto rank = int64_t(window.size());
  for (int64_t d : window)
    sizes.push_back(kernel.getDimSize(d));
  window.append({numbers.getKernelInputFeatureDimension(), numbers.getKernelOutputFeatureDimension()});
  sizes.append({1, images * groups});
  Value rhs = shaped(turned(op.getRhs(), window), sizes);
  SmallVector<int64_t> each(result.getShape());
  each[feature] = images * groups;
  auto made = cast<stablehlo::ConvolutionOp>(builder.clone(*op));
  made->setOperand(0, lhs);
  made->setOperand(1, rhs);
  made.getResult().setType(result.clone(each));
  made.setFeatureGroupCount(uint64_t(images * groups));
  made.setDimensionNumbersAttr(stablehlo::ConvDimensionNumbersAttr::get(
      op.getContext(), numbers.getInputBatchDimension(), channel, numbers.getInputSpatialDimensions(), rank, rank + 1,
      llvm::to_vector(llvm::seq<int64_t>(0, rank)), numbers.getOutputBatchDimension(), feature, numbers.getOutputSpatialDimensions()));
  each[feature] = images;
  each.insert(each.begin() + feature + 1, groups);
  Value split = shaped(made.getResult(), each);
  Value zero = builder.create<stablehlo::ConstantOp>(location, DenseElementsAttr::get(RankedTensorType::get({}, element), builder.getZeroAttr(element)));
  auto sum = builder.create<stablehlo::ReduceOp>(location, TypeRange{result}, ValueRange{split}, ValueRange{zero}, ArrayRef<int64_t>{feature});
  {
    OpBuilder::InsertionGuard guard(builder);
    Type number = RankedTensorType::get({}, element);
    Block *body = builder.createBlock(&sum.getBody(), {}, {number, number}, {location, location});
    Value added = builder.create<stablehlo::AddOp>(location, body->getArgument(0), body->getArgument(1));
    builder.create<stablehlo::ReturnOp>(location, added);
  }
  op.getResult().replaceAllUsesWith(sum.getResult(0));
  op.erase();
  return made;
}

bool isNearConvolution(stablehlo::ReduceWindowOp pool) {
  constexpr size_t kNeighbours = 24; // As many operations are looked at, for each direction.
  for (bool isBefore : {true, false}) {
    SmallVector<Operation *> seen{pool};
    for (size_t next = 0; next < seen.size() && seen.size() <= kNeighbours; ++next) {
      auto look = [&](Operation *op) {
        if (op && !llvm::is_contained(seen, op) && seen.size() <= kNeighbours)
          seen.push_back(op);
      };
      if (isBefore)
        for (Value operand : seen[next]->getOperands())
          look(operand.getDefiningOp());
      else
        for (Operation *user : seen[next]->getUsers()) {
          if (seen.size() > kNeighbours)
            break;
          look(user);
        }
    }
    if (llvm::any_of(
            seen, [](Operation *op) { return isa<stablehlo::ConvolutionOp, ConvolutionOp>(op); }))
      return true;
  }
  return false;
}

std::optional<ScannedLines> scannedLines(stablehlo::ReduceWindowOp op) {
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  if (!type.hasStaticShape() || !areOnes(op.getWindowStrides()) || !areOnes(op.getBaseDilations()) || !areOnes(op.getWindowDilations()))
    return std::nullopt;
  Dims padding = paddingOf(op.getPadding(), size_t(type.getRank()));
  ScannedLines lines;
  int64_t dimension = -1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t size = op.getWindowDimensions()[d], low = padding[2 * d], high = padding[2 * d + 1];
    if (size == 1 && low == 0 && high == 0)
      continue;
    bool fromBegin = low == size - 1 && high == 0, fromEnd = low == 0 && high == size - 1;
    if (dimension >= 0 || size < type.getDimSize(d) || !(fromBegin || fromEnd))
      return std::nullopt;
    dimension = d;
    lines.fromEnd = !fromBegin;
  }
  if (dimension < 0)
    return std::nullopt;
  for (int64_t d = 0; d < type.getRank(); ++d)
    (d < dimension ? lines.outer : d == dimension ? lines.count : lines.inner) *= type.getDimSize(d);
  return lines;
}

} // namespace cupel::tir
