// The verifiers of attributes, of shardings on functions and foreign ops, and of the ops that are
// not collectives.

#include "cupel/ir/sdy/SdyVerify.h"

#include "cupel/ir/sdy/SdyAssembly.h"
#include "cupel/ir/sdy/SdyAxes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cupel::sdy {

//===--------------------------------------------------------------------------------------------===//
// Attributes by themselves
//===--------------------------------------------------------------------------------------------===//

LogicalResult MeshAxisAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                   int64_t size) {
  if (size < 1)
    return emitError() << "the size of mesh axis \"" << name << "\" must be at least 1, got "
                       << size;
  return success();
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes, ArrayRef<int64_t> deviceIds) {
  for (int64_t id : deviceIds)
    if (id < 0)
      return emitError() << "device ids must not be negative, got " << id;
  if (axes.empty()) {
    if (deviceIds.size() > 1)
      return emitError() << "a mesh without axes can name one device at most, got "
                         << deviceIds.size();
    return success();
  }

  llvm::SmallDenseSet<StringRef> names;
  int64_t numDevices = 1;
  for (MeshAxisAttr axis : axes) {
    if (!names.insert(axis.getName()).second)
      return emitError() << "mesh axis \"" << axis.getName() << "\" is given twice";
    if (llvm::MulOverflow(numDevices, axis.getSize(), numDevices))
      return emitError() << "the number of devices of the mesh does not fit 64 bits";
  }
  if (deviceIds.empty())
    return success();
  if (static_cast<int64_t>(deviceIds.size()) != numDevices)
    return emitError() << "the axes make " << numDevices << " devices, but " << deviceIds.size()
                       << " device ids are given";
  llvm::BitVector seen(deviceIds.size());
  for (int64_t id : deviceIds) {
    if (id >= numDevices || seen.test(id))
      return emitError() << "device ids must be 0 to " << numDevices - 1
                         << ", each once, but device id " << id
                         << (id >= numDevices ? " is beyond" : " is given twice");
    seen.set(id);
  }
  if (llvm::is_sorted(deviceIds))
    return emitError() << "device ids that are 0, 1, 2... must be left out";
  return success();
}

LogicalResult SubAxisInfoAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t preSize,
                                      int64_t size) {
  int64_t product = 0;
  if (llvm::MulOverflow(preSize, size, product))
    return emitError() << "the sub-axis (" << preSize << ")" << size << " does not fit 64 bits";
  return success();
}

LogicalResult TensorShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                         Attribute meshOrRef, ArrayRef<DimensionShardingAttr>,
                                         ArrayRef<AxisRefAttr>, ArrayRef<AxisRefAttr>,
                                         ReductionOp) {
  if (!llvm::isa_and_nonnull<MeshAttr, FlatSymbolRefAttr>(meshOrRef))
    return emitError() << "a sharding is for a mesh or the name of one, got " << meshOrRef;
  return success();
}

LogicalResult DimMappingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                     ArrayRef<int64_t> factorIndices) {
  if (factorIndices.empty())
    return emitError() << "a dimension must be mapped to at least one factor";
  for (int64_t index : factorIndices)
    if (index < 0)
      return emitError() << "factor indices must not be negative, got " << index;
  return success();
}

//===--------------------------------------------------------------------------------------------===//
// Axes
//===--------------------------------------------------------------------------------------------===//

/// Checks that a part of an axis is well formed for an axis of this size.
static LogicalResult verifySubAxis(AxisRefAttr axis, int64_t axisSize, EmitError emitError) {
  SubAxisInfoAttr part = axis.getSubAxisInfo();
  if (part.getPreSize() < 1)
    return emitError() << "the pre-size of sub-axis " << toString(axis) << " must be at least 1";
  if (part.getSize() < 2)
    return emitError() << "the size of sub-axis " << toString(axis) << " must be at least 2";
  if (axisSize % part.getNextPreSize() != 0)
    return emitError() << "sub-axis " << toString(axis)
                       << " does not fit its axis: " << part.getPreSize() << " * " << part.getSize()
                       << " does not divide the size " << axisSize;
  if (part.getSize() == axisSize)
    return emitError() << "sub-axis " << toString(axis)
                       << " is all of its axis and must be written as \"" << axis.getName() << "\"";
  return success();
}

