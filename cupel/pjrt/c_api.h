// The PJRT C API as plain C structs, API 0.114 (tables of 0.57 to 0.113 are exact prefixes of this
// one). Our plugin implements it, our host calls it through any vendor's library. Field order,
// types and offsets are the contract: Structs.def pins every one of them, and nothing here may ever
// move.
//
// Conventions. Every function takes one pointer to its argument struct and returns PJRT_Error *,
// null for success; PJRT_Error_Destroy and PJRT_Error_Message return nothing. "out" marks what the
// callee writes, "(since N)" the minor version that appended a field. Strings are pointer and size
// without a terminating NUL. The caller sets `struct_size` to NAME_STRUCT_SIZE, the end of the last
// field it knows (not sizeof), and the callee neither reads nor writes beyond it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version this header describes. What our plugin reports is decided in Structs.h. */
#define PJRT_API_MAJOR 0
#define PJRT_API_MINOR 114

/* Declares TYPE_STRUCT_SIZE, the value for `struct_size`: where the last field ends. */
#define PJRT_DEFINE_STRUCT_SIZE(type, last)                                                        \
  enum { type##_STRUCT_SIZE = offsetof(type, last) + sizeof(((type *)0)->last) }

/* --- Handles: only pointers to these cross the boundary -------------------------------------- */

typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;
typedef struct PJRT_Event PJRT_Event;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;
typedef struct PJRT_PhaseCompiler PJRT_PhaseCompiler;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;

/* --- Forward declarations -------------------------------------------------------------------- */

typedef struct PJRT_Chunk PJRT_Chunk;
typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_Error_FunctionTable PJRT_Error_FunctionTable;
typedef struct PJRT_KeyValueGetCallback_Args PJRT_KeyValueGetCallback_Args;
typedef struct PJRT_KeyValuePutCallback_Args PJRT_KeyValuePutCallback_Args;
typedef struct PJRT_KeyValueTryGetCallback_Args PJRT_KeyValueTryGetCallback_Args;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_Memory_FunctionTable PJRT_Memory_FunctionTable;

/* --- Enumerations ---------------------------------------------------------------------------- */

typedef enum PJRT_Extension_Type {
  PJRT_Extension_Type_Gpu_Custom_Call = 0,
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Stream = 3,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,   // (since 59)
  PJRT_Extension_Type_Triton = 7,               // (since 65)
  PJRT_Extension_Type_RawBuffer = 8,            // (since 68)
  PJRT_Extension_Type_PhaseCompile = 9,         // (since 69)
  PJRT_Extension_Type_Example = 10,             // (since 73)
  PJRT_Extension_Type_Unknown = 11,             // (since 73)
  PJRT_Extension_Type_CrossHostTransfers = 12,  // (since 74)
  PJRT_Extension_Type_ExecutableMetadata = 13,  // (since 76)
  PJRT_Extension_Type_Callback = 14,            // (since 78)
  PJRT_Extension_Type_HostAllocator = 15,       // (since 80)
  PJRT_Extension_Type_TpuTopology = 16,         // (since 82)
  PJRT_Extension_Type_TpuExecutable = 17,       // (since 91)
  PJRT_Extension_Type_Megascale = 18,           // (since 91)
  PJRT_Extension_Type_Shardings = 19,           // (since 91)
  PJRT_Extension_Type_AbiVersion = 20,          // (since 92)
  PJRT_Extension_Type_Collectives = 21,         // (since 95)
  PJRT_Extension_Type_MultiSlice = 22,          // (since 97)
  PJRT_Extension_Type_HostMemoryAllocator = 23, // (since 104)
  PJRT_Extension_Type_XlaTransform = 24,        // (since 111)
} PJRT_Extension_Type;

typedef enum PJRT_Error_Code {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16,
} PJRT_Error_Code;

typedef enum PJRT_NamedValue_Type {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4,
} PJRT_NamedValue_Type;

typedef enum PJRT_ProcessState {
  PJRT_ProcessState_kUnspecified = 0,
  PJRT_ProcessState_kUninitialized = 1,
  PJRT_ProcessState_kDisconnected = 2,
  PJRT_ProcessState_kConnected = 3,
  PJRT_ProcessState_kError = 4,
} PJRT_ProcessState;

typedef enum PJRT_Buffer_Type {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
  PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
  PJRT_Buffer_Type_F8E5M2FNUZ = 19,
  PJRT_Buffer_Type_F8E4M3FNUZ = 20,
  PJRT_Buffer_Type_S4 = 21,
  PJRT_Buffer_Type_U4 = 22,
  PJRT_Buffer_Type_TOKEN = 23,
  PJRT_Buffer_Type_S2 = 24,
  PJRT_Buffer_Type_U2 = 25,
  PJRT_Buffer_Type_F8E4M3 = 26,
  PJRT_Buffer_Type_F8E3M4 = 27,
  PJRT_Buffer_Type_F8E8M0FNU = 28, // (since 63)
  PJRT_Buffer_Type_F4E2M1FN = 29,  // (since 63)
  PJRT_Buffer_Type_S1 = 30,        // (since 94)
  PJRT_Buffer_Type_U1 = 31,        // (since 94)
  PJRT_Buffer_Type_F6E2M3FN = 32,  // (since 114)
  PJRT_Buffer_Type_F6E3M2FN = 33,  // (since 114)
} PJRT_Buffer_Type;

typedef enum PJRT_HostBufferSemantics {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
} PJRT_HostBufferSemantics;

typedef enum PJRT_Buffer_MemoryLayout_Type {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1,
} PJRT_Buffer_MemoryLayout_Type;

/* --- Functions that one side hands to the other ---------------------------------------------- */

typedef void (*PJRT_Error_PayloadVisitor)(const char *key, size_t key_size, const char *value,
                                          size_t value_size, void *user_arg);
typedef PJRT_Error *(*PJRT_CallbackError)(PJRT_Error_Code code, const char *message,
                                          size_t message_size);
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error *error, void *user_arg);
typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char *value);
typedef PJRT_Error *(*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args *args);
typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char *value);
typedef PJRT_Error *(*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args *args);
typedef PJRT_Error *(*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args *args);
typedef PJRT_Error *(*PJRT_SendCallback)(PJRT_Chunk *chunk, PJRT_CallbackError *callback_error,
                                         size_t total_size_in_bytes, bool done, void *user_arg);
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream *stream, void *user_arg);
typedef void (*PJRT_HloOutputCallback)(int64_t replica_id, int64_t partition_id, const void *data,
                                       const int64_t *shape_dims, size_t shape_num_dims,
                                       PJRT_Buffer_Type shape_element_type, int64_t operand_index,
                                       void *user_arg);

/* --- Data that several calls share ----------------------------------------------------------- */

/* The head of every extension; extensions form a list. */
typedef struct PJRT_Extension_Base {
  size_t struct_size;
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base *next;
} PJRT_Extension_Base;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Extension_Base, next);

typedef struct PJRT_Api_Version {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  int major_version;
  int minor_version;
} PJRT_Api_Version;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Api_Version, minor_version);

/* What the first word of a PJRT_Error points to (since 107). */
struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base *extension_start;
  void (*destroy)(PJRT_Error *error);
  void (*message)(const PJRT_Error *error, const char **message, size_t *message_size);
  PJRT_Error_Code (*get_code)(const PJRT_Error *error);
  void (*for_each_payload)(const PJRT_Error *error, PJRT_Error_PayloadVisitor visitor,
                           void *user_arg);
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error_FunctionTable, for_each_payload);

/* Never assume that the plugin set its table: read errors through PJRT_Error_*. */
struct PJRT_Error {
  const PJRT_Error_FunctionTable *vtable;
};

/* `value_size` counts the elements of a string or list and is 1 for a scalar. */
typedef struct PJRT_NamedValue {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char *string_value;
    int64_t int64_value;
    const int64_t *int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
} PJRT_NamedValue;
PJRT_DEFINE_STRUCT_SIZE(PJRT_NamedValue, value_size);

/* What the first word of a PJRT_Memory points to (since 105). */
struct PJRT_Memory_FunctionTable {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  size_t instance_struct_size;
  void *(*get_user_data)(PJRT_Memory *memory, const void *key);
  void (*set_user_data)(PJRT_Memory *memory, const void *key, void *data, void (*dtor)(void *));
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory_FunctionTable, set_user_data);

/* The table may be null; nothing else may stand in the first word (since 105). */
struct PJRT_Memory {
  const PJRT_Memory_FunctionTable *vtable;
};

struct PJRT_KeyValueGetCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError *callback_error;
  void *user_arg;
  char *value;                                                  // out
  size_t value_size;                                            // out
  PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback; // out
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_KeyValueGetCallback_Args, value_deleter_callback);

struct PJRT_KeyValueTryGetCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *key;
  size_t key_size;
  PJRT_CallbackError *callback_error;
  void *user_arg;
  char *value;                                                     // out
  size_t value_size;                                               // out
  PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback; // out
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);

