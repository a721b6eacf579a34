#include "cupel/pjrt/plugin/Buffer.h"

#include "cupel/pjrt/plugin/ElementTypes.h"
#include "cupel/pjrt/plugin/Patience.h"

#include <algorithm>

namespace cupel::pjrt {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

std::shared_ptr<BufferData> Buffer::get() const {
  std::lock_guard lock(mutex);
  return data;
}

std::shared_ptr<BufferData> Buffer::take() {
  std::lock_guard lock(mutex);
  deleted.store(true, std::memory_order_release);
  return std::move(data);
}

MinorToMajor rowMajor(size_t rank) {
  MinorToMajor order(rank);
  for (size_t i = 0; i < rank; ++i)
    order[i] = static_cast<int64_t>(rank - 1 - i);
  return order;
}

bool isRowMajor(const MinorToMajor &order) {
  return order.empty() || order == rowMajor(order.size());
}

Result<std::shared_ptr<BufferData>> reserveData(MemorySpace &memory, DType type,
                                                 std::span<const int64_t> shape,
                                                 std::shared_ptr<const std::string> origin) {
  std::optional<int64_t> bytes = tensor::byteCount(type, shape);
  if (!bytes)
    return Error{ErrorCode::InvalidArgument,
                 tensor::describe(type, shape) + " is larger than any memory"};
  Result<Reservation> reservation = memory.pool->reserve(*bytes, type, shape, std::move(origin));
  if (!reservation)
    return reservation.error();
  auto data = std::make_shared<BufferData>();
  data->reservation = std::move(*reservation);
  return data;
}

Result<std::shared_ptr<BufferData>> awaitData(MemorySpace &memory, DType type,
                                               std::span<const int64_t> shape,
                                               const std::shared_ptr<const std::string> &origin) {
  return withPatience(memory.device.client,
                      [&] { return reserveData(memory, type, shape, origin); });
}

Result<MemorySpace *> placeOf(PJRT_Device *device, PJRT_Memory *memory) {
  if (memory)
    return &object(memory);
  if (device)
    return &object(device).memory(MemoryKind::Device);
  return Error{ErrorCode::InvalidArgument, "neither a device nor a memory is given"};
}

Result<MinorToMajor> orderOf(const PJRT_Buffer_MemoryLayout *layout,
                              std::span<const int64_t> shape, int64_t elementBytes) {
  if (!layout)
    return MinorToMajor();
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    const PJRT_Buffer_MemoryLayout_Tiled &tiled = layout->tiled;
    if (tiled.num_tiles)
      return Error{ErrorCode::Unsupported, "tiled layouts are not supported"};
    MinorToMajor order(tiled.minor_to_major, tiled.minor_to_major + tiled.minor_to_major_size);
    MinorToMajor sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<int64_t>(i) || sorted.size() != shape.size())
        return Error{ErrorCode::InvalidArgument,
                     "minor_to_major is no order of the tensor's dimensions"};
    return order;
  }
  // Strides: an order of dimensions, if dense.
  const PJRT_Buffer_MemoryLayout_Strides &strides = layout->strides;
  if (strides.num_byte_strides != shape.size())
    return Error{ErrorCode::InvalidArgument, "there must be a stride for each dimension"};
  MinorToMajor order = rowMajor(shape.size());
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::pair(strides.byte_strides[a], -a) < std::pair(strides.byte_strides[b], -b);
  });
  int64_t step = elementBytes;
  for (int64_t dimension : order) {
    if (shape[dimension] > 1 && strides.byte_strides[dimension] != step)
      return Error{ErrorCode::Unsupported, "strides of a device layout must be dense"};
    step *= shape[dimension];
  }
  return order;
}

Error deletedError() {
  return {ErrorCode::InvalidArgument, "the buffer has been deleted or donated"};
}

Result<DType> typeOf(PJRT_Buffer_Type type) {
  if (std::optional<DType> known = elementType(type))
    return *known;
  return Error{ErrorCode::Unsupported, "buffers of element type " +
                                             std::string(bufferTypeName(type)) +
                                             " are not supported"};
}

