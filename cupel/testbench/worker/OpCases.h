// Judges operator cases (RFC-0186): torch, in the Python worker, has made the inputs and the expected
// result and told which calls it made; these are lowered, compiled and run on the device here, and
// the results compared. With another backend of torch.compile the device under test was that one,
// and only the comparison is ours. Used by cupel-worker's serving side.
#pragma once

#include "cupel/testbench/worker/Comparators.h"
#include "cupel/testbench/worker/SharedTensors.h"
#include "cupel/testbench/worker/Trials.h"

namespace cupel::testbench::worker {

class OpCaseTest {
public:
  explicit OpCaseTest(Trials &trials) : trials(trials) {}

  /// One test of the suite `opcases`, from what the Python worker hands over.
  results::TestRecord run(const Request &request, Progress &progress);

private:
  /// What is known of a case here.
  struct Case {
    std::string op, model, torch;
    std::optional<double> rtol, atol;
    std::vector<tensor::Tensor> given, expected;
  };
  void compare(const Case &one, const std::vector<tensor::Tensor> &actual,
               results::TestRecord &record);
  /// The calls that torch made, as a workload; nothing where they are refused.
  std::optional<Prepared> lower(const Request &request, Case one, Progress &progress,
                                results::TestRecord &record);
  static Comparators comparatorsOf(const Case &one, tensor::DType type);

  Trials &trials;
  ProgramReader reader;
  SharedTensors shared;
};

} // namespace cupel::testbench::worker