struct PJRT_KeyValuePutCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *key;
  size_t key_size;
  const char *value;
  size_t value_size;
  PJRT_CallbackError *callback_error;
  void *user_arg;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_KeyValuePutCallback_Args, user_arg);

typedef struct PJRT_ProcessInfo {
  size_t struct_size;
  int task_id;
  uint64_t incarnation_id;
  PJRT_ProcessState state;
  int error_code;
  const char *error_message;
  size_t error_message_size;
} PJRT_ProcessInfo;
PJRT_DEFINE_STRUCT_SIZE(PJRT_ProcessInfo, error_message_size);

/* `format` is "mlir", "hlo" or "hlo_with_config". */
typedef struct PJRT_Program {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  char *code; // in/out
  size_t code_size;
  const char *format;
  size_t format_size;
} PJRT_Program;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Program, format_size);

/* `minor_to_major` lists dimensions from fastest to slowest varying; `tile_dims` joins all
   tiles, `tile_dim_sizes` has the length of each. */
typedef struct PJRT_Buffer_MemoryLayout_Tiled {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const int64_t *minor_to_major;
  size_t minor_to_major_size;
  const int64_t *tile_dims;
  const size_t *tile_dim_sizes;
  size_t num_tiles;
} PJRT_Buffer_MemoryLayout_Tiled;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_MemoryLayout_Tiled, num_tiles);

typedef struct PJRT_Buffer_MemoryLayout_Strides {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const int64_t *byte_strides;
  size_t num_byte_strides;
} PJRT_Buffer_MemoryLayout_Strides;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides);

/* The inner struct_size and extension_start may be uninitialised. */
typedef struct PJRT_Buffer_MemoryLayout {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;
} PJRT_Buffer_MemoryLayout;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_MemoryLayout, type);

typedef struct PJRT_ShapeSpec {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
} PJRT_ShapeSpec;
PJRT_DEFINE_STRUCT_SIZE(PJRT_ShapeSpec, element_type);

typedef struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
} PJRT_LogicalDeviceIds;

struct PJRT_Chunk {
  void *data;
  size_t size;
  void (*deleter)(void *data, void *deleter_arg);
  void *deleter_arg;
};

typedef struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void *user_arg;
  PJRT_SendCallback send_callback;
} PJRT_SendCallbackInfo;

typedef struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void *user_arg;
  PJRT_RecvCallback recv_callback;
} PJRT_RecvCallbackInfo;

typedef struct PJRT_HloOutputCallbackInfo {
  void *user_arg;
  PJRT_HloOutputCallback callback;
  int64_t callback_id;
  size_t num_operands;
} PJRT_HloOutputCallbackInfo;

/* `call_location` alone is NUL-terminated. */
typedef struct PJRT_ExecuteOptions {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_SendCallbackInfo **send_callbacks;
  PJRT_RecvCallbackInfo **recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t *non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext *context;                      // (since 64)
  const char *call_location;                         // (since 76)
  size_t num_tasks;                                  // (since 78)
  int *task_ids;                                     // (since 78)
  int64_t *incarnation_ids;                          // (since 78)
  PJRT_MultiSlice_Config *multi_slice_config;        // (since 97)
  bool use_major_to_minor_data_layout_for_callbacks; // (since 108)
  PJRT_HloOutputCallbackInfo *hlo_output_callbacks;  // (since 112)
  size_t num_hlo_output_callbacks;                   // (since 112)
} PJRT_ExecuteOptions;
PJRT_DEFINE_STRUCT_SIZE(PJRT_ExecuteOptions, num_hlo_output_callbacks);

typedef struct PJRT_LoadOptions {
  size_t struct_size;
  const int32_t *computation_origin;
  size_t computation_origin_size;
  PJRT_MultiSlice_Config *multi_slice_config;
} PJRT_LoadOptions;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadOptions, multi_slice_config);

typedef struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size;
  void *callback_data;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
  void *dst;
} PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);

typedef struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size;
  void *callback_data;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
} PJRT_Buffer_DonateWithControlDependency_Callback_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_message_size);

/* --- Arguments of each function, in the order of the table ----------------------------------- */

/* Returns void. Frees an error; must accept a null `error`. Every PJRT_Error* handed to a caller
   (return value, event status, OnReady argument) is freed through this, each one separately. */
typedef struct PJRT_Error_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Error *error;
} PJRT_Error_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error_Destroy_Args, error);

/* Returns void. Text is not necessarily NUL-terminated (use the size); it lives as long as the
   error. */
typedef struct PJRT_Error_Message_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_Error *error;
  const char *message; // out
  size_t message_size; // out
} PJRT_Error_Message_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error_Message_Args, message_size);

/* Translates to one of the 17 codes. The host turns unknown values into UNKNOWN. */
typedef struct PJRT_Error_GetCode_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_Error *error;
  PJRT_Error_Code code; // out
} PJRT_Error_GetCode_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error_GetCode_Args, code);

/* One-time setup, called by JAX once per process before Client_Create (after the version check).
   May be a no-op. */
typedef struct PJRT_Plugin_Initialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
} PJRT_Plugin_Initialize_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Plugin_Initialize_Args, extension_start);

/* Returns a static, process-lifetime array of named values. Read once per client creation. An
   empty list is legal. */
typedef struct PJRT_Plugin_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_NamedValue *attributes; // out
  size_t num_attributes;             // out
} PJRT_Plugin_Attributes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Plugin_Attributes_Args, num_attributes);

/* Null allowed. */
typedef struct PJRT_Event_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
} PJRT_Event_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Event_Destroy_Args, event);

/* True when completed, whether with success or with an error. */
typedef struct PJRT_Event_IsReady_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
  bool is_ready; // out
} PJRT_Event_IsReady_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Event_IsReady_Args, is_ready);

/* Only called after IsReady said true. Returns a fresh error object each time (or null). */
typedef struct PJRT_Event_Error_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
} PJRT_Event_Error_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Event_Error_Args, event);

/* Blocks, then returns a fresh error or null. The XLA host code never calls it (it uses
   OnReady), but other hosts do. */
typedef struct PJRT_Event_Await_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
} PJRT_Event_Await_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Event_Await_Args, event);

/* Registers a callback(error, user_arg). If already ready, may run it inline or on another
   thread. The callback owns the error. Several callbacks per event are possible. */
typedef struct PJRT_Event_OnReady_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
  PJRT_Event_OnReadyCallback callback;
  void *user_arg;
} PJRT_Event_OnReady_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Event_OnReady_Args, user_arg);

typedef struct PJRT_Client_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_NamedValue *create_options;
  size_t num_options;
  PJRT_KeyValueGetCallback kv_get_callback;
  void *kv_get_user_arg;
  PJRT_KeyValuePutCallback kv_put_callback;
  void *kv_put_user_arg;
  PJRT_Client *client;                             // out
  PJRT_KeyValueTryGetCallback kv_try_get_callback; // (since 61)
  void *kv_try_get_user_arg;                       // (since 61)
} PJRT_Client_Create_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_Create_Args, kv_try_get_user_arg);

/* Null allowed by the contract. */
typedef struct PJRT_Client_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
} PJRT_Client_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_Destroy_Args, client);

/* Becomes `backend.platform` in JAX and selects lowering rules; lower-case, unique, stable for
   the client lifetime. */
typedef struct PJRT_Client_PlatformName_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const char *platform_name; // out
  size_t platform_name_size; // out
} PJRT_Client_PlatformName_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_PlatformName_Args, platform_name_size);

/* 0 in single-process use. */
typedef struct PJRT_Client_ProcessIndex_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  int process_index; // out
} PJRT_Client_ProcessIndex_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_ProcessIndex_Args, process_index);

/* Free text. JAX prefixes it with "PJRT C API\n". */
typedef struct PJRT_Client_PlatformVersion_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const char *platform_version; // out
  size_t platform_version_size; // out
} PJRT_Client_PlatformVersion_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_PlatformVersion_Args, platform_version_size);

/* All devices, addressable or not. Array owned by the client. */
typedef struct PJRT_Client_Devices_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Device *const *devices; // out
  size_t num_devices;          // out
} PJRT_Client_Devices_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_Devices_Args, num_devices);

/* Subset of Devices; every pointer must also occur in Devices. */
typedef struct PJRT_Client_AddressableDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Device *const *addressable_devices; // out
  size_t num_addressable_devices;          // out
} PJRT_Client_AddressableDevices_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_AddressableDevices_Args, num_addressable_devices);

/* By global id (DeviceDescription_Id). Called for every device while JAX builds its client. */
typedef struct PJRT_Client_LookupDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  int id;
  PJRT_Device *device; // out
} PJRT_Client_LookupDevice_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_LookupDevice_Args, device);

/* By local hardware id. Used by JAX only for dlpack import. */
typedef struct PJRT_Client_LookupAddressableDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  int local_hardware_id;
  PJRT_Device *addressable_device; // out
} PJRT_Client_LookupAddressableDevice_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_LookupAddressableDevice_Args, addressable_device);

