// The outermost layer of MLIR bytecode: magic bytes, version, producer and sections. The guard and
// the rewriter read a file through this; it looks at no section's content.
#pragma once

#include "cupel/ir/bytecode/Cursor.h"
#include "cupel/ir/bytecode/Limits.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace cupel::bytecode {

enum class SectionId : uint8_t {
  String = 0,
  Dialect = 1,
  AttrType = 2,
  AttrTypeOffset = 3,
  IR = 4,
  Resource = 5,
  ResourceOffset = 6,
  DialectVersions = 7,
  Properties = 8,
};
inline constexpr unsigned kSectionCount = 9;
const char *name(SectionId id);

/// Versions of the format in which something changed.
inline constexpr uint64_t kDialectVersioning = 1;
inline constexpr uint64_t kLazyLoading = 2;
inline constexpr uint64_t kUseListOrdering = 3;
inline constexpr uint64_t kElideUnknownBlockArgLocation = 4;
inline constexpr uint64_t kNativeProperties = 5;
inline constexpr uint64_t kNewestVersion = 6;

inline constexpr uint8_t kPaddingByte = 0xCB;

struct Section {
  SectionId id = SectionId::String;
  /// Zero where the section asks for none.
  uint64_t alignment = 0;
  size_t headerBegin = 0;
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
};

struct Container {
  uint64_t version = 0;
  std::string_view producer;
  /// Where the first section begins.
  size_t headerEnd = 0;
  /// In the order of the file.
  std::vector<Section> sections;
  /// Largest alignment of any section: what the memory that holds the file must be aligned to.
  uint64_t alignment = 1;

  const Section *find(SectionId id) const;
};

/// Whether `bytes` begin as MLIR bytecode does.
bool isBytecode(Bytes bytes);

/// Reads one section header and skips its content. Offsets in the file stand for addresses: MLIR
/// demands memory aligned to the largest alignment in use.
bool readSection(Cursor &cursor, const Limits &limits, Section &section);

/// Reads the header and finds all sections; false with a problem if any is malformed, missing or
/// there twice.
bool readContainer(Bytes file, const Limits &limits, Container &container, Problem &problem);

} // namespace cupel::bytecode
