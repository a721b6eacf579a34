// The builtin dialect's part of Entries: what MLIR's constructors assert and its reader takes on
// trust.
#include "cupel/ir/bytecode/Entries.h"

#include <algorithm>

using namespace cupel::bytecode;

bool Entries::dictionary(Cursor &cursor, Info &info, unsigned depth) {
  uint64_t count;
  if (!cursor.count(count, "the number of named attributes", 2))
    return false;
  std::vector<std::string_view> names;
  names.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    size_t at = cursor.offset();
    uint64_t name, value;
    if (!stringAttribute(cursor, name, info, depth) ||
        !reference(cursor, /*isType=*/false, value, info, depth))
      return false;
    names.push_back(nameOf(name));
    if (names.back().empty())
      return cursor.failAt(at, "a named attribute has an empty name");
  }
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    return cursor.fail("attribute '" + std::string(*twice) + "' is in a dictionary twice");
  return true;
}

/// A tensor or vector type of known size.
bool Entries::staticShapedType(Cursor &cursor, uint64_t &type, Info &info, unsigned depth) {
  size_t at = cursor.offset();
  if (!reference(cursor, /*isType=*/true, type, info, depth))
    return false;
  const Info &shaped = types[type];
  if ((shaped.kind != Kind::Tensor && shaped.kind != Kind::Vector) || shaped.value == kUnknownSize)
    return cursor.failAt(at, "elements need a tensor or vector type of static shape, but type " +
                                 std::to_string(type) + " is none");
  return true;
}

bool Entries::dense(Cursor &cursor, Info &info, unsigned depth) {
  size_t at = cursor.offset();
  uint64_t type, size;
  if (!staticShapedType(cursor, type, info, depth) || !cursor.varint(size, "a data size"))
    return false;
  size_t dataBegin = cursor.offset();
  if (!cursor.skip(size, "the data of a dense attribute"))
    return false;
  uint64_t elements = types[type].value;
  uint64_t bits = storageBits(types[type].element);
  if (!bits)
    return cursor.failAt(at, "dense elements must be integers, floats or complex numbers");
  bool fits;
  if (bits == 1) {
    bool splat = size == 1 && (file[dataBegin] == 0 || file[dataBegin] == 0xFF) && elements != 0;
    fits = splat || size == elements / 8 + (elements % 8 != 0);
  } else {
    uint64_t bytes = bits / 8;
    fits = (size == bytes && elements != 0) || (size % bytes == 0 && size / bytes == elements);
  }
  return fits || cursor.failAt(at, "a dense attribute of " + std::to_string(elements) +
                                       " elements of " + std::to_string(bits) + " bits has " +
                                       std::to_string(size) + " bytes of data");
}

bool Entries::denseArray(Cursor &cursor, Info &info, unsigned depth) {
  size_t at = cursor.offset();
  uint64_t type, length, size;
  if (!reference(cursor, /*isType=*/true, type, info, depth) ||
      !cursor.varint(length, "an array length") || !cursor.varint(size, "a data size") ||
      !cursor.skip(size, "the data of an array"))
    return false;
  const Info &element = types[type];
  // One byte an element for i1, whole bytes for the others.
  uint64_t bits = element.kind == Kind::Index ? 64 : element.value == 1 ? 8 : element.value;
  if (!isScalar(type) || bits % 8 != 0)
    return cursor.failAt(at, "array elements must be i1, or integers or floats of whole bytes");
  uint64_t bytes = bits / 8;
  return (size % bytes == 0 && size / bytes == length) ||
         cursor.failAt(at, "an array of " + std::to_string(length) + " elements of " +
                               std::to_string(bytes) + " bytes has " + std::to_string(size) +
                               " bytes of data");
}

