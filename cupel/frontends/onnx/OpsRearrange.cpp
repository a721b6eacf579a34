// Casts, padding, ranges and rearrangements of blocks.

#include "cupel/frontends/onnx/CodedTypes.h"
#include "cupel/frontends/onnx/Lowering.h"

#include "onnx-ml.pb.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;

Value castValue(HloBuilder &b, Value x, Type to, bool saturate) {
  Type from = HloBuilder::elementOf(x);
  if (from == to)
    return x;
  auto integer = dyn_cast<IntegerType>(to);
  if (integer && integer.getWidth() < 32 && integer.getWidth() > 1 && isa<FloatType>(from))
    return b.convert(b.convert(x, b.i32()), to); // Low bits are kept.
  if (auto narrow = dyn_cast<FloatType>(to); narrow && narrow.getWidth() <= 8 && saturate) {
    if (!isa<FloatType>(from))
      x = b.convert(x, b.f32());
    if (cast<FloatType>(HloBuilder::elementOf(x)).getWidth() > 8) {
      double top = llvm::APFloat::getLargest(narrow.getFloatSemantics()).convertToDouble();
      x = b.clamp(b.like(x, -top), x, b.like(x, top));
    }
  }
  return b.convert(x, to);
}

namespace {

Value decodedOperand(Node &n) { return n.coded(0) ? decode(n.b, n.in(0), n.coded(0)) : n.in(0); }

Status castToCoded(Node &n, int64_t to) {
  if (n.coded(0) == to) {
    n.outCoded(0, n.in(0), to);
    return {};
  }
  std::string rounding = n.text("round_mode", "up");
  if (rounding != "up" && rounding != "down" && rounding != "nearest")
    return n.error("its round_mode '" + rounding + "' is unknown");
  if (HloBuilder::isComplex(n.in(0)))
    return n.error("does not cast complex numbers to small floats");
  n.outCoded(0, encode(n.b, decodedOperand(n), to, n.integer("saturate", 1), rounding), to);
  return {};
}

Status lowerCast(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  int64_t to = n.integer("to", 0);
  if (n.opset < 6) { // The type's name in capitals.
    proto::TensorProto_DataType parsed;
    if (!proto::TensorProto_DataType_Parse(n.text("to", ""), &parsed))
      return n.error("its type '" + n.text("to", "") + "' is unknown");
    to = parsed;
  }
  if (isCoded(to))
    return castToCoded(n, to);
  ONNX_LET(type, n.elementTypeNumbered(to));
  n.out(0, castValue(n.b, decodedOperand(n), type, n.integer("saturate", 1)));
  return {};
}

Status lowerCastLike(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  if (int64_t to = n.coded(1))
    return castToCoded(n, to);
  n.out(0, castValue(n.b, decodedOperand(n), n.element(1), n.integer("saturate", 1)));
  return {};
}

Status lowerBitCast(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  ONNX_LET(type, n.elementTypeNumbered(n.integer("to", 0)));
  // ONNX keeps a bool in a byte; StableHLO does not say how.
  bool toBool = type.isInteger(1), fromBool = HloBuilder::isBool(n.in(0));
  if (toBool != fromBool && (toBool ? n.element(0) : type).isInteger(8)) {
    n.out(0, n.b.convert(n.in(0), type));
    return {};
  }
  if (HloBuilder::isComplex(n.in(0)) || HloBuilder::isBool(n.in(0)) || !type.isIntOrFloat() ||
      type.getIntOrFloatBitWidth() != n.element(0).getIntOrFloatBitWidth())
    return n.error("the two types differ in width");
  n.out(0, type == n.element(0) ? n.in(0) : n.b.unary<stablehlo::BitcastConvertOp>(n.in(0), type));
  return {};
}

Status lowerPad(Node &n) {
  ONNX_TRY(n.expect(1, 4));
  HloBuilder &b = n.b;
  int64_t rank = n.rank(0);
  Dims pads, axes;
  Value filler;
  if (n.opset < 11) {
    pads = n.integers(n.opset < 2 ? "paddings" : "pads");
    filler = b.splat(n.real("value", 0), n.element(0));
  } else {
    ONNX_LET(given, n.knownIntegers(1, "the pads"));
    pads = given;
    filler = n.has(2) ? b.reshape(n.in(2), {}) : b.splat(0, n.element(0));
  }
  if (n.has(3)) {
    ONNX_LET(given, n.knownIntegers(3, "the axes"));
    ONNX_LET(checked, n.axes(given, rank));
    axes = checked;
  } else {
    axes = dimsFrom(0, rank);
  }
  if (pads.size() != 2 * axes.size())
    return n.error("its pads are not two an axis");
  Dims low(rank, 0), high(rank, 0);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low[axis] = pads[i];
    high[axis] = pads[i + axes.size()];
    int64_t size = n.shape(0)[axis];
    if (std::abs(low[axis]) > (1 << 30) || std::abs(high[axis]) > (1 << 30) ||
        size + low[axis] + high[axis] < 0)
      return n.error(
          fmt::format("dimension {} cannot be padded by {} and {}", axis, low[axis], high[axis]));
  }
  std::string mode = n.text("mode", "constant");
  if (mode == "constant") {
    n.out(0, b.pad(n.in(0), filler, low, high));
    return {};
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap")
    return n.error("its mode '" + mode + "' is unknown");
  Edge edge = mode == "edge" ? Edge::Replicate : mode == "wrap" ? Edge::Circular : Edge::Reflect;
  Value x = n.in(0);
  for (int64_t axis : axes) {
    if (n.shape(0)[axis] == 0 && (low[axis] || high[axis]))
      return n.error("an empty dimension has nothing to be padded with");
    x = padWithEdge(b, x, axis, low[axis], high[axis], edge);
  }
  n.out(0, x);
  return {};
}

Status lowerRange(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  HloBuilder &b = n.b;
  Type element = n.element(0);
  ONNX_LET(start, n.knownNumber(0, "the start"));
  ONNX_LET(limit, n.knownNumber(1, "the limit"));
  ONNX_LET(delta, n.knownNumber(2, "the delta"));
  double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count < double(1 << 30)))
    return n.error("it has no end");
  bool narrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  Type wide = narrow ? b.f32() : element;
  Dims shape{int64_t(count)};
  Value at = b.convert(b.iota(shape, 0, b.i64()), wide);
  auto scalar = [&](size_t i) { return b.convert(b.reshape(n.in(i), {}), wide); };
  n.out(0, b.convert(b.add(scalar(0), b.multiply(at, scalar(2))), element));
  return {};
}

