// If and Loop. What is known when the model is imported is decided then: a branch is inlined, a
// loop of few trips is written out; others become stablehlo.while.

#include "cupel/frontends/onnx/Repeat.h"

#include "onnx-ml.pb.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

// Where a body has to be written out although its trips are many.
constexpr int64_t kMaxWrittenOut = 2048;

Result<std::optional<bool>> knownCondition(Node &n, const Item &item) {
  if (!item.known)
    return std::optional<bool>();
  if (item.known->size() != 1 || item.known->dtype() != DType::I1)
    return n.error("its condition should be one bool");
  return std::optional<bool>(*item.known->dataAs<uint8_t>() != 0);
}

Status lowerIf(Node &n) {
  if (n.inputCount() != 1 || !n.item(0).isTensor())
    return n.error("takes one condition");
  const proto::GraphProto *then = n.graph("then_branch"), *otherwise = n.graph("else_branch");
  if (!then || !otherwise)
    return n.error("lacks a branch");
  Result<std::optional<bool>> known = knownCondition(n, n.item(0));
  if (!known)
    return known.error();
  if (*known) {
    Result<SmallVector<Item>> results = n.inlineGraph(**known ? *then : *otherwise, {});
    if (!results)
      return results.error();
    for (auto [i, item] : llvm::enumerate(*results))
      n.outItem(i, item);
    return {};
  }
  if (HloBuilder::countOf(n.in(0)) != 1)
    return n.error("its condition should be one bool");
  Status failure;
  SmallVector<Type> types[2];
  auto branch = [&](const proto::GraphProto &graph, unsigned which) {
    SmallVector<Value> values;
    Result<SmallVector<Item>> results = n.inlineGraph(graph, {});
    if (!results) {
      failure = Error{results.message()};
      return values;
    }
    for (Item &item : *results) {
      if (!item.isTensor()) {
        failure = n.refuse(ErrorCode::Sequences, "a branch gives a sequence or an optional");
        return values;
      }
      values.push_back(n.materialize(item));
      types[which].push_back(values.back().getType());
    }
    return values;
  };
  SmallVector<Value> results = n.b.ifElse(
      n.b.reshape(n.in(0), {}), [&] { return branch(*then, 0); },
      [&] { return failure ? branch(*otherwise, 1) : SmallVector<Value>(); });
  if (!failure)
    return failure;
  if (types[0] != types[1])
    return n.refuse(ErrorCode::DataDependent,
                    "its branches give different shapes, and which one runs is known only then");
  for (auto [i, value] : llvm::enumerate(results))
    n.out(i, value);
  return {};
}

/// A Loop's parts; `trips` is -1 where nothing limits them, or where only the program knows.
struct Loop {
  const proto::GraphProto *body = nullptr;
  int64_t carried = 0, scans = 0, trips = -1;
  bool hasCondition = false, limitUnknown = false;
  Item condition;
  SmallVector<Item> state;
};

/// As stablehlo.while: types stay, and what is stacked needs a known number of trips.
Status loopWhile(Node &n, const Loop &loop) {
  HloBuilder &b = n.b;
  SmallVector<Value> carried;
  for (Item item : loop.state) {
    if (!item.isTensor())
      return n.refuse(ErrorCode::Sequences, "carries sequences");
    carried.push_back(n.materialize(item));
  }
  Value limit = loop.limitUnknown ? b.reshape(b.convert(n.in(0), b.i64()), {}) : Value();
  Value goOn;
  if (loop.hasCondition) {
    Item condition = loop.condition;
    goOn = b.reshape(n.materialize(condition), {});
  }
  if (limit) {
    Value any = b.greater(limit, b.splatInteger(0, b.i64()));
    goOn = goOn ? b.logicalAnd(goOn, any) : any;
  }
  auto step = [&](Value index, int64_t, ArrayRef<Value> state) -> Result<Trip> {
    SmallVector<Item> inputs(2 + state.size());
    inputs[0].value = index;
    // A body runs only where its condition holds.
    inputs[1].known = Tensor::of<DType::I1>({}, {1});
    for (auto [i, value] : llvm::enumerate(state))
      inputs[2 + i].value = value;
    ONNX_LET(results, n.inlineGraph(*loop.body, inputs));
    for (Item &item : results)
      if (!item.isTensor())
        return n.refuse(ErrorCode::Sequences, "its body gives sequences");
    Trip trip;
    if (loop.hasCondition) {
      ONNX_LET(known, knownCondition(n, results[0]));
      if (loop.scans && !(known && *known))
        return n.refuse(ErrorCode::DataDependent,
                        "when it ends is known only when the program runs");
      if (HloBuilder::countOf(n.materialize(results[0])) != 1 ||
          !HloBuilder::isBool(n.materialize(results[0])))
        return n.error("its condition should be one bool");
      trip.goOn = b.reshape(n.materialize(results[0]), {});
    }
    if (limit) {
      Value more = b.less(b.add(index, b.splatInteger(1, b.i64())), limit);
      trip.goOn = trip.goOn ? b.logicalAnd(trip.goOn, more) : more;
    }
    for (int64_t i = 0; i < loop.carried; ++i)
      trip.carried.push_back(n.materialize(results[1 + i]));
    for (int64_t i = 0; i < loop.scans; ++i)
      trip.stacked.push_back(n.materialize(results[1 + loop.carried + i]));
    return trip;
  };
  ONNX_LET(made, writeWhile(n, loop.trips, false, goOn, carried, step));
  for (int64_t i = 0; i < loop.carried; ++i)
    n.out(i, made.carried[i]);
  for (int64_t i = 0; i < loop.scans; ++i)
    n.out(loop.carried + i, made.stacked[i]);
  return {};
}

