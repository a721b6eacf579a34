#include "cupel/compiler/partition/Partition.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/analysis/Propagate.h"
#include "cupel/compiler/partition/Partitioner.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/ShardsOf.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace cupel::compiler {

using namespace mlir;
using runtime::ProgramInfo;
using runtime::ValueInfo;
using tensor::Shards;

static bool isStaticTensor(mlir::Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  // Offsets are numbers of 32 bits.
  return ranked && ranked.hasStaticShape() && !ranked.getEncoding() &&
         llvm::all_of(ranked.getShape(), [](int64_t size) { return size <= INT32_MAX; }) &&
         (ranked.getElementType().isIntOrFloat() || isa<ComplexType>(ranked.getElementType()));
}

bool Partitioner::refuse(const llvm::Twine &why) {
  if (reason.empty())
    reason = why.str();
  return false;
}

Status Partitioner::run(const ProgramInfo &info) {
  auto give = [&](const llvm::Twine &otherwise) {
    refuse(otherwise);
    return Error{ErrorCode::Unsupported, reason};
  };
  findHints();
  SmallVector<Split> arguments, results;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (!boundary(entry.getArgument(i),
                  entry.getArgAttrOfType<sdy::TensorShardingAttr>(i, "sdy.sharding"),
                  info.arguments[i], arguments))
      return give("").within("argument " + std::to_string(i));
  Operation *end = entry.getBody().front().getTerminator();
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (!boundary(end->getOperand(i),
                  entry.getResultAttrOfType<sdy::TensorShardingAttr>(i, "sdy.sharding"),
                  info.results[i], results))
      return give("").within("result " + std::to_string(i));

  SmallVector<mlir::Type> argumentTypes, resultTypes;
  for (auto [argument, split] : llvm::zip_equal(entry.getArguments(), arguments))
    argumentTypes.push_back(device.pieceType(argument.getType(), split));
  for (auto [value, split] : llvm::zip_equal(end->getOperands(), results))
    resultTypes.push_back(device.pieceType(value.getType(), split));
  OpBuilder &builder = device.builder;
  builder.setInsertionPoint(entry);
  auto made =
      builder.create<func::FuncOp>(entry.getLoc(), entry.getName(), entry.getFunctionType());
  if (ArrayAttr attributes = entry.getAllArgAttrs())
    made.setAllArgAttrs(attributes);
  if (ArrayAttr attributes = entry.getAllResultAttrs())
    made.setAllResultAttrs(attributes);
  holdPieces(made, FunctionType::get(module.getContext(), argumentTypes, resultTypes));
  Block *block = made.addEntryBlock();
  builder.setInsertionPointToStart(block);
  for (auto [i, argument] : llvm::enumerate(entry.getArguments()))
    map[argument] = {block->getArgument(i), arguments[i], !arguments[i].unreduced.empty()};
  if (!lower(entry.getBody().front()))
    return give("an operation cannot be split");
  SmallVector<mlir::Value> values;
  for (auto [value, split] : llvm::zip_equal(end->getOperands(), results))
    values.push_back(as(value, split));
  builder.create<func::ReturnOp>(end->getLoc(), values);
  if (failed)
    return give("the results cannot be split");
  entry.erase();
  return {};
}

int Partitioner::wholeAxis(sdy::AxisRefAttr axis) const {
  return axis.getSubAxisInfo() ? -1 : device.axisOf(axis.getName());
}

std::optional<Split> Partitioner::splitOf(sdy::TensorShardingAttr sharding) {
  sdy::MeshAttr its = reference::meshOf(sharding, module);
  Split split = Split::whole(static_cast<int64_t>(sharding.getDimShardings().size()));
  if (its && !its.isMaximal() && its.getAxes().empty())
    return split;
  if (its != mesh || sharding.getReductionOp() != sdy::ReductionOp::Sum)
    return std::nullopt;
  for (auto [axes, dim] : llvm::zip_equal(split.dims, sharding.getDimShardings()))
    for (sdy::AxisRefAttr axis : dim.getAxes()) {
      axes.push_back(wholeAxis(axis));
      if (axes.back() < 0)
        return std::nullopt;
    }
  for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes()) {
    split.unreduced.push_back(wholeAxis(axis));
    if (split.unreduced.back() < 0)
      return std::nullopt;
  }
  llvm::sort(split.unreduced);
  return split;
}

