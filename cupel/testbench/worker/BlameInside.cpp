// Looks into loops, branches and what each device computes by itself: what a region computes is a
// program of its own, fed with the values that the reference has in each iteration.

#include "cupel/testbench/worker/Surroundings.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/ShardsOf.h"

#include <fmt/format.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Transforms/RegionUtils.h>

namespace cupel::testbench::worker {

using tensor::Tensor;

namespace {

/// Behind so many iterations nobody looks any more.
constexpr size_t kMostIterations = 64;
/// Whether operations are wrong in loops only is tried with the values of so many iterations.
constexpr size_t kIterationsInLoops = 4;

/// By value, then by process.
using Values = std::vector<std::vector<Tensor>>;

/// A region as a program: its arguments and what it captures are the program's arguments.
class RegionProgram {
public:
  RegionProgram(mlir::Region &region, mlir::ModuleOp from) : region(region), from(from) {
    mlir::getUsedValuesDefinedAbove(region, captured);
  }

  const llvm::SetVector<mlir::Value> &captures() const { return captured; }

  Result<Prepared> with(const Prepared &whole, const Values &arguments, const Values &captures,
                        const std::string &name) {
    mlir::Block &block = region.front();
    mlir::OpBuilder builder(region.getContext());
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(region.getLoc());
    (*module)->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    builder.setInsertionPointToEnd(module->getBody());
    llvm::SmallVector<mlir::Type> types(block.getArgumentTypes());
    for (mlir::Value value : captured)
      types.push_back(value.getType());
    mlir::Operation *end = block.getTerminator();
    auto main = builder.create<mlir::func::FuncOp>(
        region.getLoc(), "main",
        builder.getFunctionType(types, mlir::TypeRange(end->getOperandTypes())));
    mlir::Block *body = main.addEntryBlock();
    builder.setInsertionPointToStart(body);
    mlir::IRMapping mapping;
    for (auto [old, own] : llvm::zip(block.getArguments(), body->getArguments()))
      mapping.map(old, own);
    for (auto [old, own] : llvm::zip_equal(
             captured, body->getArguments().drop_front(block.getNumArguments())))
      mapping.map(old, own);
    for (mlir::Operation &op : block.without_terminator())
      builder.clone(op, mapping);
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value value : end->getOperands())
      results.push_back(mapping.lookupOrDefault(value));
    builder.create<mlir::func::ReturnOp>(region.getLoc(), results);
    auto read = std::make_unique<ProgramReader::Read>();
    read->module = std::move(module);
    if (Status status = ProgramReader::describe(*read, name); !status)
      return status.error();
    Values inputs = arguments;
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    return partOf(whole, std::move(read), inputs);
  }

private:
  mlir::Region &region;
  mlir::ModuleOp from;
  llvm::SetVector<mlir::Value> captured;
};

/// Results of several processes, one after another, by value.
Values byValue(const std::vector<Tensor> &list, size_t processes) {
  size_t count = list.size() / processes;
  Values values(count);
  for (size_t i = 0; i < count; ++i)
    for (size_t p = 0; p < processes; ++p)
      values[i].push_back(list[p * count + i]);
  return values;
}

class Inside {
public:
  Inside(Blame &blame, const BlameSeams &seams, uint32_t count)
      : blame(blame), seams(inside(seams, blame)), count(count), whole(*blame.program),
        processes(size_t(whole.program().replicas) * whole.program().partitions) {}

  Status look() {
    auto module = mlir::cast<mlir::ModuleOp>(whole.program().module);
    std::vector<mlir::Operation *> operations =
        compiler::countedOperations(compiler::entryOf(module), kSearched);
    if (operations.size() != 1)
      return {};
    mlir::Operation *op = operations.front();
    for (mlir::Type type : op->getOperandTypes())
      if (!mlir::isa<mlir::RankedTensorType>(type))
        return {};
    if (auto loop = mlir::dyn_cast<stablehlo::WhileOp>(op))
      return lookIntoLoop(loop, module);
    if (mlir::isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
      return lookIntoBranch(op, module);
    if (auto manual = mlir::dyn_cast<sdy::ManualComputationOp>(op))
      return lookIntoManual(manual, module);
    return {};
  }

private:
  /// What counts within a loop: one without an end is so because of something that is wrong in it.
  static BlameSeams inside(const BlameSeams &seams, const Blame &blame) {
    BlameSeams made = seams;
    const bool isHanging = blame.tried.failure && blame.tried.failure->outcome == "timed out" &&
                           blame.tried.failure->stage != "compile";
    if (isHanging && seams.tryForAnything) {
      made.tryOnDevice = seams.tryForAnything;
      made.tryAll = {};
    }
    return made;
  }

  /// What the reference has for values of the program's entry function before its operation.
  Result<Values> valuesOf(mlir::ModuleOp module, mlir::Operation *op,
                          llvm::ArrayRef<mlir::Value> wanted) {
    mlir::OwningOpRef<mlir::ModuleOp> before = module.clone();
    mlir::func::FuncOp entry = compiler::entryOf(*before), old = compiler::entryOf(module);
    // The clone lists the same values in the same order.
    mlir::IRMapping mapping;
    for (auto [a, b] : llvm::zip(old.getArguments(), entry.getArguments()))
      mapping.map(a, b);
    for (auto [a, b] : llvm::zip(old.getBody().front(), entry.getBody().front()))
      for (auto [x, y] : llvm::zip(a.getResults(), b.getResults()))
        mapping.map(x, y);
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value value : wanted)
      results.push_back(mapping.lookup(value));
    mlir::Operation *end = entry.getBody().front().getTerminator();
    end->setOperands(results);
    entry.setFunctionType(
        mlir::FunctionType::get(entry.getContext(), entry.getArgumentTypes(),
                                mlir::TypeRange(mlir::ValueRange(results))));
    auto read = std::make_unique<ProgramReader::Read>();
    for (mlir::Operation &one : llvm::make_early_inc_range(entry.getBody().front()))
      if (one.getName() == op->getName() && one.use_empty() && one.getNumRegions())
        one.erase();
    read->module = std::move(before);
    if (Status status = ProgramReader::describe(*read, whole.program().name); !status)
      return status.error();
    Prepared program{std::move(read), whole.workload, whole.budget};
    program.read->program.runLike(whole.program());
    program.workload.expected.clear();
    Result<TensorLists> given = seams.evaluate(program);
    if (!given)
      return given.error();
    return byValue(given->front(), processes);
  }

