// Correct devices are not called wrong, and faults are: every program of zoo/programs is evaluated as
// devices of several precisions would, whose roundings have nothing to do with those that the limits
// were measured by, and as devices that are broken.

#include "cupel/testbench/worker/ChosenInputs.h"
#include "cupel/testbench/worker/ProgramInputs.h"
#include "cupel/testbench/worker/ReferenceDevice.h"
#include "cupel/testbench/worker/Rule.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

namespace fs = std::filesystem;
using tensor::DType;
using tensor::Tensor;

std::vector<std::string> programFiles() {
  std::vector<std::string> files;
  for (const fs::directory_entry &entry :
       fs::recursive_directory_iterator(CUPEL_SOURCE_ROOT "/zoo/programs"))
    if (entry.path().extension() == ".mlir")
      files.push_back(entry.path().string());
  files.push_back(CUPEL_SOURCE_ROOT "/tests/planter/models/quantized_chain.mlir");
  std::ranges::sort(files);
  return files;
}

/// A copy in which `change` was done to every f32 or bf16 element; nothing where there is none.
std::optional<Tensor> changed(const Tensor &from, const std::function<double(double, int64_t)> &change) {
  Result<Tensor> plain = from.contiguous();
  Result<Tensor> made = Tensor::uninitialized(
      from.elementType(), tensor::Shape(from.shape().begin(), from.shape().end()));
  if (!plain || !made || from.dtype() != DType::F32)
    return {};
  const float *source = plain->dataAs<float>();
  float *target = made->mutableAs<float>();
  for (int64_t i = 0; i < from.size(); ++i)
    target[i] = float(change(source[i], i));
  return std::move(*made);
}

class CorrectDevicesTest : public testing::TestWithParam<const char *> {
protected:
  Result<TensorLists> evaluate(const Prepared &prepared, const Budget &budget) {
    auto executable = reference->compile(prepared.program(), budget);
    if (!executable)
      return executable.error();
    Result<std::vector<Tensor>> outputs = (*executable)->run(prepared.workload.inputs, budget);
    if (!outputs)
      return outputs.error();
    return TensorLists{std::move(*outputs)};
  }

  std::optional<Prepared> prepare(const std::string &file) {
    Result<std::string> bytes = reader.load(file, 0);
    auto read = bytes ? reader.read(*bytes, file) : Result<std::unique_ptr<ProgramReader::Read>>(bytes.error());
    if (!read || (*read)->program.selfChecking)
      return {};
    ChosenInputs chosen((*read)->program);
    Result<Inputs> inputs = inputsFor((*read)->program, file, 0,
                                      [&](size_t argument, uint32_t replica) {
                                        return chosen.make(argument, 0, replica);
                                      });
    if (!inputs)
      return {};
    Prepared prepared{std::move(*read), {}, {}};
    prepared.workload.inputs = std::move(inputs->lists);
    return prepared;
  }

  ProgramReader reader;
  std::unique_ptr<Device> reference = makeReferenceDevice();
};
INSTANTIATE_TEST_SUITE_P(Precisions, CorrectDevicesTest,
                         testing::Values("f32", "tf32/f32", "bf16/f32", "bf16"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

TEST_P(CorrectDevicesTest, AreNotFlaggedAndBrokenOnesAre) {
  compare::DevicePrecision precision = *compare::DevicePrecision::parse(GetParam());
  int devices = 0, faults = 0, missed = 0;
  for (const std::string &file : programFiles()) {
    std::optional<Prepared> prepared = prepare(file);
    if (!prepared)
      continue;
    Result<TensorLists> golden = evaluate(*prepared, {});
    ASSERT_TRUE(golden) << file << ": " << golden.message();
    NoiseSources sources;
    sources.isExpectedFromReference = true;
    sources.reference = [&](const Budget &budget) { return evaluate(*prepared, budget); };
    TestNoise noise(*prepared, precision, kNoiseSamples, sources);
    auto judge = [&](size_t i, const Tensor &actual) {
      results::ComparisonRecord record;
      Status judged = judgeStrictly(0, i, actual, golden->front()[i], noise, record);
      EXPECT_TRUE(judged) << judged.message();
      return record;
    };
    for (uint64_t seed = 2; seed < 5; ++seed) {
      Budget budget;
      if (seed < 4)
        budget.jitter = {precision.products.step, precision.rest.step, precision.doubles.step, seed};
      else
        budget.wideSums = true; // Sums in another order, with other roundings.
      Result<TensorLists> outputs = evaluate(*prepared, budget);
      ASSERT_TRUE(outputs) << file << ": " << outputs.message();
      ++devices;
      for (size_t i = 0; i < outputs->front().size(); ++i) {
        results::ComparisonRecord record = judge(i, outputs->front()[i]);
        EXPECT_TRUE(*record.strictPassed)
            << file << " output " << i << " device " << seed << ": " << record.strictSentence;
      }
    }
    for (size_t i = 0; i < golden->front().size(); ++i) {
      const Tensor &right = golden->front()[i];
      if (compare::vacuous(right))
        continue;
      int64_t row = std::max<int64_t>(right.size() / std::max<int64_t>(right.rank() ? right.dim(0) : 1, 1), 1);
      for (auto change : std::vector<std::function<double(double, int64_t)>>{
               [](double x, int64_t) { return x * 1.5; }, [](double x, int64_t) { return x + 1; },
               [&](double x, int64_t at) { return at / row == 0 ? 2 * x + 1 : x; }}) {
        std::optional<Tensor> wrong = changed(right, change);
        if (!wrong)
          continue;
        ++faults;
        missed += *judge(i, *wrong).strictPassed;
      }
    }
  }
  EXPECT_GE(devices, 24);
  EXPECT_GE(faults, 20);
  // Where a program amplifies roundings, the coarsest formats leave nothing to judge by.
  EXPECT_LE(missed, precision.rest.name == "bf16" ? faults / 4 : faults / 20)
      << missed << " of " << faults;
}

} // namespace
} // namespace cupel::testbench::worker