LogicalResult AxisUse::add(ArrayRef<AxisRefAttr> axes, EmitError emitError) {
  AxisRefAttr previous;
  for (AxisRefAttr axis : axes) {
    std::optional<int64_t> axisSize = mesh.getAxisSize(axis.getName());
    if (!axisSize)
      return emitError() << "the mesh has no axis \"" << axis.getName() << "\"; it is " << mesh;
    if (axis.getSubAxisInfo() && failed(verifySubAxis(axis, *axisSize, emitError)))
      return failure();
    AxisSpan span = AxisSpan::get(axis, mesh);
    for (AxisRefAttr other : used) {
      if (axis == other)
        return emitError() << "axis " << toString(axis) << " is used twice";
      if (span.overlaps(AxisSpan::get(other, mesh)))
        return emitError() << "axes " << toString(other) << " and " << toString(axis) << " overlap";
    }
    if (previous && AxisSpan::get(previous, mesh).isFollowedBy(span) && *axisSize > 1)
      return emitError() << "sub-axes " << toString(previous) << " and " << toString(axis)
                         << " must be written as one";
    used.push_back(axis);
    previous = axis;
  }
  return success();
}

LogicalResult AxisUse::addSorted(ArrayRef<AxisRefAttr> axes, StringRef what, EmitError emitError) {
  if (failed(add(axes, emitError)))
    return failure();
  auto isBefore = [&](AxisRefAttr lhs, AxisRefAttr rhs) { return isBeforeInMesh(lhs, rhs, mesh); };
  if (!llvm::is_sorted(axes, isBefore))
    return emitError() << what << " axes " << toString(axes)
                       << " must be in the order of the mesh, which is " << mesh;
  return success();
}

//===--------------------------------------------------------------------------------------------===//
// Shardings
//===--------------------------------------------------------------------------------------------===//

MeshAttr lookupMesh(TensorShardingAttr sharding, Operation *op) {
  if (auto mesh = dyn_cast<MeshAttr>(sharding.getMeshOrRef()))
    return mesh;
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  // No symbol table: verifiers of different functions run side by side and share none. JAX puts
  // its meshes first, so the walk is short.
  StringAttr name = cast<FlatSymbolRefAttr>(sharding.getMeshOrRef()).getAttr();
  for (MeshOp mesh : module.getOps<MeshOp>())
    if (mesh.getSymNameAttr() == name)
      return mesh.getMeshAttr();
  return {};
}

/// The manual computation around `op` that has bound the axis, if there is one.
static ManualComputationOp findBinder(Operation *op, StringRef axis) {
  for (auto parent = op->getParentOfType<ManualComputationOp>(); parent;
       parent = parent->getParentOfType<ManualComputationOp>())
    if (llvm::any_of(parent.getManualAxes(),
                     [&](StringAttr manual) { return manual.getValue() == axis; }))
      return parent;
  return {};
}

static LogicalResult verifyNotBound(Operation *op, StringRef axis, EmitError emitError) {
  ManualComputationOp binder = findBinder(op, axis);
  if (!binder)
    return success();
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << "axis \"" << axis << "\" is already manual here";
  diagnostic.attachNote(binder.getLoc()) << "made manual by this op";
  return diagnostic;
}

static LogicalResult verifyPriorities(TensorShardingAttr sharding, EmitError emitError) {
  for (auto [index, dim] : llvm::enumerate(sharding.getDimShardings())) {
    if (!dim.getPriority())
      continue;
    if (*dim.getPriority() < 0)
      return emitError() << "dimension " << index << " has a negative priority";
    if (dim.getIsClosed() && dim.getAxes().empty())
      return emitError() << "dimension " << index
                         << " has a priority, but no axes and is closed to them";
  }
  return success();
}

