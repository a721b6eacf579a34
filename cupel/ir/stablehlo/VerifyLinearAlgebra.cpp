// Decompositions, transforms, normalization and random numbers.

#include "cupel/ir/stablehlo/Verify.h"

using namespace mlir;
using namespace cupel::stablehlo::verify;

namespace cupel::stablehlo {

//===----------------------------------------------------------------------===//
// Triangular matrices
//===----------------------------------------------------------------------===//

/// Rank 2 or more, the last two dimensions alike.
static LogicalResult verifySquare(Reporter report, RankedTensorType a) {
  int64_t rank = a.getRank();
  if (rank < 2)
    return report.error("operand 'a' must have rank 2 or more, but is ", a);
  if (!verify::areCompatible(getDim(a, rank - 2), getDim(a, rank - 1)))
    return report.error("the last two dimensions of operand 'a' must have the same size, but got ",
                        a);
  return success();
}

LogicalResult CholeskyOp::verify() { return verifySquare(Reporter(*this), tensor(getA())); }

LogicalResult TriangularSolveOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<TriangularSolveOp>(location);
  RankedTensorType a = tensor(adaptor.getA()), b = tensor(adaptor.getB());
  if (failed(verifySquare(report, a)))
    return failure();
  int64_t rank = a.getRank();
  if (b.getRank() != rank)
    return report.error("operands must have the same rank, but got ", a, " and ", b);
  for (int64_t i = 0; i < rank - 2; ++i)
    if (!verify::areCompatible(getDim(a, i), getDim(b, i)))
      return report.error("operands must agree in batch dimension ", i, ", but got ", a, " and ",
                          b);
  int64_t side = adaptor.getLeftSide() ? rank - 2 : rank - 1;
  if (!verify::areCompatible(getDim(a, rank - 1), getDim(b, side)))
    return report.error("dimension ", side,
                        " of operand 'b' must have the size of the matrices in "
                        "'a', but got ",
                        toString(getDim(b, side)), " for ", toString(getDim(a, rank - 1)));
  if (adaptor.getTransposeA() == Transpose::TRANSPOSE_INVALID)
    return report.error("transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  results.push_back(b);
  return success();
}

//===----------------------------------------------------------------------===//
// fft
//===----------------------------------------------------------------------===//

LogicalResult FftOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Reporter report = Reporter::inferring<FftOp>(location);
  RankedTensorType operand = tensor(adaptor.getOperand());
  Type element = operand.getElementType();
  ArrayRef<int64_t> lengths = adaptor.getFftLength();
  FftType type = adaptor.getFftType();
  int64_t count = lengths.size(), first = operand.getRank() - count;
  if (count < 1 || count > 3 || first < 0)
    return report.error("fft_length must have 1 to 3 entries and no more than the operand has "
                        "dimensions, but got ",
                        toString(lengths), " for rank ", operand.getRank());
  for (int64_t length : lengths)
    if (length < 0)
      return report.error("fft_length must not be negative, but got ", toString(lengths));
  if (isa<ComplexType>(element) != (type != FftType::RFFT))
    return report.error(stringifyFftType(type), " takes ",
                        type == FftType::RFFT ? "real" : "complex", " elements, but got ", element);
  if (type == FftType::RFFT && !element.isF32() && !element.isF64())
    return report.error("RFFT takes elements of type f32 or f64, but got ", element);
  if (type == FftType::FFT || type == FftType::IFFT) {
    results.push_back(operand);
    return success();
  }

