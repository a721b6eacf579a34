#include "cupel/compiler/passes/RoundWeights.h"

#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Convert.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_ROUNDWEIGHTS
#include "cupel/compiler/passes/Passes.h.inc"

using tensor::BlockFormat;
using tensor::DType;
using tensor::Tensor;

std::optional<BlockFormat> WeightFormats::of(StringRef name) const {
  for (const auto &[pattern, format] : named) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
    if (!glob)
      llvm::consumeError(glob.takeError()); // It was checked when it was read.
    else if (glob->match(name))
      return format;
  }
  return others;
}

Result<WeightFormats> parseWeightFormats(std::string_view text) {
  auto formatOf = [](StringRef name) -> Result<std::optional<BlockFormat>> {
    if (std::optional<BlockFormat> format = tensor::parseBlockFormat(name))
      return format;
    if (name == "bf16" || name.empty())
      return std::optional<BlockFormat>();
    return Error{ErrorCode::InvalidArgument, "'" + name.str() +
                                                 "' is no format of weights; there are bfp8 (or "
                                                 "bfp_bf8), bfp_bf4 and, for as they are, bf16"};
  };
  WeightFormats formats;
  if (!StringRef(text).trim().starts_with("{")) {
    Result<std::optional<BlockFormat>> one = formatOf(StringRef(text).trim());
    if (!one)
      return one.error();
    formats.others = *one;
    return formats;
  }
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  const llvm::json::Object *object = json ? json->getAsObject() : nullptr;
  if (!object) {
    std::string why = json ? "it is no object" : llvm::toString(json.takeError());
    return Error{ErrorCode::InvalidArgument, "the formats of weights are no JSON: " + why};
  }
  for (const auto &[key, value] : *object) {
    std::optional<StringRef> name = value.getAsString();
    if (!name)
      return Error{ErrorCode::InvalidArgument,
                   "the format of weights '" + key.str() + "' is no text"};
    Result<std::optional<BlockFormat>> format = formatOf(*name);
    if (!format)
      return format.error();
    if (key == "default") {
      formats.others = *format;
      continue;
    }
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(StringRef(key));
    if (!glob)
      return Error{ErrorCode::InvalidArgument, "'" + key.str() + "' is no pattern of names: " +
                                                   llvm::toString(glob.takeError())};
    formats.named.emplace_back(key.str(), *format);
  }
  // JSON has no order of keys: the longer pattern is the more particular one.
  llvm::sort(formats.named, [](const auto &a, const auto &b) {
    return std::pair(b.first.size(), a.first) < std::pair(a.first.size(), b.first);
  });
  return formats;
}

