#include "cupel/pjrt/Structs.h"

using namespace cupel::pjrt;

static constexpr Entry kEntries[] = {
#define PJRT_ENTRY(name, offset, since) {#name, offset, since},
#include "cupel/pjrt/Entries.def"
};

std::span<const Entry> cupel::pjrt::entries() { return kEntries; }

bool cupel::pjrt::hasEntry(const PJRT_Api *api, size_t offset) {
  if (api->struct_size < offset + sizeof(void *))
    return false;
  void *function = nullptr;
  std::memcpy(&function, reinterpret_cast<const char *>(api) + offset, sizeof(function));
  return function != nullptr;
}

template <size_t N>
static std::string_view nameOf(const std::string_view (&names)[N], int number,
                               std::string_view otherwise) {
  return number >= 0 && size_t(number) < N ? names[number] : otherwise;
}

std::string_view cupel::pjrt::errorCodeName(int code) {
  static constexpr std::string_view kNames[] = {"OK",
                                                "CANCELLED",
                                                "UNKNOWN",
                                                "INVALID_ARGUMENT",
                                                "DEADLINE_EXCEEDED",
                                                "NOT_FOUND",
                                                "ALREADY_EXISTS",
                                                "PERMISSION_DENIED",
                                                "RESOURCE_EXHAUSTED",
                                                "FAILED_PRECONDITION",
                                                "ABORTED",
                                                "OUT_OF_RANGE",
                                                "UNIMPLEMENTED",
                                                "INTERNAL",
                                                "UNAVAILABLE",
                                                "DATA_LOSS",
                                                "UNAUTHENTICATED"};
  return nameOf(kNames, code, "UNKNOWN");
}

std::string_view cupel::pjrt::extensionTypeName(int type) {
  static constexpr std::string_view kNames[] = {"Gpu_Custom_Call",
                                                "Profiler",
                                                "Custom_Partitioner",
                                                "Stream",
                                                "Layouts",
                                                "FFI",
                                                "MemoryDescriptions",
                                                "Triton",
                                                "RawBuffer",
                                                "PhaseCompile",
                                                "Example",
                                                "Unknown",
                                                "CrossHostTransfers",
                                                "ExecutableMetadata",
                                                "Callback",
                                                "HostAllocator",
                                                "TpuTopology",
                                                "TpuExecutable",
                                                "Megascale",
                                                "Shardings",
                                                "AbiVersion",
                                                "Collectives",
                                                "MultiSlice",
                                                "HostMemoryAllocator",
                                                "XlaTransform"};
  return nameOf(kNames, type, "");
}

std::string_view cupel::pjrt::bufferTypeName(int type) {
  static constexpr std::string_view kNames[] = {
      "INVALID",    "PRED",   "S8",       "S16",           "S32",
      "S64",        "U8",     "U16",      "U32",           "U64",
      "F16",        "F32",    "F64",      "BF16",          "C64",
      "C128",       "F8E5M2", "F8E4M3FN", "F8E4M3B11FNUZ", "F8E5M2FNUZ",
      "F8E4M3FNUZ", "S4",     "U4",       "TOKEN",         "S2",
      "U2",         "F8E4M3", "F8E3M4",   "F8E8M0FNU",     "F4E2M1FN",
      "S1",         "U1",     "F6E2M3FN", "F6E3M2FN"};
  return nameOf(kNames, type, "");
}
