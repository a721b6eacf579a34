#include "cupel/testbench/worker/ChosenInputs.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Fill.h"

#include <algorithm>
#include <cmath>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/SymbolTable.h>
#include <numeric>

namespace cupel::testbench::worker {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

//===----------------------------------------------------------------------===//
// What a program asks for
//===----------------------------------------------------------------------===//

namespace {

/// The largest index from which a part of size `part` lies within `whole`.
int64_t lastStart(int64_t whole, int64_t part) { return std::max<int64_t>(whole - part, 0); }

void takeLimit(InputNeeds &needs, int64_t limit) {
  needs.limit = std::min(needs.limit.value_or(limit), limit);
}

/// How many numbers a product adds up.
double fanIn(Operation *op, unsigned operand) {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(operand).getType());
  if (!type || !type.hasStaticShape())
    return 1;
  double terms = 1;
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    for (int64_t i : dot.getDotDimensionNumbers().getRhsContractingDimensions())
      terms *= double(type.getDimSize(unsigned(i)));
  } else if (isa<stablehlo::DotOp>(op)) {
    terms = double(type.getDimSize(0));
  } else if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op)) {
    int64_t outputs =
        type.getDimSize(unsigned(convolution.getDimensionNumbers().getKernelOutputFeatureDimension()));
    terms = double(type.getNumElements()) / double(std::max<int64_t>(outputs, 1));
  }
  return std::max(terms, 1.0);
}

int64_t sizeOf(Value value, int64_t dimension) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && dimension < type.getRank() && !type.isDynamicDim(unsigned(dimension))
             ? type.getDimSize(unsigned(dimension))
             : 1;
}

/// What one use asks of the value that it takes.
void addNeeds(InputNeeds &needs, OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  bool isWhole = isa<IntegerType>(getElementTypeOrSelf(use.get().getType()));
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](stablehlo::CholeskyOp) { needs.isDefinite = true; })
      .Case([&](stablehlo::TriangularSolveOp) { needs.isTriangular |= number == 0; })
      .Case([&](stablehlo::IfOp) {
        needs.isChoice = true;
        takeLimit(needs, 1);
      })
      .Case([&](stablehlo::CaseOp choice) {
        needs.isChoice = true;
        takeLimit(needs, int64_t(choice->getNumRegions()) - 1);
      })
      .Case([&](stablehlo::DynamicSliceOp slice) {
        if (number > 0)
          takeLimit(needs, lastStart(sizeOf(slice.getOperand(), number - 1),
                                     slice.getSliceSizes()[number - 1]));
      })
      .Case([&](stablehlo::DynamicUpdateSliceOp update) {
        if (number > 1)
          takeLimit(needs, lastStart(sizeOf(update.getOperand(), number - 2),
                                     sizeOf(update.getUpdate(), number - 2)));
      })
      .Case([&](stablehlo::GatherOp gather) {
        if (number == 1)
          for (int64_t i : gather.getDimensionNumbers().getStartIndexMap())
            takeLimit(needs, lastStart(sizeOf(gather.getOperand(), i),
                                       gather.getSliceSizes()[size_t(i)]));
      })
      .Case([&](stablehlo::ScatterOp scatter) {
        if (number == scatter.getInputs().size())
          for (int64_t i : scatter.getScatterDimensionNumbers().getScatterDimsToOperandDims())
            takeLimit(needs, sizeOf(scatter.getInputs().front(), i) - 1);
      })
      .Case<stablehlo::DivideOp, stablehlo::RemainderOp>(
          [&](auto) { needs.isNonzero |= number == 1 && isWhole; })
      .Case<stablehlo::ShiftLeftOp, stablehlo::ShiftRightLogicalOp,
            stablehlo::ShiftRightArithmeticOp>([&](Operation *) {
        if (number == 1)
          takeLimit(needs, getElementTypeOrSelf(use.get().getType()).getIntOrFloatBitWidth() - 1);
      })
      .Case([&](stablehlo::RngBitGeneratorOp) { needs.isState = true; })
      .Case<stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp>(
          [&](Operation *product) {
            // As networks are initialised: what comes out is as large as what went in.
            if (number == 1)
              needs.amplitude =
                  std::min(needs.amplitude, std::sqrt(3 / fanIn(product, number)));
          });
}

