// Rows: several passes over one row at a time, a new one behind each reduction that the next values
// wait for. What is cheap is computed again in later passes, what is not is kept in scratch memory.
// All rows that go out are written in the last pass, so that they may lie on rows that come in.

#include "cupel/compiler/codegen/Body.h"
#include "cupel/compiler/codegen/Loops.h"
#include "cupel/compiler/codegen/Plans.h"
#include "cupel/compiler/codegen/VectorMath.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace cupel::codegen {
namespace {

/// Values are kept from pass to pass if computing them again costs more (costOf).
constexpr int kCheap = 4;
constexpr int kErfCost = 30;

bool isRow(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getRank() == 1;
}

struct RowPlan {
  RowKernel kernel;
  BodyOps body;
  unsigned lanes;

  /// The pass before which a value is there (scalars) or in which it can first be computed (rows).
  llvm::DenseMap<mlir::Value, unsigned> levels;
  /// The same in all lanes: scalars, and rows of nothing but scalars.
  llvm::DenseSet<mlir::Value> uniform;
  struct Pass {
    llvm::SetVector<mlir::Value> loads;          // arguments
    llvm::SetVector<mlir::Operation *> computes; // in the order of the body
    SmallVector<mlir::Value> restores;           // from scratch
    SmallVector<mlir::Operation *> reductions;
  };
  std::vector<Pass> passes;
  llvm::MapVector<mlir::Value, int64_t> saved; // with the offset in scratch
  llvm::DenseMap<mlir::Value, unsigned> firstPass;
  int64_t scratchBytes = 0;

  RowPlan(const RowKernel &kernel, const Target &target);
  void need(mlir::Value value, unsigned pass);
  int costAgain(mlir::Value value, llvm::DenseSet<mlir::Value> &seen) const;
  mlir::Operation *end() const { return body.end(); }
  int64_t rows() const {
    int64_t count = 1;
    for (int64_t size : kernel.outer)
      count *= size;
    return count;
  }
  /// Of all operands and results.
  int64_t allBytes() const {
    std::vector<int64_t> sizes = kernel.outer;
    sizes.push_back(kernel.length);
    int64_t bytes = 0;
    for (const std::vector<View> *views : {&kernel.inputs, &kernel.outputs})
      for (const View &view : *views)
        bytes += touchedBytes(view, sizes);
    return bytes;
  }

  void emit(Emitter &e) const;
  /// `streams` becomes true where some results go past the caches.
  void emitRow(Emitter &e, const KernelArguments &arguments, V row, bool &streams) const;
  /// `ahead` are rows to be fetched by the way.
  void emitPass(Emitter &e, const Pass &pass, bool isLast, const KernelArguments &arguments,
                ArrayRef<V> indices, ArrayRef<RowAccess> ahead, Values &values,
                bool &streams) const;
  /// What the next row's first pass reads, where that is not the same for all rows.
  SmallVector<RowAccess> nextRows(Emitter &e, const KernelArguments &arguments, V row) const;
  void emitUniform(Emitter &e, unsigned level, Values &values) const;
  /// Whether a row in f32 is divided by one number.
  bool hasSharedDivisor(Emitter &e, mlir::Operation *op) const {
    return e.target.hasFma && mlir::isa<stablehlo::DivideOp>(op) &&
           uniform.contains(op->getOperand(1)) &&
           elementTypeOf(op->getOperand(1).getType()) == DType::F32;
  }
};

/// Whether a value is no less than any element of a row, where both are numbers.
bool isAtLeast(mlir::Value value, mlir::Value row) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto reduce = mlir::dyn_cast<stablehlo::ReduceOp>(op))
    return reduce.getInputs()[0] == row && combinerOf(reduce.getBody()) == Combiner::Maximum;
  if (mlir::isa<stablehlo::MaximumOp>(op))
    return isAtLeast(op->getOperand(0), row) || isAtLeast(op->getOperand(1), row);
  return isIdentity(op) && isAtLeast(op->getOperand(0), row);
}

/// e^(x - the greatest x), as in every softmax.
bool isExpOfNotPositive(mlir::Operation *op) {
  auto difference = mlir::isa<stablehlo::ExponentialOp>(op)
                        ? op->getOperand(0).getDefiningOp<stablehlo::SubtractOp>()
                        : stablehlo::SubtractOp();
  return difference && elementTypeOf(op->getResult(0).getType()) == DType::F32 &&
         isAtLeast(difference.getRhs(), difference.getLhs());
}