  /// Whether the region fails with these values; then what in it is to blame is found.
  Result<bool> blames(Prepared &program, const std::string &where) {
    ++blame.probes;
    Result<TriedPiece> tried = seams.tryOnDevice(program);
    if (!tried)
      return tried.error();
    if (tried->passed)
      return false;
    Result<Blame> within = findBlame(program, seams, count);
    // It fails as a whole; where nothing smaller does, the loop is blamed as it was.
    if (!within || within->kind == Blame::Kind::Accumulation ||
        within->kind == Blame::Kind::Context)
      return false;
    within->probes += blame.probes;
    within->inside = within->inside.empty() ? where : within->inside + ", " + where;
    blame = std::move(*within);
    return true;
  }

  /// The same for what fails in a loop or branch alone: it stands in the smallest one there is.
  Result<bool> blamesOnlyIn(Surrounding around, const Prepared &program, const std::string &where) {
    const Prepared copy = program.clone();
    Result<bool> found = findBlameIn(around, copy, seams, count, blame);
    if (found && *found)
      blame.inside = blame.inside.empty() ? where : blame.inside + ", " + where;
    return found;
  }

  Status lookIntoLoop(stablehlo::WhileOp loop, mlir::ModuleOp module) {
    std::string name = fmt::format("of {} ({})", blame.operations.front().name,
                                   blame.operations.front().place);
    RegionProgram condition(loop.getCond(), module), body(loop.getBody(), module);
    auto captured = [&](RegionProgram &region) {
      return valuesOf(module, loop, region.captures().getArrayRef());
    };
    llvm::SmallVector<mlir::Value> operands(loop->getOperands());
    Result<Values> state = valuesOf(module, loop, operands);
    Result<Values> forCondition = captured(condition), forBody = captured(body);
    if (!state || !forCondition || !forBody)
      return {}; // It stays the loop that is to blame.
    for (size_t iteration = 0; iteration < kMostIterations; ++iteration) {
      if (seams.tell)
        seams.tell(fmt::format("iteration {} {}", iteration, name));
      Result<Prepared> asks = condition.with(whole, *state, *forCondition, "condition");
      if (!asks)
        return {};
      Result<TensorLists> goesOn = seams.evaluate(*asks);
      if (!goesOn || goesOn->front().empty())
        return {};
      // Where nothing is known of values, one look at each region is all there is.
      bool isOver = seams.hasValues
                        ? !*reinterpret_cast<const bool *>(goesOn->front().front().data())
                        : iteration == 1;
      asks->workload.expected = std::move(*goesOn);
      std::string where = fmt::format("in the condition before iteration {} {}", iteration, name);
      Result<bool> blamed = blames(*asks, where);
      if (blamed && !*blamed && iteration < kIterationsInLoops)
        blamed = blamesOnlyIn(Surrounding::Loop, *asks, where);
      if (!blamed)
        return blamed.error();
      // What is never done is compiled and loaded with the rest.
      const bool isLooked = isOver && iteration == 0 && blame.tried.failure;
      if (*blamed || (isOver && !isLooked))
        return {};
      Result<Prepared> step = body.with(whole, *state, *forBody, "body");
      if (!step)
        return {};
      Result<TensorLists> next = seams.evaluate(*step);
      if (!next)
        return {};
      state = byValue(next->front(), processes);
      step->workload.expected = std::move(*next);
      where = fmt::format("in iteration {} {}", iteration, name);
      blamed = blames(*step, where);
      if (blamed && !*blamed && iteration < kIterationsInLoops)
        blamed = blamesOnlyIn(Surrounding::Loop, *step, where);
      if (!blamed)
        return blamed.error();
      if (*blamed || isOver)
        return {};
    }
    return {};
  }

