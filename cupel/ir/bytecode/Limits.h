// How much nesting and size the readers accept. MLIR's reader, parser, printer and verifier recurse
// over nested attributes, types and regions on the caller's stack, so these bounds are what keeps a
// hostile file from ending the process; they lie far above what compilers emit and far below what
// an 8 MiB stack holds.
#pragma once

#include <cstdint>

namespace cupel::bytecode {

struct Limits {
  /// Attributes and types inside each other, by bytecode references or textual aliases.
  unsigned attributeDepth = 1000;
  /// Attributes and types counted again at each place that refers to them: what printing one would
  /// walk through.
  uint64_t expandedSize = uint64_t(1) << 24;
  /// Regions inside each other in bytecode.
  unsigned regionDepth = 400;
  /// Open brackets inside each other in text.
  unsigned textDepth = 400;
  /// Operators of one affine map or set in text: their parser recurses over each.
  unsigned affineOperators = 1000;
  /// Widest integer type. MLIR itself allows 2^24 - 1 bits, which lets a few bytes ask for
  /// megabytes.
  uint64_t integerWidth = 4096;
  /// Longest number written out in text: reading one takes time quadratic in its length.
  uint64_t numberLength = 4096;
  /// Largest alignment that a section or a resource may ask for.
  uint64_t alignment = 4096;
};

} // namespace cupel::bytecode
