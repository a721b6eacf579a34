// What is done with factorizations: solving, inverting, determinants, ranks; and functions of
// matrices.

#include "cupel/frontends/torch/ops/Algebra.h"

#include <cmath>
#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

//===----------------------------------------------------------------------===//
// Systems
//===----------------------------------------------------------------------===//

/// Whether B holds vectors, as torch.linalg.solve sees it.
bool holdsVectors(Value a, Value rhs) {
  return H::rankOf(rhs) == 1 ||
         (H::rankOf(rhs) == H::rankOf(a) - 1 && H::shapeOf(rhs) == H::shapeOf(a).drop_back());
}

Value solve(HloBuilder &b, const LuFactors &lu, Value rhs, bool left) {
  return left ? luSolve(b, lu, rhs, false) : adjoint(b, luSolve(b, lu, adjoint(b, rhs), true));
}

void lowerSolve(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "A", true);
  if (!a)
    return;
  Value rhs = n.in("B", H::elementOf(a));
  bool vector = holdsVectors(a, rhs), left = n.flag("left", true);
  if (vector)
    rhs = b.unsqueeze(rhs, H::rankOf(rhs));
  if (H::rankOf(rhs) < 2 ||
      H::shapeOf(rhs)[H::rankOf(rhs) - (left ? 2 : 1)] != H::shapeOf(a).back() ||
      !H::broadcastShape(H::shapeOf(a).drop_back(2), H::shapeOf(rhs).drop_back(2)))
    return n.fail("A and B do not fit each other");
  LuFactors lu = luFactor(b, a);
  if (n.resultType(0).getNumElements() == 0) {
    outOrZeros(n, 0, {});
  } else {
    Value x = solve(b, lu, rhs, left || vector);
    n.out(0, b.reshape(x, n.resultShape(0)));
  }
  if (n.target().starts_with("aten._linalg_solve_ex")) {
    // Torch factors the transpose of real matrices here.
    LuFactors kept =
        !H::isComplex(a) && (n.wants(1) || n.wants(2)) ? luFactor(b, swapLast(b, a)) : lu;
    outOrZeros(n, 1, kept.lu);
    outOrZeros(n, 2, kept.pivots);
    outOrZeros(n, 3, lu.info);
  } else {
    outOrZeros(n, 1, lu.info);
  }
}

void lowerSolveTriangular(Node &n) {
  Value a = matrices(n, "self", true), rhs = matrices(n, "B", false);
  if (!a || !rhs)
    return;
  if (n.resultType().getNumElements() == 0)
    return outOrZeros(n, 0, {});
  n.out(solveTriangular(n.b, a, rhs, n.flag("left", true), !n.flag("upper"),
                        n.flag("unitriangular")));
}

void lowerTriangularSolve(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "A", true), rhs = matrices(n, "self", false);
  if (!a || !rhs)
    return;
  Value x = n.resultType().getNumElements() == 0
                ? b.splat(0, H::elementOf(rhs), n.resultShape())
                : solveTriangular(b, a, rhs, true, !n.flag("upper", true), n.flag("unitriangular"),
                                  false, n.flag("transpose"));
  n.out(0, x);
  n.out(1, b.broadcastTo(a, n.resultShape(1)));
}

void lowerInverse(Node &n, StringRef name) {
  HloBuilder &b = n.b;
  Value a = matrices(n, name, true);
  if (!a)
    return;
  if (isEmpty(a)) {
    n.out(0, a);
    return outOrZeros(n, 1, {});
  }
  LuFactors lu = luFactor(b, a);
  n.out(0, luSolve(b, lu, identityMatrix(b, H::shapeOf(a), H::elementOf(a)), false));
  outOrZeros(n, 1, lu.info);
}

void lowerTensorInverse(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type);
  int64_t ind = n.integer("ind", 2), rows = 1, columns = 1;
  if (n.failed() || ind < 1 || ind > H::rankOf(x))
    return n.fail("ind does not fit");
  for (int64_t i = 0; i < H::rankOf(x); ++i)
    (i < ind ? rows : columns) *= H::shapeOf(x)[i];
  if (rows != columns)
    return n.fail("the tensor is no square matrix");
  n.out(b.reshape(inverseOf(b, b.reshape(x, {rows, columns})), n.resultShape()));
}

