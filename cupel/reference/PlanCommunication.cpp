// Operations between processes: collectives, channels, feeds, and grids of programs.

#include "cupel/reference/DataMovement.h"
#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Grid.h"
#include "cupel/reference/Registry.h"

#include "cupel/ir/interpreter/Interpreter.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using tensor::DType;
using tensor::ElementType;
using tensor::Tensor;

namespace {

using Groups = std::vector<std::vector<int64_t>>;

//===----------------------------------------------------------------------===//
// Groups of processes
//===----------------------------------------------------------------------===//

Groups rowsOf(DenseIntElementsAttr dense) {
  Groups rows(dense.getType().getRank() > 0 ? dense.getType().getShape()[0] : 0);
  if (rows.empty())
    return rows;
  int64_t width = dense.getNumElements() / static_cast<int64_t>(rows.size()), i = 0;
  for (const APInt &value : dense.getValues<APInt>()) {
    if (value.getSExtValue() >= 0) // -1 pads short rows.
      rows[i / width].push_back(value.getSExtValue());
    ++i;
  }
  return rows;
}

/// Groups spelled as mesh axes: a group varies the named axes, the others enumerate the groups.
Result<Groups> groupsOf(stablehlo::ReplicaGroupMeshAxesAttr attr, ModuleOp module) {
  auto mesh = dyn_cast<stablehlo::MeshAttr>(attr.getMesh());
  if (!mesh)
    return Error{"replica groups by the symbol of a mesh are not evaluated; an inline mesh is"};
  struct Axis {
    StringRef name;
    int64_t size, stride;
  };
  std::vector<Axis> axes;
  int64_t devices = 1;
  for (stablehlo::MeshAxisAttr axis : llvm::reverse(mesh.getAxes())) {
    axes.push_back({axis.getName().getValue(), axis.getSize(), devices});
    if (axis.getSize() <= 0 || __builtin_mul_overflow(devices, axis.getSize(), &devices) ||
        devices > (1 << 20))
      return Error{"the mesh has an impossible number of devices"};
  }
  std::vector<int64_t> ids;
  if (DenseIntElementsAttr given = mesh.getDeviceIds())
    for (const APInt &id : given.getValues<APInt>())
      ids.push_back(id.getSExtValue());
  else
    for (int64_t i = 0; i < devices; ++i)
      ids.push_back(i);
  if (static_cast<int64_t>(ids.size()) != devices)
    return Error{"the mesh has another number of device ids than of devices"};
  // Each reference picks a part of an axis: positions of size `size`, `stride` devices apart.
  std::vector<std::pair<int64_t, int64_t>> varied;
  for (stablehlo::AxisRefAttr ref : attr.getAxes()) {
    auto axis = llvm::find_if(axes, [&](const Axis &a) { return a.name == ref.getName(); });
    if (axis == axes.end())
      return Error{"the mesh has no axis " + ref.getName().str()};
    int64_t size = axis->size, stride = axis->stride;
    if (auto sub = ref.getSubAxisInfo()) {
      if (sub.getPreSize() <= 0 || sub.getSize() <= 0 ||
          axis->size % (sub.getPreSize() * sub.getSize()) != 0)
        return Error{"a part of mesh axis " + ref.getName().str() + " does not divide it"};
      stride = axis->stride * (axis->size / (sub.getPreSize() * sub.getSize()));
      size = sub.getSize();
    }
    varied.push_back({size, stride});
  }
  Groups groups;
  std::vector<bool> taken(devices);
  for (int64_t start = 0; start < devices; ++start) {
    if (taken[start])
      continue;
    std::vector<int64_t> members = {start};
    for (auto [size, stride] : varied) {
      std::vector<int64_t> next;
      for (int64_t member : members)
        for (int64_t i = 0; i < size; ++i)
          next.push_back(member + i * stride);
      members = std::move(next);
    }
    for (int64_t &member : members) {
      if (member >= devices || taken[member])
        return Error{"the mesh axes of the replica groups overlap"};
      taken[member] = true;
      member = ids[member];
    }
    groups.push_back(std::move(members));
  }
  return groups;
}

/// Which processes a collective unites.
struct Membership {
  Groups groups;
  GroupStrategy strategy = GroupStrategy::CrossReplica;
  std::string name; // Of the meeting.

