// Tensors from nothing: constants, ranges, windows; and what is made at random, which is refused.

#include "cupel/frontends/torch/ops/Shapes.h"

#include <cmath>
#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

/// One number in the declared shape and type.
void fill(Node &n, Value number) {
  RankedTensorType type = n.resultType();
  if (n.failed() || !type)
    return;
  n.out(
      n.b.broadcastTo(cast(n.b, n.b.reshape(number, {}), type.getElementType()), type.getShape()));
}

template <int value> void lowerFilled(Node &n) {
  RankedTensorType type = n.resultType();
  if (n.failed() || !type)
    return;
  n.out(n.b.splat(value, type.getElementType(), type.getShape()));
}

void lowerFull(Node &n) {
  StringRef name = n.declares("fill_value") ? "fill_value" : n.declares("s") ? "s" : "value";
  Value number = n.in(name);
  if (HloBuilder::countOf(number) != 1)
    return n.fail("argument '" + name.str() + "' is not one number");
  fill(n, number);
}

/// Steps are counted in double precision (or as integers) and rounded once.
void lowerArange(Node &n) {
  HloBuilder &b = n.b;
  RankedTensorType type = n.resultType();
  if (n.failed() || !type)
    return;
  Type element = type.getElementType();
  bool whole = isa<IntegerType>(element);
  auto number = [&](StringRef name, double missing) {
    return n.declares(name) && n.has(name) ? n.scalar(name).real() : missing;
  };
  auto integer = [&](StringRef name, int64_t missing) {
    if (!n.declares(name) || !n.has(name))
      return missing;
    Scalar scalar = n.scalar(name);
    return scalar.kind == Scalar::Kind::Real ? int64_t(scalar.real()) : scalar.integer;
  };
  if (!hasResultRank(n, 1) || emptyResult(n))
    return;
  if (whole) {
    Value at = b.iota(type.getShape(), 0, b.i64());
    Value step = b.splatInteger(integer("step", 1), b.i64());
    Value start = b.splatInteger(integer("start", 0), b.i64());
    return n.out(b.add(b.multiply(at, step), start));
  }
  Value at = b.convert(b.iota(type.getShape(), 0, b.i64()), b.f64());
  n.out(b.add(b.multiply(at, b.splat(number("step", 1), b.f64())),
              b.splat(number("start", 0), b.f64())));
}

/// start, end and how many of them: from both ends to the middle, as torch does, so that the last
/// is `end` itself. Ends may be tensors.
Value spaced(Node &n, Type type) {
  HloBuilder &b = n.b;
  int64_t steps = n.resultShape()[0];
  auto limit = [&](StringRef name) { // Integers are cut before they are spaced.
    Type element = isa<IntegerType>(n.resultElement()) ? n.resultElement() : type;
    return b.reshape(cast(b, n.in(name, element), type), {});
  };
  for (StringRef name : {"start", "end"})
    if (HloBuilder::countOf(n.in(name)) != 1) {
      n.fail("argument '" + name.str() + "' is not one number");
      return b.splat(0, type, {steps});
    }
  Value start = limit("start"), end = limit("end");
  if (steps == 1)
    return b.reshape(start, {1});
  // Integers are spaced as floats, then cut.
  Value step = b.divide(b.subtract(end, start), b.splat(double(steps - 1), type));
  Value at = b.iota({steps}, 0, b.i64());
  Value forth = b.add(start, b.multiply(step, cast(b, at, type)));
  Value left = b.subtract(b.splatInteger(steps - 1, b.i64()), at);
  Value back = b.subtract(end, b.multiply(step, cast(b, left, type)));
  return b.select(b.less(at, b.splatInteger(steps / 2, b.i64())), forth, back);
}

Type spacingType(Node &n) {
  Type element = n.resultElement();
  if (isa_and_nonnull<ComplexType>(element))
    return element;
  // Doubles carry every narrower type's steps without error worth a name.
  return isa_and_nonnull<IntegerType>(element) || isa_and_nonnull<FloatType>(element) ? (n.b.f64())
                                                                                      : element;
}

void lowerLinspace(Node &n) {
  if (n.failed() || !hasResultRank(n, 1) || emptyResult(n))
    return;
  n.out(spaced(n, spacingType(n)));
}

void lowerLogspace(Node &n) {
  if (n.failed() || !hasResultRank(n, 1) || emptyResult(n))
    return;
  HloBuilder &b = n.b;
  Type type = spacingType(n);
  Value exponents = spaced(n, type);
  Value base = b.like(exponents, n.real("base", 10));
  n.out(cast(b, b.power(base, exponents), n.resultElement()));
}

