#include "cupel/cli/RewriteWatch.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/MLIRContext.h>

namespace cupel::cli {

RewriteWatch::RewriteWatch(mlir::MLIRContext &context, int64_t limit, bool prints)
    : context(context), wasThreaded(context.isMultithreadingEnabled()), isLimited(limit >= 0),
      prints(prints) {
  if (!isLimited && !prints)
    return;
  context.disableMultithreading(); // Rewrites are counted in one order.
  counter.emplace(context, limit);
}

RewriteWatch::~RewriteWatch() {
  if (!counter)
    return;
  if (prints)
    for (const compiler::Rewrite &one : counter->all())
      llvm::errs() << compiler::describe(one) << "\n";
  llvm::errs() << "rewrites: " << counter->summary() << "\n";
  if (const compiler::Rewrite *last = counter->last(); last && isLimited)
    llvm::errs() << "the last: " << compiler::describe(*last) << "\n";
  counter.reset();
  context.enableMultithreading(wasThreaded);
}

} // namespace cupel::cli
