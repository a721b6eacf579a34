// Whether the results of a device are what a workload expects: compared with expected tensors, or
// with each other by the checks that were taken out of a self-checking program. What cupel-device
// and the worker go by; all comparisons go through cupel/compare.
#pragma once

#include "cupel/workload/Workload.h"

namespace cupel::workload {

struct Judgement {
  bool passed = false;
  std::string what;     ///< "result 0", "check 2 (file.mlir:7:3)".
  std::string sentence; ///< The verdict in one line.
  size_t device = 0;
  /// It passed, and rounding decides it: a wrong result may well be within its limits.
  bool tellsLittle = false;
};

using Tensors = std::vector<tensor::Tensor>;

/// Everything that is expected of the results by device, device by device: its checks, then its
/// results.
std::vector<Judgement> judge(const Workload &workload, const std::vector<Tensors> &results);

/// One for each check, in order. Results are those of one device; checks of other devices are left
/// out.
std::vector<Judgement> judgeChecks(const Tensors &results, size_t device,
                                   const std::vector<Check> &checks, const Tensors &constants);

/// Says what is wrong where there are not as many results as are expected; empty where there are.
std::string describeWrongCount(const Workload &workload, size_t results, size_t expected);

} // namespace cupel::workload
