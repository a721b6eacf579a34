#include "cupel/compiler/backends/cpu/ProductKernel.h"

#include "cupel/compiler/backends/cpu/CodeKernel.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/brief/Brief.h"
#include "cupel/kernels/Convolution.h"
#include "cupel/kernels/Pooling.h"
#include "cupel/reference/Registry.h"

#include <limits>
#include <mutex>

namespace cupel::compiler {

using namespace mlir;
using tensor::Tensor;

namespace {

/// What is done to the elements of a block.
class EpilogueCode {
public:
  /// `first` is the operand of the launch's operation that is the first extra, and its view.
  static Result<EpilogueCode> make(Operation *op, unsigned first, ArrayAttr views,
                                   KernelChoice choice) {
    EpilogueCode epilogue;
    Block &body = op->getRegion(0).front();
    for (Value extra : op->getOperands().drop_front(first))
      epilogue.inputs.push_back(int(cast<BlockArgument>(extra).getArgNumber()));
    if (body.without_terminator().empty() &&
        body.getTerminator()->getOperand(0) == body.getArgument(0))
      return epilogue;
    codegen::BlockMap map;
    map.body = &body;
    for (auto [extra, view] : llvm::zip(op->getOperands().drop_front(first),
                                        views.getAsRange<tir::ViewAttr>())) {
      auto element = reference::elementTypeOf(
          cast<RankedTensorType>(extra.getType()).getElementType());
      map.operands.push_back(codeView(view, element->storage));
    }
    if (epilogue.isBias(body, map.operands))
      return epilogue;
    auto elements = double(cast<RankedTensorType>(op->getResult(0).getType()).getNumElements());
    if (choice.budget && !choice.isRepeated && elements < kBriefNanoseconds)
      if (auto work = cupel::brief::prepare(map);
          work && elements * (*work)->nanosecondsPerElement <
                      std::min(kBriefNanoseconds, choice.budget->forEver)) {
        choice.budget->forEver -= elements * (*work)->nanosecondsPerElement;
        epilogue.brief = std::move(*work);
        return epilogue;
      }
    Result<codegen::CompiledBlockMap> code = codegen::compile(map);
    if (!code)
      return code.error();
    epilogue.code = std::move(*code);
    return epilogue;
  }

  /// Calls `work` with the epilogue of one call.
  template <typename F> void with(std::span<const std::byte *const> reads, F &&work) const {
    llvm::SmallVector<void *, 8> operands;
    if (brief)
      operands.push_back(const_cast<cupel::brief::BlockWork *>(brief.get()));
    for (int input : inputs)
      operands.push_back(const_cast<std::byte *>(reads[input]));
    kernels::Epilogue epilogue;
    if (bias >= 0)
      epilogue.bias = reinterpret_cast<const float *>(reads[bias]);
    epilogue.function = brief ? &runBrief : code.function;
    epilogue.operands = operands.data();
    work(epilogue);
  }

private:
  /// A function of the kernels' form, whose first operand is what it runs.
  static void runBrief(void *const *operands, float *block, int64_t stride, int64_t row,
                       int64_t rows, int64_t column, int64_t columns) {
    static_cast<const cupel::brief::BlockWork *>(operands[0])
        ->run(operands + 1, block, stride, row, rows, column, columns);
  }

  /// One addition of a number for each column, which the kernels do themselves.
  bool isBias(Block &body, ArrayRef<codegen::View> views) {
    auto add = dyn_cast<stablehlo::AddOp>(body.front());
    if (!add || views.size() != 1 || !llvm::hasSingleElement(body.without_terminator()) ||
        views[0].type != tensor::DType::F32 || views[0].offset != 0 || !views[0].valid.empty() ||
        views[0].strides[0] != 0 || views[0].strides[1] != 1)
      return false;
    Value element = body.getArgument(0), extra = body.getArgument(1);
    if (!((add.getLhs() == element && add.getRhs() == extra) ||
          (add.getLhs() == extra && add.getRhs() == element)))
      return false;
    bias = inputs[0];
    return true;
  }

