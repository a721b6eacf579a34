// Operations that move elements: shapes, slices, gathers and scatters.

#include "cupel/reference/DataMovement.h"
#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Indexing.h"
#include "cupel/reference/PlanElementwise.h"
#include "cupel/reference/ReadInPlace.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/Sort.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using tensor::ElementType;
using tensor::Shape;
using tensor::Tensor;

namespace {

using Kernel = std::function<Result<Tensor>(GridProcess &, StepArguments &)>;

/// A step with one result, which gets the element type that the op's type says.
Result<StepFunction> single(Operation *op, Kernel kernel) {
  Result<ElementType> element = resultElement(op);
  if (!element)
    return element.error();
  return StepFunction([element = *element, kernel = std::move(kernel)](
                          GridProcess &process, StepArguments &arguments) -> Status {
    Result<Tensor> result = kernel(process, arguments);
    if (!result)
      return result.error();
    arguments.set(0, result->elementType() == element ? std::move(*result)
                                                      : result->withElementType(element));
    return {};
  });
}

Result<Shape> shapeFrom(const Tensor &tensor) {
  Result<std::vector<int64_t>> values = integersOf(tensor);
  if (!values)
    return values.error();
  for (int64_t size : *values)
    if (size < 0)
      return Error{"a shape with the negative size " + std::to_string(size) + " was asked for"};
  return *values;
}

/// Whether all who take the value read operands where they lie: to write it out would take more
/// memory and time than many of them.
bool isOfElementwise(Operation *op) {
  auto isQuantized = [](mlir::Type type) {
    return isa<quant::QuantizedType>(getElementTypeOrSelf(type));
  };
  return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
    return user->getBlock() == op->getBlock() && elementOpOf(user) &&
           llvm::none_of(user->getOperandTypes(), isQuantized) &&
           llvm::none_of(user->getResultTypes(), isQuantized);
  });
}

/// How many elements from the last dimensions on are neighbours, or one element again and again. Sizes
/// that are not known are not counted.
int64_t rowLength(stablehlo::BroadcastInDimOp op) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  ArrayRef<int64_t> to = op.getType().getShape(), dimensions = op.getBroadcastDimensions();
  llvm::SmallVector<int64_t> steps(to.size(), 0);
  int64_t step = 1;
  for (int64_t i = from.getRank() - 1; i >= 0; --i) {
    if (from.isDynamicDim(i))
      return 0;
    if (from.getDimSize(i) != 1)
      steps[dimensions[i]] = step;
    step *= from.getDimSize(i);
  }
  int64_t neighbours = 1, repeated = 1;
  bool areNeighbours = true, isRepeated = true;
  for (size_t d = to.size(); d-- > 0 && (areNeighbours || isRepeated);) {
    if (ShapedType::isDynamic(to[d]))
      break;
    areNeighbours &= to[d] == 1 || steps[d] == neighbours;
    isRepeated &= to[d] == 1 || steps[d] == 0;
    neighbours *= areNeighbours ? to[d] : 1;
    repeated *= isRepeated ? to[d] : 1;
  }
  return std::max(neighbours, repeated);
}

Result<StepFunction> planBroadcastInDim(Operation *op, Planning &) {
  auto broadcast = cast<stablehlo::BroadcastInDimOp>(op);
  Shape shape = shapeOf(broadcast.getType());
  std::vector<int64_t> dims = toVector(broadcast.getBroadcastDimensions());
  return single(op, [shape, dims, mayLie = isReadInPlace(op)](
                        GridProcess &, StepArguments &arguments) -> Result<Tensor> {
    // A bounded dimension has the size its operand has.
    Shape sizes = shape;
    for (size_t i = 0; i < dims.size(); ++i)
      if (sizes[dims[i]] < 0)
        sizes[dims[i]] = arguments.tensor(0).dim(i);
    return broadcastInDim(arguments.tensor(0), std::move(sizes), dims, mayLie);
  });
}