  // The last dimension of the complex side holds only the non-redundant half of the spectrum.
  auto getHalf = [](int64_t length) { return length == 0 ? 0 : length / 2 + 1; };
  Shape shape(operand);
  for (auto [i, length] : llvm::enumerate(lengths)) {
    bool isLast = static_cast<int64_t>(i) == count - 1;
    Dim dim = getDim(operand, first + i);
    int64_t expected = type == FftType::IRFFT && isLast ? getHalf(length) : length;
    if (!verify::areCompatible(dim, Dim{expected, ShapedType::kDynamic}))
      return report.error("dimension ", first + i, " of the operand must have size ", expected,
                          " for fft_length ", toString(lengths), ", but has ", toString(dim));
    if (!isLast)
      continue;
    shape.set(first + i, type == FftType::IRFFT ? Dim{length, ShapedType::kDynamic}
                                                : *map(dim, [&](int64_t size) {
                                                    return std::optional(getHalf(size));
                                                  }));
  }
  results.push_back(shape.withElementType(type == FftType::IRFFT ? getRealElementType(element)
                                                                 : ComplexType::get(element)));
  return success();
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

/// Whole tensors of one shape and vectors of the size of its feature dimension.
static LogicalResult verifyBatchNorm(Reporter report, ArrayRef<RankedTensorType> wholes,
                                     ArrayRef<RankedTensorType> vectors, int64_t feature) {
  RankedTensorType first = wholes.front();
  if (failed(verifyInRange(report, "feature_index", feature, first.getRank(), "the operand")))
    return failure();
  for (RankedTensorType whole : wholes)
    if (!cupel::stablehlo::areCompatible(first, whole))
      return report.error("operand and grad_output must have compatible types, but got ", first,
                          " and ", whole);
  for (RankedTensorType vector : vectors) {
    if (!areCompatibleElementTypes(vector.getElementType(), first.getElementType()))
      return report.error("all operands must have one element type, but got ", first, " and ",
                          vector);
    if (!verify::areCompatible(getDim(vector, 0), getDim(first, feature)))
      return report.error("vectors must have the size of feature dimension ", feature,
                          " of the operand, but got ", toString(getDim(vector, 0)), " for ",
                          toString(getDim(first, feature)));
  }
  return success();
}

static RankedTensorType getFeatureVector(RankedTensorType operand, int64_t feature) {
  Shape shape;
  shape.push(getDim(operand, feature));
  return shape.withElementType(operand.getElementType());
}

LogicalResult BatchNormTrainingOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                    Adaptor adaptor,
                                                    SmallVectorImpl<Type> &results) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t feature = adaptor.getFeatureIndex();
  if (failed(verifyBatchNorm(Reporter::inferring<BatchNormTrainingOp>(location), operand,
                             {tensor(adaptor.getScale()), tensor(adaptor.getOffset())}, feature)))
    return failure();
  RankedTensorType vector = getFeatureVector(operand, feature);
  results.append({operand, vector, vector});
  return success();
}

LogicalResult BatchNormInferenceOp::inferReturnTypes(MLIRContext *,
                                                     std::optional<Location> location,
                                                     Adaptor adaptor,
                                                     SmallVectorImpl<Type> &results) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  if (failed(verifyBatchNorm(Reporter::inferring<BatchNormInferenceOp>(location), operand,
                             {tensor(adaptor.getScale()), tensor(adaptor.getOffset()),
                              tensor(adaptor.getMean()), tensor(adaptor.getVariance())},
                             adaptor.getFeatureIndex())))
    return failure();
  results.push_back(operand);
  return success();
}

LogicalResult BatchNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor adaptor, SmallVectorImpl<Type> &results) {
  RankedTensorType operand = tensor(adaptor.getOperand());
  int64_t feature = adaptor.getFeatureIndex();
  if (failed(verifyBatchNorm(
          Reporter::inferring<BatchNormGradOp>(location),
          {operand, tensor(adaptor.getGradOutput())},
          {tensor(adaptor.getScale()), tensor(adaptor.getMean()), tensor(adaptor.getVariance())},
          feature)))
    return failure();
  RankedTensorType vector = getFeatureVector(operand, feature);
  results.append({operand, vector, vector});
  return success();
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

LogicalResult RngOp::verify() {
  Reporter report(*this);
  RankedTensorType result = tensor(getResult());
  Type element = result.getElementType();
  for (Value parameter : {getA(), getB()})
    if (tensor(parameter).getElementType() != element)
      return report.error("a, b and the result must have one element type, but got ",
                          tensor(parameter).getElementType(), " and ", element);
  if (getRngDistribution() == RngDistribution::NORMAL && !isFloat(element))
    return report.error("distribution NORMAL needs float elements, but got ", element);
  return verifyShapeOperand(report, getShape(), "shape", result);
}

LogicalResult RngBitGeneratorOp::verify() {
  Reporter report(*this);
  RankedTensorType state = tensor(getInitialState());
  if (!cupel::stablehlo::areCompatible(state, getOutputState().getType()))
    return report.error("initial_state and output_state must have the same type, but got ", state,
                        " and ", getOutputState().getType());
  // What generators need is said for states that are vectors of integers; other states are opaque.
  if (state.getRank() != 1 || !state.hasStaticShape() || !isa<IntegerType>(state.getElementType()))
    return success();
  std::optional<int64_t> bits = countElements(
      {state.getDimSize(0), static_cast<int64_t>(getElementBits(state.getElementType()))});
  RngAlgorithm algorithm = getRngAlgorithm();
  bool fits = algorithm == RngAlgorithm::DEFAULT || bits == 128 ||
              (algorithm == RngAlgorithm::PHILOX && bits == 192);
  if (!fits)
    return report.error("the state of ", stringifyRngAlgorithm(algorithm), " must have ",
                        algorithm == RngAlgorithm::PHILOX ? "128 or 192" : "128", " bits, but is ",
                        state);
  return success();
}

} // namespace cupel::stablehlo
