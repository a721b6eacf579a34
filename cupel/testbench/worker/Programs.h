// The frontends of the worker that need no Python: makes a workload of a program, a model file or a
// saved workload's folder. Used by cupel-worker's serving side, which runs what comes out.
#pragma once

#include "cupel/testbench/worker/Trials.h"

namespace cupel::testbench::worker {

class ProgramTest {
public:
  explicit ProgramTest(Trials &trials) : trials(trials) {}

  /// One test of the suites `programs`, `onnx`, `pt2`, `workloads` and `generated`.
  results::TestRecord run(const Request &request, Progress &progress);
  /// Makes such a test ready; nothing where that cannot be, which the record then explains.
  std::optional<Prepared> prepare(const Request &request, Progress &progress,
                                  results::TestRecord &record);
  /// One test of a model loader: the workloads that the Python worker made of it, a graph each, all
  /// of which must pass.
  results::TestRecord runCaptured(const Request &request, Progress &progress);
  /// A small program that every device must get right.
  results::TestRecord checkHealth(const Request &request, Progress &progress) {
    return trials.checkHealth(request, progress, reader);
  }

private:
  // Nothing where the test cannot be made ready, which the record then explains.
  std::optional<Prepared> prepareProgram(const Request &request, Progress &progress,
                                         results::TestRecord &record);
  /// A data set of the model's own, or inputs from the seed.
  std::optional<Prepared> prepareModel(const Request &request, Progress &progress,
                                       results::TestRecord &record);
  std::optional<Prepared> prepareSaved(const Request &request, const std::string &folder,
                                       Progress &progress, results::TestRecord &record);
  /// The program that code was generated from, with the inputs that lie beside the code.
  std::optional<Prepared> prepareGenerated(const Request &request, Progress &progress,
                                           results::TestRecord &record);
  /// A model that a loader exported into `folder`, with inputs and perhaps results as data.
  results::TestRecord runExported(const Request &request, const std::string &folder,
                                  const std::string &file, const std::string &expectation,
                                  Progress &progress);
  Result<const frontends::ModelFile *> load(const std::string &file, const std::string &program,
                                            const std::string &shown);

  Trials &trials;
  ProgramReader reader;

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

} // namespace cupel::testbench::worker
