// Products of vectors, matrices and stacks of them; linear layers; einsum.

#include "cupel/frontends/math/Einsum.h"
#include "cupel/frontends/torch/ops/Algebra.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {

using namespace mlir;

Value matmul(HloBuilder &b, Value x, Value y) { return b.matmul(x, y); }

namespace {

using H = HloBuilder;

/// What the result is computed in.
Type wide(Node &n) { return n.computeType(n.resultElement()); }

/// Whether both can be multiplied as matmul does; complains if not.
bool canMultiply(Node &n, Value x, Value y) {
  if (n.failed())
    return false;
  ArrayRef<int64_t> a = H::shapeOf(x), c = H::shapeOf(y);
  bool fits = !a.empty() && !c.empty() && a.back() == (c.size() == 1 ? c[0] : c[c.size() - 2]);
  if (fits && a.size() > 2 && c.size() > 2)
    fits = H::broadcastShape(a.drop_back(2), c.drop_back(2)).has_value();
  if (!fits)
    n.fail("these matrices cannot be multiplied");
  return fits;
}

void outProduct(Node &n, Value x, Value y) {
  if (canMultiply(n, x, y))
    n.out(matmul(n.b, x, y));
}

void lowerMatmul(Node &n, StringRef first, StringRef second) {
  outProduct(n, n.in(first, wide(n)), n.in(second, wide(n)));
}

/// beta * self + alpha * product; self counts for nothing if beta is 0.
void outScaledSum(Node &n, Value product) {
  HloBuilder &b = n.b;
  Type type = H::elementOf(product);
  auto scaled = [&](Value x, StringRef factor) {
    if (n.scalar(factor).number == 1.0)
      return x;
    return b.multiply(x, n.in(factor, type));
  };
  product = scaled(product, "alpha");
  if (n.scalar("beta").number != 0.0) {
    Value self = n.in("self", type);
    if (!H::broadcastShape(H::shapeOf(self), H::shapeOf(product)))
      return n.fail("self does not broadcast to the product");
    product = b.add(scaled(self, "beta"), product);
  }
  n.out(product);
}

void lowerScaledProduct(Node &n, StringRef first, StringRef second) {
  Value x = n.in(first, wide(n)), y = n.in(second, wide(n));
  if (canMultiply(n, x, y))
    outScaledSum(n, matmul(n.b, x, y));
}

void lowerAddmmActivation(Node &n) {
  HloBuilder &b = n.b;
  if (n.flag("use_gelu"))
    return n.notYet("use_gelu");
  Value x = n.in("mat1", wide(n)), y = n.in("mat2", wide(n)), self = n.in("self", wide(n));
  if (!canMultiply(n, x, y))
    return;
  Value sum = b.add(b.multiply(self, n.in("beta", wide(n))),
                    b.multiply(matmul(b, x, y), n.in("alpha", wide(n))));
  n.out(b.maximum(sum, b.like(sum, 0)));
}

void lowerAddbmm(Node &n) {
  Value x = n.in("batch1", wide(n)), y = n.in("batch2", wide(n));
  if (!canMultiply(n, x, y))
    return;
  outScaledSum(n, n.b.dotGeneral(x, y, {}, {}, {0, 2}, {0, 1}));
}

void lowerAddr(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("vec1", wide(n)), y = n.in("vec2", wide(n));
  if (n.failed())
    return;
  if (n.resultElement().isInteger(1)) { // Logical: beta and self, or alpha and both.
    Value both = b.logicalAnd(b.unsqueeze(x, 1), b.unsqueeze(y, 0));
    Value product = b.logicalAnd(both, n.in("alpha", b.i1()));
    return n.out(
        n.scalar("beta").number == 0.0
            ? product
            : b.logicalOr(b.logicalAnd(n.in("self", b.i1()), n.in("beta", b.i1())), product));
  }
  outScaledSum(n, b.multiply(b.unsqueeze(x, 1), b.unsqueeze(y, 0)));
}

void lowerOuter(Node &n) {
  Value x = n.in("self", wide(n)), y = n.in("vec2", wide(n));
  n.out(n.b.multiply(n.b.unsqueeze(x, 1), n.b.unsqueeze(y, 0)));
}

void lowerVdot(Node &n) {
  outProduct(n, conjugate(n.b, n.in("self", wide(n))), n.in("other", wide(n)));
}

void lowerLinear(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("input", wide(n)), w = n.in("weight", wide(n));
  if (n.failed())
    return;
  int64_t rank = H::rankOf(x), columns = H::rankOf(w);
  if (rank < 1 || columns < 1 || columns > 2 || H::shapeOf(x).back() != H::shapeOf(w).back())
    return n.fail("the weight does not fit the input");
  Value y = b.dotGeneral(x, w, {}, {}, {rank - 1}, {columns - 1});
  if (n.has("bias"))
    y = b.add(y, n.in("bias", wide(n)));
  n.out(y);
}

void lowerBilinear(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("input1", wide(n)), y = n.in("input2", wide(n)), w = n.in("weight", wide(n));
  if (n.failed())
    return;
  int64_t rank = H::rankOf(x);
  Dims batch(H::shapeOf(x).drop_back()), flat;
  int64_t rows = 1;
  for (int64_t size : batch)
    rows *= size;
  x = b.reshape(x, {rows, H::shapeOf(x)[rank - 1]});
  y = b.reshape(y, {rows, H::shapeOf(y).back()});
  Value left = b.dotGeneral(x, w, {}, {}, {1}, {1});     // [rows, out, in2]
  Value sum = b.dotGeneral(left, y, {0}, {0}, {2}, {1}); // [rows, out]
  if (n.has("bias"))
    sum = b.add(sum, n.in("bias", wide(n)));
  batch.push_back(H::shapeOf(w)[0]);
  n.out(b.reshape(sum, batch));
}

void lowerTrilinear(Node &n) {
  HloBuilder &b = n.b;
  auto expanded = [&](StringRef name, StringRef at) {
    Value x = n.in(name, wide(n));
    for (int64_t dimension : n.integers(at))
      x = b.unsqueeze(x, dimension);
    return x;
  };
  Value product = b.multiply(b.multiply(expanded("i1", "expand1"), expanded("i2", "expand2")),
                             expanded("i3", "expand3"));
  n.out(b.reduce(product, n.dims("sumdim", H::rankOf(product), false), Fold::Add));
}

/// Sums over pairs of dimensions; one of size 1 goes with every size.
Value tensordot(HloBuilder &b, Value x, Value y, Dims left, Dims right) {
  for (size_t i = 0; i < left.size(); ++i) {
    int64_t p = H::shapeOf(x)[left[i]], q = H::shapeOf(y)[right[i]];
    if (p == q)
      continue;
    if (p == 1)
      y = b.reduce(y, {right[i]}, Fold::Add, true);
    else
      x = b.reduce(x, {left[i]}, Fold::Add, true);
  }
  return b.dotGeneral(x, y, {}, {}, left, right);
}

void lowerTensordot(Node &n) {
  Value x = n.in("self", wide(n)), y = n.in("other", wide(n));
  Dims left = n.dims("dims_self", H::rankOf(x), false),
       right = n.dims("dims_other", H::rankOf(y), false);
  if (left.size() != right.size())
    return n.fail("dims_self and dims_other differ in length");
  n.out(tensordot(n.b, x, y, left, right));
}

void lowerInner(Node &n) {
  Value x = n.in("self", wide(n)), y = n.in("other", wide(n));
  int64_t left = H::rankOf(x), right = H::rankOf(y);
  if (left == 0 || right == 0)
    return n.out(n.b.multiply(x, y));
  n.out(tensordot(n.b, x, y, {left - 1}, {right - 1}));
}

void lowerKron(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", wide(n)), y = n.in("other", wide(n));
  int64_t rank = std::max(H::rankOf(x), H::rankOf(y));
  Dims left, right, shape;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t p = i - (rank - H::rankOf(x)), q = i - (rank - H::rankOf(y));
    left.append({p < 0 ? 1 : H::shapeOf(x)[p], 1});
    right.append({1, q < 0 ? 1 : H::shapeOf(y)[q]});
    shape.push_back(left[2 * i] * right[2 * i + 1]);
  }
  n.out(b.reshape(b.multiply(b.reshape(x, left), b.reshape(y, right)), shape));
}

