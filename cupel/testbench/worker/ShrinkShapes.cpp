#include "cupel/testbench/worker/ShrinkShapes.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/testbench/worker/Spread.h"

#include <algorithm>
#include <llvm/ADT/EquivalenceClasses.h>
#include <map>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Verifier.h>
#include <set>

namespace cupel::testbench::worker {

using namespace mlir;
using tensor::Tensor;

namespace {

RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

/// Which dimensions have the same size, by the meaning of each operation.
class Joins {
public:
  explicit Joins(func::FuncOp entry) {
    for (Value argument : entry.getArguments())
      add(argument);
    for (Operation &op : entry.getBody().front().without_terminator()) {
      for (Value result : op.getResults())
        add(result);
      join(&op);
    }
  }

  std::map<size_t, std::vector<std::pair<Value, int64_t>>> classes() {
    std::map<size_t, std::vector<std::pair<Value, int64_t>>> all;
    std::set<size_t> held;
    for (size_t number : fixed)
      held.insert(together.getLeaderValue(number));
    for (size_t i = 0; i < dimensions.size(); ++i)
      if (size_t leader = together.getLeaderValue(i); !held.contains(leader))
        all[leader].push_back(dimensions[i]);
    return all;
  }

private:
  void add(Value value) {
    auto type = typeOf(value);
    if (!type)
      return;
    first[value] = dimensions.size();
    for (int64_t i = 0; i < type.getRank(); ++i) {
      together.insert(dimensions.size());
      dimensions.emplace_back(value, i);
    }
  }
  bool isKnown(Value value) const { return first.contains(value); }
  void same(Value a, int64_t i, Value b, int64_t j) {
    if (!isKnown(a) || !isKnown(b))
      return;
    size_t x = first.lookup(a) + size_t(i), y = first.lookup(b) + size_t(j);
    if (typeOf(a).getDimSize(i) != typeOf(b).getDimSize(j)) {
      fixed.push_back(x);
      fixed.push_back(y);
      return;
    }
    together.unionSets(x, y);
  }
  void hold(Value value, int64_t i) {
    if (isKnown(value))
      fixed.push_back(first.lookup(value) + size_t(i));
  }
  void holdAll(Value value) {
    if (auto type = typeOf(value))
      for (int64_t i = 0; i < type.getRank(); ++i)
        hold(value, i);
  }
  void alike(Value a, Value b) {
    auto type = typeOf(a), other = typeOf(b);
    if (!type || !other || type.getRank() != other.getRank())
      return;
    for (int64_t i = 0; i < type.getRank(); ++i)
      same(a, i, b, i);
  }

