// Runs a program or a model as a test, stage by stage: load, frontend, compile, execute, reference,
// compare. Used by cupel-worker's serving side; keeps devices open from test to test.
#pragma once

#include "cupel/testbench/worker/Comparators.h"
#include "cupel/testbench/worker/ProgramReader.h"
#include "cupel/testbench/worker/Serve.h"

#include <map>

namespace cupel::testbench::worker {

class ProgramTest {
public:
  /// One test of the suite `programs`.
  results::TestRecord run(const Request &request, Progress &progress);
  /// One test of a model file (`onnx`, `pt2`): a data set of its own, or inputs from the seed.
  results::TestRecord runModel(const Request &request, Progress &progress);
  /// A small program that every device must get right.
  results::TestRecord checkHealth(const Request &request, Progress &progress);
  /// The device of this name, opened when first asked for.
  Result<Device *> device(const std::string &name);

private:
  /// What one test compiles, runs and is judged by.
  struct Subject {
    const Program &program;
    std::vector<tensor::Tensor> inputs;
    /// The first results, by position; without them the reference's results are expected.
    std::optional<std::vector<tensor::Tensor>> expected;
    std::string source; ///< Of what is expected.
    /// How an output is judged where the configuration is silent.
    Comparators (*silent)(tensor::DType type) = nullptr;
  };

  void run(const Request &request, Progress &progress, const Budget &budget, Subject subject,
           results::TestRecord &record);
  void judge(const Request &request, Progress &progress, Device &device, const Budget &budget,
             Subject subject, const std::vector<tensor::Tensor> &outputs,
             results::TestRecord &record);
  Result<const frontends::ModelFile *> load(const std::string &file, const std::string &program,
                                             const std::string &shown);

  ProgramReader reader;
  std::map<std::string, std::unique_ptr<Device>> devices;

  /// The model read last; its other data sets come next.
  struct KeptModel {
    std::string file, program;
    int64_t modified = 0, size = 0;
    std::unique_ptr<frontends::ModelFile> model;
  };
  std::optional<KeptModel> kept;
};

/// `cupel-worker serve`.
int runServe(const std::vector<std::string> &arguments);

/// What a request allows its test.
Budget budgetOf(const Request &request);

} // namespace cupel::testbench::worker
