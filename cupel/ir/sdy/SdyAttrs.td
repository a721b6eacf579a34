// The attributes of the sdy dialect.

#ifndef CUPEL_IR_SDY_SDYATTRS_TD
#define CUPEL_IR_SDY_SDYATTRS_TD

include "cupel/ir/sdy/SdyBase.td"

class Sdy_Attr<string name, string attrMnemonic> : AttrDef<Sdy_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Sdy_ManualAxes : ArrayOfAttr<Sdy_Dialect, "ManualAxes", "manual_axes", "::mlir::StringAttr"> {
  let summary = "The axes along which a manual computation sees one device's share";
  let assemblyFormat = "`{` (`}`) : ($value^ `` `}`)?";
}

def Sdy_MeshAxis : Sdy_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "A named axis of a mesh with its number of devices";
  let parameters = (ins StringRefParameter<"name of the axis">:$name, "int64_t":$size);
  let assemblyFormat = "`` $name `` `=` `` $size";
  let genVerifyDecl = 1;
}

def Sdy_Mesh : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "A grid of devices with named axes";
  let description = [{
    Devices are numbered row-major over the axes unless `device_ids` lists another order. Without
    axes the mesh is either a placeholder (no device ids) or one single device (one id, "maximal").
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"MeshAxisAttr", "axes, outermost first">:$axes,
    OptionalArrayRefParameter<"int64_t", "order of the devices if not 0, 1, 2...">:$device_ids
  );
  let assemblyFormat = [{
    `<` `[` (`]`) : ($axes^ `]`)? (`,` `device_ids` `` `=` `` `[` $device_ids^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// One device, named by its id, and no axes.
    bool isMaximal() const { return getAxes().empty() && getDeviceIds().size() == 1; }
    /// The number of devices along the axis, or nothing if the mesh does not have it.
    std::optional<int64_t> getAxisSize(::llvm::StringRef name) const;
    /// The position of the axis among the mesh's axes, or their number if it is not one of them.
    size_t getAxisPosition(::llvm::StringRef name) const;
  }];
}

def Sdy_SubAxisInfo : Sdy_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "The part of an axis: the product of the sizes before it, and its own size";
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The pre-size of a sub-axis that follows this one directly. The verifier of this attribute
    /// makes sure that the product is representable.
    int64_t getNextPreSize() const { return getPreSize() * getSize(); }
  }];
}

def Sdy_AxisRef : Sdy_Attr<"AxisRef", "axis_ref"> {
  let summary = "A whole axis of a mesh, or a part of it";
  let parameters = (ins
    StringRefParameter<"name of the axis">:$name,
    OptionalParameter<"SubAxisInfoAttr", "which part, if not the whole">:$sub_axis_info
  );
  let assemblyFormat = "`` $name (`` `:` `` $sub_axis_info^)?";
}

def Sdy_DimensionSharding : Sdy_Attr<"DimensionSharding", "dimension_sharding"> {
  let summary = "The axes one dimension is split over, major first";
  let parameters = (ins
    OptionalArrayRefParameter<"AxisRefAttr", "axes, major first">:$axes,
    AttrOrTypeParameter<"bool", "whether no further axes may be added">:$is_closed,
    OptionalParameter<"std::optional<int64_t>", "order in which propagation heeds it">:$priority
  );
  let hasCustomAssemblyFormat = 1;
}

def Sdy_TensorSharding : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "How a tensor is split over a mesh";
  let parameters = (ins
    AttrOrTypeParameter<"::mlir::Attribute", "a mesh, or the symbol of one">:$mesh_or_ref,
    OptionalArrayRefParameter<"DimensionShardingAttr", "one per dimension">:$dim_shardings,
    OptionalArrayRefParameter<"AxisRefAttr", "axes that must stay unused">:$replicated_axes,
    OptionalArrayRefParameter<"AxisRefAttr", "axes still to be reduced over">:$unreduced_axes,
    EnumParameter<Sdy_ReductionOp>:$reduction_op
  );
  let assemblyFormat = [{
    `<` custom<MeshOrRef>($mesh_or_ref) `,` `[` (`]`) : ($dim_shardings^ `]`)? ``
    custom<ReplicatedAndUnreducedAxes>($replicated_axes, $unreduced_axes, $reduction_op) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDimShardings().size(); }
    /// Whether any axis is named at all, be it for a dimension or to stay replicated or unreduced.
    bool mentionsAxes() const;
  }];
}

