// The interpreter dialect: ops that only a run of a program has, not the program itself.

#ifndef CUPEL_IR_INTERPRETER_INTERPRETEROPS_TD
#define CUPEL_IR_INTERPRETER_INTERPRETEROPS_TD

include "cupel/ir/stablehlo/StablehloBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Interpreter_Dialect : Dialect {
  let name = "interpreter";
  let cppNamespace = "::cupel::interpreter";
  let summary = "Running grids of programs, and looking at values while they run";
}

class Interpreter_Op<string mnemonic, list<Trait> traits = []>
    : Op<Interpreter_Dialect, mnemonic, traits>;

def Interpreter_ProgramGrid
    : TypedArrayAttrBase<FlatSymbolRefArrayAttr, "Array of FlatSymbolRefArrayAttr">;

def Interpreter_RunParallelOp
    : Interpreter_Op<"run_parallel", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a grid of programs side by side";
  let description = [{
    `programs[replica][partition]` names the function that this process of the grid runs. Inputs and
    results are those of all processes one after another, in the order of the grid. The functions of
    `infeed` take nothing and return the tensors that infeed ops receive, in this order.
  }];
  let arguments = (ins
    Variadic<Hlo_TensorOrToken>:$inputs,
    OptionalAttr<FlatSymbolRefArrayAttr>:$infeed,
    Interpreter_ProgramGrid:$programs
  );
  let results = (outs Variadic<Hlo_TensorOrToken>:$results);
  let hasVerifier = 1;
}

def Interpreter_PrintOp : Interpreter_Op<"print"> {
  let summary = "Prints a value";
  let arguments = (ins Hlo_Tensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Interpreter_ProbeOp : Interpreter_Op<"probe", [SameOperandsAndResultType]> {
  let summary = "Writes a tensor to a file and passes it on";
  let arguments = (ins Hlo_Tensor:$operand, StrAttr:$probe_id);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = "$operand `,` `probe_id` `=` $probe_id attr-dict `:` type($result)";
}

#endif // CUPEL_IR_INTERPRETER_INTERPRETEROPS_TD
