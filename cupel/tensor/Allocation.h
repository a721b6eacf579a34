// A say in how much memory tensors take: whoever runs programs under a limit is asked before a
// large tensor is made. Used by the reference's runs; without a guard nothing is refused.

#pragma once

#include "cupel/support/Error.h"

#include <cstdint>

namespace cupel::tensor {

/// Answers for the calling thread; an error becomes that of the tensor.
using AllocationGuard = Status (*)(int64_t bytes);

/// Tensors below this size are not asked about.
inline constexpr int64_t kGuardedFrom = int64_t{1} << 20;

/// For the whole process; null: nobody is asked.
void setAllocationGuard(AllocationGuard guard);

} // namespace cupel::tensor
