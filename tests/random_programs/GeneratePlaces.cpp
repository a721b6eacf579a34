// Steps of random programs that read and write at places: gathers and scatters with their dimensions in
// any order, picks of the largest, sorts of several tensors, windows of any kind.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

/// How gathers and scatters go through a tensor: those are each other's mirror.
struct Generator::Windows {
  Shape slice, indexShape, collapsed, offsets, map, batching, indexBatching, part;
  int64_t vectorDim = 0;

  std::string dims(const char *kind, const char *window, const char *dropped, const char *batch, const char *indexBatch, const char *mapped) const {
    return std::string("#stablehlo.") + kind + "<" + window + " = " + list(offsets) + ", " + dropped + " = " + list(collapsed) + ", " + batch + " = " +
           list(batching) + ", " + indexBatch + " = " + list(indexBatching) + ", " + mapped + " = " + list(map) + ", index_vector_dim = " +
           std::to_string(vectorDim) + ">";
  }
};

Generator::Windows Generator::windowsOf(const Shape &shape) {
  Windows made;
  const auto rank = int64_t(shape.size());
  Shape order = shuffled(rank);
  const bool hasBatch = rank > 1 && random.chance(25);
  if (hasBatch) {
    made.batching = {order.back()};
    order.pop_back();
  }
  made.map.assign(order.begin(), order.begin() + random.between(hasBatch ? 0 : 1, std::min<int64_t>(2, int64_t(order.size()))));
  Shape kept;
  for (int64_t d = 0; d < rank; ++d) {
    bool isBatch = hasBatch && d == made.batching[0];
    bool isMapped = std::find(made.map.begin(), made.map.end(), d) != made.map.end();
    int64_t size = isBatch ? 1 : isMapped ? (random.chance(60) ? 1 : random.between(1, shape[size_t(d)])) : random.chance(70) ? shape[size_t(d)] : random.between(1, shape[size_t(d)]);
    made.slice.push_back(size);
    if (isBatch)
      continue;
    if (size == 1 && random.chance(70))
      made.collapsed.push_back(d);
    else
      kept.push_back(size);
  }
  Shape places;
  if (hasBatch)
    places.push_back(shape[size_t(made.batching[0])]);
  for (int64_t i = random.between(0, 2); i > 0; --i)
    places.push_back(random.between(1, 5));
  made.vectorDim = random.between(hasBatch ? 1 : 0, int64_t(places.size()));
  if (hasBatch)
    made.indexBatching = {0};
  made.indexShape = places;
  // A vector of one number may be left out.
  if (made.map.size() != 1 || random.chance(50))
    made.indexShape.insert(made.indexShape.begin() + made.vectorDim, int64_t(made.map.size()));
  else
    made.vectorDim = int64_t(places.size());
  const auto whole = int64_t(places.size() + kept.size());
  Shape chosen = shuffled(whole);
  made.offsets.assign(chosen.begin(), chosen.begin() + int64_t(kept.size()));
  std::sort(made.offsets.begin(), made.offsets.end());
  size_t window = 0, place = 0;
  for (int64_t d = 0; d < whole; ++d)
    made.part.push_back(std::binary_search(made.offsets.begin(), made.offsets.end(), d) ? kept[window++] : places[place++]);
  return made;
}

void Generator::anyGather() {
  Val a = recent();
  if (a.shape.empty() || count(a.shape) == 0)
    return;
  Windows windows = windowsOf(a.shape);
  if (count(windows.part) > 5000)
    return;
  Val index = like(random.pick<std::string>({"i32", "i32", "i64", "ui8"}), windows.indexShape);
  if (!index.isExact)
    return;
  add("\"stablehlo.gather\"(" + a.name + ", " + index.name + ") <{dimension_numbers = " +
          windows.dims("gather", "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map") +
          ", slice_sizes = " + array(windows.slice) + ", indices_are_sorted = false}> : (" + typeOf(a) + ", " + typeOf(index) + ") -> " + typeText(a.type, windows.part),
      a.type, windows.part, a.isExact);
}

