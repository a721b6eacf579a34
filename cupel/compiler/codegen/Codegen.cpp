#include "cupel/compiler/codegen/Codegen.h"

#include "cupel/compiler/codegen/Body.h"
#include "cupel/compiler/codegen/Jit.h"
#include "cupel/compiler/codegen/Plans.h"
#include "cupel/support/ContentCache.h"
#include "cupel/support/Sha256.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Verifier.h"

#include <chrono>
#include <mutex>

namespace cupel::codegen {
namespace {

/// Objects that were made before, by this process or another. Off where CUPEL_CODE_CACHE is 0.
ContentCache &codeCache() {
  static ContentCache cache = [] {
    uint64_t limit = cacheLimit("code");
    return ContentCache(limit ? cacheFolder("code") : "", limit);
  }();
  return cache;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Views against the loops: a wrong one is a mistake of the caller's, not something unsupported.
Status checkViews(ArrayRef<View> views, size_t dimensions, bool mayBePadded) {
  for (const View &view : views) {
    if (view.strides.size() != dimensions)
      return Error{"a view has " + std::to_string(view.strides.size()) + " strides for " +
                   std::to_string(dimensions) + " loops"};
    if (!view.valid.empty() && (!mayBePadded || view.valid.size() != dimensions))
      return Error{"a view has ranges where it may have none"};
    if (view.repeated != 1 && (view.repeated < kFewestRepeated || !view.valid.empty()))
      return Error{"a view repeats too few elements, or has ranges as well"};
  }
  return {};
}

Status checkSizes(ArrayRef<int64_t> sizes) {
  // Products stay far from overflow, also times the size of an element.
  double count = 1;
  for (int64_t size : sizes) {
    if (size < 0)
      return Error{"a loop has a negative size"};
    count *= static_cast<double>(std::max<int64_t>(1, size));
  }
  if (count > 0x1p56)
    return Error{ErrorCode::Unsupported, "no code is made for loops over 2^56 elements and more"};
  return {};
}

//===----------------------------------------------------------------------===//
// Texts that kernels go by
//===----------------------------------------------------------------------===//

/// Objects on disk are of one version: the hash of the sources of this folder.
constexpr std::string_view kCodeVersion =
#include "cupel/compiler/codegen/CodeVersion.inc"
    ;

std::string keyOf(const Target &target) {
  return std::string(kCodeVersion) + "|" + LLVM_VERSION_STRING + "|" + target.triple + "|" +
         target.cpu + "|" + target.features + "|" + std::to_string(target.lanes) + "|";
}
std::string keyOf(ArrayRef<int64_t> sizes) {
  std::string key = "[";
  for (int64_t size : sizes)
    key += std::to_string(size) + ",";
  return key + "]";
}
std::string keyOf(ArrayRef<View> views) {
  std::string key;
  for (const View &view : views) {
    key += std::string(tensor::info(view.type).name) + "+" + std::to_string(view.offset) +
           keyOf(view.strides) + (view.repeated > 1 ? "/" + std::to_string(view.repeated) : "");
    for (ValidRange range : view.valid)
      key += std::to_string(range.begin) + ":" + std::to_string(range.end) + ",";
    key += view.valid.empty() ? ";" : "=" + std::to_string(view.padding) + ";";
  }
  return key + "|";
}

std::string keyOf(const MapKernel &kernel) {
  return "map|" + keyOf(kernel.sizes) + keyOf(kernel.inputs) + keyOf(kernel.outputs) +
         describe(*kernel.body);
}
std::string keyOf(const RowKernel &kernel) {
  return (kernel.isReadSoon ? "rows read soon|" : "rows|") + keyOf(kernel.outer) +
         std::to_string(kernel.length) + "|" + keyOf(kernel.inputs) + keyOf(kernel.outputs) +
         describe(*kernel.body);
}
std::string keyOf(const Reduction &kernel) {
  std::string text = "reduction|" + keyOf(kernel.sizes);
  for (bool reduced : kernel.reduced)
    text += reduced ? "r" : "k";
  return text + std::to_string(static_cast<int>(kernel.combiner)) + "|" +
         std::to_string(kernel.initial) + "|" + keyOf(kernel.inputs) + keyOf(kernel.output) +
         describe(*kernel.body);
}
std::string keyOf(const LoopStep &step) {
  if (step.kind == LoopStep::Kind::Call)
    return "|call " + std::to_string(step.call);
  auto listed = [](const std::vector<int> &numbers) {
    return keyOf(SmallVector<int64_t>(numbers.begin(), numbers.end()));
  };
  std::string text = "|" + std::to_string(int(step.kind)) + listed(step.inputs) +
                     listed(step.outputs) + keyOf(step.inputViews) + keyOf(step.outputViews) +
                     std::to_string(step.points) + " " + std::string(tensor::info(step.type).name);
  for (const LoopIndex &index : step.indices)
    text += "@" + std::to_string(index.buffer) + "," + std::string(tensor::info(index.type).name) +
            "," + std::to_string(index.offset) + "," + std::to_string(index.last) + "," +
            std::to_string(index.step);
  if (step.body)
    text += describe(*step.body);
  std::visit(
      [&](const auto &kernel) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(kernel)>, std::monostate>)
          text += keyOf(kernel);
      },
      step.kernel);
  return text;
}

//===----------------------------------------------------------------------===//
// Code by its text
//===----------------------------------------------------------------------===//

/// Where assembly is wanted.
thread_local std::string *listing = nullptr;

/// What has been made and is kept: code of equal texts is the same code.
class Library {
public:
  static Library &get() {
    static Library library;
    return library;
  }