/* UNIMPLEMENTED is tolerated by the loader, any other error aborts; but without memories JAX
   cannot place host data, so implement it. */
typedef struct PJRT_Client_AddressableMemories_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Memory *const *addressable_memories; // out
  size_t num_addressable_memories;          // out
} PJRT_Client_AddressableMemories_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_AddressableMemories_Args, num_addressable_memories);

/* Program and options are valid only for the call. */
typedef struct PJRT_Client_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const PJRT_Program *program;
  const char *compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable *executable; // out
} PJRT_Client_Compile_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_Compile_Args, executable);

/* Writes num_replicas*num_partitions device ids, row-major [replica][partition]. */
typedef struct PJRT_Client_DefaultDeviceAssignment_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;
  int *default_assignment; // out (the array it points to)
} PJRT_Client_DefaultDeviceAssignment_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_DefaultDeviceAssignment_Args, default_assignment);

/* Exactly one of device / memory is set by the XLA host (it always sends `memory`). byte_strides
   null or count 0 means dense row-major. Both outputs (buffer, event) must be set on success. */
typedef struct PJRT_Client_BufferFromHostBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const void *data;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  const int64_t *byte_strides;
  size_t num_byte_strides;
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device *device;
  PJRT_Memory *memory;
  PJRT_Buffer_MemoryLayout *device_layout;
  PJRT_Event *done_with_host_buffer; // out
  PJRT_Buffer *buffer;               // out
} PJRT_Client_BufferFromHostBuffer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_BufferFromHostBuffer_Args, buffer);

/* Global device id: the number used in device assignments and in jax.devices()[i].id. */
typedef struct PJRT_DeviceDescription_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_DeviceDescription *device_description;
  int id; // out
} PJRT_DeviceDescription_Id_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_DeviceDescription_Id_Args, id);

/* All addressable devices must report the same value. */
typedef struct PJRT_DeviceDescription_ProcessIndex_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_DeviceDescription *device_description;
  int process_index; // out
} PJRT_DeviceDescription_ProcessIndex_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_DeviceDescription_ProcessIndex_Args, process_index);

/* Only string, int64 and int64-list values are allowed; the host aborts on float or bool. */
typedef struct PJRT_DeviceDescription_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_DeviceDescription *device_description;
  size_t num_attributes;             // out
  const PJRT_NamedValue *attributes; // out
} PJRT_DeviceDescription_Attributes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_DeviceDescription_Attributes_Args, attributes);

/* Shown as device.device_kind; part of JAX cache keys. */
typedef struct PJRT_DeviceDescription_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_DeviceDescription *device_description;
  const char *device_kind; // out
  size_t device_kind_size; // out
} PJRT_DeviceDescription_Kind_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_DeviceDescription_Kind_Args, device_kind_size);

/* str(device). */
typedef struct PJRT_DeviceDescription_DebugString_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_DeviceDescription *device_description;
  const char *debug_string; // out
  size_t debug_string_size; // out
} PJRT_DeviceDescription_DebugString_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_DeviceDescription_DebugString_Args, debug_string_size);

/* repr(device). */
typedef struct PJRT_DeviceDescription_ToString_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_DeviceDescription *device_description;
  const char *to_string; // out
  size_t to_string_size; // out
} PJRT_DeviceDescription_ToString_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_DeviceDescription_ToString_Args, to_string_size);

/* Owned by the device. */
typedef struct PJRT_Device_GetDescription_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  PJRT_DeviceDescription *device_description; // out
} PJRT_Device_GetDescription_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_GetDescription_Args, device_description);

typedef struct PJRT_Device_IsAddressable_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  bool is_addressable; // out
} PJRT_Device_IsAddressable_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_IsAddressable_Args, is_addressable);

/* -1 when undefined. JAX also uses it as the local device ordinal, so give distinct values
   0..n-1. */
typedef struct PJRT_Device_LocalHardwareId_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  int local_hardware_id; // out
} PJRT_Device_LocalHardwareId_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_LocalHardwareId_Args, local_hardware_id);

/* UNIMPLEMENTED ends the scan silently, other errors abort. Pointers must be among
   Client_AddressableMemories. */
typedef struct PJRT_Device_AddressableMemories_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  PJRT_Memory *const *memories; // out
  size_t num_memories;          // out
} PJRT_Device_AddressableMemories_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_AddressableMemories_Args, num_memories);

/* Must be one of the client memories. Its kind is the default memory kind of every array and
   sharding. */
typedef struct PJRT_Device_DefaultMemory_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  PJRT_Memory *memory; // out
} PJRT_Device_DefaultMemory_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_DefaultMemory_Args, memory);

/* Called before every compilation to learn bytes_limit. Fill every *_is_set flag that lies
   inside args->struct_size: the caller does not pre-zero the struct. */
typedef struct PJRT_Device_MemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  int64_t bytes_in_use;                 // out
  int64_t peak_bytes_in_use;            // out
  bool peak_bytes_in_use_is_set;        // out
  int64_t num_allocs;                   // out
  bool num_allocs_is_set;               // out
  int64_t largest_alloc_size;           // out
  bool largest_alloc_size_is_set;       // out
  int64_t bytes_limit;                  // out
  bool bytes_limit_is_set;              // out
  int64_t bytes_reserved;               // out
  bool bytes_reserved_is_set;           // out
  int64_t peak_bytes_reserved;          // out
  bool peak_bytes_reserved_is_set;      // out
  int64_t bytes_reservable_limit;       // out
  bool bytes_reservable_limit_is_set;   // out
  int64_t largest_free_block_bytes;     // out
  bool largest_free_block_bytes_is_set; // out
  int64_t pool_bytes;                   // out
  bool pool_bytes_is_set;               // out
  int64_t peak_pool_bytes;              // out
  bool peak_pool_bytes_is_set;          // out
  int64_t peak_allocated_bytes;         // out (since 113)
  bool peak_allocated_bytes_is_set;     // out (since 113)
} PJRT_Device_MemoryStats_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_MemoryStats_Args, peak_allocated_bytes_is_set);

/* Unique per client. */
typedef struct PJRT_Memory_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Memory *memory;
  int id; // out
} PJRT_Memory_Id_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory_Id_Args, id);

/* e.g. "device", "pinned_host", "unpinned_host". One memory per kind per device. */
typedef struct PJRT_Memory_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Memory *memory;
  const char *kind; // out
  size_t kind_size; // out
} PJRT_Memory_Kind_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory_Kind_Args, kind_size);

typedef struct PJRT_Memory_DebugString_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Memory *memory;
  const char *debug_string; // out
  size_t debug_string_size; // out
} PJRT_Memory_DebugString_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory_DebugString_Args, debug_string_size);

typedef struct PJRT_Memory_ToString_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Memory *memory;
  const char *to_string; // out
  size_t to_string_size; // out
} PJRT_Memory_ToString_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory_ToString_Args, to_string_size);

/* Called once per memory at client creation. */
typedef struct PJRT_Memory_AddressableByDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Memory *memory;
  PJRT_Device *const *devices; // out
  size_t num_devices;          // out
} PJRT_Memory_AddressableByDevices_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory_AddressableByDevices_Args, num_devices);

/* Null allowed by the contract. */
typedef struct PJRT_Executable_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
} PJRT_Executable_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_Destroy_Args, executable);

/* Used for logging and in serialized metadata. */
typedef struct PJRT_Executable_Name_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  const char *executable_name; // out
  size_t executable_name_size; // out
} PJRT_Executable_Name_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_Name_Args, executable_name_size);

/* JAX uses replicas*partitions as the device count on its fast call path; must equal what the
   compile options asked for. */
typedef struct PJRT_Executable_NumReplicas_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_replicas; // out
} PJRT_Executable_NumReplicas_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_NumReplicas_Args, num_replicas);

typedef struct PJRT_Executable_NumPartitions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_partitions; // out
} PJRT_Executable_NumPartitions_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_NumPartitions_Args, num_partitions);

/* Queried before every Execute; must equal the number of results of `main`. */
typedef struct PJRT_Executable_NumOutputs_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs; // out
} PJRT_Executable_NumOutputs_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_NumOutputs_Args, num_outputs);

/* Rarely called; -1 or 0 are common answers. */
typedef struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  int64_t size_in_bytes; // out
} PJRT_Executable_SizeOfGeneratedCodeInBytes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, size_in_bytes);

/* compiled.cost_analysis() only. Values are owned by the executable. */
typedef struct PJRT_Executable_GetCostAnalysis_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_properties;             // out
  const PJRT_NamedValue *properties; // out
} PJRT_Executable_GetCostAnalysis_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_GetCostAnalysis_Args, properties);

/* One string per output. UNIMPLEMENTED makes JAX assume the kind "device" for every output.
   num_outputs must be written. */
