// What flows through a program that runs: tensors, tokens, tuples and futures. Used by plans and
// their callers; copies share memory.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <memory>
#include <variant>
#include <vector>

namespace cupel::reference {

class Value {
public:
  struct Token {};
  /// A tuple, or the results of something that was started.
  using Pack = std::shared_ptr<const std::vector<Value>>;

  Value() = default;
  Value(tensor::Tensor tensor) : state(std::move(tensor)) {}
  Value(Token token) : state(token) {}
  Value(Pack pack) : state(std::move(pack)) {}

  static Value pack(std::vector<Value> values) {
    return Pack(std::make_shared<const std::vector<Value>>(std::move(values)));
  }

  bool isTensor() const { return std::holds_alternative<tensor::Tensor>(state); }
  bool isToken() const { return std::holds_alternative<Token>(state); }
  bool isPack() const { return std::holds_alternative<Pack>(state); }
  bool isEmpty() const { return std::holds_alternative<std::monostate>(state); }

  tensor::Tensor &tensor() { return *std::get_if<tensor::Tensor>(&state); }
  const tensor::Tensor &tensor() const { return *std::get_if<tensor::Tensor>(&state); }
  const std::vector<Value> &values() const { return **std::get_if<Pack>(&state); }

private:
  std::variant<std::monostate, tensor::Tensor, Token, Pack> state;
};

} // namespace cupel::reference
