#include "cupel/testbench/worker/DeviceProgram.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/compiler/passes/ExtractChecks.h"
#include "cupel/compiler/passes/HoistConstants.h"
#include "cupel/ir/portable/Portable.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/ShardsOf.h"
#include "cupel/workload/Judge.h"

#include <algorithm>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Diagnostics.h>

namespace cupel::testbench::worker {

using namespace mlir;

workload::ProgramVersion newestVersion() {
  constexpr vhlo::Version kVersion = vhlo::kCurrentVersion;
  return {kVersion.major, kVersion.minor, kVersion.patch};
}

static vhlo::Version toVhlo(const workload::ProgramVersion &version) {
  return {static_cast<uint32_t>(version[0]), static_cast<uint32_t>(version[1]),
          static_cast<uint32_t>(version[2])};
}

/// Devices know the stored integers of quantized types alone.
static Result<tensor::Tensor> storedTensor(ElementsAttr value) {
  Result<tensor::Tensor> tensor = reference::constantTensor(value, value.getType());
  if (tensor && tensor->elementType().quantization)
    return tensor->withElementType(tensor->dtype());
  return tensor;
}

static Result<DeviceProgram> describeChecks(const compiler::ExtractedChecks &extracted) {
  using Kind = compiler::ExtractedCheck::Kind;
  DeviceProgram result;
  result.ownResults = extracted.ownResults;
  for (const compiler::ExtractedCheck &check : extracted.checks) {
    workload::Check out;
    out.kind = check.kind == Kind::Equal         ? workload::Check::Kind::Equal
               : check.kind == Kind::AlmostEqual ? workload::Check::Kind::AlmostEqual
                                                 : workload::Check::Kind::Close;
    out.actual = check.actual;
    out.tolerance = check.tolerance;
    out.minUlps = check.minUlps;
    out.maxUlps = check.maxUlps;
    out.location = reference::describeLocation(check.location);
    out.device = check.process;
    if (check.expected) {
      out.expected = *check.expected;
    } else {
      Result<tensor::Tensor> value = storedTensor(check.value);
      if (!value)
        return value.error().within(out.location).as(ErrorCode::Unsupported);
      out.isConstant = true;
      out.expected = static_cast<uint32_t>(result.workload.constants.size());
      result.workload.constants.push_back(std::move(*value));
    }
    result.workload.checks.push_back(std::move(out));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Values of which every device holds a piece
//===----------------------------------------------------------------------===//

/// By argument or result of the entry; empty where none of them says that it is split.
static Result<std::vector<std::optional<tensor::Shards>>>
shardsOfValues(func::FuncOp entry, bool isOfResults, int64_t devices) {
  std::vector<std::optional<tensor::Shards>> all;
  bool isAny = false;
  auto module = entry->getParentOfType<ModuleOp>();
  const unsigned count = isOfResults ? entry.getNumResults() : entry.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    std::optional<tensor::Shards> &own = all.emplace_back();
    Attribute said = isOfResults ? entry.getResultAttr(i, "sdy.sharding")
                                 : entry.getArgAttr(i, "sdy.sharding");
    auto sharding = dyn_cast_if_present<sdy::TensorShardingAttr>(said);
    sdy::MeshAttr mesh = sharding ? reference::meshOf(sharding, module) : sdy::MeshAttr();
    if (!mesh)
      continue;
    Result<int64_t> total = reference::deviceCount(mesh);
    if (!total || *total != devices)
      continue;
    Result<tensor::Shards> shards = reference::shardsOf(sharding, mesh);
    if (!shards)
      return shards.error();
    if (shards->kind != tensor::Shards::Kind::Tiled)
      continue;
    own = std::move(*shards);
    isAny = true;
  }
  if (!isAny)
    all.clear();
  return all;
}

/// What a device holds of values that are given whole.
static Result<std::vector<tensor::Tensor>>
piecesOn(size_t device, std::vector<tensor::Tensor> values,
         const std::vector<std::optional<tensor::Shards>> &shards) {
  for (size_t i = 0; i < std::min(values.size(), shards.size()); ++i) {
    if (!shards[i])
      continue;
    Result<tensor::Tensor> piece = shards[i]->piece(values[i], int64_t(device));
    if (piece)
      piece = piece->contiguous();
    if (!piece)
      return piece.error();
    values[i] = std::move(*piece);
  }
  return values;
}

Result<std::vector<std::vector<tensor::Tensor>>>
DeviceProgram::argumentsFor(const std::vector<std::vector<tensor::Tensor>> &all) const {
  std::vector<std::vector<tensor::Tensor>> given = all;
  if (spread && !all.empty()) {
    Result<TensorLists> pieces =
        scattered(all.front(), spread->arguments, uint32_t(workload.options.partitions));
    if (!pieces)
      return pieces.error();
    given = std::move(*pieces);
  } else if (!argumentShards.empty() && all.size() == 1) {
    given.resize(workload.options.deviceCount());
    for (size_t d = 0; d < given.size(); ++d) {
      Result<std::vector<tensor::Tensor>> own = piecesOn(d, all.front(), argumentShards);
      if (!own)
        return own.error();
      given[d] = std::move(*own);
    }
  }
  std::vector<std::vector<tensor::Tensor>> lists(std::max(given.size(), workload.inputs.size()));
  auto append = [](std::vector<tensor::Tensor> &list, const auto &all, size_t device) {
    if (all.empty())
      return;
    const std::vector<tensor::Tensor> &own = all[all.size() > 1 ? device : 0];
    list.insert(list.end(), own.begin(), own.end());
  };
  for (size_t d = 0; d < lists.size(); ++d) {
    append(lists[d], given, d);
    append(lists[d], workload.inputs, d);
  }
  return lists;
}

Result<std::vector<tensor::Tensor>>
DeviceProgram::resultsFrom(const std::vector<std::vector<tensor::Tensor>> &outputs,
                           const std::vector<ValueType> &types) const {
  if (spread) {
    std::vector<ValueType> own(types.begin(), types.begin() + ptrdiff_t(ownResults));
    for (const std::vector<tensor::Tensor> &list : outputs)
      for (size_t i = 0; i < std::min<size_t>(list.size(), ownResults); ++i)
        if (list[i].dtype() != own[i].element.storage)
          return Error{"result " + std::to_string(i) + " is a " +
                       tensor::describe(list[i].elementType(), list[i].shape()) +
                       ", the program promises " + tensor::describe(own[i].element, own[i].shape)};
    return assembled(outputs, spread->results, own);
  }
  std::vector<tensor::Tensor> own;
  auto take = [&](const tensor::Tensor &value, size_t i) -> Status {
    if (i >= types.size() || !types[i].isTensor) {
      own.push_back(value);
      return {};
    }
    const ValueType &type = types[i];
    bool fits = value.dtype() == type.element.storage &&
                value.shape().size() == type.shape.size() &&
                std::ranges::equal(value.shape(), type.shape, [](int64_t is, int64_t said) {
                  return said == kDynamicSize || is == said;
                });
    if (!fits)
      return Error{"result " + std::to_string(i) + " is a " +
                   tensor::describe(value.elementType(), value.shape()) +
                   ", the program promises a " + tensor::describe(type.element, type.shape)};
    own.push_back(type.element.quantization ? value.withElementType(type.element) : value);
    return {};
  };
  for (const std::vector<tensor::Tensor> &list : outputs)
    if (list.size() < ownResults)
      return Error{"the device gave " + std::to_string(list.size()) + " results, the program has " +
                   std::to_string(ownResults)};
  if (gridResults) {
    for (auto [i, place] : llvm::enumerate(*gridResults)) {
      if (place.device >= outputs.size())
        return Error{"there are no results of device " + std::to_string(place.device)};
      if (Status taken = take(outputs[place.device][place.index], i); !taken)
        return taken.error();
    }
    return own;
  }
  // Every device is said to have the whole, with its own copy of what it holds: one that differs is seen.
  for (size_t d = 0; d < outputs.size(); ++d)
    for (size_t i = 0; i < ownResults; ++i) {
      const bool isPiece = i < resultShards.size() && resultShards[i] && i < types.size() &&
                           !std::ranges::equal(outputs[d][i].shape(), types[i].shape);
      tensor::Tensor value = outputs[d][i];
      if (isPiece) {
        std::vector<tensor::Tensor> pieces;
        for (const std::vector<tensor::Tensor> &list : outputs)
          pieces.push_back(list[i]);
        Result<tensor::Tensor> whole = reference::assembleSum(
            *resultShards[i], withCopyOf(d, std::move(pieces), *resultShards[i]), types[i].shape);
        if (!whole)
          return whole.error().within("result " + std::to_string(i));
        value = std::move(*whole);
      }
      if (Status taken = take(value, i); !taken)
        return taken.error();
    }
  return own;
}

/// Which results are expected of which device, out of a list of all.
static Result<std::vector<std::vector<tensor::Tensor>>>
splitByDevice(const std::vector<tensor::Tensor> &all, size_t devices,
              const std::optional<std::vector<DeviceProgram::GridResult>> &grid,
              const std::vector<std::optional<tensor::Shards>> &shards) {
  std::vector<std::vector<tensor::Tensor>> lists(devices);
  if (!grid) {
    if (all.size() % devices)
      return Error{ErrorCode::Unsupported, std::to_string(all.size()) +
                                               " results are expected of " +
                                               std::to_string(devices) + " devices"};
    for (size_t i = 0; i < all.size(); ++i)
      lists[i / (all.size() / devices)].push_back(all[i]);
    for (size_t d = 0; d < devices && !shards.empty(); ++d) {
      Result<std::vector<tensor::Tensor>> own = piecesOn(d, std::move(lists[d]), shards);
      if (!own)
        return own.error();
      lists[d] = std::move(*own);
    }
    return lists;
  }
  for (auto [i, place] : llvm::enumerate(*grid)) {
    if (i >= all.size() || place.device >= devices || place.index != lists[place.device].size())
      return Error{ErrorCode::Unsupported,
                   "the results are not the first ones of each device, in order"};
    lists[place.device].push_back(all[i]);
  }
  if (std::ranges::any_of(lists, [](const auto &list) { return list.empty(); }))
    return Error{ErrorCode::Unsupported, "results of some devices alone are expected"};
  return lists;
}

Result<workload::Workload> DeviceProgram::complete(const workload::Workload &given) const {
  workload::Workload whole = given;
  whole.programs = workload.programs;
  whole.options = workload.options;
  Result<TensorLists> arguments = argumentsFor(given.inputs);
  if (!arguments)
    return arguments.error();
  whole.inputs = std::move(*arguments);
  whole.checks = workload.checks;
  whole.constants = workload.constants;
  if (given.expected.empty())
    return whole;
  bool isAlike = std::ranges::adjacent_find(given.tolerances, std::not_equal_to<>()) ==
                 given.tolerances.end();
  if (gridResults && !isAlike)
    return Error{ErrorCode::Unsupported, "results of a grid have tolerances of their own"};
  auto byDevice = [&](const std::vector<tensor::Tensor> &all) {
    const size_t devices = workload.options.deviceCount();
    return spread ? scattered(all, spread->results, uint32_t(devices))
                  : splitByDevice(all, devices, gridResults, resultShards);
  };
  auto lists = byDevice(given.expected.front());
  if (!lists)
    return lists.error();
  whole.expected = std::move(*lists);
  auto split = [&](std::vector<std::vector<tensor::Tensor>> &results) {
    results.front().resize(std::min(results.front().size(), given.expected.front().size()));
    auto own = byDevice(results.front());
    if (own)
      results = std::move(*own);
    return own.operator bool();
  };
  // Noise that does not lie like the results says nothing of them.
  bool fits = whole.noiseCenter.empty() || split(whole.noiseCenter);
  for (auto &sample : whole.noise)
    fits = fits && !sample.empty() && split(sample);
  if (!fits) {
    whole.noise.clear();
    whole.noiseCenter.clear();
  }
  if (isAlike && !whole.tolerances.empty())
    whole.tolerances.resize(1);
  // What checks compare stands behind the results.
  whole.expectsFirst |= !whole.checks.empty() || gridResults.has_value();
  return whole;
}

void removeMarks(ModuleOp module) {
  module->removeDiscardableAttr(compiler::kKeepsCompositesAttr);
  module->walk([](Operation *op) {
    op->removeDiscardableAttr(kStaysConstant);
    op->removeDiscardableAttr(compiler::kLiesAttr);
    if (auto function = dyn_cast<func::FuncOp>(op))
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, compiler::kLiesAttr);
  });
}

Result<DeviceProgram> prepareForDevice(const Program &program,
                                       const std::vector<workload::ProgramVersion> &versions) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(program.module).clone();
  std::string complaint;
  ScopedDiagnosticHandler handler(module->getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = reference::describeLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
  FailureOr<compiler::ExtractedChecks> extracted = compiler::extractChecks(*module);
  if (failed(extracted))
    return Error{ErrorCode::Unsupported, complaint};
  Result<DeviceProgram> result = describeChecks(*extracted);
  if (!result)
    return result;

  workload::CompileOptions &options = result->workload.options;
  options.replicas = program.replicas;
  options.partitions = program.partitions;
  // Where it speaks of no pieces, every device runs it as it is.
  options.useSpmd = program.partitions > 1 && speaksOfPieces(*module);
  options.flags = program.flags;
  if (program.spreadOver > 1) {
    Result<Spread> spread = spreadOf(*module, program.spreadOver);
    if (!spread)
      return spread.error();
    options.partitions = program.spreadOver;
    options.useSpmd = true;
    options.useShardy = !module->getOps<sdy::MeshOp>().empty();
    result->spread = std::move(*spread);
  }
  std::vector<std::vector<ElementsAttr>> values(1);
  if (extracted->grid) {
    compiler::ExtractedGrid &grid = *extracted->grid;
    options.replicas = grid.replicas;
    options.partitions = grid.partitions;
    options.useSpmd = false; // Every device runs the program as it is.
    values = std::move(grid.inputs);
    auto &places = result->gridResults.emplace();
    for (const compiler::ExtractedGrid::Result &place : grid.results)
      places.push_back({place.process, place.index});
  }
  if (options.useSpmd && options.replicas == 1 && !result->spread) {
    func::FuncOp entry = compiler::entryOf(*module);
    auto arguments = shardsOfValues(entry, /*isOfResults=*/false, options.partitions);
    auto results = shardsOfValues(entry, /*isOfResults=*/true, options.partitions);
    if (!arguments || !results)
      return Error{ErrorCode::Unsupported, (arguments ? results.error() : arguments.error()).message};
    result->argumentShards = std::move(*arguments);
    result->resultShards = std::move(*results);
  }
  std::vector<ElementsAttr> hoisted = compiler::hoistConstants(*module);
  removeMarks(*module);
  for (std::vector<ElementsAttr> &list : values) {
    list.insert(list.end(), hoisted.begin(), hoisted.end());
    std::vector<tensor::Tensor> &inputs = result->workload.inputs.emplace_back();
    for (ElementsAttr value : list) {
      Result<tensor::Tensor> input = storedTensor(value);
      if (!input)
        return input.error().as(ErrorCode::Unsupported);
      inputs.push_back(std::move(*input));
    }
  }

  std::vector<workload::ProgramVersion> targets = versions;
  if (targets.empty())
    targets.push_back(newestVersion());
  for (const workload::ProgramVersion &target : targets) {
    std::string bytes;
    llvm::raw_string_ostream out(bytes);
    complaint.clear();
    if (succeeded(portable::writePortable(*module, toVhlo(target), out)))
      result->workload.programs.push_back({target, std::move(bytes)});
  }
  if (result->workload.programs.empty())
    return Error{ErrorCode::Unsupported, "cannot be written for StableHLO " +
                                             workload::toString(targets.back()) + ": " +
                                             complaint};
  return result;
}

std::vector<workload::ProgramVersion>
versionsFor(const std::optional<workload::ProgramVersion> &theirs) {
  if (!theirs)
    return {{1, 0, 0}, newestVersion()};
  return {std::min(*theirs, newestVersion())};
}

namespace {

class PluginExecutable : public Executable {
public:
  PluginExecutable(DeviceProgram program, std::vector<ValueType> results, RunWorkload runWorkload)
      : program(std::move(program)), results(std::move(results)),
        runWorkload(std::move(runWorkload)) {}

