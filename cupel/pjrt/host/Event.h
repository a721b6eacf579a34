// Waiting for a plugin's events with a deadline. An event tells us through a callback that may come
// late, twice, from any thread or never; none of that may touch memory that is gone.
#pragma once

#include "cupel/pjrt/host/Plugin.h"

namespace cupel::pjrt {

/// An event that we own. Without an event (null) it is one that already happened.
class Event {
public:
  Event() = default;
  /// `call` is the function that handed the event out, for messages.
  Event(std::shared_ptr<Plugin> plugin, PJRT_Event *event, std::string call)
      : plugin(std::move(plugin)), event(event), call(std::move(call)) {}
  Event(Event &&other) noexcept { *this = std::move(other); }
  Event &operator=(Event &&other) noexcept;
  ~Event() { destroy(); }

  /// Waits until the event happened or the deadline passed. After the deadline the plugin is given
  /// up and the event is left alone.
  Status wait(Deadline deadline);

  /// Holds something until the event happened, and for good where the plugin cannot tell. The event is
  /// given up.
  void keepUntilReady(std::shared_ptr<const void> kept) &&;

private:
  Status waitByPolling(Deadline deadline);
  Error lateError();
  void destroy();

  std::shared_ptr<Plugin> plugin;
  PJRT_Event *event = nullptr;
  std::string call;
};

} // namespace cupel::pjrt
