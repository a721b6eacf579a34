#include "cupel/testbench/worker/Surroundings.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <fmt/format.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Verifier.h>

namespace cupel::testbench::worker {

using tensor::Tensor;

namespace {

/// Makes another entry function around the operations of a copy of a program.
class Placing {
public:
  explicit Placing(const Prepared &from)
      : from(from), module(mlir::cast<mlir::ModuleOp>(from.program().module).clone()),
        inner(compiler::entryOf(*module)), builder(module->getContext()), at(inner.getLoc()) {}

  Result<Prepared> into(Surrounding surrounding) {
    if (!inner || !inner.getBody().hasOneBlock())
      return Error{ErrorCode::Unsupported, "it has no entry function of one block"};
    inner.removeArgAttrsAttr();
    inner.removeResAttrsAttr();
    const bool isDone = surrounding == Surrounding::Call               ? call()
                        : surrounding == Surrounding::Loop             ? loop()
                        : surrounding == Surrounding::DonatedArguments ? donate()
                                                                       : branch(surrounding);
    if (!isDone)
      return Error{ErrorCode::Unsupported, "it cannot be put there"};
    mlir::ScopedDiagnosticHandler quiet(module->getContext(),
                                        [](mlir::Diagnostic &) { return mlir::success(); });
    if (mlir::failed(mlir::verify(*module)))
      return Error{ErrorCode::Unsupported, "it makes no program there"};
    auto read = std::make_unique<ProgramReader::Read>();
    read->module = std::move(module);
    if (Status status = ProgramReader::describe(*read, from.program().name); !status)
      return status.error();
    Prepared made{std::move(read), from.workload, from.budget};
    made.read->program.runLike(from.program());
    for (std::vector<Tensor> &list : made.workload.inputs)
      list.insert(list.end(), more.begin(), more.end());
    return made;
  }

private:
  /// Another entry function, which takes what the program takes and these types behind it.
  mlir::Block *openOuter(llvm::ArrayRef<mlir::Type> behind = {}) {
    llvm::SmallVector<mlir::Type> types(inner.getArgumentTypes());
    types.append(behind.begin(), behind.end());
    builder.setInsertionPoint(inner);
    outer = builder.create<mlir::func::FuncOp>(
        at, "main", builder.getFunctionType(types, inner.getResultTypes()));
    mlir::Block *body = outer.addEntryBlock();
    builder.setInsertionPointToStart(body);
    return body;
  }
  void closeOuter(mlir::ValueRange results) {
    builder.create<mlir::func::ReturnOp>(at, results);
    inner.erase();
  }

  /// The operations, where the builder stands, with these arguments; gives their results.
  llvm::SmallVector<mlir::Value> operations(mlir::ValueRange arguments) {
    mlir::IRMapping mapping;
    for (auto [old, own] : llvm::zip(inner.getArguments(), arguments))
      mapping.map(old, own);
    mlir::Block &body = inner.getBody().front();
    for (mlir::Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value value : body.getTerminator()->getOperands())
      results.push_back(mapping.lookup(value));
    return results;
  }

  /// Zeros of the types of all results; empty where one has none.
  llvm::SmallVector<mlir::Value> zeros() {
    llvm::SmallVector<mlir::Value> made;
    for (mlir::Type type : inner.getResultTypes()) {
      auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
      mlir::TypedAttr zero = tensor && tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat()
                                 ? builder.getZeroAttr(tensor.getElementType())
                                 : mlir::TypedAttr();
      if (!zero)
        return {};
      made.push_back(builder.create<stablehlo::ConstantOp>(
          at, mlir::DenseElementsAttr::get(tensor, mlir::Attribute(zero))));
    }
    return made;
  }

  mlir::Value truth(bool value) {
    auto type = mlir::RankedTensorType::get({}, builder.getI1Type());
    return builder.create<stablehlo::ConstantOp>(at, mlir::DenseElementsAttr::get(type, value));
  }

  bool call() {
    mlir::Block *body = openOuter();
    std::string own = "called";
    while (module->lookupSymbol(own))
      own += '_';
    inner.setName(own);
    inner.setPrivate();
    auto made = builder.create<mlir::func::CallOp>(at, inner, body->getArguments());
    builder.create<mlir::func::ReturnOp>(at, made.getResults());
    return true;
  }

