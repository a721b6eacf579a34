#include "cupel/frontends/onnx/Model.h"

#include "cupel/frontends/onnx/LeaveWeights.h"
#include "cupel/tensor/MappedFile.h"
#include "onnx-ml.pb.h"

#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

namespace cupel::frontends::onnx_import {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace {

struct TypeRow {
  int32_t number;
  std::string_view name;
  std::optional<DType> type;
};

// What a sparse tensor may grow to.
constexpr int64_t kMaxDense = int64_t(1) << 31;

using P = proto::TensorProto;
constexpr TypeRow kTypes[] = {
    {P::FLOAT, "float", DType::F32},
    {P::UINT8, "uint8", DType::U8},
    {P::INT8, "int8", DType::I8},
    {P::UINT16, "uint16", DType::U16},
    {P::INT16, "int16", DType::I16},
    {P::INT32, "int32", DType::I32},
    {P::INT64, "int64", DType::I64},
    {P::STRING, "string", std::nullopt},
    {P::BOOL, "bool", DType::I1},
    {P::FLOAT16, "float16", DType::F16},
    {P::DOUBLE, "double", DType::F64},
    {P::UINT32, "uint32", DType::U32},
    {P::UINT64, "uint64", DType::U64},
    {P::COMPLEX64, "complex64", DType::C64},
    {P::COMPLEX128, "complex128", DType::C128},
    {P::BFLOAT16, "bfloat16", DType::BF16},
    {P::FLOAT8E4M3FN, "float8e4m3fn", DType::F8E4M3FN},
    {P::FLOAT8E4M3FNUZ, "float8e4m3fnuz", DType::F8E4M3FNUZ},
    {P::FLOAT8E5M2, "float8e5m2", DType::F8E5M2},
    {P::FLOAT8E5M2FNUZ, "float8e5m2fnuz", DType::F8E5M2FNUZ},
    {P::UINT4, "uint4", DType::U4},
    {P::INT4, "int4", DType::I4},
    {23, "float4e2m1", DType::U4}, // Bits, as the next one; see CodedTypes.h.
    {24, "float8e8m0", DType::U8},
    {25, "uint2", DType::U2},
    {26, "int2", DType::I2},
    {27, "float6e2m3", DType::U8},
    {28, "float6e3m2", DType::U8},
};

std::string describe(const proto::TensorProto &tensor) {
  return tensor.name().empty() ? "a tensor" : "tensor '" + tensor.name() + "'";
}

/// Bits of one element where several share a byte; 0 where each has bytes of its own.
int packedBits(int32_t number) {
  switch (number) {
  case P::INT4:
  case P::UINT4:
  case 23: // float4e2m1
    return 4;
  case 25: // uint2
  case 26: // int2
    return 2;
  case 27: // float6e2m3
  case 28: // float6e3m2
    return 6;
  default:
    return 0;
  }
}

/// A tensor's form: its type's number and what follows from it.
struct Form {
  int32_t number;
  DType type;
  Shape shape;
  int64_t count;

