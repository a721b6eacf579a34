#include "cupel/compiler/backends/cpu/ControlKernel.h"

#include "cupel/compiler/backends/cpu/LoadedProgram.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cupel::compiler {

using namespace mlir;

namespace {

using Program = std::unique_ptr<LoadedProgram>;

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

dev::ProgramOp programOf(FlatSymbolRefAttr name, ModuleOp functions) {
  return functions.lookupSymbol<dev::ProgramOp>(name.getAttr());
}

Result<Program> load(FlatSymbolRefAttr name, ModuleOp functions, KernelChoice choice) {
  dev::ProgramOp program = programOf(name, functions);
  if (!program)
    return Error{ErrorCode::Internal, "there is no device program @" + name.getValue().str()};
  return LoadedProgram::load(program, functions, choice);
}

/// Which argument of the launch each operand is.
std::vector<int> argumentsOf(ValueRange operands) {
  std::vector<int> numbers;
  for (Value operand : operands)
    numbers.push_back(int(cast<BlockArgument>(operand).getArgNumber()));
  return numbers;
}

/// What a loop carries is often large, and copied for the sake of a few elements that change.
void copy(std::byte *to, const std::byte *from, int64_t bytes) {
  constexpr int64_t kPart = int64_t{1} << 16;
  constexpr double kNanosecondsPerByte = 0.05;
  if (bytes <= 0 || to == from)
    return;
  kernelPool().parallelFor((bytes + kPart - 1) / kPart, double(kPart) * kNanosecondsPerByte, [&](int64_t part) {
    int64_t begin = part * kPart;
    std::memcpy(to + begin, from + begin, size_t(std::min(kPart, bytes - begin)));
  });
}

/// What is carried lies in place where the body may write over it; the rest changes between the
/// launch's own memory and a second one, so that no step copies anything.
class WhileKernel final : public Kernel {
public:
  WhileKernel(Program condition, Program body, std::vector<int> inputs, std::vector<int64_t> sizes)
      : condition(std::move(condition)), body(std::move(body)), inputs(std::move(inputs)),
        bytes(std::move(sizes)), isInPlace(bytes.size()), second(bytes.size()) {
    for (int64_t number : this->body->inPlace())
      isInPlace[number] = true;
    frame = aligned(std::max(this->condition->frameBytes(), this->body->frameBytes()));
    int64_t end = frame;
    for (size_t i = 0; i < bytes.size(); ++i) {
      second[i] = end;
      if (!isInPlace[i])
        end += aligned(bytes[i]);
    }
    isSwappedFree = !llvm::is_contained(isInPlace, false);
    test = end;
    end += 64;
    pointers = end;
    total = end + aligned(int64_t((this->inputs.size() + bytes.size() + 1) * sizeof(void *)));
  }

  int64_t workspaceBytes() const override { return total; }
  std::vector<const LoadedProgram *> programs() const override {
    return {condition.get(), body.get()};
  }
  std::string_view kind() const override { return "while"; }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    std::byte *work = context.workspace;
    auto **arguments = reinterpret_cast<const std::byte **>(work + pointers);
    auto **results = reinterpret_cast<std::byte **>(work + pointers) + inputs.size();
    for (size_t i = 0; i < inputs.size(); ++i)
      arguments[i] = reads[inputs[i]];
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (isInPlace[i]) {
        copy(writes[i], arguments[i], bytes[i]);
        arguments[i] = writes[i];
        results[i] = writes[i];
      } else {
        results[i] = arguments[i] == writes[i] ? work + second[i] : writes[i];
      }
    }
    std::byte *goesOn = work + test;
    results[bytes.size()] = goesOn;
    if (Status status = condition->execute(context.process, {}, arguments, &goesOn, work); !status)
      return status;
    if (*goesOn != std::byte{0})
      if (Status status = body->prepareLoop(context.process, arguments, results, work); !status)
        return status;
    bool mayWriteAll = isSwappedFree; // What is read first may be memory that must not be written.
    while (*goesOn != std::byte{0}) {
      if (std::exchange(mayWriteAll, true) && body->isLoop()) {
        if (Status status = body->repeat(context.process, arguments, results, work); !status)
          return status;
        break;
      }
      if (Status status = body->execute(context.process, {}, arguments, results, work); !status)
        return status;
      for (size_t i = 0; i < bytes.size(); ++i)
        if (!isInPlace[i]) {
          arguments[i] = results[i];
          results[i] = arguments[i] == writes[i] ? work + second[i] : writes[i];
        }
    }
    for (size_t i = 0; i < bytes.size(); ++i)
      copy(writes[i], arguments[i], bytes[i]);
    return {};
  }

private:
  Program condition, body;
  std::vector<int> inputs;
  std::vector<int64_t> bytes; // Of what is carried.
  std::vector<bool> isInPlace;
  bool isSwappedFree = true; // All is in place.
  std::vector<int64_t> second; // Where the other memory of each is.
  int64_t frame = 0, test = 0, pointers = 0, total = 0; // Places in the workspace.
};

class CaseKernel final : public Kernel {
public:
  CaseKernel(std::vector<Program> branches, std::vector<int> inputs)
      : branches(std::move(branches)), inputs(std::move(inputs)) {
    for (const Program &branch : this->branches)
      frame = std::max(frame, aligned(branch->frameBytes()));
  }