  Result<std::vector<int64_t>> of(Process &process) const {
    // No groups: all in one.
    if (!groups.empty())
      return groupOf(*process.grid, process, groups, strategy);
    std::vector<int64_t> all;
    int64_t count = strategy == GroupStrategy::CrossPartition ? process.grid->partitions
                    : strategy == GroupStrategy::FlattenedIds ? process.grid->size()
                                                              : process.grid->replicas;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(i);
    return groupOf(*process.grid, process, {all}, strategy);
  }
};

Result<Membership> membershipOf(Operation *op, Planning &planning, bool partitionsByChannel) {
  Membership result;
  Attribute groups = op->getAttr("replica_groups");
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(groups)) {
    result.groups = rowsOf(dense);
  } else if (auto axes = dyn_cast_or_null<stablehlo::ReplicaGroupMeshAxesAttr>(groups)) {
    Result<Groups> found = groupsOf(axes, planning.getModule());
    if (!found)
      return Error{found.message()};
    result.groups = std::move(*found);
  }
  int64_t channel = 0;
  if (auto handle = op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle"))
    channel = handle.getHandle();
  bool global = op->hasAttr("use_global_device_ids");
  if (global && channel <= 0)
    return Error{"use_global_device_ids needs a positive channel"};
  if (channel > 0)
    result.strategy = partitionsByChannel ? GroupStrategy::CrossPartition
                      : global            ? GroupStrategy::FlattenedIds
                                          : GroupStrategy::CrossReplicaAndPartition;
  result.name = op->getName().stripDialect().str() + " on channel " + std::to_string(channel);
  return result;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Grid::Tensors tensorsOf(StepArguments &arguments, size_t count) {
  Grid::Tensors values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(arguments.tensor(i));
  return values;
}

/// What a collective does once all of its group are there.
using Combine = std::function<Status(Process &, StepArguments &, std::span<const int64_t> group,
                                     const std::vector<Grid::Tensors> &everybodys)>;

StepFunction collective(Membership membership, size_t operands, Combine combine) {
  return [=](Process &process, StepArguments &arguments) -> Status {
    Result<std::vector<int64_t>> group = membership.of(process);
    if (!group)
      return Error{group.message()};
    if (group->empty())
      return Error{"this process is in no replica group"};
    Result<Grid::Meeting> meeting =
        process.grid->meet(process, membership.name, *group, tensorsOf(arguments, operands));
    if (!meeting)
      return Error{meeting.message()};
    return combine(process, arguments, *group, **meeting);
  };
}

Status setOne(StepArguments &arguments, size_t i, Result<Tensor> result) {
  if (!result)
    return Error{result.message()};
  arguments.set(i, std::move(*result));
  return {};
}

std::vector<Tensor> column(const std::vector<Grid::Tensors> &values, size_t i) {
  std::vector<Tensor> result;
  for (const Grid::Tensors &row : values)
    result.push_back(row[i]);
  return result;
}

Result<StepFunction> planAllGather(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, planning, false);
  if (!membership)
    return Error{membership.message()};
  int64_t dimension = cast<stablehlo::AllGatherOp>(op).getAllGatherDim();
  size_t count = op->getNumOperands();
  return collective(*membership, count,
                    [=](Process &, StepArguments &arguments, std::span<const int64_t>,
                        const std::vector<Grid::Tensors> &values) -> Status {
                      for (size_t i = 0; i < count; ++i)
                        if (Status status = setOne(arguments, i,
                                                   concatenate(column(values, i), dimension));
                            !status)
                          return status;
                      return {};
                    });
}

/// Folds the values of a group, in the order of process numbers, the first being the start.
Result<Tensor> foldAll(std::vector<Tensor> values, std::span<const int64_t> group,
                       const ElementFunction &body) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](size_t a, size_t b) { return group[a] < group[b]; });
  const ElementType &type = body.argumentTypes()[0];
  Result<Tensor> sum = Tensor();
  for (size_t i : order) {
    Result<Tensor> value = values[i].elementType().quantization
                               ? Result<Tensor>(values[i])
                               : convert(values[i], type.storage);
    if (value)
      value = value->contiguous();
    if (!value)
      return value;
    if (i == order.front()) {
      sum = std::move(value);
      continue;
    }
    Result<Tensor> next =
        Tensor::uninitialized(type, tensor::Shape(sum->shape().begin(), sum->shape().end()));
    if (!next)
      return next;
    const void *in[] = {sum->data(), value->data()};
    void *out[] = {next->mutableData()};
    if (next->size())
      if (Status status = body.run(in, out, next->size()); !status)
        return Error{status.message()};
    sum = std::move(next);
  }
  return sum;
}

