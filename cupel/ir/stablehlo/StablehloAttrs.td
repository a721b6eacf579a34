// Attributes, enums and types of the stablehlo dialect.

#ifndef CUPEL_IR_STABLEHLO_ATTRS_TD
#define CUPEL_IR_STABLEHLO_ATTRS_TD

include "cupel/ir/stablehlo/StablehloBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class StablehloType<string name, string typeMnemonic> : TypeDef<StablehloDialect, name> {
  let mnemonic = typeMnemonic;
}

def Stablehlo_Token : StablehloType<"Token", "token"> {
  let summary = "Orders effects: what consumes a token happens after what produced it";
}

def Stablehlo_Future : StablehloType<"Future", "future"> {
  let summary = "The results of a computation that was started and is not yet awaited";
  let parameters = (ins ArrayRefParameter<"mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
}

// Element types that MLIR 19 has no builtin type for. Text has their plain names: `f8E3M4` becomes
// `!stablehlo.f8E3M4` before MLIR's parser sees it, and is named plainly again when programs are
// written (TextFloats.h). Constants of them are BitsAttr.
class Stablehlo_RareFloat<string name, string mnemonic> : StablehloType<name, mnemonic> {
  let summary = "The element type " # mnemonic;
  let traits = [MemRefElementTypeInterface];
}
def Stablehlo_F4E2M1FN : Stablehlo_RareFloat<"F4E2M1FN", "f4E2M1FN">;
def Stablehlo_F6E2M3FN : Stablehlo_RareFloat<"F6E2M3FN", "f6E2M3FN">;
def Stablehlo_F6E3M2FN : Stablehlo_RareFloat<"F6E3M2FN", "f6E3M2FN">;
def Stablehlo_F8E3M4 : Stablehlo_RareFloat<"F8E3M4", "f8E3M4">;
def Stablehlo_F8E8M0FNU : Stablehlo_RareFloat<"F8E8M0FNU", "f8E8M0FNU">;

//===----------------------------------------------------------------------===//
// Enums. The numbers are those of the portable format.
//===----------------------------------------------------------------------===//

class StablehloEnum<string name, list<I32EnumAttrCase> cases> : I32EnumAttr<name, "", cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::cupel::stablehlo";
}
class StablehloEnumAttr<StablehloEnum info, string mnemonic>
    : EnumAttr<StablehloDialect, info, mnemonic>;

