// Transfers over feeds and channels, ids of processes.

#include "cupel/ir/stablehlo/Verify.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Ids
//===----------------------------------------------------------------------===//

static RankedTensorType getIdType(MLIRContext *context) {
  return RankedTensorType::get({}, IntegerType::get(context, 32, IntegerType::Unsigned));
}

LogicalResult ReplicaIdOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor,
                                            SmallVectorImpl<Type> &results) {
  results.push_back(getIdType(context));
  return success();
}

LogicalResult PartitionIdOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                              Adaptor, SmallVectorImpl<Type> &results) {
  results.push_back(getIdType(context));
  return success();
}

//===----------------------------------------------------------------------===//
// Pairs of processes
//===----------------------------------------------------------------------===//

/// [N, 2]: no process sends twice or receives twice.
static LogicalResult verifyPairs(Reporter report, DenseIntElementsAttr pairs) {
  ShapedType type = pairs.getType();
  // How "no pairs" is written varies.
  if (llvm::is_contained(type.getShape(), 0))
    return success();
  if (type.getRank() != 2 || type.getDimSize(1) != 2)
    return report.error("source_target_pairs must have shape [N, 2], but have ",
                        toString(type.getShape()));
  // A splat may claim to have more elements than there is memory for; it repeats its only source.
  if (pairs.isSplat() && type.getDimSize(0) > 1)
    return report.error("source_target_pairs must not repeat a source, but repeat ",
                        pairs.getSplatValue<int64_t>());
  SmallVector<int64_t> sources, targets;
  for (auto [index, id] : llvm::enumerate(pairs.getValues<int64_t>())) {
    if (id < 0)
      return report.error("source_target_pairs must not contain negative ids, but contain ", id);
    (index % 2 == 0 ? sources : targets).push_back(id);
  }
  for (auto [name, ids] : {std::pair("source", &sources), std::pair("target", &targets)}) {
    llvm::sort(*ids);
    if (const auto *repeated = std::adjacent_find(ids->begin(), ids->end()); repeated != ids->end())
      return report.error("source_target_pairs must not repeat a ", name, ", but repeat ",
                          *repeated);
  }
  return success();
}

LogicalResult CollectivePermuteOp::verify() {
  return verifyPairs(Reporter(*this), getSourceTargetPairs());
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// Numbers of the channel types.
constexpr int64_t kDeviceToDevice = 1, kDeviceToHost = 2, kHostToDevice = 3;

static LogicalResult verifyTransfer(Reporter report, ChannelHandleAttr channel, bool isHostTransfer,
                                    int64_t hostType, std::optional<DenseIntElementsAttr> pairs) {
  int64_t expected = isHostTransfer ? hostType : kDeviceToDevice;
  if (channel.getType() != expected)
    return report.error("channel type must be ", expected, " where is_host_transfer is ",
                        isHostTransfer ? "true" : "false", ", but is ", channel.getType());
  return pairs ? verifyPairs(report, *pairs) : success();
}

/// Any number of tensors, then a token.
static LogicalResult verifyReceived(Reporter report, TypeRange results) {
  if (results.empty() || !isa<TokenType>(results.back()))
    return report.error("the last result must be a token, but results are (", results, ")");
  for (Type result : results.drop_back())
    if (!isa<RankedTensorType>(result))
      return report.error("all results but the last must be tensors, but results are (", results,
                          ")");
  return success();
}

LogicalResult SendOp::verify() {
  return verifyTransfer(Reporter(*this), getChannelHandle(), getIsHostTransfer(), kDeviceToHost,
                        getSourceTargetPairs());
}

LogicalResult RecvOp::verify() {
  Reporter report(*this);
  if (failed(verifyTransfer(report, getChannelHandle(), getIsHostTransfer(), kHostToDevice,
                            getSourceTargetPairs())))
    return failure();
  return verifyReceived(report, getResultTypes());
}

//===----------------------------------------------------------------------===//
// Feeds
//===----------------------------------------------------------------------===//

LogicalResult InfeedOp::verify() {
  Reporter report(*this);
  if (failed(verifyReceived(report, getResultTypes())))
    return failure();
  std::optional<ArrayAttr> layouts = getLayout();
  if (!layouts)
    return success();
  if (layouts->size() != getNumResults() - 1)
    return report.error("layout must have one entry per tensor, but has ", layouts->size(), " for ",
                        getNumResults() - 1);
  for (Attribute layout : *layouts) {
    auto dims = dyn_cast<ArrayAttr>(layout);
    if (!dims || !llvm::all_of(dims, llvm::IsaPred<IntegerAttr>))
      return report.error("layout must consist of arrays of integers, but contains ", layout);
  }
  return success();
}

} // namespace cupel::stablehlo
