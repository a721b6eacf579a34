// The passes that form tensor IR, as declared in Passes.td. The cpu backend runs them in the order
// of `compile-to-tensor`; tools reach them by their names.

#pragma once

#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/Pass/Pass.h"

namespace cupel::tir {

/// On transposes that only restore the program's layout.
inline constexpr llvm::StringLiteral kLayoutAttr = "tir.layout";

#define GEN_PASS_DECL
#include "cupel/compiler/tensor/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "cupel/compiler/tensor/Passes.h.inc"

} // namespace cupel::tir
