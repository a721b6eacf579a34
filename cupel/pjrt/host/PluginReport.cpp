#include "cupel/pjrt/host/PluginReport.h"

#include "cupel/pjrt/host/RunWorkload.h"
#include "cupel/pjrt/host/SelfTestProgram.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace cupel;
using namespace cupel::pjrt;
using nlohmann::ordered_json;

static ordered_json describeValues(const std::vector<NamedValue> &values) {
  ordered_json result = ordered_json::object();
  for (const NamedValue &value : values)
    std::visit([&](const auto &v) { result[value.name] = v; }, value.value);
  return result;
}

ordered_json cupel::pjrt::describePlugin(const Plugin &plugin) {
  ordered_json result = {
      {"path", plugin.path()},
      {"api_version", fmt::format("{}.{}", plugin.majorVersion(), plugin.minorVersion())},
      {"table_bytes", plugin.tableSize()},
      {"known_table_bytes", structSize<PJRT_Api>},
      {"attributes", describeValues(plugin.attributes())},
      {"extensions", ordered_json::array()},
      {"missing_functions", plugin.missingFunctions()}};
  for (const Extension &extension : plugin.extensions())
    result["extensions"].push_back({{"type", extension.type},
                                    {"name", extension.name.empty() ? "unknown" : extension.name},
                                    {"bytes", extension.structSize}});
  size_t present = 0;
  for (const Entry &entry : entries())
    present += hasEntry(plugin.api(), entry.offset);
  result["functions"] = present;
  result["known_functions"] = entries().size();
  return result;
}

ordered_json cupel::pjrt::describeClient(const Client &client) {
  ordered_json result = {{"platform", client.platformName()},
                         {"platform_version", client.platformVersion()},
                         {"devices", ordered_json::array()},
                         {"memories", ordered_json::array()}};
  for (const Device &device : client.devices())
    result["devices"].push_back({{"id", device.id},
                                 {"kind", device.kind},
                                 {"description", device.description},
                                 {"addressable", device.isAddressable},
                                 {"local_hardware_id", device.localHardwareId},
                                 {"process_index", device.processIndex},
                                 {"memories", device.memoryIds},
                                 {"attributes", describeValues(device.attributes)}});
  for (const MemorySpace &memory : client.memories())
    result["memories"].push_back(
        {{"id", memory.id}, {"kind", memory.kind}, {"description", memory.description}});
  return result;
}

ordered_json cupel::pjrt::describeError(const Error &error) {
  ordered_json result = {{"class", errorClass(error)}, {"message", error.message}};
  if (!error.place.call.empty())
    result["call"] = error.place.call;
  if (isPluginsOwn(error))
    result["code"] = info(error.code).canonicalName;
  return result;
}

ordered_json cupel::pjrt::selfTest(Client &client, double timeout,
                                   const std::function<void(std::string_view)> &announce) {
  auto artifact = [](const unsigned char *bytes, size_t size, workload::ProgramVersion version) {
    return workload::ProgramBytes{version,
                                  std::string(reinterpret_cast<const char *>(bytes), size)};
  };
  Workload workload;
  workload.name = "self-test";
  // The older of the two only for those who say that they need it.
  workload.programs = {artifact(kSelfTestV1_0_0, sizeof(kSelfTestV1_0_0), {1, 0, 0})};
  if (auto version = client.plugin()->stablehloVersion(); version && version->front() < 1)
    workload.programs = {artifact(kSelfTestV0_9_0, sizeof(kSelfTestV0_9_0), {0, 9, 0})};
  using tensor::DType;
  workload.inputs = {{tensor::Tensor::of<DType::F32>({4}, {1, -2, 3.5f, 0}),
                      tensor::Tensor::of<DType::F32>({4}, {10, 20, 0.25f, -1})}};
  constexpr float kSum[] = {11, 18, 3.75f, -1};

  RunReport report = runWorkload(client, workload, {.timeout = timeout}, announce);
  ordered_json result = {{"passed", false},
                         {"program", "add of two tensor<4xf32>, StableHLO " +
                                         workload::toString(*workload.programs.front().version)}};
  for (const RunReport::Stage &stage : report.stages)
    result["stages"].push_back({{"name", stage.name}, {"seconds", stage.seconds}});
  if (report.failure) {
    result["failure"] = describeError(*report.failure);
    return result;
  }
  const auto &results = report.results.front();
  if (results.size() != 1 || results[0].dtype() != DType::F32 || results[0].size() != 4) {
    std::string types;
    for (const tensor::Tensor &tensor : results)
      types += (types.empty() ? "" : ", ") + tensor::describe(tensor.dtype(), tensor.shape());
    result["failure"] = {
        {"class", "incorrect_result"},
        {"message", fmt::format("the sum of two tensor<4xf32> gave {} results ({}), not one "
                                "tensor<4xf32>",
                                results.size(), types)}};
    return result;
  }
  const auto *values = results[0].dataAs<float>();
  if (!std::equal(kSum, kSum + 4, values))
    result["failure"] = {{"class", "incorrect_result"},
                         {"message", fmt::format("[1, -2, 3.5, 0] + [10, 20, 0.25, -1] gave [{}]",
                                                 fmt::join(values, values + 4, ", "))}};
  else
    result["passed"] = true;
  return result;
}
