// How Python spells types and tuples; shared by the two files of the writer of Python.

#pragma once

#include "cupel/compiler/standalone/Python.h"

#include "llvm/ADT/StringExtras.h"

namespace cupel::compiler::standalone {

inline std::string typeName(tensor::DType type) {
  switch (type) {
  case tensor::DType::C64:
    return "c64";
  case tensor::DType::C128:
    return "c128";
  default:
    return std::string(tensor::info(type).name);
  }
}

/// The type that arithmetic on a value is done in.
inline tensor::DType computedType(mlir::Type type) {
  Result<tensor::ElementType> element = elementTypeFor(type);
  if (!element)
    return tensor::DType::F32;
  return element->quantization ? element->quantization->expressed : element->storage;
}

/// Values of these types are held in wider ones.
inline bool isNarrow(tensor::DType type) {
  return (tensor::isFloat(type) && tensor::info(type).bits < 32) ||
         (tensor::isInteger(type) && tensor::info(type).bits < 8);
}

inline std::string tupleOf(llvm::ArrayRef<std::string> parts) {
  return "(" + llvm::join(parts, ", ") + (parts.size() == 1 ? ",)" : ")");
}

} // namespace cupel::compiler::standalone
