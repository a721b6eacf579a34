// Checks every attribute and type entry of a bytecode file: that what it refers to exists, that
// nothing contains itself, that nesting and expanded size stay within limits, and that builtin
// attributes and types hold what MLIR's constructors take for granted (they check nothing in a
// build without assertions). The IR check asks it what an entry is.
#pragma once

#include "cupel/ir/bytecode/FloatTypes.h"
#include "cupel/ir/bytecode/Tables.h"

namespace cupel::bytecode {

/// Codes of builtin attributes that other files speak of.
enum BuiltinAttribute : uint64_t {
  kArrayAttr = 0,
  kDictionaryAttr = 1,
  kStringAttr = 2,
  kTypedStringAttr = 3,
  kFlatSymbolRefAttr = 4,
  kSymbolRefAttr = 5,
  kTypeAttr = 6,
  kUnitAttr = 7,
  kIntegerAttr = 8,
  kFloatAttr = 9,
  kCallSiteLoc = 10,
  kFileLineColLoc = 11,
  kFusedLoc = 12,
  kFusedLocWithMetadata = 13,
  kNameLoc = 14,
  kUnknownLoc = 15,
  kDenseResourceAttr = 16,
  kDenseArrayAttr = 17,
  kDenseIntOrFPAttr = 18,
  kDenseStringAttr = 19,
  kSparseAttr = 20,
  kDistinctAttr = 21,
  kFileLineColRange = 22,
};

class Entries {
public:
  Entries(Bytes file, const Tables &tables, const Limits &limits, Problem &problem);

  /// Checks all entries.
  bool check();

  /// Whether attribute `index` may be a location or a dictionary (text may be either; MLIR looks at
  /// it).
  bool maybeLocation(uint64_t index) const;
  bool maybeDictionary(uint64_t index) const;

  /// Whether any entry has to be rewritten before MLIR 19 can read it.
  bool needsRewrite() const { return rewrite; }

private:
  enum class Kind : uint8_t {
    Opaque,
    Text,
    Integer,
    Index,
    Float,
    Complex,
    None,
    Function,
    Tuple,
    Tensor,
    UnrankedTensor,
    MemRef,
    UnrankedMemRef,
    Vector,
  };
  enum class State : uint8_t { New, Open, Done };

  /// What is known of an entry once it is checked.
  struct Info {
    State state = State::New;
    /// Of types only.
    Kind kind = Kind::Opaque;
    /// Of attributes only: a builtin code, or one of these two.
    uint8_t code = kOpaqueCode;
    uint32_t depth = 0;
    uint64_t expanded = 0;
    /// Integers, floats: bits, also of floats that MLIR 19 lacks, which are opaque. String
    /// attributes: number of the string. Shaped types: number of elements, or `kUnknownSize`.
    uint64_t value = 0;
    /// Shaped and complex types: the element type. Their rank.
    uint32_t element = 0;
    uint32_t rank = 0;
  };
  static constexpr uint8_t kOpaqueCode = 255;
  static constexpr uint8_t kTextCode = 254;
  static constexpr uint64_t kUnknownSize = ~uint64_t(0);

  bool visit(bool isType, uint64_t index, unsigned depth);
  bool visitText(bool isType, const Entry &entry, Info &info);
  bool visitPattern(Cursor &cursor, const char *&pattern, Info &info, unsigned depth);
  bool visitBuiltinAttribute(Cursor &cursor, Info &info, unsigned depth);
  bool visitBuiltinType(Cursor &cursor, Info &info, unsigned depth);

  bool reference(Cursor &cursor, bool isType, uint64_t &index, Info &parent, unsigned depth);
  bool refer(size_t at, Cursor &cursor, bool isType, uint64_t index, Info &parent, unsigned depth);
  bool references(Cursor &cursor, bool isType, Info &parent, unsigned depth, const char *what);
  bool location(Cursor &cursor, Info &parent, unsigned depth);
  bool stringAttribute(Cursor &cursor, uint64_t &index, Info &parent, unsigned depth);
  bool string(Cursor &cursor, uint64_t &index);
  bool shape(Cursor &cursor, Info &info, bool positive, bool dynamic);
  bool integerOfWidth(Cursor &cursor, uint64_t width);
  bool dictionary(Cursor &cursor, Info &info, unsigned depth);
  bool dense(Cursor &cursor, Info &info, unsigned depth);
  bool denseArray(Cursor &cursor, Info &info, unsigned depth);
  bool staticShapedType(Cursor &cursor, uint64_t &type, Info &info, unsigned depth);
  bool memRef(Cursor &cursor, Info &info, unsigned depth, bool hasSpace);

  bool isScalar(uint64_t type) const;
  /// Bits of one element in dense data, or 0 where dense data cannot hold such elements.
  uint64_t storageBits(uint64_t type) const;
  std::string_view text(const Entry &entry) const;
  std::string_view nameOf(uint64_t stringAttribute) const;

  Bytes file;
  const Tables &tables;
  const Limits &limits;
  Problem &problem;
  std::vector<Info> attributes;
  std::vector<Info> types;
  bool rewrite = false;
};

} // namespace cupel::bytecode
