// Processes of a grid: their numbers, channels and feeds between them, what is started and waited for, and
// grids of programs.

#include "cupel/reference/Grid.h"
#include "cupel/reference/PlanCommunication.h"
#include "cupel/reference/Registry.h"

#include "cupel/ir/interpreter/Interpreter.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

Result<StepFunction> planReplicaId(Operation *, Planning &) {
  return StepFunction([](GridProcess &process, StepArguments &arguments) -> Status {
    arguments.set(0, Tensor::of<DType::U32>({}, {process.replica}));
    return {};
  });
}

Result<StepFunction> planPartitionId(Operation *, Planning &) {
  return StepFunction([](GridProcess &process, StepArguments &arguments) -> Status {
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
  return StepFunction([](GridProcess &process, StepArguments &arguments) -> Status {
    Result<Grid::Tensors> values = process.grid->infeed();
    if (!values)
      return values.error();
    return setTensorsAndToken(arguments, std::move(*values));
  });
}

Result<StepFunction> planOutfeed(Operation *, Planning &) {
  return StepFunction([](GridProcess &, StepArguments &arguments) -> Status {
    arguments.set(0, Value::Token());
    return {};
  });
}

Result<StepFunction> planSend(Operation *op, Planning &) {
  std::string channel = std::to_string(channelOf(op));
  std::vector<std::pair<int64_t, int64_t>> pairs = pairsOf(op);
  return StepFunction([=](GridProcess &process, StepArguments &arguments) -> Status {
    Grid::Tensors values = tensorsOf(arguments, arguments.size() - 1);
    if (pairs.empty())
      process.grid->send(channel, std::move(values));
    // With pairs, a channel has a queue for each receiver.
    for (auto [source, target] : pairs)
      if (source == process.grid->id(process))
        process.grid->send(channel + " to " + std::to_string(target), values);
    arguments.set(0, Value::Token());
    return {};
  });
}

Result<StepFunction> planRecv(Operation *op, Planning &) {
  std::string channel = std::to_string(channelOf(op));
  std::vector<std::pair<int64_t, int64_t>> pairs = pairsOf(op);
  return StepFunction([=](GridProcess &process, StepArguments &arguments) -> Status {
    std::string name = channel;
    if (!pairs.empty())
      name += " to " + std::to_string(process.grid->id(process));
    Result<Grid::Tensors> values = process.grid->receive(name);
    if (!values)
      return values.error();
    return setTensorsAndToken(arguments, std::move(*values));
  });
}

/// What is started runs at once; waiting for it is then no wait.
Result<StepFunction> planAsyncStart(Operation *op, Planning &planning) {
  Result<const BlockPlan *> body = planning.region(op->getRegion(0));
  if (!body)
    return body.error();
  return StepFunction([body = *body](GridProcess &process, StepArguments &arguments) -> Status {
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
  return StepFunction([](GridProcess &, StepArguments &arguments) -> Status {
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
        return program.error();
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
        return program.error();
      feeds.push_back(*program);
    }
  return StepFunction([=](GridProcess &process, StepArguments &arguments) -> Status {
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
    bool done = grid.run(process.run, [&](GridProcess &member) -> Status {
      member.depth = depth;
      int64_t id = grid.id(member);
      return callFunction(member, *programs[id], std::move(inputs[id]), outputs[id]);
    });
    if (!done) {
      process.located = true; // A process of the grid has told.
      return process.run.failure().value_or(Error{"a process failed"});
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

void registerProcesses(Registry &registry) {
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