void lowerChain(Node &n, StringRef argument) {
  Value product;
  for (Value next : n.list(argument)) {
    if (!next)
      return n.fail(argument.str() + " holds None");
    next = n.b.convert(next, wide(n));
    if (product && !canMultiply(n, product, next))
      return;
    product = product ? matmul(n.b, product, next) : next;
  }
  if (!product)
    return n.fail(argument.str() + " is empty");
  n.out(product);
}

/// Scales of one operand of _scaled_mm: one for all of it, or one for each of its rows (columns of
/// the second operand), which broadcast. Null, with a complaint, where they are of blocks.
Value scalesOf(Node &n, StringRef argument, ArrayRef<int64_t> broadcastable) {
  Value scales = n.in(argument, n.b.f32());
  if (n.failed())
    return nullptr;
  if (H::countOf(scales) == 1)
    return n.b.reshape(scales, {});
  if (H::shapeOf(scales) == broadcastable)
    return scales;
  n.notYet(argument.str() + " has a scale for each block");
  return nullptr;
}

/// Scaled operands are multiplied in f32, as torch's CPU kernel does. scale_result is heeded only
/// where out_dtype names a type of 8 bits, also as there.
void lowerScaledMatmul(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", b.f32()), y = n.in("mat2", b.f32());
  if (!canMultiply(n, x, y))
    return;
  if (H::rankOf(x) != 2 || H::rankOf(y) != 2)
    return n.fail("self and mat2 are no matrices");
  Value left = scalesOf(n, "scale_a", {H::shapeOf(x)[0], 1});
  Value right = scalesOf(n, "scale_b", {1, H::shapeOf(y)[1]});
  if (!left || !right)
    return;
  Value product = matmul(b, b.multiply(x, left), b.multiply(y, right));
  if (n.has("bias"))
    product = b.add(product, n.in("bias", b.f32()));
  Type named = n.dtype("out_dtype");
  if (n.has("scale_result") && named && named.getIntOrFloatBitWidth() == 8)
    product = b.divide(product, b.reshape(n.in("scale_result", b.f32()), {}));
  n.out(product);
}

