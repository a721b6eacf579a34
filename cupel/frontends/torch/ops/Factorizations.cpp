// Cholesky, QR, LU, eigenvalues and singular values: by LAPACK's routines, the same ones that torch
// calls, so that signs and orders come out alike.

#include "cupel/frontends/torch/ops/Algebra.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

//===----------------------------------------------------------------------===//
// Cholesky
//===----------------------------------------------------------------------===//

void lowerCholesky(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "self", true);
  if (!a)
    return;
  bool upper = n.flag("upper");
  Dims batch(H::shapeOf(a).drop_back(2));
  if (isEmpty(a)) {
    n.out(0, a);
    return outOrZeros(n, 1, {});
  }
  SmallVector<Value> r = lapack(b, "potrf", {a}, {a.getType(), b.tensorType(batch, b.i32())},
                                {{"uplo", upper ? 'U' : 'L'}});
  n.out(0, triangleOf(b, r[0], upper));
  outOrZeros(n, 1, r[1]);
}

void lowerCholeskySolve(Node &n) {
  HloBuilder &b = n.b;
  Value factor = matrices(n, "input2", true), rhs = matrices(n, "self", false);
  if (!factor || !rhs)
    return;
  bool upper = n.flag("upper");
  if (n.resultType().getNumElements() == 0)
    return n.out(b.splat(0, H::elementOf(rhs), n.resultShape()));
  Value x = solveTriangular(b, factor, rhs, true, !upper, false, upper);
  n.out(solveTriangular(b, factor, x, true, !upper, false, !upper));
}

void lowerCholeskyInverse(Node &n) {
  HloBuilder &b = n.b;
  Value factor = matrices(n, "self", true);
  if (!factor)
    return;
  if (isEmpty(factor))
    return n.out(factor);
  bool upper = n.flag("upper");
  Value unit = identityMatrix(b, H::shapeOf(factor), H::elementOf(factor));
  Value x = solveTriangular(b, factor, unit, true, !upper, false, upper);
  n.out(solveTriangular(b, factor, x, true, !upper, false, !upper));
}

//===----------------------------------------------------------------------===//
// QR
//===----------------------------------------------------------------------===//

struct Reflectors {
  Value a, tau;
};

Reflectors reflectorsOf(HloBuilder &b, Value a) {
  Dims shape(H::shapeOf(a).drop_back());
  shape.back() = std::min(shape.back(), H::shapeOf(a).back());
  if (isEmpty(a))
    return {a, b.splat(0, H::elementOf(a), shape)};
  SmallVector<Value> r =
      lapack(b, "geqrf", {a}, {a.getType(), b.tensorType(shape, H::elementOf(a))}, {});
  return {r[0], r[1]};
}

/// The first `columns` columns of the product of reflectors.
Value productOf(HloBuilder &b, const Reflectors &r, int64_t columns) {
  int64_t rank = H::rankOf(r.a), have = H::shapeOf(r.a)[rank - 1];
  Value a = r.a;
  if (columns < have) {
    a = b.sliceDim(a, rank - 1, 0, columns);
  } else if (columns > have) {
    Dims low(rank, 0), high(rank, 0);
    high[rank - 1] = columns - have;
    a = b.pad(a, b.splat(0, H::elementOf(a)), low, high);
  }
  if (isEmpty(a))
    return a;
  if (isEmpty(r.tau))
    return identityMatrix(b, H::shapeOf(a), H::elementOf(a));
  bool complex = H::isComplex(a);
  return lapack(b, complex ? "ungqr" : "orgqr", {a, r.tau}, {a.getType()}, {})[0];
}

void outQr(Node &n, Value a, bool complete, bool vectors) {
  HloBuilder &b = n.b;
  int64_t rank = H::rankOf(a), rows = H::shapeOf(a)[rank - 2],
          size = std::min(rows, H::shapeOf(a)[rank - 1]), kept = complete ? rows : size;
  Reflectors r = reflectorsOf(b, a);
  if (vectors)
    n.out(0, productOf(b, r, kept));
  else
    outOrZeros(n, 0, {});
  n.out(1, triangleOf(b, b.sliceDim(r.a, rank - 2, 0, kept), true));
}

void lowerQr(Node &n) {
  std::string mode = n.text("mode", "reduced");
  if (Value a = matrices(n, "A", false))
    outQr(n, a, mode == "complete", mode != "r");
}

