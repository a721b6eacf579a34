#include "cupel/compiler/passes/WhatResultsShow.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include <algorithm>

using namespace mlir;

namespace cupel::compiler {

namespace {

/// Whether elements of whole dimensions are combined into one: a sum, a maximum.
bool foldsDimensions(Operation &op) {
  if (op.getNumRegions() != 1 || !op.getRegion(0).hasOneBlock() || op.getNumResults() == 0 ||
      op.getNumOperands() == 0)
    return false;
  auto from = dyn_cast<ShapedType>(op.getOperand(0).getType());
  auto to = dyn_cast<ShapedType>(op.getResult(0).getType());
  Block &body = op.getRegion(0).front();
  return from && to && from.hasRank() && to.hasRank() && to.getRank() < from.getRank() &&
         llvm::hasSingleElement(body.without_terminator()) &&
         isa<stablehlo::CombinerOpInterface>(body.front());
}

/// Whether it is a float or a complex number, in which an error can be seen at all.
bool isOfFloats(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return isa<FloatType, ComplexType>(type);
}

/// Whether every element of its one operand comes out, put elsewhere, negated or converted.
bool keepsElements(Operation &op) {
  if (op.getNumOperands() != 1)
    return false;
  if (op.hasTrait<stablehlo::LinearButRounds>()) // A conversion, between floats.
    return true;
  if (!op.hasTrait<stablehlo::Linear>())
    return false;
  auto from = dyn_cast<ShapedType>(op.getOperand(0).getType());
  auto to = dyn_cast<ShapedType>(op.getResult(0).getType());
  return from && to && from.hasStaticShape() && to.hasStaticShape() &&
         to.getNumElements() >= from.getNumElements() &&
         (op.hasTrait<stablehlo::MovesElements>() || op.hasTrait<stablehlo::Elementwise>());
}

/// Whether it is a product of matrices or with windows: linear in each operand while the others stay.
bool isProduct(Operation &op) {
  return isa<stablehlo::FlopsOpInterface>(op) && op.getNumRegions() == 0 &&
         !op.hasTrait<stablehlo::Opaque>();
}

/// The entry function as numbers: going through it once for each value that is asked for is cheap.
class Shown {
public:
  Shown(func::FuncOp entry, const std::vector<bool> &tells) : block(entry.getBody().front()) {
    for (Value argument : block.getArguments())
      add(argument, nullptr);
    for (Operation &op : block.without_terminator()) {
      Step &step = steps.emplace_back(Step{&op, {}, {}, number(op)});
      llvm::SetVector<Value> read(op.operand_begin(), op.operand_end());
      getUsedValuesDefinedAbove(op.getRegions(), read);
      for (Value value : read)
        if (auto found = numbers.find(value); found != numbers.end())
          step.reads.push_back(found->second);
      for (Value result : op.getResults())
        step.gives.push_back(add(result, &op));
    }
    told.resize(values.size());
    leadsToTold.resize(values.size());
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
      auto found = numbers.find(value);
      if (found == numbers.end())
        continue;
      if (i < tells.size() && !tells[i])
        untold.push_back(found->second);
      else
        told[found->second] = leadsToTold[found->second] = isOfFloats(value);
    }
    for (const Step &step : llvm::reverse(steps))
      if (step.gives.size() == 1 && leadsToTold[step.gives[0]])
        for (unsigned i = 0; i < step.op->getNumOperands(); ++i)
          if (passesOn(*step.op, i))
            leadsToTold[numbers.lookup(step.op->getOperand(i))] = true;
  }

  /// The operations from which such results are reached by what no telling result shows.
  llvm::DenseSet<Operation *> hiding() {
    llvm::DenseSet<Operation *> reached;
    std::vector<uint32_t> open = untold;
    std::vector<char> seen(values.size());
    shown.assign(values.size(), false);
    while (!open.empty()) {
      uint32_t value = open.back();
      open.pop_back();
      if (std::exchange(seen[value], 1))
        continue;
      Operation *op = values[value].second;
      if (!op || (leadsToTold[value] && (shown[value] = isShown(value))))
        continue;
      if (reached.insert(op).second)
        for (uint32_t read : steps[stepOf.lookup(op)].reads)
          open.push_back(read);
    }
    // In order, so that what a step takes is known before it.
    llvm::DenseSet<Operation *> hiding;
    std::vector<char> isSmall(values.size());
    for (const Step &step : steps) {
      if (!reached.contains(step.op))
        continue;
      const bool takesRight = llvm::all_of(step.reads, [&](uint32_t read) {
        Operation *from = values[read].second;
        return !from || shown[read] || isSmall[read];
      });
      const bool isMove = step.op->hasTrait<stablehlo::MovesElements>() ||
                          step.op->hasTrait<stablehlo::LinearButRounds>() || foldsDimensions(*step.op);
      if (step.op->getNumOperands() == 0 || (isMove && takesRight))
        for (uint32_t given : step.gives)
          isSmall[given] = true;
      else
        hiding.insert(step.op);
    }
    return hiding;
  }

private:
  struct Step {
    Operation *op;
    std::vector<uint32_t> reads, gives;
    size_t position;
  };

