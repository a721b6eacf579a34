// Epilogues: a rectangular block of a product's result, row by row, in place.

#include "cupel/compiler/codegen/Plans.h"
#include "cupel/compiler/codegen/RowOfMap.h"

namespace cupel::codegen {

void emitBlockMap(Emitter &e, const BlockMap &kernel) {
  llvm::Type *pointer = e.getPtrTy(), *number = e.getInt64Ty();
  llvm::Function *function =
      e.beginFunction("block", {pointer, pointer, number, number, number, number, number});
  auto argument = [&](unsigned i) { return function->getArg(i); };
  V c = argument(1), ldc = argument(2), row = argument(3), rows = argument(4);
  V column = argument(5), columns = argument(6);
  SmallVector<V> operands;
  for (size_t k = 0; k < kernel.operands.size(); ++k)
    operands.push_back(
        e.CreateLoad(pointer, e.at(argument(0), pointer, e.i64(static_cast<int64_t>(k)))));
  View block;
  block.strides = {0, 1};
  e.loop(e.i64(0), rows, 1, [&](V r) {
    RowAccess result{&block, 1, e.at(c, e.getFloatTy(), e.CreateMul(r, ldc))};
    SmallVector<RowAccess> in{result};
    for (auto [view, operand] : llvm::zip(kernel.operands, operands)) {
      RowAccess access = rowAccess(e, view, operand, e.CreateAdd(row, r));
      // Column 0 of the block is `column` of the whole.
      V skipped = e.CreateMul(column, e.i64(view.strides[1]));
      access.base = e.CreateGEP(e.storageType(view.type), access.base, skipped);
      in.push_back(access);
    }
    RowOfMap map(e, *kernel.body, in, 1);
    e.loop(e.i64(0), columns, e.lanes, [&](V i) {
      storeVectors(e, result, map.compute(e, i, columns, false), i, columns, false);
    });
  });
  e.CreateRetVoid();
}

} // namespace cupel::codegen
