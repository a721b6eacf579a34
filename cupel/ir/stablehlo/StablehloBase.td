// The element, tensor and attribute kinds that the stablehlo dialect is defined with, and the base
// class of its operations. The chlo and check dialects use the kinds as well.

#ifndef CUPEL_IR_STABLEHLO_BASE_TD
#define CUPEL_IR_STABLEHLO_BASE_TD

include "cupel/ir/stablehlo/OpFacts.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def StablehloDialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::cupel::stablehlo";
  let summary = "Portable operations of machine-learning programs";
  let description = [{
    The hub of Cupel: every program, whatever its source, is held in this dialect. Text is read and
    printed exactly as the OpenXLA project's tools do.
  }];
  let dependentDialects = ["::mlir::quant::QuantizationDialect"];
  let useDefaultAttributePrinterParser = 0;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser, mlir::Type type) const override;
    void printAttribute(mlir::Attribute attr, mlir::DialectAsmPrinter &printer) const override;
    void registerAttributes();
    void registerTypes();
    void registerOps();
  }];
  let hasConstantMaterializer = 1;
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

def Hlo_Pred : TypeAlias<I1, "pred (AKA boolean or 1-bit integer)">;
def Hlo_SInt : SignlessIntOfWidths<[2, 4, 8, 16, 32, 64]>;
def Hlo_UInt : UnsignedIntOfWidths<[2, 4, 8, 16, 32, 64]>;
def Hlo_Int : AnyTypeOf<[Hlo_SInt, Hlo_UInt]>;
class Hlo_RareFloat<string name> : Type<
    CPred<"::llvm::isa<::cupel::stablehlo::" # name # "Type>($_self)">,
    !tolower(!substr(name, 0, 1)) # !substr(name, 1) # " type",
    "::cupel::stablehlo::" # name # "Type">;
def Hlo_Float : AnyTypeOf<[Hlo_RareFloat<"F4E2M1FN">, Hlo_RareFloat<"F6E2M3FN">,
                           Hlo_RareFloat<"F6E3M2FN">, Hlo_RareFloat<"F8E3M4">, F8E4M3, F8E4M3FN,
                           F8E4M3FNUZ, F8E4M3B11FNUZ, F8E5M2, F8E5M2FNUZ, Hlo_RareFloat<"F8E8M0FNU">,
                           F16, BF16, F32, F64]>;
def Hlo_Float32Or64 : AnyTypeOf<[F32, F64]>;
def Hlo_Complex : Type<CPred<"::llvm::isa<::mlir::ComplexType>($_self) && "
    "(::llvm::cast<::mlir::ComplexType>($_self).getElementType().isF32() || "
    "::llvm::cast<::mlir::ComplexType>($_self).getElementType().isF64())">,
    "complex type with 32-bit float or 64-bit float elements", "::mlir::ComplexType">;

// Storage widths 2, 4, 8, 16, 32, signless (signed) or unsigned.
def Hlo_Quantized : Type<CPred<"::cupel::stablehlo::isQuantizedPerTensor($_self)">,
    "per-tensor integer quantized type">;
def Hlo_QuantizedPerAxis : Type<CPred<"::cupel::stablehlo::isQuantizedPerAxis($_self)">,
    "per-axis integer quantized type">;

def Hlo_PredOrInt : AnyTypeOf<[Hlo_Pred, Hlo_Int]>;
def Hlo_Dim : AnyTypeOf<[Index, Hlo_PredOrInt]>;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

