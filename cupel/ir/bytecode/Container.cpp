#include "cupel/ir/bytecode/Container.h"

using namespace cupel::bytecode;

static constexpr uint8_t kMagic[] = {'M', 'L', 0xEF, 'R'};

const char *cupel::bytecode::name(SectionId id) {
  static constexpr const char *names[] = {
      "string",  "dialect",  "attribute and type", "attribute and type offset",
      "IR",      "resource", "resource offset",    "dialect version",
      "property"};
  return names[unsigned(id)];
}

const Section *Container::find(SectionId id) const {
  for (const Section &section : sections)
    if (section.id == id)
      return &section;
  return nullptr;
}

bool cupel::bytecode::isBytecode(Bytes bytes) {
  return bytes.size() >= sizeof(kMagic) && std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) == 0;
}

bool cupel::bytecode::readSection(Cursor &cursor, const Limits &limits, Section &section) {
  constexpr uint8_t kHasAlignment = 0x80;
  section = {};
  section.headerBegin = cursor.offset();
  uint8_t head;
  uint64_t length;
  if (!cursor.byte(head, "a section header") || !cursor.varint(length, "a section length"))
    return false;
  unsigned id = head & ~kHasAlignment;
  if (id >= kSectionCount)
    return cursor.failAt(section.headerBegin,
                         "there is no section kind " + std::to_string(id) +
                             "; the file is damaged or newer than bytecode version 6");
  section.id = SectionId(id);
  if (head & kHasAlignment) {
    size_t at = cursor.offset();
    if (!cursor.varint(section.alignment, "a section alignment"))
      return false;
    if (!std::has_single_bit(section.alignment) || section.alignment > limits.alignment)
      return cursor.failAt(at, "section alignment " + std::to_string(section.alignment) +
                                   " is not a power of two up to " +
                                   std::to_string(limits.alignment));
    while (cursor.offset() % section.alignment != 0) {
      uint8_t padding;
      if (!cursor.byte(padding, "section padding"))
        return false;
      if (padding != kPaddingByte)
        return cursor.failAt(cursor.offset() - 1, "section padding is not the byte 0xCB");
    }
  }
  section.begin = cursor.offset();
  if (length > cursor.remaining())
    return cursor.failAt(section.headerBegin, std::string("the ") + name(section.id) +
                                                  " section takes " + std::to_string(length) +
                                                  " bytes, but only " +
                                                  std::to_string(cursor.remaining()) + " follow");
  section.end = section.begin + length;
  return cursor.skip(length, "a section");
}

bool cupel::bytecode::readContainer(Bytes file, const Limits &limits, Container &container,
                                    Problem &problem) {
  Cursor cursor(file, 0, file.size(), problem);
  if (!isBytecode(file))
    return cursor.fail("not MLIR bytecode: the magic bytes 4D 4C EF 52 are missing");
  if (!cursor.skip(sizeof(kMagic), "the magic bytes"))
    return false;
  size_t at = cursor.offset();
  if (!cursor.varint(container.version, "the bytecode version"))
    return false;
  if (container.version > kNewestVersion)
    return cursor.failAt(
        at,
        "bytecode version " + std::to_string(container.version) +
            " is newer than 6, the newest that can be read; write the file for bytecode version 6");
  if (!cursor.zeroTerminated(container.producer, "the producer string"))
    return false;
  container.headerEnd = cursor.offset();

  std::array<bool, kSectionCount> seen{};
  while (!cursor.empty()) {
    Section section;
    if (!readSection(cursor, limits, section))
      return false;
    bool &seenThis = seen[unsigned(section.id)];
    if (seenThis)
      return cursor.failAt(section.headerBegin,
                           std::string("a second ") + name(section.id) + " section");
    seenThis = true;
    container.alignment = std::max(container.alignment, section.alignment);
    container.sections.push_back(section);
  }

  auto demand = [&](SectionId id) {
    return seen[unsigned(id)] ||
           cursor.fail(std::string("the ") + name(id) + " section is missing; the file is cut off");
  };
  if (!demand(SectionId::String) || !demand(SectionId::Dialect) || !demand(SectionId::AttrType) ||
      !demand(SectionId::AttrTypeOffset) || !demand(SectionId::IR))
    return false;
  if (container.version >= kNativeProperties && !demand(SectionId::Properties))
    return false;
  if (seen[unsigned(SectionId::Resource)] != seen[unsigned(SectionId::ResourceOffset)])
    return demand(SectionId::Resource) && demand(SectionId::ResourceOffset);
  return true;
}
