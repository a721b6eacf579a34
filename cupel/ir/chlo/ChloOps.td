// All operations of the chlo dialect.

#ifndef CUPEL_IR_CHLO_OPS_TD
#define CUPEL_IR_CHLO_OPS_TD

include "cupel/ir/chlo/ChloAttrs.td"

// Unlike stablehlo, chlo takes unranked tensors in most places.
def Chlo_AnyTensor : TypeAlias<Hlo_AnyRankTensor>;
def Chlo_FloatTensor : TensorOf<[Hlo_Float]>;
def Chlo_FloatOrComplexTensor : TensorOf<[Hlo_Float, Hlo_Complex]>;
def Chlo_ComplexTensor : TensorOf<[Hlo_Complex]>;
def Chlo_PredTensor : TensorOf<[Hlo_Pred]>;
def Chlo_PredOrIntTensor : TensorOf<[Hlo_Pred, Hlo_Int]>;
def Chlo_StaticTensor : StaticShapeTensorOf<[Hlo_Float, Hlo_Pred, Hlo_Int, Hlo_Complex,
                                             Hlo_Quantized]>;

class Chlo_Op<string mnemonic, list<Trait> traits = []> : Op<ChloDialect, mnemonic, traits>;

class Chlo_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::cupel::chlo";
}
// The operands broadcast against each other and the result has the broadcast shape; checks element
// types as well. Works for the binary operations, broadcast_compare, broadcast_complex and
// broadcast_select.
def Chlo_BroadcastingElementwise : Chlo_Trait<"BroadcastingElementwise">;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

