#include "cupel/frontends/onnx/Node.h"

#include "cupel/frontends/onnx/CodedTypes.h"
#include "cupel/frontends/onnx/Importer.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Convert.h"
#include "onnx-ml.pb.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::Tensor;

Node::Node(Importer &importer, const proto::NodeProto &node, int64_t opset,
           SmallVector<Item> inputs)
    : b(*importer.current), opset(opset), importer(importer), node(node), items(std::move(inputs)) {
  results.resize(node.output_size());
}

StringRef Node::op() const { return node.op_type(); }

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Value Node::materialize(Item &item) { return importer.materialize(item); }
Value Node::in(size_t i) { return importer.materialize(items[i]); }
void Node::asConstants(std::initializer_list<size_t> operands) {
  for (size_t i : operands)
    if (has(i) && items[i].known && !items[i].value && items[i].known->shape().size() <= 1)
      items[i].value = b.constant(*items[i].known);
}

Status Node::expect(size_t least, std::optional<size_t> most) {
  if (most && items.size() > *most)
    return error(fmt::format("takes at most {} operands, not {}", *most, items.size()));
  for (size_t i = 0; i < least; ++i)
    if (!has(i))
      return error(fmt::format("lacks operand {}", i));
  for (const Item &item : items)
    if (item.elements)
      return refuse(ErrorCode::Sequences, "takes tensors, not sequences");
  return {};
}

Result<Tensor> Node::known(size_t i, StringRef what) {
  if (!has(i))
    return error(what.str() + " is missing");
  const Item &item = items[i];
  if (item.known)
    return *item.known;
  if (item.elements)
    return refuse(ErrorCode::Sequences, what.str() + " is a sequence");
  // It may become known once the inputs it comes from are bound to the data.
  std::set<std::string> wanted;
  bool available = item.sources.any();
  for (unsigned source : item.sources.set_bits()) {
    const std::string &name = importer.sourceNames[source];
    available &= importer.options.inputs.count(name) > 0;
    wanted.insert(name);
  }
  if (available) {
    importer.rebind = std::move(wanted);
    return Error{"inputs are bound and the import starts again"};
  }
  return refuse(ErrorCode::DataDependent,
                what.str() + " decides a shape, but is known only when the program runs" +
                    (wanted.empty() ? std::string()
                                    : fmt::format(" (it depends on input '{}'; give its value)",
                                                  *wanted.begin())));
}

Result<Dims> Node::knownIntegers(size_t i, StringRef what) {
  Result<Tensor> tensor = known(i, what);
  if (!tensor)
    return tensor.error();
  Result<Tensor> wide = tensor::convert(*tensor, tensor::DType::I64);
  Result<Tensor> packed = wide ? wide->contiguous() : Error{wide.message()};
  if (!packed)
    return error(what.str() + ": " + packed.message());
  const int64_t *data = packed->dataAs<int64_t>();
  return Dims(data, data + packed->size());
}

