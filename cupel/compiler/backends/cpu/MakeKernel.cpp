#include "cupel/compiler/backends/cpu/MakeKernel.h"

#include "cupel/compiler/backends/cpu/AttentionKernel.h"
#include "cupel/compiler/backends/cpu/CodeKernel.h"
#include "cupel/compiler/backends/cpu/ControlKernel.h"
#include "cupel/compiler/backends/cpu/FftKernel.h"
#include "cupel/compiler/backends/cpu/IntegerKernel.h"
#include "cupel/compiler/backends/cpu/MoveKernel.h"
#include "cupel/compiler/backends/cpu/PickKernel.h"
#include "cupel/compiler/backends/cpu/ProductKernel.h"
#include "cupel/compiler/backends/cpu/ScanKernel.h"
#include "cupel/compiler/backends/cpu/ScatterKernel.h"
#include "cupel/compiler/backends/cpu/SortKernel.h"
#include "cupel/compiler/backends/cpu/WindowKernel.h"

#include <cstring>

namespace cupel::compiler {

using namespace mlir;

namespace {

class CopyKernel final : public Kernel {
public:
  explicit CopyKernel(std::vector<size_t> bytes) : bytes(std::move(bytes)) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    for (size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] != 0 && writes[i] != reads[i]) // A value that a loop carries unchanged.
        std::memcpy(writes[i], reads[i], bytes[i]);
    return {};
  }
  std::string_view kind() const override { return "copy"; }

private:
  std::vector<size_t> bytes;
};

} // namespace

Result<KernelPointer> makeKernel(dev::LaunchOp launch, mlir::ModuleOp functions,
                                 KernelChoice choice) {
  Block &body = launch.getBody().front();
  // Nothing, or a barrier that somebody wants to stay: what is read is handed on.
  auto handsOn = [&](Operation &op) { return isa<stablehlo::OptimizationBarrierOp>(op) && llvm::equal(op.getOperands(), body.getArguments()); };
  if (llvm::all_of(body.without_terminator(), handsOn)) {
    std::vector<size_t> bytes;
    for (Type type : body.getArgumentTypes())
      bytes.push_back(size_t(*dev::byteSizeOf(type)));
    return KernelPointer(std::make_unique<CopyKernel>(std::move(bytes)));
  }
  Operation *op = &dev::workOf(launch);
  if (isa<tir::OnReferenceOp>(op)) // Somebody asked for it.
    return referenceKernel(launch, functions);
  Result<KernelPointer> kernel = Error{ErrorCode::Unsupported, "there is no kernel for it"};
  if (isa<tir::MapOp, tir::RowOp, tir::ReduceOp>(op))
    kernel = codeKernel(op, choice);
  else if (isa<tir::ProductOp, tir::ConvolutionOp, tir::CorrelationOp, tir::PoolOp>(op))
    kernel = productKernel(launch, choice);
  else if (auto attention = dyn_cast<tir::AttentionOp>(op))
    kernel = attentionKernel(attention);
  else if (isa<tir::WhileOp, tir::CaseOp>(op))
    return controlKernel(op, functions, choice);
  else if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    kernel = scatterKernel(scatter);
  else if (auto fft = dyn_cast<stablehlo::FftOp>(op))
    kernel = fftKernel(fft);
  else if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op))
    kernel = integerKernel(launch);
  else if (auto sort = dyn_cast<stablehlo::SortOp>(op))
    kernel = sortKernel(sort);
  else if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    kernel = pickKernel(reduce);
  else if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
    kernel = scanKernel(launch);
    if (!kernel && kernel.error().code == ErrorCode::Unsupported)
      kernel = windowKernel(window);
  } else if (auto scattered = dyn_cast<stablehlo::SelectAndScatterOp>(op))
    kernel = selectAndScatterKernel(scattered);
  else
    kernel = moveKernel(op);
  // Anything else that goes wrong is no reason to compute it another way in silence.
  if (kernel || kernel.error().code != ErrorCode::Unsupported)
    return kernel;
  return referenceKernel(launch, functions);
}

} // namespace cupel::compiler
