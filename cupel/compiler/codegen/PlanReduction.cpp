// Reductions with a map in front. Where memory runs along a reduced dimension, vectors lie along it
// and are combined at the end; where it runs along a kept one, vectors are columns. Long reductions
// are cut into parts by their sizes alone, whose results a second stage combines: the order never
// depends on threads.

#include "cupel/compiler/codegen/Plans.h"
#include "cupel/compiler/codegen/RowOfMap.h"

#include <algorithm>
#include <numeric>

namespace cupel::codegen {
namespace {

/// Elements that are worth a unit of work of their own.
constexpr int64_t kPart = 65536;
/// Units that keep any number of threads busy: with so many, nothing needs to be cut.
constexpr int64_t kEnoughUnits = 64;
constexpr int64_t kMostParts = 256;
/// Columns of a unit; their accumulators stay in the first cache.
constexpr int64_t kColumns = 1024;
/// Rows of a column that are combined in a register before they meet the accumulator.
constexpr int64_t kRowsAtOnce = 8;

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct ReductionPlan {
  /// Kept dimensions, then reduced ones; along columns the innermost kept one comes last of all.
  /// Views: inputs, then the output.
  LoopNest nest;
  size_t kept = 0, inputs = 0; // kept: of those that do not come last
  Combiner combiner;
  uint64_t initial;
  BodyOps body;
  bool isAlongColumns = false;
  int64_t outerKept = 1;          // the product of the kept ones that do not come last
  int64_t reducedRows = 1;        // the product of the reduced ones that do not come last
  int64_t pieces = 1;             // of the innermost dimension
  int64_t parts = 1, perPart = 1; // of the reduction; in rows, or pieces of rows

  ReductionPlan(const Reduction &kernel);
  DType type() const { return nest.views.back().type; }
  DType accumulatorType() const {
    return type() == DType::F16 || type() == DType::BF16 ? DType::F32 : type();
  }
  int64_t accumulatorBytes() const { return tensor::info(accumulatorType()).bytes; }
  ArrayRef<int64_t> keptSizes() const { return ArrayRef(nest.sizes).take_front(kept); }
  ArrayRef<int64_t> reducedSizes() const {
    return ArrayRef(nest.sizes).drop_front(kept).drop_back();
  }
  int64_t length() const { return nest.sizes.back(); }
  int64_t paddedLength() const { return divideUp(length(), 16) * 16; }

  V combine(Emitter &e, V a, V b) const { return emitCombine(e, combiner, type(), a, b); }
  V neutral(Emitter &e) const { return neutralOf(e, combiner, type()); }
  V finished(Emitter &e, V all) const {
    V stored = e.storedSplat(type(), initial);
    return e.roundTo(type(), combine(e, e.toCompute(type(), stored), all));
  }
  V load(Emitter &e, V address) const {
    V stored = e.CreateAlignedLoad(e.vectorOf(e.storageType(accumulatorType())), address,
                                   llvm::Align(static_cast<uint64_t>(accumulatorBytes())));
    return e.toCompute(accumulatorType(), stored);
  }
  void store(Emitter &e, V value, V address) const {
    e.CreateAlignedStore(e.toStorage(accumulatorType(), value), address,
                         llvm::Align(static_cast<uint64_t>(accumulatorBytes())));
  }
  V accumulatorAt(Emitter &e, V base, V index) const {
    return e.CreateGEP(e.storageType(accumulatorType()), base, index);
  }

  int cost() const; // Of an element.
  /// Lanes of the vector at i that lie behind `end` count for nothing.
  V withoutRest(Emitter &e, V value, V i, V end) const;
  KernelPlan plan() const;
  void emitRows(Emitter &e) const;
  void emitRowParts(Emitter &e) const;
  void emitColumns(Emitter &e) const;
  void emitColumnParts(Emitter &e) const;
  /// Writes what `at(column)` has for columns [begin, end), with the initial value.
  void emitColumnResults(Emitter &e, const KernelArguments &arguments, ArrayRef<V> outer, V begin,
                         V end, llvm::function_ref<V(V)> at) const;
};

ReductionPlan::ReductionPlan(const Reduction &kernel)
    : inputs(kernel.inputs.size()), combiner(kernel.combiner), initial(kernel.initial),
      body(*kernel.body) {
  // What is read most of decides: a mean that is repeated along what is reduced says nothing of the
  // order of memory.
  auto elementsOf = [&](const View &view) {
    int64_t count = 1;
    for (size_t d = 0; d < kernel.sizes.size(); ++d)
      count *= view.strides[d] != 0 ? kernel.sizes[d] : 1;
    return count;
  };
  auto widest = static_cast<size_t>(std::ranges::max_element(kernel.inputs, {}, elementsOf) -
                                    kernel.inputs.begin());
  // Kept dimensions in the order of the output, reduced ones in that of the widest input.
  // Those of size 1 are none.
  std::vector<size_t> order;
  for (size_t d = 0; d < kernel.sizes.size(); ++d) {
    auto hasRange = [&](const View &view) {
      return !view.valid.empty() && view.valid[d] != ValidRange{0, 1};
    };
    if (kernel.sizes[d] != 1 || std::ranges::any_of(kernel.inputs, hasRange))
      order.push_back(d);
  }
  auto leading = [&](size_t d) {
    const View &view = kernel.reduced[d] && inputs ? kernel.inputs[widest] : kernel.output;
    return std::abs(view.strides[d]);
  };
  std::ranges::sort(order, [&](size_t a, size_t b) {
    if (kernel.reduced[a] != kernel.reduced[b])
      return static_cast<bool>(kernel.reduced[b]);
    return leading(a) != leading(b) ? leading(a) > leading(b) : a < b;
  });
  nest.views = kernel.inputs;
  nest.views.push_back(kernel.output);
  auto apply = [&](auto &values) {
    auto old = values;
    values.resize(order.size());
    for (size_t d = 0; d < order.size(); ++d)
      values[d] = old[order[d]];
  };
  nest.sizes = kernel.sizes;
  apply(nest.sizes);
  for (View &view : nest.views) {
    apply(view.strides);
    if (!view.valid.empty())
      apply(view.valid);
  }
  kept = static_cast<size_t>(
      std::ranges::count_if(order, [&](size_t d) { return !kernel.reduced[d]; }));
  nest.merge(kept, nest.sizes.size());
  size_t before = nest.sizes.size();
  nest.merge(0, kept);
  kept -= before - nest.sizes.size();
  // At least one of each kind.
  auto insertUnit = [&](size_t d) {
    nest.sizes.insert(nest.sizes.begin() + static_cast<ptrdiff_t>(d), 1);
    for (View &view : nest.views) {
      view.strides.insert(view.strides.begin() + static_cast<ptrdiff_t>(d), 1);
      if (!view.valid.empty())
        view.valid.insert(view.valid.begin() + static_cast<ptrdiff_t>(d), {0, 1});
    }
  };
  if (kept == 0)
    insertUnit(kept++);
  if (kept == nest.sizes.size())
    insertUnit(kept);

  auto strideOf = [&](size_t d) {
    return inputs ? std::abs(nest.views[widest].strides[d]) : int64_t{1};
  };
  isAlongColumns = nest.sizes[kept - 1] >= 4 && nest.views.back().strides[kept - 1] == 1 &&
                   strideOf(kept - 1) <= strideOf(nest.sizes.size() - 1);
  if (isAlongColumns) {
    --kept;
    auto toTheEnd = [&](auto &values) {
      auto at = values.begin() + static_cast<ptrdiff_t>(kept);
      std::rotate(at, at + 1, values.end());
    };
    toTheEnd(nest.sizes);
    for (View &view : nest.views) {
      toTheEnd(view.strides);
      if (!view.valid.empty())
        toTheEnd(view.valid);
    }
  }
  for (int64_t size : keptSizes())
    outerKept *= size;
  for (int64_t size : reducedSizes())
    reducedRows *= size;
  int64_t piece = isAlongColumns ? kColumns : kPart;
  pieces = std::max<int64_t>(1, divideUp(length(), piece));
  // What is cut: rows of columns, or rows and their pieces.
  int64_t units = isAlongColumns ? outerKept * pieces : outerKept;
  int64_t segments = isAlongColumns ? reducedRows : reducedRows * pieces;
  int64_t segmentElements = std::max<int64_t>(1, std::min(length(), piece));
  perPart = std::max<int64_t>(1, segments);
  if (units < kEnoughUnits && segments > 1 && segments * segmentElements >= 2 * kPart)
    perPart = std::max(divideUp(kPart, segmentElements), divideUp(segments, kMostParts));
  parts = std::max<int64_t>(1, divideUp(segments, perPart));
}

int ReductionPlan::cost() const {
  int cost = 0;
  for (mlir::Operation *op : body.operations())
    cost += body.erfOf(op) ? kCheapBody + 1 : costOf(op);
  return cost;
}

V ReductionPlan::withoutRest(Emitter &e, V value, V i, V end) const {
  V isFull = e.CreateICmpSLE(e.CreateAdd(i, e.i64(e.lanes)), end);
  return e.branch(isFull, [&] { return SmallVector<V>{value}; }, [&] {
    V count = e.CreateTrunc(e.CreateSub(end, i), e.getInt32Ty());
    V isThere = e.CreateICmpSLT(e.laneNumbers(e.getInt32Ty()), e.splat(count));
    return SmallVector<V>{e.CreateSelect(isThere, value, neutral(e))};
  })[0];
}

/// Unit: a kept index and a part of its reduction.
void ReductionPlan::emitRows(Emitter &e) const {
  KernelArguments arguments = beginKernel(e, "stage0", inputs, parts > 1 ? 2 : 1);
  e.loop(arguments.begin, arguments.end, 1, [&](V unit) {
    V index = parts > 1 ? e.CreateUDiv(unit, e.i64(parts)) : unit;
    V part = parts > 1 ? e.CreateURem(unit, e.i64(parts)) : e.i64(0);
    SmallVector<V> keptIndices = unflatten(e, keptSizes(), index);
    V first = e.CreateMul(part, e.i64(perPart));
    V last = e.min64(e.CreateAdd(first, e.i64(perPart)), e.i64(reducedRows * pieces));
    SmallVector<V> accumulators = startOf(e, combiner, type());
    bool whole = length() % e.lanes == 0;
    e.loop(first, last, 1, accumulators, [&](V segment, MutableArrayRef<V> carried) {
      V rowNumber = pieces > 1 ? e.CreateUDiv(segment, e.i64(pieces)) : segment;
      V piece = pieces > 1 ? e.CreateURem(segment, e.i64(pieces)) : e.i64(0);
      SmallVector<V> indices = keptIndices;
      indices.append(unflatten(e, reducedSizes(), rowNumber));
      SmallVector<RowAccess> in;
      for (size_t k = 0; k < inputs; ++k)
        in.push_back(rowAccess(e, nest.views[k], arguments.inputs[k], indices));
      RowOfMap row(e, body, in, indices.size());
      V begin = e.CreateMul(piece, e.i64(kPart));
      V end = e.min64(e.CreateAdd(begin, e.i64(kPart)), e.i64(length()));
      unsigned together = cost() <= kCheapBody ? kAccumulators : 1;
      int64_t multiple = pieces > 1 ? std::gcd(length(), kPart) : length();
      vectorLoop(e, begin, end, together, multiple, carried,
                 [&](ArrayRef<V> starts, MutableArrayRef<V> now) {
                   SmallVector<V> values;
                   for (V i : starts) {
                     bool isFull = whole || starts.size() > 1;
                     V value = row.compute(e, i, end, isFull)[0];
                     values.push_back(isFull ? value : withoutRest(e, value, i, end));
                   }
                   accumulate(e, combiner, type(), now, values);
                 });
    });
    V all = combineAll(e, combiner, type(), accumulators);
    if (parts == 1) {
      storeScalar(e, rowAccess(e, nest.views.back(), arguments.outputs[0], keptIndices),
                  finished(e, all));
      return;
    }
    V stored = e.toStorage(accumulatorType(), all);
    e.CreateStore(e.CreateExtractElement(stored, uint64_t{0}),
                  accumulatorAt(e, arguments.outputs[1], unit));
  });
  e.CreateRetVoid();
}

/// Unit: a kept index; its parts lie side by side.
void ReductionPlan::emitRowParts(Emitter &e) const {
  KernelArguments arguments = beginKernel(e, "stage1", 0, 2);
  e.loop(arguments.begin, arguments.end, 1, [&](V index) {
    V base = accumulatorAt(e, arguments.outputs[1], e.CreateMul(index, e.i64(parts)));
    // Few numbers: one after another in one lane's place, in a fixed order.
    SmallVector<V> total{neutral(e)};
    e.loop(e.i64(0), e.i64(parts), 1, total, [&](V part, MutableArrayRef<V> now) {
      V stored = e.CreateLoad(e.storageType(accumulatorType()), accumulatorAt(e, base, part));
      now[0] = combine(e, now[0], e.toCompute(accumulatorType(), e.splat(stored)));
    });
    SmallVector<V> indices = unflatten(e, keptSizes(), index);
    storeScalar(e, rowAccess(e, nest.views.back(), arguments.outputs[0], indices),
                finished(e, total[0]));
  });
  e.CreateRetVoid();
}

/// Unit: an outer kept index, a piece of the kept row, and a part of the reduction.
void ReductionPlan::emitColumns(Emitter &e) const {
  KernelArguments arguments = beginKernel(e, "stage0", inputs, parts > 1 ? 2 : 1);
  e.loop(arguments.begin, arguments.end, 1, [&](V unit) {
    V part = parts > 1 ? e.CreateURem(unit, e.i64(parts)) : e.i64(0);
    V rest = parts > 1 ? e.CreateUDiv(unit, e.i64(parts)) : unit;
    V piece = pieces > 1 ? e.CreateURem(rest, e.i64(pieces)) : e.i64(0);
    V outer = pieces > 1 ? e.CreateUDiv(rest, e.i64(pieces)) : rest;
    SmallVector<V> outerIndices = unflatten(e, keptSizes(), outer);
    V begin = e.CreateMul(piece, e.i64(kColumns));
    V end = e.min64(e.CreateAdd(begin, e.i64(kColumns)), e.i64(length()));
    V first = e.CreateMul(part, e.i64(perPart));
    V last = e.min64(e.CreateAdd(first, e.i64(perPart)), e.i64(reducedRows));
    bool whole = length() % e.lanes == 0;
    auto accumulator = [&](V column) {
      return accumulatorAt(e, arguments.scratch, e.CreateSub(column, begin));
    };
    e.loop(begin, end, e.lanes, [&](V column) { store(e, neutral(e), accumulator(column)); });
    e.loop(first, last, kRowsAtOnce, [&](V rows) {
      V rowsEnd = e.min64(e.CreateAdd(rows, e.i64(kRowsAtOnce)), last);
      e.loop(begin, end, e.lanes, [&](V column) {
        SmallVector<V> sum{neutral(e)};
        e.loop(rows, rowsEnd, 1, sum, [&](V row, MutableArrayRef<V> now) {
          SmallVector<V> indices = outerIndices;
          indices.append(unflatten(e, reducedSizes(), row));
          SmallVector<RowAccess> in;
          for (size_t k = 0; k < inputs; ++k)
            in.push_back(rowAccess(e, nest.views[k], arguments.inputs[k], indices));
          RowOfMap map(e, body, in, indices.size());
          now[0] = combine(e, now[0], map.compute(e, column, end, whole)[0]);
        });
        V address = accumulator(column);
        store(e, combine(e, load(e, address), sum[0]), address);
      });
    });
    if (parts == 1) {
      emitColumnResults(e, arguments, outerIndices, begin, end,
                        [&](V column) { return load(e, accumulator(column)); });
      return;
    }
    V row = e.CreateAdd(e.CreateMul(part, e.i64(outerKept)), outer);
    V base = accumulatorAt(e, arguments.outputs[1], e.CreateMul(row, e.i64(paddedLength())));
    e.loop(begin, end, e.lanes, [&](V column) {
      store(e, load(e, accumulator(column)), accumulatorAt(e, base, column));
    });
  });
  e.CreateRetVoid();
}

void ReductionPlan::emitColumnResults(Emitter &e, const KernelArguments &arguments,
                                      ArrayRef<V> outer, V begin, V end,
                                      llvm::function_ref<V(V)> at) const {
  SmallVector<V> indices(outer);
  indices.append(reducedSizes().size(), e.i64(0)); // The output has no strides along them.
  RowAccess out = rowAccess(e, nest.views.back(), arguments.outputs[0], indices);
  e.loop(begin, end, e.lanes, [&](V column) {
    storeVectors(e, out, finished(e, at(column)), column, end, length() % e.lanes == 0);
  });
}

/// Unit: an outer kept index and a piece of the kept row; parts lie one behind another.
void ReductionPlan::emitColumnParts(Emitter &e) const {
  KernelArguments arguments = beginKernel(e, "stage1", 0, 2);
  e.loop(arguments.begin, arguments.end, 1, [&](V unit) {
    V piece = pieces > 1 ? e.CreateURem(unit, e.i64(pieces)) : e.i64(0);
    V outer = pieces > 1 ? e.CreateUDiv(unit, e.i64(pieces)) : unit;
    V begin = e.CreateMul(piece, e.i64(kColumns));
    V end = e.min64(e.CreateAdd(begin, e.i64(kColumns)), e.i64(length()));
    SmallVector<V> outerIndices = unflatten(e, keptSizes(), outer);
    emitColumnResults(e, arguments, outerIndices, begin, end, [&](V column) {
      SmallVector<V> total{neutral(e)};
      e.loop(e.i64(0), e.i64(parts), 1, total, [&](V part, MutableArrayRef<V> now) {
        V row = e.CreateAdd(e.CreateMul(part, e.i64(outerKept)), outer);
        V index = e.CreateAdd(e.CreateMul(row, e.i64(paddedLength())), column);
        now[0] = combine(e, now[0], load(e, accumulatorAt(e, arguments.outputs[1], index)));
      });
      return total[0];
    });
  });
  e.CreateRetVoid();
}

KernelPlan ReductionPlan::plan() const {
  KernelPlan result;
  int64_t units = isAlongColumns ? outerKept * pieces : outerKept;
  if (outerKept == 0 || (isAlongColumns && length() == 0))
    units = 0; // Nothing is kept.
  int64_t elements = perPart * std::min(length(), isAlongColumns ? kColumns : kPart);
  result.stages.push_back({nullptr, units * parts, std::max<int64_t>(1, elements)});
  if (isAlongColumns)
    result.scratchBytes = kColumns * accumulatorBytes();
  if (parts > 1) {
    result.stages.push_back({nullptr, units, parts * (isAlongColumns ? kColumns : 1)});
    int64_t each = isAlongColumns ? outerKept * paddedLength() : outerKept;
    result.workspaceBytes = parts * each * accumulatorBytes();
  }
  result.emit = [plan = *this](Emitter &e) {
    plan.isAlongColumns ? plan.emitColumns(e) : plan.emitRows(e);
    if (plan.parts > 1)
      plan.isAlongColumns ? plan.emitColumnParts(e) : plan.emitRowParts(e);
  };
  return result;
}

} // namespace

KernelPlan planReduction(const Reduction &kernel, const Target &) {
  return ReductionPlan(kernel).plan();
}

} // namespace cupel::codegen
