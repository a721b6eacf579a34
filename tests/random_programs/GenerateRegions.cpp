// Steps of random programs that have regions, windows, or places known at run time only.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

void Generator::convolutions() {
  int64_t groups = random.pick<int64_t>({1, 1, 2, 4});
  int64_t channels = groups * random.pick<int64_t>({1, 2, 3}), filters = groups * random.pick<int64_t>({1, 2, 5});
  Shape image = {random.between(1, 2), channels, random.between(3, 9), random.between(3, 9)};
  Shape kernel = {filters, channels / groups, random.between(1, 3), random.between(1, 3)};
  if (random.chance(20)) // Most of the image, as gradients of kernels have it.
    for (int i : {2, 3})
      kernel[i] = random.between(image[i] - 2, image[i]);
  Val x = tamed(like("f32", image)), w = tamed(like("f32", kernel));
  Shape strides = {random.between(1, 2), random.between(1, 2)}, pads, dilations = {random.between(1, 2), 1}, to = {image[0], filters};
  for (int i = 0; i < 4; ++i)
    pads.push_back(random.between(0, 2));
  for (int i = 0; i < 2; ++i) {
    int64_t reach = (kernel[i + 2] - 1) * dilations[i] + 1;
    int64_t size = image[i + 2] + pads[2 * i] + pads[2 * i + 1];
    to.push_back(size < reach ? 0 : (size - reach) / strides[i] + 1);
  }
  Val made = add("stablehlo.convolution(" + x.name + ", " + w.name +
                     ") dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = " +
                     list(strides) + ", pad = [[" + std::to_string(pads[0]) + ", " +
                     std::to_string(pads[1]) + "], [" + std::to_string(pads[2]) + ", " +
                     std::to_string(pads[3]) + "]], rhs_dilate = " + list(dilations) +
                     "} {batch_group_count = 1 : i64, feature_group_count = " +
                     std::to_string(groups) + " : i64} : (" + typeOf(x) + ", " + typeOf(w) +
                     ") -> " + typeText("f32", to),
                 "f32", to, false);
  if (count(to) > 0 && random.chance(70)) {
    Val bias = like("f32", {filters});
    Val wide = add("stablehlo.broadcast_in_dim " + bias.name + ", dims = [1] : (" + typeOf(bias) +
                       ") -> " + typeText("f32", to),
                   "f32", to, bias.isExact);
    binary("maximum", binary("add", made, wide), constant("0.0", "f32", to));
  }
}

void Generator::windows() {
  Val a = recent();
  if (a.type != "f32" || a.shape.size() != 4 || count(a.shape) == 0 || a.shape[2] < 3 || a.shape[3] < 3)
    a = like("f32", {1, 3, 6, 5});
  bool isMax = random.chance(50);
  if (!isMax)
    a = tamed(a);
  Val init = constant(isMax ? "0xFF800000" : "0.0", "f32", {});
  Shape window = {1, 1, random.between(1, 3), random.between(2, 3)}, strides = {1, 1, random.between(1, 2), random.between(1, 2)};
  int64_t pad = random.below(2);
  Shape to = {a.shape[0], a.shape[1]};
  for (int i = 2; i < 4; ++i)
    to.push_back((a.shape[i] + 2 * pad - window[i]) / strides[i] + 1);
  std::string around = "[" + std::to_string(pad) + ", " + std::to_string(pad) + "]";
  add("\"stablehlo.reduce_window\"(" + a.name + ", " + init.name + ") <{padding = dense<[[0, 0], [0, 0], " +
          around + ", " + around + "]> : tensor<4x2xi64>, window_dimensions = " + array(window) +
          ", window_strides = " + array(strides) + "}> ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %z = stablehlo." +
          (isMax ? "maximum" : "add") + " %x, %y : tensor<f32>\n    stablehlo.return %z : tensor<f32>\n  }) : (" +
          typeOf(a) + ", tensor<f32>) -> " + typeText("f32", to),
      "f32", to, isMax && a.isExact);
}

