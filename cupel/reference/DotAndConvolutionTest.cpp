#include "cupel/reference/DotAndConvolution.h"

#include "cupel/reference/LinearTesting.h"

#include <cmath>
#include <random>

using namespace cupel;
using namespace cupel::reference;
using namespace cupel::reference::testing;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

namespace {

Tensor randomFloats(Shape shape, uint32_t seed) {
  std::mt19937 engine(seed);
  return generate<DType::F32>(std::move(shape), [&](int64_t) {
    return static_cast<float>(static_cast<int32_t>(engine())) / 2147483648.0f;
  });
}

// numpy.einsum("bmk,kbn->bmn", ...)
TEST(DotGeneral, BatchingAndContractingDimensionsInAnyOrder) {
  Tensor lhs = generate<DType::I32>({2, 3, 4}, [](int64_t i) { return i; });
  Tensor rhs = generate<DType::I32>({4, 2, 5}, [](int64_t i) { return i * 7 % 11 - 5; });
  auto result = dotGeneral(lhs, rhs, {{0}, {1}, {2}, {0}}, DType::I32, Accumulate::Native);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->shape(), ElementsAre(2, 3, 5));
  EXPECT_THAT(valuesOf<DType::I32>(result),
              ElementsAreArray(std::vector<int32_t>{
                  -7, 2,  -11, -13, 7,  -35, -2,  -35, -13, 31, -63, -6,  -59, -13, 55,
                  17, 98, 25,  -37, 44, 21,  126, 33,  -49, 56, 25,  154, 41,  -61, 68}));
}

// numpy.einsum("ajk,knj->an", ...): two contracting dimensions, listed out of order.
TEST(DotGeneral, SeveralContractingDimensions) {
  Tensor lhs = generate<DType::I64>({2, 3, 4}, [](int64_t i) { return i; });
  Tensor rhs = generate<DType::I64>({4, 5, 3}, [](int64_t i) { return i * 5 % 13 - 6; });
  auto result = dotGeneral(lhs, rhs, {{}, {}, {2, 1}, {0, 2}}, DType::I64, Accumulate::Wide);
  EXPECT_THAT(valuesOf<DType::I64>(result), ElementsAreArray(std::vector<int64_t>{
                                                -1, 53, -23, -34, 46, -13, 173, -83, -118, 94}));
}

// By hand.
TEST(DotGeneral, OperandsAreConvertedToTheResultTypeFirst) {
  Tensor lhs = Tensor::of<DType::I8>({2}, {100, 100});
  auto wide = dot(lhs, lhs, DType::I32, Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I32>(wide), ElementsAre(20000));
  auto narrow = dot(lhs, lhs, DType::I8, Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I8>(narrow), ElementsAre(int8_t(20000)));
  auto real = dot(lhs, lhs, DType::F32, Accumulate::Wide);
  EXPECT_THAT(valuesOf<DType::F32>(real), ElementsAre(20000.0f));
}

TEST(DotGeneral, SmallIntegersWrapInTheirWidth) {
  Tensor i4 = Tensor::of<DType::I4>({3}, {7, 7, -8});
  EXPECT_THAT(valuesOf<DType::I4>(dot(i4, i4, DType::I4, Accumulate::Native)), // 162 = 10 * 16 + 2
              ElementsAre(2));
  Tensor u4 = Tensor::of<DType::U4>({2}, {15, 15});
  EXPECT_THAT(valuesOf<DType::U4>(dot(u4, u4, DType::U4, Accumulate::Native)), // 450 % 16
              ElementsAre(2));
  Tensor pred = Tensor::of<DType::I1>({2, 2}, {1, 1, 0, 1});
  EXPECT_THAT(valuesOf<DType::I1>(dot(pred, pred, DType::I1, Accumulate::Native)),
              ElementsAre(1, 1, 0, 1));
}