def Stablehlo_Precision : StablehloEnum<"Precision", [I32EnumAttrCase<"DEFAULT", 0>,
    I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def Stablehlo_PrecisionAttr : StablehloEnumAttr<Stablehlo_Precision, "precision">;

def Stablehlo_ResultAccuracyMode : StablehloEnum<"ResultAccuracyMode", [
    I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGHEST", 1>,
    I32EnumAttrCase<"TOLERANCE", 2>]>;
def Stablehlo_ResultAccuracyModeAttr
    : StablehloEnumAttr<Stablehlo_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def Stablehlo_FftType : StablehloEnum<"FftType", [I32EnumAttrCase<"FFT", 0>,
    I32EnumAttrCase<"IFFT", 1>, I32EnumAttrCase<"RFFT", 2>, I32EnumAttrCase<"IRFFT", 3>]>;
def Stablehlo_FftTypeAttr : StablehloEnumAttr<Stablehlo_FftType, "fft_type">;

def Stablehlo_ComparisonDirection : StablehloEnum<"ComparisonDirection", [
    I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>,
    I32EnumAttrCase<"GT", 3>, I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def Stablehlo_ComparisonDirectionAttr
    : StablehloEnumAttr<Stablehlo_ComparisonDirection, "comparison_direction">;

def Stablehlo_ComparisonType : StablehloEnum<"ComparisonType", [
    I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
    I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def Stablehlo_ComparisonTypeAttr
    : StablehloEnumAttr<Stablehlo_ComparisonType, "comparison_type">;

def Stablehlo_Transpose : StablehloEnum<"Transpose", [I32EnumAttrCase<"TRANSPOSE_INVALID", 0>,
    I32EnumAttrCase<"NO_TRANSPOSE", 1>, I32EnumAttrCase<"TRANSPOSE", 2>,
    I32EnumAttrCase<"ADJOINT", 3>]>;
def Stablehlo_TransposeAttr : StablehloEnumAttr<Stablehlo_Transpose, "transpose">;

def Stablehlo_RngDistribution : StablehloEnum<"RngDistribution", [I32EnumAttrCase<"UNIFORM", 1>,
    I32EnumAttrCase<"NORMAL", 2>]>;
def Stablehlo_RngDistributionAttr
    : StablehloEnumAttr<Stablehlo_RngDistribution, "rng_distribution">;

def Stablehlo_RngAlgorithm : StablehloEnum<"RngAlgorithm", [I32EnumAttrCase<"DEFAULT", 0>,
    I32EnumAttrCase<"THREE_FRY", 1>, I32EnumAttrCase<"PHILOX", 2>]>;
def Stablehlo_RngAlgorithmAttr : StablehloEnumAttr<Stablehlo_RngAlgorithm, "rng_algorithm">;

// A plain i32 in text.
def Stablehlo_CustomCallApiVersionAttr : I32EnumAttr<"CustomCallApiVersion", "", [
    I32EnumAttrCase<"API_VERSION_UNSPECIFIED", 0>, I32EnumAttrCase<"API_VERSION_ORIGINAL", 1>,
    I32EnumAttrCase<"API_VERSION_STATUS_RETURNING", 2>,
    I32EnumAttrCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
    I32EnumAttrCase<"API_VERSION_TYPED_FFI", 4>]> {
  let cppNamespace = "::cupel::stablehlo";
}

//===----------------------------------------------------------------------===//
// Structured attributes
//===----------------------------------------------------------------------===//

class StablehloAttr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<StablehloDialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Stablehlo_BitsAttr : StablehloAttr<"Bits", "bits", [ElementsAttrInterface]> {
  let summary = "Elements of a type that MLIR 19 lacks, as their bits, a byte for each";
  let parameters = (ins AttributeSelfTypeParameter<"", "::mlir::ShapedType">:$type,
                        "::mlir::DenseElementsAttr":$bits);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$type,
                                                      "::llvm::ArrayRef<char>":$bytes)>];
  let extraClassDeclaration = [{
    bool isSplat() const { return getBits().isSplat(); }
  }];
}

def Stablehlo_Dims : ArrayRefParameter<"int64_t">;

def Stablehlo_DotDimensionNumbersAttr : StablehloAttr<"DotDimensionNumbers", "dot"> {
  let summary = "Which dimensions of the two sides of a dot are batched and which are contracted";
  let parameters = (ins Stablehlo_Dims:$lhsBatchingDimensions,
      Stablehlo_Dims:$rhsBatchingDimensions, Stablehlo_Dims:$lhsContractingDimensions,
      Stablehlo_Dims:$rhsContractingDimensions);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_GatherDimensionNumbersAttr : StablehloAttr<"GatherDimensionNumbers", "gather"> {
  let summary = "How the dimensions of operand, indices and result of a gather relate";
  let parameters = (ins Stablehlo_Dims:$offsetDims, Stablehlo_Dims:$collapsedSliceDims,
      Stablehlo_Dims:$operandBatchingDims, Stablehlo_Dims:$startIndicesBatchingDims,
      Stablehlo_Dims:$startIndexMap, "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ScatterDimensionNumbersAttr : StablehloAttr<"ScatterDimensionNumbers", "scatter"> {
  let summary = "How the dimensions of inputs, indices and updates of a scatter relate";
  let parameters = (ins Stablehlo_Dims:$updateWindowDims, Stablehlo_Dims:$insertedWindowDims,
      Stablehlo_Dims:$inputBatchingDims, Stablehlo_Dims:$scatterIndicesBatchingDims,
      Stablehlo_Dims:$scatterDimsToOperandDims, "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ConvDimensionNumbersAttr : StablehloAttr<"ConvDimensionNumbers", "conv"> {
  let summary = "The role of each dimension of input, kernel and output of a convolution";
  let parameters = (ins "int64_t":$inputBatchDimension, "int64_t":$inputFeatureDimension,
      Stablehlo_Dims:$inputSpatialDimensions, "int64_t":$kernelInputFeatureDimension,
      "int64_t":$kernelOutputFeatureDimension, Stablehlo_Dims:$kernelSpatialDimensions,
      "int64_t":$outputBatchDimension, "int64_t":$outputFeatureDimension,
      Stablehlo_Dims:$outputSpatialDimensions);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_DotAlgorithmAttr : StablehloAttr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "With which precisions and how many primitive operations a dot is computed";
  let parameters = (ins "mlir::Type":$lhsPrecisionType, "mlir::Type":$rhsPrecisionType,
      "mlir::Type":$accumulationType, "int64_t":$lhsComponentCount, "int64_t":$rhsComponentCount,
      "int64_t":$numPrimitiveOperations, "bool":$allowImpreciseAccumulation);
  let assemblyFormat = [{
    `<` `lhs_precision_type` `=` $lhsPrecisionType `,` `rhs_precision_type` `=` $rhsPrecisionType
    `,` `accumulation_type` `=` $accumulationType `,` `lhs_component_count` `=` $lhsComponentCount
    `,` `rhs_component_count` `=` $rhsComponentCount `,` `num_primitive_operations` `=`
    $numPrimitiveOperations `,` `allow_imprecise_accumulation` `=` $allowImpreciseAccumulation `>`
  }];
  let genVerifyDecl = 1;
}

def Stablehlo_ChannelHandleAttr : StablehloAttr<"ChannelHandle", "channel_handle"> {
  let summary = "The channel two communicating ops share, and what it connects";
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` `handle` `=` $handle `,` `type` `=` $type `>`";
}

def Stablehlo_OutputOperandAliasAttr
    : StablehloAttr<"OutputOperandAlias", "output_operand_alias"> {
  let summary = "An output of a custom call that shares its buffer with an operand";
  let parameters = (ins Stablehlo_Dims:$outputTupleIndices, "int64_t":$operandIndex,
      Stablehlo_Dims:$operandTupleIndices);
  let assemblyFormat = [{
    `<` `output_tuple_indices` `=` `[` custom<IndexList>($outputTupleIndices) `]` `,`
    `operand_index` `=` $operandIndex `,`
    `operand_tuple_indices` `=` `[` custom<IndexList>($operandTupleIndices) `]` `>`
  }];
}

def Stablehlo_TypeExtensionsAttr : StablehloAttr<"TypeExtensions", "type_extensions",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Upper bounds of the dynamic dimensions of a tensor";
  let parameters = (ins Stablehlo_Dims:$bounds);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ResultAccuracyAttr : StablehloAttr<"ResultAccuracy", "result_accuracy"> {
  let summary = "How far the result of an op may be from the exact one";
  let parameters = (ins "mlir::APFloat":$atol, "mlir::APFloat":$rtol, "int64_t":$ulps,
      "ResultAccuracyModeAttr":$mode);
  // The only value ever built from a default.
  let constBuilderCall =
      "::cupel::stablehlo::ResultAccuracyAttr::getDefault($_builder.getContext())";
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// No tolerance, mode DEFAULT: what absence of the attribute means.
    static ResultAccuracyAttr getDefault(mlir::MLIRContext *context);
    bool isDefault();
  }];
}

def Stablehlo_MeshAxisAttr : StablehloAttr<"MeshAxis", "mesh_axis"> {
  let parameters = (ins "mlir::StringAttr":$name, "int64_t":$size);
  let assemblyFormat = "`<` `name` `=` $name `,` `size` `=` $size `>`";
  let genVerifyDecl = 1;
}

def Stablehlo_MeshAttr : StablehloAttr<"Mesh", "mesh"> {
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes,
      OptionalParameter<"mlir::DenseIntElementsAttr">:$deviceIds);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_SubAxisInfoAttr : StablehloAttr<"SubAxisInfo", "sub_axis_info"> {
  let parameters = (ins "int64_t":$preSize, "int64_t":$size);
  let assemblyFormat = "`(` $preSize `)` $size";
}

def Stablehlo_AxisRefAttr : StablehloAttr<"AxisRef", "axis_ref"> {
  let parameters = (ins "mlir::StringAttr":$name,
      OptionalParameter<"SubAxisInfoAttr">:$subAxisInfo);
  let assemblyFormat = [{
    `<` `name` `=` $name (`,` `sub_axis_info` `=` $subAxisInfo^)? `>`
  }];
}

def Stablehlo_ReplicaGroupMeshAxesAttr
    : StablehloAttr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes"> {
  let summary = "Replica groups spelled as the mesh axes they vary over";
  // A flat symbol or an inline mesh.
  let parameters = (ins "mlir::Attribute":$mesh, ArrayRefParameter<"AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Attribute constraints of ops
//===----------------------------------------------------------------------===//

def Hlo_PrecisionConfig : OptionalWithPortableDefault<
    TypedArrayAttrBase<Stablehlo_PrecisionAttr, "Precision Config attribute">,
    "default_precision">;
def Hlo_Channel : OptionalWithPortableDefault<Stablehlo_ChannelHandleAttr, "zero_channel">;
def Hlo_ReplicaGroups : AnyAttrOf<[I64ElementsAttr, Stablehlo_ReplicaGroupMeshAxesAttr]> {
  let storageType = "::mlir::Attribute";
}
def Hlo_ResultAccuracy : DefaultedWithPortableDefault<Stablehlo_ResultAccuracyAttr,
    "ResultAccuracyAttr::getDefault", "default_accuracy">;
def Hlo_WindowOnes : OptionalWithPortableDefault<DenseI64ArrayAttr, "ones">;
def Hlo_WindowPadding : OptionalWithPortableDefault<I64ElementsAttr, "zero_padding">;
def Hlo_WindowReversal : OptionalWithPortableDefault<DenseBoolArrayAttr, "no_reversal">;
def Hlo_KnownDimensions : OptionalWithPortableDefault<DenseI64ArrayAttr, "empty_dims">;
def Hlo_EmptyString : DefaultedWithPortableDefault<StrAttr, "\"\"", "empty_string">;
def Hlo_SourceTargetPairs : OptionalWithPortableDefault<I64ElementsAttr, "empty_pairs">;
def Hlo_Layout : Attr<CPred<"::cupel::stablehlo::isLayout($_self)">, "rank-1 tensor of index"> {
  let storageType = "::mlir::DenseIntElementsAttr";
}
def Hlo_Layouts : TypedArrayAttrBase<Hlo_Layout, "array of layouts (rank-1 tensors of index)">;

#endif // CUPEL_IR_STABLEHLO_ATTRS_TD