Result<StepFunction> planBroadcast(Operation *op, Planning &) {
  std::vector<int64_t> sizes = toVector(cast<stablehlo::BroadcastOp>(op).getBroadcastSizes());
  return single(op, [sizes](GridProcess &process, StepArguments &arguments) -> Result<Tensor> {
    const Tensor &operand = arguments.tensor(0);
    Shape shape = sizes;
    std::vector<int64_t> dims;
    for (int64_t size : operand.shape()) {
      dims.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(size);
    }
    if (Status status = reserveFor(process, operand.dtype(), shape); !status)
      return status.error();
    return broadcastInDim(operand, std::move(shape), dims);
  });
}

Result<StepFunction> planDynamicBroadcastInDim(Operation *op, Planning &) {
  std::vector<int64_t> dims =
      toVector(cast<stablehlo::DynamicBroadcastInDimOp>(op).getBroadcastDimensions());
  return single(op, [dims](GridProcess &process, StepArguments &arguments) -> Result<Tensor> {
    Result<Shape> shape = shapeFrom(arguments.tensor(1));
    if (!shape)
      return shape.error();
    if (Status status = reserveFor(process, arguments.tensor(0).dtype(), *shape); !status)
      return status.error();
    return broadcastInDim(arguments.tensor(0), std::move(*shape), dims);
  });
}

Result<StepFunction> planConcatenate(Operation *op, Planning &) {
  int64_t dimension = cast<stablehlo::ConcatenateOp>(op).getDimension();
  return single(op, [dimension](GridProcess &, StepArguments &arguments) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < arguments.size(); ++i)
      inputs.push_back(arguments.tensor(i));
    return concatenate(inputs, dimension);
  });
}

Result<StepFunction> planReshape(Operation *op, Planning &) {
  Shape shape = shapeOf(op->getResult(0).getType());
  return single(op, [shape](GridProcess &, StepArguments &arguments) -> Result<Tensor> {
    Shape sizes = shape;
    // One bounded dimension takes what is left.
    auto unknown = std::ranges::find(sizes, -1);
    if (unknown != sizes.end()) {
      *unknown = 1;
      std::optional<int64_t> rest = tensor::elementCount(sizes);
      if (!rest || *rest == 0 || arguments.tensor(0).size() % *rest)
        return Error{"the elements do not fit the result's shape"};
      *unknown = arguments.tensor(0).size() / *rest;
    }
    return reshape(arguments.takeTensor(0), std::move(sizes));
  });
}

Result<StepFunction> planDynamicReshape(Operation *op, Planning &) {
  return single(op, [](GridProcess &, StepArguments &arguments) -> Result<Tensor> {
    Result<Shape> shape = shapeFrom(arguments.tensor(1));
    if (!shape)
      return shape.error();
    return reshape(arguments.takeTensor(0), std::move(*shape));
  });
}

Result<StepFunction> planReverse(Operation *op, Planning &) {
  std::vector<int64_t> dims = toVector(cast<stablehlo::ReverseOp>(op).getDimensions());
  return single(op, [dims](GridProcess &, StepArguments &arguments) {
    return reverse(arguments.tensor(0), dims);
  });
}

Result<StepFunction> planTranspose(Operation *op, Planning &) {
  std::vector<int64_t> dims = toVector(cast<stablehlo::TransposeOp>(op).getPermutation());
  return single(op, [dims](GridProcess &, StepArguments &arguments) {
    return transpose(arguments.tensor(0), dims);
  });
}

Result<StepFunction> planSlice(Operation *op, Planning &) {
  auto sliced = cast<stablehlo::SliceOp>(op);
  std::vector<int64_t> start = toVector(sliced.getStartIndices()),
                       limit = toVector(sliced.getLimitIndices()),
                       stride = toVector(sliced.getStrides());
  return single(op, [=](GridProcess &, StepArguments &arguments) {
    return slice(arguments.tensor(0), start, limit, stride);
  });
}

/// The values of scalars from operand `first` on.
Result<std::vector<int64_t>> scalarsFrom(StepArguments &arguments, size_t first) {
  std::vector<int64_t> values;
  for (size_t i = first; i < arguments.size(); ++i) {
    Result<std::vector<int64_t>> value = readIntegers(arguments.tensor(i));
    if (!value)
      return value.error();
    values.push_back(value->at(0));
  }
  return values;
}

