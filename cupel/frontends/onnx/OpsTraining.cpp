// Steps of optimisers: Momentum, Adam, Adagrad (ai.onnx.preview.training). Operands are the rate,
// the step's number, then all tensors, all gradients and all states.

#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

/// How many tensors are optimised, given how many lists there are of them.
Result<size_t> tensorCount(Node &n, size_t lists) {
  ONNX_TRY(n.expect(2 + lists));
  if ((n.inputCount() - 2) % lists)
    return n.error("its lists of tensors differ in length");
  size_t count = (n.inputCount() - 2) / lists;
  for (size_t i = 2; i < n.inputCount(); ++i)
    if (!n.has(i) || n.shape(i) != n.shape(2 + (i - 2) % count))
      return n.error("a tensor and what belongs to it differ in shape");
  if (HloBuilder::countOf(n.in(0)) != 1 || HloBuilder::countOf(n.in(1)) != 1)
    return n.error("its rate and step should be scalars");
  return count;
}

Value times(HloBuilder &b, Value x, double factor) { return b.multiply(x, b.like(x, factor)); }

Value regularized(Node &n, Value x, Value gradient) {
  return n.b.add(times(n.b, x, n.real("norm_coefficient", 0)), gradient);
}

Status lowerMomentum(Node &n) {
  ONNX_LET(count, tensorCount(n, 3));
  HloBuilder &b = n.b;
  double alpha = n.real("alpha", 0), beta = n.real("beta", 1);
  bool nesterov = n.text("mode", "standard") == "nesterov";
  for (size_t i = 0; i < count; ++i) {
    Value x = n.in(2 + i), rate = b.convert(b.reshape(n.in(0), {}), HloBuilder::elementOf(x));
    Value step = b.reshape(n.in(1), {});
    Value g = regularized(n, x, n.in(2 + count + i));
    Value factor = b.select(b.greater(step, b.like(step, 0)), b.like(rate, beta), b.like(rate, 1));
    Value v = b.add(times(b, n.in(2 + 2 * count + i), alpha), b.multiply(factor, g));
    Value move = nesterov ? b.add(g, times(b, v, alpha)) : v;
    n.out(i, b.subtract(x, b.multiply(rate, move)));
    n.out(count + i, v);
  }
  return {};
}

Status lowerAdagrad(Node &n) {
  ONNX_LET(count, tensorCount(n, 3));
  HloBuilder &b = n.b;
  for (size_t i = 0; i < count; ++i) {
    Value x = n.in(2 + i);
    Type element = HloBuilder::elementOf(x);
    Value rate = b.convert(b.reshape(n.in(0), {}), element),
          step = b.convert(b.reshape(n.in(1), {}), element);
    Value slower = b.add(times(b, step, n.real("decay_factor", 0)), b.like(step, 1));
    Value g = regularized(n, x, n.in(2 + count + i));
    Value h = b.add(n.in(2 + 2 * count + i), b.square(g));
    Value size = b.add(b.sqrt(h), b.like(h, n.real("epsilon", 1e-6)));
    n.out(i, b.subtract(x, b.divide(b.multiply(b.divide(rate, slower), g), size)));
    n.out(count + i, h);
  }
  return {};
}

Status lowerAdam(Node &n) {
  ONNX_LET(count, tensorCount(n, 4));
  HloBuilder &b = n.b;
  double alpha = n.real("alpha", 0.9), beta = n.real("beta", 0.999);
  for (size_t i = 0; i < count; ++i) {
    Value x = n.in(2 + i);
    Type element = HloBuilder::elementOf(x);
    Value rate = b.convert(b.reshape(n.in(0), {}), element),
          step = b.convert(b.reshape(n.in(1), {}), element), one = b.like(rate, 1);
    Value g = regularized(n, x, n.in(2 + count + i));
    Value v = b.add(times(b, n.in(2 + 2 * count + i), alpha), times(b, g, 1 - alpha));
    Value h = b.add(times(b, n.in(2 + 3 * count + i), beta), times(b, b.square(g), 1 - beta));
    Value root = b.add(b.sqrt(h), b.like(h, n.real("epsilon", 1e-6)));
    Value top = b.sqrt(b.subtract(one, b.power(b.like(step, beta), step))),
          bottom = b.subtract(one, b.power(b.like(step, alpha), step));
    Value corrected = b.multiply(rate, b.divide(top, bottom));
    Value r = b.select(b.greater(step, b.like(step, 0)), corrected, rate);
    Value moved = b.subtract(x, b.divide(b.multiply(r, v), root));
    n.out(i, times(b, moved, 1 - n.real("norm_coefficient_post", 0)));
    n.out(count + i, v);
    n.out(2 * count + i, h);
  }
  return {};
}

} // namespace

void registerTraining(OpTable &table) {
  constexpr llvm::StringLiteral domain = "ai.onnx.preview.training";
  table.add("Momentum", 1, lowerMomentum, true, domain);
  table.add("Adagrad", 1, lowerAdagrad, true, domain);
  table.add("Adam", 1, lowerAdam, true, domain);
}

} // namespace cupel::frontends::onnx_import
