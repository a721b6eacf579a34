// Reductions, the softmax family, running sums and sorting.

#include "cupel/frontends/math/Order.h"
#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

Result<std::optional<Dims>> optionalAxes(Node &n, int64_t since, size_t operand) {
  if (n.opset < since)
    return n.hasAttribute("axes") ? std::optional<Dims>(n.integers("axes")) : std::nullopt;
  if (!n.has(operand))
    return std::optional<Dims>();
  ONNX_LET(axes, n.knownIntegers(operand, "the axes"));
  return std::optional<Dims>(axes);
}

namespace {

enum class Kind { Sum, Mean, Max, Min, Prod, L1, L2, SumSquare, LogSum, LogSumExp };

Value reduced(HloBuilder &b, Kind kind, Value x, ArrayRef<int64_t> axes, bool keep) {
  switch (kind) {
  case Kind::Sum:
    return b.reduce(x, axes, Fold::Add, keep);
  case Kind::Mean:
    return b.mean(x, axes, keep);
  case Kind::Max:
    return b.reduce(x, axes, Fold::Max, keep);
  case Kind::Min:
    return b.reduce(x, axes, Fold::Min, keep);
  case Kind::Prod:
    return b.reduce(x, axes, Fold::Multiply, keep);
  case Kind::L1:
    return b.reduce(b.abs(x), axes, Fold::Add, keep);
  case Kind::L2: {
    Type element = HloBuilder::elementOf(x);
    Value wide = HloBuilder::isFloat(x) ? x : b.convert(x, b.f64());
    return b.convert(b.sqrt(b.reduce(b.square(wide), axes, Fold::Add, keep)), element);
  }
  case Kind::SumSquare:
    return b.reduce(b.square(x), axes, Fold::Add, keep);
  case Kind::LogSum: {
    Value sum = b.reduce(x, axes, Fold::Add, keep);
    Value wide = HloBuilder::isFloat(x) ? sum : b.convert(sum, b.f64());
    return b.convert(b.log(wide), HloBuilder::elementOf(x));
  }
  case Kind::LogSumExp: {
    Type element = HloBuilder::elementOf(x);
    Value wide = HloBuilder::isFloat(x) ? x : b.convert(x, b.f64());
    Value top = b.reduce(wide, axes, Fold::Max, true);
    // Where nothing is finite (or there is nothing), zero moves nothing.
    top = b.select(b.unary<stablehlo::IsFiniteOp>(top, b.i1()), top, b.like(top, 0));
    Value sum = b.reduce(b.exp(b.subtract(wide, top)), axes, Fold::Add, true);
    Value result = b.add(b.log(sum), top);
    if (!keep) {
      Dims shape;
      for (auto [i, size] : llvm::enumerate(HloBuilder::shapeOf(x)))
        if (!llvm::is_contained(axes, int64_t(i)))
          shape.push_back(size);
      result = b.reshape(result, shape);
    }
    return b.convert(result, element);
  }
  }
  llvm_unreachable("a reduction was forgotten");
}

template <Kind kind> Status lowerReduce(Node &n) {
  ONNX_TRY(n.expect(1, 2));
  ONNX_LET(given, optionalAxes(n, kind == Kind::Sum ? 13 : 18, 1));
  Dims axes;
  if (given && !given->empty()) {
    ONNX_LET(checked, n.axes(*given, n.rank(0)));
    axes = checked;
  } else if (!n.integer("noop_with_empty_axes", 0)) {
    axes = dimsFrom(0, n.rank(0));
  }
  if (HloBuilder::isBool(n.in(0)) && kind != Kind::Max && kind != Kind::Min)
    return n.error("does not take bools");
  n.out(0, reduced(n.b, kind, n.in(0), axes, n.integer("keepdims", 1)));
  return {};
}

template <bool largest> Status lowerArg(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  ONNX_LET(axis, n.axis(n.integer("axis", 0), n.rank(0)));
  if (n.shape(0)[axis] == 0)
    return n.error("its axis is empty");
  n.out(0, n.b.argExtreme(n.in(0), axis, largest, n.integer("select_last_index", 0), n.b.i64(),
                          n.integer("keepdims", 1)));
  return {};
}

/// One of the softmax family on the operand and an axis; before opset 13 over all dimensions from
/// the axis on.
template <Value (*build)(HloBuilder &, Value, int64_t)> Status lowerSoftmaxLike(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  Value x = n.in(0);
  Dims shape(n.shape(0));
  ONNX_LET(axis, n.axis(n.integer("axis", n.opset < 13 ? 1 : -1),
                        std::max<int64_t>(n.rank(0), n.opset < 13 ? 2 : 1)));
  if (n.opset < 13) {
    int64_t before = 1, after = 1;
    for (auto [i, size] : llvm::enumerate(shape))
      (int64_t(i) < axis ? before : after) *= size;
    x = n.b.reshape(x, {before, after});
    axis = 1;
  } else if (shape.empty()) {
    x = n.b.reshape(x, {1});
  }
  n.out(0, n.b.reshape(build(n.b, x, axis), shape));
  return {};
}

template <bool logarithm> Value softmaxOf(HloBuilder &b, Value x, int64_t axis) {
  return softmaxLayer(b, x, axis, logarithm, HloBuilder::elementOf(x));
}

Value hardmax(HloBuilder &b, Value x, int64_t axis) {
  Value first = b.argExtreme(x, axis, true, false, b.i64(), true);
  Value hit = b.equal(b.iota(HloBuilder::shapeOf(x), axis, b.i64()), first);
  return b.select(hit, b.like(x, 1), b.like(x, 0));
}

template <Fold fold> Status lowerCumulative(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  ONNX_LET(given, n.knownIntegers(1, "the axis"));
  if (given.size() != 1)
    return n.error("its axis should be one number");
  ONNX_LET(axis, n.axis(given[0], n.rank(0)));
  HloBuilder &b = n.b;
  Value x = n.in(0);
  bool reverse = n.integer("reverse", 0);
  if (reverse)
    x = b.reverse(x, {axis});
  x = cumulative(b, x, axis, fold);
  if (n.shape(0)[axis] > 0 && n.integer("exclusive", 0)) {
    Dims low(n.rank(0), 0), high(n.rank(0), 0);
    low[axis] = 1;
    high[axis] = -1;
    x = b.pad(x, b.initialValue(fold, HloBuilder::elementOf(x)), low, high);
  }
  n.out(0, reverse ? b.reverse(x, {axis}) : x);
  return {};
}

Status lowerTopK(Node &n) {
  ONNX_TRY(n.expect(n.opset < 10 ? 1 : 2, 2));
  HloBuilder &b = n.b;
  int64_t k = n.integer("k", 0);
  if (n.opset >= 10) {
    ONNX_LET(given, n.knownIntegers(1, "k"));
    if (given.size() != 1)
      return n.error("k should be one number");
    k = given[0];
  }
  ONNX_LET(axis, n.axis(n.integer("axis", -1), n.rank(0)));
  Value x = n.in(0);
  if (k < 0 || k > n.shape(0)[axis])
    return n.error("k is " + std::to_string(k) + ", beyond the size of its axis");
  auto [values, places] = sorted(b, x, axis, n.integer("largest", 1));
  n.out(0, b.sliceDim(values, axis, 0, k));
  n.out(1, b.sliceDim(places, axis, 0, k));
  return {};
}

} // namespace