  Result<std::shared_ptr<const Code>> find(const std::string &key, const Target &target,
                                           llvm::function_ref<void(Emitter &)> emit) {
    if (listing) {
      Result<std::string> text = make(target, emit, compileAssembly);
      if (!text)
        return text.error();
      *listing += *text;
    }
    {
      std::lock_guard lock(mutex);
      if (auto found = codes.find(key); found != codes.end()) {
        ++counts.sharedInMemory;
        return found->second;
      }
    }
    auto begin = std::chrono::steady_clock::now();
    std::optional<ContentCache::Found> kept = codeCache().find(key);
    std::string object;
    if (kept) {
      object = kept->bytes();
    } else {
      Result<std::string> made = make(target, emit, compileObject);
      if (!made)
        return made.error();
      object = std::move(*made);
      codeCache().keep(key, {{object}});
    }
    auto code = Code::link(object);
    if (!code)
      return code;
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    std::lock_guard lock(mutex);
    ++(kept ? counts.loadedFromDisk : counts.compiled);
    counts.seconds += elapsed.count();
    if (codes.size() >= kMost)
      std::erase_if(codes, [](const auto &entry) { return entry.second.use_count() == 1; });
    // Another thread may have been faster; all take the first.
    return codes.try_emplace(key, *code).first->second;
  }

  CodegenStatistics statistics() {
    std::lock_guard lock(mutex);
    counts.damagedOnDisk = codeCache().damaged();
    return counts;
  }

private:
  static Result<std::string>
  make(const Target &target, llvm::function_ref<void(Emitter &)> emit,
       Result<std::string> (*compile)(llvm::Module &module, const Target &target)) {
    llvm::LLVMContext context;
    llvm::Module module("kernel", context);
    Emitter e(module, target);
    emit(e);
    std::string wrong;
    llvm::raw_string_ostream os(wrong);
    if (llvm::verifyModule(module, &os))
      return Error{"generated code is not valid: " + wrong};
    return compile(module, target);
  }

  static constexpr size_t kMost = 1024; ///< From here on, what nobody uses is dropped.
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Code>> codes;
  CodegenStatistics counts;
};

Result<CompiledKernel> make(KernelPlan plan, const std::string &text, const Target &target) {
  auto code = Library::get().find(sha256(keyOf(target) + text), target, plan.emit);
  if (!code)
    return code.error();
  CompiledKernel kernel{std::move(plan.stages), plan.scratchBytes, plan.workspaceBytes,
                        std::move(plan.inputOffsets), *code};
  for (size_t i = 0; i < kernel.stages.size(); ++i) {
    void *function = (*code)->function("stage" + std::to_string(i));
    if (!function)
      return Error{"generated code has no function for stage " + std::to_string(i)};
    kernel.stages[i].function = reinterpret_cast<KernelFunction>(function);
  }
  return kernel;
}

} // namespace

Status supports(const MapKernel &kernel) {
  if (Status status = checkSizes(kernel.sizes); !status)
    return status;
  if (Status status = checkViews(kernel.inputs, kernel.sizes.size(), true); !status)
    return status;
  if (Status status = checkViews(kernel.outputs, kernel.sizes.size(), false); !status)
    return status;
  if (kernel.outputs.empty())
    return Error{"a map has no output"};
  return checkMapBody(*kernel.body, kernel.inputs, kernel.outputs);
}

