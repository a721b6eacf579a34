// Quantized types are integers as they are stored and what is done to them, written out: with the roundings, in the order, that the
// golden reference has (cupel/tensor/Quantize.h, cupel/reference/Quantized.h), of which one quantum of difference is a wrong result.
// All of a program or nothing: device IR has no quantized types, and a program that keeps one runs whole on the golden reference.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/Windows.h"

#include "mlir/Dialect/Quant/QuantTypes.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_QUANTIZEDASINTEGERS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// A quantized type that is written out: of f32, stored in 8, 16 or 32 bits.
struct Quantized {
  IntegerType storage;
  int64_t least, most;
  std::optional<int64_t> axis;
  SmallVector<double> scales;
  SmallVector<int64_t> zeros;

  bool isWide() const { return storage.getWidth() == 32; }
  bool hasZeros() const {
    return llvm::any_of(zeros, [](int64_t zero) { return zero != 0; });
  }
};

bool isQuantizedTensor(Type type) { return isa<quant::QuantizedType>(getElementTypeOrSelf(type)); }

std::optional<Quantized> quantizedOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element = tensor ? dyn_cast<quant::QuantizedType>(tensor.getElementType()) : quant::QuantizedType();
  if (!element || !tensor.hasStaticShape() || tensor.getEncoding() || tensor.getNumElements() == 0 ||
      !element.getExpressedType().isF32())
    return std::nullopt;
  unsigned width = element.getStorageTypeIntegralWidth();
  if (width != 8 && width != 16 && width != 32)
    return std::nullopt;
  Quantized made;
  made.storage = IntegerType::get(type.getContext(), width, element.isSigned() ? IntegerType::Signless : IntegerType::Unsigned);
  made.least = element.getStorageTypeMin();
  made.most = element.getStorageTypeMax();
  if (auto whole = dyn_cast<quant::UniformQuantizedType>(element)) {
    made.scales = {whole.getScale()};
    made.zeros = {whole.getZeroPoint()};
  } else if (auto slices = dyn_cast<quant::UniformQuantizedPerAxisType>(element)) {
    made.axis = slices.getQuantizedDimension();
    made.scales.assign(slices.getScales().begin(), slices.getScales().end());
    made.zeros.assign(slices.getZeroPoints().begin(), slices.getZeroPoints().end());
    if (*made.axis >= tensor.getRank() || int64_t(made.scales.size()) != tensor.getDimSize(*made.axis))
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  // Of 32 bits the middle is left out: differences would need more, and unsigned ones too.
  if (made.isWide() && (made.hasZeros() || !element.isSigned()))
    return std::nullopt;
  return made;
}

/// Writes operations at one place, on tensors of one shape at a time.
class StoredWriter {
public:
  StoredWriter(OpBuilder &builder, Location location) : builder(builder), location(location) {}

  Type f32() { return builder.getF32Type(); }
  Type i32() { return builder.getI32Type(); }

  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  /// One number for all elements, or one for each index of a dimension.
  template <typename Number> Value numbers(ArrayRef<Number> values, std::optional<int64_t> axis, Value like) {
    Type element = std::is_same_v<Number, float> ? f32() : i32();
    RankedTensorType type = typeOf(like).clone(element);
    if (llvm::all_equal(values))
      return builder.create<stablehlo::ConstantOp>(location, type, DenseElementsAttr::get(type, values[0]));
    auto row = RankedTensorType::get({int64_t(values.size())}, element);
    Value constant = builder.create<stablehlo::ConstantOp>(location, row, DenseElementsAttr::get(row, values));
    return builder.create<stablehlo::BroadcastInDimOp>(location, type, constant, ArrayRef<int64_t>{*axis});
  }
  Value number(float value, Value like) { return numbers<float>({value}, std::nullopt, like); }
  Value number(int32_t value, Value like) { return numbers<int32_t>({value}, std::nullopt, like); }

  Value converted(Value value, Type element) {
    if (typeOf(value).getElementType() == element)
      return value;
    return builder.create<stablehlo::ConvertOp>(location, typeOf(value).clone(element), value);
  }
  template <typename Op> Value make(ValueRange operands) { return builder.create<Op>(location, operands); }
  Value add(Value a, Value b) { return make<stablehlo::AddOp>({a, b}); }
  Value subtract(Value a, Value b) { return make<stablehlo::SubtractOp>({a, b}); }
  Value multiply(Value a, Value b) { return make<stablehlo::MultiplyOp>({a, b}); }

