// `cupel eval --device` and `--save-workload`: programs on a device behind a plugin, compared with
// the golden reference or by their own checks, or saved as folders that `cupel-device` runs
// elsewhere. Used by those who serve `cupel eval`.
#pragma once

#include "cupel/cli/EvalSettings.h"
#include "cupel/testbench/worker/ProgramReader.h"
#include "cupel/testbench/worker/Serve.h"
#include "cupel/testbench/worker/TestNoise.h"
#include "cupel/workload/Workload.h"

namespace cupel::cli {

class DeviceEvaluator {
public:
  explicit DeviceEvaluator(const EvalSettings &settings) : settings(settings) {}

  /// Opens the device and the reference, once.
  Status open();
  /// Program number `part` of the file at `path`; what it prints is added to `output`.
  Status evaluate(const std::string &bytes, const std::string &path, uint32_t part,
                  testbench::worker::Progress &progress, std::string &output);

private:
  using Tensors = std::vector<tensor::Tensor>;
  Result<Tensors> runOn(testbench::worker::Device &device,
                        const testbench::worker::Program &program, const testbench::worker::TensorLists &inputs,
                        const testbench::worker::Budget &budget);
  testbench::worker::Budget budget() const;
  Result<testbench::worker::TestNoise> noiseOf(const testbench::worker::Prepared &prepared,
                                               bool isExpectedFromReference);
  Status save(const testbench::worker::Prepared &prepared, const std::string &path, uint32_t part,
              const Tensors &expected, testbench::worker::TestNoise &noise);

  const EvalSettings &settings;
  std::vector<workload::ProgramVersion> versions;
  testbench::worker::ProgramReader reader;
  std::unique_ptr<testbench::worker::Device> reference, device;
};

} // namespace cupel::cli
