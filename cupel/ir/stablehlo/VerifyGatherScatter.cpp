// gather, dynamic_gather and scatter: slices at positions that an index tensor gives.

#include "cupel/ir/stablehlo/Verify.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

namespace {

/// What gather and scatter have in common, under the names each uses. "Indexed" is the operand of a
/// gather or an input of a scatter; "window" dimensions are those of a slice that are kept.
struct Indexing {
  RankedTensorType indexed;
  RankedTensorType indices;
  ArrayRef<int64_t> windowDims;   // in the result (updates)
  ArrayRef<int64_t> droppedDims;  // of the indexed tensor: collapsed (inserted)
  ArrayRef<int64_t> batchingDims; // of the indexed tensor
  ArrayRef<int64_t> indexBatchingDims;
  ArrayRef<int64_t> indexMap; // of the index vector to the indexed tensor
  int64_t indexVectorDim;

  StringRef indexedName, indicesName, windowName, droppedName, batchingName, indexBatchingName,
      mapName;

  /// Rank of the indices without the index vector.
  int64_t getBatchRank() const {
    return indices.getRank() - (indexVectorDim < indices.getRank() ? 1 : 0);
  }
  /// Sizes of the indices without the index vector.
  SmallVector<Dim> getBatch() const {
    SmallVector<Dim> batch;
    for (int64_t i = 0; i < indices.getRank(); ++i)
      if (i != indexVectorDim)
        batch.push_back(getDim(indices, i));
    return batch;
  }
  /// Whether dimension `dim` of the indexed tensor appears among the window dimensions.
  bool isWindow(int64_t dim) const {
    return !llvm::is_contained(droppedDims, dim) && !llvm::is_contained(batchingDims, dim);
  }
};

} // namespace

