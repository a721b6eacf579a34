#include "cupel/reference/RegionFunction.h"

#include "cupel/reference/PlanElementwise.h"
#include "cupel/reference/Registry.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/Matchers.h"

#include <cstring>

namespace cupel::reference {

using namespace mlir;
using tensor::DType;
using tensor::ElementType;
using tensor::Tensor;

namespace {

class BoundProgram : public ElementFunction {
public:
  BoundProgram(const ElementProgram &program, std::span<const ElementType> arguments,
               std::span<const ElementType> results, std::vector<Tensor> captures,
               GridProcess &process)
      : program(program), arguments(arguments), results(results), held(std::move(captures)),
        process(process), knownFunction(program.known()) {
    for (const Tensor &capture : held)
      captured.push_back(capture.data());
  }
  std::span<const ElementType> argumentTypes() const override { return arguments; }
  std::span<const ElementType> resultTypes() const override { return results; }
  std::optional<KnownFunction> known() const override { return knownFunction; }
  bool isParallel() const override { return true; }
  Status run(std::span<const void *const> in, std::span<void *const> out,
             int64_t lanes) const override {
    if (Status status = process.run.step(static_cast<int64_t>(program.size()) * lanes); !status)
      return status;
    program.run(in, captured, out, lanes);
    return {};
  }

private:
  const ElementProgram &program;
  std::span<const ElementType> arguments, results;
  std::vector<Tensor> held;
  std::vector<const void *> captured;
  GridProcess &process;
  std::optional<KnownFunction> knownFunction;
};

/// Runs the steps of a region once for each lane.
class BoundBlock : public ElementFunction {
public:
  BoundBlock(const BlockPlan &block, std::span<const ElementType> arguments,
             std::span<const ElementType> results, GridProcess &process, Frame &frame)
      : block(block), arguments(arguments), results(results), process(process), frame(frame) {}
  std::span<const ElementType> argumentTypes() const override { return arguments; }
  std::span<const ElementType> resultTypes() const override { return results; }
  std::optional<KnownFunction> known() const override { return std::nullopt; }
  Status run(std::span<const void *const> in, std::span<void *const> out,
             int64_t lanes) const override {
    std::vector<Value> values;
    // What rounds in here is moved where it comes from (PlanJitter.cpp), as if it were compiled.
    struct Exactly {
      GridProcess &process;
      explicit Exactly(GridProcess &process) : process(process) { ++process.exactly; }
      ~Exactly() { --process.exactly; }
    } exactly(process);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      for (size_t i = 0; i < arguments.size(); ++i) {
        int bytes = info(arguments[i].storage).bytes;
        Result<Tensor> scalar = Tensor::uninitialized(arguments[i], {});
        if (!scalar)
          return scalar.error();
        std::memcpy(scalar->mutableData(), static_cast<const std::byte *>(in[i]) + lane * bytes,
                    bytes);
        frame[block.arguments[i]] = std::move(*scalar);
      }
      if (Status status = runBlock(process, frame, block, values); !status)
        return status;
      for (size_t i = 0; i < results.size(); ++i) {
        int bytes = info(results[i].storage).bytes;
        std::memcpy(static_cast<std::byte *>(out[i]) + lane * bytes, values[i].tensor().data(),
                    bytes);
      }
    }
    return {};
  }

private:
  const BlockPlan &block;
  std::span<const ElementType> arguments, results;
  GridProcess &process;
  Frame &frame;
};

} // namespace

std::unique_ptr<ElementFunction> RegionFunction::bind(GridProcess &process, Frame &frame) const {
  if (!program)
    return std::make_unique<BoundBlock>(*block, arguments, results, process, frame);
  std::vector<Tensor> captured;
  for (int slot : captures)
    captured.push_back(frame[slot].tensor());
  return std::make_unique<BoundProgram>(*program, arguments, results, std::move(captured), process);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

std::optional<DType> ScalarCompiler::scalarType(mlir::Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || ranked.getRank() != 0)
    return std::nullopt;
  Result<ElementType> element = elementTypeOf(ranked.getElementType());
  if (!element || element->quantization)
    return std::nullopt;
  return element->storage;
}

std::optional<int> ScalarCompiler::lookup(mlir::Value value) {
  auto it = registers.find(value);
  if (it != registers.end())
    return it->second;
  // Of an enclosing block, unless it belongs to the function that is inlined here.
  if (!mayCapture)
    return std::nullopt;
  std::optional<DType> type = scalarType(value.getType());
  if (!type)
    return std::nullopt;
  captures.push_back(value);
  return registers[value] = program.addCapture(*type);
}

bool ScalarCompiler::block(Block &block, std::vector<int> &results) {
  for (Operation &op : block.without_terminator())
    if (!operation(&op))
      return false;
  for (mlir::Value value : block.getTerminator()->getOperands()) {
    std::optional<int> reg = lookup(value);
    if (!reg)
      return false;
    results.push_back(*reg);
  }
  return true;
}

