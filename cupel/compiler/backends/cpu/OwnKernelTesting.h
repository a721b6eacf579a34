// Programs on the device's own kernels and on none of the golden reference's, held against the
// reference bit by bit. For tests of the backend: arguments are small whole numbers, zeros of both
// signs, infinities and NaNs, so that nothing is rounded.

#pragma once

#include "cupel/compiler/backends/cpu/BackendTesting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace cupel::compiler {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline float numberAt(int64_t i, bool isTame) {
  int64_t k = (i * 2654435761u >> 7) % 23;
  if (isTame)
    return float(k - 11);
  switch (k) {
  case 0:
    return -0.0f;
  case 1:
    return 0.0f;
  case 2:
    return std::nanf("");
  case 3:
    return -std::nanf("1");
  case 4:
    return kInfinity;
  case 5:
    return -kInfinity;
  default:
    return float(k - 14);
  }
}

inline Result<Outcome> outcomeBy(const char *backend, const std::string &text, bool isTame) {
  return runBy(backend, text, [&](tensor::Tensor &argument, int64_t place) {
    for (int64_t i = 0; i < argument.size(); ++i) {
      float number = numberAt(i + place * 5, isTame);
      switch (argument.dtype()) {
      case tensor::DType::F32:
        argument.mutableAs<float>()[i] = number;
        break;
      case tensor::DType::F64:
        argument.mutableAs<double>()[i] = number;
        break;
      case tensor::DType::C64:
        argument.mutableAs<std::complex<float>>()[i] = {number, float(i % 5)};
        break;
      case tensor::DType::BF16: {
        uint32_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        argument.mutableAs<uint16_t>()[i] = uint16_t(bits >> 16);
        break;
      }
      case tensor::DType::C128:
        argument.mutableAs<std::complex<double>>()[i] = {number, double(i % 5)};
        break;
      case tensor::DType::I1:
        argument.mutableAs<uint8_t>()[i] = uint8_t(i % 3 == 1);
        break;
      case tensor::DType::I16:
        argument.mutableAs<int16_t>()[i] = int16_t(i * 61);
        break;
      case tensor::DType::I32:
        argument.mutableAs<int32_t>()[i] = int32_t(i * 37 % 19) - 9;
        break;
      case tensor::DType::U8:
        argument.mutableAs<uint8_t>()[i] = uint8_t(i * 61);
        break;
      case tensor::DType::I64:
        argument.mutableAs<int64_t>()[i] = (i * 31 % 17 - 8) * (int64_t{1} << 40);
        break;
      default:
        break;
      }
    }
  });
}

/// Which NaN comes out of sums is not compared: that depends on their order.
inline void forgetNans(tensor::Tensor &result) {
  auto forget = [&]<typename T>(T, int64_t parts) {
    auto *numbers = reinterpret_cast<T *>(result.mutableData());
    for (int64_t i = 0; i < result.size() * parts; ++i)
      if (std::isnan(numbers[i]))
        numbers[i] = std::numeric_limits<T>::quiet_NaN();
  };
  switch (result.dtype()) {
  case tensor::DType::F32: return forget(float(), 1);
  case tensor::DType::F64: return forget(double(), 1);
  case tensor::DType::C64: return forget(float(), 2);
  case tensor::DType::C128: return forget(double(), 2);
  default: return;
  }
}

inline void expectOwnKernel(const std::string &text, bool isTame = false, bool hasSums = false) {
  auto expected = outcomeBy("reference", text, isTame), actual = outcomeBy("cpu", text, isTame);
  ASSERT_TRUE(expected) << expected.message() << "\n" << text;
  ASSERT_TRUE(actual) << actual.message() << "\n" << text;
  EXPECT_EQ(actual->notes.count("fallbacks"), 0u) << actual->notes["fallbacks"] << "\n" << text;
  EXPECT_EQ(actual->notes.count("backend"), 0u) << text;
  ASSERT_EQ(expected->results.size(), actual->results.size());
  for (size_t i = 0; hasSums && i < expected->results.size(); ++i) {
    forgetNans(expected->results[i]);
    forgetNans(actual->results[i]);
  }
  for (size_t i = 0; i < expected->results.size(); ++i)
    EXPECT_EQ(std::memcmp(expected->results[i].data(), actual->results[i].data(),
                          size_t(expected->results[i].byteSize())),
              0)
        << "result " << i << " of\n"
        << text;
}

} // namespace cupel::compiler
