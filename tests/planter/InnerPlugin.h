// The plugin that a planter stands before: our own, which lies beside it, or the one that
// CUPEL_PLANTER_INNER names. For planters alone; each shared library has its own copy of this.
#pragma once

#include "cupel/pjrt/c_api.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace cupel::planter {

inline std::string innerFile() {
  if (const char *chosen = std::getenv("CUPEL_PLANTER_INNER"))
    return chosen;
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&innerFile), &info))
    return "pjrt_plugin_cupel.so";
  std::string path = info.dli_fname;
  return path.substr(0, path.find_last_of('/') + 1) + "pjrt_plugin_cupel.so";
}

/// Its functions, and a copy of them in `own` for the planter to put its own over; null where it
/// cannot be loaded, which is said on standard error.
inline const PJRT_Api *loadInner(PJRT_Api &own) {
  void *library = dlopen(innerFile().c_str(), RTLD_NOW | RTLD_LOCAL);
  auto *entry = library ? reinterpret_cast<const PJRT_Api *(*)()>(dlsym(library, "GetPjrtApi"))
                        : nullptr;
  if (!entry) {
    std::fprintf(stderr, "planter: %s\n", dlerror());
    return nullptr;
  }
  const PJRT_Api *inner = entry();
  std::memcpy(&own, inner, std::min(inner->struct_size, sizeof own));
  return inner;
}

} // namespace cupel::planter
