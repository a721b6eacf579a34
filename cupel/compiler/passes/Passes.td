// Every pass of the compiler: one record here, one source file, one test of the same name under
// tests/lit/passes.

#ifndef CUPEL_COMPILER_PASSES_TD
#define CUPEL_COMPILER_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerChlo : Pass<"lower-chlo", "mlir::ModuleOp"> {
  let summary = "Decompose chlo operations to stablehlo";
  let description = [{
    Replaces every chlo operation by stablehlo operations that compute it, for static and dynamic
    shapes. Special functions of f16, bf16 and the 8-bit floats are computed in f32 and rounded
    once. Operations on unranked tensors cannot be decomposed and are an error.
  }];
  let dependentDialects = ["::cupel::stablehlo::StablehloDialect"];
}

def InlineComposites : Pass<"inline-composites", "mlir::ModuleOp"> {
  let summary = "Replace stablehlo.composite by calls of their decompositions";
  let description = [{
    Each `stablehlo.composite` becomes a `func.call` of the function that its attribute
    `decomposition` names, except composites whose name is listed in `keep`.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string",
               "Names of composites that are left alone, such as cupel.rms_norm">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def ExtractChecks : Pass<"extract-checks", "mlir::ModuleOp"> {
  let summary = "Return what a self-checking program checks instead of checking it";
  let description = [{
    For devices that do not know the check operations. The operands of every check become results of
    the entry function, behind its own, and the module's attribute `cupel.checks` says which result
    must equal which other or which constant, and how closely. Checks of functions that are called
    are handed on to the caller. The entry function is called `main` afterwards. Probes and prints
    are dropped. A check inside a region, or an operation that only an interpreter can run, is an
    error.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def HoistConstants : Pass<"hoist-constants", "mlir::ModuleOp"> {
  let summary = "Turn constants of main into arguments, so that a device computes with them";
  let description = [{
    A program whose inputs are constants is computed by the device's compiler while it folds them, and
    never by the device. Constants of `main`, and calls of functions that return nothing else, become
    arguments behind those it has; the module's attribute `cupel.hoisted_constants` holds their
    values. Constants that decide a shape, or that are passed to calls and custom calls, stay.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def RoundToTypes : Pass<"round-to-types", "mlir::ModuleOp"> {
  let summary = "Compute as a device does that lacks some element types";
  let description = [{
    What an operation yields in an element type that `types` does not list is converted to the listed
    type that keeps most of it, and back: an f64 sum has the precision of f32 on a device without f64.
    A type whose values a listed one holds is left alone, and so is a kind (floats, signed or unsigned
    integers) of which nothing is listed. Steps inside a reduction or scatter are not rounded, their
    result is; random bits and bit casts are not numbers and stay.
  }];
  let options = [
    ListOption<"types", "types", "std::string", "The element types of the device, such as f32,bf16,i32">
  ];
  let dependentDialects = ["::cupel::stablehlo::StablehloDialect"];
}

#endif // CUPEL_COMPILER_PASSES_TD