bool Partitioner::boundary(mlir::Value value, sdy::TensorShardingAttr sharding,
                           const ValueInfo &info, SmallVector<Split> &splits) {
  if (!isStaticTensor(value.getType()))
    return refuse("it is no tensor of numbers whose sizes are known");
  Split split = Split::whole(rankOf(value));
  if (sharding) {
    std::optional<Split> stated = splitOf(sharding);
    if (!stated || stated->dims.size() != split.dims.size())
      return refuse("its sharding is of another mesh, of parts of axes, or no sum");
    split = *stated;
  } else if (info.hasShards) {
    if (auto it = hints.find(value); it != hints.end())
      split.dims = it->second;
  }
  if (!device.isEven(value.getType(), split))
    return refuse("its pieces are uneven");
  // The same in the words of hosts.
  SmallVector<sdy::DimensionShardingAttr> dims;
  auto axisRef = [&](int axis) {
    return sdy::AxisRefAttr::get(module.getContext(), mesh.getAxes()[axis].getName(), {});
  };
  for (const MeshAxes &axes : split.dims)
    dims.push_back(sdy::DimensionShardingAttr::get(
        module.getContext(), llvm::to_vector(llvm::map_range(axes, axisRef)), true, std::nullopt));
  Result<Shards> shards = reference::shardsOf(
      sdy::TensorShardingAttr::get(module.getContext(), mesh, dims, {},
                                   llvm::to_vector(llvm::map_range(split.unreduced, axisRef)),
                                   sdy::ReductionOp::Sum),
      mesh);
  Shards held = info.hasShards ? info.shards : Shards::replicated();
  if (!shards || *shards != held)
    return refuse("devices do not hold it along the axes of the mesh");
  splits.push_back(std::move(split));
  return true;
}

void Partitioner::findHints() {
  ShardingAnalysis(module, entry).forEach(
      [&](mlir::Value value, sdy::MeshAttr its, ArrayRef<SmallVector<sdy::AxisRefAttr, 2>> dims) {
        if (its != mesh || !isStaticTensor(value.getType()) ||
            static_cast<int64_t>(dims.size()) != rankOf(value))
          return;
        SmallVector<MeshAxes, 4> found;
        for (auto [i, axes] : llvm::enumerate(dims)) {
          MeshAxes numbers;
          for (sdy::AxisRefAttr axis : axes) {
            numbers.push_back(wholeAxis(axis));
            if (numbers.back() < 0)
              return;
          }
          if (shapeOf(value)[i] % device.parts(numbers))
            numbers.clear();
          found.push_back(std::move(numbers));
        }
        hints[value] = std::move(found);
      });
}

Split Partitioner::hintOf(mlir::Value value) {
  Split split = Split::whole(rankOf(value));
  if (auto it = hints.find(value); it != hints.end())
    split.dims = it->second;
  return split;
}

const Local &Partitioner::local(mlir::Value value) {
  auto it = map.find(value);
  if (it != map.end())
    return it->second;
  failed = true;
  return nothing;
}

mlir::Value Partitioner::as(mlir::Value value, const Split &wanted) {
  Local now = local(value);
  if (failed || now.split == wanted)
    return now.value;
  return device.reshard(value.getLoc(), now.value, now.split, wanted);
}

Local Partitioner::reduced(mlir::Value value) {
  Local now = local(value);
  if (failed || now.split.unreduced.empty())
    return now;
  Local done = now;
  done.split.unreduced.clear();
  done.keepsSummands = false;
  done.value = device.reshard(value.getLoc(), now.value, now.split, done.split);
  if (now.value.getParentBlock() == device.builder.getInsertionBlock())
    map[value] = done;
  return done;
}

void Partitioner::set(mlir::Value value, mlir::Value here, Split split, bool keepsSummands) {
  map[value] = {here, std::move(split), keepsSummands};
}

Operation *Partitioner::again(Operation &op, ArrayRef<mlir::Value> operands,
                              ArrayRef<mlir::Type> types) {
  IRMapping mapping;
  llvm::SetVector<mlir::Value> captured;
  for (Region &region : op.getRegions())
    getUsedValuesDefinedAbove(region, captured);
  for (mlir::Value value : captured)
    mapping.map(value, whole(value));
  for (auto [operand, here] : llvm::zip_equal(op.getOperands(), operands))
    mapping.map(operand, here);
  if (failed)
    return nullptr;
  Operation *made = device.builder.clone(op, mapping);
  made->setOperands(operands);
  for (auto [result, type] : llvm::zip_equal(made->getResults(), types))
    result.setType(type);
  made->removeDiscardableAttr("sdy.sharding");
  return made;
}

bool Partitioner::computeWhole(Operation &op) {
  SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op.getOperands())
    operands.push_back(whole(operand));
  Operation *made = failed ? nullptr : again(op, operands, llvm::to_vector(op.getResultTypes()));
  if (!made)
    return false;
  for (auto [result, here] : llvm::zip_equal(op.getResults(), made->getResults()))
    set(result, here, Split::whole(rankOf(result)));
  return true;
}

