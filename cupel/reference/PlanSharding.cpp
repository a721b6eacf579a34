// What Shardy's operations do to values. A program is on whole tensors (global view), so shardings
// change nothing; a manual computation runs on a grid with a process for every device of its mesh,
// each with its piece of the operands, and the pieces of the results are put together again.

#include "cupel/reference/Grid.h"
#include "cupel/reference/PlanMesh.h"
#include "cupel/reference/Registry.h"

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/tensor/Tensor.h"

#include <cstring>

namespace cupel::reference {

using namespace mlir;
using tensor::Shape;
using tensor::Tensor;

namespace {

/// The part of a mesh axis that splits a dimension: axis `axis` counts `size` parts, each of which
/// is `after` devices long.
struct Split {
  int64_t axis, size, after;
};

/// How one tensor is cut: for each dimension its splits, major first.
struct Cut {
  std::vector<std::vector<Split>> dimensions;

  /// Which piece along `dimension` belongs to the device at these coordinates.
  int64_t piece(size_t dimension, std::span<const int64_t> coordinates) const {
    int64_t index = 0;
    for (const Split &split : dimensions[dimension])
      index = index * split.size + coordinates[split.axis] / split.after % split.size;
    return index;
  }
  int64_t pieces(size_t dimension) const {
    int64_t count = 1;
    for (const Split &split : dimensions[dimension])
      count *= split.size;
    return count;
  }
};

struct Layout {
  std::vector<int64_t> axisSizes;
  std::vector<int64_t> positions; ///< By device id: where it lies in the mesh, row-major.
  std::vector<bool> isManual;     ///< By axis.
  std::vector<Cut> operands, results;

