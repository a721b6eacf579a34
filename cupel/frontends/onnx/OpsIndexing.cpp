// Gathers, scatters and what is made from positions: OneHot, Trilu, EyeLike, ReverseSequence.

#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

Status lowerGather(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  ONNX_LET(axis, n.axis(n.integer("axis", 0), n.rank(0)));
  if (!HloBuilder::isInteger(n.in(1)))
    return n.error("its indices should be integers");
  n.out(0, n.b.take(n.in(0), n.b.wrapIndices(n.in(1), n.shape(0)[axis]), axis));
  return {};
}

Status lowerGatherElements(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  ONNX_LET(axis, n.axis(n.integer("axis", 0), n.rank(0)));
  if (!HloBuilder::isInteger(n.in(1)) || n.rank(1) != n.rank(0))
    return n.error("its indices should be integers of its operand's rank");
  n.out(0, n.b.takeAlong(n.in(0), n.b.wrapIndices(n.in(1), n.shape(0)[axis]), axis));
  return {};
}

/// Rows of indices into the dimensions from `first` on, negative ones counted from the end.
Value wrapRows(HloBuilder &b, Value rows, ArrayRef<int64_t> sizes) {
  Type element = HloBuilder::elementOf(rows);
  Value moved = b.add(rows, b.convert(b.integers(sizes), element));
  return b.select(b.less(rows, b.like(rows, 0)), moved, rows);
}

Status lowerGatherNd(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  int64_t batch = n.integer("batch_dims", 0);
  if (n.rank(1) < 1 || batch < 0 || batch >= n.rank(1) || batch + n.shape(1).back() > n.rank(0) ||
      n.shape(0).take_front(batch) != n.shape(1).take_front(batch))
    return n.error("its indices do not fit its operand");
  ArrayRef<int64_t> sizes = n.shape(0).slice(batch, n.shape(1).back());
  n.out(0, n.b.gatherNd(n.in(0), wrapRows(n.b, n.in(1), sizes), batch));
  return {};
}

Result<std::optional<Fold>> reduction(Node &n) {
  std::string how = n.text("reduction", "none");
  if (how == "none")
    return std::optional<Fold>();
  if (how == "add")
    return std::optional<Fold>(Fold::Add);
  if (how == "mul")
    return std::optional<Fold>(Fold::Multiply);
  if (how == "max")
    return std::optional<Fold>(Fold::Max);
  if (how == "min")
    return std::optional<Fold>(Fold::Min);
  return n.error("its reduction '" + how + "' is unknown");
}

Status lowerScatterElements(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  ONNX_LET(axis, n.axis(n.integer("axis", 0), n.rank(0)));
  ONNX_LET(fold, reduction(n));
  if (n.rank(1) != n.rank(0) || n.shape(1) != n.shape(2) || n.element(2) != n.element(0))
    return n.error("its indices and updates do not fit its operand");
  Value indices = n.b.wrapIndices(n.in(1), n.shape(0)[axis]);
  n.out(0, n.b.scatterAlong(n.in(0), indices, n.in(2), axis, fold));
  return {};
}

Status lowerScatterNd(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  ONNX_LET(fold, reduction(n));
  if (n.rank(1) < 1 || n.shape(1).back() > n.rank(0) || n.element(2) != n.element(0))
    return n.error("its indices do not fit its operand");
  int64_t width = n.shape(1).back();
  Dims wanted(n.shape(1).drop_back());
  wanted.append(n.shape(0).begin() + width, n.shape(0).end());
  if (ArrayRef<int64_t>(wanted) != n.shape(2))
    return n.error("its updates do not fit its indices");
  Value rows = wrapRows(n.b, n.in(1), n.shape(0).take_front(width));
  n.out(0, n.b.scatterNd(n.in(0), rows, n.in(2), fold));
  return {};
}

Status lowerOneHot(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  HloBuilder &b = n.b;
  ONNX_LET(depths, n.knownIntegers(1, "the depth"));
  if (depths.size() != 1 || depths[0] < 0 || HloBuilder::countOf(n.in(2)) != 2)
    return n.error("its depth should be one number and its values two");
  int64_t depth = depths[0], rank = n.rank(0) + 1;
  ONNX_LET(axis, n.axis(n.integer("axis", -1), rank));
  Dims shape(n.shape(0));
  shape.insert(shape.begin() + axis, depth);
  Value indices = b.wrapIndices(b.convert(n.in(0), b.i64()), depth);
  Value hit = b.equal(b.iota(shape, axis, b.i64()), b.unsqueeze(indices, axis));
  Value values = b.reshape(n.in(2), {2});
  Value off = b.reshape(b.sliceDim(values, 0, 0, 1), {}),
        on = b.reshape(b.sliceDim(values, 0, 1, 2), {});
  n.out(0, b.select(hit, b.broadcastTo(on, shape), b.broadcastTo(off, shape)));
  return {};
}

