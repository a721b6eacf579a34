#include "cupel/compiler/brief/Body.h"

#include "cupel/compiler/brief/Brief.h"

#include "cupel/compiler/codegen/Body.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <cstring>

namespace cupel::brief {

using namespace mlir;

namespace {

/// What one unit of codegen::costOf takes in a plain loop.
constexpr double kNanosecondsPerCost = 0.6;

DType typeOf(Value value) { return *codegen::elementTypeOf(value.getType()); }
int64_t worked(DType type) { return tensor::info(computeType(type)).bytes; }

/// What is looked up in the tables.
llvm::StringRef nameOf(Operation *op) { return op->getName().stripDialect(); }

Direction directionOf(stablehlo::CompareOp compare) {
  switch (compare.getComparisonDirection()) {
  case stablehlo::ComparisonDirection::EQ:
    return Direction::EQ;
  case stablehlo::ComparisonDirection::NE:
    return Direction::NE;
  case stablehlo::ComparisonDirection::GE:
    return Direction::GE;
  case stablehlo::ComparisonDirection::GT:
    return Direction::GT;
  case stablehlo::ComparisonDirection::LE:
    return Direction::LE;
  case stablehlo::ComparisonDirection::LT:
    return Direction::LT;
  }
  llvm_unreachable("all directions are above");
}

ElementLoop loopFor(Operation *op) {
  Value last = op->getOperands().back();
  DType type = typeOf(last);
  if (isa<stablehlo::ConvertOp>(op))
    return convertLoop(type, typeOf(op->getResult(0)));
  if (isa<stablehlo::SelectOp>(op))
    return selectLoop(type);
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op))
    return compareLoop(directionOf(compare),
                       compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER, type);
  std::string_view name = nameOf(op);
  switch (tensor::info(type).kind) {
  case tensor::Kind::Float:
    return floatLoop(name, computeType(type));
  case tensor::Kind::Boolean:
    return booleanLoop(name);
  default:
    return integerLoop(name, type);
  }
}

/// Conversions round as they need to; picking one of the operands needs no rounding.
bool needsRounding(Operation *op) { return !isa<stablehlo::ConvertOp, stablehlo::SelectOp>(op); }

uint64_t bitsOf(stablehlo::ConstantOp constant) {
  auto value = cast<DenseElementsAttr>(constant.getValue());
  DType type = typeOf(constant.getResult());
  if (!tensor::isFloat(type))
    return value.getSplatValue<llvm::APInt>().getZExtValue();
  llvm::APFloat number = value.getSplatValue<llvm::APFloat>();
  bool isLost;
  number.convert(type == DType::F64 ? llvm::APFloat::IEEEdouble() : llvm::APFloat::IEEEsingle(),
                 llvm::APFloat::rmNearestTiesToEven, &isLost);
  return number.bitcastToAPInt().getZExtValue();
}

/// Functions that code computes in ways of its own; those of f64 are the C library's here and there.
bool isComputedOtherwise(Operation *op) {
  llvm::StringRef name = nameOf(op);
  DType type = typeOf(op->getResult(0));
  if (name == "rsqrt" || name == "power")
    return tensor::isFloat(type);
  static constexpr llvm::StringLiteral kFunctions[] = {
      "atan2", "cbrt",     "cosine", "erf", "exponential", "exponential_minus_one", "log",
      "log_plus_one", "logistic", "sine",   "tan", "tanh"};
  return type != DType::F64 && llvm::is_contained(kFunctions, name);
}

} // namespace

bool isExact(Block &block) {
  codegen::BodyOps ops(block);
  return llvm::none_of(ops.operations(), [&](Operation *op) {
    return ops.erfOf(op) || isComputedOtherwise(op);
  });
}

/// Gives every value an array, which others take over when nobody reads it any more.
class Body::Maker {
public:
  Maker(Block &block, int64_t width, bool isRow) : ops(block), hasRows(isRow) {
    body.width = width;
  }

  Result<Body> make() {
    for (Operation *op : ops.operations())
      for (Value operand : ops.operandsOf(op))
        lastUse[rootOf(operand)] = op;
    for (Value result : ops.end()->getOperands())
      lastUse[rootOf(result)] = ops.end();
    // Constants are written once, so that nobody else may have their place.
    for (Operation *op : ops.operations())
      if (Status status = addConstant(op); !status)
        return status.error();
    for (BlockArgument argument : ops.block().getArguments())
      body.inputs.push_back(arrays[argument] = take(isRow(argument)));
    for (Operation *op : ops.operations())
      if (Status status = add(op); !status)
        return status.error();
    for (Value result : ops.end()->getOperands())
      body.outputs.push_back(arrays.lookup(rootOf(result)));
    body.bytes = end;
    return std::move(body);
  }

private:
  /// All values of maps are arrays; those of rows may be single elements.
  bool isRow(Value value) const {
    return !hasRows || cast<RankedTensorType>(value.getType()).getRank() == 1;
  }

  /// What a value is another name for.
  Value rootOf(Value value) const {
    while (Operation *op = value.getDefiningOp()) {
      if (!codegen::isIdentity(op) || isRow(op->getOperand(0)) != isRow(value))
        break;
      value = op->getOperand(0);
    }
    return value;
  }

  Array take(bool isRow) {
    std::vector<int64_t> &idle = isRow ? idleRows : idleElements;
    if (!idle.empty()) {
      int64_t place = idle.back();
      idle.pop_back();
      return {place, isRow};
    }
    int64_t place = end;
    end += isRow ? (body.width * 8 + 63) / 64 * 64 : 64;
    return {place, isRow};
  }
  void giveBack(Array array) { (array.isRow ? idleRows : idleElements).push_back(array.place); }

