// The calls of a graph, one after another: arguments resolved, defaults filled in, lowered by the
// table, results bound to their names.

#include "cupel/frontends/torch/Importer.h"
#include "cupel/frontends/torch/Promotion.h"
#include "cupel/tensor/Convert.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

constexpr int kMaxGraphDepth = 64;

/// Calls that check something and yield nothing.
bool isDropped(StringRef target) {
  return llvm::StringSwitch<bool>(target.rsplit('.').first)
      .Cases("aten._assert_async", "aten._assert_scalar", "aten._assert_tensor_metadata", true)
      .Cases("aten._functional_assert_async", "aten._functional_assert_scalar",
             "aten.sym_constrain_range", "aten.sym_constrain_range_for_size", true)
      .Cases("aten._linalg_check_errors", "aten._print", "aten._functional_sym_constrain_range",
             "aten._functional_sym_constrain_range_for_size", "aten._make_dep_token", true)
      .Default(false);
}

bool isDataDependent(StringRef target) {
  StringRef name = target.split('.').second.split('.').first;
  return llvm::StringSwitch<bool>(name)
      .Cases("item", "_local_scalar_dense", "nonzero", "masked_select", "unique_consecutive", true)
      .Cases("_unique", "_unique2", "unique_dim", "unique_dim_consecutive", true)
      .Cases("equal", "is_nonzero", "argwhere", "nonzero_numpy", true)
      .Default(false);
}

} // namespace

/// "aten.add.Tensor" of "torch.ops.aten.add.Tensor".
StringRef shortTarget(StringRef target) {
  target.consume_front("torch.ops.");
  return target;
}

std::optional<std::pair<std::string, unsigned>> sourceLine(StringRef trace) {
  std::optional<std::pair<std::string, unsigned>> own, last;
  for (size_t at = trace.find("File \""); at != StringRef::npos;
       at = trace.find("File \"", at + 6)) {
    auto [file, after] = trace.substr(at + 6).split('"');
    unsigned line = 0;
    if (!after.consume_front(", line ") || after.consumeInteger(10, line))
      continue;
    last = std::make_pair(file.str(), line);
    if (!file.contains("site-packages/torch/") && !file.starts_with("torch/"))
      own = last;
  }
  return own ? own : last;
}

bool isRandomCall(StringRef target) {
  StringRef name = target.split('.').second.split('.').first;
  name.consume_back("_");
  return llvm::StringSwitch<bool>(name)
      .Cases("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
             true)
      .Cases("normal", "uniform", "random", "bernoulli", "exponential", "geometric", true)
      .Cases("cauchy", "log_normal", "multinomial", "poisson", "binomial", "_standard_gamma", true)
      .Cases("_sample_dirichlet", "normal_functional", "_fused_dropout", "_dirichlet_grad", true)
      .Default(false);
}

bool Importer::isRead(const Scope &scope, const GraphNode &node) {
  return llvm::any_of(node.outputs, [&](const Argument &output) {
    if (const Name *name = output.as<Name>())
      return scope.read.contains(name->text);
    if (const auto *names = output.as<std::vector<Name>>())
      return llvm::any_of(*names, [&](const Name &name) { return scope.read.contains(name.text); });
    return !output.isNone();
  });
}

std::string placeOf(const GraphNode &node) {
  const Argument *result = node.outputs.empty() ? nullptr : &node.outputs.front();
  const Name *name = result ? result->as<Name>() : nullptr;
  const auto *names = result ? result->as<std::vector<Name>>() : nullptr;
  std::string label = name                      ? name->text
                      : names && !names->empty() ? names->front().text
                                                 : std::string();
  return label + (label.empty() ? "" : " ") + shortTarget(node.target).str();
}

void Importer::locate(const GraphNode &node) {
  Location location = UnknownLoc::get(&context);
  if (auto line = sourceLine(node.stackTrace))
    location = FileLineColLoc::get(&context, line->first, line->second, 0);
  builder->setLocation(NameLoc::get(StringAttr::get(&context, placeOf(node)), location));
}

