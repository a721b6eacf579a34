// Distances and similarities of vectors, and the losses made of them.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/frontends/torch/ops/Shapes.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

void outLoss(Node &n, Value loss) { n.out(reduceLoss(n.b, loss, n.integer("reduction", 1))); }

/// A norm sums narrow floats in f32 and rounds once.
Value wideNorm(HloBuilder &b, Value x, double p, int64_t dim, bool keepDims) {
  Type type = HloBuilder::elementOf(x);
  bool narrow = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  return b.convert(vectorNorm(b, narrow ? b.convert(x, b.f32()) : x, p, {dim}, keepDims), type);
}

Value distance(HloBuilder &b, Value x, Value y, double p, double eps, bool keepDims) {
  Value gap = b.subtract(x, y);
  gap = b.add(gap, b.like(gap, eps));
  return wideNorm(b, gap, p, HloBuilder::rankOf(gap) - 1, keepDims);
}

void lowerPairwiseDistance(Node &n) {
  Type type = n.promoteToFloat({"x1", "x2"});
  Value x = n.in("x1", type), y = n.in("x2", type);
  if (!fitTogether(n, {x, y}))
    return;
  if (std::max(HloBuilder::rankOf(x), HloBuilder::rankOf(y)) == 0)
    return n.fail("arguments 'x1' and 'x2' have no dimension");
  n.out(distance(n.b, x, y, n.real("p", 2), n.real("eps", 1e-6), n.flag("keepdim")));
}

void lowerTripletMargin(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promoteToFloat({"anchor", "positive", "negative"});
  Value anchor = n.in("anchor", type), positive = n.in("positive", type),
        negative = n.in("negative", type);
  double p = n.real("p", 2), eps = n.real("eps", 1e-6);
  if (!fitTogether(n, {anchor, positive, negative}))
    return;
  if (HloBuilder::rankOf(anchor) == 0)
    return n.fail("argument 'anchor' has no dimension");
  Value near = distance(b, anchor, positive, p, eps, false),
        far = distance(b, anchor, negative, p, eps, false);
  if (n.flag("swap"))
    far = b.minimum(far, distance(b, positive, negative, p, eps, false));
  Value gap = b.subtract(b.add(near, b.like(near, n.real("margin", 1))), far);
  outLoss(n, b.maximum(gap, b.like(gap, 0)));
}

void lowerCosineSimilarity(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promoteToFloat({"x1", "x2"});
  Value x = n.in("x1", type), y = n.in("x2", type);
  if (!fitTogether(n, {x, y}))
    return;
  std::tie(x, y) = b.broadcastPair(x, y);
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed())
    return;
  double eps = n.real("eps", 1e-8);
  if (HloBuilder::rankOf(x) == 0)
    x = b.reshape(x, {1}), y = b.reshape(y, {1});
  auto unit = [&](Value v) {
    Value size = wideNorm(b, v, 2, dim, true);
    return b.divide(v, b.maximum(size, b.like(size, eps)));
  };
  n.out(b.reshape(sum(b, b.multiply(unit(x), unit(y)), {dim}, false), n.resultShape()));
}

void lowerCosineEmbedding(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promoteToFloat({"input1", "input2"});
  Value x = n.in("input1", type), y = n.in("input2", type), target = n.in("target", type);
  int64_t dim = HloBuilder::rankOf(target);
  if (!fitTogether(n, {x, y}))
    return;
  if (HloBuilder::rankOf(x) != dim + 1 || HloBuilder::rankOf(y) != dim + 1)
    return n.fail("argument 'target' is not one dimension less than the inputs");
  auto total = [&](Value v) { return sum(b, v, {dim}, false); };
  auto size = [&](Value v) {
    Value squares = total(b.square(v));
    return b.add(squares, b.like(squares, 1e-12));
  };
  Value cosine = b.divide(total(b.multiply(x, y)), b.sqrt(b.multiply(size(x), size(y))));
  Value zero = b.like(cosine, 0), one = b.like(cosine, 1);
  Value apart = b.maximum(b.subtract(cosine, b.like(cosine, n.real("margin"))), zero);
  Value loss = b.add(b.select(b.equal(target, one), b.subtract(one, cosine), zero),
                     b.select(b.equal(target, b.like(target, -1)), apart, zero));
  outLoss(n, loss);
}

/// Distances between all rows of two (batches of) matrices.
Value allDistances(HloBuilder &b, Value x, Value y, double p) {
  int64_t rank = HloBuilder::rankOf(x);
  Value gap = b.subtract(b.unsqueeze(x, rank - 1), b.unsqueeze(y, rank - 2));
  return vectorNorm(b, gap, p, {rank}, false);
}

void lowerCdist(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.promoteToFloat({"x1", "x2"}));
  Value x = n.in("x1", type), y = n.in("x2", type);
  double p = n.declares("p") ? n.real("p", 2) : 2;
  if (n.failed() || emptyResult(n))
    return;
  int64_t rank = std::max(HloBuilder::rankOf(x), HloBuilder::rankOf(y));
  auto batched = [&](Value v) {
    Dims shape(rank - HloBuilder::rankOf(v), 1);
    shape.append(HloBuilder::shapeOf(v).begin(), HloBuilder::shapeOf(v).end());
    return b.reshape(v, shape);
  };
  if (HloBuilder::rankOf(x) < 2 || HloBuilder::rankOf(y) < 2)
    return n.fail("arguments 'x1' and 'x2' are no matrices");
  x = batched(x);
  y = batched(y);
  if (HloBuilder::shapeOf(x).back() == 0)
    return n.out(b.splat(0, n.resultElement(), n.resultShape()));
  if (!HloBuilder::broadcastShape(HloBuilder::shapeOf(x).drop_back(2),
                                  HloBuilder::shapeOf(y).drop_back(2)) ||
      HloBuilder::shapeOf(x).back() != HloBuilder::shapeOf(y).back())
    return n.fail("arguments 'x1' and 'x2' do not fit");
  n.out(allDistances(b, x, y, p));
}

void lowerPdist(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("self"));
  Value x = n.in("self", type);
  double p = n.real("p", 2);
  if (n.failed() || emptyResult(n))
    return;
  if (HloBuilder::rankOf(x) != 2)
    return n.fail("argument 'self' is no matrix");
  int64_t rows = HloBuilder::shapeOf(x)[0];
  SmallVector<int64_t> first, second;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i + 1; j < rows; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  if (HloBuilder::shapeOf(x)[1] == 0)
    return n.out(b.splat(0, type, n.resultShape()));
  Value gap = b.subtract(b.take(x, b.integers(first), 0), b.take(x, b.integers(second), 0));
  n.out(vectorNorm(b, gap, p, {1}, false));
}

} // namespace

void registerDistances(OpTable &table) {
  table.add("aten.pairwise_distance", lowerPairwiseDistance);
  table.add("aten.triplet_margin_loss", lowerTripletMargin);
  table.add("aten.cosine_similarity", lowerCosineSimilarity);
  table.add("aten.cosine_embedding_loss", lowerCosineEmbedding);
  for (const char *name : {"aten.cdist", "aten._cdist_forward", "aten._euclidean_dist"})
    table.add(name, lowerCdist);
  table.add("aten.pdist", lowerPdist);
  table.add("aten._pdist_forward", lowerPdist);
}

} // namespace cupel::frontends::torch_import