Result<CompiledKernel> compile(const MapKernel &kernel, const Target &target) {
  if (Status status = supports(kernel); !status)
    return status.error();
  if (std::optional<MapKernel> flat = flattened(kernel)) {
    std::vector<int64_t> offsets = takeOffsets(*flat);
    KernelPlan plan = planFlatMap(*flat);
    plan.inputOffsets = std::move(offsets);
    return make(std::move(plan), "flat map|" + keyOf(flat->inputs) + keyOf(flat->outputs) + describe(*flat->body), target);
  }
  return make(planMap(kernel, target), keyOf(kernel), target);
}

Status supports(const RowKernel &kernel) {
  if (Status status = checkSizes(kernel.outer); !status)
    return status;
  if (Status status = checkSizes(kernel.length); !status)
    return status;
  size_t dimensions = kernel.outer.size() + 1;
  if (Status status = checkViews(kernel.inputs, dimensions, true); !status)
    return status;
  if (Status status = checkViews(kernel.outputs, dimensions, false); !status)
    return status;
  return checkRowBody(*kernel.body, kernel.length, kernel.inputs, kernel.outputs);
}

Result<CompiledKernel> compile(const RowKernel &kernel, const Target &target) {
  if (Status status = supports(kernel); !status)
    return status.error();
  return make(planRows(kernel, target), keyOf(kernel), target);
}

Status supports(const Reduction &kernel) {
  if (Status status = checkSizes(kernel.sizes); !status)
    return status;
  if (kernel.reduced.size() != kernel.sizes.size())
    return Error{"a reduction does not say of each loop whether it is reduced"};
  if (Status status = checkViews(kernel.inputs, kernel.sizes.size(), true); !status)
    return status;
  if (Status status = checkViews(kernel.output, kernel.sizes.size(), false); !status)
    return status;
  for (size_t d = 0; d < kernel.sizes.size(); ++d)
    if (kernel.reduced[d] && kernel.output.strides[d] != 0)
      return Error{"the output of a reduction has a stride along what is reduced"};
  if (!isDefinedOn(kernel.combiner, kernel.output.type))
    return Error{ErrorCode::Unsupported, "no code is made for a bitwise reduction of " +
                                             std::string(tensor::info(kernel.output.type).name)};
  return checkMapBody(*kernel.body, kernel.inputs, kernel.output);
}

Result<CompiledKernel> compile(const Reduction &kernel, const Target &target) {
  if (Status status = supports(kernel); !status)
    return status.error();
  return make(planReduction(kernel, target), keyOf(kernel), target);
}

Status supports(const BlockMap &kernel) {
  if (Status status = checkViews(kernel.operands, 2, false); !status)
    return status;
  if (kernel.result)
    if (Status status = checkViews(*kernel.result, 2, false); !status)
      return status;
  View block;
  block.type = kernel.element;
  block.strides = {0, 1};
  std::vector<View> inputs{block};
  inputs.insert(inputs.end(), kernel.operands.begin(), kernel.operands.end());
  return checkMapBody(*kernel.body, inputs, kernel.result.value_or(block));
}

Result<CompiledBlockMap> compile(const BlockMap &kernel, const Target &target) {
  if (Status status = supports(kernel); !status)
    return status.error();
  std::string text = "block|" + keyOf(kernel.operands) + describe(*kernel.body);
  if (kernel.result)
    text += "|into|" + std::string(tensor::info(kernel.element).name) + keyOf(*kernel.result);
  auto code = Library::get().find(sha256(keyOf(target) + text), target,
                                  [&](Emitter &e) { emitBlockMap(e, kernel); });
  if (!code)
    return code.error();
  void *function = (*code)->function("block");
  if (!function)
    return Error{"generated code has no function for a block"};
  return CompiledBlockMap{reinterpret_cast<BlockFunction>(function), *code};
}

/// More than that is no step of a loop: threads may help, or the stack is too small.
constexpr double kMostStepElements = 65'536;
constexpr int64_t kMostStepScratch = int64_t{32} << 10;

