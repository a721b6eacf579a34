#include "cupel/compiler/passes/HoistConstants.h"

#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_HOISTCONSTANTS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

/// Whether a device's compiler may need to know the operand: it decides a shape, or nobody here
/// knows what becomes of it.
bool needsConstant(Operation *user) {
  return user->hasTrait<stablehlo::ShapeFromValues>() || user->hasTrait<stablehlo::Opaque>() ||
         isa<func::CallOp>(user);
}

/// Whether a value is used in a way that keeps it where it is. Shapes are often computed from
/// constants by a few operations on the way.
bool isBound(Value value, unsigned depth = 0) {
  for (Operation *user : value.getUsers()) {
    if (needsConstant(user))
      return true;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    bool isSmallInteger = type && type.getElementType().isIntOrIndex() && type.getRank() <= 1 &&
                          type.hasStaticShape() && type.getNumElements() <= 16;
    if (isSmallInteger && depth < 8)
      for (Value result : user->getResults())
        if (isBound(result, depth + 1))
          return true;
  }
  return false;
}

/// A value that says how something is computed rather than what with: an epsilon, the start of a sum, a
/// step, a few sizes. Compilers decide by it which kernel they take.
bool isParameter(ElementsAttr value) { return value.isSplat() || value.getNumElements() <= 16; }

/// Whether numbers are used as scales of integers, or taken from them as their zero points, each for many of them: which kernel a
/// compiler takes for quantized weights depends on these, and the weights themselves are hoisted.
bool isOfQuantization(OpOperand &use, int64_t count) {
  Operation *user = use.getOwner();
  if (user->hasTrait<stablehlo::MovesElements>() && user->getNumResults() == 1)
    return !user->use_empty() && llvm::all_of(user->getUses(), [&](OpOperand &next) { return isOfQuantization(next, count); });
  // A factor, or what is taken from the other side.
  bool isPart = user->hasTrait<stablehlo::LinearInEach>() || (user->hasTrait<stablehlo::Linear>() && use.getOperandNumber() == 1);
  if (!isPart || !user->hasTrait<stablehlo::Elementwise>() || user->getNumOperands() != 2)
    return false;
  Operation *other = user->getOperand(1 - use.getOperandNumber()).getDefiningOp();
  bool isConversion = other && other->hasTrait<stablehlo::Elementwise>() && other->getNumOperands() == 1;
  auto from = isConversion ? dyn_cast<RankedTensorType>(other->getOperand(0).getType()) : RankedTensorType();
  return from && from.hasStaticShape() && from.getNumElements() > count && isa<IntegerType>(from.getElementType()) &&
         !from.getElementType().isInteger(1) && from != other->getResult(0).getType();
}

bool isOfQuantization(OpOperand &use) {
  auto type = dyn_cast<RankedTensorType>(use.get().getType());
  return type && type.hasStaticShape() && isOfQuantization(use, type.getNumElements());
}

/// Integers by which floats are chosen rather than computed: places that they are gathered from, as an image is enlarged or padded. Compilers make other
/// operations of what reads such.
bool isPlaces(Value value) {
  auto isOfFloats = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType());
  };
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto integer = type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
  constexpr unsigned kOfPlaces = 32; // Narrower ones are weights.
  return integer && integer.getWidth() >= kOfPlaces && llvm::all_of(value.getUsers(), [&](Operation *user) {
    return !user->hasTrait<stablehlo::Elementwise>() && user->getNumOperands() > 1 && user->getNumResults() > 0 &&
           llvm::all_of(user->getResultTypes(), isOfFloats);
  });
}

/// What a compiler could compute by itself, and which of it only the device may. A parameter beside a
/// value that is not known stays where users have it.
class KnownValues {
public:
  KnownValues(Block &body, const SymbolTable &symbols) : body(body) {
    for (Operation &op : body)
      if (isKnown(op, symbols))
        known.insert(op.result_begin(), op.result_end());
    for (Operation &op : llvm::reverse(body))
      for (Value result : op.getResults())
        if (llvm::any_of(result.getUses(), [&](OpOperand &use) { return wouldShow(use); }))
          shown.insert(result);
  }

  /// Whether something would be known that the device is to compute, if this were.
  bool isShown(Value value) const { return shown.contains(value); }