void lowerTensorSolve(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value a = n.in("self", type), rhs = n.in("other", type);
  if (n.failed())
    return;
  if (n.has("dims")) { // These go to the end.
    Dims last = n.dims("dims", H::rankOf(a)), order;
    for (int64_t i = 0; i < H::rankOf(a); ++i)
      if (!llvm::is_contained(last, i))
        order.push_back(i);
    order.append(last.begin(), last.end());
    a = b.transpose(a, order);
  }
  int64_t rows = H::countOf(rhs);
  if (rows * rows != H::countOf(a) || n.resultType().getNumElements() != rows)
    return n.fail("the tensor is no square matrix");
  if (rows == 0)
    return outOrZeros(n, 0, {});
  Value x = luSolve(b, luFactor(b, b.reshape(a, {rows, rows})), b.reshape(rhs, {rows, 1}), false);
  n.out(b.reshape(x, n.resultShape()));
}

//===----------------------------------------------------------------------===//
// Determinants
//===----------------------------------------------------------------------===//

struct Determinant {
  Value diagonal; ///< Of U: [..., n].
  Value parity;   ///< 1 or -1: [...], of the parts' type.
  LuFactors lu;
};

Determinant determinantOf(HloBuilder &b, Value a) {
  int64_t rank = H::rankOf(a);
  LuFactors lu = luFactor(b, a);
  Value natural = b.add(b.iota(H::shapeOf(lu.pivots), rank - 2, b.i32()),
                        b.splatInteger(1, b.i32(), H::shapeOf(lu.pivots)));
  Type real = partType(H::elementOf(a));
  Value moved = b.convert(b.notEqual(lu.pivots, natural), real);
  Value sign = b.subtract(b.like(moved, 1), b.multiply(moved, b.like(moved, 2)));
  return {diagonalOf(b, lu.lu, rank - 2, rank - 1), b.reduce(sign, {rank - 2}, Fold::Multiply), lu};
}

void lowerDet(Node &n, StringRef name) {
  HloBuilder &b = n.b;
  Value a = matrices(n, name, true);
  if (!a)
    return;
  if (isEmpty(a)) {
    n.out(0, b.splat(1, H::elementOf(a), n.resultShape()));
    outOrZeros(n, 1, {});
    return outOrZeros(n, 2, {});
  }
  Determinant d = determinantOf(b, a);
  Value product = b.reduce(d.diagonal, {H::rankOf(a) - 2}, Fold::Multiply);
  n.out(0, b.multiply(product, b.convert(d.parity, H::elementOf(a))));
  if (n.outputCount() > 1) {
    LuFactors kept =
        !H::isComplex(a) && (n.wants(1) || n.wants(2)) ? luFactor(b, swapLast(b, a)) : d.lu;
    outOrZeros(n, 1, kept.lu);
    outOrZeros(n, 2, kept.pivots);
  }
}

struct SignAndLog {
  Value sign, log;
  LuFactors lu;
};

SignAndLog signAndLog(HloBuilder &b, Value a) {
  Determinant d = determinantOf(b, a);
  int64_t last = H::rankOf(a) - 2;
  Value size = b.abs(d.diagonal), sign;
  if (H::isComplex(a)) {
    Value zero = b.equal(size, b.like(size, 0));
    Value safe = b.convert(b.select(zero, b.like(size, 1), size), H::elementOf(a));
    sign = b.reduce(b.divide(d.diagonal, safe), {last}, Fold::Multiply);
  } else {
    sign = b.reduce(b.unary<stablehlo::SignOp>(d.diagonal), {last}, Fold::Multiply);
  }
  sign = b.multiply(sign, b.convert(d.parity, H::elementOf(a)));
  return {sign, b.reduce(b.log(size), {last}, Fold::Add), d.lu};
}

