// Collectives: what the processes of a group make of their operands together.

#include "cupel/reference/PlanCommunication.h"

#include "cupel/reference/Collectives.h"
#include "cupel/reference/Grid.h"
#include "cupel/reference/PlanMesh.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/StridedCopy.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <cstring>

namespace cupel::reference {

using namespace mlir;
using tensor::DType;
using tensor::ElementType;
using tensor::Tensor;

int64_t channelOf(Operation *op) {
  auto handle = op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
  return handle ? handle.getHandle() : 0;
}

Grid::Tensors tensorsOf(StepArguments &arguments, size_t count) {
  Grid::Tensors values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(arguments.tensor(i));
  return values;
}

std::vector<std::pair<int64_t, int64_t>> pairsOf(Operation *op) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  auto dense = op->getAttrOfType<DenseIntElementsAttr>("source_target_pairs");
  if (!dense)
    return pairs;
  std::vector<int64_t> values;
  for (const APInt &value : dense.getValues<APInt>())
    values.push_back(value.getSExtValue());
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    pairs.push_back({values[i], values[i + 1]});
  return pairs;
}

namespace {

//===----------------------------------------------------------------------===//
// Groups of processes
//===----------------------------------------------------------------------===//

Process processOf(const GridProcess &process) { return {process.replica, process.partition}; }

Result<IdGroups> groupsOf(stablehlo::ReplicaGroupMeshAxesAttr attr, ModuleOp module) {
  Result<NamedMesh> mesh = namedMesh(attr.getMesh(), module);
  if (!mesh)
    return mesh.error();
  std::vector<MeshAxisRef> axes;
  for (stablehlo::AxisRefAttr ref : attr.getAxes()) {
    std::optional<int64_t> axis = mesh->find(ref.getName());
    if (!axis)
      return Error{"the mesh has no axis " + ref.getName().str()};
    MeshAxisRef reference{*axis};
    if (auto part = ref.getSubAxisInfo()) {
      reference.preSize = part.getPreSize();
      reference.size = part.getSize();
    }
    axes.push_back(reference);
  }
  return meshGroups(mesh->mesh, axes);
}

Result<IdGroups> groupsOf(Operation *op, Attribute attr) {
  if (auto axes = dyn_cast_or_null<stablehlo::ReplicaGroupMeshAxesAttr>(attr))
    return groupsOf(axes, op->getParentOfType<ModuleOp>());
  auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attr);
  if (!dense)
    return IdGroups();
  Result<Tensor> tensor = constantTensor(dense, dense.getType());
  if (!tensor)
    return tensor.error();
  return idGroups(*tensor);
}

/// Which processes a collective unites.
struct Membership {
  IdGroups ids;
  Grouping grouping = Grouping::CrossReplica;
  std::string name; // Of the meeting.

  /// The group of a process; empty if it is in none.
  Result<ProcessGroup> of(GridProcess &process) const {
    ProcessGrid grid{process.grid->replicas, process.grid->partitions};
    Result<std::vector<ProcessGroup>> groups = processGroups(grouping, ids, grid);
    if (!groups)
      return groups.error();
    const ProcessGroup *group = findGroup(*groups, processOf(process));
    return group ? *group : ProcessGroup();
  }
};

std::vector<int64_t> numbersOf(const Grid &grid, const ProcessGroup &group) {
  std::vector<int64_t> numbers;
  for (Process member : group)
    numbers.push_back(member.replica * grid.partitions + member.partition);
  return numbers;
}

