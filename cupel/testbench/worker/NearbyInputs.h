// Inputs near those of a test, for executions beyond the first (Looks.h). Every number is moved by something of its own, by a
// generator that gives the same on every machine; weights of large models are moved as well, so that this goes with the
// vectors of the machine.
#pragma once

#include "cupel/testbench/worker/Device.h"

#include <optional>

namespace cupel::testbench::worker {

/// Inputs near the given ones, for tests whose values somebody chose: floats are moved by up to a
/// sixteenth of themselves each, so that zeros, signs and magnitudes stay; a predicate is turned
/// over; where there are no floats at all, whole numbers change places. Nothing where that changes
/// nothing. Those from `count` on are weights and stay.
std::optional<TensorLists> nearbyInputs(const TensorLists &inputs, size_t count, uint32_t look);

} // namespace cupel::testbench::worker
