#include "cupel/compiler/passes/NarrowProducts.h"

#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_NARROWPRODUCTS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

bool isF32(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32() && !type.getEncoding();
}

/// Moves of numbers, which can as well be done to rounded ones: kernels read through them.
bool isMove(Operation *op) {
  return isa_and_nonnull<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op);
}

/// A product that is to take bf16, and does not yet.
bool isNarrowable(Operation *op) {
  if (!isa<stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp>(op) || op->hasAttr(kNarrowedAttr) || !isF32(op->getOperand(0)) ||
      !isF32(op->getOperand(1)) || !isF32(op->getResult(0)) || asksForMore(op))
    return false;
  auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
  return !dot || !dot.getAlgorithm();
}

/// The greatest of windows whose padding never wins: rounding does not change which number that is, and as well comes before.
bool isGreatestOfWindows(Operation *op) {
  auto window = dyn_cast_or_null<stablehlo::ReduceWindowOp>(op);
  if (!window || window.getInputs().size() != 1 || !isF32(window.getInputs()[0]))
    return false;
  Block &body = window.getBody().front();
  auto init = window.getInitValues()[0].getDefiningOp<stablehlo::ConstantOp>();
  auto number = init ? dyn_cast<DenseFPElementsAttr>(init.getValue()) : nullptr;
  auto maximum = dyn_cast<stablehlo::MaximumOp>(body.front());
  return number && number.isSplat() && number.getSplatValue<APFloat>().isInfinity() && number.getSplatValue<APFloat>().isNegative() && maximum &&
         maximum.getLhs() != maximum.getRhs() && isa<BlockArgument>(maximum.getLhs()) && isa<BlockArgument>(maximum.getRhs()) &&
         body.getTerminator()->getOperand(0) == maximum.getResult();
}

bool isRounding(Operation *op) {
  auto conversion = dyn_cast<stablehlo::ConvertOp>(op);
  return conversion && cast<ShapedType>(conversion.getType()).getElementType().isBF16();
}

/// Parts that are put together, or one of them: of rounded numbers as well, unless others read more than those.
bool isOfParts(Operation *op) { return isa_and_nonnull<stablehlo::ConcatenateOp, stablehlo::SliceOp>(op); }

/// Whether all that becomes of it, moved and in parts, is read by products or rounded by somebody else.
bool isReadByProductsOnly(Value value) {
  constexpr size_t kMost = 1000;
  llvm::SetVector<Value> found;
  found.insert(value);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found.size() > kMost)
      return false;
    for (Operation *user : found[i].getUsers()) {
      if (isMove(user) || isOfParts(user))
        found.insert(user->getResult(0));
      else if (!user->hasAttr(kNarrowedAttr) && !isNarrowable(user) && !isRounding(user))
        return false;
    }
  }
  return true;
}

/// Of an operation of two operands the one that is no constant and nothing broadcast, such as a number for each channel; null where both
/// or none of them are.
Value otherThanNumbers(Operation *op) {
  auto areNumbers = [](Value operand) { return isa_and_nonnull<stablehlo::BroadcastInDimOp, stablehlo::ConstantOp>(operand.getDefiningOp()); };
  bool first = areNumbers(op->getOperand(0)), second = areNumbers(op->getOperand(1));
  return first == second ? Value() : op->getOperand(first ? 1 : 0);
}

/// The narrowed product that the value is made of by steps with such numbers alone, or null.
Operation *productOf(Value value) {
  constexpr int kMostSteps = 16;
  Operation *maker = value.getDefiningOp();
  for (int step = 0; step < kMostSteps && maker && !maker->hasAttr(kNarrowedAttr); ++step) {
    if (!isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp, stablehlo::DivideOp>(maker))
      return nullptr;
    Value other = otherThanNumbers(maker);
    maker = other ? other.getDefiningOp() : nullptr;
  }
  return maker && maker->hasAttr(kNarrowedAttr) ? maker : nullptr;
}

class ProductNarrower {
public:
  ProductNarrower(MLIRContext *context, bool kept) : builder(context), kept(kept) {}