Result<Membership> membershipOf(Operation *op, Collective kind) {
  Result<IdGroups> ids = groupsOf(op, op->getAttr("replica_groups"));
  if (!ids)
    return ids.error();
  int64_t channel = channelOf(op);
  Result<Grouping> grouping = groupingOf(kind, channel, op->hasAttr("use_global_device_ids"));
  if (!grouping)
    return grouping.error();
  return Membership{std::move(*ids), *grouping,
                    op->getName().stripDialect().str() + " on channel " + std::to_string(channel)};
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// What the members of a group get from their i-th operands.
using Combine =
    std::function<Result<GroupValues>(GridProcess &, StepArguments &, const ProcessGroup &,
                                      std::span<const Tensor> operands, size_t i)>;

/// `outsiders`: processes in no group get zeros; otherwise that is an error.
StepFunction collective(Membership membership, size_t count, bool outsiders, Combine combine) {
  return [=](GridProcess &process, StepArguments &arguments) -> Status {
    Result<ProcessGroup> group = membership.of(process);
    if (!group)
      return group.error();
    if (group->empty()) {
      if (!outsiders)
        return Error{"this process is in no replica group"};
      for (size_t i = 0; i < count; ++i) {
        Result<Tensor> zeros = zerosLike(arguments.tensor(i));
        if (!zeros)
          return zeros.error();
        arguments.set(i, std::move(*zeros));
      }
      return {};
    }
    Result<Grid::Meeting> meeting = process.grid->meet(
        process, membership.name, numbersOf(*process.grid, *group), tensorsOf(arguments, count));
    if (!meeting)
      return meeting.error();
    size_t place = llvm::find(*group, processOf(process)) - group->begin();
    std::vector<Tensor> results;
    for (size_t i = 0; i < count; ++i) {
      std::vector<Tensor> operands;
      for (const Grid::Tensors &member : **meeting)
        operands.push_back(member[i]);
      Result<GroupValues> values = combine(process, arguments, *group, operands, i);
      if (!values)
        return values.error();
      results.push_back(std::move((*values)[place]));
    }
    for (size_t i = 0; i < count; ++i)
      arguments.set(i, std::move(results[i]));
    return {};
  };
}

Result<StepFunction> planAllGather(Operation *op, Planning &) {
  Result<Membership> membership = membershipOf(op, Collective::AllGather);
  if (!membership)
    return membership.error();
  int64_t dimension = cast<stablehlo::AllGatherOp>(op).getAllGatherDim();
  return collective(*membership, op->getNumOperands(), false,
                    [=](GridProcess &, StepArguments &, const ProcessGroup &,
                        std::span<const Tensor> operands,
                        size_t) { return allGather(operands, dimension); });
}

Result<StepFunction> planAllReduce(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, Collective::AllReduce);
  if (!membership)
    return membership.error();
  auto body = planning.function(op->getRegion(0));
  if (!body)
    return body.error();
  return collective(*membership, op->getNumOperands(), false,
                    [body = *body](GridProcess &process, StepArguments &arguments,
                                   const ProcessGroup &group, std::span<const Tensor> operands,
                                   size_t) {
                      auto function = body->bind(process, arguments.frame);
                      return allReduce(group, operands, *function);
                    });
}

/// cross-replica-sum: an all_reduce that adds.
Result<StepFunction> planCrossReplicaSum(Operation *op, Planning &) {
  Result<Membership> membership = membershipOf(op, Collective::AllReduce);
  Result<ElementType> type = operandElement(op, 0);
  if (!membership || !type)
    return !membership ? membership.error() : type.error();
  if (type->quantization)
    return Error{
        "a cross-replica-sum of quantized tensors has no meaning: how they are added is said "
        "by the region of an all_reduce"};
  auto program = std::make_shared<ElementProgram>();
  int a = program->addArgument(type->storage), b = program->addArgument(type->storage);
  std::optional<int> sum = program->addOperation(ElementOp::Add, {{a, b}}, type->storage);
  if (!sum)
    return Error{"there is no sum of this type"};
  program->addResult(*sum);
  auto body = std::make_shared<const RegionFunction>(
      std::move(*program), nullptr, std::vector<ElementType>{*type, *type},
      std::vector<ElementType>{*type}, std::vector<int>());
  return collective(*membership, 1, false,
                    [body](GridProcess &process, StepArguments &arguments,
                           const ProcessGroup &group, std::span<const Tensor> operands, size_t) {
                      auto function = body->bind(process, arguments.frame);
                      return allReduce(group, operands, *function);
                    });
}

Result<StepFunction> planReduceScatter(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, Collective::ReduceScatter);
  if (!membership)
    return membership.error();
  auto body = planning.function(op->getRegion(0));
  if (!body)
    return body.error();
  int64_t dimension = cast<stablehlo::ReduceScatterOp>(op).getScatterDimension();
  return collective(*membership, 1, false,
                    [=, body = *body](GridProcess &process, StepArguments &arguments,
                                      const ProcessGroup &group, std::span<const Tensor> operands,
                                      size_t) {
                      auto function = body->bind(process, arguments.frame);
                      return reduceScatter(group, operands, dimension, *function);
                    });
}

Result<StepFunction> planAllToAll(Operation *op, Planning &) {
  Result<Membership> membership = membershipOf(op, Collective::AllToAll);
  if (!membership)
    return membership.error();
  auto exchange = cast<stablehlo::AllToAllOp>(op);
  int64_t split = exchange.getSplitDimension(), concat = exchange.getConcatDimension();
  int64_t parts = exchange.getSplitCount();
  return collective(*membership, op->getNumOperands(), false,
                    [=](GridProcess &, StepArguments &, const ProcessGroup &,
                        std::span<const Tensor> operands,
                        size_t) { return allToAll(operands, split, concat, parts); });
}

