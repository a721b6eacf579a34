// NumPy's .npy and .npz files. Arrays that are little-endian and aligned lie on the mapped file;
// others are copied. Python objects and structured arrays are refused, never interpreted.
//
// NumPy has no names for bf16, the f8 kinds and the integers below 8 bits; ml_dtypes writes them as
// void bytes ("V2", "V1"), which loses the type. We write bf16 and f8 the same way and the small
// integers as int8 and uint8, one element a byte, and add the type's name as a comment behind the
// header's dictionary (`# bf16`), which NumPy skips and we read. Without it: "V2" is bf16, the type
// that the caller expects decides on "V1", and nothing else does.

#pragma once

#include "cupel/tensor/MappedFile.h"
#include "cupel/tensor/Tensor.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cupel::tensor {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// `expected` interprets arrays that do not name their type (see above); for arrays that do, it
/// changes nothing but int8 and uint8 read as i2, i4, ui2 or ui4 if all values fit.
Result<Tensor> readNpy(const std::string &path, std::optional<DType> expected = std::nullopt);
Result<Tensor> parseNpy(const SharedBytes &file, const std::string &name,
                        std::optional<DType> expected = std::nullopt);

/// Replaces `path` at once or not at all. Of quantized tensors the stored integers are written.
Status writeNpy(const std::string &path, const Tensor &tensor);

/// The arrays of an archive by name (without ".npy"), in the archive's order.
Result<NamedTensors> readNpz(const std::string &path);
Result<NamedTensors> parseNpz(const SharedBytes &file, const std::string &name);

/// Names may not repeat. Uncompressed arrays are placed so that reading maps them.
Status writeNpz(const std::string &path, const NamedTensors &tensors, bool compress = false);

/// The magic, the header and its padding: what precedes a tensor's row-major bytes.
std::string npyHeader(const Tensor &tensor);

} // namespace cupel::tensor
