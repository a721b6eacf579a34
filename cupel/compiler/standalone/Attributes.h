// What an operation says beside its operands, as a list of named arguments: the one table of both
// languages. A call in generated code is the operation's name, its operands and these, in this order.

#pragma once

#include "cupel/support/Error.h"

#include "mlir/IR/Operation.h"

#include <string>
#include <variant>
#include <vector>

namespace cupel::compiler::standalone {

struct OpArgument {
  /// A result's shape is a list; a type stands for the element type of the value it names.
  struct ElementOf {
    mlir::Type type;
  };
  std::string name;
  std::variant<int64_t, bool, double, std::string, std::vector<int64_t>, std::vector<bool>, ElementOf>
      value;
};

/// How generated code calls an operation.
struct OpCall {
  std::string function;
  std::vector<OpArgument> arguments;
  bool moves = false; ///< Elements are moved, never computed: results need no rounding.
};

/// An error (Unsupported) that names an operation which generated code has no function for.
Result<OpCall> callOf(mlir::Operation *op);

/// The elementwise operations: those that take and give elements of one place.
bool isElementwise(mlir::Operation *op);

} // namespace cupel::compiler::standalone