void Generator::gathers() {
  Val a = recent();
  if (a.shape.empty() || count(a.shape) == 0 || a.shape.size() > 3)
    return;
  int64_t rows = random.between(1, 6);
  Val index = like("i32", {rows});
  if (!index.isExact)
    return;
  Shape slice = a.shape, to = {rows}, offsets;
  slice[0] = 1;
  for (size_t i = 1; i < a.shape.size(); ++i) {
    to.push_back(a.shape[i]);
    offsets.push_back(i);
  }
  add("\"stablehlo.gather\"(" + a.name + ", " + index.name +
          ") <{dimension_numbers = #stablehlo.gather<offset_dims = " + list(offsets) +
          ", collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = " +
          array(slice) + "}> : (" + typeOf(a) + ", " + typeOf(index) + ") -> " + typeText(a.type, to),
      a.type, to, a.isExact);
}

void Generator::loops() {
  Val a = recent();
  if (a.type != "f32")
    return;
  Val zero = constant("0", "i32", {}), limit = constant(std::to_string(random.between(0, 4)), "i32", {});
  Val other = like("f32", a.shape);
  std::string type = typeOf(a), i = "%i" + std::to_string(next), x = "%x" + std::to_string(next);
  Val value{"%" + std::to_string(next++), "f32", a.shape, false};
  body += "  " + value.name + ":2 = stablehlo.while(" + i + " = " + zero.name + ", " + x + " = " + a.name +
          ") : tensor<i32>, " + type + " cond {\n    %c = stablehlo.compare LT, " + i + ", " + limit.name +
          ", SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n"
          "  } do {\n    %one = stablehlo.constant dense<1> : tensor<i32>\n    %n = stablehlo.add " +
          i + ", %one : tensor<i32>\n    %s = stablehlo.add " + x + ", " + other.name + " : " + type +
          "\n    %t = stablehlo.tanh %s : " + type + "\n    stablehlo.return %n, %t : tensor<i32>, " + type + "\n  }\n";
  value.name += "#1";
  values.push_back(value);
}

void Generator::sorts() {
  Val a = recent();
  if (a.type != "f32" || a.shape.empty() || !a.isExact)
    return;
  add("\"stablehlo.sort\"(" + a.name + ") <{dimension = " + std::to_string(random.below(a.shape.size())) +
          " : i64, is_stable = true}> ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %c = stablehlo.compare LT, %x, %y, "
          "TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }) : (" +
          typeOf(a) + ") -> " + typeOf(a),
      "f32", a.shape, true);
}

void Generator::branches() {
  Val a = recent(), index = like("i32", {});
  if (a.type == "i1" || !index.isExact)
    return;
  Val other = like(a.type, a.shape);
  std::string type = typeOf(a), end = "    stablehlo.return %r : " + type + "\n  }";
  auto branch = [&](const std::string &op) {
    return "{\n    %r = stablehlo." + op + " " + a.name + ", " + other.name + " : " + type + "\n" + end;
  };
  add("\"stablehlo.case\"(" + index.name + ") (" + branch("add") + ", " + branch("maximum") +
          ", {\n    stablehlo.return " + other.name + " : " + type + "\n  }) : (tensor<i32>) -> " + type,
      a.type, a.shape, a.isExact && other.isExact);
}

