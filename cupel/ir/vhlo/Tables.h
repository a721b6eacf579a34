// The codes, names and first versions of vhlo types and attributes, and the keywords of its
// enumerations. Text, bytecode and version checks are written against these tables alone.
#pragma once

#include "cupel/ir/vhlo/Version.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"

namespace cupel::vhlo {

/// Numbers are those of the encoding and never change.
enum class TypeCode : uint8_t {
  Bool = 0,
  Complex = 1,
  BF16 = 2,
  F16 = 3,
  F32 = 4,
  F64 = 5,
  F8E4M3FN = 6,
  F8E5M2 = 7,
  Function = 8,
  Index = 9,
  SI4 = 10,
  SI8 = 11,
  SI16 = 12,
  SI32 = 13,
  SI64 = 14,
  UI4 = 15,
  UI8 = 16,
  UI16 = 17,
  UI32 = 18,
  UI64 = 19,
  RankedTensor = 20,
  RankedTensorWithEncoding = 21,
  Token = 22,
  Tuple = 23,
  Quantized = 24,
  UnrankedTensor = 25,
  Witness = 26,
  F8E4M3FNUZ = 27,
  F8E5M2FNUZ = 28,
  F8E4M3B11FNUZ = 29,
  QuantizedPerAxis = 30,
  SI2 = 31,
  UI2 = 32,
  None = 33,
  TF32 = 34,
  F8E4M3 = 35,
  F8E3M4 = 36,
  F4E2M1FN = 37,
  F6E2M3FN = 38,
  F6E3M2FN = 39,
  F8E8M0FNU = 40,
  RankedBuffer = 41,
  Future = 42,
};

enum class AttrCode : uint8_t {
  Array = 1,
  Boolean = 2,
  ComparisonDirection = 3,
  ComparisonType = 4,
  CustomCallApiVersion = 5,
  Dictionary = 6,
  FftType = 7,
  Float = 8,
  Integer = 9,
  OutputOperandAlias = 10,
  Precision = 11,
  RngAlgorithm = 12,
  RngDistribution = 13,
  String = 14,
  Tensor = 15,
  Transpose = 16,
  Type = 17,
  TypeExtensions = 18,
  ResultAccuracyMode = 19,
  ResultAccuracy = 20,
  SubAxisInfo = 21,
  AxisRef = 22,
  ReplicaGroupMeshAxes = 23,
  MeshAxis = 24,
  Mesh = 25,
};

inline llvm::hash_code hash_value(TypeCode code) { return llvm::hash_value(unsigned(code)); }
inline llvm::hash_code hash_value(AttrCode code) { return llvm::hash_value(unsigned(code)); }

/// What a type's bits are; Structured types have parameters, Opaque ones have no bits.
enum class ScalarKind : uint8_t { Structured, Opaque, Boolean, Index, Signed, Unsigned, Float };

struct TypeInfo {
  TypeCode code;
  /// As in `!vhlo.f32_v1`.
  llvm::StringLiteral mnemonic;
  Version since;
  ScalarKind kind;
  /// Bits of one value of a scalar type, 0 otherwise.
  unsigned width;
};

struct AttrInfo {
  AttrCode code;
  llvm::StringLiteral mnemonic;
  Version since;
  /// The keywords of an enumeration by number; an empty keyword is a number that does not exist.
  llvm::ArrayRef<llvm::StringLiteral> keywords;
};

/// Null if no type or attribute has this code or mnemonic.
const TypeInfo *findType(uint64_t code);
const TypeInfo *findType(llvm::StringRef mnemonic);
const AttrInfo *findAttr(uint64_t code);
const AttrInfo *findAttr(llvm::StringRef mnemonic);

inline const TypeInfo &infoOf(TypeCode code) { return *findType(uint64_t(code)); }
inline const AttrInfo &infoOf(AttrCode code) { return *findAttr(uint64_t(code)); }

} // namespace cupel::vhlo