/// Scratch has values as they are computed: f16 and bf16 in f32.
DType scratchType(mlir::Value value) {
  DType type = *elementTypeOf(value.getType());
  return type == DType::F16 || type == DType::BF16 ? DType::F32 : type;
}

RowPlan::RowPlan(const RowKernel &kernel, const Target &target)
    : kernel(kernel), body(*kernel.body), lanes(static_cast<unsigned>(target.lanes)) {
  for (auto [argument, view] : llvm::zip(kernel.body->getArguments(), kernel.inputs)) {
    levels[argument] = 0;
    if (!isRow(argument) || isScalarAlongRow(view, kernel.outer.size()))
      uniform.insert(argument);
  }
  unsigned last = 0;
  for (mlir::Operation *op : body.operations()) {
    unsigned level = 0;
    SmallVector<mlir::Value> operands = body.operandsOf(op);
    for (mlir::Value operand : operands)
      level = std::max(level, levels.lookup(operand));
    if (mlir::isa<stablehlo::ReduceOp>(op)) {
      // In the pass where its operands, the initial value too, are there; the next has the result.
      last = std::max(last, level++);
      uniform.insert(op->getResult(0));
    } else if (!mlir::isa<stablehlo::IotaOp>(op) &&
               llvm::all_of(operands, [&](mlir::Value v) { return uniform.contains(v); })) {
      uniform.insert(op->getResult(0));
    }
    levels[op->getResult(0)] = level;
  }
  for (mlir::Value result : end()->getOperands())
    if (isRow(result))
      last = std::max(last, levels.lookup(result));
  passes.resize(last + 1);
  for (unsigned pass = 0; pass <= last; ++pass) {
    for (mlir::Operation *op : body.operations())
      if (auto reduce = mlir::dyn_cast<stablehlo::ReduceOp>(op))
        if (levels.lookup(op->getResult(0)) == pass + 1) {
          passes[pass].reductions.push_back(op);
          need(reduce.getInputs()[0], pass);
        }
    if (pass == last)
      for (mlir::Value result : end()->getOperands())
        if (isRow(result))
          need(result, pass);
  }
  int64_t padded = (kernel.length + lanes - 1) / lanes * lanes;
  for (auto &[value, offset] : saved) {
    offset = scratchBytes;
    scratchBytes += (padded * tensor::info(scratchType(value)).bytes + 63) / 64 * 64;
  }
}

int RowPlan::costAgain(mlir::Value value, llvm::DenseSet<mlir::Value> &seen) const {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || uniform.contains(value) || !seen.insert(value).second)
    return 0;
  int cost = body.erfOf(op) ? kErfCost : costOf(op);
  for (mlir::Value operand : body.operandsOf(op))
    cost += costAgain(operand, seen);
  return cost;
}

void RowPlan::need(mlir::Value value, unsigned pass) {
  if (uniform.contains(value))
    return;
  if (mlir::isa<mlir::BlockArgument>(value)) {
    passes[pass].loads.insert(value);
    return;
  }
  mlir::Operation *op = value.getDefiningOp();
  if (passes[pass].computes.contains(op) || llvm::is_contained(passes[pass].restores, value))
    return;
  auto [first, isNew] = firstPass.try_emplace(value, pass);
  if (!isNew && first->second < pass) {
    llvm::DenseSet<mlir::Value> seen;
    if (saved.count(value) || costAgain(value, seen) > kCheap) {
      saved.insert({value, 0});
      passes[pass].restores.push_back(value);
      return;
    }
  }
  for (mlir::Value operand : body.operandsOf(op))
    need(operand, pass);
  passes[pass].computes.insert(op);
}

void RowPlan::emitUniform(Emitter &e, unsigned level, Values &values) const {
  for (mlir::Operation *op : body.operations())
    if (!mlir::isa<stablehlo::ReduceOp>(op) && uniform.contains(op->getResult(0)) &&
        levels.lookup(op->getResult(0)) == level)
      emitOperation(e, body, op, values, /*changes=*/false);
}

V emitIota(Emitter &e, mlir::Operation *op, V i) {
  V numbers = e.CreateAdd(e.splat(i), e.laneNumbers(e.getInt64Ty()));
  return emitConvert(e, DType::I64, *elementTypeOf(op->getResult(0).getType()), numbers);
}