  Status addConstant(Operation *op) {
    if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
      DType type = typeOf(iota.getResult());
      arrays[op->getResult(0)] = take(true);
      isFixed.insert(op->getResult(0));
      body.counted.push_back({arrays[op->getResult(0)].place, type});
      return {};
    }
    if (!codegen::isSplatConstant(op))
      return {};
    auto constant = cast<stablehlo::ConstantOp>(op);
    Array array = take(isRow(op->getResult(0)));
    arrays[op->getResult(0)] = array;
    isFixed.insert(op->getResult(0));
    body.constants.push_back({array.place, array.isRow ? body.width : 1, bitsOf(constant),
                              uint8_t(worked(typeOf(op->getResult(0))))});
    return {};
  }

  Status add(Operation *op) {
    Value result = op->getResult(0);
    if (isFixed.contains(result) || rootOf(result) != result)
      return {};
    SmallVector<Value> operands = ops.operandsOf(op);
    SmallVector<Array, 2> spreads; // Made for this operation alone.
    Step step;
    step.isRow = isRow(result);
    if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
      step.kind = Step::Combine;
      step.combine = combineLoop(*codegen::combinerOf(reduce.getBody()), typeOf(result));
      step.elementBytes = uint8_t(worked(typeOf(result)));
      step.in[0] = arrays.lookup(rootOf(operands[0])).place;
      step.in[1] = arrays.lookup(rootOf(operands[1])).place;
      if (!step.combine)
        return Error{ErrorCode::Unsupported, "a combination of such elements"};
    } else if (codegen::isIdentity(op)) {
      step.kind = Step::Spread;
      step.elementBytes = uint8_t(worked(typeOf(result)));
      step.in[0] = arrays.lookup(rootOf(operands[0])).place;
    } else {
      step.loop = ops.erfOf(op) ? floatLoop("erf", computeType(typeOf(result))) : loopFor(op);
      if (!step.loop || operands.size() > 3)
        return Error{ErrorCode::Unsupported, "no loop for " + op->getName().getStringRef().str()};
      if (auto less = dyn_cast<stablehlo::ReducePrecisionOp>(op))
        step.facts = {int(less.getExponentBits()), int(less.getMantissaBits())};
      for (auto [i, operand] : llvm::enumerate(operands)) {
        Array array = arrays.lookup(rootOf(operand));
        if (step.isRow && !array.isRow) { // A predicate or a limit for the whole row.
          Step spread;
          spread.kind = Step::Spread;
          spread.elementBytes = uint8_t(worked(typeOf(operand)));
          spread.in[0] = array.place;
          array = take(true);
          spread.out = array.place;
          spreads.push_back(array);
          body.steps.push_back(spread);
        }
        step.in[i] = array.place;
      }
      body.nanoseconds += kNanosecondsPerCost * codegen::costOf(op);
    }
    Array out = take(step.isRow);
    step.out = out.place;
    arrays[result] = out;
    body.steps.push_back(step);
    if (ElementLoop round = roundLoop(typeOf(result)); round && needsRounding(op) &&
                                                       step.kind != Step::Spread) {
      Step rounding;
      rounding.isRow = step.isRow;
      rounding.loop = round;
      rounding.in[0] = rounding.out = out.place;
      body.steps.push_back(rounding);
    }
    for (Array array : spreads)
      giveBack(array);
    llvm::SmallDenseSet<Value, 4> seen;
    for (Value operand : operands) {
      Value root = rootOf(operand);
      if (lastUse.lookup(root) == op && !isFixed.contains(root) && seen.insert(root).second)
        giveBack(arrays.lookup(root));
    }
    return {};
  }

  Body body;
  codegen::BodyOps ops;
  bool hasRows;
  llvm::DenseMap<Value, Array> arrays;
  llvm::DenseMap<Value, Operation *> lastUse;
  llvm::DenseSet<Value> isFixed;
  std::vector<int64_t> idleRows, idleElements;
  int64_t end = 0;
};

Result<Body> Body::make(Block &block, int64_t width, bool isRow) {
  return Maker(block, width, isRow).make();
}

void Body::spread(const std::byte *element, int64_t bytes, int64_t count, std::byte *to) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * bytes, element, size_t(bytes));
}

void Body::begin(std::byte *scratch) const {
  for (const Constant &constant : constants)
    spread(reinterpret_cast<const std::byte *>(&constant.bits), constant.elementBytes,
           constant.count, scratch + constant.place);
  for (const Counted &one : counted) {
    std::byte *numbers = scratch + one.place;
    tensor::dispatch(computeType(one.type), [&]<DType type>() {
      if constexpr (!tensor::isComplex(type))
        for (int64_t i = 0; i < width; ++i)
          reinterpret_cast<tensor::Storage<type> *>(numbers)[i] = tensor::Storage<type>(i);
    });
    const void *in[] = {numbers, nullptr, nullptr};
    if (ElementLoop round = roundLoop(one.type))
      round(in, numbers, width, {});
  }
}

void Body::run(std::byte *scratch, int64_t count) const {
  for (const Step &step : steps) {
    int64_t own = step.isRow ? count : 1;
    switch (step.kind) {
    case Step::Loop: {
      const void *in[] = {scratch + step.in[0], scratch + step.in[1], scratch + step.in[2]};
      step.loop(in, scratch + step.out, own, step.facts);
      break;
    }
    case Step::Spread:
      spread(scratch + step.in[0], step.elementBytes, own, scratch + step.out);
      break;
    case Step::Combine:
      std::memcpy(scratch + step.out, scratch + step.in[1], step.elementBytes);
      step.combine(scratch + step.in[0], count, scratch + step.out);
      break;
    }
  }
}

} // namespace cupel::brief