void lowerOldQr(Node &n) {
  if (Value a = matrices(n, "self", false))
    outQr(n, a, !n.flag("some", true), true);
}

void lowerGeqrf(Node &n) {
  Value a = matrices(n, "self", false);
  if (!a)
    return;
  Reflectors r = reflectorsOf(n.b, a);
  n.out(0, r.a);
  n.out(1, r.tau);
}

void lowerHouseholder(Node &n, StringRef a, StringRef tau) {
  Value x = matrices(n, a, false);
  if (!x)
    return;
  Value factors = n.in(tau, H::elementOf(x));
  int64_t rank = H::rankOf(x), rows = H::shapeOf(x)[rank - 2], columns = H::shapeOf(x)[rank - 1];
  if (H::rankOf(factors) != rank - 1 || columns > rows || H::shapeOf(factors).back() > columns)
    return n.fail("the reflectors' factors do not fit them");
  n.out(productOf(n.b, {x, factors}, columns));
}

void lowerOrmqr(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "self", false), c = matrices(n, "input3", false);
  if (!a || !c)
    return;
  Value tau = n.in("input2", H::elementOf(a));
  bool left = n.flag("left", true), transposed = n.flag("transpose");
  int64_t rank = H::rankOf(a), k = H::shapeOf(tau).back();
  if (isEmpty(c) || k == 0)
    return n.out(c);
  if (k > H::shapeOf(a)[rank - 1])
    return n.fail("there are more factors than reflectors");
  a = b.sliceDim(a, rank - 1, 0, k);
  n.out(lapack(b, H::isComplex(a) ? "unmqr" : "ormqr", {a, tau, c}, {c.getType()},
               {{"left", left ? 1 : 0}, {"transpose", transposed ? 1 : 0}})[0]);
}

//===----------------------------------------------------------------------===//
// LU
//===----------------------------------------------------------------------===//

void lowerLuFactor(Node &n, StringRef name) {
  Value a = matrices(n, name, false);
  if (!a)
    return;
  LuFactors lu = luFactor(n.b, a, n.flag("pivot", true));
  n.out(0, lu.lu);
  outOrZeros(n, 1, lu.pivots);
  outOrZeros(n, 2, lu.info);
}

/// P, L and U as matrices.
void outUnpacked(Node &n, Value lu, Value pivots, bool data, bool permutation) {
  HloBuilder &b = n.b;
  int64_t rank = H::rankOf(lu), rows = H::shapeOf(lu)[rank - 2], columns = H::shapeOf(lu)[rank - 1],
          size = std::min(rows, columns);
  Type element = H::elementOf(lu);
  Dims square(H::shapeOf(lu));
  square[rank - 1] = rows;
  if (permutation && rows > 0 && !llvm::is_contained(square, 0)) {
    Value order = pivotPermutation(b, pivots, rows); // [..., rows]
    Value wide = b.broadcastInDim(order, square, [&] {
      Dims dims = dimsFrom(0, rank - 2);
      dims.push_back(rank - 1);
      return dims;
    }());
    Value same = b.equal(wide, b.iota(square, rank - 2, b.i64()));
    Value p = b.convert(same, partType(element));
    n.out(0, b.convert(p, element));
  } else {
    outOrZeros(n, 0, {});
  }
  if (!data) {
    outOrZeros(n, 1, {});
    return outOrZeros(n, 2, {});
  }
  Value left = b.sliceDim(lu, rank - 1, 0, size);
  Value l = triangleOf(b, left, false, -1);
  if (!isEmpty(l))
    l = b.add(l, identityMatrix(b, H::shapeOf(l), element));
  n.out(1, l);
  n.out(2, triangleOf(b, b.sliceDim(lu, rank - 2, 0, size), true));
}

void lowerLu(Node &n) {
  Value a = matrices(n, "A", false);
  if (!a)
    return;
  bool pivot = n.flag("pivot", true);
  LuFactors lu = luFactor(n.b, a, pivot);
  outUnpacked(n, lu.lu, lu.pivots, true, pivot);
}

void lowerLuUnpack(Node &n) {
  Value lu = matrices(n, "LU_data", false);
  if (!lu)
    return;
  outUnpacked(n, lu, n.in("LU_pivots"), n.flag("unpack_data", true), n.flag("unpack_pivots", true));
}

