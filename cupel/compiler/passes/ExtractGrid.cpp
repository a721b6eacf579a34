#include "cupel/compiler/passes/ExtractGrid.h"

#include "cupel/compiler/passes/HoistConstants.h"
#include "cupel/ir/interpreter/Interpreter.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace cupel::compiler {

namespace {

class GridExtraction {
public:
  GridExtraction(ModuleOp module, func::FuncOp entry, interpreter::RunParallelOp parallel)
      : module(module), entry(entry), parallel(parallel), symbols(module) {}

  FailureOr<ExtractedChecks> run(const ExtractedChecks &checks) {
    ExtractedChecks result;
    result.grid.emplace();
    if (failed(readPrograms(*result.grid)) || failed(readInputs(*result.grid)) ||
        failed(findResults(checks, result)))
      return failure();
    bool isOne = programs.size() == 1;
    func::FuncOp made = isOne ? programs.front() : select(*result.grid);
    if (!made)
      return failure();
    if (!isOne)
      for (ExtractedGrid::Result &at : result.grid->results)
        at.index += firstResult[numberOf[at.process]];
    if (!isOne)
      for (ExtractedCheck &check : result.checks) {
        check.actual += firstResult[numberOf[*check.process]];
        if (check.expected)
          *check.expected += firstResult[numberOf[*check.process]];
      }
    symbols.erase(entry);
    if (failed(symbols.rename(made, "main")))
      return failure();
    made.setPublic();
    result.ownResults = made.getNumResults();
    return result;
  }

private:
  LogicalResult readPrograms(ExtractedGrid &grid) {
    if (parallel.getInfeed() && !parallel.getInfeed()->empty())
      return parallel.emitOpError("feeds a queue, which devices do not have");
    for (Attribute row : parallel.getPrograms()) {
      ++grid.replicas;
      grid.partitions = static_cast<uint32_t>(cast<ArrayAttr>(row).size());
      for (Attribute name : cast<ArrayAttr>(row)) {
        auto program = symbols.lookup<func::FuncOp>(cast<FlatSymbolRefAttr>(name).getValue());
        if (!program || program.isExternal() || program == entry)
          return parallel.emitOpError("names ") << name << ", which has no body to run";
        numberOf.push_back(static_cast<uint32_t>(llvm::find(programs, program) - programs.begin()));
        if (numberOf.back() == programs.size())
          programs.push_back(program);
      }
    }
    if (numberOf.empty() || numberOf.size() != size_t(grid.replicas) * grid.partitions)
      return parallel.emitOpError("must have rows of the same, positive number of programs");
    return success();
  }

  LogicalResult readInputs(ExtractedGrid &grid) {
    unsigned next = 0;
    for (uint32_t number : numberOf) {
      auto &inputs = grid.inputs.emplace_back();
      for (unsigned i = 0; i < programs[number].getNumArguments(); ++i, ++next) {
        ElementsAttr value = next < parallel->getNumOperands()
                                 ? constantOf(parallel->getOperand(next), symbols)
                                 : nullptr;
        if (!value)
          return parallel.emitOpError("takes an argument ")
                 << next << " that is no constant, so only an interpreter can run it";
        inputs.push_back(value);
      }
    }
    return success();
  }

  /// Where each result of the entry function comes from.
  LogicalResult findResults(const ExtractedChecks &checks, ExtractedChecks &result) {
    SmallVector<ExtractedGrid::Result> places; // Of the results of the grid.
    for (auto [process, number] : llvm::enumerate(numberOf))
      for (unsigned i = 0; i < programs[number].getNumResults(); ++i)
        places.push_back({static_cast<uint32_t>(process), i});
    if (places.size() != parallel->getNumResults())
      return parallel.emitOpError("must have as many results as its programs");
    SmallVector<ExtractedGrid::Result> found;
    for (Value value : entry.getBody().front().getTerminator()->getOperands()) {
      auto own = dyn_cast<OpResult>(value);
      if (!own || own.getOwner() != parallel)
        return parallel.emitOpError(
            "has results that the program goes on computing with, so only an interpreter can run "
            "it");
      found.push_back(places[own.getResultNumber()]);
    }
    result.grid->results.assign(found.begin(), found.begin() + checks.ownResults);
    for (ExtractedCheck check : checks.checks) {
      check.process = found[check.actual].process;
      check.actual = found[check.actual].index;
      if (check.expected) {
        if (found[*check.expected].process != *check.process)
          return emitError(check.location, "compares results of different devices");
        check.expected = found[*check.expected].index;
      }
      result.checks.push_back(check);
    }
    return success();
  }

