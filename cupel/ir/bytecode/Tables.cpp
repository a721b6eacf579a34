#include "cupel/ir/bytecode/Tables.h"

#include <algorithm>

using namespace cupel::bytecode;

namespace {
class TableReader {
public:
  TableReader(Bytes file, const Container &container, const Limits &limits, Tables &tables,
              Problem &problem)
      : file(file), container(container), limits(limits), tables(tables), problem(problem) {}

  bool read() {
    return readStrings() && readProperties() && readDialects() && readResources() && readOffsets();
  }

private:
  Cursor cursorAt(SectionId id) {
    const Section *section = container.find(id);
    return Cursor(file, section->begin, section->end, problem);
  }

  bool string(Cursor &cursor, std::string_view &value, const char *what) {
    uint64_t index;
    if (!cursor.index(index, tables.strings.size(), what))
      return false;
    value = tables.strings[index];
    return true;
  }

  bool readStrings();
  bool readProperties();
  bool readDialects();
  bool readResources();
  bool readResourceGroup(Cursor &offsets, Cursor &data, bool ofDialect);
  bool checkResource(Cursor entry, uint8_t kind);
  bool readOffsets();

  Bytes file;
  const Container &container;
  const Limits &limits;
  Tables &tables;
  Problem &problem;
};
} // namespace

// The sizes come first, the last string's first; then the strings with a zero byte after each.
bool TableReader::readStrings() {
  Cursor cursor = cursorAt(SectionId::String);
  uint64_t count;
  if (!cursor.count(count, "the number of strings", 2))
    return false;
  tables.strings.resize(count);
  size_t end = cursor.end();
  for (size_t i = count; i-- > 0;) {
    size_t at = cursor.offset();
    uint64_t size;
    if (!cursor.varint(size, "a string size"))
      return false;
    if (size == 0)
      return cursor.failAt(at, "a string of size 0 has no room for its zero byte");
    if (size > end - cursor.offset())
      return cursor.failAt(at, "string " + std::to_string(i) + " takes " + std::to_string(size) +
                                   " bytes, more than the string section has left");
    end -= size;
    if (file[end + size - 1] != 0)
      return cursor.failAt(end, "string " + std::to_string(i) + " does not end in a zero byte");
    tables.strings[i] = {reinterpret_cast<const char *>(file.data() + end), size - 1};
  }
  return cursor.offset() == end ||
         cursor.fail("bytes are left over between the string sizes and the strings");
}

bool TableReader::readProperties() {
  if (!container.find(SectionId::Properties))
    return true;
  Cursor cursor = cursorAt(SectionId::Properties);
  if (cursor.empty())
    return true;
  if (!cursor.count(tables.properties, "the number of properties"))
    return false;
  for (uint64_t i = 0; i < tables.properties; ++i) {
    uint64_t size;
    if (!cursor.varint(size, "a property size") || !cursor.skip(size, "a property"))
      return false;
  }
  return cursor.empty() || cursor.fail("bytes are left over after the properties");
}

bool TableReader::readDialects() {
  Cursor cursor = cursorAt(SectionId::Dialect);
  uint64_t count;
  if (!cursor.count(count, "the number of dialects"))
    return false;
  tables.dialects.resize(count);
  for (std::string_view &dialect : tables.dialects) {
    size_t at = cursor.offset();
    uint64_t index;
    bool hasVersion = false;
    if (container.version < kDialectVersioning
            ? !cursor.varint(index, "a dialect name")
            : !cursor.varintWithFlag(index, hasVersion, "a dialect name"))
      return false;
    if (!cursor.checkIndex(at, index, tables.strings.size(), "the string number of a dialect name"))
      return false;
    dialect = tables.strings[index];
    if (dialect.empty())
      return cursor.failAt(at, "a dialect has an empty name");
    if (hasVersion) {
      Section section;
      if (!readSection(cursor, limits, section))
        return false;
      if (section.id != SectionId::DialectVersions)
        return cursor.failAt(section.headerBegin,
                             "a dialect's version is not in a dialect version section");
    }
  }

  uint64_t announced = 0;
  if (container.version >= kElideUnknownBlockArgLocation &&
      !cursor.count(announced, "the number of operation names"))
    return false;
  while (!cursor.empty()) {
    uint64_t dialect, names;
    if (!cursor.index(dialect, tables.dialects.size(), "a dialect number") ||
        !cursor.count(names, "the number of operation names in a group"))
      return false;
    for (uint64_t i = 0; i < names; ++i) {
      size_t at = cursor.offset();
      uint64_t index;
      bool wasRegistered;
      if (container.version < kNativeProperties
              ? !cursor.varint(index, "an operation name")
              : !cursor.varintWithFlag(index, wasRegistered, "an operation name"))
        return false;
      if (!cursor.checkIndex(at, index, tables.strings.size(),
                             "the string number of an operation name"))
        return false;
      // MLIR would take the dialect's name for the operation's, without asking whether the dialect
      // is known.
      if (tables.strings[index].empty())
        return cursor.failAt(at, "an operation has an empty name");
    }
    tables.operationNames += names;
  }
  return true;
}

