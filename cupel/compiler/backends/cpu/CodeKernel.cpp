// Kernels that are machine code of the program's own: maps, rows and reductions.

#include "cupel/compiler/backends/cpu/CodeKernel.h"

#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/reference/Registry.h"

#include <cstdlib>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// About how long one element takes in a loop of vectors; only the splitting of work depends on it.
constexpr double kNanosecondsPerElement = 0.4;
/// Units are handed to threads in parts of about this length.
constexpr double kPartNanoseconds = 30'000;

class CodeKernel final : public Kernel {
public:
  CodeKernel(codegen::CompiledKernel made, std::string_view kind, std::vector<int> numbers)
      : code(std::move(made)), word(kind), inputs(std::move(numbers)) {
    for (size_t i = 0; i < inputs.size(); ++i)
      isInOrder &= inputs[i] == int(i);
    for (const codegen::Stage &stage : code.stages) {
      double unit = std::max(double(stage.unitElements) * kNanosecondsPerElement, 1.0);
      auto perPart = std::max<int64_t>(1, int64_t(kPartNanoseconds / unit));
      parts.push_back({(stage.units + perPart - 1) / perPart, perPart, unit * double(perPart)});
    }
  }

  int64_t workspaceBytes() const override { return code.workspaceBytes; }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    llvm::SmallVector<const void *, 16> chosen;
    const void *const *in = reinterpret_cast<const void *const *>(reads.data());
    if (!isInOrder) {
      for (int input : inputs)
        chosen.push_back(reads[input]);
      in = chosen.data();
    }
    llvm::SmallVector<void *, 8> more;
    void *const *out = reinterpret_cast<void *const *>(writes.data());
    if (code.workspaceBytes > 0) {
      more.assign(writes.begin(), writes.end());
      more.push_back(context.workspace);
      out = more.data();
    }
    for (size_t i = 0; i < code.stages.size(); ++i) {
      const codegen::Stage &stage = code.stages[i];
      auto [count, perPart, nanoseconds] = parts[i];
      if (count == 1) {
        stage.function(in, out, 0, stage.units, threadScratch(code.scratchBytes));
        continue;
      }
      kernelPool().parallelFor(count, nanoseconds, [&, perPart = perPart](int64_t part) {
        void *scratch = threadScratch(code.scratchBytes);
        stage.function(in, out, part * perPart, std::min(stage.units, (part + 1) * perPart),
                       scratch);
      });
    }
    return {};
  }

  std::string_view kind() const override { return word; }

private:
  struct Parts {
    int64_t count, units; // Units in each.
    double nanoseconds;
  };

  codegen::CompiledKernel code;
  std::string_view word;
  std::vector<int> inputs; // Which of what is read each input is.
  bool isInOrder = true;
  std::vector<Parts> parts; // Of each stage.
};

/// Which argument of the launch each operand is.
std::vector<int> argumentsOf(ValueRange operands) {
  std::vector<int> numbers;
  for (Value operand : operands)
    numbers.push_back(int(cast<BlockArgument>(operand).getArgNumber()));
  return numbers;
}

tensor::DType typeOf(Value value) {
  return reference::elementTypeOf(cast<RankedTensorType>(value.getType()).getElementType())->storage;
}

template <typename Kernel>
Result<KernelPointer> made(const Kernel &kernel, std::string_view kind, ValueRange operands) {
  Result<codegen::CompiledKernel> code = codegen::compile(kernel);
  if (!code)
    return code.error();
  return KernelPointer(
      std::make_unique<CodeKernel>(std::move(*code), kind, argumentsOf(operands)));
}

Result<KernelPointer> make(tir::MapOp op) {
  codegen::MapKernel kernel;
  kernel.sizes.assign(op.getSizes().begin(), op.getSizes().end());
  kernel.body = &op.getBody().front();
  for (auto [input, view] : llvm::zip(op.getInputs(), op.getViews().getAsRange<tir::ViewAttr>()))
    kernel.inputs.push_back(codeView(view, typeOf(input)));
  for (Value result : op.getResults())
    kernel.outputs.push_back(codegen::View::contiguous(typeOf(result), kernel.sizes));
  return made(kernel, "map", op.getInputs());
}