namespace {

/// Rounding in blocks along the last dimension, written as a program: what encodeBlock and
/// decodeBlock do. ROWS x WIDTH is the weight, PADDED its width in whole blocks.
constexpr const char *kRoundInBlocks = R"(
func.func @round(%weight: WEIGHT) -> WEIGHT {
  %rows = stablehlo.reshape %weight : (WEIGHT) -> tensor<ROWSxWIDTHxELEMENT>
  %wide = stablehlo.convert %rows : (tensor<ROWSxWIDTHxELEMENT>) -> tensor<ROWSxWIDTHxf32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %padded = stablehlo.pad %wide, %none, low = [0, 0], high = [0, MORE], interior = [0, 0] : (tensor<ROWSxWIDTHxf32>, tensor<f32>) -> tensor<ROWSxPADDEDxf32>
  %blocks = stablehlo.reshape %padded : (tensor<ROWSxPADDEDxf32>) -> tensor<BLOCKSx16xf32>
  %bits = stablehlo.bitcast_convert %blocks : (tensor<BLOCKSx16xf32>) -> tensor<BLOCKSx16xui32>
  %c23 = stablehlo.constant dense<23> : tensor<BLOCKSx16xui32>
  %c255 = stablehlo.constant dense<255> : tensor<BLOCKSx16xui32>
  %high = stablehlo.shift_right_logical %bits, %c23 : tensor<BLOCKSx16xui32>
  %exponent = stablehlo.and %high, %c255 : tensor<BLOCKSx16xui32>
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %largest = stablehlo.reduce(%exponent init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<BLOCKSx16xui32>, tensor<ui32>) -> tensor<BLOCKSxui32>
  %shared = stablehlo.broadcast_in_dim %largest, dims = [0] : (tensor<BLOCKSxui32>) -> tensor<BLOCKSx16xui32>
  %apart = stablehlo.subtract %shared, %exponent : tensor<BLOCKSx16xui32>
  %c31 = stablehlo.constant dense<31> : tensor<BLOCKSx16xui32>
  %distance = stablehlo.minimum %apart, %c31 : tensor<BLOCKSx16xui32>
  %fraction_mask = stablehlo.constant dense<8388607> : tensor<BLOCKSx16xui32>
  %fraction = stablehlo.and %bits, %fraction_mask : tensor<BLOCKSx16xui32>
  %one_bit = stablehlo.constant dense<8388608> : tensor<BLOCKSx16xui32>
  %whole = stablehlo.or %fraction, %one_bit : tensor<BLOCKSx16xui32>
  %significand = stablehlo.shift_right_logical %whole, %distance : tensor<BLOCKSx16xui32>
  %drop = stablehlo.constant dense<DROP> : tensor<BLOCKSx16xui32>
  %floor = stablehlo.shift_right_logical %significand, %drop : tensor<BLOCKSx16xui32>
  %rest_mask = stablehlo.constant dense<REST> : tensor<BLOCKSx16xui32>
  %rest = stablehlo.and %significand, %rest_mask : tensor<BLOCKSx16xui32>
  %c1 = stablehlo.constant dense<1> : tensor<BLOCKSx16xui32>
  %odd = stablehlo.and %floor, %c1 : tensor<BLOCKSx16xui32>
  %rest_and_odd = stablehlo.add %rest, %odd : tensor<BLOCKSx16xui32>
  %half = stablehlo.constant dense<HALF> : tensor<BLOCKSx16xui32>
  %goes_up = stablehlo.compare GT, %rest_and_odd, %half : (tensor<BLOCKSx16xui32>, tensor<BLOCKSx16xui32>) -> tensor<BLOCKSx16xi1>
  %up = stablehlo.convert %goes_up : (tensor<BLOCKSx16xi1>) -> tensor<BLOCKSx16xui32>
  %rounded = stablehlo.add %floor, %up : tensor<BLOCKSx16xui32>
  %most = stablehlo.constant dense<MOST> : tensor<BLOCKSx16xui32>
  %saturated = stablehlo.minimum %rounded, %most : tensor<BLOCKSx16xui32>
  %zeros = stablehlo.constant dense<0> : tensor<BLOCKSx16xui32>
  %is_zero = stablehlo.compare EQ, %exponent, %zeros : (tensor<BLOCKSx16xui32>, tensor<BLOCKSx16xui32>) -> tensor<BLOCKSx16xi1>
  %code = stablehlo.select %is_zero, %zeros, %saturated : tensor<BLOCKSx16xi1>, tensor<BLOCKSx16xui32>
  %number = stablehlo.convert %code : (tensor<BLOCKSx16xui32>) -> tensor<BLOCKSx16xf32>
  %unit = stablehlo.constant dense<UNIT> : tensor<BLOCKSx16xf32>
  %magnitude = stablehlo.multiply %number, %unit : tensor<BLOCKSx16xf32>
  %power_bits = stablehlo.shift_left %shared, %c23 : tensor<BLOCKSx16xui32>
  %power = stablehlo.bitcast_convert %power_bits : (tensor<BLOCKSx16xui32>) -> tensor<BLOCKSx16xf32>
  %scaled = stablehlo.multiply %magnitude, %power : tensor<BLOCKSx16xf32>
  %negated = stablehlo.negate %scaled : tensor<BLOCKSx16xf32>
  %sign_mask = stablehlo.constant dense<2147483648> : tensor<BLOCKSx16xui32>
  %sign = stablehlo.and %bits, %sign_mask : tensor<BLOCKSx16xui32>
  %is_positive = stablehlo.compare EQ, %sign, %zeros : (tensor<BLOCKSx16xui32>, tensor<BLOCKSx16xui32>) -> tensor<BLOCKSx16xi1>
  %signed = stablehlo.select %is_positive, %scaled, %negated : tensor<BLOCKSx16xi1>, tensor<BLOCKSx16xf32>
  %nothing = stablehlo.constant dense<0.0> : tensor<BLOCKSx16xf32>
  %vanishes = stablehlo.compare EQ, %code, %zeros : (tensor<BLOCKSx16xui32>, tensor<BLOCKSx16xui32>) -> tensor<BLOCKSx16xi1>
  %values = stablehlo.select %vanishes, %nothing, %signed : tensor<BLOCKSx16xi1>, tensor<BLOCKSx16xf32>
  %joined = stablehlo.reshape %values : (tensor<BLOCKSx16xf32>) -> tensor<ROWSxPADDEDxf32>
  %cut = stablehlo.slice %joined [0:ROWS, 0:WIDTH] : (tensor<ROWSxPADDEDxf32>) -> tensor<ROWSxWIDTHxf32>
  %narrow = stablehlo.convert %cut : (tensor<ROWSxWIDTHxf32>) -> tensor<ROWSxWIDTHxELEMENT>
  %result = stablehlo.reshape %narrow : (tensor<ROWSxWIDTHxELEMENT>) -> WEIGHT
  return %result : WEIGHT
}
)";

