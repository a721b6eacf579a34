// What can go wrong, as a value: a code from one list, a message of one line that says what was
// wrong, where, and what to do next, and the place in fields for those who group by it. Everybody
// uses it who has no MLIR diagnostics at hand. It must never throw, a message must never span
// lines, and nobody may search a message for what the code or the place says.
//
// An error is forwarded as it is (`return result.error();`), or with words in front of its message
// (`return result.error().within("input 3")`): code and place stay.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
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

enum class ErrorCode : uint8_t {
#define CUPEL_ERROR(code, name, canonical, kind, meaning) code,
#include "cupel/support/ErrorCodes.def"
#undef CUPEL_ERROR
};

/// Whose turn it is.
enum class ErrorKind : uint8_t {
  Invalid,  ///< The user's: what was given is wrong.
  Never,    ///< Nobody's: it cannot be said in a static program.
  NotYet,   ///< Whoever implements the frontend or the device: the work is not done.
  Limit,    ///< Time, memory or devices do not suffice.
  Device,   ///< The device's or its plugin's.
  Internal, ///< Ours.
  Stopped,  ///< Nobody's: somebody asked for it.
};

/// The codes that PJRT and its hosts know, with their numbers.
enum class CanonicalCode : int {
  CANCELLED = 1,
  UNKNOWN,
  INVALID_ARGUMENT,
  DEADLINE_EXCEEDED,
  NOT_FOUND,
  ALREADY_EXISTS,
  PERMISSION_DENIED,
  RESOURCE_EXHAUSTED,
  FAILED_PRECONDITION,
  ABORTED,
  OUT_OF_RANGE,
  UNIMPLEMENTED,
  INTERNAL,
  UNAVAILABLE,
  DATA_LOSS,
  UNAUTHENTICATED,
};

/// One row of the list.
struct ErrorCodeInfo {
  ErrorCode code;
  std::string_view name; ///< `out_of_memory`
  CanonicalCode canonical;
  std::string_view canonicalName; ///< `RESOURCE_EXHAUSTED`
  ErrorKind kind;
  std::string_view meaning;
};
const ErrorCodeInfo &info(ErrorCode code);
/// All rows, in the list's order.
std::span<const ErrorCodeInfo> errorCodes();

inline std::string_view name(ErrorCode code) { return info(code).name; }
inline ErrorKind kindOf(ErrorCode code) { return info(code).kind; }
std::string_view name(ErrorKind kind); ///< `invalid`, `never`, `not yet`, ...

/// The code that a canonical number stands for; Unknown for numbers that are none.
ErrorCode errorCodeOf(int canonical);
/// By the name that records carry. Unknown where there is none of that name.
ErrorCode parseErrorCode(std::string_view name);

/// Where something went wrong, as far as it is known. A message says the same in words.
struct Place {
  std::string location = {};  ///< `file.mlir:3:8`
  std::string operation = {}; ///< `stablehlo.add`, `Conv`
  std::string call = {};      ///< Of an interface: `PJRT_Client_Compile`

  bool isKnown() const { return !location.empty() || !operation.empty() || !call.empty(); }
  bool operator==(const Place &) const = default;
};

struct Error {
  Error(std::string message, Place place = {})
      : message(std::move(message)), place(std::move(place)) {}
  Error(ErrorCode code, std::string message, Place place = {})
      : message(std::move(message)), code(code), place(std::move(place)) {}

  std::string message; ///< One line that a user can act on.
  ErrorCode code = ErrorCode::InvalidArgument;
  Place place;

  /// The same error with `WHERE: ` before its message.
  Error within(std::string_view where) const {
    return Error(code, std::string(where) + ": " + message, place);
  }
  /// The same error as another kind of trouble: what is wrong with a file may make a program
  /// unsupported.
  Error as(ErrorCode other) const { return Error(other, message, place); }
};

/// Either a value or the error that kept us from having it.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Error error) : state(std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  const Error &error() const { return *std::get_if<1>(&state); }
  const std::string &message() const { return error().message; }

private:
  std::variant<T, Error> state;
};

/// Success, or the error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : state(std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  const Error &error() const { return *std::get_if<1>(&state); }
  const std::string &message() const { return error().message; }

private:
  std::variant<std::monostate, Error> state;
};

/// Prints `cupel VERB: error: MESSAGE` on standard error and returns `code`.
int reportError(std::string_view verb, std::string_view message, ExitCode code);

} // namespace cupel
