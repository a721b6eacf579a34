#include "cupel/testbench/worker/Device.h"

#include <algorithm>

namespace cupel::testbench::worker {

std::string_view name(ErrorCode code) {
  switch (code) {
  case ErrorCode::InvalidProgram:
    return "invalid_program";
  case ErrorCode::Unsupported:
    return "unsupported";
  case ErrorCode::InvalidArgument:
    return "invalid_argument";
  case ErrorCode::CheckFailed:
    return "check_failed";
  case ErrorCode::RuntimeError:
    return "runtime_error";
  case ErrorCode::TimedOut:
    return "timeout";
  case ErrorCode::OutOfMemory:
    return "out_of_memory";
  case ErrorCode::DeviceLost:
    return "device_lost";
  case ErrorCode::Internal:
    return "internal";
  }
  return "internal";
}

double Budget::secondsLeft() const {
  if (deadline == std::chrono::steady_clock::time_point::max())
    return 0;
  auto left = deadline - std::chrono::steady_clock::now();
  return std::max(1e-3, std::chrono::duration<double>(left).count());
}

} // namespace cupel::testbench::worker
