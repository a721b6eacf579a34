// Constants, shapes and the movement of whole pieces: Reshape, Transpose, Concat, Slice, Pad and
// their like.

#include "cupel/frontends/onnx/CodedTypes.h"
#include "cupel/frontends/onnx/Lowering.h"

#include "onnx-ml.pb.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace {

Tensor integersTensor(ArrayRef<int64_t> values) {
  return Tensor::of<DType::I64>({int64_t(values.size())},
                                std::span<const int64_t>(values.data(), values.size()));
}

Status lowerConstant(Node &n) {
  if (n.hasAttribute("value") || n.hasAttribute("sparse_value")) {
    Result<Tensor> value = n.tensorAttribute(n.hasAttribute("value") ? "value" : "sparse_value");
    if (!value)
      return value.error();
    Item item;
    item.known = std::move(*value);
    if (n.hasAttribute("value") && isCoded(n.attribute("value")->t().data_type()))
      item.coded = n.attribute("value")->t().data_type();
    n.outItem(0, item);
  } else if (n.hasAttribute("value_int")) {
    n.outKnown(0, Tensor::of<DType::I64>({}, {n.integer("value_int", 0)}));
  } else if (n.hasAttribute("value_ints")) {
    n.outKnown(0, integersTensor(n.integers("value_ints")));
  } else if (n.hasAttribute("value_float")) {
    n.outKnown(0, Tensor::of<DType::F32>({}, {float(n.real("value_float", 0))}));
  } else if (n.hasAttribute("value_floats")) {
    SmallVector<double> values = n.reals("value_floats");
    std::vector<float> narrow(values.begin(), values.end());
    n.outKnown(0, Tensor::of<DType::F32>({int64_t(narrow.size())}, narrow));
  } else if (n.hasAttribute("value_string") || n.hasAttribute("value_strings")) {
    return n.refuse(ErrorCode::Strings, "StableHLO has no strings");
  } else {
    return n.error("holds no value");
  }
  return {};
}

Status lowerIdentity(Node &n) {
  if (n.inputCount() != 1 || n.item(0).isAbsent())
    return n.error("takes one operand");
  n.outItem(0, n.item(0));
  return {};
}

Status lowerShape(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  int64_t rank = n.rank(0);
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamp(n.integer("start", 0)), end = clamp(n.integer("end", rank));
  ArrayRef<int64_t> shape = n.shape(0);
  n.outKnown(0,
             integersTensor(start < end ? shape.slice(start, end - start) : ArrayRef<int64_t>()));
  return {};
}

Status lowerSize(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  n.outKnown(0, Tensor::of<DType::I64>({}, {HloBuilder::countOf(n.in(0))}));
  return {};
}

Status lowerConstantOfShape(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  Result<Dims> shape = n.knownIntegers(0, "the shape");
  if (!shape)
    return shape.error();
  Tensor value = Tensor::of<DType::F32>({}, {0});
  if (n.hasAttribute("value")) {
    Result<Tensor> given = n.tensorAttribute("value");
    if (!given)
      return given.error();
    if (given->size() != 1)
      return n.error("its value should have one element");
    value = given->reshaped({});
  }
  if (!tensor::byteCount(value.dtype(), Shape(shape->begin(), shape->end())))
    return n.error("its shape is impossible");
  n.out(0, n.b.broadcastTo(n.b.constant(value), *shape));
  return {};
}

