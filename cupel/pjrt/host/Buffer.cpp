// Transfers: tensors to a device and back.
#include "cupel/pjrt/host/Checked.h"
#include "cupel/pjrt/host/Client.h"
#include "cupel/pjrt/host/Types.h"
#include "cupel/tensor/MappedPages.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>

using namespace cupel;
using namespace cupel::pjrt;
using tensor::DType;
using tensor::Tensor;

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  if (this != &other) {
    destroy();
    client = std::move(other.client);
    handle = std::exchange(other.handle, nullptr);
  }
  return *this;
}

void Buffer::destroy() {
  if (handle && !client->library->isGivenUp()) {
    auto args = client->library->arguments<PJRT_Buffer_Destroy_Args>();
    args->buffer = handle;
    if (Status done = client->library->call(&PJRT_Api::PJRT_Buffer_Destroy, args); !done)
      client->library->complain(done.message());
  }
  handle = nullptr;
}

Result<Client::Transfer> Client::transfer(const Tensor &dense, const Device &device,
                                          PJRT_HostBufferSemantics semantics) {
  // Tensors without elements may have no address; a plugin may insist on one.
  static constexpr std::byte kNothing{};
  auto args = library->arguments<PJRT_Client_BufferFromHostBuffer_Args>();
  args->client = handle;
  args->data = dense.data() ? dense.data() : &kNothing;
  args->type = bufferType(dense.dtype());
  args->dims = dense.shape().data();
  args->num_dims = dense.shape().size();
  args->host_buffer_semantics = semantics;
  if (device.defaultMemory)
    args->memory = device.defaultMemory;
  else
    args->device = device.handle;
  constexpr std::string_view kCall = "PJRT_Client_BufferFromHostBuffer";
  if (Status done = library->call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args); !done)
    return done.error();
  Event done(library, args->done_with_host_buffer, std::string(kCall));
  if (!args->buffer)
    return Plugin::badAnswer(kCall, "reported success and returned no buffer");
  return Transfer{Buffer(shared_from_this(), args->buffer), std::move(done)};
}