  /// A function that runs the program whose number it is given, on that program's arguments and for
  /// that program's results; the others are zero.
  func::FuncOp select(ExtractedGrid &grid) {
    OpBuilder builder(module.getContext());
    auto numberType = RankedTensorType::get({}, builder.getI32Type());
    SmallVector<Type> arguments = {numberType}, results;
    SmallVector<unsigned> firstArgument;
    for (func::FuncOp program : programs) {
      firstArgument.push_back(static_cast<unsigned>(arguments.size()));
      firstResult.push_back(static_cast<unsigned>(results.size()));
      llvm::append_range(arguments, program.getArgumentTypes());
      llvm::append_range(results, program.getResultTypes());
    }
    SmallVector<DenseElementsAttr> zeroArguments, zeroResults;
    if (failed(zerosOf(arguments, zeroArguments)) || failed(zerosOf(results, zeroResults)))
      return nullptr;

    builder.setInsertionPointToEnd(module.getBody());
    auto made = builder.create<func::FuncOp>(parallel.getLoc(), "cupel_grid",
                                             builder.getFunctionType(arguments, results));
    symbols.insert(made);
    Block *body = made.addEntryBlock();
    builder.setInsertionPointToStart(body);
    OperationState state(parallel.getLoc(), stablehlo::CaseOp::getOperationName());
    state.addOperands(body->getArgument(0));
    state.addTypes(results);
    for (size_t k = 0; k < programs.size(); ++k)
      state.addRegion();
    Operation *choice = builder.create(state);
    builder.create<func::ReturnOp>(parallel.getLoc(), choice->getResults());
    for (size_t k = 0; k < programs.size(); ++k) {
      func::FuncOp program = programs[k];
      builder.setInsertionPointToStart(&choice->getRegion(k).emplaceBlock());
      auto call = builder.create<func::CallOp>(
          parallel.getLoc(), program,
          body->getArguments().slice(firstArgument[k], program.getNumArguments()));
      SmallVector<Value> values;
      for (auto [i, zero] : llvm::enumerate(zeroResults)) {
        bool isOwn = i >= firstResult[k] && i < firstResult[k] + program.getNumResults();
        values.push_back(
            isOwn ? call.getResult(i - firstResult[k])
                  : builder.create<stablehlo::ConstantOp>(parallel.getLoc(), zero).getResult());
      }
      builder.create<stablehlo::ReturnOp>(parallel.getLoc(), values);
    }
    for (auto [process, own] : llvm::enumerate(grid.inputs)) {
      uint32_t k = numberOf[process];
      std::vector<ElementsAttr> inputs(zeroArguments.begin(), zeroArguments.end());
      inputs[0] = DenseElementsAttr::get(numberType, static_cast<int32_t>(k));
      llvm::copy(own, inputs.begin() + firstArgument[k]);
      own = std::move(inputs);
    }
    return made;
  }

  LogicalResult zerosOf(ArrayRef<Type> types, SmallVectorImpl<DenseElementsAttr> &zeros) {
    Builder builder(module.getContext());
    for (Type type : types) {
      auto ranked = dyn_cast<RankedTensorType>(type);
      if (!ranked || !ranked.hasStaticShape() || !ranked.getElementType().isIntOrFloat())
        return parallel.emitOpError("runs different programs that take or give a ")
               << type << ", so only an interpreter can run it";
      zeros.push_back(DenseElementsAttr::get(
          ranked, ArrayRef<Attribute>(builder.getZeroAttr(ranked.getElementType()))));
    }
    return success();
  }

  ModuleOp module;
  func::FuncOp entry;
  interpreter::RunParallelOp parallel;
  SymbolTable symbols;
  SmallVector<func::FuncOp> programs; // Each once.
  SmallVector<uint32_t> numberOf;     // The program that each process runs.
  SmallVector<unsigned> firstResult;
};

} // namespace

FailureOr<ExtractedChecks> extractGrid(ModuleOp module, func::FuncOp entry,
                                       const ExtractedChecks &checks) {
  auto grids = entry.getOps<interpreter::RunParallelOp>();
  interpreter::RunParallelOp first = *grids.begin();
  if (std::next(grids.begin()) != grids.end())
    return (*std::next(grids.begin()))
        .emitOpError("is the second one of the program, so only an interpreter can run it");
  return GridExtraction(module, entry, first).run(checks);
}

} // namespace cupel::compiler