  void run(Operation *op) {
    if (!isNarrowable(op))
      return;
    auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
    bool hasKernels = dot && dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty();
    ofImages = isa<stablehlo::ConvolutionOp>(op);
    for (unsigned i : {0, 1})
      op->setOperand(i, changed(op->getOperand(i), hasKernels ? narrow : rounded, !hasKernels));
    op->setAttr(kNarrowedAttr, builder.getUnitAttr());
  }

  /// With `kept` lets all read what products read; drops what nobody needs any more now that it is done to rounded numbers.
  void finish() {
    if (kept)
      for (auto [origin, rounding] : roundings)
        keep(origin, rounding);
    for (Operation *move : llvm::reverse(replaced))
      if (move->use_empty())
        move->erase();
  }

private:
  using Made = llvm::DenseMap<Value, Value>;

  Value converted(Value value, Type element) {
    auto type = cast<RankedTensorType>(value.getType());
    builder.setInsertionPointAfterValue(value);
    return builder.create<stablehlo::ConvertOp>(value.getLoc(), type.clone(element), value);
  }

  /// What the numbers were before they were widened, or null.
  static Value beforeWidening(Value value) {
    auto widening = value.getDefiningOp<stablehlo::ConvertOp>();
    return widening && cast<ShapedType>(widening.getOperand().getType()).getElementType().isBF16() ? widening.getOperand() : Value();
  }

  /// The value in bf16.
  Value inBf16(Value origin) {
    if (Value was = beforeWidening(origin))
      return was;
    if (auto known = roundings.find(origin); known != roundings.end())
      return known->second;
    Operation *maker = origin.getDefiningOp();
    bool isAtWindows = isGreatestOfWindows(maker) && (kept || isReadByProductsOnly(origin));
    Value made = isAtWindows                            ? windowsInBf16(cast<stablehlo::ReduceWindowOp>(maker))
                 : ofImages && mayTakeInParts(maker) ? partsInBf16(maker)
                                                        : converted(origin, builder.getBF16Type());
    roundings.insert({origin, made});
    return made;
  }

