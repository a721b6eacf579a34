// What tests of moved numbers and of moved evaluations share.
#pragma once

#include "cupel/compare/Elements.h"
#include "cupel/reference/Jitter.h"

#include <vector>

namespace cupel::reference {

/// The elements as f64, parts of complex numbers one behind the other.
inline std::vector<double> numbers(const tensor::Tensor &tensor) {
  Result<compare::ElementReader> reader =
      compare::ElementReader::make(tensor, tensor::isComplex(tensor.dtype()) ? 2 : 1);
  std::vector<double> values(reader->size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = reader->at(int64_t(i));
  return values;
}

} // namespace cupel::reference
