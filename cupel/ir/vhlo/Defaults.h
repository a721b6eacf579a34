// The values that attributes have where stablehlo leaves them out and where an older version did
// not have them. Made when converting to the portable format and when upgrading; recognised when
// converting back and when downgrading.
#pragma once

#include "cupel/ir/vhlo/Vhlo.h"

namespace cupel::vhlo {

/// The default of the attribute at `index`, given the other attributes of the operation (those of
/// windows depend on the number of dimensions). Null if it has none, or if what it depends on is
/// missing.
mlir::Attribute defaultValue(const OpInfo &info, unsigned index,
                             llvm::ArrayRef<mlir::Attribute> attributes,
                             mlir::MLIRContext *context);

/// Whether a value means the same as leaving the attribute out.
bool isDefault(Default kind, mlir::Attribute value);

/// A rank-1 tensor of 64-bit integers, the portable form of a dense integer array.
TensorV1Attr integersAttr(llvm::ArrayRef<int64_t> values, mlir::MLIRContext *context);

} // namespace cupel::vhlo
