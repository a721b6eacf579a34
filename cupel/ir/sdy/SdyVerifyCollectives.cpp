// The verifiers of the collectives. Each says which axes it works on, and its `out_sharding` must
// be what the operand's sharding becomes by that.

#include "cupel/ir/sdy/SdyAxes.h"
#include "cupel/ir/sdy/SdyVerify.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cupel::sdy {

//===--------------------------------------------------------------------------------------------===//
// The sharding of a value
//===--------------------------------------------------------------------------------------------===//

static TensorShardingAttr pick(std::optional<TensorShardingPerValueAttr> shardings,
                               unsigned index) {
  if (!shardings || index >= shardings->getShardings().size())
    return {};
  return shardings->getShardings()[index];
}

/// Inside a portable artifact types change between operations of different dialects.
static Value throughCasts(Value value) {
  while (auto cast = value.getDefiningOp<UnrealizedConversionCastOp>()) {
    if (cast->getNumOperands() != 1 || cast->getNumResults() != 1)
      break;
    value = cast->getOperand(0);
  }
  return value;
}

TensorShardingAttr getSharding(Value value) {
  value = throughCasts(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent);
        function && argument.getOwner()->isEntryBlock())
      return function.getArgAttrOfType<TensorShardingAttr>(argument.getArgNumber(),
                                                           SdyDialect::kShardingAttrName);
    if (auto named = dyn_cast_or_null<NamedComputationOp>(parent))
      return pick(named.getInShardings(), argument.getArgNumber());
    return {};
  }
  Operation *op = value.getDefiningOp();
  unsigned index = cast<OpResult>(value).getResultNumber();
  return llvm::TypeSwitch<Operation *, TensorShardingAttr>(op)
      .Case<ShardingConstraintOp, ReshardOp>([](auto typed) { return typed.getSharding(); })
      .Case<AllGatherOp, AllSliceOp, AllToAllOp, CollectivePermuteOp, AllReduceOp, ReduceScatterOp,
            ShardedToUnreducedOp, ReplicatedToUnreducedOp>(
          [](auto typed) { return typed.getOutSharding(); })
      .Case([&](ManualComputationOp typed) { return pick(typed.getOutShardings(), index); })
      .Case([&](NamedComputationOp typed) { return pick(typed.getOutShardings(), index); })
      .Case([&](DataFlowEdgeOp typed) { return typed.getSharding().value_or(nullptr); })
      .Default([&](Operation *other) -> TensorShardingAttr {
        auto shardings =
            other->getAttrOfType<TensorShardingPerValueAttr>(SdyDialect::kShardingAttrName);
        return shardings ? pick(shardings, index) : TensorShardingAttr();
      });
}

