// The ops of the sdy dialect. Bytecode stores an op's attributes in the order of their names, so an
// attribute that is added or renamed changes how existing files are read.

#ifndef CUPEL_IR_SDY_SDYOPS_TD
#define CUPEL_IR_SDY_SDYOPS_TD

include "cupel/ir/sdy/SdyAttrs.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Sdy_Op<string mnemonic, list<Trait> traits = []> : Op<Sdy_Dialect, mnemonic, traits>;

// An op whose result has the type of its operand and which needs the module's meshes to be verified.
class Sdy_IdentityOp<string mnemonic, list<Trait> traits = []>
    : Sdy_Op<mnemonic, traits # [SameOperandsAndResultType, InferTypeOpInterface,
                                 DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Sdy_MeshOp : Sdy_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Gives a mesh a name in the module";
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_Mesh:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def Sdy_ShardingConstraintOp : Sdy_IdentityOp<"sharding_constraint"> {
  let summary = "Says how a tensor, or those uses of it that follow, shall be split";
  let arguments = (ins AnyType:$input, Sdy_TensorSharding:$sharding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_ReshardOp : Sdy_IdentityOp<"reshard", [Pure]> {
  let summary = "Splits a tensor in another way";
  let arguments = (ins AnyType:$input, Sdy_TensorSharding:$sharding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_ReturnOp : Sdy_Op<"return", [Pure, ReturnLike, Terminator]> {
  let summary = "Ends the region of an sdy op and gives its values";
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

def Sdy_ManualComputationOp : Sdy_Op<"manual_computation",
    [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">, IsolatedFromAbove,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a region on each device's share along the manual axes";
  let description = [{
    The region's arguments and results have the shapes that one device holds along `manual_axes`;
    other axes stay free. Manual axes come first in every dimension's list and divide it evenly.
  }];
  let arguments = (ins
    Variadic<AnyType>:$tensors,
    Sdy_TensorShardingPerValue:$in_shardings,
    Sdy_TensorShardingPerValue:$out_shardings,
    Sdy_ManualAxes:$manual_axes
  );
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` operands `)`
    `in_shardings` `` `=` `` custom<StrippedTensorShardingPerValue>($in_shardings)
    `out_shardings` `` `=` `` custom<StrippedTensorShardingPerValue>($out_shardings)
    `manual_axes` `` `=` `` $manual_axes
    custom<SingleBlockRegion>($body) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let summary = "Puts a tensor into a group whose members are all split alike";
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}

def Sdy_ConstantOp : Sdy_Op<"constant",
    [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "A constant that is never merged with another, so each use may be split in its own way";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeTensor:$output);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange declared);
  }];
}

def Sdy_DataFlowEdgeOp : Sdy_Op<"data_flow_edge",
    [SameOperandsAndResultType, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Holds the one sharding of values that flow into each other through a region op";
  let arguments = (ins AnyShaped:$input, OptionalAttr<Sdy_TensorSharding>:$sharding);
  let results = (outs AnyShaped:$result);
  let assemblyFormat = "$input (`sharding` `` `=` `` $sharding^)? attr-dict `:` type($result)";
}

def Sdy_PropagationBarrierOp : Sdy_Op<"propagation_barrier",
    [Pure, SameOperandsAndResultType, InferTypeOpInterface]> {
  let summary = "Lets shardings pass in one direction, or not at all";
  let arguments = (ins AnyRankedTensor:$input, Sdy_PropagationDirection:$allowed_direction);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `allowed_direction` `` `=` `` $allowed_direction attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def Sdy_NamedComputationOp : Sdy_Op<"named_computation",
    [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">, RecursivelySpeculatable,
     IsolatedFromAbove, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Groups ops under a name";
  let arguments = (ins
    StrAttr:$name,
    Variadic<AnyType>:$operands,
    OptionalAttr<Sdy_TensorShardingPerValue>:$in_shardings,
    OptionalAttr<Sdy_TensorShardingPerValue>:$out_shardings
  );
  let results = (outs Variadic<AnyType>);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `<` $name `>` `` `(` $operands `)`
    (`in_shardings` `` `=` `` custom<StrippedTensorShardingPerValue>($in_shardings)^)?
    (`out_shardings` `` `=` `` custom<StrippedTensorShardingPerValue>($out_shardings)^)?
    custom<SingleBlockRegion>($body) attr-dict `:` functional-type($operands, results)
  }];
  let hasVerifier = 1;
}

//===--------------------------------------------------------------------------------------------===//
// Collectives. They appear after propagation; `out_sharding` repeats what the axes say.
//===--------------------------------------------------------------------------------------------===//

class Sdy_CollectiveOp<string mnemonic> : Sdy_IdentityOp<mnemonic> {
  let results = (outs AnyShaped:$result);
}

def Sdy_AllGatherOp : Sdy_CollectiveOp<"all_gather"> {
  let summary = "Gathers each dimension along axes, which then no longer split it";
  let arguments = (ins
    AnyShaped:$tensor, Sdy_ListOfAxisRefLists:$gathering_axes, Sdy_TensorSharding:$out_sharding
  );
  let assemblyFormat = [{
    $gathering_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_AllSliceOp : Sdy_CollectiveOp<"all_slice"> {
  let summary = "Splits each dimension along further axes";
  let arguments = (ins
    AnyShaped:$tensor, Sdy_ListOfAxisRefLists:$slicing_axes, Sdy_TensorSharding:$out_sharding
  );
  let assemblyFormat = [{
    $slicing_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_AllToAllOp : Sdy_CollectiveOp<"all_to_all"> {
  let summary = "Moves axes from one dimension to another";
  let arguments = (ins
    AnyShaped:$tensor, Sdy_AllToAllParamList:$params, Sdy_TensorSharding:$out_sharding
  );
  let assemblyFormat = [{
    $params $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_CollectivePermuteOp : Sdy_CollectiveOp<"collective_permute"> {
  let summary = "Exchanges shares so that other axes of the same sizes split each dimension";
  let arguments = (ins AnyShaped:$tensor, Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = [{
    $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_AllReduceOp : Sdy_CollectiveOp<"all_reduce"> {
  let summary = "Reduces over axes";
  let arguments = (ins
    AnyShaped:$tensor,
    Sdy_AxisRefList:$reduction_axes,
    DefaultValuedAttr<Sdy_ReductionOp, "::cupel::sdy::ReductionOp::Sum">:$reduction_op,
    Sdy_TensorSharding:$out_sharding
  );
  let assemblyFormat = [{
    ($reduction_op^)? $reduction_axes $tensor `out_sharding` `` `=` `` $out_sharding
    attr-dict `:` type($result)
  }];
}

def Sdy_ReduceScatterOp : Sdy_CollectiveOp<"reduce_scatter"> {
  let summary = "Reduces over axes and splits each dimension along them";
  let arguments = (ins
    AnyShaped:$tensor,
    Sdy_ListOfAxisRefLists:$reduce_scatter_axes,
    DefaultValuedAttr<Sdy_ReductionOp, "::cupel::sdy::ReductionOp::Sum">:$reduction_op,
    Sdy_TensorSharding:$out_sharding
  );
  let assemblyFormat = [{
    ($reduction_op^)? $reduce_scatter_axes $tensor `out_sharding` `` `=` `` $out_sharding
    attr-dict `:` type($result)
  }];
}

def Sdy_ShardedToUnreducedOp : Sdy_CollectiveOp<"sharded_to_unreduced"> {
  let summary = "Turns axes that split a dimension into axes still to be reduced over";
  let arguments = (ins
    AnyShaped:$tensor, Sdy_ListOfAxisRefLists:$axes, Sdy_TensorSharding:$out_sharding
  );
  let assemblyFormat = [{
    $axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_ReplicatedToUnreducedOp : Sdy_CollectiveOp<"replicated_to_unreduced"> {
  let summary = "Turns axes along which a tensor is replicated into axes still to be reduced over";
  let arguments = (ins
    AnyShaped:$tensor, Sdy_AxisRefList:$axes, Sdy_TensorSharding:$out_sharding
  );
  let assemblyFormat = [{
    $axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

#endif // CUPEL_IR_SDY_SDYOPS_TD
