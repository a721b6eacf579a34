// Device programs that are repeated: their functions of single elements as one piece of code, which
// calls back for everything else.

#include "cupel/compiler/backends/cpu/CodeKernel.h"
#include "cupel/compiler/backends/cpu/LoadedProgram.h"
#include "cupel/compiler/brief/Brief.h"
#include "cupel/reference/Registry.h"

#include <limits>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// About what a launch of a map over a single point takes where it is no code.
constexpr double kNanosecondsPerStep = 200;
/// So many repetitions between two looks at whether the run has been stopped.
constexpr int64_t kMostRepetitions = 1 << 14;

codegen::View elementView(Value value, int64_t offset) {
  codegen::View view;
  view.type =
      reference::elementTypeOf(cast<RankedTensorType>(value.getType()).getElementType())->storage;
  view.offset = offset;
  return view;
}

/// A map over a single point, as a step; nothing if it is none.
std::optional<codegen::LoopStep> elementStep(dev::LaunchOp launch, ArrayRef<int> buffers) {
  auto map = dyn_cast<tir::MapOp>(launch.getBody().front().front());
  if (!map || llvm::any_of(map.getSizes(), [](int64_t size) { return size != 1; }))
    return std::nullopt;
  codegen::LoopStep step;
  step.body = &map.getBody().front();
  for (auto [input, view] : llvm::zip(map.getInputs(), map.getViews().getAsRange<tir::ViewAttr>())) {
    if (!view.getValid().empty())
      return std::nullopt;
    step.inputs.push_back(buffers[cast<BlockArgument>(input).getArgNumber()]);
    step.inputViews.push_back(elementView(input, view.getOffset()));
  }
  for (auto [i, result] : llvm::enumerate(map.getResults())) {
    step.outputs.push_back(buffers[launch.getReads().size() + i]);
    step.outputViews.push_back(elementView(result, 0));
  }
  return step;
}

/// Copies of a value onto itself, which is how a loop carries it unchanged.
bool isNothing(dev::LaunchOp launch, ArrayRef<int64_t> inPlace) {
  if (!launch.getBody().front().without_terminator().empty())
    return false;
  auto from = dev::rootOf(launch.getReads()[0]).getDefiningOp<dev::ArgumentOp>();
  auto to = dev::rootOf(launch.getWrites()[0]).getDefiningOp<dev::ResultOp>();
  return from && to && from.getNumber() == to.getNumber() &&
         llvm::is_contained(inPlace, int64_t(to.getNumber()));
}

} // namespace

Status LoadedProgram::compileLoop(dev::ProgramOp program, ArrayRef<int64_t> swaps, int64_t test,
                                  KernelChoice choice) {
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
  int64_t elementSteps = 0;
  bool isExact = true;
  for (auto [i, launch] : llvm::enumerate(program.getBody().getOps<dev::LaunchOp>())) {
    if (isNothing(launch, overArguments))
      continue;
    ArrayRef<int> numbers(operands.data() + launches[i].first,
                          launches[i].reads + launches[i].writes);
    codegen::LoopStep step;
    if (std::optional<codegen::LoopStep> element = elementStep(launch, numbers)) {
      step = std::move(*element);
      isExact = isExact && brief::isExact(*step.body);
      ++elementSteps;
    } else {
      step.call = int64_t(i);
    }
    kernel.steps.push_back(std::move(step));
  }
  if (elementSteps == 0)
    return {};
  if (choice.budget && isExact) {
    contextUse = choice.context;
    loopPatience = int64_t(kPatienceNanoseconds / kNanosecondsPerStep) / elementSteps;
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
  } state{*this, {process, {}, frame + (arenaBytes + 63) / 64 * 64}, memory, {}};
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
    loopFunction.load()(reinterpret_cast<void **>(memory), kMostRepetitions, call, &state, &outcome);
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