void lowerMatrixPower(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", wide(n));
  int64_t power = n.integer("n");
  if (n.failed())
    return;
  if (isEmpty(x))
    return n.out(x);
  if (power < 0)
    x = inverseOf(b, x);
  Value result;
  for (uint64_t left = power < 0 ? -uint64_t(power) : power; left; left >>= 1) {
    if (left & 1)
      result = result ? matmul(b, result, x) : x;
    if (left > 1)
      x = matmul(b, x, x);
  }
  n.out(result ? result : identityMatrix(b, H::shapeOf(x), H::elementOf(x)));
}

void lowerEinsum(Node &n) {
  SmallVector<Value> operands;
  for (Value value : n.list("tensors")) {
    if (!value)
      return n.fail("the equation does not fit its operands");
    operands.push_back(n.b.convert(value, wide(n)));
  }
  Result<Value> made = einsum(n.b, n.text("equation"), operands);
  made ? n.out(*made) : n.fail(made.message());
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// [groups, size]: whether a position belongs to a group; `ends` says where each group ends.
Value membersOf(HloBuilder &b, Value ends, int64_t size) {
  int64_t groups = H::shapeOf(ends)[0];
  Value first = b.splatInteger(0, H::elementOf(ends), {1});
  Value starts = b.concatenate({first, b.sliceDim(ends, 0, 0, groups - 1)}, 0);
  Value position = b.iota({groups, size}, 1, H::elementOf(ends));
  auto wholeRow = [&](Value bound) { return b.broadcastInDim(bound, {groups, size}, {0}); };
  return b.logicalAnd(b.greaterEqual(position, wholeRow(starts)),
                      b.less(position, wholeRow(ends)));
}

/// x where its dimensions (group, position) are of the same group, else 0: whatever else x holds,
/// an infinity too, then adds nothing.
Value ofOwnGroup(HloBuilder &b, Value x, Value members, int64_t group, int64_t position) {
  Value own = group < position ? members : b.transpose(members, {1, 0});
  Dims at = {std::min(group, position), std::max(group, position)};
  return b.select(b.broadcastInDim(own, H::shapeOf(x), at), x, b.like(x, 0));
}

/// A matrix whose rows, columns or inner dimension falls into groups, each with a product of its
/// own. What torch leaves unwritten (past the last group) is 0.
void lowerGroupedProduct(Node &n) {
  HloBuilder &b = n.b;
  if (n.has("bias"))
    return n.notYet("bias");
  Value x = n.in("self", wide(n)), y = n.in("mat2", wide(n));
  if (n.failed())
    return;
  int64_t left = H::rankOf(x), right = H::rankOf(y);
  if (left < 2 || left > 3 || right < 2 || right > 3 || (left == 3 && right == 3) == n.has("offs"))
    return n.fail("self, mat2 and offs do not go together");
  if (left == 3 && right == 3)
    return outProduct(n, x, y);
  Value ends = n.in("offs", b.i64());
  if (n.failed() || H::rankOf(ends) != 1 || H::shapeOf(ends)[0] == 0)
    return n.fail("offs is no list of ends");
  int64_t groups = H::shapeOf(ends)[0], inner = H::shapeOf(x)[left - 1];
  bool fits = inner == H::shapeOf(y)[right - 2];
  fits &= (left == 2 || H::shapeOf(x)[0] == groups) && (right == 2 || H::shapeOf(y)[0] == groups);
  if (!fits)
    return n.fail("these groups of matrices cannot be multiplied");
  if (left == 2 && right == 2) { // Groups of the inner dimension: one product for each.
    Value members = membersOf(b, ends, inner);
    x = b.broadcastInDim(x, {groups, H::shapeOf(x)[0], inner}, {1, 2});
    y = b.broadcastInDim(y, {groups, inner, H::shapeOf(y)[1]}, {1, 2});
    return n.out(matmul(b, ofOwnGroup(b, x, members, 0, 2), ofOwnGroup(b, y, members, 0, 1)));
  }
  if (left == 2) { // Groups of rows: [rows, group, columns].
    Value all = b.dotGeneral(x, y, {}, {}, {1}, {1});
    Value members = membersOf(b, ends, H::shapeOf(x)[0]);
    return n.out(b.reduce(ofOwnGroup(b, all, members, 1, 0), {1}, Fold::Add));
  }
  Value all = b.dotGeneral(x, y, {}, {}, {2}, {0}); // Groups of columns: [group, rows, columns].
  Value members = membersOf(b, ends, H::shapeOf(y)[1]);
  n.out(b.reduce(ofOwnGroup(b, all, members, 0, 2), {0}, Fold::Add));
}

//===----------------------------------------------------------------------===//
// Vectors along a dimension
//===----------------------------------------------------------------------===//

void lowerVecdot(Node &n) {
  HloBuilder &b = n.b;
  Value x = conjugate(b, n.in("x", wide(n))), y = n.in("y", wide(n));
  if (!H::broadcastShape(H::shapeOf(x), H::shapeOf(y)))
    return n.fail("x and y do not broadcast");
  Value product = b.multiply(x, y);
  n.out(b.reduce(product, {n.dim("dim", H::rankOf(product))}, Fold::Add));
}

void lowerCross(Node &n) {
  HloBuilder &b = n.b;
  // Computed in the type itself, as torch does.
  Type type = n.resultElement();
  Value first = n.in("self", type), second = n.in("other", type);
  if (n.failed() || !H::broadcastShape(H::shapeOf(first), H::shapeOf(second)))
    return n.fail("self and other do not broadcast");
  auto [x, y] = b.broadcastPair(first, second);
  int64_t rank = H::rankOf(x), dimension = -1;
  if (n.has("dim")) {
    dimension = n.dim("dim", rank);
  } else {
    for (int64_t i = rank - 1; i >= 0; --i)
      if (H::shapeOf(x)[i] == 3)
        dimension = i;
  }
  if (dimension < 0 || dimension >= rank || H::shapeOf(x)[dimension] != 3)
    return n.fail("no dimension of size 3");
  auto turned = [&](Value v, int64_t by) {
    Value head = b.sliceDim(v, dimension, by, 3), tail = b.sliceDim(v, dimension, 0, by);
    return b.concatenate({head, tail}, dimension);
  };
  n.out(b.subtract(b.multiply(turned(x, 1), turned(y, 2)), b.multiply(turned(x, 2), turned(y, 1))));
}

} // namespace

