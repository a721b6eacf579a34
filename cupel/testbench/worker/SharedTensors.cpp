#include "cupel/testbench/worker/SharedTensors.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::testbench::worker {

namespace {

using Json = nlohmann::json;

std::string textOf(const Json &json, const char *key) {
  auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<tensor::DType> dtypeOf(const std::string &name) {
  using tensor::DType;
  static const std::pair<std::string_view, DType> kTypes[] = {
      {"float32", DType::F32},
      {"float16", DType::F16},
      {"bfloat16", DType::BF16},
      {"float64", DType::F64},
      {"int64", DType::I64},
      {"int32", DType::I32},
      {"int16", DType::I16},
      {"int8", DType::I8},
      {"uint8", DType::U8},
      {"uint16", DType::U16},
      {"uint32", DType::U32},
      {"uint64", DType::U64},
      {"bool", DType::I1},
      {"complex64", DType::C64},
      {"complex128", DType::C128},
      {"float8_e4m3fn", DType::F8E4M3FN},
      {"float8_e5m2", DType::F8E5M2},
      {"float8_e4m3fnuz", DType::F8E4M3FNUZ},
      {"float8_e5m2fnuz", DType::F8E5M2FNUZ},
      {"float8_e8m0fnu", DType::F8E8M0FNU},
  };
  for (const auto &[spelt, type] : kTypes)
    if (spelt == name)
      return type;
  return std::nullopt;
}

} // namespace

SharedTensors::~SharedTensors() {
  if (memory >= 0)
    close(memory);
}

Status SharedTensors::use(const std::string &file) {
  if (file != path) {
    mapped.reset();
    mappedBytes = 0;
    if (memory >= 0)
      close(memory);
    memory = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    path = file;
  }
  struct stat info = {};
  if (memory < 0 || fstat(memory, &info) != 0)
    return Error{ErrorCode::Internal, "the shared memory: " + std::string(std::strerror(errno))};
  auto size = size_t(info.st_size);
  if (size == mappedBytes)
    return {};
  mapped.reset();
  mappedBytes = 0;
  void *address = mmap(nullptr, size, PROT_READ, MAP_SHARED, memory, 0);
  if (address == MAP_FAILED)
    return Error{ErrorCode::Internal,
                 "the shared memory cannot be mapped: " + std::string(std::strerror(errno))};
  mapped = std::shared_ptr<const std::byte>(
      static_cast<const std::byte *>(address),
      [size](const std::byte *at) { munmap(const_cast<std::byte *>(at), size); });
  mappedBytes = size;
  return {};
}

Result<std::vector<tensor::Tensor>> SharedTensors::tensors(const Json &list) const {
  std::vector<tensor::Tensor> all;
  if (!list.is_array())
    return Error{"what is handed over describes no tensors"};
  for (const Json &one : list) {
    if (!one.is_object() || !one.contains("shape") || !one["shape"].is_array() ||
        !one.contains("offset") || !one["offset"].is_number_unsigned())
      return Error{"what is handed over describes a tensor in a form that is not known"};
    std::optional<tensor::DType> type = dtypeOf(textOf(one, "dtype"));
    if (!type)
      return Error{"tensors of the type " + textOf(one, "dtype") + " are not known here"};
    tensor::Shape shape;
    for (const Json &size : one["shape"]) {
      if (!size.is_number_integer())
        return Error{"what is handed over describes a tensor in a form that is not known"};
      shape.push_back(size.get<int64_t>());
    }
    std::optional<int64_t> bytes = tensor::byteCount(*type, shape);
    auto offset = one["offset"].get<uint64_t>();
    if (!bytes || offset > mappedBytes || uint64_t(*bytes) > mappedBytes - offset)
      return Error{"what is handed over describes a tensor outside the shared memory"};
    Result<tensor::Tensor> made = tensor::Tensor::borrow(
        *type, std::move(shape), {mapped.get() + offset, size_t(*bytes)}, mapped);
    if (!made)
      return made.error();
    all.push_back(std::move(*made));
  }
  return all;
}

} // namespace cupel::testbench::worker
