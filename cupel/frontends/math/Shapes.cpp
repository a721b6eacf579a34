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

namespace {

/// A matrix whose rows have one or two numbers: where they are, and what.
struct Pairs {
  Dims places[2];
  std::vector<double> numbers[2];
};
std::optional<Pairs> pairsOf(int64_t rows, int64_t columns, ArrayRef<double> matrix) {
  constexpr int64_t kFewestColumns = 8; // Else a product is as good.
  if (columns < kFewestColumns)
    return std::nullopt;
  Pairs pairs;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t found[2] = {0, 0}, count = 0;
    for (int64_t column = 0; column < columns; ++column)
      if (matrix[row * columns + column] != 0) {
        if (count == 2)
          return std::nullopt;
        found[count++] = column;
      }
    if (count < 2) // The next one counts for nothing, as with those who interpolate between two everywhere.
      found[1] = std::min(found[0] + 1, columns - 1);
    for (int k : {0, 1}) {
      pairs.places[k].push_back(found[k]);
      pairs.numbers[k].push_back(k < count ? matrix[row * columns + found[k]] : 0.0);
    }
  }
  return pairs;
}

} // namespace

Value applyMatrix(HloBuilder &b, Value x, int64_t dimension, int64_t rows, int64_t columns,
                  ArrayRef<double> matrix, bool transposed) {
  Type element = H::elementOf(x);
  std::optional<Pairs> pairs;
  if (!transposed && (element.isF32() || element.isF64()))
    pairs = pairsOf(rows, columns, matrix);
  if (pairs) {
    // Two places of each row are read instead of all, and no infinity elsewhere becomes a NaN.
    Value parts[2];
    for (int k : {0, 1}) {
      Value taken = b.take(x, b.integers(pairs->places[k]), dimension);
      std::vector<float> narrow(pairs->numbers[k].begin(), pairs->numbers[k].end());
      Value numbers = element.isF64() ? b.constant(Tensor::of<DType::F64>({rows}, pairs->numbers[k]))
                                      : b.constant(Tensor::of<DType::F32>({rows}, narrow));
      parts[k] = b.multiply(taken, b.broadcastInDim(numbers, H::shapeOf(taken), {dimension}));
    }
    return b.add(parts[0], parts[1]);
  }
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