namespace {

PJRT_Error *destroy(PJRT_Buffer_Destroy_Args *args) {
  if (args->buffer)
    delete &object(args->buffer);
  return nullptr;
}

PJRT_Error *elementTypeOf(PJRT_Buffer_ElementType_Args *args) {
  args->type = object(args->buffer).type;
  return nullptr;
}

PJRT_Error *dimensions(PJRT_Buffer_Dimensions_Args *args) {
  const Shape &shape = object(args->buffer).shape;
  args->dims = shape.data();
  args->num_dims = shape.size();
  return nullptr;
}

PJRT_Error *unpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args *args) {
  const Shape &shape = object(args->buffer).shape;
  args->unpadded_dims = shape.data();
  args->num_dims = shape.size();
  return nullptr;
}

PJRT_Error *dynamicDimensions(PJRT_Buffer_DynamicDimensionIndices_Args *args) {
  args->dynamic_dim_indices = nullptr;
  args->num_dynamic_dims = 0;
  return nullptr;
}

PJRT_Error *memoryLayout(PJRT_Buffer_GetMemoryLayout_Args *args) {
  Buffer &buffer = object(args->buffer);
  const MinorToMajor *layout = &buffer.layout;
  if (layout->empty()) {
    std::lock_guard lock(buffer.mutex);
    if (buffer.shownLayout.empty())
      buffer.shownLayout = rowMajor(buffer.shape.size());
    layout = &buffer.shownLayout;
  }
  args->layout = makeStruct<PJRT_Buffer_MemoryLayout>();
  args->layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args->layout.tiled = makeStruct<PJRT_Buffer_MemoryLayout_Tiled>();
  args->layout.tiled.minor_to_major = layout->data();
  args->layout.tiled.minor_to_major_size = layout->size();
  return nullptr;
}

PJRT_Error *sizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args *args) {
  const Buffer &buffer = object(args->buffer);
  std::optional<DType> type = elementType(buffer.type);
  args->on_device_size_in_bytes = type ? tensor::byteCount(*type, buffer.shape).value_or(0) : 0;
  return nullptr;
}

PJRT_Error *device(PJRT_Buffer_Device_Args *args) {
  args->device = object(args->buffer).memory.deviceHandle;
  return nullptr;
}

PJRT_Error *memory(PJRT_Buffer_Memory_Args *args) {
  args->memory = handle<PJRT_Memory>(&object(args->buffer).memory);
  return nullptr;
}

PJRT_Error *deleteData(PJRT_Buffer_Delete_Args *args) {
  object(args->buffer).take();
  return nullptr;
}

PJRT_Error *isDeleted(PJRT_Buffer_IsDeleted_Args *args) {
  args->is_deleted = object(args->buffer).isDeleted();
  return nullptr;
}

PJRT_Error *isOnCpu(PJRT_Buffer_IsOnCpu_Args *args) {
  const Buffer &buffer = object(args->buffer);
  bool isApart =
      buffer.memory.device.client.layout.isCopied && buffer.memory.kind == MemoryKind::Device;
  args->is_on_cpu = buffer.isReadInPlace && !isApart;
  return nullptr;
}

PJRT_Error *readyEvent(PJRT_Buffer_ReadyEvent_Args *args) {
  std::shared_ptr<BufferData> data = object(args->buffer).get();
  args->event = makeEvent(data ? data->ready : Signal::failed(deletedError()));
  return nullptr;
}

Result<std::shared_ptr<BufferData>> readyData(Buffer &buffer) {
  std::shared_ptr<BufferData> data = buffer.get();
  if (!data)
    return deletedError();
  data->ready->ask();
  if (data->ready->error())
    return *data->ready->error();
  return data;
}

PJRT_Error *increase(PJRT_Buffer_IncreaseExternalReferenceCount_Args *args) {
  Buffer &buffer = object(args->buffer);
  std::shared_ptr<BufferData> data = buffer.get();
  std::lock_guard lock(buffer.mutex);
  if (!data && !buffer.externalReferences)
    return makeError(deletedError());
  if (data)
    buffer.external = std::move(data);
  ++buffer.externalReferences;
  return nullptr;
}

PJRT_Error *decrease(PJRT_Buffer_DecreaseExternalReferenceCount_Args *args) {
  Buffer &buffer = object(args->buffer);
  std::shared_ptr<BufferData> last;
  std::lock_guard lock(buffer.mutex);
  if (buffer.externalReferences == 0)
    return makeError(ErrorCode::FailedPrecondition, "there is no external reference to give up");
  if (--buffer.externalReferences == 0)
    last = std::move(buffer.external);
  return nullptr;
}

