#include "cupel/tensor/Safetensors.h"

#include "cupel/support/Files.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

namespace cupel::tensor {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000; // the format's own limit
constexpr size_t kMaxRank = 64;

struct NamedType {
  const char *name;
  DType type;
};
constexpr NamedType kTypes[] = {
    {"BOOL", DType::I1},
    {"U8", DType::U8},
    {"I8", DType::I8},
    {"F8_E5M2", DType::F8E5M2},
    {"F8_E4M3", DType::F8E4M3FN},
    {"F8_E4M3FNUZ", DType::F8E4M3FNUZ},
    {"F8_E5M2FNUZ", DType::F8E5M2FNUZ},
    {"F8_E8M0", DType::F8E8M0FNU},
    {"F4", DType::F4E2M1FN},
    {"F6_E2M3", DType::F6E2M3FN},
    {"F6_E3M2", DType::F6E3M2FN},
    {"I16", DType::I16},
    {"U16", DType::U16},
    {"F16", DType::F16},
    {"BF16", DType::BF16},
    {"I32", DType::I32},
    {"U32", DType::U32},
    {"F32", DType::F32},
    {"C64", DType::C64},
    {"F64", DType::F64},
    {"I64", DType::I64},
    {"U64", DType::U64},
};

struct Entry {
  std::string name, type;
  Shape shape;
  std::vector<uint64_t> offsets;
  bool hasType = false, hasShape = false, hasOffsets = false;
};

/// Takes the header as the JSON reader walks it, so that nesting, repeated names and numbers of the
/// wrong kind are seen where they stand.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  std::string problem;

  bool start_object(std::size_t) override {
    if (state == State::Start)
      return go(State::Names);
    if (state == State::Tensor) {
      entries.push_back({});
      entries.back().name = name;
      return go(State::Fields);
    }
    if (state == State::Metadata)
      return go(State::MetadataFields);
    return fail("an object where none belongs");
  }
  bool end_object() override {
    if (state == State::Names)
      return go(State::Done);
    if (state == State::Fields) {
      const Entry &e = entries.back();
      if (!e.hasType || !e.hasShape || !e.hasOffsets)
        return fail("it lacks dtype, shape or data_offsets");
    }
    return go(State::Names);
  }
  bool key(std::string &key) override {
    switch (state) {
    case State::Names:
      name = key;
      if (!names.insert(key).second)
        return fail("the name occurs twice");
      return go(key == "__metadata__" ? State::Metadata : State::Tensor);
    case State::MetadataFields:
      field = key;
      return true;
    case State::Fields: {
      Entry &e = entries.back();
      bool *seen = key == "dtype"          ? &e.hasType
                   : key == "shape"        ? &e.hasShape
                   : key == "data_offsets" ? &e.hasOffsets
                                           : nullptr;
      if (!seen || *seen)
        return fail("the key '" + printable(key) + "' is unknown or repeated");
      *seen = true;
      field = key;
      return true;
    }
    default:
      return fail("a key where none belongs");
    }
  }
  bool string(std::string &value) override {
    if (state == State::MetadataFields) {
      if (!metadata.emplace(field, value).second)
        return fail("the key '" + printable(field) + "' is repeated");
      return true;
    }
    if (state != State::Fields || field != "dtype")
      return fail("a text where none belongs");
    entries.back().type = value;
    return true;
  }
  bool start_array(std::size_t) override {
    if (state != State::Fields || field == "dtype")
      return fail("a list where none belongs");
    return go(State::List);
  }
  bool end_array() override { return go(State::Fields); }
  bool number_unsigned(uint64_t value) override {
    if (state != State::List)
      return fail("a number where none belongs");
    Entry &e = entries.back();
    if (field == "shape") {
      if (value > INT64_MAX || e.shape.size() >= kMaxRank)
        return fail("the shape is too large");
      e.shape.push_back(static_cast<int64_t>(value));
    } else {
      if (e.offsets.size() >= 2)
        return fail("data_offsets is not a pair");
      e.offsets.push_back(value);
    }
    return true;
  }
  bool number_integer(int64_t) override { return fail("a negative number"); }
  bool number_float(double, const std::string &) override {
    return fail("a number that is not whole or beyond 64 bits");
  }
  bool null() override { return fail("a null"); }
  bool boolean(bool) override { return fail("a truth value"); }
  bool binary(nlohmann::json::binary_t &) override { return fail("binary data"); }
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    if (problem.empty())
      problem = "the header is no valid JSON at byte " + std::to_string(position);
    return false;
  }

private:
  enum class State { Start, Names, Tensor, Fields, List, Metadata, MetadataFields, Done };

  bool go(State next) {
    state = next;
    return true;
  }
  bool fail(const std::string &what) {
    problem = "the header is not as the format asks: " + what;
    if (!name.empty())
      problem += " (in '" + printable(name) + "')";
    return false;
  }

  State state = State::Start;
  std::string name, field;
  std::set<std::string> names;
};

