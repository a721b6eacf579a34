// Reductions, windows, matrix products, convolutions, transforms and random numbers.

include "cupel/ir/stablehlo/StablehloAttrs.td"

//===----------------------------------------------------------------------===//
// Reductions and windows
//===----------------------------------------------------------------------===//

def Stablehlo_ReduceOp : StablehloOp<"reduce", [RecursiveMemoryEffects, SameVariadicOperandSize,
    Hlo_HasDimensionRule, SingleBlockImplicitTerminator<"ReturnOp">, InferTypeOpAdaptor]> {
  let summary = "Reduces dimensions with a computation on scalars";
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, Variadic<Hlo_Tensor>:$init_values,
      DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let promotesSince = "0.17.0";
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Stablehlo_ReduceWindowOp : StablehloOp<"reduce_window", [RecursiveMemoryEffects,
    Hlo_HasDimensionRule, SameVariadicOperandSize, SingleBlockImplicitTerminator<"ReturnOp">,
    InferTypeOpAdaptor]> {
  let summary = "Reduces each window of a tensor";
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, Variadic<Hlo_Tensor>:$init_values,
      DenseI64ArrayAttr:$window_dimensions, Hlo_WindowOnes:$window_strides,
      Hlo_WindowOnes:$base_dilations, Hlo_WindowOnes:$window_dilations,
      Hlo_WindowPadding:$padding);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let promotesSince = "0.17.0";
  let hasVerifier = 1;
}

