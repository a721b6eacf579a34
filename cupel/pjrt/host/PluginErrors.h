// How the host says why a plugin did not do what it was asked: the plugin's own error with its
// code, an answer that breaks the rules of the API (BadAnswer), silence until the deadline
// (NoAnswer), a function that is not there (FunctionMissing), a library that is no plugin
// (PluginNotLoadable), or something that was never put to the plugin (Host). Nothing here throws.
#pragma once

#include "cupel/support/Error.h"

#include <chrono>
#include <string>
#include <string_view>

namespace cupel::pjrt {

/// One line: "PJRT_Client_Compile: INVALID_ARGUMENT: ..."; `call` may be empty. The plugin's
/// message may have many lines.
Error callError(ErrorCode code, std::string_view call, std::string_view message);

/// The same error as that of another call.
Error errorOf(const Error &error, std::string_view call);

/// Whether the plugin itself returned the error.
bool isPluginsOwn(const Error &error);

/// A short name for tables: "invalid_argument", "bad_answer", "deadline_exceeded", ...
std::string errorClass(const Error &error);

/// When waiting ends.
using Deadline = std::chrono::steady_clock::time_point;
inline Deadline deadlineIn(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

} // namespace cupel::pjrt