static LogicalResult verifyIndexing(Reporter report, const Indexing &it) {
  int64_t rank = it.indexed.getRank(), indicesRank = it.indices.getRank();
  if (it.indexVectorDim < 0 || it.indexVectorDim > indicesRank)
    return report.error("index_vector_dim must be in [0, ", indicesRank, "], the rank of ",
                        it.indicesName, ", but is ", it.indexVectorDim);
  int64_t kept = it.windowDims.size(), dropped = it.droppedDims.size(),
          batching = it.batchingDims.size();
  if (rank != kept + dropped + batching)
    return report.error("the rank of ", it.indexedName, " (", rank,
                        ") must be the number of dimensions in ", it.windowName, ", ",
                        it.droppedName, " and ", it.batchingName, " together (",
                        kept + dropped + batching, ")");

  int64_t windowedRank = it.getBatchRank() + kept;
  StringRef windowed = it.indexedName == "operand" ? "the result" : "updates";
  if (failed(verifySorted(report, it.windowName, it.windowDims)) ||
      failed(verifyUnique(report, it.windowName, it.windowDims)) ||
      failed(verifyInRange(report, it.windowName, it.windowDims, windowedRank, windowed)) ||
      failed(verifySorted(report, it.droppedName, it.droppedDims)) ||
      failed(verifyInRange(report, it.droppedName, it.droppedDims, rank, it.indexedName)) ||
      failed(verifySorted(report, it.batchingName, it.batchingDims)) ||
      failed(verifyInRange(report, it.batchingName, it.batchingDims, rank, it.indexedName)) ||
      failed(verifyInRange(report, it.indexBatchingName, it.indexBatchingDims, indicesRank,
                           it.indicesName)) ||
      failed(verifyUnique(report, it.indexBatchingName, it.indexBatchingDims)) ||
      failed(verifyInRange(report, it.mapName, it.indexMap, rank, it.indexedName)))
    return failure();

  auto together = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    SmallVector<int64_t> all(a);
    llvm::append_range(all, b);
    return all;
  };
  if (failed(verifyUnique(report, (it.droppedName + " and " + it.batchingName + " together").str(),
                          together(it.droppedDims, it.batchingDims))) ||
      failed(verifyUnique(report, (it.mapName + " and " + it.batchingName + " together").str(),
                          together(it.indexMap, it.batchingDims))))
    return failure();

  Dim vector = it.indexVectorDim < indicesRank ? getDim(it.indices, it.indexVectorDim)
                                               : Dim{1, ShapedType::kDynamic};
  if (int64_t mapped = it.indexMap.size();
      !verify::areCompatible(vector, Dim{mapped, ShapedType::kDynamic}))
    return report.error(it.mapName,
                        " must have one entry per element of the index vector, but has ", mapped,
                        " for ", toString(vector));

  if (llvm::is_contained(it.indexBatchingDims, it.indexVectorDim))
    return report.error(it.indexBatchingName, " must not contain index_vector_dim ",
                        it.indexVectorDim);
  if (it.batchingDims.size() != it.indexBatchingDims.size())
    return report.error(it.batchingName, " and ", it.indexBatchingName,
                        " must have the same length, but got ", it.batchingDims.size(), " and ",
                        it.indexBatchingDims.size());
  for (auto [dim, indexDim] : llvm::zip_equal(it.batchingDims, it.indexBatchingDims)) {
    Dim size = getDim(it.indexed, dim), indexSize = getDim(it.indices, indexDim);
    if (!verify::areCompatible(size, indexSize))
      return report.error("batching dimension ", dim, " of ", it.indexedName,
                          " must have the size "
                          "of dimension ",
                          indexDim, " of ", it.indicesName, ", but got ", toString(size), " and ",
                          toString(indexSize));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

static Indexing getIndexing(RankedTensorType operand, RankedTensorType indices,
                            GatherDimensionNumbersAttr numbers) {
  return Indexing{operand,
                  indices,
                  numbers.getOffsetDims(),
                  numbers.getCollapsedSliceDims(),
                  numbers.getOperandBatchingDims(),
                  numbers.getStartIndicesBatchingDims(),
                  numbers.getStartIndexMap(),
                  numbers.getIndexVectorDim(),
                  "operand",
                  "start_indices",
                  "offset_dims",
                  "collapsed_slice_dims",
                  "operand_batching_dims",
                  "start_indices_batching_dims",
                  "start_index_map"};
}

/// The result of a gather of slices of `sizes` (kDynamic: not known before run time).
static FailureOr<RankedTensorType> inferGather(Reporter report, const Indexing &it,
                                               ArrayRef<int64_t> sizes) {
  if (failed(verifyIndexing(report, it)) ||
      failed(verifyOnePerDimension(report, "slice_sizes", sizes.size(), it.indexed.getRank(),
                                   "operand")))
    return failure();
  SmallVector<Dim> window;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Dim dim = getDim(it.indexed, i);
    bool isKnown = !ShapedType::isDynamic(size);
    if (isKnown && (size < 0 || (dim.limit() && size > *dim.limit())))
      return report.error("slice size must be in [0, size of the dimension], but is ", size,
                          " for size ", toString(dim), " in dimension ", i);
    if (it.isWindow(i)) {
      window.push_back(Dim{size, ShapedType::kDynamic});
      continue;
    }
    if (isKnown && size > 1)
      return report.error("slice size must be at most 1 in collapsed_slice_dims and "
                          "operand_batching_dims, but is ",
                          size, " in dimension ", i);
  }
  SmallVector<Dim> batch = it.getBatch();
  Shape shape;
  size_t nextWindow = 0, nextBatch = 0;
  for (int64_t i = 0, rank = window.size() + batch.size(); i < rank; ++i)
    shape.push(llvm::is_contained(it.windowDims, i) ? window[nextWindow++] : batch[nextBatch++]);
  return shape.withElementType(it.indexed.getElementType());
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &results) {
  FailureOr<RankedTensorType> result =
      inferGather(Reporter::inferring<GatherOp>(location),
                  getIndexing(tensor(adaptor.getOperand()), tensor(adaptor.getStartIndices()),
                              adaptor.getDimensionNumbers()),
                  adaptor.getSliceSizes());
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

LogicalResult DynamicGatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<DynamicGatherOp>(location);
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t count = tensor(adaptor.getSliceSizes()).getDimSize(0);
  if (failed(verifyOnePerDimension(report, "slice_sizes", count, operand.getRank(), "operand")))
    return failure();
  SmallVector<int64_t> sizes(count, ShapedType::kDynamic);
  if (std::optional<SmallVector<int64_t>> constant = getConstant(adaptor.getSliceSizes(), count))
    sizes = *constant;
  FailureOr<RankedTensorType> result = inferGather(
      report,
      getIndexing(operand, tensor(adaptor.getStartIndices()), adaptor.getDimensionNumbers()),
      sizes);
  if (failed(result))
    return failure();
  results.push_back(*result);
  return success();
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  for (auto [index, input] : llvm::enumerate(adaptor.getInputs())) {
    RankedTensorType type = tensor(input);
    results.push_back(withElementType(
        type, getReducedElementType(adaptor.getUpdateComputation(), index, type.getElementType())));
  }
  return success();
}

