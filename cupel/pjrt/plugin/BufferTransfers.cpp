// Elements that come and go: from the host, to it, and from memory to memory.

#include "cupel/pjrt/plugin/Buffer.h"

#include "cupel/pjrt/plugin/ElementTypes.h"
#include "cupel/tensor/Strided.h"

#include <cstring>

namespace cupel::pjrt {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

/// Below this a copy is sooner made than followed.
static constexpr int64_t kBorrowedFrom = 64 << 10;

/// Sub-byte values as our tensors keep them: extended to the byte they lie in.
static void normalise(Tensor &tensor) {
  int bits = info(tensor.dtype()).bits;
  if (bits >= 8)
    return;
  auto *values = tensor.mutableAs<uint8_t>();
  int unused = 8 - bits;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (tensor.dtype() == DType::I1)
      values[i] = values[i] != 0;
    else if (info(tensor.dtype()).kind == tensor::Kind::Signed)
      values[i] = static_cast<uint8_t>(
          static_cast<int8_t>(static_cast<uint8_t>(values[i] << unused)) >> unused);
    else
      values[i] &= (1 << bits) - 1;
  }
}

/// Whether elements with these steps lie row-major without gaps.
static bool areDense(std::span<const int64_t> shape, std::span<const int64_t> steps, int64_t bytes) {
  if (steps.empty())
    return true;
  for (size_t i = shape.size(); i-- > 0; bytes *= shape[i])
    if (shape[i] != 1 && steps[i] != bytes)
      return false;
  return true;
}

Result<Tensor> copyIn(const void *source, DType type, std::span<const int64_t> shape,
                       std::span<const int64_t> steps) {
  Result<Tensor> tensor = Tensor::uninitialized(type, Shape(shape.begin(), shape.end()));
  if (!tensor)
    return tensor.error().as(ErrorCode::OutOfMemory);
  if (tensor->size() == 0)
    return std::move(*tensor);
  int bytes = info(type).bytes;
  if (!source)
    return Error{ErrorCode::InvalidArgument, "there is no data to copy"};
  if (areDense(shape, steps, bytes))
    std::memcpy(tensor->mutableData(), source, tensor->byteSize());
  else
    tensor::copyStrided(tensor->mutableData(), static_cast<const std::byte *>(source), shape, steps,
                        bytes);
  normalise(*tensor);
  return std::move(*tensor);
}

