// Which Cupel this is and what it was built with. Shown by `cupel version` and `cupel doctor`.
#pragma once

#include <string_view>

namespace cupel {

/// The version of Cupel, `X.Y.Z`.
std::string_view version();

/// The compiler Cupel was built with.
std::string_view compilerVersion();

/// How it was built: `release`, `debug` or `asan`.
std::string_view buildKind();

/// The prefix of the LLVM and MLIR installation Cupel was built against.
std::string_view llvmRoot();

} // namespace cupel