void registerReductions(OpTable &table) {
  table.add("ReduceSum", 1, lowerReduce<Kind::Sum>);
  table.add("ReduceMean", 1, lowerReduce<Kind::Mean>);
  table.add("ReduceMax", 1, lowerReduce<Kind::Max>);
  table.add("ReduceMin", 1, lowerReduce<Kind::Min>);
  table.add("ReduceProd", 1, lowerReduce<Kind::Prod>);
  table.add("ReduceL1", 1, lowerReduce<Kind::L1>);
  table.add("ReduceL2", 1, lowerReduce<Kind::L2>);
  table.add("ReduceSumSquare", 1, lowerReduce<Kind::SumSquare>);
  table.add("ReduceLogSum", 1, lowerReduce<Kind::LogSum>);
  table.add("ReduceLogSumExp", 1, lowerReduce<Kind::LogSumExp>);
  table.add("ArgMax", 1, lowerArg<true>);
  table.add("ArgMin", 1, lowerArg<false>);
  table.add("Softmax", 1, lowerSoftmaxLike<softmaxOf<false>>);
  table.add("LogSoftmax", 1, lowerSoftmaxLike<softmaxOf<true>>);
  table.add("Hardmax", 1, lowerSoftmaxLike<hardmax>);
  table.add("CumSum", 11, lowerCumulative<Fold::Add>);
  table.add("CumProd", 26, lowerCumulative<Fold::Multiply>);
  table.add("TopK", 1, lowerTopK);
}

} // namespace cupel::frontends::onnx_import
