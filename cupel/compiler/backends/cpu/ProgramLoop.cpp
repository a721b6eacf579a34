// Device programs that are repeated: what is small in them as one piece of code (LoopSteps.cpp says
// what), which calls back for everything else.

#include "cupel/compiler/backends/cpu/CodeKernel.h"
#include "cupel/compiler/backends/cpu/LoadedProgram.h"
#include "cupel/compiler/backends/cpu/LoopSteps.h"

#include <limits>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// About what a launch takes that is no part of the loop's code.
constexpr double kNanosecondsPerStep = 200;
/// So many repetitions between two looks at whether the run has been stopped.
constexpr int64_t kMostRepetitions = 1 << 14, kMostRepetitionsOfKernels = 1 << 8;

bool holdsKernels(const codegen::LoopKernel &kernel) {
  return llvm::any_of(kernel.steps, [](const codegen::LoopStep &step) {
    return step.kind == codegen::LoopStep::Kind::Kernel;
  });
}

} // namespace

bool isCopyOntoItself(dev::LaunchOp launch, ArrayRef<int64_t> inPlace) {
  if (!launch.getBody().front().without_terminator().empty())
    return false;
  auto from = dev::rootOf(launch.getReads()[0]).getDefiningOp<dev::ArgumentOp>();
  auto to = dev::rootOf(launch.getWrites()[0]).getDefiningOp<dev::ResultOp>();
  return from && to && from.getNumber() == to.getNumber() &&
         llvm::is_contained(inPlace, int64_t(to.getNumber()));
}

Status LoadedProgram::compileLoop(dev::ProgramOp program, ArrayRef<int64_t> swaps, int64_t test,
                                  int64_t expected, KernelChoice choice) {
  codegen::LoopKernel kernel;
  auto bufferOf = [&](Buffer::Kind kind, int64_t number) {
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].kind == kind && buffers[i].position == number)
        return int(i);
    return -1;
  };
  for (int64_t number : swaps) {
    Swap swap{number, bufferOf(Buffer::Argument, number), bufferOf(Buffer::Result, number)};
    if (swap.argument < 0 || swap.result < 0)
      return {};
    swapped.push_back(swap);
    kernel.swaps.push_back({swap.argument, swap.result});
  }
  for (int64_t number : overArguments)
    kernel.inPlace.push_back({bufferOf(Buffer::Argument, number), bufferOf(Buffer::Result, number)});
  kernel.test = bufferOf(Buffer::Result, test);
  if (kernel.test < 0)
    return {};
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].kind == Buffer::Place)
      kernel.temporaries.push_back(int(i));
  int64_t coded = 0;
  for (auto [i, launch] : llvm::enumerate(program.getBody().getOps<dev::LaunchOp>())) {
    if (isCopyOntoItself(launch, overArguments))
      continue;
    ArrayRef<int> numbers(operands.data() + launches[i].first,
                          launches[i].reads + launches[i].writes);
    codegen::LoopStep step = loopStep(launch, numbers, [&](int read, int written) {
      return read == written || llvm::is_contained(kernel.inPlace, std::pair(read, written)) ||
             (buffers[read].kind == Buffer::Place && buffers[written].kind == Buffer::Place &&
              buffers[read].position == buffers[written].position);
    });
    if (step.kind == codegen::LoopStep::Kind::Call) {
      step.call = int64_t(i);
      step.inputs.assign(numbers.begin(), numbers.begin() + launches[i].reads);
      step.outputs.assign(numbers.begin() + launches[i].reads, numbers.end());
    } else {
      ++coded;
    }
    kernel.steps.push_back(std::move(step));
  }
  if (coded == 0)
    return {};
  mostRepetitions = holdsKernels(kernel) ? kMostRepetitionsOfKernels : kMostRepetitions;
  int64_t patience = std::max<int64_t>(1, int64_t(kPatienceNanoseconds / kNanosecondsPerStep) / coded);
  if (choice.budget && expected < patience) {
    // Code gives the same bits as the launches: what is inexact is code there as well.
    contextUse = choice.context;
    loopPatience = patience;
    makeLoop = [kernel = std::move(kernel)] { return codegen::compile(kernel); };
    return {};
  }
  Result<codegen::CompiledLoop> made = codegen::compile(kernel);
  if (!made && made.error().code != ErrorCode::Unsupported)
    return made.error();
  if (made) {
    loop = std::move(*made);
    loopFunction = loop.function;
  }
  return {};
}

bool LoadedProgram::becomeLoop() const {
  std::unique_lock own(loopMutex, std::try_to_lock);
  std::unique_lock<std::mutex> use;
  if (contextUse)
    use = std::unique_lock(*contextUse, std::try_to_lock);
  if (!own || (contextUse && !use) || loopFunction.load())
    return loopFunction.load() != nullptr;
  Result<codegen::CompiledLoop> made = makeLoop();
  loopPatience = std::numeric_limits<int64_t>::max(); // If it cannot be made now it never can.
  if (!made)
    return false;
  loop = std::move(*made);
  loopFunction.store(loop.function, std::memory_order_release);
  return true;
}

Status LoadedProgram::repeat(reference::GridProcess &process, const std::byte **arguments,
                             std::byte **results, std::byte *frame) const {
  std::byte **memory = resolve(arguments, results, frame);
  struct State {
    const LoadedProgram &program;
    LaunchContext context;
    std::byte **memory;
    Status status;
  } state{*this, {process, {}, frame + workspaceOffset()}, memory, {}};
  auto call = [](void *given, int64_t number) {
    auto &state = *static_cast<State *>(given);
    const LoadedProgram &self = state.program;
    state.status = state.context.process.run.stopped();
    if (!state.status)
      return false;
    state.status = self.runLaunch(state.context, self.launches[number], state.memory,
                                  state.memory + self.buffers.size());
    return bool(state.status);
  };
  int64_t outcome = 1;
  while (outcome == 1) {
    if (Status status = process.run.stopped(); !status)
      return status;
    loopFunction.load()(reinterpret_cast<void **>(memory), mostRepetitions, call, &state, &outcome);
  }
  if (outcome == 2)
    return state.status;
  // Where the last repetition left what is carried: the code has changed places once more.
  for (const Swap &swap : swapped) {
    arguments[swap.number] = memory[swap.argument];
    results[swap.number] = memory[swap.result];
  }
  return {};
}

} // namespace cupel::compiler