LogicalResult ScatterOp::verify() {
  Reporter report(*this);
  size_t count = getInputs().size();
  if (count == 0 || getNumOperands() != 2 * count + 1 || getNumResults() != count)
    return report.error("expects N inputs, scatter_indices, N updates and N results with N > 0, "
                        "but got ",
                        getNumOperands(), " operands and ", getNumResults(), " results");
  RankedTensorType input = tensor(getInputs()[0]), updates = tensor(getUpdates()[0]);
  for (size_t i = 1; i < count; ++i) {
    Type otherInput = getInputs()[i].getType(), otherUpdates = getUpdates()[i].getType();
    if (!areCompatibleShapes(input, otherInput))
      return report.error("inputs must have compatible shapes, but got ", input, " and ",
                          otherInput);
    if (!areCompatibleShapes(updates, otherUpdates))
      return report.error("updates must have compatible shapes, but got ", updates, " and ",
                          otherUpdates);
  }

  ScatterDimensionNumbersAttr numbers = getScatterDimensionNumbers();
  Indexing it{input,
              tensor(getScatterIndices()),
              numbers.getUpdateWindowDims(),
              numbers.getInsertedWindowDims(),
              numbers.getInputBatchingDims(),
              numbers.getScatterIndicesBatchingDims(),
              numbers.getScatterDimsToOperandDims(),
              numbers.getIndexVectorDim(),
              "inputs",
              "scatter_indices",
              "update_window_dims",
              "inserted_window_dims",
              "input_batching_dims",
              "scatter_indices_batching_dims",
              "scatter_dims_to_operand_dims"};
  if (failed(verifyIndexing(report, it)))
    return failure();

  SmallVector<Dim> batch = it.getBatch();
  if (int64_t rank = batch.size() + it.windowDims.size(); updates.getRank() != rank)
    return report.error("the rank of updates must be ", rank,
                        " (scatter_indices without the index "
                        "vector, and update_window_dims), but is ",
                        updates.getRank());
  SmallVector<int64_t> windowDims;
  for (int64_t i = 0; i < input.getRank(); ++i)
    if (it.isWindow(i))
      windowDims.push_back(i);
  size_t nextWindow = 0, nextBatch = 0;
  for (int64_t i = 0; i < updates.getRank(); ++i) {
    Dim size = getDim(updates, i);
    if (!llvm::is_contained(it.windowDims, i)) {
      if (Dim expected = batch[nextBatch++]; !verify::areCompatible(size, expected))
        return report.error("dimension ", i,
                            " of updates must have the size that scatter_indices "
                            "has there, but got ",
                            toString(size), " and ", toString(expected));
      continue;
    }
    Dim whole = getDim(input, windowDims[nextWindow++]);
    if (size.isKnown() && whole.limit() && size.size > *whole.limit())
      return report.error("windows must not be larger than the inputs, but dimension ", i,
                          " of updates has size ", size.size, " for ", toString(whole));
  }

  SmallVector<Type> elements; // Updates come in one by one.
  for (Type type : getUpdates().getTypes())
    elements.push_back(RankedTensorType::get({}, tensor(type).getElementType()));
  return verifyReducer(report, getUpdateComputation(), "update_computation", getInputs().getTypes(),
                       elements);
}

} // namespace cupel::stablehlo
