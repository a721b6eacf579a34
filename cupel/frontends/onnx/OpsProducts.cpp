// Matrix products: MatMul, Gemm, Einsum, MatMulInteger, Det.

#include "cupel/frontends/math/Einsum.h"
#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

Status checkProduct(Node &n, Value x, Value y) {
  ArrayRef<int64_t> a = HloBuilder::shapeOf(x), b = HloBuilder::shapeOf(y);
  if (a.empty() || b.empty())
    return n.error("does not take scalars");
  if (a.back() != (b.size() == 1 ? b[0] : b[b.size() - 2]))
    return n.error("its operands' inner sizes differ");
  if (a.size() > 2 && b.size() > 2 && !HloBuilder::broadcastShape(a.drop_back(2), b.drop_back(2)))
    return n.error("its operands' batches do not broadcast");
  return {};
}

Status lowerMatMul(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  if (n.element(0) != n.element(1))
    return n.error("its operands differ in element type");
  ONNX_TRY(checkProduct(n, n.in(0), n.in(1)));
  n.out(0, n.b.matmul(n.in(0), n.in(1)));
  return {};
}

Status lowerGemm(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  HloBuilder &b = n.b;
  Value x = n.in(0), y = n.in(1);
  if (HloBuilder::rankOf(x) != 2 || HloBuilder::rankOf(y) != 2)
    return n.error("takes matrices");
  if (n.integer("transA", 0))
    x = b.transpose(x, {1, 0});
  if (n.integer("transB", 0))
    y = b.transpose(y, {1, 0});
  ONNX_TRY(checkProduct(n, x, y));
  Value product = b.matmul(x, y);
  if (double alpha = n.real("alpha", 1); alpha != 1)
    product = b.multiply(product, b.like(product, alpha));
  if (n.has(2)) {
    Value c = n.in(2);
    if (double beta = n.real("beta", 1); beta != 1)
      c = b.multiply(c, b.like(c, beta));
    std::optional<Dims> shape =
        HloBuilder::broadcastShape(HloBuilder::shapeOf(product), HloBuilder::shapeOf(c));
    if (!shape || ArrayRef<int64_t>(*shape) != HloBuilder::shapeOf(product))
      return n.error("its third operand does not broadcast to the product");
    product = b.add(product, c);
  }
  n.out(0, product);
  return {};
}

Status lowerEinsum(Node &n) {
  ONNX_TRY(n.expect(1));
  SmallVector<Value> operands;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    if (!n.has(i))
      return n.error("lacks operand " + std::to_string(i));
    operands.push_back(n.in(i));
  }
  Result<Value> made = einsum(n.b, n.text("equation", ""), operands);
  if (!made)
    return n.error(made.message());
  n.out(0, *made);
  return {};
}

/// By elimination with the largest pivot, one column after another.
Status lowerDet(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  int64_t rank = n.rank(0);
  if (rank < 2 || n.shape(0)[rank - 1] != n.shape(0)[rank - 2])
    return n.error("takes square matrices");
  int64_t size = n.shape(0)[rank - 1];
  if (size > 64)
    return n.refuse(ErrorCode::NotYet, "matrices beyond 64 rows are not unrolled");
  Dims outer(n.shape(0).drop_back(2));
  int64_t batch = 1;
  for (int64_t d : outer)
    batch *= d;
  Value m = b.reshape(n.in(0), {batch, size, size});
  Value result = b.splat(1, n.element(0), {batch});
  for (int64_t k = 0; k < size; ++k) {
    int64_t rest = size - k;
    Value column = b.reshape(b.sliceDim(m, 2, 0, 1), {batch, rest});
    Value pivot = b.argExtreme(b.abs(column), 1, true, false, b.i64(), true); // [batch, 1]
    Value isPivot = b.equal(b.iota({batch, rest}, 1, b.i64()), pivot);
    Value mask = b.broadcastInDim(isPivot, {batch, rest, rest}, {0, 1});
    Value row = b.reduce(b.select(mask, m, b.like(m, 0)), {1}, Fold::Add, true);
    Value value = b.reshape(b.sliceDim(row, 2, 0, 1), {batch});
    Value swapped = b.notEqual(b.reshape(pivot, {batch}), b.splatInteger(0, b.i64(), {batch}));
    result = b.multiply(result, b.select(swapped, b.negate(value), value));
    if (rest == 1)
      break;
    // The first row takes the pivot's place, then both the first row and column are left.
    Value first = b.sliceDim(m, 1, 0, 1);
    m = b.select(mask, b.broadcastTo(first, {batch, rest, rest}), m);
    Value zero = b.equal(value, b.like(value, 0));
    Value safe = b.select(zero, b.like(value, 1), value);
    Value below = b.sliceDim(m, 1, 1, rest);
    Value factor = b.divide(b.sliceDim(below, 2, 0, 1), b.reshape(safe, {batch, 1, 1}));
    m = b.sliceDim(b.subtract(below, b.multiply(factor, row)), 2, 1, rest);
  }
  n.out(0, b.reshape(result, outer));
  return {};
}

} // namespace

void registerProducts(OpTable &table) {
  table.add("MatMul", 1, lowerMatMul);
  table.add("Gemm", 1, lowerGemm);
  table.add("Einsum", 12, lowerEinsum);
  table.add("Det", 11, lowerDet);
}

} // namespace cupel::frontends::onnx_import