Status lowerReshape(Node &n) {
  if (Status status = n.expect(1, 2); !status)
    return status;
  Dims wanted;
  if (n.opset < 5) {
    wanted = n.integers("shape");
  } else {
    Result<Dims> given = n.knownIntegers(1, "the shape");
    if (!given)
      return given.error();
    wanted = *given;
  }
  bool allowZero = n.integer("allowzero", 0);
  int64_t count = HloBuilder::countOf(n.in(0)), product = 1, free = -1;
  for (auto [i, size] : llvm::enumerate(wanted)) {
    if (size == 0 && !allowZero) {
      if (int64_t(i) >= n.rank(0))
        return n.error("its shape copies a dimension that is not there");
      size = n.shape(0)[i];
    }
    if (size == -1) {
      if (free >= 0)
        return n.error("its shape has more than one -1");
      free = i;
    } else if (size < 0) {
      return n.error(fmt::format("its shape has a dimension of size {}", size));
    } else {
      product *= size;
    }
  }
  if (free >= 0) {
    if (product == 0 ? count != 0 : count % product != 0)
      return n.error(
          fmt::format("{} elements cannot take the shape [{}]", count, fmt::join(wanted, ", ")));
    wanted[free] = product == 0 ? 0 : count / product;
  } else if (product != count) {
    return n.error(
        fmt::format("{} elements cannot take the shape [{}]", count, fmt::join(wanted, ", ")));
  }
  n.out(0, n.b.reshape(n.in(0), wanted));
  return {};
}

Status lowerFlatten(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  int64_t rank = n.rank(0), axis = n.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return n.error("its axis is out of range");
  axis = axis < 0 ? axis + rank : axis;
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < rank; ++i)
    (i < axis ? rows : columns) *= n.shape(0)[i];
  n.out(0, n.b.reshape(n.in(0), {rows, columns}));
  return {};
}

/// Axes as an attribute of old opsets or as an optional operand of new ones.
Result<std::optional<Dims>> axesOperand(Node &n, int64_t operandSince, size_t operand) {
  if (n.opset < operandSince)
    return n.hasAttribute("axes") ? std::optional<Dims>(n.integers("axes")) : std::nullopt;
  if (!n.has(operand))
    return std::optional<Dims>();
  Result<Dims> axes = n.knownIntegers(operand, "the axes");
  if (!axes)
    return axes.error();
  return std::optional<Dims>(*axes);
}

Status lowerSqueeze(Node &n) {
  if (Status status = n.expect(1, 2); !status)
    return status;
  Result<std::optional<Dims>> given = axesOperand(n, 13, 1);
  if (!given)
    return given.error();
  Dims shape;
  if (*given) {
    Result<Dims> axes = n.axes(**given, n.rank(0));
    if (!axes)
      return axes.error();
    for (int64_t axis : *axes)
      if (n.shape(0)[axis] != 1)
        return n.error(fmt::format("dimension {} has size {}, not 1", axis, n.shape(0)[axis]));
    for (int64_t i = 0; i < n.rank(0); ++i)
      if (!llvm::is_contained(*axes, i))
        shape.push_back(n.shape(0)[i]);
  } else {
    for (int64_t size : n.shape(0))
      if (size != 1)
        shape.push_back(size);
  }
  n.out(0, n.b.reshape(n.in(0), shape));
  return {};
}

Status lowerUnsqueeze(Node &n) {
  if (Status status = n.expect(1, 2); !status)
    return status;
  Result<std::optional<Dims>> given = axesOperand(n, 13, 1);
  if (!given)
    return given.error();
  if (!*given)
    return n.error("its axes are missing");
  int64_t rank = n.rank(0) + (*given)->size();
  Result<Dims> axes = n.axes(**given, rank);
  if (!axes)
    return axes.error();
  Dims shape;
  for (int64_t i = 0, from = 0; i < rank; ++i)
    shape.push_back(llvm::is_contained(*axes, i) ? 1 : n.shape(0)[from++]);
  n.out(0, n.b.reshape(n.in(0), shape));
  return {};
}

Status lowerTranspose(Node &n) {
  if (Status status = n.expect(1, 1); !status)
    return status;
  Dims permutation = n.integers("perm");
  int64_t rank = n.rank(0);
  if (!n.hasAttribute("perm"))
    for (int64_t i = rank; i-- > 0;)
      permutation.push_back(i);
  Result<Dims> axes = n.axes(permutation, rank);
  if (!axes)
    return axes.error();
  if (int64_t(axes->size()) != rank)
    return n.error("its perm does not name every dimension");
  n.out(0, n.b.transpose(n.in(0), *axes));
  return {};
}

