// Steps of random programs on element types that few programs have (floats of 8 bits and fewer, integers of
// 4 and 2, complex numbers, patterns of bits), and operations that stand for many.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

/// Through a type and back, with something done there that every type can do. What is rounded is rounded at
/// once, so that all of it is exact.
void Generator::ofAnyType() {
  Val a = recent();
  if (!a.isExact || a.type == "i1")
    return;
  const std::string type = random.pick<std::string>({"f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f4E2M1FN", "f16", "bf16", "i2", "ui2", "i4",
                                                     "ui4", "i8", "ui8", "i16", "ui16", "ui32", "ui64", "i64", "f64"});
  auto to = [&](const Val &value, const std::string &element) {
    return hidden("stablehlo.convert " + value.name + " : (" + typeOf(value) + ") -> " + typeText(element, value.shape), element, value.shape, true);
  };
  auto both = [&](const std::string &op, const Val &x, const Val &y) {
    return hidden("stablehlo." + op + " " + x.name + ", " + y.name + " : " + typeOf(x), x.type, x.shape, true);
  };
  Val b = like(a.type, a.shape);
  if (!b.isExact)
    return;
  Val x = to(a, type), y = to(b, type);
  Val made = both(random.pick<std::string>({"add", "multiply", "subtract", "maximum", "minimum"}), x, y);
  switch (random.below(5)) {
  case 0:
    if (!a.shape.empty()) {
      made = hidden("stablehlo.reverse " + made.name + ", dims = [" + std::to_string(random.below(int64_t(a.shape.size()))) + "] : " + typeOf(made), type, a.shape, true);
      break;
    }
    [[fallthrough]];
  case 1: {
    Val mask = hidden("stablehlo.compare " + random.pick<std::string>({"LT", "GE", "EQ"}) + ", " + x.name + ", " + y.name + " : (" + typeOf(x) + ", " + typeOf(y) + ") -> " + typeText("i1", a.shape),
                      "i1", a.shape, true);
    made = hidden("stablehlo.select " + mask.name + ", " + made.name + ", " + x.name + " : " + typeOf(mask) + ", " + typeOf(made), type, a.shape, true);
    break;
  }
  case 2:
    made = hidden("stablehlo.clamp " + x.name + ", " + made.name + ", " + y.name + " : " + typeOf(made), type, a.shape, true);
    break;
  case 3:
    if (!a.shape.empty() && count(a.shape) < 5000) {
      Shape twice = a.shape;
      twice[0] += a.shape[0];
      made = hidden("stablehlo.concatenate " + made.name + ", " + y.name + ", dim = 0 : (" + typeOf(made) + ", " + typeOf(y) + ") -> " + typeText(type, twice), type, twice, true);
    }
    break;
  default:
    if (!isUnsigned(type))
      made = hidden("stablehlo.negate " + made.name + " : " + typeOf(made), type, a.shape, true);
  }
  const std::string back = random.pick<std::string>({a.type, "f32", "i32"});
  add("stablehlo.convert " + made.name + " : (" + typeOf(made) + ") -> " + typeText(back, made.shape), back, made.shape, true);
}

