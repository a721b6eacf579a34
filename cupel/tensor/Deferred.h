// Elements of a tensor that have no plain memory of their own yet: they lie where whoever gave them has
// them, or in forms that kernels packed them to, which then are all that is left of them. Made by whoever
// is lent memory, for tensors that travel as usual (`Tensor::deferred`). Who reads elements asks for
// them here; nothing that is lent is ever written, nor held on to behind the first form.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <functional>
#include <mutex>

namespace cupel::tensor {

class DeferredElements {
public:
  /// Makes a form of plain elements.
  using Pack = std::function<std::shared_ptr<const void>(const std::byte *)>;
  /// Writes the elements that a form was made of.
  using Unpack = std::function<Status(const void *form, std::byte *to)>;

  /// `owner` keeps what lies at `data` as it is, until it is released.
  DeferredElements(const std::byte *data, std::shared_ptr<const void> owner)
      : data(data), owner(std::move(owner)) {}

  /// The elements where they were lent, and what keeps them there; null once they are only packed.
  struct Lent {
    const std::byte *data = nullptr;
    std::shared_ptr<const void> owner;
  };
  Lent lent() const;
  bool isLent() const { return lent().data != nullptr; }

  /// The form of this layout, made where it is not there; `tensor` is one of these elements. With the
  /// first form the lent memory is given back: from then on `unpack` makes the elements again.
  Result<std::shared_ptr<const void>> form(const Tensor &tensor, const std::string &layout,
                                           const Pack &pack, const Unpack &unpack);

  /// The same where it is there already, else null.
  std::shared_ptr<const void> knownForm(const std::string &layout) const;

  /// A plain tensor of its own with the elements of `tensor`.
  Result<Tensor> whole(const Tensor &tensor) const;

private:
  struct Form {
    std::string layout;
    std::shared_ptr<const void> packed;
    Unpack unpack;
  };

  mutable std::mutex mutex;
  const std::byte *data; // Null: the first form has them.
  std::shared_ptr<const void> owner;
  std::vector<Form> forms;
};

/// The tensor itself, or a copy with memory of its own if its elements are deferred.
Result<Tensor> wholeTensor(const Tensor &tensor);

} // namespace cupel::tensor
