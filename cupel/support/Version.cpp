#include "cupel/support/Version.h"

namespace cupel {

std::string_view version() { return CUPEL_VERSION; }

std::string_view compilerVersion() { return __VERSION__; }

std::string_view buildKind() {
#if defined(CUPEL_SANITIZED) && __has_feature(thread_sanitizer)
  return "tsan";
#elif defined(CUPEL_SANITIZED)
  return "asan";
#elif defined(NDEBUG)
  return "release";
#else
  return "debug";
#endif
}

std::string_view llvmRoot() { return CUPEL_LLVM_ROOT; }

} // namespace cupel
