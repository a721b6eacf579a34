// Memory of runs, as large as a program's arena, kept from one run to the next. Programs whose owner
// says that they seldom run at once may share it: one that has none idle runs in that of another,
// which is touched already, and gives it back. Used by LoadedProgram and Trace.

#pragma once

#include "cupel/compiler/backends/cpu/KeptValues.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cupel::compiler {

class Frames;

/// The memory of a run, and what is still in it from the run before.
struct Frame {
  struct Free {
    void operator()(std::byte *memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory;
  size_t bytes = 0;
  std::weak_ptr<Frames> owner = {}; // Nothing: memory that ends with its run.
  KeptValues kept = {};

  std::byte *get() const { return memory.get(); }
  explicit operator bool() const { return memory != nullptr; }
};

/// Those of one program that nobody uses just now; they end with it.
class Frames : public std::enable_shared_from_this<Frames> {
public:
  static std::shared_ptr<Frames> make() { return std::shared_ptr<Frames>(new Frames); }

  /// One of at least so many bytes: idle, or of another program, or new. Without memory where there
  /// is none.
  Frame take(size_t bytes);
  /// Back to the program whose it is, if that is still there.
  static void give(Frame frame);

private:
  Frames() = default;
  std::optional<Frame> takeIdle(size_t bytes);
  void joinAll();
  /// The size of the smallest that is idle and has so many bytes; nothing: there is none.
  std::optional<size_t> smallestIdle(size_t bytes);

  std::mutex mutex;
  std::vector<Frame> idle;
  std::once_flag joined; // Those whose memory others may ask for.
};

/// Whether programs run in each other's memory from now on, as far as it is large: who runs many
/// programs by turns needs that of the largest alone. What a program keeps there of its run before
/// (KeptValues) is then computed anew.
void shareFrames(bool isShared);

} // namespace cupel::compiler
