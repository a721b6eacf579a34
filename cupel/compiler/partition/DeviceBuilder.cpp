#include "cupel/compiler/partition/DeviceBuilder.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <map>
#include <numeric>

namespace cupel::compiler {

using namespace mlir;

bool Split::hasTiles() const {
  return llvm::any_of(dims, [](const MeshAxes &axes) { return !axes.empty(); });
}

bool Split::uses(int axis) const {
  return llvm::is_contained(unreduced, axis) ||
         llvm::any_of(dims, [&](const MeshAxes &axes) { return llvm::is_contained(axes, axis); });
}

DeviceBuilder::DeviceBuilder(MLIRContext *context, sdy::MeshAttr mesh)
    : builder(context), mesh(mesh) {
  for (sdy::MeshAxisAttr axis : mesh.getAxes())
    sizes.push_back(axis.getSize());
  int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  places.resize(count);
  ArrayRef<int64_t> ids = mesh.getDeviceIds();
  for (int64_t position = 0; position < count; ++position) {
    std::vector<int64_t> place(sizes.size());
    int64_t left = position;
    for (size_t axis = sizes.size(); axis-- > 0; left /= sizes[axis])
      place[axis] = left % sizes[axis];
    places[ids.empty() ? position : ids[position]] = std::move(place);
  }
}

int DeviceBuilder::axisOf(StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(mesh.getAxes()))
    if (axis.getName() == name)
      return static_cast<int>(i);
  return -1;
}

int64_t DeviceBuilder::parts(ArrayRef<int> axes) const {
  int64_t product = 1;
  for (int axis : axes)
    product *= sizes[axis];
  return product;
}

bool DeviceBuilder::isEven(Type type, const Split &split) const {
  auto ranked = cast<RankedTensorType>(type);
  if (ranked.getRank() != static_cast<int64_t>(split.dims.size()))
    return false;
  for (auto [size, axes] : llvm::zip_equal(ranked.getShape(), split.dims))
    if (size % parts(axes))
      return false;
  return true;
}

RankedTensorType DeviceBuilder::pieceType(Type type, const Split &split) const {
  auto ranked = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(ranked.getShape());
  for (auto [size, axes] : llvm::zip_equal(shape, split.dims))
    size /= parts(axes);
  return RankedTensorType::get(shape, ranked.getElementType(), ranked.getEncoding());
}

Operation *DeviceBuilder::make(Location loc, StringRef name, TypeRange types, ValueRange operands,
                               ArrayRef<NamedAttribute> attributes, unsigned regions) {
  OperationState state(loc, name);
  state.addTypes(types);
  state.addOperands(operands);
  state.addAttributes(attributes);
  for (unsigned i = 0; i < regions; ++i)
    state.addRegion();
  return builder.create(state);
}

Value DeviceBuilder::splat(Location loc, RankedTensorType type, Attribute element) {
  NamedAttribute value = builder.getNamedAttr("value", DenseElementsAttr::get(type, element));
  return make(loc, "stablehlo.constant", type, {}, value)->getResult(0);
}

Value DeviceBuilder::zeros(Location loc, RankedTensorType type) {
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute zero = builder.getZeroAttr(complex.getElementType());
    return splat(loc, type, builder.getArrayAttr({zero, zero}));
  }
  return splat(loc, type, builder.getZeroAttr(element));
}

int64_t DeviceBuilder::indexAlong(int64_t device, ArrayRef<int> axes) const {
  int64_t index = 0;
  for (int axis : axes)
    index = index * sizes[axis] + places[device][axis];
  return index;
}

Value DeviceBuilder::offset(Location loc, ArrayRef<int> axes, int64_t size) {
  SmallVector<int32_t> table;
  for (int64_t device = 0; device < deviceCount(); ++device)
    table.push_back(static_cast<int32_t>(indexAlong(device, axes) * size));
  Type i32 = builder.getI32Type();
  auto type = RankedTensorType::get({deviceCount()}, i32);
  Value all =
      make(loc, "stablehlo.constant", type, {},
           builder.getNamedAttr("value", DenseElementsAttr::get(type, ArrayRef<int32_t>(table))))
          ->getResult(0);
  Type scalar = RankedTensorType::get({}, builder.getIntegerType(32, /*isSigned=*/false));
  Value device = make(loc, "stablehlo.partition_id", scalar, {})->getResult(0);
  Value one = make(loc, "stablehlo.dynamic_slice", RankedTensorType::get({1}, i32), {all, device},
                   builder.getNamedAttr("slice_sizes", builder.getDenseI64ArrayAttr({1})))
                  ->getResult(0);
  return make(loc, "stablehlo.reshape", RankedTensorType::get({}, i32), one)->getResult(0);
}

SmallVector<NamedAttribute> DeviceBuilder::groupAttributes(ArrayRef<int> axes) {
  // Devices that differ along these axes alone, in their order.
  std::map<std::vector<int64_t>, std::vector<int64_t>> groups;
  int64_t count = parts(axes);
  for (int64_t device = 0; device < deviceCount(); ++device) {
    std::vector<int64_t> rest = places[device];
    for (int axis : axes)
      rest[axis] = 0;
    std::vector<int64_t> &group = groups[rest];
    group.resize(count);
    group[indexAlong(device, axes)] = device;
  }
  std::vector<int64_t> numbers;
  for (const auto &[rest, group] : groups)
    numbers.insert(numbers.end(), group.begin(), group.end());
  auto type =
      RankedTensorType::get({static_cast<int64_t>(groups.size()), count}, builder.getI64Type());
  return {
      builder.getNamedAttr("replica_groups",
                           DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers))),
      builder.getNamedAttr("channel_handle",
                           stablehlo::ChannelHandleAttr::get(builder.getContext(), 1, 1)),
      builder.getNamedAttr("use_global_device_ids", builder.getUnitAttr()),
  };
}

