// Weights that arrive as arguments, in the form that kernels multiply with: packed once for each buffer
// and layout, whichever executables use it. Kept until the buffer is gone (`forget`, which whoever owns
// buffers calls), the kernel that packed it is dropped, or others need the room: all of it together is
// bounded. The tensor is held meanwhile, so that its address says which it is: memory that is held is
// neither written in place nor given back. Weights that a host lent are not kept here: their packed form is
// the buffer's own, and all that is left of it (tensor/Deferred.h).

#pragma once

#include "cupel/tensor/Tensor.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace cupel::compiler {

class PackedWeights {
public:
  struct Kept {
    tensor::Tensor weights; ///< As they came.
    std::string layout;
    std::shared_ptr<const void> form;
    int64_t bytes = 0; ///< Of the form.
  };
  using KeptPointer = std::shared_ptr<const Kept>;

  /// At most so many bytes of packed forms.
  explicit PackedWeights(int64_t limit) : limit(limit) {}
  /// Of the process; the limit is half of the machine's memory.
  static PackedWeights &get();

  /// The form of these weights in this layout; made by `pack` where it is not there, or is not kept for
  /// want of room. Two that ask at once may both pack, and one is kept.
  KeptPointer find(const tensor::Tensor &weights, const std::string &layout,
                   const std::function<std::shared_ptr<const void>()> &pack, int64_t bytes);

  /// All forms of what lies there. Costs next to nothing where there is none.
  void forget(const std::byte *data);
  void forget(const KeptPointer &one);

  int64_t count() const { return entries.load(std::memory_order_relaxed); }
  int64_t packedBytes() const;

private:
  struct Entry {
    KeptPointer kept;
    uint64_t lastUse = 0;
  };
  using Entries = std::map<std::pair<const std::byte *, std::string>, Entry>;

  void erase(Entries::iterator entry, std::vector<KeptPointer> &dropped);
  bool makeRoom(int64_t bytes, std::vector<KeptPointer> &dropped);

  const int64_t limit;
  mutable std::mutex mutex;
  Entries all;
  uint64_t uses = 0;
  int64_t used = 0;
  std::atomic<int64_t> entries = 0;
};

} // namespace cupel::compiler
