#include "cupel/reference/Widen.h"

#include "cupel/tensor/Convert.h"

#include <cstring>

namespace cupel::reference {

using tensor::DType;

void loadFloat(DType from, const void *in, float *out, int64_t count) {
  tensor::convertElements(from, in, DType::F32, out, count);
}
void loadDouble(DType from, const void *in, double *out, int64_t count) {
  tensor::convertElements(from, in, DType::F64, out, count);
}
void storeFloat(DType to, const float *in, void *out, int64_t count) {
  tensor::convertElements(DType::F32, in, to, out, count);
}
void storeDouble(DType to, const double *in, void *out, int64_t count) {
  tensor::convertElements(DType::F64, in, to, out, count);
}

void convertLanes(DType from, DType to, const void *in, void *out, int64_t count) {
  if (from == to)
    std::memmove(out, in, count * info(from).bytes);
  else
    tensor::convertElements(from, in, to, out, count);
}

} // namespace cupel::reference