  int bits() const { return packedBits(number); }
  int64_t rawBytes() const {
    return bits() ? (count * bits() + 7) / 8 : count * tensor::info(type).bytes;
  }
};

/// Elements that share bytes, lowest bits first, one a byte as our tensors keep them.
Result<Tensor> unpack(const Form &form, std::span<const std::byte> bytes) {
  Result<Tensor> result = Tensor::uninitialized(form.type, form.shape);
  if (!result)
    return result;
  int bits = form.bits();
  bool isSigned = form.type == DType::I4 || form.type == DType::I2;
  auto *to = result->mutableAs<uint8_t>();
  for (int64_t i = 0; i < result->size(); ++i) {
    int64_t at = i * bits / 8, shift = i * bits % 8;
    unsigned pair = unsigned(bytes[at]);
    if (shift + bits > 8)
      pair |= unsigned(bytes[at + 1]) << 8;
    uint8_t value = uint8_t(pair >> shift) & ((1 << bits) - 1);
    if (isSigned && (value >> (bits - 1)))
      value |= uint8_t(0xff << bits);
    to[i] = value;
  }
  return result;
}

/// Copies one typed field, each element converted to the type's storage.
template <typename To, typename Field> void copyField(Tensor &tensor, const Field &field) {
  To *to = tensor.mutableAs<To>();
  for (int64_t i = 0; i < tensor.size(); ++i)
    to[i] = static_cast<To>(field[i]);
}

Result<Tensor> fromTypedField(const proto::TensorProto &tensor, const Form &form) {
  DType type = form.type;
  int64_t count = form.count;
  auto wrongCount = [&](int64_t have, int64_t want) {
    return Error{fmt::format("{} has {} elements in its data but {} by its shape", describe(tensor),
                             have, want)};
  };
  if (form.bits() && form.bits() != 6) { // Six bits stand one a number.
    int64_t want = form.rawBytes();
    if (tensor.int32_data_size() != want)
      return wrongCount(tensor.int32_data_size(), want);
    std::vector<std::byte> bytes;
    for (int32_t value : tensor.int32_data())
      bytes.push_back(std::byte(value & 0xff));
    return unpack(form, bytes);
  }
  int64_t have = 0, want = count;
  switch (type) {
  case DType::F32:
    have = tensor.float_data_size();
    break;
  case DType::C64:
    have = tensor.float_data_size();
    want = 2 * count;
    break;
  case DType::F64:
    have = tensor.double_data_size();
    break;
  case DType::C128:
    have = tensor.double_data_size();
    want = 2 * count;
    break;
  case DType::I64:
    have = tensor.int64_data_size();
    break;
  case DType::U32:
  case DType::U64:
    have = tensor.uint64_data_size();
    break;
  default:
    have = tensor.int32_data_size();
  }
  if (have != want)
    return wrongCount(have, want);
  Result<Tensor> result = Tensor::uninitialized(type, form.shape);
  if (!result || count == 0)
    return result;
  switch (type) {
  case DType::F32:
  case DType::C64:
    std::memcpy(result->mutableData(), tensor.float_data().data(), want * sizeof(float));
    break;
  case DType::F64:
  case DType::C128:
    std::memcpy(result->mutableData(), tensor.double_data().data(), want * sizeof(double));
    break;
  case DType::I64:
    std::memcpy(result->mutableData(), tensor.int64_data().data(), want * sizeof(int64_t));
    break;
  case DType::U64:
    std::memcpy(result->mutableData(), tensor.uint64_data().data(), want * sizeof(uint64_t));
    break;
  case DType::U32:
    copyField<uint32_t>(*result, tensor.uint64_data());
    break;
  case DType::I32:
    std::memcpy(result->mutableData(), tensor.int32_data().data(), want * sizeof(int32_t));
    break;
  case DType::I1:
    for (int64_t i = 0; i < count; ++i)
      result->mutableAs<uint8_t>()[i] = tensor.int32_data(i) != 0;
    break;
  default: // Small integers, and the bits of small floats.
    if (tensor::info(type).bytes == 1)
      copyField<uint8_t>(*result, tensor.int32_data());
    else
      copyField<uint16_t>(*result, tensor.int32_data());
  }
  return result;
}

/// A tensor on bytes that `owner` keeps alive; copied only where they cannot be used as they lie.
Result<Tensor> fromRaw(const Form &form, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner) {
  DType type = form.type;
  if (form.bits())
    return unpack(form, bytes);
  if (type != DType::I1 && Tensor::isAligned(type, bytes.data()) && !bytes.empty())
    return Tensor::borrow(type, form.shape, bytes, std::move(owner));
  Result<Tensor> copy = Tensor::uninitialized(type, form.shape);
  if (!copy)
    return copy;
  if (type == DType::I1)
    for (int64_t i = 0; i < copy->size(); ++i)
      copy->mutableAs<uint8_t>()[i] = bytes[i] != std::byte(0);
  else if (copy->byteSize())
    std::memcpy(copy->mutableData(), bytes.data(), copy->byteSize());
  return copy;
}

Result<Form> header(const proto::TensorProto &tensor) {
  Result<DType> type = elementType(tensor.data_type());
  if (!type)
    return type.error().within(describe(tensor));
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> count = tensor::elementCount(shape);
  if (!count || !tensor::byteCount(*type, shape))
    return Error{
        fmt::format("{} has an impossible shape [{}]", describe(tensor), fmt::join(shape, ", "))};
  return Form{tensor.data_type(), *type, std::move(shape), *count};
}

Result<int64_t> parseNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return Error{"'" + std::string(text.substr(0, 40)) + "' is no byte count"};
  return value;
}

Status check(const proto::ModelProto &model) {
  if (!model.has_graph())
    return Error{"the model holds no graph"};
  if (model.ir_version() < 3 || model.ir_version() > 14)
    return Error{fmt::format("IR version {} is not read (3 to 14 are)", model.ir_version())};
  if (model.opset_import_size() == 0)
    return Error{"the model names no operator set"};
  return {};
}

} // namespace

Result<DType> elementType(int32_t number) {
  for (const TypeRow &row : kTypes)
    if (row.number == number) {
      if (row.type)
        return *row.type;
      return Error{"element type " + std::string(row.name) + " is not supported" +
                   (number == P::STRING ? ": StableHLO has no strings" : " by MLIR 19")};
    }
  return Error{"unknown element type number " + std::to_string(number)};
}

int32_t elementNumber(DType type) {
  for (const TypeRow &row : kTypes)
    if (row.type == type)
      return row.number;
  return 0;
}

