#include "cupel/pjrt/plugin/Patience.h"

namespace cupel::pjrt {

bool Patience::waits() {
  if (wasIdle)
    return false; // Everything had ended before the last request.
  bool isIdle = true;
  for (const auto &device : client.devices) {
    if (device->worker.isOwnThread())
      return false; // It would wait for itself.
    isIdle &= device->worker.outstanding() == 0;
  }
  wasIdle = isIdle;
  if (isIdle)
    return true;
  if (ComputingRun::count > 0)
    lastProgress = Clock::now();
  else if (Clock::now() - lastProgress > kLongest)
    return false;
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  return true;
}

} // namespace cupel::pjrt
