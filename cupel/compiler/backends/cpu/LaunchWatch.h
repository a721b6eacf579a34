// Somebody who stands between a program and its kernels for a while: to time them, or to run them on
// memory that nobody may touch beside. Chosen for a thread; without one a launch pays a branch.

#pragma once

#include "cupel/compiler/backends/cpu/Kernel.h"

#include <memory>

namespace cupel::compiler {

/// What a launch reads and writes.
struct LaunchMemory {
  std::span<const std::byte *const> reads;
  std::span<std::byte *const> writes;
  std::span<const int64_t> bytes; // Of what is read, then of what is written.
};

class LaunchWatch {
public:
  virtual ~LaunchWatch() = default;

  /// Runs the kernel.
  virtual Status run(const Kernel &kernel, LaunchContext &context, const LaunchMemory &memory) = 0;

  /// That of the calling thread; null for none.
  static LaunchWatch *current() { return chosen; }

  /// While it lives, the thread's launches go through the watch (null: none).
  class Scope {
  public:
    explicit Scope(LaunchWatch *watch) : before(chosen) { chosen = watch; }
    ~Scope() { chosen = before; }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    LaunchWatch *before;
  };

private:
  static inline thread_local LaunchWatch *chosen = nullptr;
};

/// For tests: each launch reads and writes copies that lie between pages nobody may touch, up against
/// the page behind (CUPEL_GUARD_PAGES=end) or before them (=begin), so that a kernel that goes beyond
/// its memory ends the process.
std::unique_ptr<LaunchWatch> makeGuardPages(bool isAtEnd);
/// As the environment asks for it; null where it does not.
LaunchWatch *guardPages();

} // namespace cupel::compiler
