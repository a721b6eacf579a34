#include "cupel/ir/vhlo/Tables.h"

#include "llvm/ADT/STLExtras.h"

using namespace cupel::vhlo;
using llvm::StringLiteral;

namespace {
constexpr Version k0_9 = {0, 9, 0}, k0_10 = {0, 10, 0}, k0_11 = {0, 11, 0}, k0_18 = {0, 18, 0},
                  k1_2 = {1, 2, 0}, k1_6 = {1, 6, 0}, k1_7 = {1, 7, 0}, k1_8 = {1, 8, 0},
                  k1_9 = {1, 9, 0}, k1_13 = {1, 13, 0}, k1_15 = {1, 15, 0}, k1_16 = {1, 16, 0};

using enum ScalarKind;

constexpr TypeInfo kTypes[] = {
    {TypeCode::Bool, "bool_v1", k0_9, Boolean, 1},
    {TypeCode::Complex, "complex_v1", k0_9, Structured, 0},
    {TypeCode::BF16, "bf16_v1", k0_9, Float, 16},
    {TypeCode::F16, "f16_v1", k0_9, Float, 16},
    {TypeCode::F32, "f32_v1", k0_9, Float, 32},
    {TypeCode::F64, "f64_v1", k0_9, Float, 64},
    {TypeCode::F8E4M3FN, "f8E4M3FN_v1", k0_9, Float, 8},
    {TypeCode::F8E5M2, "f8E5M2_v1", k0_9, Float, 8},
    {TypeCode::Function, "func_v1", k0_9, Structured, 0},
    {TypeCode::Index, "index_v1", k0_9, Index, 64},
    {TypeCode::SI4, "i4_v1", k0_9, Signed, 4},
    {TypeCode::SI8, "i8_v1", k0_9, Signed, 8},
    {TypeCode::SI16, "i16_v1", k0_9, Signed, 16},
    {TypeCode::SI32, "i32_v1", k0_9, Signed, 32},
    {TypeCode::SI64, "i64_v1", k0_9, Signed, 64},
    {TypeCode::UI4, "ui4_v1", k0_9, Unsigned, 4},
    {TypeCode::UI8, "ui8_v1", k0_9, Unsigned, 8},
    {TypeCode::UI16, "ui16_v1", k0_9, Unsigned, 16},
    {TypeCode::UI32, "ui32_v1", k0_9, Unsigned, 32},
    {TypeCode::UI64, "ui64_v1", k0_9, Unsigned, 64},
    {TypeCode::RankedTensor, "tensor_v1", k0_9, Structured, 0},
    // The same type in text; only its encoding in bytecode differs.
    {TypeCode::RankedTensorWithEncoding, "tensor_v1", k0_9, Structured, 0},
    {TypeCode::Token, "token_v1", k0_9, Opaque, 0},
    {TypeCode::Tuple, "tuple_v1", k0_9, Structured, 0},
    {TypeCode::Quantized, "quant_v1", k0_9, Structured, 0},
    {TypeCode::UnrankedTensor, "unranked_tensor_v1", k0_9, Structured, 0},
    {TypeCode::Witness, "witness_v1", k0_9, Opaque, 0},
    {TypeCode::F8E4M3FNUZ, "f8E4M3FNUZ_v1", k0_10, Float, 8},
    {TypeCode::F8E5M2FNUZ, "f8E5M2FNUZ_v1", k0_10, Float, 8},
    {TypeCode::F8E4M3B11FNUZ, "f8E4M3B11FNUZ_v1", k0_11, Float, 8},
    {TypeCode::QuantizedPerAxis, "quant_per_axis_v1", k0_18, Structured, 0},
    {TypeCode::SI2, "i2_v1", k1_2, Signed, 2},
    {TypeCode::UI2, "ui2_v1", k1_2, Unsigned, 2},
    {TypeCode::None, "none_v1", k1_6, Opaque, 0},
    // The mnemonic is misspelt in the format.
    {TypeCode::TF32, "tf31_v1", k1_6, Float, 19},
    {TypeCode::F8E4M3, "f8E4M3_v1", k1_7, Float, 8},
    {TypeCode::F8E3M4, "f8E3M4_v1", k1_7, Float, 8},
    {TypeCode::F4E2M1FN, "f4E2M1FN_v1", k1_8, Float, 4},
    {TypeCode::F6E2M3FN, "f6E2M3FN_v1", k1_8, Float, 6},
    {TypeCode::F6E3M2FN, "f6E3M2FN_v1", k1_8, Float, 6},
    {TypeCode::F8E8M0FNU, "f8E8M0FNU_v1", k1_8, Float, 8},
    {TypeCode::RankedBuffer, "buffer_v1", k1_13, Structured, 0},
    {TypeCode::Future, "future_v1", k1_15, Structured, 0},
};

constexpr StringLiteral kComparisonDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr StringLiteral kComparisonTypes[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED",
                                              "UNSIGNED"};
constexpr StringLiteral kApiVersions[] = {
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
constexpr StringLiteral kFftTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr StringLiteral kPrecisions[] = {"DEFAULT", "HIGH", "HIGHEST"};
constexpr StringLiteral kRngAlgorithms[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
constexpr StringLiteral kRngDistributions[] = {"", "UNIFORM", "NORMAL"};
constexpr StringLiteral kTransposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                         "ADJOINT"};
constexpr StringLiteral kResultAccuracyModes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};

constexpr AttrInfo kAttrs[] = {
    {AttrCode::Array, "array_v1", k0_9, {}},
    {AttrCode::Boolean, "bool_v1", k0_9, {}},
    {AttrCode::ComparisonDirection, "comparison_direction_v1", k0_9, kComparisonDirections},
    {AttrCode::ComparisonType, "comparison_type_v1", k0_9, kComparisonTypes},
    {AttrCode::CustomCallApiVersion, "api_version_v1", k0_9, kApiVersions},
    {AttrCode::Dictionary, "dict_v1", k0_9, {}},
    {AttrCode::FftType, "fft_type_v1", k0_9, kFftTypes},
    {AttrCode::Float, "float_v1", k0_9, {}},
    {AttrCode::Integer, "integer_v1", k0_9, {}},
    {AttrCode::OutputOperandAlias, "output_operand_alias_v1", k0_9, {}},
    {AttrCode::Precision, "precision_v1", k0_9, kPrecisions},
    {AttrCode::RngAlgorithm, "rng_algorithm_v1", k0_9, kRngAlgorithms},
    {AttrCode::RngDistribution, "rng_distribution_v1", k0_9, kRngDistributions},
    {AttrCode::String, "string_v1", k0_9, {}},
    {AttrCode::Tensor, "tensor_v1", k0_9, {}},
    {AttrCode::Transpose, "transpose_v1", k0_9, kTransposes},
    {AttrCode::Type, "type_v1", k0_9, {}},
    {AttrCode::TypeExtensions, "type_extensions_v1", k0_9, {}},
    {AttrCode::ResultAccuracyMode, "result_accuracy_mode_v1", k1_9, kResultAccuracyModes},
    {AttrCode::ResultAccuracy, "result_accuracy_v1", k1_9, {}},
    {AttrCode::SubAxisInfo, "sub_axis_info_v1", k1_16, {}},
    {AttrCode::AxisRef, "axis_ref_v1", k1_16, {}},
    {AttrCode::ReplicaGroupMeshAxes, "replica_group_mesh_axes_v1", k1_16, {}},
    {AttrCode::MeshAxis, "mesh_axis_v1", k1_16, {}},
    {AttrCode::Mesh, "mesh_v1", k1_16, {}},
};
} // namespace

const TypeInfo *cupel::vhlo::findType(uint64_t code) {
  return code < std::size(kTypes) ? &kTypes[code] : nullptr;
}

const TypeInfo *cupel::vhlo::findType(llvm::StringRef mnemonic) {
  const auto *it =
      llvm::find_if(kTypes, [&](const TypeInfo &info) { return info.mnemonic == mnemonic; });
  return it == std::end(kTypes) ? nullptr : it;
}

const AttrInfo *cupel::vhlo::findAttr(uint64_t code) {
  // Code 0 was withdrawn before the format became stable.
  return code >= 1 && code <= std::size(kAttrs) ? &kAttrs[code - 1] : nullptr;
}

const AttrInfo *cupel::vhlo::findAttr(llvm::StringRef mnemonic) {
  const auto *it =
      llvm::find_if(kAttrs, [&](const AttrInfo &info) { return info.mnemonic == mnemonic; });
  return it == std::end(kAttrs) ? nullptr : it;
}
