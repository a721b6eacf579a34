// Which operations of a program round, and where: what a jittered run (Jitter.h) moves, by the facts
// that operations state of themselves. Used by the plan and by whoever runs its steps.

#pragma once

#include "cupel/reference/Plan.h"

namespace cupel::reference {

/// Fills what the step says about jitter.
void planJitter(mlir::Operation &op, Step &step);

/// Runs one step with its operands or results moved. What others go on using is as it was.
Status runJittered(GridProcess &process, Frame &frame, const Step &step);

namespace detail {
/// Operands of so many elements may be moved a part at a time. Only tests change it.
extern int64_t movedInPartsFrom;
} // namespace detail

} // namespace cupel::reference
