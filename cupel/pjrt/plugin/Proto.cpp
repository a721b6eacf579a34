#include "cupel/pjrt/plugin/Proto.h"

#include "cupel/pjrt/plugin/ElementTypes.h"

#include <algorithm>
#include <cstring>

namespace cupel::pjrt {

namespace {

//===----------------------------------------------------------------------===//
// Wire format
//===----------------------------------------------------------------------===//

struct Field {
  uint32_t number = 0;
  uint64_t value = 0;     // Of varints and fixed-size fields.
  std::string_view bytes; // Of length-delimited ones.
  bool isBytes = false;
};

class Message {
public:
  explicit Message(std::string_view bytes) : rest(bytes) {}

  bool malformed = false;

  bool next(Field &field) {
    if (rest.empty() || malformed)
      return false;
    uint64_t key;
    if (!varint(key) || (key >> 3) == 0 || (key >> 3) > UINT32_MAX)
      return fail();
    field = Field();
    field.number = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
    case 0:
      return varint(field.value) || fail();
    case 1:
      return fixed(field.value, 8) || fail();
    case 2: {
      uint64_t size;
      if (!varint(size) || size > rest.size())
        return fail();
      field.bytes = rest.substr(0, size);
      field.isBytes = true;
      rest.remove_prefix(size);
      return true;
    }
    case 5:
      return fixed(field.value, 4) || fail();
    default:
      return fail();
    }
  }

  bool varint(uint64_t &value) {
    value = 0;
    for (int shift = 0; shift < 70 && !rest.empty(); shift += 7) {
      auto byte = static_cast<uint8_t>(rest.front());
      rest.remove_prefix(1);
      if (shift < 64)
        value |= uint64_t(byte & 127) << shift;
      if (!(byte & 128))
        return true;
    }
    return false;
  }
  bool atEnd() const { return rest.empty(); }

private:
  bool fail() {
    malformed = true;
    return false;
  }
  bool fixed(uint64_t &value, size_t size) {
    if (rest.size() < size)
      return false;
    value = 0;
    std::memcpy(&value, rest.data(), size);
    rest.remove_prefix(size);
    return true;
  }

  std::string_view rest;
};

/// A repeated number: packed, or one at a time.
bool appendNumbers(const Field &field, std::vector<int64_t> &values) {
  if (!field.isBytes) {
    values.push_back(static_cast<int64_t>(field.value));
    return true;
  }
  Message packed(field.bytes);
  while (!packed.atEnd()) {
    uint64_t value;
    if (!packed.varint(value))
      return false;
    values.push_back(static_cast<int64_t>(value));
  }
  return true;
}

bool appendBooleans(const Field &field, std::vector<bool> &values) {
  std::vector<int64_t> numbers;
  if (!appendNumbers(field, numbers))
    return false;
  for (int64_t number : numbers)
    values.push_back(number != 0);
  return true;
}

class Writer {
public:
  std::string bytes;

  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7)
      bytes += static_cast<char>(value | 128);
    bytes += static_cast<char>(value);
  }
  void number(uint32_t field, int64_t value) {
    varint(uint64_t(field) << 3);
    varint(static_cast<uint64_t>(value));
  }
  void text(uint32_t field, std::string_view value) {
    varint(uint64_t(field) << 3 | 2);
    varint(value.size());
    bytes += value;
  }
  void numbers(uint32_t field, std::span<const int64_t> values) {
    Writer packed;
    for (int64_t value : values)
      packed.varint(static_cast<uint64_t>(value));
    text(field, packed.bytes);
  }
};

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

bool parseAssignment(std::string_view bytes, DeviceAssignment &assignment) {
  Message message(bytes);
  std::vector<std::vector<int64_t>> computations; // By partition; each lists its replicas.
  Field field;
  while (message.next(field)) {
    if (field.number == 1)
      assignment.replicas = static_cast<int64_t>(field.value);
    if (field.number == 2)
      assignment.partitions = static_cast<int64_t>(field.value);
    if (field.number == 3) {
      std::vector<int64_t> &ids = computations.emplace_back();
      Message computation(field.bytes);
      Field inner;
      while (computation.next(inner))
        if (inner.number == 1 && !appendNumbers(inner, ids))
          return false;
      if (computation.malformed)
        return false;
    }
  }
  if (message.malformed || static_cast<int64_t>(computations.size()) != assignment.partitions)
    return false;
  for (const std::vector<int64_t> &ids : computations)
    if (static_cast<int64_t>(ids.size()) != assignment.replicas)
      return false;
  for (int64_t replica = 0; replica < assignment.replicas; ++replica)
    for (const std::vector<int64_t> &ids : computations)
      assignment.devices.push_back(ids[replica]);
  return true;
}

