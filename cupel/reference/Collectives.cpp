#include "cupel/reference/Collectives.h"

#include "cupel/tensor/Convert.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

Shape shapeOf(const Tensor &tensor) { return {tensor.shape().begin(), tensor.shape().end()}; }

Status checkAlike(std::span<const Tensor> operands) {
  if (operands.empty())
    return Error{"a collective without processes has no result"};
  for (const Tensor &operand : operands)
    if (!(operand.elementType() == operands[0].elementType()) ||
        !std::ranges::equal(operand.shape(), operands[0].shape()))
      return Error{"processes of one group bring different tensors: " +
                   tensor::describe(operands[0].elementType(), operands[0].shape()) + " and " +
                   tensor::describe(operand.elementType(), operand.shape())};
  return {};
}

Error badDimension(int64_t dimension, const Tensor &operand) {
  return {"collective: dimension " + std::to_string(dimension) + " does not fit " +
          tensor::describe(operand.elementType(), operand.shape())};
}

/// Parts of equal shape one after the other along `dimension`.
Result<Tensor> concatenated(std::span<const Tensor> parts, int64_t dimension) {
  Shape shape = shapeOf(parts[0]);
  if (__builtin_mul_overflow(shape[dimension], static_cast<int64_t>(parts.size()),
                             &shape[dimension]))
    return badDimension(dimension, parts[0]);
  Result<Tensor> result = Tensor::uninitialized(parts[0].elementType(), shape);
  if (!result || result->size() == 0)
    return result;
  int64_t outer = 1;
  for (int64_t d = 0; d < dimension; ++d)
    outer *= shape[d];
  int64_t run = parts[0].byteSize() / outer;
  std::byte *target = result->mutableData();
  for (size_t i = 0; i < parts.size(); ++i) {
    Result<Tensor> dense = parts[i].contiguous();
    if (!dense)
      return dense;
    for (int64_t o = 0; o < outer; ++o)
      std::memcpy(target + (o * static_cast<int64_t>(parts.size()) + static_cast<int64_t>(i)) * run,
                  dense->data() + o * run, static_cast<size_t>(run));
  }
  return result;
}

/// Part `index` of `count` equal ones along `dimension`: a view.
Tensor part(const Tensor &tensor, int64_t dimension, int64_t index, int64_t count) {
  Shape start(tensor.rank(), 0), limit = shapeOf(tensor), stride(tensor.rank(), 1);
  int64_t size = limit[dimension] / count;
  start[dimension] = index * size;
  limit[dimension] = start[dimension] + size;
  return tensor.sliced(start, limit, stride);
}

Result<Tensor> fold(const ProcessGroup &group, std::span<const Tensor> operands,
                    const ElementFunction &function) {
  if (Status ok = checkAlike(operands); !ok)
    return ok.error();
  if (group.size() != operands.size())
    return Error{"a group of " + std::to_string(group.size()) + " processes brings " +
                 std::to_string(operands.size()) + " values"};
  std::vector<size_t> order(group.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](size_t a, size_t b) { return group[a] < group[b]; });

  const tensor::ElementType &type = function.resultTypes()[0];
  auto prepared = [&](const Tensor &operand) -> Result<Tensor> {
    if (operand.dtype() != type.storage)
      return tensor::convert(operand, type.storage);
    return operand.contiguous();
  };
  Result<Tensor> total = prepared(operands[order[0]]);
  if (!total)
    return total;
  for (size_t i = 1; i < order.size(); ++i) {
    Result<Tensor> next = prepared(operands[order[i]]);
    if (!next)
      return next;
    Result<Tensor> sum = Tensor::uninitialized(total->elementType(), shapeOf(*total));
    if (!sum)
      return sum;
    const void *arguments[] = {total->data(), next->data()};
    void *results[] = {sum->mutableData()};
    if (Status ok = function.run(arguments, results, sum->size()); !ok)
      return ok.error();
    total = std::move(sum);
  }
  return total;
}

} // namespace