def Stablehlo_SelectAndScatterOp : StablehloOp<"select_and_scatter", [RecursiveMemoryEffects,
    InferTypeOpAdaptor]> {
  let summary = "Selects one element per window and scatters a source value to its position";
  let arguments = (ins Hlo_Tensor:$operand, Hlo_Tensor:$source, Hlo_Tensor:$init_value,
      OptionalWithPortableDefault<DenseI64ArrayAttr, "required">:$window_dimensions,
      Hlo_WindowOnes:$window_strides, Hlo_WindowPadding:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs Hlo_Tensor:$result);
  let promotesSince = "0.17.0";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Stablehlo_DotOp : StablehloOp<"dot", [Pure, Hlo_HasFlops]> {
  let summary = "Vector and matrix product (deprecated)";
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_AnyTensor:$rhs, Hlo_PrecisionConfig:$precision_config);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`,` `precision` `=` custom<PrecisionConfig>($precision_config)^)? attr-dict
      `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_DotGeneralOp : StablehloOp<"dot_general", [Pure, Hlo_HasFlops,
    Hlo_HasDimensionRule]> {
  let summary = "Product over contracting dimensions, batched over others";
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_AnyTensor:$rhs,
      Stablehlo_DotDimensionNumbersAttr:$dot_dimension_numbers,
      Hlo_PrecisionConfig:$precision_config,
      OptionalWithPortableDefault<Stablehlo_DotAlgorithmAttr, "no_algorithm">:$algorithm);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers) ``
      custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm) attr-dict
      `:` functional-type(operands, results)
  }];
  let revisions = [AddedAttributes<"1.6.0", ["lhs_precision_type", "rhs_precision_type",
      "accumulation_type", "lhs_component_count", "rhs_component_count",
      "num_primitive_operations", "allow_imprecise_accumulation"]>];
  let hasVerifier = 1;
}

def Stablehlo_ConvolutionOp : StablehloOp<"convolution", [Pure, Hlo_HasFlops, Hlo_HasScratch,
    Hlo_HasDimensionRule]> {
  let summary = "Dot products of a kernel with windows of an input";
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_AnyTensor:$rhs, Hlo_WindowOnes:$window_strides,
      Hlo_WindowPadding:$padding, Hlo_WindowOnes:$lhs_dilation, Hlo_WindowOnes:$rhs_dilation,
      Hlo_WindowReversal:$window_reversal, Stablehlo_ConvDimensionNumbersAttr:$dimension_numbers,
      Hlo_PositiveI64:$feature_group_count, Hlo_PositiveI64:$batch_group_count,
      Hlo_PrecisionConfig:$precision_config);
  let results = (outs Hlo_AnyTensor:$result);
  let assemblyFormat = [{
    `(`operands`)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,`
      `window` `=` `{` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation,
      $rhs_dilation, $window_reversal) `}` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

// Before 0.20 the op also had an attribute `padding` that meant nothing.
def DynamicConvPadding : Revision<"0.20.0"> {
  let removedAttributes = ["padding"];
  let renamedOperands = ["padding=d_padding"];
}

def Stablehlo_DynamicConvOp : StablehloOp<"dynamic_conv", [Pure, Hlo_HasFlops,
    Hlo_ShapeFromValues]> {
  let summary = "convolution with padding computed at run time";
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_Tensor:$rhs, Hlo_StaticMatrixInt:$padding,
      Hlo_WindowOnes:$window_strides, Hlo_WindowOnes:$lhs_dilation, Hlo_WindowOnes:$rhs_dilation,
      Hlo_WindowReversal:$window_reversal, Stablehlo_ConvDimensionNumbersAttr:$dimension_numbers,
      Hlo_PositiveI64:$feature_group_count, Hlo_PositiveI64:$batch_group_count,
      Hlo_PrecisionConfig:$precision_config);
  let results = (outs Hlo_Tensor:$result);
  let revisions = [DynamicConvPadding];
  let hasVerifier = 1;
}
def Stablehlo_EinsumOp : StablehloOp<"einsum", [Pure]> {
  let summary = "Einstein summation of two tensors (deprecated)";
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_UnaryEinsumOp : StablehloOp<"unary_einsum", [Pure]> {
  let summary = "Einstein summation of one tensor (deprecated)";
  let arguments = (ins Hlo_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Linear algebra, transforms, normalization
//===----------------------------------------------------------------------===//

def Stablehlo_CholeskyOp
    : StablehloOp<"cholesky", [Pure, Hlo_HasDimensionRule, Hlo_CompatibleOperandsAndResultType]> {
  let summary = "Cholesky decomposition of symmetric or Hermitian matrices";
  let arguments = (ins Hlo_FloatComplexOrQuantizedTensor:$a, Hlo_FalseByDefault:$lower);
  let results = (outs Hlo_FloatComplexOrQuantizedTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict
      `:` custom<SameOperandsAndResultType>(type($a), type($result))
  }];
  let hasVerifier = 1;
}

def Stablehlo_TriangularSolveOp
    : StablehloOp<"triangular_solve", [Pure, Hlo_HasDimensionRule, SameOperandsElementType,
          InferTypeOpAdaptor]> {
  let summary = "Solves systems with triangular coefficient matrices";
  let arguments = (ins Hlo_FloatOrComplexTensor:$a, Hlo_FloatOrComplexTensor:$b,
      BoolAttr:$left_side, BoolAttr:$lower, BoolAttr:$unit_diagonal,
      Stablehlo_TransposeAttr:$transpose_a);
  let results = (outs Hlo_FloatOrComplexTensor:$result);
}

def Stablehlo_FftOp : StablehloOp<"fft", [Pure, InferTypeOpAdaptor]> {
  let summary = "Discrete Fourier transforms over the last dimensions";
  let arguments = (ins Hlo_FloatOrComplexTensor:$operand, Stablehlo_FftTypeAttr:$fft_type,
      DenseI64ArrayAttr:$fft_length);
  let results = (outs Hlo_FloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length attr-dict
      `:` functional-type(operands, results)
  }];
}

def Stablehlo_BatchNormTrainingOp
    : StablehloOp<"batch_norm_training", [Pure, InferTypeOpAdaptor]> {
  let summary = "Normalizes over all but the feature dimension; also gives mean and variance";
  let arguments = (ins Hlo_FloatOrQuantizedTensor:$operand, Hlo_VectorFloatOrQuantized:$scale,
      Hlo_VectorFloatOrQuantized:$offset, F32Attr:$epsilon, Hlo_NonNegativeI64:$feature_index);
  let results = (outs Hlo_FloatOrQuantizedTensor:$output, Hlo_VectorFloatOrQuantized:$batch_mean,
      Hlo_VectorFloatOrQuantized:$batch_var);
}

def Stablehlo_BatchNormInferenceOp
    : StablehloOp<"batch_norm_inference", [Pure, InferTypeOpAdaptor]> {
  let summary = "Normalizes with given mean and variance";
  let arguments = (ins Hlo_FloatOrQuantizedTensor:$operand, Hlo_VectorFloatOrQuantized:$scale,
      Hlo_VectorFloatOrQuantized:$offset, Hlo_VectorFloatOrQuantized:$mean,
      Hlo_VectorFloatOrQuantized:$variance, F32Attr:$epsilon, Hlo_NonNegativeI64:$feature_index);
  let results = (outs Hlo_FloatOrQuantizedTensor:$result);
}

def Stablehlo_BatchNormGradOp : StablehloOp<"batch_norm_grad", [Pure, InferTypeOpAdaptor]> {
  let summary = "Gradients of batch_norm_training";
  let arguments = (ins Hlo_FloatOrQuantizedTensor:$operand, Hlo_VectorFloatOrQuantized:$scale,
      Hlo_VectorFloatOrQuantized:$mean, Hlo_VectorFloatOrQuantized:$variance,
      Hlo_FloatOrQuantizedTensor:$grad_output, F32Attr:$epsilon,
      Hlo_NonNegativeI64:$feature_index);
  let results = (outs Hlo_FloatOrQuantizedTensor:$grad_operand,
      Hlo_VectorFloatOrQuantized:$grad_scale, Hlo_VectorFloatOrQuantized:$grad_offset);
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

def Stablehlo_RngOp : StablehloOp<"rng", [Hlo_ShapeFromValues]> {
  let summary = "Random numbers of a distribution, of an unspecified generator (deprecated)";
  let arguments = (ins Hlo_ScalarPredIntOrFloat:$a, Hlo_ScalarPredIntOrFloat:$b,
      Hlo_StaticDimensions:$shape, Stablehlo_RngDistributionAttr:$rng_distribution);
  let results = (outs Hlo_PredIntOrFloatTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict
      `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_RngBitGeneratorOp : StablehloOp<"rng_bit_generator", [Pure, Hlo_YieldsBits]> {
  let summary = "Uniform random bits and the next state of the generator";
  let arguments = (ins Hlo_IntOrFloatTensor:$initial_state,
      Stablehlo_RngAlgorithmAttr:$rng_algorithm);
  let results = (outs Hlo_IntOrFloatTensor:$output_state, Hlo_StaticIntOrFloatTensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm attr-dict
      `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