bool Entries::visitBuiltinAttribute(Cursor &cursor, Info &info, unsigned depth) {
  size_t at = cursor.offset();
  uint64_t code, index, number;
  if (!cursor.varint(code, "a builtin attribute's code"))
    return false;
  if (code > kFileLineColRange)
    return cursor.failAt(at, "builtin attribute code " + std::to_string(code) +
                                 " is newer than what can be read");
  info.code = uint8_t(code);
  switch (BuiltinAttribute(code)) {
  case kArrayAttr:
    return references(cursor, /*isType=*/false, info, depth, "the length of an array");
  case kDictionaryAttr:
    return dictionary(cursor, info, depth);
  case kStringAttr:
    return string(cursor, info.value);
  case kTypedStringAttr:
    return string(cursor, info.value) && reference(cursor, /*isType=*/true, index, info, depth);
  case kFlatSymbolRefAttr:
    return stringAttribute(cursor, index, info, depth);
  case kSymbolRefAttr:
    return stringAttribute(cursor, index, info, depth) &&
           references(cursor, /*isType=*/false, info, depth, "the number of nested symbols");
  case kTypeAttr:
    return reference(cursor, /*isType=*/true, index, info, depth);
  case kUnitAttr:
  case kUnknownLoc:
    return true;
  case kIntegerAttr: {
    if (!reference(cursor, /*isType=*/true, index, info, depth))
      return false;
    const Info &type = types[index];
    if (type.kind != Kind::Integer && type.kind != Kind::Index)
      return cursor.failAt(at, "an integer attribute whose type is not an integer");
    return integerOfWidth(cursor, type.kind == Kind::Index ? 64 : type.value);
  }
  case kFloatAttr: {
    if (!reference(cursor, /*isType=*/true, index, info, depth))
      return false;
    const Info &type = types[index];
    if (type.kind != Kind::Float)
      return cursor.failAt(at, "a float attribute whose type is not a float");
    return integerOfWidth(cursor, type.value);
  }
  case kCallSiteLoc:
    return location(cursor, info, depth) && location(cursor, info, depth);
  case kFileLineColLoc:
    return stringAttribute(cursor, index, info, depth) && cursor.varint(number, "a line") &&
           cursor.varint(number, "a column");
  case kFusedLoc:
  case kFusedLocWithMetadata: {
    uint64_t count;
    if (!cursor.count(count, "the number of fused locations"))
      return false;
    for (uint64_t i = 0; i < count; ++i)
      if (!location(cursor, info, depth))
        return false;
    return code == kFusedLoc || reference(cursor, /*isType=*/false, index, info, depth);
  }
  case kNameLoc:
    return stringAttribute(cursor, index, info, depth) && location(cursor, info, depth);
  case kDenseResourceAttr:
    return staticShapedType(cursor, index, info, depth) &&
           cursor.index(index, tables.resourceHandles, "a resource number");
  case kDenseArrayAttr:
    return denseArray(cursor, info, depth);
  case kDenseIntOrFPAttr:
    return dense(cursor, info, depth);
  case kDenseStringAttr: {
    uint64_t splat;
    if (!staticShapedType(cursor, index, info, depth) || !cursor.varint(splat, "a splat flag"))
      return false;
    uint64_t count = splat ? 1 : types[index].value;
    if (!cursor.checkCount(at, count, "the number of strings"))
      return false;
    for (uint64_t i = 0; i < count; ++i)
      if (!string(cursor, number))
        return false;
    return true;
  }
  case kSparseAttr:
    return cursor.failAt(at, "sparse elements are not supported; write them as dense elements");
  case kDistinctAttr:
    return reference(cursor, /*isType=*/false, index, info, depth);
  case kFileLineColRange: {
    rewrite = true;
    uint64_t count;
    if (!stringAttribute(cursor, index, info, depth) ||
        !cursor.count(count, "the size of a location range"))
      return false;
    if (count > 4)
      return cursor.failAt(at, "a location range of " + std::to_string(count) +
                                   " numbers; there are at most 4");
    for (uint64_t i = 0; i < count; ++i)
      if (!cursor.varint(number, "a line or column"))
        return false;
    return true;
  }
  }
  return true;
}

bool Entries::memRef(Cursor &cursor, Info &info, unsigned depth, bool hasSpace) {
  size_t at = cursor.offset();
  uint64_t space, element, layout;
  if (hasSpace && !reference(cursor, /*isType=*/false, space, info, depth))
    return false;
  if (!shape(cursor, info, /*positive=*/false, /*dynamic=*/true) ||
      !reference(cursor, /*isType=*/true, element, info, depth) ||
      !reference(cursor, /*isType=*/false, layout, info, depth))
    return false;
  info.kind = Kind::MemRef;
  info.element = uint32_t(element);
  Kind kind = types[element].kind;
  if (!isScalar(element) && kind != Kind::Complex && kind != Kind::Vector && kind != Kind::MemRef &&
      kind != Kind::UnrankedMemRef)
    return cursor.failAt(at,
                         "a memref of type " + std::to_string(element) + ", which it cannot hold");
  // Layouts are written as text: an affine map of as many dimensions, or strides for as many.
  if (attributes[layout].code != kTextCode)
    return cursor.failAt(at, "a memref layout that is not in text form");
  std::string_view spelled = text(tables.attributes[layout]);
  uint64_t rank = 0;
  char close;
  if (spelled.starts_with("affine_map<("))
    close = ')', spelled.remove_prefix(sizeof("affine_map<(") - 1);
  else if (spelled.starts_with("strided<["))
    close = ']', spelled.remove_prefix(sizeof("strided<[") - 1);
  else
    return cursor.failAt(at, "a memref layout that is neither an affine map nor strides");
  spelled = spelled.substr(0, spelled.find(close));
  if (spelled.find_first_not_of(' ') != std::string_view::npos)
    rank = 1 + std::count(spelled.begin(), spelled.end(), ',');
  return rank == info.rank ||
         cursor.failAt(at, "a memref of rank " + std::to_string(info.rank) +
                               " has a layout for rank " + std::to_string(rank));
}

