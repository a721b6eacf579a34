// Embeddings, and bags of them.

#include "cupel/frontends/math/Order.h"
#include "cupel/frontends/torch/ops/Algebra.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

void lowerEmbedding(Node &n) {
  Value weight = n.in("weight"), indices = n.in("indices");
  if (n.failed() || H::rankOf(weight) < 1)
    return n.fail("the weight has no rows");
  if (isEmpty(indices) || isEmpty(weight))
    return n.out(n.b.splat(0, n.resultElement(), n.resultShape()));
  n.out(n.b.take(weight, indices, 0));
}

/// How often each of `count` rows is named.
Value frequencies(HloBuilder &b, Value indices, int64_t count, Type type) {
  int64_t named = H::countOf(indices);
  return b.scatterNd(b.splat(0, type, {count}), b.reshape(indices, {named, 1}),
                     b.splat(1, type, {named}), Fold::Add);
}

void lowerEmbeddingBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value gradient = n.in(n.declares("grad_output") ? "grad_output" : "grad", type),
        indices = n.in("indices");
  int64_t rows = n.integer("num_weights"), padding = n.integer("padding_idx", -1);
  if (n.failed())
    return;
  if (n.declares("sparse") && n.flag("sparse"))
    return n.refuse(ErrorCode::DataDependent, "sparse gradients");
  int64_t named = H::countOf(indices), width = H::shapeOf(gradient).back();
  Value zeros = b.splat(0, type, {rows, width});
  if (isEmpty(gradient))
    return n.out(zeros);
  Value flat = b.reshape(gradient, {named, width}), at = b.reshape(indices, {named});
  if (padding >= 0)
    flat = b.select(b.reshape(b.notEqual(at, b.like(at, double(padding))), {named, 1}), flat,
                    b.like(flat, 0));
  if (n.flag("scale_grad_by_freq")) {
    Value often = b.take(frequencies(b, at, rows, type), at, 0);
    flat = b.divide(flat, b.reshape(often, {named, 1}));
  }
  n.out(b.scatterNd(zeros, b.reshape(at, {named, 1}), flat, Fold::Add));
}

/// Rows longer than max_norm are shortened to it.
Value shortened(HloBuilder &b, Value x, double p, double maxNorm, ArrayRef<int64_t> dims) {
  Value norm = vectorNorm(b, x, p, dims, true);
  Value factor = b.divide(b.like(norm, maxNorm), b.add(norm, b.like(norm, 1e-7)));
  Value long_ = b.greater(norm, b.like(norm, maxNorm));
  return b.multiply(x, b.convert(b.select(long_, factor, b.like(norm, 1)), H::elementOf(x)));
}

void lowerEmbeddingRenorm(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type), indices = n.in("indices");
  if (n.failed() || H::rankOf(x) != 2)
    return n.fail("takes a matrix");
  if (isEmpty(indices))
    return n.out(x);
  Value named = frequencies(b, indices, H::shapeOf(x)[0], b.f32());
  Value hit = b.reshape(b.greater(named, b.like(named, 0)), {H::shapeOf(x)[0], 1});
  n.out(b.select(hit, shortened(b, x, n.real("norm_type"), n.real("max_norm"), {1}), x));
}

void lowerRenorm(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type);
  int64_t rank = H::rankOf(x), dimension = n.dim("dim", rank);
  Dims dims;
  for (int64_t i = 0; i < rank; ++i)
    if (i != dimension)
      dims.push_back(i);
  if (n.failed())
    return;
  n.out(shortened(b, x, n.scalar("p").real(), n.scalar("maxnorm").real(), dims));
}

//===----------------------------------------------------------------------===//
// Bags
//===----------------------------------------------------------------------===//

enum BagMode { Sum = 0, Mean = 1, Max = 2 };

/// Which bag each index lies in: as many offsets as are not beyond it, less one. What begins behind
/// the last index has none, and its place is left out.
Value bagOf(HloBuilder &b, Value offsets, int64_t count) {
  int64_t bags = H::countOf(offsets);
  Value begun = b.scatterNd(b.splatInteger(0, b.i64(), {count}),
                            b.reshape(b.convert(offsets, b.i64()), {bags, 1}),
                            b.splatInteger(1, b.i64(), {bags}), Fold::Add);
  Value sum = cumulative(b, begun, 0, Fold::Add);
  return b.subtract(sum, b.like(sum, 1));
}

