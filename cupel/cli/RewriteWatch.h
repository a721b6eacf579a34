// How verbs that run passes limit, count and print the rewrites that passes may leave: --opt-bisect-limit
// and --print-rewrites.
#pragma once

#include "cupel/compiler/rewrites/Rewrites.h"

#include <optional>

namespace cupel::cli {

/// While it lives, passes over the context's programs do the first `limit` rewrites; at the end
/// standard error says which. Without a limit (-1) and without a wish to print, nobody counts.
class RewriteWatch {
public:
  RewriteWatch(mlir::MLIRContext &context, int64_t limit, bool prints);
  ~RewriteWatch();

private:
  mlir::MLIRContext &context;
  bool wasThreaded, isLimited, prints;
  std::optional<compiler::RewriteCounter> counter;
};

} // namespace cupel::cli
