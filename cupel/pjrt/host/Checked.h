// Checks of what a plugin answers, shared by the parts of the host: strings and arrays that come as
// a pointer and a count.
#pragma once

#include "cupel/pjrt/host/Plugin.h"

#include <fmt/format.h>
#include <span>

namespace cupel::pjrt {

/// Longer lists than any machine has are garbled answers.
inline constexpr size_t kMostHandles = 1 << 20;

inline Result<std::string> checkedString(std::string_view call, const char *text, size_t size) {
  if (size == 0)
    return std::string();
  if (!text)
    return Plugin::badAnswer(call, fmt::format("answered a null string of {} characters", size));
  if (size > (size_t(1) << 30))
    return Plugin::badAnswer(call, fmt::format("answered a string of {} characters", size));
  return std::string(text, size);
}

/// A list of handles, none of which may be null.
template <typename Handle>
Result<std::span<Handle *const>> checkedHandles(std::string_view call, Handle *const *handles,
                                                size_t count, std::string_view what) {
  if (count == 0)
    return std::span<Handle *const>();
  if (!handles)
    return Plugin::badAnswer(call, fmt::format("answered {} {} in a null list", count, what));
  if (count > kMostHandles)
    return Plugin::badAnswer(call, fmt::format("answered {} {}, which cannot be", count, what));
  for (size_t i = 0; i < count; ++i)
    if (!handles[i])
      return Plugin::badAnswer(call, fmt::format("number {} of its {} {} is null", i, count, what));
  return std::span(handles, count);
}

/// Whether an error only says that the plugin does not have this.
inline bool isUnimplemented(const Error &error) {
  return error.code == ErrorCode::FunctionMissing || error.code == ErrorCode::Unsupported;
}

} // namespace cupel::pjrt