typedef struct PJRT_Executable_OutputMemoryKinds_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs;              // out
  const char *const *memory_kinds; // out
  const size_t *memory_kind_sizes; // out
} PJRT_Executable_OutputMemoryKinds_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_OutputMemoryKinds_Args, memory_kind_sizes);

/* Two-call protocol: code==null asks for code_size (and sets format), second call fills the
   buffer. Accepted formats: "hlo_with_config" (HloModuleProtoWithConfig) or "mlir" (StableHLO
   text or bytecode). Fallback source of shardings and layouts in JAX; mandatory for PyTorch/XLA. */
typedef struct PJRT_Executable_OptimizedProgram_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  PJRT_Program *program; // in/out (what it points to)
} PJRT_Executable_OptimizedProgram_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_OptimizedProgram_Args, program);

/* Caller invokes the deleter exactly once on serialized_executable; bytes live until then. */
typedef struct PJRT_Executable_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_Executable *executable;
  const char *serialized_bytes;                                           // out
  size_t serialized_bytes_size;                                           // out
  PJRT_SerializedExecutable *serialized_executable;                       // out
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable *exec); // out
} PJRT_Executable_Serialize_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_Serialize_Args, serialized_executable_deleter);

/* Null allowed by the contract. */
typedef struct PJRT_LoadedExecutable_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
} PJRT_LoadedExecutable_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_Destroy_Args, executable);

/* Returns a new PJRT_Executable owned by the caller. Called once per loaded executable right
   after compile. */
typedef struct PJRT_LoadedExecutable_GetExecutable_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *loaded_executable;
  PJRT_Executable *executable; // out
} PJRT_LoadedExecutable_GetExecutable_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_GetExecutable_Args, executable);

/* Devices in device-assignment order, restricted to addressable ones. */
typedef struct PJRT_LoadedExecutable_AddressableDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
  PJRT_Device *const *addressable_devices; // out
  size_t num_addressable_devices;          // out
} PJRT_LoadedExecutable_AddressableDevices_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_AddressableDevices_Args, num_addressable_devices);

/* Releases resources but keeps the handle usable for IsDeleted/Destroy. */
typedef struct PJRT_LoadedExecutable_Delete_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
} PJRT_LoadedExecutable_Delete_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_Delete_Args, executable);

typedef struct PJRT_LoadedExecutable_IsDeleted_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
  bool is_deleted; // out
} PJRT_LoadedExecutable_IsDeleted_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_IsDeleted_Args, is_deleted);

typedef struct PJRT_LoadedExecutable_Execute_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
  PJRT_ExecuteOptions *options;
  PJRT_Buffer *const *const *argument_lists;
  size_t num_devices;
  size_t num_args;
  PJRT_Buffer **const *output_lists;   // in/out
  PJRT_Event **device_complete_events; // in/out
  PJRT_Device *execute_device;
} PJRT_LoadedExecutable_Execute_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_Execute_Args, execute_device);

/* Counterpart of Serialize. Old callers stop after loaded_executable: check struct_size. */
typedef struct PJRT_Executable_DeserializeAndLoad_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const char *serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable *loaded_executable;          // out
  const char *overridden_serialized_compile_options; // (since 71)
  size_t overridden_serialized_compile_options_size; // (since 71)
  PJRT_LoadOptions *load_options;                    // (since 111)
} PJRT_Executable_DeserializeAndLoad_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_DeserializeAndLoad_Args, load_options);

/* Deprecated since 0.35. */
typedef struct PJRT_LoadedExecutable_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
  const char *executable_fingerprint; // out
  size_t executable_fingerprint_size; // out
} PJRT_LoadedExecutable_Fingerprint_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_Fingerprint_Args, executable_fingerprint_size);

/* Null allowed by the contract. Implies Delete. */
typedef struct PJRT_Buffer_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
} PJRT_Buffer_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_Destroy_Args, buffer);

/* INVALID or unknown values make the host abort. */
typedef struct PJRT_Buffer_ElementType_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Buffer_Type type; // out
} PJRT_Buffer_ElementType_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_ElementType_Args, type);

/* Array owned by the buffer. */
typedef struct PJRT_Buffer_Dimensions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  const int64_t *dims; // out
  size_t num_dims;     // out
} PJRT_Buffer_Dimensions_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_Dimensions_Args, num_dims);

/* Only asked when there are dynamic dimensions. */
typedef struct PJRT_Buffer_UnpaddedDimensions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  const int64_t *unpadded_dims; // out
  size_t num_dims;              // out
} PJRT_Buffer_UnpaddedDimensions_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_UnpaddedDimensions_Args, num_dims);

/* Return success with 0 dims (or UNIMPLEMENTED). Any other error makes the host read an
   uninitialised count. */
typedef struct PJRT_Buffer_DynamicDimensionIndices_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  const size_t *dynamic_dim_indices; // out
  size_t num_dynamic_dims;           // out
} PJRT_Buffer_DynamicDimensionIndices_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_DynamicDimensionIndices_Args, num_dynamic_dims);

/* Deprecated since 0.54 in favour of the layouts extension. The layout struct is embedded by
   value. */
typedef struct PJRT_Buffer_GetMemoryLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Buffer_MemoryLayout layout; // out
} PJRT_Buffer_GetMemoryLayout_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_GetMemoryLayout_Args, layout);

/* JAX computes nbytes itself; used by the Python buffer protocol and by other hosts. */
typedef struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  size_t on_device_size_in_bytes; // out
} PJRT_Buffer_OnDeviceSizeInBytes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_OnDeviceSizeInBytes_Args, on_device_size_in_bytes);

/* Checked against the expected device for every array JAX builds. */
typedef struct PJRT_Buffer_Device_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Device *device; // out
} PJRT_Buffer_Device_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_Device_Args, device);

/* UNIMPLEMENTED is tolerated by the accessor, but the memory kind is then "none" and array
   creation fails when the device has a default memory. Implement. */
typedef struct PJRT_Buffer_Memory_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Memory *memory; // out
} PJRT_Buffer_Memory_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_Memory_Args, memory);

/* Drops the data, keeps the handle. */
typedef struct PJRT_Buffer_Delete_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
} PJRT_Buffer_Delete_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_Delete_Args, buffer);

/* Called very often (several times per dispatch); must be cheap. Must become true for donated
   inputs. */
typedef struct PJRT_Buffer_IsDeleted_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  bool is_deleted; // out
} PJRT_Buffer_IsDeleted_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_IsDeleted_Args, is_deleted);

/* Legacy; the XLA host uses CopyToMemory only. */
typedef struct PJRT_Buffer_CopyToDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Device *dst_device;
  PJRT_Buffer *dst_buffer; // out
} PJRT_Buffer_CopyToDevice_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_CopyToDevice_Args, dst_buffer);

/* dst==null is a size query (set dst_size, no event). Otherwise asynchronous copy; `event` must
   be non-null. host_layout is Tiled with minor_to_major and zero tiles, or null. */
typedef struct PJRT_Buffer_ToHostBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *src;
  PJRT_Buffer_MemoryLayout *host_layout;
  void *dst;         // in
  size_t dst_size;   // in/out
  PJRT_Event *event; // out
} PJRT_Buffer_ToHostBuffer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_ToHostBuffer_Args, event);

/* If true, JAX reads the memory in place through the external-reference calls. Return false
   unless those work. */
typedef struct PJRT_Buffer_IsOnCpu_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  bool is_on_cpu; // out
} PJRT_Buffer_IsOnCpu_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_IsOnCpu_Args, is_on_cpu);

/* Caller owns the event. Cached by the host: called once per buffer. Must carry execution
   errors. */
typedef struct PJRT_Buffer_ReadyEvent_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Event *event; // out
} PJRT_Buffer_ReadyEvent_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_ReadyEvent_Args, event);

/* arr.unsafe_buffer_pointer(). */
typedef struct PJRT_Buffer_UnsafePointer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  uintptr_t buffer_pointer; // out
} PJRT_Buffer_UnsafePointer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_UnsafePointer_Args, buffer_pointer);

/* Needed when IsOnCpu is true, or for dlpack. */
typedef struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
} PJRT_Buffer_IncreaseExternalReferenceCount_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_IncreaseExternalReferenceCount_Args, buffer);

/* Aborts the host if it fails after a successful Increase. */
typedef struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
} PJRT_Buffer_DecreaseExternalReferenceCount_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_DecreaseExternalReferenceCount_Args, buffer);

/* Raw data pointer for zero-copy views. */
typedef struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  void *device_memory_ptr; // out
} PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, device_memory_ptr);

/* Host-callback streams; only with recv callbacks. */
typedef struct PJRT_CopyToDeviceStream_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_CopyToDeviceStream *stream;
} PJRT_CopyToDeviceStream_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_CopyToDeviceStream_Destroy_Args, stream);

/* Takes ownership of the chunk (call chunk->deleter). */
typedef struct PJRT_CopyToDeviceStream_AddChunk_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_CopyToDeviceStream *stream;
  PJRT_Chunk *chunk;
  PJRT_Event *transfer_complete; // out
} PJRT_CopyToDeviceStream_AddChunk_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_CopyToDeviceStream_AddChunk_Args, transfer_complete);

