#include "cupel/testbench/worker/Intermediates.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/SourcePlaces.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/EquivalenceClasses.h>
#include <mlir/Transforms/RegionUtils.h>

namespace cupel::testbench::worker {

using tensor::Tensor;

BlamedOperation describeOperation(mlir::Operation *op) {
  BlamedOperation one;
  one.name = op->getName().getStringRef().str();
  one.holdsOthers = op->hasTrait<stablehlo::Loops>() || op->hasTrait<stablehlo::Branches>() ||
                    mlir::isa<sdy::ManualComputationOp>(op);
  auto types = [](mlir::TypeRange range) {
    std::vector<std::string> texts;
    for (mlir::Type type : range) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      texts.push_back(std::move(text));
    }
    return texts;
  };
  std::vector<std::string> results = types(op->getResultTypes());
  std::string given = fmt::format("{}", fmt::join(results, ", "));
  one.types = fmt::format("({}) -> {}", fmt::join(types(op->getOperandTypes()), ", "),
                          results.size() == 1 ? given : "(" + given + ")");
  SourcePlace place = sourcePlaceOf(op->getLoc());
  one.place = std::move(place.line);
  one.through = std::move(place.through);
  one.layer = std::move(place.layer);
  for (mlir::NamedAttribute attribute : op->getAttrs()) {
    if (attribute.getName() == kStaysConstant || attribute.getName() == compiler::kLiesAttr)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << attribute.getValue();
    constexpr size_t kLongest = 200; // Constants are values, no property of the operation.
    if (text.size() <= kLongest)
      one.attributes += fmt::format("{}{} = {}", one.attributes.empty() ? "" : ", ",
                                    attribute.getName().getValue().str(), text);
  }
  return one;
}

std::vector<BlamedOperation> operationsOf(const Program &program) {
  std::vector<BlamedOperation> operations;
  mlir::func::FuncOp entry = compiler::entryOf(mlir::cast<mlir::ModuleOp>(program.module));
  for (mlir::Operation *op : compiler::countedOperations(entry, kSearched))
    operations.push_back(describeOperation(op));
  return operations;
}

/// Bytes of a value that can be handed on; nothing for tokens, tuples and sizes nobody knows.
static std::optional<uint64_t> bytesOf(mlir::Value value) {
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return {};
  mlir::Type element = type.getElementType();
  uint64_t bits = 64;
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else if (element.isIntOrFloat())
    bits = element.getIntOrFloatBitWidth();
  else
    return {};
  return uint64_t(type.getNumElements()) * std::max<uint64_t>(1, bits / 8);
}

