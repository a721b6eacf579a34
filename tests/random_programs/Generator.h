// What makes random programs: values so far, and steps that add to them, which
// are in the files Generate*.cpp.

#pragma once

#include "tests/random_programs/Generate.h"
#include "tests/random_programs/Random.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

namespace cupel::random_programs {

using Shape = std::vector<int64_t>;

struct Val {
  std::string name, type;
  Shape shape;
  bool isExact = true;
  bool isConstant = false;
  bool isTaken = false; // Of a result: an argument's memory is to hold it.
};

inline int64_t count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

inline std::string typeText(const std::string &element, const Shape &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

inline std::string list(const Shape &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

inline std::string array(const Shape &numbers) {
  std::string text = list(numbers);
  return "array<i64" + (numbers.empty() ? "" : ": " + text.substr(1, text.size() - 2)) + ">";
}

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  Program run();

private:
  static std::string typeOf(const Val &value) { return typeText(value.type, value.shape); }

  std::string argumentType() {
    return random.chance(70) ? "f32"
                             : random.pick<std::string>({"i32", "i32", "f64", "i1", "i64", "ui8", "bf16", "bf16", "f16", "i8",
                                                         "i16", "ui16", "ui32", "ui64", "i4", "ui4"});
  }

  Shape shape() {
    Shape sizes;
    int64_t rank = random.pick<int64_t>({0, 1, 1, 2, 2, 2, 3, 3, 4});
    for (int64_t i = 0; i < rank; ++i)
      sizes.push_back(random.pick<int64_t>({1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33}));
    if (rank > 0 && random.chance(3))
      sizes[random.below(rank)] = 0;
    while (count(sizes) > 20000)
      sizes.pop_back();
    if (rank == 2 && random.chance(10))
      sizes = {random.pick<int64_t>({1, 9, 64}), random.pick<int64_t>({100, 257, 1000})};
    return sizes;
  }

  tensor::Tensor fill(const Val &value);

  static bool isFloat(const std::string &type) { return type == "f32" || type == "f64" || type == "bf16" || type == "f16"; }
  static bool isUnsigned(const std::string &type) { return type.starts_with("ui"); }

  Val &any() { return values[random.below(values.size())]; }
  /// One of the last few, so that programs hang together.
  Val recent() {
    for (int tries = 0; tries < 8; ++tries)
      if (const Val &one = values[std::max<int64_t>(0, int64_t(values.size()) - 1 - random.below(5))];
          !one.isConstant)
        return one;
    return any();
  }

  Val add(const std::string &text, const std::string &type, const Shape &shape, bool isExact) {
    Val value{"%" + std::to_string(next++), type, shape, isExact};
    body += "  " + value.name + " = " + text + "\n";
    if (!isExact && (bitsOf(type) < 32 || mentionsNarrow(text)))
      narrow.insert(value.name);
    values.push_back(value);
    return value;
  }

  /// What other steps know nothing of: its type, or how it is made.
  Val hidden(const std::string &text, const std::string &type, const Shape &shape, bool isExact) {
    Val value = add(text, type, shape, isExact);
    values.pop_back();
    return value;
  }

  static unsigned bitsOf(const std::string &type) {
    std::optional<tensor::DType> known = tensor::parseDType(type);
    return known ? tensor::kDTypes[int(*known)].bits : 64;
  }
  bool mentionsNarrow(const std::string &text) const {
    for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
      size_t end = at + 1;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '#'))
        ++end;
      if (narrow.contains(text.substr(at, end - at)))
        return true;
    }
    return false;
  }

  Val constant(const std::string &number, const std::string &type, const Shape &shape) {
    Val value = add("stablehlo.constant dense<" + number + "> : " + typeText(type, shape), type,
                    shape, true);
    values.back().isConstant = true;
    return value;
  }

  std::string number(const std::string &type) {
    if (isFloat(type))
      return random.pick<std::string>({"0.0", "1.0", "-1.0", "0.5", "2.0", "-0.25", "3.0"});
    return type == "i1" ? random.pick<std::string>({"true", "false"})
                        : random.pick<std::string>({"0", "1", "2", "3", "5"});
  }

  /// A value of this type and shape: one there is, one that is broadcast, or a constant.
  Val like(const std::string &type, const Shape &shape) {
    std::vector<Val> same, smaller;
    for (const Val &value : values) {
      if (value.type != type)
        continue;
      if (value.shape == shape)
        same.push_back(value);
      else if (value.shape.size() <= shape.size() && !broadcastDims(value.shape, shape).empty())
        smaller.push_back(value);
    }
    if (!same.empty() && random.chance(60))
      return random.pick(same);
    if (!smaller.empty() && random.chance(75))
      return broadcast(random.pick(smaller), shape);
    if (!isCalled && int64_t(arguments.size()) < kMostArguments && random.chance(70))
      return argument(type, shape);
    return constant(number(type), type, shape);
  }

  /// One more of the program.
  Val argument(const std::string &type, const Shape &shape) {
    Val value{"%a" + std::to_string(arguments.size()), type, shape, true};
    arguments.push_back(value);
    // Those of regions are forgotten at their end: it stands in front of them.
    values.insert(values.begin(), value);
    return value;
  }

  /// Dimensions of a larger shape that a smaller one may lie along; empty if there are none.
  Shape broadcastDims(const Shape &from, const Shape &to) {
    if (from.empty() || count(to) == 0)
      return {};
    Shape dims;
    size_t at = to.size();
    for (size_t i = from.size(); i-- > 0;) {
      while (at > 0 && to[at - 1] != from[i] && from[i] != 1)
        --at;
      if (at < i + 1)
        return {};
      dims.insert(dims.begin(), static_cast<int64_t>(--at));
    }
    return dims;
  }

  Val broadcast(const Val &value, const Shape &shape) {
    return add("stablehlo.broadcast_in_dim " + value.name + ", dims = " +
                   list(broadcastDims(value.shape, shape)) + " : (" + typeOf(value) + ") -> " +
                   typeText(value.type, shape),
               value.type, shape, value.isExact);
  }

  Val unary(const std::string &op, const Val &value, bool staysExact) {
    return add("stablehlo." + op + " " + value.name + " : " + typeOf(value), value.type, value.shape,
               value.isExact && staysExact);
  }
  Val binary(const std::string &op, const Val &a, const Val &b) {
    return add("stablehlo." + op + " " + a.name + ", " + b.name + " : " + typeOf(a), a.type, a.shape,
               a.isExact && b.isExact);
  }
  Val convert(const Val &value, const std::string &type) {
    return add("stablehlo.convert " + value.name + " : (" + typeOf(value) + ") -> " +
                   typeText(type, value.shape),
               type, value.shape, value.isExact);
  }

  /// Keeps values where small roundings stay small.
  Val tamed(const Val &value) { return isFloat(value.type) ? unary("tanh", value, false) : value; }

  void step() {
    if (replicas > 1 && random.chance(20))
      return collectives();
    if (isNetwork && random.chance(80))
      return partOfNetwork();
    switch (random.below(65)) {
    case 0: case 1: case 2: case 3: case 4: return elementwise();
    case 5: return unaries();
    case 6: return compares();
    case 7: case 8: return moves();
    case 9: return slices();
    case 10: return pads();
    case 11: return concatenates();
    case 12: case 13: return reduces();
    case 14: return rows();
    case 15: case 16: return products();
    case 17: return convolutions();
    case 18: return windows();
    case 19: return converts();
    case 20: return gathers();
    case 21: return loops();
    case 22: return sorts();
    case 24: return branches();
    case 25: return stepsThrough();
    case 26: return updates();
    case 27: return scatters();
    case 28: return scans();
    case 29: return transforms();
    case 30: return bits();
    case 31: return quantized();
    case 32: return uniform();
    case 33: case 34: return anyProduct();
    case 35: return anyConvolution();
    case 36:
    case 62:
    case 63:
      return attention();
    case 37: return solves();
    case 38: return anyGather();
    case 39: return anyScatter();
    case 40: return picks();
    case 41: return sortsSeveral();
    case 42: return anyWindow();
    case 43: return selectsAndScatters();
    case 44: case 45: return ofAnyType();
    case 46: return complexNumbers();
    case 47: return bitPatterns();
    case 48: return wholeOperations();
    case 49: return moreFunctions();
    case 50: return nestedLoop();
    case 51: return nestedBranches();
    case 52: return calls();
    case 53: return collectives();
    case 54: return gridGather();
    case 55:
      return lastLayers();
    case 56:
      return depthwise();
    case 57:
      return transposedLayers();
    case 58:
      return movedImages();
    case 59:
      return experts();
    case 60:
      return firstOfLines();
    case 61:
      return sumsInDouble();
    case 64:
      return partOfNetwork();
    default: return norms();
    }
  }

  /// GenerateElements.cpp
  void elementwise();
  void unaries();
  void compares();
  void moves();
  void slices();
  Val sliced(const Val &a);
  void pads();
  /// Nothing where less than nothing would be left.
  std::optional<Val> padded(const Val &a);
  void concatenates();
  Val reduce(const Val &a, const std::string &op, const std::string &init, const Shape &dims, bool staysExact);
  void reduces();
  Val alongRows(const Val &value, const Shape &shape);
  void rows();
  void norms();
  void converts();
  void products();
  void convolutions();
  /// GenerateLinear.cpp: with dimensions in any order, of any type that is multiplied.
  void anyProduct();
  void anyConvolution();
  void attention();
  void solves();
  Shape shuffled(int64_t count);
  Val factor(const std::string &type, const Shape &shape);

  Val dequantized(const Shape &shape, const Val *from, int64_t scaled, bool isExact);
  void quantized();
  void uniform();

  void windows();
  void gathers();
  void loops();
  void sorts();
  void branches();
  void stepsThrough();
  void updates();
  void scatters();
  void scans();
  void transforms();
  void bits();
  /// GeneratePlaces.cpp
  struct Windows;
  Windows windowsOf(const Shape &shape);
  void anyGather();
  void gridGather();
  void anyScatter();
  void picks();
  void sortsSeveral();
  void anyWindow();
  void selectsAndScatters();
  /// GenerateImages.cpp
  struct Layer;
  Val convolved(const Layer &layer, const Val &x);
  std::string layerType(const Layer &layer);
  void addLayer(const Layer &layer);
  void lastLayers();
  void depthwise();
  void transposedLayers();
  void movedImages();
  void experts();
  void firstOfLines();
  void sumsInDouble();
  void stems();
  /// GenerateNetworks.cpp
  void partOfNetwork();
  Val convolvedInmost(const Val &x, int64_t filters, int64_t around, int64_t stride, int64_t groups);
  Val alongColumns(const Val &numbers, const Shape &shape);
  Val finished(Val sums, const Val *residual);
  Val gated(const Val &x);
  void residualBlocks();
  void finishedProducts();
  void pools();
  void runningExtremes();
  /// GenerateTypes.cpp
  void ofAnyType();
  void complexNumbers();
  void bitPatterns();
  void sameBits();
  void wholeOperations();
  void moreFunctions();
  /// GenerateNested.cpp
  Val lastLike(size_t known, const Val &wanted);
  std::string region(const std::vector<Val> &taken, const std::function<std::string(size_t)> &finish);
  void nestedLoop();
  void nestedBranches();
  void calls();
  void collectives();

  static constexpr int64_t kMostArguments = 8;

  Random random;
  std::vector<Val> values, arguments;
  std::string body, functions;
  /// Values that went through floats of few bits and are not exact.
  std::set<std::string> narrow;
  int64_t next = 0, depth = 0, replicas = 1;
  bool mayHoldNaN = false, isCalled = false, isNetwork = false;
};

} // namespace cupel::random_programs