Result<StepFunction> planAllReduce(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, planning, false);
  if (!membership)
    return Error{membership.message()};
  auto body = planning.function(op->getRegion(0));
  if (!body)
    return Error{body.message()};
  size_t count = op->getNumOperands();
  return collective(*membership, count,
                    [=, body = *body](Process &process, StepArguments &arguments,
                                      std::span<const int64_t> group,
                                      const std::vector<Grid::Tensors> &values) -> Status {
                      auto function = body->bind(process, arguments.frame);
                      for (size_t i = 0; i < count; ++i)
                        if (Status status = setOne(arguments, i,
                                                   foldAll(column(values, i), group, *function));
                            !status)
                          return status;
                      return {};
                    });
}

/// cross-replica-sum: an all_reduce that adds.
Result<StepFunction> planCrossReplicaSum(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, planning, false);
  if (!membership)
    return Error{membership.message()};
  Result<ElementType> type = operandElement(op, 0);
  if (!type)
    return Error{type.message()};
  Result<ElementwiseOp> add = findElementwise(ElementOp::Add, type->storage, type->storage);
  if (!add)
    return Error{add.message()};
  return collective(*membership, 1,
                    [add = *add](Process &, StepArguments &arguments, std::span<const int64_t> group,
                                 const std::vector<Grid::Tensors> &values) -> Status {
                      std::map<int64_t, const Tensor *> ordered;
                      for (size_t i = 0; i < group.size(); ++i)
                        ordered[group[i]] = &values[i][0];
                      Result<Tensor> sum = *ordered.begin()->second;
                      for (auto it = std::next(ordered.begin()); sum && it != ordered.end(); ++it)
                        sum = elementwise(add, {&*sum, it->second});
                      return setOne(arguments, 0, std::move(sum));
                    });
}

/// Part `index` of `count` along a dimension.
Result<Tensor> partOf(const Tensor &tensor, int64_t dimension, int64_t index, int64_t count) {
  if (tensor.dim(dimension) % count)
    return Error{"a dimension of " + std::to_string(tensor.dim(dimension)) +
                 " cannot be split into " + std::to_string(count) + " parts"};
  int64_t size = tensor.dim(dimension) / count;
  std::vector<int64_t> start(tensor.rank(), 0), stride(tensor.rank(), 1);
  std::vector<int64_t> limit(tensor.shape().begin(), tensor.shape().end());
  start[dimension] = index * size;
  limit[dimension] = (index + 1) * size;
  return slice(tensor, start, limit, stride);
}

int64_t placeOf(Process &process, std::span<const int64_t> group) {
  return llvm::find(group, process.grid->id(process)) - group.begin();
}

Result<StepFunction> planReduceScatter(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, planning, false);
  if (!membership)
    return Error{membership.message()};
  auto body = planning.function(op->getRegion(0));
  if (!body)
    return Error{body.message()};
  int64_t dimension = cast<stablehlo::ReduceScatterOp>(op).getScatterDimension();
  return collective(*membership, 1,
                    [=, body = *body](Process &process, StepArguments &arguments,
                                      std::span<const int64_t> group,
                                      const std::vector<Grid::Tensors> &values) -> Status {
                      auto function = body->bind(process, arguments.frame);
                      Result<Tensor> sum = foldAll(column(values, 0), group, *function);
                      if (!sum)
                        return Error{sum.message()};
                      return setOne(arguments, 0,
                                    partOf(*sum, dimension, placeOf(process, group),
                                           static_cast<int64_t>(group.size())));
                    });
}

Result<StepFunction> planAllToAll(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, planning, true);
  if (!membership)
    return Error{membership.message()};
  auto exchange = cast<stablehlo::AllToAllOp>(op);
  int64_t split = exchange.getSplitDimension(), concat = exchange.getConcatDimension();
  int64_t parts = exchange.getSplitCount();
  size_t count = op->getNumOperands();
  return collective(*membership, count,
                    [=](Process &process, StepArguments &arguments, std::span<const int64_t> group,
                        const std::vector<Grid::Tensors> &values) -> Status {
                      for (size_t i = 0; i < count; ++i) {
                        std::vector<Tensor> received;
                        for (const Grid::Tensors &sender : values) {
                          Result<Tensor> part =
                              partOf(sender[i], split, placeOf(process, group), parts);
                          if (!part)
                            return Error{part.message()};
                          received.push_back(std::move(*part));
                        }
                        if (Status status = setOne(arguments, i, concatenate(received, concat));
                            !status)
                          return status;
                      }
                      return {};
                    });
}

