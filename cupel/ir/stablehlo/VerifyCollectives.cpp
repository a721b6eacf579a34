// Communication between processes: groups, collectives and what starts them asynchronously. Feeds
// and channels are in VerifyTransfers.cpp.

#include "cupel/ir/stablehlo/Verify.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Groups of processes
//===----------------------------------------------------------------------===//

LogicalResult MeshAxisAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                   int64_t size) {
  if (!name || name.getValue().empty())
    return emitError() << "mesh axis needs a name";
  if (size <= 0)
    return emitError() << "mesh axis " << name << " must have a positive size, but has " << size;
  return success();
}

/// Reference to an axis of a mesh that is written out.
static LogicalResult verifyAxisRef(function_ref<InFlightDiagnostic()> emitError, MeshAttr mesh,
                                   AxisRefAttr axis) {
  const auto *found = llvm::find_if(mesh.getAxes(), [&](MeshAxisAttr candidate) {
    return candidate.getName() == axis.getName();
  });
  if (found == mesh.getAxes().end())
    return emitError() << "axis " << axis.getName() << " is not an axis of the mesh";
  SubAxisInfoAttr part = axis.getSubAxisInfo();
  if (!part)
    return success();
  std::optional<int64_t> extent = llvm::checkedMul(part.getPreSize(), part.getSize());
  if (part.getPreSize() <= 0 || part.getSize() <= 0 || !extent || found->getSize() % *extent != 0)
    return emitError() << "sub-axis (" << part.getPreSize() << ")" << part.getSize() << " of axis "
                       << axis.getName() << " does not divide its size " << found->getSize();
  return success();
}

LogicalResult ReplicaGroupMeshAxesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                               Attribute mesh, ArrayRef<AxisRefAttr> axes) {
  if (!llvm::isa_and_nonnull<FlatSymbolRefAttr, MeshAttr>(mesh))
    return emitError() << "mesh of replica groups must be a symbol or a mesh";
  llvm::SmallDenseSet<Attribute> seen;
  for (AxisRefAttr axis : axes) {
    if (!axis)
      return emitError() << "axes of replica groups must be axis references";
    if (!seen.insert(axis).second)
      return emitError() << "replica groups name axis " << axis.getName() << " twice";
    if (auto known = llvm::dyn_cast<MeshAttr>(mesh);
        known && failed(verifyAxisRef(emitError, known, axis)))
      return failure();
  }
  return success();
}

namespace {

/// What an op demands of its replica groups.
struct GroupRules {
  /// No group may be shorter than the others (padded with -1).
  bool areEqualSized = false;
  std::optional<int64_t> size = std::nullopt;
};

} // namespace

static LogicalResult verifyGroups(Reporter report, Attribute attribute, GroupRules rules) {
  auto groups = dyn_cast<DenseIntElementsAttr>(attribute);
  if (!groups)
    return success(); // Mesh axes verify themselves.
  ShapedType type = groups.getType();
  if (type.getRank() != 2)
    return report.error("replica_groups must have rank 2 (groups and their members), but has "
                        "shape ",
                        toString(type.getShape()));
  if (llvm::is_contained(type.getShape(), 0))
    return success(); // One group of everybody.
  if (rules.size && type.getDimSize(1) != *rules.size)
    return report.error("replica_groups must have ", *rules.size, " members each, but have ",
                        type.getDimSize(1));

  auto verifyId = [&](int64_t id) -> LogicalResult {
    if (id < -1 || (id == -1 && rules.areEqualSized))
      return report.error("replica_groups must not contain the id ", id);
    return success();
  };
  // A splat may claim to have more elements than there is memory for.
  if (groups.isSplat()) {
    int64_t id = groups.getSplatValue<int64_t>();
    bool isOne = type.getDimSize(0) == 1 && type.getDimSize(1) == 1;
    if (id >= 0 && !isOne)
      return report.error("replica_groups must not repeat an id, but repeat ", id);
    return verifyId(id);
  }
  SmallVector<int64_t> ids;
  for (int64_t id : groups.getValues<int64_t>()) {
    if (failed(verifyId(id)))
      return failure();
    if (id >= 0)
      ids.push_back(id);
  }
  llvm::sort(ids);
  if (const auto *repeated = std::adjacent_find(ids.begin(), ids.end()); repeated != ids.end())
    return report.error("replica_groups must not repeat an id, but repeat ", *repeated);
  return success();
}

/// Ids that count over replicas and partitions need a channel that connects all of them.
static LogicalResult verifyGlobalIds(Reporter report, bool useGlobalDeviceIds,
                                     std::optional<ChannelHandleAttr> channel) {
  if (useGlobalDeviceIds && (!channel || channel->getHandle() <= 0))
    return report.error("use_global_device_ids needs a channel_handle with a positive handle");
  return success();
}

/// The computation of a reduction over processes: on pairs of one scalar, for all operands.
static LogicalResult verifyCommonReducer(Reporter report, Region &region, TypeRange operands) {
  for (Type operand : operands)
    if (failed(verifyReducer(report, region, "computation", operand, {})))
      return failure();
  return success();
}

