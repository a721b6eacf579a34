#include "cupel/compiler/backends/cpu/LoopSteps.h"

#include "cupel/compiler/backends/cpu/Boxes.h"
#include "cupel/compiler/backends/cpu/CodeKernel.h"
#include "cupel/compiler/backends/cpu/Combine.h"
#include "cupel/compiler/backends/cpu/IndexReader.h"
#include "cupel/reference/Indexing.h"
#include "cupel/reference/Registry.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

using Step = codegen::LoopStep;
using Kind = Step::Kind;

ArrayRef<int64_t> sizesOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

std::optional<tensor::DType> dtypeOf(Value value) {
  Result<tensor::ElementType> type =
      reference::elementTypeOf(cast<RankedTensorType>(value.getType()).getElementType());
  if (!type)
    return std::nullopt;
  return type->storage;
}

int64_t countOf(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// Whether a box is one stretch of a tensor that lies row by row.
bool isOneStretch(ArrayRef<int64_t> whole, ArrayRef<int64_t> box) {
  size_t d = 0;
  while (d < box.size() && box[d] == 1)
    ++d;
  for (++d; d < box.size(); ++d)
    if (box[d] != whole[d])
      return false;
  return true;
}

class StepOf {
public:
  StepOf(dev::LaunchOp launch, ArrayRef<int> buffers,
         llvm::function_ref<bool(int, int)> areOne)
      : launch(launch), buffers(buffers), areOne(areOne) {}

  std::optional<Step> make() {
    Block &body = launch.getBody().front();
    if (body.without_terminator().empty())
      return copy();
    return llvm::TypeSwitch<Operation *, std::optional<Step>>(&dev::workOf(launch))
        .Case<tir::MapOp, tir::RowOp, tir::ReduceOp, stablehlo::DynamicSliceOp,
              stablehlo::DynamicUpdateSliceOp, stablehlo::ScatterOp>([&](auto op) { return step(op); })
        .Default([](Operation *) { return std::nullopt; });
  }

private:
  int bufferOf(Value operand) const { return buffers[cast<BlockArgument>(operand).getArgNumber()]; }
  int written(size_t i) { return buffers[launch.getReads().size() + i]; }

  static codegen::View view(tensor::DType type, int64_t offset, bool inStep) {
    codegen::View view;
    view.type = type;
    view.offset = offset;
    if (inStep)
      view.strides = {1};
    return view;
  }

  std::optional<Step> copy() {
    if (launch.getReads().size() != 1)
      return std::nullopt;
    Value value = launch.getBody().getArgument(0);
    std::optional<tensor::DType> type = dtypeOf(value);
    if (!type)
      return std::nullopt;
    Step result;
    result.kind = Kind::Points;
    result.points = countOf(sizesOf(value));
    result.inputs = {buffers[0]};
    result.outputs = {written(0)};
    result.inputViews = result.outputViews = {view(*type, 0, result.points != 1)};
    return result.points == 0 ? std::nullopt : std::optional(result);
  }

  /// In registers, if all is read in step or the same for all.
  std::optional<Step> points(tir::MapOp map) {
    Step result;
    result.kind = Kind::Points;
    result.points = countOf(map.getSizes());
    result.body = &map.getBody().front();
    if (result.points == 0)
      return std::nullopt;
    for (auto [input, reading] :
         llvm::zip(map.getInputs(), map.getViews().getAsRange<tir::ViewAttr>())) {
      bool isSame = reading.getValid().empty();
      for (auto [size, stride] : llvm::zip(map.getSizes(), reading.getStrides()))
        isSame &= size == 1 || stride == 0;
      bool inStep = !isSame && reading.isIdentity(map.getSizes());
      if (!isSame && !inStep)
        return std::nullopt;
      result.inputs.push_back(bufferOf(input));
      result.inputViews.push_back(view(*dtypeOf(input), reading.getOffset(), inStep));
    }
    for (auto [i, output] : llvm::enumerate(map.getResults())) {
      result.outputs.push_back(written(i));
      result.outputViews.push_back(view(*dtypeOf(output), 0, result.points != 1));
    }
    return codegen::supportsStep(result) ? std::optional(result) : std::nullopt;
  }

  std::optional<Step> step(tir::MapOp map) {
    if (std::optional<Step> few = points(map))
      return few;
    return withKernel(map, mapKernelOf(map));
  }
  std::optional<Step> step(tir::RowOp row) { return withKernel(row, rowKernelOf(row)); }
  std::optional<Step> step(tir::ReduceOp reduce) { return withKernel(reduce, reductionOf(reduce)); }

  std::optional<Step> withKernel(Operation *op, codegen::StepKernel kernel) {
    Step result;
    result.kind = Kind::Kernel;
    result.kernel = std::move(kernel);
    for (Value operand : op->getOperands())
      result.inputs.push_back(bufferOf(operand));
    for (size_t i = 0; i < op->getNumResults(); ++i)
      result.outputs.push_back(written(i));
    return result;
  }

  /// False if an index is of no type that is read.
  bool addIndex(Step &step, Value index, int64_t offset, int64_t last, int64_t stride) {
    if (!IndexReader::reads(index.getType()))
      return false;
    step.indices.push_back({bufferOf(index), *dtypeOf(index), offset, last, stride});
    return true;
  }

  bool addStarts(Step &step, ValueRange starts, ArrayRef<int64_t> whole, ArrayRef<int64_t> box) {
    SmallVector<int64_t> strides = stridesOf(whole);
    for (auto [d, start] : llvm::enumerate(starts))
      if (whole[d] != box[d] && !addIndex(step, start, 0, whole[d] - box[d], strides[d]))
        return false;
    std::optional<tensor::DType> type = dtypeOf(launch.getBody().getArgument(0));
    if (!type)
      return false;
    step.type = *type;
    step.points = countOf(box);
    return step.points > 0 && isOneStretch(whole, box);
  }

  std::optional<Step> step(stablehlo::DynamicSliceOp slice) {
    Step result;
    result.kind = Kind::Take;
    result.inputs = {bufferOf(slice.getOperand())};
    result.outputs = {written(0)};
    if (cast<BlockArgument>(slice.getOperand()).getArgNumber() != 0 ||
        !addStarts(result, slice.getStartIndices(), sizesOf(slice.getOperand()),
                   sizesOf(slice.getResult())))
      return std::nullopt;
    return result;
  }

  std::optional<Step> step(stablehlo::DynamicUpdateSliceOp update) {
    Step result;
    result.kind = Kind::Put;
    result.inputs = {bufferOf(update.getUpdate()), bufferOf(update.getOperand())};
    result.outputs = {written(0)};
    if (!areOne(bufferOf(update.getOperand()), written(0)) ||
        cast<BlockArgument>(update.getOperand()).getArgNumber() != 0 ||
        !addStarts(result, update.getStartIndices(), sizesOf(update.getOperand()),
                   sizesOf(update.getUpdate())))
      return std::nullopt;
    return result;
  }

  /// One window, which lies inside or outside as a whole.
  std::optional<Step> step(stablehlo::ScatterOp scatter) {
    if (scatter.getInputs().size() != 1 ||
        !areOne(bufferOf(scatter.getInputs()[0]), written(0)))
      return std::nullopt;
    std::optional<Combine> combine = combineOf(scatter.getUpdateComputation());
    std::optional<tensor::DType> type = dtypeOf(scatter.getInputs()[0]);
    if (!combine || !type || dtypeOf(scatter.getUpdates()[0]) != type ||
        dtypeOf(scatter->getResult(0)) != type || *type == tensor::DType::I1)
      return std::nullopt;
    if (*combine != Combine::Second && *combine != Combine::Add)
      return std::nullopt;
    auto numbers = scatter.getScatterDimensionNumbers();
    ArrayRef<int64_t> whole = sizesOf(scatter.getInputs()[0]),
                      at = sizesOf(scatter.getScatterIndices()),
                      from = sizesOf(scatter.getUpdates()[0]);
    if (!numbers.getInputBatchingDims().empty() ||
        !llvm::is_sorted(numbers.getUpdateWindowDims()))
      return std::nullopt;
    // One index vector: all that is no window has one element.
    for (size_t d = 0; d < from.size(); ++d)
      if (from[d] != 1 && !llvm::is_contained(numbers.getUpdateWindowDims(), int64_t(d)))
        return std::nullopt;
    SmallVector<int64_t> box, strides = stridesOf(whole), indexStrides = stridesOf(at);
    size_t next = 0;
    for (size_t d = 0; d < whole.size(); ++d)
      box.push_back(llvm::is_contained(numbers.getInsertedWindowDims(), int64_t(d))
                        ? 1
                        : from[size_t(numbers.getUpdateWindowDims()[next++])]);
    Step result;
    result.kind = *combine == Combine::Second ? Kind::PutIf : Kind::AddIf;
    result.type = *type;
    result.points = countOf(box);
    result.inputs = {bufferOf(scatter.getUpdates()[0]), bufferOf(scatter.getInputs()[0])};
    result.outputs = {written(0)};
    if (result.points == 0 || !isOneStretch(whole, box))
      return std::nullopt;
    auto vectorDim = numbers.getIndexVectorDim();
    for (auto [k, d] : llvm::enumerate(numbers.getScatterDimsToOperandDims())) {
      int64_t offset = vectorDim < int64_t(at.size()) ? int64_t(k) * indexStrides[vectorDim] : 0;
      // A window of one element is inside or outside; larger ones may overhang.
      if (box[d] != 1 ||
          !addIndex(result, scatter.getScatterIndices(), offset, whole[d] - 1, strides[d]))
        return std::nullopt;
    }
    return result;
  }

  dev::LaunchOp launch;
  ArrayRef<int> buffers;
  llvm::function_ref<bool(int, int)> areOne;
};

} // namespace

codegen::LoopStep loopStep(dev::LaunchOp launch, ArrayRef<int> buffers,
                           llvm::function_ref<bool(int, int)> areOne) {
  std::optional<Step> step = StepOf(launch, buffers, areOne).make();
  return step && codegen::supportsStep(*step) ? std::move(*step) : Step();
}

} // namespace cupel::compiler
