#include "cupel/frontends/onnx/LeaveWeights.h"

namespace cupel::frontends::onnx_import {

namespace {

// Smaller ones are copied with the rest.
constexpr size_t kLarge = 4096;

// Numbers of fields in ONNX's schema.
constexpr uint64_t kModelGraph = 7, kGraphInitializer = 5, kTensorRawData = 9;

/// One field of a message: where it begins with its tag, and its content.
struct Field {
  uint64_t number = 0;
  bool isBytes = false;
  size_t begin = 0, content = 0, end = 0;
};

class Reader {
public:
  Reader(std::span<const std::byte> file, size_t begin, size_t end)
      : file(file), at(begin), end(end) {}

  bool done() const { return at >= end; }
  /// The next field; nothing if the message is damaged.
  std::optional<Field> next() {
    Field field;
    field.begin = at;
    uint64_t tag, length;
    if (!varint(tag))
      return std::nullopt;
    field.number = tag >> 3;
    switch (tag & 7) {
    case 0:
      field.content = at;
      if (!varint(length))
        return std::nullopt;
      break;
    case 1:
      field.content = at;
      if (!skip(8))
        return std::nullopt;
      break;
    case 2:
      if (!varint(length))
        return std::nullopt;
      field.isBytes = true;
      field.content = at;
      if (!skip(length))
        return std::nullopt;
      break;
    case 5:
      field.content = at;
      if (!skip(4))
        return std::nullopt;
      break;
    default:
      return std::nullopt;
    }
    field.end = at;
    return field;
  }

private:
  bool varint(uint64_t &value) {
    value = 0;
    for (int shift = 0; shift < 64 && at < end; shift += 7) {
      uint8_t byte = uint8_t(file[at++]);
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return true;
    }
    return false;
  }
  bool skip(uint64_t bytes) {
    if (bytes > end - at)
      return false;
    at += bytes;
    return true;
  }

  std::span<const std::byte> file;
  size_t at, end;
};

class Leaver {
public:
  explicit Leaver(std::span<const std::byte> file) : file(file) {}

  std::optional<WithoutWeights> leave() {
    bool hasGraph = false;
    for (Reader reader(file, 0, file.size()); !reader.done();) {
      std::optional<Field> field = reader.next();
      if (!field)
        return std::nullopt;
      if (field->number != kModelGraph || !field->isBytes) {
        copy(result.model, field->begin, field->end);
        continue;
      }
      // Two graphs would be merged; let the parser do that.
      if (hasGraph)
        return std::nullopt;
      hasGraph = true;
      std::string graph;
      if (!leaveGraph(*field, graph))
        return std::nullopt;
      append(result.model, kModelGraph, graph);
    }
    return std::move(result);
  }

private:
  bool leaveGraph(const Field &graph, std::string &to) {
    for (Reader reader(file, graph.content, graph.end); !reader.done();) {
      std::optional<Field> field = reader.next();
      if (!field)
        return false;
      if (field->number != kGraphInitializer || !field->isBytes)
        copy(to, field->begin, field->end);
      else if (!leaveTensor(*field, to))
        return false;
    }
    return true;
  }

  bool leaveTensor(const Field &tensor, std::string &to) {
    WithoutWeights::Place place;
    std::string rest;
    for (Reader reader(file, tensor.content, tensor.end); !reader.done();) {
      std::optional<Field> field = reader.next();
      if (!field)
        return false;
      bool isRaw = field->number == kTensorRawData && field->isBytes;
      if (isRaw && place.size)
        return false; // Given twice.
      if (isRaw && field->end - field->content >= kLarge)
        place = {field->content, field->end - field->content};
      else
        copy(rest, field->begin, field->end);
    }
    append(to, kGraphInitializer, rest);
    result.initializers.push_back(place);
    return true;
  }

  void copy(std::string &to, size_t begin, size_t end) {
    to.append(reinterpret_cast<const char *>(file.data()) + begin, end - begin);
  }
  static void appendVarint(std::string &to, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      to.push_back(char(uint8_t(value) | 0x80));
    to.push_back(char(value));
  }
  static void append(std::string &to, uint64_t number, const std::string &content) {
    appendVarint(to, number << 3 | 2);
    appendVarint(to, content.size());
    to += content;
  }

  std::span<const std::byte> file;
  WithoutWeights result;
};

} // namespace

std::optional<WithoutWeights> leaveWeights(std::span<const std::byte> file) {
  return Leaver(file).leave();
}

} // namespace cupel::frontends::onnx_import