/// Whether a value without a sharding could have been given one where it is defined.
static bool canHaveSharding(Value value) {
  value = throughCasts(value);
  // The versioned form keeps shardings in a way of its own.
  if (Operation *op = value.getDefiningOp(); op && op->getName().getDialectNamespace() == "vhlo")
    return false;
  auto argument = dyn_cast<BlockArgument>(value);
  return !argument || isa_and_nonnull<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

//===--------------------------------------------------------------------------------------------===//
// What collectives have in common
//===--------------------------------------------------------------------------------------------===//

namespace {

/// The shardings before and after a collective, once the checks common to all have passed.
struct Transition {
  MeshAttr mesh;
  TensorShardingAttr from;
  TensorShardingAttr to;
  /// Nothing is known about the operand, so nothing can be compared with it.
  bool isOperandUnknown = false;
};

enum class MissingSharding { IsReplicated, IsError };

template <typename OpT>
FailureOr<Transition> getTransition(OpT op, MissingSharding missing, bool mayChangeMesh = false) {
  auto emitError = [&] { return op.emitOpError(); };
  Transition transition;
  transition.to = op.getOutSharding();
  if (failed(verifySharding(transition.to, op.getType(), op, emitError)))
    return failure();
  transition.mesh = lookupMesh(transition.to, op);
  transition.from = getSharding(op.getTensor());
  if (!transition.from) {
    if (missing == MissingSharding::IsError) {
      if (canHaveSharding(op.getTensor()))
        return op.emitOpError("needs an operand that has a sharding"), failure();
      transition.isOperandUnknown = true;
      return transition;
    }
    MLIRContext *context = op.getContext();
    auto unsplit = DimensionShardingAttr::get(context, {}, /*is_closed=*/true, std::nullopt);
    SmallVector<DimensionShardingAttr> dims(transition.to.getRank(), unsplit);
    transition.from = TensorShardingAttr::get(context, transition.to.getMeshOrRef(), dims, {}, {},
                                              ReductionOp::Sum);
  }
  // The operand's own sharding is verified where it stands; here it only must be comparable.
  MeshAttr operandMesh = lookupMesh(transition.from, op);
  if (!operandMesh || (operandMesh != transition.mesh && !mayChangeMesh))
    return op.emitOpError() << "out_sharding is for mesh " << transition.mesh
                            << ", but the operand is on "
                            << (operandMesh ? operandMesh : transition.from.getMeshOrRef()),
           failure();
  if (transition.from.getRank() != transition.to.getRank())
    return op.emitOpError() << "out_sharding has " << transition.to.getRank()
                            << " dimensions, but the operand's sharding "
                            << transition.from.getRank(),
           failure();
  return transition;
}

} // namespace

static LogicalResult verifyDimension(Operation *op, const Transition &transition, int64_t dim,
                                     ArrayRef<AxisRefAttr> expected) {
  ArrayRef<AxisRefAttr> actual = transition.to.getDimShardings()[dim].getAxes();
  if (actual == expected)
    return success();
  return op->emitOpError() << "out_sharding splits dimension " << dim << " over "
                           << toString(actual) << ", but it must be " << toString(expected);
}

/// Computes the axes of one dimension after the collective; fails after having said why.
using DimensionChange = function_ref<LogicalResult(
    SmallVectorImpl<AxisRefAttr> &axes, ArrayRef<AxisRefAttr> collectiveAxes, int64_t dim)>;

static LogicalResult verifyPerDimension(Operation *op, const Transition &transition,
                                        ArrayRef<AxisRefListAttr> axesPerDim,
                                        DimensionChange change) {
  AxisUse use(transition.mesh);
  for (AxisRefListAttr axes : axesPerDim)
    if (failed(use.add(axes, [&] { return op->emitOpError(); })))
      return failure();
  if (static_cast<int64_t>(axesPerDim.size()) != transition.to.getRank())
    return op->emitOpError() << "lists axes for " << axesPerDim.size()
                             << " dimensions, but out_sharding has " << transition.to.getRank();
  if (transition.isOperandUnknown)
    return success();
  for (auto [dim, collectiveAxes] : llvm::enumerate(axesPerDim)) {
    auto axes = llvm::to_vector(transition.from.getDimShardings()[dim].getAxes());
    if (failed(change(axes, collectiveAxes, dim)) ||
        failed(verifyDimension(op, transition, dim, axes)))
      return failure();
  }
  return success();
}

/// Takes the axes off the end of a dimension's list.
static LogicalResult gatherDimension(Operation *op, SmallVectorImpl<AxisRefAttr> &axes,
                                     ArrayRef<AxisRefAttr> gathered, int64_t dim, MeshAttr mesh) {
  for (AxisRefAttr axis : llvm::reverse(gathered))
    if (failed(removeTrailingAxis(axes, axis, mesh)))
      return op->emitOpError() << "cannot take axis " << toString(axis) << " off dimension " << dim
                               << ", which is split over " << toString(axes);
  return success();
}

static void sliceDimension(SmallVectorImpl<AxisRefAttr> &axes, ArrayRef<AxisRefAttr> added,
                           MeshAttr mesh) {
  for (AxisRefAttr axis : added)
    appendAxis(axes, axis, mesh);
}

static LogicalResult verifyGather(Operation *op, const Transition &transition,
                                  ArrayRef<AxisRefListAttr> axesPerDim) {
  return verifyPerDimension(
      op, transition, axesPerDim,
      [&](SmallVectorImpl<AxisRefAttr> &axes, ArrayRef<AxisRefAttr> gathered, int64_t dim) {
        return gatherDimension(op, axes, gathered, dim, transition.mesh);
      });
}

static LogicalResult verifySlice(Operation *op, const Transition &transition,
                                 ArrayRef<AxisRefListAttr> axesPerDim) {
  return verifyPerDimension(
      op, transition, axesPerDim,
      [&](SmallVectorImpl<AxisRefAttr> &axes, ArrayRef<AxisRefAttr> added, int64_t) {
        sliceDimension(axes, added, transition.mesh);
        return success();
      });
}

/// Checks that the axes added are what distinguishes the unreduced axes after from those before.
static LogicalResult verifyUnreduced(Operation *op, const Transition &transition,
                                     ArrayRef<AxisRefAttr> added) {
  if (transition.to.getReductionOp() != ReductionOp::Sum)
    return op->emitOpError("out_sharding must be unreduced by sum");
  if (transition.isOperandUnknown)
    return success();
  auto expected = llvm::to_vector(transition.from.getUnreducedAxes());
  llvm::append_range(expected, added);
  sortAndMergeAxes(expected, transition.mesh);
  if (ArrayRef(expected) != transition.to.getUnreducedAxes())
    return op->emitOpError() << "the unreduced axes of out_sharding must be " << toString(expected)
                             << ", got " << toString(transition.to.getUnreducedAxes());
  return success();
}

static LogicalResult verifySameDimensions(Operation *op, const Transition &transition) {
  if (transition.isOperandUnknown)
    return success();
  for (auto [dim, sharding] : llvm::enumerate(transition.from.getDimShardings()))
    if (failed(verifyDimension(op, transition, dim, sharding.getAxes())))
      return failure();
  return success();
}

static bool overlapsAny(AxisRefAttr axis, ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  AxisSpan span = AxisSpan::get(axis, mesh);
  return llvm::any_of(axes,
                      [&](AxisRefAttr other) { return span.overlaps(AxisSpan::get(other, mesh)); });
}

static bool splitsADimension(AxisRefAttr axis, TensorShardingAttr sharding, MeshAttr mesh) {
  return llvm::any_of(sharding.getDimShardings(), [&](DimensionShardingAttr dim) {
    return overlapsAny(axis, dim.getAxes(), mesh);
  });
}

//===--------------------------------------------------------------------------------------------===//
// The ops
//===--------------------------------------------------------------------------------------------===//

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  auto transition = getTransition(*this, MissingSharding::IsError);
  return failed(transition) ? failure() : verifyGather(*this, *transition, getGatheringAxes());
}

