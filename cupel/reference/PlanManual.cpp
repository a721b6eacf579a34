// Computations on the pieces that devices hold: sdy.manual_computation, and the custom calls that
// said the same before it.

#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Grid.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/ShardsOf.h"

#include "cupel/ir/sdy/SdyAxes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using tensor::Shards;
using tensor::Tensor;

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

sdy::MeshAttr meshOf(sdy::TensorShardingAttr sharding, ModuleOp module) {
  if (auto mesh = dyn_cast<sdy::MeshAttr>(sharding.getMeshOrRef()))
    return mesh;
  auto name = dyn_cast<FlatSymbolRefAttr>(sharding.getMeshOrRef());
  if (!name)
    return {};
  auto mesh = module.lookupSymbol<sdy::MeshOp>(name.getValue());
  return mesh ? mesh.getMesh() : sdy::MeshAttr();
}

Result<int64_t> deviceCount(sdy::MeshAttr mesh) {
  int64_t count = 1;
  for (sdy::MeshAxisAttr axis : mesh.getAxes())
    if (axis.getSize() <= 0 || __builtin_mul_overflow(count, axis.getSize(), &count) ||
        count > (1 << 24))
      return Error{"the mesh has an impossible number of devices"};
  return count;
}

Result<Shards> shardsOf(sdy::TensorShardingAttr sharding, sdy::MeshAttr mesh,
                        const std::function<bool(StringRef)> &counts) {
  if (mesh.isMaximal())
    return Shards::maximal(mesh.getDeviceIds()[0]);
  Result<int64_t> total = deviceCount(mesh);
  if (!total)
    return total.error();

  // Devices lie row-major in a box of the parts of axes: the number of a device is the sum over
  // parts of index * step. First the parts that split dimensions, in order; then what is left.
  struct Part {
    int64_t size, step;
  };
  llvm::StringMap<int64_t> axisStep; // Of the axis as a whole.
  int64_t step = *total;
  for (sdy::MeshAxisAttr axis : mesh.getAxes()) {
    step /= axis.getSize();
    axisStep[axis.getName()] = step;
  }
  std::vector<Part> parts;
  llvm::StringMap<std::vector<std::pair<int64_t, int64_t>>> used; // begin, end within the axis.
  // Takes a part of an axis into the box, and returns its size; 1 for an axis that does not count.
  auto take = [&](sdy::AxisRefAttr axis) -> Result<int64_t> {
    std::optional<int64_t> size = mesh.getAxisSize(axis.getName());
    if (!size)
      return Error{"the mesh has no axis " + axis.getName().str()};
    if (counts && !counts(axis.getName()))
      return 1;
    sdy::AxisSpan span = sdy::AxisSpan::get(axis, mesh);
    if (span.begin <= 0 || span.end <= 0 || *size % span.end || span.end % span.begin)
      return Error{"a part of the axis " + axis.getName().str() + " is impossible"};
    parts.push_back({span.size(), axisStep[axis.getName()] * (*size / span.end)});
    used[axis.getName()].push_back({span.begin, span.end});
    return span.size();
  };
  std::vector<int64_t> tiles;
  for (sdy::DimensionShardingAttr dimension : sharding.getDimShardings()) {
    int64_t pieces = 1;
    for (sdy::AxisRefAttr axis : dimension.getAxes()) {
      Result<int64_t> size = take(axis);
      if (!size)
        return size.error();
      pieces *= *size;
    }
    tiles.push_back(pieces);
  }
  // Then the axes that are still to be summed over.
  int64_t summands = 1;
  for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes()) {
    Result<int64_t> size = take(axis);
    if (!size)
      return size.error();
    if ((!counts || counts(axis.getName())) && sharding.getReductionOp() != sdy::ReductionOp::Sum)
      return Error{ErrorCode::Unsupported, "axes still to be reduced by anything but a sum are not evaluated"};
    summands *= *size;
  }
  for (sdy::MeshAxisAttr axis : mesh.getAxes()) {
    auto &spans = used[axis.getName()];
    llvm::sort(spans);
    int64_t at = 1;
    auto rest = [&](int64_t end) {
      if (end > at)
        parts.push_back({end / at, axisStep[axis.getName()] * (axis.getSize() / end)});
    };
    for (auto [begin, end] : spans) {
      if (begin < at)
        return Error{"the axis " + axis.getName().str() + " splits two dimensions"};
      rest(begin);
      at = end;
    }
    rest(axis.getSize());
  }
  std::vector<int64_t> devices;
  for (int64_t n = 0; n < *total; ++n) {
    int64_t left = n, device = 0;
    for (const Part &part : llvm::reverse(parts)) {
      device += left % part.size * part.step;
      left /= part.size;
    }
    devices.push_back(mesh.getDeviceIds().empty() ? device : mesh.getDeviceIds()[device]);
  }
  return Shards::tiled(std::move(tiles), std::move(devices), summands);
}

