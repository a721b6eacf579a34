// Running sums, products, extremes, differences and the trapezoidal rule.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/frontends/torch/ops/Reductions.h"
#include "cupel/frontends/torch/ops/Shapes.h"

#include <limits>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

template <Fold fold> void lowerCumulative(Node &n) {
  Value x = n.in("self", n.computeType(n.resultElement()));
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (!n.failed())
    n.out(cumulative(n.b, x, dim, fold));
}

/// The last of equals counts; once a NaN, always a NaN.
template <bool largest> void lowerCumulativeExtreme(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0 || HloBuilder::countOf(x) == 0) {
    n.out(0, x);
    return n.out(1, b.splatInteger(0, b.i64(), HloBuilder::shapeOf(x)));
  }
  // Places need no more bits than they have while they are carried along.
  Dims shape(HloBuilder::shapeOf(x));
  Type place = shape[dim] <= std::numeric_limits<int32_t>::max() ? b.i32() : b.i64();
  Value places = b.iota(shape, dim, place);
  Value neutral[] = {b.initialValue(largest ? Fold::Max : Fold::Min, HloBuilder::elementOf(x)), b.splatInteger(0, place, {})};
  auto result =
      scan(b, {x, places}, dim, [&](ValueRange earlier, ValueRange later) -> SmallVector<Value> {
        Value better =
            largest ? b.greaterEqual(later[0], earlier[0]) : b.lessEqual(later[0], earlier[0]);
        better = b.logicalOr(better, isNan(b, later[0]));
        return {b.select(better, later[0], earlier[0]), b.select(better, later[1], earlier[1])};
      }, neutral);
  n.out(0, result[0]);
  n.out(1, cast(b, result[1], b.i64()));
}

void lowerLogCumSumExp(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", n.computeType(n.resultElement()));
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x));
  if (n.failed())
    return;
  if (HloBuilder::isComplex(x))
    return n.notYet("argument 'self' is complex");
  if (HloBuilder::rankOf(x) == 0 || HloBuilder::countOf(x) == 0)
    return n.out(x);
  n.out(scan(b, {x}, dim, [&](ValueRange earlier, ValueRange later) -> SmallVector<Value> {
    return {logAddExp(b, earlier[0], later[0])};
  })[0]);
}

Value differences(HloBuilder &b, Value x, int64_t dim) {
  int64_t size = HloBuilder::shapeOf(x)[dim];
  Value high = b.sliceDim(x, dim, std::min<int64_t>(1, size), size),
        low = b.sliceDim(x, dim, 0, std::max<int64_t>(size - 1, 0));
  return HloBuilder::isBool(x) ? b.notEqual(high, low) : b.subtract(high, low);
}

void lowerDiff(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t dim = n.dim("dim", HloBuilder::rankOf(x)), times = n.integer("n", 1);
  if (n.failed())
    return;
  if (HloBuilder::rankOf(x) == 0)
    return n.fail("argument 'self' has no dimension");
  if (times == 0) // Then torch joins nothing either.
    return n.out(x);
  Type type = n.promote({"self", "prepend", "append"});
  SmallVector<Value> parts;
  for (StringRef name : {"prepend", "self", "append"})
    if (name == "self" || n.has(name))
      parts.push_back(n.in(name, type));
  for (Value part : parts)
    if (HloBuilder::rankOf(part) != HloBuilder::rankOf(x))
      return n.fail("arguments 'prepend' and 'append' differ in rank from 'self'");
  x = b.concatenate(parts, dim);
  times = std::min(times, HloBuilder::shapeOf(x)[dim]);
  for (int64_t i = 0; i < times; ++i)
    x = differences(b, x, dim);
  n.out(x);
}

