// Steps of random programs that multiply: products and convolutions with their dimensions in any order
// and of any type that is multiplied, attention, and systems of equations.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

namespace {

std::string pairs(const Shape &numbers) {
  std::string text = "[";
  for (size_t i = 0; i + 1 < numbers.size(); i += 2)
    text += (i ? ", [" : "[") + std::to_string(numbers[i]) + ", " + std::to_string(numbers[i + 1]) + "]";
  return text + "]";
}

} // namespace

Shape Generator::shuffled(int64_t count) {
  Shape order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[size_t(random.below(int64_t(i)))]);
  return order;
}

void Generator::products() {
  Val a = recent();
  if (a.type != "f32" || a.shape.empty() || count(a.shape) > 6000)
    return;
  a = tamed(a);
  int64_t contracting = random.below(a.shape.size());
  bool isBatched = a.shape.size() >= 3 && contracting != 0 && random.chance(60);
  Shape rhs, batch;
  if (isBatched)
    rhs.push_back(a.shape[0]);
  int64_t columns = random.pick<int64_t>({1, 3, 8, 17, 40});
  // So wide that results are written row by row.
  constexpr int64_t kWide = 530, kMostOfWide = 40'000;
  if (random.chance(20) && count(a.shape) / std::max<int64_t>(1, a.shape[contracting]) * kWide <= kMostOfWide)
    columns = kWide;
  bool isLast = random.chance(50); // Where the depth lies.
  if (isLast)
    rhs.push_back(columns);
  rhs.push_back(a.shape[contracting]);
  if (!isLast)
    rhs.push_back(columns);
  Val b = tamed(like("f32", rhs));
  int64_t depth = (isBatched ? 1 : 0) + (isLast ? 1 : 0);
  Shape to;
  if (isBatched)
    to.push_back(a.shape[0]);
  for (size_t i = 0; i < a.shape.size(); ++i)
    if (int64_t(i) != contracting && !(isBatched && i == 0))
      to.push_back(a.shape[i]);
  to.push_back(columns);
  // As older exporters write it. What is not drawn leaves other programs as they were.
  const bool isDot = !isBatched && depth == 0 && a.shape.size() <= 2 && contracting + 1 == int64_t(a.shape.size()) && next % 2 == 0;
  Val made = add((isDot ? "stablehlo.dot " : "stablehlo.dot_general ") + a.name + ", " + b.name +
                     (isBatched ? ", batching_dims = [0] x [0]" : "") +
                     (isDot ? "" : ", contracting_dims = [" + std::to_string(contracting) + "] x [" + std::to_string(depth) + "]") + " : (" +
                     typeOf(a) + ", " + typeOf(b) + ") -> " + typeText("f32", to),
                 "f32", to, false);
  if (random.chance(60)) {
    Val bias = like("f32", to);
    Val sum = binary("add", made, bias);
    random.chance(50) ? binary("maximum", sum, constant("0.0", "f32", to)) : tamed(sum);
  }
}

/// Whole numbers stay as they are: their sums have no roundings.
Val Generator::factor(const std::string &type, const Shape &shape) {
  return tamed(like(type, shape));
}

