// Steps of random programs on quantized numbers: integers of 8 bits that are dequantized, multiplied in f32, and quantized again.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

/// Integers of 8 bits that depend on `from`, or constants, less a zero point, times scales; those of one dimension differ. Powers of two
/// leave all sums of products exact.
Val Generator::dequantized(const Shape &shape, const Val *from, int64_t scaled, bool isExact) {
  bool isUnsigned = random.chance(50);
  auto hidden = [&](const std::string &text, const std::string &type) {
    Val value = add(text, type, shape, true);
    values.pop_back(); // Other steps know nothing of such types.
    return value;
  };
  auto number = [&](int64_t value) { return hidden("stablehlo.constant dense<" + std::to_string(value) + "> : " + typeText("i32", shape), "i32"); };
  auto both = [&](const std::string &op, const Val &a, const Val &b) { return hidden("stablehlo." + op + " " + a.name + ", " + b.name + " : " + typeOf(a), a.type); };
  auto converted = [&](const Val &value, const std::string &type) {
    return hidden("stablehlo.convert " + value.name + " : (" + typeOf(value) + ") -> " + typeText(type, shape), type);
  };
  Val mixed = number(random.below(256));
  for (size_t d = 0; d < shape.size(); ++d) {
    Val along = hidden("stablehlo.iota dim = " + std::to_string(d) + " : " + typeText("i32", shape), "i32");
    mixed = both("add", mixed, both("multiply", along, number(random.between(1, 99))));
  }
  if (from) {
    Val zero = hidden("stablehlo.constant dense<0.0> : " + typeText("f32", shape), "f32");
    Val sign = hidden("stablehlo.compare GT, " + from->name + ", " + zero.name + " : (" + typeOf(*from) + ", " + typeOf(zero) + ") -> " + typeText("i1", shape), "i1");
    mixed = both("add", mixed, both("multiply", converted(sign, "i32"), number(77)));
  }
  mixed = both("and", mixed, number(255));
  int64_t least = isUnsigned ? 0 : -128, point = least + random.pick<int64_t>({0, 1, 128, 200, 255});
  Val narrow = converted(both("add", mixed, number(least)), isUnsigned ? "ui8" : "i8");
  Val whole = random.chance(50) ? converted(narrow, "f32") : converted(narrow, "i32");
  if (whole.type == "i32")
    whole = random.chance(80) ? converted(both("subtract", whole, number(point)), "f32") : converted(whole, "f32");
  auto scale = [&] { return random.pick<std::string>(isExact ? std::vector<std::string>{"0.5", "0.25", "0.0078125", "1.0"} : std::vector<std::string>{"0.1", "0.003", "0.0371", "0.9"}); };
  if (scaled < 0)
    return binary("multiply", whole, constant(scale(), "f32", shape));
  std::string scales = "[";
  for (int64_t i = 0; i < shape[size_t(scaled)]; ++i)
    scales += (i ? ", " : "") + scale();
  Val row = constant(scales + "]", "f32", {shape[size_t(scaled)]});
  Val wide = add("stablehlo.broadcast_in_dim " + row.name + ", dims = [" + std::to_string(scaled) + "] : (" + typeOf(row) + ") -> " + typeText("f32", shape), "f32", shape, true);
  return binary("multiply", wide, whole);
}

void Generator::quantized() {
  Val a = recent();
  if (a.type != "f32" || !a.isExact || a.shape.size() < 2 || count(a.shape) == 0 || count(a.shape) > 4000)
    return;
  bool isExact = random.chance(60), isImage = a.shape.size() == 4;
  int64_t columns = random.pick<int64_t>({1, 3, 8, 17, 40});
  Val left = dequantized(a.shape, &a, -1, isExact), made = left;
  if (isImage) {
    Shape kernel = {columns, a.shape[1], std::min<int64_t>(a.shape[2], 3), std::min<int64_t>(a.shape[3], 2)};
    Val right = dequantized(kernel, nullptr, random.chance(70) && columns > 1 ? 0 : -1, isExact);
    Shape to = {a.shape[0], columns, a.shape[2] + 2 - kernel[2] + 1, a.shape[3] + 1 - kernel[3] + 1};
    made = add("stablehlo.convolution(" + left.name + ", " + right.name + ") dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [0, 1]]} "
               "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" + typeOf(left) + ", " + typeOf(right) + ") -> " + typeText("f32", to),
               "f32", to, isExact);
  } else {
    Shape kernel = {a.shape.back(), columns}, to = a.shape;
    to.back() = columns;
    Val right = dequantized(kernel, nullptr, random.chance(70) && columns > 1 ? 1 : -1, isExact);
    made = add("stablehlo.dot_general " + left.name + ", " + right.name + ", contracting_dims = [" + std::to_string(a.shape.size() - 1) + "] x [0] : (" + typeOf(left) + ", " +
                   typeOf(right) + ") -> " + typeText("f32", to),
               "f32", to, isExact);
  }
  if (isExact && random.chance(60)) { // To 8 bits again.
    Val rounded = unary("round_nearest_even", binary("divide", made, constant("3.7", "f32", made.shape)), true);
    Val bounded = binary("minimum", binary("maximum", rounded, constant("-128.0", "f32", made.shape)), constant("127.0", "f32", made.shape));
    Val narrow = convert(bounded, "i8");
    values.pop_back();
    convert(narrow, "i32");
  }
}

