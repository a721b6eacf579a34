#include "cupel/compare/Defaults.h"

#include <cmath>

using namespace cupel;
using namespace cupel::compare;
using tensor::DType;

Closeness compare::torchCloseness(DType type) {
  switch (type) {
  case DType::F16:
    return {1e-3, 1e-5};
  case DType::BF16:
    return {1.6e-2, 1e-5};
  case DType::F32:
  case DType::C64:
    return {1.3e-6, 1e-5};
  case DType::F64:
  case DType::C128:
    return {1e-7, 1e-7};
  default:
    return {};
  }
}

Closeness compare::onnxCloseness(DType type) {
  // bfloat16 has 8 bits of precision; its steps are larger than the other types' bound.
  return {type == DType::BF16 ? std::ldexp(1, -6) : 1e-3, 1e-7};
}

double compare::measuredDistance(bool isNarrow) { return isNarrow ? 3e-2 : 1e-3; }

Closeness compare::extractedCloseness(bool isNarrow) {
  return isNarrow ? Closeness{1e-2, 1e-2} : Closeness{1e-4, 1e-5};
}
