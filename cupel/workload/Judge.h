// Whether the results of a device are what was expected: compared with expected tensors, or with
// each other by the checks that were taken out of a self-checking program.
#pragma once

#include "cupel/workload/Workload.h"

namespace cupel::workload {

struct Judgement {
  bool passed = false;
  std::string what;     ///< "result 0", "check 2 (file.mlir:7:3)".
  std::string sentence; ///< The verdict in one line.
};

/// One for each expected result and each check, in order. Results are those of one device; checks
/// of other devices are left out.
std::vector<Judgement> judge(const std::vector<tensor::Tensor> &results,
                             const std::vector<tensor::Tensor> &expected,
                             const WorkloadTolerance &tolerance);
std::vector<Judgement> judgeChecks(const std::vector<tensor::Tensor> &results, size_t device,
                                   const std::vector<WorkloadCheck> &checks,
                                   const std::vector<tensor::Tensor> &constants);

} // namespace cupel::workload