  std::vector<int64_t> coordinates(int64_t position) const {
    std::vector<int64_t> result(axisSizes.size());
    for (size_t i = axisSizes.size(); i-- > 0; position /= axisSizes[i])
      result[i] = position % axisSizes[i];
    return result;
  }
};

Result<Cut> cutOf(sdy::TensorShardingAttr sharding, const NamedMesh &mesh,
                  const std::vector<bool> &isManual) {
  if (!sharding.getUnreducedAxes().empty())
    return Error{"a manual computation with unreduced values is not evaluated: what is to be "
                 "reduced is not a tensor yet"};
  Cut cut;
  for (sdy::DimensionShardingAttr dimension : sharding.getDimShardings()) {
    cut.dimensions.emplace_back();
    for (sdy::AxisRefAttr ref : dimension.getAxes()) {
      std::optional<int64_t> axis = mesh.find(ref.getName());
      if (!axis)
        return Error{"the mesh has no axis " + ref.getName().str()};
      if (!isManual[*axis])
        continue; // Along free axes the body sees the whole.
      int64_t whole = mesh.mesh.axisSizes[*axis], before = 1, size = whole;
      if (auto part = ref.getSubAxisInfo()) {
        before = part.getPreSize();
        size = part.getSize();
      }
      if (before < 1 || size < 1 || whole / before / size < 1)
        return Error{"the part of axis " + ref.getName().str() + " is not in the mesh"};
      cut.dimensions.back().push_back({*axis, size, whole / before / size});
    }
  }
  return cut;
}

Result<std::vector<Cut>> cutsOf(sdy::TensorShardingPerValueAttr shardings, const NamedMesh &mesh,
                                const std::vector<bool> &isManual) {
  std::vector<Cut> cuts;
  for (sdy::TensorShardingAttr sharding : shardings.getShardings()) {
    Result<Cut> cut = cutOf(sharding, mesh, isManual);
    if (!cut)
      return Error{cut.message()};
    cuts.push_back(std::move(*cut));
  }
  return cuts;
}

Result<Layout> layoutOf(sdy::ManualComputationOp op, ModuleOp module) {
  NamedMesh mesh;
  for (auto shardings : {op.getInShardings(), op.getOutShardings()})
    if (!shardings.getShardings().empty() && mesh.axes.empty()) {
      Result<NamedMesh> found = meshOf(shardings.getShardings().front().getMeshOrRef(), module);
      if (!found)
        return Error{found.message()};
      mesh = std::move(*found);
    }
  Layout layout;
  layout.axisSizes = mesh.mesh.axisSizes;
  int64_t devices = mesh.devices();
  constexpr int64_t kMost = 4096;
  if (devices < 1 || devices > kMost)
    return Error{"a mesh of " + std::to_string(devices) +
                 " devices is not evaluated; it may have " + std::to_string(kMost)};
  layout.positions.assign(devices, -1);
  for (int64_t i = 0; i < devices; ++i) {
    int64_t id = mesh.mesh.deviceIds.empty() ? i : mesh.mesh.deviceIds[i];
    if (id < 0 || id >= devices || layout.positions[id] != -1)
      return Error{"the device ids of the mesh are not the numbers from 0 to " +
                   std::to_string(devices - 1)};
    layout.positions[id] = i;
  }
  layout.isManual.assign(mesh.axes.size(), false);
  for (StringAttr name : op.getManualAxes())
    if (std::optional<int64_t> axis = mesh.find(name.getValue()))
      layout.isManual[*axis] = true;
  auto operands = cutsOf(op.getInShardings(), mesh, layout.isManual);
  auto results = cutsOf(op.getOutShardings(), mesh, layout.isManual);
  if (!operands || !results)
    return Error{!operands ? operands.message() : results.message()};
  layout.operands = std::move(*operands);
  layout.results = std::move(*results);
  return layout;
}

Result<Value> pieceOf(const Value &value, const Cut &cut, std::span<const int64_t> coordinates) {
  if (!value.isTensor())
    return value;
  const Tensor &whole = value.tensor();
  std::vector<int64_t> start, limit, stride(whole.rank(), 1);
  for (int64_t i = 0; i < whole.rank(); ++i) {
    int64_t pieces = i < static_cast<int64_t>(cut.dimensions.size()) ? cut.pieces(i) : 1;
    if (whole.dim(i) % pieces)
      return Error{"a dimension of size " + std::to_string(whole.dim(i)) +
                   " cannot be split evenly into " + std::to_string(pieces)};
    int64_t size = whole.dim(i) / pieces;
    start.push_back(pieces == 1 ? 0 : cut.piece(i, coordinates) * size);
    limit.push_back(start.back() + size);
  }
  Result<Tensor> piece = whole.sliced(start, limit, stride).contiguous();
  if (!piece)
    return Error{piece.message()};
  return Value(std::move(*piece));
}

/// Copies a contiguous piece to its place in a contiguous whole.
void place(const Tensor &piece, std::span<const int64_t> shape, std::span<const int64_t> start,
           std::byte *whole) {
  int64_t element = tensor::info(piece.dtype()).bytes;
  size_t rank = shape.size();
  if (piece.size() == 0)
    return;
  int64_t run = rank ? piece.dim(static_cast<int64_t>(rank) - 1) : 1;
  for (int64_t done = 0; done < piece.size(); done += run) {
    int64_t rest = done, offset = 0, step = 1;
    for (size_t i = rank; i-- > 0;) {
      offset += (start[i] + rest % piece.dim(i)) * step;
      rest /= piece.dim(i);
      step *= shape[i];
    }
    std::memcpy(whole + offset * element, piece.data() + done * element, run * element);
  }
}

/// The whole that these pieces are of; `coordinates` are those of the devices that hold them.
/// Where several hold the same piece, the first one's counts.
Result<Value> wholeOf(std::span<const Value *const> pieces,
                      std::span<const std::vector<int64_t>> coordinates, const Cut &cut) {
  if (!pieces.front()->isTensor())
    return *pieces.front();
  const Tensor &first = pieces.front()->tensor();
  Shape shape(first.shape().begin(), first.shape().end());
  for (size_t i = 0; i < shape.size() && i < cut.dimensions.size(); ++i)
    if (__builtin_mul_overflow(shape[i], cut.pieces(i), &shape[i]))
      return Error{"the result is too large"};
  Result<Tensor> whole = Tensor::uninitialized(first.elementType(), shape);
  if (!whole)
    return Error{whole.message()};
  std::byte *bytes = whole->mutableData();
  for (size_t device = pieces.size(); device-- > 0;) {
    Result<Tensor> piece = pieces[device]->tensor().contiguous();
    if (!piece)
      return Error{piece.message()};
    std::vector<int64_t> start;
    for (int64_t i = 0; i < piece->rank(); ++i) {
      if (piece->dim(i) != first.dim(i))
        return Error{"the devices have results of different shapes"};
      start.push_back(i < static_cast<int64_t>(cut.dimensions.size())
                          ? cut.piece(i, coordinates[device]) * piece->dim(i)
                          : 0);
    }
    place(*piece, shape, start, bytes);
  }
  return Value(std::move(*whole));
}

/// The body on one device.
Status runBody(GridProcess &process, const Layout &layout, const BlockPlan &body,
               StepArguments &arguments, std::vector<Value> &results) {
  std::vector<int64_t> mine = layout.coordinates(layout.positions[process.grid->id(process)]);
  Frame frame(arguments.frame.size()); // The body sees nothing from outside.
  for (size_t i = 0; i < arguments.size(); ++i) {
    Result<Value> piece = pieceOf(arguments.value(i), layout.operands[i], mine);
    if (!piece)
      return Error{piece.message()};
    frame[body.arguments[i]] = std::move(*piece);
  }
  return runBlock(process, frame, body, results);
}

Status setWholes(StepArguments &arguments, const Layout &layout,
                 std::span<const std::vector<Value>> outputs,
                 std::span<const std::vector<int64_t>> coordinates) {
  for (size_t i = 0; i < arguments.resultCount(); ++i) {
    std::vector<const Value *> pieces;
    for (const std::vector<Value> &output : outputs)
      pieces.push_back(&output[i]);
    Result<Value> whole = wholeOf(pieces, coordinates, layout.results[i]);
    if (!whole)
      return Error{whole.message()};
    arguments.set(i, std::move(*whole));
  }
  return {};
}

/// Within a manual computation the devices are there already: each takes its piece of what it has,
/// and meets those that differ from it along the manual axes alone.
Status runNested(GridProcess &process, StepArguments &arguments, const Layout &layout,
                 const BlockPlan &body, const std::string &name) {
  std::vector<Value> own;
  if (Status status = runBody(process, layout, body, arguments, own); !status)
    return status;
  std::vector<int64_t> mine = layout.coordinates(layout.positions[process.grid->id(process)]);
  std::vector<int64_t> group;
  std::vector<std::vector<int64_t>> coordinates;
  for (int64_t id = 0; id < static_cast<int64_t>(layout.positions.size()); ++id) {
    std::vector<int64_t> other = layout.coordinates(layout.positions[id]);
    bool member = true;
    for (size_t axis = 0; axis < mine.size(); ++axis)
      member &= layout.isManual[axis] || other[axis] == mine[axis];
    if (!member)
      continue;
    group.push_back(id);
    coordinates.push_back(std::move(other));
  }
  Grid::Tensors values;
  for (const Value &value : own) {
    if (!value.isTensor())
      return Error{"a manual computation within another gives tensors only"};
    values.push_back(value.tensor());
  }
  Result<Grid::Meeting> meeting = process.grid->meet(process, name, group, std::move(values));
  if (!meeting)
    return Error{meeting.message()};
  std::vector<std::vector<Value>> outputs;
  for (const Grid::Tensors &member : **meeting)
    outputs.emplace_back(member.begin(), member.end());
  return setWholes(arguments, layout, outputs, coordinates);
}

Result<StepFunction> planManualComputation(Operation *op, Planning &planning) {
  Result<Layout> layout = layoutOf(cast<sdy::ManualComputationOp>(op), planning.getModule());
  if (!layout)
    return Error{layout.message()};
  if (layout->positions.size() == 1)
    return planInlineRegion(op, planning);
  Result<const BlockPlan *> planned = planning.region(op->getRegion(0));
  if (!planned)
    return Error{planned.message()};
  const BlockPlan *body = *planned;
  std::string name = "manual_computation at " + describeLocation(op->getLoc());
  return StepFunction(
      [=, layout = *layout](GridProcess &process, StepArguments &arguments) -> Status {
        auto devices = static_cast<uint32_t>(layout.positions.size());
        if (process.meshDevices == devices)
          return runNested(process, arguments, layout, *body, name);
        if (process.meshDevices)
          return Error{"a manual computation over " + std::to_string(devices) +
                       " devices lies in one over " + std::to_string(process.meshDevices)};
        Grid grid(1, devices);
        std::vector<std::vector<Value>> outputs(devices);
        int depth = process.depth;
        bool done = grid.run(process.run, [&](GridProcess &member) -> Status {
          member.depth = depth;
          member.meshDevices = devices;
          return runBody(member, layout, *body, arguments, outputs[grid.id(member)]);
        });
        if (!done) {
          process.located = true; // A process of the grid has told.
          return Error{process.run.failure() ? process.run.failure()->message : "a device failed"};
        }
        std::vector<std::vector<int64_t>> coordinates;
        for (int64_t position : layout.positions)
          coordinates.push_back(layout.coordinates(position));
        return setWholes(arguments, layout, outputs, coordinates);
      });
}

} // namespace

void registerSharding(Registry &registry) {
  // The value of a whole tensor does not depend on how it is split. The collectives move pieces (or
  // add up what is still to be added up) so that the whole stays what it is.
  for (const char *name :
       {"sharding_constraint", "reshard", "propagation_barrier", "data_flow_edge", "sharding_group",
        "all_gather", "all_slice", "all_to_all", "collective_permute", "all_reduce",
        "reduce_scatter", "sharded_to_unreduced", "replicated_to_unreduced"})
    registry.add(std::string("sdy.") + name, planIdentity);
  registry.add("sdy.named_computation", planInlineRegion);
  registry.add("sdy.manual_computation", planManualComputation);
}

} // namespace cupel::reference