void lowerSlogdet(Node &n, StringRef name) {
  HloBuilder &b = n.b;
  Value a = matrices(n, name, true);
  if (!a)
    return;
  if (isEmpty(a)) {
    n.out(0, b.splat(1, H::elementOf(a), n.resultShape(0)));
    for (size_t i : {1, 2, 3})
      outOrZeros(n, i, {});
    return;
  }
  SignAndLog s = signAndLog(b, a);
  n.out(0, s.sign);
  n.out(1, s.log);
  if (n.outputCount() > 2) {
    LuFactors kept =
        !H::isComplex(a) && (n.wants(2) || n.wants(3)) ? luFactor(b, swapLast(b, a)) : s.lu;
    outOrZeros(n, 2, kept.lu);
    outOrZeros(n, 3, kept.pivots);
  }
}

void lowerLogdet(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "self", true);
  if (!a)
    return;
  if (isEmpty(a))
    return outOrZeros(n, 0, {});
  SignAndLog s = signAndLog(b, a);
  if (H::isComplex(a))
    return n.out(b.add(b.log(s.sign), makeComplex(b, s.log, b.like(s.log, 0))));
  Value nan = b.like(s.log, std::numeric_limits<double>::quiet_NaN());
  n.out(b.select(b.less(s.sign, b.like(s.sign, 0)), nan, s.log));
}

//===----------------------------------------------------------------------===//
// Ranks and pseudo-inverses
//===----------------------------------------------------------------------===//

double spacing(Type element) {
  return partType(element).isF64() ? std::ldexp(1.0, -52) : std::ldexp(1.0, -23);
}

/// What singular values must exceed to count: max(atol, rtol * largest), [..., 1].
Value threshold(Node &n, Value s, Value a) {
  HloBuilder &b = n.b;
  int64_t rank = H::rankOf(a);
  Type real = H::elementOf(s);
  double usual = spacing(real) * double(std::max(H::shapeOf(a)[rank - 2], H::shapeOf(a)[rank - 1]));
  Value top = b.reduce(s, {H::rankOf(s) - 1}, Fold::Max, true);
  auto each = [&](StringRef name) { // A number, or a tensor of the stack's shape.
    Value x = n.in(name, real);
    return H::rankOf(x) ? b.unsqueeze(x, H::rankOf(x)) : x;
  };
  if (n.declares("rcond"))
    return b.multiply(top, each("rcond"));
  if (n.declares("tol"))
    return each("tol");
  Value atol = n.has("atol") ? each("atol") : b.splat(0, real);
  Value rtol = n.has("rtol") ? each("rtol")
                             : b.select(b.greater(atol, b.like(atol, 0)), b.like(atol, 0),
                                        b.like(atol, usual));
  Value relative = b.multiply(top, rtol);
  auto [p, q] = b.broadcastPair(relative, atol);
  return b.maximum(p, q);
}

Value magnitudes(Node &n, Value a, bool hermitian) {
  if (hermitian)
    return n.b.abs(eigenSymmetric(n.b, a, false, true).values);
  return singularValues(n.b, a, false, false).s;
}

void lowerRank(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, n.declares("input") ? "input" : "self", false);
  if (!a)
    return;
  if (isEmpty(a))
    return outOrZeros(n, 0, {});
  Value s = magnitudes(n, a, n.flag("hermitian"));
  Value counts = b.greater(s, threshold(n, s, a));
  n.out(b.reduce(b.convert(counts, b.i64()), {H::rankOf(counts) - 1}, Fold::Add));
}

void lowerPseudoInverse(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "self", false);
  if (!a)
    return;
  if (isEmpty(a))
    return outOrZeros(n, 0, {});
  bool hermitian = n.declares("hermitian") && n.flag("hermitian");
  Value left, values, right;
  if (hermitian) {
    Eigen e = eigenSymmetric(b, a, true, true);
    left = e.vectors;
    values = e.values;
    right = adjoint(b, e.vectors);
  } else {
    Singular s = singularValues(b, a, true, false);
    left = adjoint(b, s.vh);
    values = s.s;
    right = adjoint(b, s.u);
  }
  Value size = hermitian ? b.abs(values) : values;
  Value counts = b.greater(size, threshold(n, size, a));
  Value reciprocal =
      b.select(counts, b.divide(b.like(values, 1), b.select(counts, values, b.like(values, 1))),
               b.like(values, 0));
  Value scaled = b.multiply(
      left, b.convert(b.unsqueeze(reciprocal, H::rankOf(reciprocal) - 1), H::elementOf(a)));
  n.out(b.matmul(scaled, right));
}