Result<Intermediates> Intermediates::of(const Prepared &whole, const Evaluate &evaluate,
                                        uint64_t memoryBytes) {
  Intermediates all;
  all.whole = &whole;
  const Program &program = whole.program();
  all.processes = size_t(program.replicas) * program.partitions;
  all.module = mlir::cast<mlir::ModuleOp>(program.module).clone();
  all.entry = compiler::entryOf(*all.module);
  if (!all.entry || all.entry.isExternal())
    return Error{ErrorCode::Unsupported, "it has no entry function"};
  if (!compiler::makeOneList(all.entry))
    return Error{ErrorCode::Unsupported, "its calls cannot be put in line"};
  std::vector<mlir::Operation *> operations = compiler::countedOperations(all.entry, kSearched);
  if (operations.empty())
    return Error{ErrorCode::Unsupported, "it has no operations"};

  // What hands on something that is no tensor stays with those who read it.
  llvm::DenseMap<mlir::Operation *, size_t> numbers;
  llvm::EquivalenceClasses<size_t> together;
  uint64_t bytes = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    numbers[operations[i]] = i;
    together.insert(i);
  }
  mlir::Block &body = all.entry.getBody().front();
  for (size_t i = 0; i < operations.size(); ++i)
    for (mlir::Value value : operations[i]->getResults()) {
      if (std::optional<uint64_t> size = bytesOf(value)) {
        bytes += *size * all.processes;
        continue;
      }
      for (mlir::Operation *user : value.getUsers())
        if (auto found = numbers.find(body.findAncestorOpInBlock(*user)); found != numbers.end())
          together.unionSets(i, found->second);
        else
          return Error{ErrorCode::Unsupported, "it gives something that is not a tensor"};
    }
  if (memoryBytes && bytes > memoryBytes)
    return Error{ErrorCode::OutOfMemory,
                 fmt::format("its intermediate values take {} MiB, and --memory allows {} MiB",
                             bytes >> 20, memoryBytes >> 20)};
  llvm::DenseMap<size_t, size_t> atomOf;
  for (size_t i = 0; i < operations.size(); ++i) {
    size_t leader = together.getLeaderValue(i);
    auto [found, isNew] = atomOf.try_emplace(leader, all.atoms.size());
    if (isNew) {
      all.atoms.emplace_back();
      all.described.emplace_back();
      all.readers.emplace_back();
    }
    size_t atom = found->second;
    all.atoms[atom].push_back(i);
    all.described[atom].push_back(describeOperation(operations[i]));
    llvm::SetVector<mlir::Value> read;
    mlir::getUsedValuesDefinedAbove(operations[i]->getRegions(), read);
    read.insert(operations[i]->operand_begin(), operations[i]->operand_end());
    for (mlir::Value value : read)
      if (mlir::Operation *giver = value.getDefiningOp())
        if (auto known = numbers.find(giver); known != numbers.end())
          all.readers[atom].push_back(atomOf[together.getLeaderValue(known->second)]);
  }

  Result<std::vector<std::vector<Tensor>>> inputs = inputsByProcess(whole, all.processes);
  if (!inputs)
    return inputs.error();
  for (auto [i, argument] : llvm::enumerate(all.entry.getArguments()))
    if (i < inputs->size())
      all.values[argument] = (*inputs)[i];
  std::vector<size_t> every(operations.size());
  for (size_t i = 0; i < every.size(); ++i)
    every[i] = i;
  compiler::Selection selection =
      compiler::selectOperations(all.entry, every, compiler::Gives::Everything, kSearched);
  // Tokens have no value: only tensors are asked for.
  auto main = compiler::entryOf(*selection.program);
  mlir::Operation *end = main.getBody().front().getTerminator();
  llvm::SmallVector<mlir::Value> given, wanted;
  for (auto [value, own] : llvm::zip_equal(selection.gives, end->getOperands()))
    if (bytesOf(value)) {
      given.push_back(value);
      wanted.push_back(own);
    }
  end->setOperands(wanted);
  main.setFunctionType(mlir::FunctionType::get(main.getContext(), main.getArgumentTypes(),
                                               mlir::TypeRange(mlir::ValueRange(wanted))));
  std::vector<std::vector<Tensor>> taken;
  for (mlir::Value value : selection.takes)
    taken.push_back(all.values.lookup(value));
  auto read = std::make_unique<ProgramReader::Read>();
  read->module = std::move(selection.program);
  if (Status status = ProgramReader::describe(*read, program.name); !status)
    return status.error();
  Prepared everything = partOf(whole, std::move(read), taken);
  Result<TensorLists> results = evaluate(everything);
  if (!results)
    return results.error();
  const std::vector<Tensor> &list = results->front();
  if (list.size() != given.size() * all.processes)
    return Error{ErrorCode::Internal, "the reference gives other results than were asked for"};
  for (size_t i = 0; i < given.size(); ++i) {
    std::vector<Tensor> &own = all.values[given[i]];
    for (size_t p = 0; p < all.processes; ++p)
      own.push_back(list[p * given.size() + i]);
    auto result = mlir::cast<mlir::OpResult>(given[i]);
    size_t number = numbers[result.getOwner()];
    all.everything.push_back(
        {atomOf[together.getLeaderValue(number)], size_t(result.getResultNumber())});
  }
  return all;
}