void lowerEye(Node &n) {
  HloBuilder &b = n.b;
  if (n.failed() || !hasResultRank(n, 2) || emptyResult(n))
    return;
  Dims shape(n.resultShape());
  Value hit = b.equal(b.iota(shape, 0, b.i64()), b.iota(shape, 1, b.i64()));
  n.out(cast(b, hit, n.resultElement()));
}

template <bool upper> void lowerTriangleIndices(Node &n) {
  HloBuilder &b = n.b;
  int64_t rows = n.integer("row"), columns = n.integer("col"), offset = n.integer("offset");
  if (n.failed() || emptyResult(n))
    return;
  if (rows < 0 || columns < 0 || rows > (1 << 12) || columns > (1 << 12))
    return n.notYet("arguments 'row' and 'col' beyond 4096");
  SmallVector<int64_t> row, column;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (upper ? j - i >= offset : j - i <= offset) {
        row.push_back(i);
        column.push_back(j);
      }
  int64_t count = row.size();
  row.append(column.begin(), column.end());
  n.out(b.reshape(b.integers(row), {2, count}));
}

/// Weights of cosines: a0 - a1 cos(2 pi i / m) + a2 cos(4 pi i / m)...
void cosineWindow(Node &n, ArrayRef<double> weights) {
  HloBuilder &b = n.b;
  if (n.failed() || !hasResultRank(n, 1) || emptyResult(n))
    return;
  int64_t length = n.resultShape()[0];
  bool periodic = !n.declares("periodic") || !n.has("periodic") || n.flag("periodic");
  if (length == 1)
    return n.out(b.splat(1, n.resultElement(), {1}));
  double m = double(periodic ? length : length - 1);
  Value at = b.convert(b.iota({length}, 0, b.i64()), b.f64());
  Value total = b.like(at, weights[0]);
  for (size_t k = 1; k < weights.size(); ++k) {
    Value angle = b.multiply(at, b.like(at, 2 * std::numbers::pi * double(k) / m));
    Value term = b.multiply(b.unary<stablehlo::CosineOp>(angle), b.like(at, weights[k]));
    total = k % 2 ? b.subtract(total, term) : b.add(total, term);
  }
  n.out(total);
}

void lowerHann(Node &n) { cosineWindow(n, {0.5, 0.5}); }
void lowerHamming(Node &n) {
  double alpha = n.declares("alpha") && n.has("alpha") ? n.real("alpha") : 0.54;
  double beta = n.declares("beta") && n.has("beta") ? n.real("beta") : 0.46;
  cosineWindow(n, {alpha, beta});
}
void lowerBlackman(Node &n) { cosineWindow(n, {0.42, 0.5, 0.08}); }

void lowerBartlett(Node &n) {
  HloBuilder &b = n.b;
  if (n.failed() || !hasResultRank(n, 1) || emptyResult(n))
    return;
  int64_t length = n.resultShape()[0];
  bool periodic = !n.declares("periodic") || !n.has("periodic") || n.flag("periodic");
  if (length == 1)
    return n.out(b.splat(1, n.resultElement(), {1}));
  double m = double(periodic ? length : length - 1);
  Value at = b.convert(b.iota({length}, 0, b.i64()), b.f64());
  Value x = b.multiply(at, b.like(at, 2 / m));
  n.out(b.select(b.lessEqual(x, b.like(x, 1)), x, b.subtract(b.like(x, 2), x)));
}

/// I0(x) by its power series: the argument is a constant, so it is summed here.
double besselI0(double x) {
  double term = 1, total = 1;
  for (int k = 1; k < 500 && term > total * 1e-18; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    total += term;
  }
  return total;
}

void lowerKaiser(Node &n) {
  HloBuilder &b = n.b;
  if (n.failed() || !hasResultRank(n, 1) || emptyResult(n))
    return;
  int64_t length = n.resultShape()[0];
  bool periodic = !n.declares("periodic") || !n.has("periodic") || n.flag("periodic");
  double beta = n.declares("beta") && n.has("beta") ? n.real("beta") : 12.0;
  if (length > (1 << 20))
    return n.notYet("argument 'window_length' beyond a million");
  double m = double(periodic ? length : length - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < length; ++i) {
    double r = length == 1 ? 0 : 2 * double(i) / m - 1;
    values.push_back(besselI0(beta * std::sqrt(std::max(0.0, 1 - r * r))) / besselI0(beta));
  }
  if (length == 1)
    values = {1};
  n.out(b.constant(tensor::Tensor::of<tensor::DType::F64>(
      {length}, std::span<const double>(values.data(), values.size()))));
}