static LogicalResult verifyResultCount(Reporter report, size_t results, size_t operands) {
  if (operands == 0)
    return report.error("expects at least one operand");
  if (results != operands)
    return report.error("requires as many results as operands, but got ", results, " for ",
                        operands);
  return success();
}

//===----------------------------------------------------------------------===//
// all_gather, all_reduce, reduce_scatter
//===----------------------------------------------------------------------===//

/// `whole` and `part` are alike but for `dim`, where `whole` is a multiple of `part`.
static LogicalResult verifyMultiple(Reporter report, RankedTensorType whole, StringRef wholeName,
                                    RankedTensorType part, StringRef partName, int64_t dim,
                                    StringRef dimName) {
  if (whole.getRank() != part.getRank())
    return report.error(wholeName, " and ", partName, " must have the same rank, but got ",
                        whole.getRank(), " and ", part.getRank());
  if (failed(verifyInRange(report, dimName, dim, whole.getRank(), "the operand")))
    return failure();
  for (int64_t i = 0; i < whole.getRank(); ++i) {
    Dim large = getDim(whole, i), small = getDim(part, i);
    if (i != dim && !verify::areCompatible(large, small))
      return report.error(wholeName, " and ", partName, " must agree in all dimensions but ", dim,
                          ", but dimension ", i, " has ", toString(large), " and ",
                          toString(small));
    if (i != dim || !large.isKnown() || !small.isKnown())
      continue;
    if (small.size == 0 ? large.size != 0 : large.size % small.size != 0)
      return report.error("dimension ", dim, " of the ", wholeName,
                          " must be a multiple of that "
                          "of the ",
                          partName, ", but got ", large.size, " and ", small.size);
  }
  return success();
}

LogicalResult AllGatherOp::verify() {
  Reporter report(*this);
  if (failed(verifyGlobalIds(report, getUseGlobalDeviceIds(), getChannelHandle())) ||
      failed(verifyGroups(report, getReplicaGroups(), {/*areEqualSized=*/true})) ||
      failed(verifyResultCount(report, getNumResults(), getNumOperands())))
    return failure();
  for (auto [operand, result] : llvm::zip_equal(getOperandTypes(), getResultTypes())) {
    if (!areCompatibleElementTypes(tensor(operand).getElementType(),
                                   tensor(result).getElementType()))
      return report.error("operands and results must have compatible element types, but got ",
                          operand, " and ", result);
    if (failed(verifyMultiple(report, tensor(result), "result", tensor(operand), "operand",
                              getAllGatherDim(), "all_gather_dim")))
      return failure();
  }
  return success();
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  for (Type operand : adaptor.getOperands().getTypes()) {
    RankedTensorType type = tensor(operand);
    results.push_back(withElementType(
        type, getReducedElementType(adaptor.getComputation(), 0, type.getElementType())));
  }
  return success();
}

LogicalResult AllReduceOp::verify() {
  Reporter report(*this);
  if (failed(verifyGlobalIds(report, getUseGlobalDeviceIds(), getChannelHandle())) ||
      failed(verifyGroups(report, getReplicaGroups(), {/*areEqualSized=*/false})) ||
      failed(verifyResultCount(report, getNumResults(), getNumOperands())))
    return failure();
  return verifyCommonReducer(report, getComputation(), getOperandTypes());
}

LogicalResult ReduceScatterOp::verify() {
  Reporter report(*this);
  RankedTensorType operand = tensor(getOperand()), result = tensor(getResult());
  if (failed(verifyGlobalIds(report, getUseGlobalDeviceIds(), getChannelHandle())) ||
      failed(verifyGroups(report, getReplicaGroups(), {/*areEqualSized=*/true})) ||
      failed(verifyMultiple(report, operand, "operand", result, "result", getScatterDimension(),
                            "scatter_dimension")) ||
      failed(verifyCommonReducer(report, getComputation(), getOperand().getType())))
    return failure();
  Type reduced = getReducedElementType(getComputation(), 0, operand.getElementType());
  if (!areCompatibleElementTypes(reduced, result.getElementType()))
    return report.error("result must have the element type ", reduced,
                        " that region 'computation' returns, but is ", result);
  return success();
}

//===----------------------------------------------------------------------===//
// all_to_all
//===----------------------------------------------------------------------===//