bool Entries::visitBuiltinType(Cursor &cursor, Info &info, unsigned depth) {
  enum {
    Integer = 0,
    Index = 1,
    Function = 2,
    BF16 = 3,
    F16 = 4,
    F32 = 5,
    F64 = 6,
    F80 = 7,
    F128 = 8,
    Complex = 9,
    MemRef = 10,
    MemRefWithSpace = 11,
    None = 12,
    Tensor = 13,
    TensorWithEncoding = 14,
    Tuple = 15,
    UnrankedMemRef = 16,
    UnrankedMemRefWithSpace = 17,
    UnrankedTensor = 18,
    Vector = 19,
    ScalableVector = 20,
  };
  size_t at = cursor.offset();
  uint64_t code, index;
  if (!cursor.varint(code, "a builtin type's code"))
    return false;
  if (code >= kFirstNewFloat) {
    if (code - kFirstNewFloat >= std::size(kNewFloats))
      return cursor.failAt(at, "builtin type code " + std::to_string(code) +
                                   " is newer than what can be read");
    const NewFloat &type = kNewFloats[code - kFirstNewFloat];
    rewrite = true;
    // What stands for a type that MLIR lacks can be in tensors, but in nothing that needs a float.
    info.kind = type.known ? Kind::Float : Kind::Opaque;
    info.value = type.width;
    return true;
  }
  auto element = [&](Kind kind) {
    info.kind = kind;
    if (!reference(cursor, /*isType=*/true, index, info, depth))
      return false;
    info.element = uint32_t(index);
    return true;
  };
  auto canBeInTensor = [&]() {
    Kind kind = types[index].kind;
    return isScalar(index) || kind == Kind::Complex || kind == Kind::Vector ||
           kind == Kind::Opaque ||
           cursor.failAt(at,
                         "a tensor of type " + std::to_string(index) + ", which it cannot hold");
  };
  switch (code) {
  case Integer: {
    if (!cursor.varint(index, "an integer type"))
      return false;
    info.kind = Kind::Integer;
    info.value = index >> 2;
    if (info.value == 0 || info.value > limits.integerWidth)
      return cursor.failAt(at, "an integer type of " + std::to_string(info.value) + " bits; 1 to " +
                                   std::to_string(limits.integerWidth) + " are supported");
    return (index & 3) != 3 || cursor.failAt(at, "an integer type of unknown signedness");
  }
  case Index:
    info.kind = Kind::Index;
    return true;
  case Function:
    info.kind = Kind::Function;
    return references(cursor, /*isType=*/true, info, depth, "the number of inputs") &&
           references(cursor, /*isType=*/true, info, depth, "the number of results");
  case BF16:
  case F16:
  case F32:
  case F64:
  case F80:
  case F128: {
    static constexpr unsigned widths[] = {16, 16, 32, 64, 80, 128};
    info.kind = Kind::Float;
    info.value = widths[code - BF16];
    return true;
  }
  case Complex:
    if (!element(Kind::Complex))
      return false;
    return (isScalar(index) && types[index].kind != Kind::Index) ||
           cursor.failAt(at, "complex numbers need integer or float parts");
  case MemRef:
  case MemRefWithSpace:
    return memRef(cursor, info, depth, code == MemRefWithSpace);
  case None:
    info.kind = Kind::None;
    return true;
  case Tensor:
  case TensorWithEncoding:
    if (code == TensorWithEncoding && !reference(cursor, /*isType=*/false, index, info, depth))
      return false;
    return shape(cursor, info, /*positive=*/false, /*dynamic=*/true) && element(Kind::Tensor) &&
           canBeInTensor();
  case Tuple:
    info.kind = Kind::Tuple;
    return references(cursor, /*isType=*/true, info, depth, "the number of tuple elements");
  case UnrankedMemRef:
  case UnrankedMemRefWithSpace:
    if (code == UnrankedMemRefWithSpace && !reference(cursor, /*isType=*/false, index, info, depth))
      return false;
    info.value = kUnknownSize;
    return element(Kind::UnrankedMemRef) && canBeInTensor();
  case UnrankedTensor:
    info.value = kUnknownSize;
    return element(Kind::UnrankedTensor) && canBeInTensor();
  case Vector:
  case ScalableVector: {
    uint64_t flags = 0;
    if (code == ScalableVector && (!cursor.count(flags, "the number of scalable flags") ||
                                   !cursor.skip(flags, "scalable flags")))
      return false;
    if (!shape(cursor, info, /*positive=*/true, /*dynamic=*/false) || !element(Kind::Vector))
      return false;
    if (code == ScalableVector && flags != info.rank)
      return cursor.failAt(at, "a vector of rank " + std::to_string(info.rank) + " has " +
                                   std::to_string(flags) + " scalable flags");
    return isScalar(index) || cursor.failAt(at, "vectors hold integers, floats and indices only");
  }
  }
  return true;
}
