#include "cupel/compiler/backends/cpu/Trace.h"

#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/brief/Brief.h"
#include "cupel/reference/Registry.h"

namespace cupel::compiler {

using tensor::Tensor;

void Kernel::record(Trace &trace, std::span<const int> reads, std::span<const int> writes) const {
  trace.call(*this, reads, writes);
}

Trace::~Trace() {
  if (frame)
    program.giveFrame(std::move(frame));
}

Status Trace::record() {
  if (!frame)
    frame = program.takeFrame();
  if (!frame)
    return Error{ErrorCode::OutOfMemory, "there is no memory for an arena of " +
                                             std::to_string(program.frameBytes()) + " bytes"};
  commands.clear();
  addresses.clear();
  addressBuffers.clear();
  scratchBytes = 0;
  argumentSlots.clear();
  resultSlots.assign(program.results.size(), {});
  kept.resize(program.results.size());
  kernelsChanged = program.kernelsChanged(); // Before: who changes now makes us stale.
  launch = 0;
  for (const LoadedProgram::Launch &one : program.launches) {
    std::span<const int> all(program.operands.data() + one.first, one.reads + one.writes);
    one.kernel->record(*this, all.first(one.reads), all.subspan(one.reads));
    ++launch;
  }
  commands.shrink_to_fit();
  addresses.shrink_to_fit();
  return {};
}

void Trace::addAddress(int number) {
  auto place = uint32_t(addresses.size());
  addressBuffers.push_back(number);
  if (number == kWorkspace) {
    addresses.push_back(frame.get() + program.workspaceOffset());
    return;
  }
  const LoadedProgram::Buffer &buffer = program.buffers[size_t(number)];
  auto position = size_t(buffer.position);
  std::byte *address = nullptr;
  switch (buffer.kind) {
  case LoadedProgram::Buffer::Argument:
    if (argumentSlots.size() <= position)
      argumentSlots.resize(position + 1);
    argumentSlots[position].uses.push_back(place);
    break;
  case LoadedProgram::Buffer::Result:
    resultSlots[position].uses.push_back(place);
    break;
  case LoadedProgram::Buffer::Constant:
    address = const_cast<std::byte *>(memoryOf(program.constants[position])); // Only read.
    break;
  case LoadedProgram::Buffer::Place:
    address = frame.get() + position;
    break;
  }
  addresses.push_back(address);
}

Trace::Command &Trace::add(Command::Kind kind, std::span<const int> inputs,
                           std::span<const int> outputs) {
  Command command{};
  command.kind = kind;
  command.launch = launch;
  command.inputs = uint32_t(addresses.size());
  command.inputCount = uint32_t(inputs.size());
  for (int number : inputs)
    addAddress(number);
  command.outputs = uint32_t(addresses.size());
  command.outputCount = uint32_t(outputs.size());
  for (int number : outputs)
    addAddress(number);
  return commands.emplace_back(command);
}

void Trace::call(const Kernel &kernel, std::span<const int> reads, std::span<const int> writes) {
  add(Command::Call, reads, writes).kernel = &kernel;
}

void Trace::code(codegen::KernelFunction function, int64_t units, int64_t scratch,
                 std::span<const int> inputs, std::span<const int> outputs) {
  Command &command = add(Command::Code, inputs, outputs);
  command.function = function;
  command.units = units;
  scratchBytes = std::max(scratchBytes, scratch);
}

void Trace::steps(const brief::Work &work, std::span<const int> inputs,
                  std::span<const int> outputs) {
  add(Command::Steps, inputs, outputs).work = &work;
  scratchBytes = std::max(scratchBytes, work.scratchBytes);
}

int64_t Trace::bytes() const {
  size_t uses = 0;
  for (const std::vector<Slot> *slots : {&argumentSlots, &resultSlots})
    for (const Slot &slot : *slots)
      uses += slot.uses.size();
  return int64_t(commands.size() * sizeof(Command) + addresses.size() * sizeof(std::byte *) +
                 uses * sizeof(uint32_t));
}

void Trace::move(Slot &slot, const std::byte *to) {
  if (slot.address == to)
    return;
  slot.address = to;
  for (uint32_t use : slot.uses)
    addresses[use] = const_cast<std::byte *>(to);
}

Result<Tensor> Trace::resultMemory(size_t number, std::vector<Tensor> &arguments) {
  // An argument that nobody else has any more.
  int from = program.taken[number];
  if (from >= 0)
    if (arguments[size_t(from)].mutableData())
      return arguments[size_t(from)];
  // What the last replay left there, if nobody looks at it any more. What may be given to the next run as
  // an argument is not held: it could not be written over then.
  const LoadedProgram::ResultShape &shape = program.results[number];
  if (from < 0 && kept[number].mutableData())
    return kept[number];
  Result<Tensor> fresh = Tensor::uninitialized(shape.type, shape.shape);
  if (!fresh)
    return fresh.error().as(ErrorCode::OutOfMemory);
  if (from < 0)
    kept[number] = *fresh;
  return fresh;
}

Result<std::vector<Tensor>> Trace::replay(reference::GridProcess &process,
                                          std::vector<Tensor> arguments) {
  for (Tensor &argument : arguments)
    if (!argument.isContiguous()) {
      Result<Tensor> whole = argument.contiguous();
      if (!whole)
        return whole.error().as(ErrorCode::OutOfMemory);
      argument = std::move(*whole);
    }
  for (size_t i = 0; i < argumentSlots.size(); ++i)
    move(argumentSlots[i], memoryOf(arguments[i]));
  std::vector<Tensor> outputs;
  outputs.reserve(resultSlots.size());
  for (size_t i = 0; i < resultSlots.size(); ++i) {
    Result<Tensor> memory = resultMemory(i, arguments);
    if (!memory)
      return memory.error();
    move(resultSlots[i], memoryOf(*memory));
    outputs.push_back(std::move(*memory));
  }
  LaunchContext context{process, arguments, frame.get() + program.workspaceOffset()};
  if (Status status = run(context, frame.kept.begin(program.kept, arguments)); !status)
    return status.error();
  frame.kept.end();
  return outputs;
}

Status Trace::run(LaunchContext &context, std::span<const uint8_t> left) {
  const std::atomic<bool> *stop = context.process.run.options.stop;
  std::byte *const *memory = addresses.data();
  void *scratch = nullptr;
  bool hasScratch = false;
  auto threadMemory = [&] { // Kernels that are called may ask for other memory of the thread.
    if (!hasScratch)
      scratch = threadScratch(scratchBytes);
    hasScratch = true;
    return scratch;
  };
  for (const Command &command : commands) {
    if (stop && stop->load(std::memory_order_relaxed))
      return Error{ErrorCode::Cancelled, "the run was stopped"};
    if (!left.empty() && left[command.launch])
      continue;
    std::byte *const *in = memory + command.inputs, *const *out = memory + command.outputs;
    switch (command.kind) {
    case Command::Code:
      command.function(reinterpret_cast<const void *const *>(in),
                       reinterpret_cast<void *const *>(out), 0, command.units, threadMemory());
      break;
    case Command::Steps:
      command.work->run(reinterpret_cast<const void *const *>(in),
                        reinterpret_cast<void *const *>(out), threadMemory());
      break;
    case Command::Call:
      if (Status status = command.kernel->run(context, {in, command.inputCount},
                                              {out, command.outputCount});
          !status)
        return status;
      hasScratch = false;
      break;
    }
  }
  return {};
}

runtime::TraceRecord Trace::describe() const {
  using Buffer = LoadedProgram::Buffer;
  std::vector<int64_t> sizes(program.buffers.size());
  for (size_t i = 0; i < program.operands.size(); ++i)
    sizes[size_t(program.operands[i])] = program.operandBytes[i];
  auto operand = [&](int number) -> runtime::TraceOperand {
    if (number == kWorkspace)
      return {"arena", program.workspaceOffset(), program.workspaceBytes};
    const Buffer &buffer = program.buffers[size_t(number)];
    static constexpr const char *kWords[] = {"argument", "constant", "result", "arena"};
    return {kWords[buffer.kind], buffer.position, sizes[size_t(number)]};
  };
  runtime::TraceRecord record;
  record.commandBytes = bytes();
  record.arenaBytes = program.frameBytes();
  for (const Command &command : commands) {
    static constexpr const char *kWords[] = {"kernel", "code", "steps"};
    runtime::TraceCommand one;
    one.call = kWords[command.kind];
    one.kernel = program.kernel(command.launch).kind();
    for (uint32_t i = 0; i < command.inputCount; ++i)
      one.reads.push_back(operand(addressBuffers[command.inputs + i]));
    for (uint32_t i = 0; i < command.outputCount; ++i)
      one.writes.push_back(operand(addressBuffers[command.outputs + i]));
    record.commands.push_back(std::move(one));
  }
  for (auto [kind, slots] : {std::pair("argument", &argumentSlots), std::pair("result", &resultSlots)})
    for (size_t i = 0; i < slots->size(); ++i) {
      runtime::TraceSlot &slot = record.slots.emplace_back();
      slot.kind = kind;
      slot.number = int64_t(i);
      slot.uses = int64_t((*slots)[i].uses.size());
    }
  return record;
}

} // namespace cupel::compiler
