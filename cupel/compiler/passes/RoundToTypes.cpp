#include "cupel/compiler/passes/RoundToTypes.h"

#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_ROUNDTOTYPES
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

bool holds(FloatType wide, FloatType narrow) {
  const llvm::fltSemantics &a = wide.getFloatSemantics(), &b = narrow.getFloatSemantics();
  using Float = llvm::APFloatBase;
  return Float::semanticsPrecision(a) >= Float::semanticsPrecision(b) &&
         Float::semanticsMaxExponent(a) >= Float::semanticsMaxExponent(b) &&
         Float::semanticsMinExponent(a) <= Float::semanticsMinExponent(b);
}

FloatType nearest(FloatType type, ArrayRef<Type> available) {
  FloatType best;
  for (Type one : available) {
    auto candidate = dyn_cast<FloatType>(one);
    if (!candidate)
      continue;
    if (holds(candidate, type))
      return type;
    if (!best || llvm::APFloatBase::semanticsPrecision(candidate.getFloatSemantics()) >
                     llvm::APFloatBase::semanticsPrecision(best.getFloatSemantics()))
      best = candidate;
  }
  return best ? best : type;
}

IntegerType nearest(IntegerType type, ArrayRef<Type> available) {
  IntegerType best;
  for (Type one : available) {
    auto candidate = dyn_cast<IntegerType>(one);
    if (!candidate || candidate.getWidth() == 1 || candidate.isUnsigned() != type.isUnsigned())
      continue;
    if (candidate.getWidth() >= type.getWidth())
      return type;
    if (!best || candidate.getWidth() > best.getWidth())
      best = candidate;
  }
  return best ? best : type;
}

/// Operations that hand values on as they are, and those that yield bits instead of numbers.
/// Regions of control flow are walked on their own; what a region yields is rounded there.
bool handsOn(Operation *op) {
  if (op->getName().getDialectNamespace() == "sdy")
    return !isa<sdy::ConstantOp, sdy::AllReduceOp, sdy::ReduceScatterOp>(op);
  return op->hasTrait<stablehlo::KeepsNumbers>() || op->hasTrait<stablehlo::YieldsBits>() ||
         isa<func::CallOp>(op);
}

/// Whether the operations inside yield values of the program's own; regions of the others are steps
/// of one operation, in which accumulators are wider than what is stored.
bool isControlFlow(Operation *op) {
  return op->hasTrait<stablehlo::Loops>() || op->hasTrait<stablehlo::Branches>() ||
         isa<ModuleOp, func::FuncOp, sdy::ManualComputationOp, sdy::NamedComputationOp>(op);
}

class Rounder {
public:
  explicit Rounder(ArrayRef<Type> available) : available(available) {}

  bool hasRounded = false;

  void walk(Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        for (Operation &inner : llvm::make_early_inc_range(block)) {
          if (isControlFlow(&inner))
            walk(&inner);
          if (handsOn(&inner))
            continue;
          OpBuilder builder(block.getParentOp());
          builder.setInsertionPointAfter(&inner);
          for (Value result : inner.getResults())
            round(result, builder);
        }
        // Behind the operations, or these would round what is rounded here.
        auto function = dyn_cast<func::FuncOp>(op);
        if (function && function.isPublic())
          for (BlockArgument argument : block.getArguments())
            round(argument, OpBuilder::atBlockBegin(&block));
      }
  }

private:
  void round(Value value, OpBuilder builder) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || value.use_empty())
      return;
    auto [place, isNew] = chosen.try_emplace(type.getElementType());
    if (isNew)
      place->second = computedIn(type.getElementType(), available);
    if (place->second == type.getElementType())
      return;
    Operation *reader = nullptr;
    Value rounded = isa<ComplexType>(type.getElementType())
                        ? roundComplex(value, cast<ComplexType>(place->second), builder, reader)
                        : roundReal(value, place->second, builder, reader);
    // Where a complex number is taken apart it is read twice, by neighbours.
    value.replaceUsesWithIf(rounded, [&](OpOperand &use) {
      return use.getOwner() != reader && use.getOwner() != reader->getNextNode();
    });
    hasRounded = true;
  }

  /// `reader` becomes the first operation that is made.
  static Value roundReal(Value value, Type element, OpBuilder &builder, Operation *&reader) {
    auto type = cast<RankedTensorType>(value.getType());
    auto narrow = builder.create<stablehlo::ConvertOp>(
        value.getLoc(), RankedTensorType::get(type.getShape(), element, type.getEncoding()), value);
    reader = narrow;
    return builder.create<stablehlo::ConvertOp>(value.getLoc(), type, narrow.getResult());
  }

  /// Complex numbers of narrow parts are no type of StableHLO: their parts are rounded apart.
  static Value roundComplex(Value value, ComplexType element, OpBuilder &builder,
                            Operation *&reader) {
    if (element.getElementType().isF32())
      return roundReal(value, element, builder, reader);
    auto real = builder.create<stablehlo::RealOp>(value.getLoc(), value);
    auto imaginary = builder.create<stablehlo::ImagOp>(value.getLoc(), value);
    Operation *ignored;
    Value realPart = roundReal(real.getResult(), element.getElementType(), builder, ignored);
    Value imaginaryPart =
        roundReal(imaginary.getResult(), element.getElementType(), builder, ignored);
    reader = real;
    return builder.create<stablehlo::ComplexOp>(value.getLoc(), value.getType(), realPart,
                                                imaginaryPart);
  }

  ArrayRef<Type> available;
  llvm::DenseMap<Type, Type> chosen;
};

struct RoundToTypesPass : public impl::RoundToTypesBase<RoundToTypesPass> {
  using RoundToTypesBase::RoundToTypesBase;

  LogicalResult initialize(MLIRContext *context) override {
    available.clear();
    for (const std::string &name : types) {
      Type type = stablehlo::rareFloatType(context, name);
      if (!type)
        type = parseType(name, context);
      if (!type)
        return emitError(UnknownLoc::get(context)) << "'" << name << "' is no element type";
      available.push_back(type);
    }
    return success();
  }

  void runOnOperation() override { roundToTypes(getOperation(), available); }

private:
  SmallVector<Type> available;
};

} // namespace

Type computedIn(Type type, ArrayRef<Type> available) {
  if (llvm::is_contained(available, type))
    return type;
  if (auto number = dyn_cast<FloatType>(type))
    return nearest(number, available);
  if (auto number = dyn_cast<IntegerType>(type))
    return number.getWidth() == 1 ? type : nearest(number, available);
  if (auto number = dyn_cast<ComplexType>(type)) {
    // A device without complex numbers has their parts.
    SmallVector<Type> parts(available);
    for (Type one : available)
      if (auto complex = dyn_cast<ComplexType>(one))
        parts.push_back(complex.getElementType());
    auto part = dyn_cast<FloatType>(number.getElementType());
    return part ? ComplexType::get(nearest(part, parts)) : type;
  }
  return type;
}

bool roundToTypes(ModuleOp module, ArrayRef<Type> available) {
  Rounder rounder(available);
  rounder.walk(module);
  return rounder.hasRounded;
}

} // namespace cupel::compiler
