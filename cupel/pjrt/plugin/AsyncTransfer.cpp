// Transfers from the host in pieces: buffers that exist before their bytes do.

#include "cupel/pjrt/plugin/Buffer.h"
#include "cupel/pjrt/plugin/ElementTypes.h"

#include <cstring>

namespace cupel::pjrt {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

class TransferManager : public HandleBase {
public:
  struct Slot {
    PJRT_Buffer_Type type;
    DType element;
    Shape shape;
    Tensor arriving; // What has come so far.
    std::shared_ptr<BufferData> data;
    bool isRetrieved = false;
    bool isClosed = false; // All has come, or an error in its place.
  };

  MemorySpace *memory = nullptr;
  std::vector<Slot> slots;
  std::mutex mutex; // Of what changes in the slots.
};

namespace {

Result<TransferManager::Slot *> slotOf(TransferManager &manager, int index) {
  if (index < 0 || index >= static_cast<int>(manager.slots.size()))
    return Error{ErrorCode::InvalidArgument, "there is no buffer " + std::to_string(index)};
  return &manager.slots[index];
}

Error closedError() {
  return {ErrorCode::FailedPrecondition, "all bytes of this buffer have come before"};
}

PJRT_Error *create(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args) {
  if (!args->memory)
    return invalid("a memory must be given");
  auto manager = std::make_unique<TransferManager>();
  manager->memory = &object(args->memory);
  for (size_t i = 0; i < args->num_shape_specs; ++i) {
    const PJRT_ShapeSpec &spec = args->shape_specs[i];
    std::optional<DType> type = elementType(spec.element_type);
    if (!type)
      return makeError(ErrorCode::Unsupported,
                       "buffers of element type " + std::string(bufferTypeName(spec.element_type)) +
                           " are not supported");
    Shape shape(spec.dims, spec.dims + spec.num_dims);
    Result<std::shared_ptr<BufferData>> data = awaitData(*manager->memory, *type, shape, nullptr);
    if (!data)
      return makeError(data.error());
    (*data)->ready = std::make_shared<Signal>();
    Result<Tensor> arriving = Tensor::zeros(*type, shape);
    if (!arriving)
      return makeError(ErrorCode::OutOfMemory, arriving.message());
    manager->slots.push_back(
        {spec.element_type, *type, std::move(shape), std::move(*arriving), std::move(*data)});
  }
  args->transfer_manager = handle<PJRT_AsyncHostToDeviceTransferManager>(manager.release());
  return nullptr;
}

PJRT_Error *destroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args *args) {
  if (!args->transfer_manager)
    return nullptr;
  TransferManager *manager = &object(args->transfer_manager);
  for (TransferManager::Slot &slot : manager->slots)
    if (!slot.data->ready->isReady())
      slot.data->ready->set(
          Error{ErrorCode::Cancelled, "the transfer was given up before all bytes had come"});
  delete manager;
  return nullptr;
}

PJRT_Error *transferData(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args) {
  TransferManager &manager = object(args->transfer_manager);
  std::shared_ptr<BufferData> finished;
  {
    std::lock_guard lock(manager.mutex);
    Result<TransferManager::Slot *> slot = slotOf(manager, args->buffer_index);
    if (!slot)
      return makeError(slot.error());
    Tensor &arriving = (*slot)->arriving;
    if ((*slot)->isClosed)
      return makeError(closedError());
    if (args->offset < 0 || args->transfer_size < 0 || args->offset > arriving.byteSize() ||
        args->transfer_size > arriving.byteSize() - args->offset)
      return invalid("bytes " + std::to_string(args->offset) + " to " +
                     std::to_string(args->offset + args->transfer_size) + " of a buffer of " +
                     std::to_string(arriving.byteSize()) + " bytes are sent");
    if (args->transfer_size)
      std::memcpy(arriving.mutableData() + args->offset, args->data, args->transfer_size);
    if (args->is_last_transfer) {
      (*slot)->isClosed = true;
      (*slot)->data->tensor = std::move(arriving);
      finished = (*slot)->data;
    }
  }
  if (finished)
    finished->ready->set();
  args->done_with_h2d_transfer = makeEvent(Signal::done());
  return nullptr;
}

PJRT_Error *transferLiteral(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args *args) {
  TransferManager &manager = object(args->transfer_manager);
  Result<TransferManager::Slot *> slot = slotOf(manager, args->buffer_index);
  if (!slot)
    return makeError(slot.error());
  Shape shape(args->shape_dims, args->shape_dims + args->shape_num_dims);
  if (shape != (*slot)->shape || args->shape_element_type != (*slot)->type)
    return invalid("the literal has another type or shape than the buffer");
  Result<Tensor> tensor = copyIn(args->data, (*slot)->element, shape, {});
  if (!tensor)
    return makeError(tensor.error());
  std::shared_ptr<BufferData> data = (*slot)->data; // Whoever waits for it may end the transfer.
  {
    std::lock_guard lock(manager.mutex);
    if ((*slot)->isClosed)
      return makeError(closedError());
    (*slot)->isClosed = true;
    data->tensor = std::move(*tensor);
  }
  data->ready->set();
  args->done_with_h2d_transfer = makeEvent(Signal::done());
  return nullptr;
}

PJRT_Error *retrieve(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args) {
  TransferManager &manager = object(args->transfer_manager);
  std::lock_guard lock(manager.mutex);
  Result<TransferManager::Slot *> slot = slotOf(manager, args->buffer_index);
  if (!slot)
    return makeError(slot.error());
  if ((*slot)->isRetrieved)
    return makeError(ErrorCode::FailedPrecondition, "this buffer has been retrieved before");
  (*slot)->isRetrieved = true;
  auto *buffer = new Buffer(*manager.memory, (*slot)->type, (*slot)->shape, (*slot)->data);
  buffer->isReadInPlace = false; // The host still has to send what it would wait for.
  args->buffer_out = handle<PJRT_Buffer>(buffer);
  return nullptr;
}

PJRT_Error *device(PJRT_AsyncHostToDeviceTransferManager_Device_Args *args) {
  args->device_out = object(args->transfer_manager).memory->deviceHandle;
  return nullptr;
}

PJRT_Error *bufferCount(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args *args) {
  args->buffer_count = object(args->transfer_manager).slots.size();
  return nullptr;
}

PJRT_Error *bufferSize(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args *args) {
  Result<TransferManager::Slot *> slot =
      slotOf(object(args->transfer_manager), args->buffer_index);
  if (!slot)
    return makeError(slot.error());
  args->buffer_size = tensor::byteCount((*slot)->element, (*slot)->shape).value_or(0);
  return nullptr;
}

PJRT_Error *setBufferError(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args *args) {
  TransferManager &manager = object(args->transfer_manager);
  Result<TransferManager::Slot *> slot = slotOf(manager, args->buffer_index);
  if (!slot)
    return makeError(slot.error());
  std::shared_ptr<BufferData> data = (*slot)->data;
  {
    std::lock_guard lock(manager.mutex);
    if ((*slot)->isClosed)
      return nullptr; // Too late to matter, and hosts die of an error here.
    (*slot)->isClosed = true;
  }
  data->ready->set(Error{errorCodeOf(args->error_code),
                         std::string(args->error_message, args->error_message_size)});
  return nullptr;
}

PJRT_Error *addMetadata(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *) {
  return nullptr; // Nothing here depends on it.
}

} // namespace

void bindTransfers(PJRT_Api &api) {
  bind<create>(api.PJRT_Client_CreateBuffersForAsyncHostToDevice);
  bind<destroy>(api.PJRT_AsyncHostToDeviceTransferManager_Destroy);
  bind<transferData>(api.PJRT_AsyncHostToDeviceTransferManager_TransferData);
  bind<transferLiteral>(api.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral);
  bind<retrieve>(api.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer);
  bind<device>(api.PJRT_AsyncHostToDeviceTransferManager_Device);
  bind<bufferCount>(api.PJRT_AsyncHostToDeviceTransferManager_BufferCount);
  bind<bufferSize>(api.PJRT_AsyncHostToDeviceTransferManager_BufferSize);
  bind<setBufferError>(api.PJRT_AsyncHostToDeviceTransferManager_SetBufferError);
  bind<addMetadata>(api.PJRT_AsyncHostToDeviceTransferManager_AddMetadata);
}

} // namespace cupel::pjrt
