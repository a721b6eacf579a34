// Files of the safetensors format: a JSON header and the tensors' bytes, which are read mapped and
// without a copy where they are aligned. A header that names bytes twice, leaves some out, or is
// otherwise not what the format allows is an error that says so.
//
// F8_E4M3 is our f8E4M3FN, F8_E5M2 our f8E5M2 and F8_E8M0 our f8E8M0FNU; F4, F6_E2M3 and F6_E3M2 lie
// there bit after bit, the first element lowest, and must fill whole bytes. The format has no name for
// f8E4M3, f8E4M3B11FNUZ, f8E3M4, complex<f64> and integers below 8 bits: writing these is an error.

#pragma once

#include "cupel/tensor/Npy.h"

#include <map>

namespace cupel::tensor {

struct Safetensors {
  NamedTensors tensors; // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

Result<Safetensors> readSafetensors(const std::string &path);
Result<Safetensors> parseSafetensors(const SharedBytes &file, const std::string &name);

/// Replaces `path` at once or not at all. Of quantized tensors the stored integers are written.
Status writeSafetensors(const std::string &path, const Safetensors &contents);

} // namespace cupel::tensor