typedef struct PJRT_CopyToDeviceStream_TotalBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_CopyToDeviceStream *stream;
  int64_t total_bytes; // out
} PJRT_CopyToDeviceStream_TotalBytes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_CopyToDeviceStream_TotalBytes_Args, total_bytes);

typedef struct PJRT_CopyToDeviceStream_GranuleSize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_CopyToDeviceStream *stream;
  int64_t granule_size_in_bytes; // out
} PJRT_CopyToDeviceStream_GranuleSize_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_CopyToDeviceStream_GranuleSize_Args, granule_size_in_bytes);

typedef struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_CopyToDeviceStream *stream;
  int64_t current_bytes; // out
} PJRT_CopyToDeviceStream_CurrentBytes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_CopyToDeviceStream_CurrentBytes_Args, current_bytes);

/* Ahead-of-time topologies (jax.experimental.topologies). */
typedef struct PJRT_TopologyDescription_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *topology_name;
  size_t topology_name_size;
  const PJRT_NamedValue *create_options;
  size_t num_options;
  PJRT_TopologyDescription *topology; // out
} PJRT_TopologyDescription_Create_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_Create_Args, topology);

typedef struct PJRT_TopologyDescription_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
} PJRT_TopologyDescription_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_Destroy_Args, topology);

/* Becomes F once Client_TopologyDescription succeeds. */
typedef struct PJRT_TopologyDescription_PlatformName_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_TopologyDescription *topology;
  const char *platform_name; // out
  size_t platform_name_size; // out
} PJRT_TopologyDescription_PlatformName_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_PlatformName_Args, platform_name_size);

/* Becomes F once Client_TopologyDescription succeeds. */
typedef struct PJRT_TopologyDescription_PlatformVersion_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  const char *platform_version; // out
  size_t platform_version_size; // out
} PJRT_TopologyDescription_PlatformVersion_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_PlatformVersion_Args, platform_version_size);

typedef struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_TopologyDescription *topology;
  PJRT_DeviceDescription *const *descriptions; // out
  size_t num_descriptions;                     // out
} PJRT_TopologyDescription_GetDeviceDescriptions_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_GetDeviceDescriptions_Args, num_descriptions);

/* Expected to be a serialized PjRtTopologyDescriptionProto when the host converts it. */
typedef struct PJRT_TopologyDescription_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  const char *serialized_bytes;                                                      // out
  size_t serialized_bytes_size;                                                      // out
  PJRT_SerializedTopology *serialized_topology;                                      // out
  void (*serialized_topology_deleter)(PJRT_SerializedTopology *serialized_topology); // out
} PJRT_TopologyDescription_Serialize_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_Serialize_Args, serialized_topology_deleter);

/* Becomes F once Client_TopologyDescription succeeds. */
typedef struct PJRT_TopologyDescription_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  const PJRT_NamedValue *attributes; // out
  size_t num_attributes;             // out
} PJRT_TopologyDescription_Attributes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_Attributes_Args, num_attributes);

/* Compile against a topology without loading. */
typedef struct PJRT_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_TopologyDescription *topology;
  const PJRT_Program *program;
  const char *compile_options;
  size_t compile_options_size;
  PJRT_Client *client;
  PJRT_Executable *executable; // out
} PJRT_Compile_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Compile_Args, executable);

/* JAX takes result types from the MLIR module; useful for other hosts. */
typedef struct PJRT_Executable_OutputElementTypes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  PJRT_Buffer_Type *output_types; // out
  size_t num_output_types;        // out
} PJRT_Executable_OutputElementTypes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_OutputElementTypes_Args, num_output_types);

/* dims is the concatenation of all shapes, dim_sizes the ranks. num_outputs must be written by
   the plugin. */
typedef struct PJRT_Executable_OutputDimensions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs;      // out
  const int64_t *dims;     // out
  const size_t *dim_sizes; // out
} PJRT_Executable_OutputDimensions_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_OutputDimensions_Args, dim_sizes);

/* Cross-device moves. The header contract says "error when already there", but JAX can ask for a
   copy into the same memory (copy semantics always-copy): produce a real copy. */
typedef struct PJRT_Buffer_CopyToMemory_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Memory *dst_memory;
  PJRT_Buffer *dst_buffer; // out
} PJRT_Buffer_CopyToMemory_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_CopyToMemory_Args, dst_buffer);

/* dlpack import. Note that `memory` sits after `buffer`. */
typedef struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  void *device_buffer_ptr;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  PJRT_Buffer_MemoryLayout *layout;
  PJRT_Device *device;
  void (*on_delete_callback)(void *device_buffer_ptr, void *user_arg);
  void *on_delete_callback_arg;
  intptr_t stream;
  PJRT_Buffer *buffer; // out
  PJRT_Memory *memory; // (since 66)
} PJRT_Client_CreateViewOfDeviceBuffer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_CreateViewOfDeviceBuffer_Args, memory);

/* Called after every compile; UNIMPLEMENTED is fine, other errors fail the compile. Feeds the
   launch-id hash and caches. */
typedef struct PJRT_Executable_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  const char *executable_fingerprint; // out
  size_t executable_fingerprint_size; // out
} PJRT_Executable_Fingerprint_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_Fingerprint_Args, executable_fingerprint_size);

/* Any error is remembered and tolerated. If it succeeds, PlatformName/PlatformVersion/Attributes
   of the topology are called at once and must work. */
typedef struct PJRT_Client_TopologyDescription_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_TopologyDescription *topology; // out
} PJRT_Client_TopologyDescription_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_TopologyDescription_Args, topology);

/* compiled.memory_analysis(). Write only the fields inside args->struct_size. */
typedef struct PJRT_Executable_GetCompiledMemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  int64_t generated_code_size_in_bytes;      // out
  int64_t argument_size_in_bytes;            // out
  int64_t output_size_in_bytes;              // out
  int64_t alias_size_in_bytes;               // out
  int64_t temp_size_in_bytes;                // out
  int64_t host_generated_code_size_in_bytes; // out
  int64_t host_argument_size_in_bytes;       // out
  int64_t host_output_size_in_bytes;         // out
  int64_t host_alias_size_in_bytes;          // out
  int64_t host_temp_size_in_bytes;           // out
  int64_t peak_memory_in_bytes;              // out (since 72)
  int64_t total_size_in_bytes;               // out (since 90)
  int64_t total_allocation_bytes;            // out (since 104)
  int64_t indefinite_allocations;            // out (since 104)
  int64_t peak_unpadded_heap_bytes;          // out (since 104)
} PJRT_Executable_GetCompiledMemoryStats_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_GetCompiledMemoryStats_Args, peak_unpadded_heap_bytes);

/* Small integer per kind. */
typedef struct PJRT_Memory_Kind_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Memory *memory;
  int kind_id; // out
} PJRT_Memory_Kind_Id_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory_Kind_Id_Args, kind_id);

/* Only with an FFI extension on platforms named cpu/cuda/rocm/oneapi. */
typedef struct PJRT_ExecuteContext_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_ExecuteContext *context; // out
} PJRT_ExecuteContext_Create_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_ExecuteContext_Create_Args, context);

typedef struct PJRT_ExecuteContext_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_ExecuteContext *context;
} PJRT_ExecuteContext_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_ExecuteContext_Destroy_Args, context);

/* Byte-range copy. */
typedef struct PJRT_Buffer_CopyRawToHost_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  void *dst;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event *event; // out
} PJRT_Buffer_CopyRawToHost_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_CopyRawToHost_Args, event);

typedef struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
} PJRT_AsyncHostToDeviceTransferManager_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args, transfer_manager);

typedef struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  const void *data;
  int64_t offset;
  int64_t transfer_size;
  bool is_last_transfer;
  PJRT_Event *done_with_h2d_transfer; // out
} PJRT_AsyncHostToDeviceTransferManager_TransferData_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args,
                        done_with_h2d_transfer);

typedef struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_ShapeSpec *shape_specs;
  size_t num_shape_specs;
  PJRT_Buffer_MemoryLayout **device_layouts;
  size_t num_device_layouts;
  PJRT_Memory *memory;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager; // out
} PJRT_Client_CreateBuffersForAsyncHostToDevice_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args, transfer_manager);

typedef struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  PJRT_Buffer *buffer_out; // out
} PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args, buffer_out);

typedef struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  PJRT_Device *device_out; // out
} PJRT_AsyncHostToDeviceTransferManager_Device_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_Device_Args, device_out);

typedef struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  size_t buffer_count; // out
} PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args, buffer_count);

typedef struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  size_t buffer_size; // out
} PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args, buffer_size);

typedef struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
} PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args,
                        error_message_size);

typedef struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  const PJRT_NamedValue *transfer_metadata;
  size_t num_metadata;
} PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args, num_metadata);

