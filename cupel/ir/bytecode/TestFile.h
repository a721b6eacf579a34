// Builds small bytecode files by hand for the tests of this folder, sound or broken as the test
// wants them.
#pragma once

#include "cupel/ir/bytecode/Container.h"
#include "cupel/ir/bytecode/Locations.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace cupel::bytecode {

using Data = std::vector<uint8_t>;

inline Data operator+(Data left, const Data &right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// Numbers as varints, one after the other.
inline Data numbers(std::initializer_list<uint64_t> values) {
  Data out;
  for (uint64_t value : values)
    appendVarint(out, value);
  return out;
}
inline uint64_t zigzag(int64_t value) { return uint64_t(value) << 1 ^ uint64_t(value >> 63); }
inline uint64_t flagged(uint64_t value, bool flag) { return value << 1 | uint64_t(flag); }
inline Data text(std::string_view value) {
  Data out(value.begin(), value.end());
  out.push_back(0);
  return out;
}

inline Data section(SectionId id, const Data &content) {
  return Data{uint8_t(id)} + numbers({content.size()}) + content;
}

struct TestEntry {
  uint64_t dialect;
  bool custom;
  Data data;
};

/// A file with one `builtin.module`, whose parts can be changed. Attribute 0 is the unknown
/// location.
struct TestFile {
  uint64_t version = 6;
  std::vector<std::string> strings = {"builtin", "module", "file.py", "vhlo", "op"};
  /// String numbers.
  std::vector<uint64_t> dialects = {0, 3};
  /// Operation 0 is builtin.module, operation 1 vhlo.op.
  Data operationNames = numbers({2, 0, 1, flagged(1, true), 1, 1, flagged(4, true)});
  std::vector<TestEntry> attributes = {{0, true, numbers({15})}};
  std::vector<TestEntry> types;
  /// The blocks of the module's region: number of blocks, number of values, then the blocks.
  Data region = numbers({1, 0, flagged(0, false)});
  Data properties = numbers({0});
  /// Sections put before the string section.
  Data extra;
  /// Replaces the whole IR section where not empty.
  Data ir;

  Data stringSection() const {
    Data sizes, content;
    for (size_t i = strings.size(); i-- > 0;)
      appendVarint(sizes, strings[i].size() + 1);
    for (const std::string &value : strings)
      content = content + text(value);
    return numbers({strings.size()}) + sizes + content;
  }
  Data dialectSection() const {
    Data out = numbers({dialects.size()});
    for (uint64_t dialect : dialects)
      appendVarint(out, version >= kDialectVersioning ? flagged(dialect, false) : dialect);
    return out + operationNames;
  }
  Data offsetSection() const {
    Data out = numbers({attributes.size(), types.size()});
    for (const auto *list : {&attributes, &types})
      for (const TestEntry &entry : *list)
        out = out + numbers({entry.dialect, 1, flagged(entry.data.size(), entry.custom)});
    return out;
  }
  Data entrySection() const {
    Data out;
    for (const auto *list : {&attributes, &types})
      for (const TestEntry &entry : *list)
        out = out + entry.data;
    return out;
  }
  Data irSection() const {
    if (!ir.empty())
      return ir;
    constexpr uint8_t kHasRegions = 0x10;
    return numbers({flagged(1, false), 0}) + Data{kHasRegions} + numbers({0, flagged(1, true)}) +
           section(SectionId::IR, region);
  }
  Data bytes() const {
    Data out = Data{'M', 'L', 0xEF, 'R'} + numbers({version}) + text("test");
    out = out + section(SectionId::Dialect, dialectSection());
    out = out + section(SectionId::AttrTypeOffset, offsetSection());
    out = out + section(SectionId::AttrType, entrySection());
    out = out + section(SectionId::IR, irSection());
    out = out + extra;
    out = out + section(SectionId::String, stringSection());
    if (version >= kNativeProperties)
      out = out + section(SectionId::Properties, properties);
    return out;
  }

  uint64_t attribute(Data data, uint64_t dialect = 0, bool custom = true) {
    attributes.push_back({dialect, custom, std::move(data)});
    return attributes.size() - 1;
  }
  uint64_t type(Data data, uint64_t dialect = 0, bool custom = true) {
    types.push_back({dialect, custom, std::move(data)});
    return types.size() - 1;
  }
};

} // namespace cupel::bytecode
