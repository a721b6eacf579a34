#include "cupel/tensor/Tensor.h"

#include "cupel/support/ProcessTree.h"
#include "cupel/support/SoleOwner.h"
#include "cupel/tensor/Allocation.h"
#include "cupel/tensor/KeptBlocks.h"
#include "cupel/tensor/Strided.h"

#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace cupel::tensor {
namespace {

constexpr size_t kAlignment = 64;
/// Large ones begin where a page does: rows that are written past the caches take a fifth longer
/// where each of them lies on two pages. An allocator's own header puts every large block 16 bytes
/// behind that.
constexpr size_t kPage = 4096;
constexpr int64_t kOnPagesFrom = int64_t{256} << 10;
/// What a process can address at all; more is not worth asking the allocator for.
constexpr int64_t kAddressable = int64_t{1} << 47;
/// Above this, huge pages save more than they cost.
constexpr size_t kHugePagesFrom = size_t{4} << 20;

std::atomic<AllocationGuard> allocationGuard = nullptr;

/// Numbers as MLIR's printer writes them, with more digits where six do not give the number back.
std::string realText(double value) {
  char text[40];
  for (int digits : {6, 16}) {
    std::snprintf(text, sizeof text, "%.*e", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}

int64_t defaultStorageMin(DType type) {
  return info(type).kind == Kind::Signed ? INT64_MIN >> (64 - info(type).bits) : 0;
}
int64_t defaultStorageMax(DType type) {
  int valueBits = info(type).bits - (info(type).kind == Kind::Signed ? 1 : 0);
  return valueBits >= 63 ? INT64_MAX : (int64_t{1} << valueBits) - 1;
}

std::vector<int64_t> contiguousSteps(std::span<const int64_t> shape, int64_t count, int64_t bytes) {
  std::vector<int64_t> steps(shape.size(), bytes);
  if (count == 0) // sizes beside a zero need not multiply to anything representable
    return steps;
  int64_t step = bytes;
  for (size_t i = shape.size(); i-- > 0;) {
    steps[i] = step;
    step *= shape[i];
  }
  return steps;
}

/// The answer, or that behind the release of blocks that are kept, if there were any.
template <typename F> auto askTwice(F &&ask) {
  auto answer = ask();
  if (answer || keptBytes() == 0)
    return answer;
  releaseKeptBlocks();
  return ask();
}

} // namespace

void setAllocationGuard(AllocationGuard guard) { allocationGuard = guard; }

bool ElementType::operator==(const ElementType &other) const {
  if (storage != other.storage || !quantization != !other.quantization)
    return false;
  return !quantization || *quantization == *other.quantization;
}

std::string ElementType::str() const {
  if (!quantization)
    return std::string(info(storage).name);
  const Quantization &q = *quantization;
  // Within quantized types unsigned storage is spelled u8, not ui8.
  std::string_view name = info(storage).name;
  std::string text = "!quant.uniform<";
  text += name.starts_with("ui") ? "u" + std::string(name.substr(2)) : std::string(name);
  if (q.storageMin != defaultStorageMin(storage) || q.storageMax != defaultStorageMax(storage))
    text += "<" + std::to_string(q.storageMin) + ":" + std::to_string(q.storageMax) + ">";
  text += ":" + std::string(info(q.expressed).name);
  auto parameters = [&](size_t i) {
    std::string one = realText(q.scales[i]);
    if (i < q.zeroPoints.size() && q.zeroPoints[i] != 0)
      one += ":" + std::to_string(q.zeroPoints[i]);
    return one;
  };
  if (q.axis < 0)
    return text + ", " + (q.scales.empty() ? "?" : parameters(0)) + ">";
  text += ":" + std::to_string(q.axis) + ", {";
  for (size_t i = 0; i < q.scales.size(); ++i)
    text += (i ? ", " : "") + parameters(i);
  return text + "}>";
}

std::optional<int64_t> elementCount(std::span<const int64_t> shape) {
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    empty |= size == 0;
  }
  if (empty)
    return 0;
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count))
      return std::nullopt;
  return count;
}