/// Index vectors of parts that each go along one dimension of the batch, count along it or are one place: mostly a grid, sometimes a diagonal.
void Generator::gridGather() {
  Val a = recent();
  const auto rank = int64_t(a.shape.size());
  if (rank == 0 || rank > 4 || count(a.shape) == 0)
    return;
  Shape order = shuffled(rank), batch, to;
  Shape map(order.begin(), order.begin() + random.between(1, rank));
  Shape along = shuffled(int64_t(map.size()) + 1), offsets, slice = a.shape, collapsed;
  for (size_t i = 0; i <= map.size(); ++i)
    batch.push_back(random.between(1, 6));
  Shape vectors = batch, part = batch;
  vectors.push_back(int64_t(map.size()));
  part.push_back(1);
  std::string parts, types;
  const bool isScattered = random.chance(30); // Parts that go along everything: no grid.
  const auto withTwo = size_t(random.below(2 * int64_t(map.size()))); // The one that goes along what is left, too.
  for (size_t i = 0; i < map.size(); ++i) {
    const int64_t b = random.chance(85) ? along[i] : along[0];
    Val wide;
    if (random.chance(25)) {
      wide = hidden("stablehlo.iota dim = " + std::to_string(b) + " : " + typeText("i32", part), "i32", part, true);
    } else if (random.chance(15)) {
      wide = hidden("stablehlo.constant dense<" + std::to_string(random.between(-1, 4)) + "> : " + typeText("i32", part), "i32", part, true);
    } else if (isScattered) {
      Val vector = like("i32", batch);
      if (!vector.isExact)
        return;
      wide = hidden("stablehlo.reshape " + vector.name + " : (" + typeOf(vector) + ") -> " + typeText("i32", part), "i32", part, true);
    } else {
      Shape dims = {b}, sizes = {batch[size_t(b)]};
      if (i == withTwo) {
        dims.push_back(along.back());
        sizes.push_back(batch[size_t(along.back())]);
      }
      Val vector = like("i32", sizes);
      if (!vector.isExact)
        return;
      wide = hidden("stablehlo.broadcast_in_dim " + vector.name + ", dims = " + list(dims) + " : (" + typeOf(vector) + ") -> " + typeText("i32", part), "i32", part, true);
    }
    parts += (i ? ", " : "") + wide.name;
    types += (i ? ", " : "") + typeOf(wide);
  }
  Val places = hidden("stablehlo.concatenate " + parts + ", dim = " + std::to_string(batch.size()) + " : (" + types + ") -> " + typeText("i32", vectors), "i32", vectors, true);
  for (int64_t d : map)
    slice[size_t(d)] = 1;
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(map.begin(), map.end(), d) != map.end())
      collapsed.push_back(d);
  Shape chosen = shuffled(int64_t(batch.size()) + rank - int64_t(map.size()));
  offsets.assign(chosen.begin(), chosen.begin() + (rank - int64_t(map.size())));
  std::sort(offsets.begin(), offsets.end());
  auto nextBatch = batch.begin();
  int64_t nextWhole = 0;
  for (int64_t d = 0; d < int64_t(chosen.size()); ++d) {
    if (std::find(offsets.begin(), offsets.end(), d) == offsets.end()) {
      to.push_back(*nextBatch++);
      continue;
    }
    while (std::find(map.begin(), map.end(), nextWhole) != map.end())
      ++nextWhole;
    to.push_back(a.shape[size_t(nextWhole++)]);
  }
  if (count(to) > 5000)
    return;
  if (random.chance(30)) {
    Val update = like(a.type, to);
    std::string op = a.type == "i1" ? "or" : random.pick<std::string>({"add", "maximum"}), element = typeText(a.type, {});
    const bool isSum = isFloat(a.type) && op == "add";
    if (isSum)
      update = tamed(update);
    add("\"stablehlo.scatter\"(" + a.name + ", " + places.name + ", " + update.name + ") <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = " + list(offsets) +
            ", inserted_window_dims = " + list(collapsed) + ", scatter_dims_to_operand_dims = " + list(map) + ", index_vector_dim = " + std::to_string(batch.size()) +
            ">}> ({\n  ^bb0(%x: " + element + ", %y: " + element + "):\n    %z = stablehlo." + op + " %x, %y : " + element + "\n    stablehlo.return %z : " + element +
            "\n  }) : (" + typeOf(a) + ", " + typeOf(places) + ", " + typeOf(update) + ") -> " + typeOf(a),
        a.type, a.shape, a.isExact && update.isExact && !isSum);
    return;
  }
  add("\"stablehlo.gather\"(" + a.name + ", " + places.name + ") <{dimension_numbers = #stablehlo.gather<offset_dims = " + list(offsets) + ", collapsed_slice_dims = " + list(collapsed) +
          ", start_index_map = " + list(map) + ", index_vector_dim = " + std::to_string(batch.size()) + ">, slice_sizes = " + array(slice) + "}> : (" + typeOf(a) + ", " + typeOf(places) + ") -> " + typeText(a.type, to),
      a.type, to, a.isExact);
}