/// Halves of neighbours' sums times the widths between them, a dimension shorter.
std::optional<std::pair<Value, int64_t>> trapezoids(Node &n) {
  HloBuilder &b = n.b;
  SmallVector<StringRef> names{"y"};
  bool points = n.declares("x");
  names.push_back(points ? "x" : "dx");
  Type type = n.promoteToFloat(names);
  Value y = n.in("y", type);
  int64_t rank = HloBuilder::rankOf(y), dim = n.dim("dim", rank);
  if (n.failed())
    return std::nullopt;
  if (rank == 0) {
    n.fail("argument 'y' has no dimension");
    return std::nullopt;
  }
  int64_t size = HloBuilder::shapeOf(y)[dim];
  if (size == 0)
    return std::make_pair(y, dim);
  Value sums = b.add(b.sliceDim(y, dim, 1, size), b.sliceDim(y, dim, 0, size - 1));
  Value widths;
  if (points) {
    Value x = n.in("x", type);
    if (HloBuilder::rankOf(x) == 0) {
      n.fail("argument 'x' has no dimension");
      return std::nullopt;
    }
    if (HloBuilder::rankOf(x) == 1) { // Stands for the dimension itself.
      Dims shape(rank, 1);
      shape[dim] = HloBuilder::countOf(x);
      x = b.reshape(x, shape);
    } else if (HloBuilder::rankOf(x) < rank) {
      Dims shape(rank - HloBuilder::rankOf(x), 1);
      shape.append(HloBuilder::shapeOf(x).begin(), HloBuilder::shapeOf(x).end());
      x = b.reshape(x, shape);
    }
    if (HloBuilder::rankOf(x) != rank) {
      n.notYet("argument 'x' has more dimensions than 'y'");
      return std::nullopt;
    }
    widths = differences(b, x, dim);
  } else {
    widths = n.in("dx", type);
  }
  if (!fitTogether(n, {sums, widths}))
    return std::nullopt;
  Value areas = b.multiply(sums, widths);
  return std::make_pair(b.divide(areas, b.like(areas, 2)), dim);
}

void lowerTrapezoid(Node &n) {
  if (auto areas = trapezoids(n))
    n.out(n.b.reshape(n.b.reduce(areas->first, {areas->second}, Fold::Add), n.resultShape()));
}

void lowerCumulativeTrapezoid(Node &n) {
  if (auto areas = trapezoids(n))
    n.out(cumulative(n.b, areas->first, areas->second, Fold::Add));
}