void Generator::anyProduct() {
  const int64_t batches = random.pick<int64_t>({0, 0, 0, 1, 1, 2}), depths = random.pick<int64_t>({1, 1, 1, 1, 2, 0});
  const int64_t rows = random.below(3), columns = random.below(3);
  auto size = [&] { return random.chance(2) ? 0 : random.pick<int64_t>({1, 2, 3, 5, 8, 17}); };
  // Each side's dimensions are laid down in any order: number of its kind, and size.
  struct Side {
    Shape shape, batch, depth, free;
  };
  Shape batchSizes, depthSizes;
  for (int64_t i = 0; i < batches; ++i)
    batchSizes.push_back(random.pick<int64_t>({1, 2, 3}));
  for (int64_t i = 0; i < depths; ++i)
    depthSizes.push_back(size());
  auto side = [&](int64_t free) {
    Side made;
    made.shape.resize(size_t(batches + depths + free));
    Shape places = shuffled(batches + depths + free);
    made.batch.assign(places.begin(), places.begin() + batches);
    made.depth.assign(places.begin() + batches, places.begin() + batches + depths);
    for (int64_t i = 0; i < batches; ++i)
      made.shape[size_t(made.batch[size_t(i)])] = batchSizes[size_t(i)];
    for (int64_t i = 0; i < depths; ++i)
      made.shape[size_t(made.depth[size_t(i)])] = depthSizes[size_t(i)];
    made.free.assign(places.begin() + batches + depths, places.end());
    std::sort(made.free.begin(), made.free.end());
    for (int64_t place : made.free)
      made.shape[size_t(place)] = size();
    return made;
  };
  Side left = side(rows), right = side(columns);
  Shape to = batchSizes;
  for (const Side *one : {&left, &right})
    for (int64_t place : one->free)
      to.push_back(one->shape[size_t(place)]);
  if (count(left.shape) > 6000 || count(right.shape) > 6000 || count(to) > 20000)
    return;
  struct Types {
    const char *operands, *result;
  };
  const Types types = random.chance(50) ? Types{"f32", "f32"}
                                        : random.pick<Types>({{"bf16", "bf16"}, {"bf16", "f32"}, {"f16", "f16"}, {"f16", "f32"}, {"f64", "f64"},
                                                              {"i32", "i32"}, {"i8", "i32"}, {"ui8", "i32"}, {"i64", "i64"}, {"i16", "i32"}});
  Val a = factor(types.operands, left.shape), b = factor(types.operands, right.shape);
  const bool isWhole = !isFloat(types.operands);
  Val made = add("stablehlo.dot_general " + a.name + ", " + b.name + ", " +
                     (batches ? "batching_dims = " + list(left.batch) + " x " + list(right.batch) + ", " : "") + "contracting_dims = " +
                     list(left.depth) + " x " + list(right.depth) + " : (" + typeOf(a) + ", " + typeOf(b) + ") -> " + typeText(types.result, to),
                 types.result, to, isWhole && a.isExact && b.isExact);
  if (isWhole || random.chance(40))
    return;
  Val sum = binary("add", made, like(made.type, to));
  switch (random.below(4)) {
  case 0: binary("maximum", sum, constant("0.0", sum.type, to)); break;
  case 1: binary("multiply", sum, unary("logistic", sum, false)); break;
  case 2: tamed(sum); break;
  default: break;
  }
}

