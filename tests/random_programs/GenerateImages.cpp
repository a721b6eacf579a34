// Steps of random programs that networks for images, volumes and sound are made of, at sizes where
// kernels have ways of their own: first and last layers, depthwise ones, transposed ones, what lies
// between them, weights of experts, the first of long lines, sums in wider numbers.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

/// A convolution: sizes are batch, channels, then those the window goes over; of the kernel
/// filters, channels of a group, window.
struct Generator::Layer {
  Shape image, kernel, strides, pads, wide, apart;
  int64_t groups = 1;
  bool isInmost = false; // The channels, of image and result.

  size_t spatial() const { return image.size() - 2; }
  int64_t channelDim() const { return isInmost ? int64_t(image.size()) - 1 : 1; }
  Shape to() const {
    Shape sizes = {image[0], kernel[0]};
    for (size_t i = 0; i < spatial(); ++i) {
      int64_t size = (image[i + 2] - 1) * wide[i] + 1 + pads[2 * i] + pads[2 * i + 1],
              reach = (kernel[i + 2] - 1) * apart[i] + 1;
      sizes.push_back(size < reach ? 0 : (size - reach) / strides[i] + 1);
    }
    return sizes;
  }
  /// As they lie in memory.
  Shape laid(Shape sizes) const {
    if (isInmost)
      std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
    return sizes;
  }
};

Val Generator::convolved(const Layer &layer, const Val &x) {
  std::string window, places;
  for (size_t i = 0; i < layer.spatial(); ++i) {
    places += (i ? ", " : "") + std::to_string(i);
    window += std::string(i ? ", [" : "[") + std::to_string(layer.pads[2 * i]) + ", " +
              std::to_string(layer.pads[2 * i + 1]) + "]";
  }
  const bool isKernelInmost = random.chance(50);
  Shape kernel = layer.kernel;
  if (isKernelInmost) // Window, channels, filters.
    std::rotate(kernel.begin(), kernel.begin() + 2, kernel.end()),
        std::swap(kernel[kernel.size() - 1], kernel[kernel.size() - 2]);
  Val w = factor(x.type, kernel);
  const Shape to = layer.laid(layer.to());
  const std::string image = layer.isInmost ? "[b, " + places + ", f]" : "[b, f, " + places + "]";
  return add(
      "stablehlo.convolution(" + x.name + ", " + w.name + ") dim_numbers = " + image + "x" +
          (isKernelInmost ? "[" + places + ", i, o]" : "[o, i, " + places + "]") + "->" + image +
          ", window = {stride = " + list(layer.strides) + ", pad = [" + window +
          "], lhs_dilate = " + list(layer.wide) + ", rhs_dilate = " + list(layer.apart) +
          "} {batch_group_count = 1 : i64, feature_group_count = " + std::to_string(layer.groups) +
          " : i64} : (" + typeOf(x) + ", " + typeOf(w) + ") -> " + typeText(x.type, to),
      x.type, to, false);
}

/// The reference adds up halves in their own type, and hundreds of equal ones drift away there; on
/// several devices nobody measures by how much.
std::string Generator::layerType(const Layer &layer) {
  constexpr int64_t kMostTerms = 100;
  bool isWide = replicas > 1 || count(layer.kernel) / layer.kernel[0] > kMostTerms;
  return isWide ? "f32" : random.pick<std::string>({"f32", "f32", "bf16", "bf16", "f16"});
}

