// Buffers: tensors in the memory of a device, possibly still to come. The data of a buffer is
// shared by its handle, by executions that use it and by views that hosts hold, so that deletion
// and donation never pull memory away under anybody.

#pragma once

#include "cupel/pjrt/plugin/Client.h"
#include "cupel/pjrt/plugin/Event.h"
#include "cupel/runtime/Executable.h"

namespace cupel::pjrt {

/// A tensor that is there once `ready` says so.
struct BufferData {
  std::shared_ptr<Signal> ready;
  /// Read by `whole` and `forRun`, for it may have no memory.
  tensor::Tensor tensor;
  Reservation reservation;

  ~BufferData(); ///< With it goes what kernels keep beside the memory.

  /// What the host lent, without a copy until somebody needs one.
  void borrow(tensor::DType type, const tensor::Shape &shape, const std::byte *data,
              std::shared_ptr<const void> owner);
  bool wasBorrowed() const { return isBorrowed; }
  /// With memory of its own, from now on.
  Result<tensor::Tensor> whole();
  /// For a program that does this with it.
  Result<tensor::Tensor> forRun(runtime::Reading reading);

private:
  bool isBorrowed = false;
  std::mutex mutex; // Of the tensor, where it was borrowed.
};

/// Order of dimensions in memory as layouts name it, minor first. Elements always lie row-major
/// here: this is what hosts see, who transfer in this order.
using MinorToMajor = std::vector<int64_t>;
MinorToMajor rowMajor(size_t rank);
bool isRowMajor(const MinorToMajor &order);

class Buffer : public HandleBase {
public:
  Buffer(MemorySpace &memory, PJRT_Buffer_Type type, tensor::Shape shape,
         std::shared_ptr<BufferData> data)
      : memory(memory), type(type), shape(std::move(shape)), place(data.get()), data(std::move(data)) {}

  /// The data, or null once deleted.
  std::shared_ptr<BufferData> get() const;
  /// Gives the data away: the buffer is deleted.
  std::shared_ptr<BufferData> take();
  bool isDeleted() const { return deleted.load(std::memory_order_acquire); }

  MemorySpace &memory;
  const PJRT_Buffer_Type type;
  const tensor::Shape shape;
  const void *const place; // Of the data it was made with, which may be gone: to be fetched into caches, never to be read.
  MinorToMajor layout; // Empty: row-major. Nobody changes it once the host has the buffer.
  /// Whether hosts may read the memory itself, for which they wait with locks of their own held. So
  /// never for what may wait for the host in turn. Must not change: hosts ask more than once.
  bool isReadInPlace = true;

  mutable std::mutex mutex;
  MinorToMajor shownLayout; // What the host was pointed at, never empty; set at its first question.
  int64_t externalReferences = 0;
  std::shared_ptr<BufferData> external; // What those references hold on to.

private:
  std::shared_ptr<BufferData> data;
  std::atomic<bool> deleted = false;
};

/// Takes memory for a buffer's data; the tensor is for the caller to fill.
Result<std::shared_ptr<BufferData>> reserveData(MemorySpace &memory, tensor::DType type,
                                                 std::span<const int64_t> shape,
                                                 std::shared_ptr<const std::string> origin);

/// The same, where runs that are under way may have to end first.
Result<std::shared_ptr<BufferData>> awaitData(MemorySpace &memory, tensor::DType type,
                                               std::span<const int64_t> shape,
                                               const std::shared_ptr<const std::string> &origin);

/// The memory an argument pair of (device, memory) means.
Result<MemorySpace *> placeOf(PJRT_Device *device, PJRT_Memory *memory);

/// The order a layout asks for; nothing for null. Tiles and strides that are not dense are refused.
Result<MinorToMajor> orderOf(const PJRT_Buffer_MemoryLayout *layout,
                              std::span<const int64_t> shape, int64_t elementBytes);

/// What is said of a buffer that is gone.
Error deletedError();

/// Of the elements that buffers may have.
Result<tensor::DType> typeOf(PJRT_Buffer_Type type);

/// A new tensor with the elements that lie at `source` with these steps.
Result<tensor::Tensor> copyIn(const void *source, tensor::DType type,
                               std::span<const int64_t> shape, std::span<const int64_t> steps);

} // namespace cupel::pjrt