// Ranked everywhere; chlo and custom_call have kinds of their own for unranked ones.
def Hlo_PredTensor : RankedTensorOf<[Hlo_Pred]>;
def Hlo_IntTensor : RankedTensorOf<[Hlo_Int]>;
def Hlo_FloatTensor : RankedTensorOf<[Hlo_Float]>;
def Hlo_Float32Or64Tensor : RankedTensorOf<[Hlo_Float32Or64]>;
def Hlo_ComplexTensor : RankedTensorOf<[Hlo_Complex]>;
def Hlo_PredOrIntTensor : RankedTensorOf<[Hlo_Pred, Hlo_Int]>;
def Hlo_FloatOrComplexTensor : RankedTensorOf<[Hlo_Float, Hlo_Complex]>;
def Hlo_FloatOrQuantizedTensor : RankedTensorOf<[Hlo_Float, Hlo_Quantized]>;
def Hlo_FloatComplexOrQuantizedTensor : RankedTensorOf<[Hlo_Float, Hlo_Complex, Hlo_Quantized]>;
def Hlo_IntFloatComplexOrQuantizedTensor
    : RankedTensorOf<[Hlo_Int, Hlo_Float, Hlo_Complex, Hlo_Quantized]>;
def Hlo_SIntFloatComplexOrQuantizedTensor
    : RankedTensorOf<[Hlo_SInt, Hlo_Float, Hlo_Complex, Hlo_Quantized]>;
def Hlo_IntFloatOrComplexTensor : RankedTensorOf<[Hlo_Int, Hlo_Float, Hlo_Complex]>;
def Hlo_IntOrFloatTensor : RankedTensorOf<[Hlo_Int, Hlo_Float]>;
def Hlo_PredIntOrFloatTensor : RankedTensorOf<[Hlo_Pred, Hlo_Int, Hlo_Float]>;
def Hlo_NonQuantizedTensor : RankedTensorOf<[Hlo_Float, Hlo_Pred, Hlo_Int, Hlo_Complex]>;
// A quantized dimension must exist and have one slice per scale.
def Hlo_HasValidQuantizedDimension
    : CPred<"::cupel::stablehlo::hasValidQuantizedDimension($_self)">;
def Hlo_QuantizedTensor : RankedTensorOf<[Hlo_Quantized, Hlo_QuantizedPerAxis],
                                         [Hlo_HasValidQuantizedDimension]>;
def Hlo_FloatOrAnyQuantizedTensor
    : RankedTensorOf<[Hlo_Float, Hlo_Quantized, Hlo_QuantizedPerAxis],
                     [Hlo_HasValidQuantizedDimension]>;

// "T" and "Tq" of the op tables: without and with per-axis quantization.
def Hlo_Tensor : RankedTensorOf<[Hlo_Float, Hlo_Pred, Hlo_Int, Hlo_Complex, Hlo_Quantized]>;
def Hlo_AnyTensor : RankedTensorOf<[Hlo_Float, Hlo_Pred, Hlo_Int, Hlo_Complex, Hlo_Quantized,
                                    Hlo_QuantizedPerAxis], [Hlo_HasValidQuantizedDimension]>;
def Hlo_AnyRankTensor : TensorOf<[Hlo_Float, Hlo_Pred, Hlo_Int, Hlo_Complex, Hlo_Quantized,
                                  Hlo_QuantizedPerAxis]>;

class Hlo_0D<Type kind, string what> : Type<And<[kind.predicate,
    CPred<"::llvm::cast<::mlir::ShapedType>($_self).hasRank() && "
          "::llvm::cast<::mlir::ShapedType>($_self).getRank() == 0">]>,
    "0D tensor of " # what # " values", "::mlir::RankedTensorType">;
class Hlo_1D<Type kind, string what> : Type<And<[kind.predicate,
    CPred<"::llvm::cast<::mlir::ShapedType>($_self).hasRank() && "
          "::llvm::cast<::mlir::ShapedType>($_self).getRank() == 1">]>,
    "1D tensor of " # what # " values", "::mlir::RankedTensorType">;
class Hlo_Static<Type kind, string what> : Type<And<[kind.predicate,
    CPred<"::llvm::cast<::mlir::ShapedType>($_self).hasStaticShape()">]>,
    "statically shaped " # what, "::mlir::RankedTensorType">;