LogicalResult verifySharding(TensorShardingAttr sharding, Type type, Operation *op,
                             EmitError emitError) {
  MeshAttr mesh = lookupMesh(sharding, op);
  if (!mesh)
    return emitError() << "there is no mesh " << sharding.getMeshOrRef() << " in the module";
  bool isEmpty = sharding.getRank() == 0 && !sharding.mentionsAxes();
  if (mesh.isMaximal() || !type) {
    if (isEmpty || (!type && !mesh.isMaximal() && !sharding.mentionsAxes()))
      return success();
    return emitError() << (type ? "a sharding for a single device" : "a sharding without a value")
                       << " has neither dimensions nor axes, got " << sharding;
  }

  auto shaped = dyn_cast<ShapedType>(type);
  if (auto tuple = dyn_cast<TupleType>(type)) {
    if (tuple.size() != 1)
      return emitError() << "only a tuple of one element can have a sharding, got " << type;
    shaped = dyn_cast<ShapedType>(tuple.getType(0));
  }
  if (!shaped) {
    if (!isEmpty)
      return emitError() << "a value of type " << type
                         << " has no dimensions to split, but the sharding is " << sharding;
    return success();
  }
  if (!shaped.hasRank())
    return emitError() << "only a tensor with a rank can have a sharding, got " << type;
  if (sharding.getRank() != shaped.getRank())
    return emitError() << "the sharding has " << sharding.getRank() << " dimensions, but " << type
                       << " has " << shaped.getRank();

  AxisUse use(mesh);
  if (failed(verifyPriorities(sharding, emitError)))
    return failure();
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    if (failed(use.add(dim.getAxes(), emitError)))
      return failure();
  if (failed(use.addSorted(sharding.getReplicatedAxes(), "replicated", emitError)) ||
      failed(use.addSorted(sharding.getUnreducedAxes(), "unreduced", emitError)))
    return failure();

  auto verifyFree = [&](ArrayRef<AxisRefAttr> axes) {
    return success(llvm::all_of(axes, [&](AxisRefAttr axis) {
      return succeeded(verifyNotBound(op, axis.getName(), emitError));
    }));
  };
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    if (failed(verifyFree(dim.getAxes())))
      return failure();
  return success(succeeded(verifyFree(sharding.getReplicatedAxes())) &&
                 succeeded(verifyFree(sharding.getUnreducedAxes())));
}

LogicalResult verifyShardings(TensorShardingPerValueAttr shardings, TypeRange types, Operation *op,
                              StringRef what) {
  ArrayRef<TensorShardingAttr> list = shardings.getShardings();
  if (types.empty() && list.size() == 1)
    return verifySharding(list.front(), Type(), op,
                          [&] { return op->emitOpError() << what << " sharding: "; });
  if (list.size() != types.size())
    return op->emitOpError() << "has " << types.size() << " " << what << "s, but " << list.size()
                             << " shardings for them";
  for (auto [index, sharding] : llvm::enumerate(list))
    if (failed(verifySharding(sharding, types[index], op, [&, index = index] {
          return op->emitOpError() << what << " " << index << ": ";
        })))
      return failure();
  return success();
}

//===--------------------------------------------------------------------------------------------===//
// Sharding rules
//===--------------------------------------------------------------------------------------------===//

static LogicalResult verifyMappings(Operation *op, TypeRange types,
                                    ArrayRef<TensorMappingAttr> mappings,
                                    ArrayRef<int64_t> factorSizes, llvm::BitVector &used,
                                    StringRef what) {
  if (types.size() != mappings.size())
    return op->emitOpError() << "has " << types.size() << " " << what
                             << "s, but its sharding rule maps " << mappings.size();
  if (mappings.empty())
    return op->emitOpError() << "has no " << what << "s and cannot have a sharding rule";
  for (auto [index, mapping] : llvm::enumerate(mappings)) {
    auto emitError = [&, index = index] {
      return op->emitOpError() << "sharding rule of " << what << " " << index << ": ";
    };
    auto shaped = dyn_cast<ShapedType>(types[index]);
    if (!shaped || !shaped.hasStaticShape())
      return emitError() << "needs a tensor of static shape, got " << types[index];
    if (static_cast<int64_t>(mapping.getDimMappings().size()) != shaped.getRank())
      return emitError() << "maps " << mapping.getDimMappings().size() << " dimensions of "
                         << types[index];
    llvm::BitVector usedHere(factorSizes.size());
    for (DimMappingAttr dim : mapping.getDimMappings()) {
      for (int64_t factor : dim.getFactorIndices()) {
        if (factor >= static_cast<int64_t>(factorSizes.size()))
          return emitError() << "factor " << getFactorSymbol(factor) << " has no size";
        if (usedHere.test(factor))
          return emitError() << "factor " << getFactorSymbol(factor) << " is used twice";
        if (factorSizes[factor] == 1 && dim.getFactorIndices().size() > 1)
          return emitError() << "factor " << getFactorSymbol(factor)
                             << " of size 1 must be the only one of its dimension";
        usedHere.set(factor);
      }
    }
    used |= usedHere;
  }
  return success();
}