bool TableReader::readResources() {
  if (!container.find(SectionId::Resource))
    return true;
  Cursor offsets = cursorAt(SectionId::ResourceOffset);
  Cursor data = cursorAt(SectionId::Resource);
  uint64_t external;
  if (!offsets.count(external, "the number of external resource groups", 2))
    return false;
  for (uint64_t i = 0; i < external; ++i) {
    std::string_view key;
    if (!string(offsets, key, "the string number of a resource group's name") ||
        !readResourceGroup(offsets, data, /*ofDialect=*/false))
      return false;
  }
  while (!offsets.empty()) {
    uint64_t dialect;
    if (!offsets.index(dialect, tables.dialects.size(), "the dialect number of a resource group") ||
        !readResourceGroup(offsets, data, /*ofDialect=*/true))
      return false;
  }
  return data.empty() || data.fail("bytes are left over after the resources");
}

bool TableReader::readResourceGroup(Cursor &offsets, Cursor &data, bool ofDialect) {
  uint64_t count;
  if (!offsets.count(count, "the number of resources in a group", 3))
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view key;
    uint64_t size;
    uint8_t kind;
    size_t at = offsets.offset();
    if (!string(offsets, key, "the string number of a resource's name") ||
        !offsets.varint(size, "a resource size") || !offsets.byte(kind, "a resource kind"))
      return false;
    if (kind > 2)
      return offsets.failAt(at, "resource '" + std::string(key) + "' has the unknown kind " +
                                    std::to_string(kind));
    Cursor entry = data;
    if (!data.take(size, entry, "a resource"))
      return false;
    // An empty resource of a dialect only declares its name.
    bool declarationOnly = ofDialect && size == 0;
    if (!declarationOnly && !checkResource(entry, kind))
      return false;
  }
  if (ofDialect)
    tables.resourceHandles += count;
  return true;
}

bool TableReader::checkResource(Cursor entry, uint8_t kind) {
  enum { Blob = 0, Bool = 1, String = 2 };
  if (kind == Blob) {
    size_t at = entry.offset();
    uint64_t alignment, size;
    if (!entry.varint(alignment, "a resource alignment") ||
        !entry.varint(size, "a resource data size"))
      return false;
    if (!std::has_single_bit(alignment) || alignment > limits.alignment)
      return entry.failAt(at, "resource alignment " + std::to_string(alignment) +
                                  " is not a power of two up to " +
                                  std::to_string(limits.alignment));
    // The section carries the largest alignment inside it, so that its content can be moved as a
    // whole.
    uint64_t sectionAlignment =
        std::max<uint64_t>(1, container.find(SectionId::Resource)->alignment);
    if (alignment > sectionAlignment)
      return entry.failAt(at, "resource alignment " + std::to_string(alignment) +
                                  " is above the alignment " + std::to_string(sectionAlignment) +
                                  " of its section");
    while (entry.offset() % alignment != 0) {
      uint8_t padding;
      if (!entry.byte(padding, "resource padding"))
        return false;
      if (padding != kPaddingByte)
        return entry.failAt(entry.offset() - 1, "resource padding is not the byte 0xCB");
    }
    if (!entry.skip(size, "resource data"))
      return false;
  } else if (kind == Bool) {
    uint8_t value;
    if (!entry.byte(value, "a boolean resource"))
      return false;
  } else if (kind == String) {
    std::string_view value;
    if (!string(entry, value, "the string number of a resource"))
      return false;
  }
  return entry.empty() || entry.fail("bytes are left over after a resource");
}

bool TableReader::readOffsets() {
  Cursor cursor = cursorAt(SectionId::AttrTypeOffset);
  const Section *data = container.find(SectionId::AttrType);
  size_t next = data->begin;
  auto onLists = [&](uint64_t attributes, uint64_t types) {
    tables.attributes.reserve(attributes);
    tables.types.reserve(types);
    return true;
  };
  auto onEntry = [&](bool isType, uint64_t dialect, uint64_t size, bool custom) {
    if (size > data->end - next)
      return cursor.fail("an attribute or type of " + std::to_string(size) +
                         " bytes lies past the end of its section");
    (isType ? tables.types : tables.attributes)
        .push_back({uint32_t(dialect), custom, next, next + size});
    next += size;
    return true;
  };
  if (!walkOffsets(cursor, tables.dialects.size(), onLists, [](auto...) { return true; }, onEntry))
    return false;
  return next == data->end ||
         cursor.failAt(next, "bytes are left over after the last attribute or type");
}

bool cupel::bytecode::readTables(Bytes file, const Container &container, const Limits &limits,
                                 Tables &tables, Problem &problem) {
  return TableReader(file, container, limits, tables, problem).read();
}