namespace {

const std::shared_ptr<const std::string> &origin(const char *text) {
  static const auto &host =
      *new std::shared_ptr<const std::string>(std::make_shared<std::string>("from the host"));
  static const auto &copy =
      *new std::shared_ptr<const std::string>(std::make_shared<std::string>("a copy"));
  return text[0] == 'h' ? host : copy;
}

/// Memory that the host leaves as it is until we are done with it: of what may be weights, which are then
/// packed from where they lie.
bool mayBorrow(const PJRT_Client_BufferFromHostBuffer_Args &args, DType type,
               std::span<const int64_t> shape, std::span<const int64_t> steps) {
  const auto *data = static_cast<const std::byte *>(args.data);
  return args.host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy &&
         info(type).bits >= 8 && data && Tensor::isAligned(type, data) && // Others are put right as they are copied.
         tensor::byteCount(type, shape).value_or(0) >= kBorrowedFrom &&
         areDense(shape, steps, info(type).bytes);
}

PJRT_Error *fromHost(PJRT_Client_BufferFromHostBuffer_Args *args) {
  Result<DType> type = typeOf(args->type);
  if (!type)
    return makeError(type.error());
  Result<MemorySpace *> place = placeOf(args->device, args->memory);
  if (!place)
    return makeError(place.error());
  std::span<const int64_t> shape(args->dims, args->num_dims);
  for (int64_t size : shape)
    if (size < 0)
      return invalid("a dimension is negative");
  std::span<const int64_t> steps;
  if (args->byte_strides && args->num_byte_strides) {
    if (args->num_byte_strides != args->num_dims)
      return invalid("there must be a stride for each dimension");
    steps = {args->byte_strides, args->num_byte_strides};
  }
  Result<MinorToMajor> order = orderOf(args->device_layout, shape, info(*type).bytes);
  if (!order)
    return makeError(order.error());
  Result<std::shared_ptr<BufferData>> data = awaitData(**place, *type, shape, origin("host"));
  if (!data)
    return makeError(data.error());
  std::shared_ptr<Signal> released;
  if ((*place)->device.client.layout.borrows && mayBorrow(*args, *type, shape, steps)) {
    released = std::make_shared<Signal>();
    struct Borrowed {
      std::shared_ptr<Signal> released;
      ~Borrowed() { released->set(); }
    };
    (*data)->borrow(*type, Shape(shape.begin(), shape.end()), static_cast<const std::byte *>(args->data),
                    std::make_shared<Borrowed>(released));
  } else {
    // Nobody has to wait for our use of the host's memory.
    released = Signal::done();
    Result<Tensor> tensor = copyIn(args->data, *type, shape, steps);
    if (!tensor)
      return makeError(tensor.error());
    (*data)->tensor = std::move(*tensor);
  }
  (*data)->ready = Signal::done();
  auto *buffer = new Buffer(**place, args->type, {shape.begin(), shape.end()}, std::move(*data));
  buffer->layout = std::move(*order);
  args->buffer = handle<PJRT_Buffer>(buffer);
  args->done_with_host_buffer = makeEvent(std::move(released));
  return nullptr;
}

PJRT_Error *uninitialized(PJRT_Client_CreateUninitializedBuffer_Args *args) {
  Result<DType> type = typeOf(args->shape_element_type);
  if (!type)
    return makeError(type.error());
  Result<MemorySpace *> place = placeOf(args->device, args->memory);
  if (!place)
    return makeError(place.error());
  Shape shape(args->shape_dims, args->shape_dims + args->shape_num_dims);
  Result<std::shared_ptr<BufferData>> data = awaitData(**place, *type, shape, origin("host"));
  if (!data)
    return makeError(data.error());
  Result<Tensor> tensor = Tensor::zeros(*type, shape);
  if (!tensor)
    return makeError(ErrorCode::OutOfMemory, tensor.message());
  (*data)->tensor = std::move(*tensor);
  (*data)->ready = Signal::done();
  args->buffer = handle<PJRT_Buffer>(
      new Buffer(**place, args->shape_element_type, std::move(shape), std::move(*data)));
  return nullptr;
}

PJRT_Error *errorBuffer(PJRT_Client_CreateErrorBuffer_Args *args) {
  if (!args->memory)
    return invalid("a memory must be given");
  auto data = std::make_shared<BufferData>();
  data->ready = Signal::failed({errorCodeOf(args->error_code),
                                std::string(args->error_message, args->error_message_size)});
  Shape shape(args->shape_dims, args->shape_dims + args->shape_num_dims);
  args->buffer = handle<PJRT_Buffer>(new Buffer(object(args->memory), args->shape_element_type,
                                                std::move(shape), std::move(data)));
  return nullptr;
}

PJRT_Error *viewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args *args) {
  Result<DType> type = typeOf(args->element_type);
  if (!type)
    return makeError(type.error());
  Result<MemorySpace *> place =
      placeOf(args->device, getField(args, &PJRT_Client_CreateViewOfDeviceBuffer_Args::memory));
  if (!place)
    return makeError(place.error());
  Shape shape(args->dims, args->dims + args->num_dims);
  Result<MinorToMajor> order = orderOf(args->layout, shape, info(*type).bytes);
  if (!order)
    return makeError(order.error());
  if (!isRowMajor(*order))
    return makeError(ErrorCode::Unsupported, "views of memory must be row-major");
  std::optional<int64_t> bytes = tensor::byteCount(*type, shape);
  if (!bytes)
    return invalid("the view is larger than any memory");
  struct Owner {
    void *memory, *user;
    void (*release)(void *, void *);
    ~Owner() {
      if (release)
        release(memory, user);
    }
  };
  auto owner = std::make_shared<Owner>(
      Owner{args->device_buffer_ptr, args->on_delete_callback_arg, args->on_delete_callback});
  Result<Tensor> tensor = Tensor::borrow(
      *type, shape,
      {static_cast<const std::byte *>(args->device_buffer_ptr), static_cast<size_t>(*bytes)},
      std::shared_ptr<const void>(owner, owner.get()));
  if (!tensor) {
    // Not aligned as our kernels need it: a copy is.
    Result<Tensor> copy = copyIn(args->device_buffer_ptr, *type, shape, {});
    if (!copy)
      return makeError(copy.error());
    tensor = std::move(*copy);
  }
  auto data = std::make_shared<BufferData>();
  data->tensor = std::move(*tensor);
  data->ready = Signal::done();
  args->buffer = handle<PJRT_Buffer>(
      new Buffer(**place, args->element_type, std::move(shape), std::move(data)));
  return nullptr;
}