void lowerCond(Node &n) {
  HloBuilder &b = n.b;
  bool word = n.overload() == "p_str";
  double p = word ? 0 : n.has("p") ? n.scalar("p").real() : 2;
  std::string text = word ? n.text("p") : "";
  Value a = matrices(n, "self", word || std::abs(p) != 2);
  if (!a)
    return;
  if (isEmpty(a))
    return outOrZeros(n, 0, {});
  int64_t rank = H::rankOf(a);
  if (!word && std::abs(p) == 2) {
    Value s = singularValues(b, a, false, false).s;
    Value top = b.reduce(s, {rank - 2}, Fold::Max), low = b.reduce(s, {rank - 2}, Fold::Min);
    return n.out(p > 0 ? b.divide(top, low) : b.divide(low, top));
  }
  auto norm = [&](Value x) -> Value {
    if (text == "fro")
      return vectorNorm(b, x, 2, {rank - 2, rank - 1}, false);
    if (text == "nuc")
      return b.reduce(singularValues(b, x, false, false).s, {rank - 2}, Fold::Add);
    Value sums = b.reduce(b.abs(x), {std::isinf(p) ? rank - 1 : rank - 2}, Fold::Add);
    return b.reduce(sums, {rank - 2}, p > 0 ? Fold::Max : Fold::Min);
  };
  // A singular matrix is infinitely badly conditioned.
  LuFactors lu = luFactor(b, a);
  Value inverse = luSolve(b, lu, identityMatrix(b, H::shapeOf(a), H::elementOf(a)), false);
  Value product = b.multiply(norm(a), norm(inverse));
  Value singular = b.notEqual(lu.info, b.like(lu.info, 0));
  n.out(b.select(singular, b.like(product, std::numeric_limits<double>::infinity()), product));
}

/// Least squares for matrices of full rank, by QR; the smallest solution if there are many.
void lowerLstsq(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "self", false);
  if (!a)
    return;
  Value rhs = n.in("b", H::elementOf(a));
  bool vector = H::rankOf(rhs) == H::rankOf(a) - 1;
  if (vector)
    rhs = b.unsqueeze(rhs, H::rankOf(rhs));
  int64_t rank = H::rankOf(a), rows = H::shapeOf(a)[rank - 2], columns = H::shapeOf(a)[rank - 1];
  if (H::rankOf(rhs) < 2 || H::shapeOf(rhs)[H::rankOf(rhs) - 2] != rows)
    return n.fail("self and b do not fit each other");
  std::string driver = n.has("driver") ? n.text("driver") : "gelsy";
  if (isEmpty(a) || isEmpty(rhs)) {
    for (size_t i = 0; i < n.outputCount(); ++i)
      outOrZeros(n, i, {});
    return;
  }
  // The pseudo-inverse by singular values is as good, and says the rank too.
  Singular s = singularValues(b, a, true, false);
  Value top = b.reduce(s.s, {rank - 2}, Fold::Max, true);
  double usual = n.has("rcond") ? n.real("rcond")
                                : spacing(H::elementOf(s.s)) * double(std::max(rows, columns));
  Value counts = b.greater(s.s, b.multiply(top, b.like(top, usual)));
  if (driver == "gels")
    counts = b.greater(s.s, b.like(s.s, 0));
  Value reciprocal = b.select(
      counts, b.divide(b.like(s.s, 1), b.select(counts, s.s, b.like(s.s, 1))), b.like(s.s, 0));
  Value projected = b.matmul(adjoint(b, s.u), rhs);
  projected = b.multiply(projected, b.convert(b.unsqueeze(reciprocal, rank - 1), H::elementOf(a)));
  Value x = b.matmul(adjoint(b, s.vh), projected);
  n.out(0, b.reshape(x, n.resultShape(0)));
  Value residual = b.abs(b.subtract(b.matmul(a, x), rhs));
  outOrZeros(n, 1, b.reduce(b.square(residual), {H::rankOf(residual) - 2}, Fold::Add));
  outOrZeros(n, 2, b.reduce(b.convert(counts, b.i64()), {rank - 2}, Fold::Add));
  outOrZeros(n, 3, s.s);
}