Result<StepFunction> planDynamicSlice(Operation *op, Planning &) {
  std::vector<int64_t> sizes = toVector(cast<stablehlo::DynamicSliceOp>(op).getSliceSizes());
  return single(op, [sizes](GridProcess &, StepArguments &arguments) -> Result<Tensor> {
    Result<std::vector<int64_t>> starts = scalarsFrom(arguments, 1);
    if (!starts)
      return starts.error();
    return dynamicSlice(arguments.tensor(0), *starts, sizes);
  });
}

Result<StepFunction> planDynamicUpdateSlice(Operation *op, Planning &) {
  return single(op, [](GridProcess &, StepArguments &arguments) -> Result<Tensor> {
    Result<std::vector<int64_t>> starts = scalarsFrom(arguments, 2);
    if (!starts)
      return starts.error();
    return dynamicUpdateSlice(arguments.takeTensor(0), arguments.tensor(1), *starts);
  });
}

Result<StepFunction> planRealDynamicSlice(Operation *op, Planning &) {
  return single(op, [](GridProcess &, StepArguments &arguments) {
    return realDynamicSlice(arguments.tensor(0), arguments.tensor(1), arguments.tensor(2),
                            arguments.tensor(3));
  });
}

/// The result's shape, checked before memory is asked for.
Status reservePadded(GridProcess &process, const Tensor &operand, std::span<const int64_t> low,
                     std::span<const int64_t> high, std::span<const int64_t> interior) {
  Shape shape;
  for (size_t i = 0; i < low.size() && i < high.size() && i < interior.size() &&
                     i < static_cast<size_t>(operand.rank());
       ++i) {
    __int128 size = operand.dim(i);
    size += __int128(low[i]) + high[i] + std::max<__int128>(size - 1, 0) * interior[i];
    if (size > INT64_MAX)
      return Error{"the padded tensor is too large"};
    shape.push_back(std::max<int64_t>(static_cast<int64_t>(size), 0));
  }
  return reserveFor(process, operand.dtype(), shape);
}

Result<StepFunction> planPad(Operation *op, Planning &) {
  auto padded = cast<stablehlo::PadOp>(op);
  std::vector<int64_t> low = toVector(padded.getEdgePaddingLow()),
                       high = toVector(padded.getEdgePaddingHigh()),
                       interior = toVector(padded.getInteriorPadding());
  return single(op, [=](GridProcess &process, StepArguments &arguments) -> Result<Tensor> {
    if (Status status = reservePadded(process, arguments.tensor(0), low, high, interior); !status)
      return status.error();
    return pad(arguments.tensor(0), arguments.tensor(1), low, high, interior);
  });
}

Result<StepFunction> planDynamicPad(Operation *op, Planning &) {
  return single(op, [](GridProcess &process, StepArguments &arguments) -> Result<Tensor> {
    std::vector<int64_t> amounts[3];
    for (int i = 0; i < 3; ++i) {
      Result<std::vector<int64_t>> values = integersOf(arguments.tensor(2 + i));
      if (!values)
        return values.error();
      amounts[i] = std::move(*values);
    }
    if (Status status =
            reservePadded(process, arguments.tensor(0), amounts[0], amounts[1], amounts[2]);
        !status)
      return status.error();
    return pad(arguments.tensor(0), arguments.tensor(1), amounts[0], amounts[1], amounts[2]);
  });
}

Result<StepFunction> planIota(Operation *op, Planning &) {
  auto counted = cast<stablehlo::IotaOp>(op);
  Result<ElementType> element = resultElement(op);
  if (!element)
    return element.error();
  int64_t dimension = counted.getIotaDimension();
  Shape shape = shapeOf(op->getResult(0).getType());
  return single(op, [=, element = *element](GridProcess &, StepArguments &) {
    return iota(element, shape, dimension);
  });
}

Result<StepFunction> planDynamicIota(Operation *op, Planning &) {
  Result<ElementType> element = resultElement(op);
  if (!element)
    return element.error();
  int64_t dimension = cast<stablehlo::DynamicIotaOp>(op).getIotaDimension();
  return single(
      op,
      [=, element = *element](GridProcess &process, StepArguments &arguments) -> Result<Tensor> {
        Result<Shape> shape = shapeFrom(arguments.tensor(0));
        if (!shape)
          return shape.error();
        if (Status status = reserveFor(process, element.storage, *shape); !status)
          return status.error();
        return iota(element, std::move(*shape), dimension);
      });
}