/// With what mostly follows: a factor and an addend of each channel, limits, what was there before.
void Generator::addLayer(const Layer &layer) {
  const Shape to = layer.laid(layer.to());
  if (count(layer.image) > 20000 || count(to) > 20000)
    return;
  const std::string type = layerType(layer);
  Val made = convolved(layer, factor(type, layer.laid(layer.image)));
  auto ofChannels = [&](Val numbers) {
    return add("stablehlo.broadcast_in_dim " + numbers.name + ", dims = [" +
                   std::to_string(layer.channelDim()) + "] : (" + typeOf(numbers) + ") -> " +
                   typeText(type, to),
               type, to, numbers.isExact);
  };
  const Shape channels = {layer.kernel[0]};
  // Infinity times a sum that is almost zero has the sign of that sum's roundings.
  if (random.chance(40))
    made = binary("multiply", made, ofChannels(made.isExact ? like(type, channels) : factor(type, channels)));
  if (random.chance(60))
    made = binary("add", made, ofChannels(like(type, channels)));
  if (random.chance(20))
    made = binary("add", made, like(type, to));
  if (random.chance(60))
    made = binary("maximum", made, constant("0.0", type, to));
  if (random.chance(30))
    made = binary("minimum", made, constant("6.0", type, to));
}

void Generator::lastLayers() {
  const int64_t dims = random.pick<int64_t>({1, 2, 2, 3});
  Layer layer;
  layer.isInmost = random.chance(50);
  layer.image = {random.between(1, 2), random.pick<int64_t>({8, 16, 24, 40})};
  layer.kernel = {random.between(1, 8), layer.image[1]};
  for (int64_t i = 0; i < dims; ++i) {
    const bool isLine = i + 1 == dims;
    layer.image.push_back(
        isLine ? (dims == 1 && random.chance(10) ? 1200 : random.pick<int64_t>({3, 7, 16, 25}))
               : random.between(1, 4));
    layer.kernel.push_back(isLine ? random.pick<int64_t>({3, 5, 7}) : random.between(1, 3));
    layer.strides.push_back(random.pick<int64_t>({1, 1, 1, isLine ? 1 : 2, 2}));
    layer.wide.push_back(1);
    layer.apart.push_back(random.pick<int64_t>({1, 1, 1, 2}));
    for (int end = 0; end < 2; ++end)
      layer.pads.push_back(random.pick<int64_t>({0, 1, 2, 3, -1, isLine ? 9 : 0}));
  }
  addLayer(layer);
}

/// The first layers of networks, which read few channels: of sound one long line. Channels lie first, and the result is read so.
void Generator::stems() {
  const bool isSound = random.chance(30);
  Layer layer;
  layer.image = {random.between(1, 2), random.pick<int64_t>({1, 1, 3, 4, isSound ? 1 : 12, isSound ? 2 : 20})};
  layer.kernel = {random.pick<int64_t>({1, 5, 8, 16, 18, 33}), layer.image[1]};
  for (int64_t i = isSound ? 1 : 2; i > 0; --i) {
    layer.image.push_back(isSound ? random.pick<int64_t>({300, 700, 1100, 2500}) : random.between(5, 24));
    layer.kernel.push_back(random.pick<int64_t>({2, 3, 5, 7, isSound ? 10 : 3}));
    layer.strides.push_back(isSound ? random.between(1, 5) : random.between(1, 3));
    layer.wide.push_back(1);
    layer.apart.push_back(random.chance(10) ? 2 : 1);
    for (int end = 0; end < 2; ++end)
      layer.pads.push_back(random.pick<int64_t>({0, 0, 1, 2, 3, -1, isSound ? -7 : 1}));
  }
  if (count(layer.to()) > 20000)
    return;
  std::set<std::string> known;
  for (const Val &one : values)
    known.insert(one.name);
  addLayer(layer);
  // Nobody reads what lies between.
  if (!known.contains(values.back().name) && random.chance(70)) {
    const Val last = values.back();
    if (last.shape == layer.to() && count(last.shape) > 0 && random.chance(40)) {
      const Shape rows = {last.shape[0], count(last.shape) / last.shape[0]};
      add("stablehlo.reshape " + last.name + " : (" + typeOf(last) + ") -> " + typeText(last.type, rows), last.type, rows, last.isExact);
    }
    const Val made = values.back();
    std::erase_if(values, [&](const Val &one) {
      return !one.isConstant && !one.name.starts_with("%a") && one.name != made.name && !known.contains(one.name);
    });
  }
}

