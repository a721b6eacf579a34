#include "cupel/testbench/worker/Spread.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/analysis/Inspect.h"
#include "cupel/compiler/analysis/Propagate.h"
#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/ShardsOf.h"
#include "cupel/testbench/worker/NearbyInputs.h"

#include <cstring>
#include <fmt/format.h>

namespace cupel::testbench::worker {

using tensor::Shards;
using tensor::Tensor;

namespace {

constexpr const char *kShardyAttr = "sdy.sharding", *kGspmdAttr = "mhlo.sharding";

bool areAlike(const Tensor &a, const Tensor &b) {
  Result<Tensor> x = a.contiguous(), y = b.contiguous();
  return x && y && x->byteSize() == y->byteSize() &&
         std::memcmp(x->data(), y->data(), size_t(x->byteSize())) == 0;
}

/// Shardings of values by the name of their mesh, as programs state them.
class NamedShardings {
public:
  NamedShardings(mlir::ModuleOp module, mlir::func::FuncOp entry)
      : found(module, entry) {
    for (sdy::MeshOp mesh : module.getOps<sdy::MeshOp>())
      if (!mesh.getMesh().getAxes().empty())
        meshes.push_back(mesh);
  }

  /// What follows for the value from the shardings that are stated; where nothing does, it is whole on
  /// every device. Null for what is no tensor.
  sdy::TensorShardingAttr of(mlir::Value value) const {
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || meshes.empty())
      return {};
    mlir::MLIRContext *context = type.getContext();
    sdy::TensorShardingAttr known = found.of(value);
    llvm::SmallVector<sdy::DimensionShardingAttr> dims(
        size_t(type.getRank()),
        sdy::DimensionShardingAttr::get(context, {}, /*is_closed=*/true, std::nullopt));
    sdy::MeshOp named = meshes.front();
    if (known) {
      auto same = llvm::find_if(meshes, [&](sdy::MeshOp one) {
        return one.getMesh() == known.getMeshOrRef();
      });
      if (same == meshes.end())
        return known;
      named = *same;
      dims.assign(known.getDimShardings().begin(), known.getDimShardings().end());
    }
    return sdy::TensorShardingAttr::get(context,
                                        mlir::FlatSymbolRefAttr::get(named.getSymNameAttr()), dims,
                                        {}, {}, sdy::ReductionOp::Sum);
  }

private:
  compiler::ShardingAnalysis found;
  llvm::SmallVector<sdy::MeshOp> meshes;
};

/// Marks arguments and what operations give with how they lie. What devices compute by themselves, in
/// manual computations, lies nowhere else.
void markShardings(mlir::ModuleOp module, mlir::func::FuncOp entry) {
  mlir::MLIRContext *context = module.getContext();
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    for (const char *name : {kShardyAttr, kGspmdAttr})
      if (mlir::Attribute stated = entry.getArgAttr(i, name))
        entry.setArgAttr(i, compiler::kLiesAttr, stated);
  NamedShardings shardings(module, entry);
  module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    mlir::Operation *parent = op->getParentOp();
    const bool isOfProgram = parent && (mlir::isa<mlir::func::FuncOp>(parent) || parent->hasTrait<stablehlo::Loops>() ||
                                        parent->hasTrait<stablehlo::Branches>());
    if (isOfProgram && op->getNumResults() && !op->hasTrait<mlir::OpTrait::ConstantLike>()) {
      llvm::SmallVector<mlir::Attribute> each;
      for (mlir::Value value : op->getResults()) {
        sdy::TensorShardingAttr lies = shardings.of(value);
        each.push_back(lies ? mlir::Attribute(lies) : mlir::UnitAttr::get(context));
      }
      op->setDiscardableAttr(compiler::kLiesAttr, mlir::ArrayAttr::get(context, each));
    }
    return mlir::isa<sdy::ManualComputationOp>(op) ? mlir::WalkResult::skip()
                                                   : mlir::WalkResult::advance();
  });
}

/// One list of whole values out of a list for each device, or out of one for all of them.
Result<TensorLists> gatherLists(const TensorLists &lists, const std::vector<Shards> &shards,
                           const std::vector<ValueType> &types, uint32_t devices) {
  TensorLists whole(1);
  if (lists.size() != 1 && lists.size() != devices)
    return Error{ErrorCode::Unsupported,
                 fmt::format("there are values for {} devices of {}", lists.size(), devices)};
  for (size_t i = 0; i < lists.front().size(); ++i) {
    if (i >= shards.size())
      return Error{ErrorCode::Unsupported, "there are more values than the program has"};
    std::vector<Tensor> pieces;
    for (uint32_t d = 0; d < devices; ++d) {
      const std::vector<Tensor> &own = lists[lists.size() > 1 ? d : 0];
      if (i >= own.size())
        return Error{ErrorCode::Unsupported, fmt::format("device {} lacks value {}", d, i)};
      pieces.push_back(own[i]);
    }
    // What names no device is whole.
    bool isWhole = std::ranges::equal(pieces.front().shape(), types[i].shape);
    Result<Tensor> one = isWhole ? pieces.front() : shards[i].assemble(pieces, types[i].shape);
    if (!one)
      return one.error();
    whole.front().push_back(std::move(*one));
  }
  return whole;
}

} // namespace

