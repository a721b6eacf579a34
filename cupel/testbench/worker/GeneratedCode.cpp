#include "cupel/testbench/worker/GeneratedCode.h"

#include "cupel/support/Process.h"
#include "cupel/support/TemporaryFolder.h"
#include "cupel/tensor/Print.h"
#include "cupel/tensor/Safetensors.h"
#include "cupel/testbench/GeneratedFolder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>

namespace cupel::testbench::worker {

namespace {

namespace fs = std::filesystem;
using tensor::Tensor;

/// Of what a command printed: its end, where it says what went wrong.
constexpr size_t kSaidBytes = 2000;
/// Where a test has no limit of its own.
constexpr double kLongSeconds = 24 * 3600;

std::string lastOf(const std::string &text) {
  size_t end = text.find_last_not_of(" \n");
  std::string whole = end == std::string::npos ? "" : text.substr(0, end + 1);
  return whole.size() <= kSaidBytes ? whole : "..." + whole.substr(whole.size() - kSaidBytes);
}

/// Runs a command within the test's time.
Result<std::string> runWithin(const std::vector<std::string> &command, const Budget &budget, ErrorCode code) {
  double seconds = budget.secondsLeft() > 0 ? budget.secondsLeft() : kLongSeconds;
  Result<CommandOutput> done =
      runCommand(command, std::chrono::seconds(std::max<int64_t>(1, int64_t(std::ceil(seconds)))));
  if (!done)
    return done.error();
  if (done->exitCode == 0)
    return std::move(done->text);
  std::string how = done->exitCode > 128 ? describeSignal(done->exitCode - 128)
                                         : fmt::format("exit code {}", done->exitCode);
  return Error{code, fmt::format("{} ended with {}: {}", fs::path(command.front()).filename().string(), how,
                                 lastOf(done->text))};
}

/// As the folder's own `run` does it, with the compiler and flags that the environment names.
Status build(const GeneratedFolder &folder, const Budget &budget) {
  std::error_code error;
  fs::file_time_type made = fs::last_write_time(folder.file("model"), error);
  bool isFresh = !error && made > fs::last_write_time(folder.file("main.cpp"), error);
  for (const fs::directory_entry &entry : fs::directory_iterator(folder.file("ops"), error))
    isFresh = isFresh && made > entry.last_write_time(error);
  if (isFresh)
    return {};
  auto setting = [](const char *variable, const char *otherwise) {
    const char *text = std::getenv(variable);
    return std::string(text && *text ? text : otherwise);
  };
  std::vector<std::string> command = {setting("CXX", "g++"), "-std=c++17"};
  std::istringstream flags(setting("CXXFLAGS", "-O3 -march=native"));
  for (std::string flag; flags >> flag;)
    command.push_back(flag);
  command.insert(command.end(), {"-o", folder.file("model"), folder.file("main.cpp"), "-pthread"});
  Result<std::string> done = runWithin(command, budget, ErrorCode::InvalidProgram);
  return done ? Status() : Status(done.error().within("the generated C++ cannot be built"));
}

class GeneratedExecutable final : public Executable {
public:
  GeneratedExecutable(const GeneratedFolder &folder, const Program &program)
      : folder(folder), results(program.results), checksItself(program.selfChecking) {}

  Result<std::vector<Tensor>> run(TensorLists inputs, const Budget &budget) override {
    TemporaryFolder scratch("cupel-generated");
    if (scratch.path.empty())
      return Error{"no folder can be made for temporary files"};
    auto file = [&](const char *name) { return (scratch.path / name).string(); };
    std::vector<std::string> command = {folder.file("run"), "--save", file("results.safetensors")};
    const std::vector<Tensor> &given = inputs.front();
    size_t first = 0;
    for (auto [option, names, isGiven] : {std::tuple("--inputs", &folder.inputs, true),
                                          std::tuple("--weights", &folder.weights, !folder.hasTensors)}) {
      tensor::Safetensors all;
      for (size_t i = 0; i < names->size() && first + i < given.size(); ++i)
        all.tensors.emplace_back((*names)[i], given[first + i]);
      first += names->size();
      if (all.tensors.empty() || !isGiven)
        continue;
      std::string path = file(option + 2);
      if (Status status = tensor::writeSafetensors(path, all); !status)
        return status.error().as(ErrorCode::Unsupported);
      command.insert(command.end(), {option, path});
    }
    Result<std::string> done = runWithin(
        command, budget, checksItself ? ErrorCode::CheckFailed : ErrorCode::RuntimeError);
    if (!done)
      return done.error();
    return read(file("results.safetensors"));
  }

private:
  Result<std::vector<Tensor>> read(const std::string &path) const {
    std::vector<Tensor> outputs;
    if (std::ranges::none_of(results, &ValueType::isTensor))
      return outputs;
    Result<tensor::Safetensors> saved = tensor::readSafetensors(path);
    if (!saved)
      return saved.error().as(ErrorCode::BadAnswer);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].isTensor)
        continue;
      std::string name = i < folder.outputs.size() ? folder.outputs[i] : "output" + std::to_string(i);
      auto found = std::ranges::find(saved->tensors, name, [](const auto &entry) { return entry.first; });
      if (found == saved->tensors.end())
        return Error{ErrorCode::BadAnswer, "the code saved no result '" + name + "'"};
      const Tensor &value = found->second;
      if (value.dtype() != results[i].element.storage)
        return Error{ErrorCode::BadAnswer, "the code saved '" + name + "' as " +
                                               tensor::describe(value.elementType(), value.shape()) + ", not as " +
                                               tensor::describe(results[i].element, results[i].shape)};
      outputs.push_back(results[i].element.quantization ? value.withElementType(results[i].element) : value);
    }
    return outputs;
  }

  GeneratedFolder folder;
  std::vector<ValueType> results;
  bool checksItself;
};

class GeneratedCode final : public Device {
public:
  explicit GeneratedCode(GeneratedFolder folder) : folder(std::move(folder)) {}

  std::string name() const override { return std::string(kGeneratedDevice) + folder.path; }

  Result<std::unique_ptr<Executable>> compile(const Program &program, const Budget &budget) override {
    if (program.arguments.size() != folder.inputs.size() + folder.weights.size() ||
        program.results.size() != folder.outputs.size())
      return Error{ErrorCode::Unsupported, "generated code runs the program that it was generated from, and no other"};
    if (folder.isCpp)
      if (Status status = build(folder, budget); !status)
        return status.error();
    return std::unique_ptr<Executable>(std::make_unique<GeneratedExecutable>(folder, program));
  }

  Result<RunWorkload> load(const workload::Workload &, const Program &program, const Budget &budget) override {
    Result<std::unique_ptr<Executable>> made = compile(program, budget);
    if (!made)
      return made.error();
    std::shared_ptr<Executable> executable = std::move(*made);
    return RunWorkload([executable](const TensorLists &inputs, const Budget &left) -> Result<TensorLists> {
      Result<std::vector<Tensor>> outputs = executable->run(inputs, left);
      if (!outputs)
        return outputs.error();
      return TensorLists{std::move(*outputs)};
    });
  }

private:
  GeneratedFolder folder;
};

} // namespace

Result<std::unique_ptr<Device>> openGeneratedCode(const std::string &path) {
  Result<GeneratedFolder> folder = GeneratedFolder::read(path);
  if (!folder)
    return folder.error();
  return std::unique_ptr<Device>(std::make_unique<GeneratedCode>(std::move(*folder)));
}

} // namespace cupel::testbench::worker