  int64_t workspaceBytes() const override {
    return frame + aligned(int64_t(inputs.size() * sizeof(void *)));
  }
  std::vector<const LoadedProgram *> programs() const override {
    std::vector<const LoadedProgram *> all;
    for (const Program &branch : branches)
      all.push_back(branch.get());
    return all;
  }
  std::string_view kind() const override { return "case"; }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    int32_t index;
    std::memcpy(&index, reads[inputs[0]], sizeof(index));
    auto count = int32_t(branches.size());
    const Program &chosen = branches[index < 0 || index >= count ? count - 1 : index];
    auto **arguments = reinterpret_cast<const std::byte **>(context.workspace + frame);
    for (size_t i = 1; i < inputs.size(); ++i)
      arguments[i - 1] = reads[inputs[i]];
    return chosen->execute(context.process, {}, arguments, writes.data(), context.workspace);
  }

private:
  std::vector<Program> branches;
  std::vector<int> inputs; // The index, then what branches take.
  int64_t frame = 0;
};

} // namespace

/// How often a loop is repeated, by the numbers that its condition compares with: a loop that counts is
/// mostly one that counts up to one of them.
static int64_t expectedRepetitions(dev::ProgramOp condition) {
  int64_t most = 0;
  condition.walk([&](stablehlo::CompareOp compare) {
    for (Value operand : compare->getOperands()) {
      auto limit = operand.getDefiningOp<stablehlo::ConstantOp>();
      auto value = limit ? dyn_cast<DenseIntElementsAttr>(limit.getValue()) : DenseIntElementsAttr();
      if (value && value.isSplat() && value.getNumElements() > 0 &&
          !value.getElementType().isInteger(1))
        most = std::max(most, value.getSplatValue<APInt>().getLimitedValue(INT32_MAX) == INT32_MAX
                                  ? int64_t(0) // Negative, or no number of steps.
                                  : int64_t(value.getSplatValue<APInt>().getZExtValue()));
    }
  });
  return most;
}

/// What is handed to each repetition of a loop as it is: what is not carried, and what is carried in place and written by nobody.
static llvm::DenseSet<int64_t> invariantsOf(dev::ProgramOp body, int64_t carried) {
  llvm::DenseSet<int64_t> numbers, written;
  if (!body)
    return numbers;
  llvm::ArrayRef<int64_t> inPlace = body.getInPlace().value_or(llvm::ArrayRef<int64_t>());
  for (auto launch : body.getBody().getOps<dev::LaunchOp>())
    for (Value buffer : launch.getWrites())
      if (auto result = dev::rootOf(buffer).getDefiningOp<dev::ResultOp>(); result && !isCopyOntoItself(launch, inPlace))
        written.insert(int64_t(result.getNumber()));
  for (auto argument : body.getBody().getOps<dev::ArgumentOp>()) {
    auto number = int64_t(argument.getNumber());
    if (number >= carried || (llvm::is_contained(inPlace, number) && !written.contains(number)))
      numbers.insert(number);
  }
  return numbers;
}

Result<KernelPointer> controlKernel(Operation *op, ModuleOp functions, KernelChoice choice) {
  choice.invariants = nullptr; // Of a loop around this.
  std::vector<int> inputs = argumentsOf(op->getOperands());
  if (auto loop = dyn_cast<tir::WhileOp>(op)) {
    Result<Program> condition = load(loop.getConditionAttr(), functions, choice); // Run once.
    if (!condition)
      return condition.error();
    KernelChoice forBody = choice;
    forBody.isRepeated = true;
    llvm::DenseSet<int64_t> invariants = invariantsOf(programOf(loop.getBodyAttr(), functions), int64_t(loop.getCarried()));
    forBody.invariants = &invariants;
    Result<Program> body = load(loop.getBodyAttr(), functions, forBody);
    if (!body)
      return body.error();
    std::vector<int64_t> bytes, swaps;
    for (auto [i, type] : llvm::enumerate(loop.getResultTypes())) {
      bytes.push_back(dev::byteSizeOf(type).value_or(0));
      if (!llvm::is_contained((*body)->inPlace(), int64_t(i)))
        swaps.push_back(int64_t(i));
    }
    if (Status status = (*body)->compileLoop(programOf(loop.getBodyAttr(), functions), swaps,
                                             int64_t(loop.getCarried()),
                                             expectedRepetitions(programOf(loop.getConditionAttr(), functions)),
                                             choice);
        !status)
      return status.error();
    return KernelPointer(std::make_unique<WhileKernel>(std::move(*condition), std::move(*body),
                                                       std::move(inputs), std::move(bytes)));
  }
  std::vector<Program> branches;
  for (auto name : cast<tir::CaseOp>(op).getBranches().getAsRange<FlatSymbolRefAttr>()) {
    Result<Program> branch = load(name, functions, choice);
    if (!branch)
      return branch.error();
    branches.push_back(std::move(*branch));
  }
  return KernelPointer(std::make_unique<CaseKernel>(std::move(branches), std::move(inputs)));
}

} // namespace cupel::compiler