Result<Tensor> zerosLike(const Tensor &tensor) {
  return Tensor::zeros(tensor.elementType(),
                       tensor::Shape(tensor.shape().begin(), tensor.shape().end()));
}

/// The member whose value counts: the first, or the one that operand `count + i` names.
Result<int64_t> rootOf(const Tensor *roots, size_t i, std::span<const int64_t> group) {
  if (!roots)
    return 0;
  Result<std::vector<int64_t>> values = integersOf(*roots);
  if (!values)
    return Error{values.message()};
  if (i >= values->size())
    return Error{"the root operand has too few entries"};
  int64_t root = (*values)[i];
  if (root < 0 || root >= static_cast<int64_t>(group.size()))
    return Error{"root " + std::to_string(root) + " is not in the group"};
  return root;
}

Result<StepFunction> planCollectiveBroadcast(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, planning, true);
  if (!membership)
    return Error{membership.message()};
  bool dynamic = op->hasAttr("has_dynamic_root");
  size_t count = op->getNumResults();
  StepFunction inGroup = collective(
      *membership, count,
      [=](Process &, StepArguments &arguments, std::span<const int64_t> group,
          const std::vector<Grid::Tensors> &values) -> Status {
        for (size_t i = 0; i < count; ++i) {
          Result<int64_t> root = rootOf(dynamic ? &arguments.tensor(count) : nullptr, i, group);
          if (!root)
            return Error{root.message()};
          arguments.set(i, values[*root][i]);
        }
        return {};
      });
  return StepFunction([=, membership = *membership](Process &process,
                                                    StepArguments &arguments) -> Status {
    Result<std::vector<int64_t>> group = membership.of(process);
    if (!group)
      return Error{group.message()};
    if (!group->empty())
      return inGroup(process, arguments);
    for (size_t i = 0; i < count; ++i)
      if (Status status = setOne(arguments, i, zerosLike(arguments.tensor(i))); !status)
        return status;
    return {};
  });
}

Result<StepFunction> planCollectiveReduce(Operation *op, Planning &planning) {
  Result<Membership> membership = membershipOf(op, planning, false);
  if (!membership)
    return Error{membership.message()};
  auto body = planning.function(op->getRegion(0));
  if (!body)
    return Error{body.message()};
  bool dynamic = op->hasAttr("has_dynamic_root");
  size_t count = op->getNumResults();
  return collective(
      *membership, count,
      [=, body = *body](Process &process, StepArguments &arguments, std::span<const int64_t> group,
                        const std::vector<Grid::Tensors> &values) -> Status {
        auto function = body->bind(process, arguments.frame);
        for (size_t i = 0; i < count; ++i) {
          Result<int64_t> root = rootOf(dynamic ? &arguments.tensor(count) : nullptr, i, group);
          if (!root)
            return Error{root.message()};
          Result<Tensor> sum = foldAll(column(values, i), group, *function);
          if (sum && placeOf(process, group) != *root)
            sum = zerosLike(*sum);
          if (Status status = setOne(arguments, i, std::move(sum)); !status)
            return status;
        }
        return {};
      });
}

Result<StepFunction> planCollectivePermute(Operation *op, Planning &planning) {
  auto permute = cast<stablehlo::CollectivePermuteOp>(op);
  Groups pairs = rowsOf(permute.getSourceTargetPairs());
  int64_t channel = permute.getChannelHandle() ? permute.getChannelHandle()->getHandle() : 0;
  bool partitions = channel > 0;
  std::string name = "collective_permute on channel " + std::to_string(channel);
  return StepFunction([=](Process &process, StepArguments &arguments) -> Status {
    Grid &grid = *process.grid;
    int64_t self = partitions ? process.partition : process.replica;
    int64_t count = partitions ? grid.partitions : grid.replicas;
    // Everybody who differs in this coordinate alone takes part.
    std::vector<int64_t> group;
    for (int64_t i = 0; i < count; ++i)
      group.push_back(partitions ? process.replica * int64_t(grid.partitions) + i
                                 : i * grid.partitions + process.partition);
    Result<Grid::Meeting> meeting = grid.meet(process, name, group, tensorsOf(arguments, 1));
    if (!meeting)
      return Error{meeting.message()};
    for (const std::vector<int64_t> &pair : pairs)
      if (pair.size() == 2 && pair[1] == self) {
        if (pair[0] >= count)
          return Error{"source " + std::to_string(pair[0]) + " is not in the grid"};
        arguments.set(0, (**meeting)[pair[0]][0]);
        return {};
      }
    return setOne(arguments, 0, zerosLike(arguments.tensor(0)));
  });
}

