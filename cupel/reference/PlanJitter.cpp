#include "cupel/reference/PlanJitter.h"

#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Grid.h"
#include "cupel/reference/QuantizedJitter.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/RoundingFacts.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <cmath>

namespace cupel::reference {

using namespace mlir;
using namespace cupel::stablehlo;
using tensor::Tensor;

int64_t detail::movedInPartsFrom = 64 << 10;

static bool isOfNumbers(mlir::Type type) {
  mlir::Type element = getElementTypeOrSelf(type);
  return stablehlo::isFloat(element) || isa<ComplexType>(element);
}
static bool isQuantized(mlir::Type type) {
  return isa<quant::QuantizedType>(getElementTypeOrSelf(type));
}

void planJitter(Operation &op, Step &step) {
  bool givesQuantized = llvm::any_of(op.getResultTypes(), isQuantized);
  if (op.getName().getDialectNamespace() != "stablehlo" || op.getNumOperands() == 0 ||
      !(givesQuantized || llvm::any_of(op.getResultTypes(), isOfNumbers)))
    return;
  // What others do is theirs to round: bodies of loops, branches and calls are steps themselves.
  if (op.hasTrait<Loops>() || op.hasTrait<Branches>() || op.hasTrait<RunsOnce>() ||
      op.hasTrait<YieldsBits>() || isa<CallOpInterface>(op))
    return;
  if (givesQuantized) {
    // Whatever computes ends with a rounding to a step.
    bool isElementwise = op.hasTrait<stablehlo::Elementwise>();
    bool isQuantizing = isElementwise && llvm::any_of(op.getOperandTypes(), isOfNumbers);
    bool computes = isElementwise ? isQuantizing || rounds(op)
                                  : !op.hasTrait<KeepsNumbers>() && !op.hasTrait<NoArithmetic>();
    if (computes) {
      step.jittered = Jittered::Results;
      step.isProduct = isa<FlopsOpInterface>(op) && !op.hasTrait<Opaque>();
    }
    return;
  }
  if (op.hasTrait<stablehlo::Elementwise>()) {
    if (rounds(op))
      step.jittered = Jittered::Results;
    return;
  }
  if (op.getNumRegions() > 0 && !op.hasTrait<Opaque>()) {
    if (combinesByRounding(op)) {
      step.jittered = Jittered::Operands;
      step.terms = termsOf(op);
      step.movesParts = Registry::get().isMover(op.getName().getStringRef()) && op.getNumOperands() == 2;
    }
    return;
  }
  if (op.hasTrait<KeepsNumbers>() || op.hasTrait<NoArithmetic>())
    return;
  // Of numbers that are quantized already there is nothing to move.
  step.jittered = llvm::any_of(op.getOperandTypes(), isOfNumbers) ? Jittered::Operands
                                                                  : Jittered::Results;
  step.isProduct = isa<FlopsOpInterface>(op) && !op.hasTrait<Opaque>();
  step.terms = termsOf(op);
}

/// What an element of a sum is off by where its terms are added one after another, in roundings of
/// the sum: each addition rounds, at random, what it has so far. Devices add in any order, in f32 if
/// not in more, whatever else they compute in. Terms of a few values round alike: a GPU that added
/// 6,480 of them one by one was off by 2 sqrt(n), which is within 4 times this.
static double roundingsOf(int64_t terms) { return 0.6 * std::sqrt(double(terms)); }

/// Another amount for every value of every operation, also of the same one in the next turn of a
/// loop; the same on every process, so that what replicas compute alike stays alike.
static uint64_t nextKey(GridProcess &process, const Step &step, uint64_t seed) {
  return (seed * 0x2545f4914f6cdd1d + ++process.jitters) * 0xd1342543de82ef95 +
         static_cast<uint64_t>(step.number) * 0x9e3779b97f4a7c15;
}

/// Moves the value of a slot by a rounding, or by several of f32 and f64; or, where that can be, lets
/// whoever reads it move it as `parts`.
static Status move(GridProcess &process, const Step &step, Value &value, double epsilon,
                   double roundings = 1, std::optional<MovedParts> *parts = nullptr) {
  if (!value.isTensor())
    return {};
  const Jitter &jitter = process.run.options.jitter;
  uint64_t key = nextKey(process, step, jitter.seed);
  roundings = std::max(roundings, 1.0);
  const double by = std::max(epsilon, roundings * 0x1p-23), doubles = roundings * jitter.doubles;
  if (parts && value.tensor().size() >= detail::movedInPartsFrom) {
    *parts = MovedParts::of(value.tensor(), by, doubles, key, jitter.times);
    if (*parts)
      return {};
  }
  return reference::jitter(value.tensor(), by, doubles, key, jitter.times);
}

/// Whether it holds for all elements; those that lie at one place (of a constant of equal numbers)
/// are asked about once.
template <typename T, typename Holds>
static bool allOf(const Tensor &tensor, int64_t dimension, const std::byte *at, Holds holds) {
  if (dimension == tensor.rank())
    return holds(*reinterpret_cast<const T *>(at));
  const int64_t step = tensor.strides()[dimension];
  const int64_t size = tensor.dim(dimension), count = step == 0 ? std::min<int64_t>(size, 1) : size;
  for (int64_t i = 0; i < count; ++i)
    if (!allOf<T>(tensor, dimension + 1, at + i * step, holds))
      return false;
  return true;
}

/// Whether all elements are whole numbers of at most this size.
static bool areWhole(const Value &value, double most) {
  if (!value.isTensor() || value.tensor().deferred())
    return false;
  const Tensor &tensor = value.tensor();
  constexpr double kMostByVectors = 0x1p30; // These have conversions to 32 bits alone.
  auto all = [&]<typename T>(T, auto toReal) {
    using Real = decltype(toReal(T()));
    if (!tensor.isContiguous() || most > kMostByVectors)
      return allOf<T>(tensor, 0, tensor.data(), [&](T element) {
        double x = toReal(element);
        return std::fabs(x) <= most && x == std::trunc(x);
      });
    auto isWhole = [&](T element) {
      Real x = toReal(element);
      Real within = std::fabs(x) <= most ? x : Real(0.5); // Nor is NaN a whole number.
      return Real(int32_t(within)) == within;
    };
    const T *from = tensor.dataAs<T>();
    // Nearly always the first tells; where it takes many, vectors look at some together.
    constexpr int64_t kTogether = 512;
    for (int64_t begin = 0, size = 1; begin < tensor.size(); begin += size, size = kTogether) {
      const int64_t end = std::min(begin + size, tensor.size());
      bool isAll = true;
      for (int64_t i = begin; i < end; ++i)
        isAll &= isWhole(from[i]);
      if (!isAll)
        return false;
    }
    return true;
  };
  switch (tensor.dtype()) {
  case tensor::DType::F32:
    return all(float(), [](float x) { return x; });
  case tensor::DType::F64:
    return all(double(), [](double x) { return x; });
  case tensor::DType::BF16:
    return all(uint16_t(), [](uint16_t x) { return tensor::toFloat<tensor::DType::BF16>(x); });
  case tensor::DType::F16:
    return all(uint16_t(), [](uint16_t x) { return tensor::toFloat<tensor::DType::F16>(x); });
  default:
    return false;
  }
}

/// Sums, differences and products of whole numbers are exact in every format that holds them, and
/// whatever takes whole numbers of them sees them so: a zero point added to a step is one.
static bool combinesWholes(const Frame &frame, const Step &step, double most) {
  bool isOfTwo = step.operands.size() == 2 &&
                 (step.op->hasTrait<Linear>() || step.op->hasTrait<LinearInEach>());
  return isOfTwo && llvm::all_of(step.operands, [&](const OperandUse &use) {
           return areWhole(frame[use.slot], most);
         });
}

Status runJittered(GridProcess &process, Frame &frame, const Step &step) {
  StepArguments arguments(frame, step.operands, step.results);
  if (step.jittered == Jittered::Nothing)
    return step.run(process, arguments);
  const Jitter &jitter = process.run.options.jitter;
  const double epsilon = step.isProduct ? jitter.products : jitter.rest;
  auto moveResults = [&](double by) -> Status {
    for (int slot : step.results)
      if (Status moved = move(process, step, frame[slot], by); !moved)
        return moved;
    return {};
  };
  if (step.jittered == Jittered::Results) {
    bool givesQuantized = llvm::any_of(step.op->getResultTypes(), isQuantized);
    std::optional<MovesQuantized> moves;
    if (givesQuantized)
      moves.emplace(jitter.times * epsilon, jitter.times * jitter.doubles, nextKey(process, step, jitter.seed >> 1),
                    (jitter.seed & 1) != 0);
    const double most = 2 / epsilon; // Up to there every one of them is a number of the format.
    bool isKept = !givesQuantized && combinesWholes(frame, step, most);
    Status done = step.run(process, arguments);
    // A result may lie where an operand did, and moves there if that one is gone.
    for (const OperandUse &use : step.operands)
      if (use.ends)
        frame[use.slot] = Value();
    isKept = isKept && done && areWhole(frame[step.results[0]], most);
    if (isKept)
      nextKey(process, step, jitter.seed); // What comes after moves as on other processes.
    return done && !givesQuantized && !isKept ? moveResults(epsilon) : done;
  }
  std::vector<std::pair<int, Value>> kept;
  llvm::SmallVector<int> moved;
  std::optional<MovedParts> parts; // Of the first.
  Status done;
  // Where terms cancel it is they that are off, where they do not the whole.
  const double roundings = roundingsOf(step.terms);
  for (const OperandUse &use : step.operands) {
    bool isDone = llvm::is_contained(moved, use.slot);
    if (isDone || !done)
      continue;
    moved.push_back(use.slot);
    if (!use.ends) // Else nobody asks for it any more, and it may move where it lies.
      kept.emplace_back(use.slot, frame[use.slot]);
    bool isOnlyFirst = moved.size() == 1 && llvm::count_if(step.operands, [&](const OperandUse &other) {
                         return other.slot == use.slot;
                       }) == 1;
    done = move(process, step, frame[use.slot], epsilon, roundings,
                step.movesParts && isOnlyFirst ? &parts : nullptr);
  }
  process.moving = parts ? &*parts : nullptr;
  if (done)
    done = step.run(process, arguments);
  process.moving = nullptr;
  for (auto &[slot, value] : kept)
    frame[slot] = std::move(value);
  // A device that computes in less than f32 rounds what it gives, too; in f32 that is one rounding
  // among many.
  if (!done || jitter.rest > 0x1p-23)
    return done ? moveResults(jitter.rest) : done;
  if (roundings <= 1)
    return done;
  for (int slot : step.results) {
    Value &value = frame[slot];
    bool isWide = value.isTensor() && value.tensor().dtype() != tensor::DType::BF16 &&
                  value.tensor().dtype() != tensor::DType::F16;
    if (Status moved = isWide ? move(process, step, value, 0, roundings) : Status(); !moved)
      return moved;
  }
  return done;
}

} // namespace cupel::reference
