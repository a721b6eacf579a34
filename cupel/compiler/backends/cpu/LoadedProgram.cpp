#include "cupel/compiler/backends/cpu/LoadedProgram.h"

#include "cupel/compiler/backends/cpu/LaunchWatch.h"
#include "cupel/compiler/backends/cpu/MakeKernel.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Deferred.h"

namespace cupel::compiler {

using namespace mlir;
using tensor::Tensor;

static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t LoadedProgram::workspaceOffset() const { return aligned(arenaBytes); }

int64_t LoadedProgram::preparedOffset() const {
  return workspaceOffset() + aligned(workspaceBytes) +
         aligned(int64_t((buffers.size() + mostOperands) * sizeof(std::byte *)));
}

int64_t LoadedProgram::frameBytes() const { return preparedOffset() + preparedBytes; }

Frame LoadedProgram::takeFrame() const { return frames->take(size_t(frameBytes())); }

void LoadedProgram::giveFrame(Frame frame) const {
  // What is kept there is ours, and whose it is knows nothing of it.
  if (frame.owner.lock() != frames)
    frame.kept.forget();
  Frames::give(std::move(frame));
}

/// Behind the arena.
void LoadedProgram::keepValues(dev::ProgramOp program, const llvm::DenseMap<Value, int> &numbers) {
  kept = KeptPlan::of(program, taken);
  for (const KeptPlan::Place &place : kept.places)
    buffers[size_t(numbers.lookup(place.buffer))].position = aligned(arenaBytes) + place.offset;
  if (kept.bytes > 0)
    arenaBytes = aligned(arenaBytes) + kept.bytes;
  contents.kept = int64_t(kept.launches.size());
}

Status LoadedProgram::add(dev::LaunchOp launch, KernelPointer kernel,
                          const llvm::DenseMap<Value, int> &numbers) {
  ++contents.launches;
  ++contents.kernels[std::string(kernel->kind())];
  contents.brief += kernel->isBrief();
  if (kernel->isFallback()) {
    ++contents.fallbacks;
    Operation &inner = tir::computedBy(dev::workOf(launch));
    ++contents.fallbackOps[inner.getName().getStringRef().str()];
    if (contents.firstFallback.empty())
      contents.firstFallback = inner.getName().getStringRef().str() + " at " +
                               reference::describeLocation(launch.getLoc());
  }
  for (const LoadedProgram *program : kernel->programs()) {
    const ProgramReport &inner = program->report();
    contents.launches += inner.launches;
    contents.fallbacks += inner.fallbacks;
    contents.brief += inner.brief;
    contents.constantBytes += inner.constantBytes;
    if (contents.firstFallback.empty())
      contents.firstFallback = inner.firstFallback;
    for (const auto &[kind, count] : inner.kernels)
      contents.kernels[kind] += count;
    for (const auto &[op, count] : inner.fallbackOps)
      contents.fallbackOps[op] += count;
  }
  workspaceBytes = std::max(workspaceBytes, kernel->workspaceBytes());
  Launch one{std::move(kernel), uint32_t(operands.size()), uint32_t(launch.getReads().size()),
             uint32_t(launch.getWrites().size()), preparedBytes};
  preparedBytes += aligned(one.kernel->preparedBytes());
  for (ValueRange buffers : {ValueRange(launch.getReads()), ValueRange(launch.getWrites())})
    for (Value buffer : buffers) {
      operands.push_back(numbers.lookup(dev::rootOf(buffer)));
      operandBytes.push_back(
          dev::byteSizeOf(cast<dev::BufferType>(buffer.getType()).getTensor()).value_or(0));
    }
  mostOperands = std::max(mostOperands, size_t(one.reads + one.writes));
  launches.push_back(std::move(one));
  return {};
}

/// One form can be all that is left of an argument; several that are made at different times could not.
void LoadedProgram::noteReadings(dev::LaunchOp launch, const Kernel &kernel, std::vector<int> &reads) {
  for (auto [i, buffer] : llvm::enumerate(launch.getReads())) {
    auto argument = dev::rootOf(buffer).getDefiningOp<dev::ArgumentOp>();
    if (!argument)
      continue;
    size_t number = size_t(argument.getNumber());
    if (readings.size() <= number) {
      readings.resize(number + 1, runtime::Reading::Packed);
      reads.resize(number + 1);
    }
    runtime::Reading &known = readings[number];
    if (runtime::Reading found = kernel.readingOf(unsigned(i));
        found == runtime::Reading::Whole || known == runtime::Reading::Whole)
      known = runtime::Reading::Whole;
    else if (found == runtime::Reading::Sparse || reads[number] > 0)
      known = runtime::Reading::Sparse;
    ++reads[number];
  }
}

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::load(dev::ProgramOp program,
                                                           ModuleOp functions,
                                                           KernelChoice choice) {
  auto loaded = std::make_unique<LoadedProgram>();
  loaded->arenaBytes = int64_t(program.getArena());
  choice.changes = &loaded->changes;
  if (auto inPlace = program.getInPlace())
    loaded->overArguments.assign(inPlace->begin(), inPlace->end());
  llvm::DenseMap<Value, int> numbers;
  std::vector<int> reads; // Of each argument: how many.
  std::vector<int64_t> argumentBytes;
  auto add = [&](Value buffer, Buffer::Kind kind, int64_t position) {
    numbers[buffer] = static_cast<int>(loaded->buffers.size());
    loaded->buffers.push_back({kind, position});
  };
  auto typeOf = [](Value buffer) { return cast<dev::BufferType>(buffer.getType()).getTensor(); };
  for (Operation &op : program.getBody().front()) {
    if (auto argument = dyn_cast<dev::ArgumentOp>(op)) {
      add(argument.getBuffer(), Buffer::Argument, int64_t(argument.getNumber()));
      argumentBytes.resize(std::max(argumentBytes.size(), size_t(argument.getNumber()) + 1));
      argumentBytes[argument.getNumber()] = dev::byteSizeOf(typeOf(argument.getBuffer())).value_or(0);
    } else if (auto constant = dyn_cast<dev::ConstantOp>(op)) {
      Result<Tensor> value =
          reference::constantTensor(constant.getValue(), typeOf(constant.getBuffer()));
      if (!value)
        return value.error();
      Result<Tensor> whole = value->contiguous();
      if (!whole)
        return whole.error().as(ErrorCode::OutOfMemory);
      add(constant.getBuffer(), Buffer::Constant, int64_t(loaded->constants.size()));
      loaded->contents.constantBytes += whole->byteSize();
      loaded->constants.push_back(std::move(*whole));
    } else if (auto result = dyn_cast<dev::ResultOp>(op)) {
      RankedTensorType type = typeOf(result.getBuffer());
      Result<tensor::ElementType> element = reference::elementTypeOf(type.getElementType());
      if (!element)
        return element.error();
      if (loaded->results.size() <= result.getNumber())
        loaded->results.resize(result.getNumber() + 1);
      loaded->results[result.getNumber()] = {*element, reference::shapeOf(type)};
      add(result.getBuffer(), Buffer::Result, int64_t(result.getNumber()));
    } else if (auto place = dyn_cast<dev::PlaceOp>(op)) {
      add(place.getBuffer(), Buffer::Place, int64_t(place.getOffset()));
    } else if (auto launch = dyn_cast<dev::LaunchOp>(op)) {
      Result<KernelPointer> kernel = makeKernel(launch, functions, choice);
      if (!kernel)
        return kernel.error();
      loaded->noteReadings(launch, **kernel, reads);
      if (Status status = loaded->add(launch, std::move(*kernel), numbers); !status)
        return status.error();
    }
  }
  loaded->findTakenArguments(program);
  if (program.getSymName() == "main")
    loaded->keepValues(program, numbers);
  loaded->contents.arenaBytes = loaded->arenaBytes + loaded->workspaceBytes;
  for (size_t i = 0; i < loaded->launches.size(); ++i)
    if (int argument = loaded->launches[i].kernel->packedArgument();
        argument >= 0 && loaded->readingOf(size_t(argument)) == runtime::Reading::Packed)
      loaded->packed.emplace_back(argument, i);
  llvm::sort(loaded->packed, [&](const auto &a, const auto &b) {
    return std::pair(-argumentBytes[size_t(a.first)], a.second) <
           std::pair(-argumentBytes[size_t(b.first)], b.second);
  });
  return loaded;
}

/// Large weights first: while a weight is packed it lies twice, and the later that is the more there is beside it.
Status LoadedProgram::packLent(LaunchContext &context) const {
  for (auto [argument, launch] : packed) {
    tensor::DeferredElements *elements = context.arguments[size_t(argument)].deferred();
    if (elements && elements->isLent())
      if (Status status = launches[launch].kernel->packArgument(context); !status)
        return status;
  }
  return {};
}

const std::byte *memoryOf(const Tensor &tensor) {
  alignas(64) static const std::byte nowhere[64] = {};
  return tensor.data() ? tensor.data() : nowhere;
}

Result<std::vector<Tensor>> LoadedProgram::run(reference::GridProcess &process,
                                               std::vector<Tensor> arguments) const {
  // Who watches launches looks at all that they read.
  LaunchWatch *watch = LaunchWatch::current() ? LaunchWatch::current() : guardPages();
  for (Tensor &argument : arguments) {
    if (!watch && argument.isContiguous())
      continue;
    Result<Tensor> whole = watch ? tensor::wholeTensor(argument) : argument.contiguous();
    if (!whole)
      return whole.error().as(ErrorCode::OutOfMemory);
    argument = std::move(*whole);
  }
  Frame frame = takeFrame();
  if (!frame)
    return Error{ErrorCode::OutOfMemory,
                 "there is no memory for an arena of " + std::to_string(frameBytes()) + " bytes"};
  std::vector<Tensor> outputs;
  llvm::SmallVector<std::byte *, 8> outputMemory;
  llvm::SmallVector<const std::byte *, 8> argumentMemory;
  for (const Tensor &argument : arguments)
    argumentMemory.push_back(memoryOf(argument));
  for (auto [number, shape] : llvm::enumerate(results)) {
    // An argument that nobody else has any more.
    if (int from = taken[number]; from >= 0)
      if (std::byte *memory = arguments[size_t(from)].mutableData()) {
        outputMemory.push_back(memory);
        outputs.push_back(arguments[size_t(from)]);
        continue;
      }
    Result<Tensor> output = Tensor::uninitialized(shape.type, shape.shape);
    if (!output)
      return output.error().as(ErrorCode::OutOfMemory);
    outputMemory.push_back(const_cast<std::byte *>(memoryOf(*output))); // Nobody else has it.
    outputs.push_back(std::move(*output));
  }
  LaunchWatch::Scope scope(watch);
  LaunchContext context{process, arguments, nullptr};
  if (Status status = packLent(context); !status)
    return status.error();
  std::span<const uint8_t> left;
  if (watch)
    frame.kept.forget();
  else
    left = frame.kept.begin(kept, arguments);
  if (Status status =
          execute(process, arguments, argumentMemory.data(), outputMemory.data(), frame.get(), left);
      !status)
    return status.error();
  if (!watch)
    frame.kept.end();
  giveFrame(std::move(frame));
  return outputs;
}

std::byte **LoadedProgram::resolve(const std::byte *const *arguments, std::byte *const *results,
                                   std::byte *frame) const {
  auto **memory =
      reinterpret_cast<std::byte **>(frame + workspaceOffset() + aligned(workspaceBytes));
  std::byte **next = memory;
  for (const Buffer &buffer : buffers)
    switch (buffer.kind) {
    case Buffer::Argument: // Only read, but where a result lies on it.
      *next++ = const_cast<std::byte *>(arguments[buffer.position]);
      break;
    case Buffer::Constant:
      *next++ = const_cast<std::byte *>(memoryOf(constants[buffer.position]));
      break;
    case Buffer::Result:
      *next++ = results[buffer.position];
      break;
    case Buffer::Place:
      *next++ = frame + buffer.position;
      break;
    }
  return memory;
}

Status LoadedProgram::runLaunch(LaunchContext &context, const Launch &launch,
                                std::byte *const *memory, std::byte **given) const {
  const int *numbers = operands.data() + launch.first;
  for (uint32_t i = 0; i < launch.reads + launch.writes; ++i)
    given[i] = memory[numbers[i]];
  context.prepared = context.workspace - workspaceOffset() + preparedOffset() + launch.prepared;
  if (LaunchWatch *watch = LaunchWatch::current())
    return watch->run(*launch.kernel, context,
                      {{given, launch.reads},
                       {given + launch.reads, launch.writes},
                       {operandBytes.data() + launch.first, size_t(launch.reads + launch.writes)}});
  return launch.kernel->run(context, {given, launch.reads}, {given + launch.reads, launch.writes});
}

Status LoadedProgram::prepareLoop(reference::GridProcess &process, const std::byte *const *arguments, std::byte *const *results,
                                  std::byte *frame) const {
  if (preparedBytes == 0)
    return {};
  std::byte **memory = resolve(arguments, results, frame);
  LaunchContext context{process, {}, frame + workspaceOffset()};
  for (const Launch &launch : launches) {
    if (launch.kernel->preparedBytes() == 0)
      continue;
    llvm::SmallVector<const std::byte *> reads;
    for (uint32_t i = 0; i < launch.reads; ++i)
      reads.push_back(memory[operands[launch.first + i]]);
    context.prepared = frame + preparedOffset() + launch.prepared;
    if (Status status = launch.kernel->prepare(context, reads); !status)
      return status;
  }
  return {};
}

Status LoadedProgram::execute(reference::GridProcess &process, std::span<const Tensor> tensors,
                              const std::byte *const *arguments, std::byte *const *results,
                              std::byte *frame, std::span<const uint8_t> left) const {
  std::byte **memory = resolve(arguments, results, frame);
  LaunchContext context{process, tensors, frame + workspaceOffset()};
  for (const auto &[number, launch] : llvm::enumerate(launches)) {
    if (!left.empty() && left[number])
      continue;
    if (Status status = process.run.stopped(); !status)
      return status.error();
    if (Status status = runLaunch(context, launch, memory, memory + buffers.size()); !status)
      return status.error();
  }
  return {};
}

} // namespace cupel::compiler
