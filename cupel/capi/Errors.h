// How functions of the C API hand over what went wrong.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

namespace cupel::capi {

/// Copies the message for the caller, who frees it. Returns null, as a failing function does.
inline std::nullptr_t failed(char **error, const std::string &message) {
  if (error)
    *error = strdup(message.c_str());
  return nullptr;
}

} // namespace cupel::capi
