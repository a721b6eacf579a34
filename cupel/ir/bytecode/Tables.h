// The tables of a bytecode file that its IR refers to by number: strings, dialects, operation
// names, attribute and type entries, resources and properties. Reading them checks them; what an
// attribute or type entry holds is checked by Entries.h. Names are views into the file.
#pragma once

#include "cupel/ir/bytecode/Container.h"

namespace cupel::bytecode {

/// Where one attribute or type is encoded.
struct Entry {
  uint32_t dialect = 0;
  /// Encoded by its dialect; otherwise it is text with a zero byte at the end.
  bool custom = false;
  size_t begin = 0;
  size_t end = 0;
};

struct Tables {
  std::vector<std::string_view> strings;
  std::vector<std::string_view> dialects;
  uint64_t operationNames = 0;
  std::vector<Entry> attributes;
  std::vector<Entry> types;
  /// Number of resources that attributes can refer to.
  uint64_t resourceHandles = 0;
  uint64_t properties = 0;
};

bool readTables(Bytes file, const Container &container, const Limits &limits, Tables &tables,
                Problem &problem);

/// Calls `onGroup(dialect, count)` and `onEntry(size, custom)` for the two lists of the attribute
/// and type offset section, attributes first. `onLists(attributes, types)` comes before all. Each
/// returns false to stop.
template <typename OnLists, typename OnGroup, typename OnEntry>
bool walkOffsets(Cursor &cursor, uint64_t dialects, OnLists onLists, OnGroup onGroup,
                 OnEntry onEntry) {
  uint64_t numbers[2];
  if (!cursor.count(numbers[0], "the number of attributes") ||
      !cursor.count(numbers[1], "the number of types"))
    return false;
  if (!onLists(numbers[0], numbers[1]))
    return false;
  for (bool isType : {false, true}) {
    uint64_t left = numbers[isType];
    while (left) {
      uint64_t dialect, count;
      if (!cursor.index(dialect, dialects, "a dialect number"))
        return false;
      size_t at = cursor.offset();
      if (!cursor.count(count, isType ? "the number of types in a group"
                                      : "the number of attributes in a group"))
        return false;
      if (count > left)
        return cursor.failAt(at, "a group of " + std::to_string(count) +
                                     (isType ? " types" : " attributes") + " where only " +
                                     std::to_string(left) + " are left");
      if (!onGroup(isType, dialect, count))
        return false;
      left -= count;
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t size;
        bool custom;
        if (!cursor.varintWithFlag(size, custom, "an entry size") ||
            !onEntry(isType, dialect, size, custom))
          return false;
      }
    }
  }
  return cursor.empty() || cursor.fail("bytes are left over after the attribute and type sizes");
}

} // namespace cupel::bytecode
