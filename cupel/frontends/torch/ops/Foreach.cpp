// Operators on lists of tensors: the same computation for each, as optimizers write it.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/ir/chlo/Chlo.h"

#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

/// The type to compute in for list element i, by what the program declares for its result.
Type typeFor(Node &n, size_t i) {
  auto types = n.resultTypes();
  return i < types.size() ? n.computeType(types[i].getElementType()) : n.b.f32();
}

/// One result a tensor of `self`; the function gets the number of the tensor and its value.
void forEach(Node &n, const std::function<Value(size_t, Value)> &compute) {
  SmallVector<Value> values = n.list("self"), results;
  if (n.failed())
    return;
  if (values.size() != n.resultTypes().size())
    return n.fail("it has another number of results than argument 'self'");
  for (auto [i, value] : llvm::enumerate(values)) {
    if (!value)
      return n.fail("argument 'self' holds None");
    results.push_back(cast(n.b, compute(i, cast(n.b, value, typeFor(n, i))),
                           n.resultTypes()[i].getElementType()));
    if (n.failed())
      return;
  }
  n.outList(0, results);
}

template <UnaryFormula formula> void unary(Node &n) {
  forEach(n, [&](size_t, Value x) { return formula(n.b, x); });
}

/// The second operand of tensor i: of a list of tensors or numbers, or one for all.
Value partner(Node &n, size_t i, Type type, ArrayRef<StringRef> names) {
  HloBuilder &b = n.b;
  for (StringRef name : names) {
    if (!n.declares(name))
      continue;
    StringRef overload = n.overload();
    if (overload == "List") {
      SmallVector<Value> values = n.list(name);
      if (i >= values.size() || !values[i]) {
        n.fail("argument '" + name.str() + "' is shorter than 'self'");
        return b.splat(0, type);
      }
      return cast(b, values[i], type);
    }
    if (overload.starts_with("ScalarList")) {
      SmallVector<double> values = n.reals(name);
      if (i >= values.size()) {
        n.fail("argument '" + name.str() + "' is shorter than 'self'");
        return b.splat(0, type);
      }
      return b.splat(values[i], type);
    }
    return n.in(name, type);
  }
  n.notYet("an overload of other arguments");
  return b.splat(0, type);
}

template <BinaryFormula formula> void binary(Node &n) {
  forEach(n, [&](size_t i, Value x) {
    Type type = HloBuilder::elementOf(x);
    Value y = partner(n, i, type, {"other", "scalar", "scalars", "exponent"});
    if (n.declares("alpha") && n.has("alpha") &&
        n.scalar("alpha").number != std::complex<double>(1))
      y = n.b.multiply(y, n.in("alpha", type));
    return fitTogether(n, {x, y}) ? formula(n.b, x, y) : x;
  });
}

template <bool divided> void lowerAddc(Node &n) {
  HloBuilder &b = n.b;
  SmallVector<Value> first = n.list("tensor1"), second = n.list("tensor2");
  forEach(n, [&](size_t i, Value x) {
    Type type = HloBuilder::elementOf(x);
    if (i >= first.size() || i >= second.size()) {
      n.fail("arguments 'tensor1' and 'tensor2' are shorter than 'self'");
      return x;
    }
    Value y = cast(b, first[i], type), z = cast(b, second[i], type);
    Value factor;
    if (n.overload() == "ScalarList") {
      SmallVector<double> values = n.reals("scalars");
      factor = b.splat(i < values.size() ? values[i] : 0, type);
    } else if (n.overload() == "Tensor") {
      Value all = n.in("scalars", type);
      int64_t at = std::min<int64_t>(int64_t(i), HloBuilder::countOf(all) - 1);
      factor = b.reshape(b.sliceDim(all, 0, at, at + 1), {});
    } else {
      factor = n.in("value", type);
    }
    if (!fitTogether(n, {x, y, z}))
      return x;
    Value product = b.multiply(factor, divided ? b.divide(y, z) : b.multiply(y, z));
    return b.add(x, product);
  });
}

void lowerLerp(Node &n) {
  HloBuilder &b = n.b;
  SmallVector<Value> ends = n.list("tensors1");
  forEach(n, [&](size_t i, Value x) {
    Type type = HloBuilder::elementOf(x);
    if (i >= ends.size()) {
      n.fail("argument 'tensors1' is shorter than 'self'");
      return x;
    }
    Value end = cast(b, ends[i], type), weight;
    if (n.overload() == "List") {
      SmallVector<Value> weights = n.list("weights");
      weight = i < weights.size() ? cast(b, weights[i], type) : b.splat(0, type);
    } else if (n.overload() == "ScalarList") {
      SmallVector<double> weights = n.reals("weight");
      weight = b.splat(i < weights.size() ? weights[i] : 0, type);
    } else {
      weight = n.in("weight", type);
    }
    if (!fitTogether(n, {x, end, weight}))
      return x;
    Value gap = b.subtract(end, x), low = b.add(x, b.multiply(weight, gap));
    Value high = b.subtract(end, b.multiply(gap, b.subtract(b.like(weight, 1), weight)));
    return b.select(b.less(b.abs(weight), b.like(weight, 0.5)), low, high);
  });
}

void lowerNorm(Node &n) {
  double p = n.scalar("ord").real();
  forEach(n, [&](size_t, Value x) {
    return vectorNorm(n.b, x, p, dimsFrom(0, HloBuilder::rankOf(x)), false);
  });
}

void lowerMax(Node &n) {
  forEach(n, [&](size_t, Value x) {
    return n.b.reduce(x, dimsFrom(0, HloBuilder::rankOf(x)), Fold::Max);
  });
}

