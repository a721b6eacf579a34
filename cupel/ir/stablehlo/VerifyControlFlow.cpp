// Tuples, barriers and the ops that choose or repeat regions.

#include "cupel/ir/stablehlo/Verify.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Tuples and barriers
//===----------------------------------------------------------------------===//

LogicalResult TupleOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                        Adaptor adaptor, SmallVectorImpl<Type> &results) {
  results.push_back(TupleType::get(context, adaptor.getVal().getTypes()));
  return success();
}

LogicalResult GetTupleElementOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto tuple = cast<TupleType>(adaptor.getOperand().getType());
  uint64_t index = adaptor.getIndex();
  if (index >= tuple.size())
    return Reporter::inferring<GetTupleElementOp>(location).error(
        "index must be in [0, ", tuple.size(), "), but is ", index);
  results.push_back(tuple.getType(index));
  return success();
}

LogicalResult OptimizationBarrierOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                      Adaptor adaptor,
                                                      SmallVectorImpl<Type> &results) {
  llvm::append_range(results, adaptor.getOperand().getTypes());
  return success();
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// The type that values of two compatible types both have: sizes that only one of them knows are
/// unknown.
static Type getCommonType(Type a, Type b) {
  auto tensorA = dyn_cast<RankedTensorType>(a), tensorB = dyn_cast<RankedTensorType>(b);
  if (a == b || !tensorA || !tensorB)
    return a;
  Shape shape;
  for (int64_t i = 0; i < tensorA.getRank(); ++i) {
    Dim dimA = getDim(tensorA, i), dimB = getDim(tensorB, i);
    if (dimA.isKnown() && dimB.isKnown()) {
      shape.push(dimA);
      continue;
    }
    Dim common;
    if (dimA.limit() && dimB.limit())
      common.bound = std::max(*dimA.limit(), *dimB.limit());
    shape.push(common);
  }
  return shape.withElementType(tensorA.getElementType());
}

static LogicalResult inferBranches(Reporter report, RegionRange branches,
                                   function_ref<std::string(size_t)> getName,
                                   SmallVectorImpl<Type> &results) {
  for (auto [index, branch] : llvm::enumerate(branches)) {
    std::string name = getName(index);
    FailureOr<Computation> computation = getComputation(report, *branch, name);
    if (failed(computation))
      return failure();
    if (!computation->arguments.empty())
      return report.error("region '", name, "' must take no arguments, but takes ",
                          computation->arguments.size());
    if (index == 0) {
      llvm::append_range(results, computation->results);
      continue;
    }
    if (!cupel::stablehlo::areCompatible(results, computation->results))
      return report.error("regions '", getName(0), "' and '", name,
                          "' must return compatible types, but return (", TypeRange(results),
                          ") and (", TypeRange(computation->results), ")");
    for (auto [result, other] : llvm::zip_equal(results, computation->results))
      result = getCommonType(result, other);
  }
  return success();
}

LogicalResult IfOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                     Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<IfOp>(location);
  if (!isScalarPred(adaptor.getPred().getType()))
    return report.error("pred must be tensor<i1>, but is ", adaptor.getPred().getType());
  return inferBranches(
      report, adaptor.getRegions(),
      [](size_t index) { return std::string(index == 0 ? "true_branch" : "false_branch"); },
      results);
}

LogicalResult CaseOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<CaseOp>(location);
  if (!isScalarI32(adaptor.getIndex().getType()))
    return report.error("index must be tensor<i32>, but is ", adaptor.getIndex().getType());
  if (adaptor.getRegions().empty())
    return report.error("expects at least one branch");
  return inferBranches(
      report, adaptor.getRegions(), [](size_t index) { return "branch #" + std::to_string(index); },
      results);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

LogicalResult WhileOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  llvm::append_range(results, adaptor.getOperand().getTypes());
  return success();
}

LogicalResult WhileOp::verify() {
  Reporter report(*this);
  SmallVector<Type> operands = llvm::to_vector(TypeRange(getOperandTypes()));
  FailureOr<Computation> cond = getComputation(report, getCond(), "cond");
  FailureOr<Computation> body = getComputation(report, getBody(), "body");
  if (failed(cond) || failed(body))
    return failure();
  for (auto [name, computation] : {std::pair("cond", &*cond), std::pair("body", &*body)})
    if (!cupel::stablehlo::areCompatible(operands, computation->arguments))
      return report.error("region '", name, "' must take the types of the operands, (",
                          TypeRange(operands), "), but takes (", TypeRange(computation->arguments),
                          ")");
  if (cond->results.size() != 1 || !isScalarPred(cond->results.front()))
    return report.error("region 'cond' must return one tensor<i1>, but returns (",
                        TypeRange(cond->results), ")");
  if (!cupel::stablehlo::areCompatible(operands, body->results))
    return report.error("region 'body' must return the types of the operands, (",
                        TypeRange(operands), "), but returns (", TypeRange(body->results), ")");
  return success();
}

} // namespace cupel::stablehlo
