#include "cupel/compiler/standalone/Attributes.h"

#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/DataMovement.h"
#include "cupel/reference/Indexing.h"

#include "llvm/ADT/StringSet.h"

namespace cupel::compiler::standalone {

using namespace mlir;
using List = std::vector<int64_t>;

namespace {

List listOf(ArrayRef<int64_t> values) { return {values.begin(), values.end()}; }

/// A list that an operation may leave out: all ones, or another value for each.
List listOr(std::optional<ArrayRef<int64_t>> values, size_t count, int64_t value) {
  return values ? listOf(*values) : List(count, value);
}

List paddingOf(std::optional<DenseIntElementsAttr> padding, size_t dimensions) {
  if (!padding)
    return List(2 * dimensions, 0);
  List result;
  for (const APInt &value : padding->getValues<APInt>())
    result.push_back(value.getSExtValue());
  return result;
}

List shapeOf(mlir::Type type) {
  List sizes = listOf(cast<RankedTensorType>(type).getShape());
  for (int64_t &size : sizes)
    if (ShapedType::isDynamic(size))
      size = -1;
  return sizes;
}

OpArgument element(std::string name, mlir::Type type) {
  return {std::move(name), OpArgument::ElementOf{getElementTypeOrSelf(type)}};
}

std::vector<OpArgument> gatherNumbers(stablehlo::GatherDimensionNumbersAttr numbers) {
  return {{"offset_dims", listOf(numbers.getOffsetDims())},
          {"collapsed_slice_dims", listOf(numbers.getCollapsedSliceDims())},
          {"operand_batching_dims", listOf(numbers.getOperandBatchingDims())},
          {"start_indices_batching_dims", listOf(numbers.getStartIndicesBatchingDims())},
          {"start_index_map", listOf(numbers.getStartIndexMap())},
          {"index_vector_dim", numbers.getIndexVectorDim()}};
}

template <typename Op> std::vector<OpArgument> convolutionNumbers(Op op) {
  auto numbers = op.getDimensionNumbers();
  auto joined = [](int64_t a, int64_t b, ArrayRef<int64_t> spatial) {
    List list = {a, b};
    list.insert(list.end(), spatial.begin(), spatial.end());
    return list;
  };
  size_t spatial = numbers.getInputSpatialDimensions().size();
  std::vector<bool> reversal(spatial, false);
  if (std::optional<ArrayRef<bool>> given = op.getWindowReversal())
    reversal.assign(given->begin(), given->end());
  return {{"input_dims", joined(numbers.getInputBatchDimension(), numbers.getInputFeatureDimension(),
                                numbers.getInputSpatialDimensions())},
          {"kernel_dims",
           joined(numbers.getKernelInputFeatureDimension(), numbers.getKernelOutputFeatureDimension(),
                  numbers.getKernelSpatialDimensions())},
          {"output_dims",
           joined(numbers.getOutputBatchDimension(), numbers.getOutputFeatureDimension(),
                  numbers.getOutputSpatialDimensions())},
          {"window_strides", listOr(op.getWindowStrides(), spatial, 1)},
          {"lhs_dilation", listOr(op.getLhsDilation(), spatial, 1)},
          {"rhs_dilation", listOr(op.getRhsDilation(), spatial, 1)},
          {"window_reversal", reversal},
          {"feature_group_count", int64_t(op.getFeatureGroupCount())},
          {"batch_group_count", int64_t(op.getBatchGroupCount())}};
}

/// Elementwise operations whose function has another name than they, and those that take the type.
const llvm::StringMap<const char *> &elementwiseNames() {
  static const llvm::StringMap<const char *> kNames = {
      {"abs", "absolute"},
      {"and", "logical_and"},
      {"or", "logical_or"},
      {"xor", "logical_xor"},
      {"not", "logical_not"},
      {"complex", "make_complex"},
  };
  return kNames;
}

} // namespace

bool isElementwise(Operation *op) {
  static const llvm::StringSet<> kNames = {
      "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "complex", "convert",
      "cosine", "count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor",
      "imag", "is_finite", "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply",
      "negate", "not", "or", "popcnt", "power", "real", "reduce_precision", "remainder",
      "round_nearest_afz", "round_nearest_even", "rsqrt", "select", "shift_left",
      "shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan",
      "tanh", "xor"};
  return op->getName().getDialectNamespace() == "stablehlo" &&
         kNames.contains(op->getName().stripDialect());
}

Result<OpCall> callOf(Operation *op) {
  StringRef name = op->getName().stripDialect();
  OpCall call;
  call.function = name.str();
  auto type = [&](unsigned i = 0) { return op->getResult(i).getType(); };
  auto moves = [&](std::vector<OpArgument> arguments) {
    call.arguments = std::move(arguments);
    call.moves = true;
    return call;
  };
  auto computes = [&](std::vector<OpArgument> arguments) {
    call.arguments = std::move(arguments);
    return call;
  };
  if (op->getName().getDialectNamespace() != "stablehlo")
    return Error{ErrorCode::Unsupported,
                 op->getName().getStringRef().str() + " has no form in generated code"};
  if (isElementwise(op)) {
    if (auto found = elementwiseNames().find(name); found != elementwiseNames().end())
      call.function = found->second;
    if (auto precision = dyn_cast<stablehlo::ReducePrecisionOp>(op))
      return computes({{"exponent_bits", int64_t(precision.getExponentBits())},
                       {"mantissa_bits", int64_t(precision.getMantissaBits())}});
    if (name.starts_with("shift_") || name == "popcnt" || name == "count_leading_zeros")
      return moves({element("dtype", type())});
    call.moves = name == "select" || name == "is_finite" || name == "real" || name == "imag" ||
                 name == "clamp" || name == "maximum" || name == "minimum";
    return call;
  }
  if (auto o = dyn_cast<stablehlo::TransposeOp>(op))
    return moves({{"permutation", listOf(o.getPermutation())}});
  if (isa<stablehlo::ReshapeOp>(op))
    return moves({{"shape", shapeOf(type())}});
  if (isa<stablehlo::DynamicReshapeOp, stablehlo::DynamicPadOp, stablehlo::RealDynamicSliceOp,
          stablehlo::DynamicUpdateSliceOp>(op))
    return moves({});
  if (auto o = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return moves({{"broadcast_dimensions", listOf(o.getBroadcastDimensions())}, {"shape", shapeOf(type())}});
  if (auto o = dyn_cast<stablehlo::DynamicBroadcastInDimOp>(op))
    return moves({{"broadcast_dimensions", listOf(o.getBroadcastDimensions())}});
  if (auto o = dyn_cast<stablehlo::BroadcastOp>(op))
    return moves({{"broadcast_sizes", listOf(o.getBroadcastSizes())}});
  if (auto o = dyn_cast<stablehlo::ConcatenateOp>(op))
    return moves({{"dimension", int64_t(o.getDimension())}});
  if (auto o = dyn_cast<stablehlo::ReverseOp>(op))
    return moves({{"dimensions", listOf(o.getDimensions())}});
  if (auto o = dyn_cast<stablehlo::SliceOp>(op)) {
    call.function = "strided_slice";
    return moves({{"start_indices", listOf(o.getStartIndices())},
                  {"limit_indices", listOf(o.getLimitIndices())},
                  {"strides", listOf(o.getStrides())}});
  }
  if (auto o = dyn_cast<stablehlo::DynamicSliceOp>(op))
    return moves({{"slice_sizes", listOf(o.getSliceSizes())}});
  if (auto o = dyn_cast<stablehlo::PadOp>(op))
    return moves({{"edge_padding_low", listOf(o.getEdgePaddingLow())},
                  {"edge_padding_high", listOf(o.getEdgePaddingHigh())},
                  {"interior_padding", listOf(o.getInteriorPadding())}});
  if (auto o = dyn_cast<stablehlo::IotaOp>(op))
    return moves({{"iota_dimension", int64_t(o.getIotaDimension())},
                  {"shape", shapeOf(type())},
                  element("dtype", type())});
  if (auto o = dyn_cast<stablehlo::DynamicIotaOp>(op))
    return moves({{"iota_dimension", int64_t(o.getIotaDimension())}, element("dtype", type())});
  if (isa<stablehlo::BitcastConvertOp>(op))
    return moves({element("source", op->getOperand(0).getType()), element("dtype", type())});
  if (auto o = dyn_cast<stablehlo::GetDimensionSizeOp>(op))
    return moves({{"dimension", int64_t(o.getDimension())}});
  if (auto o = dyn_cast<stablehlo::SetDimensionSizeOp>(op))
    return moves({{"dimension", int64_t(o.getDimension())}});
  if (auto o = dyn_cast<stablehlo::GatherOp>(op)) {
    call = moves(gatherNumbers(o.getDimensionNumbers()));
    call.arguments.push_back({"slice_sizes", listOf(o.getSliceSizes())});
    return call;
  }
  if (auto o = dyn_cast<stablehlo::DynamicGatherOp>(op))
    return moves(gatherNumbers(o.getDimensionNumbers()));
  if (auto o = dyn_cast<stablehlo::TorchIndexSelectOp>(op))
    return moves({{"dim", int64_t(o.getDim())}, {"batch_dims", int64_t(o.getBatchDims())}});
  if (auto o = dyn_cast<stablehlo::ScatterOp>(op)) {
    auto numbers = o.getScatterDimensionNumbers();
    return moves({{"update_window_dims", listOf(numbers.getUpdateWindowDims())},
                  {"inserted_window_dims", listOf(numbers.getInsertedWindowDims())},
                  {"input_batching_dims", listOf(numbers.getInputBatchingDims())},
                  {"scatter_indices_batching_dims", listOf(numbers.getScatterIndicesBatchingDims())},
                  {"scatter_dims_to_operand_dims", listOf(numbers.getScatterDimsToOperandDims())},
                  {"index_vector_dim", int64_t(numbers.getIndexVectorDim())},
                  {"whole_windows", op->hasAttr(reference::kWholeWindowsAttr)}});
  }
  if (auto o = dyn_cast<stablehlo::SortOp>(op)) {
    int64_t dimension = o.getDimension();
    if (dimension < 0)
      dimension += cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
    return moves({{"dimension", dimension}});
  }
  if (auto o = dyn_cast<stablehlo::ReduceOp>(op))
    return computes({{"dimensions", listOf(o.getDimensions())}});
  if (auto o = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
    size_t rank = o.getWindowDimensions().size();
    return computes({{"window_dimensions", listOf(o.getWindowDimensions())},
                     {"window_strides", listOr(o.getWindowStrides(), rank, 1)},
                     {"base_dilations", listOr(o.getBaseDilations(), rank, 1)},
                     {"window_dilations", listOr(o.getWindowDilations(), rank, 1)},
                     {"padding", paddingOf(o.getPadding(), rank)}});
  }
  if (auto o = dyn_cast<stablehlo::SelectAndScatterOp>(op)) {
    size_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
    return computes({{"window_dimensions", listOr(o.getWindowDimensions(), rank, 1)},
                     {"window_strides", listOr(o.getWindowStrides(), rank, 1)},
                     {"padding", paddingOf(o.getPadding(), rank)}});
  }
  if (isa<stablehlo::MapOp>(op)) {
    call.function = "map_elements";
    return computes({});
  }
  if (auto o = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    auto numbers = o.getDotDimensionNumbers();
    return moves({{"lhs_batching_dimensions", listOf(numbers.getLhsBatchingDimensions())},
                  {"rhs_batching_dimensions", listOf(numbers.getRhsBatchingDimensions())},
                  {"lhs_contracting_dimensions", listOf(numbers.getLhsContractingDimensions())},
                  {"rhs_contracting_dimensions", listOf(numbers.getRhsContractingDimensions())},
                  element("dtype", type())});
  }
  if (isa<stablehlo::DotOp>(op))
    return moves({element("dtype", type())});
  if (auto o = dyn_cast<stablehlo::ConvolutionOp>(op)) {
    call = moves(convolutionNumbers(o));
    size_t spatial = o.getDimensionNumbers().getInputSpatialDimensions().size();
    call.arguments.push_back({"padding", paddingOf(o.getPadding(), spatial)});
    call.arguments.push_back(element("dtype", type()));
    return call;
  }
  if (auto o = dyn_cast<stablehlo::DynamicConvOp>(op)) {
    call = moves(convolutionNumbers(o));
    call.arguments.push_back(element("dtype", type()));
    return call;
  }
  if (auto o = dyn_cast<stablehlo::EinsumOp>(op))
    return moves({{"einsum_config", o.getEinsumConfig().str()}, element("dtype", type())});
  if (auto o = dyn_cast<stablehlo::UnaryEinsumOp>(op))
    return moves({{"einsum_config", o.getEinsumConfig().str()}, element("dtype", type())});
  if (auto o = dyn_cast<stablehlo::CholeskyOp>(op))
    return computes({{"lower", bool(o.getLower())}});
  if (auto o = dyn_cast<stablehlo::TriangularSolveOp>(op))
    return computes({{"left_side", bool(o.getLeftSide())},
                     {"lower", bool(o.getLower())},
                     {"unit_diagonal", bool(o.getUnitDiagonal())},
                     {"transpose_a", stringifyEnum(o.getTransposeA()).str()}});
  if (auto o = dyn_cast<stablehlo::FftOp>(op))
    return computes({{"fft_type", stringifyEnum(o.getFftType()).str()},
                     {"fft_length", listOf(o.getFftLength())}});
  if (auto o = dyn_cast<stablehlo::RngOp>(op))
    return moves({{"rng_distribution", stringifyEnum(o.getRngDistribution()).str()},
                  element("dtype", type())});
  if (auto o = dyn_cast<stablehlo::RngBitGeneratorOp>(op))
    return moves({{"rng_algorithm", stringifyEnum(o.getRngAlgorithm()).str()},
                  {"shape", shapeOf(type(1))},
                  element("dtype", type(1))});
  auto norm = [&](auto o) {
    return computes({{"epsilon", double(o.getEpsilon().convertToFloat())},
                     {"feature_index", int64_t(o.getFeatureIndex())}});
  };
  if (auto o = dyn_cast<stablehlo::BatchNormInferenceOp>(op))
    return norm(o);
  if (auto o = dyn_cast<stablehlo::BatchNormTrainingOp>(op))
    return norm(o);
  if (auto o = dyn_cast<stablehlo::BatchNormGradOp>(op))
    return norm(o);
  return Error{ErrorCode::Unsupported,
               op->getName().getStringRef().str() + " has no form in generated code"};
}

} // namespace cupel::compiler::standalone
