#include "cupel/frontends/torch/Importer.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cupel::frontends::torch_import {

using namespace mlir;
using tensor::Shape;
using tensor::Tensor;

namespace {

constexpr int kMaxGraphDepth = 64;

ArrayRef<int64_t> dimsOf(const Tensor &tensor) {
  return {tensor.shape().data(), tensor.shape().size()};
}

/// "aten.add.Tensor" of "torch.ops.aten.add.Tensor".
StringRef shortTarget(StringRef target) {
  target.consume_front("torch.ops.");
  return target;
}

/// The innermost line of the model's own source that a stack trace names; a line of PyTorch's
/// modules only if there is no other.
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

std::string_view name(Refusal refusal) {
  switch (refusal) {
  case Refusal::None:
    return "none";
  case Refusal::Invalid:
    return "invalid";
  case Refusal::Never:
    return "never";
  case Refusal::NotYet:
    return "not yet";
  }
  return "?";
}

Importer::Importer(const Program &program, MLIRContext &context, const ImportOptions &options)
    : program(program), context(context), options(options) {}

Error Importer::refuse(Refusal refusal, std::string message) {
  if (failure.refusal == Refusal::None) {
    if (current) {
      message = shortTarget(current->target).str() + ": " + message;
      if (auto line = sourceLine(current->stackTrace))
        message += fmt::format(" (at {}:{})", line->first, line->second);
    }
    failure = {refusal, message};
  }
  return Error{failure.message};
}

bool Importer::run(Imported &result) {
  OpBuilder types(&context);
  Location unknown = types.getUnknownLoc();
  result.module = ModuleOp::create(unknown, program.name.empty() ? "model" : program.name);
  types.setInsertionPointToEnd(result.module->getBody());
  main = types.create<func::FuncOp>(unknown, "main", types.getFunctionType({}, {}));
  main.addEntryBlock();
  builder.emplace(main);

  Scope top{program.graph, {}, {}};
  auto all = [&]() -> Status {
    if (Status status = bindSymbols(result); !status)
      return status;
    if (Status status = importInputs(top, result); !status)
      return status;
    if (Status status = importNodes(top); !status)
      return status;
    return importOutputs(top, result);
  };
  Status status = all();
  if (!status || failure.refusal != Refusal::None) {
    if (failure.refusal == Refusal::None)
      failure = {Refusal::Invalid, status.message()};
    return false;
  }
  // Views that were derived again and never read, and what lowerings made in vain.
  SmallVector<Operation *> order;
  result.module->walk<WalkOrder::PreOrder>([&](Operation *op) { order.push_back(op); });
  for (Operation *op : llvm::reverse(order))
    if (op != main && isOpTriviallyDead(op))
      op->erase();
  result.weights = std::move(weights);
  if (failed(verify(*result.module))) {
    failure = {Refusal::NotYet,
               "the module made from this program does not verify: an error in Cupel"};
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Sizes and types
//===----------------------------------------------------------------------===//

Result<Dims> Importer::evaluate(const std::vector<SymInt> &sizes) {
  Dims dims;
  for (const SymInt &size : sizes) {
    if (!size.isSymbolic()) {
      dims.push_back(size.value);
      continue;
    }
    Result<Number> value = symbols.evaluate(size.expression);
    if (!value) {
      // A size that data decide has no value when the program was exported, either.
      return refuse(size.hasValue ? Refusal::Invalid : Refusal::Never,
                    (size.hasValue ? "a size cannot be computed: " : "a size depends on data: ") +
                        value.message());
    }
    if (value->isReal())
      return refuse(Refusal::Invalid, "a size is no integer: " + size.expression);
    dims.push_back(value->integer);
  }
  return dims;
}

Result<RankedTensorType> Importer::typeOf(const TensorMeta &meta) {
  Result<Dims> dims = evaluate(meta.sizes);
  if (!dims)
    return Error{dims.message()};
  for (int64_t size : *dims)
    if (size < 0)
      return refuse(Refusal::Invalid, "a tensor has a negative size");
  if (!tensor::byteCount(meta.type, *dims))
    return refuse(Refusal::Invalid, "a tensor has an impossible size");
  return RankedTensorType::get(*dims, elementTypeFor(&context, meta.type));
}

Status Importer::bindSymbols(Imported &result) {
  // Shapes that were given come first; then hints fill what is left.
  int64_t position = 0;
  struct Pending {
    std::string input;
    std::string expression;
    int64_t size, dimension;
  };
  std::vector<Pending> pending;
  std::vector<std::pair<std::string, const SymInt *>> hints;
  for (const InputSpec &input : program.inputs) {
    if (input.kind != InputKind::UserInput)
      continue;
    if (input.constant.as<SymNumber>()) {
      auto symbol = program.graph.symbols.find(input.name);
      if (symbol == program.graph.symbols.end() || !symbol->second.isSymbolic())
        continue;
      if (auto given = options.numbers.find(input.name); given != options.numbers.end())
        pending.push_back({input.name, symbol->second.expression, given->second, -1});
      hints.emplace_back(input.name, &symbol->second);
      continue;
    }
    auto meta = program.graph.tensors.find(input.name);
    if (!input.constant.as<Name>() || meta == program.graph.tensors.end())
      continue;
    std::string number = std::to_string(position++);
    std::optional<Shape> shape;
    for (const std::string &key : {input.name, number}) {
      if (auto value = options.inputs.find(key); value != options.inputs.end())
        shape = Shape(value->second.shape().begin(), value->second.shape().end());
      else if (auto given = options.shapes.find(key); given != options.shapes.end())
        shape = given->second;
      if (shape)
        break;
    }
    const std::vector<SymInt> &sizes = meta->second.sizes;
    if (shape && shape->size() != sizes.size())
      return refuse(Refusal::Invalid,
                    fmt::format("input '{}' has rank {} in the program, but {} was given",
                                input.name, sizes.size(), shape->size()));
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!sizes[i].isSymbolic()) {
        if (shape && (*shape)[i] != sizes[i].value)
          return refuse(Refusal::Invalid,
                        fmt::format("dimension {} of input '{}' is {} in the program, but {} was "
                                    "given",
                                    i, input.name, sizes[i].value, (*shape)[i]));
        continue;
      }
      if (shape)
        pending.push_back({input.name, sizes[i].expression, (*shape)[i], int64_t(i)});
      hints.emplace_back(input.name, &sizes[i]);
    }
  }
  // Plain symbols first, so that derived sizes check themselves.
  for (int round = 0; round < 2; ++round)
    for (const Pending &p : pending) {
      if (round == 0 && !Symbols::symbolOf(p.expression))
        continue;
      Result<bool> solved = symbols.solve(p.expression, p.size);
      if (!solved)
        return refuse(Refusal::Invalid,
                      p.dimension < 0 ? fmt::format("input '{}' {}", p.input, solved.message())
                                      : fmt::format("dimension {} of input '{}' {}", p.dimension,
                                                    p.input, solved.message()));
    }
  for (const auto &[input, size] : hints) {
    if (!size->hasValue)
      continue;
    std::optional<std::string> symbol = Symbols::symbolOf(size->expression);
    if (symbol ? symbols.isBound(*symbol) : bool(symbols.evaluate(size->expression)))
      continue;
    Result<bool> solved = symbols.solve(size->expression, size->value);
    if (!solved)
      return refuse(Refusal::Invalid, fmt::format("input '{}': {}", input, solved.message()));
    if (*solved && symbol)
      result.notes.push_back(fmt::format(
          "size '{}' of input '{}' is taken as {}, its value when the program was exported; "
          "--shape says otherwise",
          *symbol, input, size->value));
  }
  for (const auto &[symbol, range] : program.ranges) {
    if (!symbols.isBound(symbol))
      continue;
    Result<Number> value = symbols.evaluate("Symbol('" + symbol + "')");
    if (value && ((range.low && value->integer < *range.low) ||
                  (range.high && value->integer > *range.high)))
      return refuse(Refusal::Invalid,
                    fmt::format("size '{}' is {}, but the program was exported for {} to {}",
                                symbol, value->integer,
                                range.low ? std::to_string(*range.low) : "any",
                                range.high ? std::to_string(*range.high) : "any"));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

void Importer::setStrides(Scope &scope, const std::string &name, Alias &alias) {
  auto meta = scope.graph.tensors.find(name);
  if (meta == scope.graph.tensors.end())
    return;
  Dims strides;
  for (const SymInt &stride : meta->second.strides) {
    Result<Number> value =
        stride.isSymbolic() ? symbols.evaluate(stride.expression) : Number::of(stride.value);
    if (!value)
      return;
    strides.push_back(value->integer);
  }
  alias.strides = strides;
  const SymInt &offset = meta->second.offset;
  Result<Number> value =
      offset.isSymbolic() ? symbols.evaluate(offset.expression) : Number::of(offset.value);
  alias.offset = value ? value->integer : 0;
}

Entry Importer::fresh(Value value) {
  Entry entry;
  entry.tensor = std::make_shared<Alias>();
  entry.tensor->memory = std::make_shared<Memory>();
  entry.tensor->memory->value = value;
  return entry;
}

Status Importer::importInputs(Scope &scope, Imported &result) {
  for (const InputSpec &input : program.inputs) {
    auto meta = program.graph.tensors.find(input.name);
    bool isTensor = input.kind != InputKind::ConstantInput && input.kind != InputKind::Token &&
                    input.kind != InputKind::CustomObject &&
                    (input.kind != InputKind::UserInput || input.constant.as<Name>());
    if (isTensor && meta == program.graph.tensors.end())
      return refuse(Refusal::Invalid,
                    "input '" + input.name + "' has no type in the program's tensor_values");
    if (!input.name.empty() && scope.names.count(input.name))
      return refuse(Refusal::Invalid, "input '" + input.name + "' stands twice");
    switch (input.kind) {
    case InputKind::ConstantInput:
      break; // Its value is in the graph already.
    case InputKind::Token:
      scope.names[input.name].isToken = true;
      break;
    case InputKind::CustomObject:
      break; // Refused where it is used.
    case InputKind::UserInput: {
      if (!isTensor) {
        if (input.name.empty())
          break;
        auto symbol = program.graph.symbols.find(input.name);
        if (symbol == program.graph.symbols.end())
          return refuse(Refusal::Invalid, "input '" + input.name + "' has no value");
        Result<Number> value = symbol->second.isSymbolic()
                                   ? symbols.evaluate(symbol->second.expression)
                                   : Number::of(symbol->second.value);
        if (!value)
          return refuse(Refusal::Invalid, "input '" + input.name + "': " + value.message());
        scope.names[input.name].number = *value;
        result.notes.push_back(
            fmt::format("input '{}' is an integer and taken as {}", input.name, value->integer));
        break;
      }
      Result<RankedTensorType> type = typeOf(meta->second);
      if (!type)
        return Error{type.message()};
      result.inputs.push_back(
          {input.name, meta->second.type, Shape(type->getShape().begin(), type->getShape().end())});
      Entry entry = fresh(main.getBody().addArgument(*type, main.getLoc()));
      setStrides(scope, input.name, *entry.tensor);
      scope.names[input.name] = entry;
      break;
    }
    case InputKind::Parameter:
    case InputKind::Buffer:
    case InputKind::TensorConstant: {
      auto value = program.weights.find(input.target);
      if (value == program.weights.end())
        return refuse(Refusal::Invalid, "there is no value for '" + input.target + "'");
      Result<RankedTensorType> type = typeOf(meta->second);
      if (!type)
        return Error{type.message()};
      if (value->second.dtype() != meta->second.type || dimsOf(value->second) != type->getShape())
        return refuse(
            Refusal::Invalid,
            fmt::format("'{}' is stored as {}, but the graph declares other sizes or "
                        "another type",
                        input.target,
                        tensor::describe(value->second.elementType(), value->second.shape())));
      Entry entry = fresh({});
      entry.tensor->memory->weight = int64_t(candidates.size());
      candidates.push_back({input.target, &value->second, input.kind == InputKind::TensorConstant});
      setStrides(scope, input.name, *entry.tensor);
      scope.names[input.name] = entry;
      break;
    }
    }
  }
  return {};
}

Status Importer::importOutputs(Scope &scope, Imported &result) {
  current = nullptr;
  SmallVector<Value> values;
  auto add = [&](Value value, std::string name) {
    values.push_back(value);
    result.outputs.push_back(std::move(name));
  };
  for (const OutputSpec &output : program.outputs) {
    if (output.kind != OutputKind::UserOutput && output.kind != OutputKind::Loss &&
        output.kind != OutputKind::GradientToParameter &&
        output.kind != OutputKind::GradientToUserInput)
      continue;
    ImportedLeaf leaf;
    if (const Name *name = output.value.as<Name>()) {
      const Entry *found = find(scope, *name);
      if (!found || !found->tensor)
        return refuse(Refusal::Invalid, "output '" + name->text + "' is computed nowhere");
      leaf.result = int64_t(values.size());
      bool gradient = output.kind == OutputKind::GradientToParameter ||
                      output.kind == OutputKind::GradientToUserInput;
      add(read(*found->tensor), gradient ? "gradient:" + output.target : name->text);
    } else if (const auto *number = output.value.as<SymNumber>()) {
      Result<Number> value = numberOf(scope, *number);
      if (!value)
        return Error{value.message()};
      if (value->isReal())
        leaf.constant.value = value->real;
      else if (value->kind == Number::Kind::Bool)
        leaf.constant.value = value->integer != 0;
      else
        leaf.constant.value = value->integer;
    } else {
      leaf.constant = output.value;
    }
    result.leaves.push_back(std::move(leaf));
  }
  // What the program writes to: in the signature of functional programs, else in the graph.
  for (const OutputSpec &output : program.outputs) {
    if (output.kind != OutputKind::BufferMutation && output.kind != OutputKind::ParameterMutation &&
        output.kind != OutputKind::UserInputMutation)
      continue;
    const Name *name = output.value.as<Name>();
    const Entry *found = name ? find(scope, *name) : nullptr;
    if (!found || !found->tensor)
      return refuse(Refusal::Invalid,
                    "the new value of '" + output.target + "' is computed nowhere");
    add(read(*found->tensor), "mutated:" + output.target);
  }
  for (const InputSpec &input : program.inputs) {
    auto found = scope.names.find(input.name);
    // A constant that the program writes to is made anew in each call of the function.
    if (found == scope.names.end() || !found->second.tensor ||
        found->second.tensor->memory->version == 0 || input.kind == InputKind::TensorConstant)
      continue;
    add(read(*found->second.tensor),
        "mutated:" + (input.target.empty() ? input.name : input.target));
  }
  builder->builder().create<func::ReturnOp>(main.getLoc(), values);
  main.setFunctionType(FunctionType::get(&context, main.getBody().getArgumentTypes(),
                                         ValueRange(values).getTypes()));
  return {};
}

//===----------------------------------------------------------------------===//
// Names and arguments
//===----------------------------------------------------------------------===//

const Entry *Importer::find(Scope &scope, const Name &name) {
  auto found = scope.names.find(name.text);
  return found == scope.names.end() ? nullptr : &found->second;
}

AliasPtr Importer::aliasOf(Scope &scope, const Argument &argument) {
  const Name *name = argument.as<Name>();
  const Entry *found = name ? find(scope, *name) : nullptr;
  return found ? found->tensor : nullptr;
}

Result<Number> Importer::numberOf(Scope &scope, const SymNumber &number) {
  if (const auto *integer = std::get_if<int64_t>(&number.value))
    return Number::of(*integer);
  if (const auto *real = std::get_if<double>(&number.value))
    return Number::of(*real);
  if (const auto *flag = std::get_if<bool>(&number.value))
    return Number::of(*flag);
  const Name &name = std::get<Name>(number.value);
  if (const Entry *found = find(scope, name); found && found->number)
    return *found->number;
  auto symbol = scope.graph.symbols.find(name.text);
  if (symbol == scope.graph.symbols.end())
    return refuse(Refusal::Invalid, "the number '" + name.text + "' is computed nowhere");
  if (!symbol->second.isSymbolic())
    return Number::of(symbol->second.value);
  Result<Number> value = symbols.evaluate(symbol->second.expression);
  if (!value)
    return refuse(symbol->second.hasValue ? Refusal::Invalid : Refusal::Never,
                  "the number '" + name.text + "' depends on data: " + value.message());
  return value;
}

static void setNumber(Argument &argument, Number number) {
  if (number.isReal())
    argument.value = number.real;
  else if (number.kind == Number::Kind::Bool)
    argument.value = number.integer != 0;
  else
    argument.value = number.integer;
}

Status Importer::resolve(Scope &scope, const Argument &argument, Resolved &result) {
  result.argument = argument;
  auto tensor = [&](const Name &name, Item &item) -> Status {
    const Entry *found = find(scope, name);
    if (!found)
      return refuse(Refusal::Invalid, "'" + name.text + "' is used before it is computed");
    if (found->tensor) {
      item.value = read(*found->tensor);
      item.alias = found->tensor;
    } else if (found->number) {
      item.number = Scalar{};
      item.number->kind = found->number->isReal()                     ? Scalar::Kind::Real
                          : found->number->kind == Number::Kind::Bool ? Scalar::Kind::Bool
                                                                      : Scalar::Kind::Integer;
      item.number->integer = found->number->integer;
      item.number->number = found->number->real;
      item.wrapped = true;
    } else if (!found->isToken) {
      return refuse(Refusal::Invalid, "'" + name.text + "' has no value");
    }
    return {};
  };
  if (const Name *name = argument.as<Name>())
    return tensor(*name, result.item);
  if (const auto *names = argument.as<std::vector<Name>>()) {
    for (const Name &name : *names)
      if (Status status = tensor(name, result.items.emplace_back()); !status)
        return status;
    return {};
  }
  if (const auto *names = argument.as<Argument::OptionalNames>()) {
    for (const std::optional<Name> &name : *names) {
      Item &item = result.items.emplace_back();
      if (name)
        if (Status status = tensor(*name, item); !status)
          return status;
    }
    return {};
  }
  if (const auto *number = argument.as<SymNumber>()) {
    Result<Number> value = numberOf(scope, *number);
    if (!value)
      return Error{value.message()};
    setNumber(result.argument, *value);
    return {};
  }
  if (const auto *numbers = argument.as<std::vector<SymNumber>>()) {
    std::vector<int64_t> integers;
    std::vector<double> reals;
    bool anyReal = false;
    for (const SymNumber &number : *numbers) {
      Result<Number> value = numberOf(scope, number);
      if (!value)
        return Error{value.message()};
      anyReal |= value->isReal();
      integers.push_back(value->integer);
      reals.push_back(value->real);
    }
    if (anyReal)
      result.argument.value = std::move(reals);
    else
      result.argument.value = std::move(integers);
    return {};
  }
  if (const auto *object = argument.as<CustomObject>())
    return refuse(Refusal::Never, "takes the object '" + object->name + "' of class '" +
                                      object->type + "', which lives in a Python process");
  return {};
}

Status Importer::bindResult(Scope &scope, const Argument &output, ArrayRef<Entry> entries,
                            bool isList) {
  auto bind = [&](const Name &name, const Entry &entry) -> Status {
    if (!scope.names.emplace(name.text, entry).second)
      return refuse(Refusal::Invalid, "the result '" + name.text + "' is computed twice");
    if (entry.tensor && entry.tensor->strides.empty())
      setStrides(scope, name.text, *entry.tensor);
    return {};
  };
  if (const Name *name = output.as<Name>())
    return entries.empty() ? Status() : bind(*name, entries[0]);
  if (const auto *names = output.as<std::vector<Name>>()) {
    for (auto [name, entry] : llvm::zip(*names, entries))
      if (Status status = bind(name, entry); !status)
        return status;
    return {};
  }
  if (const auto *number = output.as<SymNumber>())
    if (const Name *name = std::get_if<Name>(&number->value))
      return entries.empty() ? Status() : bind(*name, entries[0]);
  return {};
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void Importer::locate(const GraphNode &node) {
  Location location = UnknownLoc::get(&context);
  if (auto line = sourceLine(node.stackTrace))
    location = FileLineColLoc::get(&context, line->first, line->second, 0);
  builder->setLocation(location);
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
  for (const GraphNode &node : scope.graph.nodes) {
    const GraphNode *outer = std::exchange(current, &node);
    Scope *outerScope = std::exchange(this->scope, &scope);
    locate(node);
    size_t noted = survey ? survey->calls.size() : 0;
    if (survey)
      note(scope, node);
    Status status = importNode(scope, node);
    if (survey && failure.refusal != Refusal::None) {
      survey->calls[noted].failure = std::exchange(failure, {});
      status = standIn(scope, node) ? Status() : Error{"a result has an impossible type"};
    }
    if (!status)
      return status;
    current = outer;
    this->scope = outerScope;
    if (failure.refusal != Refusal::None)
      return Error{failure.message};
  }
  return {};
}

Status Importer::importNode(Scope &scope, const GraphNode &node) {
  StringRef target = shortTarget(node.target);
  if (isNumberCall(node.target))
    return importNumberCall(scope, node);
  if (target == "aten.sym_size.int" || target == "aten.sym_numel.default" ||
      target == "aten.sym_stride.int" || target == "aten.sym_storage_offset.default")
    return importSizeCall(scope, node, target.split('.').second.split('.').first);
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
    return refuse(Refusal::Invalid, "takes a tensor and yields one number");
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
      return refuse(Refusal::Invalid,
                    fmt::format("dimension {} is out of range for rank {}", at, rank));
    if (name == "sym_size") {
      entry.number = Number::of(shape[at]);
    } else {
      if (int64_t(tensor->strides.size()) != rank)
        return refuse(Refusal::NotYet, "asks for a stride that is not known");
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
        return Error{value.message()};
      numbers.push_back(*value);
    } else if (const auto *list = argument.as<std::vector<SymNumber>>()) {
      for (const SymNumber &symbol : *list) {
        Result<Number> value = numberOf(scope, symbol);
        if (!value)
          return Error{value.message()};
        numbers.push_back(*value);
      }
    } else {
      return refuse(Refusal::NotYet, "takes something that is no number");
    }
    return {};
  };
  for (const NamedArgument &input : node.inputs)
    if (Status status = add(input.value); !status)
      return status;
  Result<Number> value = callOnNumbers(node.target, numbers);
  if (!value)
    return refuse(Refusal::NotYet, value.message());
  Entry entry;
  entry.number = *value;
  if (node.outputs.size() != 1)
    return refuse(Refusal::Invalid, "yields one number, the program takes several");
  return bindResult(scope, node.outputs[0], entry, false);
}

Status Importer::lower(const OpEntry &entry, Node &node) {
  entry.lower(node);
  if (failure.refusal != Refusal::None)
    return Error{failure.message};
  for (auto [i, result] : llvm::enumerate(node.results)) {
    if (!result.items.empty() || !result.wanted || (result.types.empty() && !result.isNumber))
      continue;
    if (result.isList && result.types.empty())
      continue;
    return refuse(Refusal::NotYet, fmt::format("result {} was not computed: an error in Cupel", i));
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
      return refuse(Refusal::Invalid, "argument '" + input.name + "' stands twice");
  if (schema) {
    for (const SchemaArgument &declared : schema->arguments) {
      auto found = llvm::find_if(
          node.inputs, [&](const NamedArgument &input) { return input.name == declared.name; });
      if (found == node.inputs.end() && !declared.missing)
        return refuse(Refusal::Invalid, "lacks the argument '" + declared.name + "'");
      if (Status status =
              add(declared.name, found == node.inputs.end() ? *declared.missing : found->value);
          !status)
        return status;
    }
    for (const NamedArgument &input : node.inputs)
      if (!schema->find(input.name))
        return refuse(Refusal::Invalid,
                      "has the argument '" + input.name + "', which this operator does not take");
  } else {
    for (const NamedArgument &input : node.inputs)
      if (Status status = add(input.name, input.value); !status)
        return status;
  }
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
  const OpEntry *entry = OpTable::get().find(target);
  std::string self;
  bool shares = sharesMemory(scope, node, target, schema, arguments, self);
  if (!entry) {
    if (isRandomCall(target))
      return refuse(Refusal::Never, "draws random numbers");
    if (isDataDependent(target))
      return refuse(Refusal::Never, "the shape or number it yields depends on data");
    return refuse(Refusal::NotYet,
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
        return refuse(Refusal::Invalid, "result '" + name.text + "' has no type");
      Result<RankedTensorType> type = typeOf(meta->second);
      if (!type)
        return Error{type.message()};
      result.types.push_back(*type);
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
    return refuse(Refusal::Invalid, "graphs nest too deeply");
  if (inputs.size() != graph.inputs.size())
    return refuse(Refusal::Invalid, fmt::format("a subgraph takes {} inputs, {} were given",
                                                graph.inputs.size(), inputs.size()));
  Scope inner{graph, {}, {}};
  for (auto [input, entry] : llvm::zip(graph.inputs, inputs)) {
    if (const Name *name = input.as<Name>()) {
      inner.names[name->text] = entry;
      auto meta = graph.tensors.find(name->text);
      if (entry.tensor && meta != graph.tensors.end()) {
        Result<RankedTensorType> type = typeOf(meta->second);
        if (!type)
          return Error{type.message()};
        if (*type != read(*entry.tensor).getType())
          return refuse(Refusal::Invalid,
                        "input '" + name->text + "' of a subgraph has another type than declared");
      }
    } else if (const auto *number = input.as<SymNumber>()) {
      if (const Name *symbol = std::get_if<Name>(&number->value))
        inner.names[symbol->text] = entry;
    }
  }
  if (Status status = importNodes(inner); !status)
    return Error{status.message()};
  std::vector<Entry> results;
  for (const Argument &output : graph.outputs) {
    Entry entry;
    if (const Name *name = output.as<Name>()) {
      const Entry *found = find(inner, *name);
      if (!found)
        return refuse(Refusal::Invalid,
                      "a subgraph's output '" + name->text + "' is computed nowhere");
      entry = *found;
    } else if (const auto *number = output.as<SymNumber>()) {
      Result<Number> value = numberOf(inner, *number);
      if (!value)
        return Error{value.message()};
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

std::optional<Imported> importProgram(const Program &program, MLIRContext &context,
                                      const ImportOptions &options, ImportFailure &failure) {
  Importer importer(program, context, options);
  Imported result;
  if (importer.run(result))
    return result;
  failure = importer.failure;
  return std::nullopt;
}

} // namespace cupel::frontends::torch_import