def Sdy_TensorShardingPerValue : Sdy_Attr<"TensorShardingPerValue", "sharding_per_value"> {
  let summary = "One sharding for each operand or result of an op";
  let parameters = (ins OptionalArrayRefParameter<"TensorShardingAttr">:$shardings);
  let assemblyFormat = "`<` `[` (`]`) : ($shardings^ `]`)? `>`";
}

def Sdy_DimMapping : Sdy_Attr<"DimMapping", "dim_mapping"> {
  let summary = "The factors that make up one dimension, printed as letters";
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$factor_indices);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sdy_TensorMapping : Sdy_Attr<"TensorMapping", "tensor_mapping"> {
  let summary = "The factors of each dimension of a tensor";
  let parameters = (ins OptionalArrayRefParameter<"DimMappingAttr">:$dim_mappings);
  let assemblyFormat = "`` `[` (`]`) : ($dim_mappings^ `]`)? ``";
}

def Sdy_OpShardingRule : Sdy_Attr<"OpShardingRule", "op_sharding_rule"> {
  let summary = "Which dimensions of operands and results of an op go together";
  let parameters = (ins
    OptionalArrayRefParameter<"int64_t", "size of each factor">:$factor_sizes,
    OptionalArrayRefParameter<"TensorMappingAttr", "one per operand">:$operand_mappings,
    OptionalArrayRefParameter<"TensorMappingAttr", "one per result">:$result_mappings,
    OptionalArrayRefParameter<"int64_t">:$reduction_factors,
    OptionalArrayRefParameter<"int64_t">:$need_replication_factors,
    OptionalArrayRefParameter<"int64_t">:$permutation_factors,
    OptionalArrayRefParameter<"int64_t">:$blocked_propagation_factors,
    DefaultValuedParameter<"bool", "false", "whether a user wrote the rule">:$is_custom_rule
  );
  let assemblyFormat = [{
    `<` `(` $operand_mappings `)` `` `->` `` `(` $result_mappings `)` ``
    custom<FactorSizes>($factor_sizes) ``
    custom<FactorsWithType>($reduction_factors, "\"reduction\"") ``
    custom<FactorsWithType>($need_replication_factors, "\"need_replication\"") ``
    custom<FactorsWithType>($permutation_factors, "\"permutation\"") ``
    custom<FactorsWithType>($blocked_propagation_factors, "\"blocked_propagation\"") ``
    custom<IsCustomRule>($is_custom_rule) `>`
  }];
}

def Sdy_AxisRefList : ArrayOfAttr<Sdy_Dialect, "AxisRefList", "axis_ref_list", "AxisRefAttr"> {
  let summary = "A list of axes or parts of axes";
  let assemblyFormat = "`{` (`}`) : ($value^ `` `}`)?";
}

def Sdy_ListOfAxisRefLists
    : ArrayOfAttr<Sdy_Dialect, "ListOfAxisRefLists", "list_of_axis_ref_lists", "AxisRefListAttr"> {
  let summary = "One list of axes for each dimension";
}

def Sdy_AllToAllParam : Sdy_Attr<"AllToAllParam", "all_to_all_param"> {
  let summary = "Axes that move from splitting one dimension to splitting another";
  let parameters = (ins
    ArrayRefParameter<"AxisRefAttr">:$axes, "int64_t":$src_dim, "int64_t":$tgt_dim
  );
  let assemblyFormat = "`` `{` $axes `}` `` `:` $src_dim `` `->` `` $tgt_dim";
}

def Sdy_AllToAllParamList
    : ArrayOfAttr<Sdy_Dialect, "AllToAllParamList", "all_to_all_param_list", "AllToAllParamAttr"> {
  let summary = "The moves of an all-to-all";
}

#endif // CUPEL_IR_SDY_SDYATTRS_TD