Result<DType> resolveType(const Entry &entry) {
  for (const NamedType &known : kTypes)
    if (entry.type == known.name)
      return known.type;
  return Error{"tensor '" + printable(entry.name) + "' has elements of type '" +
               printable(entry.type) + "', which is no safetensors type"};
}

/// Of the types here, floats below a byte lie bit after bit.
bool isPacked(DType type) { return isFloat(type) && info(type).bits < 8; }

/// The bytes that a tensor takes in a file; nothing if they are not whole or too many.
std::optional<uint64_t> storedBytes(DType type, const Shape &shape) {
  std::optional<int64_t> bytes = byteCount(type, shape);
  if (!bytes || !isPacked(type))
    return bytes;
  auto count = static_cast<uint64_t>(*bytes);
  uint64_t groups = count / 8, rest = count % 8 * info(type).bits;
  return rest % 8 ? std::nullopt : std::optional(groups * info(type).bits + rest / 8);
}

Result<Tensor> unpacked(std::span<const std::byte> bytes, DType type, const Shape &shape) {
  Result<Tensor> result = Tensor::uninitialized(type, shape);
  if (!result)
    return result;
  uint64_t bits = info(type).bits;
  for (uint64_t i = 0, n = static_cast<uint64_t>(result->size()); i < n; ++i) {
    uint64_t at = i * bits, first = at / 8;
    unsigned pair = static_cast<unsigned>(bytes[first]);
    if (first + 1 < bytes.size())
      pair |= static_cast<unsigned>(bytes[first + 1]) << 8;
    result->mutableData()[i] = static_cast<std::byte>(pair >> at % 8 & ((1u << bits) - 1));
  }
  return result;
}

Result<Tensor> packed(const Tensor &flat, uint64_t bytes) {
  Result<Tensor> result = Tensor::zeros(DType::U8, {static_cast<int64_t>(bytes)});
  if (!result)
    return result;
  std::byte *out = result->mutableData();
  uint64_t bits = info(flat.dtype()).bits;
  for (uint64_t i = 0, n = static_cast<uint64_t>(flat.size()); i < n; ++i) {
    uint64_t at = i * bits;
    unsigned pair = static_cast<unsigned>(flat.data()[i]) << at % 8;
    out[at / 8] |= static_cast<std::byte>(pair);
    if (pair >> 8)
      out[at / 8 + 1] |= static_cast<std::byte>(pair >> 8);
  }
  return result;
}

/// Orders the entries by their bytes; these must follow one another and end with the file.
Status checkLayout(std::vector<Entry> &entries, uint64_t dataSize) {
  for (const Entry &e : entries)
    if (e.offsets.size() != 2 || e.offsets[0] > e.offsets[1] || e.offsets[1] > dataSize)
      return Error{"tensor '" + printable(e.name) + "': data_offsets must be a pair within the " +
                   std::to_string(dataSize) + " bytes that follow the header"};
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.offsets != b.offsets ? a.offsets < b.offsets : a.name < b.name;
  });
  uint64_t end = 0;
  for (const Entry &e : entries) {
    if (e.offsets[0] != end)
      return Error{"tensor '" + printable(e.name) + "' starts at byte " +
                   std::to_string(e.offsets[0]) +
                   (e.offsets[0] < end ? ", inside the tensor before it, which ends at "
                                       : ", leaving a hole behind ") +
                   std::to_string(end)};
    end = e.offsets[1];
  }
  if (end != dataSize)
    return Error{std::to_string(dataSize - end) + " bytes at the end belong to no tensor"};
  return {};
}

Result<Tensor> makeTensor(const SharedBytes &bytes, DType type, const Shape &shape) {
  bool isClean = type != DType::I1 || std::all_of(bytes.bytes.begin(), bytes.bytes.end(),
                                                  [](std::byte b) { return b <= std::byte{1}; });
  if (!isClean)
    return Error{"a BOOL is neither 0 nor 1"};
  if (isPacked(type))
    return unpacked(bytes.bytes, type, shape);
  if (Tensor::isAligned(type, bytes.bytes.data()))
    return Tensor::borrow(type, shape, bytes.bytes, bytes.ownerOfPart());
  Result<Tensor> copy = Tensor::uninitialized(type, shape);
  if (copy && !bytes.bytes.empty())
    std::memcpy(copy->mutableData(), bytes.bytes.data(), bytes.bytes.size());
  return copy;
}

} // namespace

