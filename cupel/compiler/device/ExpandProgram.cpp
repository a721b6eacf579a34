// A device program as a function on tensors again: every launch is what its body holds.

#include "cupel/compiler/device/DeviceIr.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace cupel::dev {

func::FuncOp expandProgram(ProgramOp program) {
  Block &body = program.getBody().front();
  SmallVector<Type> arguments, results;
  auto put = [](SmallVector<Type> &types, uint64_t number, Value buffer) {
    if (types.size() <= number)
      types.resize(number + 1);
    types[number] = cast<BufferType>(buffer.getType()).getTensor();
  };
  for (Operation &op : body) {
    if (auto argument = dyn_cast<ArgumentOp>(op))
      put(arguments, argument.getNumber(), argument.getBuffer());
    if (auto result = dyn_cast<ResultOp>(op))
      put(results, result.getNumber(), result.getBuffer());
  }
  OpBuilder builder(program);
  auto function = builder.create<func::FuncOp>(
      program.getLoc(), program.getSymName(),
      FunctionType::get(program.getContext(), arguments, results));
  builder.setInsertionPointToStart(function.addEntryBlock());
  llvm::DenseMap<Value, Value> values; // Of the memory itself, in the shape it was written with.
  SmallVector<Value> outputs(results.size());
  llvm::DenseMap<Value, uint64_t> numbers;
  auto read = [&](Value buffer) -> Value {
    Value value = values.lookup(rootOf(buffer));
    Type type = cast<BufferType>(buffer.getType()).getTensor();
    if (value.getType() == type)
      return value;
    return tir::asOtherElements(builder, buffer.getLoc(), cast<RankedTensorType>(type), value);
  };
  for (Operation &op : body) {
    if (auto argument = dyn_cast<ArgumentOp>(op)) {
      values[argument.getBuffer()] = function.getArgument(argument.getNumber());
    } else if (auto constant = dyn_cast<ConstantOp>(op)) {
      values[constant.getBuffer()] = builder.create<stablehlo::ConstantOp>(
          op.getLoc(), cast<BufferType>(constant.getBuffer().getType()).getTensor(),
          constant.getValue());
    } else if (auto result = dyn_cast<ResultOp>(op)) {
      numbers[result.getBuffer()] = result.getNumber();
    } else if (auto launch = dyn_cast<LaunchOp>(op)) {
      IRMapping mapping;
      Block &inner = launch.getBody().front();
      for (auto [argument, buffer] : llvm::zip(inner.getArguments(), launch.getReads()))
        mapping.map(argument, read(buffer));
      for (Operation &one : inner.without_terminator())
        builder.clone(one, mapping);
      for (auto [value, buffer] :
           llvm::zip(inner.getTerminator()->getOperands(), launch.getWrites()))
        values[rootOf(buffer)] = mapping.lookupOrDefault(value);
    }
  }
  for (auto [buffer, number] : numbers)
    outputs[number] = read(buffer);
  builder.create<func::ReturnOp>(program.getLoc(), outputs);
  return function;
}

} // namespace cupel::dev