std::optional<int64_t> byteCount(DType type, std::span<const int64_t> shape) {
  std::optional<int64_t> count = elementCount(shape);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, int64_t{info(type).bytes}, &bytes))
    return std::nullopt;
  return bytes;
}

std::string describe(const ElementType &type, std::span<const int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type.str() + ">";
}

Result<Tensor> Tensor::allocate(ElementType type, Shape shape, bool zeroed) {
  std::optional<int64_t> bytes = byteCount(type.storage, shape);
  if (!bytes || *bytes > kAddressable)
    return Error{ErrorCode::OutOfMemory,
                 describe(type, shape) + ": no memory can hold a tensor of this size"};
  if (*bytes >= kGuardedFrom)
    if (AllocationGuard guard = allocationGuard)
      if (Status status = askTwice([&] { return guard(*bytes); }); !status)
        return status.error();
  if (!askTwice([&] { return hasRoomFor(static_cast<uint64_t>(*bytes)); }))
    return Error{ErrorCode::OutOfMemory,
                 describe(type, shape) + ": out of memory (" + std::to_string(*bytes) +
                     " bytes; the machine has " + std::to_string(availableMemory().value_or(0)) + " left)"};
  size_t alignment = *bytes >= kOnPagesFrom ? kPage : kAlignment;
  size_t room = static_cast<size_t>(*bytes) + alignment;
  std::shared_ptr<const void> block = takeBlock(room, zeroed);
  if (!block)
    return Error{ErrorCode::OutOfMemory,
                 describe(type, shape) + ": out of memory (" + std::to_string(*bytes) + " bytes)"};
  auto address = (reinterpret_cast<uintptr_t>(block.get()) + alignment - 1) & ~(alignment - 1);
  if (room >= kHugePagesFrom) {
    auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    uintptr_t from = (address + page - 1) & ~(page - 1);
    ::madvise(reinterpret_cast<void *>(from), (address + *bytes - from) & ~(page - 1),
              MADV_HUGEPAGE);
  }
  Tensor result;
  result.owner = std::move(block);
  result.first = reinterpret_cast<std::byte *>(address);
  result.writable = true;
  result.count = *elementCount(shape);
  result.steps = contiguousSteps(shape, result.count, info(type.storage).bytes);
  result.element = std::move(type);
  result.dims = std::move(shape);
  return result;
}

Result<Tensor> Tensor::zeros(ElementType type, Shape shape) {
  return allocate(std::move(type), std::move(shape), /*zeroed=*/true);
}

Result<Tensor> Tensor::uninitialized(ElementType type, Shape shape) {
  return allocate(std::move(type), std::move(shape), /*zeroed=*/false);
}

Result<Tensor> Tensor::borrow(ElementType type, Shape shape, std::span<const std::byte> bytes,
                              std::shared_ptr<const void> owner) {
  std::optional<int64_t> needed = byteCount(type.storage, shape);
  if (!needed || bytes.size() < static_cast<size_t>(*needed))
    return Error{describe(type, shape) + " needs " +
                 (needed ? std::to_string(*needed) : std::string("more than 2^63")) +
                 " bytes, but only " + std::to_string(bytes.size()) + " are there"};
  if (!isAligned(type.storage, bytes.data()))
    return Error{describe(type, shape) + ": the bytes lie at an address that is no multiple of " +
                 std::to_string(info(type.storage).bytes)};
  Tensor result;
  result.count = *elementCount(shape);
  result.steps = contiguousSteps(shape, result.count, info(type.storage).bytes);
  result.first = const_cast<std::byte *>(bytes.data());
  result.owner = std::move(owner);
  result.element = std::move(type);
  result.dims = std::move(shape);
  return result;
}

Tensor Tensor::deferred(ElementType type, Shape shape, std::shared_ptr<DeferredElements> elements) {
  Tensor result;
  result.count = elementCount(shape).value_or(0);
  result.steps = contiguousSteps(shape, result.count, info(type.storage).bytes);
  result.owner = std::move(elements);
  result.element = std::move(type);
  result.dims = std::move(shape);
  result.isDeferred = true;
  return result;
}

