// The data of a buffer: plain memory, or what a host has lent and kernels have packed (tensor/Deferred.h).

#include "cupel/compiler/Compile.h"
#include "cupel/pjrt/plugin/Buffer.h"
#include "cupel/tensor/Deferred.h"

#include <utility>

namespace cupel::pjrt {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

BufferData::~BufferData() {
  if (tensor::DeferredElements *elements = tensor.deferred())
    compiler::forgetArgument(elements->lent().data);
  compiler::forgetArgument(tensor.data());
}

void BufferData::borrow(DType type, const Shape &shape, const std::byte *data,
                        std::shared_ptr<const void> owner) {
  tensor = Tensor::deferred(type, shape, std::make_shared<tensor::DeferredElements>(data, std::move(owner)));
  isBorrowed = true;
}

Result<Tensor> BufferData::whole() {
  if (!isBorrowed)
    return tensor;
  Tensor before; // Its end may tell the host, who must not find us locked.
  std::lock_guard lock(mutex);
  if (!tensor.deferred())
    return tensor;
  Result<Tensor> plain = tensor::wholeTensor(tensor);
  if (!plain)
    return plain.error();
  // Forms that were made of lent memory would keep it.
  compiler::forgetArgument(tensor.deferred()->lent().data);
  before = std::exchange(tensor, std::move(*plain));
  return tensor;
}

Result<Tensor> BufferData::forRun(runtime::Reading reading) {
  if (!isBorrowed)
    return tensor;
  if (reading != runtime::Reading::Whole) {
    std::lock_guard lock(mutex);
    tensor::DeferredElements *elements = tensor.deferred();
    if (!elements || reading == runtime::Reading::Packed)
      return tensor;
    if (tensor::DeferredElements::Lent lent = elements->lent(); lent.data)
      return Tensor::borrow(tensor.elementType(), Shape(tensor.shape().begin(), tensor.shape().end()),
                            {lent.data, static_cast<size_t>(tensor.byteSize())}, std::move(lent.owner));
  }
  return whole();
}

} // namespace cupel::pjrt
