#include "cupel/compiler/standalone/Prepare.h"

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace cupel::compiler::standalone {

using namespace mlir;

namespace {

bool hasStaticTypes(Operation *op) {
  auto isStatic = [](mlir::Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

/// Special functions that are long once they are decomposed become functions with their names, so
/// that a reader meets `erf(x)` and not its polynomials.
void outlineSpecialFunctions(ModuleOp module) {
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (name.consume_front("chlo.") && !name.starts_with("broadcast_") && name != "constant" &&
        name != "constant_like" && op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
        op->getParentOfType<func::FuncOp>() && isa<func::FuncOp>(op->getParentOp()) &&
        hasStaticTypes(op))
      found.push_back(op);
  });
  SymbolTable symbols(module);
  std::map<std::string, func::FuncOp> made;
  for (Operation *op : found) {
    std::string key;
    llvm::raw_string_ostream os(key);
    os << op->getName() << op->getAttrDictionary();
    for (mlir::Type type : op->getOperandTypes())
      os << type;
    for (mlir::Type type : op->getResultTypes())
      os << type;
    func::FuncOp &function = made[key];
    OpBuilder builder(op);
    if (!function) {
      auto type = builder.getFunctionType(op->getOperandTypes(), op->getResultTypes());
      function = func::FuncOp::create(op->getLoc(), op->getName().stripDialect(), type);
      function.setPrivate();
      Block *body = function.addEntryBlock();
      IRMapping mapping;
      mapping.map(op->getOperands(), body->getArguments());
      OpBuilder inside = OpBuilder::atBlockEnd(body);
      Operation *clone = inside.clone(*op, mapping);
      inside.create<func::ReturnOp>(op->getLoc(), clone->getResults());
      symbols.insert(function);
    }
    auto call = builder.create<func::CallOp>(op->getLoc(), function, op->getOperands());
    op->replaceAllUsesWith(call);
    op->erase();
  }
}

/// Functions that do the same become one, so that blocks that call them are alike too. A frontend
/// writes a decomposition for every composite.
void mergeEqualFunctions(ModuleOp module) {
  for (bool changed = true; changed;) {
    changed = false;
    DenseMap<mlir::Type, SmallVector<func::FuncOp>> byType;
    for (func::FuncOp function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function.isExternal() || function.isPublic())
        continue;
      auto &known = byType[function.getFunctionType()];
      auto *same = llvm::find_if(known, [&](func::FuncOp other) {
        return OperationEquivalence::isRegionEquivalentTo(&function.getBody(), &other.getBody(),
                                                          OperationEquivalence::IgnoreLocations);
      });
      if (same == known.end()) {
        known.push_back(function);
        continue;
      }
      if (failed(SymbolTable::replaceAllSymbolUses(function, same->getSymNameAttr(), module)))
        continue;
      function.erase();
      changed = true;
    }
  }
}

/// A product reads its operands in any order: a transpose before it is a permutation of the dimensions
/// that it names. Those that the result keeps must stay in order.
void foldTransposes(ModuleOp module) {
  module.walk([](stablehlo::DotGeneralOp dot) {
    auto numbers = dot.getDotDimensionNumbers();
    SmallVector<int64_t> dimensions[4] = {
        llvm::to_vector(numbers.getLhsBatchingDimensions()), llvm::to_vector(numbers.getRhsBatchingDimensions()),
        llvm::to_vector(numbers.getLhsContractingDimensions()),
        llvm::to_vector(numbers.getRhsContractingDimensions())};
    bool changed = false;
    for (unsigned side : {0u, 1u}) {
      auto transpose = dot->getOperand(side).getDefiningOp<stablehlo::TransposeOp>();
      if (!transpose || isa<quant::QuantizedType>(getElementTypeOrSelf(transpose.getType())))
        continue;
      ArrayRef<int64_t> order = transpose.getPermutation();
      SmallVector<int64_t> kept;
      for (auto [d, from] : llvm::enumerate(order))
        if (!llvm::is_contained(dimensions[side], int64_t(d)) && !llvm::is_contained(dimensions[2 + side], int64_t(d)))
          kept.push_back(from);
      if (!llvm::is_sorted(kept))
        continue;
      for (unsigned list : {side, 2 + side})
        for (int64_t &d : dimensions[list])
          d = order[size_t(d)];
      dot->setOperand(side, transpose.getOperand());
      changed = true;
    }
    if (changed)
      dot.setDotDimensionNumbersAttr(stablehlo::DotDimensionNumbersAttr::get(
          dot.getContext(), dimensions[0], dimensions[1], dimensions[2], dimensions[3]));
  });
}

/// What nobody uses, and what only that used: it would be variables that nobody reads.
void eraseUnused(ModuleOp module) {
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace

Status prepare(ModuleOp module,
               const std::function<void(const std::string &, ModuleOp)> &stage) {
  auto run = [&](auto add) {
    PassManager passes(module.getContext());
    add(passes);
    return succeeded(passes.run(module));
  };
  if (!run([](PassManager &passes) {
        passes.addPass(createRewriteCalls());
        passes.addPass(createInlineComposites());
      }))
    return Error{"the program cannot be simplified"};
  // Nobody uses what a check gives, and yet it must be made.
  module.walk([](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName().starts_with("check."))
      call.setHasSideEffect(true);
  });
  outlineSpecialFunctions(module);
  if (failed(lowerChlo(module)))
    return Error{"chlo cannot be lowered"};
  foldTransposes(module);
  if (!run([](PassManager &passes) {
        passes.addPass(mlir::createCSEPass());
        passes.addPass(mlir::createSymbolDCEPass());
      }))
    return Error{"the program cannot be simplified"};
  eraseUnused(module);
  mergeEqualFunctions(module);
  stage("shlo_simplified", module);
  return {};
}

} // namespace cupel::compiler::standalone