Status Importer::importNodes(Scope &scope) {
  auto reads = [&](const Argument &argument) {
    if (const Name *name = argument.as<Name>())
      scope.read.insert(name->text);
    else if (const auto *names = argument.as<std::vector<Name>>())
      for (const Name &name : *names)
        scope.read.insert(name.text);
    else if (const auto *names = argument.as<Argument::OptionalNames>())
      for (const std::optional<Name> &name : *names)
        if (name)
          scope.read.insert(name->text);
  };
  for (const GraphNode &node : scope.graph.nodes)
    for (const NamedArgument &input : node.inputs)
      reads(input.value);
  for (const Argument &output : scope.graph.outputs)
    reads(output);
  for (size_t i = 0; i < scope.graph.nodes.size();)
    if (Status status = importNext(scope, i); !status)
      return status;
  return {};
}

Status Importer::importNext(Scope &scope, size_t &i) {
  const GraphNode &node = scope.graph.nodes[i++];
  const GraphNode *outer = std::exchange(current, &node);
  Scope *outerScope = std::exchange(this->scope, &scope);
  locate(node);
  size_t noted = survey ? survey->nodes.size() : 0;
  if (survey)
    note(scope, node);
  Status status = node.target == kVmapBegin ? importVmap(scope, i) : importNode(scope, node);
  if (survey && failure) {
    survey->nodes[noted].state = SurveyedNode::State::Failed;
    survey->nodes[noted].failure = std::exchange(failure, std::nullopt);
    status = standIn(scope, node) ? Status() : Error{"a result has an impossible type"};
  }
  if (!status)
    return status;
  current = outer;
  this->scope = outerScope;
  return failure ? Status(*failure) : Status();
}

Status Importer::importNode(Scope &scope, const GraphNode &node) {
  StringRef target = shortTarget(node.target);
  if (isNumberCall(node.target))
    return importNumberCall(scope, node);
  if (target == "aten.sym_size.int" || target == "aten.sym_numel.default" ||
      target == "aten.sym_stride.int" || target == "aten.sym_storage_offset.default")
    return importSizeCall(scope, node, target.split('.').second.split('.').first);
  if (target == "torch._functorch.predispatch.lazy_load_decompositions")
    return {}; // Sets PyTorch up and computes nothing.
  if (target.starts_with("higher_order."))
    return importHigherOrder(scope, node, target.drop_front(13));
  if (isDropped(target) &&
      llvm::all_of(node.outputs, [](const Argument &output) { return output.isNone(); }))
    return {};
  return importCall(scope, node, target);
}

/// Sizes, strides and counts of tensors, which are numbers here.
Status Importer::importSizeCall(Scope &scope, const GraphNode &node, StringRef name) {
  AliasPtr tensor;
  std::optional<int64_t> dimension;
  for (const NamedArgument &input : node.inputs) {
    if (AliasPtr found = aliasOf(scope, input.value))
      tensor = found;
    else if (const auto *integer = input.value.as<int64_t>())
      dimension = *integer;
  }
  if (!tensor || node.outputs.size() != 1)
    return refuse(ErrorCode::InvalidModel, "takes a tensor and yields one number");
  ArrayRef<int64_t> shape = HloBuilder::shapeOf(read(*tensor));
  int64_t rank = shape.size();
  Entry entry;
  if (name == "sym_numel") {
    entry.number = Number::of(HloBuilder::countOf(read(*tensor)));
  } else if (name == "sym_storage_offset") {
    entry.number = Number::of(tensor->offset);
  } else {
    int64_t at = dimension.value_or(0) < 0 ? *dimension + rank : dimension.value_or(0);
    if (at < 0 || at >= rank)
      return refuse(ErrorCode::InvalidModel,
                    fmt::format("dimension {} is out of range for rank {}", at, rank));
    if (name == "sym_size") {
      entry.number = Number::of(shape[at]);
    } else {
      if (int64_t(tensor->strides.size()) != rank)
        return refuse(ErrorCode::NotYet, "asks for a stride that is not known");
      entry.number = Number::of(tensor->strides[at]);
    }
  }
  return bindResult(scope, node.outputs[0], entry, false);
}

