// Results of convolutions that are only brought to channels first are written so by the convolution, whose tiles are in the nearest
// cache: by itself the way back is as long as a small convolution. Runs behind everything that moves transposes elsewhere.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_TURNRESULTS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// What makes a value that nobody else needs, behind reshapes that nobody else needs either.
ConvolutionOp soleMaker(Value value) {
  while (value.hasOneUse()) {
    auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>();
    if (!reshape)
      return value.getDefiningOp<ConvolutionOp>();
    value = reshape.getOperand();
  }
  return nullptr;
}

/// Without padding or strides pixels are the rows of a matrix, whose product is cut in ways of its own, which would be lost.
bool isProduct(ConvolutionOp op) {
  auto are = [](ArrayRef<int64_t> numbers, int64_t number) { return llvm::all_equal(numbers) && numbers[0] == number; };
  return op.getGroups() == 1 && !op.getSpread() && are(op.getWindow(), 1) && are(op.getStrides(), 1) && are(op.getPadding(), 0);
}

/// Whether points in their order read images of so many pixels and channels with the channels first.
bool readsChannelsFirst(ArrayRef<int64_t> sizes, ViewAttr view, int64_t images, int64_t pixels, int64_t channels) {
  if (view.getOffset() != 0 || !view.getValid().empty())
    return false;
  using Dimensions = SmallVector<std::pair<int64_t, int64_t>>; // Sizes and strides.
  auto joined = [](const Dimensions &dimensions) {             // Neighbours that stay neighbours are one.
    Dimensions result;
    for (auto [size, stride] : dimensions) {
      if (size == 1)
        continue;
      if (!result.empty() && result.back().second == size * stride)
        result.back() = {result.back().first * size, stride};
      else
        result.push_back({size, stride});
    }
    return result;
  };
  Dimensions read;
  for (auto [size, stride] : llvm::zip(sizes, view.getStrides()))
    read.push_back({size, stride});
  return joined(read) == joined({{images, pixels * channels}, {channels, 1}, {pixels, channels}});
}

void turn(MapOp map) {
  Block &body = map.getBody().front();
  if (map.getInputs().size() != 1 || map->getNumResults() != 1 || !body.without_terminator().empty() ||
      body.getTerminator()->getOperand(0) != body.getArgument(0))
    return;
  ConvolutionOp convolution = soleMaker(map.getInputs()[0]);
  if (!convolution || convolution.getTurned())
    return;
  auto elementOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  Type image = elementOf(convolution.getImage()), element = elementOf(convolution.getResult());
  if ((!image.isF32() && !image.isBF16()) || !element.isF32() || isProduct(convolution))
    return;
  SmallVector<int64_t> sizes = convolution.resultSizes();
  int64_t channels = sizes.back(), pixels = ShapedType::getNumElements(ArrayRef(sizes).drop_front().drop_back());
  if (!readsChannelsFirst(map.getSizes(), cast<ViewAttr>(map.getViews()[0]), sizes[0], pixels, channels) ||
      !compiler::mayRewrite(convolution, "turned-result"))
    return;
  std::rotate(sizes.begin() + 1, sizes.end() - 1, sizes.end());
  convolution.setTurned(true);
  convolution.getResult().setType(RankedTensorType::get(sizes, element));
  // Reshapes in between would have the old type.
  OpBuilder builder(map);
  Value result = convolution.getResult(), between = map.getInputs()[0];
  if (result.getType() != map.getResult(0).getType())
    result = builder.create<stablehlo::ReshapeOp>(map.getLoc(), map.getResult(0).getType(), result);
  map.getResult(0).replaceAllUsesWith(result);
  map.erase();
  while (between != convolution.getResult()) {
    auto reshape = between.getDefiningOp<stablehlo::ReshapeOp>();
    between = reshape.getOperand();
    reshape.erase();
  }
}

class TurnResults : public impl::TurnResultsBase<TurnResults> {
public:
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation()->walk([&](MapOp map) { maps.push_back(map); });
    for (MapOp map : maps)
      turn(map);
  }
};

} // namespace
} // namespace cupel::tir