/// Made of two real tensors, and taken apart again.
void Generator::complexNumbers() {
  Val a = recent();
  if (a.type != "f32" && a.type != "f64")
    return;
  Val re = tamed(a), im = tamed(like(a.type, a.shape));
  const std::string type = "complex<" + a.type + ">";
  auto made = [&](const std::string &text, const Shape &shape) { return hidden(text, type, shape, false); };
  Val z = made("stablehlo.complex " + re.name + ", " + im.name + " : " + typeText(type, a.shape), a.shape);
  Val w = made("stablehlo.complex " + im.name + ", " + re.name + " : " + typeText(type, a.shape), a.shape);
  switch (random.below(6)) {
  case 0:
  case 1: z = made("stablehlo." + random.pick<std::string>({"add", "subtract", "multiply"}) + " " + z.name + ", " + w.name + " : " + typeOf(z), a.shape); break;
  case 2: z = made("stablehlo." + random.pick<std::string>({"negate", "exponential", "sine"}) + " " + z.name + " : " + typeOf(z), a.shape); break;
  case 3:
    if (!a.shape.empty()) {
      const auto d = random.below(int64_t(a.shape.size()));
      Val zero = hidden("stablehlo.constant dense<(0.0, 0.0)> : " + typeText(type, {}), type, {}, true);
      Shape to = a.shape;
      to.erase(to.begin() + d);
      z = made("stablehlo.reduce(" + z.name + " init: " + zero.name + ") applies stablehlo.add across dimensions = [" + std::to_string(d) + "] : (" + typeOf(z) + ", " + typeOf(zero) + ") -> " + typeText(type, to), to);
    }
    break;
  case 4:
    if (a.shape.size() == 2) {
      Shape to = {a.shape[0], a.shape[0]};
      z = made("stablehlo.dot_general " + z.name + ", " + w.name + ", contracting_dims = [1] x [1] : (" + typeOf(z) + ", " + typeOf(w) + ") -> " + typeText(type, to), to);
    }
    break;
  default:
    // Which parts of a transform a NaN reaches is the way's who transforms: times one and times i need no product.
    if (!mayHoldNaN && !a.shape.empty() && count(a.shape) > 0 && count(a.shape) < 5000)
      z = made("stablehlo.fft " + z.name + ", type = " + random.pick<std::string>({"FFT", "IFFT"}) + ", length = [" + std::to_string(a.shape.back()) + "] : (" + typeOf(z) + ") -> " + typeOf(z), a.shape);
  }
  const std::string part = random.pick<std::string>({"real", "imag", "abs"});
  add("stablehlo." + part + " " + z.name + " : (" + typeOf(z) + ") -> " + typeText(a.type, z.shape), a.type, z.shape, false);
}

/// The same bits as another type. Only of whole numbers: which bits a NaN has is left open.
void Generator::bitPatterns() {
  Val a = recent();
  if (a.type == "i32" || a.type == "ui32") {
    Shape parts = a.shape;
    parts.push_back(4);
    Val bytes = add("stablehlo.bitcast_convert " + a.name + " : (" + typeOf(a) + ") -> " + typeText("ui8", parts), "ui8", parts, true);
    if (random.chance(50))
      add("stablehlo.bitcast_convert " + bytes.name + " : (" + typeOf(bytes) + ") -> " + typeText("i32", a.shape), "i32", a.shape, true);
    return;
  }
  if (a.type == "f32" && a.isExact) {
    const bool isHalf = random.chance(50);
    add("stablehlo.reduce_precision " + a.name + ", format = " + (isHalf ? "e5m10" : "e8m7") + " : " + typeOf(a), "f32", a.shape, true);
    return;
  }
  Val state = hidden("stablehlo.constant dense<[" + std::to_string(random.between(0, 1000)) + ", 7]> : tensor<2xui64>", "ui64", {2}, true);
  Shape sizes = a.shape.empty() ? Shape{5} : a.shape;
  if (count(sizes) > 3000)
    return;
  const std::string type = random.pick<std::string>({"ui32", "ui64", "ui8"}), id = std::to_string(next++);
  body += "  %" + id + ":2 = stablehlo.rng_bit_generator " + state.name + ", algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, " + typeText(type, sizes) + ")\n";
  values.push_back({"%" + id + "#1", type, sizes, true});
}

