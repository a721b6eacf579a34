// Steps of random programs as compilers see them in whole networks: residual blocks, products with all that follows
// them, pools of planes, and running maxima with the places where they stand.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

void Generator::partOfNetwork() {
  switch (random.below(9)) {
  case 0: case 1: return residualBlocks();
  case 2: case 3: return finishedProducts();
  case 4: return stems();
  case 5: return pools();
  case 6: return runningExtremes();
  case 7: return sameBits();
  default: return moreFunctions();
  }
}

/// Of images whose channels are inmost, by a window of so many pixels each way around; sums of bf16 are f32.
Val Generator::convolvedInmost(const Val &x, int64_t filters, int64_t around, int64_t stride, int64_t groups) {
  const int64_t window = 2 * around + 1;
  Val w = factor(x.type, {window, window, x.shape[3] / groups, filters});
  Shape to = {x.shape[0], (x.shape[1] - 1) / stride + 1, (x.shape[2] - 1) / stride + 1, filters};
  const std::string pad = list({around, around}), sides = list({stride, stride});
  return hidden("stablehlo.convolution(" + x.name + ", " + w.name + ") dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = " + sides +
                    ", pad = [" + pad + ", " + pad + "]} {batch_group_count = 1 : i64, feature_group_count = " + std::to_string(groups) + " : i64} : (" +
                    typeOf(x) + ", " + typeOf(w) + ") -> " + typeText("f32", to),
                "f32", to, false);
}

/// A number for each of what lies along the last dimension.
Val Generator::alongColumns(const Val &numbers, const Shape &shape) {
  return hidden("stablehlo.broadcast_in_dim " + numbers.name + ", dims = [" + std::to_string(shape.size() - 1) + "] : (" + typeOf(numbers) + ") -> " +
                    typeText(numbers.type, shape),
                numbers.type, shape, numbers.isExact);
}

/// What follows sums of f32, some of it, each step or none; the residual may be null.
Val Generator::finished(Val sums, const Val *residual) {
  const Shape columns = {sums.shape.back()};
  if (random.chance(30))
    sums = binary("multiply", sums, alongColumns(factor("f32", columns), sums.shape));
  if (random.chance(50))
    sums = binary("add", sums, alongColumns(factor("f32", columns), sums.shape));
  if (residual) {
    Val wide = residual->type == "f32" ? *residual : hidden("stablehlo.convert " + residual->name + " : (" + typeOf(*residual) + ") -> " + typeOf(sums), "f32", sums.shape, false);
    sums = random.chance(50) ? binary("add", sums, wide) : binary("add", wide, sums);
  }
  if (random.chance(60))
    sums = binary("maximum", sums, constant("0.0", "f32", sums.shape));
  if (random.chance(20))
    sums = binary("minimum", sums, constant("6.0", "f32", sums.shape));
  if (random.chance(20))
    sums = unary(random.pick<std::string>({"abs", "tanh", "logistic"}), sums, false);
  else if (random.chance(20))
    sums = gated(sums);
  return sums;
}

/// A number times limits of itself, as a hard swish is.
Val Generator::gated(const Val &x) {
  const bool isScaled = random.chance(50);
  auto number = [&](const std::string &text) { return constant(text, "f32", x.shape); };
  Val inner = isScaled ? binary("multiply", x, number("0.166666672")) : x;
  inner = binary("add", inner, number(isScaled ? "0.5" : "3.0"));
  inner = random.chance(50) ? binary("minimum", binary("maximum", inner, number("0.0")), number(isScaled ? "1.0" : "6.0"))
                            : binary("maximum", number("0.0"), binary("minimum", inner, number(isScaled ? "1.0" : "6.0")));
  Val product = random.chance(50) ? binary("multiply", x, inner) : binary("multiply", inner, x);
  return random.chance(isScaled ? 30 : 80) ? binary(random.pick<std::string>({"divide", "multiply"}), product, number(isScaled ? "2.0" : "6.0")) : product;
}