/// The member whose value counts: the first, or the one that the last operand names.
Result<int64_t> rootOf(StepArguments &arguments, bool dynamic, size_t i, size_t members) {
  if (!dynamic)
    return 0;
  Result<std::vector<int64_t>> roots = integersOf(arguments.tensor(arguments.size() - 1));
  if (!roots)
    return roots.error();
  int64_t root = i < roots->size() ? (*roots)[i] : -1;
  if (root < 0 || root >= static_cast<int64_t>(members))
    return Error{"root " + std::to_string(root) + " is not in the group"};
  return root;
}

Result<StepFunction> planCollectiveBroadcast(Operation *op, Planning &) {
  Result<Membership> membership = membershipOf(op, Collective::CollectiveBroadcast);
  if (!membership)
    return membership.error();
  bool dynamic = op->hasAttr("has_dynamic_root");
  return collective(*membership, op->getNumResults(), true,
                    [=](GridProcess &, StepArguments &arguments, const ProcessGroup &group,
                        std::span<const Tensor> operands, size_t i) -> Result<GroupValues> {
                      Result<int64_t> root = rootOf(arguments, dynamic, i, group.size());
                      if (!root)
                        return root.error();
                      return collectiveBroadcast(operands, *root);
                    });
}

Result<StepFunction> planCollectiveReduce(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, Collective::CollectiveReduce);
  if (!membership)
    return membership.error();
  auto body = planning.function(op->getRegion(0));
  if (!body)
    return body.error();
  bool dynamic = op->hasAttr("has_dynamic_root");
  return collective(*membership, op->getNumResults(), false,
                    [=, body = *body](GridProcess &process, StepArguments &arguments,
                                      const ProcessGroup &group, std::span<const Tensor> operands,
                                      size_t i) -> Result<GroupValues> {
                      Result<int64_t> root = rootOf(arguments, dynamic, i, group.size());
                      if (!root)
                        return root.error();
                      auto function = body->bind(process, arguments.frame);
                      return collectiveReduce(group, operands, *root, *function);
                    });
}

Result<StepFunction> planCollectivePermute(Operation *op, Planning &) {
  // Everybody who differs in the coordinate alone that the pairs name takes part.
  Result<Grouping> grouping = groupingOf(Collective::CollectivePermute, channelOf(op), false);
  if (!grouping)
    return grouping.error();
  Membership membership{
      {}, *grouping, "collective_permute on channel " + std::to_string(channelOf(op))};
  std::vector<std::pair<int64_t, int64_t>> ids = pairsOf(op);
  return collective(
      std::move(membership), 1, true,
      [=, grouping = *grouping](GridProcess &process, StepArguments &, const ProcessGroup &group,
                                std::span<const Tensor> operands, size_t) -> Result<GroupValues> {
        ProcessGrid grid{process.grid->replicas, process.grid->partitions};
        auto pairs = permutePairs(grouping, ids, grid);
        if (!pairs)
          return pairs.error();
        std::erase_if(*pairs, [&](const auto &pair) {
          return !llvm::is_contained(group, pair.first) || !llvm::is_contained(group, pair.second);
        });
        return collectivePermute(group, operands, *pairs);
      });
}

//===----------------------------------------------------------------------===//
// ragged_all_to_all, a custom call of JAX
//===----------------------------------------------------------------------===//

/// What each member of a group brings: rows to send, and for each of `count` updates to each member
/// where they start here, how many they are, where they go there, and how many come from there.
struct RaggedPart {
  Tensor rows;
  std::vector<int64_t> starts, sizes, targets, expected;
};

Result<RaggedPart> raggedPart(const Grid::Tensors &values, size_t members) {
  Result<Tensor> rows = values[0].contiguous();
  if (!rows)
    return rows.error();
  RaggedPart part{std::move(*rows), {}, {}, {}, {}};
  std::vector<int64_t> *lists[] = {&part.starts, &part.sizes, &part.targets, &part.expected};
  for (size_t i = 0; i < 4; ++i) {
    Result<std::vector<int64_t>> list = integersOf(values[i + 1]);
    if (!list)
      return list.error();
    if (list->empty() || list->size() % members ||
        static_cast<int64_t>(list->size()) != values[1].size())
      return Error{"offsets and sizes must be as many for each of the " + std::to_string(members) +
                   " members"};
    *lists[i] = std::move(*list);
  }
  return part;
}