  uint32_t add(Value value, Operation *op) {
    numbers[value] = uint32_t(values.size());
    values.emplace_back(value, op);
    return uint32_t(values.size() - 1);
  }
  size_t number(Operation &op) {
    stepOf[&op] = steps.size();
    return steps.size();
  }

  static bool isSplat(Value value) {
    DenseElementsAttr constant;
    Operation *op = value.getDefiningOp();
    while (op && op->getNumOperands() == 1 && op->hasTrait<stablehlo::MovesElements>())
      op = op->getOperand(0).getDefiningOp();
    return op && matchPattern(op->getResult(0), m_Constant(&constant)) && constant.isSplat();
  }

  /// Whether an error of this operand is one of the result, if nothing else of it depends on the operand.
  static bool passesOn(Operation &op, unsigned operand) {
    if (op.getNumResults() != 1 || !isOfFloats(op.getResult(0)) ||
        !isOfFloats(op.getOperand(operand)))
      return false;
    if (keepsElements(op) || isProduct(op))
      return true;
    if (!op.hasTrait<stablehlo::Elementwise>() || op.getNumOperands() != 2 ||
        !isSplat(op.getOperand(1 - operand)))
      return false;
    return op.hasTrait<stablehlo::LinearInEach>() ||
           (op.hasTrait<stablehlo::LinearInFirst>() && operand == 0);
  }

  /// Whether a telling result is made of it, and of it alone as far as it depends on it at all.
  bool isShown(uint32_t value) {
    // 1: it depends on the value, 2: and shows it.
    std::vector<char> state(values.size());
    state[value] = 2;
    if (told[value])
      return true;
    Operation *op = values[value].second;
    for (size_t i = op ? stepOf.lookup(op) + 1 : 0; i < steps.size(); ++i) {
      const Step &step = steps[i];
      if (llvm::none_of(step.reads, [&](uint32_t read) { return state[read] != 0; }))
        continue;
      char given = 1;
      if (step.gives.size() == 1 && leadsToTold[step.gives[0]]) {
        unsigned depending = 0, which = 0;
        for (unsigned k = 0; k < step.op->getNumOperands(); ++k)
          if (state[numbers.lookup(step.op->getOperand(k))] != 0)
            ++depending, which = k;
        if (depending == 1 && state[numbers.lookup(step.op->getOperand(which))] == 2 &&
            passesOn(*step.op, which))
          given = 2;
      }
      for (uint32_t result : step.gives) {
        state[result] = given;
        if (given == 2 && told[result])
          return true;
      }
    }
    return false;
  }

  Block &block;
  std::vector<Step> steps;
  llvm::DenseMap<Operation *, size_t> stepOf;
  std::vector<std::pair<Value, Operation *>> values;
  llvm::DenseMap<Value, uint32_t> numbers;
  std::vector<uint32_t> untold;
  /// By number: a result that tells; what may show in one (but for what else depends on it); what does.
  std::vector<char> told, leadsToTold, shown;
};

} // namespace

std::vector<bool> operationsThatHide(func::FuncOp entry, const std::vector<bool> &tells,
                                     Counts counts) {
  const std::vector<Operation *> counted = countedOperations(entry, counts);
  std::vector<bool> hides(counted.size());
  if (std::ranges::find(tells, false) == tells.end())
    return hides;
  llvm::DenseSet<Operation *> hiding = Shown(entry, tells).hiding();
  for (auto [i, op] : llvm::enumerate(counted))
    hides[i] = hiding.contains(op) && isMemoryEffectFree(op);
  return hides;
}

} // namespace cupel::compiler