LogicalResult AllSliceOp::verifySymbolUses(SymbolTableCollection &) {
  auto transition = getTransition(*this, MissingSharding::IsReplicated);
  return failed(transition) ? failure() : verifySlice(*this, *transition, getSlicingAxes());
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &) {
  auto transition = getTransition(*this, MissingSharding::IsReplicated);
  return failed(transition) ? failure() : verifySlice(*this, *transition, getReduceScatterAxes());
}

LogicalResult ShardedToUnreducedOp::verifySymbolUses(SymbolTableCollection &) {
  auto transition = getTransition(*this, MissingSharding::IsError);
  if (failed(transition) || failed(verifyGather(*this, *transition, getAxes())))
    return failure();
  SmallVector<AxisRefAttr> moved;
  for (AxisRefListAttr axes : getAxes())
    llvm::append_range(moved, axes.getValue());
  return verifyUnreduced(*this, *transition, moved);
}

LogicalResult ReplicatedToUnreducedOp::verifySymbolUses(SymbolTableCollection &) {
  auto transition = getTransition(*this, MissingSharding::IsError);
  if (failed(transition))
    return failure();
  if (getAxes().empty())
    return emitOpError("must name at least one axis");
  AxisUse use(transition->mesh);
  if (failed(use.addSorted(getAxes(), "replicated", [&] { return emitOpError(); })) ||
      failed(verifySameDimensions(*this, *transition)))
    return failure();
  for (AxisRefAttr axis : getAxes())
    if (!transition->isOperandUnknown && splitsADimension(axis, transition->from, transition->mesh))
      return emitOpError() << "axis " << toString(axis) << " splits the operand, so the operand is"
                           << " not replicated along it";
  return verifyUnreduced(*this, *transition, getAxes());
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  auto transition = getTransition(*this, MissingSharding::IsReplicated);
  if (failed(transition) || failed(verifySameDimensions(*this, *transition)))
    return failure();
  MeshAttr mesh = transition->mesh;
  AxisUse use(mesh);
  if (failed(use.addSorted(getReductionAxes(), "reduction", [&] { return emitOpError(); })))
    return failure();
  for (AxisRefAttr axis : getReductionAxes()) {
    if (splitsADimension(axis, transition->from, mesh) ||
        overlapsAny(axis, transition->from.getReplicatedAxes(), mesh))
      return emitOpError() << "reduction axis " << toString(axis)
                           << " splits the operand or is replicated in it";
    if (overlapsAny(axis, transition->to.getUnreducedAxes(), mesh))
      return emitOpError() << "reduction axis " << toString(axis)
                           << " is still unreduced in out_sharding";
  }
  return success();
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  auto transition = getTransition(*this, MissingSharding::IsError);
  if (failed(transition))
    return failure();
  if (getParams().empty())
    return emitOpError("must move at least one list of axes");

  int64_t rank = transition->to.getRank();
  AxisUse use(transition->mesh);
  llvm::BitVector moved(rank);
  int64_t previousSource = -1;
  for (AllToAllParamAttr param : getParams()) {
    if (failed(use.add(param.getAxes(), [&] { return emitOpError(); })))
      return failure();
    for (int64_t dim : {param.getSrcDim(), param.getTgtDim()}) {
      if (dim < 0 || dim >= rank)
        return emitOpError() << "dimension " << dim << " is not one of the " << rank
                             << " of its tensor";
      if (moved.test(dim))
        return emitOpError() << "dimension " << dim << " is moved from or to twice";
      moved.set(dim);
    }
    if (param.getSrcDim() <= previousSource)
      return emitOpError() << "source dimensions must be ascending, but " << param.getSrcDim()
                           << " follows " << previousSource;
    previousSource = param.getSrcDim();
  }
  if (transition->isOperandUnknown)
    return success();

  for (AllToAllParamAttr param : getParams()) {
    auto axesOf = [&](int64_t dim) {
      return llvm::to_vector(transition->from.getDimShardings()[dim].getAxes());
    };
    SmallVector<AxisRefAttr> source = axesOf(param.getSrcDim()), target = axesOf(param.getTgtDim());
    if (failed(
            gatherDimension(*this, source, param.getAxes(), param.getSrcDim(), transition->mesh)))
      return failure();
    sliceDimension(target, param.getAxes(), transition->mesh);
    if (failed(verifyDimension(*this, *transition, param.getSrcDim(), source)) ||
        failed(verifyDimension(*this, *transition, param.getTgtDim(), target)))
      return failure();
  }
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!moved.test(dim) &&
        failed(verifyDimension(*this, *transition, dim,
                               transition->from.getDimShardings()[dim].getAxes())))
      return failure();
  return success();
}

LogicalResult CollectivePermuteOp::verifySymbolUses(SymbolTableCollection &) {
  auto transition = getTransition(*this, MissingSharding::IsError, /*mayChangeMesh=*/true);
  if (failed(transition))
    return failure();
  if (transition->isOperandUnknown)
    return success();
  MeshAttr from = lookupMesh(transition->from, *this), to = transition->mesh;
  if (from.getAxes() != to.getAxes())
    return emitOpError() << "cannot go from mesh " << from << " to " << to
                         << ", which has other axes";
  if (transition->from.getMeshOrRef() != transition->to.getMeshOrRef() && from == to)
    return emitOpError() << "goes to another name of the same mesh " << to;
  for (auto [dim, sharding] : llvm::enumerate(transition->from.getDimShardings())) {
    ArrayRef<AxisRefAttr> before = sharding.getAxes();
    ArrayRef<AxisRefAttr> after = transition->to.getDimShardings()[dim].getAxes();
    if (getShardedSize(before, from) != getShardedSize(after, to))
      return emitOpError() << "dimension " << dim << " is split over " << toString(before)
                           << " before and " << toString(after)
                           << " after, which is not the same number of parts";
  }
  return success();
}

} // namespace cupel::sdy