Result<Buffer> Client::toDevice(const Tensor &tensor, const Device &device, Deadline deadline) {
  Result<Tensor> dense = tensor.contiguous();
  if (!dense)
    return Error{ErrorCode::Host, dense.message()};
  Result<Transfer> made =
      transfer(*dense, device, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  if (!made)
    return made.error();
  if (Status done = made->done.wait(deadline); !done)
    return done.error();
  return std::move(made->buffer);
}

Result<Buffer> Client::lend(const Tensor &tensor, const Device &device) {
  if (!tensor.isContiguous())
    return Error{ErrorCode::Host, "only dense row-major tensors can be lent"};
  Result<Transfer> made = transfer(tensor, device, PJRT_HostBufferSemantics_kImmutableZeroCopy);
  if (!made)
    return made.error();
  return std::move(made->buffer);
}

Result<Buffer> Client::give(Tensor tensor, const Device &device) {
  Result<Tensor> dense = tensor.contiguous();
  if (!dense)
    return Error{ErrorCode::Host, dense.message()};
  Result<Transfer> made = transfer(*dense, device, PJRT_HostBufferSemantics_kImmutableZeroCopy);
  if (!made)
    return made.error();
  // Of a file that is mapped, others may hold the tensor as well: it need not lie here for them.
  struct Given {
    Tensor tensor;
    ~Given() { tensor::giveBackPages(tensor::contiguousBytes(tensor)); }
  };
  std::move(made->done).keepUntilReady(std::make_shared<const Given>(std::move(*dense)));
  return std::move(made->buffer);
}

bool Buffer::isRowMajor(size_t rank) const {
  const auto &library = client->library;
  auto args = library->arguments<PJRT_Buffer_GetMemoryLayout_Args>();
  args->buffer = handle;
  if (!library->call(&PJRT_Api::PJRT_Buffer_GetMemoryLayout, args))
    return true; // What every host takes for granted of a plugin that knows no layouts.
  const PJRT_Buffer_MemoryLayout_Tiled &tiled = args->layout.tiled;
  if (args->layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled || tiled.num_tiles ||
      tiled.minor_to_major_size != rank)
    return false;
  for (size_t i = 0; i < rank; ++i)
    if (tiled.minor_to_major[i] != static_cast<int64_t>(rank - 1 - i))
      return false;
  return true;
}

namespace {

/// What the host holds of a buffer whose memory it reads.
struct ExternalReference {
  std::shared_ptr<Buffer> buffer;
  std::shared_ptr<Plugin> library;

  ~ExternalReference() {
    if (!buffer || library->isGivenUp())
      return;
    auto args = library->arguments<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
    args->buffer = buffer->get();
    if (Status done = library->call(&PJRT_Api::PJRT_Buffer_DecreaseExternalReferenceCount, args);
        !done)
      library->complain(done.message());
  }
};

} // namespace

Result<std::optional<Tensor>> Buffer::inPlace(std::shared_ptr<Buffer> buffer) {
  const std::shared_ptr<Plugin> &library = buffer->client->library;
  std::optional<Tensor> nothing;
  auto place = library->arguments<PJRT_Buffer_IsOnCpu_Args>();
  place->buffer = buffer->handle;
  if (!library->call(&PJRT_Api::PJRT_Buffer_IsOnCpu, place) || !place->is_on_cpu)
    return nothing;
  Result<DType> type = buffer->dtype();
  if (!type)
    return type.error();
  Result<tensor::Shape> dims = buffer->shape();
  if (!dims)
    return dims.error();
  std::optional<int64_t> size = tensor::byteCount(*type, *dims);
  if (!size || *size == 0 || tensor::info(*type).bits < 8 || !buffer->isRowMajor(dims->size()))
    return nothing;
  auto borrow = library->arguments<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  borrow->buffer = buffer->handle;
  if (!library->call(&PJRT_Api::PJRT_Buffer_IncreaseExternalReferenceCount, borrow))
    return nothing;
  auto reference = std::make_shared<ExternalReference>(std::move(buffer), library);
  constexpr std::string_view kCall = "PJRT_Buffer_OpaqueDeviceMemoryDataPointer";
  auto args = library->arguments<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  args->buffer = reference->buffer->handle;
  if (!library->call(&PJRT_Api::PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args))
    return nothing;
  if (!args->device_memory_ptr)
    return Plugin::badAnswer(kCall, "answered no address");
  Result<Tensor> result = Tensor::borrow(
      *type, *dims, {static_cast<const std::byte *>(args->device_memory_ptr), size_t(*size)},
      std::move(reference));
  if (!result)
    return callError(ErrorCode::Host, kCall, result.message());
  return std::optional(*result);
}

Result<DType> Buffer::dtype() const {
  const auto &library = client->library;
  auto args = library->arguments<PJRT_Buffer_ElementType_Args>();
  args->buffer = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_Buffer_ElementType, args); !done)
    return done.error();
  int number = 0;
  std::memcpy(&number, &args->type, sizeof(number));
  if (std::optional<DType> type = dtypeOf(number))
    return *type;
  std::string_view name = bufferTypeName(number);
  if (name.empty() || number == PJRT_Buffer_Type_INVALID)
    return Plugin::badAnswer("PJRT_Buffer_ElementType",
                             fmt::format("{} is no element type", number));
  return callError(ErrorCode::Host, "PJRT_Buffer_ElementType",
                   fmt::format("Cupel has no tensors of the element type {}", name));
}

Result<tensor::Shape> Buffer::shape() const {
  constexpr std::string_view kCall = "PJRT_Buffer_Dimensions";
  const auto &library = client->library;
  auto args = library->arguments<PJRT_Buffer_Dimensions_Args>();
  args->buffer = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_Buffer_Dimensions, args); !done)
    return done.error();
  constexpr size_t kHighestRank = 1024;
  if (args->num_dims > kHighestRank || (args->num_dims > 0 && !args->dims))
    return Plugin::badAnswer(kCall, fmt::format("answered {} dimensions in {} list", args->num_dims,
                                                args->dims ? "a" : "a null"));
  tensor::Shape shape(args->dims, args->dims + args->num_dims);
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 0; }))
    return Plugin::badAnswer(kCall, fmt::format("answered the shape [{}], which has a negative "
                                                "dimension",
                                                fmt::join(shape, ",")));
  if (!tensor::elementCount(shape))
    return Plugin::badAnswer(kCall, fmt::format("answered the shape [{}], which has more elements "
                                                "than can be counted",
                                                fmt::join(shape, ",")));
  return shape;
}

Status Buffer::waitUntilReady(Deadline deadline) const {
  const auto &library = client->library;
  auto args = library->arguments<PJRT_Buffer_ReadyEvent_Args>();
  args->buffer = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_Buffer_ReadyEvent, args); !done) {
    if (isUnimplemented(done.error()))
      return {}; // The copy to the host waits as well.
    return done;
  }
  if (!args->event)
    return Plugin::badAnswer("PJRT_Buffer_ReadyEvent", "returned no event");
  return Event(library, args->event, "PJRT_Buffer_ReadyEvent").wait(deadline);
}

