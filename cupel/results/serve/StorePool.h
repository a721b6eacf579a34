// Store handles for threads that read at the same time: a Store serves one thread, so each takes one
// out and puts it back. Used by the pages' server; it writes nothing but what journals add.
#pragma once

#include "cupel/results/store/Store.h"
#include "cupel/support/Error.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cupel::results::serve {

class StorePool {
public:
  /// `open` opens the store once more, from any thread.
  explicit StorePool(std::function<Result<Store>()> open) : open(std::move(open)) {}

  class Lease {
  public:
    Lease(StorePool &pool, std::unique_ptr<Store> store) : pool(&pool), store(std::move(store)) {}
    Lease(Lease &&) noexcept = default;
    ~Lease() {
      if (store)
        pool->giveBack(std::move(store));
    }
    Store &operator*() const { return *store; }
    Store *operator->() const { return store.get(); }

  private:
    StorePool *pool;
    std::unique_ptr<Store> store;
  };

  Result<Lease> take() {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) {
        std::unique_ptr<Store> store = std::move(idle.back());
        idle.pop_back();
        return Lease(*this, std::move(store));
      }
    }
    Result<Store> opened = open();
    if (!opened)
      return opened.error();
    return Lease(*this, std::make_unique<Store>(std::move(*opened)));
  }

private:
  void giveBack(std::unique_ptr<Store> store) {
    std::lock_guard lock(mutex);
    idle.push_back(std::move(store));
  }

  std::function<Result<Store>()> open;
  std::mutex mutex;
  std::vector<std::unique_ptr<Store>> idle;
};

} // namespace cupel::results::serve
