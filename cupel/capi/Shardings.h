// How a program that a frontend made is split over a mesh of devices, said in the words of sdy. Used
// by the C API for models on several devices; never moves or copies a tensor.
#pragma once

#include "cupel/support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <nlohmann/json_fwd.hpp>

namespace cupel::capi {

/// `given` is {"mesh": [[name, size], ...], "inputs": [spec, ...]}: a spec a argument of the entry,
/// a list of axes a dimension, or null where each device has the whole. Results are whole on every
/// device. Constraints that the model itself asked for (ops/Annotations.cpp)
/// become sdy's; without shardings (`given` is null) they go.
Status addShardings(mlir::ModuleOp module, const nlohmann::json &given);

} // namespace cupel::capi
