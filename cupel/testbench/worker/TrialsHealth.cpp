#include "cupel/testbench/worker/Trials.h"

#include "cupel/pjrt/host/CompileOptions.h"
#include "cupel/runtime/DeviceName.h"

#include <fmt/format.h>

namespace cupel::testbench::worker {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;

namespace {

constexpr const char *kHealthyProgram = R"(
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %a, %b : tensor<4xf32>
  %1 = stablehlo.add %0, %b : tensor<4xf32>
  return %1 : tensor<4xf32>
}
)";

Tensor floats(std::initializer_list<float> values) {
  return Tensor::of<tensor::DType::F32>({int64_t(values.size())}, values);
}

} // namespace

/// What a check of health says of a device that works without the options of this run.
static constexpr const char *kOptionsRefused = "only with the options of this run";

/// The device without the options that this run gives to its compiler, and these; nothing where it
/// has none.
static std::optional<std::pair<std::string, std::string>> withoutOptions(std::string_view device) {
  runtime::DeviceName named = runtime::DeviceName::parse(device);
  std::string options;
  std::erase_if(named.options, [&](std::string_view option) {
    if (!option.starts_with(pjrt::kCompilePrefix))
      return false;
    option.remove_prefix(pjrt::kCompilePrefix.size());
    options += (options.empty() ? "" : ", ") + std::string(option);
    return true;
  });
  if (options.empty())
    return {};
  return std::pair(named.str(), options);
}

TestRecord Trials::checkHealth(const Request &request, Progress &progress, ProgramReader &reader) {
  TestRecord record;
  record.outcome = Outcome::Passed;
  Budget budget = budgetOf(request);
  auto read = reader.read(kHealthyProgram, "the known-good program");
  Result<Device *> device = this->device(request.device);
  if (!device) {
    fail(record, kNoDevice, device.message());
    return record;
  }
  if (!read) {
    fail(record, name(ErrorCode::Internal), "the known-good program cannot be read");
    return record;
  }
  progress.enter(Stage::Compile);
  auto executable = (*device)->compile((*read)->program, budget);
  if (!executable) {
    fail(record, executable.error());
    // A device that is well and does not know an option is no bad device.
    if (auto plain = withoutOptions(request.device))
      if (Result<Device *> other = this->device(plain->first);
          other && (*other)->compile((*read)->program, budget))
        record.message = fmt::format("{} ({}): {}", kOptionsRefused, plain->second, record.message);
    return record;
  }
  progress.enter(Stage::Execute);
  Result<std::vector<Tensor>> outputs =
      (*executable)->run({{floats({1, 2, -3, 0}), floats({0.5f, 4, 2, 7})}}, budget);
  if (!outputs) {
    fail(record, outputs.error());
    return record;
  }
  if (outputs->size() != 1) {
    fail(record, "wrong_result", "it gave " + std::to_string(outputs->size()) + " outputs");
    return record;
  }
  Comparators exact{.assertPcc = false, .assertAllclose = true};
  auto comparison = compareOutput(0, outputs->front(), floats({1, 12, -4, 7}), exact);
  if (!comparison || !comparison->passed)
    fail(record, "wrong_result", comparison ? comparison->sentence : comparison.message());
  return record;
}

} // namespace cupel::testbench::worker