PJRT_Error *toHost(PJRT_Buffer_ToHostBuffer_Args *args) {
  Buffer &buffer = object(args->src);
  std::shared_ptr<BufferData> data = buffer.get();
  if (!data)
    return makeError(deletedError());
  std::optional<DType> type = elementType(buffer.type);
  int64_t bytes = type ? tensor::byteCount(*type, buffer.shape).value_or(0) : 0;
  if (!args->dst) {
    args->dst_size = bytes;
    return nullptr;
  }
  if (static_cast<int64_t>(args->dst_size) < bytes)
    return invalid("the host's buffer has " + std::to_string(args->dst_size) + " bytes; " +
                   std::to_string(bytes) + " are needed");
  Result<MinorToMajor> order =
      orderOf(args->host_layout, buffer.shape, type ? info(*type).bytes : 1);
  if (!order)
    return makeError(order.error());
  auto done = std::make_shared<Signal>();
  data->ready->onReady(
      [data, done, dst = args->dst, order = std::move(*order)](const std::optional<Error> &fault) {
        if (fault) {
          done->set(*fault);
          return;
        }
        Result<Tensor> whole = data->whole();
        if (!whole) {
          done->set(whole.error());
          return;
        }
        const Tensor &tensor = *whole;
        if (tensor.size() == 0) {
          // Nothing to copy, and perhaps nowhere to copy it from.
        } else if (isRowMajor(order)) {
          std::memcpy(dst, tensor.data(), tensor.byteSize());
        } else {
          // The host's block in its own order is a transposed view of ours.
          std::vector<int64_t> permutation(order.rbegin(), order.rend());
          Tensor view = tensor.transposed(permutation);
          tensor::copyStrided(static_cast<std::byte *>(dst), view.data(), view.shape(),
                              view.strides(), info(tensor.dtype()).bytes);
        }
        done->set();
      });
  args->event = makeEvent(std::move(done));
  return nullptr;
}

