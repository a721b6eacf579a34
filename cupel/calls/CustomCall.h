// What a custom call asks for, and the table of who can answer: target name -> handler. Built-in
// handlers (LAPACK) and those a user registers stand in the same table. Used by whatever executes
// programs; knows nothing of MLIR or PJRT. A handler must not keep references to its operands.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::calls {

/// A number with the type the program gave it: handlers may insist on it.
struct CallScalar {
  tensor::DType type = tensor::DType::I64;
  alignas(16) std::byte bits[16] = {};
};

struct CallArray {
  tensor::DType type = tensor::DType::I64;
  std::vector<std::byte> bytes;
  int64_t size = 0;
};

struct CallAttribute;
using CallAttributes = std::map<std::string, CallAttribute, std::less<>>;

struct CallAttribute {
  std::variant<CallScalar, CallArray, std::string, std::shared_ptr<const CallAttributes>> value;
};

struct CallType {
  tensor::ElementType element;
  tensor::Shape shape;
};

struct CustomCall {
  std::string_view target;
  std::span<const tensor::Tensor> operands; ///< Of any strides.
  std::span<const CallType> results;        ///< What must come back.
  const CallAttributes &attributes;
  /// The opaque text of older calls.
  std::string_view configuration;
  /// How operands and results lie in memory, minor dimension first; empty: row-major throughout.
  /// Only handlers that work on raw memory care: values are the same either way.
  std::span<const std::vector<int64_t>> operandLayouts, resultLayouts;
  /// For each result the operand whose memory it shares, or -1; empty: none does. A handler on raw
  /// memory finds the operand's values in such a result.
  std::span<const int64_t> sharedOperands;

  /// A scalar attribute as an integer (also of a boolean); an error that names it if it is missing
  /// or of another kind.
  Result<int64_t> integer(std::string_view name) const;
};

using CallHandler = std::function<Result<std::vector<tensor::Tensor>>(const CustomCall &)>;

/// Safe to use from many threads.
class CallRegistry {
public:
  /// Holds the built-in handlers from the start; one for each process.
  static CallRegistry &get();

  /// Null if nobody answers to this name.
  std::shared_ptr<const CallHandler> find(std::string_view target) const;
  /// An error if the name is taken.
  Status add(std::string target, CallHandler handler);
  std::vector<std::string> names() const;

private:
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<const CallHandler>, std::less<>> handlers;
};

// The built-in families.
void registerLapack(CallRegistry &registry);

} // namespace cupel::calls