  void join(Operation *op) {
    if (isa<stablehlo::ConstantOp, stablehlo::IotaOp>(op))
      return;
    if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      Value from = op->getOperand(0), to = op->getResult(0);
      for (auto [i, j] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
        if (typeOf(from).getDimSize(int64_t(i)) == 1)
          hold(from, int64_t(i));
        else
          same(from, int64_t(i), to, j);
      }
      return;
    }
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      for (auto [i, j] : llvm::enumerate(transpose.getPermutation()))
        same(op->getResult(0), int64_t(i), op->getOperand(0), j);
      return;
    }
    if (isa<stablehlo::ReshapeOp>(op))
      return joinReshape(op->getOperand(0), op->getResult(0));
    if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
      ArrayRef<int64_t> over = reduce.getDimensions();
      unsigned count = op->getNumResults();
      for (unsigned k = 0; k < count; ++k) {
        Value input = op->getOperand(k);
        alike(input, op->getOperand(0));
        int64_t next = 0;
        for (int64_t i = 0; i < typeOf(input).getRank(); ++i)
          if (!llvm::is_contained(over, i))
            same(input, i, op->getResult(k), next++);
      }
      return;
    }
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
      return joinProduct(dot);
    if (isa<stablehlo::ConvolutionOp>(op))
      return joinConvolution(cast<stablehlo::ConvolutionOp>(op));
    if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op)) {
      auto along = int64_t(concatenate.getDimension());
      hold(op->getResult(0), along);
      for (Value operand : op->getOperands()) {
        hold(operand, along);
        for (int64_t i = 0; i < typeOf(operand).getRank(); ++i)
          if (i != along)
            same(operand, i, op->getResult(0), i);
      }
      return;
    }
    if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
      Value from = op->getOperand(0), to = op->getResult(0);
      for (int64_t i = 0; i < typeOf(from).getRank(); ++i) {
        bool isWhole = typeOf(from).getDimSize(i) == typeOf(to).getDimSize(i);
        if (isWhole)
          same(from, i, to, i);
        else {
          hold(from, i);
          hold(to, i);
        }
      }
      return;
    }
    if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
      return joinGather(gather);
    if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
      return joinScatter(scatter);
    if (auto window = op->getAttrOfType<DenseI64ArrayAttr>("window_dimensions"))
      return joinWindows(op, window.asArrayRef());
    if (isa<stablehlo::DynamicSliceOp, stablehlo::DynamicUpdateSliceOp>(op))
      return joinDynamicSlice(op->getOperand(0), isa<stablehlo::DynamicSliceOp>(op)
                                                     ? op->getResult(0)
                                                     : op->getOperand(1),
                              op);
    if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
      Value from = op->getOperand(0), to = op->getResult(0);
      for (int64_t i = 0; i < typeOf(from).getRank(); ++i)
        joinOrHold(from, to, i, i);
      return;
    }
    bool isPointwise = op->hasTrait<OpTrait::Elementwise>() ||
                       isa<stablehlo::SortOp, stablehlo::ReverseOp, stablehlo::SelectOp,
                           stablehlo::ClampOp, stablehlo::CompareOp, stablehlo::ConvertOp,
                           stablehlo::AllReduceOp>(op);
    bool isAlike = op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
                   op->getAttrDictionary().empty() &&
                   llvm::all_of(op->getOperands(), [&](Value value) {
                     return value.getType() == op->getResult(0).getType();
                   });
    if (isPointwise || isAlike) {
      for (Value operand : op->getOperands())
        alike(operand, op->getResult(0));
      for (Value result : op->getResults())
        alike(result, op->getResult(0));
      return;
    }
    for (Value operand : op->getOperands())
      holdAll(operand);
    for (Value result : op->getResults())
      holdAll(result);
  }

  /// What is whole stays whole; what is cut or made larger stays as it is.
  void joinOrHold(Value a, Value b, int64_t i, int64_t j) {
    if (typeOf(a).getDimSize(i) == typeOf(b).getDimSize(j))
      return same(a, i, b, j);
    hold(a, i);
    hold(b, j);
  }

  /// Sizes of slices follow those of the dimensions that are taken whole; how many slices there are
  /// is free; what an index counts stays, so that indices stay within it.
  void joinGather(stablehlo::GatherOp gather) {
    auto numbers = gather.getDimensionNumbers();
    Value from = gather->getOperand(0), indices = gather->getOperand(1), to = gather->getResult(0);
    if (!numbers.getOperandBatchingDims().empty()) {
      for (Value value : {from, indices, to})
        holdAll(value);
      return;
    }
    ArrayRef<int64_t> sizes = gather.getSliceSizes();
    ArrayRef<int64_t> offsets = numbers.getOffsetDims();
    size_t next = 0;
    for (int64_t i = 0; i < typeOf(from).getRank(); ++i) {
      bool isCollapsed = llvm::is_contained(numbers.getCollapsedSliceDims(), i);
      bool isWhole = !isCollapsed && sizes[size_t(i)] == typeOf(from).getDimSize(i);
      if (isWhole)
        same(from, i, to, offsets[next]);
      else {
        hold(from, i);
        if (!isCollapsed)
          hold(to, offsets[next]);
      }
      next += !isCollapsed;
    }
    joinSlices(indices, numbers.getIndexVectorDim(), to, offsets);
  }

  void joinScatter(stablehlo::ScatterOp scatter) {
    auto numbers = scatter.getScatterDimensionNumbers();
    const unsigned count = scatter->getNumResults();
    Value indices = scatter->getOperand(count);
    if (!numbers.getInputBatchingDims().empty()) {
      for (Value value : scatter->getOperands())
        holdAll(value);
      for (Value value : scatter->getResults())
        holdAll(value);
      return;
    }
    ArrayRef<int64_t> windows = numbers.getUpdateWindowDims();
    for (unsigned k = 0; k < count; ++k) {
      Value into = scatter->getOperand(k), updates = scatter->getOperand(count + 1 + k);
      alike(into, scatter->getResult(k));
      alike(into, scatter->getOperand(0));
      size_t next = 0;
      for (int64_t i = 0; i < typeOf(into).getRank(); ++i) {
        if (llvm::is_contained(numbers.getInsertedWindowDims(), i)) {
          hold(into, i);
          continue;
        }
        joinOrHold(into, updates, i, windows[next++]);
      }
      joinSlices(indices, numbers.getIndexVectorDim(), updates, windows);
    }
  }

  /// The dimensions of indices but that of their vectors are those of the slices but their own.
  void joinSlices(Value indices, int64_t vectors, Value slices, ArrayRef<int64_t> own) {
    int64_t at = 0;
    for (int64_t i = 0; i < typeOf(indices).getRank(); ++i) {
      if (i == vectors) {
        hold(indices, i);
        continue;
      }
      while (llvm::is_contained(own, at))
        ++at;
      same(indices, i, slices, at++);
    }
  }

  /// Dimensions along which windows hold one element and go step by step are free.
  void joinWindows(Operation *op, ArrayRef<int64_t> window) {
    Value first = op->getOperand(0);
    SmallVector<Value> all(op->getOperands());
    all.append(op->result_begin(), op->result_end());
    for (Value value : all) {
      auto type = typeOf(value);
      if (!type || type.getRank() != int64_t(window.size()))
        continue;
      for (size_t i = 0; i < window.size(); ++i)
        if (window[i] == 1)
          joinOrHold(first, value, int64_t(i), int64_t(i));
        else
          hold(value, int64_t(i));
    }
  }

  void joinDynamicSlice(Value whole, Value part, Operation *op) {
    for (int64_t i = 0; i < typeOf(whole).getRank(); ++i)
      joinOrHold(whole, part, i, i);
    if (op->getResult(0) != part)
      alike(whole, op->getResult(0));
  }

  /// Equal sizes at both ends belong together; what is between them was put together or taken
  /// apart.
  void joinReshape(Value from, Value to) {
    ArrayRef<int64_t> a = typeOf(from).getShape(), b = typeOf(to).getShape();
    size_t front = 0;
    while (front < std::min(a.size(), b.size()) && a[front] == b[front]) {
      same(from, int64_t(front), to, int64_t(front));
      ++front;
    }
    size_t back = 0;
    while (back < std::min(a.size(), b.size()) - front &&
           a[a.size() - 1 - back] == b[b.size() - 1 - back]) {
      same(from, int64_t(a.size() - 1 - back), to, int64_t(b.size() - 1 - back));
      ++back;
    }
    for (size_t i = front; i + back < a.size(); ++i)
      hold(from, int64_t(i));
    for (size_t i = front; i + back < b.size(); ++i)
      hold(to, int64_t(i));
  }

  void joinProduct(stablehlo::DotGeneralOp dot) {
    auto numbers = dot.getDotDimensionNumbers();
    Value left = dot->getOperand(0), right = dot->getOperand(1), result = dot->getResult(0);
    ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions(),
                      rightBatch = numbers.getRhsBatchingDimensions(),
                      leftSum = numbers.getLhsContractingDimensions(),
                      rightSum = numbers.getRhsContractingDimensions();
    int64_t next = 0;
    for (auto [i, j] : llvm::zip(leftBatch, rightBatch)) {
      same(left, i, right, j);
      same(left, i, result, next++);
    }
    for (auto [i, j] : llvm::zip(leftSum, rightSum))
      same(left, i, right, j);
    for (int64_t i = 0; i < typeOf(left).getRank(); ++i)
      if (!llvm::is_contained(leftBatch, i) && !llvm::is_contained(leftSum, i))
        same(left, i, result, next++);
    for (int64_t i = 0; i < typeOf(right).getRank(); ++i)
      if (!llvm::is_contained(rightBatch, i) && !llvm::is_contained(rightSum, i))
        same(right, i, result, next++);
  }

  /// The places of windows stay; batch and features shrink where there are no groups.
  void joinConvolution(stablehlo::ConvolutionOp convolution) {
    auto numbers = convolution.getDimensionNumbers();
    Value input = convolution->getOperand(0), kernel = convolution->getOperand(1),
          result = convolution->getResult(0);
    bool isPlain =
        convolution.getFeatureGroupCount() == 1 && convolution.getBatchGroupCount() == 1;
    for (int64_t i : numbers.getInputSpatialDimensions())
      hold(input, i);
    for (int64_t i : numbers.getKernelSpatialDimensions())
      hold(kernel, i);
    for (int64_t i : numbers.getOutputSpatialDimensions())
      hold(result, i);
    if (!isPlain) {
      holdAll(kernel);
      hold(input, numbers.getInputFeatureDimension());
      hold(result, numbers.getOutputFeatureDimension());
    }
    if (convolution.getBatchGroupCount() == 1)
      same(input, numbers.getInputBatchDimension(), result, numbers.getOutputBatchDimension());
    else
      hold(input, numbers.getInputBatchDimension());
    if (isPlain) {
      same(input, numbers.getInputFeatureDimension(), kernel,
           numbers.getKernelInputFeatureDimension());
      same(kernel, numbers.getKernelOutputFeatureDimension(), result,
           numbers.getOutputFeatureDimension());
    }
  }

  std::vector<std::pair<Value, int64_t>> dimensions;
  llvm::DenseMap<Value, size_t> first;
  llvm::EquivalenceClasses<size_t> together;
  std::vector<size_t> fixed;
};

