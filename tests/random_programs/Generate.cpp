#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

tensor::Tensor Generator::fill(const Val &value) {
  using tensor::DType;
  DType type = *tensor::parseDType(value.type == "i1" ? "i1" : value.type);
  Result<tensor::Tensor> made = tensor::Tensor::zeros(type, value.shape);
  std::byte *data = made->mutableData();
  for (int64_t i = 0; i < made->size(); ++i) {
    double real = 4 * random.unit() - 2;
    if (random.chance(2))
      real = random.pick<double>({0.0, -0.0, 1.0, 100.0, -1e-3});
    switch (type) {
    case DType::F32: reinterpret_cast<float *>(data)[i] = float(real); break;
    case DType::F64: reinterpret_cast<double *>(data)[i] = real; break;
    case DType::BF16: { // Cut off, which is a number as good as any.
      float wide = float(real);
      uint32_t bits;
      std::memcpy(&bits, &wide, sizeof bits);
      reinterpret_cast<uint16_t *>(data)[i] = uint16_t(bits >> 16);
      break;
    }
    case DType::I1: reinterpret_cast<uint8_t *>(data)[i] = uint8_t(random.below(2)); break;
    case DType::U8: reinterpret_cast<uint8_t *>(data)[i] = uint8_t(random.below(256)); break;
    case DType::I32: reinterpret_cast<int32_t *>(data)[i] = int32_t(random.between(-9, 9)); break;
    default: reinterpret_cast<int64_t *>(data)[i] = random.between(-9, 9);
    }
  }
  return std::move(*made);
}

Program generate(uint64_t seed) { return Generator(seed).run(); }

} // namespace cupel::random_programs