Split Partitioner::common(Operation &op, ArrayRef<mlir::Value> operands,
                          llvm::function_ref<bool(int64_t)> keep) {
  auto trimmed = [&](Split split) {
    split.unreduced.clear();
    for (auto [dim, axes] : llvm::enumerate(split.dims))
      if (keep && !keep(static_cast<int64_t>(dim)))
        axes.clear();
    return split;
  };
  std::optional<Split> shared, most;
  bool differ = false;
  auto piecesOf = [&](const Split &split) {
    int64_t pieces = 1;
    for (const MeshAxes &axes : split.dims)
      pieces *= device.parts(axes);
    return pieces;
  };
  for (mlir::Value operand : operands) {
    Split split = trimmed(local(operand).split);
    if (!split.hasTiles())
      continue;
    differ |= shared && *shared != split;
    shared = split;
    if (!most || piecesOf(split) > piecesOf(*most))
      most = split;
  }
  if (shared && !differ)
    return *shared;
  Split hint = trimmed(hintOf(op.getResult(0)));
  if (hint.hasTiles() || !most)
    return hint;
  return *most;
}

bool Partitioner::lower(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!lower(op) || failed)
      return refuse(op.getName().getStringRef() + " at " +
                    reference::describeLocation(op.getLoc()) + " cannot be split");
  return true;
}

bool Partitioner::lower(Operation &op) {
  bool isFine = llvm::all_of(op.getOperandTypes(), isStaticTensor) &&
                llvm::all_of(op.getResultTypes(), isStaticTensor);
  if (!isFine)
    return false;
  if (auto rule = rules().find(op.getName().getStringRef()); rule != rules().end())
    return (this->*rule->second)(op);
  if (op.hasTrait<stablehlo::Elementwise>())
    return lowerElementwise(op);
  if (auto constraint = dyn_cast<sdy::ShardingConstraintOp>(op))
    return lowerConstraint(op, constraint.getSharding());
  if (auto reshard = dyn_cast<sdy::ReshardOp>(op))
    return lowerConstraint(op, reshard.getSharding());
  if (isa<sdy::ShardingGroupOp>(op))
    return true;
  if (isa<sdy::PropagationBarrierOp>(op) || op.hasTrait<stablehlo::Identity>()) {
    for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults()))
      map[result] = Local(local(operand));
    return true;
  }
  if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
    return lowerManual(manual);
  if (op.hasTrait<stablehlo::Loops>())
    return lowerLoop(op);
  if (op.hasTrait<stablehlo::Branches>())
    return lowerBranches(op);
  if (std::optional<bool> done = lowerAlongDimensions(op))
    return *done;
  return isAlikeEverywhere(op) && computeWhole(op);
}

const Partitioner::Rules &Partitioner::rules() {
  static const Rules all = [] {
    Rules made;
    addElementRules(made);
    addSumRules(made);
    addCallRules(made);
    return made;
  }();
  return all;
}

bool Partitioner::isAlikeEverywhere(Operation &op) {
  auto differs = [](Operation *inner) {
    return inner->hasTrait<stablehlo::DependsOnProcess>() ? WalkResult::interrupt()
                                                          : WalkResult::advance();
  };
  return op.getName().getDialectNamespace() == "stablehlo" && isMemoryEffectFree(&op) &&
         !op.walk(differs).wasInterrupted();
}

/// The one mesh of several devices that the program speaks of.
static Result<sdy::MeshAttr> onlyMesh(ModuleOp module) {
  sdy::MeshAttr found;
  for (sdy::MeshOp op : module.getOps<sdy::MeshOp>()) {
    sdy::MeshAttr mesh = op.getMesh();
    if (mesh.isMaximal() || mesh.getAxes().empty() || mesh == found)
      continue;
    if (found)
      return Error{ErrorCode::Unsupported, "it speaks of several meshes"};
    found = mesh;
  }
  if (!found)
    return Error{ErrorCode::Unsupported, "it speaks of no mesh of several devices"};
  return found;
}

Status partition(ModuleOp module, func::FuncOp entry, const ProgramInfo &info) {
  Result<sdy::MeshAttr> mesh = onlyMesh(module);
  if (!mesh)
    return mesh.error();
  // Every device once, in any order.
  Result<int64_t> count = reference::deviceCount(*mesh);
  SmallVector<int64_t> ids(mesh->getDeviceIds());
  llvm::sort(ids);
  bool isAll = count && *count == info.partitions &&
               (ids.empty() || static_cast<int64_t>(ids.size()) == *count);
  for (auto [i, id] : llvm::enumerate(ids))
    isAll &= id == static_cast<int64_t>(i);
  if (!isAll)
    return Error{ErrorCode::Unsupported,
                 "its mesh is not of the " + std::to_string(info.partitions) + " devices"};
  if (entry.isExternal() || !entry.getBody().hasOneBlock())
    return Error{ErrorCode::Unsupported, "it has several blocks"};
  return Partitioner(module, entry, *mesh).run(info);
}

} // namespace cupel::compiler
