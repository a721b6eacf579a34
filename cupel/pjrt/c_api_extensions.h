// The PJRT extensions we offer or ask for: structs that hang in a list on PJRT_Api.extension_start.
// Our plugin fills them, our host reads them. Nobody checks an extension's struct_size, so always
// allocate the whole struct and leave null what is missing.
#pragma once

#include "cupel/pjrt/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque here. */
typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;
typedef struct PJRT_MemoryDescription PJRT_MemoryDescription;
typedef struct PLUGIN_Profiler_Api PLUGIN_Profiler_Api;

typedef enum PJRT_FFI_Handler_TraitsBits {
  PJRT_FFI_Handler_TraitsBits_COMMAND_BUFFER_COMPATIBLE = 1, // usable in command buffers
} PJRT_FFI_Handler_TraitsBits;

/* --- Layouts: a serialized layout is text such as {1,0} or {1,0:T(8,128)}, minor dimension first.
   Layouts of an executable belong to it; all others are destroyed by the caller. */

typedef struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Layouts_MemoryLayout *layout;
} PJRT_Layouts_MemoryLayout_Destroy_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_MemoryLayout_Destroy_Args, layout);

typedef struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Layouts_MemoryLayout *layout;
  const char *serialized_bytes;                                               // out
  size_t serialized_bytes_size;                                               // out
  PJRT_Layouts_SerializedLayout *serialized_layout;                           // out
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout *s_layout); // out
} PJRT_Layouts_MemoryLayout_Serialize_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_MemoryLayout_Serialize_Args, serialized_layout_deleter);

typedef struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Layouts_MemoryLayout *layout; // out
} PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args, layout);

typedef struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout *layout; // out
} PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args, layout);

typedef struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology_description;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout *layout; // out
} PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args, layout);

typedef struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs;                  // out
  PJRT_Layouts_MemoryLayout **layouts; // out
} PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args, layouts);

typedef struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_parameters;               // out
  PJRT_Layouts_MemoryLayout **layouts; // out
} PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args, layouts);

typedef struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*PJRT_Layouts_MemoryLayout_Destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args *args);
  PJRT_Error *(*PJRT_Layouts_MemoryLayout_Serialize)(
      PJRT_Layouts_MemoryLayout_Serialize_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Client_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Buffer_MemoryLayout)(
      PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Topology_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Executable_GetOutputLayouts)(
      PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Executable_GetParameterLayouts)(
      PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *args);
} PJRT_Layouts_Extension;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_Extension, PJRT_Layouts_PJRT_Executable_GetParameterLayouts);

/* --- Shardings: one serialized OpSharding for each parameter or result; null means unknown.
   A program without results returns one entry. */

typedef struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_parameters;        // out
  const char *const *shardings; // out
  const size_t *sharding_sizes; // out
} PJRT_Shardings_PJRT_Executable_ParameterShardings_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args, sharding_sizes);

typedef struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs;           // out
  const char *const *shardings; // out
  const size_t *sharding_sizes; // out
} PJRT_Shardings_PJRT_Executable_OutputShardings_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Shardings_PJRT_Executable_OutputShardings_Args, sharding_sizes);

typedef struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*PJRT_Shardings_PJRT_Executable_ParameterShardings)(
      PJRT_Shardings_PJRT_Executable_ParameterShardings_Args *args);
  PJRT_Error *(*PJRT_Shardings_PJRT_Executable_OutputShardings)(
      PJRT_Shardings_PJRT_Executable_OutputShardings_Args *args);
} PJRT_Shardings_Extension;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Shardings_Extension, PJRT_Shardings_PJRT_Executable_OutputShardings);

/* --- Memories of devices that are described but not there. */

typedef struct PJRT_DeviceDescription_MemoryDescriptions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_DeviceDescription *device_description;
  const PJRT_MemoryDescription *const *memory_descriptions; // out
  size_t num_memory_descriptions;                           // out
  size_t default_memory_index;                              // out
} PJRT_DeviceDescription_MemoryDescriptions_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_DeviceDescription_MemoryDescriptions_Args, default_memory_index);