typedef struct PJRT_Client_DmaMap_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  void *data;
  size_t size;
} PJRT_Client_DmaMap_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_DmaMap_Args, size);

typedef struct PJRT_Client_DmaUnmap_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  void *data;
} PJRT_Client_DmaUnmap_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_DmaUnmap_Args, data);

typedef struct PJRT_Client_CreateUninitializedBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const int64_t *shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout *shape_layout;
  PJRT_Device *device;
  PJRT_Memory *memory;
  PJRT_Buffer *buffer; // out
} PJRT_Client_CreateUninitializedBuffer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_CreateUninitializedBuffer_Args, buffer);

/* Multi-process only (a watcher thread calls it; failure aborts). */
typedef struct PJRT_Client_UpdateGlobalProcessInfo_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_ProcessInfo *process_infos;
  size_t num_process_infos;
} PJRT_Client_UpdateGlobalProcessInfo_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_UpdateGlobalProcessInfo_Args, num_process_infos);

typedef struct PJRT_TopologyDescription_Deserialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *serialized_topology;
  size_t serialized_topology_size;
  PJRT_TopologyDescription *topology; // out
} PJRT_TopologyDescription_Deserialize_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_Deserialize_Args, topology);

typedef struct PJRT_Client_CreateAliasBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Memory *memory;
  const int64_t *shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout *shape_layout;
  PJRT_Buffer *alias_buffer;                                // out
  PJRT_FulfillAliasBufferCallback *fulfill_alias_buffer_cb; // out
} PJRT_Client_CreateAliasBuffer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_CreateAliasBuffer_Args, fulfill_alias_buffer_cb);

typedef struct PJRT_Client_FulfillAliasBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Buffer *buffer;
  PJRT_Error_Code status_code;
  const char *error_message;
  size_t error_message_size;
  PJRT_FulfillAliasBufferCallback *fulfill_alias_buffer_cb;
} PJRT_Client_FulfillAliasBuffer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_FulfillAliasBuffer_Args, fulfill_alias_buffer_cb);

/* Called right after compile. Either a serialized DeviceAssignmentProto, or size 0 = "portable,
   none". A deleter function must be set in both cases. */
typedef struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
  const char *serialized_bytes;                                                      // out
  size_t serialized_bytes_size;                                                      // out
  PJRT_DeviceAssignmentSerialized *serialized_device_assignment;                     // out
  void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized *da); // out
} PJRT_LoadedExecutable_GetDeviceAssignment_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_GetDeviceAssignment_Args,
                        serialized_device_assignment_deleter);

/* A buffer whose ready event fails. */
typedef struct PJRT_Client_CreateErrorBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
  const int64_t *shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout *shape_layout;
  PJRT_Memory *memory;
  PJRT_Buffer *buffer;            // out
  const PJRT_NamedValue *payload; // (since 103)
  size_t num_payload;             // (since 103)
} PJRT_Client_CreateErrorBuffer_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_CreateErrorBuffer_Args, num_payload);

typedef struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  const void *data;
  const int64_t *shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout *shape_layout;
  PJRT_Event *done_with_h2d_transfer; // out
} PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args,
                        done_with_h2d_transfer);

typedef struct PJRT_Buffer_CopyRawToHostFuture_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event *event;                                                                  // out
  void *callback_data;                                                                // out
  void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args); // out
} PJRT_Buffer_CopyRawToHostFuture_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_CopyRawToHostFuture_Args, future_ready_callback);

typedef struct PJRT_Device_PoisonExecution_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  int32_t launch_id;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
  bool poisoned;                  // out
  const PJRT_NamedValue *payload; // (since 100)
  size_t num_payload;             // (since 100)
} PJRT_Device_PoisonExecution_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_PoisonExecution_Args, num_payload);

/* Not reached by JAX 0.10/0.11; if ever called an error aborts; event may be null. */
typedef struct PJRT_Device_CreateAsyncTrackingEvent_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  const char *description;
  size_t description_size;
  PJRT_AsyncTrackingEvent *event; // out
} PJRT_Device_CreateAsyncTrackingEvent_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_CreateAsyncTrackingEvent_Args, event);

typedef struct PJRT_AsyncTrackingEvent_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncTrackingEvent *event;
} PJRT_AsyncTrackingEvent_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_AsyncTrackingEvent_Destroy_Args, event);

/* Serialized CompileOptionsProto with deleter. */
typedef struct PJRT_Executable_GetCompileOptions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  const char *serialized_bytes;                                                       // out
  size_t serialized_bytes_size;                                                       // out
  PJRT_SerializedCompileOptions *serialized_compile_options;                          // out
  void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions *options); // out
} PJRT_Executable_GetCompileOptions_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_GetCompileOptions_Args, serialized_compile_options_deleter);

typedef struct PJRT_Buffer_DonateWithControlDependency_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  void *callback_data; // out
  void (*dependency_ready_callback)(
      PJRT_Buffer_DonateWithControlDependency_Callback_Args *args); // out
  PJRT_Buffer *out_buffer;                                          // out
} PJRT_Buffer_DonateWithControlDependency_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_DonateWithControlDependency_Args, out_buffer);

/* Host-created events (cross-host transfers). */
typedef struct PJRT_Event_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event; // out
} PJRT_Event_Create_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Event_Create_Args, event);

typedef struct PJRT_Event_Set_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
} PJRT_Event_Set_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Event_Set_Args, error_message_size);

/* If non-null it must succeed for every device and must set attributes_deleter to a real
   function (no-op allowed). Leave the slot null to fall back on DeviceDescription_Attributes. */
typedef struct PJRT_Device_GetAttributes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
  const PJRT_NamedValue *attributes;                                     // out
  size_t num_attributes;                                                 // out
  PJRT_Device_Attributes *device_attributes;                             // out
  void (*attributes_deleter)(PJRT_Device_Attributes *device_attributes); // out
} PJRT_Device_GetAttributes_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_GetAttributes_Args, attributes_deleter);

typedef struct PJRT_Client_Load_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Executable *executable;
  const char *compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable *loaded_executable; // out
} PJRT_Client_Load_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Client_Load_Args, loaded_executable);

/* If non-null it must succeed after every compile; an empty list is accepted. Leave null if not
   implemented. */
typedef struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
  PJRT_LogicalDeviceIds *addressable_device_logical_ids; // out
  size_t num_addressable_device_logical_ids;             // out
} PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args,
                        num_addressable_device_logical_ids);

typedef struct PJRT_Buffer_Bitcast_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Buffer_Type element_type;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Buffer_MemoryLayout *device_layout;
  PJRT_Buffer *out_buffer; // out
} PJRT_Buffer_Bitcast_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_Bitcast_Args, out_buffer);

/* Called for every error whenever api->struct_size covers this slot; must be non-null and must
   return null (no payloads is fine). An UNIMPLEMENTED stub here makes the host recurse until the
   stack overflows. */
typedef struct PJRT_Error_ForEachPayload_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_Error *error;
  PJRT_Error_PayloadVisitor visitor;
  void *user_arg;
} PJRT_Error_ForEachPayload_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error_ForEachPayload_Args, user_arg);

/* Used for cache keys only. */
typedef struct PJRT_TopologyDescription_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_TopologyDescription *topology;
  uint64_t fingerprint; // out
} PJRT_TopologyDescription_Fingerprint_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_Fingerprint_Args, fingerprint);

/* num_parameters must be written. */
typedef struct PJRT_Executable_ParameterMemoryKinds_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_parameters;           // out
  const char *const *memory_kinds; // out
  const size_t *memory_kind_sizes; // out
} PJRT_Executable_ParameterMemoryKinds_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Executable_ParameterMemoryKinds_Args, memory_kind_sizes);

typedef struct PJRT_Device_ClearMemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Device *device;
} PJRT_Device_ClearMemoryStats_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Device_ClearMemoryStats_Args, device);

/* Returns a serialized ShapeProto plus deleter. */
typedef struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_TopologyDescription *topology;
  int memory_space_kind_id;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  const PJRT_Buffer_MemoryLayout *layout;
  const char *serialized_shape;                   // out
  size_t serialized_shape_size;                   // out
  void (*serialized_shape_deleter)(const char *); // out
} PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args,
                        serialized_shape_deleter);

typedef struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_TopologyDescription *topology;
  const int *memory_space_kind_ids; // out
  size_t num_memory_space_kind_ids; // out
} PJRT_TopologyDescription_GetMemorySpaceKindIds_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args,
                        num_memory_space_kind_ids);

/* --- The table ------------------------------------------------------------------------------- */