/// Where the same numbers go on under another name; nothing for operations that compute.
void follow(OpOperand &use, SmallVectorImpl<Value> &next) {
  Operation *op = use.getOwner();
  if (isa<stablehlo::ReshapeOp, stablehlo::TransposeOp, stablehlo::BroadcastInDimOp,
          stablehlo::SliceOp, stablehlo::ConvertOp, stablehlo::ConcatenateOp,
          stablehlo::OptimizationBarrierOp, stablehlo::ReverseOp>(op)) {
    next.append(op->result_begin(), op->result_end());
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    if (auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr()))
      if (!callee.isExternal())
        next.push_back(callee.getArgument(use.getOperandNumber()));
  } else if (auto composite = dyn_cast<stablehlo::CompositeOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, FlatSymbolRefAttr::get(op->getContext(), composite.getDecomposition()));
    if (callee && !callee.isExternal())
      next.push_back(callee.getArgument(use.getOperandNumber()));
  } else if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
    for (Region &region : loop->getRegions())
      next.push_back(region.getArgument(use.getOperandNumber()));
  }
}

} // namespace

std::vector<InputNeeds> needsOf(const Program &program) {
  std::vector<InputNeeds> all(program.arguments.size());
  func::FuncOp entry = compiler::entryOf(cast<ModuleOp>(program.module));
  if (!entry || entry.isExternal())
    return all;
  for (size_t i = 0; i < std::min<size_t>(all.size(), entry.getNumArguments()); ++i) {
    SmallVector<Value> next = {entry.getArgument(unsigned(i))};
    llvm::SmallPtrSet<void *, 32> seen;
    while (!next.empty()) {
      Value value = next.pop_back_val();
      if (!seen.insert(value.getAsOpaquePointer()).second)
        continue;
      for (OpOperand &use : value.getUses()) {
        addNeeds(all[i], use);
        follow(use, next);
      }
    }
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {

/// More elements than this are drawn one by one: that two are alike is then unlikely enough.
constexpr int64_t kMostShuffled = int64_t(1) << 22;

class Draw {
public:
  explicit Draw(tensor::FillKey key) : key(key) {}
  uint64_t bits() {
    if (at == 4) {
      block = tensor::philox4x32({uint32_t(counter), uint32_t(counter >> 32), uint32_t(key.stream),
                                  uint32_t(key.stream >> 32)},
                                 {uint32_t(key.seed), uint32_t(key.seed >> 32)});
      ++counter;
      at = 0;
    }
    uint64_t low = block[at], high = block[at + 1];
    at += 2;
    return low | high << 32;
  }
  /// Evenly in [0, 1).
  double unit() { return double(bits() >> 11) * 0x1p-53; }
  /// Evenly below `limit`.
  uint64_t below(uint64_t limit) {
    return uint64_t((static_cast<unsigned __int128>(bits()) * limit) >> 64);
  }

private:
  tensor::FillKey key;
  uint64_t counter = 0;
  std::array<uint32_t, 4> block = {};
  size_t at = 4;
};

/// 0 to count - 1 in random order; where there are too many of them, random ones.
std::vector<uint64_t> shuffled(int64_t count, Draw &draw) {
  std::vector<uint64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[draw.below(i)]);
  return order;
}

/// Between -amplitude and amplitude, one in each of as many equal parts as there are elements: both
/// signs, and no two alike.
std::vector<double> spread(int64_t count, double amplitude, bool isPositive, Draw &draw) {
  std::vector<double> values;
  values.reserve(size_t(count));
  for (uint64_t part : shuffled(count, draw)) {
    double unit = (double(part) + 0.1 + 0.8 * draw.unit()) / double(count);
    values.push_back(isPositive ? amplitude * (0.125 + 0.875 * unit) : amplitude * (2 * unit - 1));
  }
  return values;
}

/// Matrices in the last two dimensions: positive definite, or with a diagonal that dominates.
void shapeMatrices(std::vector<double> &values, const tensor::Shape &shape,
                   const InputNeeds &needs) {
  int64_t n = shape.back();
  for (size_t base = 0; n > 0 && base + size_t(n * n) <= values.size(); base += size_t(n * n)) {
    std::vector<double> root(values.begin() + int64_t(base),
                             values.begin() + int64_t(base) + n * n);
    auto at = [&](int64_t i, int64_t j) -> double & { return values[base + size_t(i * n + j)]; };
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (!needs.isDefinite) {
          at(i, j) = root[size_t(i * n + j)] + (i == j ? std::copysign(1 + 0.125 * double(i % 5),
                                                                       root[size_t(i * n + j)])
                                                       : 0);
          continue;
        }
        double sum = i == j ? 1 + 0.25 * double(i % 3) : 0;
        for (int64_t k = 0; k < n; ++k)
          sum += root[size_t(i * n + k)] * root[size_t(j * n + k)] / double(n);
        at(i, j) = sum;
      }
  }
}

Result<Tensor> floats(const ValueType &type, const InputNeeds &needs, bool isPositive,
                      Draw &draw, int64_t count) {
  Result<Tensor> wide = Tensor::uninitialized(DType::F64, type.shape);
  if (!wide)
    return wide;
  double amplitude = needs.isTriangular || needs.isDefinite ? 1 : needs.amplitude;
  std::vector<double> values = spread(count, amplitude, isPositive, draw);
  size_t rank = type.shape.size();
  bool isSquare = rank >= 2 && type.shape[rank - 1] == type.shape[rank - 2];
  if ((needs.isDefinite || needs.isTriangular) && isSquare)
    shapeMatrices(values, type.shape, needs);
  std::ranges::copy(values, wide->mutableAs<double>());
  return tensor::convert(*wide, type.element.storage);
}

Result<Tensor> integers(const ValueType &type, const InputNeeds &needs, uint32_t look, Draw &draw,
                        int64_t count) {
  Result<Tensor> wide = Tensor::uninitialized(DType::I64, type.shape);
  if (!wide)
    return wide;
  tensor::DTypeInfo info = tensor::info(type.element.storage);
  bool isSigned = info.kind == tensor::Kind::Signed;
  int64_t top = info.bits >= 63 ? INT64_MAX : (int64_t(1) << (info.bits - (isSigned ? 1 : 0))) - 1;
  int64_t low = 0, high = 0;
  if (needs.limit) {
    high = std::min(*needs.limit, top);
  } else {
    // As many as there are elements, around zero; few of them stay small, as sizes do.
    int64_t half = std::min(std::max<int64_t>(count / 2 + 1, 8), top);
    low = isSigned ? -half : 0;
    high = isSigned ? half - 1 : std::min(2 * half - 1, top);
  }
  uint64_t values = uint64_t(high - low) + 1;
  std::vector<uint64_t> order = shuffled(count, draw);
  uint64_t start = needs.isChoice ? look : draw.below(values);
  int64_t *to = wide->mutableAs<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    to[i] = low + int64_t((order[size_t(i)] + start) % values);
    if (needs.isNonzero && to[i] == 0)
      to[i] = std::min<int64_t>(high + 1, top);
  }
  return tensor::convert(*wide, type.element.storage);
}

} // namespace

