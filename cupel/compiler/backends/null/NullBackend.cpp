#include "cupel/compiler/backends/null/NullBackend.h"

#include "cupel/compiler/program/ProgramText.h"
#include "cupel/reference/Plan.h"
#include "cupel/runtime/CheckArguments.h"

#include <cstring>

namespace cupel::compiler {

using namespace mlir;
using runtime::ProcessTensors;
using tensor::Tensor;

namespace {

/// Holds what a run needs and the program for those who ask. Everything here must be safe to use
/// from many threads: only what the module is touched with takes the context's lock.
class NullExecutable final : public runtime::Executable {
public:
  NullExecutable(std::shared_ptr<DeviceProgram> program, std::vector<unsigned> taken)
      : program(std::move(program)), taken(std::move(taken)) {}

  const runtime::ProgramInfo &info() const override { return program->info; }

  Result<ProcessTensors> execute(ProcessTensors arguments,
                                 const std::atomic<bool> *) const override {
    if (Status status = runtime::checkArguments(info(), arguments); !status)
      return status.error();
    ProcessTensors results(arguments.size());
    for (size_t process = 0; process < arguments.size(); ++process)
      for (unsigned argument : taken) {
        // Results are contiguous memory of their own.
        Result<Tensor> copy = copyOf(arguments[process][argument]);
        if (!copy)
          return copy.error();
        results[process].push_back(std::move(*copy));
      }
    return results;
  }

  std::string text() const override { return programText(*program); }

  std::string serialize() const override { return sourceForm(*program); }

private:
  static Result<Tensor> copyOf(const Tensor &tensor);

  std::shared_ptr<DeviceProgram> program;
  std::vector<unsigned> taken; // The argument that each result is.
};

class NullBackend final : public Backend {
public:
  std::string_view name() const override { return "null"; }
  std::string_view summary() const override {
    return "runs programs whose results are their arguments; the skeleton of a backend";
  }

  Result<ExecutablePointer> compile(std::shared_ptr<DeviceProgram> program) const override {
    Block &body = program->entry.getBody().front();
    Operation &first = body.front();
    if (&first != body.getTerminator())
      return unsupported(first, "is not computed by the backend null");
    // Pieces stay where they are only if arguments and results lie alike.
    const runtime::ProgramInfo &info = program->info;
    std::vector<unsigned> taken;
    for (auto [i, value] : llvm::enumerate(first.getOperands())) {
      auto argument = cast<BlockArgument>(value);
      taken.push_back(argument.getArgNumber());
      const runtime::ValueInfo &from = info.arguments[argument.getArgNumber()];
      if (from.shards != info.results[i].shards || from.isToken)
        return unsupported(first, "result " + std::to_string(i) + " lies elsewhere than argument " +
                                      std::to_string(argument.getArgNumber()));
    }
    return ExecutablePointer(
        std::make_shared<NullExecutable>(std::move(program), std::move(taken)));
  }

private:
  static Error unsupported(Operation &op, const std::string &why) {
    Place place{reference::describeLocation(op.getLoc()), op.getName().getStringRef().str(), {}};
    return Error{ErrorCode::Unsupported, place.location + ": " + place.operation + ": " + why,
                 place};
  }
};

Result<Tensor> NullExecutable::copyOf(const Tensor &tensor) {
  Result<Tensor> from = tensor.contiguous();
  if (!from)
    return from.error();
  Result<Tensor> copy =
      Tensor::uninitialized(tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()});
  if (copy && copy->byteSize())
    std::memcpy(copy->mutableData(), from->data(), from->byteSize());
  return copy;
}

} // namespace

const Backend &nullBackend() {
  static const NullBackend backend;
  return backend;
}

} // namespace cupel::compiler
