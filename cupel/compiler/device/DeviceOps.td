// Device IR: a flat program of kernel launches on memory. What runs, what a trace records and what
// is printed as code. A launch holds the operation it runs as a region on tensors, so that its
// meaning is that of tensor IR and StableHLO; where its operands lie is the program's plan.

#ifndef CUPEL_COMPILER_DEVICE_DEVICEOPS_TD
#define CUPEL_COMPILER_DEVICE_DEVICEOPS_TD

include "cupel/ir/stablehlo/StablehloBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Dev_Dialect : Dialect {
  let name = "dev";
  let cppNamespace = "::cupel::dev";
  let summary = "Device IR: kernel launches on memory";
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::cupel::stablehlo::StablehloDialect"];
}

class Dev_Type<string name, string typeMnemonic> : TypeDef<Dev_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Dev_Buffer : Dev_Type<"Buffer", "buffer"> {
  let summary = "Memory that holds a tensor, row by row";
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

class Dev_Op<string mnemonic, list<Trait> traits = []> : Op<Dev_Dialect, mnemonic, traits>;

def Dev_ProgramOp : Dev_Op<"program", [IsolatedFromAbove, SingleBlock, NoTerminator, Symbol]> {
  let summary = "What a device runs: buffers, then launches in their order";
  let description = [{
    `arena` bytes are taken once for a run; buffers of it live at offsets that do not overlap while
    both are in use. The first `sram` of them lie in the device's SRAM, the others in its DRAM. Programs beside the main one are steps of its loops and branches. Results whose
    numbers are in `in_place` lie where the argument of the same number does: it is written when
    nobody reads it any more.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena,
      OptionalAttr<DenseI64ArrayAttr>:$in_place, OptionalAttr<I64Attr>:$sram);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `arena` $arena attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Dev_ArgumentOp : Dev_Op<"argument"> {
  let summary = "The memory of an argument, which is only read";
  let arguments = (ins I64Attr:$number);
  let results = (outs Dev_Buffer:$buffer);
  let assemblyFormat = "$number attr-dict `:` qualified(type($buffer))";
}

def Dev_ConstantOp : Dev_Op<"constant"> {
  let summary = "Memory with values that are known when the program is loaded";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Dev_Buffer:$buffer);
  let assemblyFormat = "$value attr-dict `:` qualified(type($buffer))";
}

def Dev_ResultOp : Dev_Op<"result"> {
  let summary = "The memory of a result, made for each run and handed out";
  let arguments = (ins I64Attr:$number);
  let results = (outs Dev_Buffer:$buffer);
  let assemblyFormat = "$number attr-dict `:` qualified(type($buffer))";
}

def Dev_PlaceOp : Dev_Op<"place"> {
  let summary = "A piece of the arena";
  let arguments = (ins I64Attr:$offset);
  let results = (outs Dev_Buffer:$buffer);
  let assemblyFormat = "$offset attr-dict `:` qualified(type($buffer))";
}

def Dev_AsOp : Dev_Op<"as"> {
  let summary = "The same memory as a tensor of another shape, or of the same bytes in other elements";
  let arguments = (ins Dev_Buffer:$source);
  let results = (outs Dev_Buffer:$buffer);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source)) `to` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Dev_YieldOp : Dev_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "What a launch writes";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Dev_LaunchOp : Dev_Op<"launch", [IsolatedFromAbove, AttrSizedOperandSegments, SingleBlock]> {
  let summary = "Runs one kernel";
  let description = [{
    The body takes what the buffers `reads` hold and yields what is written to `writes`. It holds one
    operation, or none: then it copies. Before it may stand indices (`stablehlo.iota`) that the kernel counts instead of reading them,
    or slices (`stablehlo.slice`) that it reads where they lie.
    A buffer that is written may lie where one does that is read
    here for the last time, element for element.
  }];
  let arguments = (ins Variadic<Dev_Buffer>:$reads, Variadic<Dev_Buffer>:$writes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $reads `)` `to` `(` $writes `)` attr-dict-with-keyword
      `:` `(` qualified(type($reads)) `)` `to` `(` qualified(type($writes)) `)` $body
  }];
  let hasVerifier = 1;
}

#endif // CUPEL_COMPILER_DEVICE_DEVICEOPS_TD
