// vmap as graphs have it: a call that begins it, calls that hide a dimension of a tensor, the calls
// inside, which do not know of it, and calls that bring the dimension back. The calls inside are
// imported once for each element of the dimension.

#include "cupel/frontends/torch/Importer.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

constexpr std::string_view kPrefix = "torch._functorch.predispatch.";
/// Calls that a vmap may unroll to.
constexpr int64_t kMaxCalls = 50'000;

/// The name after the common prefix; empty for other calls.
std::string_view vmapCall(const GraphNode &node) {
  std::string_view target = node.target;
  return target.starts_with(kPrefix) ? target.substr(kPrefix.size()) : std::string_view();
}

std::optional<int64_t> integerAt(const GraphNode &node, size_t i) {
  const auto *value = i < node.inputs.size() ? node.inputs[i].value.as<int64_t>() : nullptr;
  return value ? std::optional(*value) : std::nullopt;
}

} // namespace

Status Importer::importVmap(Scope &scope, size_t &i) {
  const std::vector<GraphNode> &nodes = scope.graph.nodes;
  const GraphNode &begin = nodes[i - 1];
  size_t first = i, last = i;
  for (int depth = 1; last < nodes.size(); ++last) {
    std::string_view call = vmapCall(nodes[last]);
    depth += (nodes[last].target == kVmapBegin) - (call == "_vmap_decrement_nesting");
    if (depth == 0)
      break;
  }
  if (last == nodes.size())
    return refuse(ErrorCode::InvalidModel, "begins a vmap that does not end");
  i = last + 1;
  Result<std::vector<Entry>> size = begin.inputs.empty()
                                        ? Result<std::vector<Entry>>(Error{"no size"})
                                        : entriesOf(scope, begin.inputs[0].value);
  if (!size || size->size() != 1 || !(*size)[0].number)
    return refuse(ErrorCode::InvalidModel, "does not say how many elements it goes over");
  int64_t count = (*size)[0].number->integer;
  if (count < 0 || count > kMaxCalls || count * int64_t(last - first) > kMaxCalls)
    return refuse(ErrorCode::NotYet, fmt::format("a vmap over {} elements is too long", count));

  HloBuilder &b = *builder;
  std::map<const GraphNode *, SmallVector<Value>> collected;
  // A name is bound once for each element.
  auto forget = [&](const Argument &output) {
    if (const Name *name = output.as<Name>())
      scope.names.erase(name->text);
    else if (const auto *names = output.as<std::vector<Name>>())
      for (const Name &name : *names)
        scope.names.erase(name.text);
    else if (const auto *number = output.as<SymNumber>())
      if (const Name *name = std::get_if<Name>(&number->value))
        scope.names.erase(name->text);
  };
  for (int64_t element = 0; element < count; ++element) {
    for (size_t at = first; at < last;) {
      const GraphNode &node = nodes[at];
      std::string_view call = vmapCall(node);
      if (call == "lazy_load_decompositions") {
        ++at;
      } else if (call == "_add_batch_dim") {
        AliasPtr tensor = node.inputs.empty() ? nullptr : aliasOf(scope, node.inputs[0].value);
        std::optional<int64_t> dimension = integerAt(node, 1);
        if (!tensor || !dimension || node.outputs.size() != 1)
          return refuse(ErrorCode::InvalidModel,
                        "hides a dimension of something that is no tensor");
        Value whole = read(*tensor);
        int64_t rank = HloBuilder::rankOf(whole), dim = *dimension + (*dimension < 0 ? rank : 0);
        if (dim < 0 || dim >= rank || HloBuilder::shapeOf(whole)[dim] != count)
          return refuse(ErrorCode::InvalidModel, "hides a dimension that the tensor does not have");
        Dims shape(HloBuilder::shapeOf(whole));
        shape.erase(shape.begin() + dim);
        Entry one = fresh(b.reshape(b.sliceDim(whole, dim, element, element + 1), shape));
        if (Status status = bindResult(scope, node.outputs[0], one, false); !status)
          return status;
        ++at;
      } else if (call == "_remove_batch_dim") {
        AliasPtr tensor = node.inputs.empty() ? nullptr : aliasOf(scope, node.inputs[0].value);
        if (!tensor || node.outputs.size() != 1 || !integerAt(node, 3))
          return refuse(ErrorCode::InvalidModel,
                        "brings back a dimension of something that is no tensor");
        collected[&node].push_back(read(*tensor));
        ++at;
      } else {
        StringRef target = shortTarget(node.target);
        const Schema *schema = findSchema(std::string_view(target));
        if (schema && schema->writes())
          return refuse(ErrorCode::NotYet,
                        "writes in place inside of a vmap (" + target.str() + ")");
        if (Status status = importNext(scope, at); !status)
          return status;
      }
    }
    for (size_t at = first; at < last; ++at)
      for (const Argument &output : nodes[at].outputs)
        forget(output);
  }
  for (size_t at = first; at < last; ++at) {
    const GraphNode &node = nodes[at];
    if (vmapCall(node) != "_remove_batch_dim")
      continue;
    const Name *name = node.outputs.size() == 1 ? node.outputs[0].as<Name>() : nullptr;
    auto meta = name ? scope.graph.tensors.find(name->text) : scope.graph.tensors.end();
    if (meta == scope.graph.tensors.end())
      return refuse(ErrorCode::InvalidModel,
                    "brings back a dimension of something that is no tensor");
    Result<RankedTensorType> type = typeOf(meta->second);
    if (!type)
      return type.error();
    Value whole;
    if (count == 0) {
      whole = b.splat(0, type->getElementType(), type->getShape());
    } else {
      SmallVector<Value> &parts = collected[&node];
      int64_t rank = HloBuilder::rankOf(parts[0]) + 1;
      int64_t dim = integerAt(node, 3).value_or(0);
      dim += dim < 0 ? rank : 0;
      if (dim < 0 || dim >= rank ||
          llvm::any_of(parts, [&](Value x) { return x.getType() != parts[0].getType(); }))
        return refuse(ErrorCode::InvalidModel, "brings back a dimension that cannot be");
      for (Value &part : parts)
        part = b.unsqueeze(part, dim);
      whole = b.concatenate(parts, dim);
    }
    if (whole.getType() != *type)
      return refuse(ErrorCode::InvalidModel, "'" + name->text + "' has another type than declared");
    if (Status status = bindResult(scope, node.outputs[0], fresh(whole), false); !status)
      return status;
  }
  return {};
}

} // namespace cupel::frontends::torch_import