void Generator::depthwise() {
  const int64_t dims = random.pick<int64_t>({1, 2, 2, 3}),
                channels = random.pick<int64_t>({3, 15, 16, 17, 31, 32, 33, 48, 65});
  Layer layer;
  layer.isInmost = random.chance(50);
  layer.groups = channels;
  layer.image = {random.between(1, 2), channels};
  layer.kernel = {channels * (random.chance(10) ? 2 : 1), 1};
  for (int64_t i = 0; i < dims; ++i) {
    const bool isLine = i + 1 == dims;
    layer.image.push_back(isLine ? random.between(1, 24) : random.between(1, 3));
    layer.kernel.push_back(isLine ? random.pick<int64_t>({3, 3, 5, 7, 2}) : random.between(1, 3));
    layer.strides.push_back(isLine ? random.pick<int64_t>({1, 1, 2, 3}) : random.between(1, 2));
    layer.wide.push_back(random.chance(5) ? 2 : 1);
    layer.apart.push_back(random.chance(10) ? 2 : 1);
    for (int end = 0; end < 2; ++end)
      layer.pads.push_back(random.between(-1, layer.kernel.back() + (isLine ? 1 : 0)));
  }
  addLayer(layer);
}

void Generator::transposedLayers() {
  const int64_t dims = random.pick<int64_t>({1, 2, 3, 3}),
                groups = random.pick<int64_t>({1, 1, 1, 2});
  Layer layer;
  layer.isInmost = random.chance(50);
  layer.groups = groups;
  layer.image = {random.between(1, 2), groups * random.pick<int64_t>({1, 3, 7, 16})};
  layer.kernel = {groups * random.pick<int64_t>({1, 3, 16, 19}), layer.image[1] / groups};
  for (int64_t i = 0; i < dims; ++i) {
    layer.image.push_back(random.between(1, dims == 3 ? 4 : 9));
    layer.kernel.push_back(random.between(1, 4));
    layer.strides.push_back(random.pick<int64_t>({1, 1, 2}));
    layer.wide.push_back(random.pick<int64_t>({1, 2, 2, 3, 5}));
    layer.apart.push_back(random.pick<int64_t>({1, 1, 2}));
    for (int end = 0; end < 2; ++end)
      layer.pads.push_back(random.pick<int64_t>({0, 1, 3, -1}));
  }
  addLayer(layer);
}

