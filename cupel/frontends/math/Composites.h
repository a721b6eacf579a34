// Writes the composites of cupel/ir/stablehlo/Composites.def. The mathematics beside this file use
// it, and importers use those, so that one layer is one composite whatever format it came in. Where
// the builder keeps no composites, what is written is the decomposition in place.
#pragma once

#include "cupel/frontends/HloBuilder.h"
#include "cupel/ir/stablehlo/Composites.h"

namespace cupel::frontends {

/// An attribute of a composite by its name in the table. Numbers that are real are written as f32,
/// lists as a dense vector of i64: what users of these composites read.
struct CompositeAttribute {
  llvm::StringRef name;
  std::variant<int64_t, double, bool, llvm::StringRef, llvm::ArrayRef<int64_t>> value;
};

using CompositeBody = std::function<llvm::SmallVector<mlir::Value>(HloBuilder &, mlir::ValueRange)>;
/// The body becomes the decomposition; it sees its arguments only. Attributes are those of the
/// table, all of them and in its order.
llvm::SmallVector<mlir::Value> composite(HloBuilder &b, stablehlo::Composite which,
                                         mlir::ValueRange operands,
                                         llvm::ArrayRef<CompositeAttribute> attributes,
                                         const CompositeBody &body);

} // namespace cupel::frontends
