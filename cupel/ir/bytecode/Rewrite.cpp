#include "cupel/ir/bytecode/Rewrite.h"

#include "cupel/ir/bytecode/Entries.h"
#include "cupel/ir/bytecode/Locations.h"

using namespace cupel::bytecode;

namespace {
void append(std::vector<uint8_t> &out, Bytes file, size_t begin, size_t end) {
  out.insert(out.end(), file.begin() + begin, file.begin() + end);
}

/// A type that newer MLIR has a code for, as MLIR 19 spells it.
std::optional<std::vector<uint8_t>> floatTypeText(Bytes file, const Tables &tables,
                                                  const Entry &type) {
  if (!type.custom || tables.dialects[type.dialect] != "builtin")
    return std::nullopt;
  Problem problem;
  Cursor cursor(file, type.begin, type.end, problem);
  uint64_t code;
  if (!cursor.varint(code, "code") || code < kFirstNewFloat ||
      code - kFirstNewFloat >= std::size(kNewFloats))
    return std::nullopt;
  std::string_view name = kNewFloats[code - kFirstNewFloat].name;
  std::vector<uint8_t> text(name.begin(), name.end());
  text.push_back(0);
  return text;
}

class Rewriter {
public:
  Rewriter(Bytes file, const Tables &tables, Problem &problem)
      : file(file), tables(tables), problem(problem) {}

  /// Fills `offsets` and `data`, the new contents of the two sections.
  bool rewrite(const Section &oldOffsets) {
    Cursor cursor(file, oldOffsets.begin, oldOffsets.end, problem);
    size_t next[2] = {0, 0};
    data.reserve(file.size());
    auto onLists = [&](uint64_t attributes, uint64_t types) {
      appendVarint(offsets, attributes);
      appendVarint(offsets, types);
      return true;
    };
    auto onGroup = [&](bool, uint64_t dialect, uint64_t count) {
      appendVarint(offsets, dialect);
      appendVarint(offsets, count);
      return true;
    };
    auto onEntry = [&](bool isType, uint64_t, uint64_t, bool custom) {
      const Entry &entry = (isType ? tables.types : tables.attributes)[next[isType]++];
      size_t before = data.size();
      if (auto text = isType ? floatTypeText(file, tables, entry) : std::nullopt) {
        data.insert(data.end(), text->begin(), text->end());
        custom = false;
      } else if (auto point = isType ? std::nullopt : pointLocation(file, tables, entry)) {
        data.insert(data.end(), point->begin(), point->end());
      } else {
        append(data, file, entry.begin, entry.end);
      }
      appendVarint(offsets, (data.size() - before) << 1 | uint64_t(custom));
      return true;
    };
    return walkOffsets(cursor, tables.dialects.size(), onLists, onGroup, onEntry);
  }

  std::vector<uint8_t> offsets, data;

private:
  Bytes file;
  const Tables &tables;
  Problem &problem;
};
} // namespace

std::vector<uint8_t> cupel::bytecode::rewriteForMlir19(Bytes file, const Limits &limits,
                                                       Problem &problem) {
  Container container;
  Tables tables;
  if (!readContainer(file, limits, container, problem) ||
      !readTables(file, container, limits, tables, problem))
    return {};
  Rewriter rewriter(file, tables, problem);
  if (!rewriter.rewrite(*container.find(SectionId::AttrTypeOffset)))
    return {};

  std::vector<uint8_t> out;
  out.reserve(file.size() + file.size() / 16 + limits.alignment);
  append(out, file, 0, container.headerEnd);
  for (const Section &section : container.sections) {
    Bytes content = file.subspan(section.begin, section.size());
    if (section.id == SectionId::AttrTypeOffset)
      content = rewriter.offsets;
    else if (section.id == SectionId::AttrType)
      content = rewriter.data;
    constexpr uint8_t kHasAlignment = 0x80;
    out.push_back(uint8_t(section.id) | (section.alignment ? kHasAlignment : 0));
    appendVarint(out, content.size());
    if (section.alignment) {
      appendVarint(out, section.alignment);
      while (out.size() % section.alignment != 0)
        out.push_back(kPaddingByte);
    }
    out.insert(out.end(), content.begin(), content.end());
  }
  return out;
}
