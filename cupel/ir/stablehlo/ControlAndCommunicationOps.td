// Tuples, tokens, control flow, calls to the outside, and communication between processes.

include "cupel/ir/stablehlo/StablehloAttrs.td"

//===----------------------------------------------------------------------===//
// Tokens, tuples, barriers
//===----------------------------------------------------------------------===//

def Stablehlo_CreateTokenOp : StablehloOp<"create_token", [Pure]> {
  let summary = "A token that depends on nothing (deprecated)";
  let results = (outs Hlo_TokenType:$output);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def Stablehlo_AfterAllOp : StablehloOp<"after_all", [Pure]> {
  let summary = "A token that depends on all given ones";
  let arguments = (ins Variadic<Hlo_TokenType>:$inputs);
  let results = (outs Hlo_TokenType:$result);
  let assemblyFormat = [{
    $inputs attr-dict `:` custom<VariadicSameOperandsAndResultType>(
      ref($inputs), type($inputs), type($result))
  }];
}

def Stablehlo_TupleOp : StablehloOp<"tuple", [Pure, Hlo_KeepsNumbers, Hlo_Packs,
    InferTypeOpAdaptor]> {
  let summary = "Packs values";
  let arguments = (ins Variadic<Hlo_AnyTensorTokenTupleOrBuffer>:$val);
  let results = (outs Hlo_Tuple:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleOpType>(type($val), type($result))";
}

def Stablehlo_GetTupleElementOp : StablehloOp<"get_tuple_element", [Pure, Hlo_KeepsNumbers,
    Hlo_NoArithmetic, Hlo_Unpacks, InferTypeOpAdaptor]> {
  let summary = "One value of a tuple";
  let arguments = (ins Hlo_Tuple:$operand, ConfinedAttr<I32Attr, [IntNonNegative]>:$index);
  let results = (outs Hlo_AnyTensorTokenTupleOrBuffer:$result);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_OptimizationBarrierOp : StablehloOp<"optimization_barrier", [Pure,
    Hlo_Identity, Hlo_MovesElements, Hlo_KeepsBytes,
    Hlo_PairwiseSameOperandAndResultType, InferTypeOpAdaptor]> {
  let summary = "The identity; no op may be moved across it";
  let arguments = (ins Variadic<Hlo_TensorOrToken>:$operand);
  let results = (outs Variadic<Hlo_TensorOrToken>:$result);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseOpType>(type($operand), type($result))) : (`(` `)`)?
  }];
}

