// Rewrites that a pass may do or leave: each asks `mayRewrite` once it has found that it would do
// something and before it does. Whoever bisects a wrong result counts them in the order in which
// they ask and stops after some; otherwise all may. What a later stage cannot do without never asks,
// and neither does erasing what nobody needs.

#pragma once

#include "mlir/IR/Operation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::compiler {

/// Whether the rewrite of this name may be done, which begins at `op`.
bool mayRewrite(mlir::Operation *op, llvm::StringRef pattern);

/// One that was asked for.
struct Rewrite {
  int64_t number; // From 1 on.
  std::string pass, pattern, operation, location;
  bool isDone;
};

/// "rewrite 3: pass form-maps, pattern map at stablehlo.add (model.mlir:3:8)"; what was left says so.
std::string describe(const Rewrite &rewrite);

/// Counts the rewrites that passes over a context's programs ask for while it lives, and lets the
/// first `limit` happen. One at a time for a context, whose passes must run in one thread.
class RewriteCounter {
public:
  static constexpr int64_t kNoLimit = -1;

  RewriteCounter(mlir::MLIRContext &context, int64_t limit);
  ~RewriteCounter();
  RewriteCounter(const RewriteCounter &) = delete;
  RewriteCounter &operator=(const RewriteCounter &) = delete;

  const std::vector<Rewrite> &all() const { return asked; }
  int64_t done() const;
  /// The last that was done; null if none was.
  const Rewrite *last() const;
  /// "12 of 34".
  std::string summary() const;

private:
  mlir::MLIRContext &context;
  int64_t limit;
  std::string pass; // The one that runs.
  std::vector<Rewrite> asked;
};

} // namespace cupel::compiler