SmallVector<RowAccess> RowPlan::nextRows(Emitter &e, const KernelArguments &arguments,
                                         V row) const {
  SmallVector<V> indices = unflatten(e, kernel.outer, e.CreateAdd(row, e.i64(1)));
  SmallVector<RowAccess> next;
  for (mlir::Value load : passes[0].loads) {
    unsigned k = mlir::cast<mlir::BlockArgument>(load).getArgNumber();
    ArrayRef<int64_t> outer = ArrayRef(kernel.inputs[k].strides).take_front(kernel.outer.size());
    if (llvm::all_of(outer, [](int64_t stride) { return stride == 0; }))
      continue;
    RowAccess access = rowAccess(e, kernel.inputs[k], arguments.inputs[k], indices);
    if (isWorthFetching(access, rows() * kernel.length))
      next.push_back(access);
  }
  return next;
}

void RowPlan::emitPass(Emitter &e, const Pass &pass, bool isLast, const KernelArguments &arguments,
                       ArrayRef<V> indices, ArrayRef<RowAccess> ahead, Values &values,
                       bool &streams) const {
  SmallVector<RowAccess> in, out;
  SmallVector<mlir::Value> results;
  for (mlir::Value load : pass.loads) {
    unsigned k = mlir::cast<mlir::BlockArgument>(load).getArgNumber();
    in.push_back(rowAccess(e, kernel.inputs[k], arguments.inputs[k], indices));
  }
  if (isLast)
    for (auto [k, result] : llvm::enumerate(end()->getOperands()))
      if (isRow(result)) {
        out.push_back(rowAccess(e, kernel.outputs[k], arguments.outputs[k], indices));
        streams |= !kernel.isReadSoon && letStream(e, out.back(), rows() * kernel.length, allBytes());
        results.push_back(result);
      }
  if (pass.reductions.empty() && out.empty())
    return;

  struct Sum {
    Combiner combiner;
    DType type;
    mlir::Value input;
    size_t first = 0, count = 0; // Of its accumulators.
  };
  SmallVector<Sum> sums;
  SmallVector<V> accumulators;
  for (mlir::Operation *op : pass.reductions) {
    auto reduce = mlir::cast<stablehlo::ReduceOp>(op);
    mlir::Value input = reduce.getInputs()[0];
    sums.push_back({*combinerOf(reduce.getBody()), *elementTypeOf(input.getType()), input});
    SmallVector<V> start = startOf(e, sums.back().combiner, sums.back().type);
    sums.back().first = accumulators.size();
    sums.back().count = start.size();
    accumulators.append(start);
  }
  V length = e.i64(kernel.length);
  bool whole = kernel.length % lanes == 0;
  auto scratchAt = [&](mlir::Value value, V i) {
    V base = e.CreateGEP(e.getInt8Ty(), arguments.scratch, e.i64(saved.lookup(value)));
    return e.at(base, e.storageType(scratchType(value)), i);
  };
  llvm::DenseMap<mlir::Value, SharedDivisor> divisors;
  for (mlir::Operation *op : pass.computes)
    if (hasSharedDivisor(e, op)) {
      mlir::Value divisor = op->getOperand(1);
      if (!divisors.contains(divisor))
        divisors.insert({divisor, shareDivisor(e, values.lookup(divisor))});
    }
  // What is added up in each sum.
  auto vectorAt = [&](V i, bool whole) {
    Values here = values;
    for (const RowAccess &row : ahead)
      fetchAhead(e, row, i);
    for (auto [argument, value] : llvm::zip(pass.loads, loadVectors(e, in, i, length, whole)))
      here[argument] = value;
    for (mlir::Value value : pass.restores) {
      DType type = scratchType(value);
      V stored = e.CreateAlignedLoad(e.vectorOf(e.storageType(type)), scratchAt(value, i),
                                     llvm::Align(4));
      here[value] = e.toCompute(type, stored);
    }
    for (mlir::Operation *op : pass.computes) {
      if (mlir::isa<stablehlo::IotaOp>(op))
        here[op->getResult(0)] = emitIota(e, op, i);
      else if (hasSharedDivisor(e, op))
        here[op->getResult(0)] =
            emitDivide(e, here.lookup(op->getOperand(0)), divisors.lookup(op->getOperand(1)),
                       op->getOperand(0).getDefiningOp<stablehlo::ExponentialOp>() != nullptr);
      else if (isExpOfNotPositive(op))
        here[op->getResult(0)] = emitExpOfNotPositive(e, here.lookup(op->getOperand(0)));
      else
        emitOperation(e, body, op, here, /*changes=*/!saved.count(op->getResult(0)));
      mlir::Value result = op->getResult(0);
      if (saved.count(result) && &pass == &passes[firstPass.lookup(result)])
        e.CreateAlignedStore(e.toStorage(scratchType(result), here.lookup(result)),
                             scratchAt(result, i), llvm::Align(1));
    }
    // Lanes behind the end count for nothing.
    SmallVector<V> summed;
    for (const Sum &sum : sums)
      summed.push_back(here.lookup(sum.input));
    if (!whole && !sums.empty()) {
      V isFull = e.CreateICmpSLE(e.CreateAdd(i, e.i64(lanes)), length);
      SmallVector<V> all = summed;
      summed = e.branch(isFull, [&] { return all; }, [&] {
        V count = e.CreateTrunc(e.CreateSub(length, i), e.getInt32Ty());
        V isThere = e.CreateICmpSLT(e.laneNumbers(e.getInt32Ty()), e.splat(count));
        SmallVector<V> parts;
        for (auto [sum, value] : llvm::zip(sums, all))
          parts.push_back(e.CreateSelect(isThere, value, neutralOf(e, sum.combiner, sum.type)));
        return parts;
      });
    }
    SmallVector<V> stores;
    for (mlir::Value result : results)
      stores.push_back(here.lookup(result));
    storeVectors(e, out, stores, i, length, whole);
    return summed;
  };
  int cost = 0;
  for (mlir::Operation *op : pass.computes)
    cost += body.erfOf(op) ? kErfCost : costOf(op);
  unsigned together = !sums.empty() && cost <= kCheapBody ? kAccumulators : 1;
  vectorLoop(e, e.i64(0), length, together, kernel.length, accumulators,
             [&](ArrayRef<V> starts, MutableArrayRef<V> carried) {
               SmallVector<SmallVector<V>> summed;
               for (V i : starts)
                 summed.push_back(vectorAt(i, whole || starts.size() > 1));
               for (auto [k, sum] : llvm::enumerate(sums)) {
                 SmallVector<V> vectors;
                 for (const SmallVector<V> &one : summed)
                   vectors.push_back(one[k]);
                 accumulate(e, sum.combiner, sum.type, carried.slice(sum.first, sum.count), vectors);
               }
             });
  for (auto [k, op] : llvm::enumerate(pass.reductions)) {
    const Sum &sum = sums[k];
    V all = combineAll(e, sum.combiner, sum.type,
                       ArrayRef(accumulators).slice(sum.first, sum.count));
    V initial = values.lookup(mlir::cast<stablehlo::ReduceOp>(op).getInitValues()[0]);
    values[op->getResult(0)] =
        e.roundTo(sum.type, emitCombine(e, sum.combiner, sum.type, initial, all));
  }
}

