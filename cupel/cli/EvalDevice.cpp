#include "cupel/cli/EvalDevice.h"

#include "cupel/ir/vhlo/Version.h"
#include "cupel/pjrt/host/PluginErrors.h"
#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/tensor/Print.h"
#include "cupel/testbench/worker/ChosenInputs.h"
#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/ProgramInputs.h"
#include "cupel/testbench/worker/Rule.h"
#include "cupel/workload/Folder.h"

#include <filesystem>

namespace cupel::cli {

using namespace testbench::worker;
using tensor::Tensor;
namespace fs = std::filesystem;

namespace {

Status parseVersion(const std::string &text, std::vector<workload::ProgramVersion> &versions) {
  std::string problem;
  std::optional<vhlo::Version> version = vhlo::parseTargetVersion(text, problem);
  if (!version)
    return Error{problem};
  versions.push_back({version->major, version->minor, version->patch});
  return {};
}

} // namespace

Status DeviceEvaluator::open() {
  if (reference)
    return {};
  for (const std::string &text : settings.versions)
    if (Status parsed = parseVersion(text, versions); !parsed)
      return parsed;
  if (versions.empty())
    versions = {newestVersion(), {1, 13, 0}, {1, 0, 0}};
  Result<std::unique_ptr<Device>> golden = openDevice("reference");
  if (!golden)
    return golden.error();
  reference = std::move(*golden);
  if (settings.device.empty())
    return {};
  Result<std::unique_ptr<Device>> opened = openDevice(settings.device);
  if (!opened)
    return opened.error();
  device = std::move(*opened);
  return {};
}

Status DeviceEvaluator::evaluate(const std::string &bytes, const std::string &path, uint32_t part,
                                 Progress &progress, std::string &output) {
  if (Status opened = open(); !opened)
    return opened;
  auto read = reader.read(bytes, path);
  if (!read)
    return read.error();
  Prepared prepared{std::move(*read), {}, budget()};
  const Program &program = prepared.program();
  ChosenInputs chosen(program);
  Result<Inputs> made = inputsFor(program, path, part, [&](size_t argument, uint32_t replica) {
    return chosen.make(argument, settings.seed, replica);
  });
  if (!made)
    return made.error();
  prepared.workload.inputs = std::move(made->lists);
  const TensorLists &inputs = prepared.workload.inputs;
  Result<std::optional<std::vector<Tensor>>> beside = expectedFor(program, path, part);
  if (!beside)
    return beside.error();
  // What it should give: its own checks, the file beside it, or what the reference computes.
  std::vector<Tensor> expected;
  if (*beside) {
    expected = std::move(**beside);
  } else if (!program.selfChecking) {
    Result<std::vector<Tensor>> golden = runOn(*reference, program, inputs, budget());
    if (!golden)
      return golden.error().within("the reference");
    expected = std::move(*golden);
  }
  Result<TestNoise> noise = noiseOf(prepared, !*beside);
  if (!noise)
    return noise.error();
  if (!settings.workloadFolder.empty())
    if (Status saved = save(prepared, path, part, expected, *noise); !saved)
      return saved;
  if (!device)
    return {};

  progress.enter(results::Stage::Execute);
  Result<std::vector<Tensor>> outputs = runOn(*device, program, inputs, budget());
  if (!outputs)
    return outputs.error().within(name(outputs.error().code));
  if (settings.print)
    for (const Tensor &result : *outputs)
      output += tensor::tensorText(result) + "\n";
  if (program.selfChecking && !*beside)
    return {};
  if (outputs->size() != expected.size())
    return Error{"there are " + std::to_string(outputs->size()) + " results, and " +
                 std::to_string(expected.size()) + " are expected"};
  for (size_t i = 0; i < outputs->size(); ++i) {
    results::ComparisonRecord comparison;
    if (Status judged = judgeStrictly(0, i, (*outputs)[i], expected[i], *noise, comparison);
        !judged)
      return judged;
    if (!*comparison.strictPassed)
      return Error{"result " + std::to_string(i) + ": " + comparison.strictSentence};
  }
  return {};
}

Budget DeviceEvaluator::budget() const {
  Budget budget;
  budget.deadline = pjrt::deadlineIn(settings.timeout);
  budget.seed = settings.seed;
  return budget;
}

Result<TestNoise> DeviceEvaluator::noiseOf(const Prepared &prepared, bool isExpectedFromReference) {
  Result<compare::DevicePrecision> precision =
      settings.precision.empty() ? runtime::declaredPrecision(settings.device, "")
                                 : compare::DevicePrecision::parse(settings.precision);
  if (!precision)
    return precision.error();
  NoiseSources sources;
  sources.isExpectedFromReference = isExpectedFromReference;
  sources.reference = [this, &prepared](const Budget &budget) -> Result<TensorLists> {
    Result<std::vector<Tensor>> outputs =
        runOn(*reference, prepared.program(), prepared.workload.inputs, budget);
    if (!outputs)
      return outputs.error();
    return TensorLists{std::move(*outputs)};
  };
  if (device)
    sources.device = [this, &prepared](const TensorLists &inputs,
                                       const Budget &budget) -> Result<TensorLists> {
      Result<std::vector<Tensor>> outputs =
          runOn(*device, prepared.program(), inputs, budget);
      if (!outputs)
        return outputs.error();
      return TensorLists{std::move(*outputs)};
    };
  return TestNoise(prepared, *precision, settings.noise, std::move(sources));
}

Result<std::vector<Tensor>> DeviceEvaluator::runOn(Device &device, const Program &program,
                                                   const TensorLists &inputs,
                                                   const Budget &budget) {
  Result<std::unique_ptr<Executable>> executable = device.compile(program, budget);
  if (!executable)
    return executable.error();
  return (*executable)->run(inputs, budget);
}

Status DeviceEvaluator::save(const Prepared &prepared, const std::string &path, uint32_t part,
                             const std::vector<Tensor> &expected, TestNoise &noise) {
  Result<DeviceProgram> ready = prepareForDevice(prepared.program(), versions);
  if (!ready)
    return ready.error();
  workload::Workload workload;
  std::string stem = fs::path(path).filename().string();
  for (std::string_view extension : {".bc", ".mlirbc", ".mlir"})
    if (stem.ends_with(extension) && stem.size() > extension.size())
      stem.resize(stem.size() - extension.size());
  workload.name = part == 0 && !reader.load(path, 1) ? stem : stem + "-" + std::to_string(part);
  workload.inputs = prepared.workload.inputs;
  // Where checks judge, results of the program's own need not be known.
  if (!expected.empty() && ready->workload.checks.empty() && !ready->gridResults) {
    workload.expected = {expected};
    // Where the device is nobody can evaluate the program.
    workload.precision = noise.precision();
    workload.noise = noise.samples();
    if (noise.center())
      workload.noiseCenter = *noise.center();
  }
  Result<workload::Workload> whole = ready->complete(workload);
  if (!whole)
    return whole.error();
  return workload::writeWorkload((fs::path(settings.workloadFolder) / workload.name).string(),
                                 *whole);
}

} // namespace cupel::cli
