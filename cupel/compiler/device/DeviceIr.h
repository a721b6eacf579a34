// Device IR: a flat program of kernel launches on arguments, constants, results and pieces of one
// arena. `lower-to-device` makes it of tensor IR and plans the memory, the cpu backend runs it, and
// `expandDeviceIr` makes tensor IR of it again. The verifier refuses plans in which memory is
// written while somebody still needs it.

#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "cupel/compiler/device/DeviceDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "cupel/compiler/device/DeviceTypes.h.inc"

#define GET_OP_CLASSES
#include "cupel/compiler/device/DeviceOps.h.inc"

namespace cupel::dev {

/// Pieces of the arena begin at multiples of this.
inline constexpr int64_t kAlignment = 64;

/// The bytes of a tensor of static shape and plain elements; nothing if it is none.
std::optional<int64_t> byteSizeOf(mlir::Type type);

/// What a buffer is under another shape.
mlir::Value rootOf(mlir::Value buffer);

/// Whether a launch may write its result over what it reads there: element i of the result needs
/// of this operand element i alone.
bool mayWriteOver(LaunchOp launch, unsigned read, unsigned written);

/// Makes a program of the function, which must be of static shapes and call nobody. What cannot be
/// is told by a diagnostic.
mlir::FailureOr<ProgramOp> lowerToDevice(mlir::func::FuncOp function);
/// Makes the function again.
mlir::func::FuncOp expandProgram(ProgramOp program);

} // namespace cupel::dev