Status Importer::importNumberCall(Scope &scope, const GraphNode &node) {
  std::vector<Number> numbers;
  auto add = [&](const Argument &argument) -> Status {
    if (const auto *integer = argument.as<int64_t>())
      numbers.push_back(Number::of(*integer));
    else if (const auto *real = argument.as<double>())
      numbers.push_back(Number::of(*real));
    else if (const auto *flag = argument.as<bool>())
      numbers.push_back(Number::of(*flag));
    else if (const auto *list = argument.as<std::vector<int64_t>>())
      for (int64_t value : *list)
        numbers.push_back(Number::of(value));
    else if (const auto *symbol = argument.as<SymNumber>()) {
      Result<Number> value = numberOf(scope, *symbol);
      if (!value)
        return value.error();
      numbers.push_back(*value);
    } else if (const auto *list = argument.as<std::vector<SymNumber>>()) {
      for (const SymNumber &symbol : *list) {
        Result<Number> value = numberOf(scope, symbol);
        if (!value)
          return value.error();
        numbers.push_back(*value);
      }
    } else {
      return refuse(ErrorCode::NotYet, "takes something that is no number");
    }
    return {};
  };
  for (const NamedArgument &input : node.inputs)
    if (Status status = add(input.value); !status)
      return status;
  Result<Number> value = callOnNumbers(node.target, numbers);
  if (!value)
    return refuse(ErrorCode::NotYet, value.message());
  Entry entry;
  entry.number = *value;
  if (node.outputs.size() != 1)
    return refuse(ErrorCode::InvalidModel, "yields one number, the program takes several");
  return bindResult(scope, node.outputs[0], entry, false);
}

/// What the verifier says of the operations of a block after `before` (null: all of it), or of
/// functions after `function`; empty if nothing.
static std::string complaintOf(MLIRContext &context, Block *block, Operation *before,
                               Operation *function) {
  std::string complaint;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (complaint.empty())
      complaint = diagnostic.str();
  });
  auto check = [&](Block::iterator from, Block::iterator end) {
    for (Operation &op : llvm::make_range(from, end))
      if (complaint.empty() && mlir::failed(verify(&op)) && complaint.empty())
        complaint = "'" + op.getName().getStringRef().str() + "' does not verify";
  };
  check(before ? std::next(before->getIterator()) : block->begin(), block->end());
  check(std::next(function->getIterator()), function->getBlock()->end());
  // What it should be is a list of all types there are.
  size_t must = complaint.find(" must be "), got = complaint.rfind(", but got ");
  if (must != std::string::npos && got != std::string::npos && must < got)
    complaint = complaint.substr(0, must) + " cannot be " + complaint.substr(got + 10);
  return complaint;
}

Status Importer::lower(const OpEntry &entry, Node &node) {
  Block *block = builder->builder().getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  Operation *function = &main->getBlock()->back();
  entry.lower(node);
  if (std::string problem = builder->problem(); !problem.empty()) {
    builder->forgetProblem();
    if (!failure)
      return refuse(ErrorCode::InvalidModel, "its arguments do not fit: " + problem);
  }
  if (verifyEach && !failure)
    if (std::string complaint = complaintOf(context, block, before, function); !complaint.empty()) {
      const Name *result = node.source && !node.source->outputs.empty()
                               ? node.source->outputs[0].as<Name>()
                               : nullptr;
      node.fail((result ? "the call that makes '" + result->text + "': " : std::string()) +
                "what the program declares of its tensors contradicts the operator: " + complaint);
    }
  if (failure)
    return *failure;
  for (auto [i, result] : llvm::enumerate(node.results)) {
    if (!result.items.empty() || !result.wanted || (result.types.empty() && !result.isNumber))
      continue;
    if (result.isList && result.types.empty())
      continue;
    return refuse(ErrorCode::NotYet,
                  fmt::format("result {} was not computed: an error in Cupel", i));
  }
  return {};
}

