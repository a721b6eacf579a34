// Operations that move elements without computing on them.

include "cupel/ir/stablehlo/StablehloAttrs.td"

def Stablehlo_BitcastConvertOp : StablehloOp<"bitcast_convert", [Pure, Hlo_NoArithmetic,
    Hlo_YieldsBits, Hlo_KeepsBytes]> {
  let summary = "Reads the bits of elements as another element type";
  let arguments = (ins Hlo_AnyTensor:$operand);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_BroadcastOp : StablehloOp<"broadcast", [Pure, Hlo_MovesElements,
    InferTypeOpAdaptor]> {
  let summary = "Adds leading dimensions (deprecated)";
  let arguments = (ins Hlo_Tensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = [{
    $operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_BroadcastInDimOp : StablehloOp<"broadcast_in_dim", [Pure, Hlo_MovesElements,
    Hlo_Linear, Hlo_HasDimensionRule]> {
  let summary = "Repeats a tensor along new or size-1 dimensions";
  let arguments = (ins Hlo_AnyTensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs Hlo_StaticOrBoundedTensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_DynamicBroadcastInDimOp : StablehloOp<"dynamic_broadcast_in_dim", [Pure,
    Hlo_MovesElements, Hlo_ShapeFromValues]> {
  let summary = "broadcast_in_dim to a shape computed at run time";
  let arguments = (ins Hlo_AnyTensor:$operand, Hlo_StaticDimensions:$output_dimensions,
      DenseI64ArrayAttr:$broadcast_dimensions,
      Hlo_KnownDimensions:$known_expanding_dimensions,
      Hlo_KnownDimensions:$known_nonexpanding_dimensions);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict
      `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_ConcatenateOp : StablehloOp<"concatenate", [Pure, Hlo_MovesElements, Hlo_Linear,
    Hlo_HasDimensionRule, InferTypeOpAdaptor]> {
  let summary = "Joins tensors along a dimension";
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, Hlo_NonNegativeI64:$dimension);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    custom<VariadicOperandWithAttribute>($inputs) `dim` `=` $dimension attr-dict
      `:` functional-type(operands, results)
  }];
}

def Stablehlo_ReshapeOp : StablehloOp<"reshape", [Pure, Hlo_MovesElements, Hlo_Linear,
    Hlo_KeepsBytes, Hlo_HasDimensionRule]> {
  let summary = "The same elements in another shape";
  let arguments = (ins Hlo_AnyTensor:$operand);
  let results = (outs Hlo_StaticOrBoundedTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_DynamicReshapeOp : StablehloOp<"dynamic_reshape", [Pure, Hlo_MovesElements,
    Hlo_ShapeFromValues]> {
  let summary = "reshape to a shape computed at run time";
  let arguments = (ins Hlo_AnyTensor:$operand, Hlo_StaticDimensions:$output_shape);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_ReverseOp : StablehloOp<"reverse", [Pure, Hlo_MovesElements, Hlo_Linear,
    Hlo_HasDimensionRule, Hlo_CompatibleOperandsAndResultType]> {
  let summary = "Reverses the order along dimensions";
  let arguments = (ins Hlo_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict
      `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
  let hasVerifier = 1;
}

def Stablehlo_TransposeOp : StablehloOp<"transpose", [Pure, Hlo_MovesElements, Hlo_Linear,
    Hlo_HasDimensionRule, InferTypeOpAdaptor]> {
  let summary = "Permutes dimensions";
  let arguments = (ins Hlo_AnyTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_SliceOp : StablehloOp<"slice", [Pure, Hlo_MovesElements, Hlo_Linear, Hlo_Startable,
    Hlo_HasDimensionRule, InferTypeOpAdaptor]> {
  let summary = "A box of a tensor, with strides";
  let arguments = (ins Hlo_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
      DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict
      `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicSliceOp : StablehloOp<"dynamic_slice", [Pure, Hlo_MovesElements, Hlo_Linear,
    Hlo_Startable, Hlo_HasDimensionRule, InferTypeOpAdaptor]> {
  let summary = "A box of fixed size at a position computed at run time";
  let arguments = (ins Hlo_Tensor:$operand, Variadic<Hlo_ScalarInt>:$start_indices,
      DenseI64ArrayAttr:$slice_sizes);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<VariadicOperandWithAttribute>($start_indices) `sizes` `=` $slice_sizes
      attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicUpdateSliceOp
    : StablehloOp<"dynamic_update_slice", [Pure, Hlo_MovesElements, Hlo_Linear, Hlo_Startable,
          Hlo_UpdatesOperands, Hlo_HasDimensionRule, InferTypeOpAdaptor]> {
  let summary = "Overwrites a box at a position computed at run time";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_Tensor:$update,
      Variadic<Hlo_ScalarInt>:$start_indices);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_RealDynamicSliceOp : StablehloOp<"real_dynamic_slice", [Pure, Hlo_MovesElements,
    Hlo_ShapeFromValues,
    AllTypesMatch<["start_indices", "limit_indices", "strides"]>]> {
  let summary = "slice with starts, limits and strides computed at run time";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_Dimensions:$start_indices,
      Hlo_Dimensions:$limit_indices, Hlo_Dimensions:$strides);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_PadOp : StablehloOp<"pad", [Pure, Hlo_MovesElements, Hlo_HasDimensionRule,
    InferTypeOpAdaptor]> {
  let summary = "Adds (or with negative numbers removes) elements at the edges and between elements";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_ScalarTensor:$padding_value,
      DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
      DenseI64ArrayAttr:$interior_padding);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high
      `,` `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicPadOp : StablehloOp<"dynamic_pad", [Pure, Hlo_MovesElements,
    Hlo_ShapeFromValues]> {
  let summary = "pad with amounts computed at run time";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_ScalarTensor:$padding_value,
      Hlo_StaticDimensions:$edge_padding_low, Hlo_StaticDimensions:$edge_padding_high,
      Hlo_StaticDimensions:$interior_padding);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

defvar kBatchingRevisionGather = [AddedAttributes<"1.1.0",
    ["operand_batching_dims", "start_indices_batching_dims"]>];

def Stablehlo_GatherOp : StablehloOp<"gather", [Pure, Hlo_MovesElements, Hlo_HasDimensionRule,
    InferTypeOpAdaptor]> {
  let summary = "Collects slices from positions given by an index tensor";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_IntTensor:$start_indices,
      Stablehlo_GatherDimensionNumbersAttr:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
      Hlo_FalseByDefault:$indices_are_sorted);
  let results = (outs Hlo_Tensor:$result);
  let revisions = kBatchingRevisionGather;
}

def Stablehlo_DynamicGatherOp : StablehloOp<"dynamic_gather", [Pure, Hlo_MovesElements,
    Hlo_ShapeFromValues, InferTypeOpAdaptor]> {
  let summary = "gather with slice sizes computed at run time";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_IntTensor:$start_indices,
      Hlo_StaticVectorInt:$slice_sizes, Stablehlo_GatherDimensionNumbersAttr:$dimension_numbers,
      Hlo_FalseByDefault:$indices_are_sorted);
  let results = (outs Hlo_Tensor:$result);
  let revisions = kBatchingRevisionGather;
}

def Stablehlo_ScatterOp : StablehloOp<"scatter", [RecursiveMemoryEffects, SameVariadicOperandSize,
    Hlo_UpdatesOperands, Hlo_HasDimensionRule,
    SingleBlockImplicitTerminator<"ReturnOp">, InferTypeOpAdaptor]> {
  let summary = "Combines updates into positions given by an index tensor";
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, Hlo_IndexingTensor:$scatter_indices,
      Variadic<Hlo_Tensor>:$updates,
      Stablehlo_ScatterDimensionNumbersAttr:$scatter_dimension_numbers,
      Hlo_FalseByDefault:$indices_are_sorted, Hlo_FalseByDefault:$unique_indices);
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let promotesSince = "0.17.0";
  let revisions = [AddedAttributes<"1.1.0",
      ["input_batching_dims", "scatter_indices_batching_dims"]>];
  let hasVerifier = 1;
}

def Stablehlo_TorchIndexSelectOp : StablehloOp<"torch_index_select", [Pure, Hlo_MovesElements]> {
  let summary = "Index selection as PyTorch defines it (deprecated)";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_Tensor:$index, I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs Hlo_Tensor:$result);
}

def Stablehlo_GetDimensionSizeOp : StablehloOp<"get_dimension_size", [Pure, Hlo_NoArithmetic,
    InferTypeOpAdaptor]> {
  let summary = "The size of a dimension at run time";
  let arguments = (ins Hlo_AnyTensor:$operand, Hlo_NonNegativeI64:$dimension);
  let results = (outs Hlo_ScalarI32:$result);
  let assemblyFormat = [{
    $operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_SetDimensionSizeOp : StablehloOp<"set_dimension_size", [Pure, Hlo_MovesElements,
    Hlo_ShapeFromValues, InferTypeOpAdaptor]> {
  let summary = "Makes a dimension dynamic and sets its size";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_ScalarI32:$size, Hlo_NonNegativeI64:$dimension);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_SortOp : StablehloOp<"sort", [RecursiveMemoryEffects, SameOperandsAndResultShape,
    Hlo_KeepsNumbers, Hlo_HasScratch, Hlo_HasDimensionRule,
    InferTypeOpAdaptor]> {
  let summary = "Sorts along a dimension by a comparator";
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs,
      DefaultedWithPortableDefault<I64Attr, "-1", "minus_one">:$dimension,
      Hlo_FalseByDefault:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let hasVerifier = 1;
}
