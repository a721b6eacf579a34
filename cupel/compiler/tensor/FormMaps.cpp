// Elementwise operations on as many elements become maps that read their operands through whatever
// moved them there; what only moves elements and is left becomes a map that copies.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/ElementBody.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FORMMAPS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Operands and results of one map; more are pointers that no register holds.
constexpr size_t kMostReadings = 24, kMostResults = 12;

class MapFormer {
public:
  MapFormer(Operation *seed, Taken &taken)
      : count(countOf(seed->getResult(0))), taken(taken),
        group(seed, Links::Reshapes, taken, count == 1) {} // Numbers are cheaper together.

  void run(bool fuses) {
    auto fits = [&](Operation *op) {
      return fuses && isFusible(op) && countOf(op->getResult(0)) == count && addReadings(op);
    };
    (void)addReadings(group.operations()[0]);
    group.grow(fits, fits);
    SmallVector<Value> results = group.escaping();
    if (results.empty() || !compiler::mayRewrite(group.operations()[0], "map"))
      return;
    Operation *place = group.place();
    auto shape = cast<RankedTensorType>(results.back().getType()).getShape();
    LoopNest nest(shape, SmallVector<int>(shape.size(), 0));
    ElementBody body(group, nest);
    body.read();
    (void)nest.collapse();
    OpBuilder builder(place);
    auto map = builder.create<MapOp>(group.locationFrom(place), TypeRange(ValueRange(results)),
                                     body.inputs(), nest.sizes(), body.views());
    map.getBody().push_back(body.write(results, place->getLoc()));
    for (auto [result, value] : llvm::zip(results, map.getResults()))
      result.replaceAllUsesWith(value);
    taken.insert(group.operations().begin(), group.operations().end());
  }

private:
  /// Counts what the operation would read from outside, about.
  bool addReadings(Operation *op) {
    SmallVector<Value> fresh;
    for (Value operand : op->getOperands())
      if (!group.isMade(throughReshapes(operand)) && !splatOf(operand) &&
          sources.insert(operand).second)
        fresh.push_back(operand);
    // What was outside when it was counted and is made within by now: of a long chain every value.
    if (sources.size() > kMostReadings)
      for (Value value : llvm::to_vector(sources))
        if (group.isMade(throughReshapes(value)))
          sources.erase(value);
    if (sources.size() <= kMostReadings && group.operations().size() < 200 &&
        group.escaping().size() < kMostResults)
      return true;
    for (Value value : fresh)
      sources.erase(value);
    return false;
  }

  int64_t count;
  Taken &taken;
  Group group;
  llvm::DenseSet<Value> sources;
};

/// A move that nobody reads through becomes a copy.
void copyMove(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  LoopNest nest(type.getShape(), SmallVector<int>(type.getRank(), 0));
  nest.add(op->getResult(0), nest.identityStrides());
  if (nest.readings()[0].value == op->getResult(0))
    return; // It cannot be told as a way of reading.
  if (!compiler::mayRewrite(op, "copy"))
    return;
  (void)nest.collapse();
  OpBuilder builder(op);
  auto map = builder.create<MapOp>(op->getLoc(), TypeRange{type}, nest.readings()[0].value,
                                   nest.sizes(), builder.getArrayAttr({nest.view(0)}));
  builder.createBlock(&map.getBody(), {}, {RankedTensorType::get({}, type.getElementType())},
                      {op->getLoc()});
  builder.create<YieldOp>(op->getLoc(), map.getBody().getArguments());
  op->getResult(0).replaceAllUsesWith(map.getResult(0));
}

class FormMaps : public impl::FormMapsBase<FormMaps> {
public:
  using FormMapsBase::FormMapsBase;

  void runOnOperation() override {
    if (!fuse) // So that no map reads through them.
      copyMoves();
    formGroups(getOperation(), [this](Operation *op, Taken &taken) {
      if (!taken.contains(op) && isFusible(op))
        MapFormer(op, taken).run(fuse);
    });
    copyMoves();
  }

private:
  /// Moves that no map reads through.
  void copyMoves() {
    formGroups(getOperation(), [this](Operation *op, Taken &) {
      if (op->use_empty() || !isMove(op) || isa<stablehlo::ReshapeOp>(op))
        return;
      if (auto slice = dyn_cast<stablehlo::SliceOp>(op); slice && fuse && isReadByConcatenations(slice))
        return;
      if (isCompiledTensor(op->getResult(0).getType()) &&
          isCompiledTensor(op->getOperand(0).getType()))
        copyMove(op);
    });
  }
};

} // namespace
} // namespace cupel::tir