Result<IdGroups> idGroups(const Tensor &dense) {
  if (dense.rank() != 2 || !tensor::isInteger(dense.dtype()))
    return Error{"replica_groups must be integers in two dimensions, not " +
                 tensor::describe(dense.elementType(), dense.shape())};
  Result<Tensor> wide = tensor::convert(dense, DType::I64);
  if (!wide)
    return wide.error();
  IdGroups groups;
  const auto *ids = wide->dataAs<int64_t>();
  for (int64_t g = 0; dense.size() != 0 && g < dense.dim(0); ++g) {
    groups.emplace_back();
    for (int64_t i = 0; i < dense.dim(1); ++i)
      if (int64_t id = ids[g * dense.dim(1) + i]; id != -1)
        groups.back().push_back(id);
  }
  return groups;
}

Result<IdGroups> meshGroups(const Mesh &mesh, std::span<const MeshAxisRef> axes) {
  std::optional<int64_t> devices = tensor::elementCount(mesh.axisSizes);
  constexpr int64_t kMostDevices = 1 << 24;
  if (!devices || *devices > kMostDevices ||
      (!mesh.deviceIds.empty() && static_cast<int64_t>(mesh.deviceIds.size()) != *devices))
    return Error{"the mesh has not as many device ids as its axes ask for"};
  int64_t groupSize = 1;
  for (const MeshAxisRef &ref : axes) {
    if (ref.axis < 0 || ref.axis >= static_cast<int64_t>(mesh.axisSizes.size()))
      return Error{"replica groups name an axis that the mesh does not have"};
    int64_t whole = mesh.axisSizes[ref.axis], part = ref.size ? ref.size : whole, cut = 0;
    if (ref.preSize < 1 || part < 1 || __builtin_mul_overflow(ref.preSize, part, &cut) ||
        whole % cut)
      return Error{"replica groups name a part that does not divide an axis of size " +
                   std::to_string(whole)};
    groupSize *= part;
    if (groupSize > kMostDevices)
      return Error{"replica groups name more devices than the mesh has"};
  }
  // Devices that agree in all that is not named form a group.
  std::map<std::vector<int64_t>, size_t> groupOf;
  IdGroups groups;
  std::vector<int64_t> index(mesh.axisSizes.size(), 0);
  for (int64_t device = 0; device < *devices; ++device) {
    int64_t rest = device;
    for (size_t d = index.size(); d-- > 0; rest /= mesh.axisSizes[d])
      index[d] = rest % mesh.axisSizes[d];
    std::vector<int64_t> others = index;
    int64_t position = 0;
    for (const MeshAxisRef &ref : axes) {
      int64_t whole = mesh.axisSizes[ref.axis], size = ref.size ? ref.size : whole;
      int64_t unit = whole / (ref.preSize * size);
      int64_t digit = index[ref.axis] / unit % size;
      position = position * size + digit;
      others[ref.axis] -= digit * unit;
    }
    auto [entry, isNew] = groupOf.try_emplace(others, groups.size());
    if (isNew)
      groups.emplace_back(groupSize, -1);
    groups[entry->second][position] = mesh.deviceIds.empty() ? device : mesh.deviceIds[device];
  }
  for (const std::vector<int64_t> &group : groups)
    if (std::ranges::find(group, -1) != group.end())
      return Error{"replica groups name an axis of the mesh twice"};
  return groups;
}

Result<Grouping> groupingOf(Collective op, int64_t channelId, bool useGlobalDeviceIds) {
  if (useGlobalDeviceIds && channelId <= 0)
    return Error{"use_global_device_ids needs a positive channel id"};
  if (channelId <= 0)
    return Grouping::CrossReplica;
  switch (op) {
  case Collective::AllToAll:
  case Collective::CollectivePermute:
  case Collective::CollectiveBroadcast:
    return Grouping::CrossPartition;
  default:
    return useGlobalDeviceIds ? Grouping::FlattenedIds : Grouping::CrossReplicaAndPartition;
  }
}

