// Stacks of matrices: parts, triangles, and what LAPACK computes of them. No operators of its own;
// other families' lowerings are written in these.

#include "cupel/frontends/torch/ops/Algebra.h"

#include <cmath>

namespace cupel::frontends::torch_import {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {
using H = HloBuilder;
} // namespace

Type partType(Type element) {
  auto complex = dyn_cast<ComplexType>(element);
  return complex ? complex.getElementType() : element;
}

Value realPart(HloBuilder &b, Value x) {
  return H::isComplex(x) ? b.unary<stablehlo::RealOp>(x, partType(H::elementOf(x))) : x;
}

Value imaginaryPart(HloBuilder &b, Value x) {
  return H::isComplex(x) ? b.unary<stablehlo::ImagOp>(x, partType(H::elementOf(x))) : b.like(x, 0);
}

Value makeComplex(HloBuilder &b, Value real, Value imaginary) {
  auto [re, im] = b.broadcastPair(real, imaginary);
  Type type = b.tensorType(H::shapeOf(re), ComplexType::get(H::elementOf(re)));
  return b.builder().create<stablehlo::ComplexOp>(b.location(), TypeRange{type},
                                                  ValueRange{re, im});
}

Value conjugate(HloBuilder &b, Value x) {
  return H::isComplex(x) ? makeComplex(b, realPart(b, x), b.negate(imaginaryPart(b, x))) : x;
}

Value adjoint(HloBuilder &b, Value x) { return conjugate(b, swapLast(b, x)); }

Value diagonalOf(HloBuilder &b, Value x, int64_t first, int64_t second) {
  Dims order, shape;
  for (int64_t i = 0; i < H::rankOf(x); ++i)
    if (i != first && i != second) {
      order.push_back(i);
      shape.push_back(H::shapeOf(x)[i]);
    }
  order.append({first, second});
  int64_t rows = H::shapeOf(x)[first], columns = H::shapeOf(x)[second],
          size = std::min(rows, columns);
  Value last = b.transpose(x, order);
  Dims flat = shape;
  flat.push_back(rows * columns);
  shape.push_back(size);
  if (size == 0)
    return b.splat(0, H::elementOf(x), shape);
  Value row = b.reshape(last, flat);
  return b.sliceDim(row, flat.size() - 1, 0, (size - 1) * (columns + 1) + 1, columns + 1);
}

Value identityMatrix(HloBuilder &b, ArrayRef<int64_t> shape, Type element) {
  int64_t rank = shape.size();
  Value rows = b.iota(shape, rank - 2, b.i64()), columns = b.iota(shape, rank - 1, b.i64());
  Value same = b.equal(rows, columns);
  if (isa<ComplexType>(element))
    return b.convert(b.convert(same, partType(element)), element);
  return b.convert(same, element);
}

Value triangleOf(HloBuilder &b, Value x, bool upper, int64_t diagonal) {
  int64_t rank = H::rankOf(x);
  ArrayRef<int64_t> shape = H::shapeOf(x);
  Value rows = b.iota(shape, rank - 2, b.i64()), columns = b.iota(shape, rank - 1, b.i64());
  Value shifted = b.add(rows, b.like(rows, double(diagonal)));
  Value keep = upper ? b.greaterEqual(columns, shifted) : b.lessEqual(columns, shifted);
  return b.select(keep, x, b.like(x, 0));
}

Value multiplyMatrices(HloBuilder &b, Value x, Value y) { return b.matmul(x, y); }

SmallVector<Value> lapack(HloBuilder &b, StringRef routine, ValueRange operands, TypeRange results,
                          ArrayRef<std::pair<StringRef, char>> letters) {
  Type element = H::elementOf(operands[0]);
  bool wide = partType(element).isF64();
  char kind = isa<ComplexType>(element) ? (wide ? 'z' : 'c') : (wide ? 'd' : 's');
  std::string target = "lapack_" + std::string(1, kind) + routine.str() + "_ffi";
  OpBuilder &ops = b.builder();
  SmallVector<NamedAttribute> configuration;
  Type byte = ops.getIntegerType(8, false);
  for (auto [name, letter] : letters)
    configuration.push_back(ops.getNamedAttr(name, ops.getIntegerAttr(byte, letter)));
  OperationState state(b.location(), stablehlo::CustomCallOp::getOperationName());
  state.addOperands(operands);
  state.addTypes(results);
  state.addAttribute("call_target_name", ops.getStringAttr(target));
  state.addAttribute("backend_config", ops.getDictionaryAttr(configuration));
  state.addAttribute("api_version",
                     stablehlo::CustomCallApiVersionAttr::get(
                         b.context(), stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI));
  return SmallVector<Value>(ops.create(state)->getResults());
}

Value solveTriangular(HloBuilder &b, Value a, Value rhs, bool left, bool lower, bool unit,
                      bool adjointOfA, bool transposeOfA) {
  Dims batch = *H::broadcastShape(H::shapeOf(a).drop_back(2), H::shapeOf(rhs).drop_back(2));
  auto expanded = [&](Value x) {
    Dims shape = batch;
    shape.append(H::shapeOf(x).end() - 2, H::shapeOf(x).end());
    return b.broadcastTo(x, shape);
  };
  a = expanded(a);
  rhs = expanded(rhs);
  if (isEmpty(rhs) || isEmpty(a))
    return rhs;
  OpBuilder &ops = b.builder();
  OperationState state(b.location(), stablehlo::TriangularSolveOp::getOperationName());
  state.addOperands({a, rhs});
  state.addTypes(rhs.getType());
  state.addAttribute("left_side", ops.getBoolAttr(left));
  state.addAttribute("lower", ops.getBoolAttr(lower));
  state.addAttribute("unit_diagonal", ops.getBoolAttr(unit));
  auto how = adjointOfA     ? stablehlo::Transpose::ADJOINT
             : transposeOfA ? stablehlo::Transpose::TRANSPOSE
                            : stablehlo::Transpose::NO_TRANSPOSE;
  state.addAttribute("transpose_a", stablehlo::TransposeAttr::get(b.context(), how));
  return ops.create(state)->getResult(0);
}

LuFactors luFactor(HloBuilder &b, Value a, bool pivot) {
  int64_t rank = H::rankOf(a), rows = H::shapeOf(a)[rank - 2], columns = H::shapeOf(a)[rank - 1],
          size = std::min(rows, columns);
  Dims batch(H::shapeOf(a).drop_back(2)), pivots = batch;
  pivots.push_back(size);
  Type i32 = b.i32();
  Value none = b.splatInteger(0, i32, batch);
  if (isEmpty(a))
    return {a, b.splatInteger(0, i32, pivots), none};
  if (pivot) {
    SmallVector<Value> r = lapack(
        b, "getrf", {a}, {a.getType(), b.tensorType(pivots, i32), b.tensorType(batch, i32)}, {});
    return {r[0], r[1], r[2]};
  }
  // Without pivots: one column after the other, [.., rows, columns].
  Value order = b.add(b.iota(pivots, rank - 2, i32), b.splatInteger(1, i32, pivots));
  Value lu = a;
  for (int64_t k = 0; k < size; ++k) {
    Value at = b.sliceDim(b.sliceDim(lu, rank - 2, k, k + 1), rank - 1, k, k + 1);
    Value row = b.sliceDim(lu, rank - 2, k, k + 1);
    Value below = b.greater(b.iota(H::shapeOf(lu), rank - 2, b.i64()),
                            b.splatInteger(k, b.i64(), H::shapeOf(lu)));
    Value right = b.greater(b.iota(H::shapeOf(lu), rank - 1, b.i64()),
                            b.splatInteger(k, b.i64(), H::shapeOf(lu)));
    Value isColumn = b.equal(b.iota(H::shapeOf(lu), rank - 1, b.i64()),
                             b.splatInteger(k, b.i64(), H::shapeOf(lu)));
    Value factor = b.divide(b.sliceDim(lu, rank - 1, k, k + 1), at);
    Value updated = b.subtract(lu, b.multiply(factor, row));
    Value inner = b.logicalAnd(below, right), column = b.logicalAnd(below, isColumn);
    Value wide = b.broadcastTo(factor, H::shapeOf(lu));
    lu = b.select(inner, updated, b.select(column, wide, lu));
  }
  return {lu, order, none};
}

Value pivotPermutation(HloBuilder &b, Value pivots, int64_t rows) {
  int64_t rank = H::rankOf(pivots), count = H::shapeOf(pivots)[rank - 1];
  Dims shape(H::shapeOf(pivots).drop_back());
  shape.push_back(rows);
  Value permutation = b.iota(shape, rank - 1, b.i64());
  if (rows == 0)
    return permutation;
  Value all = b.iota(shape, rank - 1, b.i64());
  Value wanted = b.subtract(b.convert(pivots, b.i64()), b.splatInteger(1, b.i64()));
  // Exchanges, in LAPACK's order.
  for (int64_t k = 0; k < count; ++k) {
    Value other = b.sliceDim(wanted, rank - 1, k, k + 1);
    Value mine = b.sliceDim(permutation, rank - 1, k, k + 1);
    Value theirs = b.takeAlong(permutation, other, rank - 1);
    Value atOther = b.equal(all, b.broadcastTo(other, shape)),
          atMine = b.equal(all, b.splatInteger(k, b.i64(), shape));
    permutation = b.select(atOther, b.broadcastTo(mine, shape), permutation);
    permutation = b.select(atMine, b.broadcastTo(theirs, shape), permutation);
  }
  return permutation;
}

/// Rows of [..., n, m] in the order [..., n] says.
static Value permuteRows(HloBuilder &b, Value x, Value order) {
  Dims shape(H::shapeOf(x));
  Dims batch(H::shapeOf(order));
  Value wide = b.broadcastInDim(order, shape, dimsFrom(0, batch.size()));
  return b.takeAlong(x, wide, H::rankOf(x) - 2);
}

Value luSolve(HloBuilder &b, const LuFactors &factors, Value rhs, bool adjointOfA) {
  int64_t rows = H::shapeOf(factors.lu)[H::rankOf(factors.lu) - 2];
  Dims batch =
      *H::broadcastShape(H::shapeOf(factors.lu).drop_back(2), H::shapeOf(rhs).drop_back(2));
  Dims shape = batch, orderShape = batch;
  shape.append(H::shapeOf(rhs).end() - 2, H::shapeOf(rhs).end());
  rhs = b.broadcastTo(rhs, shape);
  if (isEmpty(rhs))
    return rhs;
  Value order = pivotPermutation(b, factors.pivots, rows);
  orderShape.push_back(rows);
  order = b.broadcastTo(order, orderShape);
  if (!adjointOfA) {
    Value x = permuteRows(b, rhs, order);
    x = solveTriangular(b, factors.lu, x, true, true, true);
    return solveTriangular(b, factors.lu, x, true, false, false);
  }
  // A^H x = b: U^H, then L^H, then the permutation backwards.
  Value x = solveTriangular(b, factors.lu, rhs, true, false, false, true);
  x = solveTriangular(b, factors.lu, x, true, true, true, true);
  int64_t last = H::rankOf(order) - 1;
  Value back = b.scatterAlong(b.like(order, 0), order, b.iota(orderShape, last, b.i64()), last,
                              std::nullopt);
  return permuteRows(b, x, back);
}

Value inverseOf(HloBuilder &b, Value a) {
  if (isEmpty(a))
    return a;
  return luSolve(b, luFactor(b, a), identityMatrix(b, H::shapeOf(a), H::elementOf(a)), false);
}

Singular singularValues(HloBuilder &b, Value a, bool vectors, bool full, StringRef driver) {
  int64_t rank = H::rankOf(a), rows = H::shapeOf(a)[rank - 2], columns = H::shapeOf(a)[rank - 1],
          size = std::min(rows, columns);
  Type element = H::elementOf(a), real = partType(element);
  Dims batch(H::shapeOf(a).drop_back(2));
  auto shaped = [&](std::initializer_list<int64_t> tail) {
    Dims shape = batch;
    shape.append(tail.begin(), tail.end());
    return shape;
  };
  bool all = vectors && full;
  Dims u = shaped({rows, all ? rows : size}), s = shaped({size}),
       vh = shaped({all ? columns : size, columns});
  if (isEmpty(a)) {
    // Nothing to decompose: any orthogonal matrix will do, and torch gives ones on the diagonal.
    auto unit = [&](const Dims &shape) {
      return llvm::is_contained(shape, 0) ? b.splat(0, element, shape)
                                          : identityMatrix(b, shape, element);
    };
    return {unit(u), b.splat(0, real, s), unit(vh)};
  }
  SmallVector<Value> r = lapack(b, driver == "gesvd" ? "gesvd" : "gesdd", {a},
                                {a.getType(), b.tensorType(s, real), b.tensorType(u, element),
                                 b.tensorType(vh, element), b.tensorType(batch, b.i32())},
                                {{"mode", !vectors ? 'N'
                                          : full   ? 'A'
                                                   : 'S'}});
  return {r[2], r[1], r[3]};
}

Eigen eigenSymmetric(HloBuilder &b, Value a, bool vectors, bool lower) {
  Type element = H::elementOf(a), real = partType(element);
  Dims values(H::shapeOf(a).drop_back()), batch(H::shapeOf(a).drop_back(2));
  if (isEmpty(a))
    return {b.splat(0, real, values), a};
  SmallVector<Value> r =
      lapack(b, isa<ComplexType>(element) ? "heevd" : "syevd", {a},
             {a.getType(), b.tensorType(values, real), b.tensorType(batch, b.i32())},
             {{"mode", vectors ? 'V' : 'N'}, {"uplo", lower ? 'L' : 'U'}});
  return {r[1], r[0]};
}

Value matrices(Node &n, StringRef name, bool square) {
  Value x = n.in(name);
  if (n.failed())
    return {};
  if (H::rankOf(x) < 2 || (square && H::shapeOf(x).back() != H::shapeOf(x)[H::rankOf(x) - 2])) {
    n.fail(name.str() + " should hold " + (square ? "square matrices" : "matrices"));
    return {};
  }
  return n.b.convert(x, n.computeType(H::elementOf(x)));
}

void outOrZeros(Node &n, size_t i, Value value) {
  if (i >= n.outputCount() || !n.resultType(i))
    return;
  RankedTensorType type = n.resultType(i);
  if (value && H::countOf(value) == type.getNumElements())
    n.out(i, n.b.reshape(value, type.getShape()));
  else
    n.out(i, n.b.splat(0, type.getElementType(), type.getShape()));
}

} // namespace cupel::frontends::torch_import