void Generator::anyScatter() {
  Val a = recent();
  if (a.shape.empty() || count(a.shape) == 0)
    return;
  Windows windows = windowsOf(a.shape);
  if (count(windows.part) > 5000)
    return;
  Val index = like(random.pick<std::string>({"i32", "i32", "i64"}), windows.indexShape), update = like(a.type, windows.part);
  if (!index.isExact)
    return;
  std::string element = typeText(a.type, {});
  std::string op = a.type == "i1" ? random.pick<std::string>({"", "or", "and"}) : random.pick<std::string>({"", "add", "maximum", "minimum", "multiply"});
  // Of windows that overlap, which one is written last is left open: ours is where windows come behind their places, and elsewhere the reference's is another.
  const auto first = int64_t(windows.part.size() - windows.offsets.size());
  if (op.empty() && !windows.offsets.empty() && windows.offsets.front() != first)
    op = a.type == "i1" ? "or" : "maximum";
  bool isSum = isFloat(a.type) && (op == "add" || op == "multiply");
  if (isSum)
    update = tamed(update);
  std::string made = op.empty() ? "    stablehlo.return %y : " + element
                                : "    %z = stablehlo." + op + " %x, %y : " + element + "\n    stablehlo.return %z : " + element;
  add("\"stablehlo.scatter\"(" + a.name + ", " + index.name + ", " + update.name + ") <{scatter_dimension_numbers = " +
          windows.dims("scatter", "update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims", "scatter_dims_to_operand_dims") +
          "}> ({\n  ^bb0(%x: " + element + ", %y: " + element + "):\n" + made + "\n  }) : (" + typeOf(a) + ", " + typeOf(index) + ", " + typeOf(update) + ") -> " + typeOf(a),
      a.type, a.shape, a.isExact && update.isExact && !isSum);
}

/// The largest or smallest and where it stands, as hosts write it.
void Generator::picks() {
  Val a = recent();
  if (a.shape.empty() || !a.isExact || a.type == "i1" || bitsOf(a.type) < 8)
    return;
  // Zeros of both signs are equal: which of them stays is left open with the order of pairs.
  if (isFloat(a.type))
    a = binary("add", a, constant("0.0", a.type, a.shape));
  const auto d = size_t(random.below(int64_t(a.shape.size())));
  const bool isMax = random.chance(60), seesNaN = isFloat(a.type) && random.chance(60);
  Val places = hidden("stablehlo.iota dim = " + std::to_string(d) + " : " + typeText("i32", a.shape), "i32", a.shape, true);
  Shape to = a.shape;
  to.erase(to.begin() + int64_t(d));
  std::string e = typeText(a.type, {}), bits = typeText("i1", {}), kind = isFloat(a.type) ? ", FLOAT" : isUnsigned(a.type) ? ", UNSIGNED" : ", SIGNED";
  std::string infinity = a.type == "f64" ? "0xFFF0000000000000" : a.type == "f32" ? "0xFF800000" : a.type == "bf16" ? "0xFF80" : "0xFC00";
  Val init = constant(isFloat(a.type) ? (isMax ? infinity : "6.0e4") : isMax ? (isUnsigned(a.type) ? "0" : "-100") : "100", a.type, {}), none = constant("0", "i32", {});
  auto compare = [&](const std::string &name, const char *how, const char *x, const char *y, bool ofPlaces = false) {
    std::string type = ofPlaces ? "tensor<i32>" : e;
    return "    " + name + " = stablehlo.compare " + how + ", " + x + ", " + y + (ofPlaces ? ", SIGNED" : kind) + " : (" + type + ", " + type + ") -> " + bits + "\n";
  };
  std::string better = compare("%b", isMax ? "GT" : "LT", "%v", "%w");
  if (seesNaN)
    better += compare("%nan", "NE", "%v", "%v") + "    %p = stablehlo.or %b, %nan : " + bits + "\n";
  else
    better += "    %p = stablehlo.or %b, %b : " + bits + "\n";
  better += compare("%same", "EQ", "%v", "%w") + compare("%first", "LT", "%i", "%j", true) + "    %both = stablehlo.and %same, %first : " + bits +
            "\n    %q = stablehlo.or %p, %both : " + bits + "\n    %s = stablehlo.select %p, %v, %w : " + bits + ", " + e + "\n    %t = stablehlo.select %q, %i, %j : " + bits +
            ", tensor<i32>\n    stablehlo.return %s, %t : " + e + ", tensor<i32>\n";
  std::string id = std::to_string(next++);
  body += "  %" + id + ":2 = \"stablehlo.reduce\"(" + a.name + ", " + places.name + ", " + init.name + ", " + none.name + ") <{dimensions = array<i64: " + std::to_string(d) +
          ">}> ({\n  ^bb0(%v: " + e + ", %i: tensor<i32>, %w: " + e + ", %j: tensor<i32>):\n" + better + "  }) : (" + typeOf(a) + ", " + typeOf(places) + ", " + e +
          ", tensor<i32>) -> (" + typeText(a.type, to) + ", " + typeText("i32", to) + ")\n";
  values.push_back({"%" + id + "#0", a.type, to, true});
  values.push_back({"%" + id + "#1", "i32", to, true});
}