Result<std::vector<ProcessGroup>> processGroups(Grouping grouping, const IdGroups &groups,
                                                ProcessGrid grid) {
  int64_t limit = grouping == Grouping::CrossPartition ? grid.partitions
                  : grouping == Grouping::FlattenedIds ? grid.size()
                                                       : grid.replicas;
  IdGroups lists = groups;
  if (lists.empty()) {
    lists.emplace_back(limit);
    std::iota(lists[0].begin(), lists[0].end(), 0);
  }
  std::set<int64_t> seen;
  for (const std::vector<int64_t> &list : lists)
    for (int64_t id : list)
      if (id < 0 || id >= limit || !seen.insert(id).second)
        return Error{"replica_groups: id " + std::to_string(id) +
                     (id < 0 || id >= limit
                          ? " is not one of " + std::to_string(limit) + " (" +
                                std::to_string(grid.replicas) + " replicas, " +
                                std::to_string(grid.partitions) + " partitions run)"
                          : " occurs twice")};

  std::vector<ProcessGroup> result;
  for (const std::vector<int64_t> &list : lists) {
    switch (grouping) {
    case Grouping::CrossReplica:
      for (int64_t p = 0; p < grid.partitions; ++p) {
        ProcessGroup &group = result.emplace_back();
        for (int64_t r : list)
          group.push_back({r, p});
      }
      break;
    case Grouping::CrossPartition:
      for (int64_t r = 0; r < grid.replicas; ++r) {
        ProcessGroup &group = result.emplace_back();
        for (int64_t p : list)
          group.push_back({r, p});
      }
      break;
    case Grouping::CrossReplicaAndPartition: {
      ProcessGroup &group = result.emplace_back();
      for (int64_t p = 0; p < grid.partitions; ++p)
        for (int64_t r : list)
          group.push_back({r, p});
      break;
    }
    case Grouping::FlattenedIds: {
      ProcessGroup &group = result.emplace_back();
      for (int64_t id : list)
        group.push_back({id / grid.partitions, id % grid.partitions});
      break;
    }
    }
  }
  std::erase_if(result, [](const ProcessGroup &group) { return group.empty(); });
  return result;
}

const ProcessGroup *findGroup(std::span<const ProcessGroup> groups, Process process) {
  for (const ProcessGroup &group : groups)
    if (std::ranges::find(group, process) != group.end())
      return &group;
  return nullptr;
}

Result<std::vector<std::pair<Process, Process>>>
permutePairs(Grouping grouping, std::span<const std::pair<int64_t, int64_t>> pairs,
             ProcessGrid grid) {
  bool acrossPartitions = grouping == Grouping::CrossPartition;
  int64_t limit = acrossPartitions ? grid.partitions : grid.replicas;
  std::set<int64_t> sources, targets;
  std::vector<std::pair<Process, Process>> result;
  for (auto [source, target] : pairs) {
    if (source < 0 || source >= limit || target < 0 || target >= limit)
      return Error{"source_target_pairs: (" + std::to_string(source) + ", " +
                   std::to_string(target) + ") names one that does not run; there are " +
                   std::to_string(limit)};
    if (!sources.insert(source).second || !targets.insert(target).second)
      return Error{"source_target_pairs: (" + std::to_string(source) + ", " +
                   std::to_string(target) + ") repeats a source or a target"};
    for (int64_t i = 0; i < (acrossPartitions ? grid.replicas : grid.partitions); ++i) {
      if (acrossPartitions)
        result.push_back({{i, source}, {i, target}});
      else
        result.push_back({{source, i}, {target, i}});
    }
  }
  return result;
}

Result<GroupValues> allGather(std::span<const Tensor> operands, int64_t dimension) {
  if (Status ok = checkAlike(operands); !ok)
    return ok.error();
  if (dimension < 0 || dimension >= operands[0].rank())
    return badDimension(dimension, operands[0]);
  Result<Tensor> all = concatenated(operands, dimension);
  if (!all)
    return all.error();
  return GroupValues(operands.size(), *all);
}

Result<GroupValues> allReduce(const ProcessGroup &group, std::span<const Tensor> operands,
                              const ElementFunction &function) {
  Result<Tensor> total = fold(group, operands, function);
  if (!total)
    return total.error();
  return GroupValues(operands.size(), *total);
}