std::string elementName(int32_t number) {
  for (const TypeRow &row : kTypes)
    if (row.number == number)
      return std::string(row.name);
  return "type " + std::to_string(number);
}

/// Weights that stayed in the model's file, by the initializer they belong to.
struct Model::InFile {
  std::string path;
  tensor::SharedBytes file;
  std::map<const proto::TensorProto *, WithoutWeights::Place> places;
};

Result<Model> Model::load(const std::string &path) {
  Result<tensor::SharedBytes> file = tensor::mapFile(path);
  if (!file)
    return Error{std::string(file.message())};
  if (file->bytes.size() > size_t(INT32_MAX))
    return Error{fmt::format("{}: {} bytes are more than the 2 GiB of a protobuf; weights beyond "
                             "that belong into external data",
                             path, file->bytes.size())};
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::string directory = folder.empty() ? "." : folder.string();
  auto fail = [&](std::string_view message) { return Error{path + ": " + std::string(message)}; };
  if (std::optional<WithoutWeights> rest = leaveWeights(file->bytes)) {
    Result<Model> model = parse(rest->model, directory);
    if (!model)
      return fail(model.message());
    const proto::GraphProto &graph = model->proto().graph();
    if (size_t(graph.initializer_size()) == rest->initializers.size()) {
      auto left = std::make_shared<InFile>();
      left->path = path;
      left->file = *file;
      for (int i = 0; i < graph.initializer_size(); ++i)
        if (rest->initializers[i].size)
          left->places[&graph.initializer(i)] = rest->initializers[i];
      model->inFile = std::move(left);
      return model;
    }
  }
  std::string_view bytes(reinterpret_cast<const char *>(file->bytes.data()), file->bytes.size());
  Result<Model> model = parse(bytes, directory);
  if (!model)
    return fail(model.message());
  return model;
}

Result<Model> Model::parse(std::string_view bytes, std::string folder) {
  auto parsed = std::make_shared<proto::ModelProto>();
  if (bytes.size() > size_t(INT32_MAX) || !parsed->ParseFromArray(bytes.data(), int(bytes.size())))
    return Error{"not an ONNX model (the protobuf is cut short or damaged)"};
  if (Status status = check(*parsed); !status)
    return status.error();
  Model model;
  model.model = std::move(parsed);
  model.directory = std::move(folder);
  return model;
}

Result<Tensor> Model::tensor(const proto::TensorProto &tensor) const {
  Result<Form> form = header(tensor);
  if (!form)
    return form.error();
  if (tensor.has_segment())
    return Error{describe(tensor) + " is given in segments, which is not supported"};
  if (tensor.data_location() == proto::TensorProto::EXTERNAL)
    return external(tensor);
  if (inFile)
    if (auto found = inFile->places.find(&tensor); found != inFile->places.end())
      return fromFile(tensor, found->second.offset, found->second.size);
  if (tensor.has_raw_data()) {
    const std::string &raw = tensor.raw_data();
    if (int64_t(raw.size()) != form->rawBytes())
      return Error{fmt::format("{} has {} bytes of data but needs {}", describe(tensor), raw.size(),
                               form->rawBytes())};
    return fromRaw(*form, std::as_bytes(std::span(raw.data(), raw.size())), model);
  }
  return fromTypedField(tensor, *form);
}

