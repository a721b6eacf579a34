// The pieces of custom syntax that assembly formats of stablehlo and chlo ops share: functions
// parseX/printX for each custom<X>(...) directive. Printing must stay byte-identical to upstream.

#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/OpImplementation.h"

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Types at the end of an op
//===----------------------------------------------------------------------===//

namespace detail {
void printSameOperandsAndResultType(mlir::OpAsmPrinter &printer, llvm::ArrayRef<mlir::Type> types);
mlir::ParseResult parseSameOperandsAndResultType(mlir::OpAsmParser &parser,
                                                 llvm::ArrayRef<mlir::Type *> types);
} // namespace detail

/// `type` if all are equal, else `(operands) -> result`; the last type is the result's.
template <typename... Types>
void printSameOperandsAndResultType(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                    Types... types) {
  detail::printSameOperandsAndResultType(printer, {static_cast<mlir::Type>(types)...});
}
template <typename... Types>
mlir::ParseResult parseSameOperandsAndResultType(mlir::OpAsmParser &parser, Types &...types) {
  return detail::parseSameOperandsAndResultType(parser, {&types...});
}

void printVariadicSameOperandsAndResultType(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                                            mlir::OperandRange operands, mlir::TypeRange types,
                                            mlir::Type result);
mlir::ParseResult parseVariadicSameOperandsAndResultType(
    mlir::OpAsmParser &parser, llvm::ArrayRef<mlir::OpAsmParser::UnresolvedOperand> operands,
    llvm::SmallVectorImpl<mlir::Type> &types, mlir::Type &result);

/// A list of types that are those of operands and results alike.
void printPairwiseOpType(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::TypeRange operands,
                         mlir::TypeRange results);
mlir::ParseResult parsePairwiseOpType(mlir::OpAsmParser &parser,
                                      llvm::SmallVectorImpl<mlir::Type> &operands,
                                      llvm::SmallVectorImpl<mlir::Type> &results);

/// Only the tuple type.
void printTupleOpType(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::TypeRange operands,
                      mlir::Type result);
mlir::ParseResult parseTupleOpType(mlir::OpAsmParser &parser,
                                   llvm::SmallVectorImpl<mlir::Type> &operands, mlir::Type &result);

/// Only the complex type, or the full functional type.
void printComplexOpType(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type lhs,
                        mlir::Type rhs, mlir::Type result);
mlir::ParseResult parseComplexOpType(mlir::OpAsmParser &parser, mlir::Type &lhs, mlir::Type &rhs,
                                     mlir::Type &result);

/// `pred type, value type`, or the full functional type.
void printSelectOpType(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type pred,
                       mlir::Type onTrue, mlir::Type onFalse, mlir::Type result);
mlir::ParseResult parseSelectOpType(mlir::OpAsmParser &parser, mlir::Type &pred, mlir::Type &onTrue,
                                    mlir::Type &onFalse, mlir::Type &result);

//===----------------------------------------------------------------------===//
// Attributes inside an op
//===----------------------------------------------------------------------===//

/// `[1, 2]`.
void printDims(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> dims);
mlir::ParseResult parseDims(mlir::AsmParser &parser, llvm::SmallVectorImpl<int64_t> &dims);

/// The inside of such a list, for attribute formats that write the brackets themselves.
void printIndexList(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> dims);
mlir::ParseResult parseIndexList(mlir::AsmParser &parser, llvm::SmallVector<int64_t> &dims);

/// Operands followed by commas: what comes after is an attribute.
void printVariadicOperandWithAttribute(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                                       mlir::OperandRange operands);
mlir::ParseResult parseVariadicOperandWithAttribute(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands);

/// `e8m10`.
void printExponentMantissa(mlir::AsmPrinter &printer, mlir::Operation *op,
                           mlir::IntegerAttr exponent, mlir::IntegerAttr mantissa);
mlir::ParseResult parseExponentMantissa(mlir::AsmParser &parser, mlir::IntegerAttr &exponent,
                                        mlir::IntegerAttr &mantissa);

/// `[1:3, 4:8:2]`.
void printSliceRanges(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::DenseI64ArrayAttr starts, mlir::DenseI64ArrayAttr limits,
                      mlir::DenseI64ArrayAttr strides);
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &starts,
                                   mlir::DenseI64ArrayAttr &limits,
                                   mlir::DenseI64ArrayAttr &strides);

/// `[DEFAULT, HIGH]`.
void printPrecisionConfig(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                          mlir::ArrayAttr precision);
mlir::ParseResult parsePrecisionConfig(mlir::OpAsmParser &parser, mlir::ArrayAttr &precision);

/// `, precision = [...]` and `, algorithm = <...>`, each if present.
void printPrecisionConfigAndAlgorithm(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                                      mlir::ArrayAttr precision, DotAlgorithmAttr algorithm);
mlir::ParseResult parsePrecisionConfigAndAlgorithm(mlir::OpAsmParser &parser,
                                                   mlir::ArrayAttr &precision,
                                                   DotAlgorithmAttr &algorithm);

/// `batching_dims = [0] x [0], contracting_dims = [1] x [0]`.
void printDotDimensionNumbers(mlir::AsmPrinter &printer, mlir::Operation *op,
                              DotDimensionNumbersAttr numbers);
mlir::ParseResult parseDotDimensionNumbers(mlir::AsmParser &parser,
                                           DotDimensionNumbersAttr &numbers);

/// `@name`, quoted where the name is not an identifier.
void printCustomCallTarget(mlir::AsmPrinter &printer, mlir::Operation *op, mlir::StringAttr target);
mlir::ParseResult parseCustomCallTarget(mlir::AsmParser &parser, mlir::StringAttr &target);

//===----------------------------------------------------------------------===//
// Windows and convolutions (AssemblyWindow.cpp)
//===----------------------------------------------------------------------===//

/// Whether the numbers name each dimension at most once, so that `[b, 0, f]` can express them.
bool haveRoleForm(ConvDimensionNumbersAttr numbers);

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
void printConvolutionDimensions(mlir::AsmPrinter &printer, mlir::Operation *op,
                                ConvDimensionNumbersAttr numbers);
mlir::ParseResult parseConvolutionDimensions(mlir::AsmParser &parser,
                                             ConvDimensionNumbersAttr &numbers);

/// `stride = [1, 1], pad = [[0, 0], [1, 1]], ...`: only what is present.
void printWindowAttributes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                           mlir::DenseI64ArrayAttr strides, mlir::DenseIntElementsAttr padding,
                           mlir::DenseI64ArrayAttr lhsDilation, mlir::DenseI64ArrayAttr rhsDilation,
                           mlir::DenseBoolArrayAttr reversal);
mlir::ParseResult parseWindowAttributes(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &strides,
                                        mlir::DenseIntElementsAttr &padding,
                                        mlir::DenseI64ArrayAttr &lhsDilation,
                                        mlir::DenseI64ArrayAttr &rhsDilation,
                                        mlir::DenseBoolArrayAttr &reversal);

} // namespace cupel::stablehlo
