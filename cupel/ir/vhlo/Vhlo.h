// The vhlo dialect: the versioned, add-only form of stablehlo that portable artifacts are written
// in. Operations come from OpTable.h and have one C++ model for all (OpModel.h); types and
// attributes are declared in Vhlo.td. Nothing here knows stablehlo; cupel/ir/portable converts.
#pragma once

#include "cupel/ir/vhlo/OpTable.h"
#include "cupel/ir/vhlo/Tables.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/DenseMap.h"

#include "cupel/ir/vhlo/VhloDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "cupel/ir/vhlo/VhloTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "cupel/ir/vhlo/VhloAttrs.h.inc"

namespace cupel::vhlo {

/// The attributes of an operation in the order of its table entry. It is the properties of every
/// vhlo operation that has attributes; a null entry is an attribute that is missing.
struct OpAttributes {
  llvm::SmallVector<mlir::Attribute, 2> values;
  bool operator==(const OpAttributes &) const = default;
};

/// The attributes of a vhlo operation; empty if it has none.
llvm::ArrayRef<mlir::Attribute> attributesOf(mlir::Operation *op);

/// The table entry of an operation, null if it is not of this dialect.
inline const OpInfo *infoOf(mlir::Operation *op) { return VhloDialect::infoOf(op->getName()); }

/// An attribute of a vhlo operation by name, null if it has none of that name.
mlir::Attribute attributeOf(mlir::Operation *op, llvm::StringRef name);

/// The full name of an operation, "vhlo.gather_v2".
mlir::OperationName operationName(const OpInfo &info, mlir::MLIRContext *context);

/// The table entries of a vhlo type or attribute; null for those of other dialects.
const TypeInfo *typeInfoOf(mlir::Type type);
const AttrInfo *attrInfoOf(mlir::Attribute attr);

/// A short name of a type or attribute of the vhlo dialect for messages: "f8E3M4", "future".
std::string plainName(const TypeInfo &info);

} // namespace cupel::vhlo
