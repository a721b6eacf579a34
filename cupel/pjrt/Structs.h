// The struct_size rules of the PJRT C API and the list of its functions, for C++. The plugin uses
// it to serve callers that are older or newer than our header, the host to call plugins that are.
// It must never read or write a field that the other side did not say it has.
#pragma once

#include "cupel/pjrt/c_api.h"
#include "cupel/pjrt/c_api_extensions.h"

#include <cstring>
#include <span>
#include <string_view>

namespace cupel::pjrt {

/// The minor version that our plugin reports: that of the newest framework it is tested with. A
/// number promises every function of the table up to it.
inline constexpr int kReportedMinor = 112;

/// The oldest minor whose table has the order of ours; before it the functions stood elsewhere.
inline constexpr int kOldestMinor = 57;

/// The value of `struct_size` for a struct as our header knows it; 0 for a type without one.
template <typename T> inline constexpr size_t structSize = 0;
#define PJRT_STRUCT(type, end, size)                                                               \
  template <> inline constexpr size_t structSize<type> = type##_STRUCT_SIZE;
#include "cupel/pjrt/Structs.def"

/// A struct with everything zero but its struct_size: what a caller starts from.
template <typename T> T makeStruct() {
  static_assert(structSize<T> != 0, "this struct has no struct_size");
  T value;
  std::memset(&value, 0, sizeof(T));
  value.struct_size = structSize<T>;
  return value;
}

/// Where a field ends, counted from the start of its struct.
template <typename T, typename Field> size_t endOf(const T *object, Field T::*field) {
  return size_t(reinterpret_cast<const char *>(&(object->*field)) -
                reinterpret_cast<const char *>(object)) +
         sizeof(Field);
}

/// Whether whoever made this struct knew of the field: `hasField(args, &T::load_options)`.
template <typename T, typename Field> bool hasField(const T *object, Field T::*field) {
  return object->struct_size >= endOf(object, field);
}

/// The field, or `absent` where the other side is too old to have it.
template <typename T, typename Field>
Field getField(const T *object, Field T::*field, Field absent = {}) {
  return hasField(object, field) ? object->*field : absent;
}

/// Writes an output unless the caller is too old to have room for it.
template <typename T, typename Field, typename Value>
void setField(T *object, Field T::*field, Value value) {
  if (hasField(object, field))
    object->*field = value;
}

/// The function of a plugin's table, or null where the table ends before it or leaves it empty.
template <typename Function>
Function findFunction(const PJRT_Api *api, Function PJRT_Api::*function) {
  return getField<PJRT_Api, Function>(api, function, nullptr);
}

/// One function of the table.
struct Entry {
  std::string_view name;
  size_t offset; ///< Of its pointer in PJRT_Api.
  int since;     ///< The minor version that appended it.
};

/// Every function in the order of the table.
std::span<const Entry> entries();

/// Whether a plugin's table has the entry. `offset` must be one of entries().
bool hasEntry(const PJRT_Api *api, size_t offset);

/// Fills every function of the table with a stub of its own that answers `makeError(NAME)`, so what
/// is bound afterwards is implemented and the rest says which call is missing. The two functions
/// that return nothing do nothing.
template <PJRT_Error *(*makeError)(const char *name)> void bindStubs(PJRT_Api &api) {
#define PJRT_ENTRY(name, offset, since)                                                            \
  api.name = [](name##_Args *) -> PJRT_Error * { return makeError(#name); };
#define PJRT_VOID_ENTRY(name, offset, since) api.name = [](name##_Args *) {};
#include "cupel/pjrt/Entries.def"
}

/// The name of a code, such as "INVALID_ARGUMENT"; "UNKNOWN" for numbers that are none.
std::string_view errorCodeName(int code);

/// The name of an extension type, such as "Layouts"; empty for a number we do not know.
std::string_view extensionTypeName(int type);

/// The name of a buffer element type, such as "F32"; empty for a number we do not know.
std::string_view bufferTypeName(int type);

} // namespace cupel::pjrt
