// Tensors: a type, a shape, strides and bytes that are owned, borrowed or mapped from a file.
// Copies share the bytes. Used by everything that holds values; knows nothing of MLIR.

#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/DType.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cupel::tensor {

using Shape = std::vector<int64_t>;

/// How stored integers stand for real numbers: real = (stored - zero point) * scale.
struct Quantization {
  DType expressed = DType::F32;
  int64_t storageMin = 0, storageMax = 0;
  int axis = -1; // -1: one scale and zero point for the whole tensor
  std::vector<double> scales;
  std::vector<int64_t> zeroPoints;
  bool operator==(const Quantization &) const = default;
};

/// What an element is: a plain type, or an integer storage type with quantization.
struct ElementType {
  DType storage = DType::F32;
  std::shared_ptr<const Quantization> quantization; // null for plain types
  ElementType() = default;
  ElementType(DType type) : storage(type) {}
  ElementType(DType type, std::shared_ptr<const Quantization> quantization)
      : storage(type), quantization(std::move(quantization)) {}
  bool operator==(const ElementType &other) const;
  std::string str() const;
};

/// The number of elements; nothing if a size is negative or the count overflows int64.
std::optional<int64_t> elementCount(std::span<const int64_t> shape);
/// The bytes such a tensor takes when contiguous; nothing on overflow.
std::optional<int64_t> byteCount(DType type, std::span<const int64_t> shape);
/// "tensor<2x3xf32>".
std::string describe(const ElementType &type, std::span<const int64_t> shape);

class DeferredElements;

class Tensor {
public:
  Tensor() = default;

  /// A contiguous tensor with zeroed (uninitialised) memory of its own. An impossible size or a
  /// failed allocation is an error.
  static Result<Tensor> zeros(ElementType type, Shape shape);
  static Result<Tensor> uninitialized(ElementType type, Shape shape);
  /// A contiguous tensor on memory that `owner` keeps alive (null: the caller does); `bytes` must
  /// be at least as large as the shape asks for and aligned for the type, else this is an error.
  static Result<Tensor> borrow(ElementType type, Shape shape, std::span<const std::byte> bytes,
                               std::shared_ptr<const void> owner = nullptr);
  /// A contiguous tensor without memory, whose elements are asked for (Deferred.h): `data()` is null.
  static Tensor deferred(ElementType type, Shape shape, std::shared_ptr<DeferredElements> elements);
  /// For tests and small constants: a contiguous tensor with the given stored values, whose number
  /// must fit the shape.
  template <DType type> static Tensor of(Shape shape, std::span<const Storage<type>> values) {
    assert(elementCount(shape) == static_cast<int64_t>(values.size()));
    Result<Tensor> result = uninitialized(type, std::move(shape));
    std::copy(values.begin(), values.end(), result->template mutableAs<Storage<type>>());
    return std::move(*result);
  }
  template <DType type> static Tensor of(Shape shape, std::initializer_list<Storage<type>> values) {
    return of<type>(std::move(shape),
                    std::span<const Storage<type>>(values.begin(), values.size()));
  }

  /// Whether elements of this type may lie at this address (what `borrow` asks for).
  static bool isAligned(DType type, const std::byte *address);

  const ElementType &elementType() const { return element; }
  DType dtype() const { return element.storage; }
  std::span<const int64_t> shape() const { return dims; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t dim(int64_t i) const { return dims[i]; }
  int64_t size() const { return count; }
  /// In bytes; may be zero (broadcast) or negative (reversed).
  std::span<const int64_t> strides() const { return steps; }
  bool isContiguous() const;
  /// Bytes of the elements themselves, as if contiguous.
  int64_t byteSize() const { return count * info(element.storage).bytes; }

  /// What has the elements of a tensor without memory; null for all others.
  DeferredElements *deferred() const;
  /// The first element (index all zero).
  const std::byte *data() const { return first; }
  template <typename T> const T *dataAs() const { return reinterpret_cast<const T *>(first); }
  /// Writable memory: only of a tensor that owns its bytes, contiguous, and shares them with no
  /// other tensor (else null).
  std::byte *mutableData();
  template <typename T> T *mutableAs() { return reinterpret_cast<T *>(mutableData()); }

  /// Views that share the bytes. Arguments must be in range (checked by assertions: callers
  /// verify).
  Tensor transposed(std::span<const int64_t> permutation) const;
  Tensor sliced(std::span<const int64_t> start, std::span<const int64_t> limit,
                std::span<const int64_t> stride) const;
  Tensor broadcastTo(Shape shape, std::span<const int64_t> dimensions) const;
  Tensor reversed(std::span<const int64_t> dimensions) const;
  /// Same bytes, other shape; contiguous tensors only.
  Tensor reshaped(Shape shape) const;
  /// Same bytes and shape under another element type of the same storage size (quantized <->
  /// stored).
  Tensor withElementType(ElementType type) const;

  /// This tensor if contiguous, else a contiguous copy.
  Result<Tensor> contiguous() const;

private:
  static Result<Tensor> allocate(ElementType type, Shape shape, bool zeroed);

  ElementType element;
  Shape dims;
  std::vector<int64_t> steps;
  int64_t count = 0;
  std::byte *first = nullptr;
  std::shared_ptr<const void> owner;
  bool writable = false;
  bool isDeferred = false; // Then the owner has the elements.
};

} // namespace cupel::tensor