/// Sizes that data decide, where the data are known at import: how many elements of a mask hold.
void Importer::bindCounts(Scope &scope, const GraphNode &node, const Arguments &arguments) {
  for (const Argument &output : node.outputs) {
    const Name *name = output.as<Name>();
    auto meta = name ? scope.graph.tensors.find(name->text) : scope.graph.tensors.end();
    if (meta == scope.graph.tensors.end())
      continue;
    for (const SymInt &size : meta->second.sizes) {
      std::optional<std::string> symbol = Symbols::symbolOf(size.expression);
      if (!symbol || size.hasValue || symbols.isBound(*symbol))
        continue;
      auto count = [&](const Item &item) {
        bool isMask = item.value && (HloBuilder::isBool(item.value) ||
                                     node.target.find("nonzero") != std::string::npos ||
                                     node.target.find("argwhere") != std::string::npos);
        std::optional<tensor::Tensor> known = isMask ? evaluate(item.value) : std::nullopt;
        Result<tensor::Tensor> bits =
            known ? tensor::convert(*known, tensor::DType::I1) : Error{"not known"};
        if (!bits || symbols.isBound(*symbol))
          return;
        const auto *data = bits->dataAs<uint8_t>();
        symbols.bind(*symbol,
                     std::count_if(data, data + bits->size(), [](uint8_t x) { return x; }));
      };
      for (const auto &[key, argument] : arguments) {
        count(argument.item);
        for (const Item &item : argument.items)
          count(item);
      }
    }
  }
}

/// A tensor's one element as a number, where it is known.
Status Importer::importItem(Scope &scope, const GraphNode &node, const Arguments &arguments) {
  std::optional<tensor::Tensor> known = arguments.empty() || !arguments[0].second.item.value
                                            ? std::nullopt
                                            : evaluate(arguments[0].second.item.value);
  if (!known || known->size() != 1 || node.outputs.size() != 1)
    return refuse(ErrorCode::DataDependent,
                  "takes a number out of a tensor, which is known only when the "
                                  "program runs");
  Scalar scalar = scalarOfTensor(*known);
  if (scalar.kind == Scalar::Kind::Complex)
    return refuse(ErrorCode::NotYet, "takes a complex number out of a tensor");
  Entry entry;
  entry.number = scalar.kind == Scalar::Kind::Real   ? Number::of(scalar.real())
                 : scalar.kind == Scalar::Kind::Bool ? Number::of(scalar.integer != 0)
                                                     : Number::of(scalar.integer);
  if (const auto *number = node.outputs[0].as<SymNumber>())
    if (const Name *name = std::get_if<Name>(&number->value))
      if (auto symbol = scope.graph.symbols.find(name->text); symbol != scope.graph.symbols.end())
        if (std::optional<std::string> bound = Symbols::symbolOf(symbol->second.expression);
            bound && !entry.number->isReal())
          symbols.bind(*bound, entry.number->integer);
  return bindResult(scope, node.outputs[0], entry, false);
}

/// Whether the results that a call declares are those that its operator has: lowerings rely on it.
Status Importer::checkResults(const Schema &schema, const GraphNode &node) {
  if (schema.results.size() != node.outputs.size())
    return refuse(ErrorCode::InvalidModel, fmt::format("yields {} results, the program takes {}",
                                                schema.results.size(), node.outputs.size()));
  for (auto [i, type, output] : llvm::enumerate(schema.results, node.outputs)) {
    bool isTensor = type.base == "Tensor";
    bool fits = isTensor && type.isList ? output.as<std::vector<Name>>() != nullptr
                : isTensor ? output.as<Name>() || (output.isNone() && schema.results.size() > 1)
                           : !output.as<Name>() && !output.as<std::vector<Name>>();
    if (!fits)
      return refuse(ErrorCode::InvalidModel,
                    fmt::format("result {} is of another kind than this operator "
                                                  "yields",
                                                  i));
  }
  return {};
}

