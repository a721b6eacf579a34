#include "cupel/frontends/onnx/Importer.h"

#include "cupel/frontends/onnx/CodedTypes.h"
#include "onnx-ml.pb.h"

#include "mlir/IR/Verifier.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::Shape;
using tensor::Tensor;

namespace {

// Known tensors up to this size are written into the program; larger ones are arguments.
constexpr int64_t kInlineElements = 1024;
constexpr int kMaxFunctionDepth = 64;
// What functions that call functions and loops that are written out may grow to.
constexpr int64_t kMaxNodes = 100'000;

bool isStandard(StringRef domain) { return domain.empty() || domain == "ai.onnx"; }
StringRef canonical(StringRef domain) { return isStandard(domain) ? StringRef() : domain; }

Opsets opsetsOf(const google::protobuf::RepeatedPtrField<proto::OperatorSetIdProto> &imports) {
  Opsets opsets;
  for (const proto::OperatorSetIdProto &import : imports)
    opsets[canonical(import.domain()).str()] = import.version();
  return opsets;
}

/// Types that say the same of a tensor but for its values.
bool isSameTensor(const Tensor &a, const Tensor &b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.shape(), b.shape());
}

/// Erases decompositions whose composites were thrown away.
void eraseUnused(ModuleOp module) {
  llvm::DenseSet<StringAttr> used;
  module.walk([&](Operation *op) {
    if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
      used.insert(composite.getDecompositionAttr().getAttr());
  });
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPrivate() && !used.contains(function.getSymNameAttr()))
      function.erase();
}

} // namespace

std::optional<std::string> verifyComplaint(ModuleOp module) {
  std::string complaint;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (!complaint.empty())
      return;
    std::string place;
    diagnostic.getLocation()->walk([&](Location location) {
      if (auto named = dyn_cast<NameLoc>(location); named && place.empty())
        place = "node '" + named.getName().str() + "': ";
      return WalkResult::advance();
    });
    complaint = place + "its operands or attributes do not fit its operator: " + diagnostic.str();
  });
  if (succeeded(verify(module)))
    return std::nullopt;
  return complaint.empty() ? "the program made from this model does not verify" : complaint;
}

const Item *Scope::find(StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->outer)
    if (auto found = scope->items.find(std::string_view(name)); found != scope->items.end())
      return &found->second;
  return nullptr;
}

bool Scope::isLost(StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->outer)
    if (scope->lost.count(std::string_view(name)))
      return true;
  return false;
}

Importer::Importer(const Model &model, MLIRContext &context, const ImportOptions &options,
                   std::set<std::string> bound)
    : model(model), context(context), options(options), bound(std::move(bound)),
      opsets(opsetsOf(model.proto().opset_import())) {}

Error Importer::refuse(ErrorCode code, std::string message, Place place) {
  Error error(code, std::move(message), std::move(place));
  if (!failure)
    failure = error;
  return error;
}

int64_t Importer::opsetOf(StringRef domain) const {
  auto found = opsets.find(std::string_view(canonical(domain)));
  return found == opsets.end() ? 0 : found->second;
}

Status Importer::run(ImportedModel &result) {
  OpBuilder builder(&context);
  result.module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(result.module->getBody());
  main = builder.create<func::FuncOp>(builder.getUnknownLoc(), "main",
                                      builder.getFunctionType({}, {}));
  main.addEntryBlock();
  mainBuilder.emplace(main);
  mainBuilder->keepComposites(options.composites);
  current = &*mainBuilder;

  const proto::GraphProto &graph = model.proto().graph();
  Scope top;
  auto all = [&]() -> Status {
    if (int64_t version = opsetOf(""); version > kNewestOpset)
      return refuse(ErrorCode::NotYet,
                    fmt::format("operator set {} is newer than {}, the newest that is known",
                                version, kNewestOpset));
    if (Status status = importInputs(top, result); !status)
      return status;
    if (Status status = importInitializers(graph, top); !status)
      return status;
    if (Status status = importNodes(graph.node(), top); !status)
      return status;
    SmallVector<Value> outputs;
    for (const proto::ValueInfoProto &output : graph.output()) {
      const Item *found = top.find(output.name());
      if (!found && survey && top.isLost(output.name()))
        continue;
      if (!found)
        return refuse(ErrorCode::InvalidModel,
                      "output '" + output.name() + "' is computed nowhere");
      if (!found->isTensor())
        return refuse(ErrorCode::Sequences,
                      "output '" + output.name() + "' is a sequence or an optional, not a tensor");
      Item item = *found;
      if (item.coded)
        result.notes.push_back("output '" + output.name() + "' holds the bits of " +
                               elementName(int32_t(item.coded)));
      outputs.push_back(materialize(item));
      result.outputs.push_back(output.name());
    }
    current->builder().create<func::ReturnOp>(current->location(), outputs);
    main.setFunctionType(
        builder.getFunctionType(main.getBody().getArgumentTypes(), ValueRange(outputs).getTypes()));
    return {};
  };
  if (Status status = all(); !status)
    return asRefusal(failure ? *failure : status.error());
  result.weights = std::move(weights);
  if (survey)
    return {};
  if (discarded)
    eraseUnused(*result.module);
  if (std::optional<std::string> complaint = verifyComplaint(*result.module))
    return Error{ErrorCode::InvalidModel, *complaint};
  return {};
}