Result<Tensor> Model::fromFile(const proto::TensorProto &tensor, size_t offset, size_t size) const {
  Result<Form> form = header(tensor);
  if (!form)
    return form.error();
  if (int64_t(size) != form->rawBytes())
    return Error{fmt::format("{} has {} bytes of data but needs {}", describe(tensor), size,
                             form->rawBytes())};
  std::span<const std::byte> bytes = inFile->file.bytes.subspan(offset, size);
  bool fits = form->type != DType::I1 && Tensor::isAligned(form->type, bytes.data());
  int file = fits || form->bits() ? -1 : ::open(inFile->path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return fromRaw(*form, bytes, inFile->file.owner);
  // It cannot be used where it lies. Reading it, rather than copying it from the mapping, keeps the
  // mapping's pages out of memory.
  Result<Tensor> copy = Tensor::uninitialized(form->type, form->shape);
  size_t done = 0;
  while (copy && done < size) {
    ssize_t got = ::pread(file, copy->mutableData() + done, size - done, off_t(offset + done));
    if (got <= 0 && errno != EINTR)
      break;
    done += got > 0 ? size_t(got) : 0;
  }
  ::close(file);
  if (copy && done < size)
    return Error{describe(tensor) + ": " + inFile->path + " was cut short while it was read"};
  if (copy && form->type == DType::I1)
    for (size_t i = 0; i < size; ++i)
      copy->mutableAs<uint8_t>()[i] = copy->dataAs<uint8_t>()[i] != 0;
  return copy;
}

Result<Tensor> Model::external(const proto::TensorProto &tensor) const {
  Result<Form> form = header(tensor);
  if (!form)
    return form.error();
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const proto::StringStringEntryProto &entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      Result<int64_t> number = parseNumber(entry.value());
      if (!number)
        return Error{describe(tensor) + ": external data: " + number.message()};
      if (entry.key() == "offset")
        offset = *number;
      else
        length = *number;
    }
  }
  namespace fs = std::filesystem;
  fs::path relative(location);
  bool leaves = relative.empty() || relative.is_absolute();
  for (const fs::path &part : relative)
    leaves |= part == "..";
  if (leaves || directory.empty())
    return Error{describe(tensor) + ": external data at '" + location +
                 "' lies outside the model's folder"};
  // A link must not lead out of the folder either.
  std::error_code error;
  fs::path root = fs::canonical(directory, error);
  fs::path path = error ? fs::path() : fs::canonical(root / relative, error);
  if (error)
    return Error{describe(tensor) + ": external data '" + location + "': " + error.message()};
  auto [rootEnd, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (rootEnd != root.end())
    return Error{describe(tensor) + ": external data at '" + location +
                 "' lies outside the model's folder"};
  Result<tensor::SharedBytes> file = tensor::mapFile(path.string());
  if (!file)
    return Error{describe(tensor) + ": external data: " + file.message()};
  int64_t size = file->bytes.size();
  int64_t need = form->rawBytes();
  if (offset > size || (length ? *length : size - offset) > size - offset)
    return Error{fmt::format("{}: external data '{}' has {} bytes, fewer than offset {} and length "
                             "{} ask for",
                             describe(tensor), location, size, offset, length.value_or(0))};
  int64_t have = length ? *length : size - offset;
  if (have < need || (length && have != need))
    return Error{
        fmt::format("{} has {} bytes of external data but needs {}", describe(tensor), have, need)};
  return fromRaw(*form, file->bytes.subspan(offset, need), file->owner);
}

Result<Tensor> Model::tensor(const proto::SparseTensorProto &sparse) const {
  Result<Tensor> values = tensor(sparse.values());
  Result<Tensor> indices = values ? tensor(sparse.indices()) : Error{values.message()};
  if (!indices)
    return indices;
  Shape shape(sparse.dims().begin(), sparse.dims().end());
  // Few values may name a huge shape.
  std::optional<int64_t> bytesOfAll = tensor::byteCount(values->dtype(), shape);
  if (!bytesOfAll || *bytesOfAll > kMaxDense)
    return Error{fmt::format("a sparse tensor of shape [{}] is too large to be made dense",
                             fmt::join(shape, ", "))};
  Result<Tensor> dense = Tensor::zeros(values->elementType(), shape);
  if (!dense)
    return dense;
  int64_t count = values->size(), rank = shape.size();
  bool flat = indices->rank() == 1 && indices->size() == count;
  bool rows = indices->rank() == 2 && indices->dim(0) == count && indices->dim(1) == rank;
  if (indices->dtype() != DType::I64 || !(flat || rows))
    return Error{"a sparse tensor's indices fit neither its values nor its shape"};
  const int64_t *at = indices->dataAs<int64_t>();
  int bytes = tensor::info(values->dtype()).bytes;
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = 0;
    if (flat) {
      position = at[i];
    } else {
      for (int64_t d = 0; d < rank; ++d) {
        int64_t index = at[i * rank + d];
        if (index < 0 || index >= shape[d])
          return Error{"a sparse tensor's index lies outside its shape"};
        position = position * shape[d] + index;
      }
    }
    if (position < 0 || position >= dense->size())
      return Error{"a sparse tensor's index lies outside its shape"};
    std::memcpy(dense->mutableData() + position * bytes, values->data() + i * bytes, bytes);
  }
  return dense;
}

Result<Tensor> loadTensorFile(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return Error{path + ": " + std::strerror(errno)};
  // The model's reader of tensors wants an owner of the bytes.
  auto holder = std::make_shared<proto::ModelProto>();
  proto::TensorProto *tensor = holder->mutable_graph()->add_initializer();
  bool good = tensor->ParseFromFileDescriptor(file);
  ::close(file);
  if (!good)
    return Error{path + ": not a tensor (the protobuf is cut short or damaged)"};
  holder->set_ir_version(8);
  holder->add_opset_import();
  std::string bytes = holder->SerializeAsString();
  Result<Model> model = Model::parse(bytes, std::filesystem::path(path).parent_path().string());
  if (!model)
    return model.error().within(path);
  Result<Tensor> value = model->tensor(model->proto().graph().initializer(0));
  if (!value)
    return value.error().within(path);
  return value;
}

} // namespace cupel::frontends::onnx_import
