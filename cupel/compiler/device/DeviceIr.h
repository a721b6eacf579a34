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

/// The operation that a launch runs, behind the indices that it counts for itself; its terminator where it only copies.
mlir::Operation &workOf(LaunchOp launch);

/// Whether a launch may write its result over what it reads there: element i of the result needs
/// of this operand element i alone, or the kernel knows of it (updates of slices, loops).
bool mayWriteOver(LaunchOp launch, unsigned read, unsigned written);

/// Whether the program may write its result of this number over the argument of that number.
bool mayWriteOverArgument(ProgramOp program, int64_t number);

/// What of a program's arena lies in SRAM, and what would have but found no room.
struct SramPlan {
  int64_t buffers = 0, spilled = 0;
  int64_t bytes = 0, spilledBytes = 0; // Of SRAM that is used; of buffers that lie in DRAM.
};
SramPlan sramPlanOf(ProgramOp program);
/// Whether the buffer is a piece of the arena that lies in SRAM.
bool isInSram(ProgramOp program, mlir::Value buffer);

/// Makes a program of the function, which must be of static shapes and call nobody. The first
/// `carried` results are written over the arguments of the same number wherever that can be. What
/// cannot be is told by a diagnostic.
mlir::FailureOr<ProgramOp> lowerToDevice(mlir::func::FuncOp function, int64_t carried = 0);
/// Makes the function again.
mlir::func::FuncOp expandProgram(ProgramOp program);

} // namespace cupel::dev