// Native rounds each product and each sum to bf16: 256 + 1 is 256 again; Wide keeps the ones.
TEST(DotGeneral, NativeRoundsEveryStepAndWideOnce) {
  auto bf16 = [](float x) { return tensor::fromFloat<DType::BF16>(x); };
  Tensor lhs = Tensor::of<DType::BF16>({3}, {bf16(256), bf16(1), bf16(1)});
  Tensor ones = Tensor::of<DType::BF16>({3}, {bf16(1), bf16(1), bf16(1)});
  EXPECT_THAT(valuesOf<DType::BF16>(dot(lhs, ones, DType::BF16, Accumulate::Native)),
              ElementsAre(bf16(256)));
  EXPECT_THAT(valuesOf<DType::BF16>(dot(lhs, ones, DType::BF16, Accumulate::Wide)),
              ElementsAre(bf16(258)));
  Tensor big = Tensor::of<DType::F32>({3}, {1e8f, 1.0f, -1e8f});
  Tensor one = Tensor::of<DType::F32>({3}, {1.0f, 1.0f, 1.0f});
  EXPECT_THAT(valuesOf<DType::F32>(dot(big, one, DType::F32, Accumulate::Native)),
              ElementsAre(0.0f));
  EXPECT_THAT(valuesOf<DType::F32>(dot(big, one, DType::F32, Accumulate::Wide)), ElementsAre(1.0f));
}

// (1+2i)(3-i) + (0+i)(2+2i) = (5+5i) + (-2+2i)
TEST(DotGeneral, Complex) {
  using C = std::complex<float>;
  Tensor lhs = Tensor::of<DType::C64>({2}, {C(1, 2), C(0, 1)});
  Tensor rhs = Tensor::of<DType::C64>({2}, {C(3, -1), C(2, 2)});
  for (Accumulate mode : {Accumulate::Native, Accumulate::Wide})
    EXPECT_THAT(valuesOf<DType::C64>(dot(lhs, rhs, DType::C64, mode)), ElementsAre(C(3, 7)));
  EXPECT_THAT(valuesOf<DType::C128>(dot(lhs, rhs, DType::C128, Accumulate::Wide)),
              ElementsAre(std::complex<double>(3, 7)));
}

TEST(DotGeneral, ZeroSizes) {
  auto zeros = [](Shape shape) { return *Tensor::zeros(DType::F32, std::move(shape)); };
  auto noDepth = dot(zeros({2, 0}), zeros({0, 3}), DType::F32, Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::F32>(noDepth), ElementsAre(0, 0, 0, 0, 0, 0));
  auto noRows = dot(zeros({0, 2}), zeros({2, 3}), DType::F32, Accumulate::Native);
  EXPECT_THAT(noRows->shape(), ElementsAre(0, 3));
}

TEST(DotGeneral, DimensionsThatDoNotFitAreErrors) {
  Tensor lhs = *Tensor::zeros(DType::F32, {2, 3}), rhs = *Tensor::zeros(DType::F32, {4, 2});
  EXPECT_THAT(dot(lhs, rhs, DType::F32, Accumulate::Wide).message(), HasSubstr("differ in size"));
  EXPECT_FALSE(dotGeneral(lhs, rhs, {{}, {}, {5}, {0}}, DType::F32, Accumulate::Wide));
  EXPECT_FALSE(dotGeneral(lhs, rhs, {{}, {}, {1, 1}, {0, 1}}, DType::F32, Accumulate::Wide));
  EXPECT_FALSE(dot(*Tensor::zeros(DType::F32, {}), rhs, DType::F32, Accumulate::Wide));
}

// Blocking must not show: every size and view against the plain loops the specification writes.
TEST(DotGeneral, EqualsThePlainLoopsBitForBit) {
  for (auto [m, n, k] : {std::array{1, 1, 1},
                         {7, 3, 5},
                         {1, 40, 300},
                         {40, 1, 300},
                         {13, 33, 257},
                         {130, 70, 20},
                         {970, 5, 9},
                         {5, 520, 3},
                         {30, 530, 270}}) {
    Tensor lhs = randomFloats({m, k}, m + k), rhs = randomFloats({n, k}, n);
    const float *a = lhs.dataAs<float>(), *b = rhs.dataAs<float>();
    std::vector<float> native(m * n), wide(m * n);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        volatile float sum = 0;
        double exact = 0;
        for (int l = 0; l < k; ++l) {
          volatile float product = a[i * k + l] * b[j * k + l];
          sum = sum + product;
          exact += static_cast<double>(a[i * k + l]) * b[j * k + l];
        }
        native[i * n + j] = sum;
        wide[i * n + j] = static_cast<float>(exact);
      }
    DotDimensions dims{{}, {}, {1}, {1}};
    EXPECT_EQ(valuesOf<DType::F32>(dotGeneral(lhs, rhs, dims, DType::F32, Accumulate::Native)),
              native)
        << m << " " << n << " " << k;
    EXPECT_EQ(valuesOf<DType::F32>(dotGeneral(lhs, rhs, dims, DType::F32, Accumulate::Wide)), wide)
        << m << " " << n << " " << k;
  }
}

