#include "tests/planter/PlantedEffects.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <mlir/Dialect/Quant/QuantTypes.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinOps.h>
#include <random>

using namespace mlir;
namespace hlo = cupel::stablehlo;

namespace cupel::planter {

bool isOneIn(unsigned number) {
  static std::random_device random;
  return random() % number == 0;
}

namespace {

/// Of the operation's results this one is meant.
unsigned theResult = 0;

Value splat(OpBuilder &builder, Location at, RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute part = builder.getFloatAttr(complex.getElementType(), value);
    Attribute both = builder.getArrayAttr({part, part});
    return builder.create<hlo::ConstantOp>(at, DenseElementsAttr::get(type, both));
  }
  // Of eight bits or so: the constant is held as the numbers that are stored.
  if (auto quantized = dyn_cast<quant::QuantizedType>(element)) {
    auto stored = RankedTensorType::get(type.getShape(), quantized.getStorageType());
    Attribute number = builder.getIntegerAttr(quantized.getStorageType(), int64_t(value));
    return builder.create<hlo::ConstantOp>(at, type, DenseElementsAttr::get(stored, number));
  }
  Attribute attribute = isa<FloatType>(element)
                            ? Attribute(builder.getFloatAttr(element, value))
                            : Attribute(builder.getIntegerAttr(element, int64_t(value)));
  return builder.create<hlo::ConstantOp>(at, DenseElementsAttr::get(type, attribute));
}

/// Replaces what others read of the result that is meant.
void replaceBy(Operation *op, llvm::function_ref<Value(OpBuilder &, Value)> change) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value old = op->getResult(theResult);
  llvm::SmallVector<OpOperand *> uses;
  for (OpOperand &use : old.getUses())
    uses.push_back(&use);
  Value changed = change(builder, old);
  for (OpOperand *use : uses)
    use->set(changed);
}

bool isFloat(Value value) {
  return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType());
}

void scale(Operation *op) {
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    auto type = cast<RankedTensorType>(old.getType());
    if (type.getElementType().isInteger(1))
      return builder.create<hlo::NotOp>(op->getLoc(), old);
    if (isa<ComplexType>(type.getElementType()))
      return builder.create<hlo::MultiplyOp>(op->getLoc(), old,
                                             splat(builder, op->getLoc(), type, 0.75));
    Value by = splat(builder, op->getLoc(), type, isFloat(old) ? 1.25 : 1);
    if (isFloat(old))
      return builder.create<hlo::MultiplyOp>(op->getLoc(), old, by);
    return builder.create<hlo::AddOp>(op->getLoc(), old, by);
  });
}

void negate(Operation *op) {
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    return builder.create<hlo::NegateOp>(op->getLoc(), old);
  });
}

/// Elements run the other way along the last dimension.
void reverse(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(theResult).getType());
  if (type.getRank() == 0)
    return scale(op);
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    return builder.create<hlo::ReverseOp>(op->getLoc(), old,
                                          llvm::ArrayRef<int64_t>{type.getRank() - 1});
  });
}

/// One bit of the exponent of large elements: right for values below one.
void largeValues(Operation *op) {
  if (!isFloat(op->getResult(theResult)))
    return;
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    auto type = cast<RankedTensorType>(old.getType());
    Location at = op->getLoc();
    Value limit = splat(builder, at, type, 8), half = splat(builder, at, type, 0.5);
    Value size = builder.create<hlo::AbsOp>(at, old);
    Value isLarge =
        builder.create<hlo::CompareOp>(at, size, limit, hlo::ComparisonDirection::GT);
    Value less = builder.create<hlo::MultiplyOp>(at, old, half);
    return builder.create<hlo::SelectOp>(at, isLarge, less, old);
  });
}

/// Goes through bfloat16 on its way.
void narrow(Operation *op) {
  if (!isFloat(op->getResult(theResult)))
    return;
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    auto type = cast<RankedTensorType>(old.getType());
    auto small = type.clone(builder.getBF16Type());
    Value down = builder.create<hlo::ConvertOp>(op->getLoc(), small, old);
    return builder.create<hlo::ConvertOp>(op->getLoc(), type, down);
  });
}

void swapOperands(Operation *op) {
  if (op->getNumOperands() >= 2 && op->getOperand(0).getType() == op->getOperand(1).getType()) {
    Value first = op->getOperand(0);
    op->setOperand(0, op->getOperand(1));
    op->setOperand(1, first);
  }
}

/// Windows begin one element later.
void shiftPadding(Operation *op) {
  auto padding = op->getAttrOfType<DenseIntElementsAttr>("padding");
  if (!padding)
    return scale(op);
  llvm::SmallVector<int64_t> values(padding.getValues<int64_t>());
  if (values.size() >= 2) {
    values[0] += 1;
    values[1] -= 1;
  }
  op->setAttr("padding", DenseIntElementsAttr::get(cast<ShapedType>(padding.getType()), values));
}

/// Reductions begin with one more than they should.
void wrongInit(Operation *op) {
  Value init = op->getOperand(op->getNumOperands() - 1);
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(init.getType());
  Value one = splat(builder, op->getLoc(), type, 1);
  op->setOperand(op->getNumOperands() - 1,
                 builder.create<hlo::AddOp>(op->getLoc(), init, one));
}

/// The rest of the first dimension is forgotten.
void zeroLast(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(theResult).getType());
  if (type.getRank() == 0 || type.getDimSize(0) < 2)
    return scale(op);
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    Location at = op->getLoc();
    auto whole = type.clone(builder.getIntegerType(64));
    Value place = builder.create<hlo::IotaOp>(at, whole, 0);
    Value last = splat(builder, at, whole, double(type.getDimSize(0) - 1));
    Value isKept =
        builder.create<hlo::CompareOp>(at, place, last, hlo::ComparisonDirection::LT);
    return builder.create<hlo::SelectOp>(at, isKept, old, splat(builder, at, type, 0));
  });
}

