// What went wrong in a runtime, with the kind of trouble beside the message, so that every door to
// it (PJRT today) can say it in its own codes. The numbers are the customary canonical ones.

#pragma once

#include <cassert>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cupel::runtime {

enum class FaultCode : int {
  Cancelled = 1,
  Unknown = 2,
  InvalidArgument = 3,
  DeadlineExceeded = 4,
  NotFound = 5,
  AlreadyExists = 6,
  PermissionDenied = 7,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Aborted = 10,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
  Unavailable = 14,
  DataLoss = 15,
  Unauthenticated = 16,
};

/// As everybody writes it: INVALID_ARGUMENT.
inline std::string_view nameOf(FaultCode code) {
  constexpr std::string_view kNames[] = {"OK",
                                         "CANCELLED",
                                         "UNKNOWN",
                                         "INVALID_ARGUMENT",
                                         "DEADLINE_EXCEEDED",
                                         "NOT_FOUND",
                                         "ALREADY_EXISTS",
                                         "PERMISSION_DENIED",
                                         "RESOURCE_EXHAUSTED",
                                         "FAILED_PRECONDITION",
                                         "ABORTED",
                                         "OUT_OF_RANGE",
                                         "UNIMPLEMENTED",
                                         "INTERNAL",
                                         "UNAVAILABLE",
                                         "DATA_LOSS",
                                         "UNAUTHENTICATED"};
  auto number = static_cast<size_t>(code);
  return number < std::size(kNames) ? kNames[number] : "UNKNOWN";
}

struct Fault {
  FaultCode code = FaultCode::Internal;
  std::string message;
};

/// Either a value or the fault that kept us from having it.
template <typename T> class [[nodiscard]] Outcome {
public:
  Outcome(T value) : state(std::move(value)) {}
  Outcome(Fault fault) : state(std::move(fault)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return std::get<0>(state); }
  T *operator->() { return &std::get<0>(state); }
  const Fault &fault() const { return std::get<1>(state); }

private:
  std::variant<T, Fault> state;
};

/// Success, or the fault.
class [[nodiscard]] Verdict {
public:
  Verdict() = default;
  Verdict(Fault fault) : state(std::move(fault)) {}
  explicit operator bool() const { return state.index() == 0; }
  const Fault &fault() const { return std::get<1>(state); }

private:
  std::variant<std::monostate, Fault> state;
};

} // namespace cupel::runtime