bool parseBuildOptions(std::string_view bytes, CompileRequest &request) {
  Message message(bytes);
  Field field;
  while (message.next(field)) {
    switch (field.number) {
    case 1:
      request.deviceOrdinal = static_cast<int64_t>(field.value);
      break;
    case 4:
      request.replicas = static_cast<int64_t>(field.value);
      break;
    case 5:
      request.partitions = static_cast<int64_t>(field.value);
      break;
    case 6:
      request.useSpmd = field.value != 0;
      break;
    case 9: {
      DeviceAssignment assignment;
      if (!parseAssignment(field.bytes, assignment))
        return false;
      request.assignment = std::move(assignment);
      break;
    }
    case 24: {
      // JAX keeps `optimization_level` of its options for XLA's efforts, in which 9, 19, 29 and 39 are levels 0 to 3. Nothing is 0 as well.
      auto level = static_cast<int64_t>(field.value);
      bool isEffort = level >= 9 && level <= 39 && level % 10 == 9;
      request.options.emplace_back("optimization_level", OptionValue(isEffort ? std::min<int64_t>(level / 10, 2) : level));
      break;
    }
    case 12:
      if (!appendBooleans(field, request.propagateToResults))
        return false;
      break;
    case 18:
      if (!appendBooleans(field, request.propagateToParameters))
        return false;
      break;
    default:
      break;
    }
  }
  return !message.malformed;
}

bool parseOverride(std::string_view bytes, CompileRequest &request) {
  Message entry(bytes);
  Field field;
  std::string name;
  OptionValue value = std::string();
  while (entry.next(field)) {
    if (field.number == 1)
      name = field.bytes;
    if (field.number == 2) {
      Message choice(field.bytes);
      Field inner;
      while (choice.next(inner)) {
        if (inner.number == 1)
          value = std::string(inner.bytes);
        if (inner.number == 2)
          value = inner.value != 0;
        if (inner.number == 3)
          value = static_cast<int64_t>(inner.value);
        if (inner.number == 4) {
          double number;
          std::memcpy(&number, &inner.value, sizeof number);
          value = number;
        }
      }
      if (choice.malformed)
        return false;
    }
  }
  request.options.push_back({std::move(name), std::move(value)});
  return !entry.malformed;
}

} // namespace

Result<CompileRequest> parseCompileOptions(std::string_view bytes) {
  Error malformed{ErrorCode::InvalidArgument, "the compile options are no CompileOptionsProto"};
  CompileRequest request;
  Message message(bytes);
  Field field;
  while (message.next(field)) {
    if (field.number == 3 && !parseBuildOptions(field.bytes, request))
      return malformed;
    if (field.number == 4)
      request.isPortable = field.value != 0;
    if (field.number == 7 && !parseOverride(field.bytes, request))
      return malformed;
  }
  if (message.malformed)
    return malformed;
  // Absent numbers are zero on the wire.
  request.replicas = std::max<int64_t>(request.replicas, 1);
  request.partitions = std::max<int64_t>(request.partitions, 1);
  return request;
}

std::string DeviceAssignment::serialize() const {
  Writer writer;
  writer.number(1, replicas);
  writer.number(2, partitions);
  for (int64_t partition = 0; partition < partitions; ++partition) {
    std::vector<int64_t> ids;
    for (int64_t replica = 0; replica < replicas; ++replica)
      ids.push_back(devices[replica * partitions + partition]);
    Writer computation;
    computation.numbers(1, ids);
    writer.text(3, computation.bytes);
  }
  return writer.bytes;
}

std::string serializeSharding(const tensor::Shards &shards) {
  using Kind = tensor::Shards::Kind;
  Writer writer;
  switch (shards.kind) {
  case Kind::Replicated:
    break; // Type 0 and nothing else: no bytes.
  case Kind::Maximal:
    writer.number(1, 1);
    writer.numbers(3, std::vector<int64_t>{1});
    writer.numbers(4, shards.devices);
    break;
  case Kind::Manual:
    writer.number(1, 4);
    break;
  case Kind::Tiled: {
    writer.number(1, 3);
    std::vector<int64_t> dims = shards.tiles, last;
    if (shards.summands > 1) {
      dims.push_back(shards.summands);
      last.push_back(6); // UNREDUCED
    }
    if (shards.copies() > 1) {
      dims.push_back(shards.copies());
      last.push_back(0); // REPLICATED
    }
    writer.numbers(3, dims);
    writer.numbers(4, shards.devices);
    if (shards.summands > 1)
      writer.numbers(8, last);
    else if (shards.copies() > 1)
      writer.number(6, 1);
    break;
  }
  }
  return writer.bytes;
}

