#include "cupel/ir/bytecode/Locations.h"

#include "cupel/ir/bytecode/Entries.h"

using namespace cupel::bytecode;

void cupel::bytecode::appendVarint(std::vector<uint8_t> &out, uint64_t value) {
  unsigned bits = 64 - std::countl_zero(value | 1);
  unsigned extra = (bits - 1) / 7;
  if (extra > 7) {
    out.push_back(0);
    for (unsigned i = 0; i < 8; ++i)
      out.push_back(uint8_t(value >> (8 * i)));
    return;
  }
  uint64_t encoded = (value << (extra + 1)) | (uint64_t(1) << extra);
  for (unsigned i = 0; i <= extra; ++i)
    out.push_back(uint8_t(encoded >> (8 * i)));
}

// A range is a file name and a list: nothing, a line, a line and a column, or these and where it
// ends.
std::optional<std::vector<uint8_t>> cupel::bytecode::pointLocation(Bytes file, const Tables &tables,
                                                                   const Entry &attribute) {
  if (!attribute.custom || tables.dialects[attribute.dialect] != "builtin")
    return std::nullopt;
  Problem problem;
  Cursor cursor(file, attribute.begin, attribute.end, problem);
  uint64_t code, fileName, count;
  if (!cursor.varint(code, "code") || code != kFileLineColRange ||
      !cursor.varint(fileName, "file name") || !cursor.varint(count, "count"))
    return std::nullopt;
  uint64_t lineAndColumn[2] = {0, 0};
  for (uint64_t i = 0; i < 2 && i < count; ++i)
    if (!cursor.varint(lineAndColumn[i], "number"))
      return std::nullopt;
  std::vector<uint8_t> encoded;
  appendVarint(encoded, kFileLineColLoc);
  appendVarint(encoded, fileName);
  appendVarint(encoded, lineAndColumn[0]);
  appendVarint(encoded, lineAndColumn[1]);
  return encoded;
}
