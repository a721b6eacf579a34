// The MLIR contexts that programs are compiled in. A context is used by one thread at a time and
// serves many programs, since making one takes longer than compiling a small program; it is given
// up after a while, since what programs leave in it is freed only with it.

#pragma once

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <mutex>

namespace cupel::compiler {

struct SharedContext {
  SharedContext();
  mlir::MLIRContext context;
  std::mutex use; // Held by whoever changes anything in the context.
  int64_t programs = 0, programBytes = 0;
};

/// The sole use of a context while it lives; the context itself lives as long as anybody holds it.
class ContextLease {
public:
  /// A context that has room for a program of this size.
  explicit ContextLease(int64_t programBytes);
  ~ContextLease();
  ContextLease(const ContextLease &) = delete;
  ContextLease &operator=(const ContextLease &) = delete;

  const std::shared_ptr<SharedContext> &shared() const { return held; }
  mlir::MLIRContext &operator*() const { return held->context; }

  /// Runs work that touches nothing in the context, while others may let go of what they have in
  /// it.
  void outside(llvm::function_ref<void()> work) {
    lock.unlock();
    work();
    lock.lock();
  }

private:
  std::shared_ptr<SharedContext> held;
  std::unique_lock<std::mutex> lock;
};

} // namespace cupel::compiler