class Chlo_UnaryOp<string mnemonic, Type operandType = Chlo_FloatOrComplexTensor>
    : Chlo_Op<mnemonic, [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let arguments = (ins operandType:$operand);
  let results = (outs operandType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}
class Chlo_PredicateOp<string mnemonic>
    : Chlo_Op<mnemonic, [Pure, SameOperandsAndResultShape]> {
  let arguments = (ins Chlo_FloatTensor:$operand);
  let results = (outs Chlo_PredTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Chlo_AcosOp : Chlo_UnaryOp<"acos"> { let summary = "Inverse cosine"; }
def Chlo_AcoshOp : Chlo_UnaryOp<"acosh"> { let summary = "Inverse hyperbolic cosine"; }
def Chlo_AsinOp : Chlo_UnaryOp<"asin"> { let summary = "Inverse sine"; }
def Chlo_AsinhOp : Chlo_UnaryOp<"asinh"> { let summary = "Inverse hyperbolic sine"; }
def Chlo_AtanOp : Chlo_UnaryOp<"atan"> { let summary = "Inverse tangent"; }
def Chlo_AtanhOp : Chlo_UnaryOp<"atanh"> { let summary = "Inverse hyperbolic tangent"; }
def Chlo_CoshOp : Chlo_UnaryOp<"cosh"> { let summary = "Hyperbolic cosine"; }
def Chlo_SinhOp : Chlo_UnaryOp<"sinh"> { let summary = "Hyperbolic sine"; }
def Chlo_TanOp : Chlo_UnaryOp<"tan"> { let summary = "Tangent"; }
def Chlo_ConjOp : Chlo_UnaryOp<"conj"> { let summary = "Complex conjugate"; }
def Chlo_SquareOp : Chlo_UnaryOp<"square"> { let summary = "The operand times itself"; }
def Chlo_BesselI1eOp : Chlo_UnaryOp<"bessel_i1e"> {
  let summary = "Exponentially scaled modified Bessel function of the first kind, order 1";
}
def Chlo_DigammaOp : Chlo_UnaryOp<"digamma", Chlo_FloatTensor> {
  let summary = "Derivative of the logarithm of the gamma function";
}
def Chlo_LgammaOp : Chlo_UnaryOp<"lgamma", Chlo_FloatTensor> {
  let summary = "Logarithm of the absolute value of the gamma function";
}
def Chlo_ErfOp : Chlo_UnaryOp<"erf", Chlo_FloatTensor> { let summary = "Gauss error function"; }
def Chlo_ErfcOp : Chlo_UnaryOp<"erfc", Chlo_FloatTensor> {
  let summary = "Complement of the error function: 1 - erf(x), accurate where erf is near 1";
}
def Chlo_ErfInvOp : Chlo_UnaryOp<"erf_inv", Chlo_FloatTensor> {
  let summary = "Inverse of the error function";
}
def Chlo_AsinAcosKernelOp : Chlo_UnaryOp<"_asin_acos_kernel", Chlo_ComplexTensor> {
  let summary = "What complex inverse sine and cosine have in common";
  let description = [{
    For `w = _asin_acos_kernel(z)`: `asin(z) = complex(atan2(re z, re w), +-im w)` and
    `acos(z) = complex(atan2(re w, re z), -+im w)`, with the sign of `im z`. An intermediate of
    decompositions; frameworks do not write it.
  }];
}

def Chlo_IsInfOp : Chlo_PredicateOp<"is_inf"> { let summary = "Is +infinity or -infinity"; }
def Chlo_IsPosInfOp : Chlo_PredicateOp<"is_pos_inf"> { let summary = "Is +infinity"; }
def Chlo_IsNegInfOp : Chlo_PredicateOp<"is_neg_inf"> { let summary = "Is -infinity"; }

//===----------------------------------------------------------------------===//
// Two operands of one shape
//===----------------------------------------------------------------------===//

class Chlo_BinaryTraits<list<Trait> more = []> {
  list<Trait> traits = !listconcat(
      [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType], more);
}

def Chlo_NextAfterOp : Chlo_Op<"next_after", Chlo_BinaryTraits<>.traits> {
  let summary = "The next representable value after x in the direction of y";
  let arguments = (ins Chlo_FloatTensor:$x, Chlo_FloatTensor:$y);
  let results = (outs Chlo_FloatTensor:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)";
}
def Chlo_PolygammaOp : Chlo_Op<"polygamma", Chlo_BinaryTraits<>.traits> {
  let summary = "The n-th derivative of digamma at x";
  let arguments = (ins Chlo_FloatTensor:$n, Chlo_FloatTensor:$x);
  let results = (outs Chlo_FloatTensor:$result);
  let assemblyFormat = "$n `,` $x attr-dict `:` type($n) `,` type($x) `->` type($result)";
}
def Chlo_ZetaOp : Chlo_Op<"zeta", Chlo_BinaryTraits<>.traits> {
  let summary = "Hurwitz zeta function: the sum of (q + n)^-x over n = 0, 1, ...";
  let arguments = (ins Chlo_FloatTensor:$x, Chlo_FloatTensor:$q);
  let results = (outs Chlo_FloatTensor:$result);
  let assemblyFormat = "$x `,` $q attr-dict `:` type($x) `,` type($q) `->` type($result)";
}
def Chlo_MulhiOp : Chlo_Op<"mulhi", Chlo_BinaryTraits<[Commutative]>.traits> {
  let summary = "High half of the double-width product of two integers";
  let arguments = (ins Hlo_IntTensor:$lhs, Hlo_IntTensor:$rhs);
  let results = (outs Hlo_IntTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

// broadcast_dimensions says where the dimensions of the operand of lower rank go; without it they
// are aligned at the end, as in NumPy.
class Chlo_BroadcastBinaryOp<string mnemonic, list<Trait> traits = [],
                             Type operandType = Chlo_AnyTensor, Type resultType = operandType>
    : Chlo_Op<mnemonic, !listconcat(traits, [Pure, Chlo_BroadcastingElementwise])> {
  let summary = "Elementwise operation of two operands that broadcast against each other";
  let arguments = (ins operandType:$lhs, operandType:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions);
  let results = (outs resultType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($result)
  }];
}

def Chlo_BroadcastAddOp : Chlo_BroadcastBinaryOp<"broadcast_add", [Commutative]>;
def Chlo_BroadcastAtan2Op : Chlo_BroadcastBinaryOp<"broadcast_atan2">;
def Chlo_BroadcastDivideOp : Chlo_BroadcastBinaryOp<"broadcast_divide">;
def Chlo_BroadcastMaximumOp : Chlo_BroadcastBinaryOp<"broadcast_maximum", [Commutative]>;
def Chlo_BroadcastMinimumOp : Chlo_BroadcastBinaryOp<"broadcast_minimum", [Commutative]>;
def Chlo_BroadcastMultiplyOp : Chlo_BroadcastBinaryOp<"broadcast_multiply", [Commutative]>;
def Chlo_BroadcastNextAfterOp : Chlo_BroadcastBinaryOp<"broadcast_next_after">;
def Chlo_BroadcastPolygammaOp : Chlo_BroadcastBinaryOp<"broadcast_polygamma">;
def Chlo_BroadcastPowerOp : Chlo_BroadcastBinaryOp<"broadcast_power">;
def Chlo_BroadcastRemainderOp : Chlo_BroadcastBinaryOp<"broadcast_remainder">;
def Chlo_BroadcastShiftLeftOp : Chlo_BroadcastBinaryOp<"broadcast_shift_left">;
def Chlo_BroadcastShiftRightArithmeticOp
    : Chlo_BroadcastBinaryOp<"broadcast_shift_right_arithmetic">;
def Chlo_BroadcastShiftRightLogicalOp : Chlo_BroadcastBinaryOp<"broadcast_shift_right_logical">;
def Chlo_BroadcastSubtractOp : Chlo_BroadcastBinaryOp<"broadcast_subtract">;
def Chlo_BroadcastZetaOp : Chlo_BroadcastBinaryOp<"broadcast_zeta", [], Chlo_FloatTensor>;
def Chlo_BroadcastAndOp
    : Chlo_BroadcastBinaryOp<"broadcast_and", [Commutative], Chlo_PredOrIntTensor, Chlo_AnyTensor>;
def Chlo_BroadcastOrOp
    : Chlo_BroadcastBinaryOp<"broadcast_or", [Commutative], Chlo_PredOrIntTensor, Chlo_AnyTensor>;
def Chlo_BroadcastXorOp
    : Chlo_BroadcastBinaryOp<"broadcast_xor", [Commutative], Chlo_PredOrIntTensor, Chlo_AnyTensor>;
def Chlo_BroadcastComplexOp
    : Chlo_BroadcastBinaryOp<"broadcast_complex", [], Chlo_FloatTensor, Chlo_ComplexTensor>;

def Chlo_BroadcastCompareOp
    : Chlo_BroadcastBinaryOp<"broadcast_compare", [], Chlo_AnyTensor, Chlo_PredTensor> {
  let arguments = (ins Chlo_AnyTensor:$lhs, Chlo_AnyTensor:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions,
                       Chlo_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<Chlo_ComparisonTypeAttr>:$compare_type);
}

def Chlo_BroadcastSelectOp : Chlo_Op<"broadcast_select", [Pure, Chlo_BroadcastingElementwise]> {
  let summary = "on_true where pred holds, else on_false; all three broadcast as in NumPy";
  let arguments = (ins Hlo_PredTensor:$pred, Chlo_AnyTensor:$on_true, Chlo_AnyTensor:$on_false);
  let results = (outs Chlo_AnyTensor:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict `:`
    `(` type($pred) `,` type($on_true) `,` type($on_false) `)` `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def Chlo_ConstantOp : Chlo_Op<"constant",
    [ConstantLike, Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "A constant tensor";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Chlo_StaticTensor:$output);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Chlo_ConstantLikeOp : Chlo_Op<"constant_like", [Pure, SameOperandsAndResultShape]> {
  let summary = "One value in every element, in the shape of the operand";
  let arguments = (ins TypedAttrInterface:$value, Chlo_AnyTensor:$operand);
  let results = (outs Chlo_AnyTensor:$result);
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

def Chlo_TopKOp : Chlo_Op<"top_k", [Pure]> {
  let summary = "The k largest elements along the last dimension, and where they are";
  let arguments = (ins Chlo_AnyTensor:$operand, I64Attr:$k,
                       DefaultValuedOptionalAttr<BoolAttr, "true">:$is_stable);
  let results = (outs Chlo_AnyTensor:$values, Chlo_AnyTensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:`
    type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
  let hasVerifier = 1;
}

def Chlo_RaggedDotOp : Chlo_Op<"ragged_dot", [Pure]> {
  let summary = "A dot product in which one dimension of lhs is cut into groups of given sizes";
  let description = [{
    The kind of the ragged dimension of lhs decides between three modes (b batching, k contracting,
    g groups):
    * free: `[b,m,k], [g,b,k,n], [b,g] -> [b,m,n]`, each group of rows meets its own rhs;
    * contracting: `[b,m,k], [b,k,n], [b,g] -> [g,b,m,n]`, one product for each group of k;
    * batching: `[b,m,k], [b,k,n], [g] -> [b,m,n]`, the same as dot_general.
  }];
  let arguments = (ins Chlo_AnyTensor:$lhs, Chlo_AnyTensor:$rhs, Hlo_IntTensor:$group_sizes,
                       Chlo_RaggedDotDimensionNumbers:$ragged_dot_dimension_numbers,
                       OptionalAttr<Chlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Chlo_AnyTensor:$result);
  let hasVerifier = 1;
}

def Chlo_ScanOp : Chlo_Op<"scan", [AttrSizedOperandSegments, AttrSizedResultSegments,
    IsolatedFromAbove, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Runs body over the slices of the inputs along a dimension, handing carries on";
  let arguments = (ins Variadic<Chlo_AnyTensor>:$inputs, Variadic<Chlo_AnyTensor>:$inits,
                       Hlo_NonNegativeI64:$dimension,
                       OptionalAttr<Hlo_NonNegativeI64>:$scan_dim_size,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_reverse,
                       OptionalAttr<BoolAttr>:$is_associative);
  let results = (outs Variadic<Chlo_AnyTensor>:$outputs, Variadic<Chlo_AnyTensor>:$carries);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Length of the scan, kDynamic if neither an input nor scan_dim_size tells.
    int64_t getScanLength();
  }];
}

#endif // CUPEL_IR_CHLO_OPS_TD