void lowerVander(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("x", n.resultElement());
  if (n.failed() || n.resultShape().empty() || emptyResult(n))
    return;
  int64_t columns = n.resultShape().back();
  if (columns > 4096 || HloBuilder::countOf(x) * columns != n.resultType().getNumElements())
    return n.fail("the result has another size than the powers of 'x' have");
  bool increasing = n.target().starts_with("aten.linalg_vander") ||
                    (n.declares("increasing") && n.flag("increasing"));
  SmallVector<Value> powers{b.like(x, 1)};
  for (int64_t i = 1; i < columns; ++i)
    powers.push_back(b.multiply(powers.back(), x));
  if (!increasing)
    std::reverse(powers.begin(), powers.end());
  int64_t rank = HloBuilder::rankOf(x);
  for (Value &power : powers)
    power = b.unsqueeze(power, rank);
  n.out(b.reshape(b.concatenate(powers, rank), n.resultShape()));
}

void lowerOneHot(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", b.i64());
  if (n.failed() || !hasResultRank(n, HloBuilder::rankOf(x) + 1) || emptyResult(n))
    return;
  Dims shape(n.resultShape());
  Value hit = b.equal(b.unsqueeze(x, HloBuilder::rankOf(x)),
                      b.iota(shape, int64_t(shape.size()) - 1, b.i64()));
  n.out(b.convert(hit, b.i64()));
}

/// Nothing is drawn for a tensor without elements.
void lowerRandom(Node &n) {
  if (!emptyResult(n))
    n.refuse(ErrorCode::Random, "random: its numbers come from a generator's state");
}

void lowerFillTensor(Node &n) {
  Value value = n.in("value");
  if (HloBuilder::countOf(value) != 1)
    return n.fail("argument 'value' is not one number");
  fill(n, value);
}

} // namespace

void registerCreation(OpTable &table) {
  // What `empty` holds is nobody's business; zeros are as good as anything.
  for (const char *name :
       {"aten.zeros", "aten.zeros_like", "aten.new_zeros", "aten.zero", "aten.empty",
        "aten.empty_like", "aten.new_empty", "aten.empty_strided", "aten.new_empty_strided",
        "aten.empty_permuted", "aten._efficientzerotensor"})
    table.add(name, lowerFilled<0>);
  for (const char *name : {"aten.ones", "aten.ones_like", "aten.new_ones"})
    table.add(name, lowerFilled<1>);
  for (const char *name :
       {"aten.full", "aten.full_like", "aten.new_full", "aten.scalar_tensor", "aten.fill.Scalar"})
    table.add(name, lowerFull);
  table.add("aten.fill", lowerFillTensor);
  table.add("aten.arange", lowerArange);
  table.add("aten.range", lowerArange);
  table.add("aten.linspace", lowerLinspace);
  table.add("aten.logspace", lowerLogspace);
  table.add("aten.eye", lowerEye);
  table.add("aten.tril_indices", lowerTriangleIndices<false>);
  table.add("aten.triu_indices", lowerTriangleIndices<true>);
  table.add("aten.hann_window", lowerHann);
  table.add("aten.hamming_window", lowerHamming);
  table.add("aten.blackman_window", lowerBlackman);
  table.add("aten.bartlett_window", lowerBartlett);
  table.add("aten.kaiser_window", lowerKaiser);
  table.add("aten.vander", lowerVander);
  table.add("aten.linalg_vander", lowerVander);
  table.add("aten.one_hot", lowerOneHot);
  for (const char *name : {"aten.rand",
                           "aten.rand_like",
                           "aten.randn",
                           "aten.randn_like",
                           "aten.randint",
                           "aten.randint_like",
                           "aten.randperm",
                           "aten.bernoulli",
                           "aten.multinomial",
                           "aten.normal",
                           "aten.normal_functional",
                           "aten.uniform",
                           "aten.cauchy",
                           "aten.exponential",
                           "aten.geometric",
                           "aten.log_normal",
                           "aten.random",
                           "aten.poisson",
                           "aten.binomial",
                           "aten._standard_gamma",
                           "aten._sample_dirichlet",
                           "aten._fused_dropout"})
    table.add(name, lowerRandom);
}

} // namespace cupel::frontends::torch_import
