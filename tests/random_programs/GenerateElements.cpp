// Steps of random programs on elements and rows: what is computed of each, moved, cut, put together and folded.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

void Generator::elementwise() {
  Val a = recent();
  Val b = like(a.type, a.shape);
  if (isFloat(a.type)) {
    std::string op = random.pick<std::string>({"add", "add", "multiply", "subtract", "maximum", "minimum"});
    Val made = binary(op, a, b);
    if (op == "multiply" && random.chance(40))
      tamed(made);
  } else if (a.type == "i1") {
    binary(random.pick<std::string>({"and", "or", "xor"}), a, b);
  } else {
    binary(random.pick<std::string>({"add", "multiply", "subtract", "maximum", "minimum", "and",
                                     "or", "xor", "divide", "remainder"}),
           a, b);
  }
}

void Generator::unaries() {
  Val a = recent();
  if (isFloat(a.type)) {
    switch (random.below(6)) {
    case 0: unary(random.pick<std::string>({"negate", "abs"}), a, true); break;
    case 1: unary(random.pick<std::string>({"tanh", "logistic", "sine", "cosine"}), tamed(a), false); break;
    case 2: unary("exponential", tamed(a), false); break;
    case 3: unary(random.pick<std::string>({"sqrt", "log_plus_one", "cbrt"}), unary("abs", a, true), false); break;
    case 4:
      if (a.isExact)
        unary(random.pick<std::string>({"floor", "ceil", "sign", "round_nearest_even"}), a, true);
      break;
    default: {
      Val one = constant("1.0", a.type, a.shape);
      Val bounded = binary("add", unary("abs", a, true), one);
      unary(random.pick<std::string>({"rsqrt", "log"}), bounded, false);
    }
    }
  } else if (a.type == "i1") {
    unary("not", a, true);
  } else if (!isUnsigned(a.type)) {
    unary(random.pick<std::string>({"negate", "abs", "not", "popcnt", "sign"}), a, true);
  }
}

void Generator::compares() {
  Val a = recent();
  if (!a.isExact)
    return;
  Val b = like(a.type, a.shape);
  if (!b.isExact)
    return;
  std::string kind = isFloat(a.type) ? "FLOAT" : a.type == "i1" || isUnsigned(a.type) ? "UNSIGNED" : "SIGNED";
  Val mask = add("stablehlo.compare " +
                     random.pick<std::string>({"EQ", "NE", "LT", "LE", "GT", "GE"}) + ", " +
                     a.name + ", " + b.name + ", " + kind + " : (" + typeOf(a) + ", " + typeOf(b) +
                     ") -> " + typeText("i1", a.shape),
                 "i1", a.shape, true);
  if (random.chance(70)) {
    Val c = like("f32", a.shape), d = like("f32", a.shape);
    add("stablehlo.select " + mask.name + ", " + c.name + ", " + d.name + " : " + typeOf(mask) +
            ", " + typeOf(c),
        "f32", a.shape, c.isExact && d.isExact);
  }
}

void Generator::moves() {
  Val a = recent();
  switch (random.below(4)) {
  case 0: { // transpose
    Shape order = shuffled(int64_t(a.shape.size())), to;
    for (int64_t d : order)
      to.push_back(a.shape[d]);
    add("stablehlo.transpose " + a.name + ", dims = " + list(order) + " : (" + typeOf(a) + ") -> " +
            typeText(a.type, to),
        a.type, to, a.isExact);
    return;
  }
  case 1: { // reshape: dimensions are joined, or one of size one is put in
    Shape to = a.shape;
    if (to.size() >= 2 && random.chance(60)) {
      size_t d = random.below(to.size() - 1);
      to[d] *= to[d + 1];
      to.erase(to.begin() + d + 1);
    } else if (!to.empty() && to.back() % 2 == 0 && to.back() > 0) {
      to.back() /= 2;
      to.push_back(2);
    } else {
      to.insert(to.begin() + random.below(to.size() + 1), 1);
    }
    add("stablehlo.reshape " + a.name + " : (" + typeOf(a) + ") -> " + typeText(a.type, to), a.type,
        to, a.isExact);
    return;
  }
  case 2: { // broadcast
    Shape to = a.shape;
    if (to.size() > 3 || count(to) > 3000)
      return;
    size_t at = random.below(to.size() + 1);
    to.insert(to.begin() + at, random.pick<int64_t>({1, 2, 3, 5}));
    Shape dims;
    for (size_t i = 0; i < to.size(); ++i)
      if (i != at)
        dims.push_back(i);
    add("stablehlo.broadcast_in_dim " + a.name + ", dims = " + list(dims) + " : (" + typeOf(a) +
            ") -> " + typeText(a.type, to),
        a.type, to, a.isExact);
    return;
  }
  default: { // reverse
    Shape dims;
    for (size_t i = 0; i < a.shape.size(); ++i)
      if (random.chance(50))
        dims.push_back(i);
    add("stablehlo.reverse " + a.name + ", dims = " + list(dims) + " : " + typeOf(a), a.type,
        a.shape, a.isExact);
  }
  }
}

void Generator::slices() {
  Val a = recent();
  if (!a.shape.empty() && count(a.shape) > 0)
    sliced(a);
}

Val Generator::sliced(const Val &a) {
  std::string ranges;
  Shape to;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    int64_t start = random.below(a.shape[i]), limit = random.between(start + 1, a.shape[i]);
    int64_t stride = random.pick<int64_t>({1, 1, 2, 3});
    ranges += (i ? ", " : "") + std::to_string(start) + ":" + std::to_string(limit) +
              (stride == 1 ? "" : ":" + std::to_string(stride));
    to.push_back((limit - start + stride - 1) / stride);
  }
  return add("stablehlo.slice " + a.name + " [" + ranges + "] : (" + typeOf(a) + ") -> " +
                 typeText(a.type, to),
             a.type, to, a.isExact);
}