def Hlo_ScalarInt : Hlo_0D<Hlo_IntTensor, "integer">;
def Hlo_ScalarTensor : Hlo_0D<Hlo_Tensor, "any StableHLO element type">;
def Hlo_ScalarPredIntOrFloat : Hlo_0D<Hlo_PredIntOrFloatTensor, "boolean, integer or float">;
def Hlo_VectorInt : Hlo_1D<Hlo_IntTensor, "integer">;
def Hlo_VectorFloatOrQuantized : Hlo_1D<Hlo_FloatOrQuantizedTensor, "float or quantized">;
def Hlo_StaticVectorInt : Hlo_Static<Hlo_VectorInt, "1D tensor of integer values">;
def Hlo_StaticAnyTensor : Hlo_Static<Hlo_AnyTensor, "tensor of any StableHLO element type">;
def Hlo_StaticIotaTensor : Hlo_Static<RankedTensorOf<[Hlo_Int, Hlo_Float, Hlo_Complex,
    Hlo_Quantized]>, "tensor of integer, float, complex or quantized values">;
def Hlo_StaticIntOrFloatTensor : Hlo_Static<Hlo_IntOrFloatTensor,
    "tensor of integer or float values">;
def Hlo_ScalarI32 : Type<CPred<"::cupel::stablehlo::isScalarI32($_self)">,
    "0D tensor of 32-bit signless integer values", "::mlir::RankedTensorType">;
def Hlo_ScalarUI32 : Type<CPred<"::cupel::stablehlo::isScalarUI32($_self)">,
    "0D tensor of 32-bit unsigned integer values", "::mlir::RankedTensorType">;
def Hlo_I32Tensor : RankedTensorOf<[I32]>;

// A shape given as values: rank 1, integers or index.
def Hlo_Dimensions : Hlo_1D<RankedTensorOf<[Hlo_Dim]>, "integer or index">;
def Hlo_StaticDimensions : Hlo_Static<Hlo_Dimensions, "1D tensor of integer or index values">;
def Hlo_IndexingTensor : RankedTensorOf<[Hlo_Int, Index]>;
def Hlo_StaticMatrixInt : Type<And<[Hlo_IntTensor.predicate,
    CPred<"::llvm::cast<::mlir::ShapedType>($_self).hasStaticShape() && "
          "::llvm::cast<::mlir::ShapedType>($_self).getRank() == 2">]>,
    "statically shaped 2D tensor of integer values", "::mlir::RankedTensorType">;

// Results of reshape and broadcast_in_dim: static, or with exactly one bounded dimension.
def Hlo_StaticOrBoundedTensor : Type<And<[Hlo_AnyTensor.predicate,
    CPred<"::cupel::stablehlo::isStaticOrSingleBounded($_self)">]>,
    "statically shaped or single bounded dimension tensor of any StableHLO element type",
    "::mlir::RankedTensorType">;

//===----------------------------------------------------------------------===//
// Tokens, buffers, tuples, futures
//===----------------------------------------------------------------------===//

def Hlo_TokenType : Type<CPred<"::llvm::isa<::cupel::stablehlo::TokenType>($_self)">, "token",
    "::cupel::stablehlo::TokenType">,
    BuildableType<"::cupel::stablehlo::TokenType::get($_builder.getContext())">;
def Hlo_FutureType : Type<CPred<"::llvm::isa<::cupel::stablehlo::FutureType>($_self)">, "future",
    "::cupel::stablehlo::FutureType">;
def Hlo_Buffer : MemRefOf<[Hlo_Float, Hlo_Pred, Hlo_Int, Hlo_Complex, Hlo_Quantized,
                           Hlo_QuantizedPerAxis]>;
def Hlo_Tuple : NestedTupleOf<[Hlo_AnyTensor, Hlo_TokenType, Hlo_Buffer]>;