namespace {

/// Host memory for a copy, with a pattern in and behind it that shows what the plugin wrote.
class CopyTarget {
public:
  static constexpr size_t kGuard = 64, kProbe = 8;

  explicit CopyTarget(size_t size) : size(size) {
    size_t room = (size + kGuard + 63) / 64 * 64;
    bytes.reset(static_cast<std::byte *>(std::aligned_alloc(64, room)), std::free);
    if (!bytes)
      return;
    // Not std::random_device: it would tie cupel-device to the newest glibc.
    static thread_local std::mt19937_64 random(
        static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
        reinterpret_cast<uintptr_t>(this));
    for (std::byte &byte : pattern)
      byte = static_cast<std::byte>(random());
    for (size_t i = 0; i < kGuard; ++i)
      bytes.get()[size + i] = pattern[i];
    size_t probe = std::min(size, kProbe);
    std::copy_n(pattern, probe, bytes.get() + size - probe);
  }

  std::byte *data() const { return bytes.get(); }
  const std::shared_ptr<std::byte> &owner() const { return bytes; }
  bool isOverrun() const { return !std::equal(pattern, pattern + kGuard, bytes.get() + size); }
  /// Whether the end was left as it was. Below 8 bytes a result could look like that by chance.
  bool isShort() const {
    size_t probe = std::min(size, kProbe);
    return probe == kProbe && std::equal(pattern, pattern + probe, bytes.get() + size - probe);
  }

private:
  size_t size;
  std::shared_ptr<std::byte> bytes;
  std::byte pattern[kGuard];
};

} // namespace

Result<Tensor> Buffer::toHost(Deadline deadline) const {
  constexpr std::string_view kCall = "PJRT_Buffer_ToHostBuffer";
  const auto &library = client->library;
  Result<DType> type = dtype();
  if (!type)
    return type.error();
  Result<tensor::Shape> dims = shape();
  if (!dims)
    return dims.error();
  std::optional<int64_t> expected = tensor::byteCount(*type, *dims);
  if (!expected)
    return Plugin::badAnswer("PJRT_Buffer_Dimensions", fmt::format("a buffer of {} cannot exist",
                                                                   tensor::describe(*type, *dims)));
  auto size = static_cast<size_t>(*expected);

  // Row-major, said explicitly: a device may hold it in any order.
  std::vector<int64_t> minorToMajor(dims->size());
  std::iota(minorToMajor.rbegin(), minorToMajor.rend(), 0);
  auto layout = makeStruct<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = minorToMajor.data();
  layout.tiled.minor_to_major_size = minorToMajor.size();

  auto query = library->arguments<PJRT_Buffer_ToHostBuffer_Args>();
  query->src = handle;
  query->host_layout = &layout;
  if (Status done = library->call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, query); !done)
    return done.error();
  Event unexpected(library, query->event, std::string(kCall));
  if (query->dst_size != size)
    return Plugin::badAnswer(kCall,
                             fmt::format("wants {} bytes for {}, which has {}", query->dst_size,
                                         tensor::describe(*type, *dims), size));

  CopyTarget target(size);
  if (!target.data())
    return callError(
        ErrorCode::Host, kCall,
        fmt::format("no host memory for {} bytes of {}", size, tensor::describe(*type, *dims)));
  auto args = library->arguments<PJRT_Buffer_ToHostBuffer_Args>();
  args->src = handle;
  args->host_layout = &layout;
  args->dst = target.data();
  args->dst_size = size;
  if (Status done = library->call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args); !done)
    return done.error();
  if (!args->event)
    return Plugin::badAnswer(kCall, "returned no event for the copy");
  if (Status done = Event(library, args->event, std::string(kCall)).wait(deadline); !done) {
    // The copy may still come: its memory must stay.
    if (done.error().code == ErrorCode::NoAnswer)
      new std::shared_ptr<std::byte>(target.owner());
    return done.error();
  }
  if (target.isOverrun())
    return Plugin::badAnswer(kCall, fmt::format("wrote past the {} bytes it was given", size));
  if (target.isShort())
    return Plugin::badAnswer(kCall,
                             fmt::format("did not write all of the {} bytes it announced", size));
  normalizeElements(*type, {target.data(), size});
  Result<Tensor> result = Tensor::borrow(*type, *dims, {target.data(), size}, target.owner());
  if (!result)
    return Error{ErrorCode::Host, result.message()};
  return *result;
}
