// Between tensor IR and device IR: one record here, one source file, one test of the same name under
// tests/lit/device.

#ifndef CUPEL_COMPILER_DEVICE_PASSES_TD
#define CUPEL_COMPILER_DEVICE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToDevice : Pass<"lower-to-device", "mlir::ModuleOp"> {
  let summary = "Make main a device program: launches on planned memory";
  let description = [{
    Every operation becomes a launch, reshapes become other names of the same memory, results are
    written where they are handed out, and all else lies in one arena: what is read for the last time
    makes room for what comes next, and is written over in place where elements go with elements.
  }];
  let dependentDialects = ["::cupel::dev::DevDialect", "::cupel::tir::TirDialect"];
}

def PlaceInSram : Pass<"place-in-sram", "mlir::ModuleOp"> {
  let summary = "Plan what lies in a device's SRAM";
  let description = [{
    Of what launches make, that which is touched most often for the time that it is needed comes first;
    what does not fit beside what is there at the same time is spilled: it lies in DRAM. Arguments,
    constants and results are the host's and lie in DRAM. Steps of loops and branches share what the
    programs leave that run them. SRAM is the beginning of the arena.
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0", "Of the device's SRAM">
  ];
  let dependentDialects = ["::cupel::dev::DevDialect"];
}

def ExpandDeviceIr : Pass<"expand-device-ir", "mlir::ModuleOp"> {
  let summary = "Make functions on tensors of device programs";
  let dependentDialects = ["::mlir::func::FuncDialect", "::cupel::tir::TirDialect"];
}

#endif // CUPEL_COMPILER_DEVICE_PASSES_TD