void Generator::anyConvolution() {
  const int64_t dims = random.pick<int64_t>({1, 2, 2, 2, 3});
  // As gradients of kernels are: the window is computed, and about as large as the image.
  const bool isGradient = random.chance(15), ofBatch = !isGradient && random.chance(12);
  const int64_t groups = isGradient ? 1 : random.pick<int64_t>({1, 1, 1, 2, 3}), each = random.pick<int64_t>({1, 2, 4, 8}),
                filters = groups * random.pick<int64_t>({isGradient ? 5 : 1, isGradient ? 4 : 2, isGradient ? 6 : 3, 16});
  const int64_t batch = (ofBatch ? groups : 1) * (isGradient ? random.between(4, 6) : random.between(1, 2)), channels = ofBatch ? each : groups * each;
  // Batch, channels, then what the window goes over; of kernels: out, in.
  Shape image = {batch, channels}, kernel = {filters, each}, to = {ofBatch ? batch / groups : batch, filters};
  Shape strides, pads, wide, apart;
  std::string turned;
  for (int64_t i = 0; i < dims; ++i) {
    image.push_back(random.between(isGradient ? 3 : 1, dims == 3 ? 5 : 9));
    kernel.push_back(isGradient ? image.back() - random.below(2) : random.between(1, 4));
    strides.push_back(random.pick<int64_t>({1, 1, 2, 3}));
    wide.push_back(isGradient ? 1 : random.pick<int64_t>({1, 1, 1, 2}));
    apart.push_back(isGradient ? 1 : random.pick<int64_t>({1, 1, 1, 2}));
    turned += std::string(i ? ", " : "") + (!isGradient && random.chance(10) ? "true" : "false");
    pads.push_back(random.pick<int64_t>({0, 0, 1, 2, -1}));
    pads.push_back(random.pick<int64_t>({0, 0, 1, 2}));
    int64_t size = (image.back() - 1) * wide.back() + 1 + pads[size_t(2 * i)] + pads[size_t(2 * i + 1)];
    int64_t reach = (kernel.back() - 1) * apart.back() + 1;
    to.push_back(size < reach ? 0 : (size - reach) / strides.back() + 1);
  }
  Shape spatial; // Of what was laid out last.
  auto laidOut = [&](const Shape &sizes, const char *first, const char *second, Shape &shape) {
    spatial.clear();
    Shape order = random.chance(40) ? Shape() : shuffled(dims + 2);
    for (int64_t i = 0; order.empty() && i < dims + 2; ++i)
      shape.push_back(i);
    if (!order.empty())
      shape = order;
    else if (random.chance(50)) // Channels come last.
      std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t which = shape[i];
      if (which >= 2)
        spatial.push_back(int64_t(i));
      text += (i ? ", " : "") + (which == 0 ? std::string(first) : which == 1 ? std::string(second) : std::to_string(which - 2));
      shape[i] = sizes[size_t(which)];
    }
    return text + "]";
  };
  Shape imageShape, kernelShape, resultShape;
  std::string numbers = laidOut(image, "b", "f", imageShape);
  numbers += "x" + laidOut(kernel, "o", "i", kernelShape);
  numbers += "->" + laidOut(to, "b", "f", resultShape);
  const std::string type = random.chance(65) ? "f32" : random.pick<std::string>({"bf16", "f16", "f64", "i32", "i8"});
  const std::string result = type == "i8" ? "i32" : type;
  Val x = factor(type, imageShape), w = isGradient ? tamed(like(type, kernelShape)) : factor(type, kernelShape);
  Val made = add("stablehlo.convolution(" + x.name + ", " + w.name + ") dim_numbers = " + numbers + ", window = {stride = " + list(strides) +
                     ", pad = " + pairs(pads) + ", lhs_dilate = " + list(wide) + ", rhs_dilate = " + list(apart) + ", reverse = [" + turned +
                     "]} {batch_group_count = " + std::to_string(ofBatch ? groups : 1) + " : i64, feature_group_count = " +
                     std::to_string(ofBatch ? 1 : groups) + " : i64} : (" + typeOf(x) + ", " + typeOf(w) + ") -> " + typeText(result, resultShape),
                 result, resultShape, !isFloat(type) && x.isExact && w.isExact);
  if (isFloat(result) && count(resultShape) > 0 && random.chance(50))
    made = binary("maximum", binary("add", made, like(result, resultShape)), constant("0.0", result, resultShape));
  if (result != "f32" || count(resultShape) == 0 || random.chance(60))
    return;
  // The greatest of neighbours.
  Shape window(resultShape.size(), 1), steps = window, pooled = resultShape;
  for (int64_t d : spatial) {
    window[size_t(d)] = random.between(1, std::min<int64_t>(3, resultShape[size_t(d)]));
    steps[size_t(d)] = random.between(1, 2);
    pooled[size_t(d)] = (resultShape[size_t(d)] - window[size_t(d)]) / steps[size_t(d)] + 1;
  }
  Val least = constant("0xFF800000", "f32", {});
  add("\"stablehlo.reduce_window\"(" + made.name + ", " + least.name + ") <{window_dimensions = " + array(window) + ", window_strides = " + array(steps) +
          "}> ({\n  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n    %m = stablehlo.maximum %p, %q : tensor<f32>\n    stablehlo.return %m : tensor<f32>\n  }) : (" +
          typeOf(made) + ", tensor<f32>) -> " + typeText("f32", pooled),
      "f32", pooled, made.isExact);
}

