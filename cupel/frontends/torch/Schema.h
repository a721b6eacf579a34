// The operators' schemas as PyTorch prints them: parameters with types and defaults, which results
// share memory with which arguments, and what is written to. The table (schemas.txt) is made by
// scripts/generate-torch-schemas and built in; a line is parsed when it is first asked for.
#pragma once

#include "cupel/frontends/torch/Program.h"

#include <string_view>

namespace cupel::frontends::torch_import {

/// A type with the note on memory that stands in it: "Tensor(a!)[]" is {"Tensor", list, "a", true}.
struct SchemaType {
  std::string base; ///< Tensor, Scalar, SymInt, int, float, bool, str, ScalarType, ...
  bool isList = false, isOptional = false, elementsOptional = false;
  std::string alias; ///< Empty: memory of its own.
  bool isWritten = false;
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  std::optional<Argument> missing; ///< The default.
};

struct Schema {
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaType> results;

  const SchemaArgument *find(std::string_view name) const;
  bool writes() const;
};

/// Of "aten.add.Tensor" ("aten.relu.default" is the one without an overload's name); null if the
/// table does not have it.
const Schema *findSchema(std::string_view target);

/// One line of the table; nothing if it is none.
std::optional<Schema> parseSchema(std::string_view line);

} // namespace cupel::frontends::torch_import