  /// A loop that is left after its first iteration; there is no arithmetic in it that could be wrong.
  bool loop() {
    mlir::Block *body = openOuter();
    llvm::SmallVector<mlir::Value> start = {truth(true)};
    llvm::SmallVector<mlir::Value> results = zeros();
    if (results.size() != inner.getNumResults())
      return false;
    start.append(results);
    auto types = llvm::to_vector(mlir::TypeRange(mlir::ValueRange(start)));
    auto made = builder.create<stablehlo::WhileOp>(at, types, start);
    llvm::SmallVector<mlir::Location> places(types.size(), at);
    mlir::Block *condition = builder.createBlock(&made.getCond(), {}, types, places);
    builder.create<stablehlo::ReturnOp>(at, mlir::ValueRange(condition->getArgument(0)));
    builder.createBlock(&made.getBody(), {}, types, places);
    llvm::SmallVector<mlir::Value> next = operations(body->getArguments());
    next.insert(next.begin(), truth(false));
    builder.create<stablehlo::ReturnOp>(at, mlir::ValueRange(next));
    builder.setInsertionPointAfter(made);
    closeOuter(made->getResults().drop_front());
    return true;
  }

  bool branch(Surrounding surrounding) {
    const bool isIf = surrounding == Surrounding::If;
    auto type = mlir::RankedTensorType::get({}, isIf ? builder.getI1Type() : builder.getI32Type());
    mlir::Block *body = openOuter({type});
    mlir::Value chosen = body->getArguments().back();
    mlir::OperationState state(at, isIf ? "stablehlo.if" : "stablehlo.case");
    state.addOperands(chosen);
    state.addTypes(inner.getResultTypes());
    state.addRegion();
    state.addRegion();
    mlir::Operation *made = builder.create(state);
    builder.createBlock(&made->getRegion(0));
    builder.create<stablehlo::ReturnOp>(at, mlir::ValueRange(operations(body->getArguments().drop_back())));
    builder.createBlock(&made->getRegion(1));
    llvm::SmallVector<mlir::Value> others = zeros();
    if (others.size() != inner.getNumResults())
      return false;
    builder.create<stablehlo::ReturnOp>(at, mlir::ValueRange(others));
    builder.setInsertionPointAfter(made);
    closeOuter(made->getResults());
    Result<Tensor> first = Tensor::zeros(isIf ? tensor::DType::I1 : tensor::DType::I32, {});
    if (!first)
      return false;
    if (isIf)
      *reinterpret_cast<bool *>(first->mutableData()) = true;
    more.push_back(std::move(*first));
    return true;
  }

  /// Each result may overwrite an argument of its type.
  bool donate() {
    llvm::SmallVector<bool> isTaken(inner.getNumResults(), false);
    bool isAny = false;
    for (unsigned i = 0; i < inner.getNumArguments(); ++i)
      for (unsigned r = 0; r < inner.getNumResults(); ++r)
        if (!isTaken[r] && inner.getArgumentTypes()[i] == inner.getResultTypes()[r]) {
          inner.setArgAttr(i, "tf.aliasing_output", builder.getI32IntegerAttr(int32_t(r)));
          isTaken[r] = isAny = true;
          break;
        }
    return isAny;
  }