/// A loop over the rows of a tensor that reads one, updates one of another, and carries a number.
void Generator::stepsThrough() {
  Val a = recent();
  if (a.type != "f32" || a.shape.empty() || a.shape.size() > 3 || count(a.shape) == 0)
    return;
  Val zero = constant("0", "i32", {}), start = constant("0.25", "f32", {});
  Val into = like("f32", a.shape);
  Shape row = a.shape;
  row[0] = 1;
  std::string id = std::to_string(next), type = typeOf(a), rowType = typeText("f32", row), places;
  for (size_t i = 1; i < a.shape.size(); ++i)
    places += ", %zero";
  std::string starts = "%i" + id + places, types = "tensor<i32>";
  for (size_t i = 1; i < a.shape.size(); ++i)
    types += ", tensor<i32>";
  Val value{"%" + std::to_string(next++), "f32", a.shape, false}, number = value;
  std::string dims = random.chance(50) ? "add" : "subtract";
  body += "  " + value.name + ":3 = stablehlo.while(%i" + id + " = " + zero.name + ", %x" + id + " = " +
          into.name + ", %s" + id + " = " + start.name + ") : tensor<i32>, " + type +
          ", tensor<f32> cond {\n    %limit = stablehlo.constant dense<" +
          std::to_string(random.between(0, a.shape[0] + 1)) +
          "> : tensor<i32>\n    %c = stablehlo.compare LT, %i" + id +
          ", %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n"
          "  } do {\n    %one = stablehlo.constant dense<1> : tensor<i32>\n    %zero = stablehlo.constant dense<0> : tensor<i32>\n"
          "    %half = stablehlo.constant dense<5.0e-1> : tensor<f32>\n    %n = stablehlo.add %i" + id +
          ", %one : tensor<i32>\n    %row = stablehlo.dynamic_slice " + a.name + ", " + starts + ", sizes = " + list(row) +
          " : (" + type + ", " + types + ") -> " + rowType + "\n    %old = stablehlo.dynamic_slice %x" + id + ", " + starts +
          ", sizes = " + list(row) + " : (" + type + ", " + types + ") -> " + rowType + "\n    %w = stablehlo.broadcast_in_dim %s" +
          id + ", dims = [] : (tensor<f32>) -> " + rowType + "\n    %sum = stablehlo." + dims + " %row, %w : " + rowType +
          "\n    %both = stablehlo.add %sum, %old : " + rowType + "\n    %t = stablehlo.tanh %both : " + rowType +
          "\n    %u = stablehlo.dynamic_update_slice %x" + id + ", %t, " + starts + " : (" + type + ", " + rowType + ", " +
          types + ") -> " + type + "\n    %f = stablehlo.convert %i" + id +
          " : (tensor<i32>) -> tensor<f32>\n    %h = stablehlo.multiply %s" + id +
          ", %half : tensor<f32>\n    %m = stablehlo.subtract %h, %f : tensor<f32>\n    %k = stablehlo.sine %m : tensor<f32>\n"
          "    stablehlo.return %n, %u, %k : tensor<i32>, " + type + ", tensor<f32>\n  }\n";
  number.name += "#2";
  number.shape = {};
  value.name += "#1";
  values.push_back(number);
  values.push_back(value);
}

void Generator::updates() {
  Val a = recent();
  if (a.shape.empty() || count(a.shape) == 0)
    return;
  Shape part;
  std::string starts, types;
  for (int64_t size : a.shape) {
    Val start = random.chance(50) ? constant(std::to_string(random.between(-2, size + 1)), "i32", {}) : like("i32", {});
    if (!start.isExact)
      return;
    part.push_back(random.between(1, size));
    starts += ", " + start.name;
    types += ", tensor<i32>";
  }
  if (random.chance(50)) {
    add("stablehlo.dynamic_slice " + a.name + starts + ", sizes = " + list(part) + " : (" + typeOf(a) + types + ") -> " +
            typeText(a.type, part),
        a.type, part, a.isExact);
    return;
  }
  Val update = like(a.type, part);
  add("stablehlo.dynamic_update_slice " + a.name + ", " + update.name + starts + " : (" + typeOf(a) + ", " + typeOf(update) +
          types + ") -> " + typeOf(a),
      a.type, a.shape, a.isExact && update.isExact);
}

