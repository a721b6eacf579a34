// Which dimensions of operands and results go together, for each operation where shapes alone do not
// tell. Sharding propagation follows the links; the partitioner computes pieces apart along the
// dimensions that allow it.

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <numeric>

using namespace mlir;

#include "cupel/ir/stablehlo/OpFacts.cpp.inc"

namespace cupel::stablehlo {

/// The rank of a tensor of known shape; -1 for all else.
static int64_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type.getRank() : -1;
}
static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The first operand and the first result, dimension by dimension.
static void linkFirst(Operation *op, DimensionRule &rule) {
  int64_t rank = rankOf(op->getOperand(0));
  if (rank == rankOf(op->getResult(0)))
    for (int64_t dim = 0; dim < rank; ++dim)
      rule.links.push_back({0, dim, 0, dim});
}

/// Operands and results of one shape, dimension by dimension.
static void linkSameShapes(Operation *op, DimensionRule &rule) {
  bool isPairwise = op->hasTrait<Identity>();
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    for (auto [j, result] : llvm::enumerate(op->getResults()))
      if ((i == j || !isPairwise) && rankOf(operand) > 0 && rankOf(result) > 0 &&
          shapeOf(operand) == shapeOf(result))
        for (int64_t dim = 0; dim < rankOf(operand); ++dim)
          rule.links.push_back({static_cast<unsigned>(i), dim, static_cast<unsigned>(j), dim});
}

/// Says which dimensions of the result the first operands can be cut along.
template <typename Keeps>
static void cutAlong(Operation *op, DimensionRule &rule, unsigned operands, Keeps keeps) {
  rule.apartOperands = operands;
  for (int64_t dim = 0; dim < rankOf(op->getResult(0)); ++dim)
    if (keeps(dim))
      rule.apart.push_back(dim);
}

DimensionRule dimensionRuleOf(Operation *op) {
  if (auto stated = dyn_cast<DimensionsOpInterface>(op))
    return stated.getDimensionRule();
  DimensionRule rule;
  rule.passesElements = true;
  linkSameShapes(op, rule);
  return rule;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

DimensionRule BroadcastInDimOp::getDimensionRule() {
  DimensionRule rule;
  for (auto [i, dim] : llvm::enumerate(getBroadcastDimensions()))
    rule.links.push_back({0, static_cast<int64_t>(i), 0, dim});
  return rule;
}

DimensionRule TransposeOp::getDimensionRule() {
  DimensionRule rule;
  rule.passesElements = true;
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    rule.links.push_back({0, dim, 0, static_cast<int64_t>(i)});
  return rule;
}

DimensionRule ReshapeOp::getDimensionRule() {
  DimensionRule rule;
  rule.passesElements = true;
  if (rankOf(getOperand()) < 0 || rankOf(getResult()) < 0)
    return rule;
  // Walk both shapes; where products agree a new group begins, and the outermost dimensions of a
  // group that are not of size 1 go together.
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    if (from[i] == 1 || to[j] == 1) {
      from[i] == 1 ? ++i : ++j;
      continue;
    }
    int64_t a = from[i], b = to[j];
    rule.links.push_back({0, static_cast<int64_t>(i++), 0, static_cast<int64_t>(j++),
                          std::gcd(a, b)});
    while (a != b) {
      if (a < b ? i == from.size() : j == to.size())
        return rule;
      a < b ? a *= from[i++] : b *= to[j++];
    }
  }
  return rule;
}

DimensionRule ConcatenateOp::getDimensionRule() {
  DimensionRule rule;
  auto keeps = [dimension = static_cast<int64_t>(getDimension())](int64_t dim) {
    return dim != dimension;
  };
  for (auto [i, operand] : llvm::enumerate(getInputs()))
    for (int64_t dim = 0; dim < rankOf(operand); ++dim)
      if (keeps(dim))
        rule.links.push_back({static_cast<unsigned>(i), dim, 0, dim});
  cutAlong(*this, rule, getNumOperands(), keeps);
  return rule;
}

DimensionRule ReverseOp::getDimensionRule() {
  DimensionRule rule;
  rule.passesElements = true;
  linkSameShapes(*this, rule);
  cutAlong(*this, rule, 1, [&](int64_t dim) { return !llvm::is_contained(getDimensions(), dim); });
  return rule;
}

DimensionRule SortOp::getDimensionRule() {
  DimensionRule rule;
  rule.passesElements = true;
  linkSameShapes(*this, rule);
  int64_t sorted = getDimension();
  if (sorted < 0)
    sorted += rankOf(getOperand(0));
  cutAlong(*this, rule, getNumOperands(), [&](int64_t dim) { return dim != sorted; });
  return rule;
}

DimensionRule SliceOp::getDimensionRule() {
  DimensionRule rule;
  linkFirst(*this, rule);
  cutAlong(*this, rule, 1, [&](int64_t dim) {
    return getStartIndices()[dim] == 0 && getStrides()[dim] == 1 &&
           getLimitIndices()[dim] == shapeOf(getOperand())[dim];
  });
  rule.sizes = "limit_indices";
  return rule;
}

DimensionRule DynamicSliceOp::getDimensionRule() {
  DimensionRule rule;
  linkFirst(*this, rule);
  cutAlong(*this, rule, 1, [&](int64_t dim) {
    return getSliceSizes()[dim] == shapeOf(getOperand())[dim];
  });
  rule.sizes = "slice_sizes";
  return rule;
}

