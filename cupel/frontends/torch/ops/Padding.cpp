// Padding with constants, mirrored, repeated and wrapped edges.

#include "cupel/frontends/torch/ops/Shapes.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

/// Low and high padding a dimension: torch counts pairs from the last dimension.
bool paddingOf(Node &n, StringRef argument, Dims &low, Dims &high) {
  int64_t rank = n.rank("self");
  Dims pads = n.integers(argument);
  if (n.failed())
    return false;
  if (pads.size() % 2 || int64_t(pads.size()) > 2 * rank) {
    n.fail("argument '" + argument.str() + "' is not two numbers a dimension");
    return false;
  }
  low.assign(rank, 0);
  high.assign(rank, 0);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    int64_t dim = rank - 1 - int64_t(i);
    low[dim] = pads[2 * i];
    high[dim] = pads[2 * i + 1];
    int64_t size = n.shape("self")[dim];
    if (std::abs(low[dim]) > (1 << 30) || std::abs(high[dim]) > (1 << 30) ||
        size + low[dim] + high[dim] < 0) {
      n.fail("argument '" + argument.str() + "' leaves a negative size");
      return false;
    }
  }
  return true;
}

void padConstant(Node &n, Value filler) {
  Dims low, high;
  if (!paddingOf(n, "pad", low, high))
    return;
  Value x = n.in("self");
  if (HloBuilder::countOf(x) == 0)
    return n.out(n.b.broadcastTo(filler, n.resultShape()));
  n.out(n.b.pad(x, filler, low, high));
}

void padEdges(Node &n, StringRef argument, Edge edge) {
  HloBuilder &b = n.b;
  Dims low, high;
  if (!paddingOf(n, argument, low, high) || emptyResult(n))
    return;
  Value x = n.in("self");
  for (int64_t dim = 0; dim < HloBuilder::rankOf(x); ++dim) {
    int64_t size = HloBuilder::shapeOf(x)[dim];
    if (size == 0 && (low[dim] || high[dim]))
      return n.fail("argument 'self': an empty dimension has nothing to be padded with");
    if (edge == Edge::Circular) {
      // What wraps around is what negative padding leaves.
      int64_t first = std::max<int64_t>(-low[dim], 0), end = size + std::min<int64_t>(high[dim], 0);
      low[dim] = std::max<int64_t>(low[dim], 0);
      high[dim] = std::max<int64_t>(high[dim], 0);
      if (end - first < std::max(low[dim], high[dim]))
        return n.fail("argument '" + argument.str() + "' wraps around more than once");
      x = b.sliceDim(x, dim, first, end);
    }
    x = padWithEdge(b, x, dim, low[dim], high[dim], edge);
  }
  n.out(x);
}

void lowerConstantPad(Node &n) { padConstant(n, n.in("value", n.element("self"))); }

void lowerPad(Node &n) {
  std::string mode = n.text("mode", "constant");
  if (mode == "constant")
    return padConstant(n, n.has("value") ? n.in("value", n.element("self"))
                                         : n.b.splat(0, n.element("self")));
  if (mode == "reflect")
    return padEdges(n, "pad", Edge::Reflect);
  if (mode == "replicate")
    return padEdges(n, "pad", Edge::Replicate);
  if (mode == "circular")
    return padEdges(n, "pad", Edge::Circular);
  n.fail("argument 'mode' is '" + mode + "', which is unknown");
}

void lowerPadEnum(Node &n) {
  switch (n.integer("mode")) {
  case 0:
    return padConstant(n, n.has("value") ? n.in("value", n.element("self"))
                                         : n.b.splat(0, n.element("self")));
  case 1:
    return padEdges(n, "pad", Edge::Reflect);
  case 2:
    return padEdges(n, "pad", Edge::Replicate);
  case 3:
    return padEdges(n, "pad", Edge::Circular);
  default:
    return n.fail("argument 'mode' is unknown");
  }
}

template <Edge edge> void lowerEdgePad(Node &n) {
  padEdges(n, n.declares("padding") ? "padding" : "pad", edge);
}

} // namespace

void registerPadding(OpTable &table) {
  table.add("aten.constant_pad_nd", lowerConstantPad);
  table.add("aten.pad", lowerPad);
  table.add("aten._pad_enum", lowerPadEnum);
  table.add("aten._pad_circular", lowerEdgePad<Edge::Circular>);
  for (const char *name :
       {"aten.reflection_pad1d", "aten.reflection_pad2d", "aten.reflection_pad3d"})
    table.add(name, lowerEdgePad<Edge::Reflect>);
  for (const char *name :
       {"aten.replication_pad1d", "aten.replication_pad2d", "aten.replication_pad3d"})
    table.add(name, lowerEdgePad<Edge::Replicate>);
}

} // namespace cupel::frontends::torch_import