/// Central differences inside, one-sided of first or second order at the edges.
void lowerGradient(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promoteToFloat({"self"}); // Composed of operators that round one by one.
  Value x = n.in("self", type);
  int64_t rank = HloBuilder::rankOf(x), edge = n.integer("edge_order", 1);
  Dims dims;
  if (n.declares("dim") && n.has("dim"))
    for (int64_t dim : n.integers("dim"))
      dims.push_back(n.wrapDim(dim, rank));
  else
    dims = dimsFrom(0, rank);
  if (n.failed())
    return;
  StringRef overload = n.overload();
  SmallVector<Value> coordinates, results;
  SmallVector<double> steps(dims.size(), 1);
  if (overload.starts_with("tensor")) {
    coordinates = n.list("spacing");
    if (coordinates.size() != dims.size())
      return n.fail("argument 'spacing' is not one tensor a dimension");
  } else if (n.has("spacing")) {
    if (overload.starts_with("scalarray") || overload.starts_with("scalarrayarray")) {
      steps = n.reals("spacing");
      if (steps.size() == 1)
        steps.assign(dims.size(), steps[0]);
    } else {
      steps.assign(dims.size(), n.scalar("spacing").real());
    }
    if (steps.size() != dims.size())
      return n.fail("argument 'spacing' is not one number a dimension");
  }
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t size = HloBuilder::shapeOf(x)[dim];
    if (size < edge + 1)
      return n.fail("argument 'self' is too short for its edge order");
    auto at = [&](int64_t from, int64_t to) { return b.sliceDim(x, dim, from, to); };
    Value first, inner, last;
    if (coordinates.empty()) {
      double h = steps[i];
      auto over = [&](Value v, double d) { return b.divide(v, b.like(v, d)); };
      if (size > 2)
        inner = over(over(b.subtract(at(2, size), at(0, size - 2)), h), 2);
      if (edge == 1) {
        first = over(b.subtract(at(1, 2), at(0, 1)), h);
        last = over(b.subtract(at(size - 1, size), at(size - 2, size - 1)), h);
      } else {
        auto mix = [&](Value p, double a, Value q, double c, Value r, double e) {
          Value total = b.add(b.multiply(p, b.like(p, a)), b.multiply(q, b.like(q, c)));
          return over(b.add(total, b.multiply(r, b.like(r, e))), h);
        };
        first = mix(at(0, 1), -1.5, at(1, 2), 2, at(2, 3), -0.5);
        last =
            mix(at(size - 3, size - 2), 0.5, at(size - 2, size - 1), -2, at(size - 1, size), 1.5);
      }
    } else {
      Value c = cast(b, coordinates[i], type);
      if (HloBuilder::rankOf(c) != 1 || HloBuilder::countOf(c) != size)
        return n.fail("argument 'spacing' is not one coordinate an entry");
      Value h = differences(b, c, 0); // size - 1
      auto line = [&](Value v) {
        Dims shape(rank, 1);
        shape[dim] = HloBuilder::countOf(v);
        return b.reshape(v, shape);
      };
      auto step = [&](int64_t from, int64_t to) { return line(b.sliceDim(h, 0, from, to)); };
      if (size > 2) {
        Value h0 = step(0, size - 2), h1 = step(1, size - 1), both = b.add(h0, h1);
        Value a = b.negate(b.divide(h1, b.multiply(h0, both)));
        Value m = b.divide(b.subtract(h1, h0), b.multiply(h0, h1));
        Value z = b.divide(h0, b.multiply(h1, both));
        inner = b.add(b.add(b.multiply(a, at(0, size - 2)), b.multiply(m, at(1, size - 1))),
                      b.multiply(z, at(2, size)));
      }
      if (edge == 1) {
        first = b.divide(b.subtract(at(1, 2), at(0, 1)), step(0, 1));
        last = b.divide(b.subtract(at(size - 1, size), at(size - 2, size - 1)),
                        step(size - 2, size - 1));
      } else {
        Value h0 = step(0, 1), h1 = step(1, 2), both = b.add(h0, h1);
        Value a = b.negate(b.divide(b.add(b.add(h0, h0), h1), b.multiply(h0, both)));
        Value m = b.divide(both, b.multiply(h0, h1));
        Value z = b.negate(b.divide(h0, b.multiply(h1, both)));
        first =
            b.add(b.add(b.multiply(a, at(0, 1)), b.multiply(m, at(1, 2))), b.multiply(z, at(2, 3)));
        h0 = step(size - 3, size - 2);
        h1 = step(size - 2, size - 1);
        both = b.add(h0, h1);
        a = b.divide(h1, b.multiply(h0, both));
        m = b.negate(b.divide(both, b.multiply(h0, h1)));
        z = b.divide(b.add(b.add(h1, h1), h0), b.multiply(h1, both));
        last = b.add(
            b.add(b.multiply(a, at(size - 3, size - 2)), b.multiply(m, at(size - 2, size - 1))),
            b.multiply(z, at(size - 1, size)));
      }
    }
    SmallVector<Value> parts{first};
    if (inner)
      parts.push_back(inner);
    parts.push_back(last);
    results.push_back(b.concatenate(parts, dim));
  }
  n.outList(0, results);
}

} // namespace

void registerCumulative(OpTable &table) {
  table.add("aten.cumsum", lowerCumulative<Fold::Add>);
  table.add("aten.cumprod", lowerCumulative<Fold::Multiply>);
  table.add("aten.cummax", lowerCumulativeExtreme<true>);
  table.add("aten.cummin", lowerCumulativeExtreme<false>);
  table.add("aten.logcumsumexp", lowerLogCumSumExp);
  table.add("aten._logcumsumexp", lowerLogCumSumExp);
  table.add("aten.diff", lowerDiff);
  table.add("aten.trapezoid", lowerTrapezoid);
  table.add("aten.trapz", lowerTrapezoid);
  table.add("aten.cumulative_trapezoid", lowerCumulativeTrapezoid);
  table.add("aten.gradient", lowerGradient);
}

} // namespace cupel::frontends::torch_import
