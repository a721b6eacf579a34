#include "cupel/compiler/program/Contexts.h"

#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/Portable.h"

#include <vector>

namespace cupel::compiler {

namespace {

constexpr int64_t kMostPrograms = 256, kMostBytes = int64_t{4} << 20;

struct Pool {
  std::mutex mutex;
  std::vector<std::shared_ptr<SharedContext>> idle;
};

/// Never destroyed: threads may still compile while the process ends.
Pool &pool() {
  static Pool &pool = *new Pool;
  return pool;
}

const mlir::DialectRegistry &registry() {
  static const mlir::DialectRegistry &all = *[] {
    auto *registry = new mlir::DialectRegistry;
    ir::registerAllDialects(*registry);
    return registry;
  }();
  return all;
}

} // namespace

SharedContext::SharedContext() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
}

ContextLease::ContextLease(int64_t programBytes) {
  {
    std::lock_guard guard(pool().mutex);
    if (!pool().idle.empty()) {
      held = std::move(pool().idle.back());
      pool().idle.pop_back();
    }
  }
  if (!held)
    held = std::make_shared<SharedContext>();
  lock = std::unique_lock(held->use);
  ++held->programs;
  held->programBytes += programBytes;
}

ContextLease::~ContextLease() {
  bool isSpent = held->programs >= kMostPrograms || held->programBytes >= kMostBytes;
  lock.unlock();
  if (isSpent)
    return;
  std::lock_guard guard(pool().mutex);
  pool().idle.push_back(std::move(held));
}

} // namespace cupel::compiler
