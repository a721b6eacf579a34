// Epilogues: a rectangular block of a product's result, in place or into a result of another type. A vector of columns is taken from
// the first row to the last, so that what is the same for all rows (a bias, the scale of a
// normalisation) is loaded and computed once for them.

#include "cupel/compiler/codegen/Plans.h"

#include "cupel/compiler/codegen/Body.h"
#include "cupel/compiler/codegen/Loops.h"

#include "llvm/ADT/DenseSet.h"

namespace cupel::codegen {
namespace {

constexpr int64_t kMostRowsAhead = 16;

/// What the arguments of the emitted function are.
struct BlockArguments {
  V c, ldc, row, rows, column, columns;
  SmallVector<V> operands;
};

BlockArguments beginBlock(Emitter &e, size_t count) {
  llvm::Type *pointer = e.getPtrTy(), *number = e.getInt64Ty();
  llvm::Function *function =
      e.beginFunction("block", {pointer, pointer, number, number, number, number, number});
  auto argument = [&](unsigned i) { return function->getArg(i); };
  BlockArguments block{argument(1), argument(2), argument(3), argument(4),
                       argument(5), argument(6), {}};
  for (size_t k = 0; k < count; ++k)
    block.operands.push_back(
        e.CreateLoad(pointer, e.at(argument(0), pointer, e.i64(static_cast<int64_t>(k)))));
  return block;
}

/// An operand at one row of the whole result, from the block's first column on.
RowAccess operandAt(Emitter &e, const BlockArguments &block, const View &view, V operand, V row) {
  RowAccess access = rowAccess(e, view, operand, row);
  V skipped = e.CreateMul(block.column, e.i64(view.strides[1]));
  access.base = e.CreateGEP(e.storageType(view.type), access.base, skipped);
  return access;
}

} // namespace

void emitBlockMap(Emitter &e, const BlockMap &kernel) {
  BlockArguments block = beginBlock(e, kernel.operands.size() + (kernel.result ? 1 : 0));
  BodyOps body(*kernel.body);
  View own;
  own.type = kernel.element;
  own.strides = {0, 1};
  e.loop(e.i64(0), block.columns, e.lanes, [&](V i) {
    Values values;
    auto read = [&](mlir::Value argument, const RowAccess &access) {
      values[argument] = isScalarAlongRow(*access.view, 1)
                             ? loadScalar(e, access)
                             : loadVectors(e, {access}, i, block.columns, false)[0];
    };
    // What all rows share.
    SmallVector<size_t> changing;
    for (size_t k = 0; k < kernel.operands.size(); ++k) {
      const View &view = kernel.operands[k];
      if (view.strides[0] == 0 && view.valid.empty())
        read(kernel.body->getArgument(static_cast<unsigned>(k) + 1),
             operandAt(e, block, view, block.operands[k], e.i64(0)));
      else
        changing.push_back(k);
    }
    llvm::DenseSet<mlir::Operation *> shared;
    for (mlir::Operation *op : body.operations()) {
      auto isThere = [&](mlir::Value value) { return values.contains(value); };
      if (!llvm::all_of(body.operandsOf(op), isThere))
        continue;
      emitOperation(e, body, op, values, /*changes=*/false);
      shared.insert(op);
    }
    const Values ahead = values;
    // The next block is most often made of the rows below, and its operands lie too far apart for the processor to
    // see them coming.
    V below = e.CreateAdd(block.row, e.CreateBinaryIntrinsic(llvm::Intrinsic::umin, block.rows, e.i64(kMostRowsAhead)));
    auto fetchBelow = [&](size_t k, V r) {
      const View &view = kernel.operands[k];
      if (!view.valid.empty() || view.strides[1] != 1)
        return;
      fetchAhead(e, operandAt(e, block, view, block.operands[k], e.CreateAdd(below, r)), i);
    };
    e.loop(e.i64(0), block.rows, 1, [&](V r) {
      values = ahead;
      RowAccess element{&own, 1, e.at(block.c, e.storageType(own.type), e.CreateMul(r, block.ldc))};
      read(kernel.body->getArgument(0), element);
      for (size_t k : changing) {
        read(kernel.body->getArgument(static_cast<unsigned>(k) + 1),
             operandAt(e, block, kernel.operands[k], block.operands[k],
                       e.CreateAdd(block.row, r)));
        fetchBelow(k, r);
      }
      for (mlir::Operation *op : body.operations())
        if (!shared.contains(op))
          emitOperation(e, body, op, values, /*changes=*/true);
      RowAccess result = element;
      if (kernel.result)
        result = operandAt(e, block, *kernel.result, block.operands.back(), e.CreateAdd(block.row, r));
      storeVectors(e, result, values.lookup(body.end()->getOperand(0)), i, block.columns, false);
    });
  });
  e.CreateRetVoid();
}

} // namespace cupel::codegen
