#include "cupel/ir/bytecode/Rewrite.h"

#include "cupel/ir/bytecode/Entries.h"
#include "cupel/ir/bytecode/Locations.h"
#include "cupel/ir/bytecode/TextFloats.h"

using namespace cupel::bytecode;

namespace {
void append(std::vector<uint8_t> &out, Bytes file, size_t begin, size_t end) {
  out.insert(out.end(), file.begin() + begin, file.begin() + end);
}

std::vector<uint8_t> zeroTerminated(std::string_view text) {
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.push_back(0);
  return bytes;
}

/// The float type that newer MLIR has a code for.
const NewFloat *newFloat(Bytes file, const Tables &tables, const Entry &type) {
  if (!type.custom || tables.dialects[type.dialect] != "builtin")
    return nullptr;
  Problem problem;
  Cursor cursor(file, type.begin, type.end, problem);
  uint64_t code;
  if (!cursor.varint(code, "code") || code < kFirstNewFloat ||
      code - kFirstNewFloat >= std::size(kNewFloats))
    return nullptr;
  return &kNewFloats[code - kFirstNewFloat];
}

/// Such a type as MLIR 19 spells it.
std::optional<std::vector<uint8_t>> floatTypeText(Bytes file, const Tables &tables,
                                                  const Entry &type) {
  const NewFloat *known = newFloat(file, tables, type);
  if (!known)
    return std::nullopt;
  return zeroTerminated(spellRareFloats(known->name).value_or(known->name));
}

/// An entry in text form that names types which MLIR 19 lacks.
std::optional<std::vector<uint8_t>> spelledText(Bytes file, const Entry &entry) {
  if (entry.custom || entry.begin == entry.end)
    return std::nullopt;
  std::string_view text(reinterpret_cast<const char *>(file.data()) + entry.begin,
                        entry.end - entry.begin - 1);
  std::optional<std::string> spelled = spellRareFloats(text);
  return spelled ? std::optional(zeroTerminated(*spelled)) : std::nullopt;
}

/// The name of the element type that MLIR 19 lacks, if the entry is one.
std::optional<std::string_view> rareFloatName(Bytes file, const Tables &tables, const Entry &type) {
  if (const NewFloat *known = newFloat(file, tables, type))
    return known->known ? std::nullopt : std::optional<std::string_view>(known->name);
  if (type.custom || type.begin == type.end)
    return std::nullopt;
  std::string_view text(reinterpret_cast<const char *>(file.data()) + type.begin,
                        type.end - type.begin - 1);
  std::optional<std::string_view> name = rareFloatAtEnd(text);
  return name && *name == text ? name : std::nullopt;
}

/// A dense attribute whose elements MLIR 19 has no type for, as text of bits. Entries.h has checked
/// that it is sound.
std::optional<std::vector<uint8_t>> denseBitsText(Bytes file, const Tables &tables,
                                                  const Entry &attribute) {
  if (!attribute.custom || tables.dialects[attribute.dialect] != "builtin")
    return std::nullopt;
  constexpr uint64_t kTensorType = 13;
  Problem problem;
  Cursor cursor(file, attribute.begin, attribute.end, problem);
  uint64_t code, type, size;
  if (!cursor.varint(code, "code") || code != kDenseIntOrFPAttr || !cursor.varint(type, "type") ||
      type >= tables.types.size() || !cursor.varint(size, "size"))
    return std::nullopt;
  size_t data = cursor.offset();
  const Entry &tensor = tables.types[type];
  if (!cursor.skip(size, "data") || !tensor.custom || tables.dialects[tensor.dialect] != "builtin")
    return std::nullopt;
  Cursor shape(file, tensor.begin, tensor.end, problem);
  uint64_t rank, element;
  if (!shape.varint(code, "code") || code != kTensorType || !shape.count(rank, "rank"))
    return std::nullopt;
  std::string dimensions;
  for (uint64_t i = 0; i < rank; ++i) {
    int64_t dimension;
    if (!shape.signedVarint(dimension, "dimension"))
      return std::nullopt;
    dimensions += std::to_string(dimension) + "x";
  }
  if (!shape.varint(element, "element") || element >= tables.types.size())
    return std::nullopt;
  std::optional<std::string_view> name = rareFloatName(file, tables, tables.types[element]);
  if (!name)
    return std::nullopt;
  std::string digits;
  for (size_t i = data; i < data + size; ++i) {
    digits += "0123456789ABCDEF"[file[i] >> 4];
    digits += "0123456789ABCDEF"[file[i] & 15];
  }
  std::string literal = size ? "dense<\"0x" + digits + "\">" : "dense<>";
  return zeroTerminated(
      *spellRareFloats(literal + " : tensor<" + dimensions + std::string(*name) + ">"));
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
      std::optional<std::vector<uint8_t>> text =
          isType ? floatTypeText(file, tables, entry) : denseBitsText(file, tables, entry);
      if (!text)
        text = spelledText(file, entry);
      if (text) {
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
