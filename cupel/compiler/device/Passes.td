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

def ExpandDeviceIr : Pass<"expand-device-ir", "mlir::ModuleOp"> {
  let summary = "Make functions on tensors of device programs";
  let dependentDialects = ["::mlir::func::FuncDialect", "::cupel::tir::TirDialect"];
}

#endif // CUPEL_COMPILER_DEVICE_PASSES_TD