Status lowerConcat(Node &n) {
  if (Status status = n.expect(1); !status)
    return status;
  Result<int64_t> axis = n.axis(n.integer("axis", 1), n.rank(0));
  if (!axis)
    return axis.error();
  SmallVector<Value> values;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    if (!n.has(i))
      return n.error("lacks operand " + std::to_string(i));
    Dims mine(n.shape(i)), first(n.shape(0));
    if (mine.size() != first.size() || n.element(i) != n.element(0))
      return n.error("its operands differ in rank or element type");
    mine[*axis] = first[*axis] = 0;
    if (mine != first)
      return n.error("its operands differ in a dimension other than the axis");
    values.push_back(n.in(i));
  }
  n.out(0, n.b.concatenate(values, *axis));
  return {};
}

Status lowerSplit(Node &n) {
  if (Status status = n.expect(1, 2); !status)
    return status;
  Result<int64_t> axis = n.axis(n.integer("axis", 0), n.rank(0));
  if (!axis)
    return axis.error();
  int64_t size = n.shape(0)[*axis], parts = n.outputCount();
  Dims sizes;
  if (n.opset >= 13 && n.has(1)) {
    Result<Dims> given = n.knownIntegers(1, "the split");
    if (!given)
      return given.error();
    sizes = *given;
  } else if (n.opset < 13 && n.hasAttribute("split")) {
    sizes = n.integers("split");
  } else {
    parts = n.integer("num_outputs", parts);
    if (parts <= 0)
      return n.error("splits into no parts");
    int64_t chunk = (size + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(size - i * chunk, 0, chunk));
  }
  int64_t at = 0;
  for (int64_t one : sizes) {
    if (one < 0)
      return n.error("a part has a negative size");
    at += one;
  }
  if (at != size || sizes.size() < n.outputCount())
    return n.error(fmt::format("its parts [{}] do not make up {}", fmt::join(sizes, ", "), size));
  at = 0;
  for (auto [i, one] : llvm::enumerate(sizes)) {
    if (i < n.outputCount())
      n.out(i, n.b.sliceDim(n.in(0), *axis, at, at + one));
    at += one;
  }
  return {};
}

Status lowerSlice(Node &n) {
  if (Status status = n.expect(1, 5); !status)
    return status;
  Dims starts, ends, axes, steps;
  if (n.opset < 10) {
    starts = n.integers("starts");
    ends = n.integers("ends");
    axes = n.integers("axes");
  } else {
    Result<Dims> start = n.knownIntegers(1, "the starts"), end = n.knownIntegers(2, "the ends");
    if (!start || !end)
      return start ? end.error() : start.error();
    starts = *start;
    ends = *end;
    for (auto [operand, what, into] :
         {std::tuple{3, "the axes", &axes}, std::tuple{4, "the steps", &steps}})
      if (n.has(operand)) {
        Result<Dims> given = n.knownIntegers(operand, what);
        if (!given)
          return given.error();
        *into = *given;
      }
  }
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i)
      axes.push_back(i);
  if (steps.empty())
    steps.assign(starts.size(), 1);
  Result<Dims> along = n.axes(axes, n.rank(0));
  if (!along)
    return along.error();
  if (ends.size() != starts.size() || along->size() != starts.size() ||
      steps.size() != starts.size())
    return n.error("its starts, ends, axes and steps differ in number");
  Dims from(n.rank(0), 0), to(n.shape(0)), stride(n.rank(0), 1), reversed;
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = (*along)[i], size = n.shape(0)[axis], step = steps[i];
    if (step == 0)
      return n.error("a step is 0");
    auto place = [&](int64_t at, int64_t low, int64_t high) {
      if (at < 0)
        at = at < -size ? low : at + size;
      return std::clamp(at, low, high);
    };
    if (step > 0) {
      from[axis] = place(starts[i], 0, size);
      to[axis] = std::max(from[axis], place(ends[i], 0, size));
      stride[axis] = step;
      continue;
    }
    // Backwards: the same elements forwards, then turned.
    int64_t first = place(starts[i], 0, size - 1), last = place(ends[i], -1, size - 1);
    int64_t back =
        step == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -step;
    int64_t count = size == 0 || first <= last ? 0 : (first - last - 1) / back + 1;
    from[axis] = count == 0 ? 0 : first - (count - 1) * back;
    to[axis] = count == 0 ? 0 : first + 1;
    stride[axis] = count <= 1 ? 1 : back;
    reversed.push_back(axis);
  }
  // A step beyond the end takes one element; StableHLO wants to be able to count.
  for (int64_t i = 0; i < n.rank(0); ++i)
    stride[i] = std::min(stride[i], std::max<int64_t>(n.shape(0)[i], 1));
  n.out(0, n.b.reverse(n.b.slice(n.in(0), from, to, stride), reversed));
  return {};
}