  /// Whether parts may be rounded before they are put together or taken: nobody reads them in f32, or all are to read them rounded.
  bool mayTakeInParts(Operation *maker) const {
    constexpr int kDeepest = 100; // One within another.
    if (!isOfParts(maker) || depth >= kDeepest || !llvm::all_of(maker->getOperands(), isF32))
      return false;
    Value needed = isa<stablehlo::SliceOp>(maker) ? maker->getOperand(0) : maker->getResult(0);
    auto isReturned = [](Value value) { return llvm::any_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }); };
    if (kept)
      return needed.getDefiningOp() && !isReturned(needed) && !isReturned(maker->getResult(0));
    return needed.getDefiningOp() && isReadByProductsOnly(needed);
  }

  Value partsInBf16(Operation *op) {
    ++depth;
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, changed(operand, narrow, false));
    --depth;
    builder.setInsertionPoint(op);
    Value again = builder.clone(*op, operands)->getResult(0);
    again.setType(cast<RankedTensorType>(again.getType()).clone(builder.getBF16Type()));
    replaced.insert(op);
    return again;
  }

  Value windowsInBf16(stablehlo::ReduceWindowOp op) {
    Value input = changed(op.getInputs()[0], narrow, false);
    Value init = converted(op.getInitValues()[0], builder.getBF16Type());
    builder.setInsertionPoint(op);
    IRMapping operands;
    operands.map(op.getInputs()[0], input);
    operands.map(op.getInitValues()[0], init);
    auto again = cast<stablehlo::ReduceWindowOp>(builder.clone(*op, operands));
    auto change = [&](Value value) { value.setType(cast<RankedTensorType>(value.getType()).clone(builder.getBF16Type())); };
    change(again.getResult(0));
    for (BlockArgument argument : again.getBody().getArguments())
      change(argument);
    change(again.getBody().front().front().getResult(0));
    replaced.insert(op);
    return again.getResult(0);
  }

  /// The value in bf16, or rounded to it: where the numbers come from, with what moves them done again behind.
  Value changed(Value value, Made &made, bool staysF32) {
    SmallVector<Operation *> moves;
    Value origin = value;
    while (!made.contains(origin) && isMove(origin.getDefiningOp())) {
      moves.push_back(origin.getDefiningOp());
      origin = origin.getDefiningOp()->getOperand(0);
    }
    if (!made.contains(origin)) {
      Value inside = inBf16(origin);
      made[origin] = !staysF32 ? inside : beforeWidening(origin) ? origin : converted(inside, builder.getF32Type());
    }
    Value last = made[origin];
    for (Operation *move : llvm::reverse(moves)) {
      builder.setInsertionPointAfter(move);
      IRMapping operands;
      operands.map(move->getOperand(0), last);
      Operation *again = builder.clone(*move, operands);
      last = again->getResult(0);
      last.setType(cast<RankedTensorType>(move->getResult(0).getType())
                       .clone(cast<RankedTensorType>(operands.lookup(move->getOperand(0)).getType()).getElementType()));
      made[move->getResult(0)] = last;
      replaced.insert(move);
    }
    return last;
  }

  /// Lets all that read a value which is made on the way read the rounded one, but for what ends a program or a step of it.
  void keep(Value origin, Value rounding) {
    Operation *maker = origin.getDefiningOp();
    if (!maker || isa<stablehlo::ConstantOp>(maker))
      return;
    Value wide = rounded.lookup(origin);
    if (!wide)
      wide = converted(rounding, builder.getF32Type());
    origin.replaceUsesWithIf(wide, [&](OpOperand &use) {
      return use.getOwner() != rounding.getDefiningOp() && !use.getOwner()->hasTrait<OpTrait::IsTerminator>();
    });
    keepLastAddend(maker);
  }

  /// What is kept adds what two products made (in a residual network, where sizes change): one of them waits in memory for the
  /// other, which ends with the sum, and does so in bf16. It is the last one, since the first one is fused with the sum.
  void keepLastAddend(Operation *maker) {
    if (isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(maker))
      if (Value other = otherThanNumbers(maker))
        maker = other.getDefiningOp();
    if (!isa_and_nonnull<stablehlo::AddOp>(maker))
      return;
    Operation *one = productOf(maker->getOperand(0)), *other = productOf(maker->getOperand(1));
    if (!one || !other || one == other || one->getBlock() != other->getBlock())
      return;
    unsigned last = one->isBeforeInBlock(other) ? 1 : 0;
    Value narrowed = converted(maker->getOperand(last), builder.getBF16Type());
    maker->setOperand(last, converted(narrowed, builder.getF32Type()));
  }

  OpBuilder builder;
  bool kept;
  bool ofImages = false; // The product at hand is a convolution.
  int depth = 0;
  Made narrow, rounded;
  llvm::MapVector<Value, Value> roundings; // In bf16, by what was rounded.
  llvm::SetVector<Operation *> replaced;
};

struct NarrowProductsPass : public impl::NarrowProductsBase<NarrowProductsPass> {
  using NarrowProductsBase::NarrowProductsBase;
  void runOnOperation() override { narrowProducts(getOperation(), kept); }
};

} // namespace

bool asksForMore(Operation *product) {
  auto asked = product->getAttrOfType<ArrayAttr>("precision_config");
  return asked && llvm::any_of(asked.getAsRange<stablehlo::PrecisionAttr>(), [](stablehlo::PrecisionAttr one) {
           return one.getValue() != stablehlo::Precision::DEFAULT;
         });
}

int64_t narrowProducts(ModuleOp module, bool kept) {
  SmallVector<Operation *> all; // What is made on the way is not walked.
  module.walk([&](Operation *op) { all.push_back(op); });
  ProductNarrower narrower(module.getContext(), kept);
  int64_t count = 0;
  for (Operation *op : all) {
    narrower.run(op);
    count += op->hasAttr(kNarrowedAttr) ? 1 : 0;
  }
  narrower.finish();
  module->setAttr(kNarrowedCountAttr, IntegerAttr::get(IntegerType::get(module.getContext(), 64), count));
  return count;
}

NarrowedNumbers numbersOfNarrowed(Value operand) {
  while (isMove(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  Value origin = operand;
  while (auto conversion = origin.getDefiningOp<stablehlo::ConvertOp>())
    origin = conversion.getOperand();
  return origin == operand ? NarrowedNumbers() : NarrowedNumbers{operand, origin};
}

int64_t narrowedProducts(ModuleOp module) {
  auto count = module->getAttrOfType<IntegerAttr>(kNarrowedCountAttr);
  return count ? count.getInt() : 0;
}

} // namespace cupel::compiler
