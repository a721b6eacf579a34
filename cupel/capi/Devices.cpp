// Devices for the C API: a client of a plugin, programs compiled for one of its devices, runs.

#include "cupel/capi/Api.h"
#include "cupel/capi/Errors.h"
#include "cupel/capi/Tensors.h"
#include "cupel/pjrt/host/Client.h"

#include <algorithm>
#include <fmt/ranges.h>

using namespace cupel;
using tensor::Tensor;

namespace {

/// Nobody set a limit: a day.
constexpr double kLongSeconds = 24 * 3600;

/// "name=value" each.
Result<std::vector<pjrt::NamedValue>> namedValues(const char *const *options, size_t count) {
  std::vector<pjrt::NamedValue> values;
  for (size_t i = 0; i < count; ++i) {
    Result<pjrt::NamedValue> value = pjrt::parseNamedValue(options[i]);
    if (!value)
      return value.error();
    values.push_back(std::move(*value));
  }
  return values;
}

/// A result where it lies, if the plugin lends it; copied otherwise, and where it is an input that
/// was passed through, whose memory is the caller's.
Result<Tensor> onHost(pjrt::Buffer output, std::span<const CupelTensor> lent,
                      pjrt::Deadline deadline) {
  auto shared = std::make_shared<pjrt::Buffer>(std::move(output));
  Result<std::optional<Tensor>> inPlace = pjrt::Buffer::inPlace(shared);
  if (!inPlace)
    return inPlace.error();
  auto overlaps = [&](const CupelTensor &input) {
    const auto *first = static_cast<const std::byte *>(input.data);
    return std::less<>()((*inPlace)->data(), first + input.bytes) &&
           std::less<>()(first, (*inPlace)->data() + (*inPlace)->byteSize());
  };
  if (!*inPlace || std::ranges::any_of(lent, overlaps))
    return shared->toHost(deadline);
  return **inPlace;
}

} // namespace

struct CupelDevice {
  std::shared_ptr<pjrt::Client> client;
  std::vector<const pjrt::Device *> devices;
  std::string stablehloVersion;
};

struct CupelExecutable {
  std::shared_ptr<pjrt::Client> client;
  const pjrt::Device *device;
  pjrt::Executable executable;
};

struct CupelResults {
  struct One {
    Tensor tensor;
    std::string type;
  };
  std::vector<One> values;
};

void cupel_free(void *memory) { std::free(memory); }

CupelDevice *cupel_device_open(const char *plugin, const char *const *options, size_t count,
                               char **error) {
  Result<std::vector<pjrt::NamedValue>> values = namedValues(options, count);
  if (!values)
    return capi::failed(error, values.message());
  Result<std::shared_ptr<pjrt::Plugin>> loaded = pjrt::Plugin::load(plugin);
  if (!loaded)
    return capi::failed(error, loaded.message());
  Result<std::shared_ptr<pjrt::Client>> client = pjrt::Client::create(*loaded, *values);
  if (!client)
    return capi::failed(error, client.message());
  std::vector<const pjrt::Device *> devices = (*client)->addressableDevices();
  if (devices.empty())
    return capi::failed(error, std::string(plugin) + " has no device that can be used");
  std::string version;
  if (std::optional<std::vector<int64_t>> parts = (*loaded)->stablehloVersion())
    version = fmt::format("{}", fmt::join(*parts, "."));
  return new CupelDevice{*client, std::move(devices), std::move(version)};
}

void cupel_device_close(CupelDevice *device) { delete device; }
size_t cupel_device_count(const CupelDevice *device) { return device->devices.size(); }
const char *cupel_device_platform(const CupelDevice *device) {
  return device->client->platformName().c_str();
}

const char *cupel_device_stablehlo_version(const CupelDevice *device) {
  return device->stablehloVersion.c_str();
}

CupelExecutable *cupel_compile(CupelDevice *device, size_t ordinal, const char *code, size_t size,
                               const char *const *options, size_t count, char **error) {
  if (ordinal >= device->devices.size())
    return capi::failed(error, "there is no device " + std::to_string(ordinal) + ": " +
                                   device->client->platformName() + " has " +
                                   std::to_string(device->devices.size()));
  Result<std::vector<pjrt::NamedValue>> values = namedValues(options, count);
  if (!values)
    return capi::failed(error, values.message());
  pjrt::CompileOptions how;
  how.deviceIds = {device->devices[ordinal]->id};
  for (const pjrt::NamedValue &value : *values) {
    if (Status added = pjrt::addFlag(how, value); !added)
      return capi::failed(error, added.message());
  }
  Result<pjrt::Executable> executable =
      device->client->compile(std::string_view(code, size), how);
  if (!executable)
    return capi::failed(error, executable.message());
  return new CupelExecutable{device->client, device->devices[ordinal], std::move(*executable)};
}

void cupel_executable_close(CupelExecutable *executable) { delete executable; }

CupelResults *cupel_execute(CupelExecutable *executable, const CupelTensor *inputs, size_t count,
                            char **error) {
  pjrt::Deadline deadline = pjrt::deadlineIn(kLongSeconds);
  std::vector<pjrt::Buffer> buffers;
  std::vector<std::vector<const pjrt::Buffer *>> arguments(1);
  for (size_t i = 0; i < count; ++i) {
    Result<Tensor> value = capi::borrowed(inputs[i]);
    if (!value)
      return capi::failed(error, "input " + std::to_string(i) + ": " + value.message());
    Result<pjrt::Buffer> buffer = executable->client->lend(*value, *executable->device);
    if (!buffer)
      return capi::failed(error, "input " + std::to_string(i) + ": " + buffer.message());
    buffers.push_back(std::move(*buffer));
  }
  for (const pjrt::Buffer &buffer : buffers)
    arguments[0].push_back(&buffer);
  auto outputs = executable->executable.execute(arguments, deadline);
  if (!outputs)
    return capi::failed(error, outputs.message());
  std::span<const CupelTensor> lent(inputs, count);
  auto results = std::make_unique<CupelResults>();
  for (pjrt::Buffer &output : (*outputs)[0]) {
    if (Status ready = output.waitUntilReady(deadline); !ready)
      return capi::failed(error, ready.message());
    Result<Tensor> value = onHost(std::move(output), lent, deadline);
    if (!value)
      return capi::failed(error, value.message());
    results->values.push_back({*value, std::string(tensor::info(value->dtype()).name)});
  }
  return results.release();
}

size_t cupel_results_count(const CupelResults *results) { return results->values.size(); }

CupelTensor cupel_results_get(const CupelResults *results, size_t i) {
  const CupelResults::One &one = results->values[i];
  return {one.tensor.data(), uint64_t(one.tensor.byteSize()), one.tensor.shape().data(),
          int64_t(one.tensor.shape().size()), one.type.c_str()};
}

void *cupel_results_keep(const CupelResults *results, size_t i) {
  return new Tensor(results->values[i].tensor);
}
void cupel_result_release(void *kept) { delete static_cast<Tensor *>(kept); }
void cupel_results_close(CupelResults *results) { delete results; }
