// The JSON of exported programs and of their weights' configurations, as values. Used by Archive
// and by whoever passes a program as JSON (torch.compile's backend). Every field is checked; an
// error names the place in the document.
#pragma once

#include "cupel/frontends/torch/Program.h"

#include <string_view>

namespace cupel::frontends::torch_import {

/// `where` is what messages call the document.
Result<Program> parseProgram(std::string_view json, const std::string &where);

/// What an archive says of one weight.
struct WeightEntry {
  std::string name;   ///< The parameter's, buffer's or constant's.
  std::string record; ///< In the archive's folder of weights.
  bool usePickle = false;
  std::optional<TensorMeta> meta;
  std::string unreadable; ///< Why the type is one that Cupel does not have, else empty.
};
Result<std::vector<WeightEntry>> parseWeightsConfig(std::string_view json,
                                                    const std::string &where);

/// PyTorch's number of an element type in archives; an error names types that Cupel does not have.
Result<tensor::DType> dtypeOfNumber(int64_t number);

} // namespace cupel::frontends::torch_import
