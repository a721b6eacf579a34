// Sequences and optionals. What is in them is known while the model is imported, so nothing of them
// reaches the program.

#include "cupel/frontends/onnx/Lowering.h"

#include "onnx-ml.pb.h"
#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

Item sequenceOf(std::vector<Item> elements, bool isOptional = false) {
  Item item;
  item.elements = std::make_shared<std::vector<Item>>(std::move(elements));
  item.isOptional = isOptional;
  return item;
}

/// The elements of operand i, which must be a sequence.
Result<std::vector<Item>> elementsOf(Node &n, size_t i) {
  if (!n.has(i) || !n.item(i).elements || n.item(i).isOptional)
    return n.error("takes a sequence");
  return *n.item(i).elements;
}

Status lowerConstruct(Node &n) {
  std::vector<Item> elements;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    if (!n.has(i))
      return n.error("lacks operand " + std::to_string(i));
    elements.push_back(n.item(i));
  }
  n.outItem(0, sequenceOf(std::move(elements)));
  return {};
}

Status lowerEmpty(Node &n) {
  n.outItem(0, sequenceOf({}));
  return {};
}

Status lowerLength(Node &n) {
  ONNX_LET(elements, elementsOf(n, 0));
  n.outKnown(0, Tensor::of<DType::I64>({}, {int64_t(elements.size())}));
  return {};
}

/// A position operand; `missing` where it is left out.
Result<int64_t> position(Node &n, size_t i, int64_t size, int64_t missing) {
  if (!n.has(i))
    return missing;
  ONNX_LET(given, n.knownIntegers(i, "the position"));
  if (given.size() != 1 || given[0] < -size || given[0] > size)
    return n.error("its position is out of range");
  return given[0] < 0 ? given[0] + size : given[0];
}

Status lowerAt(Node &n) {
  ONNX_LET(elements, elementsOf(n, 0));
  ONNX_LET(at, position(n, 1, elements.size(), 0));
  if (at >= int64_t(elements.size()))
    return n.error("its position is out of range");
  n.outItem(0, elements[at]);
  return {};
}

Status lowerInsert(Node &n) {
  ONNX_LET(elements, elementsOf(n, 0));
  ONNX_LET(at, position(n, 2, elements.size(), elements.size()));
  if (!n.has(1))
    return n.error("lacks what it inserts");
  elements.insert(elements.begin() + at, n.item(1));
  n.outItem(0, sequenceOf(std::move(elements)));
  return {};
}

Status lowerErase(Node &n) {
  ONNX_LET(elements, elementsOf(n, 0));
  ONNX_LET(at, position(n, 1, elements.size(), int64_t(elements.size()) - 1));
  if (at < 0 || at >= int64_t(elements.size()))
    return n.error("its position is out of range");
  elements.erase(elements.begin() + at);
  n.outItem(0, sequenceOf(std::move(elements)));
  return {};
}

Status lowerConcatFromSequence(Node &n) {
  ONNX_LET(elements, elementsOf(n, 0));
  if (elements.empty())
    return n.error("its sequence is empty");
  bool fresh = n.integer("new_axis", 0);
  SmallVector<Value> values;
  for (Item &item : elements) {
    if (!item.isTensor())
      return n.error("its sequence should hold tensors");
    values.push_back(n.materialize(item));
  }
  ONNX_LET(axis, n.axis(n.integer("axis", 0), HloBuilder::rankOf(values[0]) + fresh));
  for (Value &value : values) {
    if (fresh)
      value = n.b.unsqueeze(value, axis);
    Dims mine(HloBuilder::shapeOf(value)), first(HloBuilder::shapeOf(values[0]));
    if (mine.size() != first.size() ||
        HloBuilder::elementOf(value) != HloBuilder::elementOf(values[0]))
      return n.error("its tensors differ in rank or element type");
    mine[axis] = first[axis] = 0;
    if (mine != first)
      return n.error("its tensors differ in a dimension other than the axis");
  }
  n.out(0, n.b.concatenate(values, axis));
  return {};
}

/// A sequence is written out part by part.
constexpr int64_t kMaxParts = 10'000;