Status Importer::importCall(Scope &scope, const GraphNode &node, StringRef target) {
  const Schema *schema = findSchema(std::string_view(target));
  // Arguments in the schema's order, defaults filled in.
  Arguments arguments;
  std::set<std::string_view> given;
  auto add = [&](const std::string &name, const Argument &value) -> Status {
    Resolved resolved;
    if (Status status = resolve(scope, value, resolved); !status)
      return status;
    arguments.emplace_back(name, std::move(resolved));
    return {};
  };
  for (const NamedArgument &input : node.inputs)
    if (!given.insert(input.name).second)
      return refuse(ErrorCode::InvalidModel, "argument '" + input.name + "' stands twice");
  if (schema) {
    for (const SchemaArgument &declared : schema->arguments) {
      auto found = llvm::find_if(
          node.inputs, [&](const NamedArgument &input) { return input.name == declared.name; });
      if (found == node.inputs.end() && !declared.missing)
        return refuse(ErrorCode::InvalidModel, "lacks the argument '" + declared.name + "'");
      if (Status status =
              add(declared.name, found == node.inputs.end() ? *declared.missing : found->value);
          !status)
        return status;
    }
    for (const NamedArgument &input : node.inputs)
      if (!schema->find(input.name))
        return refuse(ErrorCode::InvalidModel,
                      "has the argument '" + input.name + "', which this operator does not take");
  } else {
    for (const NamedArgument &input : node.inputs)
      if (Status status = add(input.name, input.value); !status)
        return status;
  }
  if (schema)
    if (Status status = checkResults(*schema, node); !status)
      return status;
  if (autocast)
    castOperands(target, arguments);
  // An operator whose results are not what it writes to (batch_norm's running statistics) says in
  // its lowering what it writes.
  bool writesBeside =
      schema && !schema->results.empty() &&
      llvm::all_of(schema->results, [](const auto &result) { return result.alias.empty(); });
  if (schema && schema->writes() && !writesBeside)
    return importWrite(scope, node, target, *schema, std::move(arguments));

  if (target.starts_with("aten.as_strided."))
    reachStorage(arguments);
  if (target == "aten.item.default" || target == "aten._local_scalar_dense.default")
    return importItem(scope, node, arguments);
  bindCounts(scope, node, arguments);
  // Layers that training leaves out by chance draw in evaluation as well, and nobody looks: what a generator's state becomes is only seen by others
  // who draw, and who are refused.
  if (isRandomCall(target) && !isRead(scope, node))
    return {};
  const OpEntry *entry = OpTable::get().find(target);
  std::string self;
  bool shares = sharesMemory(scope, node, target, schema, arguments, self);
  if (!entry) {
    if (isRandomCall(target))
      return refuse(ErrorCode::Random, "draws random numbers");
    if (isDataDependent(target))
      return refuse(ErrorCode::DataDependent, "the shape or number it yields depends on data");
    return refuse(ErrorCode::NotYet,
                  schema ? "this operator has no lowering"
                         : "is unknown: neither PyTorch's operators nor Cupel's have it");
  }

  Node call(*this, *builder, target.str());
  call.source = &node;
  call.arguments = arguments;
  for (const Argument &output : node.outputs) {
    Node::Result &result = call.results.emplace_back();
    auto declare = [&](const Name &name) -> Status {
      auto meta = scope.graph.tensors.find(name.text);
      if (meta == scope.graph.tensors.end())
        return refuse(ErrorCode::InvalidModel, "result '" + name.text + "' has no type");
      Result<RankedTensorType> type = typeOf(meta->second);
      if (!type)
        return type.error();
      result.types.push_back(*type);
      result.hasHalfParts |= meta->second.hasHalfParts;
      result.wanted |= scope.read.count(name.text) > 0;
      return {};
    };
    result.wanted = false;
    if (const Name *name = output.as<Name>()) {
      if (Status status = declare(*name); !status)
        return status;
    } else if (const auto *names = output.as<std::vector<Name>>()) {
      result.isList = true;
      for (const Name &name : *names)
        if (Status status = declare(name); !status)
          return status;
    } else if (!output.isNone()) {
      result.isNumber = result.wanted = true;
    }
  }
  if (Status status = lower(*entry, call); !status)
    return status;

  std::shared_ptr<ViewCall> view;
  AliasPtr parent;
  if (shares)
    for (auto &[name, argument] : arguments)
      if (name == self)
        parent = argument.item.alias;
  if (parent) {
    view = std::make_shared<ViewCall>();
    view->entry = entry;
    view->target = target.str();
    view->self = self;
    view->source = &node;
    view->arguments = std::move(arguments);
    for (const Node::Result &result : call.results)
      view->outputs.push_back({result.types, result.isList});
  }
  for (auto [i, output] : llvm::enumerate(node.outputs)) {
    SmallVector<Entry> entries;
    for (auto [j, item] : llvm::enumerate(call.results[i].items)) {
      Entry &made = entries.emplace_back();
      if (item.number) {
        made.number = item.number->kind == Scalar::Kind::Real ? Number::of(item.number->real())
                      : item.number->kind == Scalar::Kind::Bool
                          ? Number::of(item.number->integer != 0)
                          : Number::of(item.number->integer);
      } else if (parent && item.value) {
        made.tensor = std::make_shared<Alias>();
        made.tensor->memory = parent->memory;
        made.tensor->parent = parent;
        made.tensor->call = view;
        made.tensor->output = i;
        made.tensor->element = j;
        made.tensor->cached = item.value;
        made.tensor->version = parent->memory->version;
      } else {
        made = fresh(item.value);
      }
    }
    if (Status status = bindResult(scope, output, entries, call.results[i].isList); !status)
      return status;
  }
  return {};
}