/// Between two layers: what moves pixels, or takes some together.
void Generator::movedImages() {
  Layer layer;
  layer.image = {random.between(1, 2), random.pick<int64_t>({2, 5, 16})};
  layer.kernel = {random.pick<int64_t>({3, 8, 17}), layer.image[1]};
  for (int64_t i = random.between(1, 3); i > 0; --i) {
    layer.image.push_back(random.between(2, 6));
    layer.kernel.push_back(random.between(1, 2));
    layer.strides.push_back(1), layer.wide.push_back(1), layer.apart.push_back(1);
    layer.pads.push_back(random.below(2)), layer.pads.push_back(0);
  }
  Val now = convolved(layer, factor(layerType(layer), layer.image));
  for (int64_t i = random.between(1, 3); i > 0 && count(now.shape) > 0 && count(now.shape) < 6000;
       --i) {
    const auto d = random.below(int64_t(now.shape.size()));
    const int64_t size = now.shape[size_t(d)];
    switch (random.below(6)) {
    case 0:
      if (std::optional<Val> made = padded(now))
        now = *made;
      break;
    case 1:
      now = sliced(now);
      break;
    case 2: {
      Shape dims = {d};
      if (d > 0 && random.chance(50))
        dims.push_back(d - 1);
      now = add("stablehlo.reverse " + now.name + ", dims = " + list(dims) + " : " + typeOf(now),
                now.type, now.shape, false);
      break;
    }
    case 3: { // Places along one dimension, as for reflection.
      Shape places, to = now.shape, slice = now.shape, offsets;
      for (int64_t k = random.between(1, 2 * size); k > 0; --k)
        places.push_back(random.between(-1, size));
      to[size_t(d)] = int64_t(places.size());
      slice[size_t(d)] = 1;
      for (int64_t k = 0; k < int64_t(to.size()); ++k)
        if (k != d)
          offsets.push_back(k);
      const int64_t many = int64_t(places.size());
      Val index = many == 1 ? hidden("stablehlo.constant dense<" + std::to_string(places[0]) +
                                         "> : " + typeText("i32", {1}),
                                     "i32", {1}, true)
                            : hidden("stablehlo.constant dense<" + list(places) +
                                         "> : " + typeText("i32", {many}),
                                     "i32", {many}, true);
      now =
          add("\"stablehlo.gather\"(" + now.name + ", " + index.name +
                  ") <{dimension_numbers = #stablehlo.gather<offset_dims = " + list(offsets) +
                  ", collapsed_slice_dims = [" + std::to_string(d) + "], start_index_map = [" +
                  std::to_string(d) + "], index_vector_dim = 1>, slice_sizes = " + array(slice) +
                  "}> : (" + typeOf(now) + ", " + typeOf(index) + ") -> " + typeText(now.type, to),
              now.type, to, false);
      break;
    }
    case 4:
      now = unary(random.pick<std::string>({"negate", "tanh", "abs"}), now, false);
      break;
    default: {
      if (now.type != "f32" || now.shape.size() < 2)
        break;
      Shape dims = {d};
      if (d > 1 && random.chance(40))
        dims.insert(dims.begin(), random.below(d));
      const bool isSum = random.chance(50);
      now = reduce(now, isSum ? "add" : "maximum", isSum ? "0.0" : "0xFF800000", dims, false);
    }
    }
  }
  if (now.shape.size() < 3 || now.shape.size() > 5 || count(now.shape) == 0 ||
      count(now.shape) > 6000)
    return;
  Layer behind;
  behind.image = now.shape;
  behind.kernel = {random.pick<int64_t>({1, 6, 16}), now.shape[1]};
  for (size_t i = 2; i < now.shape.size(); ++i) {
    behind.kernel.push_back(1);
    behind.strides.push_back(1), behind.wide.push_back(1), behind.apart.push_back(1);
    behind.pads.push_back(0), behind.pads.push_back(0);
  }
  convolved(behind, tamed(now));
}

/// A matrix for each of some experts, whose dimensions are brought into any order and taken
/// together.
void Generator::experts() {
  const Shape sizes = {random.pick<int64_t>({2, 3, 4, 16}), random.pick<int64_t>({8, 16, 32}),
                       random.pick<int64_t>({16, 32, 33})};
  Shape order = shuffled(3), turned = shuffled(3), lies, moved;
  for (int64_t i : order)
    lies.push_back(sizes[size_t(i)]);
  for (int64_t i : turned)
    moved.push_back(lies[size_t(i)]);
  Val w = !isCalled && int64_t(arguments.size()) < kMostArguments ? argument("f32", lies)
                                                                  : like("f32", lies);
  Val t = hidden("stablehlo.transpose " + w.name + ", dims = " + list(turned) + " : (" + typeOf(w) +
                     ") -> " + typeText("f32", moved),
                 "f32", moved, w.isExact);
  Shape two = random.chance(50) ? Shape{moved[0] * moved[1], moved[2]}
                                : Shape{moved[0], moved[1] * moved[2]};
  for (int64_t i = random.below(3); i > 0; --i)
    two.insert(two.begin() + random.below(int64_t(two.size()) + 1), 1);
  Val m =
      hidden("stablehlo.reshape " + t.name + " : (" + typeOf(t) + ") -> " + typeText("f32", two),
             "f32", two, w.isExact);
  const auto depth = random.below(int64_t(two.size()));
  const int64_t rows = random.pick<int64_t>({1, 5, 20});
  const bool isFirst = random.chance(50);
  Val x =
      factor("f32", isFirst ? Shape{two[size_t(depth)], rows} : Shape{rows, two[size_t(depth)]});
  Shape to = {rows};
  for (int64_t d = 0; d < int64_t(two.size()); ++d)
    if (d != depth)
      to.push_back(two[size_t(d)]);
  if (count(to) > 20000)
    return;
  add("stablehlo.dot_general " + x.name + ", " + m.name + ", contracting_dims = [" +
          (isFirst ? "0" : "1") + "] x [" + std::to_string(depth) + "] : (" + typeOf(x) + ", " +
          typeOf(m) + ") -> " + typeText("f32", to),
      "f32", to, false);
}

