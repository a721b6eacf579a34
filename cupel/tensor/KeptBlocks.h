// Memory of large tensors, used again while programs are evaluated: the system clears every page
// that it hands out, which costs more than most operations that then fill it. Used by Tensor, and
// by the reference around each evaluation. Never keeps more memory than was in use at once
// before.

#pragma once

#include <cstddef>
#include <memory>

namespace cupel::tensor {

/// While one of these lives, blocks of tensors that are gone are kept for the next ones: whole, in
/// parts, and several that lie side by side as one. What is kept and in use together never exceeds
/// the most that was in use since the first of them began; with the last one all that is kept goes
/// back.
class BlockKeeper {
public:
  BlockKeeper();
  ~BlockKeeper();
  BlockKeeper(const BlockKeeper &) = delete;
  BlockKeeper &operator=(const BlockKeeper &) = delete;
  /// The most that was in use since the first of them began, beyond what was in use then.
  size_t taken() const;
};

/// Blocks smaller than this come from the allocator, which keeps them itself.
inline constexpr size_t kKeptFrom = size_t{1} << 20;

/// Gives back what is kept; for whoever finds no room.
void releaseKeptBlocks();

/// What is kept now, in bytes.
size_t keptBytes();

/// At least so many bytes, cleared or as whoever had them left them; null where there is no memory.
std::shared_ptr<const void> takeBlock(size_t bytes, bool cleared);

} // namespace cupel::tensor