def Hlo_TensorOrToken : AnyTypeOf<[Hlo_Tensor, Hlo_TokenType]>;
def Hlo_AnyTensorOrToken : AnyTypeOf<[Hlo_AnyTensor, Hlo_TokenType]>;
def Hlo_AnyTensorTokenOrBuffer : AnyTypeOf<[Hlo_AnyTensor, Hlo_TokenType, Hlo_Buffer]>;
def Hlo_AnyTensorTokenOrTuple : AnyTypeOf<[Hlo_AnyTensor, Hlo_TokenType, Hlo_Tuple]>;
def Hlo_AnyTensorTokenTupleOrBuffer
    : AnyTypeOf<[Hlo_AnyTensor, Hlo_TokenType, Hlo_Tuple, Hlo_Buffer]>;
// custom_call is the escape hatch: any tensor, ranked or not.
def Hlo_CustomCallValue
    : AnyTypeOf<[AnyTensor, AnyMemRef, Hlo_TokenType, Hlo_Tuple, Hlo_FutureType]>;

//===----------------------------------------------------------------------===//
// Traits
//===----------------------------------------------------------------------===//

// Operand and result types are compatible: shapes agree dimension by dimension where known, element
// types are equal or quantized in the same storage. The trait class also infers the result type.
def Hlo_CompatibleOperandsAndResultType
    : TraitList<[Hlo_Trait<"CompatibleOperandsAndResultType">, InferTypeOpInterface]>;
// Operand and result element types are compatible; shapes are free.
def Hlo_CompatibleOperandsAndResultElementType
    : Hlo_Trait<"CompatibleOperandsAndResultElementType">;
// Shapes agree; element types are free.
def Hlo_CompatibleOperandsAndResultShape : Hlo_Trait<"CompatibleOperandsAndResultShape">;
// result[i] has the type of operand[i].
def Hlo_PairwiseSameOperandAndResultType : Hlo_Trait<"PairwiseSameOperandAndResultType">;
//===----------------------------------------------------------------------===//
// Portable format: versions and defaults
//===----------------------------------------------------------------------===//

// One change of an op in the portable format. The first form of an op is `<op>_v1`; the n-th
// revision makes `<op>_v<n+1>`. Attribute names are those of the portable format (attributes such
// as dimension numbers are split there).
class Revision<string version> {
  string since = version;
  list<string> addedAttributes = [];
  list<string> removedAttributes = [];
  list<string> renamedOperands = []; // "new=old"
  bit becameVariadic = 0;            // operand -> operands*, result -> results*
  bit addedRegions = 0;
}
class AddedAttributes<string version, list<string> names> : Revision<version> {
  let addedAttributes = names;
}
class BecameVariadic<string version, list<string> names = []> : Revision<version> {
  let becameVariadic = 1;
  let addedAttributes = names;
}

// An attribute that may be absent here and is always present in the portable format, where absence
// is spelled `portableDefault`; on the way back a value equal to it is dropped again.
class OptionalWithPortableDefault<Attr attr, string default> : OptionalAttr<attr> {
  string portableDefault = default;
}
class DefaultedWithPortableDefault<Attr attr, string value, string default>
    : DefaultValuedOptionalAttr<attr, value> {
  string portableDefault = default;
}
// (A UnitAttr here is a boolean there, false for absence.)
def Hlo_FalseByDefault : DefaultedWithPortableDefault<BoolAttr, "false", "false">;

def Hlo_NonNegativeI64 : ConfinedAttr<I64Attr, [IntNonNegative]>;
def Hlo_PositiveI64 : ConfinedAttr<I64Attr, [IntPositive]>;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class StablehloOp<string mnemonic, list<Trait> traits = []>
    : Op<StablehloDialect, mnemonic, traits> {
  // Where the op stands in the portable format (0.9.0 is the first version).
  string sinceVersion = "0.9.0";
  list<Revision> revisions = [];
  // Since when results may have another element type than operands, where that is newer than the op.
  string promotesSince = "";

  string commonClassDeclaration = [{
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange actual) {
      return ::cupel::stablehlo::areCompatible(inferred, actual);
    }
  }];
  let extraClassDeclaration = commonClassDeclaration;
}

#endif // CUPEL_IR_STABLEHLO_BASE_TD
