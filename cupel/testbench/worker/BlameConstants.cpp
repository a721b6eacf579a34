// Looks at the constants of an operation that is to blame: one of them may be wrong itself, or the
// operation may be wrong only where what it reads is a constant, which compilers fold.

#include "cupel/testbench/worker/Blame.h"

#include "cupel/compiler/analysis/Devices.h"

namespace cupel::testbench::worker {

using tensor::Tensor;

namespace {

/// The constants that the entry function holds, in their order.
std::vector<mlir::Operation *> constantsOf(mlir::ModuleOp module) {
  std::vector<mlir::Operation *> found;
  for (mlir::Operation &op : compiler::entryOf(module).getBody().front().without_terminator())
    if (op.hasTrait<mlir::OpTrait::ConstantLike>() && op.getNumResults() == 1 &&
        mlir::isa<mlir::RankedTensorType>(op.getResult(0).getType()))
      found.push_back(&op);
  return found;
}

/// A program that a copy of the given one was changed into.
Result<Prepared> changed(const Prepared &from, mlir::OwningOpRef<mlir::ModuleOp> module) {
  mlir::func::FuncOp entry = compiler::entryOf(*module);
  mlir::Block &body = entry.getBody().front();
  entry.setFunctionType(mlir::FunctionType::get(entry.getContext(), body.getArgumentTypes(),
                                                body.getTerminator()->getOperandTypes()));
  entry.removeArgAttrsAttr();
  entry.removeResAttrsAttr();
  auto read = std::make_unique<ProgramReader::Read>();
  read->module = std::move(module);
  if (Status status = ProgramReader::describe(*read, from.program().name); !status)
    return status.error();
  Prepared made{std::move(read), from.workload, from.budget};
  made.read->program.runLike(from.program());
  return made;
}

/// Gives these constants of the program and does nothing else.
Result<Prepared> givingConstants(const Prepared &from, const std::vector<size_t> &numbers) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::cast<mlir::ModuleOp>(from.program().module).clone();
  mlir::Block &body = compiler::entryOf(*module).getBody().front();
  std::vector<mlir::Operation *> constants = constantsOf(*module);
  llvm::SmallVector<mlir::Value> given;
  for (size_t number : numbers)
    given.push_back(constants[number]->getResult(0));
  body.getTerminator()->setOperands(given);
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && !op.hasTrait<mlir::OpTrait::IsTerminator>())
      op.erase();
  body.eraseArguments(0, body.getNumArguments());
  Result<Prepared> made = changed(from, std::move(module));
  if (made)
    for (std::vector<Tensor> &list : made->workload.inputs)
      list.clear();
  return made;
}

/// Takes the constants of the program as arguments, behind its own.
Result<Prepared> takingConstants(const Prepared &from, const std::vector<Tensor> &values) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::cast<mlir::ModuleOp>(from.program().module).clone();
  mlir::Block &body = compiler::entryOf(*module).getBody().front();
  for (mlir::Operation *constant : constantsOf(*module)) {
    mlir::Value value = constant->getResult(0);
    value.replaceAllUsesWith(body.addArgument(value.getType(), constant->getLoc()));
    constant->erase();
  }
  Result<Prepared> made = changed(from, std::move(module));
  if (made)
    for (std::vector<Tensor> &list : made->workload.inputs)
      list.insert(list.end(), values.begin(), values.end());
  return made;
}

} // namespace

Status lookAtConstants(Blame &blame, const BlameSeams &seams) {
  if (!blame.program || blame.operations.size() != 1)
    return {};
  const Prepared &whole = *blame.program;
  std::vector<mlir::Operation *> constants =
      constantsOf(mlir::cast<mlir::ModuleOp>(whole.program().module));
  if (constants.empty() || whole.workload.inputs.empty())
    return {};
  if (seams.tell)
    seams.tell("its constants");
  std::vector<size_t> all(constants.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  // Where a constant cannot be looked at apart, the operation is what is known.
  Result<Prepared> alone = givingConstants(whole, all);
  if (!alone)
    return {};
  Result<TensorLists> values = seams.evaluate(*alone);
  if (!values || values->front().size() < constants.size())
    return {};
  alone->workload.expected = *values;
  ++blame.probes;
  Result<TriedPiece> tried = seams.tryOnDevice(*alone);
  if (!tried)
    return tried.error();
  if (!tried->passed) {
    for (size_t i = 0; i < constants.size(); ++i) {
      Result<Prepared> one = givingConstants(whole, {i});
      Result<TensorLists> value = one ? seams.evaluate(*one) : Result<TensorLists>(one.error());
      if (!value)
        return {};
      one->workload.expected = std::move(*value);
      ++blame.probes;
      Result<TriedPiece> single = seams.tryOnDevice(*one);
      if (!single)
        return single.error();
      if (single->passed)
        continue;
      blame.operations = {describeOperation(constants[i])};
      blame.tried = std::move(*single);
      blame.sentence = blame.tried.sentence;
      blame.program = std::move(*one);
      return {};
    }
    return {};
  }
  // Results of several processes lie one after another: those of the first are what all have.
  std::vector<Tensor> own(values->front().begin(),
                          values->front().begin() + ptrdiff_t(constants.size()));
  Result<Prepared> given = takingConstants(whole, own);
  if (!given)
    return {};
  ++blame.probes;
  Result<TriedPiece> asArguments = seams.tryOnDevice(*given);
  if (!asArguments)
    return asArguments.error();
  if (!asArguments->passed)
    return {};
  blame.kind = Blame::Kind::Group;
  std::vector<BlamedOperation> together;
  for (mlir::Operation *constant : constants)
    together.push_back(describeOperation(constant));
  blame.operations.insert(blame.operations.begin(), together.begin(), together.end());
  return {};
}

} // namespace cupel::testbench::worker
