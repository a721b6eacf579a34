#include "cupel/pjrt/host/Event.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <thread>
#include <utility>

using namespace cupel;
using namespace cupel::pjrt;

namespace {

/// Callbacks that have not come yet, by number. A plugin gets the number and never an address, so a
/// callback that comes twice or after we stopped waiting finds nothing instead of freed memory.
class PendingCallbacks {
public:
  struct Pending {
    std::shared_ptr<Plugin> plugin;
    std::string call;
    std::function<void(Status)> done; ///< Empty once it was called or nobody waits.
    bool hasFired = false;
  };

  static PendingCallbacks &instance() {
    // Never destroyed: a plugin's thread may call while the process exits.
    static PendingCallbacks *callbacks = new PendingCallbacks;
    return *callbacks;
  }

  uintptr_t add(Pending pending) {
    std::lock_guard lock(mutex);
    // What fired long ago is forgotten; a callback that comes twice does so soon.
    if (pendings.size() >= limit) {
      std::erase_if(pendings, [&](const auto &entry) {
        return entry.second.hasFired && entry.first + kRemembered < last;
      });
      limit = 2 * std::max(kRemembered, pendings.size());
    }
    uintptr_t number = ++last;
    pendings.emplace(number, std::move(pending));
    return number;
  }

  /// Nobody waits any more; the callback may still come.
  void abandon(uintptr_t number) {
    std::lock_guard lock(mutex);
    if (auto found = pendings.find(number); found != pendings.end())
      found->second.done = nullptr;
  }

  void fire(uintptr_t number, PJRT_Error *error) {
    std::shared_ptr<Plugin> plugin;
    std::string call;
    std::function<void(Status)> done;
    {
      std::lock_guard lock(mutex);
      auto found = pendings.find(number);
      if (found == pendings.end())
        return; // Long past, or a number we never gave out.
      plugin = found->second.plugin;
      call = found->second.call;
      if (std::exchange(found->second.hasFired, true)) {
        // The error may be the one that was freed the first time: leave it.
        plugin->complain(call + ": the callback of its event came more than once");
        return;
      }
      done = std::move(found->second.done);
    }
    Status answer;
    if (error)
      answer = plugin->takeError(error, call);
    if (done)
      done(std::move(answer));
  }

private:
  static constexpr size_t kRemembered = 1024;
  std::mutex mutex;
  uintptr_t last = 0;
  std::map<uintptr_t, Pending> pendings;
  size_t limit = 2 * kRemembered;
};

extern "C" void cupelPjrtEventIsReady(PJRT_Error *error, void *number) {
  PendingCallbacks::instance().fire(reinterpret_cast<uintptr_t>(number), error);
}

/// Registers; `number` is what to abandon.
Status registerCallback(const std::shared_ptr<Plugin> &plugin, PJRT_Event *event,
                          std::string call, std::function<void(Status)> done, uintptr_t &number) {
  number = PendingCallbacks::instance().add({plugin, std::move(call), std::move(done)});
  auto args = plugin->arguments<PJRT_Event_OnReady_Args>();
  args->event = event;
  args->callback = cupelPjrtEventIsReady;
  args->user_arg = reinterpret_cast<void *>(number);
  Status asked = plugin->call(&PJRT_Api::PJRT_Event_OnReady, args);
  if (!asked)
    PendingCallbacks::instance().abandon(number);
  return asked;
}

} // namespace

Event &Event::operator=(Event &&other) noexcept {
  if (this != &other) {
    destroy();
    plugin = std::move(other.plugin);
    event = std::exchange(other.event, nullptr);
    call = std::move(other.call);
  }
  return *this;
}

void Event::keepUntilReady(std::shared_ptr<const void> kept) && {
  if (!event)
    return;
  uintptr_t number = 0;
  if (!registerCallback(plugin, event, call, [kept](Status) {}, number))
    // Never destroyed: the plugin may read it to the end.
    new std::shared_ptr<const void>(std::move(kept));
  destroy();
}

void Event::destroy() {
  if (event && !plugin->isGivenUp() && plugin->has(&PJRT_Api::PJRT_Event_Destroy)) {
    auto args = plugin->arguments<PJRT_Event_Destroy_Args>();
    args->event = event;
    (void)plugin->call(&PJRT_Api::PJRT_Event_Destroy, args);
  }
  event = nullptr;
}

Error Event::lateError() {
  plugin->giveUp();
  return callError(ErrorCode::NoAnswer, call,
                   "its event did not become ready before the deadline");
}

Status Event::wait(Deadline deadline) {
  if (!event)
    return {};
  if (!plugin->has(&PJRT_Api::PJRT_Event_OnReady))
    return waitByPolling(deadline);

  // Shared with the callback, which may come after we stopped waiting.
  struct State {
    std::mutex mutex;
    std::condition_variable condition;
    std::optional<Status> answer;
  };
  auto state = std::make_shared<State>();
  uintptr_t number = 0;
  Status asked = registerCallback(
      plugin, event, call,
      [state](Status answer) {
        std::lock_guard lock(state->mutex);
        state->answer = std::move(answer);
        state->condition.notify_all();
      },
      number);
  if (!asked) {
    if (asked.error().code == ErrorCode::Unsupported)
      return waitByPolling(deadline);
    return asked;
  }
  std::unique_lock lock(state->mutex);
  if (!state->condition.wait_until(lock, deadline, [&] { return state->answer.has_value(); })) {
    lock.unlock();
    PendingCallbacks::instance().abandon(number);
    return lateError();
  }
  return std::move(*state->answer);
}

Status Event::waitByPolling(Deadline deadline) {
  if (!plugin->has(&PJRT_Api::PJRT_Event_IsReady)) {
    // Nothing else is left; whoever started this process watches it.
    auto args = plugin->arguments<PJRT_Event_Await_Args>();
    args->event = event;
    Status done = plugin->call(&PJRT_Api::PJRT_Event_Await, args);
    if (!done && isPluginsOwn(done.error()))
      return errorOf(done.error(), call);
    return done;
  }
  auto pause = std::chrono::microseconds(20);
  while (true) {
    auto args = plugin->arguments<PJRT_Event_IsReady_Args>();
    args->event = event;
    if (Status asked = plugin->call(&PJRT_Api::PJRT_Event_IsReady, args); !asked)
      return asked;
    if (args->is_ready)
      break;
    if (std::chrono::steady_clock::now() >= deadline)
      return lateError();
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(2000));
  }
  if (!plugin->has(&PJRT_Api::PJRT_Event_Error))
    return {};
  auto args = plugin->arguments<PJRT_Event_Error_Args>();
  args->event = event;
  Status error = plugin->call(&PJRT_Api::PJRT_Event_Error, args);
  if (!error && isPluginsOwn(error.error()))
    return errorOf(error.error(), call);
  return error;
}