ChosenInputs::ChosenInputs(const Program &program)
    : name(program.name), types(program.arguments), needs(needsOf(program)) {
  // Partitions may hold pieces of one value; replicas hold what is theirs.
  replicas = program.partitions == 1 ? program.replicas : 1;
}

Result<Tensor> ChosenInputs::make(size_t argument, uint64_t seed, uint32_t replica,
                                  uint32_t look) const {
  const ValueType &type = types[argument];
  const InputNeeds &need = needs[argument];
  std::string position = "argument " + std::to_string(argument);
  if (!type.isTensor)
    return Error{name + ": " + position + " is no tensor and cannot be made up"};
  if (std::ranges::count(type.shape, kDynamicSize))
    return Error{name + ": " + position +
                 " has a size that is known at run time only; put inputs beside the program as "
                 "NAME.inputs.safetensors"};
  std::optional<int64_t> count = tensor::elementCount(type.shape);
  bool isPositive = look >= kPositive;
  tensor::FillKey key{seed + uint64_t(look % kPositive) * 0x9E3779B97F4A7C15,
                      argument + (uint64_t(replica) << 32)};
  Draw draw(key);
  DType storage = type.element.storage;
  bool isPlain = !type.element.quantization && count && *count <= kMostShuffled;
  Result<Tensor> made =
      isPlain && tensor::isFloat(storage) ? floats(type, need, isPositive, draw, *count)
      : isPlain && need.isState
          ? tensor::randomTensor(type.element, type.shape, tensor::Integers::all(storage), key)
      : isPlain && (tensor::isInteger(storage) || (storage == DType::I1 && need.isChoice))
          ? integers(type, need, look % kPositive, draw, *count)
          : tensor::randomTensor(type.element, type.shape, tensor::defaultFill(type.element), key);
  if (!made)
    return made.error().within(name + ": " + position);
  return made;
}

Result<TensorLists> ChosenInputs::makeAll(size_t count, const TensorLists &others, uint64_t seed,
                                          uint32_t look) const {
  TensorLists lists(replicas);
  for (uint32_t replica = 0; replica < replicas; ++replica) {
    std::vector<Tensor> &list = lists[replica];
    for (size_t i = 0; i < std::min(count, types.size()); ++i) {
      Result<Tensor> made = make(i, seed, replica, look);
      if (!made)
        return made.error();
      list.push_back(std::move(*made));
    }
    if (!others.empty()) {
      const std::vector<Tensor> &behind = others[others.size() > 1 ? replica : 0];
      if (behind.size() > list.size())
        list.insert(list.end(), behind.begin() + int64_t(list.size()), behind.end());
    }
  }
  return lists;
}

} // namespace cupel::testbench::worker