// What threads share of a product of this depth does not fit in their memory at once.
TEST(DotGeneral, EqualsThePlainLoopsWhereOneSideIsPackedInParts) {
  constexpr int kDepth = 65537;
  for (auto [m, n] : {std::array{70, 75}, {75, 70}}) {
    Tensor lhs = randomFloats({m, kDepth}, m), rhs = randomFloats({n, kDepth}, n);
    const float *a = lhs.dataAs<float>(), *b = rhs.dataAs<float>();
    DotDimensions dims{{}, {}, {1}, {1}};
    auto native = valuesOf<DType::F32>(dotGeneral(lhs, rhs, dims, DType::F32, Accumulate::Native));
    auto wide = valuesOf<DType::F32>(dotGeneral(lhs, rhs, dims, DType::F32, Accumulate::Wide));
    ASSERT_EQ(native.size(), size_t(m * n));
    for (int i = 0; i < m; i += 23)
      for (int j = 0; j < n; j += 23) {
        volatile float sum = 0;
        long double exact = 0;
        for (int l = 0; l < kDepth; ++l) {
          volatile float product = a[i * kDepth + l] * b[j * kDepth + l];
          sum = sum + product;
          exact += static_cast<long double>(a[i * kDepth + l]) * b[j * kDepth + l];
        }
        EXPECT_EQ(native[i * n + j], sum) << m << " " << i << " " << j;
        EXPECT_EQ(wide[i * n + j], static_cast<float>(exact)) << m << " " << i << " " << j;
      }
  }
}

/// The convolution of the specification, written as loops, in f64 or step by step in f32.
template <typename Sum>
std::vector<Sum> plainConvolution(const Tensor &lhs, const Tensor &rhs,
                                     const ConvolutionDimensions &dims,
                                     const ConvolutionWindow &window, const Shape &shape) {
  // Two spatial dimensions.
  auto at = [](const Tensor &t, std::array<int64_t, 4> index) {
    int64_t offset = 0;
    for (int d = 0; d < 4; ++d)
      offset += index[d] * t.strides()[d];
    return static_cast<Sum>(*reinterpret_cast<const float *>(t.data() + offset));
  };
  std::vector<Sum> result(*tensor::elementCount(shape));
  size_t next = 0;
  int64_t inputFeatures = rhs.dim(dims.kernelInputFeature);
  int64_t outputs = rhs.dim(dims.kernelOutputFeature);
  int64_t batches = lhs.dim(dims.inputBatch) / window.batchGroups;
  for (int64_t o0 = 0; o0 < shape[0]; ++o0)
    for (int64_t o1 = 0; o1 < shape[1]; ++o1)
      for (int64_t o2 = 0; o2 < shape[2]; ++o2)
        for (int64_t o3 = 0; o3 < shape[3]; ++o3) {
          std::array<int64_t, 4> out{o0, o1, o2, o3};
          int64_t feature = out[dims.outputFeature], batch = out[dims.outputBatch];
          int64_t featureGroup = feature / (outputs / window.featureGroups);
          int64_t batchGroup = feature / (outputs / window.batchGroups);
          Sum sum = 0;
          for (int64_t k0 = 0; k0 < rhs.dim(dims.kernelSpatial[0]); ++k0)
            for (int64_t k1 = 0; k1 < rhs.dim(dims.kernelSpatial[1]); ++k1)
              for (int64_t f = 0; f < inputFeatures; ++f) {
                std::array<int64_t, 4> in{}, kernel{};
                bool inside = true;
                for (int d = 0; d < 2; ++d) {
                  int64_t k = d ? k1 : k0;
                  int64_t position = out[dims.outputSpatial[d]] * window.strides[d] +
                                     k * window.rhsDilation[d] - window.paddingLow[d];
                  inside &= position >= 0 && position % window.lhsDilation[d] == 0;
                  position /= window.lhsDilation[d];
                  inside &= position < lhs.dim(dims.inputSpatial[d]);
                  in[dims.inputSpatial[d]] = position;
                  int64_t size = rhs.dim(dims.kernelSpatial[d]);
                  kernel[dims.kernelSpatial[d]] = window.reversal[d] ? size - 1 - k : k;
                }
                if (!inside)
                  continue;
                in[dims.inputBatch] = batchGroup * batches + batch;
                in[dims.inputFeature] = featureGroup * inputFeatures + f;
                kernel[dims.kernelInputFeature] = f;
                kernel[dims.kernelOutputFeature] = feature;
                Sum product = at(lhs, in) * at(rhs, kernel);
                sum += product;
              }
          result[next++] = sum;
        }
  return result;
}