bool speaksOfPieces(mlir::ModuleOp module) {
  if (!module.getOps<sdy::MeshOp>().empty())
    return true;
  mlir::func::FuncOp entry = compiler::entryOf(module);
  if (!entry)
    return false;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (entry.getArgAttr(i, kShardyAttr) || entry.getArgAttr(i, kGspmdAttr))
      return true;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getResultAttr(i, kShardyAttr) || entry.getResultAttr(i, kGspmdAttr))
      return true;
  return false;
}

Result<Spread> spreadOf(mlir::ModuleOp module, uint32_t devices) {
  mlir::func::FuncOp entry = compiler::entryOf(module);
  if (!entry)
    return Error{ErrorCode::Unsupported, "it has no entry function"};
  // What the program looks like from outside is all that counts, and the program stays as it is.
  mlir::OwningOpRef<mlir::ModuleOp> outside = mlir::ModuleOp::create(module.getLoc());
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(outside->getBody());
  for (sdy::MeshOp mesh : module.getOps<sdy::MeshOp>())
    builder.clone(*mesh);
  mlir::func::FuncOp shell = entry.cloneWithoutRegions();
  builder.insert(shell);
  compiler::Devices{1, int64_t(devices)}.write(*outside);
  Result<runtime::ProgramInfo> info = compiler::describe(*outside, shell);
  if (!info)
    return info.error().as(ErrorCode::Unsupported);
  Spread spread;
  auto take = [&](const std::vector<runtime::ValueInfo> &values, const char *what,
                  std::vector<Shards> &list) -> Status {
    for (const runtime::ValueInfo &value : values) {
      const Shards &shards = value.shards;
      const bool isTiled = shards.kind == Shards::Kind::Tiled;
      if (isTiled && (shards.summands != 1 || value.isDynamic() || !shards.isEven(value.shape)))
        return Error{ErrorCode::Unsupported,
                     fmt::format("{} {} does not lie in even pieces", what, list.size())};
      list.push_back(shards);
    }
    return {};
  };
  if (Status taken = take(info->arguments, "argument", spread.arguments); !taken)
    return taken.error();
  if (Status taken = take(info->results, "result", spread.results); !taken)
    return taken.error();
  return spread;
}

bool isSpread(const Prepared &test) {
  const workload::CompileOptions &options = test.workload.options;
  return test.isComplete && options.useSpmd && options.partitions > 1 && options.replicas == 1 &&
         speaksOfPieces(mlir::cast<mlir::ModuleOp>(test.program().module));
}

Result<Prepared> gathered(const Prepared &test) {
  Prepared whole = test.clone();
  whole.isComplete = false;
  mlir::ModuleOp module = *whole.read->module;
  bool takesPieces = false;
  module->walk([&](stablehlo::CustomCallOp call) {
    takesPieces |= call.getCallTargetName().starts_with("SPMD");
  });
  if (takesPieces)
    return Error{ErrorCode::Unsupported,
                 "it takes pieces of tensors by custom calls, which have no meaning on whole ones"};
  workload::Workload &workload = whole.workload;
  const auto devices = uint32_t(workload.options.partitions);
  Result<Spread> spread = spreadOf(module, devices);
  if (!spread)
    return spread.error();
  Program &program = whole.read->program;
  program.replicas = program.partitions = 1;
  program.spreadOver = devices;
  if (!workload.inputs.empty()) {
    Result<TensorLists> inputs =
        gatherLists(workload.inputs, spread->arguments, program.arguments, devices);
    if (!inputs)
      return inputs.error();
    workload.inputs = std::move(*inputs);
  }
  if (!workload.expected.empty()) {
    Result<TensorLists> expected =
        gatherLists(workload.expected, spread->results, program.results, devices);
    if (!expected)
      return expected.error();
    workload.expected = std::move(*expected);
  }
  workload.programs.clear();
  workload.options = {};
  workload.noise.clear();
  workload.noiseCenter.clear();
  markShardings(module, compiler::entryOf(module));
  return whole;
}