void Generator::pads() {
  Val a = recent();
  if (!a.shape.empty() && count(a.shape) <= 3000)
    padded(a);
}

std::optional<Val> Generator::padded(const Val &a) {
  Val number = constant(this->number(a.type), a.type, {});
  Shape low, high, interior, to;
  for (int64_t size : a.shape) {
    low.push_back(random.pick<int64_t>({0, 0, 1, 2, -1}));
    high.push_back(random.pick<int64_t>({0, 0, 1, 3, -1}));
    interior.push_back(random.pick<int64_t>({0, 0, 0, 0, 1}));
    int64_t made = low.back() + high.back() + size + std::max<int64_t>(size - 1, 0) * interior.back();
    if (made < 0)
      return std::nullopt;
    to.push_back(made);
  }
  return add("stablehlo.pad " + a.name + ", " + number.name + ", low = " + list(low) +
                 ", high = " + list(high) + ", interior = " + list(interior) + " : (" +
                 typeOf(a) + ", " + typeOf(number) + ") -> " + typeText(a.type, to),
             a.type, to, a.isExact);
}

void Generator::concatenates() {
  Val a = recent();
  if (a.shape.empty() || count(a.shape) > 5000)
    return;
  int64_t d = random.below(a.shape.size());
  Val b = like(a.type, a.shape);
  Shape to = a.shape;
  to[d] *= 2;
  add("stablehlo.concatenate " + a.name + ", " + b.name + ", dim = " + std::to_string(d) + " : (" +
          typeOf(a) + ", " + typeOf(b) + ") -> " + typeText(a.type, to),
      a.type, to, a.isExact && b.isExact);
}

Val Generator::reduce(const Val &a, const std::string &op, const std::string &init, const Shape &dims, bool staysExact) {
  Val start = constant(init, a.type, {});
  Shape to;
  for (size_t i = 0; i < a.shape.size(); ++i)
    if (std::find(dims.begin(), dims.end(), int64_t(i)) == dims.end())
      to.push_back(a.shape[i]);
  return add("stablehlo.reduce(" + a.name + " init: " + start.name + ") applies stablehlo." + op +
                 " across dimensions = " + list(dims) + " : (" + typeOf(a) + ", " + typeOf(start) +
                 ") -> " + typeText(a.type, to),
             a.type, to, a.isExact && staysExact);
}

void Generator::reduces() {
  Val a = recent();
  if (a.shape.empty() || (isFloat(a.type) && bitsOf(a.type) < 32))
    return;
  Shape dims;
  for (size_t i = 0; i < a.shape.size(); ++i)
    if (random.chance(50))
      dims.push_back(i);
  if (a.type == "i1") {
    bool isAnd = random.chance(50);
    reduce(a, isAnd ? "and" : "or", isAnd ? "true" : "false", dims, true);
  } else if (isFloat(a.type)) {
    switch (random.below(3)) {
    case 0: reduce(tamed(a), "add", random.chance(80) ? "0.0" : "1.5", dims, false); break;
    case 1: reduce(a, "maximum", a.type == "f32" ? "0xFF800000" : "-1.0e30", dims, true); break;
    default: reduce(a, "minimum", "100.0", dims, true);
    }
  } else {
    reduce(a, random.pick<std::string>({"add", "maximum", "minimum", "or"}), "1", dims, true);
  }
}

Val Generator::alongRows(const Val &value, const Shape &shape) {
  Shape dims(shape.size() - 1);
  std::iota(dims.begin(), dims.end(), 0);
  return add("stablehlo.broadcast_in_dim " + value.name + ", dims = " + list(dims) + " : (" +
                 typeOf(value) + ") -> " + typeText(value.type, shape),
             value.type, shape, value.isExact);
}

void Generator::rows() { // softmax
  Val a = recent();
  if (a.type != "f32" || a.shape.empty() || count(a.shape) == 0)
    return;
  Val x = tamed(a);
  Shape last = {int64_t(a.shape.size()) - 1};
  Val most = alongRows(reduce(x, "maximum", "0xFF800000", last, true), x.shape);
  Val e = unary("exponential", binary("subtract", x, most), false);
  Val sum = alongRows(reduce(e, "add", "0.0", last, false), x.shape);
  binary("divide", e, sum);
}

void Generator::norms() { // mean, variance, scale
  Val a = recent();
  if (a.type != "f32" || a.shape.empty() || count(a.shape) == 0)
    return;
  Val x = tamed(a);
  Shape last = {int64_t(a.shape.size()) - 1};
  Val inverse = constant(std::to_string(1.0 / double(a.shape.back())), "f32", x.shape);
  Val mean = binary("multiply", alongRows(reduce(x, "add", "0.0", last, false), x.shape), inverse);
  Val centred = binary("subtract", x, mean);
  Val squares = binary("multiply", centred, centred);
  Val variance = binary("multiply", alongRows(reduce(squares, "add", "0.0", last, false), x.shape), inverse);
  Val bounded = binary("add", variance, constant("0.5", "f32", x.shape));
  binary("multiply", centred, unary("rsqrt", bounded, false));
}

void Generator::converts() {
  Val a = recent();
  std::string to = random.pick<std::string>({"f32", "f32", "f64", "i32", "i64", "bf16", "f16", "i8", "ui8", "ui32", "i1"});
  if (to == a.type || (isFloat(a.type) && !isFloat(to) && !a.isExact) || (bitsOf(to) < 32 && !a.isExact))
    return;
  convert(a, to);
}

} // namespace cupel::random_programs