  /// Integers within the range that is stored, as they are stored.
  Value stored(Value integers, const Quantized &to) {
    auto width = to.storage.getWidth();
    bool isAll = width == 32 && to.least == INT32_MIN && to.most == INT32_MAX;
    if (!isAll) {
      integers = make<stablehlo::MaximumOp>({integers, number(int32_t(to.least), integers)});
      integers = make<stablehlo::MinimumOp>({integers, number(int32_t(to.most), integers)});
    }
    return converted(integers, to.storage);
  }

  /// Clamped, rounded to even, in the range that is stored; no number counts as 0.
  Value settled(Value real, const Quantized &to) {
    Value isNone = builder.create<stablehlo::CompareOp>(location, real, real, stablehlo::ComparisonDirection::NE);
    real = make<stablehlo::SelectOp>({isNone, number(0.0F, real), real});
    real = make<stablehlo::MaximumOp>({real, number(float(to.least), real)});
    real = make<stablehlo::MinimumOp>({real, number(float(to.most), real)});
    Value whole = converted(make<stablehlo::RoundNearestEvenOp>({real}), i32());
    return to.isWide() ? stored(whole, to) : converted(whole, to.storage);
  }

  /// Stored integers less their zero points, in 32 bits.
  Value centred(Value integers, const Quantized &from) {
    Value wide = converted(integers, i32());
    if (!from.hasZeros())
      return wide;
    SmallVector<int32_t> zeros(from.zeros.begin(), from.zeros.end());
    return subtract(wide, numbers<int32_t>(zeros, from.axis, wide));
  }

  Value dequantized(Value integers, const Quantized &from) {
    Value real = converted(centred(integers, from), f32());
    SmallVector<float> scales(from.scales.begin(), from.scales.end());
    return multiply(real, numbers<float>(scales, from.axis, real));
  }

  Value quantized(Value real, const Quantized &to) {
    SmallVector<float> scales(to.scales.begin(), to.scales.end()), zeros(to.zeros.begin(), to.zeros.end());
    real = make<stablehlo::DivideOp>({real, numbers<float>(scales, to.axis, real)});
    return settled(add(real, numbers<float>(zeros, to.axis, real)), to);
  }

  Value requantized(Value integers, const Quantized &from, const Quantized &to) {
    std::optional<int64_t> axis = from.axis ? from.axis : to.axis;
    size_t slices = axis ? size_t(typeOf(integers).getDimSize(*axis)) : 1;
    SmallVector<float> scales, shifts;
    for (size_t i = 0; i < slices; ++i) {
      size_t i1 = from.axis ? i : 0, i2 = to.axis ? i : 0;
      double merged = from.scales[i1] / to.scales[i2];
      scales.push_back(float(merged));
      shifts.push_back(float(double(to.zeros[i2]) - double(from.zeros[i1]) * merged));
    }
    Value real = converted(integers, f32());
    real = multiply(real, numbers<float>(scales, axis, real));
    return settled(add(real, numbers<float>(shifts, axis, real)), to);
  }

  /// As a side of a sum: in the result's scale, but not within its range.
  Value addend(Value integers, const Quantized &from, const Quantized &to) {
    auto scale = float(from.scales[0] / to.scales[0]);
    float taken = float(from.zeros[0]) * scale; // Rounded, and then again.
    Value real = converted(integers, f32());
    real = add(multiply(real, number(scale, real)), number(float(to.zeros[0]) - taken, real));
    return converted(make<stablehlo::RoundNearestEvenOp>({real}), i32());
  }

  /// Of the sums of products less zero points, and what the left zero point adds to products of what is stored (or null): scaled
  /// and cut off, the second from the whole.
  Value rescaled(Value sums, Value offsets, ArrayRef<float> scales, std::optional<int64_t> axis, const Quantized &to) {
    if (scales.size() == 1 && std::abs(double(scales[0]) - 1.0) <= 0.001)
      return stored(sums, to);
    Value factors = numbers<float>(scales, axis, sums);
    auto scaled = [&](Value integers) { return converted(multiply(converted(integers, f32()), factors), i32()); };
    Value made = offsets ? subtract(scaled(add(sums, offsets)), scaled(offsets)) : scaled(sums);
    return stored(made, to);
  }