Result<StepFunction> planBitcastConvert(Operation *op, Planning &) {
  Result<ElementType> from = operandElement(op, 0), to = resultElement(op);
  if (!from || !to)
    return !from ? from.error() : to.error();
  int fromBits = info(from->storage).bits, toBits = info(to->storage).bits;
  return single(op, [=, to = *to](GridProcess &, StepArguments &arguments) {
    const Tensor &operand = arguments.tensor(0);
    Shape shape(operand.shape().begin(), operand.shape().end());
    if (fromBits > toBits)
      shape.push_back(fromBits / toBits);
    else if (fromBits < toBits && !shape.empty())
      shape.pop_back();
    return bitcastConvert(operand, to, std::move(shape));
  });
}

Result<StepFunction> planGetDimensionSize(Operation *op, Planning &) {
  int64_t dimension = cast<stablehlo::GetDimensionSizeOp>(op).getDimension();
  return single(op, [dimension](GridProcess &, StepArguments &arguments) {
    return getDimensionSize(arguments.tensor(0), dimension);
  });
}

Result<StepFunction> planSetDimensionSize(Operation *op, Planning &) {
  int64_t dimension = cast<stablehlo::SetDimensionSizeOp>(op).getDimension();
  // The type's bound, where it has one, is the largest size.
  int64_t bound = -1;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto extensions = dyn_cast_or_null<stablehlo::TypeExtensionsAttr>(type.getEncoding())) {
    int64_t given = extensions.getBounds()[dimension];
    bound = ShapedType::isDynamic(given) ? -1 : given;
  }
  return single(op, [=](GridProcess &, StepArguments &arguments) {
    return setDimensionSize(arguments.tensor(0), arguments.tensor(1), dimension, bound);
  });
}

GatherNumbers numbersOf(stablehlo::GatherDimensionNumbersAttr attr) {
  return {toVector(attr.getOffsetDims()),          toVector(attr.getCollapsedSliceDims()),
          toVector(attr.getOperandBatchingDims()), toVector(attr.getStartIndicesBatchingDims()),
          toVector(attr.getStartIndexMap()),       attr.getIndexVectorDim()};
}

Result<StepFunction> planGather(Operation *op, Planning &) {
  auto gathered = cast<stablehlo::GatherOp>(op);
  GatherNumbers numbers = numbersOf(gathered.getDimensionNumbers());
  std::vector<int64_t> sizes = toVector(gathered.getSliceSizes());
  return single(op, [=](GridProcess &, StepArguments &arguments) {
    return gather(arguments.tensor(0), arguments.tensor(1), numbers, sizes);
  });
}

Result<StepFunction> planDynamicGather(Operation *op, Planning &) {
  GatherNumbers numbers = numbersOf(cast<stablehlo::DynamicGatherOp>(op).getDimensionNumbers());
  return single(op, [=](GridProcess &, StepArguments &arguments) -> Result<Tensor> {
    Result<Shape> sizes = shapeFrom(arguments.tensor(2));
    if (!sizes)
      return sizes.error();
    return gather(arguments.tensor(0), arguments.tensor(1), numbers, *sizes);
  });
}

Result<StepFunction> planTorchIndexSelect(Operation *op, Planning &) {
  auto selected = cast<stablehlo::TorchIndexSelectOp>(op);
  int64_t dim = selected.getDim(), batch = selected.getBatchDims();
  return single(op, [=](GridProcess &, StepArguments &arguments) {
    return torchIndexSelect(arguments.tensor(0), arguments.tensor(1), dim, batch);
  });
}

