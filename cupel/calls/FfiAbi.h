// The binary interface through which XLA's custom-call handlers are called (version 0.3): one call
// frame with operands, results and attributes, and a table of functions the handler may call back.
// Written from the published layout; sizes are pinned below. Plain data, used by Ffi.cpp and tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cupel::calls::ffi {

constexpr int kMajor = 0, kMinor = 3;

struct Error; // Opaque to handlers.
struct Context;
struct Future;

enum ExtensionType : int32_t { kMetadataExtension = 1 };

struct ExtensionBase {
  size_t structSize;
  ExtensionType type;
  ExtensionBase *next;
};

/// What every struct that may grow starts with.
struct Header {
  size_t structSize;
  ExtensionBase *extensions;
};

struct Version {
  Header header;
  int32_t major, minor;
};

struct Metadata {
  size_t structSize;
  Version version; // out
  uint32_t traits; // out
  int64_t stateTypeId;
};

/// A frame that carries this asks the handler about itself and for nothing else.
struct MetadataExtension {
  ExtensionBase base;
  Metadata *metadata;
};

struct Buffer {
  Header header;
  int32_t type; // XLA's numbers of element types.
  void *data;
  int64_t rank;
  int64_t *dims;
};

enum ValueType : int32_t { kBuffer = 1 };
enum AttributeType : int32_t { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };

struct ByteSpan {
  const char *data;
  size_t size;
};
struct Scalar {
  int32_t type;
  const void *value;
};
struct Array {
  int32_t type;
  size_t size;
  const void *data;
};

/// Operands, and in the same form results.
struct Values {
  Header header;
  int64_t size;
  ValueType *types;
  void **values;
};
struct Attributes {
  Header header;
  int64_t size;
  AttributeType *types;
  ByteSpan **names;
  void **values;
};

enum Stage : int32_t { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

struct Api;

struct CallFrame {
  Header header;
  const Api *api;
  Context *context;
  Stage stage;
  Values operands;
  Values results;
  Attributes attributes;
  Future *future; // out
};

// What a struct says its size is: the end of the last field that version 0.3 counts, which handlers
// compare exactly.
constexpr size_t kCallFrameSize = offsetof(CallFrame, future);
constexpr size_t kMetadataSize = offsetof(Metadata, traits) + sizeof(uint32_t);

using Handler = Error *(CallFrame *);

// Arguments of the functions in the table.
struct ErrorCreateArgs {
  Header header;
  const char *message;
  int32_t code;
};
struct ErrorMessageArgs {
  Header header;
  Error *error;
  const char *message; // out
};
struct ErrorArgs {
  Header header;
  Error *error;
};
struct TypeRegisterArgs {
  Header header;
  ByteSpan name;
  int64_t *typeId; // in and out
  const void *typeInfo;
};
struct ContextGetArgs {
  Header header;
  Context *context;
  int64_t *typeId;
  void *data; // out
};
struct StateArgs {
  Header header;
  Context *context;
  Stage stage;
  int64_t *typeId;
  void *state; // in or out
};
struct StreamArgs {
  Header header;
  Context *context;
  void *stream; // out
};
struct AllocateArgs {
  Header header;
  Context *context;
  size_t size, alignment;
  void *data; // out
};
struct FreeArgs {
  Header header;
  Context *context;
  size_t size;
  void *data;
};
struct ScheduleArgs {
  Header header;
  Context *context;
  void (*task)(void *);
  void *data;
};
struct ThreadCountArgs {
  Header header;
  Context *context;
  int64_t *count; // out
};
struct FutureArgs {
  Header header;
  Future *future; // out of create
};
struct FutureErrorArgs {
  Header header;
  Future *future;
  Error *error;
};
struct RunIdArgs {
  Header header;
  Context *context;
  int64_t id; // out
};
struct DeviceOrdinalArgs {
  Header header;
  Context *context;
  int32_t ordinal; // out
};

struct Api {
  Header header;
  Version version;
  const void *internal;
  Error *(*createError)(ErrorCreateArgs *);
  void (*errorMessage)(ErrorMessageArgs *);
  void (*destroyError)(ErrorArgs *);
  Error *(*registerHandler)(void *);
  Error *(*getStream)(StreamArgs *);
  Error *(*registerType)(TypeRegisterArgs *);
  Error *(*getContext)(ContextGetArgs *);
  Error *(*setState)(StateArgs *);
  Error *(*getState)(StateArgs *);
  Error *(*allocate)(AllocateArgs *);
  Error *(*free)(FreeArgs *);
  Error *(*schedule)(ScheduleArgs *);
  Error *(*threadCount)(ThreadCountArgs *);
  Error *(*createFuture)(FutureArgs *);
  Error *(*setFutureAvailable)(FutureArgs *);
  Error *(*setFutureError)(FutureErrorArgs *);
  Error *(*getRunId)(RunIdArgs *);
  Error *(*getDeviceOrdinal)(DeviceOrdinalArgs *);
};

static_assert(sizeof(ExtensionBase) == 24 && sizeof(Version) == 24 && sizeof(Metadata) == 48);
static_assert(sizeof(Buffer) == 48 && offsetof(Buffer, data) == 24 && offsetof(Buffer, dims) == 40);
static_assert(sizeof(Values) == 40 && sizeof(Attributes) == 48);
static_assert(offsetof(CallFrame, stage) == 32 && offsetof(CallFrame, operands) == 40 &&
              offsetof(CallFrame, results) == 80 && offsetof(CallFrame, attributes) == 120 &&
              offsetof(CallFrame, future) == 168 && sizeof(CallFrame) == 176);
static_assert(offsetof(Api, internal) == 40 && offsetof(Api, createError) == 48 &&
              sizeof(Api) == 48 + 18 * 8);

} // namespace cupel::calls::ffi
