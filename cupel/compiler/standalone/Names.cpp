#include "cupel/compiler/standalone/Names.h"

#include "llvm/ADT/StringExtras.h"

namespace cupel::compiler::standalone {

namespace {

constexpr size_t kLongestName = 48;

/// Words of both languages, what the standard libraries bring, and what is called by generated code.
constexpr const char *kReserved =
    "False None True and as assert async await break class continue def del elif else except finally "
    "for from global if import in is lambda nonlocal not or pass raise return try while with yield "
    "alignas alignof asm auto bool case catch char const constexpr const_cast decltype default delete "
    "do double dynamic_cast enum explicit export extern float friend goto inline int long mutable "
    "namespace new noexcept nullptr operator private protected public register reinterpret_cast short "
    "signed sizeof static static_assert static_cast struct switch template this thread_local throw true "
    "false typedef typeid typename union unsigned using virtual void volatile wchar_t xor and_eq bitand "
    "bitor compl not_eq or_eq xor_eq main std ops forward inputs weights constants inf nan np sys Path "
    "HERE INPUTS WEIGHTS OUTPUTS TYPES Type Tensor Dims print len tuple list dict abs min max sum "
    "absolute add array atan2 batch_norm_grad batch_norm_inference batch_norm_training bf16 "
    "bitcast_convert broadcast broadcast_in_dim c128 c64 cbrt ceil check_eq checks cholesky clamp "
    "concatenate convert convolution cosine count_leading_zeros dequantize divide dot dot_general "
    "dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota dynamic_pad dynamic_reshape "
    "dynamic_slice dynamic_update_slice einsum elementwise expect_almost_eq expect_close expect_eq "
    "exponential exponential_minus_one f16 f32 f64 fft floor formats full gather gather_values "
    "get_dimension_size i1 i16 i2 i32 i4 i64 i8 imag iota is_finite linear load_tensors log log_plus_one "
    "logical_and logical_not logical_or logical_xor logistic make_complex map_elements maximum minimum "
    "movement multiply negate ones pad popcnt power print_tensor quantize quantized random real "
    "real_dynamic_slice reduce reduce_precision reduce_window reductions remainder requantize reshape "
    "reverse rng rng_bit_generator round_nearest_afz round_nearest_even rsqrt save_tensors each_element scatter select "
    "select_and_scatter set_dimension_size shape_assertion shift_left shift_right_arithmetic "
    "shift_right_logical sign sine sort sqrt strided_slice subtract tan tanh torch_index_select "
    "total_order transpose triangular_solve ui16 ui2 ui32 ui4 ui64 ui8 unary_einsum y0 y1 yn j0 j1 jn "
    "gamma index time signal read write open close exp exp2 pow sin cos erf erfc lgamma tgamma round "
    "trunc fabs fmod fmin fmax fma hypot log2 log10 log1p expm1 asin acos atan sinh cosh asinh acosh "
    "atanh ldexp frexp rint size_t int8_t errno unix linux";

} // namespace

bool isReserved(llvm::StringRef name) {
  static const llvm::StringSet<> words = [] {
    llvm::StringSet<> set;
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(kReserved).split(parts, ' ', -1, false);
    for (llvm::StringRef part : parts)
      set.insert(part);
    return set;
  }();
  return words.contains(name);
}

std::string identifierOf(llvm::StringRef name, llvm::StringRef fallback) {
  std::string result;
  for (char c : name) {
    if (llvm::isAlnum(c))
      result += c;
    else if (!result.empty() && result.back() != '_')
      result += '_';
  }
  while (!result.empty() && result.back() == '_')
    result.pop_back();
  // The end of a path says more than its beginning.
  if (result.size() > kLongestName)
    result = result.substr(result.size() - kLongestName);
  while (!result.empty() && result.front() == '_')
    result.erase(0, 1);
  if (result.empty())
    return fallback.str();
  if (llvm::isDigit(result[0]))
    result = fallback.str() + "_" + result;
  if (isReserved(result))
    result += "_";
  return result;
}

std::string NameScope::unique(llvm::StringRef wanted) {
  if (used.insert(wanted).second)
    return wanted.str();
  return numbered(wanted);
}

std::string NameScope::numbered(llvm::StringRef stem) {
  std::string name;
  do
    name = (stem + "_" + llvm::Twine(++counts[stem])).str();
  while (!used.insert(name).second);
  return name;
}

std::string quotedText(llvm::StringRef text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      (result += '\\') += char(c);
    else if (c == '\n')
      result += "\\n";
    else if (c < 32 || c == 127)
      result += "?";
    else
      result += char(c);
  }
  return result + "\"";
}

} // namespace cupel::compiler::standalone