def Stablehlo_ReturnOp : StablehloOp<"return", [Pure, Terminator]> {
  let summary = "Ends a region and gives its results";
  let arguments = (ins Variadic<Hlo_AnyTensorTokenOrBuffer>:$results);
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def Stablehlo_IfOp : StablehloOp<"if", [RecursiveMemoryEffects, RecursivelySpeculatable,
    Hlo_Branches, SingleBlockImplicitTerminator<"ReturnOp">, InferTypeOpAdaptor]> {
  let summary = "One of two regions";
  let arguments = (ins Hlo_PredTensor:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<Hlo_AnyTensorTokenOrBuffer>:$results);
}

def Stablehlo_CaseOp : StablehloOp<"case", [RecursiveMemoryEffects, RecursivelySpeculatable,
    Hlo_Branches, SingleBlockImplicitTerminator<"ReturnOp">, InferTypeOpAdaptor]> {
  let summary = "One of several regions; an index out of range takes the last";
  let arguments = (ins Hlo_I32Tensor:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<Hlo_AnyTensorTokenOrBuffer>:$results);
}

def Stablehlo_WhileOp : StablehloOp<"while", [RecursiveMemoryEffects, Hlo_Loops,
    SingleBlockImplicitTerminator<"ReturnOp">, Hlo_PairwiseSameOperandAndResultType,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    InferTypeOpAdaptor]> {
  let summary = "Repeats its body while its condition holds";
  let arguments = (ins Variadic<Hlo_AnyTensorTokenOrBuffer>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<Hlo_AnyTensorTokenOrBuffer>);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Calls to the outside
//===----------------------------------------------------------------------===//

def Stablehlo_CustomCallOp : StablehloOp<"custom_call", [Hlo_Opaque, Hlo_ActsOutside,
    Hlo_HasFlops, Hlo_HasDimensionRule, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "An operation that the implementation knows by name";
  let arguments = (ins Variadic<Hlo_CustomCallValue>:$inputs, StrAttr:$call_target_name,
      Hlo_FalseByDefault:$has_side_effect,
      OptionalWithPortableDefault<AnyAttrOf<[StrAttr, DictionaryAttr]>, "empty_backend_config">
          :$backend_config,
      DefaultedWithPortableDefault<Stablehlo_CustomCallApiVersionAttr,
          "::cupel::stablehlo::CustomCallApiVersion::API_VERSION_ORIGINAL", "original_api">
          :$api_version,
      DefaultedWithPortableDefault<TypedArrayAttrBase<FlatSymbolRefAttr,
          "flat symbol ref array attribute">, "{}", "empty_array">:$called_computations,
      OptionalWithPortableDefault<Hlo_Layouts, "empty_array">:$operand_layouts,
      OptionalWithPortableDefault<Hlo_Layouts, "empty_array">:$result_layouts,
      DefaultedWithPortableDefault<TypedArrayAttrBase<Stablehlo_OutputOperandAliasAttr,
          "Aliasing attribute for outputs and operands of CustomCall">, "{}", "empty_array">
          :$output_operand_aliases,
      OptionalWithPortableDefault<ArrayAttr, "empty_array">:$result_tilings);
  let results = (outs Variadic<Hlo_CustomCallValue>:$results);
  let assemblyFormat = [{
    custom<CustomCallTarget>($call_target_name) `(` $inputs `)` attr-dict
      `:` functional-type(operands, results)
  }];
  let revisions = [AddedAttributes<"1.18.0", ["result_tilings"]>];
  let hasVerifier = 1;
}

def CompositeRegions : Revision<"1.14.0"> { let addedRegions = 1; }

def Stablehlo_CompositeOp : StablehloOp<"composite", [Hlo_Opaque, Hlo_NoArithmetic,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "An operation made of others, which a function decomposes it into";
  let sinceVersion = "0.19.0";
  let arguments = (ins Variadic<Hlo_AnyTensorTokenOrTuple>:$inputs, StrAttr:$name,
      DefaultedWithPortableDefault<DictionaryAttr, "{}", "empty_dictionary">:$composite_attributes,
      FlatSymbolRefAttr:$decomposition,
      DefaultedWithPortableDefault<I32Attr, "0", "zero_version">:$version);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let results = (outs Variadic<Hlo_AnyTensorTokenOrTuple>:$results);
  let assemblyFormat = [{
    $name $inputs (` ` `(` $composite_regions^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let revisions = [CompositeRegions];
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

def Stablehlo_ReplicaIdOp : StablehloOp<"replica_id", [Pure, Hlo_NoArithmetic,
    Hlo_DependsOnProcess, InferTypeOpAdaptor]> {
  let summary = "The replica this process is";
  let results = (outs Hlo_ScalarUI32:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def Stablehlo_PartitionIdOp : StablehloOp<"partition_id", [Pure, Hlo_NoArithmetic,
    Hlo_DependsOnProcess, InferTypeOpAdaptor]> {
  let summary = "The partition this process is";
  let results = (outs Hlo_ScalarUI32:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def Stablehlo_InfeedOp : StablehloOp<"infeed", [Hlo_ActsOutside]> {
  let summary = "Reads values the host feeds";
  let arguments = (ins Hlo_TokenType:$token, Hlo_EmptyString:$infeed_config,
      OptionalWithPortableDefault<ArrayAttr, "empty_array">:$layout);
  let results = (outs Variadic<Hlo_AnyTensorOrToken>:$results);
  let hasVerifier = 1;
}

def Stablehlo_OutfeedOp : StablehloOp<"outfeed", [Hlo_ActsOutside]> {
  let summary = "Hands values to the host";
  let arguments = (ins Variadic<Hlo_AnyTensor>:$inputs, Hlo_TokenType:$token,
      Hlo_EmptyString:$outfeed_config);
  let results = (outs Hlo_TokenType:$result);
}

def Stablehlo_SendOp : StablehloOp<"send", [Hlo_Collective, Hlo_ActsOutside]> {
  let summary = "Sends values over a channel";
  let arguments = (ins Variadic<Hlo_AnyTensor>:$inputs, Hlo_TokenType:$token,
      Stablehlo_ChannelHandleAttr:$channel_handle, Hlo_FalseByDefault:$is_host_transfer,
      Hlo_SourceTargetPairs:$source_target_pairs);
  let results = (outs Hlo_TokenType:$result);
  let revisions = [AddedAttributes<"1.12.0", ["source_target_pairs"]>];
  let hasVerifier = 1;
}

def Stablehlo_RecvOp : StablehloOp<"recv", [Hlo_Collective, Hlo_ActsOutside]> {
  let summary = "Receives values from a channel";
  let arguments = (ins Hlo_TokenType:$token, Stablehlo_ChannelHandleAttr:$channel_handle,
      Hlo_FalseByDefault:$is_host_transfer, Hlo_SourceTargetPairs:$source_target_pairs);
  let results = (outs Variadic<Hlo_AnyTensorOrToken>:$results);
  let revisions = [AddedAttributes<"1.12.0", ["source_target_pairs"]>];
  let hasVerifier = 1;
}

def Stablehlo_AllGatherOp : StablehloOp<"all_gather", [Hlo_Collective, Hlo_Startable,
    Hlo_KeepsNumbers]> {
  let summary = "Joins the tensors of a group of processes along a dimension";
  let arguments = (ins Variadic<Hlo_Tensor>:$operands, Hlo_NonNegativeI64:$all_gather_dim,
      Hlo_ReplicaGroups:$replica_groups, Hlo_Channel:$channel_handle,
      UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<Hlo_Tensor>);
  let revisions = [BecameVariadic<"1.5.0">];
  let hasVerifier = 1;
}

def Stablehlo_AllReduceOp : StablehloOp<"all_reduce", [Hlo_Collective, Hlo_Startable,
    SingleBlockImplicitTerminator<"ReturnOp">, InferTypeOpAdaptor]> {
  let summary = "Reduces over a group of processes; all get the result";
  let arguments = (ins Variadic<Hlo_Tensor>:$operands, Hlo_ReplicaGroups:$replica_groups,
      Hlo_Channel:$channel_handle, UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<Hlo_Tensor>);
  let promotesSince = "0.17.0";
  let revisions = [BecameVariadic<"1.5.0">];
  let hasVerifier = 1;
}

def Stablehlo_ReduceScatterOp : StablehloOp<"reduce_scatter", [Hlo_Collective, Hlo_Startable,
    SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Reduces over a group of processes; each gets its part of the result";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_NonNegativeI64:$scatter_dimension,
      Hlo_ReplicaGroups:$replica_groups, Hlo_Channel:$channel_handle,
      UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Hlo_Tensor:$result);
  let promotesSince = "0.17.0";
  let hasVerifier = 1;
}

def Stablehlo_AllToAllOp : StablehloOp<"all_to_all", [Hlo_Collective, Hlo_Startable,
    Hlo_KeepsNumbers, InferTypeOpAdaptor]> {
  let summary = "Each process of a group sends a part to every other";
  let arguments = (ins Variadic<Hlo_Tensor>:$operands, Hlo_NonNegativeI64:$split_dimension,
      Hlo_NonNegativeI64:$concat_dimension, Hlo_PositiveI64:$split_count,
      Hlo_ReplicaGroups:$replica_groups, Hlo_Channel:$channel_handle);
  let results = (outs Variadic<Hlo_Tensor>);
  let revisions = [BecameVariadic<"1.5.0">];
  let hasVerifier = 1;
}

def Stablehlo_CollectivePermuteOp : StablehloOp<"collective_permute", [Hlo_Collective,
    Hlo_Startable, Hlo_KeepsNumbers, Hlo_CompatibleOperandsAndResultType]> {
  let summary = "Sends tensors from source to target processes";
  let arguments = (ins Hlo_Tensor:$operand, I64ElementsAttr:$source_target_pairs,
      Hlo_Channel:$channel_handle);
  let results = (outs Hlo_Tensor:$result);
  let hasVerifier = 1;
}

def Stablehlo_CollectiveBroadcastOp : StablehloOp<"collective_broadcast", [Hlo_Collective,
    Hlo_Startable, Hlo_KeepsNumbers]> {
  let summary = "All processes of a group get the value of one";
  let sinceVersion = "0.16.0";
  let arguments = (ins Variadic<Hlo_Tensor>:$operands, Hlo_ReplicaGroups:$replica_groups,
      Hlo_Channel:$channel_handle, UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<Hlo_Tensor>);
  let revisions = [BecameVariadic<"1.20.0", ["has_dynamic_root"]>];
  let hasVerifier = 1;
}

def Stablehlo_CollectiveReduceOp : StablehloOp<"collective_reduce", [Hlo_Collective,
    Hlo_Startable, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Reduces over a group of processes; one gets the result";
  let sinceVersion = "1.19.0";
  let arguments = (ins Variadic<Hlo_Tensor>:$operands, Hlo_ReplicaGroups:$replica_groups,
      Hlo_Channel:$channel_handle, UnitAttr:$use_global_device_ids,
      UnitAttr:$has_dynamic_root);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<Hlo_Tensor>);
  let hasVerifier = 1;
}

def Stablehlo_CrossReplicaSumOp : StablehloOp<"cross-replica-sum", [Hlo_Collective,
    Hlo_CompatibleOperandsAndResultType]> {
  let summary = "Sum over replicas (deprecated)";
  let arguments = (ins Hlo_Tensor:$operand, I64ElementsAttr:$replica_groups);
  let results = (outs Hlo_Tensor:$result);
}

def Stablehlo_AsyncStartOp : StablehloOp<"async_start", [IsolatedFromAbove, Hlo_RunsOnce, Hlo_Packs,
    Hlo_NoArithmetic, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Starts a collective or slice without waiting for it";
  let sinceVersion = "1.15.0";
  let arguments = (ins Variadic<Hlo_Tensor>:$operands);
  // The portable format calls the region `collective`; region names are not stored there.
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Hlo_FutureType:$result);
  let hasVerifier = 1;
}

def Stablehlo_AsyncDoneOp : StablehloOp<"async_done", [Hlo_Unpacks, Hlo_NoArithmetic]> {
  let summary = "Waits for what async_start began";
  let sinceVersion = "1.15.0";
  let arguments = (ins Hlo_FutureType:$operand);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let hasVerifier = 1;
}