TEST(Convolution, EqualsThePlainLoopsForRandomWindowsAndDimensionNumbers) {
  std::mt19937 engine(7);
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint32_t>(high - low + 1));
  };
  int compared = 0;
  for (int round = 0; round < 440; ++round) {
    // Larger ones have rows that are copied, read and stored as wholes.
    const bool isLarge = round >= 400;
    std::array<std::vector<int64_t>, 3> orders;
    for (auto &order : orders) {
      order = {0, 1, 2, 3};
      for (int i = 3; i > 0; --i)
        std::swap(order[i], order[pick(0, i)]);
    }
    auto &[in, ker, out] = orders;
    ConvolutionDimensions dims{in[0],  in[1],  {in[2], in[3]},  ker[0], ker[1], {ker[2], ker[3]},
                               out[0], out[1], {out[2], out[3]}};
    ConvolutionWindow window;
    for (int d = 0; d < 2; ++d) {
      window.strides.push_back(pick(1, 3));
      window.paddingLow.push_back(pick(-2, 3));
      window.paddingHigh.push_back(pick(-2, 3));
      window.lhsDilation.push_back(pick(1, 3));
      window.rhsDilation.push_back(pick(1, 2));
      window.reversal.push_back(pick(0, 1));
    }
    int64_t kind = pick(0, 2), groups = pick(1, 3);
    window.featureGroups = kind == 1 ? groups : 1;
    window.batchGroups = kind == 2 ? groups : 1;
    Shape lhsShape(4), rhsShape(4);
    rhsShape[dims.kernelInputFeature] = pick(1, isLarge ? 5 : 3);
    lhsShape[dims.inputFeature] = rhsShape[dims.kernelInputFeature] * window.featureGroups;
    rhsShape[dims.kernelOutputFeature] =
        pick(1, isLarge ? 20 : 3) * window.featureGroups * window.batchGroups;
    lhsShape[dims.inputBatch] = pick(1, 2) * window.batchGroups;
    for (int d = 0; d < 2; ++d) {
      lhsShape[dims.inputSpatial[d]] = isLarge ? pick(6, 16) : pick(1, 6);
      rhsShape[dims.kernelSpatial[d]] = pick(1, 3);
    }
    Tensor lhs = randomFloats(lhsShape, round), rhs = randomFloats(rhsShape, round + 1000);
    auto shape = convolutionShape(lhs.shape(), rhs.shape(), dims, window);
    ASSERT_TRUE(shape) << shape.message();
    auto wide = convolution(lhs, rhs, dims, window, DType::F32, Accumulate::Wide);
    ASSERT_TRUE(wide) << wide.message();
    EXPECT_THAT(wide->shape(), ElementsAreArray(*shape));
    auto expected = plainConvolution<double>(lhs, rhs, dims, window, *shape);
    auto stepwise = plainConvolution<float>(lhs, rhs, dims, window, *shape);
    auto got = valuesOf<DType::F32>(wide);
    auto native =
        valuesOf<DType::F32>(convolution(lhs, rhs, dims, window, DType::F32, Accumulate::Native));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(got[i], static_cast<float>(expected[i])) << "round " << round << " at " << i;
      ASSERT_EQ(native[i], stepwise[i]) << "round " << round << " at " << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 5000);
}

