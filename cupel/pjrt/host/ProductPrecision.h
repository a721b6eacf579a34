// Finds out what a device multiplies matrices in: a product whose result tells the formats apart. Used
// by `cupel-device info` and `cupel doctor --device`, to warn where a device does not compute in what
// it is said to compute in.
#pragma once

#include "cupel/compare/Precision.h"
#include "cupel/pjrt/host/Client.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace cupel::pjrt {

/// Rows and columns of the two factors: the first has numbers on its diagonal that end at every bit
/// of f32, the second is the identity.
inline constexpr int64_t kProductSize = 64;
std::vector<float> productFactor();

/// The format that keeps as much of the first factor as the product did; an error where the product
/// is not the first factor in any of them.
Result<compare::Precision> formatOfProduct(std::span<const float> product);

/// Runs the product on the first device. {products, declared, matches} and, where they do not, a
/// warning; or {failure}. Announces its stages.
nlohmann::ordered_json measureProducts(Client &client, const compare::DevicePrecision &declared,
                                       double timeout,
                                       const std::function<void(std::string_view)> &announce);

} // namespace cupel::pjrt