std::string spelledType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The template above for one type of weights.
std::string roundingProgram(RankedTensorType type, BlockFormat format) {
  int64_t width = type.getRank() ? type.getShape().back() : 1;
  int64_t rows = type.getNumElements() / width;
  constexpr int64_t kBlock = tensor::kBlockElements;
  int64_t padded = (width + kBlock - 1) / kBlock * kBlock;
  int digits = tensor::magnitudeBits(format), drop = 24 - digits;
  const std::pair<StringRef, std::string> words[] = {
      {"WEIGHT", spelledType(type)},
      {"ELEMENT", spelledType(type.getElementType())},
      {"ROWS", std::to_string(rows)},
      {"WIDTH", std::to_string(width)},
      {"PADDED", std::to_string(padded)},
      {"MORE", std::to_string(padded - width)},
      {"BLOCKS", std::to_string(rows * padded / kBlock)},
      {"DROP", std::to_string(drop)},
      {"REST", std::to_string((1 << drop) - 1)},
      {"HALF", std::to_string(1 << (drop - 1))},
      {"MOST", std::to_string((1 << digits) - 1)},
      {"UNIT", digits == 7 ? "1.562500e-02" : "2.500000e-01"},
  };
  std::string text = kRoundInBlocks;
  for (const auto &[word, value] : words)
    for (size_t at = text.find(word.str()); at != std::string::npos;
         at = text.find(word.str(), at + value.size()))
      text.replace(at, word.size(), value);
  return text;
}

/// Whether an operation gives the numbers of its first operand, in another order or a wider type.
bool movesWeight(Operation *op) {
  return isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp,
             stablehlo::ConvertOp, stablehlo::OptimizationBarrierOp>(op) &&
         op->getNumOperands() == 1;
}

/// What a value is made of: a constant or an argument, or nothing.
Value weightOrigin(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<stablehlo::ConstantOp>(op))
      return value;
    if (!movesWeight(op))
      return {};
    value = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function && function.isPublic() ? value : Value();
}

