// An FFI handler of a user's own: result = scale * (a + b) on f32 tensors. Built and called by
// ffi_handler.py; the call frame is that of XLA's FFI, so a handler built against XLA's own headers
// works as well.

#include "cupel/runtime/calls/FfiAbi.h"

#include <cstring>
#include <string_view>

using namespace cupel::runtime::ffi;

namespace {

constexpr int32_t kF32 = 11; // XLA's number of the element type.

Error *fail(CallFrame *frame, const char *message) {
  ErrorCreateArgs args{{sizeof(ErrorCreateArgs), nullptr}, message, /*INVALID_ARGUMENT*/ 3};
  return frame->api->createError(&args);
}

int64_t sizeOf(const Buffer &buffer) {
  int64_t size = 1;
  for (int64_t i = 0; i < buffer.rank; ++i)
    size *= buffer.dims[i];
  return size;
}

} // namespace

extern "C" Error *ScaledSum(CallFrame *frame) {
  // The first call asks which version of the interface this was built for.
  if (auto *extension = frame->header.extensions;
      extension && extension->type == kMetadataExtension) {
    Metadata *metadata = reinterpret_cast<MetadataExtension *>(extension)->metadata;
    metadata->version.major = kMajor;
    metadata->version.minor = kMinor;
    return nullptr;
  }
  if (frame->operands.size != 2 || frame->results.size != 1)
    return fail(frame, "ScaledSum takes two operands and gives one result");
  auto &a = *static_cast<Buffer *>(frame->operands.values[0]);
  auto &b = *static_cast<Buffer *>(frame->operands.values[1]);
  auto &result = *static_cast<Buffer *>(frame->results.values[0]);
  if (a.type != kF32 || b.type != kF32 || result.type != kF32)
    return fail(frame, "ScaledSum works on f32");
  int64_t size = sizeOf(result);
  if (sizeOf(a) != size || sizeOf(b) != size)
    return fail(frame, "ScaledSum takes tensors of one size");

  float scale = 1;
  const Attributes &attributes = frame->attributes;
  for (int64_t i = 0; i < attributes.size; ++i) {
    const ByteSpan &name = *attributes.names[i];
    if (std::string_view(name.data, name.size) != "scale")
      continue;
    auto &value = *static_cast<Scalar *>(attributes.values[i]);
    if (attributes.types[i] != kScalar || value.type != kF32)
      return fail(frame, "scale is a number of type f32");
    std::memcpy(&scale, value.value, sizeof scale);
  }

  const auto *x = static_cast<const float *>(a.data), *y = static_cast<const float *>(b.data);
  auto *out = static_cast<float *>(result.data);
  for (int64_t i = 0; i < size; ++i)
    out[i] = scale * (x[i] + y[i]);
  return nullptr;
}