/// By one key or two, with what moves along.
void Generator::sortsSeveral() {
  Val a = recent();
  if (a.shape.empty() || !a.isExact || a.type == "i1" || bitsOf(a.type) < 8)
    return;
  const int64_t d = random.below(int64_t(a.shape.size()));
  const bool byTwo = random.chance(30);
  Val along = hidden("stablehlo.iota dim = " + std::to_string(d) + " : " + typeText("i32", a.shape), "i32", a.shape, true);
  Val other = like(random.pick<std::string>({"i32", "f32", "bf16"}), a.shape);
  if (!other.isExact)
    return;
  const std::string how = random.pick<std::string>({"LT", "GT", "LE", "GE"});
  std::string e = typeText(a.type, {}), kind = isFloat(a.type) ? random.pick<std::string>({", TOTALORDER", ", FLOAT"}) : isUnsigned(a.type) ? ", UNSIGNED" : ", SIGNED";
  // What is no number has no place in an order that asks for less or greater.
  if (kind == ", FLOAT" && (mayHoldNaN || byTwo))
    kind = ", TOTALORDER";
  const std::string strict = byTwo || how == "LE" ? "LT" : how == "GE" ? "GT" : how;
  std::string text = "    %c = stablehlo.compare " + strict + ", %x, %y" + kind + " : (" + e + ", " + e + ") -> tensor<i1>\n";
  if (byTwo)
    text += "    %e = stablehlo.compare EQ, %x, %y" + kind + " : (" + e + ", " + e + ") -> tensor<i1>\n    %l = stablehlo.compare GT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            "    %k = stablehlo.and %e, %l : tensor<i1>\n    %r = stablehlo.or %c, %k : tensor<i1>\n    stablehlo.return %r : tensor<i1>\n";
  else
    text += "    stablehlo.return %c : tensor<i1>\n";
  std::string o = typeText(other.type, {}), id = std::to_string(next++), types = typeOf(a) + ", " + typeOf(along) + ", " + typeOf(other);
  body += "  %" + id + ":3 = \"stablehlo.sort\"(" + a.name + ", " + along.name + ", " + other.name + ") <{dimension = " + std::to_string(d) + " : i64, is_stable = true}> ({\n  ^bb0(%x: " + e +
          ", %y: " + e + ", %i: tensor<i32>, %j: tensor<i32>, %u: " + o + ", %v: " + o + "):\n" + text + "  }) : (" + types + ") -> (" + types + ")\n";
  values.push_back({"%" + id + "#0", a.type, a.shape, true});
  values.push_back({"%" + id + "#1", "i32", a.shape, true});
  values.push_back({"%" + id + "#2", other.type, a.shape, true});
}