DeferredElements *Tensor::deferred() const {
  return isDeferred ? const_cast<DeferredElements *>(static_cast<const DeferredElements *>(owner.get())) : nullptr;
}

bool Tensor::isAligned(DType type, const std::byte *address) {
  uintptr_t alignment = std::min<uintptr_t>(info(type).bytes, alignof(double));
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

bool Tensor::isContiguous() const {
  if (count == 0)
    return true;
  int64_t step = info(element.storage).bytes;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && steps[i] != step)
      return false;
    step *= dims[i];
  }
  return true;
}

std::byte *Tensor::mutableData() {
  return writable && isSoleOwner(owner) && isContiguous() ? first : nullptr;
}

Tensor Tensor::transposed(std::span<const int64_t> permutation) const {
  assert(permutation.size() == dims.size());
  Tensor result = *this;
  for (size_t i = 0; i < dims.size(); ++i) {
    assert(permutation[i] >= 0 && permutation[i] < rank());
    result.dims[i] = dims[permutation[i]];
    result.steps[i] = steps[permutation[i]];
  }
  return result;
}

Tensor Tensor::sliced(std::span<const int64_t> start, std::span<const int64_t> limit,
                      std::span<const int64_t> stride) const {
  assert(start.size() == dims.size() && limit.size() == dims.size() &&
         stride.size() == dims.size());
  Tensor result = *this;
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    assert(0 <= start[i] && start[i] <= limit[i] && limit[i] <= dims[i] && stride[i] > 0);
    int64_t length = limit[i] - start[i];
    result.dims[i] = length / stride[i] + (length % stride[i] != 0);
    // With at most one position left the step is never taken, and might overflow.
    if (result.dims[i] > 1)
      result.steps[i] = steps[i] * stride[i];
    if (length > 0)
      offset += start[i] * steps[i];
  }
  result.count = *elementCount(result.dims);
  if (result.count > 0)
    result.first = first + offset;
  return result;
}

Tensor Tensor::broadcastTo(Shape shape, std::span<const int64_t> dimensions) const {
  assert(dimensions.size() == dims.size());
  Tensor result = *this;
  result.steps.assign(shape.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    assert(dimensions[i] >= 0 && dimensions[i] < static_cast<int64_t>(shape.size()));
    assert(dims[i] == 1 || dims[i] == shape[dimensions[i]]);
    if (dims[i] != 1)
      result.steps[dimensions[i]] = steps[i];
  }
  // A view may have more positions than any memory has bytes, but not more than can be counted.
  std::optional<int64_t> positions = elementCount(shape);
  assert(positions);
  result.count = positions.value_or(0);
  result.dims = std::move(shape);
  return result;
}

Tensor Tensor::reversed(std::span<const int64_t> dimensions) const {
  Tensor result = *this;
  for (int64_t i : dimensions) {
    assert(i >= 0 && i < rank());
    if (count > 0)
      result.first += (dims[i] - 1) * steps[i];
    result.steps[i] = -steps[i];
  }
  return result;
}

Tensor Tensor::reshaped(Shape shape) const {
  assert(isContiguous() && elementCount(shape) == count);
  Tensor result = *this;
  result.steps = contiguousSteps(shape, count, info(element.storage).bytes);
  result.dims = std::move(shape);
  return result;
}

Tensor Tensor::withElementType(ElementType type) const {
  assert(info(type.storage).bytes == info(element.storage).bytes);
  Tensor result = *this;
  result.element = std::move(type);
  return result;
}

Result<Tensor> Tensor::contiguous() const {
  if (isContiguous())
    return *this;
  Result<Tensor> copy = uninitialized(element, dims);
  if (copy)
    copyStrided(copy->mutableData(), first, dims, steps, info(element.storage).bytes);
  return copy;
}

} // namespace cupel::tensor