/// Checks that a list of factors is ascending, without repeats, and within the rule.
static LogicalResult verifyFactorList(Operation *op, ArrayRef<int64_t> factors, size_t numFactors,
                                      StringRef what) {
  int64_t previous = -1;
  for (int64_t factor : factors) {
    if (factor < 0 || factor >= static_cast<int64_t>(numFactors))
      return op->emitOpError() << what << " factor " << factor << " of the sharding rule is not one"
                               << " of its " << numFactors << " factors";
    if (factor <= previous)
      return op->emitOpError() << what << " factors of the sharding rule must be ascending, but "
                               << getFactorSymbol(factor) << " follows "
                               << getFactorSymbol(previous);
    previous = factor;
  }
  return success();
}

static LogicalResult verifyShardingRule(OpShardingRuleAttr rule, Operation *op) {
  size_t numFactors = rule.getFactorSizes().size();
  llvm::BitVector inOperands(numFactors), inResults(numFactors), special(numFactors);
  if (failed(verifyMappings(op, op->getOperandTypes(), rule.getOperandMappings(),
                            rule.getFactorSizes(), inOperands, "operand")) ||
      failed(verifyMappings(op, op->getResultTypes(), rule.getResultMappings(),
                            rule.getFactorSizes(), inResults, "result")))
    return failure();
  for (size_t factor = 0; factor < numFactors; ++factor)
    if (!inOperands.test(factor) && !inResults.test(factor))
      return op->emitOpError() << "factor " << getFactorSymbol(factor)
                               << " of the sharding rule is used by no operand and no result";

  std::pair<ArrayRef<int64_t>, StringRef> kinds[] = {
      {rule.getReductionFactors(), "reduction"},
      {rule.getNeedReplicationFactors(), "need_replication"},
      {rule.getPermutationFactors(), "permutation"}};
  for (auto [factors, what] : kinds) {
    if (failed(verifyFactorList(op, factors, numFactors, what)))
      return failure();
    for (int64_t factor : factors) {
      if (special.test(factor))
        return op->emitOpError() << "factor " << getFactorSymbol(factor)
                                 << " of the sharding rule is of two kinds";
      special.set(factor);
    }
  }
  for (int64_t factor : rule.getReductionFactors())
    if (inResults.test(factor))
      return op->emitOpError() << "reduction factor " << getFactorSymbol(factor)
                               << " of the sharding rule appears in a result";
  return verifyFactorList(op, rule.getBlockedPropagationFactors(), numFactors,
                          "blocked_propagation");
}

//===--------------------------------------------------------------------------------------------===//
// Attributes on functions and foreign ops
//===--------------------------------------------------------------------------------------------===//

static LogicalResult verifyFunctionAttribute(Operation *op, NamedAttribute attribute, Type type,
                                             unsigned index, StringRef what) {
  if (attribute.getName() != SdyDialect::kShardingAttrName)
    return success();
  auto emitError = [&] { return op->emitOpError() << what << " " << index << ": "; };
  auto sharding = dyn_cast<TensorShardingAttr>(attribute.getValue());
  if (!sharding)
    return emitError() << attribute.getName().strref() << " must be a #sdy.sharding, got "
                       << attribute.getValue();
  return verifySharding(sharding, type, op, emitError);
}

LogicalResult SdyDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argIndex,
                                                   NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || argIndex >= function.getNumArguments())
    return success();
  return verifyFunctionAttribute(op, attribute, function.getArgumentTypes()[argIndex], argIndex,
                                 "argument");
}

