// Reductions, windows, products and convolutions.

#include "cupel/frontends/HloBuilder.h"

namespace cupel::frontends {

using namespace mlir;

Value HloBuilder::fold(Fold fold, Value x, Value y) {
  switch (fold) {
  case Fold::Add:
    return add(x, y);
  case Fold::Multiply:
    return multiply(x, y);
  case Fold::Max:
    return maximum(x, y);
  case Fold::Min:
    return minimum(x, y);
  case Fold::And:
    return logicalAnd(x, y);
  case Fold::Or:
    return logicalOr(x, y);
  }
  llvm_unreachable("a fold was forgotten");
}

void HloBuilder::foldRegion(Region &region, Type element, std::optional<Fold> fold) {
  OpBuilder::InsertionGuard guard(ops);
  RankedTensorType scalar = tensorType({}, element);
  Block *block = ops.createBlock(&region, region.end(), {scalar, scalar}, {loc, loc});
  Value result = fold ? this->fold(*fold, block->getArgument(0), block->getArgument(1))
                      : Value(block->getArgument(1));
  ops.create<stablehlo::ReturnOp>(loc, ValueRange{result});
}

Value HloBuilder::initialValue(Fold fold, Type element) {
  switch (fold) {
  case Fold::Add:
    return splat(0, element);
  case Fold::Multiply:
    return splat(1, element);
  case Fold::Max:
    return lowest(element);
  case Fold::Min:
    return highest(element);
  case Fold::And:
    return splatInteger(-1, element);
  case Fold::Or:
    return splatInteger(0, element);
  }
  llvm_unreachable("a fold was forgotten");
}

Value HloBuilder::reduce(Value x, ArrayRef<int64_t> dimensions, Fold fold, bool keepDims) {
  if (dimensions.empty() || !areDimensions(x, dimensions))
    return x;
  Dims kept, shape;
  for (int64_t i = 0; i < rankOf(x); ++i) {
    bool reduced = llvm::is_contained(dimensions, i);
    if (!reduced)
      shape.push_back(shapeOf(x)[i]);
    kept.push_back(reduced ? 1 : shapeOf(x)[i]);
  }
  Dims sorted(dimensions.begin(), dimensions.end());
  llvm::sort(sorted);
  OperationState state(loc, stablehlo::ReduceOp::getOperationName());
  state.addOperands({x, initialValue(fold, elementOf(x))});
  state.addTypes(tensorType(shape, elementOf(x)));
  state.addAttribute("dimensions", ops.getDenseI64ArrayAttr(sorted));
  state.addRegion();
  Operation *op = ops.create(state);
  foldRegion(op->getRegion(0), elementOf(x), fold);
  return keepDims ? reshape(op->getResult(0), kept) : op->getResult(0);
}

Value HloBuilder::mean(Value x, ArrayRef<int64_t> dimensions, bool keepDims) {
  int64_t count = 1;
  if (!areDimensions(x, dimensions))
    return x;
  for (int64_t dimension : dimensions)
    count *= shapeOf(x)[dimension];
  Value sum = reduce(x, dimensions, Fold::Add, keepDims);
  return divide(sum, like(sum, static_cast<double>(count)));
}

/// Sizes that can be multiplied without overflow, and positive if asked.
static bool areWindowSizes(ArrayRef<int64_t> sizes, bool positive) {
  constexpr int64_t kFar = int64_t(1) << 31;
  return llvm::all_of(sizes,
                      [&](int64_t size) { return size < kFar && size > (positive ? 0 : -kFar); });
}

Value HloBuilder::reduceWindow(Value x, const Window &window, Fold fold) {
  size_t rank = rankOf(x);
  auto filled = [&](const Dims &given, int64_t value) {
    return given.empty() ? Dims(rank, value) : given;
  };
  Dims sizes = filled(window.sizes, 1), strides = filled(window.strides, 1),
       base = filled(window.baseDilations, 1), dilations = filled(window.dilations, 1),
       low = filled(window.low, 0), high = filled(window.high, 0), shape, padding;
  for (const Dims *list : {&sizes, &strides, &base, &dilations, &low, &high})
    if (!possible(list->size() == rank && areWindowSizes(*list, list != &low && list != &high),
                  "a window does not fit its tensor"))
      return x;
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = shapeOf(x)[i];
    int64_t dilated = size == 0 ? 0 : (size - 1) * base[i] + 1;
    int64_t padded = low[i] + dilated + high[i], reach = (sizes[i] - 1) * dilations[i] + 1;
    shape.push_back(padded < reach || padded == 0 ? 0 : (padded - reach) / strides[i] + 1);
    padding.append({low[i], high[i]});
  }
  OperationState state(loc, stablehlo::ReduceWindowOp::getOperationName());
  state.addOperands({x, initialValue(fold, elementOf(x))});
  state.addTypes(tensorType(shape, elementOf(x)));
  state.addAttribute("window_dimensions", ops.getDenseI64ArrayAttr(sizes));
  state.addAttribute("window_strides", ops.getDenseI64ArrayAttr(strides));
  state.addAttribute("base_dilations", ops.getDenseI64ArrayAttr(base));
  state.addAttribute("window_dilations", ops.getDenseI64ArrayAttr(dilations));
  state.addAttribute("padding", DenseElementsAttr::get(tensorType({int64_t(rank), 2}, i64()),
                                                       ArrayRef<int64_t>(padding)));
  state.addRegion();
  Operation *op = ops.create(state);
  foldRegion(op->getRegion(0), elementOf(x), fold);
  return op->getResult(0);
}