typedef struct PJRT_MemoryDescription_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_MemoryDescription *memory_description;
  const char *kind; // out
  size_t kind_size; // out
  int kind_id;      // out
} PJRT_MemoryDescription_Kind_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_MemoryDescription_Kind_Args, kind_id);

typedef struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*PJRT_DeviceDescription_MemoryDescriptions)(
      PJRT_DeviceDescription_MemoryDescriptions_Args *args);
  PJRT_Error *(*PJRT_MemoryDescription_Kind)(PJRT_MemoryDescription_Kind_Args *args);
} PJRT_MemoryDescriptions_Extension;
PJRT_DEFINE_STRUCT_SIZE(PJRT_MemoryDescriptions_Extension, PJRT_MemoryDescription_Kind);

/* --- Profiler: hosts attach it to the arguments of Compile and Execute. */

typedef struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api *profiler_api;
  int64_t traceme_context_id;
} PJRT_Profiler_Extension;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Profiler_Extension, traceme_context_id);

/* --- Streams: exchange of device arrays with other frameworks. */

typedef struct PJRT_Get_Stream_For_External_Ready_Events_Args {
  size_t struct_size;
  PJRT_Device *device;
  intptr_t stream; // out
} PJRT_Get_Stream_For_External_Ready_Events_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Get_Stream_For_External_Ready_Events_Args, stream);

typedef struct PJRT_Wait_Until_Buffer_Ready_On_Stream_Args {
  size_t struct_size;
  intptr_t stream;
  PJRT_Buffer *buffer;
} PJRT_Wait_Until_Buffer_Ready_On_Stream_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Wait_Until_Buffer_Ready_On_Stream_Args, buffer);

typedef struct PJRT_Stream_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*get_stream)(PJRT_Get_Stream_For_External_Ready_Events_Args *args);
  PJRT_Error *(*wait_stream)(PJRT_Wait_Until_Buffer_Ready_On_Stream_Args *args);
} PJRT_Stream_Extension;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Stream_Extension, wait_stream);

/* --- Foreign functions: handlers of custom calls and the data users pass to them. */

typedef struct PJRT_FFI_Type_Info {
  void (*deleter)(void *object);
  void (*serialize)(void);
  void (*deserialize)(void);
} PJRT_FFI_Type_Info;

typedef struct PJRT_FFI_Type_Register_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *type_name;
  size_t type_name_size;
  int64_t type_id; // in/out
  PJRT_FFI_Type_Info *type_info;
} PJRT_FFI_Type_Register_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_FFI_Type_Register_Args, type_info);

typedef struct PJRT_FFI_UserData {
  int64_t type_id;
  void *data;
} PJRT_FFI_UserData;

typedef struct PJRT_FFI_UserData_Add_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_ExecuteContext *context;
  PJRT_FFI_UserData user_data;
} PJRT_FFI_UserData_Add_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_FFI_UserData_Add_Args, user_data);

typedef struct PJRT_FFI_Register_Handler_Args {
  size_t struct_size;
  const char *target_name;
  size_t target_name_size;
  void *handler;
  const char *platform_name;
  size_t platform_name_size;
  PJRT_FFI_Handler_TraitsBits traits;
} PJRT_FFI_Register_Handler_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_FFI_Register_Handler_Args, traits);

typedef struct PJRT_FFI_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*type_register)(PJRT_FFI_Type_Register_Args *args);
  PJRT_Error *(*user_data_add)(PJRT_FFI_UserData_Add_Args *args);
  PJRT_Error *(*register_handler)(PJRT_FFI_Register_Handler_Args *args);
} PJRT_FFI_Extension;
PJRT_DEFINE_STRUCT_SIZE(PJRT_FFI_Extension, register_handler);

/* --- Custom partitioners: custom calls whose author says how they are split. Shapes and shardings
   cross as serialized xla.ShapeProto and xla.OpSharding, of several results as tuples. Arguments
   are the caller's; results live until the caller calls cleanup_fn, if there is one. */

