#include "cupel/compiler/tensor/ElementBody.h"

using namespace mlir;

namespace cupel::tir {

ElementBody::ElementBody(const Group &group, LoopNest &nest, Operation *given)
    : group(group), nest(nest), given(given) {}

void ElementBody::read(OpOperand &operand) {
  Value value = operand.get();
  if (group.isMade(throughReshapes(value)) || splatOf(value))
    return;
  SmallVector<int64_t> strides = nest.identityStrides();
  if (countOf(value) == 1)
    strides.assign(strides.size(), 0);
  size_t reading = nest.add(value, strides);
  readings[&operand] = reading;
  readValues[value] = reading;
}

void ElementBody::read() {
  for (Operation *op : group.operations())
    if (op != given)
      for (OpOperand &operand : op->getOpOperands())
        read(operand);
}

SmallVector<Value> ElementBody::inputs() const {
  SmallVector<Value> values;
  for (const Reading &reading : nest.readings())
    values.push_back(reading.value);
  return values;
}

ArrayAttr ElementBody::views() const {
  SmallVector<Attribute> views;
  for (size_t i = 0; i < nest.readings().size(); ++i)
    views.push_back(nest.view(i));
  return ArrayAttr::get(group.operations()[0]->getContext(), views);
}

Block *ElementBody::write(ArrayRef<Value> results, Location location, Type leading) {
  auto *body = new Block;
  OpBuilder builder(location.getContext());
  builder.setInsertionPointToEnd(body);
  BodyWriter writer(builder, location);
  if (leading)
    body->addArgument(leading, location);
  for (const Reading &reading : nest.readings())
    body->addArgument(
        RankedTensorType::get({}, cast<RankedTensorType>(reading.value.getType()).getElementType()),
        location);
  unsigned first = leading ? 1 : 0;
  llvm::DenseMap<Operation *, Value> made;
  if (given && leading)
    made[given] = body->getArgument(0);
  auto make = [&](auto &&self, Operation *op) -> Value {
    if (Value value = made.lookup(op))
      return value;
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      Value source = throughReshapes(operand.get());
      if (group.isMade(source))
        operands.push_back(self(self, source.getDefiningOp()));
      else if (TypedAttr number = splatOf(operand.get()))
        operands.push_back(writer.constant(number));
      else
        operands.push_back(body->getArgument(first + readings.lookup(&operand)));
    }
    return made[op] = writer.copy(op, operands, {});
  };
  SmallVector<Value> yielded;
  for (Value result : results) {
    Value source = throughReshapes(result);
    if (group.isMade(source))
      yielded.push_back(make(make, source.getDefiningOp()));
    else if (TypedAttr number = splatOf(result))
      yielded.push_back(writer.constant(number));
    else
      yielded.push_back(body->getArgument(first + readValues.lookup(result)));
  }
  builder.create<YieldOp>(location, yielded);
  return body;
}

} // namespace cupel::tir
