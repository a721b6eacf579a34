#include "cupel/compiler/codegen/Body.h"

#include "cupel/compiler/codegen/VectorMath.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <limits>

namespace cupel::codegen {
namespace {

Error refuse(const std::string &what) { return Error{ErrorCode::Unsupported, what}; }
Error refuse(mlir::Operation *op, const std::string &why) {
  return refuse("no code is made for " + op->getName().getStringRef().str() + why);
}

mlir::DenseElementsAttr splatOf(mlir::Operation *op) {
  auto constant = mlir::dyn_cast<stablehlo::ConstantOp>(op);
  auto value = constant ? mlir::dyn_cast<mlir::DenseElementsAttr>(constant.getValue())
                        : mlir::DenseElementsAttr();
  return value && value.isSplat() && value.getNumElements() > 0 ? value : mlir::DenseElementsAttr();
}

/// A scalar or a row of this length (-1: no rows).
bool isKnownShape(mlir::Type type, int64_t length) {
  auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!shaped || !shaped.hasStaticShape() || shaped.getEncoding())
    return false;
  return shaped.getRank() == 0 ||
         (shaped.getRank() == 1 && length >= 0 && shaped.getDimSize(0) == length);
}

Status checkReduce(stablehlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1)
    return refuse(reduce, " of more than one tensor");
  std::optional<Combiner> combiner = combinerOf(reduce.getBody());
  if (!combiner)
    return refuse(reduce, " with such a computation");
  mlir::Value input = reduce.getInputs()[0];
  std::optional<DType> type = elementTypeOf(input.getType());
  if (!type || elementTypeOf(reduce.getInitValues()[0].getType()) != type ||
      elementTypeOf(reduce.getResults()[0].getType()) != type)
    return refuse(reduce, " on mixed or unknown element types");
  if (!isDefinedOn(*combiner, *type))
    return refuse(reduce, " on elements of type " + std::string(tensor::info(*type).name));
  if (mlir::cast<mlir::RankedTensorType>(input.getType()).getRank() != 1 ||
      reduce.getDimensions() != ArrayRef<int64_t>{0})
    return refuse(reduce, " of anything but a row");
  return {};
}

Status checkOperation(mlir::Operation *op, int64_t length) {
  for (mlir::Type type : llvm::concat<const mlir::Type>(llvm::to_vector(op->getOperandTypes()),
                                                        llvm::to_vector(op->getResultTypes())))
    if (!isKnownShape(type, length)) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return refuse(op, " on " + text);
    }
  if (auto reduce = mlir::dyn_cast<stablehlo::ReduceOp>(op); reduce && length >= 0)
    return checkReduce(reduce);
  if (mlir::isa<stablehlo::IotaOp>(op) && length >= 0) {
    if (!elementTypeOf(op->getResult(0).getType()))
      return refuse(op, " of this type");
    return {};
  }
  if (mlir::isa<stablehlo::ConstantOp>(op)) {
    if (!isSplatConstant(op) || !elementTypeOf(op->getResult(0).getType()))
      return refuse(op, " of this value or type");
    return {};
  }
  if (isIdentity(op)) {
    if (!elementTypeOf(op->getResult(0).getType()))
      return refuse(op, " of this type");
    return {};
  }
  return checkElementwise(op);
}

Status checkBody(mlir::Block &body, int64_t length, ArrayRef<View> inputs, ArrayRef<View> outputs) {
  auto checkTypes = [&](mlir::ValueRange values, ArrayRef<View> views, const char *what) -> Status {
    if (values.size() != views.size())
      return Error{"a kernel has " + std::to_string(views.size()) + " views for the " +
                   std::to_string(values.size()) + " " + what + " of its body"};
    for (auto [value, view] : llvm::zip(values, views)) {
      if (!isKnownShape(value.getType(), length))
        return refuse("no code is made for bodies on tensors of such a shape");
      std::optional<DType> type = elementTypeOf(value.getType());
      if (!type)
        return refuse("no code is made for bodies on such elements");
      if (*type != view.type)
        return Error{"a view's element type is not that of the body"};
    }
    return {};
  };
  if (Status status = checkTypes(body.getArguments(), inputs, "arguments"); !status)
    return status;
  if (!body.mightHaveTerminator())
    return Error{"the body of a kernel has no terminator"};
  mlir::Operation *end = body.getTerminator();
  if (Status status = checkTypes(end->getOperands(), outputs, "results"); !status)
    return status;
  for (mlir::Operation &op : body.without_terminator())
    if (Status status = checkOperation(&op, length); !status)
      return status;
  return {};
}

