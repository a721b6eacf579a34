// The table of all vhlo operations: names, versions, operands, attributes, regions and results. It
// is generated from the definition of the stablehlo dialect (GenerateOpTable.py) and is the only
// place that knows the operations; registration, verification, bytecode and the conversions read
// it. It must never be edited by hand.
#pragma once

#include "cupel/ir/vhlo/Version.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace cupel::vhlo {

/// An operand, result or region list of an operation. At most one region or result entry of an
/// operation is variadic; operands may have several, their split is known to stablehlo alone.
struct Slot {
  llvm::StringLiteral name;
  bool variadic = false;
};

/// What an attribute's absence in stablehlo means, and the value it gets when a revision adds it.
/// Defaults.h makes and recognises the values.
enum class Default : uint8_t {
  Required,
  DefaultAccuracy,
  DefaultPrecision,
  EmptyArray,
  EmptyBackendConfig,
  EmptyDictionary,
  EmptyDims,
  EmptyString,
  False,
  MinusOne,
  NoneType,
  NoReversal,
  NoType,
  Ones,
  OriginalApi,
  Zero,
  ZeroPadding,
};

struct AttributeSlot {
  llvm::StringLiteral name;
  Default missing;
};

struct OpInfo {
  /// Without the dialect: "gather_v2".
  llvm::StringLiteral name;
  /// The operation of the stablehlo (or func) dialect this is a version of: "gather".
  llvm::StringLiteral base;
  /// 1 for `_v1`, and so on.
  unsigned revision;
  Version since;
  /// The last version that has this operation; kCurrentVersion if it still exists.
  Version until;
  llvm::ArrayRef<Slot> operands;
  /// In alphabetical order, which is the order of their encoding. All are always present.
  llvm::ArrayRef<AttributeSlot> attributes;
  llvm::ArrayRef<Slot> regions;
  llvm::ArrayRef<Slot> results;
  /// Since when results may have another element type than operands; 0.0.0 if that is not newer.
  Version promotesSince;

  /// The position of an attribute, or -1.
  int attributeIndex(llvm::StringRef attribute) const;
  bool existsIn(Version version) const {
    return since <= version.withoutPatch() && version.withoutPatch() <= until;
  }
};

/// All operations, sorted by name.
llvm::ArrayRef<OpInfo> allOps();

/// The entry of "gather_v2", or null.
const OpInfo *findOp(llvm::StringRef name);

/// The newest (or, with an older `revision`, that) form of "gather", or null.
const OpInfo *findRevision(llvm::StringRef base, unsigned revision);
const OpInfo *newestRevision(llvm::StringRef base);

} // namespace cupel::vhlo
