#include "cupel/frontends/torch/Importer.h"

#include "cupel/frontends/torch/MarkedComposites.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cupel::frontends::torch_import {

using namespace mlir;
using tensor::Shape;
using tensor::Tensor;

namespace {

ArrayRef<int64_t> dimsOf(const Tensor &tensor) {
  return {tensor.shape().data(), tensor.shape().size()};
}

/// What is wrong is told with the call it stands in, not by MLIR's diagnostic.
LogicalResult verifyQuietly(ModuleOp module) {
  ScopedDiagnosticHandler handler(module.getContext(), [](Diagnostic &) {});
  return verify(module);
}

} // namespace

Importer::Importer(const Program &program, MLIRContext &context, const ImportOptions &options)
    : program(program), context(context), options(options) {}

Error Importer::refuse(ErrorCode code, std::string message) {
  if (!failure) {
    Place place;
    if (current) {
      place.operation = shortTarget(current->target).str();
      message = place.operation + ": " + message;
      if (auto line = sourceLine(current->stackTrace)) {
        place.location = fmt::format("{}:{}", line->first, line->second);
        message += " (at " + place.location + ")";
      }
    }
    failure = Error(code, std::move(message), std::move(place));
  }
  return *failure;
}

Status Importer::run(Imported &result) {
  OpBuilder types(&context);
  Location unknown = types.getUnknownLoc();
  result.module = ModuleOp::create(unknown, program.name.empty() ? "model" : program.name);
  types.setInsertionPointToEnd(result.module->getBody());
  main = types.create<func::FuncOp>(unknown, "main", types.getFunctionType({}, {}));
  main.addEntryBlock();
  builder.emplace(main);
  builder->keepComposites(options.composites);

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
  if (!status || failure)
    return asRefusal(failure ? *failure : status.error());
  if (Status marked = outlineMarked(main, options.composites); !marked)
    return asRefusal(marked.error());
  // Views that were derived again and never read, and what lowerings made in vain.
  SmallVector<Operation *> order;
  result.module->walk<WalkOrder::PreOrder>([&](Operation *op) { order.push_back(op); });
  for (Operation *op : llvm::reverse(order))
    if (op != main && isOpTriviallyDead(op))
      op->erase();
  result.weights = std::move(weights);
  if (succeeded(verifyQuietly(*result.module)))
    return {};
  // Once more, to find out which call it was.
  if (!verifyEach) {
    Importer again(program, context, options);
    again.verifyEach = true;
    Imported aside;
    if (Status status = again.run(aside); !status)
      return status;
  }
  return Error{ErrorCode::NotYet,
               "the module made from this program does not verify: an error in Cupel"};
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
      return refuse(size.hasValue ? ErrorCode::InvalidModel : ErrorCode::DataDependent,
                    (size.hasValue ? "a size cannot be computed: " : "a size depends on data: ") +
                        value.message());
    }
    if (value->isReal())
      return refuse(ErrorCode::InvalidModel, "a size is no integer: " + size.expression);
    dims.push_back(value->integer);
  }
  return dims;
}

Result<RankedTensorType> Importer::typeOf(const TensorMeta &meta) {
  Result<Dims> dims = evaluate(meta.sizes);
  if (!dims)
    return dims.error();
  for (int64_t size : *dims)
    if (size < 0)
      return refuse(ErrorCode::InvalidModel, "a tensor has a negative size");
  if (!tensor::byteCount(meta.type, *dims))
    return refuse(ErrorCode::InvalidModel, "a tensor has an impossible size");
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
      return refuse(ErrorCode::InvalidModel,
                    fmt::format("input '{}' has rank {} in the program, but {} was given",
                                input.name, sizes.size(), shape->size()));
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!sizes[i].isSymbolic()) {
        if (shape && (*shape)[i] != sizes[i].value)
          return refuse(ErrorCode::InvalidModel,
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
        return refuse(ErrorCode::InvalidModel,
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
      return refuse(ErrorCode::InvalidModel,
                    fmt::format("input '{}': {}", input, solved.message()));
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
      return refuse(ErrorCode::InvalidModel,
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
  std::map<std::tuple<const std::byte *, tensor::DType, Shape>, std::shared_ptr<Memory>> stored;
  for (const InputSpec &input : program.inputs) {
    auto meta = program.graph.tensors.find(input.name);
    bool isTensor = input.kind != InputKind::ConstantInput && input.kind != InputKind::Token &&
                    input.kind != InputKind::CustomObject &&
                    (input.kind != InputKind::UserInput || input.constant.as<Name>());
    if (isTensor && meta == program.graph.tensors.end())
      return refuse(ErrorCode::InvalidModel,
                    "input '" + input.name + "' has no type in the program's tensor_values");
    if (!input.name.empty() && scope.names.count(input.name))
      return refuse(ErrorCode::InvalidModel, "input '" + input.name + "' stands twice");
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
          return refuse(ErrorCode::InvalidModel, "input '" + input.name + "' has no value");
        Result<Number> value = symbol->second.isSymbolic()
                                   ? symbols.evaluate(symbol->second.expression)
                                   : Number::of(symbol->second.value);
        if (!value)
          return refuse(ErrorCode::InvalidModel, "input '" + input.name + "': " + value.message());
        scope.names[input.name].number = *value;
        result.notes.push_back(
            fmt::format("input '{}' is an integer and taken as {}", input.name, value->integer));
        break;
      }
      Result<RankedTensorType> type = typeOf(meta->second);
      if (!type)
        return type.error();
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
        return refuse(ErrorCode::InvalidModel, "there is no value for '" + input.target + "'");
      Result<RankedTensorType> type = typeOf(meta->second);
      if (!type)
        return type.error();
      if (value->second.dtype() != meta->second.type || dimsOf(value->second) != type->getShape())
        return refuse(
            ErrorCode::InvalidModel,
            fmt::format("'{}' is stored as {}, but the graph declares other sizes or "
                        "another type",
                        input.target,
                        tensor::describe(value->second.elementType(), value->second.shape())));
      Entry entry = fresh({});
      // Tied weights are one tensor under several names.
      auto key = std::make_tuple(value->second.data(), value->second.dtype(),
                                 Shape(type->getShape().begin(), type->getShape().end()));
      std::shared_ptr<Memory> &tied = stored[key];
      if (tied && value->second.size() > 0) {
        entry.tensor->memory = tied;
      } else {
        tied = entry.tensor->memory;
        tied->weight = int64_t(candidates.size());
        candidates.push_back(
            {input.target, &value->second, input.kind == InputKind::TensorConstant});
      }
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
        return refuse(ErrorCode::InvalidModel, "output '" + name->text + "' is computed nowhere");
      leaf.result = int64_t(values.size());
      bool gradient = output.kind == OutputKind::GradientToParameter ||
                      output.kind == OutputKind::GradientToUserInput;
      add(read(*found->tensor), gradient ? "gradient:" + output.target : name->text);
    } else if (const auto *number = output.value.as<SymNumber>()) {
      Result<Number> value = numberOf(scope, *number);
      if (!value)
        return value.error();
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
      return refuse(ErrorCode::InvalidModel,
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

Result<Imported> importProgram(const Program &program, MLIRContext &context,
                               const ImportOptions &options) {
  Imported result;
  if (Status status = Importer(program, context, options).run(result); !status)
    return status.error();
  return result;
}

} // namespace cupel::frontends::torch_import
