#include "cupel/compiler/passes/Shapes.h"

using namespace mlir;
using namespace cupel::stablehlo;

namespace cupel::compiler {

Value makeSize(OpBuilder &builder, Location loc, int32_t size) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(size)));
}

Value makeSizes(OpBuilder &builder, Location loc, ArrayRef<int32_t> sizes) {
  auto type = RankedTensorType::get(sizes.size(), builder.getI32Type());
  return builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, sizes));
}

Value getSize(OpBuilder &builder, Location loc, Value value, int64_t dimension) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(dimension))
    return makeSize(builder, loc, type.getDimSize(dimension));
  NamedAttribute attribute =
      builder.getNamedAttr("dimension", builder.getI64IntegerAttr(dimension));
  return builder.create<GetDimensionSizeOp>(
      loc, TypeRange{RankedTensorType::get({}, builder.getI32Type())}, ValueRange{value},
      attribute);
}

Value packSizes(OpBuilder &builder, Location loc, ArrayRef<Value> sizes) {
  if (sizes.empty())
    return makeSizes(builder, loc, {});
  auto vector = [&](int64_t size) { return RankedTensorType::get(size, builder.getI32Type()); };
  SmallVector<Value> parts;
  for (Value size : sizes)
    parts.push_back(builder.create<ReshapeOp>(loc, vector(1), size));
  if (parts.size() == 1)
    return parts.front();
  NamedAttribute attribute = builder.getNamedAttr("dimension", builder.getI64IntegerAttr(0));
  return builder.create<ConcatenateOp>(loc, TypeRange{vector(parts.size())}, parts, attribute)
      ->getResult(0);
}

Value getShape(OpBuilder &builder, Location loc, Value value) {
  SmallVector<Value> sizes;
  for (int64_t dimension : llvm::seq<int64_t>(0, cast<RankedTensorType>(value.getType()).getRank()))
    sizes.push_back(getSize(builder, loc, value, dimension));
  return packSizes(builder, loc, sizes);
}

Value broadcastTo(OpBuilder &builder, Location loc, Value value, RankedTensorType type,
                  ArrayRef<int64_t> dimensions, Value shape) {
  NamedAttribute attribute =
      builder.getNamedAttr("broadcast_dimensions", builder.getDenseI64ArrayAttr(dimensions));
  if (type.hasStaticShape())
    return builder.create<BroadcastInDimOp>(loc, TypeRange{type}, ValueRange{value}, attribute)
        ->getResult(0);
  return builder
      .create<DynamicBroadcastInDimOp>(loc, TypeRange{type}, ValueRange{value, shape}, attribute)
      ->getResult(0);
}

Value reshapeTo(OpBuilder &builder, Location loc, Value value, RankedTensorType type, Value shape) {
  if (type.hasStaticShape())
    return builder.create<ReshapeOp>(loc, TypeRange{type}, ValueRange{value})->getResult(0);
  return builder.create<DynamicReshapeOp>(loc, TypeRange{type}, ValueRange{value, shape})
      ->getResult(0);
}

} // namespace cupel::compiler
