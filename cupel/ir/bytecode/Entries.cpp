#include "cupel/ir/bytecode/Entries.h"

#include "cupel/ir/bytecode/DialectEncodings.h"
#include "cupel/ir/bytecode/TextFloats.h"
#include "cupel/ir/bytecode/TextGuard.h"

#include <algorithm>
#include <limits>

using namespace cupel::bytecode;

Entries::Entries(Bytes file, const Tables &tables, const Limits &limits, Problem &problem)
    : file(file), tables(tables), limits(limits), problem(problem),
      attributes(tables.attributes.size()), types(tables.types.size()) {}

bool Entries::check() {
  for (size_t i = 0; i < types.size(); ++i)
    if (!visit(/*isType=*/true, i, 1))
      return false;
  for (size_t i = 0; i < attributes.size(); ++i)
    if (!visit(/*isType=*/false, i, 1))
      return false;
  return true;
}

bool Entries::maybeLocation(uint64_t index) const {
  uint8_t code = attributes[index].code;
  return (code >= kCallSiteLoc && code <= kUnknownLoc) || code == kFileLineColRange ||
         code >= kTextCode;
}

bool Entries::maybeDictionary(uint64_t index) const {
  uint8_t code = attributes[index].code;
  return code == kDictionaryAttr || code == kTextCode;
}

std::string_view Entries::text(const Entry &entry) const {
  return {reinterpret_cast<const char *>(file.data()) + entry.begin, entry.end - entry.begin - 1};
}

// Depth counts from the entry that the walk began at, which finds every chain that is too long: the
// check visits all entries, and an entry that is done carries the depth below it.
bool Entries::visit(bool isType, uint64_t index, unsigned depth) {
  const Entry &entry = (isType ? tables.types : tables.attributes)[index];
  Info &info = (isType ? types : attributes)[index];
  Cursor cursor(file, entry.begin, entry.end, problem);
  const char *noun = isType ? "type " : "attribute ";
  if (info.state == State::Done)
    return true;
  if (info.state == State::Open)
    return cursor.fail(noun + std::to_string(index) + " contains itself");
  if (depth > limits.attributeDepth)
    return cursor.fail("attributes and types are nested more than " +
                       std::to_string(limits.attributeDepth) + " deep");
  info.state = State::Open;
  info.expanded = 1;

  if (!entry.custom) {
    if (!visitText(isType, entry, info))
      return false;
  } else {
    std::string_view dialect = tables.dialects[entry.dialect];
    bool opaque = false;
    if (dialect == "builtin") {
      if (!(isType ? visitBuiltinType(cursor, info, depth)
                   : visitBuiltinAttribute(cursor, info, depth)))
        return false;
    } else {
      uint64_t code;
      if (!cursor.varint(code, isType ? "a type's code" : "an attribute's code"))
        return false;
      const char *pattern = isType ? typePattern(dialect, code) : attributePattern(dialect, code);
      opaque = !pattern;
      if (pattern && !visitPattern(cursor, pattern, info, depth))
        return false;
    }
    if (!opaque && !cursor.empty())
      return cursor.fail("bytes are left over in " + std::string(noun) + std::to_string(index) +
                         " of dialect '" + std::string(dialect) + "'");
  }

  if (info.depth + 1 > limits.attributeDepth)
    return cursor.fail("attributes and types are nested more than " +
                       std::to_string(limits.attributeDepth) + " deep");
  ++info.depth;
  if (info.expanded > limits.expandedSize)
    return cursor.failAt(entry.begin, noun + std::to_string(index) + " expands to more than " +
                                          std::to_string(limits.expandedSize) + " parts");
  info.state = State::Done;
  return true;
}

bool Entries::visitText(bool isType, const Entry &entry, Info &info) {
  Cursor cursor(file, entry.begin, entry.end, problem);
  std::string_view whole;
  if (!cursor.zeroTerminated(whole, isType ? "a type in text form" : "an attribute in text form"))
    return false;
  if (!cursor.empty())
    return cursor.fail("bytes are left over after an attribute or type in text form");
  TextProblem found = checkText(whole, limits);
  if (found.found())
    return cursor.failAt(entry.begin + found.offset, found.what);
  info.code = kTextCode;
  info.kind = Kind::Text;
  rewrite |= spellRareFloats(whole).has_value();
  if (isType) {
    for (const NewFloat &type : kNewFloats) {
      if (whole != type.name)
        continue;
      info.kind = type.known ? Kind::Float : Kind::Opaque;
      info.value = type.width;
    }
    if (whole.starts_with('!'))
      info.kind = Kind::Opaque;
  }
  return true;
}

bool Entries::refer(size_t at, Cursor &cursor, bool isType, uint64_t index, Info &parent,
                    unsigned depth) {
  if (!cursor.checkIndex(at, index, (isType ? types : attributes).size(),
                         isType ? "a type number" : "an attribute number"))
    return false;
  if (!visit(isType, index, depth + 1))
    return false;
  const Info &child = (isType ? types : attributes)[index];
  parent.depth = std::max(parent.depth, child.depth);
  parent.expanded = std::min(parent.expanded + child.expanded, uint64_t(1) << 62);
  return true;
}

bool Entries::reference(Cursor &cursor, bool isType, uint64_t &index, Info &parent,
                        unsigned depth) {
  size_t at = cursor.offset();
  return cursor.varint(index, isType ? "a type number" : "an attribute number") &&
         refer(at, cursor, isType, index, parent, depth);
}

bool Entries::references(Cursor &cursor, bool isType, Info &parent, unsigned depth,
                         const char *what) {
  uint64_t count, index;
  if (!cursor.count(count, what))
    return false;
  for (uint64_t i = 0; i < count; ++i)
    if (!reference(cursor, isType, index, parent, depth))
      return false;
  return true;
}

