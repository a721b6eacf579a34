// Kernels that are machine code of the program's own, or brief: maps, rows and reductions.

#include "cupel/compiler/backends/cpu/CodeKernel.h"

#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/backends/cpu/Trace.h"
#include "cupel/compiler/brief/Brief.h"
#include "cupel/reference/Registry.h"

#include <atomic>
#include <cstdlib>
#include <limits>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// About how long one element takes in a loop of vectors; only the splitting of work depends on it.
constexpr double kNanosecondsPerElement = 0.4;

class CodeKernel final : public Kernel {
public:
  CodeKernel(codegen::CompiledKernel made, std::string_view kind, std::vector<int> numbers)
      : code(std::move(made)), word(kind), inputs(std::move(numbers)) {
    for (size_t i = 0; i < inputs.size(); ++i)
      isInOrder &= inputs[i] == int(i) && code.inputOffsets.empty();
    for (const codegen::Stage &stage : code.stages) {
      double unit = std::max(double(stage.unitElements) * kNanosecondsPerElement, 1.0);
      int64_t perPart = kernelPool().unitsPerPart(stage.units, unit);
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
      for (size_t i = 0; i < code.inputOffsets.size(); ++i)
        chosen[i] = static_cast<const std::byte *>(chosen[i]) + code.inputOffsets[i];
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

  void record(Trace &trace, std::span<const int> reads, std::span<const int> writes) const override {
    for (const Parts &one : parts)
      if (one.count != 1 || !code.inputOffsets.empty()) // Shared by threads, or not with the addresses of buffers.
        return trace.call(*this, reads, writes);
    std::vector<int> in, out(writes.begin(), writes.end());
    for (int input : inputs)
      in.push_back(reads[size_t(input)]);
    if (code.workspaceBytes > 0)
      out.push_back(Trace::kWorkspace);
    for (const codegen::Stage &stage : code.stages)
      trace.code(stage.function, stage.units, code.scratchBytes, in, out);
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
  bool isInOrder = true; // All of them as they are.
  std::vector<Parts> parts; // Of each stage.
};

using MakeCode = std::function<Result<KernelPointer>()>;

class BriefKernel final : public Kernel {
public:
  /// `makeCode`, if there is one, gives a kernel of the same bits.
  BriefKernel(std::unique_ptr<const brief::Work> given, std::string_view kind,
              std::vector<int> numbers, MakeCode makeCode, std::mutex *contextUse,
              std::atomic<uint64_t> *changes)
      : work(std::move(given)), word(kind), inputs(std::move(numbers)),
        makeCode(std::move(makeCode)), contextUse(contextUse), changes(changes),
        patience(this->makeCode ? int64_t(kPatienceNanoseconds / work->nanoseconds) : kForEver) {}

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    if (const Kernel *now = code.load(std::memory_order_acquire))
      return now->run(context, reads, writes);
    llvm::SmallVector<const void *, 16> in;
    for (int input : inputs)
      in.push_back(reads[input]);
    work->run(in.data(), reinterpret_cast<void *const *>(writes.data()),
              threadScratch(work->scratchBytes));
    if (makeCode && patience.fetch_sub(1, std::memory_order_relaxed) <= 0)
      becomeCode();
    return {};
  }

  void record(Trace &trace, std::span<const int> reads, std::span<const int> writes) const override {
    if (const Kernel *now = code.load(std::memory_order_acquire))
      return now->record(trace, reads, writes);
    if (makeCode) // Its runs are counted.
      return trace.call(*this, reads, writes);
    std::vector<int> in;
    for (int input : inputs)
      in.push_back(reads[size_t(input)]);
    trace.steps(*work, in, writes);
  }

  bool isBrief() const override { return true; }
  std::string_view kind() const override { return word; }

private:
  static constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

  /// Who cannot have the context at once goes on without: the next run asks again.
  void becomeCode() const {
    std::unique_lock own(mutex, std::try_to_lock);
    std::unique_lock<std::mutex> use;
    if (contextUse)
      use = std::unique_lock(*contextUse, std::try_to_lock);
    if (!own || (contextUse && !use) || code.load())
      return;
    Result<KernelPointer> made = makeCode();
    patience = kForEver; // If it cannot be made now it never can.
    if (!made || (*made)->workspaceBytes() > 0) // The frame has no room for more.
      return;
    owned = std::move(*made);
    code.store(owned.get(), std::memory_order_release);
    if (changes)
      changes->fetch_add(1, std::memory_order_acq_rel);
  }

  std::unique_ptr<const brief::Work> work;
  std::string_view word;
  std::vector<int> inputs; // Which of what is read each input is.
  MakeCode makeCode;
  std::mutex *contextUse;
  std::atomic<uint64_t> *changes; // Those of the program.
  mutable std::atomic<int64_t> patience; // Runs.
  mutable std::mutex mutex;
  mutable KernelPointer owned;
  mutable std::atomic<const Kernel *> code = nullptr;
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

Result<KernelPointer> make(tir::MapOp op, KernelChoice choice);

/// Of bodies with the same operations and numbers.
size_t bodyHash(Block &body) {
  llvm::hash_code all = llvm::hash_value(body.getNumArguments());
  for (Operation &op : body)
    all = llvm::hash_combine(all, op.getName().getAsOpaquePointer(), op.getAttrDictionary().getAsOpaquePointer());
  return all;
}

/// What kernels have in common that become the same code: small maps but for where they read and how long they are.
size_t likenessOf(const codegen::MapKernel &kernel) { return bodyHash(*kernel.body); }
size_t likenessOf(const codegen::RowKernel &kernel) {
  return llvm::hash_combine(bodyHash(*kernel.body), kernel.length, llvm::hash_combine_range(kernel.outer.begin(), kernel.outer.end()));
}
size_t likenessOf(const codegen::Reduction &kernel) {
  return llvm::hash_combine(bodyHash(*kernel.body), llvm::hash_combine_range(kernel.sizes.begin(), kernel.sizes.end()));
}

/// Whether code for this kernel alone would be one more piece behind many.
template <typename Described> bool isOneOfMany(const Described &kernel, const BriefBudget &budget) {
  if constexpr (std::is_same_v<Described, codegen::MapKernel>)
    return false; // Small ones share code.
  else
    return budget.ownCode.size() >= kMostOwnCode && !budget.ownCode.contains(likenessOf(kernel));
}

/// A kernel without code, if that is worth it.
template <typename Described>
KernelPointer madeBrief(const Described &kernel, std::string_view kind, Operation *op,
                        KernelChoice choice) {
  if (!choice.budget)
    return nullptr;
  MakeCode makeCode;
  double *budget = &choice.budget->forEver, limit = std::min(kBriefNanoseconds, *budget);
  if constexpr (std::is_same_v<Described, codegen::MapKernel>)
    if (brief::isExact(*kernel.body)) {
      makeCode = [op] { return make(cast<tir::MapOp>(op), {}); };
      limit = *(budget = &choice.budget->untilItPays);
    }
  if (choice.isRepeated && !makeCode)
    return nullptr;
  const bool isFree = !makeCode && isOneOfMany(kernel, *choice.budget);
  auto work = brief::prepare(kernel, isFree ? kOneOfManyNanoseconds : limit);
  if (!work)
    return nullptr;
  if (!makeCode && !isFree) {
    double &alike = choice.budget->alike[likenessOf(kernel)];
    if (alike > 0 && alike + (*work)->nanoseconds > kAlikeNanoseconds)
      return nullptr;
    alike += (*work)->nanoseconds;
  }
  if (!isFree)
    *budget -= (*work)->nanoseconds;
  return std::make_unique<BriefKernel>(std::move(*work), kind, argumentsOf(op->getOperands()),
                                       std::move(makeCode), choice.context, choice.changes);
}

template <typename Described>
Result<KernelPointer> made(const Described &kernel, std::string_view kind, Operation *op,
                           KernelChoice choice) {
  if (KernelPointer without = madeBrief(kernel, kind, op, choice))
    return without;
  if constexpr (!std::is_same_v<Described, codegen::MapKernel>)
    if (choice.budget)
      choice.budget->ownCode.insert(likenessOf(kernel));
  Result<codegen::CompiledKernel> code = codegen::compile(kernel);
  if (!code)
    return code.error();
  return KernelPointer(
      std::make_unique<CodeKernel>(std::move(*code), kind, argumentsOf(op->getOperands())));
}

Result<KernelPointer> make(tir::MapOp op, KernelChoice choice) {
  return made(mapKernelOf(op), "map", op, choice);
}
Result<KernelPointer> make(tir::RowOp op, KernelChoice choice) {
  return made(rowKernelOf(op), "row", op, choice);
}
Result<KernelPointer> make(tir::ReduceOp op, KernelChoice choice) {
  return made(reductionOf(op), "reduction", op, choice);
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

codegen::MapKernel mapKernelOf(tir::MapOp op) {
  codegen::MapKernel kernel;
  kernel.sizes.assign(op.getSizes().begin(), op.getSizes().end());
  kernel.body = &op.getBody().front();
  for (auto [input, view] : llvm::zip(op.getInputs(), op.getViews().getAsRange<tir::ViewAttr>()))
    kernel.inputs.push_back(codeView(view, typeOf(input)));
  for (Value result : op.getResults())
    kernel.outputs.push_back(codegen::View::contiguous(typeOf(result), kernel.sizes));
  return kernel;
}

codegen::RowKernel rowKernelOf(tir::RowOp op) {
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
    } else if (std::optional<uint64_t> piece = op.getPiece()) {
      int64_t within = one.strides.back();
      one.strides.pop_back();
      if (one.strides.back() == within * int64_t(*piece))
        one.strides.back() = within;
      else
        one.repeated = int64_t(*piece);
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
  return kernel;
}

codegen::Reduction reductionOf(tir::ReduceOp op) {
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
  return kernel;
}

Result<KernelPointer> codeKernel(Operation *op, KernelChoice choice) {
  return llvm::TypeSwitch<Operation *, Result<KernelPointer>>(op)
      .Case<tir::MapOp, tir::RowOp, tir::ReduceOp>([&](auto one) { return make(one, choice); })
      .Default([](Operation *) -> Result<KernelPointer> {
        return Error{ErrorCode::Unsupported, "no code is made for this operation"};
      });
}

} // namespace cupel::compiler