void Generator::attention() {
  const int64_t batch = random.between(1, 2), heads = random.pick<int64_t>({1, 2, 3}), length = random.pick<int64_t>({1, 8, 17, 40, 40}),
                other = random.chance(60) ? length : random.pick<int64_t>({3, 16, 70}), depth = random.pick<int64_t>({1, 4, 8, 16}),
                columns = random.chance(80) ? depth : 5;
  const std::string type = random.pick<std::string>({"f32", "f32", "f32", "bf16"});
  Val q = factor(type, {batch, heads, length, depth}), k = factor(type, {batch, heads, other, depth}), v = factor(type, {batch, heads, other, columns});
  const Shape scores = {batch, heads, length, other}, to = {batch, heads, length, columns};
  const size_t known = values.size() - arguments.size();
  Val s = add("stablehlo.dot_general " + q.name + ", " + k.name + ", batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (" + typeOf(q) +
                  ", " + typeOf(k) + ") -> " + typeText(type, scores),
              type, scores, false);
  if (random.chance(80))
    s = binary("multiply", s, constant("0.25", type, scores));
  if (random.chance(30)) { // What lies ahead is not looked at.
    Val row = hidden("stablehlo.iota dim = 2 : " + typeText("i32", scores), "i32", scores, true);
    Val column = hidden("stablehlo.iota dim = 3 : " + typeText("i32", scores), "i32", scores, true);
    Val mask = add("stablehlo.compare GE, " + row.name + ", " + column.name + " : (" + typeOf(row) + ", " + typeOf(column) + ") -> " + typeText("i1", scores),
                   "i1", scores, true);
    Val low = constant("-1.0e9", type, scores);
    s = add("stablehlo.select " + mask.name + ", " + s.name + ", " + low.name + " : " + typeOf(mask) + ", " + typeOf(s), type, scores, false);
  } else if (random.chance(40)) {
    s = binary("add", s, tamed(like(type, scores)));
  }
  Val most = alongRows(reduce(s, "maximum", type == "f32" ? "0xFF800000" : "0xFF80", {3}, false), scores);
  Val e = unary("exponential", binary("subtract", s, most), false);
  Val weights = binary("divide", e, alongRows(reduce(e, "add", "0.0", {3}, false), scores));
  // Where nobody else looks at the scores, they need no memory.
  if (random.chance(75))
    values.resize(known + arguments.size());
  add("stablehlo.dot_general " + weights.name + ", " + v.name + ", batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (" + typeOf(weights) +
          ", " + typeOf(v) + ") -> " + typeText(type, to),
      type, to, false);
}

/// Of a matrix that is positive definite by far, so that roundings stay small.
void Generator::solves() {
  const int64_t size = random.pick<int64_t>({1, 2, 3, 5, 8}), columns = random.pick<int64_t>({1, 3});
  const Shape square = {size, size};
  Val a = factor("f32", square);
  Val squared = add("stablehlo.dot_general " + a.name + ", " + a.name + ", contracting_dims = [1] x [1] : (" + typeOf(a) + ", " + typeOf(a) + ") -> " + typeOf(a), "f32", square, false);
  Val row = hidden("stablehlo.iota dim = 0 : " + typeText("i32", square), "i32", square, true);
  Val column = hidden("stablehlo.iota dim = 1 : " + typeText("i32", square), "i32", square, true);
  Val diagonal = hidden("stablehlo.compare EQ, " + row.name + ", " + column.name + " : (" + typeOf(row) + ", " + typeOf(column) + ") -> " + typeText("i1", square), "i1", square, true);
  Val ten = constant("10.0", "f32", square), zero = constant("0.0", "f32", square);
  Val large = add("stablehlo.select " + diagonal.name + ", " + ten.name + ", " + zero.name + " : " + typeOf(diagonal) + ", " + typeOf(ten), "f32", square, true);
  Val whole = binary("add", squared, large);
  const bool isLower = random.chance(50);
  const std::string lower = isLower ? "true" : "false";
  Val root = hidden("stablehlo.cholesky " + whole.name + ", lower = " + lower + " : " + typeOf(whole), "f32", square, false);
  Val right = factor("f32", {size, columns});
  add("\"stablehlo.triangular_solve\"(" + root.name + ", " + right.name + ") <{left_side = true, lower = " + lower +
          ", unit_diagonal = false, transpose_a = #stablehlo<transpose " + random.pick<std::string>({"NO_TRANSPOSE", "TRANSPOSE"}) + ">}> : (" + typeOf(root) + ", " + typeOf(right) + ") -> " + typeOf(right),
      "f32", right.shape, false);
}

} // namespace cupel::random_programs