std::string serializeShardings(std::span<const tensor::Shards> shards) {
  if (shards.size() == 1)
    return serializeSharding(shards[0]);
  Writer writer;
  writer.number(1, 2); // TUPLE
  for (const tensor::Shards &one : shards)
    writer.text(5, serializeSharding(one));
  return writer.bytes;
}

namespace {

/// An xla.OpSharding, field by field.
struct OpSharding {
  int64_t type = 0;
  std::vector<int64_t> dims, devices, lastDims, iotaDims, iotaOrder;
  std::vector<std::string_view> elements;
  bool replicatesLast = false, isNamed = false;

  bool parse(std::string_view bytes) {
    Message message(bytes);
    Field field;
    bool fits = true;
    while (fits && message.next(field)) {
      switch (field.number) {
      case 1:
        type = static_cast<int64_t>(field.value);
        break;
      case 3:
        fits = appendNumbers(field, dims);
        break;
      case 4:
        fits = appendNumbers(field, devices);
        break;
      case 5:
        elements.push_back(field.bytes);
        break;
      case 6:
        replicatesLast = field.value != 0;
        break;
      case 8:
        fits = appendNumbers(field, lastDims);
        break;
      case 9:
        fits = appendNumbers(field, iotaDims);
        break;
      case 10:
        fits = appendNumbers(field, iotaOrder);
        break;
      case 14:
        isNamed = true;
        break;
      default:
        break;
      }
    }
    return fits && !message.malformed;
  }

  /// The same as text, which Shards read.
  std::string str() const {
    auto list = [](const std::vector<int64_t> &numbers) {
      std::string text;
      for (int64_t number : numbers)
        text += (text.empty() ? "" : ",") + std::to_string(number);
      return text;
    };
    if (type == 0)
      return "{replicated}";
    if (type == 1)
      return "{maximal device=" + (devices.empty() ? "0" : std::to_string(devices[0])) + "}";
    if (type == 4)
      return "{manual}";
    std::string text = "{devices=[" + list(dims) + "]";
    if (!iotaDims.empty())
      text += "<=[" + list(iotaDims) + "]" +
              (iotaOrder.size() > 1 ? "T(" + list(iotaOrder) + ")" : "");
    else
      text += list(devices);
    if (!lastDims.empty()) {
      text += " last_tile_dims={";
      for (size_t i = 0; i < lastDims.size(); ++i)
        text += (i ? ", " : "") + std::string(lastDims[i] == 4   ? "manual"
                                              : lastDims[i] == 6 ? "unreduced"
                                                                 : "replicated");
      text += "}";
    } else if (replicatesLast) {
      text += " last_tile_dim_replicate";
    }
    return text + "}";
  }
};

} // namespace

Result<std::vector<tensor::Shards>> parseShardings(std::string_view bytes,
                                                   std::span<const size_t> ranks) {
  Error malformed{"the bytes are no OpSharding"};
  OpSharding whole;
  if (!whole.parse(bytes))
    return malformed;
  bool isTuple = whole.type == 2;
  if (isTuple ? whole.elements.size() != ranks.size() : ranks.size() != 1)
    return Error{"the sharding is for another number of values than " +
                 std::to_string(ranks.size())};
  std::vector<tensor::Shards> all;
  for (size_t i = 0; i < ranks.size(); ++i) {
    OpSharding one = whole;
    if (isTuple && (one = {}, !one.parse(whole.elements[i])))
      return malformed;
    if (one.isNamed || one.type == 2 || one.type > 4)
      return Error{"the sharding has a form that is not understood"};
    Result<tensor::Shards> shards =
        tensor::Shards::parse(one.str(), static_cast<int64_t>(ranks[i]), INT64_MAX);
    if (!shards)
      return shards.error();
    all.push_back(std::move(*shards));
  }
  return all;
}

std::string serializeShapes(std::span<const TypedShape> values) {
  Writer writer;
  if (values.size() != 1) {
    writer.number(2, 13); // TUPLE
    for (const TypedShape &value : values)
      writer.text(4, serializeShapes({&value, 1}));
    return writer.bytes;
  }
  const auto &[type, shape] = values[0];
  writer.number(2, primitiveType(type));
  writer.numbers(3, shape);
  Writer layout;
  std::vector<int64_t> order;
  for (size_t dim = shape.size(); dim-- > 0;)
    order.push_back(static_cast<int64_t>(dim));
  layout.numbers(1, order);
  writer.text(5, layout.bytes);
  return writer.bytes;
}

} // namespace cupel::pjrt