Status lowerSplitToSequence(Node &n) {
  ONNX_TRY(n.expect(1, 2));
  HloBuilder &b = n.b;
  ONNX_LET(axis, n.axis(n.integer("axis", 0), n.rank(0)));
  int64_t size = n.shape(0)[axis];
  Dims sizes;
  bool squeeze = !n.has(1) && !n.integer("keepdims", 1);
  auto tooMany = [&](int64_t parts) {
    return n.refuse(ErrorCode::NotYet,
                    fmt::format("makes {} parts; at most {} are written out", parts, kMaxParts));
  };
  if (!n.has(1)) {
    if (size > kMaxParts)
      return tooMany(size);
    sizes.assign(size, 1);
  } else {
    ONNX_LET(given, n.knownIntegers(1, "the split"));
    if (n.rank(1) == 0) {
      if (given[0] < 1)
        return n.error("its parts should be positive");
      if (size / given[0] >= kMaxParts)
        return tooMany(size / given[0]);
      for (int64_t at = 0; at < size; at += given[0])
        sizes.push_back(std::min(given[0], size - at));
    } else {
      sizes = given;
    }
  }
  int64_t total = 0;
  for (int64_t one : sizes) {
    if (one < 0)
      return n.error("a part has a negative size");
    if (one > size - total)
      return n.error("its parts do not make up its axis");
    total += one;
  }
  if (total != size)
    return n.error("its parts do not make up its axis");
  std::vector<Item> elements;
  int64_t at = 0;
  for (int64_t one : sizes) {
    Item item;
    item.value = b.sliceDim(n.in(0), axis, at, at + one);
    if (squeeze) {
      Dims shape(HloBuilder::shapeOf(item.value));
      shape.erase(shape.begin() + axis);
      item.value = b.reshape(item.value, shape);
    }
    item.sources = n.item(0).sources;
    elements.push_back(item);
    at += one;
  }
  n.outItem(0, sequenceOf(std::move(elements)));
  return {};
}

/// The body for each element of the sequences; other operands are the same for all.
Status lowerSequenceMap(Node &n) {
  const proto::GraphProto *body = n.graph("body");
  ONNX_LET(first, elementsOf(n, 0));
  if (!body || body->input_size() != int64_t(n.inputCount()) ||
      body->output_size() != int64_t(n.outputCount()))
    return n.error("its body does not fit its operands and results");
  std::vector<std::vector<Item>> results(n.outputCount());
  for (size_t at = 0; at < first.size(); ++at) {
    SmallVector<Item> inputs;
    for (size_t i = 0; i < n.inputCount(); ++i) {
      Item item = n.item(i);
      if (item.elements && !item.isOptional) {
        if (item.elements->size() != first.size())
          return n.error("its sequences differ in length");
        item = Item((*item.elements)[at]);
      }
      inputs.push_back(item);
    }
    ONNX_LET(made, n.inlineGraph(*body, inputs));
    for (size_t i = 0; i < results.size(); ++i)
      results[i].push_back(made[i]);
  }
  for (size_t i = 0; i < results.size(); ++i)
    n.outItem(i, sequenceOf(std::move(results[i])));
  return {};
}

Status lowerOptional(Node &n) {
  std::vector<Item> elements;
  if (n.has(0))
    elements.push_back(n.item(0));
  n.outItem(0, sequenceOf(std::move(elements), true));
  return {};
}

Status lowerHasElement(Node &n) {
  // Anything that is no optional is there.
  bool there = n.has(0) && (!n.item(0).isOptional || !n.item(0).elements->empty());
  n.outKnown(0, Tensor::of<DType::I1>({}, {uint8_t(there)}));
  return {};
}

Status lowerGetElement(Node &n) {
  if (!n.has(0))
    return n.error("lacks its operand");
  const Item &item = n.item(0);
  if (!item.isOptional) {
    n.outItem(0, item);
    return {};
  }
  if (item.elements->empty())
    return n.error("its optional is empty");
  n.outItem(0, item.elements->front());
  return {};
}

} // namespace

void registerSequences(OpTable &table) {
  table.add("SequenceConstruct", 11, lowerConstruct, false);
  table.add("SequenceEmpty", 11, lowerEmpty, false);
  table.add("SequenceLength", 11, lowerLength, false);
  table.add("SequenceAt", 11, lowerAt, false);
  table.add("SequenceInsert", 11, lowerInsert, false);
  table.add("SequenceErase", 11, lowerErase, false);
  table.add("ConcatFromSequence", 11, lowerConcatFromSequence, false);
  table.add("SplitToSequence", 11, lowerSplitToSequence, false);
  table.add("SequenceMap", 17, lowerSequenceMap, false);
  table.add("Optional", 15, lowerOptional, false);
  table.add("OptionalHasElement", 15, lowerHasElement, false);
  table.add("OptionalGetElement", 15, lowerGetElement, false);
}

} // namespace cupel::frontends::onnx_import
