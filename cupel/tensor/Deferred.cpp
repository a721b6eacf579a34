#include "cupel/tensor/Deferred.h"

#include <cstring>

namespace cupel::tensor {

DeferredElements::Lent DeferredElements::lent() const {
  std::lock_guard lock(mutex);
  return {data, owner};
}

Result<std::shared_ptr<const void>> DeferredElements::form(const Tensor &tensor,
                                                           const std::string &layout,
                                                           const Pack &pack, const Unpack &unpack) {
  std::shared_ptr<const void> released; // Its end tells the host, who must not find us locked.
  std::lock_guard lock(mutex);
  for (const Form &known : forms)
    if (known.layout == layout)
      return known.packed;
  Form made{layout, nullptr, unpack};
  if (data) {
    made.packed = pack(data);
    data = nullptr;
    released = std::move(owner);
  } else {
    Result<Tensor> plain = Tensor::uninitialized(tensor.elementType(), Shape(tensor.shape().begin(), tensor.shape().end()));
    if (!plain)
      return plain.error().as(ErrorCode::OutOfMemory);
    if (Status status = forms[0].unpack(forms[0].packed.get(), plain->mutableData()); !status)
      return status.error();
    made.packed = pack(plain->data());
  }
  forms.push_back(std::move(made));
  return forms.back().packed;
}

std::shared_ptr<const void> DeferredElements::knownForm(const std::string &layout) const {
  std::lock_guard lock(mutex);
  for (const Form &known : forms)
    if (known.layout == layout)
      return known.packed;
  return nullptr;
}

Result<Tensor> DeferredElements::whole(const Tensor &tensor) const {
  Result<Tensor> plain = Tensor::uninitialized(tensor.elementType(), Shape(tensor.shape().begin(), tensor.shape().end()));
  if (!plain)
    return plain.error().as(ErrorCode::OutOfMemory);
  Lent from;
  Form form;
  {
    std::lock_guard lock(mutex);
    from = {data, owner};
    if (!data)
      form = forms[0];
  }
  if (from.data)
    std::memcpy(plain->mutableData(), from.data, size_t(plain->byteSize()));
  else if (Status status = form.unpack(form.packed.get(), plain->mutableData()); !status)
    return status.error();
  return plain;
}

Result<Tensor> wholeTensor(const Tensor &tensor) {
  DeferredElements *elements = tensor.deferred();
  return elements ? elements->whole(tensor) : tensor;
}

} // namespace cupel::tensor
