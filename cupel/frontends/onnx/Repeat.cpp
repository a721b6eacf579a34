#include "cupel/frontends/onnx/Repeat.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

Value entryAt(HloBuilder &b, Value x, int64_t dimension, Value index, int64_t known) {
  Dims shape(HloBuilder::shapeOf(x));
  if (!b.possible(dimension >= 0 && dimension < int64_t(shape.size()),
                  "a dimension is out of range"))
    return x;
  Value entry;
  if (known >= 0) {
    entry = b.sliceDim(x, dimension, known, known + 1);
  } else {
    SmallVector<Value> starts(shape.size(), b.splatInteger(0, b.i64()));
    starts[dimension] = index;
    Dims sizes = shape;
    sizes[dimension] = 1;
    entry = b.dynamicSlice(x, starts, sizes);
  }
  shape.erase(shape.begin() + dimension);
  return b.reshape(entry, shape);
}

static Status checkCarried(Node &n, ArrayRef<Value> before, ArrayRef<Value> after) {
  if (before.size() != after.size())
    return n.error("a trip gives another number of values than it takes");
  for (auto [one, other] : llvm::zip(before, after))
    if (one.getType() != other.getType())
      return n.error("a value changes its type from trip to trip");
  return {};
}

Result<Repeated> writeOut(Node &n, int64_t trips, bool backward, ArrayRef<Value> carried,
                          const TripBody &body) {
  HloBuilder &b = n.b;
  Repeated result{SmallVector<Value>(carried), {}};
  SmallVector<SmallVector<Value>> kept;
  for (int64_t step = 0; step < trips; ++step) {
    int64_t at = backward ? trips - 1 - step : step;
    ONNX_LET(trip, body(b.splatInteger(at, b.i64()), at, result.carried));
    ONNX_TRY(checkCarried(n, result.carried, trip.carried));
    result.carried = trip.carried;
    kept.resize(trip.stacked.size(), SmallVector<Value>(trips));
    for (auto [list, value] : llvm::zip(kept, trip.stacked))
      list[at] = b.unsqueeze(value, 0);
  }
  for (SmallVector<Value> &list : kept)
    result.stacked.push_back(b.concatenate(list, 0));
  return result;
}

Result<Repeated> writeWhile(Node &n, int64_t trips, bool backward, Value goOn,
                            ArrayRef<Value> carried, const TripBody &body) {
  HloBuilder &b = n.b;
  OpBuilder &ops = b.builder();
  Location loc = b.location();
  // The body is written first, into a block apart: what it stacks says what else is carried.
  Region step, test;
  Block *block = new Block;
  step.push_back(block);
  auto addArgument = [&](Type type) -> Value { return block->addArgument(type, loc); };
  Type counter = b.tensorType({}, b.i64());
  SmallVector<Value> initial{b.splatInteger(0, b.i64())};
  Value number = addArgument(counter);
  if (goOn) {
    initial.push_back(goOn);
    addArgument(goOn.getType());
  }
  SmallVector<Value> state;
  for (Value value : carried) {
    initial.push_back(value);
    state.push_back(addArgument(value.getType()));
  }
  size_t stackedAt = initial.size();
  {
    OpBuilder::InsertionGuard guard(ops);
    ops.setInsertionPointToEnd(block);
    Value index = number;
    if (backward)
      index = b.subtract(b.splatInteger(trips - 1, b.i64()), number);
    ONNX_LET(trip, body(index, -1, state));
    ONNX_TRY(checkCarried(n, carried, trip.carried));
    if (!b.problem().empty())
      return n.error(b.problem());
    if (trips < 0 && !trip.stacked.empty())
      return n.refuse(ErrorCode::DataDependent,
                      "how much it stacks is known only when the program runs");
    SmallVector<Value> next{b.add(number, b.splatInteger(1, b.i64()))};
    if (goOn)
      next.push_back(trip.goOn ? b.reshape(trip.goOn, {}) : b.splatInteger(1, b.i1()));
    next.append(trip.carried);
    for (Value value : trip.stacked) {
      Dims shape(HloBuilder::shapeOf(value));
      shape.insert(shape.begin(), trips);
      RankedTensorType type = b.tensorType(shape, HloBuilder::elementOf(value));
      initial.push_back(b.splat(0, HloBuilder::elementOf(value), type.getShape()));
      Value all = addArgument(type);
      SmallVector<Value> starts(shape.size(), b.splatInteger(0, b.i64()));
      starts[0] = index;
      next.push_back(b.dynamicUpdateSlice(all, b.unsqueeze(value, 0), starts));
    }
    ops.create<stablehlo::ReturnOp>(loc, next);
    Block *condition = new Block;
    test.push_back(condition);
    for (Value value : initial)
      condition->addArgument(value.getType(), loc);
    ops.setInsertionPointToEnd(condition);
    Value more;
    if (trips >= 0)
      more = b.less(condition->getArgument(0), b.splatInteger(trips, b.i64()));
    if (goOn)
      more = more ? b.logicalAnd(more, condition->getArgument(1)) : condition->getArgument(1);
    if (!more)
      more = b.splatInteger(1, b.i1());
    ops.create<stablehlo::ReturnOp>(loc, ValueRange{more});
  }
  OperationState whole(loc, stablehlo::WhileOp::getOperationName());
  whole.addOperands(initial);
  whole.addTypes(ValueRange(initial).getTypes());
  whole.addRegion()->takeBody(test);
  whole.addRegion()->takeBody(step);
  Operation *op = ops.create(whole);
  Repeated result;
  for (size_t i = goOn ? 2 : 1; i < initial.size(); ++i)
    (i < stackedAt ? result.carried : result.stacked).push_back(op->getResult(i));
  return result;
}

Result<Repeated> repeat(Node &n, int64_t trips, bool backward, ArrayRef<Value> carried,
                        const TripBody &body) {
  return trips <= kWrittenOut ? writeOut(n, trips, backward, carried, body)
                              : writeWhile(n, trips, backward, Value(), carried, body);
}

} // namespace cupel::frontends::onnx_import