/// The first of long lines, or of many short ones, in some order, with where they stood; many are equal.
void Generator::firstOfLines() {
  const bool isLast = random.chance(70), isShort = random.chance(50);
  const int64_t length = isShort ? random.pick<int64_t>({3, 8, 20, 64}) : random.pick<int64_t>({100, 300, 700}),
                lines = isShort ? random.between(1, 40) : random.between(1, 3),
                first = random.between(1, isShort ? std::min<int64_t>(length, 8) : length / 6);
  const Shape shape = isLast ? Shape{lines, length} : Shape{length, lines};
  const std::string type = random.pick<std::string>({"f32", "f32", "bf16", "f64", "i32", "i8"});
  Val a = !isCalled && int64_t(arguments.size()) < kMostArguments ? argument(type, shape)
                                                                  : like(type, shape);
  if (!a.isExact)
    return;
  if (isFloat(type) && random.chance(60))
    a = unary("floor", a, true);
  const std::string d = isLast ? "1" : "0", e = typeText(type, {}), id = std::to_string(next++);
  const std::string how = random.pick<std::string>({"GT", "LT"}) + std::string(", %x, %y, ") +
                          (isFloat(type) ? "TOTALORDER" : "SIGNED");
  Val places =
      hidden("stablehlo.iota dim = " + d + " : " + typeText("i32", shape), "i32", shape, true);
  std::string types = typeOf(a) + ", " + typeOf(places);
  body += "  %" + id + ":2 = \"stablehlo.sort\"(" + a.name + ", " + places.name +
          ") <{dimension = " + d + " : i64, is_stable = true}> ({\n  ^bb0(%x: " + e + ", %y: " + e +
          ", %i: tensor<i32>, %j: tensor<i32>):\n    %c = stablehlo.compare " + how + " : (" + e +
          ", " + e + ") -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }) : (" + types +
          ") -> (" + types + ")\n";
  const Shape some = isLast ? Shape{lines, first} : Shape{first, lines};
  const std::string range =
      " [0:" + std::to_string(some[0]) + ", 0:" + std::to_string(some[1]) + "] : (";
  for (const Val &whole : {Val{"%" + id + "#0", type, shape}, Val{"%" + id + "#1", "i32", shape}})
    add("stablehlo.slice " + whole.name + range + typeOf(whole) + ") -> " +
            typeText(whole.type, some),
        whole.type, some, true);
}

/// A mean and a variance, as importers write them.
void Generator::sumsInDouble() {
  Val a = recent();
  if (a.type != "f32" || a.shape.empty() || count(a.shape) == 0)
    return;
  Val x = convert(tamed(a), "f64");
  Shape last = {int64_t(a.shape.size()) - 1};
  Val inverse = constant(std::to_string(1.0 / double(a.shape.back())), "f64", x.shape);
  Val mean = binary("multiply", alongRows(reduce(x, "add", "0.0", last, false), x.shape), inverse);
  Val centred = binary("subtract", x, mean);
  Val variance = reduce(binary("multiply", centred, centred), "add", "0.0", last, false);
  convert(random.chance(50) ? variance : centred, "f32");
}

} // namespace cupel::random_programs