Result<StepFunction> planScatter(Operation *op, Planning &planning) {
  auto scattered = cast<stablehlo::ScatterOp>(op);
  auto attr = scattered.getScatterDimensionNumbers();
  ScatterNumbers numbers{
      toVector(attr.getUpdateWindowDims()),         toVector(attr.getInsertedWindowDims()),
      toVector(attr.getInputBatchingDims()),        toVector(attr.getScatterIndicesBatchingDims()),
      toVector(attr.getScatterDimsToOperandDims()), attr.getIndexVectorDim(),
      scattered->hasAttr(kWholeWindowsAttr)};
  auto body = planning.function(scattered.getUpdateComputation());
  if (!body)
    return body.error();
  size_t count = scattered.getInputs().size();
  return StepFunction([=, body = *body](GridProcess &process, StepArguments &arguments) -> Status {
    std::vector<Tensor> inputs, updates;
    for (size_t i = 0; i < count; ++i) {
      Result<Tensor> input = promoted(arguments.takeTensor(i), body->argumentTypes()[i]);
      Result<Tensor> update =
          promoted(arguments.tensor(count + 1 + i), body->argumentTypes()[count + i]);
      if (!input || !update)
        return !input ? input.error() : update.error();
      inputs.push_back(std::move(*input));
      updates.push_back(std::move(*update));
    }
    auto function = body->bind(process, arguments.frame);
    ScatterNumbers now = numbers;
    now.order = process.run.options.jitter.order;
    Result<std::vector<Tensor>> results =
        scatter(std::move(inputs), arguments.tensor(count), updates, now, *function);
    if (!results)
      return results.error();
    for (size_t i = 0; i < count; ++i)
      arguments.set(i, std::move((*results)[i]));
    return {};
  });
}

Result<StepFunction> planSort(Operation *op, Planning &planning) {
  auto sorted = cast<stablehlo::SortOp>(op);
  int64_t dimension = sorted.getDimension();
  bool isStable = sorted.getIsStable();
  auto comparator = planning.function(sorted.getComparator());
  if (!comparator)
    return comparator.error();
  return StepFunction(
      [=, comparator = *comparator](GridProcess &process, StepArguments &arguments) -> Status {
        std::vector<Tensor> inputs;
        for (size_t i = 0; i < arguments.size(); ++i)
          inputs.push_back(arguments.tensor(i));
        auto function = comparator->bind(process, arguments.frame);
        // Which of equal ones comes first is then for the device to choose: a moved evaluation
        // is one of another device.
        const Jitter &jitter = process.run.options.jitter;
        std::optional<uint64_t> ties;
        if (!isStable && jitter.isOn())
          ties = jitter.seed * 0x9e3779b97f4a7c15 + ++process.jitters;
        Result<std::vector<Tensor>> results = sort(inputs, dimension, *function, ties);
        if (!results)
          return results.error();
        for (size_t i = 0; i < results->size(); ++i)
          arguments.set(i, std::move((*results)[i]));
        return {};
      });
}

} // namespace

bool isReadInPlace(Operation *op) {
  auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
  return broadcast && rowLength(broadcast) >= kLongRow && isOfElementwise(op);
}

void registerDataMovement(Registry &registry) {
  registry.add("stablehlo.broadcast_in_dim", planBroadcastInDim);
  registry.add("stablehlo.broadcast", planBroadcast);
  registry.add("stablehlo.dynamic_broadcast_in_dim", planDynamicBroadcastInDim);
  registry.add("stablehlo.concatenate", planConcatenate);
  registry.add("stablehlo.reshape", planReshape);
  registry.add("stablehlo.dynamic_reshape", planDynamicReshape);
  registry.add("stablehlo.reverse", planReverse);
  registry.add("stablehlo.transpose", planTranspose);
  registry.add("stablehlo.slice", planSlice);
  registry.add("stablehlo.dynamic_slice", planDynamicSlice);
  registry.add("stablehlo.dynamic_update_slice", planDynamicUpdateSlice);
  registry.add("stablehlo.real_dynamic_slice", planRealDynamicSlice);
  registry.add("stablehlo.pad", planPad);
  registry.add("stablehlo.dynamic_pad", planDynamicPad);
  registry.add("stablehlo.iota", planIota);
  registry.add("stablehlo.dynamic_iota", planDynamicIota);
  registry.add("stablehlo.bitcast_convert", planBitcastConvert);
  registry.add("stablehlo.get_dimension_size", planGetDimensionSize);
  registry.add("stablehlo.set_dimension_size", planSetDimensionSize);
  registry.add("stablehlo.gather", planGather);
  registry.add("stablehlo.dynamic_gather", planDynamicGather);
  registry.add("stablehlo.torch_index_select", planTorchIndexSelect);
  registry.add("stablehlo.scatter", planScatter);
  registry.add("stablehlo.sort", planSort);
}

} // namespace cupel::reference