/// Bits of elements as elements of as many bits, there and back, and as importers copy a sign.
void Generator::sameBits() {
  Val a = recent();
  const bool isFloats = a.type == "f32" || a.type == "f64";
  if (!a.isExact || (!isFloats && a.type != "i32" && a.type != "ui32" && a.type != "i64" && a.type != "ui64"))
    a = like("f32", {random.pick<int64_t>({1, 16, 37}), 5});
  if (!a.isExact || a.isConstant || (isFloat(a.type) && mayHoldNaN)) // Which bits a NaN has is left open.
    return;
  const std::string size = std::to_string(bitsOf(a.type)), real = "f" + size, sign = "i" + size;
  auto as = [&](const Val &value, const std::string &type) {
    return hidden("stablehlo.bitcast_convert " + value.name + " : (" + typeOf(value) + ") -> " + typeText(type, value.shape), type, value.shape, true);
  };
  if (!isFloat(a.type)) {
    Val other = as(a, random.chance(60) ? real : a.type == sign ? "u" + sign : sign); // Any bits: NaNs, denormal numbers.
    if (isFloat(other.type) && random.chance(50)) {
      Val mask = like("i1", a.shape), zeros = constant("0.0", real, a.shape);
      if (mask.isExact)
        other = hidden("stablehlo.select " + mask.name + ", " + other.name + ", " + zeros.name + " : " + typeOf(mask) + ", " + typeOf(other), real, a.shape, true);
    }
    values.push_back(as(other, a.type));
    return;
  }
  Val bits = as(a, random.chance(50) ? sign : "u" + sign), mask = constant(random.pick<std::string>({"1", "255", "65536"}), bits.type, a.shape);
  Val changed = binary(random.pick<std::string>({"and", "or", "xor"}), bits, mask);
  values.push_back(as(changed, real));
  if (bits.type != sign)
    return;
  Val zero = constant("0", sign, a.shape), magnitude = unary("abs", like(real, a.shape), true), negative = unary("negate", magnitude, true);
  Val isNegative = hidden("stablehlo.compare LT, " + bits.name + ", " + zero.name + ", SIGNED : (" + typeOf(bits) + ", " + typeOf(zero) + ") -> " + typeText("i1", a.shape),
                          "i1", a.shape, true);
  add("stablehlo.select " + isNegative.name + ", " + negative.name + ", " + magnitude.name + " : " + typeOf(isNegative) + ", " + typeOf(negative), real, a.shape,
      magnitude.isExact);
}

void Generator::wholeOperations() {
  Val a = recent();
  switch (random.below(6)) {
  case 0: { // Between bounds.
    Val low = constant(isFloat(a.type) ? "-0.5" : "0", a.type, random.chance(50) ? Shape() : a.shape);
    Val high = constant(isFloat(a.type) ? "0.75" : "1", a.type, low.shape);
    if (a.type != "i1")
      add("stablehlo.clamp " + low.name + ", " + a.name + ", " + high.name + " : (" + typeOf(low) + ", " + typeOf(a) + ", " + typeOf(high) + ") -> " + typeOf(a), a.type, a.shape, a.isExact);
    return;
  }
  case 1: { // One bit for all.
    Val which = like("i1", {}), b = like(a.type, a.shape);
    add("stablehlo.select " + which.name + ", " + a.name + ", " + b.name + " : tensor<i1>, " + typeOf(a), a.type, a.shape, a.isExact && b.isExact);
    return;
  }
  case 2: { // Three of different sizes behind each other.
    if (a.shape.empty() || count(a.shape) > 3000)
      return;
    const auto d = size_t(random.below(int64_t(a.shape.size())));
    Shape other = a.shape, to = a.shape;
    other[d] = random.below(4);
    to[d] = 2 * a.shape[d] + other[d];
    Val b = like(a.type, other), c = like(a.type, a.shape);
    add("stablehlo.concatenate " + a.name + ", " + b.name + ", " + c.name + ", dim = " + std::to_string(d) + " : (" + typeOf(a) + ", " + typeOf(b) + ", " + typeOf(c) + ") -> " + typeText(a.type, to),
        a.type, to, a.isExact && b.isExact && c.isExact);
    return;
  }
  case 3: { // Normalised by numbers that are there.
    if (a.type != "f32" || a.shape.size() < 2 || count(a.shape) == 0)
      return;
    const int64_t d = random.below(int64_t(a.shape.size())), size = a.shape[size_t(d)];
    Val x = tamed(a), scale = tamed(like("f32", {size})), offset = tamed(like("f32", {size}));
    std::string f = typeOf(scale), which = "epsilon = 1.0 : f32, feature_index = " + std::to_string(d) + " : i64";
    if (random.chance(50)) {
      Val mean = tamed(like("f32", {size})), variance = unary("abs", tamed(like("f32", {size})), false);
      add("\"stablehlo.batch_norm_inference\"(" + x.name + ", " + scale.name + ", " + offset.name + ", " + mean.name + ", " + variance.name + ") <{" + which + "}> : (" + typeOf(x) + ", " + f + ", " + f + ", " + f + ", " + f +
              ") -> " + typeOf(x),
          "f32", a.shape, false);
      return;
    }
    const std::string id = std::to_string(next++);
    body += "  %" + id + ":3 = \"stablehlo.batch_norm_training\"(" + x.name + ", " + scale.name + ", " + offset.name + ") <{" + which + "}> : (" + typeOf(x) + ", " + f + ", " + f + ") -> (" + typeOf(x) + ", " + f + ", " + f + ")\n";
    values.push_back({"%" + id + "#0", "f32", a.shape, false});
    values.push_back({"%" + id + "#2", "f32", {size}, false});
    return;
  }
  case 4: // Nothing may move past it.
    add("stablehlo.optimization_barrier " + a.name + " : " + typeOf(a), a.type, a.shape, a.isExact);
    return;
  default: { // Counted along a dimension.
    if (a.shape.empty() || a.type == "i1" || bitsOf(a.type) < 8)
      return;
    add("stablehlo.iota dim = " + std::to_string(random.below(int64_t(a.shape.size()))) + " : " + typeText(a.type, a.shape), a.type, a.shape, true);
  }
  }
}