/// Quantized types: exact numbers are quantized, something is done to what is stored, and it is dequantized. Roundings are
/// prescribed, so bits are too, but where sums of real numbers come between.
void Generator::uniform() {
  Val a = recent();
  if (a.type != "f32" || !a.isExact || a.shape.size() < 2 || count(a.shape) == 0 || count(a.shape) > 4000)
    return;
  auto type = [&](const std::string &storage, const Shape &shape, int64_t axis, bool hasZero) {
    auto one = [&](bool zero) {
      return random.pick<std::string>({"0.05", "0.0121", "0.25", "1.3"}) + (zero ? ":" + std::to_string(random.pick<int64_t>({3, 17, 100})) : "");
    };
    std::string text = "!quant.uniform<" + storage + ":f32" + (axis < 0 ? ", " + one(hasZero) : ":" + std::to_string(axis) + ", {");
    for (int64_t i = 0; axis >= 0 && i < shape[size_t(axis)]; ++i)
      text += (i ? ", " : "") + one(hasZero);
    return text + (axis < 0 ? ">" : "}>");
  };
  auto hidden = [&](const std::string &text, const std::string &element, const Shape &shape, bool isExact) {
    Val value = add(text, element, shape, isExact);
    values.pop_back();
    return value;
  };
  auto quantize = [&](const Val &value, const std::string &to) {
    return hidden("stablehlo.uniform_quantize " + value.name + " : (" + typeOf(value) + ") -> " + typeText(to, value.shape), to, value.shape, value.isExact);
  };
  std::string storage = random.pick<std::string>({"i8", "i8", "u8", "i8<-127:127>", "i16"});
  Val left = quantize(a, type(storage, a.shape, -1, random.chance(60))), made = left;
  switch (random.below(5)) {
  case 0: made = quantize(left, type("i8", a.shape, random.chance(40) ? 1 : -1, random.chance(60))); break;
  case 1: {
    Val right = quantize(binary("multiply", a, constant("0.75", "f32", a.shape)), left.type);
    std::string op = random.pick<std::string>({"add", "multiply", "maximum", "subtract"});
    made = hidden("stablehlo." + op + " " + left.name + ", " + right.name + " : " + typeOf(left), left.type, a.shape, true);
    break;
  }
  case 2: {
    Shape to = a.shape;
    std::swap(to[0], to[1]);
    std::string order = "1, 0";
    for (size_t d = 2; d < to.size(); ++d)
      order += ", " + std::to_string(d);
    made = hidden("stablehlo.transpose " + left.name + ", dims = [" + order + "] : (" + typeOf(left) + ") -> " + typeText(left.type, to), left.type, to, true);
    break;
  }
  default: {
    int64_t columns = random.pick<int64_t>({1, 3, 8, 17});
    bool isWhole = random.chance(70); // Zero points of the result are zero: computed on integers.
    bool isConvolution = a.shape.size() == 4;
    Shape kernel = {a.shape.back(), columns}, to = a.shape;
    to.back() = columns;
    if (isConvolution) {
      kernel = {std::min<int64_t>(2, a.shape[1]), 1, a.shape[3], columns};
      to[1] = a.shape[1] + 1 - kernel[0] + 1;
    }
    int64_t last = int64_t(kernel.size()) - 1;
    Val weights = hidden("stablehlo.iota dim = " + std::to_string(last) + " : " + typeText("f32", kernel), "f32", kernel, true);
    Val mixed = hidden("stablehlo.cosine " + weights.name + " : " + typeOf(weights), "f32", kernel, false);
    Val half = hidden("stablehlo.constant dense<0.37> : " + typeText("f32", kernel), "f32", kernel, true);
    Val sign = hidden("stablehlo.compare GT, " + mixed.name + ", " + half.name + " : (" + typeOf(mixed) + ", " + typeOf(half) + ") -> " + typeText("i1", kernel), "i1", kernel, true);
    Val right = quantize(hidden("stablehlo.convert " + sign.name + " : (" + typeOf(sign) + ") -> " + typeText("f32", kernel), "f32", kernel, true),
                         type(storage.substr(0, storage.find('<')), kernel, random.chance(50) && columns > 1 ? last : -1, false));
    std::string result = type(random.pick<std::string>({"i8", "i32"}), to, -1, false);
    if (!isWhole)
      result = type("i8", to, -1, true);
    std::string types = " : (" + typeOf(left) + ", " + typeOf(right) + ") -> " + typeText(result, to);
    made = isConvolution ? hidden("stablehlo.convolution(" + left.name + ", " + right.name + ") dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 0], [0, 0]]} "
                                  "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}" + types, result, to, isWhole)
                         : hidden("stablehlo.dot_general " + left.name + ", " + right.name + ", contracting_dims = [" + std::to_string(a.shape.size() - 1) + "] x [0]" + types, result, to, isWhole);
    if (!isWhole)
      return; // A rounding more or less is a quantum: nothing to compare.
  }
  }
  add("stablehlo.uniform_dequantize " + made.name + " : (" + typeOf(made) + ") -> " + typeText("f32", made.shape), "f32", made.shape, true);
}

} // namespace cupel::random_programs
