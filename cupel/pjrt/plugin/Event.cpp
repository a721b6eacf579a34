#include "cupel/pjrt/plugin/Event.h"

#include <chrono>

namespace cupel::pjrt {

std::shared_ptr<Signal> Signal::done() {
  static const std::shared_ptr<Signal> &one = *[] {
    auto signal = std::make_shared<Signal>();
    signal->set();
    return new std::shared_ptr<Signal>(std::move(signal));
  }();
  return one;
}

std::shared_ptr<Signal> Signal::failed(Error fault) {
  auto signal = std::make_shared<Signal>();
  signal->set(std::move(fault));
  return signal;
}

bool Signal::set(std::optional<Error> fault) {
  std::vector<Callback> waiting;
  {
    std::lock_guard lock(mutex);
    if (ready.load(std::memory_order_relaxed))
      return false;
    outcome = std::move(fault);
    ready.store(true, std::memory_order_release);
    waiting.swap(callbacks);
  }
  changed.notify_all(); // Whoever sets it holds it: woken with the lock free, nobody waits twice.
  for (Callback &callback : waiting)
    callback(outcome);
  return true;
}

/// Only the first time.
static void noteNow(std::atomic<int64_t> &when) {
  int64_t never = 0;
  if (when.load(std::memory_order_relaxed) != never)
    return;
  when.compare_exchange_strong(never, std::chrono::steady_clock::now().time_since_epoch().count(),
                               std::memory_order_relaxed);
}

void Signal::wait() const {
  if (isReady())
    return;
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return isReady(); });
}

bool Signal::look() const {
  noteNow(looked);
  return isReady();
}

void Signal::ask() const {
  noteNow(asked);
  wait();
}

void Signal::onReady(Callback callback) {
  noteNow(called);
  {
    std::lock_guard lock(mutex);
    if (!ready.load(std::memory_order_relaxed)) {
      callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(outcome);
}

PJRT_Event *makeEvent(std::shared_ptr<Signal> signal) {
  return handle<PJRT_Event>(new Event(std::move(signal)));
}

namespace {

PJRT_Error *errorOf(const std::optional<Error> &fault) {
  return fault ? makeError(*fault) : nullptr;
}

PJRT_Error *destroy(PJRT_Event_Destroy_Args *args) {
  if (args->event)
    delete &object(args->event);
  return nullptr;
}

PJRT_Error *isReady(PJRT_Event_IsReady_Args *args) {
  args->is_ready = object(args->event).signal->look();
  return nullptr;
}

PJRT_Error *error(PJRT_Event_Error_Args *args) {
  const Signal &signal = *object(args->event).signal;
  if (!signal.isReady())
    return makeError(ErrorCode::FailedPrecondition,
                     "the event is not ready yet: ask PJRT_Event_IsReady or wait first");
  return errorOf(signal.error());
}

PJRT_Error *await(PJRT_Event_Await_Args *args) {
  std::shared_ptr<Signal> signal = object(args->event).signal;
  signal->ask();
  return errorOf(signal->error());
}

PJRT_Error *onReady(PJRT_Event_OnReady_Args *args) {
  // The event may be gone by the time the callback runs.
  std::shared_ptr<Signal> signal = object(args->event).signal;
  signal->onReady([callback = args->callback, user = args->user_arg](
                      const std::optional<Error> &fault) { callback(errorOf(fault), user); });
  return nullptr;
}

PJRT_Error *create(PJRT_Event_Create_Args *args) {
  args->event = makeEvent(std::make_shared<Signal>());
  return nullptr;
}

PJRT_Error *set(PJRT_Event_Set_Args *args) {
  std::optional<Error> fault;
  if (args->error_code)
    fault = Error{errorCodeOf(args->error_code),
                  std::string(args->error_message, args->error_message_size)};
  // The event may be gone after the first callback.
  std::shared_ptr<Signal> signal = object(args->event).signal;
  if (!signal->set(std::move(fault)))
    return makeError(ErrorCode::FailedPrecondition, "the event has been set before");
  return nullptr;
}

} // namespace

void bindEvents(PJRT_Api &api) {
  bind<destroy>(api.PJRT_Event_Destroy);
  bind<isReady>(api.PJRT_Event_IsReady);
  bind<error>(api.PJRT_Event_Error);
  bind<await>(api.PJRT_Event_Await);
  bind<onReady>(api.PJRT_Event_OnReady);
  bind<create>(api.PJRT_Event_Create);
  bind<set>(api.PJRT_Event_Set);
}

} // namespace cupel::pjrt