void lowerEmbeddingBag(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value weight = n.in("weight"), indices = n.in("indices"), offsets = n.in("offsets");
  int64_t mode = n.integer("mode");
  int64_t padding =
      n.declares("padding_idx") && n.has("padding_idx") ? n.integer("padding_idx", -1) : -1;
  // This form counts from the end; the others mean none by -1.
  if (n.overload() == "padding_idx" && n.has("padding_idx") && padding < 0 && H::rankOf(weight))
    padding += H::shapeOf(weight)[0];
  if (n.failed())
    return;
  if (H::rankOf(weight) != 2 || H::rankOf(indices) != 1 || H::rankOf(offsets) != 1)
    return n.fail("takes a matrix, and indices and offsets of one dimension");
  bool dropsLast = n.flag("include_last_offset");
  int64_t count = H::countOf(indices), bags = n.resultShape()[0], width = H::shapeOf(weight)[1];
  if (dropsLast && bags + 1 != H::countOf(offsets))
    return n.fail("offsets do not fit the result");
  auto extra = [&](size_t i, Value value) {
    if (i >= n.outputCount() || !n.resultType(i))
      return;
    RankedTensorType t = n.resultType(i);
    if (value && H::countOf(value) == t.getNumElements())
      n.out(i, b.reshape(value, t.getShape()));
    else
      n.out(i, b.splat(0, t.getElementType(), t.getShape()));
  };
  if (count == 0 || bags == 0) {
    for (size_t i = 0; i < n.outputCount(); ++i)
      extra(i, {});
    return;
  }
  Value starts = dropsLast ? b.sliceDim(offsets, 0, 0, bags) : offsets;
  Value bag = bagOf(b, starts, count); // [count]
  Value place = b.reshape(bag, {count, 1}), counted = b.splatInteger(1, b.i64(), {count}), kept;
  if (padding >= 0) {
    kept = b.notEqual(indices, b.like(indices, double(padding)));
    counted = b.convert(kept, b.i64());
  }
  Value used = b.scatterNd(b.splatInteger(0, b.i64(), {bags}), place, counted, Fold::Add);
  Value rows = b.convert(b.take(weight, indices, 0), type); // [count, width]
  if (n.has("per_sample_weights"))
    rows = b.multiply(rows, b.reshape(n.in("per_sample_weights", type), {count, 1}));
  Value y, where;
  if (mode == Max) {
    Value member = b.equal(b.reshape(bag, {1, count}), b.iota({bags, count}, 0, b.i64()));
    if (kept)
      member = b.logicalAnd(member, b.broadcastTo(b.reshape(kept, {1, count}), {bags, count}));
    Value wide = b.broadcastInDim(member, {bags, count, width}, {0, 1});
    Value values =
        b.select(wide, b.broadcastInDim(rows, {bags, count, width}, {1, 2}), b.lowest(type));
    Value none = b.reshape(b.equal(used, b.like(used, 0)), {bags, 1});
    y = b.reduce(values, {1}, Fold::Max);
    y = b.select(none, b.like(y, 0), y);
    Value best = b.argExtreme(values, 1, true, false, b.i64(), false); // [bags, width]
    where = b.take(b.convert(indices, b.i64()), best, 0);
    where = b.select(none, b.like(where, 0), where);
  } else {
    // A padded row must not spoil a sum with what it holds.
    if (kept)
      rows = b.select(b.reshape(kept, {count, 1}), rows, b.like(rows, 0));
    y = b.scatterNd(b.splat(0, type, {bags, width}), place, rows, Fold::Add);
    if (mode == Mean) {
      Value divisor = b.maximum(used, b.like(used, 1));
      y = b.divide(y, b.reshape(b.convert(divisor, type), {bags, 1}));
    }
  }
  n.out(0, y);
  extra(1, bag);
  extra(2, used);
  extra(3, mode == Max ? where : Value());
}

/// The bag of each index; torch leaves offset2bag empty where its forward pass did not need it.
Value knownBag(Node &n, Value bag, int64_t count, int64_t bags) {
  if (H::countOf(bag) == count)
    return bag;
  Value offsets = n.declares("offsets") ? n.in("offsets") : bag;
  if (n.failed() || H::countOf(bag) != 0 || H::rankOf(offsets) != 1 || H::countOf(offsets) < bags) {
    n.fail("offset2bag and offsets do not fit indices");
    return bag;
  }
  // There may be one more offset, behind the last bag.
  return bagOf(n.b, n.b.sliceDim(offsets, 0, 0, bags), count);
}