LogicalResult SdyDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned resultIndex,
                                                      NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || resultIndex >= function.getNumResults())
    return success();
  return verifyFunctionAttribute(op, attribute, function.getResultTypes()[resultIndex], resultIndex,
                                 "result");
}

LogicalResult SdyDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kShardingAttrName) {
    auto shardings = dyn_cast<TensorShardingPerValueAttr>(attribute.getValue());
    if (!shardings)
      return op->emitOpError() << attribute.getName().strref()
                               << " must be a #sdy.sharding_per_value, got "
                               << attribute.getValue();
    // In a portable artifact tensors have types of their own; what concerns them is checked once
    // they are upgraded.
    if (op->getName().getDialectNamespace() == "vhlo")
      return success();
    return verifyShardings(shardings, op->getResultTypes(), op, "result");
  }
  if (attribute.getName() == kShardingRuleAttrName) {
    auto rule = dyn_cast<OpShardingRuleAttr>(attribute.getValue());
    if (!rule)
      return op->emitOpError() << attribute.getName().strref()
                               << " must be a #sdy.op_sharding_rule, got " << attribute.getValue();
    if (op->getName().getDialectNamespace() == "vhlo")
      return success();
    return verifyShardingRule(rule, op);
  }
  return success();
}

//===--------------------------------------------------------------------------------------------===//
// Ops
//===--------------------------------------------------------------------------------------------===//

LogicalResult ShardingConstraintOp::verifySymbolUses(SymbolTableCollection &) {
  return verifySharding(getSharding(), getType(), *this, [&] { return emitOpError(); });
}

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  return verifySharding(getSharding(), getType(), *this, [&] { return emitOpError(); });
}

LogicalResult PropagationBarrierOp::verify() {
  if (getAllowedDirection() == PropagationDirection::Both)
    return emitOpError("must not allow BOTH directions, because then it would bar nothing");
  return success();
}

LogicalResult DataFlowEdgeOp::verifySymbolUses(SymbolTableCollection &) {
  if (!cast<ShapedType>(getType()).hasStaticShape())
    return emitOpError("needs a static shape, got ") << getType();
  if (!getInput().hasOneUse())
    return emitOpError("must be the only use of its input");
  Operation *owner = getInput().getDefiningOp();
  if (owner && isa_and_nonnull<SdyDialect>(owner->getDialect()) &&
      !isa<ManualComputationOp, NamedComputationOp>(owner))
    return emitOpError("must not take the result of ") << owner->getName();
  if (std::optional<TensorShardingAttr> sharding = getSharding())
    return verifySharding(*sharding, getType(), *this, [&] { return emitOpError(); });
  return success();
}

/// The types that the region of a computation returns.
static TypeRange getReturnedTypes(Region &body) {
  return body.front().getTerminator()->getOperandTypes();
}

LogicalResult NamedComputationOp::verify() {
  // Types can be compared without knowing any mesh.
  auto verifySame = [&](TypeRange inner, TypeRange outer, StringRef what) -> LogicalResult {
    if (inner.size() != outer.size())
      return emitOpError() << "has " << outer.size() << " " << what << "s, but its region has "
                           << inner.size();
    for (auto [index, type] : llvm::enumerate(inner))
      if (type != outer[index])
        return emitOpError() << what << " " << index << " is " << outer[index]
                             << ", but in the region it is " << type;
    return success();
  };
  return success(
      succeeded(verifySame(getBody().getArgumentTypes(), getOperandTypes(), "operand")) &&
      succeeded(verifySame(getReturnedTypes(getBody()), getResultTypes(), "result")));
}

LogicalResult NamedComputationOp::verifySymbolUses(SymbolTableCollection &) {
  if (auto shardings = getInShardings();
      shardings && failed(verifyShardings(*shardings, getOperandTypes(), *this, "operand")))
    return failure();
  if (auto shardings = getOutShardings())
    return verifyShardings(*shardings, getResultTypes(), *this, "result");
  return success();
}

LogicalResult ManualComputationOp::verify() {
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr axis : getManualAxes()) {
    if (!seen.insert(axis).second)
      return emitOpError() << "manual axis " << axis << " is given twice";
    if (failed(verifyNotBound(*this, axis, [&] { return emitOpError(); })))
      return failure();
  }
  return success();
}