bool Entries::string(Cursor &cursor, uint64_t &index) {
  return cursor.index(index, tables.strings.size(), "a string number");
}

bool Entries::location(Cursor &cursor, Info &parent, unsigned depth) {
  size_t at = cursor.offset();
  uint64_t index;
  if (!reference(cursor, /*isType=*/false, index, parent, depth))
    return false;
  return maybeLocation(index) ||
         cursor.failAt(at, "attribute " + std::to_string(index) + " is not a location");
}

bool Entries::stringAttribute(Cursor &cursor, uint64_t &index, Info &parent, unsigned depth) {
  size_t at = cursor.offset();
  if (!reference(cursor, /*isType=*/false, index, parent, depth))
    return false;
  uint8_t code = attributes[index].code;
  return code == kStringAttr || code == kTypedStringAttr || code == kTextCode ||
         cursor.failAt(at, "attribute " + std::to_string(index) + " is not a string");
}

std::string_view Entries::nameOf(uint64_t stringAttribute) const {
  const Info &info = attributes[stringAttribute];
  return info.code == kTextCode ? text(tables.attributes[stringAttribute])
                                : tables.strings[info.value];
}

/// Reads a shape into `info.value` (number of elements) and `info.rank`.
bool Entries::shape(Cursor &cursor, Info &info, bool positive, bool dynamic) {
  uint64_t rank;
  if (!cursor.count(rank, "the number of dimensions"))
    return false;
  constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();
  int64_t product = 1;
  bool isStatic = true, isEmpty = false;
  for (uint64_t i = 0; i < rank; ++i) {
    size_t at = cursor.offset();
    int64_t dimension;
    if (!cursor.signedVarint(dimension, "a dimension"))
      return false;
    if (dimension == kDynamic && dynamic) {
      isStatic = false;
      continue;
    }
    if (dimension < int64_t(positive))
      return cursor.failAt(at, "a dimension of size " + std::to_string(dimension));
    if (dimension == 0)
      isEmpty = true;
    else if (__builtin_mul_overflow(product, dimension, &product))
      return cursor.failAt(at, "the shape has more than 2^63 elements");
  }
  info.rank = uint32_t(rank);
  info.value = !isStatic ? kUnknownSize : isEmpty ? 0 : uint64_t(product);
  return true;
}

// The encodings of MLIR's readAPIntWithKnownWidth.
bool Entries::integerOfWidth(Cursor &cursor, uint64_t width) {
  uint8_t small;
  uint64_t value;
  if (width <= 8)
    return cursor.byte(small, "a value");
  if (width <= 64)
    return cursor.varint(value, "a value");
  uint64_t words;
  if (!cursor.count(words, "the number of words of a value"))
    return false;
  for (uint64_t i = 0; i < words; ++i)
    if (!cursor.varint(value, "a value"))
      return false;
  return true;
}

bool Entries::isScalar(uint64_t type) const {
  Kind kind = types[type].kind;
  return kind == Kind::Integer || kind == Kind::Index || kind == Kind::Float;
}

uint64_t Entries::storageBits(uint64_t type) const {
  const Info &info = types[type];
  auto wholeBytes = [](uint64_t bits) { return (bits + 7) / 8 * 8; };
  switch (info.kind) {
  case Kind::Opaque: // Of floats that MLIR 19 lacks the width is known.
  case Kind::Integer:
  case Kind::Float:
    return info.value == 1 ? 1 : wholeBytes(info.value);
  case Kind::Index:
    return 64;
  case Kind::Complex: {
    const Info &part = types[info.element];
    return 2 * (part.kind == Kind::Index ? 64 : wholeBytes(part.value));
  }
  default:
    return 0;
  }
}

bool Entries::visitPattern(Cursor &cursor, const char *&pattern, Info &info, unsigned depth) {
  for (; *pattern && *pattern != ']'; ++pattern) {
    uint64_t index;
    int64_t number;
    uint8_t small;
    size_t at = cursor.offset();
    switch (*pattern) {
    case 'a':
    case 't':
      if (!reference(cursor, *pattern == 't', index, info, depth))
        return false;
      break;
    case 'o': {
      bool present;
      if (!cursor.varintWithFlag(index, present, "an optional attribute"))
        return false;
      if (present && !refer(at, cursor, /*isType=*/false, index, info, depth))
        return false;
      break;
    }
    case 's':
      if (!string(cursor, index))
        return false;
      break;
    case 'v':
      if (!cursor.varint(index, "a number"))
        return false;
      break;
    case 'z':
      if (!cursor.signedVarint(number, "a number"))
        return false;
      break;
    case 'b':
      if (!cursor.byte(small, "a flag"))
        return false;
      break;
    case 'c':
    case 'C':
      if (*pattern == 'c' ? !cursor.byte(small, "a flag") : !cursor.varint(index, "a flag"))
        return false;
      if ((*pattern == 'c' ? small : index) &&
          !reference(cursor, /*isType=*/false, index, info, depth))
        return false;
      break;
    case 'd':
      if (!cursor.varint(index, "a data size") || !cursor.skip(index, "the data of an attribute"))
        return false;
      break;
    case 'S':
      if (!shape(cursor, info, /*positive=*/false, /*dynamic=*/true))
        return false;
      break;
    case '*':
      if (!cursor.skip(cursor.remaining(), "an attribute"))
        return false;
      break;
    case '[': {
      if (!cursor.count(index, "the length of a list"))
        return false;
      const char *body = pattern + 1;
      pattern = body;
      for (uint64_t i = 0; i < index; ++i) {
        pattern = body;
        if (!visitPattern(cursor, pattern, info, depth))
          return false;
      }
      while (*pattern != ']')
        ++pattern;
      break;
    }
    }
  }
  return true;
}
