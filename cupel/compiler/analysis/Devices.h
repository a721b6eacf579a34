// What a program says of the devices that it is for, as attributes that passes write and everybody
// behind them reads: how many there are, what each of them runs, and how arguments and results lie
// on them. Used by the passes for devices and by what describes programs to hosts. Never a place
// for decisions: passes make them.

#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// How a program for several devices is run.
enum class View : uint8_t {
  Global,    // Once for each replica, on whole tensors.
  PerDevice, // By every device, on whole tensors and on pieces that it takes of them.
  Own,       // By every device, on what it is given.
};

/// The module's attribute `cupel.devices`; one device where there is none.
struct Devices {
  int64_t replicas = 1, partitions = 1;
  View view = View::Global;

  static Devices of(mlir::ModuleOp module);
  void write(mlir::ModuleOp module) const;
  /// Whether one computes for several, on tensors put together from pieces.
  bool isGathered() const { return partitions > 1 && view != View::Own; }
};

/// Of an argument or a result of a program for one device: the type of the whole tensor.
inline constexpr char kWholeTypeAttr[] = "cupel.whole_type";

/// Why a program on whole tensors was not split over its devices, as an attribute of the module.
inline constexpr char kNotPartitionedAttr[] = "cupel.not_partitioned";

/// The function that is run: `main`, the only one, or the only public one; null if there is none of them.
mlir::func::FuncOp entryOf(mlir::ModuleOp module);

/// Makes `entry` a function on pieces, which `types` are of; what they were stands at each argument
/// and result afterwards. The caller sees to the body.
void holdPieces(mlir::func::FuncOp entry, mlir::FunctionType types);

} // namespace cupel::compiler
