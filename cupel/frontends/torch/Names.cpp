// Names of a graph and what they stand for, as arguments and results of calls.

#include "cupel/frontends/torch/Importer.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {

using namespace mlir;

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
    return refuse(ErrorCode::InvalidModel, "the number '" + name.text + "' is computed nowhere");
  if (!symbol->second.isSymbolic())
    return Number::of(symbol->second.value);
  Result<Number> value = symbols.evaluate(symbol->second.expression);
  if (!value)
    return refuse(symbol->second.hasValue ? ErrorCode::InvalidModel : ErrorCode::DataDependent,
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
      return refuse(ErrorCode::InvalidModel, "'" + name.text + "' is used before it is computed");
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
      return refuse(ErrorCode::InvalidModel, "'" + name.text + "' has no value");
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
      return value.error();
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
        return value.error();
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
    return refuse(ErrorCode::DataDependent, "takes the object '" + object->name + "' of class '" +
                                      object->type + "', which lives in a Python process");
  return {};
}

Status Importer::bindResult(Scope &scope, const Argument &output, ArrayRef<Entry> entries,
                            bool isList) {
  auto bind = [&](const Name &name, const Entry &entry) -> Status {
    if (!scope.names.emplace(name.text, entry).second)
      return refuse(ErrorCode::InvalidModel, "the result '" + name.text + "' is computed twice");
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

} // namespace cupel::frontends::torch_import