Location Importer::namedLocation(StringRef name) const {
  return NameLoc::get(StringAttr::get(&context, name));
}

Value Importer::materialize(Item &item) {
  if (item.value)
    return item.value;
  const Tensor &tensor = *item.known;
  if (folding || tensor.size() <= kInlineElements || item.name.empty())
    return item.value = current->constant(tensor);
  // Memory tells weights apart: names may stand again in other graphs and in each call of a
  // function.
  auto [first, last] = weightArguments.equal_range(tensor.data());
  for (auto same = first; same != last; ++same)
    if (isSameTensor(weights[same->second.first].second, tensor))
      return item.value = same->second.second;
  auto type = RankedTensorType::get(ArrayRef(tensor.shape().data(), tensor.shape().size()),
                                    elementTypeFor(&context, tensor.dtype()));
  std::string name = item.name;
  for (int i = 1; !weightNames.insert(name).second; ++i)
    name = item.name + "_" + std::to_string(i);
  Value argument = main.getBody().addArgument(type, namedLocation(name));
  weightArguments.emplace(tensor.data(), std::pair(weights.size(), argument));
  weights.emplace_back(std::move(name), tensor);
  return item.value = argument;
}

//===----------------------------------------------------------------------===//
// Inputs and constants
//===----------------------------------------------------------------------===//

Result<Shape> Importer::inputShape(const proto::ValueInfoProto &input, ImportedModel &result) {
  const proto::TypeProto_Tensor &type = input.type().tensor_type();
  auto given = options.shapes.find(input.name());
  auto value = options.inputs.find(input.name());
  if (!type.has_shape() && given == options.shapes.end() && value == options.inputs.end())
    return refuse(ErrorCode::InvalidModel, "input '" + input.name() +
                                        "' has no shape; give one with --shape " + input.name() +
                                        "=2x3");
  if (given != options.shapes.end() && value != options.inputs.end() &&
      !std::ranges::equal(given->second, value->second.shape()))
    return refuse(
        ErrorCode::InvalidModel,
        fmt::format("input '{}' is {} in the data, which is not the shape given for it",
                    input.name(),
                    tensor::describe(value->second.elementType(), value->second.shape())));
  Shape shape;
  if (value != options.inputs.end())
    shape.assign(value->second.shape().begin(), value->second.shape().end());
  else if (given != options.shapes.end())
    shape = given->second;
  bool isGiven = value != options.inputs.end() || given != options.shapes.end();
  if (!type.has_shape())
    return shape;
  if (isGiven && int(shape.size()) != type.shape().dim_size())
    return refuse(ErrorCode::InvalidModel,
                  fmt::format("input '{}' has rank {} in the model, but {} was given", input.name(),
                              type.shape().dim_size(), shape.size()));
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const proto::TensorShapeProto_Dimension &dim = type.shape().dim(i);
    if (dim.has_dim_value()) {
      if (dim.dim_value() < 0)
        return refuse(ErrorCode::InvalidModel, fmt::format("input '{}' has a dimension of size {}",
                                                    input.name(), dim.dim_value()));
      if (isGiven && shape[i] != dim.dim_value())
        return refuse(ErrorCode::InvalidModel,
                      fmt::format("dimension {} of input '{}' is {} in the model, but {} was given",
                                  i, input.name(), dim.dim_value(), shape[i]));
      if (!isGiven)
        shape.push_back(dim.dim_value());
    } else if (!isGiven) {
      if (auto known = symbols.find(dim.dim_param()); known != symbols.end()) {
        shape.push_back(known->second);
        continue;
      }
      shape.push_back(1);
      std::string symbol = dim.dim_param().empty() ? "unnamed" : "'" + dim.dim_param() + "'";
      result.notes.push_back(fmt::format("dimension {} ({}) of input '{}' is taken as 1; --shape "
                                         "{}=... says otherwise",
                                         i, symbol, input.name(), input.name()));
    }
  }
  return shape;
}

