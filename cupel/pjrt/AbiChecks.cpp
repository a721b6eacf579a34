// Holds c_api.h to the layout that every plugin and framework in the field was compiled with. It
// defines nothing: a field that moved stops the build here, with its name.
#include "cupel/pjrt/Structs.h"

namespace {

#define PJRT_STRUCT(type, end, size)                                                               \
  static_assert(type##_STRUCT_SIZE == end, "struct_size of " #type " must be " #end);              \
  static_assert(sizeof(type) == size, "sizeof " #type " must be " #size);
#define PJRT_PLAIN_STRUCT(type, size)                                                              \
  static_assert(sizeof(type) == size, "sizeof " #type " must be " #size);
#define PJRT_FIELD(type, field, offset)                                                            \
  static_assert(offsetof(type, field) == offset, #type "." #field " must lie at offset " #offset);
#include "cupel/pjrt/Structs.def"

#define PJRT_ENTRY(name, offset, since)                                                            \
  static_assert(offsetof(PJRT_Api, name) == offset, #name " must lie at offset " #offset);
#include "cupel/pjrt/Entries.def"

static_assert(sizeof(PJRT_Buffer_Type) == 4 && sizeof(PJRT_Error_Code) == 4 &&
                  sizeof(PJRT_Extension_Type) == 4 && sizeof(PJRT_NamedValue_Type) == 4,
              "enumerations are passed as 4-byte integers");

} // namespace