//===----------------------------------------------------------------------===//
// Functions of matrices
//===----------------------------------------------------------------------===//

/// Taylor's series of a / 2^s, squared s times, with s by the matrix's own size.
void lowerMatrixExp(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "self", true);
  if (!a)
    return;
  if (isEmpty(a))
    return n.out(a);
  int64_t rank = H::rankOf(a);
  Type element = H::elementOf(a), real = partType(element);
  Value sums = b.reduce(b.abs(a), {rank - 2}, Fold::Add, true);
  Value size = b.reduce(sums, {rank - 1}, Fold::Max, true); // [..., 1, 1]
  // Up to this size, 18 terms are exact to the type's precision.
  double enough = real.isF64() ? 1.09 : 3.01;
  Value excess = b.maximum(b.divide(size, b.like(size, enough)), b.like(size, 1));
  Value log2 = b.divide(b.log(excess), b.like(excess, std::log(2.0)));
  Value steps = b.clamp(b.like(log2, 0), b.ceil(log2), b.like(log2, 1000));
  Value scale = b.power(b.like(steps, 0.5), steps);
  Value x = b.multiply(a, b.convert(scale, element));
  int degree = 18;
  Value unit = identityMatrix(b, H::shapeOf(a), element), sum = unit;
  for (int k = degree; k >= 1; --k)
    sum = b.add(unit, b.multiply(b.matmul(x, sum), b.like(x, 1.0 / k)));
  Value most = b.reduce(b.reshape(steps, {H::countOf(steps)}), {0}, Fold::Max);
  Value zero = b.splat(0, real);
  SmallVector<Value> r = b.whileLoop(
      {zero, sum}, [&](ValueRange v) { return b.less(v[0], most); },
      [&](ValueRange v) -> SmallVector<Value> {
        Value squared = b.matmul(v[1], v[1]);
        Value more = b.less(b.broadcastTo(v[0], H::shapeOf(steps)), steps);
        Value next = b.select(b.broadcastTo(more, H::shapeOf(squared)), squared, v[1]);
        return {b.add(v[0], b.splat(1, real)), next};
      });
  n.out(r[1]);
}

} // namespace

void registerLinearAlgebra(OpTable &table) {
  table.add("aten.linalg_solve", lowerSolve);
  table.add("aten.linalg_solve_ex", lowerSolve);
  table.add("aten._linalg_solve_ex", lowerSolve);
  table.add("aten.linalg_solve_triangular", lowerSolveTriangular);
  table.add("aten.triangular_solve", lowerTriangularSolve);
  table.add("aten.linalg_inv", [](Node &n) { lowerInverse(n, "A"); });
  table.add("aten.linalg_inv_ex", [](Node &n) { lowerInverse(n, "A"); });
  table.add("aten.inverse", [](Node &n) { lowerInverse(n, "self"); });
  table.add("aten.linalg_tensorinv", lowerTensorInverse);
  table.add("aten.linalg_tensorsolve", lowerTensorSolve);
  table.add("aten.linalg_det", [](Node &n) { lowerDet(n, "A"); });
  table.add("aten._linalg_det", [](Node &n) { lowerDet(n, "A"); });
  table.add("aten.det", [](Node &n) { lowerDet(n, "self"); });
  table.add("aten.linalg_slogdet", [](Node &n) { lowerSlogdet(n, "A"); });
  table.add("aten._linalg_slogdet", [](Node &n) { lowerSlogdet(n, "A"); });
  table.add("aten.slogdet", [](Node &n) { lowerSlogdet(n, "self"); });
  table.add("aten.logdet", lowerLogdet);
  table.add("aten.linalg_matrix_rank", lowerRank);
  table.add("aten.linalg_pinv", lowerPseudoInverse);
  table.add("aten.pinverse", lowerPseudoInverse);
  table.add("aten.linalg_cond", lowerCond);
  table.add("aten.linalg_lstsq", lowerLstsq);
  table.add("aten.matrix_exp", lowerMatrixExp);
  table.add("aten.linalg_matrix_exp", lowerMatrixExp);
  table.add("aten._linalg_check_errors", [](Node &) {});
}

} // namespace cupel::frontends::torch_import