/// Sizes of named dimensions that the values and shapes given decide.
void Importer::bindSymbols() {
  for (const proto::ValueInfoProto &input : model.proto().graph().input()) {
    ArrayRef<int64_t> sizes;
    if (auto value = options.inputs.find(input.name()); value != options.inputs.end())
      sizes = {value->second.shape().data(), value->second.shape().size()};
    else if (auto given = options.shapes.find(input.name()); given != options.shapes.end())
      sizes = given->second;
    const auto &dims = input.type().tensor_type().shape().dim();
    for (auto [dim, size] : llvm::zip(dims, sizes))
      if (!dim.dim_param().empty())
        symbols.try_emplace(dim.dim_param(), size);
  }
}

Status Importer::importInputs(Scope &scope, ImportedModel &result) {
  const proto::GraphProto &graph = model.proto().graph();
  bindSymbols();
  std::set<std::string> constants;
  for (const proto::TensorProto &tensor : graph.initializer())
    constants.insert(tensor.name());
  for (const proto::SparseTensorProto &tensor : graph.sparse_initializer())
    constants.insert(tensor.values().name());
  for (const proto::ValueInfoProto &input : graph.input()) {
    // An initializer that is also an input is a default; callers may feed another value.
    if (constants.count(input.name()) && !options.inputs.count(input.name()))
      continue;
    Status status = importInput(input, scope, result);
    if (!status && !survey)
      return status;
    if (!status) {
      if (!survey->failure)
        survey->failure = asRefusal(failure ? *failure : status.error());
      failure.reset();
      scope.lost.insert(input.name());
    }
  }
  return {};
}

Status Importer::importInput(const proto::ValueInfoProto &input, Scope &scope,
                             ImportedModel &result) {
  if (input.name().empty() || scope.items.count(input.name()))
    return refuse(ErrorCode::InvalidModel,
                  "input '" + input.name() + "' is unnamed or stands twice");
  if (!input.type().has_tensor_type()) {
    bool sequence = input.type().has_sequence_type() || input.type().has_optional_type();
    return refuse(sequence ? ErrorCode::Sequences : ErrorCode::InvalidModel,
                  "input '" + input.name() + "' is not a tensor" +
                      (sequence ? " but a sequence or an optional" : ""));
  }
  int32_t number = input.type().tensor_type().elem_type();
  Result<tensor::DType> type = elementType(number);
  if (!type)
    return refuse(number == proto::TensorProto::STRING ? ErrorCode::Strings : ErrorCode::NotYet,
                  "input '" + input.name() + "': " + type.message());
  Result<Shape> shape = inputShape(input, result);
  if (!shape)
    return shape.error();
  if (!tensor::byteCount(*type, *shape))
    return refuse(ErrorCode::InvalidModel,
                  fmt::format("input '{}' has an impossible shape", input.name()));
  Item item;
  item.coded = isCoded(number) ? number : 0;
  if (auto given = options.inputs.find(input.name());
      given != options.inputs.end() && given->second.dtype() != *type)
    return refuse(
        ErrorCode::InvalidModel,
        fmt::format("input '{}' is {} in the model, but the value given for it is {}", input.name(),
                    tensor::describe(*type, *shape),
                    tensor::describe(given->second.elementType(), given->second.shape())));
  if (bound.count(input.name())) {
    item.known = options.inputs.at(input.name());
    result.notes.push_back("input '" + input.name() +
                           "' decides shapes: its value is taken from the data");
  } else {
    auto tensorType = RankedTensorType::get(*shape, elementTypeFor(&context, *type));
    item.value = main.getBody().addArgument(tensorType, namedLocation(input.name()));
    item.sources.resize(sourceNames.size() + 1);
    item.sources.set(sourceNames.size());
    sourceNames.push_back(input.name());
    weightNames.insert(input.name());
    result.inputs.push_back({input.name(), *type, std::move(*shape)});
  }
  scope.items[input.name()] = std::move(item);
  return {};
}