Result<Tensor> assembleSum(const Shards &shards, std::span<const Tensor> pieces,
                           std::span<const int64_t> shape) {
  Result<Tensor> sum = shards.assemble(pieces, shape);
  for (int64_t i = 1; sum && i < shards.summands; ++i) {
    Result<Tensor> next = shards.assemble(pieces, shape, i);
    if (!next)
      return next;
    Result<ElementwiseOp> add = findElementwise(ElementOp::Add, sum->dtype(), sum->dtype());
    if (!add)
      return add.error();
    sum = elementwise(*add, {&*sum, &*next});
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Manual computations
//===----------------------------------------------------------------------===//

namespace {

/// The whole of a value of which every process holds a piece. Processes that hold the same pieces
/// as others meet those of their own copy, so that computations within computations stay apart.
Result<Tensor> assembled(GridProcess &process, const std::string &name, const Shards &shards,
                         Tensor mine, std::span<const int64_t> shape) {
  if (shards.kind == Shards::Kind::Replicated)
    return mine;
  int64_t me = process.partition, copies = shards.copies();
  int64_t place = shards.place(shards.kind == Shards::Kind::Maximal ? shards.devices[0] : me);
  if (place < 0)
    return Error{"device " + std::to_string(me) + " is not in the mesh"};
  std::vector<int64_t> group, ids;
  if (shards.kind == Shards::Kind::Maximal) {
    for (int64_t i = 0; i < process.grid->partitions; ++i)
      ids.push_back(i);
  } else {
    for (int64_t part = 0; part < shards.tileCount() * shards.summands; ++part)
      ids.push_back(shards.devices[part * copies + place % copies]);
  }
  for (int64_t id : ids) {
    if (id < 0 || id >= process.grid->partitions)
      return Error{"the mesh names device " + std::to_string(id) + " of " +
                   std::to_string(process.grid->partitions)};
    group.push_back(int64_t(process.replica) * process.grid->partitions + id);
  }
  Result<Grid::Meeting> meeting = process.grid->meet(process, name, group, {std::move(mine)});
  if (!meeting)
    return meeting.error();
  std::vector<Tensor> pieces(process.grid->partitions);
  for (size_t i = 0; i < ids.size(); ++i)
    pieces[ids[i]] = (**meeting)[i][0];
  // This copy's devices, in the order of tiles.
  Shards own = shards;
  if (shards.kind == Shards::Kind::Tiled)
    own.devices = ids;
  return assembleSum(own, pieces, shape);
}

struct ManualStep {
  const BlockPlan *body;
  std::vector<Shards> in, out;
  std::vector<tensor::Shape> shapes; // Of the results.
  int64_t devices;
  std::string name;

  /// What one device does: takes its pieces, computes, and gives up its pieces again.
  Status runOne(GridProcess &process, size_t frameSize, std::span<const Value> operands,
                std::vector<Value> &results) const {
    Frame frame(frameSize);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].isTensor()) {
        frame[body->arguments[i]] = operands[i];
        continue;
      }
      Result<Tensor> piece = in[i].piece(operands[i].tensor(), process.partition);
      if (!piece)
        return piece.error();
      frame[body->arguments[i]] = std::move(*piece);
    }
    return runBlock(process, frame, *body, results);
  }

  Status operator()(GridProcess &process, StepArguments &arguments) const {
    std::vector<Value> operands;
    for (size_t i = 0; i < arguments.size(); ++i)
      operands.push_back(arguments.take(i));

    // Within a grid every process does its own part and meets the others for the results.
    if (process.grid->partitions == devices) {
      std::vector<Value> results;
      if (Status status = runOne(process, arguments.frame.size(), operands, results); !status)
        return status;
      for (size_t i = 0; i < results.size(); ++i) {
        if (!results[i].isTensor()) {
          arguments.set(i, std::move(results[i]));
          continue;
        }
        Result<Tensor> whole = assembled(process, name + " result " + std::to_string(i), out[i],
                                         std::move(results[i].tensor()), shapes[i]);
        if (!whole)
          return whole.error();
        arguments.set(i, std::move(*whole));
      }
      return {};
    }
    if (process.grid->size() != 1)
      return Error{ErrorCode::Unsupported, "a computation for " + std::to_string(devices) + " devices within " +
                   std::to_string(process.grid->partitions) + " is not evaluated"};

    // On whole tensors, the devices are made up for as long as this takes.
    Grid grid(1, static_cast<uint32_t>(devices));
    std::vector<std::vector<Value>> results(devices);
    int depth = process.depth;
    bool done = grid.run(process.run, [&](GridProcess &member) -> Status {
      member.depth = depth;
      return runOne(member, arguments.frame.size(), operands, results[member.partition]);
    });
    if (!done) {
      process.located = true; // A process of the grid has told.
      return process.run.failure().value_or(Error{"a device failed"});
    }
    for (size_t i = 0; i < arguments.resultCount(); ++i) {
      if (!results[0][i].isTensor()) {
        arguments.set(i, results[0][i]);
        continue;
      }
      std::vector<Tensor> pieces;
      for (std::vector<Value> &one : results)
        pieces.push_back(std::move(one[i].tensor()));
      Result<Tensor> whole = assembleSum(out[i], pieces, shapes[i]);
      if (!whole)
        return whole.error();
      arguments.set(i, std::move(*whole));
    }
    return {};
  }
};