Status supportsStep(const LoopStep &step, const Target &target) {
  using Kind = LoopStep::Kind;
  switch (step.kind) {
  case Kind::Call:
    return {};
  case Kind::Points: {
    if (step.inputs.size() != step.inputViews.size() || step.outputs.size() != step.outputViews.size())
      return Error{"a step of a loop needs a view for each buffer"};
    if (step.points > kMostPointVectors * target.lanes)
      return Error{ErrorCode::Unsupported, "the step has too many points"};
    if (!step.body) {
      LoopStep moved = step;
      moved.type = step.inputViews[0].type;
      return fitsRegisters(moved, target)
                 ? Status()
                 : Status(Error{ErrorCode::Unsupported, "such elements are not copied in a loop"});
    }
    return checkMapBody(*step.body, step.inputViews, step.outputViews);
  }
  case Kind::Kernel: {
    Status status = std::visit(
        [](const auto &kernel) -> Status {
          if constexpr (std::is_same_v<std::decay_t<decltype(kernel)>, std::monostate>)
            return Error{"a step of a loop has no kernel"};
          else
            return supports(kernel);
        },
        step.kernel);
    if (!status)
      return status;
    KernelPlan plan = planStep(step.kernel, target);
    double elements = 0;
    for (const Stage &stage : plan.stages)
      elements += double(stage.units) * double(stage.unitElements);
    if (plan.workspaceBytes > 0 || plan.scratchBytes > kMostStepScratch || elements > kMostStepElements)
      return Error{ErrorCode::Unsupported, "the kernel is too large for a step of a loop"};
    return {};
  }
  case Kind::AddIf:
    if (!fitsRegisters(step, target))
      return Error{ErrorCode::Unsupported, "such elements are not added in a loop"};
    return {};
  case Kind::Take:
  case Kind::Put:
  case Kind::PutIf:
    if (double(step.points) * tensor::info(step.type).bytes > kMostStepElements * 4)
      return Error{ErrorCode::Unsupported, "the piece is too large for a step of a loop"};
    return {};
  }
  llvm_unreachable("all kinds are above");
}

Status supports(const LoopKernel &kernel) {
  for (const LoopStep &step : kernel.steps)
    if (Status status = supportsStep(step); !status)
      return status;
  return {};
}

/// Functions that the instructions of whole vectors compute in another way (`hasScale`): a step in narrow ones would have other bits
/// than the same launch outside of the loop's code.
static bool needsWholeVectors(mlir::Block &block) {
  static constexpr llvm::StringLiteral kFunctions[] = {"erf", "exponential", "exponential_minus_one", "logistic", "power", "tanh"};
  BodyOps body(block);
  return llvm::any_of(body.operations(), [&](mlir::Operation *op) {
    return body.erfOf(op) || llvm::is_contained(kFunctions, op->getName().stripDialect());
  });
}

/// Vectors no wider than what a loop computes: a single sine takes as long as a whole vector of them. Every
/// lane's operations stay the same. Kernels keep theirs, whose sums depend on how many there are.
static Target narrowedFor(const LoopKernel &kernel, Target target) {
  constexpr int kFewest = 4;
  for (const LoopStep &step : kernel.steps)
    if (step.kind == LoopStep::Kind::Kernel || (step.kind == LoopStep::Kind::Points && step.points > kFewest) ||
        (step.body && target.hasScale && needsWholeVectors(*step.body)))
      return target;
  if (target.lanes > kFewest) {
    target.lanes = kFewest;
    target.hasScale = false; // It is one of whole vectors.
  }
  return target;
}

Result<CompiledLoop> compile(const LoopKernel &kernel, const Target &wholeTarget) {
  if (Status status = supports(kernel); !status)
    return status.error();
  Target target = narrowedFor(kernel, wholeTarget);
  std::string text = "loop|" + std::to_string(kernel.test) +
                     keyOf(SmallVector<int64_t>(kernel.temporaries.begin(), kernel.temporaries.end()));
  for (const auto *pairs : {&kernel.swaps, &kernel.inPlace})
    for (auto [a, b] : *pairs)
      text += (pairs == &kernel.swaps ? "," : ";") + std::to_string(a) + "/" + std::to_string(b);
  for (const LoopStep &step : kernel.steps)
    text += keyOf(step);
  auto code = Library::get().find(sha256(keyOf(target) + text), target,
                                  [&](Emitter &e) { emitLoop(e, kernel); });
  if (!code)
    return code.error();
  void *function = (*code)->function("loop");
  if (!function)
    return Error{"generated code has no function for a loop"};
  return CompiledLoop{reinterpret_cast<LoopFunction>(function), *code};
}

AssemblyListing::AssemblyListing(std::string &text) : before(std::exchange(listing, &text)) {}
AssemblyListing::~AssemblyListing() { listing = before; }

CodegenStatistics statistics() { return Library::get().statistics(); }

} // namespace cupel::codegen