DimensionRule DynamicUpdateSliceOp::getDimensionRule() {
  DimensionRule rule;
  linkFirst(*this, rule);
  cutAlong(*this, rule, 2, [&](int64_t dim) {
    return shapeOf(getUpdate())[dim] == shapeOf(getOperand())[dim];
  });
  return rule;
}

DimensionRule PadOp::getDimensionRule() {
  DimensionRule rule;
  linkFirst(*this, rule);
  cutAlong(*this, rule, 1, [&](int64_t dim) {
    return getEdgePaddingLow()[dim] == 0 && getEdgePaddingHigh()[dim] == 0 &&
           getInteriorPadding()[dim] == 0;
  });
  return rule;
}

DimensionRule GatherOp::getDimensionRule() {
  // Dimensions that slices take whole, and those that indices and operand share.
  DimensionRule rule;
  auto numbers = getDimensionNumbers();
  int64_t row = 0;
  for (int64_t dim = 0; dim < rankOf(getResult()); ++dim) {
    if (llvm::is_contained(numbers.getOffsetDims(), dim))
      continue;
    row += row == numbers.getIndexVectorDim();
    if (row < rankOf(getStartIndices()))
      rule.links.push_back({1, row, 0, dim});
    for (auto [i, shared] : llvm::enumerate(numbers.getStartIndicesBatchingDims()))
      if (shared == row)
        rule.links.push_back({0, numbers.getOperandBatchingDims()[i], 0, dim});
    ++row;
  }
  size_t next = 0;
  for (int64_t dim = 0; dim < rankOf(getOperand()); ++dim) {
    if (llvm::is_contained(numbers.getCollapsedSliceDims(), dim) ||
        llvm::is_contained(numbers.getOperandBatchingDims(), dim))
      continue;
    if (next < numbers.getOffsetDims().size())
      rule.links.push_back({0, dim, 0, numbers.getOffsetDims()[next++]});
  }
  return rule;
}

DimensionRule ScatterOp::getDimensionRule() {
  DimensionRule rule;
  linkFirst(*this, rule);
  return rule;
}

//===----------------------------------------------------------------------===//
// Reductions and products
//===----------------------------------------------------------------------===//

DimensionRule ReduceOp::getDimensionRule() {
  DimensionRule rule;
  for (unsigned i = 0; i < getInputs().size(); ++i) {
    int64_t kept = 0;
    for (int64_t dim = 0; dim < rankOf(getOperand(i)); ++dim)
      if (!llvm::is_contained(getDimensions(), dim))
        rule.links.push_back({i, dim, i, kept++});
  }
  return rule;
}

DimensionRule ReduceWindowOp::getDimensionRule() {
  DimensionRule rule;
  linkFirst(*this, rule);
  return rule;
}

DimensionRule DotGeneralOp::getDimensionRule() {
  DimensionRule rule;
  auto numbers = getDotDimensionNumbers();
  ArrayRef<int64_t> batch[] = {numbers.getLhsBatchingDimensions(),
                               numbers.getRhsBatchingDimensions()};
  ArrayRef<int64_t> contracted[] = {numbers.getLhsContractingDimensions(),
                                    numbers.getRhsContractingDimensions()};
  int64_t at = 0;
  for (auto [left, right] : llvm::zip(batch[0], batch[1])) {
    rule.links.push_back({0, left, 0, at});
    rule.links.push_back({1, right, 0, at++});
  }
  for (unsigned i : {0u, 1u})
    for (int64_t dim = 0; dim < rankOf(getOperand(i)); ++dim)
      if (!llvm::is_contained(batch[i], dim) && !llvm::is_contained(contracted[i], dim))
        rule.links.push_back({i, dim, 0, at++});
  return rule;
}

DimensionRule ConvolutionOp::getDimensionRule() {
  DimensionRule rule;
  auto numbers = getDimensionNumbers();
  rule.links.push_back(
      {0, numbers.getInputBatchDimension(), 0, numbers.getOutputBatchDimension()});
  rule.links.push_back(
      {1, numbers.getKernelOutputFeatureDimension(), 0, numbers.getOutputFeatureDimension()});
  return rule;
}

//===----------------------------------------------------------------------===//
// Matrices one by one
//===----------------------------------------------------------------------===//

static DimensionRule matrixRule(Operation *op) {
  DimensionRule rule;
  rule.passesElements = true;
  linkSameShapes(op, rule);
  int64_t batch = rankOf(op->getResult(0)) - 2;
  cutAlong(op, rule, op->getNumOperands(), [&](int64_t dim) { return dim < batch; });
  return rule;
}

DimensionRule CholeskyOp::getDimensionRule() { return matrixRule(*this); }
DimensionRule TriangularSolveOp::getDimensionRule() { return matrixRule(*this); }

DimensionRule CustomCallOp::getDimensionRule() {
  DimensionRule rule;
  // Calls on many matrices say how many dimensions count these.
  int64_t batch = 0;
  if (auto attributes = (*this)->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes"))
    if (auto text = attributes.getAs<StringAttr>("num_batch_dims"))
      if (text.getValue().getAsInteger(10, batch) || batch < 0)
        batch = 0;
  if (!batch)
    linkSameShapes(*this, rule);
  for (auto [i, operand] : llvm::enumerate(getOperands()))
    for (auto [j, result] : llvm::enumerate(getResults()))
      for (int64_t dim = 0; dim < std::min({batch, rankOf(operand), rankOf(result)}); ++dim)
        rule.links.push_back({static_cast<unsigned>(i), dim, static_cast<unsigned>(j), dim});
  return rule;
}

} // namespace cupel::stablehlo
