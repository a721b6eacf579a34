// interpreter.probe and the check that reads back what it wrote.

#include "cupel/reference/Checks.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Npy.h"

#include "cupel/ir/check/Check.h"
#include "cupel/ir/interpreter/Interpreter.h"

#include <fstream>
#include <sstream>

namespace cupel::reference {

using namespace mlir;
using tensor::Tensor;

namespace {

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

Result<StepFunction> planProbe(Operation *op, Planning &) {
  auto probe = cast<interpreter::ProbeOp>(op);
  std::string id = probe.getProbeId().str(), type = typeText(probe.getType());
  return StepFunction([=](GridProcess &process, StepArguments &arguments) -> Status {
    const std::string &folder = process.run.options.probeFolder;
    if (folder.empty())
      return Error{"a folder for probes is needed (--probes DIR)"};
    std::lock_guard lock(process.run.probeMutex);
    int64_t number = ++process.run.probeCount;
    std::string index = folder + "/index.csv";
    if (number == 1)
      std::remove(index.c_str());
    std::string path = folder + "/probe" + std::to_string(number) + ".npy";
    if (Status status = tensor::writeNpy(path, arguments.tensor(0)); !status)
      return status;
    std::ofstream file(index, std::ios::app);
    file << id << "," << type << "," << path << "\n";
    if (!file)
      return Error{index + " cannot be written"};
    arguments.set(0, arguments.take(0));
    return {};
  });
}

Result<StepFunction> planExpectSerializedEq(Operation *op, Planning &) {
  auto check = cast<check::ExpectSerializedEqOp>(op);
  std::string id = check.getProbeId().str(), type = typeText(check.getExpected().getType());
  uint32_t iteration = check.getIter();
  return StepFunction([=](GridProcess &process, StepArguments &arguments) -> Status {
    const std::string &folder = process.run.options.probeFolder;
    if (folder.empty())
      return Error{"a folder for probes is needed (--probes DIR)"};
    std::lock_guard lock(process.run.probeMutex);
    // Iterations count from zero: by the lines of the index, as upstream has it, or by the values
    // of this probe where that line is another's.
    std::ifstream file(folder + "/index.csv");
    std::string found;
    uint32_t lines = 0, own = 0;
    for (std::string line; std::getline(file, line); ++lines) {
      if (line.substr(0, line.find(',')) != id)
        continue;
      if (lines == iteration) {
        found = line;
        break;
      }
      if (own++ == iteration)
        found = line;
    }
    if (!found.empty()) {
      size_t first = found.find(','), last = found.rfind(',');
      std::string written = found.substr(first + 1, last - first - 1);
      if (written != type)
        return Error{"probe " + id + " has written a " + written + ", not a " + type};
      Result<Tensor> value = tensor::readNpy(found.substr(last + 1), arguments.tensor(0).dtype());
      if (!value)
        return value.error();
      return expectEqual(*value, arguments.tensor(0));
    }
    return Error{"probe " + id + " has not written a value for iteration " +
                 std::to_string(iteration)};
  });
}

} // namespace

void registerProbes(Registry &registry) {
  registry.add("interpreter.probe", planProbe);
  registry.add("check.expect_serialized_eq", planExpectSerializedEq);
}

} // namespace cupel::reference
