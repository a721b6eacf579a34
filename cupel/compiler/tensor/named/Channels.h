// Operations behind a product or a convolution that take one number for each column or channel: biases, scales, batch norms.

#pragma once

#include "cupel/compiler/tensor/named/NamedFusion.h"

namespace cupel::tir {

struct ChannelSteps {
  mlir::Operation *source = nullptr; // A dot_general or convolution of f32.
  FusionMembers steps;               // From the last on; nobody else needs what is between.
};

/// The sums, differences, products and quotients with numbers of channels that end in `op`; nothing if there is no product or
/// convolution before them.
std::optional<ChannelSteps> channelStepsTo(mlir::Operation *op);

} // namespace cupel::tir
