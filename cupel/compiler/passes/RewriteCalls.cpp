#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/chlo/Chlo.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_REWRITECALLS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

/// An entry of the call's configuration; JAX puts it beside backend_config, which older versions of
/// StableHLO allow to be text only.
template <typename Attr> Attr entryOf(stablehlo::CustomCallOp call, StringRef name) {
  for (StringRef place : {"mhlo.backend_config", "backend_config"})
    if (auto dictionary = call->getAttrOfType<DictionaryAttr>(place))
      if (auto entry = dictionary.getAs<Attr>(name))
        return entry;
  return {};
}

/// The one computation a call names.
func::FuncOp calledFunction(stablehlo::CustomCallOp call) {
  auto called = call->getAttrOfType<ArrayAttr>("called_computations");
  if (!called || called.size() != 1)
    return {};
  auto symbol = dyn_cast<FlatSymbolRefAttr>(called[0]);
  if (!symbol)
    return {};
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, symbol);
  return function && !function.isExternal() && function.getBody().hasOneBlock() ? function
                                                                                : func::FuncOp();
}

/// The comparator of a sort, from a function; it may end with either kind of return.
void cloneComparator(func::FuncOp function, Region &region) {
  IRMapping mapping;
  function.getBody().cloneInto(&region, mapping);
  Operation *end = region.front().getTerminator();
  if (isa<stablehlo::ReturnOp>(end))
    return;
  OpBuilder builder(end);
  builder.create<stablehlo::ReturnOp>(end->getLoc(), end->getOperands());
  end->erase();
}

/// The best by the comparator, in order: a recall of 1 is within every target.
bool rewriteTopK(stablehlo::CustomCallOp call) {
  unsigned count = call->getNumResults();
  func::FuncOp comparator = calledFunction(call);
  auto dimension = entryOf<IntegerAttr>(call, "reduction_dim");
  if (!count || call->getNumOperands() != 2 * count || !comparator || !dimension ||
      comparator.getNumArguments() != 2 * count || comparator.getNumResults() != 1)
    return false;
  auto first = dyn_cast<RankedTensorType>(call->getOperand(0).getType());
  int64_t at = dimension.getInt();
  if (!first || !first.hasStaticShape() || at < 0 || at >= first.getRank())
    return false;
  for (unsigned i = 0; i < count; ++i) {
    auto from = dyn_cast<RankedTensorType>(call->getOperand(i).getType());
    auto to = dyn_cast<RankedTensorType>(call->getResult(i).getType());
    if (!from || !to || from.getShape() != first.getShape() || to.getRank() != first.getRank() ||
        from.getElementType() != to.getElementType())
      return false;
    for (int64_t d = 0; d < first.getRank(); ++d)
      if (to.isDynamicDim(d) || to.getDimSize(d) > first.getDimSize(d) ||
          (d != at && to.getDimSize(d) != first.getDimSize(d)))
        return false;
    for (unsigned j : {2 * i, 2 * i + 1})
      if (comparator.getArgument(j).getType() != RankedTensorType::get({}, from.getElementType()))
        return false;
  }
  OpBuilder builder(call);
  Location loc = call.getLoc();
  ValueRange inputs = call->getOperands().take_front(count);
  NamedAttribute attributes[] = {builder.getNamedAttr("dimension", builder.getI64IntegerAttr(at)),
                                 builder.getNamedAttr("is_stable", builder.getBoolAttr(true))};
  auto sort =
      builder.create<stablehlo::SortOp>(loc, inputs.getTypes(), inputs, ArrayRef(attributes));
  cloneComparator(comparator, sort.getComparator());
  for (unsigned i = 0; i < count; ++i) {
    auto type = cast<RankedTensorType>(call->getResult(i).getType());
    NamedAttribute bounds[] = {
        builder.getNamedAttr("start_indices",
                             builder.getDenseI64ArrayAttr(SmallVector<int64_t>(type.getRank(), 0))),
        builder.getNamedAttr("limit_indices", builder.getDenseI64ArrayAttr(type.getShape())),
        builder.getNamedAttr(
            "strides", builder.getDenseI64ArrayAttr(SmallVector<int64_t>(type.getRank(), 1)))};
    auto slice = builder.create<stablehlo::SliceOp>(
        loc, TypeRange{type}, ValueRange{sort->getResult(i)}, ArrayRef(bounds));
    call->getResult(i).replaceAllUsesWith(slice->getResult(0));
  }
  call.erase();
  return true;
}