/// A constant's first elements.
DenseElementsAttr firstElements(DenseElementsAttr given, RankedTensorType type) {
  if (given.isSplat())
    return given.resizeSplat(type);
  ArrayRef<int64_t> from = cast<RankedTensorType>(given.getType()).getShape();
  SmallVector<Attribute> all(given.getValues<Attribute>()), kept;
  SmallVector<int64_t> index(type.getRank(), 0);
  for (int64_t n = 0; n < type.getNumElements(); ++n) {
    int64_t flat = 0;
    for (int64_t i = 0; i < type.getRank(); ++i)
      flat = flat * from[size_t(i)] + index[size_t(i)];
    kept.push_back(all[size_t(flat)]);
    for (int64_t i = type.getRank() - 1; i >= 0 && ++index[size_t(i)] == type.getDimSize(i); --i)
      index[size_t(i)] = 0;
  }
  return DenseElementsAttr::get(type, kept);
}

} // namespace

tensor::Tensor firstElements(const Tensor &given, const tensor::Shape &shape) {
  if (std::ranges::equal(given.shape(), shape))
    return given;
  Result<Tensor> plain = given.contiguous();
  Result<Tensor> made = Tensor::uninitialized(given.elementType(), shape);
  if (!plain || !made || made->size() == 0)
    return made ? std::move(*made) : given;
  const size_t width = size_t(plain->byteSize() / plain->size());
  const std::byte *from = plain->data();
  std::byte *to = made->mutableData();
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t n = 0; n < made->size(); ++n) {
    int64_t flat = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      flat = flat * given.shape()[i] + index[i];
    std::memcpy(to + size_t(n) * width, from + size_t(flat) * width, width);
    for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];)
      index[i] = 0;
  }
  return std::move(*made);
}