Result<Safetensors> parseSafetensors(const SharedBytes &file, const std::string &name) {
  auto wrong = [&](const std::string &what) { return Error{name + ": " + what}; };
  uint64_t size = file.bytes.size(), length = 0;
  if (size < 8)
    return wrong("is no safetensors file: shorter than 8 bytes");
  std::memcpy(&length, file.bytes.data(), 8);
  if (length > kMaxHeader)
    return wrong("is no safetensors file: it claims a header of " + std::to_string(length) +
                 " bytes, the format allows " + std::to_string(kMaxHeader));
  if (length > size - 8)
    return wrong("is cut off: the header needs " + std::to_string(length) + " bytes, " +
                 std::to_string(size - 8) + " are there");
  const char *text = reinterpret_cast<const char *>(file.bytes.data()) + 8;
  if (length == 0 || text[0] != '{')
    return wrong("is no safetensors file: the header does not start with {");
  HeaderReader header;
  if (!nlohmann::json::sax_parse(text, text + length, &header))
    return wrong(header.problem);
  uint64_t dataAt = 8 + length;
  if (Status fits = checkLayout(header.entries, size - dataAt); !fits)
    return wrong(fits.message());

  Safetensors result;
  result.metadata = std::move(header.metadata);
  for (const Entry &entry : header.entries) {
    Result<DType> type = resolveType(entry);
    if (!type)
      return wrong(type.message());
    uint64_t bytes = entry.offsets[1] - entry.offsets[0];
    std::optional<uint64_t> needed = storedBytes(*type, entry.shape);
    if (!needed || *needed != bytes)
      return wrong("tensor '" + printable(entry.name) + "': " + describe(*type, entry.shape) +
                   " does not take the " + std::to_string(bytes) + " bytes it is given");
    Result<Tensor> tensor =
        makeTensor(file.part(dataAt + entry.offsets[0], bytes), *type, entry.shape);
    if (!tensor)
      return wrong("tensor '" + printable(entry.name) + "': " + tensor.message());
    result.tensors.emplace_back(entry.name, std::move(*tensor));
  }
  return result;
}

Result<Safetensors> readSafetensors(const std::string &path) {
  Result<SharedBytes> file = mapFile(path);
  if (!file)
    return file.error();
  return parseSafetensors(*file, displayName(path));
}

Status writeSafetensors(const std::string &path, const Safetensors &contents) {
  auto wrong = [&](const std::string &what) { return Error{displayName(path) + ": " + what}; };
  // Wide elements first, as the format's own writer does: then all are aligned.
  std::vector<const std::pair<std::string, Tensor> *> order;
  std::set<std::string> seen;
  for (const auto &named : contents.tensors) {
    if (named.first == "__metadata__" || !seen.insert(named.first).second)
      return wrong("the name '" + printable(named.first) + "' is reserved or given twice");
    order.push_back(&named);
  }
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    int left = info(a->second.dtype()).bytes, right = info(b->second.dtype()).bytes;
    return left != right ? left > right : a->first < b->first;
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!contents.metadata.empty())
    header["__metadata__"] = contents.metadata;
  std::vector<Tensor> flat; // keeps copies alive until they are written
  uint64_t offset = 0;
  for (const auto *named : order) {
    const auto *type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const NamedType &t) {
      return t.type == named->second.dtype();
    });
    if (type == std::end(kTypes))
      return wrong("tensor '" + printable(named->first) + "': safetensors has no type for " +
                   std::string(info(named->second.dtype()).name) + "; write an .npz");
    Result<Tensor> one = named->second.contiguous();
    if (!one)
      return wrong(one.message());
    Shape shape(one->shape().begin(), one->shape().end());
    if (isPacked(type->type)) {
      std::optional<uint64_t> bytes = storedBytes(type->type, shape);
      if (!bytes)
        return wrong("tensor '" + printable(named->first) + "': the bits of a " +
                     describe(type->type, shape) + " do not fill whole bytes; write an .npz");
      one = packed(*one, *bytes);
      if (!one)
        return wrong(one.message());
    }
    nlohmann::ordered_json entry;
    entry["dtype"] = type->name;
    entry["shape"] = std::move(shape);
    entry["data_offsets"] = {offset, offset + static_cast<uint64_t>(one->byteSize())};
    // Not header[...], which would look through all names that are there.
    header.get_ref<nlohmann::ordered_json::object_t &>().push_back(
        {named->first, std::move(entry)});
    offset += static_cast<uint64_t>(one->byteSize());
    flat.push_back(std::move(*one));
  }
  // What is not UTF-8 in a name is replaced; if that happened, the name would come back changed.
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (text.find("\xef\xbf\xbd") != std::string::npos)
    return wrong("a name or a piece of metadata is not UTF-8 (or holds U+FFFD)");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  std::string prefix(reinterpret_cast<const char *>(&length), 8);
  prefix += text;
  std::vector<std::string_view> pieces = {prefix};
  for (const Tensor &tensor : flat)
    pieces.emplace_back(reinterpret_cast<const char *>(tensor.data()),
                        static_cast<size_t>(tensor.byteSize()));
  return writeOutput(path, pieces);
}

} // namespace cupel::tensor