typedef struct PJRT_Api {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Api_Version pjrt_api_version;

  void (*PJRT_Error_Destroy)(PJRT_Error_Destroy_Args *args);
  void (*PJRT_Error_Message)(PJRT_Error_Message_Args *args);
  PJRT_Error *(*PJRT_Error_GetCode)(PJRT_Error_GetCode_Args *args);
  PJRT_Error *(*PJRT_Plugin_Initialize)(PJRT_Plugin_Initialize_Args *args);
  PJRT_Error *(*PJRT_Plugin_Attributes)(PJRT_Plugin_Attributes_Args *args);
  PJRT_Error *(*PJRT_Event_Destroy)(PJRT_Event_Destroy_Args *args);
  PJRT_Error *(*PJRT_Event_IsReady)(PJRT_Event_IsReady_Args *args);
  PJRT_Error *(*PJRT_Event_Error)(PJRT_Event_Error_Args *args);
  PJRT_Error *(*PJRT_Event_Await)(PJRT_Event_Await_Args *args);
  PJRT_Error *(*PJRT_Event_OnReady)(PJRT_Event_OnReady_Args *args);
  PJRT_Error *(*PJRT_Client_Create)(PJRT_Client_Create_Args *args);
  PJRT_Error *(*PJRT_Client_Destroy)(PJRT_Client_Destroy_Args *args);
  PJRT_Error *(*PJRT_Client_PlatformName)(PJRT_Client_PlatformName_Args *args);
  PJRT_Error *(*PJRT_Client_ProcessIndex)(PJRT_Client_ProcessIndex_Args *args);
  PJRT_Error *(*PJRT_Client_PlatformVersion)(PJRT_Client_PlatformVersion_Args *args);
  PJRT_Error *(*PJRT_Client_Devices)(PJRT_Client_Devices_Args *args);
  PJRT_Error *(*PJRT_Client_AddressableDevices)(PJRT_Client_AddressableDevices_Args *args);
  PJRT_Error *(*PJRT_Client_LookupDevice)(PJRT_Client_LookupDevice_Args *args);
  PJRT_Error *(*PJRT_Client_LookupAddressableDevice)(
      PJRT_Client_LookupAddressableDevice_Args *args);
  PJRT_Error *(*PJRT_Client_AddressableMemories)(PJRT_Client_AddressableMemories_Args *args);
  PJRT_Error *(*PJRT_Client_Compile)(PJRT_Client_Compile_Args *args);
  PJRT_Error *(*PJRT_Client_DefaultDeviceAssignment)(
      PJRT_Client_DefaultDeviceAssignment_Args *args);
  PJRT_Error *(*PJRT_Client_BufferFromHostBuffer)(PJRT_Client_BufferFromHostBuffer_Args *args);
  PJRT_Error *(*PJRT_DeviceDescription_Id)(PJRT_DeviceDescription_Id_Args *args);
  PJRT_Error *(*PJRT_DeviceDescription_ProcessIndex)(
      PJRT_DeviceDescription_ProcessIndex_Args *args);
  PJRT_Error *(*PJRT_DeviceDescription_Attributes)(PJRT_DeviceDescription_Attributes_Args *args);
  PJRT_Error *(*PJRT_DeviceDescription_Kind)(PJRT_DeviceDescription_Kind_Args *args);
  PJRT_Error *(*PJRT_DeviceDescription_DebugString)(PJRT_DeviceDescription_DebugString_Args *args);
  PJRT_Error *(*PJRT_DeviceDescription_ToString)(PJRT_DeviceDescription_ToString_Args *args);
  PJRT_Error *(*PJRT_Device_GetDescription)(PJRT_Device_GetDescription_Args *args);
  PJRT_Error *(*PJRT_Device_IsAddressable)(PJRT_Device_IsAddressable_Args *args);
  PJRT_Error *(*PJRT_Device_LocalHardwareId)(PJRT_Device_LocalHardwareId_Args *args);
  PJRT_Error *(*PJRT_Device_AddressableMemories)(PJRT_Device_AddressableMemories_Args *args);
  PJRT_Error *(*PJRT_Device_DefaultMemory)(PJRT_Device_DefaultMemory_Args *args);
  PJRT_Error *(*PJRT_Device_MemoryStats)(PJRT_Device_MemoryStats_Args *args);
  PJRT_Error *(*PJRT_Memory_Id)(PJRT_Memory_Id_Args *args);
  PJRT_Error *(*PJRT_Memory_Kind)(PJRT_Memory_Kind_Args *args);
  PJRT_Error *(*PJRT_Memory_DebugString)(PJRT_Memory_DebugString_Args *args);
  PJRT_Error *(*PJRT_Memory_ToString)(PJRT_Memory_ToString_Args *args);
  PJRT_Error *(*PJRT_Memory_AddressableByDevices)(PJRT_Memory_AddressableByDevices_Args *args);
  PJRT_Error *(*PJRT_Executable_Destroy)(PJRT_Executable_Destroy_Args *args);
  PJRT_Error *(*PJRT_Executable_Name)(PJRT_Executable_Name_Args *args);
  PJRT_Error *(*PJRT_Executable_NumReplicas)(PJRT_Executable_NumReplicas_Args *args);
  PJRT_Error *(*PJRT_Executable_NumPartitions)(PJRT_Executable_NumPartitions_Args *args);
  PJRT_Error *(*PJRT_Executable_NumOutputs)(PJRT_Executable_NumOutputs_Args *args);
  PJRT_Error *(*PJRT_Executable_SizeOfGeneratedCodeInBytes)(
      PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *args);
  PJRT_Error *(*PJRT_Executable_GetCostAnalysis)(PJRT_Executable_GetCostAnalysis_Args *args);
  PJRT_Error *(*PJRT_Executable_OutputMemoryKinds)(PJRT_Executable_OutputMemoryKinds_Args *args);
  PJRT_Error *(*PJRT_Executable_OptimizedProgram)(PJRT_Executable_OptimizedProgram_Args *args);
  PJRT_Error *(*PJRT_Executable_Serialize)(PJRT_Executable_Serialize_Args *args);
  PJRT_Error *(*PJRT_LoadedExecutable_Destroy)(PJRT_LoadedExecutable_Destroy_Args *args);
  PJRT_Error *(*PJRT_LoadedExecutable_GetExecutable)(
      PJRT_LoadedExecutable_GetExecutable_Args *args);
  PJRT_Error *(*PJRT_LoadedExecutable_AddressableDevices)(
      PJRT_LoadedExecutable_AddressableDevices_Args *args);
  PJRT_Error *(*PJRT_LoadedExecutable_Delete)(PJRT_LoadedExecutable_Delete_Args *args);
  PJRT_Error *(*PJRT_LoadedExecutable_IsDeleted)(PJRT_LoadedExecutable_IsDeleted_Args *args);
  PJRT_Error *(*PJRT_LoadedExecutable_Execute)(PJRT_LoadedExecutable_Execute_Args *args);
  PJRT_Error *(*PJRT_Executable_DeserializeAndLoad)(PJRT_Executable_DeserializeAndLoad_Args *args);
  PJRT_Error *(*PJRT_LoadedExecutable_Fingerprint)(PJRT_LoadedExecutable_Fingerprint_Args *args);
  PJRT_Error *(*PJRT_Buffer_Destroy)(PJRT_Buffer_Destroy_Args *args);
  PJRT_Error *(*PJRT_Buffer_ElementType)(PJRT_Buffer_ElementType_Args *args);
  PJRT_Error *(*PJRT_Buffer_Dimensions)(PJRT_Buffer_Dimensions_Args *args);
  PJRT_Error *(*PJRT_Buffer_UnpaddedDimensions)(PJRT_Buffer_UnpaddedDimensions_Args *args);
  PJRT_Error *(*PJRT_Buffer_DynamicDimensionIndices)(
      PJRT_Buffer_DynamicDimensionIndices_Args *args);
  PJRT_Error *(*PJRT_Buffer_GetMemoryLayout)(PJRT_Buffer_GetMemoryLayout_Args *args);
  PJRT_Error *(*PJRT_Buffer_OnDeviceSizeInBytes)(PJRT_Buffer_OnDeviceSizeInBytes_Args *args);
  PJRT_Error *(*PJRT_Buffer_Device)(PJRT_Buffer_Device_Args *args);
  PJRT_Error *(*PJRT_Buffer_Memory)(PJRT_Buffer_Memory_Args *args);
  PJRT_Error *(*PJRT_Buffer_Delete)(PJRT_Buffer_Delete_Args *args);
  PJRT_Error *(*PJRT_Buffer_IsDeleted)(PJRT_Buffer_IsDeleted_Args *args);
  PJRT_Error *(*PJRT_Buffer_CopyToDevice)(PJRT_Buffer_CopyToDevice_Args *args);
  PJRT_Error *(*PJRT_Buffer_ToHostBuffer)(PJRT_Buffer_ToHostBuffer_Args *args);
  PJRT_Error *(*PJRT_Buffer_IsOnCpu)(PJRT_Buffer_IsOnCpu_Args *args);
  PJRT_Error *(*PJRT_Buffer_ReadyEvent)(PJRT_Buffer_ReadyEvent_Args *args);
  PJRT_Error *(*PJRT_Buffer_UnsafePointer)(PJRT_Buffer_UnsafePointer_Args *args);
  PJRT_Error *(*PJRT_Buffer_IncreaseExternalReferenceCount)(
      PJRT_Buffer_IncreaseExternalReferenceCount_Args *args);
  PJRT_Error *(*PJRT_Buffer_DecreaseExternalReferenceCount)(
      PJRT_Buffer_DecreaseExternalReferenceCount_Args *args);
  PJRT_Error *(*PJRT_Buffer_OpaqueDeviceMemoryDataPointer)(
      PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *args);
  PJRT_Error *(*PJRT_CopyToDeviceStream_Destroy)(PJRT_CopyToDeviceStream_Destroy_Args *args);
  PJRT_Error *(*PJRT_CopyToDeviceStream_AddChunk)(PJRT_CopyToDeviceStream_AddChunk_Args *args);
  PJRT_Error *(*PJRT_CopyToDeviceStream_TotalBytes)(PJRT_CopyToDeviceStream_TotalBytes_Args *args);
  PJRT_Error *(*PJRT_CopyToDeviceStream_GranuleSize)(
      PJRT_CopyToDeviceStream_GranuleSize_Args *args);
  PJRT_Error *(*PJRT_CopyToDeviceStream_CurrentBytes)(
      PJRT_CopyToDeviceStream_CurrentBytes_Args *args);
  PJRT_Error *(*PJRT_TopologyDescription_Create)(PJRT_TopologyDescription_Create_Args *args);
  PJRT_Error *(*PJRT_TopologyDescription_Destroy)(PJRT_TopologyDescription_Destroy_Args *args);
  PJRT_Error *(*PJRT_TopologyDescription_PlatformName)(
      PJRT_TopologyDescription_PlatformName_Args *args);
  PJRT_Error *(*PJRT_TopologyDescription_PlatformVersion)(
      PJRT_TopologyDescription_PlatformVersion_Args *args);
  PJRT_Error *(*PJRT_TopologyDescription_GetDeviceDescriptions)(
      PJRT_TopologyDescription_GetDeviceDescriptions_Args *args);
  PJRT_Error *(*PJRT_TopologyDescription_Serialize)(PJRT_TopologyDescription_Serialize_Args *args);
  PJRT_Error *(*PJRT_TopologyDescription_Attributes)(
      PJRT_TopologyDescription_Attributes_Args *args);
  PJRT_Error *(*PJRT_Compile)(PJRT_Compile_Args *args);
  PJRT_Error *(*PJRT_Executable_OutputElementTypes)(PJRT_Executable_OutputElementTypes_Args *args);
  PJRT_Error *(*PJRT_Executable_OutputDimensions)(PJRT_Executable_OutputDimensions_Args *args);
  PJRT_Error *(*PJRT_Buffer_CopyToMemory)(PJRT_Buffer_CopyToMemory_Args *args);
  PJRT_Error *(*PJRT_Client_CreateViewOfDeviceBuffer)(
      PJRT_Client_CreateViewOfDeviceBuffer_Args *args);
  PJRT_Error *(*PJRT_Executable_Fingerprint)(PJRT_Executable_Fingerprint_Args *args);
  PJRT_Error *(*PJRT_Client_TopologyDescription)(PJRT_Client_TopologyDescription_Args *args);
  PJRT_Error *(*PJRT_Executable_GetCompiledMemoryStats)(
      PJRT_Executable_GetCompiledMemoryStats_Args *args);
  PJRT_Error *(*PJRT_Memory_Kind_Id)(PJRT_Memory_Kind_Id_Args *args);
  PJRT_Error *(*PJRT_ExecuteContext_Create)(PJRT_ExecuteContext_Create_Args *args);
  PJRT_Error *(*PJRT_ExecuteContext_Destroy)(PJRT_ExecuteContext_Destroy_Args *args);
  PJRT_Error *(*PJRT_Buffer_CopyRawToHost)(PJRT_Buffer_CopyRawToHost_Args *args);
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_Destroy)(
      PJRT_AsyncHostToDeviceTransferManager_Destroy_Args *args); // (since 60)
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_TransferData)(
      PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args); // (since 60)
  PJRT_Error *(*PJRT_Client_CreateBuffersForAsyncHostToDevice)(
      PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args); // (since 60)
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer)(
      PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args); // (since 62)
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_Device)(
      PJRT_AsyncHostToDeviceTransferManager_Device_Args *args); // (since 62)
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_BufferCount)(
      PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args *args); // (since 62)
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_BufferSize)(
      PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args *args); // (since 62)
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_SetBufferError)(
      PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args *args); // (since 62)
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_AddMetadata)(
      PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *args);    // (since 62)
  PJRT_Error *(*PJRT_Client_DmaMap)(PJRT_Client_DmaMap_Args *args);     // (since 67)
  PJRT_Error *(*PJRT_Client_DmaUnmap)(PJRT_Client_DmaUnmap_Args *args); // (since 67)
  PJRT_Error *(*PJRT_Client_CreateUninitializedBuffer)(
      PJRT_Client_CreateUninitializedBuffer_Args *args); // (since 69)
  PJRT_Error *(*PJRT_Client_UpdateGlobalProcessInfo)(
      PJRT_Client_UpdateGlobalProcessInfo_Args *args); // (since 73)
  PJRT_Error *(*PJRT_TopologyDescription_Deserialize)(
      PJRT_TopologyDescription_Deserialize_Args *args); // (since 75)
  PJRT_Error *(*PJRT_Client_CreateAliasBuffer)(
      PJRT_Client_CreateAliasBuffer_Args *args); // (since 77)
  PJRT_Error *(*PJRT_Client_FulfillAliasBuffer)(
      PJRT_Client_FulfillAliasBuffer_Args *args); // (since 77)
  PJRT_Error *(*PJRT_LoadedExecutable_GetDeviceAssignment)(
      PJRT_LoadedExecutable_GetDeviceAssignment_Args *args); // (since 79)
  PJRT_Error *(*PJRT_Client_CreateErrorBuffer)(
      PJRT_Client_CreateErrorBuffer_Args *args); // (since 82)
  PJRT_Error *(*PJRT_AsyncHostToDeviceTransferManager_TransferLiteral)(
      PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args *args); // (since 83)
  PJRT_Error *(*PJRT_Buffer_CopyRawToHostFuture)(
      PJRT_Buffer_CopyRawToHostFuture_Args *args);                                    // (since 84)
  PJRT_Error *(*PJRT_Device_PoisonExecution)(PJRT_Device_PoisonExecution_Args *args); // (since 85)
  PJRT_Error *(*PJRT_Device_CreateAsyncTrackingEvent)(
      PJRT_Device_CreateAsyncTrackingEvent_Args *args); // (since 86)
  PJRT_Error *(*PJRT_AsyncTrackingEvent_Destroy)(
      PJRT_AsyncTrackingEvent_Destroy_Args *args); // (since 86)
  PJRT_Error *(*PJRT_Executable_GetCompileOptions)(
      PJRT_Executable_GetCompileOptions_Args *args); // (since 87)
  PJRT_Error *(*PJRT_Buffer_DonateWithControlDependency)(
      PJRT_Buffer_DonateWithControlDependency_Args *args);                        // (since 88)
  PJRT_Error *(*PJRT_Event_Create)(PJRT_Event_Create_Args *args);                 // (since 89)
  PJRT_Error *(*PJRT_Event_Set)(PJRT_Event_Set_Args *args);                       // (since 89)
  PJRT_Error *(*PJRT_Device_GetAttributes)(PJRT_Device_GetAttributes_Args *args); // (since 92)
  PJRT_Error *(*PJRT_Client_Load)(PJRT_Client_Load_Args *args);                   // (since 95)
  PJRT_Error *(*PJRT_LoadedExecutable_AddressableDeviceLogicalIds)(
      PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args *args);              // (since 96)
  PJRT_Error *(*PJRT_Buffer_Bitcast)(PJRT_Buffer_Bitcast_Args *args);             // (since 98)
  PJRT_Error *(*PJRT_Error_ForEachPayload)(PJRT_Error_ForEachPayload_Args *args); // (since 99)
  PJRT_Error *(*PJRT_TopologyDescription_Fingerprint)(
      PJRT_TopologyDescription_Fingerprint_Args *args); // (since 101)
  PJRT_Error *(*PJRT_Executable_ParameterMemoryKinds)(
      PJRT_Executable_ParameterMemoryKinds_Args *args); // (since 102)
  PJRT_Error *(*PJRT_Device_ClearMemoryStats)(
      PJRT_Device_ClearMemoryStats_Args *args); // (since 106)
  PJRT_Error *(*PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace)(
      PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args *args); // (since 109)
  PJRT_Error *(*PJRT_TopologyDescription_GetMemorySpaceKindIds)(
      PJRT_TopologyDescription_GetMemorySpaceKindIds_Args *args); // (since 110)
} PJRT_Api;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds);

/* The one symbol a plugin exports. The table lives as long as the process. */
typedef const PJRT_Api *(*PJRT_GetApiFunction)(void);

#ifdef __cplusplus
}
#endif