void lowerLuSolve(Node &n) {
  Value lu = matrices(n, "LU_data", true), rhs = matrices(n, "self", false);
  if (!lu || !rhs)
    return;
  n.out(luSolve(n.b, {lu, n.in("LU_pivots"), {}}, rhs, false));
}

void lowerLinalgLuSolve(Node &n) {
  HloBuilder &b = n.b;
  Value lu = matrices(n, "LU", true), rhs = matrices(n, "B", false);
  if (!lu || !rhs)
    return;
  bool left = n.flag("left", true), adjoined = n.flag("adjoint");
  LuFactors factors{lu, n.in("pivots"), {}};
  if (left)
    return n.out(luSolve(b, factors, rhs, adjoined));
  n.out(adjoint(b, luSolve(b, factors, adjoint(b, rhs), !adjoined)));
}

//===----------------------------------------------------------------------===//
// LDL
//===----------------------------------------------------------------------===//

void lowerLdlFactor(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "self", true);
  if (!a)
    return;
  Dims pivots(H::shapeOf(a).drop_back()), batch(H::shapeOf(a).drop_back(2));
  if (isEmpty(a)) {
    n.out(0, a);
    outOrZeros(n, 1, {});
    return outOrZeros(n, 2, {});
  }
  SmallVector<Value> r = lapack(
      b, n.flag("hermitian") ? "hetrf" : "sytrf", {a},
      {a.getType(), b.tensorType(pivots, b.i32()), b.tensorType(batch, b.i32())}, {{"uplo", 'L'}});
  n.out(0, triangleOf(b, r[0], false));
  n.out(1, r[1]);
  outOrZeros(n, 2, r[2]);
}

void lowerLdlSolve(Node &n) {
  HloBuilder &b = n.b;
  Value ld = matrices(n, "LD", true), rhs = matrices(n, "B", false);
  if (!ld || !rhs)
    return;
  Value pivots = n.in("pivots", b.i32());
  std::optional<Dims> batch =
      H::broadcastShape(H::shapeOf(ld).drop_back(2), H::shapeOf(rhs).drop_back(2));
  if (!batch || H::shapeOf(rhs)[H::rankOf(rhs) - 2] != H::shapeOf(ld).back() ||
      H::shapeOf(pivots) != H::shapeOf(ld).drop_back())
    return n.fail("LD, pivots and B do not fit each other");
  auto expanded = [&](Value x, size_t kept) {
    Dims shape = *batch;
    shape.append(H::shapeOf(x).end() - kept, H::shapeOf(x).end());
    return b.broadcastTo(x, shape);
  };
  ld = expanded(ld, 2);
  rhs = expanded(rhs, 2);
  if (isEmpty(rhs))
    return n.out(rhs);
  n.out(lapack(b, n.flag("hermitian") ? "hetrs" : "sytrs", {ld, expanded(pivots, 1), rhs},
               {rhs.getType(), b.tensorType(*batch, b.i32())}, {{"uplo", 'L'}})[0]);
}

//===----------------------------------------------------------------------===//
// Eigenvalues and singular values
//===----------------------------------------------------------------------===//

void lowerEigh(Node &n, StringRef name) {
  Value a = matrices(n, name, true);
  if (!a)
    return;
  bool vectors = n.outputCount() > 1 && (!n.declares("compute_v") || n.flag("compute_v", true));
  bool lower = StringRef(n.text("UPLO", "L")).upper() == "L";
  Eigen eigen = eigenSymmetric(n.b, a, vectors, lower);
  n.out(0, eigen.values);
  outOrZeros(n, 1, vectors ? eigen.vectors : Value());
}

void lowerEig(Node &n) {
  HloBuilder &b = n.b;
  Value a = matrices(n, "self", true);
  if (!a)
    return;
  if (isEmpty(a)) {
    outOrZeros(n, 0, {});
    return outOrZeros(n, 1, {});
  }
  Type element = H::elementOf(a);
  bool complex = H::isComplex(a), vectors = n.outputCount() > 1;
  Type wide = complex ? element : Type(ComplexType::get(element));
  RankedTensorType values = b.tensorType(H::shapeOf(a).drop_back(), element),
                   square = b.tensorType(H::shapeOf(a), wide),
                   info = b.tensorType(H::shapeOf(a).drop_back(2), b.i32());
  SmallVector<Type> types{values};
  if (!complex)
    types.push_back(values);
  types.append({square, square, info});
  SmallVector<Value> r = lapack(b, "geev", {a}, types,
                                {{"compute_left", 'N'}, {"compute_right", vectors ? 'V' : 'N'}});
  n.out(0, complex ? r[0] : makeComplex(b, r[0], r[1]));
  if (vectors)
    n.out(1, r[complex ? 2 : 3]);
}

