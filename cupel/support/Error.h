// What can go wrong, as a value: a one-line message that says what was wrong, where, and what to do
// next, and the exit codes of the `cupel` command line. Everybody uses it who has no MLIR
// diagnostics at hand. It must never throw, and a message must never span lines.
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cupel {

/// Exit codes of every verb.
enum ExitCode : int {
  kExitSuccess = 0, ///< As expected.
  kExitFailure = 1, ///< The input was judged and found wanting.
  kExitUsage = 2,   ///< The command line or configuration cannot be followed.
  kExitNothingSelected = 4,
  kExitUnaccounted = 5, ///< Not every selected test has an outcome.
};

/// One line that a user can act on.
struct Error {
  std::string message;
};

/// Either a value or the error that kept us from having it.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Error error) : state(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state); }
  T &operator*() { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const std::string &message() const { return std::get<Error>(state).message; }

private:
  std::variant<T, Error> state;
};

/// Success, or the error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : state(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<std::monostate>(state); }
  const std::string &message() const { return std::get<Error>(state).message; }

private:
  std::variant<std::monostate, Error> state;
};

/// Prints `cupel VERB: error: MESSAGE` on standard error and returns `code`.
int reportError(std::string_view verb, std::string_view message, ExitCode code);

} // namespace cupel
