// Tensors by device and position in one safetensors file: `0`, `1`, ...; `d2/0` is tensor 0 of
// device 2. Element types that safetensors lacks are kept as bytes, with the type's name in the
// metadata. What workload folders and the answers of cupel-device are made of.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include <string>
#include <vector>

namespace cupel::workload {

Status writeTensors(const std::string &path,
                    const std::vector<std::vector<tensor::Tensor>> &tensors);
Result<std::vector<std::vector<tensor::Tensor>>> readTensors(const std::string &path);

} // namespace cupel::workload
