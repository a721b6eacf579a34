// Norms of vectors and matrices.

#include "cupel/frontends/torch/ops/Algebra.h"

#include <cmath>
#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

/// The operand in the type that the norm is computed in; complex if it is.
Value operand(Node &n, StringRef name) {
  Value x = n.in(name);
  if (n.failed())
    return x;
  Type real = n.computeType(partType(n.resultElement()));
  return n.b.convert(x, H::isComplex(x) ? Type(ComplexType::get(real)) : real);
}

/// n.out with the declared shape: norms with and without kept dimensions have the same elements.
void outNorm(Node &n, Value value) {
  if (H::countOf(value) != n.resultType().getNumElements())
    return n.fail("the result's shape does not fit");
  n.out(n.b.reshape(value, n.resultShape()));
}

double orderOf(Node &n, StringRef name, double missing) {
  return n.has(name) ? n.scalar(name).real() : missing;
}

void lowerVectorNorm(Node &n, StringRef ord) {
  Value x = operand(n, "self");
  Dims dims = n.declares("dim") ? n.dims("dim", H::rankOf(x)) : dimsFrom(0, H::rankOf(x));
  if (n.failed())
    return;
  if (H::rankOf(x) == 0)
    dims.clear();
  outNorm(n, vectorNorm(n.b, x, ord.empty() ? 2 : orderOf(n, ord, 2), dims, false));
}

void lowerPowerSum(Node &n) {
  HloBuilder &b = n.b;
  Value x = b.abs(operand(n, "self"));
  Dims dims = n.dims("dim", H::rankOf(x));
  if (n.failed())
    return;
  if (H::rankOf(x) == 0)
    dims.clear();
  outNorm(n, b.reduce(b.power(x, b.like(x, orderOf(n, "ord", 2))), dims, Fold::Add));
}

/// `word` is fro or nuc, or empty for `ord`.
void outMatrixNorm(Node &n, Value x, StringRef word, double ord, int64_t first, int64_t second) {
  HloBuilder &b = n.b;
  if (first == second)
    return n.fail("the two dimensions of the matrices are one");
  if (word == "fro")
    return outNorm(n, vectorNorm(b, x, 2, {first, second}, false));
  if (!word.empty() && word != "nuc")
    return n.fail("ord '" + word.str() + "' is unknown");
  Dims order;
  for (int64_t i = 0; i < H::rankOf(x); ++i)
    if (i != first && i != second)
      order.push_back(i);
  order.append({first, second});
  x = b.transpose(x, order);
  int64_t rank = H::rankOf(x);
  if (word == "nuc" || std::abs(ord) == 2) {
    Value s = singularValues(b, x, false, false).s;
    bool none = isEmpty(s) && n.resultType().getNumElements() != 0;
    if (none)
      return outNorm(n, b.splat(0, H::elementOf(s), n.resultShape()));
    Fold fold = word == "nuc" ? Fold::Add : ord > 0 ? Fold::Max : Fold::Min;
    return outNorm(n, b.reduce(s, {rank - 2}, fold));
  }
  bool rows = std::isinf(ord);
  if (!rows && std::abs(ord) != 1)
    return n.fail("ord should be 1, 2, inf, their negatives, fro or nuc");
  Value sums = b.reduce(b.abs(x), {rows ? rank - 1 : rank - 2}, Fold::Add);
  outNorm(n, b.reduce(sums, {rank - 2}, ord > 0 ? Fold::Max : Fold::Min));
}

void lowerMatrixNorm(Node &n) {
  Value x = operand(n, "self");
  bool word = n.overload() == "str_ord";
  Dims dims = n.integers("dim");
  if (n.failed() || dims.size() != 2 || H::rankOf(x) < 2)
    return n.fail("takes two dimensions");
  int64_t first = n.wrapDim(dims[0], H::rankOf(x)), second = n.wrapDim(dims[1], H::rankOf(x));
  std::string text = word ? n.text("ord", "fro") : "";
  outMatrixNorm(n, x, text, word ? 2 : n.scalar("ord").real(), first, second);
}

void lowerLinalgNorm(Node &n) {
  Value x = operand(n, "self");
  int64_t rank = H::rankOf(x);
  if (n.failed())
    return;
  bool word = n.overload() == "ord_str", ord = n.has("ord"), dim = n.has("dim");
  Dims dims = n.dims("dim", rank);
  if (rank == 0)
    dims.clear();
  if (dim) { // In the order given.
    Dims given = n.integers("dim");
    dims.clear();
    for (int64_t d : given)
      dims.push_back(n.wrapDim(d, rank));
  }
  std::string text = word ? n.text("ord") : "";
  double number = !word && ord ? n.scalar("ord").real() : 2;
  if (ord && dims.size() == 2 && rank >= 2)
    return outMatrixNorm(n, x, text, number, dims[0], dims[1]);
  if (word)
    return n.fail("ord '" + text + "' takes two dimensions");
  outNorm(n, vectorNorm(n.b, x, number, dims, false));
}

void lowerNuclearNorm(Node &n) {
  Value x = operand(n, "self");
  int64_t rank = H::rankOf(x);
  if (n.failed() || rank < 2)
    return n.fail("takes matrices");
  Dims dims = n.declares("dim") ? n.integers("dim") : Dims{0, 1};
  if (dims.size() != 2)
    return n.fail("takes two dimensions");
  outMatrixNorm(n, x, "nuc", 2, n.wrapDim(dims[0], rank), n.wrapDim(dims[1], rank));
}

void lowerFrobenius(Node &n) {
  Value x = operand(n, "self");
  Dims dims = n.dims("dim", H::rankOf(x));
  if (n.failed())
    return;
  outNorm(n, vectorNorm(n.b, x, 2, dims, false));
}

void lowerNormExceptDim(Node &n) {
  Value x = operand(n, "v");
  int64_t dimension = n.integer("dim");
  if (n.failed())
    return;
  Dims dims;
  for (int64_t i = 0; i < H::rankOf(x); ++i)
    if (dimension == -1 || i != n.wrapDim(dimension, H::rankOf(x)))
      dims.push_back(i);
  outNorm(n, vectorNorm(n.b, x, double(n.integer("pow", 2)), dims, false));
}

} // namespace

void registerNorms(OpTable &table) {
  table.add("aten.linalg_vector_norm", [](Node &n) { lowerVectorNorm(n, "ord"); });
  table.add("aten.native_norm", [](Node &n) { lowerVectorNorm(n, "p"); });
  table.add("aten.linalg__powsum", lowerPowerSum);
  table.add("aten.linalg_matrix_norm", lowerMatrixNorm);
  table.add("aten.linalg_norm", lowerLinalgNorm);
  table.add("aten.nuclear_norm", lowerNuclearNorm);
  table.add("aten.frobenius_norm", lowerFrobenius);
  table.add("aten.norm_except_dim", lowerNormExceptDim);
}

} // namespace cupel::frontends::torch_import