void Generator::moreFunctions() {
  Val a = recent();
  if (!isFloat(a.type)) {
    if (a.type == "i1" || bitsOf(a.type) < 8)
      return;
    Val b = like(a.type, a.shape);
    const std::string op = random.pick<std::string>({"shift_left", "shift_right_logical", "shift_right_arithmetic", "power", "count_leading_zeros"});
    if (op == "count_leading_zeros")
      unary(op, a, true);
    else
      binary(op, a, b);
    return;
  }
  if (bitsOf(a.type) < 32)
    return;
  Val x = tamed(a), y = tamed(like(a.type, a.shape));
  switch (random.below(7)) {
  case 0:
    if (random.chance(50)) // Where it is the number itself, where it is an exponential, and where it is -1.
      unary("exponential_minus_one", binary("multiply", x, constant(random.pick<std::string>({"1.0e-9", "1.0e-4", "1.0", "20.0", "88.0"}), a.type, a.shape)), false);
    else
      unary("tan", x, false);
    break;
  case 1: add("stablehlo.atan2 " + x.name + ", " + binary("add", unary("abs", y, true), constant("1.0", a.type, a.shape)).name + " : " + typeOf(a), a.type, a.shape, false); break;
  case 2: add("stablehlo.power " + binary("add", unary("abs", x, true), constant("0.5", a.type, a.shape)).name + ", " + y.name + " : " + typeOf(a), a.type, a.shape, false); break;
  case 3: add("stablehlo.divide " + x.name + ", " + binary("add", unary("abs", y, true), constant("0.5", a.type, a.shape)).name + " : " + typeOf(a), a.type, a.shape, false); break;
  case 4: { // Of numbers that have no roundings to lose it by.
    Val b = like(a.type, a.shape);
    if (a.isExact && b.isExact)
      add("stablehlo." + random.pick<std::string>({"remainder", "divide"}) + " " + a.name + ", " + b.name + " : " + typeOf(a), a.type, a.shape, true), mayHoldNaN = true;
    break;
  }
  case 5: add("chlo." + random.pick<std::string>({"erf", "erfc", "asin", "atan", "sinh", "cosh", "asinh"}) + " " + x.name + " : " + typeOf(x) + " -> " + typeOf(x), a.type, a.shape, false); break;
  default:
    if (a.isExact)
      add("stablehlo.is_finite " + a.name + " : (" + typeOf(a) + ") -> " + typeText("i1", a.shape), "i1", a.shape, true);
  }
}

} // namespace cupel::random_programs