void registerProducts(OpTable &table) {
  table.add("aten.mm", [](Node &n) { lowerMatmul(n, "self", "mat2"); });
  table.add("aten.bmm", [](Node &n) { lowerMatmul(n, "self", "mat2"); });
  table.add("aten.mv", [](Node &n) { lowerMatmul(n, "self", "vec"); });
  table.add("aten.dot", [](Node &n) { lowerMatmul(n, "self", "tensor"); });
  table.add("aten.vdot", lowerVdot);
  table.add("aten.matmul", [](Node &n) { lowerMatmul(n, "self", "other"); });
  table.add("aten.linalg_matmul", [](Node &n) { lowerMatmul(n, "self", "other"); });
  table.add("aten.addmm", [](Node &n) { lowerScaledProduct(n, "mat1", "mat2"); });
  table.add("aten._addmm_activation", lowerAddmmActivation);
  table.add("aten.addmv", [](Node &n) { lowerScaledProduct(n, "mat", "vec"); });
  table.add("aten.baddbmm", [](Node &n) { lowerScaledProduct(n, "batch1", "batch2"); });
  table.add("aten.addbmm", lowerAddbmm);
  table.add("aten.addr", lowerAddr);
  table.add("aten.outer", lowerOuter);
  table.add("aten.ger", lowerOuter);
  table.add("aten.inner", lowerInner);
  table.add("aten.tensordot", lowerTensordot);
  table.add("aten.kron", lowerKron);
  table.add("aten.linear", lowerLinear);
  table.add("aten.bilinear", lowerBilinear);
  table.add("aten._trilinear", lowerTrilinear);
  table.add("aten.einsum", lowerEinsum);
  table.add("aten.chain_matmul", [](Node &n) { lowerChain(n, "matrices"); });
  table.add("aten.linalg_multi_dot", [](Node &n) { lowerChain(n, "tensors"); });
  table.add("aten.matrix_power", lowerMatrixPower);
  table.add("aten.linalg_matrix_power", lowerMatrixPower);
  table.add("aten._int_mm", [](Node &n) { lowerMatmul(n, "self", "mat2"); });
  table.add("aten._scaled_mm", lowerScaledMatmul);
  table.add("aten._grouped_mm", lowerGroupedProduct);
  table.add("aten.linalg_vecdot", lowerVecdot);
  table.add("aten.cross", lowerCross);
  table.add("aten.linalg_cross", lowerCross);
}

} // namespace cupel::frontends::torch_import