Status Importer::importInitializers(const proto::GraphProto &graph, Scope &scope) {
  auto define = [&](const std::string &name, Result<Tensor> value, int32_t number) -> Status {
    if (name.empty())
      return refuse(ErrorCode::InvalidModel, "an initializer has no name");
    if (scope.items.count(name))
      return Status(); // Fed by the caller.
    if (!value && survey) {
      scope.lost.insert(name);
      return {};
    }
    if (!value)
      return refuse(number == proto::TensorProto::STRING ? ErrorCode::Strings
                    : elementType(number)                ? ErrorCode::InvalidModel
                                                         : ErrorCode::NotYet,
                    value.message());
    Item item;
    item.known = std::move(*value);
    item.name = name;
    item.coded = isCoded(number) ? number : 0;
    scope.items[name] = std::move(item);
    return {};
  };
  std::set<std::string> seen;
  for (const proto::TensorProto &tensor : graph.initializer()) {
    if (!seen.insert(tensor.name()).second)
      return refuse(ErrorCode::InvalidModel, "initializer '" + tensor.name() + "' stands twice");
    if (Status status = define(tensor.name(), model.tensor(tensor), tensor.data_type()); !status)
      return status;
  }
  for (const proto::SparseTensorProto &tensor : graph.sparse_initializer())
    if (Status status =
            define(tensor.values().name(), model.tensor(tensor), tensor.values().data_type());
        !status)
      return status;
  return {};
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Status Importer::importNodes(const google::protobuf::RepeatedPtrField<proto::NodeProto> &nodes,
                             Scope &scope) {
  for (const proto::NodeProto &node : nodes)
    if (Status status = survey ? surveyNode(node, scope) : importNode(node, scope); !status)
      return status;
  return {};
}

const proto::FunctionProto *Importer::findFunction(const proto::NodeProto &node) const {
  for (const proto::FunctionProto &function : model.proto().functions())
    if (function.name() == node.op_type() &&
        canonical(function.domain()) == canonical(node.domain()) &&
        function.overload() == node.overload())
      return &function;
  return nullptr;
}

Status Importer::importNode(const proto::NodeProto &node, Scope &scope) {
  if (++nodeCount > kMaxNodes)
    return refuse(ErrorCode::NotYet,
                  fmt::format("{}: functions and loops written out come to more than {} nodes",
                              describe(node, opsetOf(canonical(node.domain()))), kMaxNodes));
  SmallVector<Item> inputs;
  StringRef domain = canonical(node.domain());
  int64_t opset = opsetOf(domain);
  auto described = [&] { return describe(node, opset); };
  for (const std::string &name : node.input()) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    const Item *found = scope.find(name);
    if (!found)
      return refuse(ErrorCode::InvalidModel,
                    described() + ": its operand '" + name + "' is computed by no earlier node");
    inputs.push_back(*found);
  }
  Location location =
      NameLoc::get(StringAttr::get(&context, node.name().empty() ? node.op_type() : node.name()));
  current->setLocation(location);

  if (const proto::FunctionProto *function = findFunction(node))
    return importFunctionCall(*function, node, std::move(inputs), scope);

  const OpTable &table = OpTable::get();
  if (!opset)
    return refuse(ErrorCode::InvalidModel, described() +
                                        ": the model imports no operator set of domain '" +
                                        node.domain() + "'");
  const OpEntry *entry = table.find(domain, node.op_type(), opset);
  if (!entry) {
    bool known = table.knows(domain, node.op_type());
    return refuse(isStandard(domain) ? ErrorCode::NotYet : ErrorCode::OtherDomain,
                  described() +
                      (known ? ": the operator is not lowered at this opset"
                             : ": there is no lowering of this operator") +
                      describeUse(node, inputs));
  }

  llvm::SmallBitVector sources;
  for (const Item &input : inputs) {
    sources |= input.sources;
    if (input.elements)
      for (const Item &element : *input.elements)
        sources |= element.sources;
  }
  int64_t coded = 0;
  for (const Item &input : inputs)
    coded = input.coded ? input.coded : coded;
  bool standard = isStandard(domain), moves = standard && movesElements(node.op_type());
  if (coded && !moves && !(standard && takesCoded(node.op_type())))
    return refuse(ErrorCode::NotYet,
                  described() + ": does not take element type " + elementName(int32_t(coded)));
  Scope *outer = this->scope;
  this->scope = &scope;
  SmallVector<Item> results;
  Result<bool> folded = fold(*entry, node, opset, inputs, results);
  Status status = folded ? Status() : Status(Error{folded.message()});
  if (folded && !*folded) {
    Node context(*this, node, opset, std::move(inputs));
    status = entry->lower(context);
    if (!current->problem().empty()) {
      if (status)
        status = context.error("its operands or attributes do not fit: " + current->problem());
      current->forgetProblem(); // A survey goes on.
    }
    results = std::move(context.results);
  }
  this->scope = outer;
  if (!status)
    return status;
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string &name = node.output(i);
    if (name.empty())
      continue;
    if (size_t(i) >= results.size() || results[i].isAbsent())
      return refuse(ErrorCode::NotYet, described() + ": its result " + std::to_string(i) + " ('" +
                                         name + "') is not computed");
    if (scope.items.count(name))
      return refuse(ErrorCode::InvalidModel, described() + ": the name '" + name + "' is taken");
    Item &item = results[i];
    if (!item.known)
      item.sources |= sources;
    else if (item.name.empty())
      item.name = name;
    if (moves)
      item.coded = coded;
    scope.items[name] = std::move(item);
  }
  return {};
}

