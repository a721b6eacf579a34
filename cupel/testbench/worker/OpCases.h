// Runs operator cases (RFC-0186): torch, in the Python worker, makes the inputs and the expected
// result and tells which calls it made; these are lowered, compiled and run on the device here, and
// the results compared. With another backend of torch.compile the device under test is that one,
// and only the comparison is ours. Used by cupel-worker's serving side.
#pragma once

#include "cupel/testbench/opcases/Case.h"
#include "cupel/testbench/worker/Comparators.h"
#include "cupel/testbench/worker/PythonWorker.h"
#include "cupel/testbench/worker/Trials.h"

#include <list>
#include <memory>

namespace cupel::testbench::worker {

class OpCaseTest {
public:
  explicit OpCaseTest(Trials &trials) : trials(trials) {}

  /// One test of the suite `opcases`.
  results::TestRecord run(const Request &request, Progress &progress);

private:
  struct Kept {
    std::string path;
    int64_t modified = 0, size = 0;
    opcases::CaseFile file;
  };
  Result<const opcases::CaseFile *> load(const std::string &path);
  void compare(const opcases::Case &one, const std::vector<tensor::Tensor> &actual,
               const std::vector<tensor::Tensor> &expected, results::TestRecord &record);
  /// The calls that torch made, as a workload; nothing where they are refused.
  std::optional<Prepared> lower(const Request &request, const opcases::Case &one,
                                const std::string &model,
                                const std::vector<tensor::Tensor> &inputs,
                                std::vector<tensor::Tensor> expected, Progress &progress,
                                results::TestRecord &record);

  Trials &trials;
  ProgramReader reader;
  std::unique_ptr<PythonWorker> python;
  std::list<Kept> kept; ///< The files read last.
};

/// How a case's results are judged: its tolerances, else torch's own for the type.
Comparators comparatorsOf(const opcases::Case &one, tensor::DType type);

/// The device as conditions of cases name it: `cupel?arch=n150` is `cupel`,
/// `/a/pjrt_plugin_spyre.so` is `spyre`.
std::string deviceType(std::string_view device);

} // namespace cupel::testbench::worker
