// Constants, iota and the operations that work element by element.

include "cupel/ir/stablehlo/StablehloAttrs.td"

// `: type` if operands and results have one type, else the full functional type.
defvar kUnaryFormat = [{
  $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
}];
defvar kBinaryFormat = [{
  $lhs `,` $rhs attr-dict
    `:` custom<SameOperandsAndResultType>(type($lhs), type($rhs), type($result))
}];

//===----------------------------------------------------------------------===//
// Constants and iota
//===----------------------------------------------------------------------===//

def Stablehlo_ConstantOp : StablehloOp<"constant", [ConstantLike, Pure, Hlo_NoArithmetic,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "A tensor known when the program was written";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Hlo_StaticAnyTensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    // Only a quantized result differs from its value's type: the value is then stored integers.
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange actual);
  }];
}

def Stablehlo_IotaOp : StablehloOp<"iota", [Pure, Hlo_NoArithmetic]> {
  let summary = "Counts from zero along one dimension";
  let arguments = (ins Hlo_NonNegativeI64:$iota_dimension);
  let results = (outs Hlo_StaticIotaTensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def Stablehlo_DynamicIotaOp : StablehloOp<"dynamic_iota", [Pure, Hlo_NoArithmetic,
    Hlo_ShapeFromValues]> {
  let summary = "iota with a shape computed at run time";
  let arguments = (ins Hlo_StaticDimensions:$output_shape, Hlo_NonNegativeI64:$iota_dimension);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

class UnaryOp<string mnemonic, Type operandKind, Type resultKind, list<Trait> traits>
    : StablehloOp<mnemonic, [Pure, Hlo_ElementwiseOnOneShape, SameOperandsAndResultShape]
                            # traits> {
  let arguments = (ins operandKind:$operand);
  let results = (outs resultKind:$result);
  let assemblyFormat = kUnaryFormat;
}
class SameTypeUnaryOp<string mnemonic, Type kind, list<Trait> traits = []>
    : UnaryOp<mnemonic, kind, kind, [Hlo_CompatibleOperandsAndResultType] # traits>;

// Functions whose accuracy a program may ask for. `accuracySince` is the version that added it.
class TranscendentalOp<string mnemonic, string accuracySince = "1.10.0">
    : SameTypeUnaryOp<mnemonic, Hlo_FloatComplexOrQuantizedTensor, [Hlo_Transcendental]> {
  let arguments = (ins Hlo_FloatComplexOrQuantizedTensor:$operand,
                       Hlo_ResultAccuracy:$result_accuracy);
  let revisions = [AddedAttributes<accuracySince, ["result_accuracy"]>];
  let builders = [OpBuilder<(ins "mlir::Value":$operand), [{
    $_state.addOperands(operand);
    $_state.addTypes(operand.getType());
  }]>];
}

def Stablehlo_CbrtOp : TranscendentalOp<"cbrt"> { let summary = "Cube root"; }
def Stablehlo_CosineOp : TranscendentalOp<"cosine"> { let summary = "Cosine"; }
def Stablehlo_ExponentialOp : TranscendentalOp<"exponential", "1.9.0"> {
  let summary = "Exponential function";
}
def Stablehlo_ExponentialMinusOneOp : TranscendentalOp<"exponential_minus_one"> {
  let summary = "exp(x) - 1, accurate near zero";
}
def Stablehlo_LogOp : TranscendentalOp<"log"> { let summary = "Natural logarithm"; }
def Stablehlo_LogPlusOneOp : TranscendentalOp<"log_plus_one"> {
  let summary = "log(1 + x), accurate near zero";
}
def Stablehlo_LogisticOp : TranscendentalOp<"logistic"> { let summary = "1 / (1 + exp(-x))"; }
def Stablehlo_RsqrtOp : TranscendentalOp<"rsqrt"> { let summary = "Reciprocal square root"; }
def Stablehlo_SineOp : TranscendentalOp<"sine"> { let summary = "Sine"; }
def Stablehlo_SqrtOp : TranscendentalOp<"sqrt"> { let summary = "Square root"; }
def Stablehlo_TanOp : TranscendentalOp<"tan"> {
  let summary = "Tangent";
  let sinceVersion = "1.4.0";
}
def Stablehlo_TanhOp : TranscendentalOp<"tanh"> { let summary = "Hyperbolic tangent"; }

def Stablehlo_CeilOp : SameTypeUnaryOp<"ceil", Hlo_FloatOrQuantizedTensor> {
  let summary = "Rounds up";
}
def Stablehlo_FloorOp : SameTypeUnaryOp<"floor", Hlo_FloatOrQuantizedTensor> {
  let summary = "Rounds down";
}
def Stablehlo_RoundNearestAfzOp
    : SameTypeUnaryOp<"round_nearest_afz", Hlo_FloatOrQuantizedTensor> {
  let summary = "Rounds to the nearest integer, ties away from zero";
}
def Stablehlo_RoundNearestEvenOp
    : SameTypeUnaryOp<"round_nearest_even", Hlo_FloatOrQuantizedTensor> {
  let summary = "Rounds to the nearest integer, ties to even";
}
def Stablehlo_CountLeadingZerosOp : SameTypeUnaryOp<"count_leading_zeros", Hlo_IntTensor> {
  let summary = "Number of leading zero bits";
}
def Stablehlo_PopcntOp : SameTypeUnaryOp<"popcnt", Hlo_IntTensor> {
  let summary = "Number of one bits";
}
def Stablehlo_NegateOp : SameTypeUnaryOp<"negate", Hlo_IntFloatComplexOrQuantizedTensor,
    [Hlo_Linear]> {
  let summary = "Negation";
}
def Stablehlo_NotOp : SameTypeUnaryOp<"not", Hlo_PredOrIntTensor> {
  let summary = "Logical or bitwise complement";
}
def Stablehlo_SignOp : SameTypeUnaryOp<"sign", Hlo_SIntFloatComplexOrQuantizedTensor> {
  let summary = "-1, 0 or 1 by the sign of the operand";
}

def Stablehlo_AbsOp : UnaryOp<"abs", Hlo_SIntFloatComplexOrQuantizedTensor,
    RankedTensorOf<[Hlo_SInt, Hlo_Float, Hlo_Quantized]>, [InferTypeOpAdaptor]> {
  let summary = "Absolute value; of a complex number its modulus";
}
def Stablehlo_ImagOp : UnaryOp<"imag", Hlo_FloatOrComplexTensor, Hlo_FloatTensor,
    [InferTypeOpAdaptor]> {
  let summary = "Imaginary part; zero for real numbers";
}
def Stablehlo_RealOp : UnaryOp<"real", Hlo_FloatOrComplexTensor, Hlo_FloatTensor,
    [InferTypeOpAdaptor]> {
  let summary = "Real part";
}
def Stablehlo_IsFiniteOp : StablehloOp<"is_finite", [Pure, Hlo_ElementwiseOnOneShape,
    SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "Whether each element is neither infinite nor NaN";
  let arguments = (ins Hlo_FloatOrQuantizedTensor:$x);
  let results = (outs Hlo_PredTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_ConvertOp : UnaryOp<"convert", Hlo_NonQuantizedTensor, Hlo_NonQuantizedTensor,
    [Hlo_LinearButRounds]> {
  let summary = "Converts to another element type";
  let builders = [OpBuilder<(ins "mlir::Value":$operand, "mlir::Type":$elementType)>];
}
def Stablehlo_UniformQuantizeOp : UnaryOp<"uniform_quantize", Hlo_FloatOrAnyQuantizedTensor,
    Hlo_QuantizedTensor, []> {
  let summary = "Quantizes floats, or changes how quantized values are stored";
  let hasVerifier = 1;
}
def Stablehlo_UniformDequantizeOp : UnaryOp<"uniform_dequantize", Hlo_QuantizedTensor,
    Hlo_FloatTensor, [InferTypeOpAdaptor]> {
  let summary = "Turns quantized values into floats";
}
def Stablehlo_ReducePrecisionOp : StablehloOp<"reduce_precision", [Pure, Hlo_ElementwiseOnOneShape,
    Hlo_CompatibleOperandsAndResultType]> {
  let summary = "Rounds to the values a smaller float format has, keeping the type";
  let arguments = (ins Hlo_FloatOrQuantizedTensor:$operand,
      ConfinedAttr<I32Attr, [IntPositive]>:$exponent_bits,
      ConfinedAttr<I32Attr, [IntNonNegative]>:$mantissa_bits);
  let results = (outs Hlo_FloatOrQuantizedTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) attr-dict
      `:` custom<SameOperandsAndResultType>(type($operand), type($output))
  }];
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

class BinaryOp<string mnemonic, Type kind, list<Trait> traits = []>
    : StablehloOp<mnemonic, [Pure, Hlo_ElementwiseOnOneShape, SameOperandsAndResultShape,
                             Hlo_CompatibleOperandsAndResultType] # traits> {
  let arguments = (ins kind:$lhs, kind:$rhs);
  let results = (outs kind:$result);
  let assemblyFormat = kBinaryFormat;
}

// The commutative ones may stand alone as the body of a reduce ("applies stablehlo.add").
// A quantized sum may mix per-tensor and per-axis operands, so add has rules of its own.
def Stablehlo_AddOp : StablehloOp<"add", [Pure, Hlo_ElementwiseOnOneShape, Commutative,
    Hlo_Linear, Hlo_Combines, SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "Sum; logical or for booleans";
  let arguments = (ins Hlo_AnyTensor:$lhs, Hlo_AnyTensor:$rhs);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = kBinaryFormat;
  let hasVerifier = 1;
}
def Stablehlo_MaximumOp : BinaryOp<"maximum", Hlo_Tensor, [Commutative, Hlo_Combines]> {
  let summary = "The larger element; NaN wins";
}
def Stablehlo_MinimumOp : BinaryOp<"minimum", Hlo_Tensor, [Commutative, Hlo_Combines]> {
  let summary = "The smaller element; NaN wins";
}
def Stablehlo_MultiplyOp : BinaryOp<"multiply", Hlo_Tensor, [Commutative, Hlo_LinearInEach,
    Hlo_Combines]> {
  let summary = "Product; logical and for booleans";
}
def Stablehlo_AndOp : BinaryOp<"and", Hlo_PredOrIntTensor, [Commutative, Hlo_Combines]> {
  let summary = "Logical or bitwise and";
}
def Stablehlo_OrOp : BinaryOp<"or", Hlo_PredOrIntTensor, [Commutative, Hlo_Combines]> {
  let summary = "Logical or bitwise or";
}
def Stablehlo_XorOp : BinaryOp<"xor", Hlo_PredOrIntTensor, [Commutative, Hlo_Combines]> {
  let summary = "Logical or bitwise exclusive or";
}
def Stablehlo_SubtractOp : BinaryOp<"subtract", Hlo_IntFloatComplexOrQuantizedTensor,
    [Hlo_Linear]> {
  let summary = "Difference";
}
def Stablehlo_DivideOp : BinaryOp<"divide", Hlo_IntFloatComplexOrQuantizedTensor,
    [Hlo_LinearInFirst]> {
  let summary = "Quotient, truncated for integers";
}
def Stablehlo_PowerOp : BinaryOp<"power", Hlo_IntFloatComplexOrQuantizedTensor,
    [Hlo_Transcendental]> {
  let summary = "lhs to the power of rhs";
}
def Stablehlo_RemainderOp : BinaryOp<"remainder", Hlo_IntFloatComplexOrQuantizedTensor> {
  let summary = "Remainder with the sign of the dividend";
}
def Stablehlo_Atan2Op : BinaryOp<"atan2", Hlo_FloatComplexOrQuantizedTensor,
    [Hlo_Transcendental]> {
  let summary = "Angle of the point (rhs, lhs)";
}
def Stablehlo_ShiftLeftOp : BinaryOp<"shift_left", Hlo_IntTensor> {
  let summary = "Left shift";
}
def Stablehlo_ShiftRightArithmeticOp : BinaryOp<"shift_right_arithmetic", Hlo_IntTensor> {
  let summary = "Right shift that fills with the sign";
}
def Stablehlo_ShiftRightLogicalOp : BinaryOp<"shift_right_logical", Hlo_IntTensor> {
  let summary = "Right shift that fills with zeros";
}
def Stablehlo_ComplexOp : StablehloOp<"complex", [Pure, Hlo_ElementwiseOnOneShape,
    SameOperandsElementType, SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "Complex numbers from real and imaginary parts";
  let arguments = (ins Hlo_Float32Or64Tensor:$lhs, Hlo_Float32Or64Tensor:$rhs);
  let results = (outs Hlo_ComplexTensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:` custom<ComplexOpType>(type($lhs), type($rhs), type($result))
  }];
}

//===----------------------------------------------------------------------===//
// More than two operands, or another result type
//===----------------------------------------------------------------------===//

def Stablehlo_ClampOp : StablehloOp<"clamp", [Pure, Hlo_Elementwise, Hlo_KeepsNumbers,
    InferTypeOpAdaptor]> {
  let summary = "Limits elements to [min, max]; bounds may be scalars";
  let arguments = (ins Hlo_Tensor:$min, Hlo_Tensor:$operand, Hlo_Tensor:$max);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:` custom<SameOperandsAndResultType>(
      type($min), type($operand), type($max), type($result))
  }];
}

def Stablehlo_CompareOp : StablehloOp<"compare", [Pure, Hlo_ElementwiseOnOneShape,
    SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "Compares element by element";
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_Tensor:$rhs,
      Stablehlo_ComparisonDirectionAttr:$comparison_direction,
      OptionalWithPortableDefault<Stablehlo_ComparisonTypeAttr, "no_type">:$compare_type);
  let results = (outs Hlo_PredTensor:$result);
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict
      `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "mlir::Value":$lhs, "mlir::Value":$rhs,
      "ComparisonDirection":$direction, CArg<"ComparisonType", "ComparisonType::NOTYPE">:$type)>];
  let hasVerifier = 1;
}

def Stablehlo_SelectOp : StablehloOp<"select", [Pure, Hlo_Elementwise, Hlo_KeepsNumbers,
    InferTypeOpAdaptor]> {
  let summary = "Takes each element from one of two tensors; the predicate may be a scalar";
  let arguments = (ins Hlo_PredTensor:$pred, Hlo_Tensor:$on_true, Hlo_Tensor:$on_false);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:` custom<SelectOpType>(
      type($pred), type($on_true), type($on_false), type($result))
  }];
}

def Stablehlo_MapOp : StablehloOp<"map", [RecursiveMemoryEffects, SameOperandsAndResultShape,
    SingleBlockImplicitTerminator<"ReturnOp">, InferTypeOpAdaptor]> {
  let summary = "Applies a computation on scalars to corresponding elements";
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Hlo_Tensor:$result);
}