void RowPlan::emitRow(Emitter &e, const KernelArguments &arguments, V row, bool &streams) const {
  SmallVector<V> indices = unflatten(e, kernel.outer, row);
  Values values;
  for (auto [k, argument] : llvm::enumerate(kernel.body->getArguments()))
    if (uniform.contains(argument) && !argument.use_empty())
      values[argument] =
          loadScalar(e, rowAccess(e, kernel.inputs[k], arguments.inputs[k], indices));
  for (unsigned pass = 0; pass < passes.size(); ++pass) {
    emitUniform(e, pass, values);
    SmallVector<RowAccess> ahead;
    if (pass == 1)
      ahead = nextRows(e, arguments, row);
    emitPass(e, passes[pass], pass + 1 == passes.size(), arguments, indices, ahead, values,
             streams);
  }
  unsigned highest = 0;
  for (auto &[value, level] : levels)
    highest = std::max(highest, level);
  for (unsigned level = static_cast<unsigned>(passes.size()); level <= highest; ++level)
    emitUniform(e, level, values);
  for (auto [k, result] : llvm::enumerate(end()->getOperands()))
    if (!isRow(result))
      storeScalar(e, rowAccess(e, kernel.outputs[k], arguments.outputs[k], indices),
                  values.lookup(result));
}

void RowPlan::emit(Emitter &e) const {
  KernelArguments arguments =
      beginKernel(e, "stage0", kernel.inputs.size(), kernel.outputs.size());
  bool streams = false;
  e.loop(arguments.begin, arguments.end, 1, [&](V row) { emitRow(e, arguments, row, streams); });
  if (streams)
    endStreams(e);
  e.CreateRetVoid();
}

} // namespace

KernelPlan planRows(const RowKernel &kernel, const Target &target) {
  RowPlan plan(kernel, target);
  KernelPlan result;
  result.stages.push_back({nullptr, plan.rows(), std::max<int64_t>(1, kernel.length)});
  result.scratchBytes = plan.scratchBytes;
  result.emit = [plan = std::move(plan)](Emitter &e) { plan.emit(e); };
  return result;
}

} // namespace cupel::codegen