void Generator::anyWindow() {
  Val a = recent();
  if (a.shape.empty() || count(a.shape) == 0 || count(a.shape) > 3000 || (isFloat(a.type) && bitsOf(a.type) < 32) || a.type == "i1" || bitsOf(a.type) < 8)
    return;
  Shape window, strides, wide, apart, to;
  std::string pads;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    const bool isWide = a.shape[i] > 8 && random.chance(30); // Windows that lie far apart.
    window.push_back(isWide ? random.between(4, 20) : random.chance(40) ? 1 : random.between(1, 3));
    strides.push_back(isWide ? random.between(1, 9) : random.pick<int64_t>({1, 1, 2}));
    wide.push_back(random.pick<int64_t>({1, 1, 1, 1, 2}));
    apart.push_back(random.pick<int64_t>({1, 1, 1, 1, 2}));
    int64_t low = random.pick<int64_t>({0, 0, 1, 2, -1}), high = random.pick<int64_t>({0, 0, 1});
    pads += (i ? ", [" : "[") + std::to_string(low) + ", " + std::to_string(high) + "]";
    int64_t size = (a.shape[i] - 1) * wide[i] + 1 + low + high, reach = (window[i] - 1) * apart[i] + 1;
    to.push_back(size < reach ? 0 : (size - reach) / strides[i] + 1);
  }
  std::string op = random.pick<std::string>({"add", "maximum", "minimum", "multiply"});
  bool isSum = isFloat(a.type) && (op == "add" || op == "multiply");
  if (isSum)
    a = tamed(a);
  Val init = constant(op == "add" ? (isFloat(a.type) ? "0.0" : "0") : op == "multiply" ? (isFloat(a.type) ? "1.0" : "1") : number(a.type), a.type, {});
  std::string element = typeText(a.type, {});
  add("\"stablehlo.reduce_window\"(" + a.name + ", " + init.name + ") <{padding = dense<[" + pads + "]> : tensor<" + std::to_string(a.shape.size()) + "x2xi64>, window_dimensions = " +
          array(window) + ", window_strides = " + array(strides) + ", base_dilations = " + array(wide) + ", window_dilations = " + array(apart) + "}> ({\n  ^bb0(%x: " + element + ", %y: " + element +
          "):\n    %z = stablehlo." + op + " %x, %y : " + element + "\n    stablehlo.return %z : " + element + "\n  }) : (" + typeOf(a) + ", " + element + ") -> " + typeText(a.type, to),
      a.type, to, a.isExact && !isSum);
}

/// What goes back through a pool of the largest.
void Generator::selectsAndScatters() {
  Val a = recent();
  if (a.shape.size() < 2 || !a.isExact || a.type != "f32" || count(a.shape) == 0 || count(a.shape) > 3000 || mayHoldNaN)
    return;
  Shape window, strides, to;
  std::string pads;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    window.push_back(i < 2 && a.shape.size() == 4 ? 1 : random.between(1, 3));
    strides.push_back(random.between(1, 2));
    int64_t low = window[i] > 1 ? random.below(2) : 0;
    pads += (i ? ", [" : "[") + std::to_string(low) + ", 0]";
    int64_t size = a.shape[i] + low;
    if (size < window[i])
      return;
    to.push_back((size - window[i]) / strides[i] + 1);
  }
  Val source = tamed(like("f32", to)), zero = constant("0.0", "f32", {});
  add("\"stablehlo.select_and_scatter\"(" + a.name + ", " + source.name + ", " + zero.name + ") <{padding = dense<[" + pads + "]> : tensor<" + std::to_string(a.shape.size()) +
          "x2xi64>, window_dimensions = " + array(window) + ", window_strides = " + array(strides) +
          "}> ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %z = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n    stablehlo.return %z : tensor<i1>\n  }, "
          "{\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %z = stablehlo.add %x, %y : tensor<f32>\n    stablehlo.return %z : tensor<f32>\n  }) : (" + typeOf(a) + ", " + typeOf(source) +
          ", tensor<f32>) -> " + typeOf(a),
      "f32", a.shape, false);
}

} // namespace cupel::random_programs