  Status lookIntoBranch(mlir::Operation *op, mlir::ModuleOp module) {
    Result<Values> chosen = valuesOf(module, op, {op->getOperand(0)});
    if (!chosen)
      return {};
    const Tensor &selector = chosen->front().front();
    size_t last = op->getNumRegions() - 1, branch = last;
    if (mlir::isa<stablehlo::IfOp>(op)) {
      branch = *reinterpret_cast<const bool *>(selector.data()) ? 0 : 1;
    } else {
      auto index = *reinterpret_cast<const int32_t *>(selector.data());
      branch = index < 0 || size_t(index) > last ? last : size_t(index);
    }
    if (!seams.hasValues) {
      for (branch = 0; branch < last; ++branch) {
        Result<bool> blamed = lookIntoBranch(op, module, branch);
        if (!blamed || *blamed)
          return blamed ? Status() : Status(blamed.error());
      }
    }
    Result<bool> blamed = lookIntoBranch(op, module, branch);
    // A branch that is not taken is compiled and loaded with the rest.
    for (size_t other = 0; blamed && !*blamed && blame.tried.failure && other <= last; ++other)
      if (other != branch && seams.hasValues)
        blamed = lookIntoBranch(op, module, other);
    return blamed ? Status() : Status(blamed.error());
  }

  Result<bool> lookIntoBranch(mlir::Operation *op, mlir::ModuleOp module, size_t branch) {
    RegionProgram region(op->getRegion(unsigned(branch)), module);
    Result<Values> captures = valuesOf(module, op, region.captures().getArrayRef());
    if (!captures)
      return false; // It stays the branch that is to blame.
    Result<Prepared> program = region.with(whole, {}, *captures, "branch");
    if (!program)
      return false;
    Result<TensorLists> expected = seams.evaluate(*program);
    if (!expected)
      return false;
    program->workload.expected = std::move(*expected);
    std::string where = fmt::format("in branch {} of {} ({})", branch,
                                    blame.operations.front().name, blame.operations.front().place);
    Result<bool> blamed = blames(*program, where);
    if (blamed && !*blamed)
      blamed = blamesOnlyIn(mlir::isa<stablehlo::IfOp>(op) ? Surrounding::If : Surrounding::Case,
                            *program, where);
    return blamed;
  }

  /// What every device computes with its own pieces is a program for all of them.
  Status lookIntoManual(sdy::ManualComputationOp op, mlir::ModuleOp module) {
    llvm::ArrayRef<sdy::TensorShardingAttr> in = op.getInShardingsAttr().getShardings();
    if (in.empty() || whole.program().replicas != 1)
      return {};
    sdy::MeshAttr mesh = reference::meshOf(in.front(), module);
    Result<int64_t> devices =
        mesh ? reference::deviceCount(mesh) : Result<int64_t>(Error{"it names no mesh"});
    const uint32_t those = std::max(whole.program().spreadOver, whole.program().partitions);
    // Axes that are left to the compiler are split by nobody here.
    if (!devices || *devices != those || op.getManualAxes().size() != mesh.getAxes().size())
      return {};
    llvm::SmallVector<mlir::Value> operands(op->getOperands());
    Result<Values> given = valuesOf(module, op, operands);
    if (!given)
      return {};
    Values pieces(given->size());
    for (size_t i = 0; i < given->size(); ++i) {
      sdy::MeshAttr own = reference::meshOf(in[i], module);
      Result<tensor::Shards> shards =
          own ? reference::shardsOf(in[i], own) : Result<tensor::Shards>(Error{"no mesh"});
      for (uint32_t d = 0; shards && d < those; ++d) {
        const std::vector<Tensor> &each = (*given)[i];
        Result<Tensor> piece = shards->piece(each[each.size() > 1 ? d : 0], d);
        Result<Tensor> plain = piece ? piece->contiguous() : piece;
        if (!plain)
          return {};
        pieces[i].push_back(std::move(*plain));
      }
      if (pieces[i].size() != those)
        return {};
    }
    Prepared each = whole.clone();
    each.read->program.partitions = those;
    each.read->program.spreadOver = 1;
    RegionProgram body(op.getBody(), module);
    Result<Prepared> program = body.with(each, pieces, {}, "what each device computes");
    if (!program)
      return {};
    Result<TensorLists> expected = seams.evaluate(*program);
    if (!expected)
      return {};
    program->workload.expected = std::move(*expected);
    Result<bool> blamed = blames(*program, fmt::format("in what each device computes in {} ({})",
                                                       blame.operations.front().name,
                                                       blame.operations.front().place));
    return blamed ? Status() : Status(blamed.error());
  }

  Blame &blame;
  const BlameSeams seams;
  uint32_t count;
  const Prepared &whole;
  size_t processes;
};

} // namespace

Status lookInside(Blame &blame, const BlameSeams &seams, uint32_t count) {
  if (!blame.program || blame.operations.size() != 1)
    return {};
  return Inside(blame, seams, count).look();
}

} // namespace cupel::testbench::worker
