#include "cupel/frontends/math/Shapes.h"

namespace cupel::frontends {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;
using H = HloBuilder;

Dims dimsFrom(int64_t first, int64_t rank) {
  return llvm::to_vector<6>(llvm::seq<int64_t>(first, std::max(first, rank)));
}

Value perChannel(HloBuilder &b, Value x, int64_t rank) {
  Dims shape(rank - 1, 1);
  shape[0] = H::countOf(x);
  return b.reshape(x, shape);
}

Value moveLast(HloBuilder &b, Value x, int64_t dimension) {
  Dims order = dimsFrom(0, H::rankOf(x));
  std::rotate(order.begin() + dimension, order.begin() + dimension + 1, order.end());
  return b.transpose(x, order);
}

Value moveFromLast(HloBuilder &b, Value x, int64_t dimension) {
  Dims order = dimsFrom(0, H::rankOf(x));
  std::rotate(order.begin() + dimension, order.end() - 1, order.end());
  return b.transpose(x, order);
}

Value swapLast(HloBuilder &b, Value x) {
  Dims order = dimsFrom(0, H::rankOf(x));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.transpose(x, order);
}

Value applyMatrix(HloBuilder &b, Value x, int64_t dimension, int64_t rows, int64_t columns,
                  ArrayRef<double> matrix, bool transposed) {
  std::vector<double> table(matrix.begin(), matrix.end());
  Value weights;
  if (H::elementOf(x).isF64()) {
    weights = b.constant(Tensor::of<DType::F64>({rows, columns}, table));
  } else {
    std::vector<float> narrow(table.begin(), table.end());
    weights =
        b.convert(b.constant(Tensor::of<DType::F32>({rows, columns}, narrow)), H::elementOf(x));
  }
  Value product = b.dotGeneral(x, weights, {}, {}, {dimension}, {transposed ? 0 : 1});
  return moveFromLast(b, product, dimension);
}

/// Where element `i` of a padded dimension comes from.
static int64_t sourceOf(Edge edge, int64_t i, int64_t size) {
  switch (edge) {
  case Edge::Replicate:
    return std::clamp<int64_t>(i, 0, size - 1);
  case Edge::Circular:
    return ((i % size) + size) % size;
  case Edge::Reflect: {
    int64_t period = std::max<int64_t>(2 * (size - 1), 1);
    i = ((i % period) + period) % period;
    return i < size ? i : period - i;
  }
  }
  llvm_unreachable("a kind of edge was forgotten");
}

Value padWithEdge(HloBuilder &b, Value x, int64_t dimension, int64_t low, int64_t high, Edge edge) {
  int64_t size = H::shapeOf(x)[dimension];
  if (low == 0 && high == 0)
    return x;
  Dims places;
  for (int64_t i = -low; i < size + high; ++i)
    places.push_back(sourceOf(edge, i, size));
  return b.take(x, b.integers(places), dimension);
}

} // namespace cupel::frontends