/// Of f32, or of bf16 whose sums are f32 until the block ends.
void Generator::residualBlocks() {
  const std::string type = random.pick<std::string>({"f32", "bf16", "bf16"});
  const int64_t size = random.pick<int64_t>({1, 4, 5, 7, 9, 11});
  Val now = factor(type, {random.between(1, 2), size, random.chance(80) ? size : size + 3, random.pick<int64_t>({3, 8, 16, 24, 40, 41, 48})});
  auto rounded = [&](const Val &value) { return type == "f32" ? value : convert(value, type); };
  for (int64_t blocks = random.between(1, 2); blocks > 0; --blocks) {
    const int64_t channels = now.shape[3], stride = random.chance(15) ? 2 : 1;
    const int64_t filters = random.chance(70) ? channels : random.pick<int64_t>({8, 33, 64});
    const int64_t middle = random.chance(30) ? filters : random.pick<int64_t>({3, 8, 16, 24});
    Val inner = rounded(finished(convolvedInmost(now, middle, 0, 1, 1), nullptr));
    const int64_t each = random.pick<int64_t>({2, 4, 8, 16});
    const bool isAlone = middle == filters && random.chance(40), isInGroups = !isAlone && middle == filters && filters % each == 0 && random.chance(80);
    Val sums = convolvedInmost(inner, filters, random.below(2), stride,
                               isAlone ? filters : isInGroups ? filters / each : middle == 8 && filters % 8 == 0 && random.chance(30) ? 8 : 1);
    // Where sizes change, the shortcut is what another one made.
    Val shortcut = stride == 1 && filters == channels ? now : convolvedInmost(now, filters, 0, stride, 1);
    if (shortcut.type == "f32" && type == "bf16" && random.chance(50))
      shortcut = convert(shortcut, type);
    now = rounded(finished(sums, &shortcut));
    if (random.chance(20))
      values.push_back(shortcut); // Somebody else needs it, perhaps.
  }
  add("stablehlo.transpose " + now.name + ", dims = [0, 3, 1, 2] : (" + typeOf(now) + ") -> " +
          typeText(type, {now.shape[0], now.shape[3], now.shape[1], now.shape[2]}),
      type, {now.shape[0], now.shape[3], now.shape[1], now.shape[2]}, now.isExact);
  if (random.chance(70))
    values.push_back(convolvedInmost(now, random.pick<int64_t>({1, 8, 17}), 0, 1, 1));
}

/// Many rows, a short depth, or one that is computed in parts; as a product of matrices or as a convolution of one pixel.
void Generator::finishedProducts() {
  const std::string type = random.pick<std::string>({"f32", "f32", "bf16"});
  const bool isDeep = random.chance(15);
  const int64_t rows = isDeep ? random.pick<int64_t>({5, 33, 54, 55, 86}) : random.pick<int64_t>({11, 12, 13, 25, 31, 64, 130}),
                depth = isDeep ? random.pick<int64_t>({800, 808, 1100}) : random.pick<int64_t>({1, 2, 3, 7, 16, 24, 31, 32, 47, 48, 49, 96, 97}),
                columns = isDeep ? random.pick<int64_t>({5, 32, 40}) : random.pick<int64_t>({1, 3, 15, 16, 17, 31, 33, 48, 63, 65, 100});
  if (rows * columns > 8000)
    return;
  Val sums, a;
  if (random.chance(50)) {
    a = factor(type, {1, rows, 1, depth});
    sums = convolvedInmost(a, columns, 0, 1, 1);
  } else {
    a = factor(type, {rows, depth});
    const bool isTurned = random.chance(30);
    Val b = factor(type, isTurned ? Shape{columns, depth} : Shape{depth, columns});
    sums = hidden("stablehlo.dot_general " + a.name + ", " + b.name + ", contracting_dims = [1] x [" + (isTurned ? "1" : "0") + "] : (" + typeOf(a) + ", " +
                      typeOf(b) + ") -> " + typeText("f32", {rows, columns}),
                  "f32", {rows, columns}, false);
  }
  std::optional<Val> residual;
  if (random.chance(40))
    residual = factor(random.pick<std::string>({"f32", "bf16"}), sums.shape);
  Val made = finished(sums, residual ? &*residual : nullptr);
  values.push_back(random.chance(40) ? convert(made, "bf16") : made);
}