Status Importer::importFunctionCall(const proto::FunctionProto &function,
                                    const proto::NodeProto &call, SmallVector<Item> inputs,
                                    Scope &scope) {
  if (++functionDepth > kMaxFunctionDepth)
    return refuse(ErrorCode::InvalidModel, describe(call, opsetOf(call.domain())) +
                                        ": functions call each other without end");
  std::map<std::string, const proto::AttributeProto *> attributes;
  for (const proto::AttributeProto &attribute : function.attribute_proto())
    attributes[attribute.name()] = &attribute;
  for (const proto::AttributeProto &attribute : call.attribute()) {
    const proto::AttributeProto *given = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      given = nullptr;
      if (callerAttributes)
        if (auto found = callerAttributes->find(attribute.ref_attr_name());
            found != callerAttributes->end())
          given = found->second;
    }
    if (given)
      attributes[attribute.name()] = given;
  }
  Scope body;
  for (int i = 0; i < function.input_size(); ++i)
    if (size_t(i) < inputs.size() && !inputs[i].isAbsent())
      body.items[function.input(i)] = inputs[i];
    else
      body.items[function.input(i)] = Item();

  Opsets outerOpsets = std::exchange(opsets, opsetsOf(function.opset_import()));
  // A function may leave out what its model imports.
  for (const auto &[domain, version] : outerOpsets)
    opsets.try_emplace(domain, version);
  const auto *outerAttributes = std::exchange(callerAttributes, &attributes);
  size_t outerPath = std::exchange(callPath, llvm::hash_combine(callPath, &call));
  Status status = importNodes(function.node(), body);
  callPath = outerPath;
  callerAttributes = outerAttributes;
  opsets = std::move(outerOpsets);
  --functionDepth;
  if (!status)
    return status;
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty())
      continue;
    const Item *found = i < function.output_size() ? body.find(function.output(i)) : nullptr;
    if (!found && i < function.output_size() && body.isLost(function.output(i))) {
      scope.lost.insert(call.output(i));
      continue;
    }
    if (!found)
      return refuse(ErrorCode::InvalidModel, describe(call, opsetOf(call.domain())) +
                                          ": the function gives no result " + std::to_string(i));
    scope.items[call.output(i)] = *found;
  }
  return {};
}

Result<SmallVector<Item>> Importer::inlineGraph(const proto::GraphProto &graph,
                                                ArrayRef<Item> inputs,
                                                const proto::NodeProto &owner) {
  auto place = [&] { return describe(owner, opsetOf(owner.domain())); };
  Scope body;
  body.outer = scope;
  if (graph.input_size() != int(inputs.size()))
    return refuse(ErrorCode::InvalidModel,
                  fmt::format("{}: subgraph '{}' has {} inputs, but {} are given", place(),
                              graph.name(), graph.input_size(), inputs.size()));
  for (int i = 0; i < graph.input_size(); ++i)
    body.items[graph.input(i).name()] = inputs[i];
  if (++functionDepth > kMaxFunctionDepth)
    return refuse(ErrorCode::InvalidModel, place() + ": graphs nest without end");
  ++subgraphDepth;
  Status status = importInitializers(graph, body);
  if (status)
    status = importNodes(graph.node(), body);
  --subgraphDepth;
  --functionDepth;
  if (!status)
    return status.error();
  SmallVector<Item> results;
  for (const proto::ValueInfoProto &output : graph.output()) {
    const Item *found = body.find(output.name());
    if (!found)
      return refuse(ErrorCode::InvalidModel,
                    place() + ": subgraph '" + graph.name() + "' computes no '" +
                                          output.name() + "'");
    results.push_back(*found);
  }
  return results;
}

Result<ImportedModel> importModel(const Model &model, MLIRContext &context,
                                  const ImportOptions &options) {
  std::set<std::string> bound;
  // Each round binds at least one more input.
  for (int round = 0; round <= model.proto().graph().input_size(); ++round) {
    ImportedModel result;
    Importer importer(model, context, options, bound);
    Status status = importer.run(result);
    if (status)
      return result;
    if (importer.rebind.empty())
      return status.error();
    bound.insert(importer.rebind.begin(), importer.rebind.end());
  }
  return Error{ErrorCode::InvalidModel, "inputs cannot be bound"};
}

} // namespace cupel::frontends::onnx_import
