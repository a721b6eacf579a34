#include "cupel/pjrt/plugin/Layouts.h"

#include "cupel/pjrt/plugin/Executable.h"

namespace cupel::pjrt {

MinorToMajor layoutOfMode(const std::string &mode, size_t rank) {
  MinorToMajor order;
  if (mode.starts_with("{")) {
    std::vector<bool> seen(rank);
    bool fits = true;
    for (size_t at = 1; at < mode.size() && mode[at] != '}' && mode[at] != ':'; ++at) {
      int64_t number = 0;
      bool any = false;
      for (; at < mode.size() && mode[at] >= '0' && mode[at] <= '9' && number < 1000; ++at) {
        number = number * 10 + (mode[at] - '0');
        any = true;
      }
      fits &= any && number < static_cast<int64_t>(rank) && !seen[number];
      if (!fits)
        break;
      seen[number] = true;
      order.push_back(number);
      if (at >= mode.size() || mode[at] != ',')
        break;
    }
    if (fits && order.size() == rank)
      return order;
  }
  return rowMajor(rank);
}

namespace {

MinorToMajor &of(PJRT_Layouts_MemoryLayout *layout) {
  return *reinterpret_cast<MinorToMajor *>(layout);
}
PJRT_Layouts_MemoryLayout *newLayout(MinorToMajor order) {
  return reinterpret_cast<PJRT_Layouts_MemoryLayout *>(new MinorToMajor(std::move(order)));
}

PJRT_Error *destroy(PJRT_Layouts_MemoryLayout_Destroy_Args *args) {
  if (args->layout)
    delete &of(args->layout);
  return nullptr;
}

PJRT_Error *serialize(PJRT_Layouts_MemoryLayout_Serialize_Args *args) {
  auto *text = new std::string("{");
  for (int64_t dimension : of(args->layout))
    *text += (text->size() > 1 ? "," : "") + std::to_string(dimension);
  *text += "}";
  args->serialized_bytes = text->data();
  args->serialized_bytes_size = text->size();
  args->serialized_layout = reinterpret_cast<PJRT_Layouts_SerializedLayout *>(text);
  args->serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout *saved) {
    delete reinterpret_cast<std::string *>(saved);
  };
  return nullptr;
}

PJRT_Error *clientDefault(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *args) {
  args->layout = newLayout(rowMajor(args->num_dims));
  return nullptr;
}

PJRT_Error *topologyDefault(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *args) {
  args->layout = newLayout(rowMajor(args->num_dims));
  return nullptr;
}

PJRT_Error *ofBuffer(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *args) {
  Buffer &buffer = object(args->buffer);
  std::lock_guard lock(buffer.mutex);
  args->layout = newLayout(buffer.layout.empty() ? rowMajor(buffer.shape.size()) : buffer.layout);
  return nullptr;
}

PJRT_Error *outputLayouts(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  args->num_outputs = compiled.resultLayoutHandles.size();
  args->layouts = const_cast<PJRT_Layouts_MemoryLayout **>(compiled.resultLayoutHandles.data());
  return nullptr;
}

PJRT_Error *parameterLayouts(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  args->num_parameters = compiled.argumentLayoutHandles.size();
  args->layouts = const_cast<PJRT_Layouts_MemoryLayout **>(compiled.argumentLayoutHandles.data());
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

PJRT_Error *parameterShardings(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  bool known = compiled.info().partitions > 1;
  args->num_parameters = compiled.argumentShardings.data.size();
  args->shardings = known ? compiled.argumentShardings.data.data() : nullptr;
  args->sharding_sizes = known ? compiled.argumentShardings.sizes.data() : nullptr;
  return nullptr;
}

PJRT_Error *outputShardings(PJRT_Shardings_PJRT_Executable_OutputShardings_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  bool known = compiled.info().partitions > 1;
  args->num_outputs = compiled.resultShardings.data.size();
  args->shardings = known ? compiled.resultShardings.data.data() : nullptr;
  args->sharding_sizes = known ? compiled.resultShardings.sizes.data() : nullptr;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Memories of described devices
//===----------------------------------------------------------------------===//

PJRT_Error *memoryDescriptions(PJRT_DeviceDescription_MemoryDescriptions_Args *args) {
  // A description is the name of its kind.
  static const PJRT_MemoryDescription *const kDescriptions[] = {
      reinterpret_cast<const PJRT_MemoryDescription *>(&kMemoryKinds[0]),
      reinterpret_cast<const PJRT_MemoryDescription *>(&kMemoryKinds[1]),
      reinterpret_cast<const PJRT_MemoryDescription *>(&kMemoryKinds[2])};
  args->memory_descriptions = kDescriptions;
  args->num_memory_descriptions = std::size(kDescriptions);
  args->default_memory_index = 0;
  return nullptr;
}

PJRT_Error *memoryDescriptionKind(PJRT_MemoryDescription_Kind_Args *args) {
  const auto *kind = reinterpret_cast<const std::string_view *>(args->memory_description);
  args->kind = kind->data();
  args->kind_size = kind->size();
  args->kind_id = static_cast<int>(kind - kMemoryKinds.data());
  return nullptr;
}

} // namespace

PJRT_Extension_Base *extensions() {
  static PJRT_MemoryDescriptions_Extension memories = [] {
    PJRT_MemoryDescriptions_Extension extension = {};
    extension.base = {sizeof extension, PJRT_Extension_Type_MemoryDescriptions, ffiExtension()};
    bind<memoryDescriptions>(extension.PJRT_DeviceDescription_MemoryDescriptions);
    bind<memoryDescriptionKind>(extension.PJRT_MemoryDescription_Kind);
    return extension;
  }();
  static PJRT_Shardings_Extension shardings = [] {
    PJRT_Shardings_Extension extension = {};
    extension.base = {sizeof extension, PJRT_Extension_Type_Shardings, &memories.base};
    bind<parameterShardings>(extension.PJRT_Shardings_PJRT_Executable_ParameterShardings);
    bind<outputShardings>(extension.PJRT_Shardings_PJRT_Executable_OutputShardings);
    return extension;
  }();
  static PJRT_Layouts_Extension layouts = [] {
    PJRT_Layouts_Extension extension = {};
    extension.base = {sizeof extension, PJRT_Extension_Type_Layouts, &shardings.base};
    bind<destroy>(extension.PJRT_Layouts_MemoryLayout_Destroy);
    bind<serialize>(extension.PJRT_Layouts_MemoryLayout_Serialize);
    bind<clientDefault>(extension.PJRT_Layouts_PJRT_Client_GetDefaultLayout);
    bind<ofBuffer>(extension.PJRT_Layouts_PJRT_Buffer_MemoryLayout);
    bind<topologyDefault>(extension.PJRT_Layouts_PJRT_Topology_GetDefaultLayout);
    bind<outputLayouts>(extension.PJRT_Layouts_PJRT_Executable_GetOutputLayouts);
    bind<parameterLayouts>(extension.PJRT_Layouts_PJRT_Executable_GetParameterLayouts);
    return extension;
  }();
  return &layouts.base;
}

} // namespace cupel::pjrt
