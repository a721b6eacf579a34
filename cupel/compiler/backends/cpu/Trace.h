// The commands of a device program, resolved: addresses of memory and of functions instead of buffers
// and launches, in one list that is run from its beginning to its end. What stays where it is (arena,
// constants) is written into the list; arguments and results are slots, of which the list knows every
// address, so that memory which moved is put there and nothing is copied. Recorded and replayed by
// TracedRuns, one run at a time: several runs at once need a trace each.

#pragma once

#include "cupel/compiler/backends/cpu/LoadedProgram.h"
#include "cupel/runtime/Trace.h"

namespace cupel::brief {
class Work;
} // namespace cupel::brief

namespace cupel::compiler {

class Trace {
public:
  explicit Trace(const LoadedProgram &program) : program(program) {}
  ~Trace();

  /// Puts the commands together, also again, for what kernels are now. Runs nothing.
  Status record();
  /// Memory of arguments that nobody else holds may be used for results, as in LoadedProgram::run.
  Result<std::vector<tensor::Tensor>> replay(reference::GridProcess &process,
                                             std::vector<tensor::Tensor> arguments);

  /// Of the list, with its addresses.
  int64_t bytes() const;
  size_t size() const { return commands.size(); }
  /// Whether some kernel is another than it was.
  bool isStale() const { return kernelsChanged != program.kernelsChanged(); }
  /// The operation and location of each command are left to whoever knows the program.
  runtime::TraceRecord describe() const;
  /// The launch that each command is of.
  uint32_t launchOf(size_t command) const { return commands[command].launch; }

  //===--- What kernels record ---------------------------------------------===//
  // Buffers are numbers of the program's, and kWorkspace.

  static constexpr int kWorkspace = -1;
  /// A call of the kernel itself.
  void call(const Kernel &kernel, std::span<const int> reads, std::span<const int> writes);
  /// A function of machine code, on the thread that replays.
  void code(codegen::KernelFunction function, int64_t units, int64_t scratchBytes,
            std::span<const int> inputs, std::span<const int> outputs);
  /// What is run operation by operation.
  void steps(const brief::Work &work, std::span<const int> inputs, std::span<const int> outputs);

private:
  struct Command {
    enum Kind : uint32_t { Call, Code, Steps } kind;
    uint32_t launch;
    uint32_t inputs, inputCount, outputs, outputCount; // In `addresses`.
    union {
      const Kernel *kernel;
      codegen::KernelFunction function;
      const brief::Work *work;
    };
    int64_t units = 0;
  };
  struct Slot {
    const std::byte *address = nullptr; // That stands in the list.
    std::vector<uint32_t> uses;
  };

  Command &add(Command::Kind kind, std::span<const int> inputs, std::span<const int> outputs);
  void addAddress(int buffer);
  void move(Slot &slot, const std::byte *to);
  Result<tensor::Tensor> resultMemory(size_t number, std::vector<tensor::Tensor> &arguments);
  Status run(LaunchContext &context, std::span<const uint8_t> left);

  const LoadedProgram &program;
  Frame frame;
  std::vector<Command> commands;
  std::vector<std::byte *> addresses;
  std::vector<int> addressBuffers; // Which buffer each is; for descriptions.
  std::vector<Slot> argumentSlots, resultSlots;
  std::vector<tensor::Tensor> kept; // Results of the last run: slots again when nobody else has them.
  int64_t scratchBytes = 0;         // The most that a function needs.
  uint32_t launch = 0;              // That is recorded.
  uint64_t kernelsChanged = 0;
};

} // namespace cupel::compiler