Result<double> Node::knownNumber(size_t i, StringRef what) {
  Result<Tensor> tensor = known(i, what);
  if (!tensor)
    return tensor.error();
  if (tensor->size() != 1)
    return error(what.str() + " should be one number");
  Result<Tensor> wide = tensor::convert(*tensor, tensor::DType::F64);
  if (!wide)
    return error(what.str() + ": " + wide.message());
  return *wide->dataAs<double>();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const proto::AttributeProto *Node::attribute(StringRef name) const {
  for (const proto::AttributeProto &attribute : node.attribute()) {
    if (attribute.name() != name)
      continue;
    if (attribute.ref_attr_name().empty())
      return &attribute;
    if (!importer.callerAttributes)
      return nullptr;
    auto found = importer.callerAttributes->find(attribute.ref_attr_name());
    return found == importer.callerAttributes->end() ? nullptr : found->second;
  }
  return nullptr;
}

int64_t Node::integer(StringRef name, int64_t missing) const {
  const proto::AttributeProto *found = attribute(name);
  return found ? found->i() : missing;
}
double Node::real(StringRef name, double missing) const {
  const proto::AttributeProto *found = attribute(name);
  return found ? found->f() : missing;
}
std::string Node::text(StringRef name, StringRef missing) const {
  const proto::AttributeProto *found = attribute(name);
  return found ? found->s() : missing.str();
}
Dims Node::integers(StringRef name) const {
  const proto::AttributeProto *found = attribute(name);
  return found ? Dims(found->ints().begin(), found->ints().end()) : Dims();
}
SmallVector<double> Node::reals(StringRef name) const {
  const proto::AttributeProto *found = attribute(name);
  return found ? SmallVector<double>(found->floats().begin(), found->floats().end())
               : SmallVector<double>();
}
std::vector<std::string> Node::texts(StringRef name) const {
  const proto::AttributeProto *found = attribute(name);
  return found ? std::vector<std::string>(found->strings().begin(), found->strings().end())
               : std::vector<std::string>();
}
Result<Tensor> Node::tensorAttribute(StringRef name) const {
  const proto::AttributeProto *found = attribute(name);
  if (!found)
    return error("lacks the attribute '" + name.str() + "'");
  Result<Tensor> value = found->has_sparse_tensor() ? importer.model.tensor(found->sparse_tensor())
                                                    : importer.model.tensor(found->t());
  if (!value) {
    bool strings = found->t().data_type() == proto::TensorProto::STRING;
    return refuse(strings                               ? ErrorCode::Strings
                  : elementType(found->t().data_type()) ? ErrorCode::InvalidModel
                                                        : ErrorCode::NotYet,
                  "attribute '" + name.str() + "': " + value.message());
  }
  return value;
}
const proto::GraphProto *Node::graph(StringRef name) const {
  const proto::AttributeProto *found = attribute(name);
  return found && found->has_g() ? &found->g() : nullptr;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

size_t Node::outputCount() const { return node.output_size(); }
bool Node::wants(size_t i) const {
  return int(i) < node.output_size() && !node.output(int(i)).empty();
}
void Node::out(size_t i, Value value) {
  if (i >= results.size())
    return;
  results[i] = Item();
  results[i].value = value;
}
void Node::outCoded(size_t i, Value bits, int64_t number) {
  out(i, bits);
  if (i < results.size())
    results[i].coded = number;
}
void Node::outKnown(size_t i, Tensor tensor) {
  if (i >= results.size())
    return;
  results[i] = Item();
  results[i].known = std::move(tensor);
}
void Node::outItem(size_t i, Item item) {
  if (i < results.size())
    results[i] = std::move(item);
}

//===----------------------------------------------------------------------===//
// Complaints and helpers
//===----------------------------------------------------------------------===//

std::string describe(const Item &item) {
  if (item.isAbsent())
    return "none";
  if (item.elements)
    return item.isOptional ? "an optional" : fmt::format("a sequence of {}", item.elements->size());
  if (item.known)
    return tensor::describe(item.known->elementType(), item.known->shape());
  auto type = cast<RankedTensorType>(item.value.getType());
  if (Result<tensor::ElementType> element = reference::elementTypeOf(type.getElementType()))
    return tensor::describe(*element, {type.getShape().data(), type.getShape().size()});
  std::string text;
  llvm::raw_string_ostream(text) << item.value.getType();
  return text;
}

std::string nameOf(const proto::NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  return node.output_size() ? node.output(0) : std::string();
}

std::string operatorOf(const proto::NodeProto &node) {
  bool isStandard = node.domain().empty() || node.domain() == "ai.onnx";
  return isStandard ? node.op_type() : node.domain() + "." + node.op_type();
}

std::string describe(const proto::NodeProto &node, int64_t opset) {
  return fmt::format("node '{}' ({}, opset {})", nameOf(node), operatorOf(node), opset);
}

static std::string describeAttribute(const proto::AttributeProto &attribute) {
  constexpr int kShown = 8;
  auto list = [](const auto &values) {
    std::string text;
    for (int i = 0; i < values.size() && i < kShown; ++i)
      text += fmt::format("{}{}", i ? "," : "", values.Get(i));
    return "[" + text + (values.size() > kShown ? ",...]" : "]");
  };
  if (!attribute.ref_attr_name().empty())
    return attribute.name() + "=@" + attribute.ref_attr_name();
  switch (attribute.type()) {
  case proto::AttributeProto::INT:
    return fmt::format("{}={}", attribute.name(), attribute.i());
  case proto::AttributeProto::FLOAT:
    return fmt::format("{}={}", attribute.name(), attribute.f());
  case proto::AttributeProto::STRING:
    return fmt::format("{}={}", attribute.name(), attribute.s().substr(0, 40));
  case proto::AttributeProto::INTS:
    return attribute.name() + "=" + list(attribute.ints());
  case proto::AttributeProto::FLOATS:
    return attribute.name() + "=" + list(attribute.floats());
  case proto::AttributeProto::STRINGS:
    return attribute.name() + "=" + list(attribute.strings());
  default:
    return attribute.name();
  }
}

std::string describeUse(const proto::NodeProto &node, ArrayRef<Item> operands) {
  constexpr size_t kShown = 16;
  std::string types, attributes;
  for (auto [i, item] : llvm::enumerate(operands)) {
    if (i == kShown) {
      types += fmt::format(", ... ({} in all)", operands.size());
      break;
    }
    types += (types.empty() ? "" : ", ") + describe(item);
  }
  for (const proto::AttributeProto &attribute : node.attribute())
    attributes += (attributes.empty() ? "" : ", ") + describeAttribute(attribute);
  return "; operands: " + (types.empty() ? "none" : types) +
         (attributes.empty() ? "" : "; attributes: " + attributes);
}

Error Node::refuse(ErrorCode code, const std::string &message) const {
  return importer.refuse(code, describe(node, opset) + ": " + message + describeUse(node, items),
                         {.operation = operatorOf(node)});
}
Error Node::error(const std::string &message) const {
  return refuse(ErrorCode::InvalidModel, message);
}

Result<int64_t> Node::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return error(fmt::format("axis {} is out of range for rank {}", axis, rank));
  return axis < 0 ? axis + rank : axis;
}

Result<Dims> Node::axes(ArrayRef<int64_t> given, int64_t rank) const {
  Dims result;
  for (int64_t one : given) {
    Result<int64_t> made = axis(one, rank);
    if (!made)
      return made.error();
    if (llvm::is_contained(result, *made))
      return error(fmt::format("axis {} is named twice", one));
    result.push_back(*made);
  }
  return result;
}

Status Node::checkBroadcast(Value x, Value y) const {
  if (HloBuilder::broadcastShape(HloBuilder::shapeOf(x), HloBuilder::shapeOf(y)))
    return {};
  return error("its operands' shapes do not broadcast");
}

Result<Type> Node::elementTypeNumbered(int64_t number) const {
  Result<tensor::DType> type = elementType(int32_t(number));
  if (isCoded(number))
    return refuse(ErrorCode::NotYet, "element type " + elementName(int32_t(number)) +
                                       " is for casts and quantisation only");
  if (!type)
    return refuse(number == proto::TensorProto::STRING ? ErrorCode::Strings : ErrorCode::NotYet,
                  type.message());
  return elementTypeFor(b.context(), *type);
}

void Node::forgive() {
  importer.failure.reset();
  importer.rebind.clear();
  importer.discarded = true;
  b.forgetProblem();
  results.assign(results.size(), Item());
}

Result<Value> Node::apply(StringRef op, ArrayRef<Value> operands) {
  // Of domains other than the standard's, the newest form is what they mean.
  const OpEntry *entry = OpTable::get().find("", op, kNewestOpset);
  if (!entry)
    return refuse(ErrorCode::NotYet, "there is no lowering of " + op.str());
  SmallVector<Item> inputs(operands.size());
  for (auto [item, value] : llvm::zip(inputs, operands))
    item.value = value;
  Node other(importer, node, kNewestOpset, std::move(inputs));
  Status status = entry->lower(other);
  if (!status)
    return status.error();
  if (other.results.empty() || !other.results[0].isTensor())
    return error("gives no result");
  return importer.materialize(other.results[0]);
}

Result<SmallVector<Item>> Node::inlineGraph(const proto::GraphProto &graph, ArrayRef<Item> inputs) {
  return importer.inlineGraph(graph, inputs, node);
}

} // namespace cupel::frontends::onnx_import