V emitConstant(Emitter &e, mlir::Operation *op) {
  mlir::DenseElementsAttr value = splatOf(op);
  DType type = *elementTypeOf(op->getResult(0).getType());
  llvm::Type *vector = e.vectorOf(e.computeType(type));
  if (!tensor::isFloat(type))
    return e.integer(vector, value.getSplatValue<llvm::APInt>().getZExtValue());
  llvm::APFloat number = value.getSplatValue<llvm::APFloat>();
  bool losesInfo;
  number.convert(type == DType::F64 ? llvm::APFloat::IEEEdouble() : llvm::APFloat::IEEEsingle(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return llvm::ConstantFP::get(vector, number);
}

} // namespace

bool isSplatConstant(mlir::Operation *op) { return static_cast<bool>(splatOf(op)); }

bool isIdentity(mlir::Operation *op) {
  if (!mlir::isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(op))
    return false;
  // A row stays a row or a scalar becomes one; a row of length 1 has one element either way.
  auto from = mlir::cast<mlir::RankedTensorType>(op->getOperandTypes()[0]);
  auto to = mlir::cast<mlir::RankedTensorType>(op->getResultTypes()[0]);
  return from.getRank() == 0 || from == to;
}

std::optional<Combiner> combinerOf(mlir::Region &region) {
  if (!region.hasOneBlock())
    return std::nullopt;
  mlir::Block &block = region.front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return std::nullopt;
  mlir::Operation *op = &block.front(), *end = block.getTerminator();
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 || end->getNumOperands() != 1 ||
      end->getOperand(0) != op->getResult(0))
    return std::nullopt;
  mlir::Value a = block.getArgument(0), b = block.getArgument(1);
  bool takesBoth = (op->getOperand(0) == a && op->getOperand(1) == b) ||
                   (op->getOperand(0) == b && op->getOperand(1) == a);
  if (!takesBoth)
    return std::nullopt;
  return llvm::StringSwitch<std::optional<Combiner>>(op->getName().getStringRef())
      .Case("stablehlo.add", Combiner::Add)
      .Case("stablehlo.multiply", Combiner::Multiply)
      .Case("stablehlo.maximum", Combiner::Maximum)
      .Case("stablehlo.minimum", Combiner::Minimum)
      .Case("stablehlo.and", Combiner::And)
      .Case("stablehlo.or", Combiner::Or)
      .Case("stablehlo.xor", Combiner::Xor)
      .Default(std::nullopt);
}

Status checkMapBody(mlir::Block &body, ArrayRef<View> inputs, ArrayRef<View> outputs) {
  return checkBody(body, -1, inputs, outputs);
}
Status checkRowBody(mlir::Block &body, int64_t length, ArrayRef<View> inputs,
                    ArrayRef<View> outputs) {
  return checkBody(body, length, inputs, outputs);
}

std::string describe(mlir::Block &body) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  for (mlir::BlockArgument argument : body.getArguments()) {
    numbers.try_emplace(argument, numbers.size());
    os << argument.getType() << ';';
  }
  for (mlir::Operation &op : body) {
    bool isEnd = &op == &body.back();
    os << (isEnd ? "end" : op.getName().getStringRef());
    for (mlir::Value operand : op.getOperands())
      os << ' ' << numbers.lookup(operand);
    // What results say is part of the meaning: `convert` has nothing else.
    for (mlir::Value result : op.getResults()) {
      numbers.try_emplace(result, numbers.size());
      os << ' ' << result.getType();
    }
    if (!isEnd)
      os << op.getAttrDictionary();
    for (mlir::Region &region : op.getRegions())
      if (std::optional<Combiner> combiner = combinerOf(region))
        os << " combiner " << static_cast<int>(*combiner);
    os << ';';
  }
  return text;
}

void emitOperation(Emitter &e, const BodyOps &body, mlir::Operation *op, Values &values, bool changes) {
  SmallVector<V> operands;
  for (mlir::Value operand : body.operandsOf(op))
    operands.push_back(values.lookup(operand));
  auto isGate = [&](unsigned operand) { return mlir::isa<stablehlo::MultiplyOp>(op) && values.gates.contains(op->getOperand(operand)); };
  V value;
  if (isSplatConstant(op)) {
    value = emitConstant(e, op);
  } else if (changes && body.isGate(op)) {
    value = emitGate(e, operands[0]);
    values.gates.insert(op->getResult(0));
  } else if (isGate(0) || isGate(1)) {
    value = isGate(0) ? emitGated(e, operands[1], operands[0]) : emitGated(e, operands[0], operands[1]);
  } else if (body.erfOf(op)) {
    value = emitErf(e, operands[0]);
  } else {
    value = isIdentity(op) ? operands[0] : emitElementwise(e, op, operands);
  }
  values[op->getResult(0)] = value;
}

//===----------------------------------------------------------------------===//
// Combiners
//===----------------------------------------------------------------------===//

bool isDefinedOn(Combiner combiner, DType type) {
  return !tensor::isFloat(type) || combiner < Combiner::And;
}

