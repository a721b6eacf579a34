// A map's body along one row: what is the same for the whole row is loaded and computed once before
// it, the rest for each vector. Shared by maps, reductions and epilogues.

#pragma once

#include "cupel/compiler/codegen/Body.h"
#include "cupel/compiler/codegen/Loops.h"

#include "llvm/ADT/DenseSet.h"

namespace cupel::codegen {

class RowOfMap {
public:
  /// `rows` are the body's arguments; `outer` is how many dimensions of their views lie before the
  /// row. Emits what the whole row shares.
  RowOfMap(Emitter &e, const BodyOps &body, ArrayRef<RowAccess> rows, size_t outer) : body(body) {
    for (auto [argument, row] : llvm::zip(body.block().getArguments(), rows)) {
      if (isScalarAlongRow(*row.view, outer)) {
        values[argument] = loadScalar(e, row);
      } else {
        in.push_back(row);
        loaded.push_back(argument);
      }
    }
    for (mlir::Operation *op : body.operations()) {
      auto isThere = [&](mlir::Value value) { return values.contains(value); };
      if (!llvm::all_of(body.operandsOf(op), isThere))
        continue;
      emitOperation(e, body, op, values, /*changes=*/false);
      shared.insert(op);
    }
  }

  /// Results for the vector at i, of which elements below `end` exist.
  SmallVector<V> compute(Emitter &e, V i, V end, bool whole) {
    for (auto [argument, value] : llvm::zip(loaded, loadVectors(e, in, i, end, whole)))
      values[argument] = value;
    for (mlir::Operation *op : body.operations())
      if (!shared.contains(op))
        emitOperation(e, body, op, values, /*changes=*/true);
    SmallVector<V> results;
    for (mlir::Value result : body.end()->getOperands())
      results.push_back(values.lookup(result));
    return results;
  }

private:
  const BodyOps &body;
  Values values;
  llvm::DenseSet<mlir::Operation *> shared;
  SmallVector<RowAccess> in;
  SmallVector<mlir::Value> loaded;
};

} // namespace cupel::codegen