bool ScalarCompiler::operation(Operation *op) {
  if (program.size() > 4096)
    return false;
  if (ElementsAttr constant; matchPattern(op, m_Constant(&constant))) {
    std::optional<DType> type = scalarType(op->getResult(0).getType());
    if (!type)
      return false;
    Result<Tensor> value = constantTensor(constant, op->getResult(0).getType());
    if (!value)
      return false;
    registers[op->getResult(0)] = program.addConstant(*type, value->data());
    return true;
  }
  std::vector<int> operands;
  for (mlir::Value operand : op->getOperands()) {
    std::optional<int> reg = lookup(operand);
    if (!reg)
      return false;
    operands.push_back(*reg);
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr());
    if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock() || depth > 16)
      return false;
    // A function may be inlined more than once: its values get registers of their own each time.
    auto outer = registers;
    bool mayCaptureOutside = std::exchange(mayCapture, false);
    ++depth;
    for (auto [argument, reg] : llvm::zip(callee.getArguments(), operands))
      registers[argument] = reg;
    std::vector<int> results;
    bool done = block(callee.getBody().front(), results);
    --depth;
    mayCapture = mayCaptureOutside;
    registers = std::move(outer);
    for (auto [value, reg] : llvm::zip(op->getResults(), results))
      registers[value] = reg;
    return done;
  }
  if (op->hasTrait<stablehlo::Branches>() &&
      getElementTypeOrSelf(op->getOperand(0)).isInteger(1)) {
    // Scalars are cheap and nothing in here has effects: compute both and choose.
    std::vector<int> yes, no;
    if (!block(op->getRegion(0).front(), yes) || !block(op->getRegion(1).front(), no))
      return false;
    for (auto [i, value] : llvm::enumerate(op->getResults())) {
      std::optional<DType> type = scalarType(value.getType());
      if (!type)
        return false;
      std::optional<int> reg =
          program.addOperation(ElementOp::Select, {{operands[0], yes[i], no[i]}}, *type);
      if (!reg)
        return false;
      registers[value] = *reg;
    }
    return true;
  }
  if (op->hasTrait<stablehlo::MovesElements>() &&
      op->getNumOperands() == op->getNumResults()) { // A scalar stays where it is.
    for (auto [value, reg] : llvm::zip(op->getResults(), operands)) {
      if (!scalarType(value.getType()))
        return false;
      registers[value] = reg;
    }
    return true;
  }
  if (op->getNumRegions() || op->getNumResults() != 1)
    return false;
  std::optional<DType> result = scalarType(op->getResult(0).getType());
  if (!result)
    return false;
  mlir::Value value = op->getResult(0);
  if (op->hasTrait<stablehlo::KeepsBytes>()) {
    DType from = program[operands[0]].type;
    if (info(from).bits != info(*result).bits || info(from).bits < 8)
      return false;
    registers[value] = program.addBitcast(operands[0], *result);
    return true;
  }
  std::optional<ElementOpOf> element = elementOpOf(op);
  if (!element)
    return false;
  std::optional<int> reg = program.addOperation(element->op, operands, *result,
                                                element->exponentBits, element->mantissaBits);
  if (!reg)
    return false;
  registers[value] = *reg;
  return true;
}

bool ScalarCompiler::region(Region &region) {
  if (!region.hasOneBlock())
    return false;
  for (BlockArgument argument : region.front().getArguments()) {
    std::optional<DType> type = scalarType(argument.getType());
    if (!type)
      return false;
    registers[argument] = program.addArgument(*type);
  }
  std::vector<int> results;
  if (!block(region.front(), results))
    return false;
  for (int reg : results)
    program.addResult(reg);
  return true;
}

Result<std::shared_ptr<const RegionFunction>> Planning::function(Region &region) {
  std::vector<ElementType> arguments, results;
  for (BlockArgument argument : region.getArguments()) {
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()); type && type.getRank())
      return Error{ErrorCode::Unsupported, "a region that combines tensors is not evaluated: "
                                           "StableHLO says what it means for scalars only"};
    Result<ElementType> type = elementTypeOf(getElementTypeOrSelf(argument.getType()));
    if (!type)
      return type.error();
    arguments.push_back(*type);
  }
  if (!region.hasOneBlock())
    return Error{ErrorCode::Unsupported, "a region of several blocks is not evaluated"};
  for (mlir::Value value : region.front().getTerminator()->getOperands()) {
    Result<ElementType> type = elementTypeOf(getElementTypeOrSelf(value.getType()));
    if (!type)
      return type.error();
    results.push_back(*type);
  }
  ScalarCompiler compiler;
  if (compiler.region(region)) {
    std::vector<int> captures;
    for (mlir::Value value : compiler.captures)
      captures.push_back(slot(value));
    return std::make_shared<const RegionFunction>(std::move(compiler.program), nullptr,
                                                  std::move(arguments), std::move(results),
                                                  std::move(captures));
  }
  Result<const BlockPlan *> block = this->region(region);
  if (!block)
    return block.error();
  return std::make_shared<const RegionFunction>(std::nullopt, *block, std::move(arguments),
                                                std::move(results), std::vector<int>());
}

} // namespace cupel::reference