  Result<std::vector<tensor::Tensor>> run(TensorLists inputs, const Budget &budget) override {
    Result<TensorLists> arguments = program.argumentsFor(inputs);
    if (!arguments)
      return arguments.error();
    inputs.clear();
    Result<TensorLists> values = runWorkload(std::move(*arguments), budget);
    if (!values)
      return values.error();
    Result<std::vector<tensor::Tensor>> own = program.resultsFrom(*values, results);
    if (!own)
      return own.error().as(ErrorCode::RuntimeError);
    for (size_t d = 0; d < values->size(); ++d)
      for (const workload::Judgement &judgement : workload::judgeChecks(
               (*values)[d], d, program.workload.checks, program.workload.constants))
        if (!judgement.passed)
          return Error{ErrorCode::CheckFailed, judgement.what + ": " + judgement.sentence};
    return own;
  }

private:
  DeviceProgram program;
  std::vector<ValueType> results;
  RunWorkload runWorkload;
};

} // namespace

Result<std::unique_ptr<Executable>> PluginDevice::compile(const Program &program,
                                                          const Budget &budget) {
  Result<DeviceProgram> prepared = prepareForDevice(program, versions());
  if (!prepared)
    return prepared.error();
  Result<RunWorkload> run = load(prepared->workload, program, budget);
  if (!run)
    return run.error();
  return std::unique_ptr<Executable>(std::make_unique<PluginExecutable>(
      std::move(*prepared), program.results, std::move(*run)));
}

} // namespace cupel::testbench::worker