Result<KernelPointer> make(tir::RowOp op) {
  codegen::RowKernel kernel;
  kernel.outer.assign(op.getSizes().begin(), op.getSizes().end());
  kernel.length = int64_t(op.getLength());
  kernel.body = &op.getBody().front();
  auto isRow = [](Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 1; };
  for (auto [input, view, argument] :
       llvm::zip(op.getInputs(), op.getViews().getAsRange<tir::ViewAttr>(),
                 op.getBody().getArguments())) {
    codegen::View one = codeView(view, typeOf(input));
    if (!isRow(argument)) {
      one.strides.push_back(0);
      if (!one.valid.empty())
        one.valid.push_back({0, kernel.length});
    }
    kernel.inputs.push_back(std::move(one));
  }
  std::vector<int64_t> full = kernel.outer;
  full.push_back(kernel.length);
  for (auto [result, value] :
       llvm::zip(op.getResults(), op.getBody().front().getTerminator()->getOperands())) {
    codegen::View one =
        codegen::View::contiguous(typeOf(result), isRow(value) ? full : kernel.outer);
    if (!isRow(value))
      one.strides.push_back(0);
    kernel.outputs.push_back(std::move(one));
  }
  return made(kernel, "row", op.getInputs());
}

Result<KernelPointer> make(tir::ReduceOp op) {
  codegen::Reduction kernel;
  kernel.sizes.assign(op.getSizes().begin(), op.getSizes().end());
  kernel.reduced.assign(kernel.sizes.size(), false);
  for (int64_t d : op.getReduced())
    kernel.reduced[d] = true;
  kernel.body = &op.getBody().front();
  for (auto [input, view] : llvm::zip(op.getInputs(), op.getViews().getAsRange<tir::ViewAttr>()))
    kernel.inputs.push_back(codeView(view, typeOf(input)));
  kernel.output.type = typeOf(op.getResult());
  kernel.output.strides.assign(kernel.sizes.size(), 0);
  int64_t stride = 1;
  for (size_t d = kernel.sizes.size(); d-- > 0;)
    if (!kernel.reduced[d]) {
      kernel.output.strides[d] = stride;
      stride *= kernel.sizes[d];
    }
  kernel.combiner = llvm::StringSwitch<codegen::Combiner>(op.getCombiner())
                        .Case("add", codegen::Combiner::Add)
                        .Case("multiply", codegen::Combiner::Multiply)
                        .Case("maximum", codegen::Combiner::Maximum)
                        .Case("minimum", codegen::Combiner::Minimum)
                        .Case("and", codegen::Combiner::And)
                        .Default(codegen::Combiner::Or);
  kernel.initial = storedBits(op.getInit());
  return made(kernel, "reduction", op.getInputs());
}

} // namespace

uint64_t storedBits(TypedAttr number) {
  if (auto real = dyn_cast<FloatAttr>(number))
    return real.getValue().bitcastToAPInt().getZExtValue();
  return cast<IntegerAttr>(number).getValue().getZExtValue();
}

codegen::View codeView(tir::ViewAttr view, tensor::DType type) {
  codegen::View result;
  result.type = type;
  result.offset = view.getOffset();
  result.strides.assign(view.getStrides().begin(), view.getStrides().end());
  for (size_t i = 0; i + 1 < view.getValid().size(); i += 2)
    result.valid.push_back({view.getValid()[i], view.getValid()[i + 1]});
  if (!view.getValid().empty())
    result.padding = storedBits(view.getPadding());
  return result;
}

Result<KernelPointer> codeKernel(Operation *op) {
  return llvm::TypeSwitch<Operation *, Result<KernelPointer>>(op)
      .Case<tir::MapOp, tir::RowOp, tir::ReduceOp>([](auto one) { return make(one); })
      .Default([](Operation *) -> Result<KernelPointer> {
        return Error{ErrorCode::Unsupported, "no code is made for this operation"};
      });
}

} // namespace cupel::compiler
