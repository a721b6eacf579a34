#include "cupel/compiler/backends/cpu/LoadedProgram.h"

#include "cupel/compiler/backends/cpu/MakeKernel.h"
#include "cupel/reference/Registry.h"

#include <cstdlib>

namespace cupel::compiler {

using namespace mlir;
using tensor::Tensor;

/// Arenas that are kept for the next runs; a host rarely has more runs side by side.
static constexpr size_t kMostIdleArenas = 4;

void LoadedProgram::Free::operator()(std::byte *memory) const { std::free(memory); }

LoadedProgram::Memory LoadedProgram::takeArena() const {
  {
    std::lock_guard lock(mutex);
    if (!idle.empty()) {
      Memory memory = std::move(idle.back());
      idle.pop_back();
      return memory;
    }
  }
  // As large as huge pages where that matters.
  size_t alignment = arenaBytes >= (size_t{4} << 20) ? size_t{2} << 20 : size_t{4096};
  size_t bytes = (arenaBytes + alignment - 1) / alignment * alignment;
  return Memory(static_cast<std::byte *>(std::aligned_alloc(alignment, std::max(bytes, alignment))));
}

void LoadedProgram::giveArena(Memory memory) const {
  std::lock_guard lock(mutex);
  if (idle.size() < kMostIdleArenas)
    idle.push_back(std::move(memory));
}

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::load(dev::ProgramOp program,
                                                           ModuleOp functions) {
  auto loaded = std::make_unique<LoadedProgram>();
  loaded->arenaBytes = program.getArena();
  loaded->contents.arenaBytes = program.getArena();
  llvm::DenseMap<Value, int> numbers;
  auto add = [&](Value buffer, Buffer::Kind kind, int64_t position) {
    numbers[buffer] = static_cast<int>(loaded->buffers.size());
    loaded->buffers.push_back({kind, position});
  };
  auto typeOf = [](Value buffer) { return cast<dev::BufferType>(buffer.getType()).getTensor(); };
  for (Operation &op : program.getBody().front()) {
    if (auto argument = dyn_cast<dev::ArgumentOp>(op)) {
      add(argument.getBuffer(), Buffer::Argument, int64_t(argument.getNumber()));
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
      Result<KernelPointer> kernel = makeKernel(launch, functions);
      if (!kernel)
        return kernel.error();
      ++loaded->contents.launches;
      ++loaded->contents.kernels[std::string((*kernel)->kind())];
      if ((*kernel)->isFallback()) {
        ++loaded->contents.fallbacks;
        Operation &inner = launch.getBody().front().front();
        ++loaded->contents.fallbackOps[inner.getName().getStringRef().str()];
      }
      Launch one;
      one.kernel = std::move(*kernel);
      for (Value buffer : launch.getReads())
        one.reads.push_back(numbers.lookup(dev::rootOf(buffer)));
      for (Value buffer : launch.getWrites())
        one.writes.push_back(numbers.lookup(dev::rootOf(buffer)));
      loaded->launches.push_back(std::move(one));
    }
  }
  return loaded;
}

Result<std::vector<Tensor>> LoadedProgram::run(reference::GridProcess &process,
                                               std::vector<Tensor> arguments) const {
  for (Tensor &argument : arguments) {
    Result<Tensor> whole = argument.contiguous();
    if (!whole)
      return whole.error().as(ErrorCode::OutOfMemory);
    argument = std::move(*whole);
  }
  Memory arena = takeArena();
  if (!arena)
    return Error{ErrorCode::OutOfMemory,
                 "there is no memory for an arena of " + std::to_string(arenaBytes) + " bytes"};
  std::vector<Tensor> outputs;
  std::vector<std::byte *> outputMemory;
  for (const ResultShape &shape : results) {
    Result<Tensor> output = Tensor::uninitialized(shape.type, shape.shape);
    if (!output)
      return output.error().as(ErrorCode::OutOfMemory);
    outputMemory.push_back(output->mutableData());
    outputs.push_back(std::move(*output));
  }
  std::vector<std::byte *> memory;
  memory.reserve(buffers.size());
  for (const Buffer &buffer : buffers)
    switch (buffer.kind) {
    case Buffer::Argument: // Only read: launches that write there do not verify.
      memory.push_back(const_cast<std::byte *>(arguments[buffer.position].data()));
      break;
    case Buffer::Constant:
      memory.push_back(const_cast<std::byte *>(constants[buffer.position].data()));
      break;
    case Buffer::Result:
      memory.push_back(outputMemory[buffer.position]);
      break;
    case Buffer::Place:
      memory.push_back(arena.get() + buffer.position);
      break;
    }
  LaunchContext context{process, arguments};
  std::vector<const std::byte *> reads;
  std::vector<std::byte *> writes;
  for (const Launch &launch : launches) {
    if (Status status = process.run.stopped(); !status)
      return status.error();
    reads.clear();
    writes.clear();
    for (int buffer : launch.reads)
      reads.push_back(memory[buffer]);
    for (int buffer : launch.writes)
      writes.push_back(memory[buffer]);
    if (Status status = launch.kernel->run(context, reads, writes); !status)
      return status.error();
  }
  giveArena(std::move(arena));
  return outputs;
}

} // namespace cupel::compiler
