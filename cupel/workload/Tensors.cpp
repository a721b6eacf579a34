#include "cupel/workload/Tensors.h"

#include "cupel/tensor/Safetensors.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

using namespace cupel;
using tensor::DType;
using tensor::Tensor;

namespace {

/// How a type that safetensors lacks is kept: as bytes, with the bytes of an element as the last
/// dimension.
bool hasSafetensorsName(DType type) {
  switch (type) {
  case DType::I2:
  case DType::I4:
  case DType::U2:
  case DType::U4:
  case DType::F4E2M1FN: // The format packs these, which not every shape allows.
  case DType::F6E2M3FN:
  case DType::F6E3M2FN:
  case DType::F8E3M4:
  case DType::F8E4M3:
  case DType::F8E4M3B11FNUZ:
  case DType::C128:
    return false;
  default:
    return true;
  }
}

constexpr std::string_view kTypeKey = "cupel.dtype.";

Result<Tensor> asBytes(const Tensor &tensor) {
  Result<Tensor> dense = tensor.contiguous();
  if (!dense)
    return dense;
  tensor::Shape shape(dense->shape().begin(), dense->shape().end());
  shape.push_back(tensor::info(tensor.dtype()).bytes);
  auto owner = std::make_shared<Tensor>(*dense);
  return Tensor::borrow(DType::U8, std::move(shape),
                        {dense->data(), static_cast<size_t>(dense->byteSize())}, owner);
}

Result<Tensor> fromBytes(const Tensor &bytes, DType type, const std::string &what) {
  tensor::Shape shape(bytes.shape().begin(), bytes.shape().end());
  if (bytes.dtype() != DType::U8 || shape.empty() || shape.back() != tensor::info(type).bytes)
    return Error{fmt::format("{}: says it holds {} as bytes, but is a {}", what,
                             tensor::info(type).name,
                             tensor::describe(bytes.elementType(), bytes.shape()))};
  shape.pop_back();
  // Mapped bytes need not be aligned for the type.
  Result<Tensor> result = Tensor::uninitialized(type, std::move(shape));
  if (!result)
    return result;
  Result<Tensor> dense = bytes.contiguous();
  if (!dense)
    return dense;
  std::copy_n(dense->data(), dense->byteSize(), result->mutableData());
  return result;
}

/// "3" or "d2/3".
bool parsePosition(std::string_view name, size_t &device, size_t &position, bool &hasDevice) {
  auto number = [](std::string_view text, size_t &value) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
  };
  size_t slash = name.find('/');
  hasDevice = slash != std::string_view::npos;
  device = 0;
  if (hasDevice && (!name.starts_with('d') || !number(name.substr(1, slash - 1), device)))
    return false;
  return number(hasDevice ? name.substr(slash + 1) : name, position);
}

} // namespace

Status cupel::workload::writeTensors(const std::string &path,
                                 const std::vector<std::vector<Tensor>> &tensors) {
  tensor::Safetensors contents;
  for (size_t d = 0; d < tensors.size(); ++d)
    for (size_t i = 0; i < tensors[d].size(); ++i) {
      std::string name = tensors.size() > 1 ? fmt::format("d{}/{}", d, i) : fmt::format("{}", i);
      Tensor tensor = tensors[d][i];
      if (tensor.elementType().quantization)
        tensor = tensor.withElementType(tensor.dtype());
      if (!hasSafetensorsName(tensor.dtype())) {
        contents.metadata[std::string(kTypeKey) + name] = tensor::info(tensor.dtype()).name;
        Result<Tensor> bytes = asBytes(tensor);
        if (!bytes)
          return bytes.error();
        tensor = *bytes;
      }
      contents.tensors.emplace_back(std::move(name), std::move(tensor));
    }
  return tensor::writeSafetensors(path, contents);
}

Result<std::vector<std::vector<Tensor>>> cupel::workload::readTensors(const std::string &path) {
  Result<tensor::Safetensors> contents = tensor::readSafetensors(path);
  if (!contents)
    return contents.error();
  std::map<std::pair<size_t, size_t>, Tensor> byPosition;
  std::map<size_t, Tensor> common;
  size_t devices = 0;
  for (auto &[name, tensor] : contents->tensors) {
    size_t device, position;
    bool hasDevice;
    if (!parsePosition(name, device, position, hasDevice))
      return Error{
          fmt::format("{}: tensor '{}' is not named by a position such as 0 or d1/0", path, name)};
    if (auto found = contents->metadata.find(std::string(kTypeKey) + name);
        found != contents->metadata.end()) {
      std::optional<DType> type = tensor::parseDType(found->second);
      if (!type)
        return Error{
            fmt::format("{}: tensor '{}' is of the unknown type '{}'", path, name, found->second)};
      Result<Tensor> decoded = fromBytes(tensor, *type, fmt::format("{}: tensor '{}'", path, name));
      if (!decoded)
        return decoded.error();
      tensor = *decoded;
    }
    if (hasDevice)
      devices = std::max(devices, device + 1);
    if (!(hasDevice ? byPosition.emplace(std::pair(device, position), std::move(tensor)).second
                    : common.emplace(position, std::move(tensor)).second))
      return Error{fmt::format("{}: two tensors stand at '{}'", path, name)};
  }
  if (devices > byPosition.size())
    return Error{fmt::format("{}: tensors for {} devices, but only {} tensors", path, devices,
                             byPosition.size())};
  devices = std::max<size_t>(devices, 1);
  // What names no device is the same on all of them, and kept once.
  for (const auto &[position, tensor] : common)
    for (size_t device = 0; device < devices; ++device)
      if (!byPosition.emplace(std::pair(device, position), tensor).second)
        return Error{fmt::format("{}: two tensors stand at 'd{}/{}'", path, device, position)};
  std::vector<std::vector<Tensor>> result(devices);
  for (auto &[position, tensor] : byPosition) {
    if (position.second != result[position.first].size())
      return Error{fmt::format("{}: tensor {} of device {} is missing", path,
                               result[position.first].size(), position.first)};
    result[position.first].push_back(std::move(tensor));
  }
  return result;
}