typedef struct JAX_CustomCallPartitioner_string {
  const char *data;
  size_t size;
} JAX_CustomCallPartitioner_string;

typedef struct JAX_CustomCallPartitioner_aval {
  JAX_CustomCallPartitioner_string shape;
  bool has_sharding;
  JAX_CustomCallPartitioner_string sharding;
} JAX_CustomCallPartitioner_aval;

typedef struct JAX_CustomCallPartitioner_version_and_error {
  int64_t api_version;                        // 0
  void *data;                                 // out
  void (*cleanup_fn)(void *data);             // out
  bool has_error;                             // out
  PJRT_Error_Code code;                       // out
  JAX_CustomCallPartitioner_string error_msg; // out
} JAX_CustomCallPartitioner_version_and_error;

typedef struct JAX_CustomCallPartitioner_Partition_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  size_t num_args;
  JAX_CustomCallPartitioner_aval *op_args;
  JAX_CustomCallPartitioner_aval op_result;
  JAX_CustomCallPartitioner_string backend_config;
  JAX_CustomCallPartitioner_string mlir_module;     // out: what each device runs
  JAX_CustomCallPartitioner_string *args_sharding;  // out
  JAX_CustomCallPartitioner_string result_sharding; // out
} JAX_CustomCallPartitioner_Partition_Args;

typedef struct JAX_CustomCallPartitioner_InferShardingFromOperands_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  size_t num_args;
  JAX_CustomCallPartitioner_aval *op_args;
  JAX_CustomCallPartitioner_string result_shape;
  JAX_CustomCallPartitioner_string backend_config;
  bool has_result_sharding;                         // out
  JAX_CustomCallPartitioner_string result_sharding; // out
} JAX_CustomCallPartitioner_InferShardingFromOperands_Args;

typedef struct JAX_CustomCallPartitioner_PropagateUserSharding_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  JAX_CustomCallPartitioner_string backend_config;
  JAX_CustomCallPartitioner_string result_shape;
  JAX_CustomCallPartitioner_string result_sharding; // in and out
} JAX_CustomCallPartitioner_PropagateUserSharding_Args;

/* Belongs to whom it is registered with, who calls dtor when done with it. */
typedef struct JAX_CustomCallPartitioner_Callbacks {
  int64_t version;
  void *private_data;
  void (*dtor)(struct JAX_CustomCallPartitioner_Callbacks *data);
  void (*partition)(struct JAX_CustomCallPartitioner_Callbacks *data,
                    JAX_CustomCallPartitioner_Partition_Args *args);
  void (*infer_sharding)(struct JAX_CustomCallPartitioner_Callbacks *data,
                         JAX_CustomCallPartitioner_InferShardingFromOperands_Args *args);
  void (*propagate_user_sharding)(struct JAX_CustomCallPartitioner_Callbacks *data,
                                  JAX_CustomCallPartitioner_PropagateUserSharding_Args *args);
  bool can_side_effecting_have_replicated_sharding;
} JAX_CustomCallPartitioner_Callbacks;

typedef struct PJRT_Register_Custom_Partitioner_Args {
  size_t struct_size;
  const char *name;
  size_t name_size;
  JAX_CustomCallPartitioner_Callbacks *callbacks;
} PJRT_Register_Custom_Partitioner_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Register_Custom_Partitioner_Args, callbacks);

typedef struct PJRT_Register_Batch_Partitionable_Args {
  size_t struct_size;
  const char *name;
  size_t name_size;
} PJRT_Register_Batch_Partitionable_Args;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Register_Batch_Partitionable_Args, name_size);

typedef struct PJRT_Custom_Partitioner_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*register_custom_partitioner)(PJRT_Register_Custom_Partitioner_Args *args);
  PJRT_Error *(*register_batch_partitionable)(PJRT_Register_Batch_Partitionable_Args *args);
} PJRT_Custom_Partitioner_Extension;
PJRT_DEFINE_STRUCT_SIZE(PJRT_Custom_Partitioner_Extension, register_batch_partitionable);

#ifdef __cplusplus
}
#endif