Result<const void *> pointerOf(Buffer &buffer) {
  std::shared_ptr<BufferData> data;
  {
    std::lock_guard lock(buffer.mutex);
    data = buffer.external;
  }
  if (!data) {
    Result<std::shared_ptr<BufferData>> ready = readyData(buffer);
    if (!ready)
      return ready.error();
    data = std::move(*ready);
  }
  data->ready->ask();
  if (data->ready->error())
    return *data->ready->error();
  Result<Tensor> whole = data->whole();
  if (!whole)
    return whole.error();
  return static_cast<const void *>(whole->data());
}

PJRT_Error *unsafePointer(PJRT_Buffer_UnsafePointer_Args *args) {
  Result<const void *> pointer = pointerOf(object(args->buffer));
  if (!pointer)
    return makeError(pointer.error());
  args->buffer_pointer = reinterpret_cast<uintptr_t>(*pointer);
  return nullptr;
}

PJRT_Error *opaquePointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *args) {
  Result<const void *> pointer = pointerOf(object(args->buffer));
  if (!pointer)
    return makeError(pointer.error());
  args->device_memory_ptr = const_cast<void *>(*pointer);
  return nullptr;
}

PJRT_Error *bitcast(PJRT_Buffer_Bitcast_Args *args) {
  Buffer &buffer = object(args->buffer);
  Result<DType> type = typeOf(args->element_type);
  if (!type)
    return makeError(type.error());
  Shape shape(args->dims, args->dims + args->num_dims);
  Result<std::shared_ptr<BufferData>> data = readyData(buffer);
  if (!data)
    return makeError(data.error());
  Result<Tensor> whole = (*data)->whole();
  if (!whole)
    return makeError(whole.error());
  const Tensor &tensor = *whole;
  if (tensor::byteCount(*type, shape) != tensor.byteSize())
    return invalid("a bitcast must keep the number of bytes");
  auto keep = *data;
  Result<Tensor> view =
      Tensor::borrow(*type, shape, {tensor.data(), static_cast<size_t>(tensor.byteSize())},
                     std::shared_ptr<const void>(keep, keep.get()));
  if (!view)
    return makeError(ErrorCode::Unsupported, view.message());
  auto made = std::make_shared<BufferData>();
  made->tensor = std::move(*view);
  made->ready = Signal::done();
  args->out_buffer = handle<PJRT_Buffer>(
      new Buffer(buffer.memory, args->element_type, std::move(shape), std::move(made)));
  return nullptr;
}

} // namespace

void bindBuffers(PJRT_Api &api) {
  bind<destroy>(api.PJRT_Buffer_Destroy);
  bind<elementTypeOf>(api.PJRT_Buffer_ElementType);
  bind<dimensions>(api.PJRT_Buffer_Dimensions);
  bind<unpaddedDimensions>(api.PJRT_Buffer_UnpaddedDimensions);
  bind<dynamicDimensions>(api.PJRT_Buffer_DynamicDimensionIndices);
  bind<memoryLayout>(api.PJRT_Buffer_GetMemoryLayout);
  bind<sizeInBytes>(api.PJRT_Buffer_OnDeviceSizeInBytes);
  bind<device>(api.PJRT_Buffer_Device);
  bind<memory>(api.PJRT_Buffer_Memory);
  bind<deleteData>(api.PJRT_Buffer_Delete);
  bind<isDeleted>(api.PJRT_Buffer_IsDeleted);
  bind<isOnCpu>(api.PJRT_Buffer_IsOnCpu);
  bind<readyEvent>(api.PJRT_Buffer_ReadyEvent);
  bind<unsafePointer>(api.PJRT_Buffer_UnsafePointer);
  bind<increase>(api.PJRT_Buffer_IncreaseExternalReferenceCount);
  bind<decrease>(api.PJRT_Buffer_DecreaseExternalReferenceCount);
  bind<opaquePointer>(api.PJRT_Buffer_OpaqueDeviceMemoryDataPointer);
  bind<bitcast>(api.PJRT_Buffer_Bitcast);
}

} // namespace cupel::pjrt