/// Column minus row of each element of the last two dimensions.
Value diagonalOf(HloBuilder &b, ArrayRef<int64_t> shape) {
  int64_t rank = shape.size();
  return b.subtract(b.iota(shape, rank - 1, b.i64()), b.iota(shape, rank - 2, b.i64()));
}

Status lowerTrilu(Node &n) {
  ONNX_TRY(n.expect(1, 2));
  HloBuilder &b = n.b;
  if (n.rank(0) < 2)
    return n.error("takes matrices");
  Value k = n.has(1) ? b.reshape(b.convert(n.in(1), b.i64()), {}) : b.splatInteger(0, b.i64());
  Value diagonal = diagonalOf(b, n.shape(0));
  Value keep = n.integer("upper", 1) ? b.greaterEqual(diagonal, k) : b.lessEqual(diagonal, k);
  n.out(0, b.select(keep, n.in(0), b.like(n.in(0), 0)));
  return {};
}

Status lowerEyeLike(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  if (n.rank(0) != 2)
    return n.error("takes a matrix");
  Type element = n.element(0);
  if (n.hasAttribute("dtype")) {
    ONNX_LET(type, n.elementTypeNumbered(n.integer("dtype", 1)));
    element = type;
  }
  Value hit = b.equal(diagonalOf(b, n.shape(0)), b.splatInteger(n.integer("k", 0), b.i64()));
  Dims shape(n.shape(0));
  n.out(0, b.select(hit, b.splat(1, element, shape), b.splat(0, element, shape)));
  return {};
}

Status lowerReverseSequence(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  HloBuilder &b = n.b;
  int64_t batch = n.integer("batch_axis", 1), time = n.integer("time_axis", 0);
  if (n.rank(0) < 2 || batch == time || batch < 0 || time < 0 || batch > 1 || time > 1 ||
      HloBuilder::countOf(n.in(1)) != n.shape(0)[batch])
    return n.error("its axes or lengths do not fit its operand");
  Dims shape(n.shape(0));
  Value length = b.broadcastInDim(b.convert(n.in(1), b.i64()), shape, {batch});
  Value at = b.iota(shape, time, b.i64());
  Value mirrored = b.subtract(b.subtract(length, b.like(length, 1)), at);
  n.out(0, b.takeAlong(n.in(0), b.select(b.less(at, length), mirrored, at), time));
  return {};
}

Status lowerTensorScatter(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  HloBuilder &b = n.b;
  ONNX_LET(axis, n.axis(n.integer("axis", -2), n.rank(0)));
  if (axis == 0 || n.rank(1) != n.rank(0))
    return n.error("its axis or update does not fit");
  Dims shape(n.shape(1));
  Value at = b.iota(shape, axis, b.i64());
  if (n.has(2))
    at = b.add(at, b.broadcastInDim(b.convert(n.in(2), b.i64()), shape, {0}));
  if (n.text("mode", "linear") == "circular")
    at = b.remainder(at, b.like(at, double(n.shape(0)[axis])));
  n.out(0, b.scatterAlong(n.in(0), at, n.in(1), axis, std::nullopt));
  return {};
}

/// Which entries stay is a shape: the condition must be known.
Status lowerCompress(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  return n.refuse(ErrorCode::DataDependent,
                  "how many entries stay depends on the condition's values");
}

template <ErrorCode code> Status refused(Node &n) {
  switch (code) {
  case ErrorCode::DataDependent:
    return n.refuse(code, "the shape of its result depends on values");
  case ErrorCode::Random:
    return n.refuse(code, "its random numbers come from a stream that is not specified");
  case ErrorCode::Codec:
    return n.refuse(code, "decodes images");
  case ErrorCode::Strings:
    return n.refuse(code, "works on strings");
  default:
    return n.refuse(code, "is not lowered");
  }
}

} // namespace

void registerIndexing(OpTable &table) {
  table.add("Gather", 1, lowerGather);
  table.add("GatherElements", 11, lowerGatherElements);
  table.add("GatherND", 11, lowerGatherNd);
  table.add("Scatter", 9, lowerScatterElements);
  table.add("ScatterElements", 11, lowerScatterElements);
  table.add("ScatterND", 11, lowerScatterNd);
  table.add("OneHot", 9, lowerOneHot);
  table.add("Trilu", 14, lowerTrilu);
  table.add("EyeLike", 9, lowerEyeLike);
  table.add("ReverseSequence", 10, lowerReverseSequence);
  table.add("TensorScatter", 24, lowerTensorScatter);
  table.add("Compress", 9, lowerCompress, false);
  for (StringRef name : {"NonZero", "Unique", "NonMaxSuppression"})
    table.add(name, 1, refused<ErrorCode::DataDependent>, false);
  for (StringRef name : {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform",
                         "RandomUniformLike", "Multinomial"})
    table.add(name, 1, refused<ErrorCode::Random>, false);
  table.add("ImageDecoder", 20, refused<ErrorCode::Codec>, false);
  for (StringRef name :
       {"StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "TfIdfVectorizer"})
    table.add(name, 1, refused<ErrorCode::Strings>, false);
}

} // namespace cupel::frontends::onnx_import