Value DeviceBuilder::allReduce(Location loc, Value value, ArrayRef<int> axes, StringRef combiner) {
  if (parts(axes) == 1)
    return value;
  Operation *op = make(loc, "stablehlo.all_reduce", value.getType(), value, groupAttributes(axes),
                       /*regions=*/1);
  auto scalar = RankedTensorType::get({}, cast<RankedTensorType>(value.getType()).getElementType());
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op->getRegion(0), {}, {scalar, scalar}, {loc, loc});
  Value result = make(loc, combiner, scalar, block->getArguments())->getResult(0);
  make(loc, "stablehlo.return", {}, result);
  return op->getResult(0);
}

Value DeviceBuilder::allGather(Location loc, Value value, int64_t dim, ArrayRef<int> axes) {
  if (parts(axes) == 1)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] *= parts(axes);
  SmallVector<NamedAttribute> attributes = groupAttributes(axes);
  attributes.push_back(builder.getNamedAttr("all_gather_dim", builder.getI64IntegerAttr(dim)));
  return make(loc, "stablehlo.all_gather", type.clone(shape), value, attributes)->getResult(0);
}

Value DeviceBuilder::cut(Location loc, Value value, int64_t dim, ArrayRef<int> axes) {
  if (parts(axes) == 1)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= parts(axes);
  Value zero = zeros(loc, RankedTensorType::get({}, builder.getI32Type()));
  SmallVector<Value> operands{value};
  operands.append(type.getRank(), zero);
  operands[1 + dim] = offset(loc, axes, shape[dim]);
  return make(loc, "stablehlo.dynamic_slice", type.clone(shape), operands,
              builder.getNamedAttr("slice_sizes", builder.getDenseI64ArrayAttr(shape)))
      ->getResult(0);
}

Value DeviceBuilder::spread(Location loc, Value value, int64_t dim, int axis) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t size = shape[dim];
  shape[dim] *= sizes[axis];
  Value zero = zeros(loc, RankedTensorType::get({}, builder.getI32Type()));
  SmallVector<Value> operands{zeros(loc, type.clone(shape)), value};
  operands.append(type.getRank(), zero);
  operands[2 + dim] = offset(loc, axis, size);
  return make(loc, "stablehlo.dynamic_update_slice", type.clone(shape), operands)->getResult(0);
}

Value DeviceBuilder::onFirst(Location loc, Value value, int axis) {
  auto type = cast<RankedTensorType>(value.getType());
  Value index = offset(loc, axis, 1);
  Value zero = zeros(loc, cast<RankedTensorType>(index.getType()));
  NamedAttribute direction = builder.getNamedAttr(
      "comparison_direction", stablehlo::ComparisonDirectionAttr::get(
                                  builder.getContext(), stablehlo::ComparisonDirection::EQ));
  Value isFirst = make(loc, "stablehlo.compare", RankedTensorType::get({}, builder.getI1Type()),
                       {index, zero}, direction)
                      ->getResult(0);
  return make(loc, "stablehlo.select", type, {isFirst, value, zeros(loc, type)})->getResult(0);
}

Value DeviceBuilder::reshard(Location loc, Value value, const Split &from, const Split &to) {
  Split now = from;
  // A piece becomes a summand among zeros where the axis is one to sum over and the innermost.
  for (int axis : to.unreduced)
    for (auto [dim, axes] : llvm::enumerate(now.dims))
      if (!axes.empty() && axes.back() == axis) {
        value = spread(loc, value, static_cast<int64_t>(dim), axis);
        axes.pop_back();
        now.unreduced.push_back(axis);
      }
  MeshAxes summed, placed;
  for (int axis : now.unreduced)
    (llvm::is_contained(to.unreduced, axis) ? placed : summed).push_back(axis);
  if (!summed.empty())
    value = allReduce(loc, value, summed, "stablehlo.add");
  SmallVector<size_t> common;
  for (auto [dim, axes] : llvm::enumerate(now.dims)) {
    const MeshAxes &wanted = to.dims[dim];
    size_t same = 0;
    while (same < axes.size() && same < wanted.size() && axes[same] == wanted[same])
      ++same;
    common.push_back(same);
    ArrayRef<int> rest = ArrayRef(axes).drop_front(same);
    if (!rest.empty())
      value = allGather(loc, value, static_cast<int64_t>(dim), rest);
  }
  for (auto [dim, wanted] : llvm::enumerate(to.dims)) {
    ArrayRef<int> rest = ArrayRef(wanted).drop_front(common[dim]);
    if (!rest.empty())
      value = cut(loc, value, static_cast<int64_t>(dim), rest);
  }
  for (int axis : to.unreduced)
    if (!llvm::is_contained(placed, axis))
      value = onFirst(loc, value, axis);
  return value;
}

} // namespace cupel::compiler