/// Channels first, of lines, images and volumes: windows that hang over, lie apart, overlap or leave pixels out.
void Generator::pools() {
  const int64_t dims = random.pick<int64_t>({1, 2, 2, 2, 3});
  Shape shape = {random.between(1, 2), random.pick<int64_t>({1, 3, 8})}, window = {1, 1}, strides = {1, 1}, apart = {1, 1};
  Shape to = shape;
  std::string padding = "[0, 0], [0, 0]";
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t size = dims == 3 ? random.between(1, 7) : random.pick<int64_t>({1, 2, 5, 8, 15, 16, 17, 33});
    window.push_back(random.between(1, 4));
    strides.push_back(random.between(1, 4));
    apart.push_back(random.chance(20) ? 2 : 1);
    const int64_t low = random.pick<int64_t>({0, 0, 1, 1, 2, -1}), high = random.pick<int64_t>({0, 1, 1, 3, -1});
    const int64_t reach = (window.back() - 1) * apart.back() + 1, padded = size + low + high;
    if (padded < 0)
      return;
    shape.push_back(size);
    to.push_back(padded < reach ? 0 : (padded - reach) / strides.back() + 1);
    padding += ", [" + std::to_string(low) + ", " + std::to_string(high) + "]";
  }
  const bool isMax = random.chance(60);
  const std::string type = isMax && random.chance(20) ? "bf16" : "f32";
  Val a = isMax ? like(type, shape) : factor(type, shape);
  Val init = constant(isMax ? type == "f32" ? "0xFF800000" : "0xFF80" : "0.0", type, {});
  const std::string e = typeText(type, {});
  add("\"stablehlo.reduce_window\"(" + a.name + ", " + init.name + ") <{padding = dense<[" + padding + "]> : tensor<" + std::to_string(dims + 2) +
          "x2xi64>, window_dimensions = " + array(window) + ", window_strides = " + array(strides) + ", window_dilations = " + array(apart) +
          "}> ({\n  ^bb0(%x: " + e + ", %y: " + e + "):\n    %z = stablehlo." + (isMax ? "maximum" : "add") + " %x, %y : " + e +
          "\n    stablehlo.return %z : " + e + "\n  }) : (" + typeOf(a) + ", " + e + ") -> " + typeText(type, to),
      type, to, isMax && a.isExact);
}

/// As importers write them: of each place and the one so far before it, again and again twice as far.
void Generator::runningExtremes() {
  Val a = recent();
  if (!a.isExact || a.shape.empty() || count(a.shape) == 0 || count(a.shape) > 3000 || (a.type != "f32" && a.type != "i32"))
    a = like("f32", {random.between(1, 3), random.pick<int64_t>({1, 2, 7, 33, 70})});
  if (!a.isExact)
    return;
  const bool isFloats = a.type == "f32", isMax = random.chance(50);
  const auto last = a.shape.size() - 1;
  const int64_t size = a.shape[last];
  Val least = constant(isFloats ? isMax ? "0xFF800000" : "0x7F800000" : isMax ? "-2147483648" : "2147483647", a.type, {}), zero = constant("0", "i32", {});
  Val now = a, places = hidden("stablehlo.iota dim = " + std::to_string(last) + " : " + typeText("i32", a.shape), "i32", a.shape, true);
  auto earlier = [&](const Val &value, const Val &before, int64_t width) {
    std::string ranges;
    Shape part = value.shape, low(value.shape.size(), 0), none = low;
    part[last] -= width;
    low[last] = width;
    for (size_t i = 0; i <= last; ++i)
      ranges += (i ? ", 0:" : "0:") + std::to_string(part[i]);
    Val cut = hidden("stablehlo.slice " + value.name + " [" + ranges + "] : (" + typeOf(value) + ") -> " + typeText(value.type, part), value.type, part, true);
    return hidden("stablehlo.pad " + cut.name + ", " + before.name + ", low = " + list(low) + ", high = " + list(none) + ", interior = " + list(none) +
                      " : (" + typeOf(cut) + ", " + typeOf(before) + ") -> " + typeOf(value),
                  value.type, value.shape, true);
  };
  auto compared = [&](const std::string &how, const Val &x, const Val &y) {
    return hidden("stablehlo.compare " + how + ", " + x.name + ", " + y.name + ", " + (isFloats ? "FLOAT" : "SIGNED") + " : (" + typeOf(x) + ", " +
                      typeOf(y) + ") -> " + typeText("i1", a.shape),
                  "i1", a.shape, true);
  };
  for (int64_t width = 1; width < size; width *= 2) {
    Val before = earlier(now, least, width), from = earlier(places, zero, width);
    Val better = compared(isMax ? "GE" : "LE", now, before);
    if (isFloats) {
      Val isNone = compared("NE", now, now);
      better = hidden("stablehlo.or " + better.name + ", " + isNone.name + " : " + typeOf(better), "i1", a.shape, true);
    }
    auto picked = [&](const Val &x, const Val &y) {
      return hidden("stablehlo.select " + better.name + ", " + x.name + ", " + y.name + " : " + typeOf(better) + ", " + typeOf(x), x.type, x.shape, true);
    };
    now = picked(now, before);
    places = picked(places, from);
  }
  values.push_back(now);
  values.push_back(places);
}

} // namespace cupel::random_programs
