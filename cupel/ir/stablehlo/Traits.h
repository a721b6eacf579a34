// Traits of stablehlo (and chlo) ops about how operand and result types relate. The checks live in
// Traits.cpp so that the templates stay thin.

#pragma once

#include "mlir/IR/OpDefinition.h"

namespace cupel::stablehlo {

namespace detail {
mlir::LogicalResult verifyCompatibleOperandsAndResultType(mlir::Operation *op);
mlir::LogicalResult verifyCompatibleOperandsAndResultElementType(mlir::Operation *op);
mlir::LogicalResult verifyCompatibleOperandsAndResultShape(mlir::Operation *op);
mlir::LogicalResult verifyPairwiseSameOperandAndResultType(mlir::Operation *op);
mlir::LogicalResult inferMostSpecificType(std::optional<mlir::Location> location,
                                          mlir::ValueRange operands,
                                          llvm::SmallVectorImpl<mlir::Type> &results);
} // namespace detail

template <typename ConcreteOp>
class CompatibleOperandsAndResultType
    : public mlir::OpTrait::TraitBase<ConcreteOp, CompatibleOperandsAndResultType> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyCompatibleOperandsAndResultType(op);
  }
  static mlir::LogicalResult inferReturnTypes(mlir::MLIRContext *,
                                              std::optional<mlir::Location> location,
                                              mlir::ValueRange operands, mlir::DictionaryAttr,
                                              mlir::OpaqueProperties, mlir::RegionRange,
                                              llvm::SmallVectorImpl<mlir::Type> &results) {
    return detail::inferMostSpecificType(location, operands, results);
  }
};

template <typename ConcreteOp>
class CompatibleOperandsAndResultElementType
    : public mlir::OpTrait::TraitBase<ConcreteOp, CompatibleOperandsAndResultElementType> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyCompatibleOperandsAndResultElementType(op);
  }
};

template <typename ConcreteOp>
class CompatibleOperandsAndResultShape
    : public mlir::OpTrait::TraitBase<ConcreteOp, CompatibleOperandsAndResultShape> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyCompatibleOperandsAndResultShape(op);
  }
};

template <typename ConcreteOp>
class PairwiseSameOperandAndResultType
    : public mlir::OpTrait::TraitBase<ConcreteOp, PairwiseSameOperandAndResultType> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyPairwiseSameOperandAndResultType(op);
  }
};

} // namespace cupel::stablehlo