PJRT_Error *rawToHost(PJRT_Buffer_CopyRawToHost_Args *args) {
  Buffer &buffer = object(args->buffer);
  std::shared_ptr<BufferData> data = buffer.get();
  if (!data)
    return makeError(deletedError());
  std::optional<DType> type = elementType(buffer.type);
  int64_t bytes = type ? tensor::byteCount(*type, buffer.shape).value_or(0) : 0;
  if (args->offset < 0 || args->transfer_size < 0 || args->offset > bytes ||
      args->transfer_size > bytes - args->offset)
    return invalid("bytes " + std::to_string(args->offset) + " to " +
                   std::to_string(args->offset + args->transfer_size) + " of a buffer of " +
                   std::to_string(bytes) + " bytes are asked for");
  auto done = std::make_shared<Signal>();
  data->ready->onReady([data, done, dst = args->dst, offset = args->offset,
                        size = args->transfer_size,
                        order = buffer.layout](const std::optional<Error> &error) {
    if (error || !size) {
      done->set(error);
      return;
    }
    // Raw bytes come in the order that the host was told.
    Result<Tensor> whole = data->whole();
    if (!whole) {
      done->set(whole.error());
      return;
    }
    Tensor raw = std::move(*whole);
    if (!isRowMajor(order)) {
      Result<Tensor> copy =
          raw.transposed(std::vector<int64_t>(order.rbegin(), order.rend())).contiguous();
      if (!copy) {
        done->set(copy.error());
        return;
      }
      raw = std::move(*copy);
    }
    std::memcpy(dst, raw.data() + offset, size);
    done->set();
  });
  args->event = makeEvent(std::move(done));
  return nullptr;
}

Result<Buffer *> copyTo(Buffer &source, MemorySpace &memory) {
  std::shared_ptr<BufferData> data = source.get();
  if (!data)
    return deletedError();
  std::optional<DType> type = elementType(source.type);
  std::shared_ptr<BufferData> made;
  if (type) {
    Result<std::shared_ptr<BufferData>> reserved =
        awaitData(memory, *type, source.shape, origin("copy"));
    if (!reserved)
      return reserved.error();
    made = std::move(*reserved);
  } else {
    made = std::make_shared<BufferData>();
  }
  made->ready = std::make_shared<Signal>();
  data->ready->onReady([data, made](const std::optional<Error> &fault) {
    if (fault) {
      made->ready->set(*fault);
      return;
    }
    Result<Tensor> copy = data->whole();
    if (copy)
      copy = copyIn(copy->data(), copy->dtype(), copy->shape(), {});
    if (!copy) {
      made->ready->set(copy.error());
      return;
    }
    made->tensor = std::move(*copy);
    made->ready->set();
  });
  auto *buffer = new Buffer(memory, source.type, source.shape, std::move(made));
  buffer->layout = source.layout;
  buffer->isReadInPlace = source.isReadInPlace;
  return buffer;
}

PJRT_Error *copyToMemory(PJRT_Buffer_CopyToMemory_Args *args) {
  Result<Buffer *> copy = copyTo(object(args->buffer), object(args->dst_memory));
  if (!copy)
    return makeError(copy.error());
  args->dst_buffer = handle<PJRT_Buffer>(*copy);
  return nullptr;
}

PJRT_Error *copyToDevice(PJRT_Buffer_CopyToDevice_Args *args) {
  Result<Buffer *> copy =
      copyTo(object(args->buffer), object(args->dst_device).memory(MemoryKind::Device));
  if (!copy)
    return makeError(copy.error());
  args->dst_buffer = handle<PJRT_Buffer>(*copy);
  return nullptr;
}

} // namespace

void bindBufferTransfers(PJRT_Api &api) {
  bind<fromHost>(api.PJRT_Client_BufferFromHostBuffer);
  bind<uninitialized>(api.PJRT_Client_CreateUninitializedBuffer);
  bind<errorBuffer, offsetof(PJRT_Client_CreateErrorBuffer_Args, payload)>(
      api.PJRT_Client_CreateErrorBuffer);
  bind<viewOfDeviceBuffer, offsetof(PJRT_Client_CreateViewOfDeviceBuffer_Args, memory)>(
      api.PJRT_Client_CreateViewOfDeviceBuffer);
  bind<copyToDevice>(api.PJRT_Buffer_CopyToDevice);
  bind<copyToMemory>(api.PJRT_Buffer_CopyToMemory);
  bind<toHost>(api.PJRT_Buffer_ToHostBuffer);
  bind<rawToHost>(api.PJRT_Buffer_CopyRawToHost);
}

} // namespace cupel::pjrt