/// Checks that the local type is what one device holds of the global one along the manual axes.
static LogicalResult verifyLocalType(ManualComputationOp op, TensorShardingAttr sharding,
                                     MeshAttr mesh, Type globalType, Type localType,
                                     EmitError emitError) {
  auto isManual = [&](AxisRefAttr axis) {
    return llvm::any_of(op.getManualAxes(),
                        [&](StringAttr name) { return name.getValue() == axis.getName(); });
  };
  auto global = dyn_cast<ShapedType>(globalType);
  SmallVector<int64_t> shape;
  for (auto [index, dim] : llvm::enumerate(sharding.getDimShardings())) {
    ArrayRef<AxisRefAttr> axes = dim.getAxes();
    ArrayRef<AxisRefAttr> manual = axes.take_while(isManual);
    ArrayRef<AxisRefAttr> rest = axes.drop_front(manual.size());
    if (const auto *late = llvm::find_if(rest, isManual); late != rest.end())
      return emitError() << "manual axis " << toString(*late) << " comes after free axis "
                         << toString(rest.front()) << " in dimension " << index
                         << ", but manual axes must come first";
    if (!global)
      continue;
    int64_t size = global.getDimSize(index);
    if (!ShapedType::isDynamic(size)) {
      std::optional<int64_t> parts = getShardedSize(manual, mesh);
      if (!parts || size % *parts != 0)
        return emitError() << "dimension " << index << " of size " << size
                           << " is not divisible by its manual axes " << toString(manual);
      size /= *parts;
    }
    shape.push_back(size);
  }
  if (!global)
    return success();
  auto local = dyn_cast<RankedTensorType>(localType);
  if (!local || local.getShape() != ArrayRef(shape) ||
      local.getElementType() != global.getElementType())
    return emitError() << "with sharding " << sharding << ", " << globalType << " must be "
                       << RankedTensorType::get(shape, global.getElementType())
                       << " in the region, but is " << localType;
  return success();
}

static LogicalResult verifyManualValues(ManualComputationOp op,
                                        TensorShardingPerValueAttr shardings, TypeRange globalTypes,
                                        TypeRange localTypes, StringRef what) {
  if (globalTypes.size() != localTypes.size())
    return op.emitOpError() << "has " << globalTypes.size() << " " << what
                            << "s, but its region has " << localTypes.size();
  if (globalTypes.empty() && shardings.getShardings().empty())
    return success();
  if (failed(verifyShardings(shardings, globalTypes, op, what)))
    return failure();
  if (globalTypes.empty())
    return success();
  for (auto [index, sharding] : llvm::enumerate(shardings.getShardings())) {
    auto emitError = [&, index = index] {
      return op.emitOpError() << what << " " << index << ": ";
    };
    MeshAttr mesh = lookupMesh(sharding, op);
    for (StringAttr axis : op.getManualAxes())
      if (!mesh.getAxes().empty() && !mesh.getAxisSize(axis))
        return emitError() << "manual axis " << axis << " is not one of its mesh " << mesh;
    if (mesh.isMaximal())
      continue;
    if (failed(
            verifyLocalType(op, sharding, mesh, globalTypes[index], localTypes[index], emitError)))
      return failure();
  }
  return success();
}

LogicalResult ManualComputationOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyManualValues(*this, getInShardings(), getOperandTypes(),
                                getBody().getArgumentTypes(), "operand")) ||
      failed(verifyManualValues(*this, getOutShardings(), getResultTypes(),
                                getReturnedTypes(getBody()), "result")))
    return failure();
  // All values live on the same devices; a mesh without axes fits any.
  MeshAttr common;
  for (TensorShardingPerValueAttr shardings : {getInShardings(), getOutShardings()}) {
    for (TensorShardingAttr sharding : shardings.getShardings()) {
      MeshAttr mesh = lookupMesh(sharding, *this);
      if (!mesh || mesh.getAxes().empty())
        continue;
      if (common && mesh != common && !getManualAxes().empty())
        return emitOpError() << "uses two meshes, " << common << " and " << mesh
                             << ", but a manual computation runs on one";
      common = mesh;
    }
  }
  return success();
}

} // namespace cupel::sdy