/// Each index takes the gradient of its bag; with maxima, each feature that of where it came from.
void lowerEmbeddingBagBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad", type), indices = n.in("indices"), bag = n.in("offset2bag"),
        sizes = n.in("bag_size");
  int64_t rows = n.integer("num_weights"), mode = n.integer("mode"),
          padding = n.integer("padding_idx", -1);
  if (n.failed())
    return;
  if (n.declares("sparse") && n.flag("sparse"))
    return n.refuse(ErrorCode::DataDependent, "sparse gradients");
  if (H::rankOf(g) != 2)
    return n.fail("grad should be a matrix");
  int64_t count = H::countOf(indices), bags = H::shapeOf(g)[0], width = H::shapeOf(g)[1];
  Value zeros = b.splat(0, type, {rows, width});
  if (isEmpty(g) || count == 0)
    return n.out(zeros);
  if (mode == Max) {
    Value where = n.in("maximum_indices");
    if (H::shapeOf(where) != H::shapeOf(g))
      return n.fail("maximum_indices does not fit grad");
    Value full = b.reshape(b.equal(sizes, b.like(sizes, 0)), {bags, 1});
    g = b.select(full, b.like(g, 0), g);
    Value safe = b.maximum(where, b.like(where, 0)); // An empty bag says -1.
    return n.out(b.scatterAlong(zeros, safe, g, 0, Fold::Add));
  }
  bag = knownBag(n, bag, count, bags);
  if (n.failed())
    return;
  Value updates = b.take(g, bag, 0); // [count, width]
  auto scaled = [&](Value factor) { updates = b.multiply(updates, b.reshape(factor, {count, 1})); };
  if (n.has("per_sample_weights"))
    scaled(n.in("per_sample_weights", type));
  if (mode == Mean) {
    Value each = b.convert(b.take(b.maximum(sizes, b.like(sizes, 1)), bag, 0), type);
    scaled(b.divide(b.like(each, 1), each));
  }
  if (padding >= 0)
    scaled(b.convert(b.notEqual(indices, b.like(indices, double(padding))), type));
  if (n.flag("scale_grad_by_freq")) {
    Value often = b.take(frequencies(b, indices, rows, type), indices, 0);
    scaled(b.divide(b.like(often, 1), often));
  }
  n.out(b.scatterNd(zeros, b.reshape(indices, {count, 1}), updates, Fold::Add));
}

/// How much the row of each index counts for the gradient of its bag.
void lowerSampleWeightsBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value g = n.in("grad", type), weight = n.in("weight", type), indices = n.in("indices"),
        bag = n.in("offset2bag");
  int64_t padding = n.integer("padding_idx", -1);
  if (n.failed())
    return;
  int64_t count = H::countOf(indices);
  if (H::rankOf(g) != 2 || H::rankOf(weight) != 2 || H::shapeOf(g)[1] != H::shapeOf(weight)[1])
    return n.fail("grad and weight should be matrices of one width");
  if (n.integer("mode") != Sum)
    return n.fail("only sums have weights a sample");
  if (isEmpty(g) || count == 0)
    return n.out(b.splat(0, type, n.resultShape()));
  bag = knownBag(n, bag, count, H::shapeOf(g)[0]);
  if (n.failed())
    return;
  Value y = b.reduce(b.multiply(b.take(g, bag, 0), b.take(weight, indices, 0)), {1}, Fold::Add);
  if (padding >= 0)
    y = b.select(b.equal(indices, b.like(indices, double(padding))), b.like(y, 0), y);
  n.out(b.reshape(y, n.resultShape()));
}

} // namespace

void registerEmbedding(OpTable &table) {
  table.add("aten.embedding", lowerEmbedding);
  table.add("aten.embedding_backward", lowerEmbeddingBackward);
  table.add("aten.embedding_dense_backward", lowerEmbeddingBackward);
  table.add("aten.embedding_renorm", lowerEmbeddingRenorm);
  table.add("aten.renorm", lowerRenorm);
  table.add("aten.embedding_bag", lowerEmbeddingBag);
  table.add("aten._embedding_bag", lowerEmbeddingBag);
  table.add("aten._embedding_bag_forward_only", lowerEmbeddingBag);
  table.add("aten._embedding_bag_backward", lowerEmbeddingBagBackward);
  table.add("aten._embedding_bag_dense_backward", lowerEmbeddingBagBackward);
  table.add("aten._embedding_bag_per_sample_weights_backward", lowerSampleWeightsBackward);
}

} // namespace cupel::frontends::torch_import
