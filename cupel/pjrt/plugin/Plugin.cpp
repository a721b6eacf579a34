// The plugin's one exported function: the table, with every entry that we have bound by the object
// it belongs to, and the rest saying which call is missing.

#include "cupel/pjrt/plugin/Layouts.h"
#include "cupel/compiler/Formats.h"

namespace cupel::pjrt {

static PJRT_Error *initialize(PJRT_Plugin_Initialize_Args *) { return nullptr; }

static PJRT_Error *attributes(PJRT_Plugin_Attributes_Args *args) {
  static const NamedValues &values = *[] {
    auto *list = new NamedValues;
    auto version = [](const std::array<int64_t, 3> &numbers) {
      return std::vector<int64_t>(numbers.begin(), numbers.end());
    };
    list->add("stablehlo_current_version", version(compiler::newestProgramVersion()));
    list->add("stablehlo_minimum_version", version(compiler::oldestProgramVersion()));
    list->add("sdy_current_version", version(compiler::shardingDialectVersion()));
    return list;
  }();
  args->attributes = values.data();
  args->num_attributes = values.size();
  return nullptr;
}

} // namespace cupel::pjrt

extern "C" __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi() {
  using namespace cupel::pjrt;
  static const PJRT_Api table = [] {
    PJRT_Api api = {};
    api.struct_size = PJRT_Api_STRUCT_SIZE;
    api.extension_start = extensions();
    api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
    api.pjrt_api_version.major_version = 0;
    api.pjrt_api_version.minor_version = kReportedMinor;
    bindStubs<missing>(api);
    bind<initialize>(api.PJRT_Plugin_Initialize);
    bind<attributes>(api.PJRT_Plugin_Attributes);
    bindErrors(api);
    bindEvents(api);
    bindClient(api);
    bindDevices(api);
    bindMemories(api);
    bindBuffers(api);
    bindBufferTransfers(api);
    bindTransfers(api);
    bindExecutables(api);
    bindTopologies(api);
    // Hosts ask whether these are there at all.
    api.PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace = nullptr;
    return api;
  }();
  return &table;
}