Result<GroupValues> reduceScatter(const ProcessGroup &group, std::span<const Tensor> operands,
                                  int64_t dimension, const ElementFunction &function) {
  Result<Tensor> total = fold(group, operands, function);
  if (!total)
    return total.error();
  auto count = static_cast<int64_t>(operands.size());
  if (dimension < 0 || dimension >= total->rank() || total->dim(dimension) % count)
    return badDimension(dimension, *total);
  GroupValues results;
  for (int64_t i = 0; i < count; ++i) {
    Result<Tensor> own = part(*total, dimension, i, count).contiguous();
    if (!own)
      return own.error();
    results.push_back(std::move(*own));
  }
  return results;
}

Result<GroupValues> allToAll(std::span<const Tensor> operands, int64_t splitDimension,
                             int64_t concatDimension, int64_t splitCount) {
  if (Status ok = checkAlike(operands); !ok)
    return ok.error();
  int64_t rank = operands[0].rank();
  if (splitCount != static_cast<int64_t>(operands.size()))
    return Error{"all_to_all: split_count is " + std::to_string(splitCount) + " in a group of " +
                 std::to_string(operands.size())};
  if (splitDimension < 0 || splitDimension >= rank || concatDimension < 0 ||
      concatDimension >= rank || operands[0].dim(splitDimension) % splitCount)
    return badDimension(splitDimension, operands[0]);
  GroupValues results;
  for (int64_t i = 0; i < splitCount; ++i) {
    std::vector<Tensor> parts;
    for (const Tensor &operand : operands)
      parts.push_back(part(operand, splitDimension, i, splitCount));
    Result<Tensor> joined = concatenated(parts, concatDimension);
    if (!joined)
      return joined.error();
    results.push_back(std::move(*joined));
  }
  return results;
}

Result<GroupValues> collectiveBroadcast(std::span<const Tensor> operands, int64_t root) {
  if (Status ok = checkAlike(operands); !ok)
    return ok.error();
  if (root < 0 || root >= static_cast<int64_t>(operands.size()))
    return Error{"collective_broadcast: root " + std::to_string(root) + " is not in a group of " +
                 std::to_string(operands.size())};
  return GroupValues(operands.size(), operands[root]);
}

Result<GroupValues> collectiveReduce(const ProcessGroup &group, std::span<const Tensor> operands,
                                     int64_t root, const ElementFunction &function) {
  if (root < 0 || root >= static_cast<int64_t>(operands.size()))
    return Error{"collective_reduce: root " + std::to_string(root) + " is not in a group of " +
                 std::to_string(operands.size())};
  Result<Tensor> total = fold(group, operands, function);
  if (!total)
    return total.error();
  Result<Tensor> zeros = zerosLike(*total);
  if (!zeros)
    return zeros.error();
  GroupValues results(operands.size(), *zeros);
  results[root] = std::move(*total);
  return results;
}

Result<GroupValues> collectivePermute(std::span<const Process> processes,
                                      std::span<const Tensor> operands,
                                      std::span<const std::pair<Process, Process>> pairs) {
  if (Status ok = checkAlike(operands); !ok)
    return ok.error();
  if (processes.size() != operands.size())
    return Error{"collective_permute: " + std::to_string(processes.size()) + " processes bring " +
                 std::to_string(operands.size()) + " values"};
  Result<Tensor> zeros = zerosLike(operands[0]);
  if (!zeros)
    return zeros.error();
  std::map<Process, Process> sourceOf;
  for (auto [source, target] : pairs)
    sourceOf[target] = source;
  std::map<Process, size_t> positionOf;
  for (size_t i = 0; i < processes.size(); ++i)
    positionOf[processes[i]] = i;
  GroupValues results;
  for (Process process : processes) {
    auto source = sourceOf.find(process);
    auto position = source == sourceOf.end() ? positionOf.end() : positionOf.find(source->second);
    results.push_back(position == positionOf.end() ? *zeros : operands[position->second]);
  }
  return results;
}

Result<Tensor> zerosLike(const Tensor &tensor) {
  return Tensor::zeros(tensor.elementType(), shapeOf(tensor));
}

} // namespace cupel::reference
