// The pieces of sdy's text that TableGen's formats cannot say. Only the generated code in Sdy.cpp
// calls them. What is printed here must be, byte for byte, what Shardy prints.
#pragma once

#include "cupel/ir/sdy/Sdy.h"

namespace cupel::sdy {

mlir::ParseResult parseMeshOrRef(mlir::AsmParser &parser, mlir::Attribute &meshOrRef);
void printMeshOrRef(mlir::AsmPrinter &printer, mlir::Attribute meshOrRef);

mlir::ParseResult parseReplicatedAndUnreducedAxes(
    mlir::AsmParser &parser, llvm::SmallVectorImpl<AxisRefAttr> &replicatedAxes,
    llvm::SmallVectorImpl<AxisRefAttr> &unreducedAxes, ReductionOp &reductionOp);
void printReplicatedAndUnreducedAxes(mlir::AsmPrinter &printer,
                                     llvm::ArrayRef<AxisRefAttr> replicatedAxes,
                                     llvm::ArrayRef<AxisRefAttr> unreducedAxes,
                                     ReductionOp reductionOp);

mlir::ParseResult parseFactorSizes(mlir::AsmParser &parser,
                                   llvm::SmallVectorImpl<int64_t> &factorSizes);
void printFactorSizes(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> factorSizes);

mlir::ParseResult parseFactorsWithType(mlir::AsmParser &parser,
                                       llvm::SmallVectorImpl<int64_t> &factors,
                                       llvm::StringRef type);
void printFactorsWithType(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> factors,
                          llvm::StringRef type);

mlir::ParseResult parseIsCustomRule(mlir::AsmParser &parser, bool &isCustomRule);
void printIsCustomRule(mlir::AsmPrinter &printer, bool isCustomRule);

mlir::ParseResult parseStrippedTensorShardingPerValue(mlir::AsmParser &parser,
                                                      TensorShardingPerValueAttr &shardings);
void printStrippedTensorShardingPerValue(mlir::AsmPrinter &printer, mlir::Operation *op,
                                         TensorShardingPerValueAttr shardings);

mlir::ParseResult parseSingleBlockRegion(mlir::OpAsmParser &parser, mlir::Region &region);
void printSingleBlockRegion(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Region &region);

/// The letters that stand for a factor of a sharding rule: i, j, ... z, z_1, z_2, ...
std::string getFactorSymbol(int64_t factorIndex);

} // namespace cupel::sdy
