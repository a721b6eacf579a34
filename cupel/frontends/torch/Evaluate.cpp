// Values that depend on constants and weights only, computed with the golden reference when a
// lowering needs to know them (masks that decide shapes, indices, numbers as tensors).

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/frontends/torch/Importer.h"
#include "cupel/reference/Plan.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

namespace cupel::frontends::torch_import {

using namespace mlir;
using tensor::Tensor;

namespace {

// Beyond this, evaluating at import costs more than a lowering can gain.
constexpr size_t kMaxOperations = 4096;
constexpr int64_t kMaxElements = 1 << 20, kMaxIntermediate = 1 << 22;

} // namespace

std::optional<Tensor> Importer::evaluate(Value wanted) {
  if (auto found = weightValues.find(wanted); found != weightValues.end())
    return *found->second;
  if (HloBuilder::countOf(wanted) > kMaxElements)
    return std::nullopt;
  // What it is computed from, operands first.
  SmallVector<Value> leaves;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> work = {wanted};
  llvm::SetVector<Operation *> found;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (weightValues.count(value)) {
      if (HloBuilder::countOf(value) > kMaxElements)
        return std::nullopt;
      leaves.push_back(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || found.size() > kMaxOperations || isa<stablehlo::CompositeOp>(op) ||
        isa<func::CallOp>(op))
      return std::nullopt;
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          !tensor || tensor.getNumElements() > kMaxIntermediate)
        return std::nullopt;
    found.insert(op);
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          work.push_back(operand);
    });
  }
  // Program order is a valid order; operations of one block are compared by position.
  SmallVector<Operation *> order(found.begin(), found.end());
  for (Operation *op : order)
    if (op->getBlock() != &main.getBody().front())
      return std::nullopt;
  llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

  OpBuilder ops(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(ops.getUnknownLoc());
  ops.setInsertionPointToEnd(module->getBody());
  auto function = ops.create<func::FuncOp>(
      ops.getUnknownLoc(), "main",
      ops.getFunctionType(ValueRange(leaves).getTypes(), TypeRange{wanted.getType()}));
  Block *body = function.addEntryBlock();
  ops.setInsertionPointToEnd(body);
  IRMapping mapping;
  std::vector<reference::Value> arguments;
  for (auto [leaf, argument] : llvm::zip(leaves, body->getArguments())) {
    mapping.map(leaf, argument);
    arguments.push_back(*weightValues.lookup(leaf));
  }
  for (Operation *op : order)
    ops.clone(*op, mapping);
  ops.create<func::ReturnOp>(ops.getUnknownLoc(), mapping.lookup(wanted));
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  if (failed(verify(*module)) || failed(compiler::lowerChlo(*module)))
    return std::nullopt;
  auto plan = reference::Plan::create(*module);
  if (!plan)
    return std::nullopt;
  reference::RunOptions runOptions;
  runOptions.maxSteps = 1 << 20;
  runOptions.threads = 1;
  reference::Run run(runOptions);
  auto results = (*plan)->run(run, std::move(arguments));
  if (!results)
    return std::nullopt;
  // Constants borrow the scratch module's memory, which ends here.
  const Tensor &value = (*results)[0].tensor();
  Result<Tensor> copy =
      Tensor::uninitialized(value.elementType(), {value.shape().begin(), value.shape().end()});
  Result<Tensor> packed = value.contiguous();
  if (!copy || !packed)
    return std::nullopt;
  if (copy->byteSize())
    std::memcpy(copy->mutableData(), packed->data(), copy->byteSize());
  return std::move(*copy);
}

} // namespace cupel::frontends::torch_import