Result<StepFunction> planManualComputation(Operation *op, Planning &planning) {
  auto manual = cast<sdy::ManualComputationOp>(op);
  auto step = std::make_shared<ManualStep>();
  step->devices = 1;
  step->name = "manual_computation at " + describeLocation(op->getLoc());
  llvm::DenseSet<StringRef> axes;
  for (StringAttr axis : manual.getManualAxes())
    axes.insert(axis.getValue());
  auto isManual = [&](StringRef name) { return axes.contains(name); };

  auto add = [&](sdy::TensorShardingPerValueAttr shardings, TypeRange types,
                 std::vector<Shards> &list) -> Status {
    if (shardings.getShardings().size() != types.size())
      return Error{"there must be a sharding for each operand and result"};
    for (auto [sharding, type] : llvm::zip(shardings.getShardings(), types)) {
      sdy::MeshAttr mesh = meshOf(sharding, planning.getModule());
      if (!mesh)
        return Error{"the mesh of a sharding is not in the module"};
      Result<int64_t> count = deviceCount(mesh);
      Result<Shards> shards = shardsOf(sharding, mesh, isManual);
      if (!count || !shards)
        return !count ? count.error() : shards.error();
      if (*count > 1)
        step->devices = *count;
      auto ranked = dyn_cast<RankedTensorType>(type);
      if (shards->kind == Shards::Kind::Tiled &&
          (!ranked || !ranked.hasStaticShape() ||
           static_cast<size_t>(ranked.getRank()) != shards->tiles.size()))
        return Error{"a sharding does not fit its tensor"};
      list.push_back(std::move(*shards));
    }
    return {};
  };
  if (Status status = add(manual.getInShardingsAttr(), op->getOperandTypes(), step->in); !status)
    return status.error();
  if (Status status = add(manual.getOutShardingsAttr(), op->getResultTypes(), step->out); !status)
    return status.error();
  if (step->in.empty() && step->out.empty())
    step->devices = 1;
  for (mlir::Type type : op->getResultTypes())
    step->shapes.push_back(isa<RankedTensorType>(type) ? shapeOf(type) : tensor::Shape());
  Result<const BlockPlan *> body = planning.region(op->getRegion(0));
  if (!body)
    return body.error();
  step->body = *body;
  return StepFunction([step](GridProcess &process, StepArguments &arguments) {
    return (*step)(process, arguments);
  });
}

} // namespace

//===----------------------------------------------------------------------===//
// The older form
//===----------------------------------------------------------------------===//

Result<StepFunction> planShardShapeCall(Operation *op, Planning &) {
  auto call = cast<stablehlo::CustomCallOp>(op);
  bool toShard = call.getCallTargetName() == "SPMDFullToShardShape";
  if (op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getOperand(0).getType()) ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return Error{"this custom call takes one tensor and gives one"};
  // The sharding stands at the whole tensor: at the value that is cut up, or at the result.
  Operation *sharded = toShard ? op->getOperand(0).getDefiningOp() : op;
  auto text = sharded ? sharded->getAttrOfType<StringAttr>("mhlo.sharding") : StringAttr();
  if (!text)
    return Error{"the sharding of the whole tensor is not given"};
  mlir::Type whole = toShard ? op->getOperand(0).getType() : op->getResult(0).getType();
  Result<Shards> shards =
      Shards::parse(text.getValue(), cast<RankedTensorType>(whole).getRank(), int64_t{1} << 24);
  if (!shards)
    return shards.error();
  tensor::Shape shape = shapeOf(whole);
  std::string name = "SPMDShardToFullShape at " + describeLocation(op->getLoc());
  return StepFunction([=, shards = *shards](GridProcess &process,
                                            StepArguments &arguments) -> Status {
    Result<Tensor> result = toShard
                                ? shards.piece(arguments.tensor(0), process.partition)
                                : assembled(process, name, shards, arguments.takeTensor(0), shape);
    if (!result)
      return result.error();
    arguments.set(0, std::move(*result));
    return {};
  });
}

void registerManual(Registry &registry) {
  registry.add("sdy.manual_computation", planManualComputation);
}

} // namespace cupel::reference
