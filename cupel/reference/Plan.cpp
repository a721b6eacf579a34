#include "cupel/reference/Plan.h"

#include "cupel/reference/Grid.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/PlanJitter.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/KeptBlocks.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/raw_ostream.h"

namespace cupel::reference {

using namespace mlir;
using tensor::Tensor;

std::string describeLocation(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
           std::to_string(file.getColumn());
  std::string text;
  llvm::raw_string_ostream os(text);
  location.print(os);
  return text;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

int Planning::slot(mlir::Value value) {
  auto [it, isNew] = slots.try_emplace(value, slotCount);
  if (isNew)
    ++slotCount;
  return it->second;
}

/// The error of an operation; one that has a place already is that of something inside.
static Error at(Operation *op, const Error &error) {
  if (error.place.isKnown())
    return error;
  Place place{describeLocation(op->getLoc()), op->getName().getStringRef().str()};
  return Error{error.code, place.location + ": " + place.operation + ": " + error.message, place};
}

static Result<Step::Promise> promiseOf(mlir::Type type) {
  Step::Promise promise;
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return promise;
  Result<tensor::ElementType> element = elementTypeOf(ranked.getElementType());
  if (!element)
    return element.error();
  promise.isTensor = true;
  promise.type = element->storage;
  promise.shape = shapeOf(type);
  return promise;
}

Status Planning::planBlock(Block &block, BlockPlan &result, bool keepArguments) {
  for (BlockArgument argument : block.getArguments())
    result.arguments.push_back(slot(argument));

  for (Operation &op : block.without_terminator()) {
    Planner planner = Registry::get().find(op.getName().getStringRef());
    if (!planner)
      return at(&op, Error{ErrorCode::Unsupported, "this operation is not evaluated"});
    Step step;
    step.op = &op;
    step.number = nextNumber++;
    Result<StepFunction> function = planner(&op, *this);
    if (!function)
      return at(&op, function.error());
    step.run = std::move(*function);
    planJitter(op, step);
    for (mlir::Value operand : op.getOperands())
      step.operands.push_back({slot(operand), false});
    for (mlir::Value value : op.getResults()) {
      step.results.push_back(slot(value));
      Result<Step::Promise> promise = promiseOf(value.getType());
      if (!promise)
        return at(&op, promise.error());
      if (promise->isTensor && llvm::cast<RankedTensorType>(value.getType()).hasStaticShape()) {
        std::optional<int64_t> bytes = tensor::byteCount(promise->type, promise->shape);
        if (!bytes)
          return at(&op, Error{ErrorCode::OutOfMemory,
                               "the result has more elements than memory can hold"});
        if (__builtin_add_overflow(step.bytes, *bytes, &step.bytes))
          return at(&op, Error{ErrorCode::OutOfMemory,
                               "the results have more elements than memory can hold"});
      }
      step.promises.push_back(std::move(*promise));
    }
    result.steps.push_back(std::move(step));
  }
  Operation *terminator = block.getTerminator();
  for (mlir::Value operand : terminator->getOperands())
    result.results.push_back({slot(operand), false});

  // Backwards: whoever is met first uses a value last. Values of enclosing blocks are theirs.
  llvm::DenseSet<mlir::Value> used;
  auto isOwn = [&](mlir::Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == &block && !keepArguments;
    return value.getDefiningOp()->getBlock() == &block;
  };
  for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
    bool again = llvm::is_contained(terminator->getOperands().drop_front(i + 1), operand);
    if (isOwn(operand) && !again)
      result.results[i].consumes = true;
    used.insert(operand);
  }
  for (Step &step : llvm::reverse(result.steps)) {
    llvm::SetVector<mlir::Value> captured;
    for (Region &region : step.op->getRegions())
      getUsedValuesDefinedAbove(region, captured);
    for (auto [i, operand] : llvm::enumerate(step.op->getOperands())) {
      if (!isOwn(operand) || used.contains(operand))
        continue;
      bool alone = llvm::count(step.op->getOperands(), operand) == 1 && !captured.contains(operand);
      step.operands[i].consumes = alone;
      step.operands[i].ends = !captured.contains(operand);
      if (llvm::find(step.releases, slot(operand)) == step.releases.end())
        step.releases.push_back(slot(operand));
    }
    for (mlir::Value value : captured)
      if (isOwn(value) && !used.contains(value) &&
          llvm::find(step.releases, slot(value)) == step.releases.end())
        step.releases.push_back(slot(value));
    for (mlir::Value value : step.op->getResults())
      if (!used.contains(value))
        step.releases.push_back(slot(value));
    used.insert(step.op->operand_begin(), step.op->operand_end());
    used.insert(captured.begin(), captured.end());
  }
  return {};
}

Result<const BlockPlan *> Planning::region(Region &region, bool keepArguments) {
  if (!region.hasOneBlock())
    return Error{ErrorCode::Unsupported, "a region of several blocks is not evaluated"};
  BlockPlan &block = plan.blocks.emplace_back();
  if (Status status = planBlock(region.front(), block, keepArguments); !status)
    return status.error();
  return &block;
}

Status Planning::planFunction(func::FuncOp function) {
  if (function.isExternal())
    return at(function, Error{"the function has no body to evaluate"});
  if (!function.getBody().hasOneBlock())
    return at(function,
              Error{ErrorCode::Unsupported, "a function of several blocks is not evaluated"});
  slots.clear();
  slotCount = 0;
  FunctionPlan &result = *plan.functions[function.getName().str()];
  result.name = function.getName().str();
  result.op = function;
  llvm::append_range(result.argumentTypes, function.getArgumentTypes());
  llvm::append_range(result.resultTypes, function.getResultTypes());
  if (Status status = planBlock(function.getBody().front(), result.body, false); !status)
    return status;
  result.slotCount = slotCount;
  return {};
}

Result<const FunctionPlan *> Planning::call(StringRef name) {
  auto &entry = plan.functions[name.str()];
  if (!entry) {
    if (!module.lookupSymbol<func::FuncOp>(name))
      return Error{"there is no function @" + name.str()};
    entry = std::make_unique<FunctionPlan>();
    pending.push_back(name.str());
  }
  return entry.get();
}

Result<std::unique_ptr<Plan>> Plan::create(ModuleOp module, const std::string &entryName) {
  func::FuncOp entry;
  if (!entryName.empty()) {
    entry = module.lookupSymbol<func::FuncOp>(entryName);
    if (!entry)
      return Error{"the program has no function @" + entryName};
  } else {
    entry = module.lookupSymbol<func::FuncOp>("main");
    auto functions = module.getOps<func::FuncOp>();
    if (!entry && llvm::hasSingleElement(functions))
      entry = *functions.begin();
    if (!entry)
      return Error{"the program has no function @main; --entry names the one to run"};
  }
  auto plan = std::make_unique<Plan>();
  Planning planning(*plan, module);
  Result<const FunctionPlan *> first = planning.call(entry.getName());
  if (!first)
    return first.error();
  while (!planning.pending.empty()) {
    std::string name = planning.pending.back();
    planning.pending.pop_back();
    if (Status status = planning.planFunction(module.lookupSymbol<func::FuncOp>(name)); !status)
      return status.error();
  }
  plan->entryPlan = plan->functions[entry.getName().str()].get();
  return plan;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static Status keepPromise(const Step::Promise &promise, const Value &value) {
  if (!promise.isTensor)
    return {};
  if (!value.isTensor())
    return Error{"a tensor is expected and something else came out"};
  const Tensor &tensor = value.tensor();
  bool same =
      tensor.dtype() == promise.type && tensor.rank() == static_cast<int64_t>(promise.shape.size());
  for (size_t i = 0; same && i < promise.shape.size(); ++i)
    same = promise.shape[i] < 0 || promise.shape[i] == tensor.dim(i);
  if (same)
    return {};
  return Error{"the result is a " + tensor::describe(tensor.elementType(), tensor.shape()) +
               ", which is not what its type says"};
}

/// The steps of a block. Which of the two is decided once a block: a run that is not jittered never
/// asks a step about it.
template <bool isJittered>
static Status runSteps(GridProcess &process, Frame &frame, const BlockPlan &block,
                       std::vector<Value> &results) {
  auto fail = [&](const Step &step, const Error &error) -> Status {
    if (!process.located) {
      StringRef name = step.op->getName().getStringRef();
      bool isCheck = name.starts_with("check.");
      std::string operation = name.str();
      if (auto target = step.op->getAttrOfType<StringAttr>("call_target_name")) {
        isCheck = target.getValue().starts_with("check.");
        operation += " @" + target.str();
      }
      // A kernel's own words are about what it met while it ran; those of a handler that was
      // called have the code that it gave.
      ErrorCode code = isCheck ? ErrorCode::CheckFailed
                       : error.code == ErrorCode::InvalidArgument && error.place.call.empty()
                           ? ErrorCode::RuntimeError
                           : error.code;
      Place place{describeLocation(step.op->getLoc()), operation, error.place.call};
      process.located = true;
      process.run.fail(
          Error{code, place.location + ": " + operation + ": " + error.message, place});
    }
    return error;
  };
  for (const Step &step : block.steps) {
    if (Status status = process.run.step(); !status)
      return fail(step, status.error());
    if (Status status = process.run.reserve(step.bytes); !status)
      return fail(step, status.error());
    Status done;
    if constexpr (isJittered) {
      done = runJittered(process, frame, step);
    } else {
      StepArguments arguments(frame, step.operands, step.results);
      done = step.run(process, arguments);
    }
    // What a kernel that was stopped says matters as little as what it leaves behind.
    if (done || done.error().code == ErrorCode::Cancelled)
      if (Status status = process.run.stopped(); !status)
        return fail(step, status.error());
    if (!done)
      return fail(step, done.error());
    for (size_t i = 0; i < step.results.size(); ++i)
      if (Status status = keepPromise(step.promises[i], frame[step.results[i]]); !status)
        return fail(step, status.error());
    if (process.run.options.trace) {
      std::vector<Value> seen;
      for (int slot : step.results)
        seen.push_back(frame[slot]);
      process.run.options.trace(step, seen);
    }
    for (int slot : step.releases)
      frame[slot] = Value();
  }
  results.clear();
  results.reserve(block.results.size());
  for (const OperandUse &use : block.results)
    results.push_back(use.consumes ? std::move(frame[use.slot]) : frame[use.slot]);
  return {};
}

Status runBlock(GridProcess &process, Frame &frame, const BlockPlan &block,
                std::vector<Value> &results) {
  if (process.run.options.jitter.isOn() && process.exactly == 0)
    return runSteps<true>(process, frame, block, results);
  return runSteps<false>(process, frame, block, results);
}

Status callFunction(GridProcess &process, const FunctionPlan &function,
                    std::vector<Value> arguments, std::vector<Value> &results) {
  if (process.depth >= kMaxCallDepth)
    return Error{"calls nest deeper than " + std::to_string(kMaxCallDepth)};
  ++process.depth;
  Frame frame(function.slotCount);
  for (size_t i = 0; i < arguments.size(); ++i)
    frame[function.body.arguments[i]] = std::move(arguments[i]);
  Status status = runBlock(process, frame, function.body, results);
  --process.depth;
  return status;
}

Result<std::vector<Value>> Plan::run(Run &run, std::vector<Value> arguments, uint32_t replicas,
                                     uint32_t partitions) const {
  std::vector<std::vector<Value>> given;
  given.push_back(std::move(arguments));
  auto outputs = runEach(run, std::move(given), replicas, partitions);
  if (!outputs)
    return outputs.error();
  std::vector<Value> results;
  for (std::vector<Value> &output : *outputs)
    std::move(output.begin(), output.end(), std::back_inserter(results));
  return results;
}

Result<std::vector<std::vector<Value>>> Plan::runEach(Run &run,
                                                      std::vector<std::vector<Value>> arguments,
                                                      uint32_t replicas,
                                                      uint32_t partitions) const {
  tensor::BlockKeeper keeper; // Operations take what those before them are done with.
  Grid grid(replicas, partitions);
  if (arguments.size() != 1 && arguments.size() != size_t(grid.size()))
    return Error{"there are arguments for " + std::to_string(arguments.size()) +
                 " processes, not for " + std::to_string(grid.size())};
  for (const std::vector<Value> &list : arguments)
    if (list.size() != entryPlan->argumentTypes.size())
      return Error{"@" + entryPlan->name + " takes " +
                   std::to_string(entryPlan->argumentTypes.size()) + " arguments, not " +
                   std::to_string(list.size())};
  for (auto [i, type] : llvm::enumerate(entryPlan->argumentTypes)) {
    Result<Step::Promise> promise = promiseOf(type);
    if (!promise)
      return promise.error();
    for (std::vector<Value> &list : arguments)
      if (Status status = keepPromise(*promise, list[i]); !status)
        return Error{"argument " + std::to_string(i) + " does not have the type that @" +
                     entryPlan->name + " asks for"};
  }
  std::vector<std::vector<Value>> outputs(grid.size());
  bool done = grid.run(run, [&](GridProcess &process) {
    // Where nobody else takes them, the arguments' memory may be used again.
    std::vector<Value> &list = arguments[arguments.size() > 1 ? grid.id(process) : 0];
    bool isOnlyOne = arguments.size() == size_t(grid.size());
    std::vector<Value> own = isOnlyOne ? std::move(list) : list;
    return callFunction(process, *entryPlan, std::move(own), outputs[grid.id(process)]);
  });
  if (!done)
    return *run.failure();
  return outputs;
}

} // namespace cupel::reference
