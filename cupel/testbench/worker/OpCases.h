// Judges operator cases (RFC-0186): torch, in the Python worker, has made the inputs and the expected
// result and told which calls it made; these are lowered, compiled and run on the device here, and
// the results compared. With another backend of torch.compile the device under test was that one,
// and only the comparison is ours. Used by cupel-worker's serving side.
#pragma once

#include "cupel/testbench/worker/Comparators.h"
#include "cupel/testbench/worker/Programs.h"
#include "cupel/testbench/worker/SharedTensors.h"

namespace cupel::testbench::worker {

class OpCaseTest {
public:
  /// Shares the devices that `programs` has open.
  explicit OpCaseTest(ProgramTest &programs) : programs(programs) {}

  /// One test of the suite `opcases`, from what the Python worker hands over.
  results::TestRecord run(const Request &request, Progress &progress);

private:
  /// What is known of a case here.
  struct Case {
    std::string op, model;
    std::optional<double> rtol, atol;
    std::vector<tensor::Tensor> given, expected;
  };
  void compare(const Case &one, const std::vector<tensor::Tensor> &actual,
               results::TestRecord &record);
  void runOnDevice(const Request &request, const Case &one, Progress &progress,
                   results::TestRecord &record);
  static Comparators comparatorsOf(const Case &one, tensor::DType type);

  ProgramTest &programs;
  ProgramReader reader;
  SharedTensors shared;
};

} // namespace cupel::testbench::worker
