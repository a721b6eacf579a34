// Tensors that share memory. A tensor is memory or a view of another tensor; reading a view derives
// it from what the memory holds now, and writing to one makes a new value of everything it lies in.

#include "cupel/frontends/torch/Importer.h"
#include "cupel/frontends/torch/ops/Lowering.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {

using namespace mlir;
using tensor::Tensor;

namespace {

// Constants up to this size are written into the program; larger ones are arguments.
constexpr int64_t kInlineElements = 1024;

/// "add" of "aten.add.Tensor".
StringRef baseName(StringRef target) { return target.split('.').second.split('.').first; }

const Resolved *argumentNamed(const std::vector<std::pair<std::string, Resolved>> &arguments,
                              StringRef name) {
  for (const auto &[key, resolved] : arguments)
    if (name == key)
      return &resolved;
  return nullptr;
}

std::optional<int64_t> integerOf(const std::vector<std::pair<std::string, Resolved>> &arguments,
                                 StringRef name) {
  const Resolved *found = argumentNamed(arguments, name);
  if (!found)
    return std::nullopt;
  if (const auto *value = found->argument.as<int64_t>())
    return *value;
  if (const auto *value = found->argument.as<bool>())
    return *value;
  return std::nullopt;
}

int64_t wrapped(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

/// Views that only say the same elements in another shape, in the same order.
bool isReshape(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("view", "reshape", "_unsafe_view", "flatten", "unflatten", "ravel", "view_as", true)
      .Cases("squeeze", "unsqueeze", "reshape_as", "_reshape_alias", "squeeze_copy", true)
      .Cases("atleast_1d", "atleast_2d", "atleast_3d", true)
      .Default(false);
}

/// Views that are the tensor itself.
bool isIdentity(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("detach", "alias", "lift_fresh", "lift", "contiguous", "to", "type_as", true)
      .Cases("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", true)
      .Cases("resolve_conj", "resolve_neg", "positive", "pin_memory", "requires_grad", true)
      .Cases("_autocast_to_reduced_precision", "_autocast_to_full_precision", "data", true)
      .Default(false);
}

/// Whether torch can see these sizes with these strides as another shape without a copy.
bool canView(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, ArrayRef<int64_t> shape) {
  if (sizes.size() != strides.size())
    return true; // Unknown strides: dense.
  if (llvm::is_contained(sizes, 0))
    return true;
  // Dimensions merge while each stride is the next one's times its size; the new shape must split
  // such groups and never cross them.
  size_t next = 0;
  int64_t group = 1, filled = 1;
  auto fill = [&] {
    while (next < shape.size() && filled * shape[shape.size() - 1 - next] <= group) {
      int64_t size = shape[shape.size() - 1 - next];
      if (filled * size == group && size == 1 && filled == group) {
        ++next;
        continue;
      }
      filled *= size;
      ++next;
      if (filled == group)
        break;
    }
    return filled == group;
  };
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1)
      continue;
    group *= sizes[i];
    size_t before = i;
    while (before > 0 && sizes[before - 1] == 1)
      --before;
    bool ends = before == 0 || strides[before - 1] != strides[i] * sizes[i];
    if (!ends)
      continue;
    if (!fill())
      return false;
    group = filled = 1;
  }
  while (next < shape.size() && shape[shape.size() - 1 - next] == 1)
    ++next;
  return next == shape.size();
}

/// Whether one stride is another where it matters.
bool sameStrides(ArrayRef<int64_t> sizes, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() != sizes.size() || b.size() != sizes.size())
    return a.size() == b.size();
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1 && a[i] != b[i])
      return false;
  return true;
}

