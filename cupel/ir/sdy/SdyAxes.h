// Arithmetic on axes and parts of axes: sizes, overlap, order, merging. The verifiers use it, and
// so may whoever turns shardings into device groups. Everything here assumes that the axis is one
// of the mesh.
#pragma once

#include "cupel/ir/sdy/Sdy.h"

namespace cupel::sdy {

/// The half-open range [begin, end) that an axis reference covers, counted in products of sizes: a
/// whole axis of size 8 is [1, 8), its part "(2)2" is [2, 4). All of its methods are cheap.
struct AxisSpan {
  llvm::StringRef name;
  int64_t begin;
  int64_t end;

  static AxisSpan get(AxisRefAttr axis, MeshAttr mesh);

  int64_t size() const { return end / begin; }
  bool overlaps(const AxisSpan &other) const;
  /// Whether `next` continues this span, so that both could be written as one.
  bool isFollowedBy(const AxisSpan &next) const;
  AxisRefAttr toAttr(MeshAttr mesh) const;
};

/// Orders axes as the mesh lists them, and parts of one axis by where they begin.
bool isBeforeInMesh(AxisRefAttr lhs, AxisRefAttr rhs, MeshAttr mesh);

/// The number of parts a dimension is split into, or nothing if that does not fit 64 bits.
std::optional<int64_t> getShardedSize(llvm::ArrayRef<AxisRefAttr> axes, MeshAttr mesh);

/// Appends an axis, writing it as one with the last if it continues that.
void appendAxis(llvm::SmallVectorImpl<AxisRefAttr> &axes, AxisRefAttr axis, MeshAttr mesh);

/// Takes an axis off the end of the list; fails if the list does not end with it.
mlir::LogicalResult removeTrailingAxis(llvm::SmallVectorImpl<AxisRefAttr> &axes, AxisRefAttr axis,
                                       MeshAttr mesh);

/// Sorts as the mesh lists the axes, and merges the parts that continue each other.
void sortAndMergeAxes(llvm::SmallVectorImpl<AxisRefAttr> &axes, MeshAttr mesh);

/// How an axis or a list of axes is written, for messages.
std::string toString(AxisRefAttr axis);
std::string toString(llvm::ArrayRef<AxisRefAttr> axes);

} // namespace cupel::sdy
