// If and Loop. What is known when the model is imported is decided then: a branch is inlined, a
// loop whose trips are known is unrolled.

#include "cupel/frontends/onnx/OpTable.h"

#include "onnx-ml.pb.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr int64_t kMaxUnrolled = 2048;

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
    return Error{known.message()};
  if (*known) {
    Result<SmallVector<Item>> results = n.inlineGraph(**known ? *then : *otherwise, {});
    if (!results)
      return Error{results.message()};
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
        failure = n.refuse(Refusal::Sequences, "a branch gives a sequence or an optional");
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
    return n.refuse(Refusal::DataDependent,
                    "its branches give different shapes, and which one runs is known only then");
  for (auto [i, value] : llvm::enumerate(results))
    n.out(i, value);
  return {};
}

Status lowerLoop(Node &n) {
  const proto::GraphProto *body = n.graph("body");
  if (!body || n.inputCount() < 2)
    return n.error("lacks its body or its operands");
  int64_t carriedCount = n.inputCount() - 2;
  if (body->input_size() != carriedCount + 2 || body->output_size() < carriedCount + 1)
    return n.error("its body has the wrong number of inputs or outputs");
  int64_t scans = body->output_size() - carriedCount - 1;
  // Without a limit, the condition decides alone.
  int64_t trips = kMaxUnrolled + 1;
  if (n.has(0)) {
    Result<Dims> limit = n.knownIntegers(0, "the trip count");
    if (!limit)
      return Error{limit.message()};
    if (limit->size() != 1)
      return n.error("its trip count should be one number");
    trips = std::max<int64_t>((*limit)[0], 0);
  }
  bool hasCondition = n.has(1);
  Item condition;
  condition.known = Tensor::of<DType::I1>({}, {1});
  if (hasCondition)
    condition = n.item(1);
  SmallVector<Item> carried;
  for (int64_t i = 0; i < carriedCount; ++i)
    carried.push_back(n.item(i + 2));
  SmallVector<SmallVector<Value>> stacked(scans);
  for (int64_t trip = 0; trip < trips; ++trip) {
    if (hasCondition) {
      Result<std::optional<bool>> goOn = knownCondition(n, condition);
      if (!goOn)
        return Error{goOn.message()};
      if (!*goOn)
        return n.refuse(Refusal::DataDependent, "when it ends is known only when the program runs");
      if (!**goOn)
        break;
    }
    if (trip >= kMaxUnrolled)
      return n.refuse(Refusal::NotYet,
                      fmt::format("more than {} trips are not unrolled", kMaxUnrolled));
    SmallVector<Item> inputs(2);
    inputs[0].known = Tensor::of<DType::I64>({}, {trip});
    inputs[1] = condition;
    inputs.append(carried.begin(), carried.end());
    Result<SmallVector<Item>> results = n.inlineGraph(*body, inputs);
    if (!results)
      return Error{results.message()};
    condition = (*results)[0];
    for (int64_t i = 0; i < carriedCount; ++i)
      carried[i] = (*results)[1 + i];
    for (int64_t i = 0; i < scans; ++i) {
      Item &item = (*results)[1 + carriedCount + i];
      if (!item.isTensor())
        return n.refuse(Refusal::Sequences, "stacks sequences");
      stacked[i].push_back(n.b.unsqueeze(n.materialize(item), 0));
      if (stacked[i].back().getType() != stacked[i].front().getType())
        return n.error("what it stacks changes its shape from trip to trip");
    }
  }
  for (int64_t i = 0; i < carriedCount; ++i)
    n.outItem(i, carried[i]);
  for (int64_t i = 0; i < scans; ++i) {
    if (stacked[i].empty()) {
      // No trip: the shape comes from the body's declaration.
      const proto::TypeProto_Tensor &type = body->output(1 + carriedCount + i).type().tensor_type();
      Result<Type> element = n.elementTypeNumbered(type.elem_type());
      if (!element)
        return Error{element.message()};
      Dims shape{0};
      for (const proto::TensorShapeProto_Dimension &dim : type.shape().dim())
        shape.push_back(dim.has_dim_value() ? dim.dim_value() : 1);
      n.out(carriedCount + i, n.b.splat(0, *element, shape));
    } else {
      n.out(carriedCount + i, n.b.concatenate(stacked[i], 0));
    }
  }
  return {};
}

} // namespace

void registerControlFlow(OpTable &table) {
  table.add("If", 1, lowerIf, /*foldable=*/false);
  table.add("Loop", 1, lowerLoop, /*foldable=*/false);
}

} // namespace cupel::frontends::onnx_import