  /// A number beside tensors that a region combines with their elements.
  static bool isStartOfSum(const OpOperand &use, Operation *op) {
    auto isNumber = [](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && type.getRank() == 0;
    };
    return use.getOwner() == op && op->getNumRegions() == 1 && !op->hasTrait<stablehlo::Loops>() &&
           isNumber(use.get()) && !llvm::all_of(op->getOperands(), isNumber);
  }

private:
  bool isKnown(Operation &op, const SymbolTable &symbols) const {
    if (op.getNumResults() > 0 && llvm::all_of(op.getResults(), [&](Value v) { return constantOf(v, symbols) != nullptr; }))
      return true;
    // Without operands and known: numbers that are counted.
    if (op.getNumResults() == 0 || op.hasTrait<stablehlo::Opaque>() || op.hasTrait<stablehlo::DependsOnProcess>() ||
        op.hasTrait<stablehlo::Collective>() || op.hasTrait<stablehlo::ActsOutside>() || isa<func::CallOp>(op))
      return false;
    auto isFromHere = [&](Value value) { return value.getParentBlock() == &body; };
    return !op.walk([&](Operation *inner) {
                 for (Value operand : inner->getOperands())
                   if (isFromHere(operand) && !known.contains(operand))
                     return WalkResult::interrupt();
                 return WalkResult::advance();
               })
                .wasInterrupted();
  }

  bool wouldShow(OpOperand &use) const {
    Operation *user = body.findAncestorOpInBlock(*use.getOwner());
    if (isOfQuantization(use))
      return false;
    if (user->hasTrait<OpTrait::IsTerminator>())
      return true;
    if (user->getNumResults() == 0 || !known.contains(user->getResult(0)) || isStartOfSum(use, user))
      return false;
    if (!user->hasTrait<stablehlo::MovesElements>())
      return true;
    return llvm::any_of(user->getResults(), [&](Value result) { return shown.contains(result); });
  }

  Block &body;
  DenseSet<Value> known, shown;
};

struct HoistConstantsPass : public impl::HoistConstantsBase<HoistConstantsPass> {
  using HoistConstantsBase::HoistConstantsBase;

  void runOnOperation() override {
    std::vector<ElementsAttr> values = hoistConstants(getOperation());
    getOperation()->setAttr(
        "cupel.hoisted_constants",
        Builder(&getContext()).getArrayAttr(SmallVector<Attribute>(values.begin(), values.end())));
  }
};

} // namespace

ElementsAttr constantOf(Value value, const SymbolTable &symbols) {
  Operation *op = value.getDefiningOp();
  if (ElementsAttr constant; op && matchPattern(op, m_Constant(&constant)))
    return constant.getType() == value.getType() ? constant : nullptr;
  auto call = dyn_cast_or_null<func::CallOp>(op);
  if (!call || call->getNumOperands() != 0)
    return nullptr;
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
    return nullptr;
  unsigned index = cast<OpResult>(value).getResultNumber();
  Operation *terminator = callee.getBody().front().getTerminator();
  if (index >= terminator->getNumOperands())
    return nullptr;
  ElementsAttr constant;
  bool isKnown = matchPattern(terminator->getOperand(index), m_Constant(&constant));
  return isKnown && constant.getType() == value.getType() ? constant : nullptr;
}

std::vector<ElementsAttr> hoistConstants(ModuleOp module) {
  std::vector<ElementsAttr> values;
  SymbolTable symbols(module);
  auto main = symbols.lookup<func::FuncOp>("main");
  if (!main || main.isExternal())
    return values;
  Block &body = main.getBody().front();
  KnownValues knownValues(body, symbols);
  SmallVector<std::pair<Value, ElementsAttr>> found;
  for (Operation &op : body) {
    // A sharding or the like is the operation's, and what follows may depend on it.
    if (!op.getDiscardableAttrs().empty())
      continue;
    for (Value result : op.getResults())
      if (ElementsAttr value = constantOf(result, symbols);
          value && !result.use_empty() && !isBound(result) &&
          (isParameter(value) || isPlaces(result)
               ? knownValues.isShown(result)
               : !llvm::all_of(result.getUses(), [](OpOperand &use) { return isOfQuantization(use); })))
        found.emplace_back(result, value);
  }
  for (auto [result, value] : found) {
    main.insertArgument(main.getNumArguments(), result.getType(), {}, result.getLoc());
    // Where a number is the start of a sum as well, it stays that: compilers decide by it which kernel they take.
    result.replaceUsesWithIf(body.getArguments().back(), [](OpOperand &use) { return !KnownValues::isStartOfSum(use, use.getOwner()); });
    values.push_back(value);
  }
  for (Operation &op : llvm::make_early_inc_range(body))
    if (op.use_empty() && op.getNumResults() > 0 &&
        llvm::all_of(op.getResults(), [&](Value v) { return constantOf(v, symbols) != nullptr; }))
      op.erase();
  return values;
}

} // namespace cupel::compiler
