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
    values. Constants that decide a shape, or that are passed to calls and custom calls, stay. So do
    splats and constants of a few elements that meet what is not known (an epsilon, the start of a sum), and places that gathers read at.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def RoundWeights : Pass<"round-weights", "mlir::ModuleOp"> {
  let summary = "Compute as a device does that holds weights in block floats";
  let description = [{
    The right side of a product that is a constant or an argument of a public function, seen through
    transposes, reshapes, broadcasts and conversions, is rounded to what sixteen neighbours of its last
    dimension hold that share an exponent. Constants are rounded at once, arguments where they are used.
    Weights of convolutions stay as they are.
  }];
  let options = [
    Option<"formats", "formats", "std::string", /*default=*/"\"bfp_bf8\"",
           "bfp8, bfp_bf8 or bfp_bf4 for all weights, or an object of JSON that maps patterns of their "
           "names to formats">
  ];
  let dependentDialects = ["::cupel::stablehlo::StablehloDialect", "::mlir::func::FuncDialect"];
}

def NarrowProducts : Pass<"narrow-products", "mlir::ModuleOp"> {
  let summary = "Multiply in bf16 what is f32, with sums in f32";
  let description = [{
    Operands of dot_general, dot and convolution in f32 are rounded to bf16 unless the operation asks for
    more than the default precision or names an algorithm. A product without batches takes bf16; batches
    and convolutions take the rounded numbers as f32, in which a product of two is exact: the meaning is
    the same. Numbers are rounded where they come from, in front of transposes, reshapes, broadcasts and the
    greatest of windows; of images also in front of concatenations and slices, where nobody else reads these. With `kept` all that read a value which is made for products, and is rounded, read the
    rounded one: such as the sum behind a residual. Where that is a sum of two products, the last of them is
    rounded in front of it as well. What the program returns, constants and arguments stay.
    What was changed is marked with `cupel.narrowed`, and counted in the module's attribute
    `cupel.narrowed_products`.
  }];
  let options = [
    Option<"kept", "kept", "bool", /*default=*/"false", "What products read is bf16 for all that read it">
  ];
  let dependentDialects = ["::cupel::stablehlo::StablehloDialect"];
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

def CutIntoPieces : Pass<"cut-into-pieces", "mlir::ModuleOp"> {
  let summary = "Make functions of the parts of a program and call them one after another";
  let description = [{
    So that a device can be judged part by part, each fed with right values. Calls are put in line
    first, and the entry function is called `main`. Cuts are made where few bytes are alive, never
    inside a region and never where a token or a tensor of unknown size is alive, so there may be
    fewer pieces than asked for. Constants and broadcasts of them are made anew in each piece. The
    program computes what it did.
  }];
  let options = [
    Option<"pieces", "pieces", "uint32_t", "24", "How many there should be">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

//===----------------------------------------------------------------------===//
// A program for devices. The pipeline compile-for-devices runs these in this order.
//===----------------------------------------------------------------------===//

def RewriteCalls : Pass<"rewrite-calls", "mlir::ModuleOp"> {
  let summary = "Replace custom calls for which the program has operations";
  let description = [{
    ApproxTopK is computed exactly (a sort and a slice), CustomSPMDPartitioning becomes a call of the
    computation it names, AllocateBuffer a constant of zeros. A call that is not as it should be
    stays, and is reported by its name when the program is planned. Composites that frameworks make of
    chlo's hyperbolic functions become these again for complex numbers: the decomposition that comes
    with them loses all digits near the axes.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::cupel::chlo::ChloDialect",
                           "::cupel::stablehlo::StablehloDialect"];
}

def SkipOverhangingWindows : Pass<"skip-overhanging-windows", "mlir::ModuleOp"> {
  let summary = "Let a scatter skip a window whole of which a part hangs over an edge";
  let description = [{
    As XLA does, and programs of JAX mean. Without it only the elements that are outside are skipped,
    as the specification says. Marks every scatter with `cupel.skip_whole_windows`.
  }];
}

def AssignDevices : Pass<"assign-devices", "mlir::ModuleOp"> {
  let summary = "Say how many devices the program is for, and what each of them runs";
  let description = [{
    Writes the module's attribute `cupel.devices`. The view is `global` (computed once for each
    replica, on whole tensors) unless the program takes pieces of tensors itself by the custom calls of
    GSPMD's form (`per_device`), or `own` says that it is not written on whole tensors and it speaks of
    no pieces either (`own`: every device runs it on what that device is given).
  }];
  let options = [
    Option<"replicas", "replicas", "int64_t", "1", "How often the program is run side by side">,
    Option<"partitions", "partitions", "int64_t", "1", "The devices that each replica is spread over">,
    Option<"own", "own", "bool", "false", "The program is what each device runs on what it is given">
  ];
}

def ReportShardings : Pass<"report-shardings", "mlir::ModuleOp"> {
  let summary = "Answer custom calls that ask how their operand is split";
  let description = [{
    Calls of `cupel_inspect_sharding` are answered by the handler that somebody registered under that
    name, and taken out. Without a handler they stay.
  }];
}

def PropagateShardings : Pass<"propagate-shardings", "mlir::ModuleOp"> {
  let summary = "Give results of the program the shardings that follow from those it states";
  let description = [{
    Follows dimensions from where shardings are stated through the program. A result that has none, may
    get one, and is cut into even pieces by the one that was found gets it as `sdy.sharding`: that
    decides where its pieces lie and never what they are.
  }];
  let options = [
    ListOption<"results", "results", "int64_t",
               "1 for results that may get one, 0 for others; a single entry stands for all">
  ];
}

def EnterManualComputation : Pass<"enter-manual-computation", "mlir::ModuleOp"> {
  let summary = "Make a program that is one sdy.manual_computation what each device runs";
  let description = [{
    Where the computation takes all arguments and gives all results, just as devices hold them, and
    leaves no axis to the compiler, main becomes its body. Arguments and results have the types of
    pieces afterwards, and those of whole tensors as `cupel.whole_type`; the view is `own`.
  }];
}

def InlineCalls : Pass<"inline-calls", "mlir::ModuleOp"> {
  let summary = "Put the bodies of functions and composites where main calls them";
  let description = [{
    Functions that nobody calls any more are taken out. A program that would become too large, or that
    calls itself, is an error.
  }];
}

def Partition : Pass<"partition", "mlir::ModuleOp"> {
  let summary = "Split a program on whole tensors over the devices that hold the pieces";
  let description = [{
    main becomes what each device runs on the pieces it holds, with collectives where it needs what
    others have; the view is `own` and arguments and results have `cupel.whole_type`. Needs
    `assign-devices`. A program of which nothing is split is left alone. One that cannot be split stays
    as it is, with a warning that says why (an error if `strict`) and the reason as the module's
    attribute `cupel.not_partitioned`; so does, without either, one whose pieces would take much more
    work than the whole.
  }];
  let options = [
    Option<"strict", "strict", "bool", "false", "What cannot be split is an error">
  ];
  let dependentDialects = ["::cupel::stablehlo::StablehloDialect"];
}

def CombineReductions : Pass<"combine-reductions", "mlir::ModuleOp"> {
  let summary = "Make one all_reduce of those that follow each other without need";
  let description = [{
    Of a block: those of the same groups, elements and computation of which none needs another's result.
    Devices meet less often. Done by `partition` to what it makes.
  }];
}

//===----------------------------------------------------------------------===//
// What analyses find, as remarks. The program stays as it is.
//===----------------------------------------------------------------------===//

def PrintCost : Pass<"print-cost", "mlir::ModuleOp"> {
  let summary = "Remark what one run of the program costs, by estimate";
}

def PrintMemory : Pass<"print-memory", "mlir::ModuleOp"> {
  let summary = "Remark on the memory that a run takes at its worst moment, by estimate";
  let description = [{
    Beside arguments; of each device, as `assign-devices` and the passes behind it say.
  }];
}

def PrintShardings : Pass<"print-shardings", "mlir::ModuleOp"> {
  let summary = "Remark on the sharding of every value for which one was found";
}

#endif // CUPEL_COMPILER_PASSES_TD
