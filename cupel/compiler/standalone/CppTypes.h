// How C++ spells element types, tensors and numbers. The writer of C++ uses it; it knows nothing of
// programs.

#pragma once

#include "cupel/compiler/standalone/Source.h"

namespace cupel::compiler::standalone {

/// "float", "int8_t", "bf16".
std::string cppType(tensor::DType type);
/// What elements of a value are held in; of a quantized one its integers.
tensor::DType storedAs(mlir::Type type);
/// What arithmetic on a value is done in; of a quantized one the numbers it stands for.
tensor::DType computedAs(mlir::Type type);
/// "Tensor<float>"; a tuple of those, or a token.
std::string cppTensorType(mlir::Type type);
/// One element as an expression of its type.
std::string cppLiteral(tensor::DType type, const std::byte *element);
std::string cppNumber(double value);
bool hasStaticShape(mlir::Type type);
/// The steps between elements of a tensor that lies row by row.
std::vector<int64_t> rowMajorSteps(llvm::ArrayRef<int64_t> shape);

} // namespace cupel::compiler::standalone