Result<std::vector<Entry>> Importer::inlineGraph(const Graph &graph, ArrayRef<Entry> inputs) {
  if (++depth > kMaxGraphDepth)
    return refuse(ErrorCode::InvalidModel, "graphs nest too deeply");
  if (inputs.size() != graph.inputs.size())
    return refuse(ErrorCode::InvalidModel, fmt::format("a subgraph takes {} inputs, {} were given",
                                                graph.inputs.size(), inputs.size()));
  Scope inner{graph, {}, {}};
  for (auto [input, entry] : llvm::zip(graph.inputs, inputs)) {
    if (const Name *name = input.as<Name>()) {
      inner.names[name->text] = entry;
      auto meta = graph.tensors.find(name->text);
      if (entry.tensor && meta != graph.tensors.end()) {
        Result<RankedTensorType> type = typeOf(meta->second);
        if (!type)
          return type.error();
        if (*type != read(*entry.tensor).getType())
          return refuse(ErrorCode::InvalidModel,
                        "input '" + name->text + "' of a subgraph has another type than declared");
      }
    } else if (const auto *number = input.as<SymNumber>()) {
      if (const Name *symbol = std::get_if<Name>(&number->value))
        inner.names[symbol->text] = entry;
    }
  }
  if (Status status = importNodes(inner); !status)
    return status.error();
  std::vector<Entry> results;
  for (const Argument &output : graph.outputs) {
    Entry entry;
    if (const Name *name = output.as<Name>()) {
      const Entry *found = find(inner, *name);
      if (!found)
        return refuse(ErrorCode::InvalidModel,
                      "a subgraph's output '" + name->text + "' is computed nowhere");
      entry = *found;
    } else if (const auto *number = output.as<SymNumber>()) {
      Result<Number> value = numberOf(inner, *number);
      if (!value)
        return value.error();
      entry.number = *value;
    } else if (const auto *integer = output.as<int64_t>()) {
      entry.number = Number::of(*integer);
    } else if (const auto *real = output.as<double>()) {
      entry.number = Number::of(*real);
    } else if (const auto *flag = output.as<bool>()) {
      entry.number = Number::of(*flag);
    }
    results.push_back(entry);
  }
  --depth;
  return results;
}

} // namespace cupel::frontends::torch_import
