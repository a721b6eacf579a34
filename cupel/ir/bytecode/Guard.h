// Decides whether MLIR 19's bytecode reader can be trusted with a file. That reader, in a build
// without assertions, reserves memory by counts found in the file, indexes without looking and
// recurses without bound; the guard checks the whole structure first (data blobs are skipped over,
// not read). Every reader of bytecode in Cupel goes through it, by way of Prepare.h.
#pragma once

#include "cupel/ir/bytecode/Container.h"

namespace cupel::bytecode {

struct GuardResult {
  Problem problem;
  /// The file is sound, but holds entries that MLIR 19 does not know and Rewrite.h can express
  /// otherwise.
  bool needsRewrite = false;
  /// What the memory that holds the file must be aligned to.
  uint64_t alignment = 1;

  bool ok() const { return !problem.found(); }
};

/// Checks a whole file of bytecode versions 0 to 6.
GuardResult check(Bytes file, const Limits &limits = {});

} // namespace cupel::bytecode