std::optional<Dims> permutationOf(const ViewCall &call, int64_t rank) {
  StringRef name = baseName(call.target);
  Dims order;
  for (int64_t i = 0; i < rank; ++i)
    order.push_back(i);
  if (name == "permute") {
    const Resolved *dims = argumentNamed(call.arguments, "dims");
    const auto *list = dims ? dims->argument.as<std::vector<int64_t>>() : nullptr;
    if (!list || int64_t(list->size()) != rank)
      return std::nullopt;
    for (int64_t i = 0; i < rank; ++i)
      order[i] = wrapped((*list)[i], rank);
    return order;
  }
  if (name == "transpose" || name == "swapaxes" || name == "swapdims") {
    StringRef first = name == "swapaxes" ? "axis0" : "dim0",
              second = name == "swapaxes" ? "axis1" : "dim1";
    std::optional<int64_t> a = integerOf(call.arguments, first),
                           b = integerOf(call.arguments, second);
    if (!a || !b)
      return std::nullopt;
    if (rank > 0)
      std::swap(order[wrapped(*a, rank)], order[wrapped(*b, rank)]);
    return order;
  }
  if (name == "numpy_T" || name == "t") {
    std::reverse(order.begin(), order.end());
    return order;
  }
  if ((name == "mT" || name == "matrix_H" || name == "adjoint" || name == "mH") && rank >= 2) {
    std::swap(order[rank - 1], order[rank - 2]);
    return order;
  }
  return std::nullopt;
}

/// A view that is a box of its tensor: where it starts, with the dropped dimension put back.
struct Box {
  int64_t dimension, start;
  bool dropped = false; ///< The view lacks the dimension.
};

std::optional<Box> boxOf(const Alias &view, ArrayRef<int64_t> whole) {
  const ViewCall &call = *view.call;
  StringRef name = baseName(call.target);
  int64_t rank = whole.size();
  if (rank == 0)
    return std::nullopt;
  int64_t dimension = wrapped(integerOf(call.arguments, "dim").value_or(0), rank);
  if (dimension < 0 || dimension >= rank)
    return std::nullopt;
  int64_t size = whole[dimension];
  auto inside = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + size : position, 0, size);
  };
  if (name == "select") {
    std::optional<int64_t> index = integerOf(call.arguments, "index");
    return index ? std::optional<Box>({dimension, inside(*index), true}) : std::nullopt;
  }
  if (name == "unbind")
    return Box{dimension, int64_t(view.element), true};
  if (name == "slice") {
    if (integerOf(call.arguments, "step").value_or(1) != 1)
      return std::nullopt;
    return Box{dimension, inside(integerOf(call.arguments, "start").value_or(0))};
  }
  if (name == "narrow") {
    std::optional<int64_t> start = integerOf(call.arguments, "start");
    return start ? std::optional<Box>({dimension, inside(*start)}) : std::nullopt;
  }
  if (name == "split" || name == "split_with_sizes" || name == "chunk" || name == "tensor_split") {
    int64_t start = 0;
    for (size_t i = 0; i < view.element; ++i)
      start += call.outputs[view.output].types[i].getDimSize(dimension);
    return Box{dimension, start};
  }
  return std::nullopt;
}

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Value Importer::read(Alias &alias) {
  if (!alias.parent) {
    Memory &memory = *alias.memory;
    if (memory.value)
      return memory.value;
    const Candidate &candidate = candidates[memory.weight];
    const Tensor &tensor = *candidate.value;
    if (candidate.isConstant && tensor.size() <= kInlineElements)
      return memory.value = builder->constant(tensor);
    auto type = RankedTensorType::get(ArrayRef(tensor.shape().data(), tensor.shape().size()),
                                      elementTypeFor(&context, tensor.dtype()));
    memory.value = main.getBody().addArgument(type, main.getLoc());
    weights.emplace_back(candidate.name, tensor);
    weightValues[memory.value] = candidate.value;
    return memory.value;
  }
  if (alias.cached && alias.version == alias.memory->version)
    return alias.cached;
  Value self = read(*alias.parent);
  auto values = derive(*alias.call, self);
  if (alias.output >= values.size() || alias.element >= values[alias.output].size() ||
      !values[alias.output][alias.element]) {
    refuse(ErrorCode::NotYet, "a view of a tensor that was written to cannot be derived again");
    return builder->splat(0, HloBuilder::elementOf(self));
  }
  alias.cached = values[alias.output][alias.element];
  alias.version = alias.memory->version;
  return alias.cached;
}

