#include "cupel/ir/sdy/SdyAxes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cupel::sdy {

std::optional<int64_t> MeshAttr::getAxisSize(StringRef name) const {
  for (MeshAxisAttr axis : getAxes())
    if (axis.getName() == name)
      return axis.getSize();
  return std::nullopt;
}

size_t MeshAttr::getAxisPosition(StringRef name) const {
  return llvm::find_if(getAxes(), [&](MeshAxisAttr axis) { return axis.getName() == name; }) -
         getAxes().begin();
}

bool TensorShardingAttr::mentionsAxes() const {
  return !getReplicatedAxes().empty() || !getUnreducedAxes().empty() ||
         llvm::any_of(getDimShardings(),
                      [](DimensionShardingAttr dim) { return !dim.getAxes().empty(); });
}

AxisSpan AxisSpan::get(AxisRefAttr axis, MeshAttr mesh) {
  if (SubAxisInfoAttr part = axis.getSubAxisInfo())
    return {axis.getName(), part.getPreSize(), part.getNextPreSize()};
  return {axis.getName(), 1, mesh.getAxisSize(axis.getName()).value_or(1)};
}

bool AxisSpan::overlaps(const AxisSpan &other) const {
  return name == other.name && begin < other.end && other.begin < end;
}

bool AxisSpan::isFollowedBy(const AxisSpan &next) const {
  return name == next.name && end == next.begin;
}

AxisRefAttr AxisSpan::toAttr(MeshAttr mesh) const {
  MLIRContext *context = mesh.getContext();
  bool isWhole = begin == 1 && end == mesh.getAxisSize(name).value_or(1);
  return AxisRefAttr::get(context, name,
                          isWhole ? nullptr : SubAxisInfoAttr::get(context, begin, size()));
}

bool isBeforeInMesh(AxisRefAttr lhs, AxisRefAttr rhs, MeshAttr mesh) {
  size_t lhsPosition = mesh.getAxisPosition(lhs.getName());
  size_t rhsPosition = mesh.getAxisPosition(rhs.getName());
  if (lhsPosition != rhsPosition)
    return lhsPosition < rhsPosition;
  AxisSpan lhsSpan = AxisSpan::get(lhs, mesh), rhsSpan = AxisSpan::get(rhs, mesh);
  return std::pair(lhsSpan.begin, lhsSpan.end) < std::pair(rhsSpan.begin, rhsSpan.end);
}

std::optional<int64_t> getShardedSize(ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  int64_t size = 1;
  for (AxisRefAttr axis : axes)
    if (llvm::MulOverflow(size, AxisSpan::get(axis, mesh).size(), size))
      return std::nullopt;
  return size;
}

void appendAxis(SmallVectorImpl<AxisRefAttr> &axes, AxisRefAttr axis, MeshAttr mesh) {
  if (!axes.empty()) {
    AxisSpan last = AxisSpan::get(axes.back(), mesh), next = AxisSpan::get(axis, mesh);
    if (last.isFollowedBy(next)) {
      axes.back() = AxisSpan{last.name, last.begin, next.end}.toAttr(mesh);
      return;
    }
  }
  axes.push_back(axis);
}

LogicalResult removeTrailingAxis(SmallVectorImpl<AxisRefAttr> &axes, AxisRefAttr axis,
                                 MeshAttr mesh) {
  if (axes.empty())
    return failure();
  AxisSpan last = AxisSpan::get(axes.back(), mesh), removed = AxisSpan::get(axis, mesh);
  if (last.name != removed.name || last.end != removed.end || removed.begin < last.begin ||
      removed.begin % last.begin != 0)
    return failure();
  if (removed.begin == last.begin)
    axes.pop_back();
  else
    axes.back() = AxisSpan{last.name, last.begin, removed.begin}.toAttr(mesh);
  return success();
}

void sortAndMergeAxes(SmallVectorImpl<AxisRefAttr> &axes, MeshAttr mesh) {
  llvm::sort(axes,
             [&](AxisRefAttr lhs, AxisRefAttr rhs) { return isBeforeInMesh(lhs, rhs, mesh); });
  SmallVector<AxisRefAttr> merged;
  for (AxisRefAttr axis : axes)
    appendAxis(merged, axis, mesh);
  axes.assign(merged.begin(), merged.end());
}

std::string toString(AxisRefAttr axis) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '"' << axis.getName() << '"';
  if (SubAxisInfoAttr part = axis.getSubAxisInfo())
    os << ":(" << part.getPreSize() << ")" << part.getSize();
  return text;
}

std::string toString(ArrayRef<AxisRefAttr> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{";
  llvm::interleaveComma(axes, os, [&](AxisRefAttr axis) { os << toString(axis); });
  os << "}";
  return text;
}

} // namespace cupel::sdy
