// Builds what one device runs of a program on whole tensors: how a value is split over the axes of
// a mesh, and the collectives and slices that bring it from one split to another. Used by the
// partitioner; decides nothing about where values should lie.

#pragma once

#include "cupel/ir/sdy/Sdy.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cupel::compiler {

/// Numbers of axes of a mesh, the major one first.
using MeshAxes = llvm::SmallVector<int, 2>;

/// How a value is split. No axis stands in it twice.
struct Split {
  llvm::SmallVector<MeshAxes, 4> dims;
  /// What devices along these axes hold adds up to the value; in increasing order.
  MeshAxes unreduced;

  bool operator==(const Split &) const = default;
  static Split whole(int64_t rank) { return {llvm::SmallVector<MeshAxes, 4>(rank), {}}; }
  bool isWhole() const { return unreduced.empty() && !hasTiles(); }
  bool hasTiles() const;
  bool uses(int axis) const;
};

class DeviceBuilder {
public:
  /// `mesh` names every device of the program once.
  DeviceBuilder(mlir::MLIRContext *context, sdy::MeshAttr mesh);

  mlir::OpBuilder builder;

  int64_t deviceCount() const { return static_cast<int64_t>(places.size()); }
  /// The number of an axis; -1 if there is none of this name.
  int axisOf(llvm::StringRef name) const;
  int64_t parts(llvm::ArrayRef<int> axes) const;
  /// Whether every dimension is cut into equal pieces.
  bool isEven(mlir::Type type, const Split &split) const;
  /// The type of one piece.
  mlir::RankedTensorType pieceType(mlir::Type type, const Split &split) const;

  mlir::Operation *make(mlir::Location loc, llvm::StringRef name, mlir::TypeRange types,
                        mlir::ValueRange operands,
                        llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, unsigned regions = 0);
  /// A tensor of one number over and over.
  mlir::Value splat(mlir::Location loc, mlir::RankedTensorType type, mlir::Attribute element);
  mlir::Value zeros(mlir::Location loc, mlir::RankedTensorType type);
  /// Where the piece of a device begins along axes that cut a dimension into pieces of this size: a
  /// scalar, different on every device.
  mlir::Value offset(mlir::Location loc, llvm::ArrayRef<int> axes, int64_t size);

  /// Combines what devices along axes hold; `combiner` is an operation on two elements.
  mlir::Value allReduce(mlir::Location loc, mlir::Value value, llvm::ArrayRef<int> axes,
                        llvm::StringRef combiner);
  mlir::Value reshard(mlir::Location loc, mlir::Value value, const Split &from, const Split &to);

private:
  mlir::Value allGather(mlir::Location loc, mlir::Value value, int64_t dim,
                        llvm::ArrayRef<int> axes);
  mlir::Value cut(mlir::Location loc, mlir::Value value, int64_t dim, llvm::ArrayRef<int> axes);
  /// The piece, among zeros where the others' are.
  mlir::Value spread(mlir::Location loc, mlir::Value value, int64_t dim, int axis);
  /// The value on the first device of an axis, zeros on the others.
  mlir::Value onFirst(mlir::Location loc, mlir::Value value, int axis);
  int64_t indexAlong(int64_t device, llvm::ArrayRef<int> axes) const;
  llvm::SmallVector<mlir::NamedAttribute> groupAttributes(llvm::ArrayRef<int> axes);

  sdy::MeshAttr mesh;
  std::vector<std::vector<int64_t>> places; // The coordinates of each device.
  std::vector<int64_t> sizes;               // Of axes.
};

} // namespace cupel::compiler