LogicalResult AllToAllOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<AllToAllOp>(location);
  int64_t split = adaptor.getSplitDimension(), concat = adaptor.getConcatDimension(),
          count = adaptor.getSplitCount();
  if (count <= 0)
    return report.error("split_count must be positive, but is ", count);
  for (Value value : adaptor.getOperands()) {
    RankedTensorType operand = tensor(value);
    if (failed(
            verifyInRange(report, "split_dimension", split, operand.getRank(), "the operands")) ||
        failed(
            verifyInRange(report, "concat_dimension", concat, operand.getRank(), "the operands")))
      return failure();
    Dim splitDim = getDim(operand, split), concatDim = getDim(operand, concat);
    if (splitDim.isKnown() && splitDim.size % count != 0)
      return report.error("dimension ", split, " must be divisible into split_count = ", count,
                          " parts, but has size ", splitDim.size);
    Shape shape(operand);
    if (split != concat) {
      std::optional<Dim> joined =
          map(concatDim, [&](int64_t size) { return llvm::checkedMul(size, count); });
      if (!joined)
        return report.error("the size of dimension ", concat,
                            " of the result does not fit in 64 bits");
      shape.set(concat, *joined);
      shape.set(split, *map(splitDim, [&](int64_t size) { return std::optional(size / count); }));
    }
    results.push_back(shape.withElementType(operand.getElementType()));
  }
  return success();
}

LogicalResult AllToAllOp::verify() {
  Reporter report(*this);
  if (failed(verifyResultCount(report, getNumResults(), getNumOperands())))
    return failure();
  return verifyGroups(report, getReplicaGroups(),
                      {/*areEqualSized=*/true, static_cast<int64_t>(getSplitCount())});
}

//===----------------------------------------------------------------------===//
// collective_broadcast, collective_reduce
//===----------------------------------------------------------------------===//

/// The operands that are data: all, or all but the vector of roots at the end.
static FailureOr<TypeRange> getData(Reporter report, TypeRange operands, bool hasDynamicRoot,
                                    size_t resultCount) {
  TypeRange data = operands;
  if (hasDynamicRoot) {
    if (operands.empty())
      return report.error("has_dynamic_root needs an operand with the roots");
    data = operands.drop_back();
    RankedTensorType roots = tensor(operands.back());
    Dim count{static_cast<int64_t>(data.size()), ShapedType::kDynamic};
    if (roots.getRank() != 1 || !roots.getElementType().isSignlessInteger(32) ||
        !verify::areCompatible(getDim(roots, 0), count))
      return report.error("has_dynamic_root needs a last operand of type tensor<", count.size,
                          "xi32>, one root per operand, but got ", roots);
  }
  if (failed(verifyResultCount(report, resultCount, data.size())))
    return failure();
  return data;
}

LogicalResult CollectiveBroadcastOp::verify() {
  Reporter report(*this);
  if (failed(verifyGroups(report, getReplicaGroups(), {})))
    return failure();
  FailureOr<TypeRange> data =
      getData(report, getOperandTypes(), getHasDynamicRoot(), getNumResults());
  if (failed(data))
    return failure();
  for (auto [operand, result] : llvm::zip_equal(*data, getResultTypes()))
    if (!cupel::stablehlo::areCompatible(operand, result))
      return report.error("operands and results must have compatible types, but got ", operand,
                          " and ", result);
  return success();
}

LogicalResult CollectiveReduceOp::verify() {
  Reporter report(*this);
  if (failed(verifyGlobalIds(report, getUseGlobalDeviceIds(), getChannelHandle())) ||
      failed(verifyGroups(report, getReplicaGroups(), {/*areEqualSized=*/getUseGlobalDeviceIds()})))
    return failure();
  FailureOr<TypeRange> data =
      getData(report, getOperandTypes(), getHasDynamicRoot(), getNumResults());
  if (failed(data) || failed(verifyCommonReducer(report, getComputation(), *data)))
    return failure();
  for (auto [operand, result] : llvm::zip_equal(*data, getResultTypes())) {
    RankedTensorType type = tensor(operand);
    RankedTensorType expected =
        withElementType(type, getReducedElementType(getComputation(), 0, type.getElementType()));
    if (!cupel::stablehlo::areCompatible(expected, result))
      return report.error("result must be compatible with ", expected, ", but is ", result);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Asynchronous collectives
//===----------------------------------------------------------------------===//

LogicalResult AsyncStartOp::verify() {
  Reporter report(*this);
  FailureOr<Computation> body = getComputation(report, getBody(), "body");
  if (failed(body))
    return failure();
  Block &block = getBody().front();
  if (!llvm::hasNItems(block, 2) || !block.front().hasTrait<Startable>())
    return report.error("region 'body' must hold one collective or slice op and its return");
  if (!cupel::stablehlo::areCompatible(body->arguments, getOperandTypes()))
    return report.error("region 'body' must take the types of the operands, (", getOperandTypes(),
                        "), but takes (", TypeRange(body->arguments), ")");
  TypeRange future = cast<FutureType>(getResult().getType()).getTypes();
  if (!cupel::stablehlo::areCompatible(body->results, future))
    return report.error("region 'body' must return the types of the future, (", future,
                        "), but returns (", TypeRange(body->results), ")");
  return success();
}

LogicalResult AsyncDoneOp::verify() {
  TypeRange future = cast<FutureType>(getOperand().getType()).getTypes();
  if (!cupel::stablehlo::areCompatible(future, getResultTypes()))
    return Reporter(*this).error("results must have the types of the future, (", future,
                                 "), but have (", getResultTypes(), ")");
  return success();
}

} // namespace cupel::stablehlo