Result<RunWorkload> evaluatedWhole(Device &reference, const Prepared &test) {
  const auto devices = uint32_t(test.workload.options.partitions);
  Result<Spread> spread = spreadOf(mlir::cast<mlir::ModuleOp>(test.program().module), devices);
  if (!spread)
    return spread.error();
  Prepared bare = test.clone();
  bare.workload.inputs.clear(); // Each run brings its own.
  bare.workload.expected.clear();
  Result<Prepared> whole = gathered(bare);
  if (!whole)
    return whole.error();
  auto compiled = reference.compile(whole->program(), test.budget);
  if (!compiled)
    return compiled.error();
  const bool isHeldByAll = std::ranges::all_of(
      spread->results, [](const Shards &shards) { return shards.kind == Shards::Kind::Replicated; });
  struct State {
    Prepared whole; // The executable reads its module.
    std::unique_ptr<Executable> executable;
    Spread spread;
  };
  auto state = std::make_shared<State>(std::move(*whole), std::move(*compiled), std::move(*spread));
  return RunWorkload([state, devices, isHeldByAll](TensorLists inputs, const Budget &budget) -> Result<TensorLists> {
    Result<TensorLists> gatheredInputs =
        gatherLists(inputs, state->spread.arguments, state->whole.program().arguments, devices);
    if (!gatheredInputs)
      return gatheredInputs.error();
    inputs.clear();
    Result<std::vector<Tensor>> results = state->executable->run(std::move(*gatheredInputs), budget);
    if (!results)
      return results.error();
    return isHeldByAll ? TensorLists{std::move(*results)} : scattered(*results, state->spread.results, devices);
  });
}

std::optional<TensorLists> nearbyPieces(const Prepared &test, uint32_t look) {
  const auto devices = uint32_t(test.workload.options.partitions);
  Result<Spread> spread = spreadOf(mlir::cast<mlir::ModuleOp>(test.program().module), devices);
  if (!spread)
    return std::nullopt;
  Result<TensorLists> whole =
      gatherLists(test.workload.inputs, spread->arguments, test.program().arguments, devices);
  if (!whole)
    return std::nullopt;
  std::optional<TensorLists> others = nearbyInputs(*whole, test.ownInputs, look);
  if (!others || test.workload.inputs.size() == 1) // Nothing is in pieces.
    return others;
  Result<TensorLists> pieces = scattered(others->front(), spread->arguments, devices);
  return pieces ? std::optional(std::move(*pieces)) : std::nullopt;
}

Result<TensorLists> scattered(const std::vector<Tensor> &whole, const std::vector<Shards> &shards,
                              uint32_t devices) {
  TensorLists lists(devices);
  for (uint32_t d = 0; d < devices; ++d)
    for (size_t i = 0; i < whole.size(); ++i) {
      Result<Tensor> piece =
          i < shards.size() ? shards[i].piece(whole[i], d) : Result<Tensor>(whole[i]);
      if (!piece)
        return piece.error();
      Result<Tensor> plain = piece->contiguous();
      if (!plain)
        return plain.error();
      lists[d].push_back(std::move(*plain));
    }
  return lists;
}

std::vector<Tensor> withCopyOf(size_t device, std::vector<Tensor> pieces, const Shards &shards) {
  auto pieceOf = [&](size_t holder) -> int64_t {
    if (shards.kind != Shards::Kind::Tiled)
      return 0;
    int64_t place = shards.place(int64_t(holder));
    return place < 0 ? -1 : place / shards.copies();
  };
  const Tensor own = pieces[device];
  for (size_t other = 0; other < pieces.size(); ++other)
    if (pieceOf(other) >= 0 && pieceOf(other) == pieceOf(device))
      pieces[other] = own;
  return pieces;
}

Result<std::vector<Tensor>> assembled(const TensorLists &given, const std::vector<Shards> &shards,
                                      const std::vector<ValueType> &types) {
  std::vector<Tensor> whole, others;
  bool differs = false;
  for (size_t i = 0; i < shards.size(); ++i) {
    std::vector<Tensor> pieces;
    for (const std::vector<Tensor> &own : given) {
      if (i >= own.size())
        return Error{fmt::format("a device gave {} results, the program has {}", own.size(),
                                 shards.size())};
      pieces.push_back(own[i]);
    }
    Result<Tensor> first = shards[i].assemble(pieces, types[i].shape);
    if (!first)
      return first.error().within(fmt::format("result {}", i));
    Tensor other = *first;
    const bool hasCopies = shards[i].kind != Shards::Kind::Maximal;
    for (size_t d = 0; hasCopies && d < pieces.size(); ++d) {
      Result<Tensor> due = shards[i].piece(*first, int64_t(d));
      if (!due || areAlike(*due, pieces[d]))
        continue; // Or it holds nothing.
      // As this device has it, wherever others have the same piece.
      if (Result<Tensor> made =
              shards[i].assemble(withCopyOf(d, pieces, shards[i]), types[i].shape)) {
        other = std::move(*made);
        differs = true;
        break;
      }
    }
    whole.push_back(std::move(*first));
    others.push_back(std::move(other));
  }
  if (differs)
    whole.insert(whole.end(), others.begin(), others.end());
  return whole;
}

} // namespace cupel::testbench::worker