  std::vector<int> inputs;
  int bias = -1;
  codegen::CompiledBlockMap code;
  std::shared_ptr<const cupel::brief::BlockWork> brief;
};

/// Steps of loops and branches have no tensors for arguments, only memory, which may hold something
/// else the next time.
bool isMain(dev::LaunchOp launch) {
  return launch->getParentOfType<dev::ProgramOp>().getSymName() == "main";
}

/// Weights in packed form: made at load, once for each buffer, or for each call.
template <typename Packed> class Weights {
public:
  using Pack = std::function<Packed(const float *)>;

  Status load(dev::LaunchOp launch, unsigned argument, Pack how) {
    pack = std::move(how);
    read = argument;
    Operation *source = dev::rootOf(launch.getReads()[argument]).getDefiningOp();
    if (auto constant = dyn_cast<dev::ConstantOp>(source)) {
      auto type = cast<dev::BufferType>(constant.getBuffer().getType()).getTensor();
      Result<Tensor> value = reference::constantTensor(constant.getValue(), type);
      if (!value)
        return value.error();
      Result<Tensor> whole = value->contiguous();
      if (!whole)
        return whole.error().as(ErrorCode::OutOfMemory);
      fixed = pack(whole->template dataAs<float>());
    } else if (auto given = dyn_cast<dev::ArgumentOp>(source); given && isMain(launch)) {
      number = int(given.getNumber());
    }
    return {};
  }

  Packed get(LaunchContext &context, std::span<const std::byte *const> reads) const {
    if (fixed)
      return *fixed;
    const auto *data = reinterpret_cast<const float *>(reads[read]);
    if (number < 0)
      return pack(data);
    // A buffer that is held here is neither written nor given back, so its address says which it is.
    // Packing twice, on two threads at once, is a waste and no mistake.
    const Tensor &argument = context.arguments[number];
    {
      std::lock_guard lock(mutex);
      if (packed && held.data() == argument.data())
        return *packed;
    }
    Packed made = pack(data);
    std::lock_guard lock(mutex);
    held = argument;
    packed = made;
    return made;
  }

private:
  Pack pack;
  unsigned read = 0;
  int number = -1; // Of the argument that they are.
  std::optional<Packed> fixed;
  mutable std::mutex mutex;
  mutable Tensor held;
  mutable std::optional<Packed> packed;
};

float *floatsOf(std::byte *memory) { return reinterpret_cast<float *>(memory); }
const float *floatsOf(const std::byte *memory) { return reinterpret_cast<const float *>(memory); }

unsigned argumentOf(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

struct ProductShape {
  int64_t rows, columns, depth;
  int64_t leftOffset, leftRow, leftColumn;
  int64_t rightOffset, rightRow, rightColumn;
};

/// With a right side that is packed.
class PackedProduct final : public Kernel {
public:
  PackedProduct(const ProductShape &shape, unsigned left, EpilogueCode epilogue)
      : shape(shape), left(left), epilogue(std::move(epilogue)) {}

  Status load(dev::LaunchOp launch, unsigned right) {
    return weights.load(launch, right, [shape = shape](const float *data) {
      return kernels::packMatrix({data + shape.rightOffset, shape.rightRow, shape.rightColumn},
                                 shape.depth, shape.columns, kernelPool());
    });
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    kernels::PackedMatrix right = weights.get(context, reads);
    epilogue.with(reads, [&](const kernels::Epilogue &end) {
      kernels::multiply(
          shape.rows, {floatsOf(reads[left]) + shape.leftOffset, shape.leftRow, shape.leftColumn},
          right, floatsOf(writes[0]), shape.columns, end, kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "product"; }

private:
  ProductShape shape;
  unsigned left;
  EpilogueCode epilogue;
  Weights<kernels::PackedMatrix> weights;
};

/// With both sides as they lie.
class BatchProduct final : public Kernel {
public:
  BatchProduct(kernels::ProductBatch batch, const ProductShape &shape, unsigned left,
               unsigned right, EpilogueCode epilogue)
      : batch(batch), shape(shape), left(left), right(right), epilogue(std::move(epilogue)) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    epilogue.with(reads, [&](const kernels::Epilogue &end) {
      kernels::multiplyBatch(
          batch, {floatsOf(reads[left]) + shape.leftOffset, shape.leftRow, shape.leftColumn},
          {floatsOf(reads[right]) + shape.rightOffset, shape.rightRow, shape.rightColumn},
          floatsOf(writes[0]), shape.columns, end, kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "product"; }

private:
  kernels::ProductBatch batch;
  ProductShape shape;
  unsigned left, right;
  EpilogueCode epilogue;
};

bool isF32(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isF32();
}

Result<KernelPointer> make(tir::ProductOp op, dev::LaunchOp launch, KernelChoice choice) {
  if (!isF32(op.getLhs()) || !isF32(op.getResult()))
    return Error{ErrorCode::Unsupported, "products are of f32"};
  auto views = llvm::to_vector(op.getViews().getAsRange<tir::ViewAttr>());
  ArrayRef<int64_t> ls = views[0].getStrides(), rs = views[1].getStrides();
  size_t batches = op.getBatch().size();
  if (!views[0].getValid().empty() || !views[1].getValid().empty() ||
      batches > kernels::ProductBatch::kDimensions)
    return Error{ErrorCode::Unsupported, "products are of matrices as they lie"};
  ProductShape shape = {int64_t(op.getRows()), int64_t(op.getColumns()), int64_t(op.getDepth()),
                        views[0].getOffset(),  ls[batches],              ls[batches + 1],
                        views[1].getOffset(),  rs[batches],              rs[batches + 1]};
  Result<EpilogueCode> epilogue = EpilogueCode::make(
      op, 2, ArrayAttr::get(op.getContext(), op.getViews().getValue().drop_front(2)), choice);
  if (!epilogue)
    return epilogue.error();
  unsigned left = argumentOf(op.getLhs()), right = argumentOf(op.getRhs());
  Operation *source = dev::rootOf(launch.getReads()[right]).getDefiningOp();
  if (batches == 0 && (isa<dev::ConstantOp>(source) ||
                       (isa<dev::ArgumentOp>(source) && isMain(launch)))) {
    auto kernel = std::make_unique<PackedProduct>(shape, left, std::move(*epilogue));
    if (Status status = kernel->load(launch, right); !status)
      return status.error();
    return KernelPointer(std::move(kernel));
  }
  kernels::ProductBatch batch;
  batch.rows = shape.rows;
  batch.columns = shape.columns;
  batch.depth = shape.depth;
  int64_t step = shape.rows * shape.columns;
  for (size_t i = batches; i-- > 0;) {
    size_t at = i + kernels::ProductBatch::kDimensions - batches;
    batch.sizes[at] = op.getBatch()[i];
    batch.aStrides[at] = ls[i];
    batch.bStrides[at] = rs[i];
    batch.cStrides[at] = step;
    step *= op.getBatch()[i];
  }
  return KernelPointer(
      std::make_unique<BatchProduct>(batch, shape, left, right, std::move(*epilogue)));
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

class ConvolutionKernel final : public Kernel {
public:
  ConvolutionKernel(unsigned image, int64_t filters, EpilogueCode epilogue)
      : image(image), filters(filters), epilogue(std::move(epilogue)) {}

  Status load(dev::LaunchOp launch, unsigned kernel, const kernels::ConvolutionShape &shape,
              tir::ViewAttr view) {
    int64_t offset = view.getOffset();
    llvm::SmallVector<int64_t> strides(view.getStrides());
    return weights.load(launch, kernel, [=](const float *data) {
      return kernels::packConvolution(
          shape, {data + offset, {0, strides[0], strides[1]}, strides[2], strides[3]}, kernelPool());
    });
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    kernels::PackedConvolution packed = weights.get(context, reads);
    epilogue.with(reads, [&](const kernels::Epilogue &end) {
      kernels::convolve(packed, floatsOf(reads[image]), floatsOf(writes[0]), filters, end,
                        kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "convolution"; }

private:
  unsigned image;
  int64_t filters;
  EpilogueCode epilogue;
  Weights<kernels::PackedConvolution> weights;
};

Result<KernelPointer> make(tir::ConvolutionOp op, dev::LaunchOp launch, KernelChoice choice) {
  if (!isF32(op.getImage()) || !isF32(op.getResult()))
    return Error{ErrorCode::Unsupported, "convolutions are of f32"};
  auto image = cast<RankedTensorType>(op.getImage().getType()),
       result = cast<RankedTensorType>(op.getResult().getType());
  auto view = cast<tir::ViewAttr>(op.getViews()[0]);
  if (!view.getValid().empty())
    return Error{ErrorCode::Unsupported, "kernels of convolutions are not padded"};
  kernels::ConvolutionShape shape;
  shape.batch = image.getDimSize(0);
  shape.inputChannels = image.getDimSize(3);
  shape.outputChannels = result.getDimSize(3);
  shape.input = {1, image.getDimSize(1), image.getDimSize(2)};
  shape.kernel = {1, op.getWindow()[0], op.getWindow()[1]};
  shape.strides = {1, op.getStrides()[0], op.getStrides()[1]};
  shape.paddingLow = {0, op.getPadding()[0], op.getPadding()[2]};
  shape.paddingHigh = {0, op.getPadding()[1], op.getPadding()[3]};
  shape.kernelDilation = {1, op.getDilations()[0], op.getDilations()[1]};
  shape.inputDilation = {1, op.spreadOf(0), op.spreadOf(1)};
  shape.groups = int64_t(op.getGroups());
  Result<EpilogueCode> epilogue = EpilogueCode::make(
      op, 2, ArrayAttr::get(op.getContext(), op.getViews().getValue().drop_front(1)), choice);
  if (!epilogue)
    return epilogue.error();
  auto kernel = std::make_unique<ConvolutionKernel>(argumentOf(op.getImage()),
                                                    shape.outputChannels, std::move(*epilogue));
  if (Status status = kernel->load(launch, argumentOf(op.getKernel()), shape, view); !status)
    return status.error();
  return KernelPointer(std::move(kernel));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

class PoolKernel final : public Kernel {
public:
  PoolKernel(const kernels::PoolingShape &shape, bool isMax) : shape(shape), isMax(isMax) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    kernels::computeWindows(shape, isMax ? kernels::PoolingKind::Max : kernels::PoolingKind::Sum,
                            isMax ? -std::numeric_limits<float>::infinity() : 0.0f,
                            floatsOf(reads[0]), floatsOf(writes[0]), shape.channels, {},
                            kernelPool());
    return {};
  }

  std::string_view kind() const override { return "pool"; }

private:
  kernels::PoolingShape shape;
  bool isMax;
};

Result<KernelPointer> make(tir::PoolOp op) {
  if (!isF32(op.getImage()))
    return Error{ErrorCode::Unsupported, "windows are of f32"};
  auto image = cast<RankedTensorType>(op.getImage().getType());
  kernels::PoolingShape shape;
  shape.batch = image.getDimSize(0);
  shape.channels = image.getDimSize(3);
  shape.input = {1, image.getDimSize(1), image.getDimSize(2)};
  shape.window = {1, op.getWindow()[0], op.getWindow()[1]};
  shape.strides = {1, op.getStrides()[0], op.getStrides()[1]};
  shape.paddingLow = {0, op.getPadding()[0], op.getPadding()[2]};
  shape.paddingHigh = {0, op.getPadding()[1], op.getPadding()[3]};
  return KernelPointer(std::make_unique<PoolKernel>(shape, op.getCombiner() == "maximum"));
}

} // namespace

Result<KernelPointer> productKernel(dev::LaunchOp launch, KernelChoice choice) {
  Operation *op = &launch.getBody().front().front();
  if (auto product = dyn_cast<tir::ProductOp>(op))
    return make(product, launch, choice);
  if (auto convolution = dyn_cast<tir::ConvolutionOp>(op))
    return make(convolution, launch, choice);
  if (auto pool = dyn_cast<tir::PoolOp>(op))
    return make(pool);
  return Error{ErrorCode::Unsupported, "this is neither a product nor a convolution"};
}

} // namespace cupel::compiler
