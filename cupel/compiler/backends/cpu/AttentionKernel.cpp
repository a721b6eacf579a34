#include "cupel/compiler/backends/cpu/AttentionKernel.h"

#include "cupel/compiler/backends/cpu/CodeKernel.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/kernels/Attention.h"
#include "cupel/reference/Registry.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

/// About how long a score takes in a loop of vectors; only the splitting of work depends on it.
constexpr double kNanosecondsPerScore = 0.5;

/// Where a matrix of a head lies.
struct Side {
  unsigned read;
  int64_t offset, row, column;

  kernels::MatrixView of(std::span<const std::byte *const> reads) const {
    return {reinterpret_cast<const float *>(reads[read]) + offset, row, column};
  }
};

class AttentionKernel final : public Kernel {
public:
  AttentionKernel(const kernels::AttentionShape &shape, std::array<Side, 3> sides, int64_t resultRow,
                  codegen::CompiledKernel code, std::vector<unsigned> extras)
      : shape(shape), sides(sides), resultRow(resultRow), code(std::move(code)),
        extras(std::move(extras)) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    llvm::SmallVector<const void *, 8> operands;
    for (unsigned extra : extras)
      operands.push_back(reads[extra]);
    Call call{*this, operands};
    kernels::attend(shape, sides[0].of(reads), sides[1].of(reads), sides[2].of(reads),
                    {weigh, &call, kNanosecondsPerScore}, reinterpret_cast<float *>(writes[0]),
                    resultRow, kernelPool());
    return {};
  }

  std::string_view kind() const override { return "attention"; }

private:
  struct Call {
    const AttentionKernel &kernel;
    ArrayRef<const void *> operands;
  };

  static void weigh(const void *state, float *scores, int64_t row, int64_t rows) {
    const Call &call = *static_cast<const Call *>(state);
    const AttentionKernel &kernel = call.kernel;
    // The code counts rows of all heads and believes that all scores are there: those that it is
    // told to look at are. The address may be none of ours, so it is reckoned as a number.
    auto before = static_cast<uintptr_t>(row * kernels::scoreStride(kernel.shape.keys)) * sizeof(float);
    void *first = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(scores) - before);
    llvm::SmallVector<const void *, 9> inputs = {first};
    llvm::append_range(inputs, call.operands);
    kernel.code.stages[0].function(inputs.data(), &first, row, row + rows,
                                   threadScratch(kernel.code.scratchBytes));
  }

  kernels::AttentionShape shape;
  std::array<Side, 3> sides; // Query, key, value.
  int64_t resultRow;
  codegen::CompiledKernel code;
  std::vector<unsigned> extras;
};

unsigned argumentOf(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

tensor::DType typeOf(Value value) {
  return reference::elementTypeOf(cast<RankedTensorType>(value.getType()).getElementType())->storage;
}

/// The function of rows, on scores that lie in whole lines.
Result<codegen::CompiledKernel> compileRows(tir::AttentionOp op) {
  codegen::RowKernel rows;
  rows.outer.assign(op.getSizes().begin(), op.getSizes().end());
  rows.length = int64_t(op.getColumns());
  rows.body = &op.getBody().front();
  rows.isReadSoon = true;
  codegen::View scores;
  for (int64_t stride : tir::rowMajorStrides(op.getSizes()))
    scores.strides.push_back(stride * kernels::scoreStride(rows.length));
  scores.strides.push_back(1);
  rows.inputs.push_back(scores);
  rows.outputs.push_back(scores);
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    codegen::View view = codeView(cast<tir::ViewAttr>(op.getViews()[i + 3]), typeOf(extra));
    if (cast<RankedTensorType>(op.getBody().getArgument(i + 1).getType()).getRank() == 0) {
      view.strides.push_back(0);
      if (!view.valid.empty())
        view.valid.push_back({0, rows.length});
    }
    rows.inputs.push_back(std::move(view));
  }
  Result<codegen::CompiledKernel> code = codegen::compile(rows);
  if (code && (code->stages.size() != 1 || code->workspaceBytes != 0))
    return Error{ErrorCode::Unsupported, "rows are not computed one by one"};
  return code;
}

} // namespace

Result<KernelPointer> attentionKernel(tir::AttentionOp op) {
  size_t batch = op.getBatch().size();
  if (typeOf(op.getQuery()) != tensor::DType::F32 || batch > kernels::ProductBatch::kDimensions)
    return Error{ErrorCode::Unsupported, "attention is of f32 and some dimensions at most"};
  kernels::AttentionShape shape;
  shape.rows = int64_t(op.getRows());
  shape.keys = int64_t(op.getColumns());
  shape.depth = int64_t(op.getDepth());
  shape.width = int64_t(op.getWidth());
  std::array<Side, 3> sides;
  std::array<kernels::AttentionShape::Dimensions *, 3> strides = {
      &shape.queryStrides, &shape.keyStrides, &shape.valueStrides};
  size_t first = kernels::ProductBatch::kDimensions - batch;
  for (size_t i = 0; i < 3; ++i) {
    auto view = cast<tir::ViewAttr>(op.getViews()[i]);
    if (!view.getValid().empty())
      return Error{ErrorCode::Unsupported, "attention is of matrices as they lie"};
    for (size_t d = 0; d < batch; ++d)
      (*strides[i])[first + d] = view.getStrides()[d];
    sides[i] = {argumentOf(op->getOperand(i)), view.getOffset(), view.getStrides()[batch],
                view.getStrides()[batch + 1]};
  }
  for (size_t d = 0; d < batch; ++d) {
    shape.sizes[first + d] = op.getBatch()[d];
    shape.resultStrides[first + d] = op.getPlacing()[d];
  }
  Result<codegen::CompiledKernel> code = compileRows(op);
  if (!code)
    return code.error();
  std::vector<unsigned> extras;
  for (Value extra : op.getExtras())
    extras.push_back(argumentOf(extra));
  return KernelPointer(std::make_unique<AttentionKernel>(shape, sides, op.getPlacing()[batch],
                                                         std::move(*code), std::move(extras)));
}

} // namespace cupel::compiler