/// How the work is split is its author's affair; what it computes is a function of the program.
void rewritePartitioned(stablehlo::CustomCallOp call) {
  func::FuncOp function = calledFunction(call);
  if (!function || function.getArgumentTypes() != call->getOperandTypes() ||
      function.getResultTypes() != call->getResultTypes())
    return;
  OpBuilder builder(call);
  auto plain = builder.create<func::CallOp>(call.getLoc(), function, call->getOperands());
  call->replaceAllUsesWith(plain);
  call.erase();
}

/// Memory of unknown contents: zeros, so that runs are the same.
void rewriteAllocation(stablehlo::CustomCallOp call) {
  if (call->getNumOperands() || call->getNumResults() != 1)
    return;
  auto type = dyn_cast<RankedTensorType>(call->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return;
  OpBuilder builder(call);
  TypedAttr zero;
  if (auto complex = dyn_cast<ComplexType>(type.getElementType())) {
    auto part = builder.getZeroAttr(complex.getElementType());
    zero = DenseElementsAttr::get(
        RankedTensorType::get({}, complex),
        std::complex<APFloat>(cast<FloatAttr>(part).getValue(), cast<FloatAttr>(part).getValue()));
    zero = cast<DenseElementsAttr>(zero).resizeSplat(type);
  } else if (isa<IntegerType, FloatType>(type.getElementType())) {
    zero = DenseElementsAttr::get(
        type, ArrayRef<Attribute>({builder.getZeroAttr(type.getElementType())}));
  } else {
    return;
  }
  auto constant = builder.create<stablehlo::ConstantOp>(
      call.getLoc(), TypeRange{type}, ValueRange{}, builder.getNamedAttr("value", zero));
  call->replaceAllUsesWith(constant);
  call.erase();
}

/// e^z - e^-z is nothing but rounding for small z.
void restoreHyperbolic(stablehlo::CompositeOp composite) {
  auto name = composite->getAttrOfType<StringAttr>("name");
  if (composite->getNumOperands() != 1 || composite->getNumResults() != 1 ||
      composite->getOperandTypes() != composite->getResultTypes() ||
      !isa<ComplexType>(getElementTypeOrSelf(composite->getOperand(0).getType())))
    return;
  OpBuilder builder(composite);
  Operation *restored = nullptr;
  if (name == "chlo.sinh")
    restored = builder.create<chlo::SinhOp>(composite.getLoc(), composite->getResultTypes(),
                                            composite->getOperands());
  else if (name == "chlo.cosh")
    restored = builder.create<chlo::CoshOp>(composite.getLoc(), composite->getResultTypes(),
                                            composite->getOperands());
  if (!restored)
    return;
  composite->replaceAllUsesWith(restored);
  composite->erase();
}

void rewriteCalls(ModuleOp module) {
  SmallVector<stablehlo::CompositeOp> composites;
  module.walk([&](stablehlo::CompositeOp composite) { composites.push_back(composite); });
  llvm::for_each(composites, restoreHyperbolic);
  SmallVector<stablehlo::CustomCallOp> calls;
  module.walk([&](stablehlo::CustomCallOp call) { calls.push_back(call); });
  llvm::SmallSetVector<func::FuncOp, 4> comparators;
  for (stablehlo::CustomCallOp call : calls) {
    StringRef target = call.getCallTargetName();
    if (target == "ApproxTopK") {
      func::FuncOp comparator = calledFunction(call);
      if (rewriteTopK(call))
        comparators.insert(comparator);
    } else if (target == "CustomSPMDPartitioning") {
      rewritePartitioned(call);
    } else if (target == "AllocateBuffer") {
      rewriteAllocation(call);
    }
  }
  // Nobody can call what ends with a region's return.
  for (func::FuncOp comparator : comparators)
    if (SymbolTable::symbolKnownUseEmpty(comparator, module))
      comparator.erase();
}

struct RewriteCallsPass : public impl::RewriteCallsBase<RewriteCallsPass> {
  void runOnOperation() override { rewriteCalls(getOperation()); }
};

} // namespace

} // namespace cupel::compiler
