#include "cupel/runtime/TraceFile.h"

#include "cupel/support/JsonValues.h"
#include "cupel/support/Sha256.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::runtime {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view kMark = "cupel trace 1\n";
using json_values::take;

constexpr size_t kDigest = 64; // SHA-256, in letters.

ordered_json jsonOf(const std::vector<TraceOperand> &operands) {
  ordered_json all = ordered_json::array();
  for (const TraceOperand &one : operands)
    all.push_back({{"slot", one.slot}, {"number", one.number}, {"bytes", one.bytes}});
  return all;
}

bool takeOperands(const ordered_json &command, const char *key,
                  std::vector<TraceOperand> &operands) {
  const ordered_json *all = json_values::list(command, key);
  if (!all)
    return false;
  for (const ordered_json &one : *all) {
    TraceOperand &operand = operands.emplace_back();
    if (!take(one, "slot", operand.slot) || !take(one, "number", operand.number) ||
        !take(one, "bytes", operand.bytes))
      return false;
  }
  return true;
}

/// Of files that somebody made by hand, with a checksum that fits: false where something is missing
/// or of another kind.
bool takeRecord(const ordered_json &json, TraceFile &file) {
  TraceRecord &record = file.record;
  const ordered_json *slots = json_values::list(json, "slots"),
                     *commands = json_values::list(json, "commands");
  if (!slots || !commands || !take(json, "program", record.program) ||
      !take(json, "command_bytes", record.commandBytes) ||
      !take(json, "arena_bytes", record.arenaBytes) || !take(json, "seed", file.seed) ||
      !take(json, "results", file.results))
    return false;
  for (const ordered_json &one : *slots) {
    TraceSlot &slot = record.slots.emplace_back();
    if (!take(one, "kind", slot.kind) || !take(one, "number", slot.number) ||
        !take(one, "bytes", slot.bytes) || !take(one, "type", slot.type) ||
        !take(one, "uses", slot.uses))
      return false;
  }
  for (const ordered_json &one : *commands) {
    TraceCommand &command = record.commands.emplace_back();
    if (!take(one, "call", command.call) || !take(one, "kernel", command.kernel) ||
        !take(one, "operation", command.operation) || !take(one, "location", command.location) ||
        !takeOperands(one, "reads", command.reads) || !takeOperands(one, "writes", command.writes))
      return false;
  }
  return true;
}

ordered_json jsonOf(const TraceFile &file) {
  const TraceRecord &record = file.record;
  ordered_json slots = ordered_json::array(), commands = ordered_json::array();
  for (const TraceSlot &one : record.slots)
    slots.push_back({{"kind", one.kind}, {"number", one.number}, {"type", one.type}, {"bytes", one.bytes}, {"uses", one.uses}});
  for (const TraceCommand &one : record.commands)
    commands.push_back({{"call", one.call},
                        {"kernel", one.kernel},
                        {"operation", one.operation},
                        {"location", one.location},
                        {"reads", jsonOf(one.reads)},
                        {"writes", jsonOf(one.writes)}});
  return {{"program", record.program},
          {"command_bytes", record.commandBytes},
          {"arena_bytes", record.arenaBytes},
          {"seed", file.seed},
          {"results", file.results},
          {"slots", slots},
          {"commands", commands}};
}

std::string dumped(const ordered_json &json, int indent = -1) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::string placeOf(const TraceOperand &operand) {
  return operand.slot == "arena" ? fmt::format("arena+{}", operand.number)
                                 : fmt::format("{} {}", operand.slot, operand.number);
}

std::string placesOf(const std::vector<TraceOperand> &operands) {
  std::string text;
  for (const TraceOperand &one : operands)
    text += (text.empty() ? "" : ", ") + placeOf(one);
  return text.empty() ? "nothing" : text;
}

} // namespace

std::string TraceFile::bytes() const {
  std::string header = dumped(jsonOf(*this));
  std::string content = std::to_string(header.size()) + "\n" + header + executable;
  return std::string(kMark) + sha256(content) + "\n" + content;
}

std::string TraceFile::json() const { return dumped(jsonOf(*this), 1) + "\n"; }

std::string TraceFile::text() const {
  std::string all = fmt::format("Trace of {}: {} commands of {} bytes, an arena of {} bytes\n\nSlots:\n",
                                record.program, record.commands.size(), record.commandBytes, record.arenaBytes);
  for (const TraceSlot &slot : record.slots)
    all += fmt::format("  {:<12} {:<24} {:>12} bytes, in {} place{}\n", fmt::format("{} {}", slot.kind, slot.number),
                       slot.type, slot.bytes, slot.uses, slot.uses == 1 ? "" : "s");
  all += "\nCommands:\n";
  size_t width = 6, operations = 9;
  for (const TraceCommand &one : record.commands) {
    width = std::max(width, one.kernel.size());
    operations = std::max(operations, one.operation.size());
  }
  for (size_t i = 0; i < record.commands.size(); ++i) {
    const TraceCommand &one = record.commands[i];
    all += fmt::format("  {:>4}  {:<6}  {:<{}}  {:<{}}  {} <- {}{}\n", i + 1, one.call, one.kernel, width, one.operation,
                       operations, placesOf(one.writes), placesOf(one.reads),
                       one.location.empty() ? "" : "  at " + one.location);
  }
  return all;
}

Result<TraceFile> parseTraceFile(std::string_view bytes) {
  if (!bytes.starts_with(kMark))
    return Error{ErrorCode::InvalidArgument, "it is no trace of this version (cupel compile --trace writes them)"};
  bytes.remove_prefix(kMark.size());
  Error damaged{ErrorCode::DataLoss, "the trace is damaged: its checksum is not that of its bytes"};
  if (bytes.size() <= kDigest || bytes[kDigest] != '\n' ||
      bytes.substr(0, kDigest) != sha256(bytes.substr(kDigest + 1)))
    return damaged;
  bytes.remove_prefix(kDigest + 1);
  size_t end = bytes.substr(0, 24).find('\n'), size = 0;
  if (end == std::string_view::npos)
    return damaged;
  for (char c : bytes.substr(0, end)) {
    if (c < '0' || c > '9')
      return damaged;
    size = size * 10 + size_t(c - '0');
  }
  bytes.remove_prefix(end + 1);
  if (size > bytes.size())
    return damaged;
  ordered_json json = ordered_json::parse(bytes.substr(0, size), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return damaged;
  TraceFile file;
  if (!takeRecord(json, file))
    return damaged;
  file.executable = bytes.substr(size);
  return file;
}

} // namespace cupel::runtime