  /// The sum of integers over dimensions, times a number.
  Value summed(Value integers, ArrayRef<int64_t> dimensions, int32_t times) {
    auto one = RankedTensorType::get({}, i32());
    Value zero = builder.create<stablehlo::ConstantOp>(location, one, DenseElementsAttr::get(one, int32_t{0}));
    Dims shape;
    for (int64_t d = 0; d < typeOf(integers).getRank(); ++d)
      if (!llvm::is_contained(dimensions, d))
        shape.push_back(typeOf(integers).getDimSize(d));
    auto type = RankedTensorType::get(shape, i32());
    auto reduce = builder.create<stablehlo::ReduceOp>(location, TypeRange{type}, ValueRange{integers}, ValueRange{zero},
                                                      builder.getDenseI64ArrayAttr(dimensions));
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&reduce.getBody(), {}, {one, one}, {location, location});
    Value sum = builder.create<stablehlo::AddOp>(location, body->getArgument(0), body->getArgument(1));
    builder.create<stablehlo::ReturnOp>(location, sum);
    builder.setInsertionPointAfter(reduce);
    return multiply(reduce.getResult(0), number(times, reduce.getResult(0)));
  }

private:
  OpBuilder &builder;
  Location location;
};

/// Which dimensions of the right side and of the result belong together, for both kinds of products.
struct Kept {
  Dims right, result;
  SmallVector<int64_t> summed; ///< Of the right side.
};

Kept keptBy(stablehlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  Kept kept;
  int64_t at = StoredWriter::typeOf(dot.getLhs()).getRank() - int64_t(numbers.getLhsContractingDimensions().size());
  for (int64_t d = 0; d < StoredWriter::typeOf(dot.getRhs()).getRank(); ++d) {
    if (llvm::is_contained(numbers.getRhsContractingDimensions(), d)) {
      kept.summed.push_back(d);
      continue;
    }
    const auto *batch = llvm::find(numbers.getRhsBatchingDimensions(), d);
    kept.right.push_back(d);
    kept.result.push_back(batch == numbers.getRhsBatchingDimensions().end() ? at++ : batch - numbers.getRhsBatchingDimensions().begin());
  }
  return kept;
}

/// Channels last, in two or three spatial dimensions that lie side by side: which the golden reference computes on integers.
bool isIntegerConvolution(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  auto count = int64_t(numbers.getInputSpatialDimensions().size());
  if (count != 2 && count != 3)
    return false;
  for (int64_t i = 0; i < count; ++i)
    if (numbers.getInputSpatialDimensions()[i] != i + 1 || numbers.getKernelSpatialDimensions()[i] != i ||
        numbers.getOutputSpatialDimensions()[i] != i + 1)
      return false;
  return numbers.getInputBatchDimension() == 0 && numbers.getInputFeatureDimension() == count + 1 &&
         numbers.getKernelInputFeatureDimension() == count && numbers.getKernelOutputFeatureDimension() == count + 1 &&
         numbers.getOutputBatchDimension() == 0 && numbers.getOutputFeatureDimension() == count + 1 &&
         areOnes(op.getLhsDilation());
}

class QuantizedAsIntegers : public impl::QuantizedAsIntegersBase<QuantizedAsIntegers> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function.getBody().hasOneBlock() && isWrittenOut(function) &&
          compiler::mayRewrite(function, "quantized"))
        writeOut(function);
  }