SmallVector<SmallVector<Value, 1>, 1> Importer::derive(const ViewCall &call, Value self,
                                                       Type element) {
  SmallVector<SmallVector<Value, 1>, 1> values;
  if (!call.entry) {
    values.push_back({self});
    return values;
  }
  Node node(*this, *builder, call.target);
  node.source = call.source;
  node.arguments = call.arguments;
  for (auto &[name, argument] : node.arguments)
    if (name == call.self)
      argument.item.value = self;
  for (const ViewCall::Output &output : call.outputs) {
    Node::Result &result = node.results.emplace_back();
    result.isList = output.isList;
    for (RankedTensorType type : output.types)
      result.types.push_back(element ? RankedTensorType::get(type.getShape(), element) : type);
  }
  if (!lower(*call.entry, node))
    return values;
  for (const Node::Result &result : node.results) {
    auto &list = values.emplace_back();
    for (const Item &item : result.items)
      list.push_back(item.value);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void Importer::write(Alias &alias, Value value) {
  if (failure)
    return;
  if (!alias.parent) {
    alias.memory->value = value;
    ++alias.memory->version;
    return;
  }
  Value old = read(*alias.parent);
  Value whole = invert(alias, old, value);
  if (!whole)
    return;
  write(*alias.parent, whole);
  // What overlaps itself reads back other values than were written.
  StringRef name = baseName(alias.call->target);
  if (name.starts_with("expand") || name.starts_with("as_strided") ||
      name.starts_with("broadcast") || name == "unfold")
    return;
  alias.cached = value;
  alias.version = alias.memory->version;
}

Value Importer::invert(const Alias &view, Value old, Value value) {
  HloBuilder &b = *builder;
  const ViewCall &call = *view.call;
  StringRef name = baseName(call.target);
  Type element = HloBuilder::elementOf(old);
  auto complex = [&](Value real, Value imaginary) -> Value {
    Type type = ComplexType::get(HloBuilder::elementOf(real));
    return b.builder().create<stablehlo::ComplexOp>(
        b.location(), TypeRange{RankedTensorType::get(HloBuilder::shapeOf(real), type)},
        ValueRange{real, imaginary});
  };
  auto part = [&](Value x) { return cast<ComplexType>(HloBuilder::elementOf(x)).getElementType(); };
  bool same = old.getType() == value.getType();
  if (!call.entry || (same && isIdentity(name)))
    return value;
  if (HloBuilder::isComplex(old) && (name == "real" || name == "imag")) {
    Value real = b.unary<stablehlo::RealOp>(old, part(old)),
          imaginary = b.unary<stablehlo::ImagOp>(old, part(old));
    return name == "real" ? complex(value, imaginary) : complex(real, value);
  }
  if (name == "view_as_real") {
    Dims shape(HloBuilder::shapeOf(value).drop_back());
    int64_t last = shape.size();
    auto half = [&](int64_t i) { return b.reshape(b.sliceDim(value, last, i, i + 1), shape); };
    return complex(half(0), half(1));
  }
  if (name == "view_as_complex") {
    int64_t last = HloBuilder::rankOf(value);
    Value real = b.unary<stablehlo::RealOp>(value, part(value)),
          imaginary = b.unary<stablehlo::ImagOp>(value, part(value));
    return b.concatenate({b.unsqueeze(real, last), b.unsqueeze(imaginary, last)}, last);
  }
  if (HloBuilder::isComplex(value) && (name == "_conj" || name == "conj" || name == "mH" ||
                                       name == "adjoint" || name == "matrix_H")) {
    Value real = b.unary<stablehlo::RealOp>(value, part(value)),
          imaginary = b.unary<stablehlo::ImagOp>(value, part(value));
    value = complex(real, b.negate(imaginary));
    if (name == "_conj" || name == "conj")
      return value;
  }
  if (name == "_neg_view")
    return b.negate(value);
  if (HloBuilder::elementOf(value) != element) {
    if (name == "view" && element.isIntOrFloat() && HloBuilder::elementOf(value).isIntOrFloat() &&
        element.getIntOrFloatBitWidth() == HloBuilder::elementOf(value).getIntOrFloatBitWidth())
      return b.builder().create<stablehlo::BitcastConvertOp>(b.location(), TypeRange{old.getType()},
                                                             ValueRange{value});
    refuse(ErrorCode::NotYet,
           fmt::format("writes through '{}' into another element type", std::string_view(name)));
    return {};
  }
  if (same && (name == "real" || name == "conj" || name == "_conj"))
    return value; // Of a real tensor, the tensor itself.
  if (isReshape(name) && HloBuilder::countOf(value) == HloBuilder::countOf(old))
    return b.reshape(value, HloBuilder::shapeOf(old));
  if (same && (name == "expand" || name == "expand_as" || name == "broadcast_to"))
    return value;
  if (std::optional<Dims> order = permutationOf(call, HloBuilder::rankOf(old))) {
    Dims inverse(order->size());
    for (auto [i, dim] : llvm::enumerate(*order))
      inverse[dim] = int64_t(i);
    return b.transpose(value, inverse);
  }
  if (HloBuilder::countOf(value) == 0)
    return old;
  if (std::optional<Box> box = boxOf(view, HloBuilder::shapeOf(old))) {
    Value update = box->dropped ? b.unsqueeze(value, box->dimension) : value;
    if (HloBuilder::shapeOf(update) == HloBuilder::shapeOf(old))
      return update;
    SmallVector<Value> starts;
    for (int64_t i = 0; i < HloBuilder::rankOf(old); ++i)
      starts.push_back(b.splatInteger(i == box->dimension ? box->start : 0, b.i64()));
    return b.dynamicUpdateSlice(old, update, starts);
  }
  // Any other view: the same call on the elements' positions says where each one lies.
  int64_t count = HloBuilder::countOf(old);
  Value positions = b.reshape(b.iota({count}, 0, b.i64()), HloBuilder::shapeOf(old));
  auto derived = derive(call, positions, b.i64());
  if (view.output >= derived.size() || view.element >= derived[view.output].size() ||
      !derived[view.output][view.element]) {
    refuse(ErrorCode::NotYet, fmt::format("writes through '{}'", std::string_view(name)));
    return {};
  }
  Value rows = b.reshape(derived[view.output][view.element], {HloBuilder::countOf(value), 1});
  Value flat = b.scatterNd(b.reshape(old, {count}), rows,
                           b.reshape(value, {HloBuilder::countOf(value)}), std::nullopt);
  return b.reshape(flat, HloBuilder::shapeOf(old));
}

//===----------------------------------------------------------------------===//
// Which calls share, which write
//===----------------------------------------------------------------------===//

bool Importer::sharesMemory(Scope &scope, const GraphNode &node, StringRef target,
                            const Schema *schema, const Arguments &arguments, std::string &self) {
  StringRef name = baseName(target);
  if (name == "dropout" || name == "feature_dropout" || name == "alpha_dropout" ||
      name == "feature_alpha_dropout") {
    const Resolved *chance = argumentNamed(arguments, "p");
    const auto *p = chance ? chance->argument.as<double>() : nullptr;
    self = "input";
    return integerOf(arguments, "train") == 0 || (p && *p == 0);
  }
  if (!schema)
    return false;
  for (const SchemaType &result : schema->results) {
    if (result.alias.empty())
      continue;
    for (const SchemaArgument &argument : schema->arguments)
      if (argument.type.alias == result.alias)
        self = argument.name;
  }
  if (self.empty())
    return false;
  const Resolved *viewed = argumentNamed(arguments, self);
  if (!viewed || !viewed->item.value || !viewed->item.alias)
    return false;
  // Some yield a view or a copy, whichever is possible.
  const Name *output = node.outputs.empty() ? nullptr : node.outputs[0].as<Name>();
  if (!output)
    return true;
  auto meta = scope.graph.tensors.find(output->text);
  if (meta == scope.graph.tensors.end())
    return false;
  Result<RankedTensorType> type = typeOf(meta->second);
  if (!type)
    return false;
  ArrayRef<int64_t> sizes = HloBuilder::shapeOf(viewed->item.value);
  ArrayRef<int64_t> strides = viewed->item.alias->strides;
  if (name == "reshape" || name == "flatten" || name == "ravel" || name == "reshape_as")
    return canView(sizes, strides, type->getShape());
  if (name == "to" || name == "contiguous" || name == "type_as" ||
      name.starts_with("_autocast_to")) {
    if (HloBuilder::elementOf(viewed->item.value) != type->getElementType() ||
        integerOf(arguments, "copy").value_or(0))
      return false;
    Alias result;
    setStrides(scope, output->text, result);
    return sameStrides(sizes, strides, result.strides);
  }
  return true;
}

void Importer::reachStorage(Arguments &arguments) {
  Item *self = nullptr;
  Resolved *offset = nullptr;
  for (auto &[name, argument] : arguments) {
    if (name == "self")
      self = &argument.item;
    else if (name == "storage_offset")
      offset = &argument;
  }
  if (!self || !offset || !self->alias || !self->alias->parent)
    return;
  AliasPtr root = self->alias;
  while (root->parent)
    root = root->parent;
  Value whole = read(*root);
  if (HloBuilder::elementOf(whole) != HloBuilder::elementOf(self->value))
    return;
  if (offset->argument.isNone())
    offset->argument.value = self->alias->offset;
  self->value = whole;
  self->alias = root;
}

Status Importer::importWrite(Scope &scope, const GraphNode &node, StringRef target,
                             const Schema &schema, Arguments arguments) {
  HloBuilder &b = *builder;
  StringRef name = baseName(target), overload = target.rsplit('.').second;
  if (isRandomCall(target))
    return refuse(ErrorCode::Random, "draws random numbers");
  // "add_" -> "add", "__iand__" -> "__and__"; "add.out" stays.
  std::string functional = name.str();
  if (name.starts_with("__i") && name.ends_with("__"))
    functional = "__" + name.substr(3).str();
  else if (name.ends_with("_"))
    functional = name.drop_back().str();

  // The tensors that are written to, in the schema's order.
  struct Target {
    std::string argument, alias;
    bool isList;
    SmallVector<AliasPtr, 1> tensors;
  };
  std::vector<Target> targets;
  for (const SchemaArgument &declared : schema.arguments) {
    if (!declared.type.isWritten)
      continue;
    const Resolved *found = argumentNamed(arguments, declared.name);
    Target &made =
        targets.emplace_back(Target{declared.name, declared.type.alias, declared.type.isList, {}});
    if (found->item.alias)
      made.tensors.push_back(found->item.alias);
    for (const Item &item : found->items)
      if (item.alias)
        made.tensors.push_back(item.alias);
    if (found->item.value && !found->item.alias)
      return refuse(ErrorCode::InvalidModel,
                    "writes to '" + declared.name + "', which is no tensor");
  }
  auto bindOutputs = [&]() -> Status {
    for (auto [i, output] : llvm::enumerate(node.outputs)) {
      if (i >= schema.results.size())
        break;
      for (const Target &written : targets) {
        if (written.alias != schema.results[i].alias)
          continue;
        SmallVector<Entry> entries;
        for (const AliasPtr &tensor : written.tensors)
          entries.emplace_back().tensor = tensor;
        if (Status status = bindResult(scope, output, entries, written.isList); !status)
          return status;
      }
    }
    return {};
  };

  // Calls that change what a tensor looks like, not what it holds.
  bool reshapes = llvm::StringSwitch<bool>(name)
                      .Cases("squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", true)
                      .Cases("swapdims_", "as_strided_", "resize_", "resize_as_", true)
                      .Default(false);
  if (name == "detach_" || name == "requires_grad_" || name == "rename_")
    return bindOutputs();
  if (name == "set_")
    return refuse(ErrorCode::NotYet, "changes the memory that a tensor lies in");
  std::string functionalTarget = ("aten." + functional + "." + overload).str();
  const OpEntry *entry = OpTable::get().find(functionalTarget);
  if (reshapes) {
    const Name *output = node.outputs.empty() ? nullptr : node.outputs[0].as<Name>();
    const Name *input = nullptr;
    for (const NamedArgument &one : node.inputs)
      if (one.name == targets[0].argument)
        input = one.value.as<Name>();
    if (!entry || !output || !input || targets[0].tensors.size() != 1)
      return refuse(ErrorCode::NotYet, "this operator has no lowering");
    auto meta = scope.graph.tensors.find(output->text);
    if (meta == scope.graph.tensors.end())
      return refuse(ErrorCode::InvalidModel, "result '" + output->text + "' has no type");
    Result<RankedTensorType> type = typeOf(meta->second);
    if (!type)
      return type.error();
    auto view = std::make_shared<ViewCall>();
    view->entry = entry;
    view->target = functionalTarget;
    view->self = targets[0].argument;
    view->source = &node;
    view->arguments = std::move(arguments);
    view->outputs.push_back({{*type}, false});
    Entry made;
    made.tensor = std::make_shared<Alias>();
    made.tensor->memory = targets[0].tensors[0]->memory;
    made.tensor->parent = targets[0].tensors[0];
    made.tensor->call = view;
    made.tensor->version = ~uint64_t{0};
    Value value = read(*made.tensor);
    if (failure)
      return *failure;
    // A tensor that grows gets memory of its own.
    if (HloBuilder::countOf(value) > HloBuilder::countOf(read(*targets[0].tensors[0])))
      made = fresh(value);
    setStrides(scope, output->text, *made.tensor);
    scope.names[input->text] = made;
    return bindResult(scope, node.outputs[0], made, false);
  }

  Node call(*this, b, functionalTarget);
  call.source = &node;
  call.arguments = std::move(arguments);
  for (const Target &written : targets) {
    Node::Result &result = call.results.emplace_back();
    result.isList = written.isList;
    for (const AliasPtr &tensor : written.tensors)
      result.types.push_back(HloBuilder::typeOf(read(*tensor)));
  }
  for (auto [i, output] : llvm::enumerate(node.outputs))
    if (const Name *result = output.as<Name>(); result && i < call.results.size())
      if (auto meta = scope.graph.tensors.find(result->text); meta != scope.graph.tensors.end()) {
        call.results[i].hasHalfParts = meta->second.hasHalfParts;
        // A result that is declared with another shape than `out` has: PyTorch resizes `out`.
        if (Result<RankedTensorType> type = typeOf(meta->second);
            type && overload.contains("out") && !call.results[i].types.empty())
          call.results[i].types[0] = *type;
      }
  auto self = [&] { return read(*targets[0].tensors[0]); };
  bool isOne = targets.size() == 1 && targets[0].tensors.size() == 1;
  if (entry) {
    if (Status status = lower(*entry, call); !status)
      return status;
  } else if (isOne && functional == "copy") {
    Value source = torch_import::cast(b, call.in("src"), HloBuilder::elementOf(self()));
    if (HloBuilder::broadcastShape(HloBuilder::shapeOf(source), HloBuilder::shapeOf(self())) !=
        Dims(HloBuilder::shapeOf(self())))
      return refuse(ErrorCode::InvalidModel,
                    "the source does not broadcast to the tensor written to");
    call.out(b.broadcastTo(source, HloBuilder::shapeOf(self())));
  } else if (isOne && functional == "fill") {
    call.out(b.broadcastTo(call.in("value", HloBuilder::elementOf(self())),
                           HloBuilder::shapeOf(self())));
  } else if (isOne && functional == "zero") {
    call.out(b.like(self(), 0));
  } else {
    return refuse(ErrorCode::NotYet, "this operator has no lowering");
  }
  for (auto [i, written] : llvm::enumerate(targets))
    for (auto [j, tensor] : llvm::enumerate(written.tensors)) {
      if (j >= call.results[i].items.size() || !call.results[i].items[j].value)
        return refuse(ErrorCode::NotYet,
                      "the new value of '" + written.argument + "' was not computed");
      write(*tensor, call.results[i].items[j].value);
      if (failure)
        return *failure;
    }
  return bindOutputs();
}

} // namespace cupel::frontends::torch_import