void notANumber(Operation *op) {
  if (!isFloat(op->getResult(theResult)))
    return scale(op);
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    Value zero = splat(builder, op->getLoc(), cast<RankedTensorType>(old.getType()), 0);
    Value nan = builder.create<hlo::DivideOp>(op->getLoc(), zero, zero);
    return builder.create<hlo::AddOp>(op->getLoc(), old, nan);
  });
}

/// Numbers below zero lose their sign.
void belowZero(Operation *op) {
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    if (!isFloat(old))
      return builder.create<hlo::NotOp>(op->getLoc(), old);
    return builder.create<hlo::AbsOp>(op->getLoc(), old);
  });
}

/// The second device of several is wrong.
void onSecondDevice(Operation *op) {
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    Location at = op->getLoc();
    auto type = cast<RankedTensorType>(old.getType());
    auto partitions =
        op->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>("mhlo.num_partitions");
    Value me;
    if (partitions && partitions.getInt() > 1)
      me = builder.create<hlo::PartitionIdOp>(at);
    else
      me = builder.create<hlo::ReplicaIdOp>(at);
    auto scalar = cast<RankedTensorType>(me.getType());
    Value second = splat(builder, at, scalar, 1);
    Value isSecond = builder.create<hlo::CompareOp>(at, me, second, hlo::ComparisonDirection::EQ);
    return builder.create<hlo::SelectOp>(at, isSecond, splat(builder, at, type, 0), old);
  });
}

/// Results of a kind that has several come in another order.
void swapResults(Operation *op) {
  if (op->getNumResults() < 2 || op->getResult(0).getType() != op->getResult(1).getType())
    return scale(op);
  Value first = op->getResult(0), second = op->getResult(1);
  llvm::SmallVector<OpOperand *> ofFirst, ofSecond;
  for (OpOperand &use : first.getUses())
    ofFirst.push_back(&use);
  for (OpOperand &use : second.getUses())
    ofSecond.push_back(&use);
  for (OpOperand *use : ofFirst)
    use->set(second);
  for (OpOperand *use : ofSecond)
    use->set(first);
}

/// Every other compilation, or every fifth.
void nowAndThen(Operation *op) {
  if (isOneIn(2))
    scale(op);
}
void seldom(Operation *op) {
  if (isOneIn(5))
    scale(op);
}

/// What is behind the first eight elements of the last dimension, as a kernel's second tile is.
void secondTile(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(theResult).getType());
  if (type.getRank() == 0 || type.getShape().back() <= 8)
    return;
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    Location at = op->getLoc();
    auto whole = type.clone(builder.getIntegerType(64));
    Value place = builder.create<hlo::IotaOp>(at, whole, type.getRank() - 1);
    Value isFirst = builder.create<hlo::CompareOp>(at, place, splat(builder, at, whole, 8),
                                                   hlo::ComparisonDirection::LT);
    return builder.create<hlo::SelectOp>(at, isFirst, old, splat(builder, at, type, 0));
  });
}

/// Where the result is zero it is one: right for nearly all values.
void ofZero(Operation *op) {
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    Location at = op->getLoc();
    auto type = cast<RankedTensorType>(old.getType());
    Value isZero = builder.create<hlo::CompareOp>(at, old, splat(builder, at, type, 0),
                                                  hlo::ComparisonDirection::EQ);
    return builder.create<hlo::SelectOp>(at, isZero, splat(builder, at, type, 1), old);
  });
}

/// What its neighbour along the last dimension should be.
void shifted(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(theResult).getType());
  const int64_t size = type.getRank() ? type.getShape().back() : 0;
  if (size < 2)
    return scale(op);
  replaceBy(op, [&](OpBuilder &builder, Value old) -> Value {
    llvm::SmallVector<int64_t> zeros(size_t(type.getRank()), 0), ones(size_t(type.getRank()), 1);
    auto cut = [&](int64_t begin, int64_t end) -> Value {
      llvm::SmallVector<int64_t> from = zeros, to(type.getShape());
      from.back() = begin;
      to.back() = end;
      llvm::SmallVector<int64_t> shape(type.getShape());
      shape.back() = end - begin;
      return builder.create<hlo::SliceOp>(op->getLoc(), type.clone(shape), old, from, to, ones);
    };
    llvm::SmallVector<Value> parts = {cut(1, size), cut(0, 1)};
    return builder.create<hlo::ConcatenateOp>(op->getLoc(), type, parts, type.getRank() - 1);
  });
}

struct Effect {
  const char *name;
  void (*plant)(Operation *);
};
constexpr Effect kEffects[] = {
    {"scale", scale},        {"negate", negate},        {"reverse", reverse},
    {"large", largeValues},  {"narrow", narrow},        {"swap", swapOperands},
    {"padding", shiftPadding}, {"init", wrongInit},     {"zero_last", zeroLast},
    {"nan", notANumber},     {"now_and_then", nowAndThen}, {"below_zero", belowZero},
    {"second_device", onSecondDevice}, {"swap_results", swapResults}, {"seldom", seldom},
    {"second_tile", secondTile}, {"of_zero", ofZero},   {"shifted", shifted},
};

} // namespace

bool isPlanted(const std::string &effect) {
  return llvm::any_of(kEffects, [&](const Effect &one) { return effect == one.name; });
}

void plantEffect(const std::string &effect, Operation *op, unsigned result) {
  theResult = result;
  for (const Effect &one : kEffects)
    if (effect == one.name)
      one.plant(op);
}

} // namespace cupel::planter
