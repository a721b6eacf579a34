// Why a plugin did not do what it was asked: its own error with code and message, an answer that
// breaks the rules of the API, silence until the deadline, or a function that is not there. Every
// call of the host returns an `Answer`; nothing here throws.
#pragma once

#include "cupel/support/Error.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace cupel::pjrt {

struct Failure {
  enum class Kind : uint8_t {
    Load,      ///< The library could not be opened or has no usable table.
    Missing,   ///< The table has no such function.
    Plugin,    ///< The plugin returned an error.
    BadAnswer, ///< The plugin's answer breaks the rules: null, counts that do not fit, ...
    Deadline,  ///< No answer in time; the plugin cannot be used any more.
    Host,      ///< Not the plugin's fault: out of memory here, an argument of the wrong shape.
  };
  Kind kind = Kind::Host;
  std::string call; ///< "PJRT_Client_Compile"; empty where no call is to blame.
  int code = 0;     ///< Of Kind::Plugin: a PJRT_Error_Code, or whatever number was given.
  std::string message;

  /// One line: "PJRT_Client_Compile: INVALID_ARGUMENT: ...".
  std::string str() const;
  /// A short name for tables: "invalid_argument", "bad_answer", "deadline_exceeded", ...
  std::string errorClass() const;
  operator Error() const { return Error{str()}; }
};

/// What the plugin answered, or why there is no answer.
template <typename T = std::monostate> class [[nodiscard]] Answer {
public:
  Answer() = default;
  Answer(T value) : state(std::move(value)) {}
  Answer(Failure failure) : state(std::move(failure)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state); }
  T &operator*() { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const Failure &failure() const { return std::get<Failure>(state); }

private:
  std::variant<T, Failure> state;
};

/// When waiting ends.
using Deadline = std::chrono::steady_clock::time_point;
inline Deadline deadlineIn(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

} // namespace cupel::pjrt