void lowerCopy(Node &n) {
  SmallVector<Value> sources = n.list("src");
  forEach(n, [&](size_t i, Value x) {
    if (i >= sources.size() || !fitTogether(n, {x, sources[i]})) {
      n.fail("argument 'src' does not fit 'self'");
      return x;
    }
    return n.b.broadcastTo(cast(n.b, sources[i], HloBuilder::elementOf(x)), HloBuilder::shapeOf(x));
  });
}

Value identity(HloBuilder &, Value x) { return x; }
Value zeros(HloBuilder &b, Value x) { return b.like(x, 0); }
Value absolute(HloBuilder &b, Value x) { return b.abs(x); }
Value negative(HloBuilder &b, Value x) { return b.negate(x); }
Value reciprocal(HloBuilder &b, Value x) { return b.divide(b.like(x, 1), x); }
Value log2Of(HloBuilder &b, Value x) { return b.divide(b.log(x), b.like(x, std::numbers::ln2)); }
Value log10Of(HloBuilder &b, Value x) { return b.divide(b.log(x), b.like(x, std::numbers::ln10)); }
Value fraction(HloBuilder &b, Value x) { return b.subtract(x, truncate(b, x)); }
Value signOf(HloBuilder &b, Value x) {
  Value zero = b.like(x, 0), below = b.select(b.less(x, zero), b.like(x, -1), zero);
  return b.select(b.greater(x, zero), b.like(x, 1), below);
}
Value round(HloBuilder &b, Value x) { return b.unary<stablehlo::RoundNearestEvenOp>(x); }
Value add(HloBuilder &b, Value x, Value y) { return b.add(x, y); }
Value subtract(HloBuilder &b, Value x, Value y) { return b.subtract(x, y); }
Value multiply(HloBuilder &b, Value x, Value y) { return b.multiply(x, y); }
Value divide(HloBuilder &b, Value x, Value y) { return b.divide(x, y); }
Value maximum(HloBuilder &b, Value x, Value y) { return b.maximum(x, y); }
Value minimum(HloBuilder &b, Value x, Value y) { return b.minimum(x, y); }

/// One base for all exponents.
void lowerPowScalar(Node &n) {
  HloBuilder &b = n.b;
  SmallVector<Value> exponents = n.list("exponent"), results;
  if (n.failed())
    return;
  for (auto [i, exponent] : llvm::enumerate(exponents)) {
    Type type = typeFor(n, i);
    results.push_back(powerOf(b, n.in("self", type), cast(b, exponent, type)));
  }
  n.outList(0, results);
}

} // namespace

void registerForeach(OpTable &table) {
  auto add1 = [&](StringRef name, Lowering lower) {
    table.add(("aten._foreach_" + name).str(), lower);
  };
  add1("abs", unary<absolute>);
  add1("acos", unary<unaryOf<chlo::AcosOp>>);
  add1("asin", unary<unaryOf<chlo::AsinOp>>);
  add1("atan", unary<unaryOf<chlo::AtanOp>>);
  add1("ceil", unary<unaryOf<stablehlo::CeilOp>>);
  add1("cos", unary<unaryOf<stablehlo::CosineOp>>);
  add1("cosh", unary<unaryOf<chlo::CoshOp>>);
  add1("erf", unary<unaryOf<chlo::ErfOp>>);
  add1("erfc", unary<unaryOf<chlo::ErfcOp>>);
  add1("exp", unary<unaryOf<stablehlo::ExponentialOp>>);
  add1("expm1", unary<expm1>);
  add1("floor", unary<unaryOf<stablehlo::FloorOp>>);
  add1("frac", unary<fraction>);
  add1("lgamma", unary<unaryOf<chlo::LgammaOp>>);
  add1("log", unary<unaryOf<stablehlo::LogOp>>);
  add1("log10", unary<log10Of>);
  add1("log1p", unary<log1p>);
  add1("log2", unary<log2Of>);
  add1("neg", unary<negative>);
  add1("reciprocal", unary<reciprocal>);
  add1("round", unary<round>);
  add1("rsqrt", unary<unaryOf<stablehlo::RsqrtOp>>);
  add1("sigmoid", unary<unaryOf<stablehlo::LogisticOp>>);
  add1("sign", unary<signOf>);
  add1("sin", unary<unaryOf<stablehlo::SineOp>>);
  add1("sinh", unary<unaryOf<chlo::SinhOp>>);
  add1("sqrt", unary<unaryOf<stablehlo::SqrtOp>>);
  add1("tan", unary<unaryOf<stablehlo::TanOp>>);
  add1("tanh", unary<unaryOf<stablehlo::TanhOp>>);
  add1("trunc", unary<truncate>);
  add1("zero", unary<zeros>);
  add1("clone", unary<identity>);
  add1("add", binary<add>);
  add1("sub", binary<subtract>);
  add1("mul", binary<multiply>);
  add1("div", binary<divide>);
  add1("pow", binary<powerOf>);
  add1("pow.ScalarAndTensor", lowerPowScalar);
  add1("maximum", binary<maximum>);
  add1("minimum", binary<minimum>);
  add1("clamp_min", binary<maximum>);
  add1("clamp_max", binary<minimum>);
  add1("addcmul", lowerAddc<false>);
  add1("addcdiv", lowerAddc<true>);
  add1("lerp", lowerLerp);
  add1("norm", lowerNorm);
  add1("max", lowerMax);
  add1("copy", lowerCopy);
}

} // namespace cupel::frontends::torch_import