private:
  /// Whether there is something quantized in a function, and all of it is known.
  static bool isWrittenOut(func::FuncOp function) {
    Block &block = function.getBody().front();
    auto areQuantized = [](TypeRange types) { return llvm::any_of(types, isQuantizedTensor); };
    bool isAny = false;
    for (BlockArgument argument : block.getArguments())
      if (isQuantizedTensor(argument.getType())) {
        isAny = true;
        if (!quantizedOf(argument.getType()))
          return false;
      }
    for (Operation &op : block.without_terminator()) {
      auto found = op.walk([&](Operation *inner) {
        return areQuantized(inner->getOperandTypes()) || areQuantized(inner->getResultTypes()) ? WalkResult::interrupt()
                                                                                              : WalkResult::advance();
      });
      isAny |= found.wasInterrupted();
      if (found.wasInterrupted() && !isWrittenOut(&op))
        return false;
    }
    return isAny;
  }

  /// Types that are known, of one result; all operations that are not about to be kept.
  static bool isWrittenOut(Operation *op) {
    if (op->getNumResults() != 1 || op->getNumRegions() != 0)
      return false;
    bool isAny = false;
    auto isKnown = [&](Type type) {
      isAny |= isQuantizedTensor(type);
      return isQuantizedTensor(type) ? quantizedOf(type).has_value() : isa<RankedTensorType>(type) && cast<RankedTensorType>(type).hasStaticShape();
    };
    Type result = op->getResult(0).getType();
    if (!isKnown(result) || !llvm::all_of(op->getOperandTypes(), isKnown) || !isAny)
      return false;
    if (op->hasTrait<stablehlo::MovesElements>()) {
      // What is stored is what moves: of one type, or from one that differs in where its slices are.
      Type element = getElementTypeOrSelf(result);
      unsigned count = llvm::count_if(op->getOperandTypes(), isQuantizedTensor);
      return isQuantizedTensor(result) && llvm::all_of(op->getOperandTypes(), [&](Type type) {
               return !isQuantizedTensor(type) || getElementTypeOrSelf(type) == element ||
                      (count == 1 && quantizedOf(type)->storage == quantizedOf(result)->storage);
             });
    }
    if (isa<stablehlo::UniformQuantizeOp>(op)) {
      auto from = quantizedOf(op->getOperand(0).getType()), to = quantizedOf(result);
      return from ? !from->axis || !to->axis || from->axis == to->axis
                  : getElementTypeOrSelf(op->getOperand(0).getType()).isF32();
    }
    auto isReal = [](Type type) { return isQuantizedTensor(type) || getElementTypeOrSelf(type).isF32(); };
    if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op))
      return isReal(result) && llvm::all_of(op->getOperandTypes(), isReal);
    return isa<stablehlo::ConstantOp, stablehlo::UniformDequantizeOp>(op) ||
           (op->hasTrait<stablehlo::Elementwise>() && !isa<stablehlo::BitcastConvertOp, stablehlo::ConvertOp>(op));
  }

  void writeOut(func::FuncOp function) {
    storedValues.clear();
    Block &block = function.getBody().front();
    SmallVector<Operation *> operations = operationsOf(block);
    OpBuilder builder = OpBuilder::atBlockBegin(&block);
    for (BlockArgument argument : block.getArguments())
      if (std::optional<Quantized> from = quantizedOf(argument.getType())) {
        auto type = cast<RankedTensorType>(argument.getType());
        auto as = builder.create<stablehlo::BitcastConvertOp>(argument.getLoc(), type, argument);
        argument.replaceAllUsesExcept(as, as);
        argument.setType(type.clone(from->storage));
        storedValues[as] = argument;
      }
    for (Operation *op : operations)
      if (llvm::any_of(op->getOperandTypes(), isQuantizedTensor) || llvm::any_of(op->getResultTypes(), isQuantizedTensor))
        writeOut(op);
    Operation *end = block.getTerminator();
    for (OpOperand &operand : end->getOpOperands())
      if (isQuantizedTensor(operand.get().getType()))
        operand.set(storedValues.at(operand.get()));
    function.setFunctionType(FunctionType::get(&getContext(), block.getArgumentTypes(), end->getOperandTypes()));
    eraseUnused(block);
  }

  void writeOut(Operation *op) {
    OpBuilder builder(op);
    StoredWriter writer(builder, op->getLoc());
    Value made = written(op, builder, writer);
    Value result = op->getResult(0);
    if (std::optional<Quantized> to = quantizedOf(result.getType())) {
      // Until all that use it are written out.
      Value back = builder.create<stablehlo::BitcastConvertOp>(op->getLoc(), result.getType(), made);
      storedValues[back] = made;
      made = back;
    }
    result.replaceAllUsesWith(made);
    op->erase();
  }

  /// The integers of a quantized value.
  Value storedOf(Value value) const { return storedValues.at(value); }

  Value real(StoredWriter &writer, Value value) {
    std::optional<Quantized> from = quantizedOf(value.getType());
    return from ? writer.dequantized(storedOf(value), *from) : value;
  }

  /// What replaces an operation: integers where its result is quantized.
  Value written(Operation *op, OpBuilder &builder, StoredWriter &writer) {
    auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
    std::optional<Quantized> to = quantizedOf(resultType);
    auto copied = [&](ValueRange operands, Type element) {
      Operation *copy = builder.clone(*op);
      copy->setOperands(operands);
      copy->getResult(0).setType(resultType.clone(element));
      return copy->getResult(0);
    };
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto type = resultType.clone(to->storage);
      return builder.create<stablehlo::ConstantOp>(op->getLoc(), type, retyped(cast<DenseElementsAttr>(constant.getValue()), type));
    }
    bool isSame = to && llvm::all_of(op->getOperandTypes(), [&](Type type) {
      return getElementTypeOrSelf(type) == resultType.getElementType() || getElementTypeOrSelf(type).isInteger(1);
    });
    bool isOrdered = isa<stablehlo::MaximumOp, stablehlo::MinimumOp, stablehlo::ClampOp, stablehlo::SelectOp>(op);
    if (op->hasTrait<stablehlo::MovesElements>() || (isSame && isOrdered)) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(isQuantizedTensor(operand.getType()) ? storedOf(operand) : operand);
      return copied(operands, to->storage);
    }
    if (isa<stablehlo::UniformQuantizeOp>(op))
      if (std::optional<Quantized> from = quantizedOf(op->getOperand(0).getType()))
        return writer.requantized(storedOf(op->getOperand(0)), *from, *to);
    if (isa<stablehlo::UniformQuantizeOp>(op))
      return writer.quantized(op->getOperand(0), *to);
    if (isa<stablehlo::UniformDequantizeOp>(op))
      return real(writer, op->getOperand(0));
    if (Value product = integerProduct(op, builder, writer))
      return product;
    if (isa<stablehlo::AddOp>(op))
      if (Value sum = integerSum(op, writer))
        return sum;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(real(writer, operand));
    Value made = copied(operands, to ? builder.getF32Type() : resultType.getElementType());
    return to ? writer.quantized(made, *to) : made;
  }

  static DenseElementsAttr retyped(DenseElementsAttr values, RankedTensorType type) {
    return DenseElementsAttr::getFromRawBuffer(type, values.getRawData());
  }

  Value integerSum(Operation *op, StoredWriter &writer) {
    std::optional<Quantized> left = quantizedOf(op->getOperand(0).getType()), right = quantizedOf(op->getOperand(1).getType()),
                             to = quantizedOf(op->getResult(0).getType());
    if (!left || !right || !to || left->axis || right->axis || to->axis)
      return {};
    Value sum = writer.add(writer.addend(storedOf(op->getOperand(0)), *left, *to),
                           writer.addend(storedOf(op->getOperand(1)), *right, *to));
    if (to->hasZeros())
      sum = writer.subtract(sum, writer.number(int32_t(to->zeros[0]), sum));
    return writer.stored(sum, *to);
  }

  Value integerProduct(Operation *op, OpBuilder &builder, StoredWriter &writer) {
    auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
    auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op);
    if (!dot && !(convolution && isIntegerConvolution(convolution)))
      return {};
    std::optional<Quantized> left = quantizedOf(op->getOperand(0).getType()), right = quantizedOf(op->getOperand(1).getType()),
                             to = quantizedOf(op->getResult(0).getType());
    if (!left || !right || !to || left->axis || right->hasZeros() || to->hasZeros())
      return {};
    auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
    int64_t rank = StoredWriter::typeOf(op->getOperand(1)).getRank();
    Kept kept;
    if (dot) {
      kept = keptBy(dot);
    } else {
      kept.right = {rank - 1};
      kept.result = {resultType.getRank() - 1};
      for (int64_t d = 0; d + 1 < rank; ++d)
        kept.summed.push_back(d);
    }
    std::optional<int64_t> axis = to->axis;
    if (right->axis) {
      const auto *found = llvm::find(kept.right, *right->axis);
      if (found == kept.right.end())
        return {};
      axis = kept.result[found - kept.right.begin()];
    }
    if (to->axis && to->axis != axis)
      return {};
    SmallVector<float> scales;
    for (int64_t i = 0; i < (axis ? resultType.getDimSize(*axis) : 1); ++i)
      scales.push_back(float(left->scales[0] * right->scales[right->axis ? i : 0] / to->scales[to->axis ? i : 0]));
    Value image = writer.centred(storedOf(op->getOperand(0)), *left);
    Value weights = writer.converted(storedOf(op->getOperand(1)), writer.i32());
    Operation *copy = builder.clone(*op);
    copy->setOperands({image, weights});
    copy->getResult(0).setType(resultType.clone(writer.i32()));
    copy->removeAttr("precision_config"); // Of floats.
    Value offsets;
    if (left->hasZeros()) {
      Value sums = writer.summed(weights, kept.summed, int32_t(left->zeros[0]));
      offsets = builder.create<stablehlo::BroadcastInDimOp>(op->getLoc(), resultType.clone(writer.i32()), sums, kept.result);
    }
    return writer.rescaled(copy->getResult(0), offsets, scales, axis, *to);
  }

  DenseMap<Value, Value> storedValues;
};

} // namespace
} // namespace cupel::tir
