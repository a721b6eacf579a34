#include "cupel/cli/GraphEdits.h"

#include "cupel/cli/GraphOfModule.h"
#include "cupel/cli/OperationOptions.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/tensor/OperationMarks.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <fmt/format.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Matchers.h>
#include <mlir/IR/SymbolTable.h>
#include <mlir/IR/Verifier.h>

namespace cupel::cli {

using namespace mlir;

namespace {

/// Bits of exponent and mantissa.
constexpr std::pair<const char *, std::pair<int32_t, int32_t>> kFormats[] = {
    {"bf16", {8, 7}}, {"f16", {5, 10}}, {"tf32", {8, 10}}, {"fp8", {4, 3}}};

bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

bool isTensor(Type type) { return isa<RankedTensorType>(type); }

Value kept(OpBuilder &builder, Value value) {
  auto barrier = builder.create<stablehlo::OptimizationBarrierOp>(value.getLoc(), ValueRange(value));
  barrier->setAttr(tir::kKeptBarrierAttr, builder.getUnitAttr());
  return barrier->getResult(0);
}

Value rounded(OpBuilder &builder, Value value, std::pair<int32_t, int32_t> format) {
  OperationState state(value.getLoc(), stablehlo::ReducePrecisionOp::getOperationName());
  state.addOperands(value);
  state.addTypes(value.getType());
  state.addAttribute("exponent_bits", builder.getI32IntegerAttr(format.first));
  state.addAttribute("mantissa_bits", builder.getI32IntegerAttr(format.second));
  return builder.create(state)->getResult(0);
}

/// Puts `change` around what an operation takes and gives.
template <typename Fits, typename Change> size_t surround(Operation *op, Fits fits, Change change) {
  size_t changed = 0;
  OpBuilder before(op);
  for (OpOperand &operand : op->getOpOperands())
    if (fits(operand.get().getType()) && !matchPattern(operand.get(), m_Constant())) {
      operand.set(change(before, operand.get()));
      ++changed;
    }
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  for (OpResult result : op->getResults())
    if (fits(result.getType())) {
      Value changedValue = change(after, result);
      result.replaceAllUsesExcept(changedValue, changedValue.getDefiningOp());
      ++changed;
    }
  return changed;
}

/// Who computes it; empty, or why that cannot be chosen.
std::string placeOnReference(Operation *op) {
  if (op->hasTrait<stablehlo::Loops>() || op->hasTrait<stablehlo::Branches>())
    return "is a loop or a branch; choose operations in it";
  if (op->hasTrait<stablehlo::Collective>() || op->hasTrait<stablehlo::DependsOnProcess>() || !isMemoryEffectFree(op))
    return "has to do with other devices";
  op->setAttr(tir::kPlacementAttr, StringAttr::get(op->getContext(), tir::kOnReference));
  return {};
}

const OperationOptionInfo *findOption(StringRef name, StringRef choice) {
  for (const OperationOptionInfo &one : kOperationOptions) {
    SmallVector<StringRef> choices;
    StringRef(one.choices).split(choices, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    if (name == StringRef(one.name) && (choices.empty() ? choice.empty() : llvm::is_contained(choices, choice)))
      return &one;
  }
  return nullptr;
}

} // namespace

Status overrideOperations(ModuleOp module, const std::vector<Override> &overrides) {
  // All numbers are those of the program as it is before the first change.
  StageGraph graph = graphOf(module);
  std::vector<std::pair<Operation *, std::string>> wanted;
  for (const auto &[node, what] : overrides) {
    if (node >= graph.nodes.size() || !graph.nodes[node].op)
      return Error{fmt::format("--override: there is no operation {}", node)};
    wanted.emplace_back(graph.nodes[node].op, what);
  }
  for (auto &[op, what] : wanted) {
    std::string named = op->getName().getStringRef().str();
    if (op->hasTrait<OpTrait::IsTerminator>() || !isa<stablehlo::StablehloDialect>(op->getDialect()))
      return Error{fmt::format("--override: {} is no operation with options of its own", named)};
    auto [name, choice] = StringRef(what).split('=');
    const OperationOptionInfo *option = findOption(name, choice);
    if (!option)
      return Error{fmt::format("--override: '{}' is nothing that the compiler can do to one operation; there is {}", what, listOperationOptions(false))};
    size_t changed = 0;
    switch (option->option) {
    case OperationOption::FusionBarrier:
      changed = surround(op, isTensor, kept);
      break;
    case OperationOption::Precision: {
      auto format = llvm::find_if(kFormats, [&](const auto &one) { return choice == one.first; });
      if (format == std::end(kFormats))
        return Error{ErrorCode::Internal, fmt::format("--override: the bits of {} are not known", choice.str())};
      changed = surround(op, isFloatTensor, [&](OpBuilder &builder, Value value) { return rounded(builder, value, format->second); });
      break;
    }
    case OperationOption::Placement:
      if (std::string why = placeOnReference(op); !why.empty())
        return Error{fmt::format("--override: {} {}", named, why)};
      changed = 1;
      break;
    }
    if (changed == 0)
      return Error{fmt::format("--override: {} takes and gives nothing that {} could change", named, what)};
  }
  return {};
}

Status extractOperations(ModuleOp module, const std::vector<size_t> &nodes,
                         const std::set<std::string> &weights, size_t &inputs) {
  StageGraph graph = graphOf(module);
  func::FuncOp entry = compiler::entryOf(module);
  if (!entry)
    return Error{"--extract: the program has no function @main"};
  Block &body = entry.getBody().front();
  llvm::SmallPtrSet<Operation *, 32> chosen;
  for (size_t node : nodes) {
    if (node >= graph.nodes.size())
      return Error{fmt::format("--extract: there is no operation {}", node)};
    Operation *op = graph.nodes[node].op;
    if (!op || op->hasTrait<OpTrait::IsTerminator>())
      continue; // Arguments and results come by themselves.
    // A part of a loop means the loop.
    Operation *whole = body.findAncestorOpInBlock(*op);
    if (!whole)
      return Error{fmt::format("--extract: operation {} stands in another function than @{}", node, entry.getName().str())};
    chosen.insert(whole);
  }
  if (chosen.empty())
    return Error{"--extract: no operation is chosen"};
  // Whatever lies between chosen ones, on a way from one to another, belongs to them only if chosen:
  // such a value becomes an argument, which it may be as long as it does not depend on a result.
  llvm::SmallPtrSet<Operation *, 32> behind;
  for (Operation &op : body) {
    bool isBehind = llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *source = operand.getDefiningOp();
      return source && (behind.contains(source) || chosen.contains(source));
    });
    if (chosen.contains(&op)) {
      for (Value operand : op.getOperands())
        if (Operation *source = operand.getDefiningOp(); source && behind.contains(source))
          return Error{fmt::format("--extract: {} lies between the chosen operations and is not chosen", graph.numbers.count(source) ? fmt::format("operation {} ({})", graph.numbers.lookup(source), source->getName().getStringRef().str()) : "an operation")};
    } else if (isBehind) {
      behind.insert(&op);
    }
  }
  std::vector<Value> given, gives;
  std::vector<Operation *> constants;
  llvm::SetVector<Value> outside;
  for (Operation &op : body) {
    if (!chosen.contains(&op))
      continue;
    op.walk([&](Operation *inside) {
      for (Value operand : inside->getOperands()) {
        Operation *source = operand.getDefiningOp();
        Block *block = operand.getParentBlock();
        if (block == &body && !(source && chosen.contains(source)))
          outside.insert(operand);
      }
    });
    for (Value result : op.getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !chosen.contains(body.findAncestorOpInBlock(*user)); }))
        gives.push_back(result);
  }
  auto nameOf = [](Value value) {
    auto name = value.getLoc()->findInstanceOf<NameLoc>();
    return name ? name.getName().str() : std::string();
  };
  auto isWeight = [&](Value value) { return isa<BlockArgument>(value) && weights.contains(nameOf(value)); };
  for (bool wantsWeights : {false, true}) {
    for (Value value : outside)
      if (matchPattern(value, m_Constant())) {
        if (!wantsWeights)
          constants.push_back(value.getDefiningOp());
      } else if (isWeight(value) == wantsWeights) {
        given.push_back(value);
      }
    if (!wantsWeights)
      inputs = given.size();
  }
  if (gives.empty())
    return Error{"--extract: nobody takes what these operations give"};

  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(entry);
  auto made = builder.create<func::FuncOp>(entry.getLoc(), "main", builder.getFunctionType(ValueRange(given).getTypes(), ValueRange(gives).getTypes()));
  Block *block = made.addEntryBlock();
  IRMapping mapping;
  for (auto [value, argument] : llvm::zip(given, block->getArguments())) {
    argument.setLoc(value.getLoc());
    mapping.map(value, argument);
  }
  builder.setInsertionPointToStart(block);
  for (Operation *constant : constants)
    builder.clone(*constant, mapping);
  for (Operation &op : body)
    if (chosen.contains(&op))
      builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value value : gives)
    results.push_back(mapping.lookup(value));
  builder.create<func::ReturnOp>(entry.getLoc(), results);
  entry.erase();
  made.setName("main");
  return succeeded(verify(module)) ? Status() : Status(Error{"--extract: these operations are no program by themselves"});
}

} // namespace cupel::cli