Status lowerExpand(Node &n) {
  if (Status status = n.expect(2, 2); !status)
    return status;
  Result<Dims> wanted = n.knownIntegers(1, "the shape");
  if (!wanted)
    return wanted.error();
  std::optional<Dims> shape = HloBuilder::broadcastShape(n.shape(0), *wanted);
  if (!shape || llvm::any_of(*shape, [](int64_t size) { return size < 0; }))
    return n.error(
        fmt::format("its operand does not broadcast with [{}]", fmt::join(*wanted, ", ")));
  n.out(0, n.b.broadcastTo(n.in(0), *shape));
  return {};
}

Status lowerTile(Node &n) {
  if (Status status = n.expect(2); !status)
    return status;
  HloBuilder &b = n.b;
  Dims repeats;
  if (n.opset < 6) { // How often, and along which axis.
    Result<Dims> count = n.knownIntegers(1, "the tiles"), axis = n.knownIntegers(2, "the axis");
    if (!count || !axis)
      return count ? axis.error() : count.error();
    repeats.assign(n.rank(0), 1);
    if (axis->size() != 1 || count->size() != 1 || (*axis)[0] < 0 || (*axis)[0] >= n.rank(0))
      return n.error("its tiles and axis should be one number each");
    repeats[(*axis)[0]] = (*count)[0];
  } else {
    Result<Dims> given = n.knownIntegers(1, "the repeats");
    if (!given)
      return given.error();
    repeats = *given;
  }
  if (int64_t(repeats.size()) != n.rank(0))
    return n.error("its repeats are not one a dimension");
  Dims apart, dimensions, together;
  for (auto [i, repeat] : llvm::enumerate(repeats)) {
    if (repeat < 0)
      return n.error("a repeat is negative");
    apart.append({repeat, n.shape(0)[i]});
    dimensions.push_back(2 * i + 1);
    together.push_back(repeat * n.shape(0)[i]);
  }
  n.out(0, b.reshape(b.broadcastInDim(n.in(0), apart, dimensions), together));
  return {};
}

} // namespace

void registerShapes(OpTable &table) {
  table.add("Constant", 1, lowerConstant, /*foldable=*/false);
  table.add("Identity", 1, lowerIdentity, /*foldable=*/false);
  table.add("Shape", 1, lowerShape, /*foldable=*/false);
  table.add("Size", 1, lowerSize, /*foldable=*/false);
  table.add("ConstantOfShape", 9, lowerConstantOfShape);
  table.add("Reshape", 1, lowerReshape);
  table.add("Flatten", 1, lowerFlatten);
  table.add("Squeeze", 1, lowerSqueeze);
  table.add("Unsqueeze", 1, lowerUnsqueeze);
  table.add("Transpose", 1, lowerTranspose);
  table.add("Concat", 1, lowerConcat);
  table.add("Split", 1, lowerSplit);
  table.add("Slice", 1, lowerSlice);
  table.add("Expand", 8, lowerExpand);
  table.add("Tile", 1, lowerTile);
}

} // namespace cupel::frontends::onnx_import
