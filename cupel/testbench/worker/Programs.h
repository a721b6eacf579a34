// Runs a program as a test, stage by stage: load, frontend, compile, execute, reference, compare.
// Used by cupel-worker's serving side; keeps devices open from test to test.
#pragma once

#include "cupel/testbench/worker/ProgramReader.h"
#include "cupel/testbench/worker/Serve.h"

#include <map>

namespace cupel::testbench::worker {

class ProgramTest {
public:
  /// One test of the suite `programs`.
  results::TestRecord run(const Request &request, Progress &progress);
  /// A small program that every device must get right.
  results::TestRecord checkHealth(const Request &request, Progress &progress);
  /// The device of this name, opened when first asked for.
  Result<Device *> device(const std::string &name);

private:
  void judge(const Request &request, const std::string &file, Progress &progress, Device &device,
             const Program &program, const std::vector<tensor::Tensor> &outputs,
             std::vector<tensor::Tensor> inputs, const Budget &budget, results::TestRecord &record);

  ProgramReader reader;
  std::map<std::string, std::unique_ptr<Device>> devices;
};

/// `cupel-worker serve`.
int runServe(const std::vector<std::string> &arguments);

} // namespace cupel::testbench::worker