V emitCombine(Emitter &e, Combiner combiner, DType type, V a, V b) {
  bool isFloat = tensor::isFloat(type), isBoolean = type == DType::I1;
  bool isSigned = tensor::info(type).kind == tensor::Kind::Signed;
  switch (combiner) {
  case Combiner::Add:
    return isFloat ? e.CreateFAdd(a, b) : isBoolean ? e.CreateOr(a, b) : e.CreateAdd(a, b);
  case Combiner::Multiply:
    return isFloat ? e.CreateFMul(a, b) : isBoolean ? e.CreateAnd(a, b) : e.CreateMul(a, b);
  case Combiner::Maximum:
    if (isFloat)
      return emitMaximum(e, a, b);
    return e.CreateSelect(isSigned ? e.CreateICmpSGT(a, b) : e.CreateICmpUGT(a, b), a, b);
  case Combiner::Minimum:
    if (isFloat)
      return emitMinimum(e, a, b);
    return e.CreateSelect(isSigned ? e.CreateICmpSLT(a, b) : e.CreateICmpULT(a, b), a, b);
  case Combiner::And:
    return e.CreateAnd(a, b);
  case Combiner::Or:
    return e.CreateOr(a, b);
  case Combiner::Xor:
    return e.CreateXor(a, b);
  }
  llvm_unreachable("all combiners are above");
}

namespace {

/// One instruction has the greater or lesser of numbers, zeros in order. That leaves NaN out, which is looked
/// for beside it, in two vectors at a time.
bool findsNanApart(Emitter &e, Combiner combiner, DType type) {
  return e.target.hasScale && tensor::isFloat(type) && e.computeType(type)->isFloatTy() &&
         (combiner == Combiner::Maximum || combiner == Combiner::Minimum);
}

V combineNumbers(Emitter &e, Combiner combiner, DType type, V a, V b) {
  return findsNanApart(e, combiner, type) ? e.range(a, b, combiner == Combiner::Maximum)
                                          : emitCombine(e, combiner, type, a, b);
}

} // namespace

SmallVector<V> startOf(Emitter &e, Combiner combiner, DType type) {
  SmallVector<V> start(kAccumulators, neutralOf(e, combiner, type));
  if (findsNanApart(e, combiner, type))
    start.push_back(e.integer(e.vectorOf(e.getInt1Ty()), 0));
  return start;
}

void accumulate(Emitter &e, Combiner combiner, DType type, MutableArrayRef<V> accumulators,
                ArrayRef<V> values) {
  // They take turns by changing places: in a loop of one body, moves between registers are free.
  MutableArrayRef<V> turns = accumulators.take_front(kAccumulators);
  for (V value : values) {
    V oldest = combineNumbers(e, combiner, type, turns[0], value);
    for (size_t i = 0; i + 1 < turns.size(); ++i)
      turns[i] = turns[i + 1];
    turns.back() = oldest;
  }
  if (findsNanApart(e, combiner, type))
    for (size_t i = 0; i < values.size(); i += 2) {
      V isNan = e.CreateFCmpUNO(values[i], values[std::min(i + 1, values.size() - 1)]);
      accumulators.back() = e.CreateOr(accumulators.back(), isNan);
    }
}

V combineAll(Emitter &e, Combiner combiner, DType type, ArrayRef<V> accumulators) {
  SmallVector<V> left(accumulators.take_front(kAccumulators));
  for (; left.size() > 1; left.resize(left.size() / 2))
    for (size_t i = 0; i < left.size() / 2; ++i)
      left[i] = combineNumbers(e, combiner, type, left[2 * i], left[2 * i + 1]);
  V all = left[0];
  for (unsigned half = e.lanes / 2; half > 0; half /= 2) {
    SmallVector<int> other;
    for (unsigned lane = 0; lane < e.lanes; ++lane)
      other.push_back(static_cast<int>(lane ^ half));
    all = combineNumbers(e, combiner, type, all, e.CreateShuffleVector(all, other));
  }
  if (findsNanApart(e, combiner, type))
    all = e.CreateSelect(e.any(accumulators.back()), e.bits(all->getType(), 0x7fc00000), all);
  return all;
}

V neutralOf(Emitter &e, Combiner combiner, DType type) {
  llvm::Type *vector = e.vectorOf(e.computeType(type));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  bool isSigned = tensor::info(type).kind == tensor::Kind::Signed;
  unsigned bits = vector->getScalarSizeInBits();
  if (tensor::isFloat(type)) {
    switch (combiner) {
    case Combiner::Add:
      return e.number(vector, -0.0); // -0 + x is x for both zeros.
    case Combiner::Multiply:
      return e.number(vector, 1);
    case Combiner::Maximum:
      return e.number(vector, -kInfinity);
    default:
      return e.number(vector, kInfinity);
    }
  }
  auto constant = [&](const llvm::APInt &value) { return llvm::ConstantInt::get(vector, value); };
  switch (combiner) {
  case Combiner::Multiply:
    return constant(llvm::APInt(bits, 1));
  case Combiner::And:
    return constant(llvm::APInt::getAllOnes(bits));
  case Combiner::Maximum:
    return constant(isSigned ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits));
  case Combiner::Minimum:
    return constant(isSigned ? llvm::APInt::getSignedMaxValue(bits)
                             : llvm::APInt::getAllOnes(bits));
  default:
    return constant(llvm::APInt::getZero(bits));
  }
}

} // namespace cupel::codegen
