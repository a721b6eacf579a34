// Which processes talk to each other in a collective, and what each gets from the values of its
// group. Pure functions: who waits for whom is the executor's affair. Groups are lists of
// processes, and the values handed in are in the order of the group.

#pragma once

#include "cupel/reference/ElementFunction.h"

#include <compare>

namespace cupel::reference {

struct Process {
  int64_t replica = 0, partition = 0;
  auto operator<=>(const Process &) const = default;
};
using ProcessGroup = std::vector<Process>;

/// The grid of simulated processes.
struct ProcessGrid {
  int64_t replicas = 1, partitions = 1;
  int64_t size() const { return replicas * partitions; }
};

/// Lists of ids as replica_groups has them. No list at all stands for one group of all.
using IdGroups = std::vector<std::vector<int64_t>>;

/// From the dense [groups, size] attribute; -1 pads short groups.
Result<IdGroups> idGroups(const tensor::Tensor &dense);

/// One named axis of a mesh, or a part of it: sizes before and of the part (0: the whole axis).
struct MeshAxisRef {
  int64_t axis = 0;
  int64_t preSize = 1, size = 0;
};
struct Mesh {
  std::vector<int64_t> axisSizes;
  std::vector<int64_t> deviceIds; // empty: 0, 1, 2, ...
};
/// Groups that vary over the named axes, the first named slowest; the other axes enumerate the
/// groups.
Result<IdGroups> meshGroups(const Mesh &mesh, std::span<const MeshAxisRef> axes);

enum class Grouping : uint8_t {
  CrossReplica,             // ids are replicas: the group within each partition
  CrossPartition,           // ids are partitions: the group within each replica
  CrossReplicaAndPartition, // ids are replicas: the group with all partitions
  FlattenedIds,             // ids are replica * partitions + partition
};

enum class Collective : uint8_t {
  AllGather,
  AllReduce,
  ReduceScatter,
  CollectiveReduce,
  AllToAll,
  CollectivePermute,
  CollectiveBroadcast,
};
/// What the ids of this op mean.
Result<Grouping> groupingOf(Collective op, int64_t channelId, bool useGlobalDeviceIds);

/// All groups, each process in at most one. Ids out of range or repeated are an error.
Result<std::vector<ProcessGroup>> processGroups(Grouping grouping, const IdGroups &groups,
                                                ProcessGrid grid);
/// The group of this process, or null.
const ProcessGroup *findGroup(std::span<const ProcessGroup> groups, Process process);

/// (source, target) pairs of collective_permute.
Result<std::vector<std::pair<Process, Process>>>
permutePairs(Grouping grouping, std::span<const std::pair<int64_t, int64_t>> pairs,
             ProcessGrid grid);

/// What the members of a group get, in the order of the group, from one operand of each.
using GroupValues = std::vector<tensor::Tensor>;

/// Everybody: all operands, one after the other along `dimension`.
Result<GroupValues> allGather(std::span<const tensor::Tensor> operands, int64_t dimension);

/// Everybody: the operands folded in order of processes (not of the group), the first as the start.
/// The function's types may be wider than the operands'; then the result has them.
Result<GroupValues> allReduce(const ProcessGroup &group, std::span<const tensor::Tensor> operands,
                              const ElementFunction &function);

/// Member i: part i of the folded value along `dimension`.
Result<GroupValues> reduceScatter(const ProcessGroup &group,
                                  std::span<const tensor::Tensor> operands, int64_t dimension,
                                  const ElementFunction &function);

/// Member i: part i (of `splitCount` along `splitDimension`) of every operand, one after the other
/// along `concatDimension`.
Result<GroupValues> allToAll(std::span<const tensor::Tensor> operands, int64_t splitDimension,
                             int64_t concatDimension, int64_t splitCount);

/// Everybody: the value of member `root`. An outsider gets zeros (zerosLike).
Result<GroupValues> collectiveBroadcast(std::span<const tensor::Tensor> operands, int64_t root);

/// Member `root`: the folded value; the others zeros of its type.
Result<GroupValues> collectiveReduce(const ProcessGroup &group,
                                     std::span<const tensor::Tensor> operands, int64_t root,
                                     const ElementFunction &function);

/// Every target gets its source's operand, everybody else zeros. `operands` are those of
/// `processes`.
Result<GroupValues> collectivePermute(std::span<const Process> processes,
                                      std::span<const tensor::Tensor> operands,
                                      std::span<const std::pair<Process, Process>> pairs);

Result<tensor::Tensor> zerosLike(const tensor::Tensor &tensor);

} // namespace cupel::reference