void lowerSvd(Node &n) {
  Value a = matrices(n, "A", false);
  if (!a)
    return;
  bool vectors = !n.declares("compute_uv") || n.flag("compute_uv", true);
  std::string driver = n.has("driver") ? n.text("driver") : "gesdd";
  Singular svd = singularValues(n.b, a, vectors, n.flag("full_matrices", true), driver);
  outOrZeros(n, 0, vectors ? svd.u : Value());
  n.out(1, svd.s);
  outOrZeros(n, 2, vectors ? svd.vh : Value());
}

void lowerOldSvd(Node &n) {
  Value a = matrices(n, "self", false);
  if (!a)
    return;
  bool vectors = n.flag("compute_uv", true);
  Singular svd = singularValues(n.b, a, vectors, !n.flag("some", true));
  outOrZeros(n, 0, vectors ? svd.u : Value());
  n.out(1, svd.s);
  outOrZeros(n, 2, vectors ? adjoint(n.b, svd.vh) : Value());
}

void lowerSvdvals(Node &n) {
  if (Value a = matrices(n, "A", false))
    n.out(singularValues(n.b, a, false, false).s);
}

} // namespace

void registerFactorizations(OpTable &table) {
  table.add("aten.cholesky", lowerCholesky);
  table.add("aten.linalg_cholesky", lowerCholesky);
  table.add("aten.linalg_cholesky_ex", lowerCholesky);
  table.add("aten.cholesky_solve", lowerCholeskySolve);
  table.add("aten._cholesky_solve_helper",
            [](Node &n) { n.notYet("comes from decompositions of its own; export without them"); });
  table.add("aten.cholesky_inverse", lowerCholeskyInverse);
  table.add("aten.linalg_qr", lowerQr);
  table.add("aten.qr", lowerOldQr);
  table.add("aten.geqrf", lowerGeqrf);
  table.add("aten.linalg_householder_product",
            [](Node &n) { lowerHouseholder(n, "input", "tau"); });
  table.add("aten.orgqr", [](Node &n) { lowerHouseholder(n, "self", "input2"); });
  table.add("aten.ormqr", lowerOrmqr);
  table.add("aten.linalg_lu_factor", [](Node &n) { lowerLuFactor(n, "A"); });
  table.add("aten.linalg_lu_factor_ex", [](Node &n) { lowerLuFactor(n, "A"); });
  table.add("aten._lu_with_info", [](Node &n) { lowerLuFactor(n, "self"); });
  table.add("aten.linalg_lu", lowerLu);
  table.add("aten.lu_unpack", lowerLuUnpack);
  table.add("aten.lu_solve", lowerLuSolve);
  table.add("aten.linalg_lu_solve", lowerLinalgLuSolve);
  table.add("aten.linalg_ldl_factor", lowerLdlFactor);
  table.add("aten.linalg_ldl_factor_ex", lowerLdlFactor);
  table.add("aten.linalg_ldl_solve", lowerLdlSolve);
  table.add("aten.linalg_eigh", [](Node &n) { lowerEigh(n, "self"); });
  table.add("aten._linalg_eigh", [](Node &n) { lowerEigh(n, "A"); });
  table.add("aten.linalg_eigvalsh", [](Node &n) { lowerEigh(n, "self"); });
  table.add("aten.linalg_eig", lowerEig);
  table.add("aten.linalg_eigvals", lowerEig);
  table.add("aten._linalg_eigvals", lowerEig);
  table.add("aten.linalg_svd", lowerSvd);
  table.add("aten._linalg_svd", lowerSvd);
  table.add("aten.svd", lowerOldSvd);
  table.add("aten.linalg_svdvals", lowerSvdvals);
}

} // namespace cupel::frontends::torch_import