/// Trip by trip; what is known stays known. Ends with false where the program alone knows whether
/// there is another trip.
Result<bool> loopWrittenOut(Node &n, const Loop &loop) {
  Item condition = loop.condition;
  SmallVector<Item> carried = loop.state;
  SmallVector<SmallVector<Value>> stacked(loop.scans);
  for (int64_t trip = 0; loop.trips < 0 || trip < loop.trips; ++trip) {
    if (loop.hasCondition) {
      ONNX_LET(goOn, knownCondition(n, condition));
      if (!goOn)
        return false;
      if (!*goOn)
        break;
    }
    if (trip >= kMaxWrittenOut)
      return n.refuse(ErrorCode::NotYet,
                      fmt::format("more than {} trips are not written out", kMaxWrittenOut));
    SmallVector<Item> inputs(2);
    inputs[0].known = Tensor::of<DType::I64>({}, {trip});
    inputs[1] = condition;
    inputs.append(carried.begin(), carried.end());
    ONNX_LET(results, n.inlineGraph(*loop.body, inputs));
    condition = results[0];
    for (int64_t i = 0; i < loop.carried; ++i)
      carried[i] = results[1 + i];
    for (int64_t i = 0; i < loop.scans; ++i) {
      Item &item = results[1 + loop.carried + i];
      if (!item.isTensor())
        return n.refuse(ErrorCode::Sequences, "stacks sequences");
      stacked[i].push_back(n.b.unsqueeze(n.materialize(item), 0));
      if (stacked[i].back().getType() != stacked[i].front().getType())
        return n.error("what it stacks changes its shape from trip to trip");
    }
  }
  for (int64_t i = 0; i < loop.carried; ++i)
    n.outItem(i, carried[i]);
  for (int64_t i = 0; i < loop.scans; ++i) {
    if (!stacked[i].empty()) {
      n.out(loop.carried + i, n.b.concatenate(stacked[i], 0));
      continue;
    }
    // No trip: the shape comes from the body's declaration.
    const proto::TypeProto_Tensor &type =
        loop.body->output(1 + loop.carried + i).type().tensor_type();
    ONNX_LET(element, n.elementTypeNumbered(type.elem_type()));
    Dims shape{0};
    for (const proto::TensorShapeProto_Dimension &dim : type.shape().dim())
      shape.push_back(dim.has_dim_value() ? dim.dim_value() : 1);
    n.out(loop.carried + i, n.b.splat(0, element, shape));
  }
  return true;
}

Status lowerLoop(Node &n) {
  Loop loop;
  loop.body = n.graph("body");
  if (!loop.body || n.inputCount() < 2)
    return n.error("lacks its body or its operands");
  loop.carried = n.inputCount() - 2;
  if (loop.body->input_size() != loop.carried + 2 || loop.body->output_size() < loop.carried + 1)
    return n.error("its body has the wrong number of inputs or outputs");
  loop.scans = loop.body->output_size() - loop.carried - 1;
  loop.hasCondition = n.has(1);
  loop.condition.known = Tensor::of<DType::I1>({}, {1});
  if (loop.hasCondition) {
    loop.condition = n.item(1);
    if (!loop.condition.isTensor() || HloBuilder::countOf(n.in(1)) != 1 ||
        !HloBuilder::isBool(n.in(1)))
      return n.error("its condition should be one bool");
  }
  for (int64_t i = 0; i < loop.carried; ++i) {
    if (!n.has(i + 2))
      return n.error(fmt::format("lacks operand {}", i + 2));
    loop.state.push_back(n.item(i + 2));
  }
  if (n.has(0)) {
    bool isNumber = n.item(0).isTensor() && HloBuilder::countOf(n.in(0)) == 1;
    if (!isNumber)
      return n.error("its trip count should be one number");
    loop.limitUnknown = !n.item(0).known && loop.scans == 0;
    if (loop.limitUnknown) {
      if (loopWhile(n, loop))
        return {};
      n.forgive();
      loop.limitUnknown = false;
    }
    ONNX_LET(limit, n.knownIntegers(0, "the trip count"));
    loop.trips = std::max<int64_t>(limit[0], 0);
  }
  // What is stacked has as many entries as there are trips: the first must be certain.
  ONNX_LET(first, knownCondition(n, loop.condition));
  if (loop.trips > kWrittenOut && (!loop.scans || (first && *first))) {
    Status status = loopWhile(n, loop);
    // A body whose shapes depend on the trip must be written out.
    if (status)
      return status;
    if (loop.trips > kMaxWrittenOut && !loop.hasCondition)
      return status;
    n.forgive();
  }
  ONNX_LET(done, loopWrittenOut(n, loop));
  if (done)
    return {};
  // The program alone knows when it ends: only what is carried has a known shape then.
  if (loop.scans)
    return n.refuse(ErrorCode::DataDependent, "when it ends is known only when the program runs");
  return loopWhile(n, loop);
}

} // namespace

void registerControlFlow(OpTable &table) {
  table.add("If", 1, lowerIf, /*foldable=*/false);
  table.add("Loop", 1, lowerLoop, /*foldable=*/false);
}

} // namespace cupel::frontends::onnx_import