  const Prepared &from;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp inner, outer;
  mlir::OpBuilder builder;
  mlir::Location at;
  std::vector<Tensor> more; ///< What is taken beyond the program's own arguments.
};

} // namespace

Result<Prepared> handsOn(const Prepared &test, std::optional<size_t> only) {
  mlir::func::FuncOp entry = compiler::entryOf(mlir::cast<mlir::ModuleOp>(test.program().module));
  const std::vector<Tensor> &results = test.workload.expected.front();
  const size_t processes = size_t(test.program().replicas) * test.program().partitions;
  const size_t count = entry.getNumResults();
  if (count == 0 || results.size() != count * processes)
    return Error{ErrorCode::Unsupported, "it gives nothing"};
  llvm::SmallVector<mlir::Type> types;
  std::vector<std::vector<Tensor>> values;
  for (size_t i = only.value_or(0); i < (only ? *only + 1 : count); ++i) {
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(entry.getResultTypes()[i]);
    if (!type || !type.hasStaticShape())
      return Error{ErrorCode::Unsupported, "it gives something that has no size"};
    types.push_back(type);
    std::vector<Tensor> &each = values.emplace_back();
    for (size_t p = 0; p < processes; ++p)
      each.push_back(results[p * count + i]);
  }
  mlir::OpBuilder builder(entry.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(entry.getLoc());
  (*module)->setDiscardableAttrs(entry->getParentOp()->getDiscardableAttrDictionary());
  builder.setInsertionPointToEnd(module->getBody());
  for (sdy::MeshOp mesh : entry->getParentOfType<mlir::ModuleOp>().getOps<sdy::MeshOp>())
    builder.clone(*mesh);
  auto main = builder.create<mlir::func::FuncOp>(entry.getLoc(), "main",
                                                 builder.getFunctionType(types, types));
  // On several devices they lie as they did.
  for (unsigned i = 0; i < types.size(); ++i)
    for (const char *name : {"sdy.sharding", "mhlo.sharding"})
      if (mlir::Attribute lies = entry.getResultAttr(unsigned(only.value_or(0)) + i, name)) {
        main.setArgAttr(i, name, lies);
        main.setResultAttr(i, name, lies);
      }
  builder.setInsertionPointToStart(main.addEntryBlock());
  builder.create<mlir::func::ReturnOp>(entry.getLoc(), main.getArguments());
  auto read = std::make_unique<ProgramReader::Read>();
  read->module = std::move(module);
  if (Status status = ProgramReader::describe(*read, test.program().name); !status)
    return status.error();
  Prepared made = partOf(test, std::move(read), values);
  std::vector<Tensor> &expected = made.workload.expected.emplace_back();
  for (size_t p = 0; p < processes; ++p)
    for (const std::vector<Tensor> &value : values)
      expected.push_back(value[p]);
  return made;
}

std::string_view name(Surrounding surrounding) {
  switch (surrounding) {
  case Surrounding::Call:
    return "in a function that is called";
  case Surrounding::Loop:
    return "in a loop";
  case Surrounding::If:
  case Surrounding::Case:
    return "in a branch";
  case Surrounding::DonatedArguments:
    return "where results may overwrite arguments";
  }
  return "";
}

Result<Prepared> placedIn(const Prepared &program, Surrounding surrounding) {
  return Placing(program).into(surrounding);
}

BlameSeams placing(const BlameSeams &seams, Surrounding surrounding) {
  BlameSeams made = seams;
  made.isPlaced = true;
  made.tryOnDevice = [tryIt = seams.tryOnDevice, surrounding](Prepared &piece) -> Result<TriedPiece> {
    Result<Prepared> there = placedIn(piece, surrounding);
    // What cannot stand there does not fail there.
    if (!there)
      return TriedPiece{.passed = true};
    return tryIt(*there);
  };
  if (seams.tryAll)
    made.tryAll = [tryThem = seams.tryAll, surrounding](std::span<Prepared *> pieces) {
      std::vector<Prepared> there;
      std::vector<size_t> numbers;
      for (size_t i = 0; i < pieces.size(); ++i)
        if (Result<Prepared> one = placedIn(*pieces[i], surrounding)) {
          there.push_back(std::move(*one));
          numbers.push_back(i);
        }
      std::vector<Prepared *> pointers;
      for (Prepared &one : there)
        pointers.push_back(&one);
      std::vector<Result<TriedPiece>> tried = tryThem(pointers);
      std::vector<Result<TriedPiece>> all(pieces.size(), TriedPiece{.passed = true});
      for (size_t i = 0; i < numbers.size(); ++i)
        all[numbers[i]] = std::move(tried[i]);
      return all;
    };
  return made;
}

Result<bool> findBlameIn(Surrounding surrounding, const Prepared &test, const BlameSeams &seams,
                         uint32_t count, Blame &blame) {
  if (seams.isPlaced)
    return false;
  if (seams.tell)
    seams.tell(std::string(name(surrounding)));
  BlameSeams there = placing(seams, surrounding);
  Prepared copy = test.clone();
  ++blame.probes;
  Result<TriedPiece> tried = there.tryOnDevice(copy);
  if (!tried)
    return tried.error();
  if (tried->passed)
    return false;
  // Where it fails whatever stands there, no operation is to blame.
  Result<Prepared> nothing = handsOn(test, {});
  Result<TriedPiece> control =
      nothing ? there.tryOnDevice(*nothing) : Result<TriedPiece>(TriedPiece{.passed = true});
  if (!control)
    return control.error();
  if (!control->passed)
    return false;
  Result<Blame> within = findBlame(test, there, count);
  if (!within || !within->program || within->kind == Blame::Kind::Accumulation)
    return false;
  Result<Prepared> program = placedIn(*within->program, surrounding);
  if (!program)
    return false;
  within->program = std::move(*program);
  within->probes += blame.probes;
  within->onlyIn = name(surrounding);
  blame = std::move(*within);
  return true;
}

} // namespace cupel::testbench::worker