/// How alike two tensors of f32 are, and by how much they differ in parts of the largest number.
void measureLoss(const Tensor &before, const Tensor &after, RoundedWeight &weight) {
  Result<Tensor> a = tensor::convert(before, DType::F64), b = tensor::convert(after, DType::F64);
  if (!a || !b || a->size() == 0)
    return;
  const auto *x = a->dataAs<double>(), *y = b->dataAs<double>();
  double n = static_cast<double>(a->size()), sumX = 0, sumY = 0, largest = 0, apart = 0;
  for (int64_t i = 0; i < a->size(); ++i) {
    sumX += x[i];
    sumY += y[i];
    largest = std::max(largest, std::fabs(x[i]));
    apart = std::max(apart, std::fabs(x[i] - y[i]));
  }
  double xx = 0, yy = 0, xy = 0;
  for (int64_t i = 0; i < a->size(); ++i) {
    double dx = x[i] - sumX / n, dy = y[i] - sumY / n;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  weight.correlation = xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : apart == 0 ? 1.0 : 0.0;
  weight.error = largest > 0 ? apart / largest : 0;
}

class WeightRounder {
public:
  WeightRounder(ModuleOp module, const WeightFormats &formats) : module(module), formats(formats) {}

  std::vector<RoundedWeight> run() {
    for (const ProductWeight &one : productWeights(module))
      if (Value rounded = roundedForm(one))
        one.product->setOperand(1, rounded);
    return std::move(weights);
  }

private:
  /// Null if the weight is to stay as it is.
  Value roundedForm(const ProductWeight &one) {
    Value value = one.value;
    auto [known, isNew] = made.try_emplace(value);
    if (!isNew)
      return known->second;
    auto type = cast<RankedTensorType>(value.getType());
    RoundedWeight weight;
    weight.name = one.name;
    weight.type = spelledType(type);
    std::optional<BlockFormat> format = formats.of(weight.name);
    if (!format)
      return {};
    weight.format = *format;
    weight.bytes = stablehlo::bytesOf(type);
    weight.packed = packedBytes(type, *format);
    Value rounded = roundConstant(value, weight);
    if (!rounded)
      rounded = roundLater(value, type, *format);
    if (rounded)
      weights.push_back(std::move(weight));
    return made[value] = rounded;
  }

  /// Of a constant that is the weight itself.
  Value roundConstant(Value value, RoundedWeight &weight) {
    auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
    if (!constant)
      return {};
    Result<Tensor> before = reference::constantTensor(constant.getValue(), constant.getType());
    Result<Tensor> after = before ? tensor::roundToBlocks(*before, weight.format) : before;
    if (!after)
      return {};
    measureLoss(*before, *after, weight);
    OpBuilder builder(constant);
    auto attribute = DenseElementsAttr::getFromRawBuffer(
        cast<ShapedType>(constant.getType()),
        ArrayRef(reinterpret_cast<const char *>(after->data()), after->byteSize()));
    return builder.create<stablehlo::ConstantOp>(constant.getLoc(), attribute);
  }

  /// Operations that round a value, behind what makes it.
  Value roundLater(Value value, RankedTensorType type, BlockFormat format) {
    MLIRContext *context = module.getContext();
    auto [known, isNew] = parsed.try_emplace(std::pair(Type(type), int(format)));
    if (isNew)
      known->second =
          parseSourceString<ModuleOp>(roundingProgram(type, format), ParserConfig(context));
    if (!known->second)
      return {};
    auto function = *known->second->getOps<func::FuncOp>().begin();
    Block &body = function.getBody().front();
    OpBuilder builder(context);
    builder.setInsertionPointAfterValue(value);
    IRMapping mapping;
    mapping.map(body.getArgument(0), value);
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping)->setLoc(value.getLoc());
    return mapping.lookup(body.getTerminator()->getOperand(0));
  }

  ModuleOp module;
  const WeightFormats &formats;
  llvm::DenseMap<Value, Value> made;
  llvm::DenseMap<std::pair<Type, int>, OwningOpRef<ModuleOp>> parsed;
  std::vector<RoundedWeight> weights;
};

struct RoundWeightsPass : public impl::RoundWeightsBase<RoundWeightsPass> {
  using RoundWeightsBase::RoundWeightsBase;

  void runOnOperation() override {
    Result<WeightFormats> chosen = parseWeightFormats(formats);
    if (!chosen) {
      getOperation().emitError(chosen.message());
      return signalPassFailure();
    }
    roundWeights(getOperation(), *chosen);
  }
};

} // namespace

std::vector<ProductWeight> productWeights(ModuleOp module) {
  std::vector<ProductWeight> found;
  llvm::DenseMap<Value, std::string> names;
  int constants = 0;
  auto nameOf = [&](Value origin) {
    if (auto name = origin.getLoc()->findInstanceOf<NameLoc>())
      return name.getName().str();
    if (auto argument = dyn_cast<BlockArgument>(origin))
      return "arg" + std::to_string(argument.getArgNumber());
    return "constant" + std::to_string(constants++);
  };
  module.walk([&](Operation *op) {
    if (!isa<stablehlo::DotGeneralOp, stablehlo::DotOp>(op))
      return;
    Value value = op->getOperand(1), origin = weightOrigin(value);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!origin || !type || !type.hasStaticShape() || type.getEncoding() ||
        type.getNumElements() == 0 || type.getRank() == 0)
      return;
    Type element = type.getElementType();
    if (!element.isF32() && !element.isBF16())
      return;
    auto [name, isNew] = names.try_emplace(value);
    if (isNew)
      name->second = nameOf(origin);
    found.push_back({op, value, name->second});
  });
  return found;
}

int64_t packedBytes(RankedTensorType weight, BlockFormat format) {
  int64_t columns = weight.getShape().back(), rows = weight.getNumElements() / columns;
  auto tiles = [](int64_t size) { return (size + tensor::kTileSide - 1) / tensor::kTileSide; };
  return tiles(rows) * tiles(columns) * tensor::tileBytes(format);
}

std::vector<RoundedWeight> roundWeights(ModuleOp module, const WeightFormats &formats) {
  return WeightRounder(module, formats).run();
}

} // namespace cupel::compiler
