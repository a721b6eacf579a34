// Executables on the golden reference's plan.

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/compiler/passes/RoundToTypes.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Grid.h"
#include "cupel/reference/Indexing.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/ShardsOf.h"
#include "cupel/compiler/Contexts.h"
#include "cupel/compiler/analysis/Cost.h"
#include "cupel/compiler/passes/DeviceProgram.h"
#include "cupel/compiler/Compile.h"
#include "cupel/compiler/analysis/Inspect.h"
#include "cupel/compiler/analysis/MemoryEstimate.h"
#include "cupel/compiler/ProgramText.h"
#include "cupel/compiler/analysis/Propagate.h"
#include "cupel/compiler/passes/RewriteCalls.h"
#include "cupel/compiler/Stages.h"
#include "cupel/compiler/partition/Partition.h"
#include "cupel/compiler/partition/PartitionCalls.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace cupel::compiler {

using namespace mlir;
using runtime::CostEstimate;
using runtime::Executable;
using runtime::ProcessTensors;
using runtime::ProgramInfo;
using runtime::ValueInfo;
using reference::GridProcess;
using tensor::Shards;
using tensor::Tensor;

namespace {

/// Below this a run takes less than handing it to another thread and back.
constexpr double kBriefWork = 1 << 16;
constexpr int64_t kBriefOperations = 64;
/// Below this it does not matter if every device does all of it.
constexpr double kSmallWork = 1 << 22;

/// How a program for several devices is run.
enum class View : uint8_t {
  Global,    // Once for each replica, on whole tensors.
  PerDevice, // By every device, on whole tensors and on pieces that it takes of them.
  Own,       // By every device, on what it is given.
};

/// Memory of an argument.
using Range = std::span<const std::byte>;

void addRange(const Tensor &tensor, std::vector<Range> &ranges) {
  if (tensor.size() && tensor.isContiguous())
    ranges.push_back({tensor.data(), static_cast<size_t>(tensor.byteSize())});
}

std::string hexHash(std::initializer_list<std::string_view> parts) {
  llvm::SHA256 hash;
  for (std::string_view part : parts) {
    uint64_t size = part.size();
    hash.update(ArrayRef(reinterpret_cast<const uint8_t *>(&size), sizeof size));
    hash.update(StringRef(part));
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string typesText(ArrayRef<tensor::DType> types) {
  return llvm::join(
      llvm::map_range(types, [](tensor::DType type) { return tensor::info(type).name; }), ",");
}

class ReferenceExecutable final : public Executable,
                                  public std::enable_shared_from_this<ReferenceExecutable> {
public:
  ~ReferenceExecutable() override {
    plan.reset();
    if (!context)
      return;
    std::lock_guard lock(context->use);
    module = nullptr;
  }

  const ProgramInfo &info() const override { return about; }

  Result<ProcessTensors> execute(ProcessTensors arguments,
                                  const std::atomic<bool> *stop) const override;

  std::string text() const override;

  std::string serialize() const override;

  static Result<std::shared_ptr<const Executable>> create(std::string_view program,
                                                           const CompileOptions &options);

private:
  /// What hosts are told of arguments and results, and so the view.
  Status describe(func::FuncOp entry, ProgramInfo &info);
  /// Makes the program that of one device, on the pieces which that holds, if it allows this.
  Result<bool> becomeDeviceProgram();
  /// Splits a program on whole tensors over its devices, where that is not more work.
  bool becomePartitioned();
  /// What a run takes of each device beside arguments and results.
  int64_t temporaryBytes(func::FuncOp entry) const;
  Status check(const ProcessTensors &arguments) const;
  /// Makes a result that may share memory with arguments or constants stand on its own.
  Result<Tensor> finish(Tensor tensor, std::span<const Range> arguments) const;
  reference::Value enter(Tensor tensor, size_t argument) const;
  Result<ProcessTensors> runAlone(std::vector<Tensor> arguments,
                                   const std::atomic<bool> *stop) const;
  Result<ProcessTensors> runGrid(ProcessTensors arguments, const std::atomic<bool> *stop) const;
  Result<std::vector<Tensor>> gather(const ProcessTensors &arguments, int64_t replica) const;
  Result<ProcessTensors> scatter(std::vector<std::vector<Tensor>> wholes,
                                  std::span<const Range> arguments) const;

  std::shared_ptr<SharedContext> context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<reference::Plan> plan;
  ProgramInfo about;
  CompileOptions options;
  std::string program;
  View view = View::Global;
  bool meets = false; // Devices wait for each other.
};

/// Whether anything in the program needs other devices at the same time.
bool hasMeetings(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        bool isMeeting = op->hasTrait<stablehlo::Collective>() ||
                         op->hasTrait<stablehlo::ActsOutside>() ||
                         isa<sdy::ManualComputationOp>(op);
        if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
          isMeeting = call.getHasSideEffect() ||
                      !call.getCallTargetName().starts_with("lapack_"); // Who knows.
        return isMeeting ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// An offered argument is given up only where a result of its size can take its memory; hosts go on
/// using the others.
void keepUselessDonors(ProgramInfo &about) {
  std::vector<bool> taken(about.results.size());
  for (const ValueInfo &argument : about.arguments)
    if (argument.aliasedResult >= 0 &&
        argument.aliasedResult < static_cast<int64_t>(about.results.size()))
      taken[argument.aliasedResult] = true;
  for (ValueInfo &argument : about.arguments) {
    if (!argument.isDonor || argument.aliasedResult >= 0 || argument.isToken ||
        argument.isDynamic())
      continue;
    argument.isDonor = false;
    for (size_t i = 0; i < about.results.size() && !argument.isDonor; ++i) {
      const ValueInfo &result = about.results[i];
      if (taken[i] || result.isToken || result.isDynamic() ||
          result.memoryKind != argument.memoryKind || result.shardBytes() != argument.shardBytes())
        continue;
      taken[i] = argument.isDonor = true;
    }
  }
}

Status ReferenceExecutable::describe(func::FuncOp entry, ProgramInfo &info) {
  ModuleOp whole = entry->getParentOfType<ModuleOp>();
  if (Status verdict = inspect(whole, entry, info); !verdict)
    return verdict;
  auto isSplit = [](const ValueInfo &value) { return value.hasShards; };
  if (!options.isGlobal && info.partitions > 1 && llvm::none_of(info.arguments, isSplit) &&
      llvm::none_of(info.results, isSplit))
    view = View::Own;
  else
    propagateShardings(whole, entry, options.propagateToResults, info);
  keepUselessDonors(info);
  return {};
}

Result<bool> ReferenceExecutable::becomeDeviceProgram() {
  auto entry = module->lookupSymbol<func::FuncOp>("main");
  auto manual = entry && options.isGlobal && about.replicas == 1 && about.partitions > 1 &&
                        view == View::Global
                    ? wholeComputation(entry)
                    : sdy::ManualComputationOp();
  if (!manual)
    return false;
  ProgramInfo info = about;
  if (Status verdict = describe(entry, info); !verdict)
    return verdict.error();
  if (!isHeldAsComputed(manual, *module, info))
    return false;
  about = std::move(info);
  compiler::becomeDeviceProgram(entry, manual);
  view = View::Own;
  return true;
}

/// About how long something takes, in operations on numbers.
static double workOf(const CostEstimate &cost) {
  return cost.flops + 16 * cost.transcendentals + cost.bytesAccessed / 4;
}

bool ReferenceExecutable::becomePartitioned() {
  auto entry = module->lookupSymbol<func::FuncOp>("main");
  if (!entry || !options.isGlobal || !options.splitsWork || about.replicas != 1 ||
      about.partitions < 2 || view != View::Global)
    return false;
  ProgramInfo info = about;
  if (Status verdict = describe(entry, info); !verdict)
    return false;
  auto isTiled = [](const ValueInfo &value) { return value.shards.kind == Shards::Kind::Tiled; };
  if (llvm::none_of(info.arguments, isTiled) && llvm::none_of(info.results, isTiled))
    return false; // One computes for all.
  OwningOpRef<ModuleOp> parted = partition(*module, info);
  if (!parted)
    return false;
  // What every device computes as a whole, it computes as often as there are devices.
  double whole = workOf(estimateCost(entry));
  double piece = workOf(estimateCost(parted->lookupSymbol<func::FuncOp>("main")));
  if (piece * static_cast<double>(about.partitions) > 2 * whole + kSmallWork)
    return false;
  Result<std::unique_ptr<reference::Plan>> planned = reference::Plan::create(*parted);
  if (!planned)
    return false;
  plan = std::move(*planned);
  module = std::move(parted);
  about = std::move(info);
  view = View::Own;
  return true;
}

int64_t ReferenceExecutable::temporaryBytes(func::FuncOp entry) const {
  bool isGathered = about.partitions > 1 && view != View::Own;
  auto isTiled = [](const ValueInfo &value) { return value.shards.kind == Shards::Kind::Tiled; };
  SmallVector<bool> mayReuse, isMade;
  for (const ValueInfo &argument : about.arguments) {
    mayReuse.push_back(argument.isDonor && !isGathered);
    isMade.push_back(isGathered && isTiled(argument));
  }
  MemoryEstimate memory = estimateMemory(entry, mayReuse, isMade);
  if (!isGathered)
    return memory.peakBytes - memory.resultBytes;
  // Whole results and the pieces that are cut of them are there at the same time.
  int64_t pieces = 0, wholes = 0;
  for (const ValueInfo &result : about.results)
    (isTiled(result) ? pieces : wholes) +=
        result.shardBytes() * (isTiled(result) ? about.partitions : 1);
  int64_t peak = std::max(memory.peakBytes, memory.resultBytes + pieces);
  int64_t all = std::max<int64_t>(peak - pieces - wholes, 0);
  return view == View::Global ? all / about.partitions : all;
}

Result<std::shared_ptr<const Executable>>
ReferenceExecutable::create(std::string_view program, const CompileOptions &options) {
  auto made = std::make_shared<ReferenceExecutable>();
  made->options = options;
  made->program = std::string(program);
  ProgramInfo &about = made->about;
  about.replicas = options.replicas;
  about.partitions = options.partitions;
  about.fingerprint =
      hexHash({program, std::to_string(options.replicas), std::to_string(options.partitions),
               options.wideAccumulation ? "wide" : "native", options.isGlobal ? "" : "own",
               options.scatterSkipsWindows ? "windows" : "", options.splitsWork ? "" : "whole",
               typesText(options.types)});

  ContextLease lease(static_cast<int64_t>(program.size()));
  made->context = lease.shared();
  std::string complaint;
  ScopedDiagnosticHandler handler(&*lease, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = reference::describeLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
  auto complain = [&](const char *otherwise) {
    return Error{complaint.empty() ? otherwise : complaint};
  };

  StageWriter stages(options.dumpFolder);
  std::unique_ptr<llvm::MemoryBuffer> bytes =
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(program), "program");
  if (stages.isOn() && portable::artifactVersion(bytes->getBuffer()))
    if (OwningOpRef<ModuleOp> raw = portable::readPortable(
            bytes->getMemBufferRef(), &*lease, {.allowPartial = false, .keepVhlo = true}))
      stages.write("vhlo", *raw);
  complaint.clear();
  ParserConfig config(&*lease);
  made->module = ir::readProgram(bytes->getMemBufferRef(), config);
  if (!made->module)
    return complain("the program cannot be read");
  ModuleOp module = *made->module;
  about.name = module.getSymName().value_or("program").str();
  stages.name(about.name);
  if (stages.isOn())
    stages.write("shlo", module);

  auto outside = [&](llvm::function_ref<void()> work) { lease.outside(work); };
  if (auto entry = module.lookupSymbol<func::FuncOp>("main")) {
    Result<bool> isSplit = partitionCalls(module, entry, options.partitions, outside);
    if (!isSplit)
      return isSplit.error();
    if (*isSplit) { // Who loads the executable later may not have those who split calls.
      made->program.clear();
      llvm::raw_string_ostream(made->program) << module;
      if (stages.isOn())
        stages.write("calls", module);
    }
  }
  rewriteCalls(module);
  bool hasChlo = false;
  module.walk([&](Operation *op) {
    hasChlo |= op->getName().getDialectNamespace() == "chlo";
    if (options.scatterSkipsWindows && isa<stablehlo::ScatterOp>(op))
      op->setAttr(reference::kWholeWindowsAttr, UnitAttr::get(op->getContext()));
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
      if (call.getCallTargetName().starts_with("SPMD"))
        made->view = View::PerDevice;
  });
  if (hasChlo) {
    if (failed(compiler::lowerChlo(module)))
      return complain("the program cannot be lowered");
    if (stages.isOn())
      stages.write("lowered", module);
  }
  if (auto entry = module.lookupSymbol<func::FuncOp>("main"))
    if (Status status = reportShardings(module, entry, outside); !status)
      return status.error();
  Result<bool> isDeviceProgram = made->becomeDeviceProgram();
  if (!isDeviceProgram)
    return isDeviceProgram.error();
  if (!options.types.empty()) {
    SmallVector<Type> types;
    for (tensor::DType type : options.types)
      types.push_back(parseType(tensor::info(type).name, &*lease));
    if (compiler::roundToTypes(module, types) && stages.isOn())
      stages.write("rounded", module);
  }
  if (!*isDeviceProgram && made->becomePartitioned()) {
    isDeviceProgram = true;
    module = *made->module;
    if (stages.isOn())
      stages.write("partitioned", module);
  }
  if (!made->plan) {
    Result<std::unique_ptr<reference::Plan>> plan = reference::Plan::create(module);
    if (!plan)
      return plan.error();
    made->plan = std::move(*plan);
  }

  made->meets = hasMeetings(module);
  func::FuncOp entry = made->plan->entry().op;
  if (!*isDeviceProgram)
    if (Status verdict = made->describe(entry, about); !verdict)
      return verdict.error();
  about.cost = estimateCost(entry);
  about.cost.temporaryBytes = made->temporaryBytes(entry);
  about.codeBytes = about.cost.operations * static_cast<int64_t>(sizeof(reference::Step));
  const CostEstimate &cost = about.cost;
  about.isBrief = about.processCount() == 1 && !cost.hasLoop &&
                  cost.operations <= kBriefOperations && workOf(cost) < kBriefWork;
  if (stages.isOn()) {
    if (Status status = stages.finish(); !status)
      return status.error().as(ErrorCode::InvalidArgument);
  }
  return std::shared_ptr<const Executable>(std::move(made));
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Status ReferenceExecutable::check(const ProcessTensors &arguments) const {
  if (static_cast<int64_t>(arguments.size()) != about.processCount())
    return Error{ErrorCode::InvalidArgument, "the program runs on " +
                                                 std::to_string(about.processCount()) +
                                                 " devices, and arguments for " +
                                                 std::to_string(arguments.size()) + " are given"};
  for (const std::vector<Tensor> &own : arguments) {
    if (own.size() != about.arguments.size())
      return Error{ErrorCode::InvalidArgument, "the program takes " +
                                                   std::to_string(about.arguments.size()) +
                                                   " arguments, not " + std::to_string(own.size())};
    for (size_t i = 0; i < own.size(); ++i) {
      const ValueInfo &expected = about.arguments[i];
      if (expected.isToken)
        continue;
      bool same = own[i].dtype() == expected.type.storage &&
                  own[i].rank() == static_cast<int64_t>(expected.shape.size());
      if (same && expected.shards.kind != Shards::Kind::Tiled) {
        for (int64_t d = 0; d < own[i].rank(); ++d)
          same &= expected.shape[d] < 0 || expected.shape[d] == own[i].dim(d);
      } else if (same) {
        same = std::ranges::equal(own[i].shape(), expected.shardShape());
      }
      if (!same)
        return Error{ErrorCode::InvalidArgument,
                     "argument " + std::to_string(i) + " is a " +
                         tensor::describe(own[i].elementType(), own[i].shape()) +
                         " where the program takes a " +
                         tensor::describe(expected.type, expected.shardShape())};
    }
  }
  return {};
}

Result<Tensor> ReferenceExecutable::finish(Tensor tensor, std::span<const Range> arguments) const {
  // Hosts count on results being memory of their own, not that of arguments.
  bool isArgument =
      tensor.size() && !tensor.mutableData() && std::ranges::any_of(arguments, [&](Range range) {
        return tensor.data() >= range.data() && tensor.data() < range.data() + range.size();
      });
  if (isArgument && tensor.isContiguous()) {
    Result<Tensor> copy =
        Tensor::uninitialized(tensor.elementType(), {tensor.shape().begin(), tensor.shape().end()});
    if (!copy)
      return copy.error().as(ErrorCode::OutOfMemory);
    std::memcpy(copy->mutableData(), tensor.data(), tensor.byteSize());
    tensor = std::move(*copy);
  } else if (!tensor.isContiguous()) {
    Result<Tensor> copy = tensor.contiguous();
    if (!copy)
      return copy.error().as(ErrorCode::OutOfMemory);
    tensor = std::move(*copy);
  }
  if (tensor.elementType().quantization)
    tensor = tensor.withElementType(tensor.dtype());
  if (tensor.mutableData() || tensor.size() == 0)
    return tensor;
  // Shared with an argument, another result or a constant of the program: all of these live on.
  struct Keep {
    Tensor tensor;
    std::shared_ptr<const void> executable;
  };
  auto keep = std::make_shared<Keep>(Keep{tensor, shared_from_this()});
  std::span<const std::byte> bytes(tensor.data(), tensor.byteSize());
  Result<Tensor> lasting =
      Tensor::borrow(tensor.elementType(), {tensor.shape().begin(), tensor.shape().end()}, bytes,
                     std::shared_ptr<const void>(keep, keep.get()));
  if (!lasting)
    return lasting.error().as(ErrorCode::Internal);
  return std::move(*lasting);
}

reference::Value ReferenceExecutable::enter(Tensor tensor, size_t argument) const {
  const ValueInfo &expected = about.arguments[argument];
  if (expected.isToken)
    return reference::Value::Token();
  if (expected.type.quantization)
    return tensor.withElementType(expected.type);
  return tensor;
}

/// What the first device that failed said.
static Error failureOf(reference::Run &run, const Status &status) {
  return run.failure().value_or(status.error());
}

static reference::RunOptions runOptionsFor(const CompileOptions &options,
                                           const std::atomic<bool> *stop) {
  reference::RunOptions run;
  run.stop = stop;
  run.accumulate =
      options.wideAccumulation ? reference::Accumulate::Wide : reference::Accumulate::Native;
  return run;
}

Result<ProcessTensors> ReferenceExecutable::runAlone(std::vector<Tensor> arguments,
                                                      const std::atomic<bool> *stop) const {
  std::vector<reference::Value> values, results;
  std::vector<Range> ranges;
  for (const Tensor &argument : arguments)
    addRange(argument, ranges);
  values.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    values.push_back(enter(std::move(arguments[i]), i));
  arguments.clear();
  reference::Run run(runOptionsFor(options, stop));
  reference::Grid grid(1, 1);
  GridProcess process{run, &grid};
  if (Status status = callFunction(process, plan->entry(), std::move(values), results); !status)
    return failureOf(run, status);
  std::vector<Tensor> wholes;
  wholes.reserve(results.size());
  for (reference::Value &value : results)
    wholes.push_back(value.isTensor() ? std::move(value.tensor()) : Tensor());
  results.clear();
  std::vector<std::vector<Tensor>> all;
  all.push_back(std::move(wholes));
  return scatter(std::move(all), ranges);
}

Result<std::vector<Tensor>> ReferenceExecutable::gather(const ProcessTensors &arguments,
                                                         int64_t replica) const {
  std::vector<Tensor> wholes;
  int64_t first = replica * about.partitions;
  for (size_t i = 0; i < about.arguments.size(); ++i) {
    const ValueInfo &value = about.arguments[i];
    std::vector<Tensor> pieces;
    for (int64_t partition = 0; partition < about.partitions; ++partition)
      pieces.push_back(arguments[first + partition][i]);
    if (value.isToken) {
      wholes.push_back(pieces[0]);
      continue;
    }
    Result<Tensor> whole = reference::assembleSum(value.shards, pieces, value.shape);
    if (!whole)
      return whole.error().within("argument " + std::to_string(i)).as(ErrorCode::Internal);
    wholes.push_back(std::move(*whole));
  }
  return wholes;
}

Result<ProcessTensors> ReferenceExecutable::scatter(std::vector<std::vector<Tensor>> wholes,
                                                     std::span<const Range> arguments) const {
  ProcessTensors results(about.processCount());
  if (about.partitions == 1 || view == View::Own) {
    for (size_t process = 0; process < wholes.size(); ++process)
      for (Tensor &whole : wholes[process]) {
        Result<Tensor> one = finish(std::move(whole), arguments);
        if (!one)
          return one.error();
        results[process].push_back(std::move(*one));
      }
    return results;
  }
  for (size_t replica = 0; replica < wholes.size(); ++replica)
    for (size_t i = 0; i < about.results.size(); ++i)
      for (int64_t partition = 0; partition < about.partitions; ++partition) {
        Tensor &whole = wholes[replica][i];
        std::vector<Tensor> &own = results[replica * about.partitions + partition];
        if (about.results[i].isToken) {
          own.push_back(Tensor());
          continue;
        }
        Result<Tensor> piece = about.results[i].shards.piece(whole, partition);
        if (!piece)
          return piece.error().within("result " + std::to_string(i)).as(ErrorCode::Internal);
        // One copy for all who hold the whole.
        if (partition == 0 && about.results[i].shards.kind != Shards::Kind::Tiled) {
          Result<Tensor> one = finish(std::move(*piece), arguments);
          if (!one)
            return one.error();
          whole = *one;
          own.push_back(std::move(*one));
          continue;
        }
        Result<Tensor> one = finish(std::move(*piece), arguments);
        if (!one)
          return one.error();
        own.push_back(std::move(*one));
      }
  return results;
}

Result<ProcessTensors> ReferenceExecutable::runGrid(ProcessTensors arguments,
                                                     const std::atomic<bool> *stop) const {
  bool perDevice = view != View::Global && about.partitions > 1;
  auto partitions = static_cast<uint32_t>(perDevice ? about.partitions : 1);
  reference::Grid grid(static_cast<uint32_t>(about.replicas), partitions);
  // What each replica starts from, or each device.
  bool isShared = perDevice && view != View::Own;
  std::vector<std::vector<Tensor>> starts;
  if (about.partitions == 1 || view == View::Own)
    starts = std::move(arguments);
  for (int64_t replica = static_cast<int64_t>(starts.size()); replica < about.replicas; ++replica) {
    Result<std::vector<Tensor>> wholes = gather(arguments, replica);
    if (!wholes)
      return wholes.error();
    starts.push_back(std::move(*wholes));
  }
  arguments.clear();
  std::vector<Range> ranges;
  for (const std::vector<Tensor> &own : starts)
    for (const Tensor &tensor : own)
      addRange(tensor, ranges);
  reference::Run run(runOptionsFor(options, stop));
  std::vector<std::vector<reference::Value>> outputs(grid.size());
  auto work = [&](GridProcess &process) -> Status {
    std::vector<Tensor> &own = starts[isShared ? process.replica : grid.id(process)];
    std::vector<reference::Value> values;
    for (size_t i = 0; i < own.size(); ++i)
      values.push_back(enter(isShared ? own[i] : std::move(own[i]), i));
    return callFunction(process, plan->entry(), std::move(values), outputs[grid.id(process)]);
  };
  if (view == View::Own && !meets) {
    // One device after the other, which is sooner done than threads are made.
    for (uint32_t process = 0; process < grid.size(); ++process) {
      GridProcess one{run, &grid, process / partitions, process % partitions};
      if (Status status = work(one); !status)
        return failureOf(run, status);
    }
  } else if (!grid.run(run, work)) {
    return failureOf(run, Error{"a device failed"});
  }
  std::vector<std::vector<Tensor>> wholes;
  for (size_t process = 0; process < outputs.size(); process += isShared ? partitions : 1) {
    std::vector<Tensor> &own = wholes.emplace_back();
    for (reference::Value &value : outputs[process])
      own.push_back(value.isTensor() ? std::move(value.tensor()) : Tensor());
  }
  outputs.clear();
  return scatter(std::move(wholes), ranges);
}

Result<ProcessTensors> ReferenceExecutable::execute(ProcessTensors arguments,
                                                     const std::atomic<bool> *stop) const {
  if (Status verdict = check(arguments); !verdict)
    return verdict.error();
  if (about.processCount() == 1)
    return runAlone(std::move(arguments[0]), stop);
  if (about.replicas == 1 && view == View::Global) {
    Result<std::vector<Tensor>> wholes = gather(arguments, 0);
    if (!wholes)
      return wholes.error();
    arguments.clear();
    return runAlone(std::move(*wholes), stop);
  }
  return runGrid(std::move(arguments), stop);
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

std::string ReferenceExecutable::text() const {
  std::lock_guard lock(context->use);
  return programText(const_cast<OwningOpRef<ModuleOp> &>(module)->clone());
}

constexpr std::string_view kMagic = "cupel executable 2\n";

std::string ReferenceExecutable::serialize() const {
  std::string bytes(kMagic);
  bytes += std::to_string(options.replicas) + " " + std::to_string(options.partitions) + " " +
           (options.wideAccumulation ? "wide" : "native") + (options.isGlobal ? "" : ",own") +
           (options.splitsWork ? "" : ",whole") +
           (options.scatterSkipsWindows ? ",windows " : " ") + typesText(options.types) + " ";
  for (bool allowed : options.propagateToResults)
    bytes += allowed ? '1' : '0';
  return bytes + "\n" + program;
}

} // namespace

Result<std::shared_ptr<const Executable>> compile(std::string_view program,
                                                   const CompileOptions &options) {
  if (options.replicas < 1 || options.partitions < 1 || options.replicas > 4096 ||
      options.partitions > 4096)
    return Error{ErrorCode::InvalidArgument,
                 "a program cannot be compiled for " + std::to_string(options.replicas) +
                     " replicas and " + std::to_string(options.partitions) + " partitions"};
  return ReferenceExecutable::create(program, options);
}

Result<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) {
  Error malformed{ErrorCode::InvalidArgument, "the bytes are no saved executable of this version"};
  if (!bytes.starts_with(kMagic))
    return malformed;
  bytes.remove_prefix(kMagic.size());
  size_t end = bytes.find('\n');
  if (end == std::string_view::npos)
    return malformed;
  StringRef head(bytes.data(), end);
  CompileOptions options;
  SmallVector<StringRef> words;
  head.split(words, ' ');
  if (words.size() != 5 || words[0].getAsInteger(10, options.replicas) ||
      words[1].getAsInteger(10, options.partitions))
    return malformed;
  StringRef mode = words[2];
  options.scatterSkipsWindows = mode.consume_back(",windows");
  options.splitsWork = !mode.consume_back(",whole");
  options.isGlobal = !mode.consume_back(",own");
  options.wideAccumulation = mode == "wide";
  SmallVector<StringRef> types;
  words[3].split(types, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : types) {
    std::optional<tensor::DType> type = tensor::parseDType(name);
    if (!type)
      return malformed;
    options.types.push_back(*type);
  }
  for (char c : words[4])
    options.propagateToResults.push_back(c == '1');
  return compile(bytes.substr(end + 1), options);
}

} // namespace cupel::compiler