Status lowerDropout(Node &n) {
  ONNX_TRY(n.expect(1, 3));
  HloBuilder &b = n.b;
  bool training = n.opset < 7 && !n.integer("is_test", 0) && n.wants(1);
  if (n.has(2)) {
    ONNX_LET(mode, n.knownNumber(2, "the training mode"));
    training = mode != 0;
  }
  if (training) {
    double ratio = n.real("ratio", 0.5);
    if (n.has(1)) {
      ONNX_LET(given, n.knownNumber(1, "the ratio"));
      ratio = given;
    }
    if (ratio != 0)
      return n.refuse(ErrorCode::Random, "drops at random in training");
  }
  n.outItem(0, n.item(0));
  Type mask = n.opset < 10 ? n.element(0) : b.i1();
  if (n.wants(1))
    n.out(1, b.splatInteger(1, mask, n.shape(0)));
  return {};
}

Status lowerDepthToSpace(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  int64_t block = n.integer("blocksize", 0);
  if (n.rank(0) != 4 || block <= 0 || n.shape(0)[1] % (block * block))
    return n.error("its operand does not fit its block size");
  ArrayRef<int64_t> s = n.shape(0);
  int64_t depth = s[1] / (block * block);
  Value x;
  if (n.text("mode", "DCR") == "DCR")
    x = n.b.transpose(n.b.reshape(n.in(0), {s[0], block, block, depth, s[2], s[3]}),
                      {0, 3, 4, 1, 5, 2});
  else
    x = n.b.transpose(n.b.reshape(n.in(0), {s[0], depth, block, block, s[2], s[3]}),
                      {0, 1, 4, 2, 5, 3});
  n.out(0, n.b.reshape(x, {s[0], depth, s[2] * block, s[3] * block}));
  return {};
}

Status lowerSpaceToDepth(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  int64_t block = n.integer("blocksize", 0);
  if (n.rank(0) != 4 || block <= 0 || n.shape(0)[2] % block || n.shape(0)[3] % block)
    return n.error("its operand does not fit its block size");
  ArrayRef<int64_t> s = n.shape(0);
  Value x = n.b.reshape(n.in(0), {s[0], s[1], s[2] / block, block, s[3] / block, block});
  bool columnFirst = n.text("mode", "DCR") == "CRD";
  x = columnFirst ? n.b.transpose(x, {0, 1, 3, 5, 2, 4}) : n.b.transpose(x, {0, 3, 5, 1, 2, 4});
  n.out(0, n.b.reshape(x, {s[0], s[1] * block * block, s[2] / block, s[3] / block}));
  return {};
}

Status lowerCenterCropPad(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  HloBuilder &b = n.b;
  ONNX_LET(wanted, n.knownIntegers(1, "the shape"));
  Dims axes = dimsFrom(0, n.rank(0));
  if (n.hasAttribute("axes")) {
    ONNX_LET(given, n.axes(n.integers("axes"), n.rank(0)));
    axes = given;
  }
  if (axes.size() != wanted.size())
    return n.error("its shape is not one number an axis");
  Dims low(n.rank(0), 0), high(n.rank(0), 0);
  for (auto [axis, size] : llvm::zip(axes, wanted)) {
    if (size < 0)
      return n.error("a size is negative");
    int64_t more = size - n.shape(0)[axis];
    // Both crop and pad leave the odd one at the end.
    low[axis] = more >= 0 ? more / 2 : -(-more / 2);
    high[axis] = more - low[axis];
  }
  n.out(0, b.pad(n.in(0), b.splat(0, n.element(0)), low, high));
  return {};
}

} // namespace

void registerRearrange(OpTable &table) {
  table.add("Cast", 1, lowerCast);
  table.add("CastLike", 15, lowerCastLike);
  table.add("BitCast", 26, lowerBitCast);
  table.add("Pad", 1, lowerPad);
  table.add("Range", 11, lowerRange);
  table.add("Dropout", 1, lowerDropout, /*foldable=*/false);
  table.add("DepthToSpace", 1, lowerDepthToSpace);
  table.add("SpaceToDepth", 1, lowerSpaceToDepth);
  table.add("CenterCropPad", 18, lowerCenterCropPad);
}

} // namespace cupel::frontends::onnx_import