void Generator::scatters() {
  Val a = recent();
  if (a.shape.empty() || a.type == "bf16" || a.type == "i1")
    return;
  int64_t rows = random.between(1, 6);
  Val index = like("i32", {rows});
  if (!index.isExact)
    return;
  Shape part = {rows}, windows;
  for (size_t i = 1; i < a.shape.size(); ++i) {
    part.push_back(a.shape[i]);
    windows.push_back(i);
  }
  Val update = like(a.type, part);
  std::string element = typeText(a.type, {});
  std::string op = random.pick<std::string>({"", "add", "maximum"});
  std::string made = op.empty() ? "    stablehlo.return %y : " + element
                                : "    %z = stablehlo." + op + " %x, %y : " + element + "\n    stablehlo.return %z : " + element;
  add("\"stablehlo.scatter\"(" + a.name + ", " + index.name + ", " + update.name +
          ") <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = " + list(windows) +
          ", inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n  ^bb0(%x: " +
          element + ", %y: " + element + "):\n" + made + "\n  }) : (" + typeOf(a) + ", " + typeOf(index) + ", " +
          typeOf(update) + ") -> " + typeOf(a),
      a.type, a.shape, a.isExact && update.isExact);
}

/// Cumulative sums and maxima, from either end.
void Generator::scans() {
  Val a = recent();
  if (a.shape.empty() || count(a.shape) == 0 || count(a.shape) > 3000 || (a.type != "f32" && a.type != "i32"))
    return;
  size_t d = random.below(a.shape.size());
  bool isMax = random.chance(40), fromEnd = random.chance(30);
  if (a.type == "f32" && !isMax)
    a = tamed(a);
  Val init = constant(!isMax ? (a.type == "f32" ? "0.0" : "0") : a.type == "f32" ? "0xFF800000" : "-2147483648", a.type, {});
  Shape window(a.shape.size(), 1);
  window[d] = a.shape[d];
  std::string pads;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    std::string reach = std::to_string(i == d ? a.shape[d] - 1 : 0);
    pads += (i ? ", [" : "[") + (fromEnd ? "0, " + reach : reach + ", 0") + "]";
  }
  std::string element = typeText(a.type, {});
  add("\"stablehlo.reduce_window\"(" + a.name + ", " + init.name + ") <{padding = dense<[" + pads + "]> : tensor<" +
          std::to_string(a.shape.size()) + "x2xi64>, window_dimensions = " + array(window) + "}> ({\n  ^bb0(%x: " + element +
          ", %y: " + element + "):\n    %z = stablehlo." + (isMax ? "maximum" : "add") + " %x, %y : " + element +
          "\n    stablehlo.return %z : " + element + "\n  }) : (" + typeOf(a) + ", " + element + ") -> " + typeOf(a),
      a.type, a.shape, a.isExact && (isMax || a.type == "i32"));
}

/// There and back, so that complex numbers stay among themselves.
void Generator::transforms() {
  Val a = recent();
  if (a.type != "f32" || a.shape.empty() || count(a.shape) == 0 || count(a.shape) > 6000)
    return;
  a = tamed(a);
  Shape half = a.shape;
  half.back() = half.back() / 2 + 1;
  std::string length = ", length = [" + std::to_string(a.shape.back()) + "] : (";
  Val there = add("stablehlo.fft " + a.name + ", type = RFFT" + length + typeOf(a) + ") -> " + typeText("complex<f32>", half),
                  "complex<f32>", half, false);
  values.pop_back();
  add("stablehlo.fft " + there.name + ", type = IRFFT" + length + typeOf(there) + ") -> " + typeOf(a), "f32", a.shape, false);
}

/// What random number generators do: numbers along a dimension, shifted and mixed.
void Generator::bits() {
  Shape sizes = recent().shape;
  if (sizes.empty())
    sizes = {5};
  Val along = add("stablehlo.iota dim = " + std::to_string(random.below(sizes.size())) + " : " + typeText("i32", sizes), "i32", sizes, true);
  Val by = constant(std::to_string(random.between(0, 33)), "i32", sizes);
  Val left = binary("shift_left", along, by), right = binary("shift_right_logical", like("i32", sizes), by);
  binary("xor", binary("or", left, right), binary("multiply", along, constant("-1640531527", "i32", sizes)));
}

} // namespace cupel::random_programs