Result<StepFunction> planReplicaId(Operation *, Planning &) {
  return StepFunction([](Process &process, StepArguments &arguments) -> Status {
    arguments.set(0, Tensor::of<DType::U32>({}, {process.replica}));
    return {};
  });
}

Result<StepFunction> planPartitionId(Operation *, Planning &) {
  return StepFunction([](Process &process, StepArguments &arguments) -> Status {
    arguments.set(0, Tensor::of<DType::U32>({}, {process.partition}));
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Channels, feeds and futures
//===----------------------------------------------------------------------===//

Status setTensorsAndToken(StepArguments &arguments, Grid::Tensors values) {
  if (values.size() + 1 != arguments.resultCount())
    return Error{std::to_string(values.size()) + " values came in where " +
                 std::to_string(arguments.resultCount() - 1) + " are expected"};
  for (size_t i = 0; i < values.size(); ++i)
    arguments.set(i, std::move(values[i]));
  arguments.set(arguments.resultCount() - 1, Value::Token());
  return {};
}

Result<StepFunction> planInfeed(Operation *, Planning &) {
  return StepFunction([](Process &process, StepArguments &arguments) -> Status {
    Result<Grid::Tensors> values = process.grid->infeed();
    if (!values)
      return Error{values.message()};
    return setTensorsAndToken(arguments, std::move(*values));
  });
}

Result<StepFunction> planOutfeed(Operation *, Planning &) {
  return StepFunction([](Process &, StepArguments &arguments) -> Status {
    arguments.set(0, Value::Token());
    return {};
  });
}

/// The queue of a channel; with pairs it is that of the receiver.
std::string channelName(Operation *op) {
  auto handle = op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
  return std::to_string(handle ? handle.getHandle() : 0);
}
Groups pairsOf(Operation *op) {
  auto pairs = op->getAttrOfType<DenseIntElementsAttr>("source_target_pairs");
  return pairs ? rowsOf(pairs) : Groups();
}

Result<StepFunction> planSend(Operation *op, Planning &) {
  std::string channel = channelName(op);
  Groups pairs = pairsOf(op);
  return StepFunction([=](Process &process, StepArguments &arguments) -> Status {
    Grid::Tensors values = tensorsOf(arguments, arguments.size() - 1);
    if (pairs.empty())
      process.grid->send(channel, std::move(values));
    for (const std::vector<int64_t> &pair : pairs)
      if (pair.size() == 2 && pair[0] == process.grid->id(process))
        process.grid->send(channel + " to " + std::to_string(pair[1]), values);
    arguments.set(0, Value::Token());
    return {};
  });
}

Result<StepFunction> planRecv(Operation *op, Planning &) {
  std::string channel = channelName(op);
  Groups pairs = pairsOf(op);
  return StepFunction([=](Process &process, StepArguments &arguments) -> Status {
    std::string name = channel;
    if (!pairs.empty())
      name += " to " + std::to_string(process.grid->id(process));
    Result<Grid::Tensors> values = process.grid->receive(name);
    if (!values)
      return Error{values.message()};
    return setTensorsAndToken(arguments, std::move(*values));
  });
}

/// What is started runs at once; waiting for it is then no wait.
Result<StepFunction> planAsyncStart(Operation *op, Planning &planning) {
  Result<const BlockPlan *> body = planning.region(op->getRegion(0));
  if (!body)
    return Error{body.message()};
  return StepFunction([body = *body](Process &process, StepArguments &arguments) -> Status {
    for (size_t i = 0; i < arguments.size() && i < body->arguments.size(); ++i)
      arguments.frame[body->arguments[i]] = arguments.take(i);
    std::vector<Value> results;
    if (Status status = runBlock(process, arguments.frame, *body, results); !status)
      return status;
    arguments.set(0, Value::pack(std::move(results)));
    return {};
  });
}

Result<StepFunction> planAsyncDone(Operation *, Planning &) {
  return StepFunction([](Process &, StepArguments &arguments) -> Status {
    std::vector<Value> values = arguments.value(0).values();
    if (values.size() != arguments.resultCount())
      return Error{"the future holds another number of values"};
    for (size_t i = 0; i < values.size(); ++i)
      arguments.set(i, std::move(values[i]));
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

Result<StepFunction> planRunParallel(Operation *op, Planning &planning) {
  auto parallel = cast<interpreter::RunParallelOp>(op);
  std::vector<const FunctionPlan *> programs, feeds;
  size_t replicas = 0, partitions = 0;
  for (Attribute row : parallel.getPrograms()) {
    ++replicas;
    partitions = cast<ArrayAttr>(row).size();
    for (Attribute name : cast<ArrayAttr>(row)) {
      Result<const FunctionPlan *> program =
          planning.call(cast<FlatSymbolRefAttr>(name).getValue());
      if (!program)
        return Error{program.message()};
      programs.push_back(*program);
    }
  }
  if (programs.empty() || programs.size() != replicas * partitions)
    return Error{"all rows of the grid must have the same, positive number of programs"};
  if (std::optional<ArrayAttr> infeed = parallel.getInfeed())
    for (Attribute name : *infeed) {
      Result<const FunctionPlan *> program =
          planning.call(cast<FlatSymbolRefAttr>(name).getValue());
      if (!program)
        return Error{program.message()};
      feeds.push_back(*program);
    }
  return StepFunction([=](Process &process, StepArguments &arguments) -> Status {
    Grid grid(static_cast<uint32_t>(replicas), static_cast<uint32_t>(partitions));
    for (const FunctionPlan *feed : feeds) {
      std::vector<Value> results;
      if (Status status = callFunction(process, *feed, {}, results); !status)
        return status;
      Grid::Tensors values;
      for (Value &value : results)
        if (value.isTensor())
          values.push_back(std::move(value.tensor()));
      grid.feed(std::move(values));
    }
    // Arguments and results of all processes lie one after another.
    std::vector<std::vector<Value>> inputs(programs.size()), outputs(programs.size());
    size_t next = 0;
    for (size_t i = 0; i < programs.size(); ++i)
      for (size_t j = 0; j < programs[i]->argumentTypes.size(); ++j) {
        if (next == arguments.size())
          return Error{"the programs take more arguments than there are"};
        inputs[i].push_back(arguments.take(next++));
      }
    int depth = process.depth;
    bool done = grid.run(process.run, [&](Process &member) -> Status {
      member.depth = depth;
      int64_t id = grid.id(member);
      return callFunction(member, *programs[id], std::move(inputs[id]), outputs[id]);
    });
    if (!done) {
      process.located = true; // A process of the grid has told.
      return Error{process.run.failure() ? process.run.failure()->message : "a process failed"};
    }
    next = 0;
    for (std::vector<Value> &results : outputs)
      for (Value &value : results) {
        if (next == arguments.resultCount())
          return Error{"the programs have more results than there is place for"};
        arguments.set(next++, std::move(value));
      }
    if (next != arguments.resultCount())
      return Error{"the programs have fewer results than are expected"};
    return {};
  });
}

} // namespace

void registerCommunication(Registry &registry) {
  registry.add("stablehlo.all_gather", planAllGather);
  registry.add("stablehlo.all_reduce", planAllReduce);
  registry.add("stablehlo.reduce_scatter", planReduceScatter);
  registry.add("stablehlo.all_to_all", planAllToAll);
  registry.add("stablehlo.collective_broadcast", planCollectiveBroadcast);
  registry.add("stablehlo.collective_reduce", planCollectiveReduce);
  registry.add("stablehlo.collective_permute", planCollectivePermute);
  registry.add("stablehlo.cross-replica-sum", planCrossReplicaSum);
  registry.add("stablehlo.replica_id", planReplicaId);
  registry.add("stablehlo.partition_id", planPartitionId);
  registry.add("stablehlo.infeed", planInfeed);
  registry.add("stablehlo.outfeed", planOutfeed);
  registry.add("stablehlo.send", planSend);
  registry.add("stablehlo.recv", planRecv);
  registry.add("stablehlo.async_start", planAsyncStart);
  registry.add("stablehlo.async_done", planAsyncDone);
  registry.add("interpreter.run_parallel", planRunParallel);
}

} // namespace cupel::reference
