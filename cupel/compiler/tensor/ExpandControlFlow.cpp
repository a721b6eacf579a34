// Loops and branches of functions written out as StableHLO, with the functions as regions. Whether
// there is another step is carried along, so that what a body says of it counts.

#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace cupel::tir {

namespace {

func::FuncOp functionOf(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
}

/// The results of the function on these values. What it holds of tensor IR is expanded as well.
FailureOr<SmallVector<Value>> call(OpBuilder &builder, func::FuncOp function, ValueRange values) {
  IRMapping mapping;
  Block &body = function.getBody().front();
  mapping.map(body.getArguments(), values);
  SmallVector<Operation *> ours;
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    if (isa_and_nonnull<TirDialect>(copy->getDialect()))
      ours.push_back(copy);
  }
  SmallVector<Value> results;
  // Through an operation, because expansions replace values.
  auto end = builder.create<stablehlo::OptimizationBarrierOp>(
      function.getLoc(), body.getTerminator()->getOperandTypes(),
      llvm::map_to_vector(body.getTerminator()->getOperands(),
                          [&](Value value) { return mapping.lookup(value); }));
  for (Operation *op : ours)
    if (failed(expand(op)))
      return failure();
  llvm::append_range(results, end.getOperands());
  end.erase();
  builder.setInsertionPointToEnd(builder.getInsertionBlock());
  return results;
}

LogicalResult expandWhile(WhileOp op) {
  func::FuncOp condition = functionOf(op, op.getConditionAttr()),
               body = functionOf(op, op.getBodyAttr());
  if (!condition || !body)
    return op.emitOpError("has no functions to expand");
  OpBuilder builder(op);
  auto carried = size_t(op.getCarried());
  ValueRange inits = op.getInputs().take_front(carried), given = op.getInputs().drop_front(carried);
  // Whether there is a first step, by a branch that is always taken: a place to put the function in.
  Type truth = RankedTensorType::get({}, builder.getI1Type());
  auto first = builder.create<stablehlo::CaseOp>(
      op.getLoc(), TypeRange{truth},
      builder.create<stablehlo::ConstantOp>(
          op.getLoc(), DenseElementsAttr::get(RankedTensorType::get({}, builder.getI32Type()),
                                              builder.getI32IntegerAttr(0))),
      1);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&first.getBranches()[0]);
    FailureOr<SmallVector<Value>> test = call(builder, condition, op.getInputs());
    if (failed(test))
      return failure();
    builder.create<stablehlo::ReturnOp>(op.getLoc(), *test);
  }
  SmallVector<Value> starts(inits);
  starts.push_back(first.getResult(0));
  SmallVector<Type> types(ValueRange(starts).getTypes());
  SmallVector<Location> locations(types.size(), op.getLoc());
  auto loop = builder.create<stablehlo::WhileOp>(op.getLoc(), types, starts);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *test = builder.createBlock(&loop.getCond(), {}, types, locations);
    builder.create<stablehlo::ReturnOp>(op.getLoc(), test->getArguments().back());
    Block *step = builder.createBlock(&loop.getBody(), {}, types, locations);
    SmallVector<Value> values(step->getArguments().drop_back());
    llvm::append_range(values, given);
    FailureOr<SmallVector<Value>> next = call(builder, body, values);
    if (failed(next))
      return failure();
    builder.create<stablehlo::ReturnOp>(op.getLoc(), *next);
  }
  op->replaceAllUsesWith(loop->getResults().drop_back());
  op.erase();
  return success();
}

LogicalResult expandCase(CaseOp op) {
  OpBuilder builder(op);
  auto made = builder.create<stablehlo::CaseOp>(op.getLoc(), op.getResultTypes(), op.getIndex(),
                                                unsigned(op.getBranches().size()));
  for (auto [region, name] :
       llvm::zip(made.getBranches(), op.getBranches().getAsRange<FlatSymbolRefAttr>())) {
    func::FuncOp function = functionOf(op, name);
    if (!function)
      return op.emitOpError("has no functions to expand");
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&region);
    FailureOr<SmallVector<Value>> values = call(builder, function, op.getInputs());
    if (failed(values))
      return failure();
    builder.create<stablehlo::ReturnOp>(op.getLoc(), *values);
  }
  op->replaceAllUsesWith(made->getResults());
  op.erase();
  return success();
}

} // namespace

LogicalResult expandControlFlow(Operation *op) {
  if (auto loop = dyn_cast<WhileOp>(op))
    return expandWhile(loop);
  return expandCase(cast<CaseOp>(op));
}

} // namespace cupel::tir