ShapeClasses::ShapeClasses(const Prepared &program) : whole(program) {
  func::FuncOp entry = compiler::entryOf(cast<ModuleOp>(program.program().module));
  if (!entry || !entry.getBody().hasOneBlock())
    return;
  // In the order of the program, which sorting must not change.
  for (auto &[leader, members] : Joins(entry).classes()) {
    int64_t size = typeOf(members.front().first).getDimSize(members.front().second);
    if (size > 1)
      found.insert(std::ranges::find_if(found, [&](const Class &one) { return one.size < size; }),
                   {size, members});
  }
}

std::optional<Prepared>
ShapeClasses::shrunk(const std::vector<std::pair<size_t, int64_t>> &sizes) const {
  auto module = cast<ModuleOp>(whole.program().module);
  IRMapping mapping;
  OwningOpRef<ModuleOp> made(cast<ModuleOp>(module->clone(mapping)));
  for (auto [number, size] : sizes)
    for (auto [value, dimension] : found[number].dimensions) {
      Value own = mapping.lookup(value);
      auto type = typeOf(own);
      SmallVector<int64_t> shape(type.getShape());
      shape[size_t(dimension)] = size;
      own.setType(type.clone(shape));
    }
  func::FuncOp entry = compiler::entryOf(*made);
  for (Operation &op : entry.getBody().front()) {
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto values = dyn_cast<DenseElementsAttr>(constant.getValue());
      auto type = typeOf(op.getResult(0));
      if (!values || !type)
        return {};
      if (values.getType() != type)
        op.setAttr("value", firstElements(values, type));
    } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
      SmallVector<int64_t> limits(slice.getLimitIndices());
      auto from = typeOf(op.getOperand(0)), to = typeOf(op.getResult(0));
      for (size_t i = 0; i < limits.size(); ++i)
        if (from.getDimSize(int64_t(i)) == to.getDimSize(int64_t(i)))
          limits[i] = from.getDimSize(int64_t(i));
      op.setAttr("limit_indices", DenseI64ArrayAttr::get(op.getContext(), limits));
    } else if (auto gather = dyn_cast<stablehlo::GatherOp>(op)) {
      // Slices that took a dimension whole take it whole now.
      SmallVector<int64_t> sizes(gather.getSliceSizes());
      auto from = typeOf(op.getOperand(0));
      for (size_t i = 0; i < sizes.size(); ++i)
        sizes[i] = std::min(sizes[i], from.getDimSize(int64_t(i)));
      op.setAttr("slice_sizes", DenseI64ArrayAttr::get(op.getContext(), sizes));
    } else if (isa<stablehlo::DynamicSliceOp>(op)) {
      op.setAttr("slice_sizes", DenseI64ArrayAttr::get(op.getContext(),
                                                       typeOf(op.getResult(0)).getShape()));
    }
  }
  entry.setFunctionType(FunctionType::get(
      entry.getContext(), entry.getBody().getArgumentTypes(),
      entry.getBody().front().getTerminator()->getOperandTypes()));
  {
    ScopedDiagnosticHandler quiet(entry.getContext(), [](Diagnostic &) { return success(); });
    if (failed(verify(*made)))
      return {};
  }
  auto read = std::make_unique<ProgramReader::Read>();
  read->module = std::move(made);
  if (!ProgramReader::describe(*read, whole.program().name))
    return {};
  Prepared smaller{std::move(read), whole.workload, whole.budget};
  smaller.read->program.runLike(whole.program());
  if (smaller.program().spreadOver > 1 &&
      !spreadOf(mlir::cast<ModuleOp>(smaller.program().module), smaller.program().spreadOver))
    return {}; // Its pieces would not be of one size.
  smaller.workload.expected.clear();
  for (std::vector<Tensor> &list : smaller.workload.inputs)
    for (size_t i = 0; i < list.size(); ++i)
      list[i] = worker::firstElements(list[i], smaller.program().arguments[i].shape);
  return smaller;
}

} // namespace cupel::testbench::worker