Value HloBuilder::argExtreme(Value x, int64_t dimension, bool largest, bool last, Type index,
                             bool keepDims) {
  if (!isDimension(x, dimension))
    return x;
  // Two tensors reduced side by side: the best value so far and where it stood.
  Value positions = iota(shapeOf(x), dimension, i64());
  Dims shape, kept(shapeOf(x));
  for (int64_t i = 0; i < rankOf(x); ++i)
    if (i != dimension)
      shape.push_back(shapeOf(x)[i]);
  kept[dimension] = 1;
  OperationState state(loc, stablehlo::ReduceOp::getOperationName());
  Value worst = largest ? lowest(elementOf(x)) : highest(elementOf(x));
  Value nowhere = last ? lowest(i64()) : highest(i64());
  state.addOperands({x, positions, worst, nowhere});
  state.addTypes({tensorType(shape, elementOf(x)), tensorType(shape, i64())});
  state.addAttribute("dimensions", ops.getDenseI64ArrayAttr({dimension}));
  state.addRegion();
  Operation *op = ops.create(state);
  {
    OpBuilder::InsertionGuard guard(ops);
    RankedTensorType scalar = tensorType({}, elementOf(x)), place = tensorType({}, i64());
    Block *block = ops.createBlock(&op->getRegion(0), {}, {scalar, place, scalar, place},
                                   {loc, loc, loc, loc});
    Value a = block->getArgument(0), at = block->getArgument(1), b = block->getArgument(2),
          bt = block->getArgument(3);
    Value better = largest ? greater(a, b) : less(a, b);
    if (isFloat(x)) {
      // A NaN wins against everything that is none.
      Value aIsNan = notEqual(a, a), bIsNan = notEqual(b, b);
      better = logicalOr(better, logicalAnd(aIsNan, logicalNot(bIsNan)));
      Value equalNan = logicalAnd(aIsNan, bIsNan);
      Value same = logicalOr(equal(a, b), equalNan);
      Value first = last ? greater(at, bt) : less(at, bt);
      better = logicalOr(better, logicalAnd(same, first));
    } else {
      better = logicalOr(better, logicalAnd(equal(a, b), last ? greater(at, bt) : less(at, bt)));
    }
    ops.create<stablehlo::ReturnOp>(loc, ValueRange{select(better, a, b), select(better, at, bt)});
  }
  Value result = convert(op->getResult(1), index);
  return keepDims ? reshape(result, kept) : result;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value HloBuilder::dotGeneral(Value x, Value y, ArrayRef<int64_t> batchX, ArrayRef<int64_t> batchY,
                             ArrayRef<int64_t> contractX, ArrayRef<int64_t> contractY,
                             Type element) {
  Dims shape;
  bool good = areDimensions(x, batchX) && areDimensions(x, contractX) && areDimensions(y, batchY) &&
              areDimensions(y, contractY) && batchX.size() == batchY.size() &&
              contractX.size() == contractY.size();
  if (good) {
    for (auto [i, j] : llvm::zip(batchX, batchY))
      good &= shapeOf(x)[i] == shapeOf(y)[j];
    for (auto [i, j] : llvm::zip(contractX, contractY))
      good &= shapeOf(x)[i] == shapeOf(y)[j];
  }
  if (!possible(good, "a product's operands do not fit each other"))
    return x;
  for (int64_t dimension : batchX)
    shape.push_back(shapeOf(x)[dimension]);
  for (int64_t i = 0; i < rankOf(x); ++i)
    if (!llvm::is_contained(batchX, i) && !llvm::is_contained(contractX, i))
      shape.push_back(shapeOf(x)[i]);
  for (int64_t i = 0; i < rankOf(y); ++i)
    if (!llvm::is_contained(batchY, i) && !llvm::is_contained(contractY, i))
      shape.push_back(shapeOf(y)[i]);
  auto numbers =
      stablehlo::DotDimensionNumbersAttr::get(context(), batchX, batchY, contractX, contractY);
  return ops.create<stablehlo::DotGeneralOp>(
      loc, TypeRange{tensorType(shape, element ? element : elementOf(x))}, ValueRange{x, y},
      ArrayRef<NamedAttribute>{ops.getNamedAttr("dot_dimension_numbers", numbers)});
}

Value HloBuilder::matmul(Value x, Value y, Type element) {
  bool vectorX = rankOf(x) == 1, vectorY = rankOf(y) == 1;
  if (vectorX)
    x = unsqueeze(x, 0);
  if (vectorY)
    y = unsqueeze(y, 1);
  ArrayRef<int64_t> a = shapeOf(x), b = shapeOf(y);
  if (!possible(a.size() >= 2 && b.size() >= 2, "a product's operand is a scalar"))
    return x;
  std::optional<Dims> batches = broadcastShape(a.drop_back(2), b.drop_back(2));
  if (!possible(batches.has_value(), "shapes do not broadcast"))
    return x;
  Dims batch = *batches;
  auto expanded = [&](Value value) {
    Dims shape = batch;
    shape.append(shapeOf(value).end() - 2, shapeOf(value).end());
    return broadcastTo(value, shape);
  };
  // A right side without batches of its own needs no repetition.
  Value product;
  int64_t n = batch.size();
  if (b.size() == 2) {
    product = dotGeneral(x, y, {}, {}, {int64_t(a.size()) - 1}, {0}, element);
  } else {
    Dims dimensions = llvm::to_vector<6>(llvm::seq<int64_t>(0, n));
    product = dotGeneral(expanded(x), expanded(y), dimensions, dimensions, {n + 1}, {n}, element);
  }
  Dims shape(shapeOf(product));
  if (vectorY)
    shape.pop_back();
  if (vectorX)
    shape.erase(shape.end() - (vectorY ? 1 : 2));
  return reshape(product, shape);
}

Value HloBuilder::convolution(Value x, Value kernel, const Convolution &how, Type element) {
  int64_t spatial = rankOf(x) - 2;
  auto filled = [&](const Dims &given, int64_t value) {
    return given.empty() ? Dims(spatial, value) : given;
  };
  Dims strides = filled(how.strides, 1), low = filled(how.low, 0), high = filled(how.high, 0),
       base = filled(how.baseDilations, 1), dilations = filled(how.kernelDilations, 1);
  if (!possible(spatial >= 0 && rankOf(kernel) == rankOf(x) && how.groups > 0 &&
                    shapeOf(kernel)[1] * how.groups == shapeOf(x)[1] &&
                    shapeOf(kernel)[0] % how.groups == 0,
                "a kernel does not fit its operand"))
    return x;
  for (const Dims *list : {&strides, &base, &dilations, &low, &high})
    if (!possible(int64_t(list->size()) == spatial &&
                      areWindowSizes(*list, list != &low && list != &high),
                  "a window does not fit its tensor"))
      return x;
  Dims shape{shapeOf(x)[0], shapeOf(kernel)[0]}, padding, dimensions;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t size = shapeOf(x)[i + 2], window = shapeOf(kernel)[i + 2];
    int64_t dilated = size == 0 ? 0 : (size - 1) * base[i] + 1;
    int64_t reach = window == 0 ? 0 : (window - 1) * dilations[i] + 1;
    int64_t padded = low[i] + dilated + high[i];
    shape.push_back(padded < reach || padded == 0 ? 0 : (padded - reach) / strides[i] + 1);
    padding.append({low[i], high[i]});
    dimensions.push_back(i + 2);
  }
  auto numbers = stablehlo::ConvDimensionNumbersAttr::get(context(), 0, 1, dimensions, 1, 0,
                                                          dimensions, 0, 1, dimensions);
  SmallVector<NamedAttribute> attributes = {
      ops.getNamedAttr("window_strides", ops.getDenseI64ArrayAttr(strides)),
      ops.getNamedAttr("padding", DenseElementsAttr::get(tensorType({spatial, 2}, i64()),
                                                         ArrayRef<int64_t>(padding))),
      ops.getNamedAttr("lhs_dilation", ops.getDenseI64ArrayAttr(base)),
      ops.getNamedAttr("rhs_dilation", ops.getDenseI64ArrayAttr(dilations)),
      ops.getNamedAttr("dimension_numbers", numbers),
      ops.getNamedAttr("feature_group_count", ops.getI64IntegerAttr(how.groups)),
      ops.getNamedAttr("batch_group_count", ops.getI64IntegerAttr(1))};
  if (how.reverseKernel)
    kernel = reverse(kernel, dimensions);
  return ops.create<stablehlo::ConvolutionOp>(
      loc, TypeRange{tensorType(shape, element ? element : elementOf(x))}, ValueRange{x, kernel},
      attributes);
}

} // namespace cupel::frontends