Result<Prepared> Intermediates::select(const std::vector<size_t> &chosen,
                                       compiler::Gives gives) const {
  std::vector<size_t> numbers;
  for (size_t atom : chosen)
    numbers.insert(numbers.end(), atoms[atom].begin(), atoms[atom].end());
  std::ranges::sort(numbers);
  mlir::func::FuncOp function = entry;
  compiler::Selection selection = compiler::selectOperations(function, numbers, gives, kSearched);
  std::vector<std::vector<Tensor>> inputs;
  for (mlir::Value value : selection.takes) {
    auto found = values.find(value);
    if (found == values.end())
      return Error{ErrorCode::Unsupported, "it takes something that is not a tensor"};
    inputs.push_back(found->second);
  }
  auto read = std::make_unique<ProgramReader::Read>();
  read->module = std::move(selection.program);
  if (Status status = ProgramReader::describe(*read, whole->program().name + ", part"); !status)
    return status.error();
  Prepared part = partOf(*whole, std::move(read), inputs);
  std::vector<Tensor> &expected = part.workload.expected.emplace_back();
  for (size_t p = 0; p < processes; ++p)
    for (mlir::Value value : selection.gives) {
      auto found = values.find(value);
      if (found == values.end())
        return Error{ErrorCode::Unsupported, "it gives something that is not a tensor"};
      expected.push_back(found->second[p]);
    }
  return part;
}

/// Programs that went through JAX's export check themselves with custom calls.
static bool isCheck(mlir::Operation *op) {
  if (auto call = mlir::dyn_cast<stablehlo::CustomCallOp>(op))
    return call.getCallTargetName().starts_with("check.expect_") && op->getNumResults() == 0;
  return op->getName().getDialectNamespace() == "check";
}

Result<Prepared> withoutChecks(const Prepared &whole) {
  Result<Prepared> made = isSpread(whole) ? gathered(whole) : Result<Prepared>(whole.clone());
  if (!made)
    return made.error();
  Prepared plain = std::move(*made);
  plain.isComplete = false;
  const Program devices = plain.read->program;
  plain.read->program = {};
  workload::Workload &workload = plain.workload;
  // What a folder's checks compare are results already.
  if (!workload.checks.empty()) {
    workload.checks.clear();
    workload.constants.clear();
    workload.expected.clear();
    workload.provenance.expectation.clear();
  }
  workload.programs.clear();
  mlir::func::FuncOp entry = compiler::entryOf(*plain.read->module);
  // As they are for the test they are for its parts.
  plain.read->module->walk([&](mlir::Operation *op) {
    if (op->hasTrait<mlir::OpTrait::ConstantLike>() && op->getParentOp() != entry)
      op->setDiscardableAttr(kStaysConstant, mlir::UnitAttr::get(op->getContext()));
  });
  if (whole.program().selfChecking && entry && !entry.isExternal()) {
    workload.expected.clear();
    workload.provenance.expectation.clear();
    // Calls stay calls, and composites composites, unless checks stand in them.
    bool isInside = false;
    plain.read->module->walk([&](mlir::Operation *op) {
      isInside |= isCheck(op) && op->getParentOp() != entry;
    });
    if (isInside && !compiler::makeOneList(entry))
      return Error{ErrorCode::Unsupported, "its calls cannot be put in line"};
    mlir::Operation *end = entry.getBody().front().getTerminator();
    llvm::SetVector<mlir::Value> results;
    results.insert(end->operand_begin(), end->operand_end());
    for (mlir::Operation &op : llvm::make_early_inc_range(entry.getBody().front())) {
      if (!isCheck(&op))
        continue;
      // The first operand is what the program computed; a second one may be too.
      for (mlir::Value value : op.getOperands())
        if (bytesOf(value))
          results.insert(value);
      op.erase();
    }
    end->setOperands(results.getArrayRef());
    entry.setFunctionType(mlir::FunctionType::get(
        entry.getContext(), entry.getArgumentTypes(),
        mlir::TypeRange(mlir::ValueRange(results.getArrayRef()))));
    entry.removeResAttrsAttr();
  }
  if (Status status = ProgramReader::describe(*plain.read, whole.program().name); !status)
    return status.error();
  if (plain.program().selfChecking)
    return Error{ErrorCode::Unsupported,
                 "it checks itself where its checks cannot be taken out"};
  plain.read->program.runLike(devices);
  plain.read->program.arguments = whole.program().arguments;
  return plain;
}

} // namespace cupel::testbench::worker