// By hand: lhs dilation 2 with padding 1 and a kernel of ones that strides over whole windows.
TEST(Convolution, PaddingGivenAsTensor) {
  Tensor lhs = Tensor::of<DType::I64>({1, 4, 4, 1},
                                      {1, 2, 5, 6, 3, 4, 7, 8, 10, 11, 14, 15, 12, 13, 16, 17});
  std::vector<int64_t> ones(9, 1);
  Tensor rhs = Tensor::of<DType::I64>({3, 3, 1, 1}, std::span<const int64_t>(ones));
  ConvolutionDimensions dims{0, 3, {1, 2}, 2, 3, {0, 1}, 0, 3, {1, 2}};
  ConvolutionWindow window;
  window.strides = {4, 4};
  window.lhsDilation = {2, 2};
  auto padded = withPadding(window, Tensor::of<DType::I32>({2, 2}, {1, 1, 1, 1}));
  ASSERT_TRUE(padded);
  auto result = convolution(lhs, rhs, dims, *padded, DType::I64, Accumulate::Native);
  EXPECT_THAT(valuesOf<DType::I64>(result), ElementsAre(1, 5, 10, 14));
  EXPECT_FALSE(withPadding(window, Tensor::of<DType::I32>({4}, {1, 1, 1, 1})));
}

TEST(Convolution, ZeroSizesAndHostileWindows) {
  ConvolutionDimensions dims{0, 1, {2}, 1, 0, {2}, 0, 1, {2}};
  Tensor lhs = *Tensor::zeros(DType::F32, {2, 3, 4});
  auto run = [&](const Tensor &rhs, ConvolutionWindow window) {
    return convolution(lhs, rhs, dims, window, DType::F32, Accumulate::Wide);
  };
  Tensor rhs = *Tensor::zeros(DType::F32, {5, 3, 2});
  ConvolutionWindow window;
  window.paddingLow = {-2};
  window.paddingHigh = {-2};
  EXPECT_THAT(run(rhs, window)->shape(), ElementsAre(2, 5, 0));
  window.paddingLow = {-100};
  EXPECT_THAT(run(rhs, window)->shape(), ElementsAre(2, 5, 0));
  EXPECT_THAT(run(*Tensor::zeros(DType::F32, {0, 3, 2}), {})->shape(), ElementsAre(2, 0, 3));
  window.paddingLow = {INT64_MAX};
  window.paddingHigh = {INT64_MAX};
  EXPECT_FALSE(run(rhs, window));
  window = {};
  window.featureGroups = 2;
  EXPECT_THAT(run(rhs, window).message(), HasSubstr("do not fit"));
  window = {};
  window.strides = {0};
  EXPECT_FALSE(run(rhs, window));
}

TEST(DotTest, ProductsThatAreExactMayBeFusedAndNoOthers) {
  // Numbers of eight bits, as those that were bf16 are, multiply exactly, but for those that are so
  // small that the product is none of the normal numbers; of others each product is rounded.
  constexpr int64_t m = 37, k = 301, n = 70;
  enum class Kind { Short, WithOneLong, Tiny, WithInfinity };
  for (Kind kind : {Kind::Short, Kind::WithOneLong, Kind::Tiny, Kind::WithInfinity}) {
    auto numbers = [&](int64_t count, uint32_t seed) {
      std::vector<float> made(static_cast<size_t>(count));
      for (float &x : made) {
        seed = seed * 1664525 + 1013904223;
        x = std::ldexp(float(int32_t(seed >> 24) - 128), int(seed >> 16 & 15) - 12);
        if (kind == Kind::Tiny)
          x = std::ldexp(x, -66);
      }
      if (kind == Kind::WithOneLong)
        made[made.size() / 2] = 0.1f;
      if (kind == Kind::WithInfinity)
        made[made.size() / 2] = INFINITY;
      return made;
    };
    std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
    auto product = dot(Tensor::of<DType::F32>({m, k}, a), Tensor::of<DType::F32>({k, n}, b), DType::F32,
                       Accumulate::Native);
    ASSERT_TRUE(product) << product.message();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t d = 0; d < k; ++d) {
          volatile float one = a[size_t(i * k + d)] * b[size_t(d * n + j)];
          sum = sum + one;
        }
        const float found = product->dataAs<float>()[i * n + j];
        ASSERT_TRUE(found == sum || (std::isnan(found) && std::isnan(sum)))
            << int(kind) << " at " << i << ", " << j << ": " << found << " and " << sum;
      }
  }
}

} // namespace
