#include "tests/planter/RightRewrites.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/TypeUtilities.h>

using namespace mlir;
namespace hlo = cupel::stablehlo;

namespace {

/// A tensor of f32 whose shape is known.
RankedTensorType f32Of(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getElementType().isF32() ? type : nullptr;
}

bool addsUp(hlo::ReduceOp op) {
  return op.getInputs().size() == 1 && llvm::hasNItems(op.getBody().front(), 2) &&
         isa<hlo::AddOp>(op.getBody().front().front());
}

/// Sums run from the other end.
void reassociate(Operation *op) {
  OpBuilder builder(op);
  auto reverse = [&](unsigned operand, ArrayRef<int64_t> dimensions) {
    if (!dimensions.empty())
      op->setOperand(operand, builder.create<hlo::ReverseOp>(op->getLoc(), op->getOperand(operand),
                                                             dimensions));
  };
  if (auto dot = dyn_cast<hlo::DotGeneralOp>(op)) {
    auto numbers = dot.getDotDimensionNumbers();
    if (isa<FloatType>(getElementTypeOrSelf(dot.getType()))) {
      reverse(0, numbers.getLhsContractingDimensions());
      reverse(1, numbers.getRhsContractingDimensions());
    }
  } else if (auto reduce = dyn_cast<hlo::ReduceOp>(op)) {
    if (addsUp(reduce) && isa<FloatType>(getElementTypeOrSelf(reduce.getInputs()[0].getType())))
      reverse(0, reduce.getDimensions());
  }
}

/// A quotient is a product with the reciprocal.
void divideFast(Operation *op) {
  auto divide = dyn_cast<hlo::DivideOp>(op);
  if (!divide || !f32Of(divide.getResult()))
    return;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(divide.getType());
  Value one = builder.create<hlo::ConstantOp>(
      op->getLoc(), DenseElementsAttr::get(type, builder.getF32FloatAttr(1)));
  Value inverse = builder.create<hlo::DivideOp>(op->getLoc(), one, op->getOperand(1));
  Value product = builder.create<hlo::MultiplyOp>(op->getLoc(), op->getOperand(0), inverse);
  divide.getResult().replaceAllUsesWith(product);
}

/// A sum of a product is rounded once.
void fuse(Operation *op) {
  if (!isa<hlo::AddOp, hlo::SubtractOp>(op) || !f32Of(op->getResult(0)))
    return;
  auto product = op->getOperand(0).getDefiningOp<hlo::MultiplyOp>();
  if (!product)
    return;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto wide = type.clone(builder.getF64Type());
  auto widened = [&](Value value) -> Value {
    return builder.create<hlo::ConvertOp>(op->getLoc(), wide, value);
  };
  Value a = widened(product->getOperand(0)), b = widened(product->getOperand(1));
  Value c = widened(op->getOperand(1));
  Value whole = builder.create<hlo::MultiplyOp>(op->getLoc(), a, b);
  Value sum = isa<hlo::AddOp>(op) ? builder.create<hlo::AddOp>(op->getLoc(), whole, c).getResult()
                                  : builder.create<hlo::SubtractOp>(op->getLoc(), whole, c);
  op->getResult(0).replaceAllUsesWith(builder.create<hlo::ConvertOp>(op->getLoc(), type, sum));
}

Value rounded(OpBuilder &builder, Value value, int mantissa) {
  return builder.create<hlo::ReducePrecisionOp>(value.getLoc(), value.getType(), value,
                                                builder.getI32IntegerAttr(8),
                                                builder.getI32IntegerAttr(mantissa));
}

/// Every number that is computed is rounded to bf16; what is only moved is as it was.
void roundResults(Operation *op) {
  bool isSum = op->getNumOperands() > 1 && op->hasTrait<hlo::Linear>();
  bool computes = isSum || op->hasTrait<hlo::Transcendental>() || op->hasTrait<hlo::LinearInEach>() ||
                  op->hasTrait<hlo::LinearInFirst>() || isa<hlo::DotGeneralOp, hlo::ConvolutionOp>(op);
  if (auto reduce = dyn_cast<hlo::ReduceOp>(op))
    computes = addsUp(reduce);
  if (!computes || op->hasTrait<hlo::MovesElements>() || op->getNumResults() != 1 ||
      !f32Of(op->getResult(0)))
    return;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value less = rounded(builder, op->getResult(0), 7);
  op->getResult(0).replaceAllUsesExcept(less, less.getDefiningOp());
}

/// What products are made of is rounded; they are summed in f32.
template <int mantissa> void roundProducts(Operation *op) {
  if (!isa<hlo::DotGeneralOp, hlo::ConvolutionOp>(op))
    return;
  OpBuilder builder(op);
  for (unsigned i : {0u, 1u})
    if (f32Of(op->getOperand(i)))
      op->setOperand(i, rounded(builder, op->getOperand(i), mantissa));
}

constexpr struct {
  std::string_view name;
  void (*rewrite)(Operation *);
} kWays[] = {{"reassociated", reassociate},
             {"fast", divideFast},
             {"fused", fuse},
             {"in_bf16", roundResults},
             {"products_in_tf32", roundProducts<10>},
             {"products_in_bf16", roundProducts<7>}};

} // namespace

bool cupel::planter::rewriteRightly(ModuleOp module, std::string_view way) {
  for (const auto &known : kWays)
    if (known.name == way) {
      llvm::SmallVector<Operation *> found;
      // What reductions, sorts and scatters apply is no operation of its own.
      module.walk([&](Operation *op) {
        Operation *parent = op->getParentOp();
        if (isa_and_nonnull<func::FuncOp, hlo::WhileOp, hlo::IfOp, hlo::CaseOp>(parent) ||
            (parent && parent->getName().getStringRef() == "sdy.manual_computation"))
          found.push_back(op);
      });
      llvm::for_each(found, known.rewrite);
      return true;
    }
  return false;
}