/// Puts what `from` sends to member `me` into `result`.
Status takeRows(const RaggedPart &from, size_t sender, const RaggedPart &mine, size_t me,
                size_t members, Tensor &result) {
  size_t count = from.sizes.size() / members;
  int64_t rowBytes = result.dim(0) ? result.byteSize() / result.dim(0) : 0;
  for (size_t u = 0; u < count; ++u) {
    size_t sent = me * count + u, received = sender * count + u;
    int64_t size = from.sizes[sent], start = from.starts[sent], target = from.targets[sent];
    if (received >= mine.expected.size() || mine.expected[received] != size)
      return Error{"member " + std::to_string(sender) + " sends " + std::to_string(size) +
                   " rows to member " + std::to_string(me) + ", which expects another number"};
    if (size < 0 || start < 0 || start > from.rows.dim(0) - size || target < 0 ||
        target > result.dim(0) - size)
      return Error{"rows " + std::to_string(start) + " to " + std::to_string(start + size) +
                   " of member " + std::to_string(sender) + " do not fit at " +
                   std::to_string(target) + " of member " + std::to_string(me)};
    std::memcpy(result.mutableData() + target * rowBytes, from.rows.data() + start * rowBytes,
                static_cast<size_t>(size * rowBytes));
  }
  return {};
}

Status runRagged(const Membership &membership, GridProcess &process, StepArguments &arguments) {
  Result<ProcessGroup> group = membership.of(process);
  if (!group || group->empty())
    return Error{group ? "this process is in no replica group" : group.message()};
  Grid::Tensors own{arguments.tensor(0)};
  for (size_t i = 2; i < 6; ++i)
    own.push_back(arguments.tensor(i));
  Result<Grid::Meeting> meeting = process.grid->meet(
      process, membership.name, numbersOf(*process.grid, *group), std::move(own));
  if (!meeting)
    return meeting.error();
  std::vector<RaggedPart> parts;
  for (const Grid::Tensors &member : **meeting) {
    Result<RaggedPart> part = raggedPart(member, group->size());
    if (!part)
      return part.error();
    parts.push_back(std::move(*part));
  }
  const Tensor &output = arguments.tensor(1);
  Result<Tensor> result = Tensor::uninitialized(
      output.elementType(), tensor::Shape(output.shape().begin(), output.shape().end()));
  if (!result)
    return result.error();
  copyTo(result->mutableData(), output);
  size_t me = llvm::find(*group, processOf(process)) - group->begin();
  for (size_t sender = 0; sender < parts.size(); ++sender)
    if (Status status = takeRows(parts[sender], sender, parts[me], me, parts.size(), *result);
        !status)
      return status;
  arguments.set(0, std::move(*result));
  return {};
}

} // namespace

Result<StepFunction> planRaggedAllToAll(Operation *op, Planning &) {
  auto operand = op->getNumOperands() == 6 ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                                           : RankedTensorType();
  auto output = operand ? dyn_cast<RankedTensorType>(op->getOperand(1).getType()) : operand;
  if (!output || op->getNumResults() != 1 || op->getResult(0).getType() != output ||
      !operand.hasStaticShape() || !output.hasStaticShape() || !output.getRank() ||
      operand.getElementType() != output.getElementType() ||
      operand.getRank() != output.getRank() ||
      operand.getShape().drop_front() != output.getShape().drop_front())
    return Error{"ragged_all_to_all takes rows, an output of such rows and four lists of numbers"};
  DictionaryAttr configuration;
  for (StringRef place : {"mhlo.backend_config", "backend_config"})
    if (auto given = op->getAttrOfType<DictionaryAttr>(place))
      configuration = given;
  if (!configuration)
    return Error{"the replica groups of ragged_all_to_all are not given"};
  auto channel = configuration.getAs<IntegerAttr>("channel_id");
  Result<IdGroups> ids = groupsOf(op, configuration.get("replica_groups"));
  Result<Grouping> grouping =
      groupingOf(Collective::AllToAll, channel ? channel.getInt() : 0, false);
  if (!ids || !grouping)
    return !ids ? ids.error() : grouping.error();
  Membership membership{std::move(*ids), *grouping, "ragged_all_to_all"};
  return StepFunction([membership](GridProcess &process, StepArguments &arguments) {
    return runRagged(membership, process, arguments);
  });
}

void registerCollectives(Registry &registry) {
  registry.add("stablehlo.all_gather", planAllGather);
  registry.add("stablehlo.all_reduce", planAllReduce);
  registry.add("stablehlo.reduce_scatter", planReduceScatter);
  registry.add("stablehlo.all_to_all", planAllToAll);
  registry.add("stablehlo.collective_broadcast", planCollectiveBroadcast);
  registry.add("stablehlo.collective_reduce", planCollectiveReduce);
  registry.add("stablehlo.collective_permute", planCollectivePermute);
  registry.add("stablehlo.cross-replica-sum", planCrossReplicaSum);
}

} // namespace cupel::reference
