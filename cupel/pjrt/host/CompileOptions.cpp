#include "cupel/pjrt/host/CompileOptions.h"

#include <bit>
#include <string_view>

using namespace cupel;
using namespace cupel::pjrt;

namespace {

/// The wire format of protocol buffers, as much of it as options need. Zero values are left out.
class ProtoWriter {
public:
  void integer(uint32_t field, int64_t value) {
    if (value == 0)
      return;
    tag(field, 0);
    varint(static_cast<uint64_t>(value)); // Negative numbers take ten bytes.
  }
  void number(uint32_t field, double value) {
    tag(field, 1);
    auto bits = std::bit_cast<uint64_t>(value);
    for (int i = 0; i < 8; ++i)
      out += static_cast<char>(bits >> (8 * i));
  }
  void bytes(uint32_t field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    out += value;
  }
  void packed(uint32_t field, const std::vector<int64_t> &values) {
    ProtoWriter list;
    for (int64_t value : values)
      list.varint(static_cast<uint64_t>(value));
    bytes(field, list.out);
  }
  /// A member of a oneof is written even where it is zero.
  void always(uint32_t field, int64_t value) {
    tag(field, 0);
    varint(static_cast<uint64_t>(value));
  }

  std::string out;

private:
  void tag(uint32_t field, uint32_t wireType) { varint(uint64_t(field) << 3 | wireType); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  }
};

} // namespace

Status cupel::pjrt::addFlag(CompileOptions &options, const NamedValue &flag) {
  if (const auto *text = std::get_if<std::string>(&flag.value))
    options.flags.emplace_back(flag.name, *text);
  else if (const auto *number = std::get_if<int64_t>(&flag.value))
    options.flags.emplace_back(flag.name, *number);
  else if (const auto *real = std::get_if<float>(&flag.value))
    options.flags.emplace_back(flag.name, double(*real));
  else if (const auto *truth = std::get_if<bool>(&flag.value))
    options.flags.emplace_back(flag.name, *truth);
  else
    return Error{"compile option " + flag.name + " cannot be a list"};
  return {};
}

std::string cupel::pjrt::serialize(const CompileOptions &options) {
  const auto &[replicas, partitions, deviceIds, useSpmd, useShardy, flags] = options;
  ProtoWriter assignment; // DeviceAssignmentProto
  assignment.integer(1, replicas);
  assignment.integer(2, partitions);
  for (int64_t p = 0; p < partitions; ++p) {
    std::vector<int64_t> ids;
    for (int64_t r = 0; r < replicas; ++r) {
      size_t at = static_cast<size_t>(r * partitions + p);
      ids.push_back(at < deviceIds.size() ? deviceIds[at] : static_cast<int64_t>(at));
    }
    ProtoWriter computation;
    computation.packed(1, ids);
    assignment.bytes(3, computation.out);
  }

  ProtoWriter build; // ExecutableBuildOptionsProto
  build.integer(1, -1);
  build.integer(4, replicas);
  build.integer(5, partitions);
  build.integer(6, useSpmd);
  build.bytes(9, assignment.out);
  build.integer(19, useShardy);

  ProtoWriter out; // CompileOptionsProto
  out.bytes(3, build.out);
  out.integer(5, -1);
  for (const auto &[name, value] : flags) {
    ProtoWriter flag; // OptionOverrideProto
    if (auto *text = std::get_if<std::string>(&value))
      flag.bytes(1, *text);
    else if (auto *truth = std::get_if<bool>(&value))
      flag.always(2, *truth);
    else if (auto *number = std::get_if<int64_t>(&value))
      flag.always(3, *number);
    else
      flag.number(4, std::get<double>(value));
    ProtoWriter entry;
    entry.bytes(1, name);
    entry.bytes(2, flag.out);
    out.bytes(7, entry.out);
  }
  return out.out;
}
