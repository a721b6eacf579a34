// Rows of different lengths that lie one behind the other, and the same padded to one length: what
// jagged nested tensors become where a model is traced.

#include "cupel/frontends/torch/ops/Lowering.h"
#include "cupel/frontends/torch/ops/Shapes.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

/// Where each row begins, and one more: the end of the last. Null after a complaint.
Value offsetsOf(Node &n) {
  SmallVector<Value> offsets = n.list("offsets");
  if (n.failed())
    return {};
  if (offsets.size() != 1 || !offsets[0]) {
    n.notYet("rows of rows");
    return {};
  }
  if (H::rankOf(offsets[0]) != 1 || H::countOf(offsets[0]) < 2) {
    n.fail("offsets should be one dimension, of a row and more");
    return {};
  }
  return n.b.convert(offsets[0], n.b.i64());
}

/// `condition` has the first dimensions of `x`.
Value selectRows(HloBuilder &b, Value condition, Value x, double otherwise) {
  Dims shape(H::shapeOf(condition));
  shape.resize(H::rankOf(x), 1);
  Value wide = b.broadcastTo(b.reshape(condition, shape), H::shapeOf(x));
  return b.select(wide, x, b.like(x, otherwise));
}

/// values [places, ...] as [rows, length, ...]; a row that is longer loses its end.
void lowerPad(Node &n) {
  HloBuilder &b = n.b;
  Value values = n.in("values"), offsets = offsetsOf(n);
  Dims lengths = n.integers("max_lengths");
  double padding = n.real("padding_value");
  if (n.failed())
    return;
  if (lengths.size() != 1 || H::rankOf(values) < 1)
    return n.fail("takes one length, and values of a dimension and more");
  int64_t rows = H::countOf(offsets) - 1, length = lengths[0], places = H::shapeOf(values)[0];
  if (emptyResult(n))
    return;
  if (places == 0)
    return n.out(b.splat(padding, n.resultElement(), n.resultShape()));
  auto bound = [&](int64_t from) {
    return b.broadcastTo(b.reshape(b.sliceDim(offsets, 0, from, from + rows), {rows, 1}),
                         {rows, length});
  };
  Value place = b.add(bound(0), b.iota({rows, length}, 1, b.i64()));
  Value taken = b.take(values, b.minimum(place, b.like(place, double(places - 1))), 0);
  n.out(selectRows(b, b.less(place, bound(1)), taken, padding));
}

/// dense [rows, length, ...] without its padding: [places, ...]; zeros where a row was longer.
void lowerUnpad(Node &n) {
  HloBuilder &b = n.b;
  Value dense = n.in("dense"), offsets = offsetsOf(n);
  if (n.failed())
    return;
  if (H::rankOf(dense) < 2 || H::countOf(offsets) != H::shapeOf(dense)[0] + 1)
    return n.fail("offsets do not fit the padded rows");
  if (emptyResult(n))
    return;
  Dims shape(H::shapeOf(dense));
  int64_t rows = shape[0], length = shape[1], places = n.resultShape()[0];
  if (length == 0)
    return n.out(b.splat(0, n.resultElement(), n.resultShape()));
  // The row of a place: as many ends as are not behind it.
  Value ends = b.broadcastTo(b.reshape(b.sliceDim(offsets, 0, 1, rows + 1), {1, rows}),
                             {places, rows});
  Value passed = b.lessEqual(ends, b.iota({places, rows}, 0, b.i64()));
  Value row = b.reduce(b.convert(passed, b.i64()), {1}, Fold::Add);
  row = b.minimum(row, b.like(row, double(rows - 1)));
  Value within = b.subtract(b.iota({places}, 0, b.i64()), b.take(offsets, row, 0));
  Value last = b.like(within, double(length - 1));
  Value flat = b.add(b.multiply(row, b.like(row, double(length))), b.minimum(within, last));
  Dims merged{rows * length};
  merged.append(shape.begin() + 2, shape.end());
  Value taken = b.take(b.reshape(dense, merged), flat, 0);
  n.out(selectRows(b, b.lessEqual(within, last), taken, 0));
}

} // namespace

void registerJagged(OpTable &table) {
  table.add("aten._jagged_to_padded_dense_forward", lowerPad);
  table.add("aten._padded_dense_to_jagged_forward", lowerUnpad);
}

} // namespace cupel::frontends::torch_import
