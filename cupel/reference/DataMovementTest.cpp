// Expected values are worked out by hand unless a test says NumPy.

#include "cupel/reference/DataMovement.h"
#include "cupel/reference/KernelTesting.h"

#include <limits>

namespace cupel::reference {
namespace {

using I64s = std::vector<int64_t>;
using I32s = std::vector<int32_t>;
constexpr DType I32 = DType::I32;

TEST(DataMovement, BroadcastInDimPlacesAndExpands) {
  Tensor row = counting({3}), column = counting({2, 1});
  EXPECT_EQ(valuesOf<I32>(broadcastInDim(row, {2, 3}, I64s{1})), (I32s{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(valuesOf<I32>(broadcastInDim(row, {3, 2}, I64s{0})), (I32s{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(valuesOf<I32>(broadcastInDim(column, {2, 3}, I64s{0, 1})), (I32s{0, 0, 0, 1, 1, 1}));
  // dims = [1, 0] transposes.
  EXPECT_EQ(valuesOf<I32>(broadcastInDim(counting({2, 3}), {3, 2}, I64s{1, 0})),
            (I32s{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(valuesOf<I32>(broadcastInDim(counting({}), {2, 2}, I64s{})), (I32s{0, 0, 0, 0}));
  EXPECT_EQ(valuesOf<I32>(broadcastInDim(counting({0}), {2, 0}, I64s{1})), I32s{});
  // A view: every other column, reversed.
  Tensor view = counting({4}).sliced(I64s{1}, I64s{4}, I64s{2}).reversed(I64s{0});
  EXPECT_EQ(valuesOf<I32>(broadcastInDim(view, {2, 2}, I64s{1})), (I32s{3, 1, 3, 1}));
}

// What elementwise operations read where it lies takes no memory; short rows are written out.
TEST(DataMovement, BroadcastInDimCopiesNothingThatMayLie) {
  Tensor channels = counting({3}), row = counting({100});
  auto planes = broadcastInDim(channels, {2, 3, 80}, I64s{1}, true);
  ASSERT_TRUE(planes);
  EXPECT_EQ(planes->data(), channels.data());
  EXPECT_EQ(valuesOf<I32>(planes), valuesOf<I32>(broadcastInDim(channels, {2, 3, 80}, I64s{1})));
  auto rows = broadcastInDim(row, {2, 100}, I64s{1}, true);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->data(), row.data());
  auto narrow = broadcastInDim(channels, {2, 3, 8}, I64s{1}, true);
  ASSERT_TRUE(narrow);
  EXPECT_TRUE(narrow->isContiguous());
  EXPECT_FALSE(broadcastInDim(channels, {2, 2, 80}, I64s{1}, true));
}

TEST(DataMovement, BroadcastInDimRefusesWhatDoesNotFit) {
  EXPECT_FALSE(broadcastInDim(counting({3}), {2, 2}, I64s{1}));
  EXPECT_FALSE(broadcastInDim(counting({3}), {3}, I64s{1}));
  EXPECT_FALSE(broadcastInDim(counting({3, 3}), {3, 3}, I64s{0, 0}));
  EXPECT_FALSE(broadcastInDim(counting({1}), {-1}, I64s{0}));
  EXPECT_FALSE(broadcastInDim(counting({1}), {int64_t{1} << 40, int64_t{1} << 40}, I64s{0}));
}

TEST(DataMovement, Concatenate) {
  Tensor a = counting({2, 2}), b = counting({2, 1}), none = counting({2, 0});
  EXPECT_EQ(valuesOf<I32>(concatenate(std::vector{a, none, b}, 1)), (I32s{0, 1, 0, 2, 3, 1}));
  EXPECT_EQ(valuesOf<I32>(concatenate(std::vector{a, a.transposed(I64s{1, 0})}, 0)),
            (I32s{0, 1, 2, 3, 0, 2, 1, 3}));
  EXPECT_FALSE(concatenate(std::vector{a, b}, 0));
  EXPECT_FALSE(concatenate(std::vector{a}, 2));
  EXPECT_FALSE(concatenate({}, 0));
}

TEST(DataMovement, ReshapeKeepsRowMajorOrderAlsoOfViews) {
  Tensor a = counting({2, 3});
  EXPECT_EQ(valuesOf<I32>(reshape(a.transposed(I64s{1, 0}), {6})), (I32s{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(reshape(a, {3, 2})->data(), a.data());
  EXPECT_FALSE(reshape(a, {4}));
  EXPECT_FALSE(reshape(a, {-2, -3}));
  EXPECT_EQ(shapeOf(*reshape(counting({0, 2}), {5, 0, 3})), (Shape{5, 0, 3}));
}

TEST(DataMovement, ReverseTransposeSlice) {
  Tensor a = counting({2, 3});
  EXPECT_EQ(valuesOf<I32>(reverse(a, I64s{1})), (I32s{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(valuesOf<I32>(reverse(a, I64s{0, 1})), (I32s{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(valuesOf<I32>(reverse(counting({}), I64s{})), (I32s{0}));
  EXPECT_FALSE(reverse(a, I64s{2}));
  EXPECT_EQ(valuesOf<I32>(transpose(a, I64s{1, 0})), (I32s{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(transpose(a, I64s{0, 0}));
  EXPECT_EQ(valuesOf<I32>(slice(a, I64s{0, 0}, I64s{2, 3}, I64s{1, 2})), (I32s{0, 2, 3, 5}));
  EXPECT_EQ(valuesOf<I32>(slice(a, I64s{1, 1}, I64s{1, 3}, I64s{1, 1})), I32s{});
  EXPECT_EQ(
      valuesOf<I32>(slice(a, I64s{1, 0}, I64s{2, 3}, I64s{1, std::numeric_limits<int64_t>::max()})),
      (I32s{3}));
  EXPECT_FALSE(slice(a, I64s{0, -1}, I64s{2, 3}, I64s{1, 1}));
  EXPECT_FALSE(slice(a, I64s{0, 0}, I64s{2, 4}, I64s{1, 1}));
  EXPECT_FALSE(slice(a, I64s{0, 2}, I64s{2, 1}, I64s{1, 1}));
  EXPECT_FALSE(slice(a, I64s{0, 0}, I64s{2, 3}, I64s{1, 0}));
}

template <DType type> void checkTransposes(std::mt19937 &random) {
  for (Shape shape : {Shape{65, 33}, Shape{16, 16}, Shape{5, 70, 3}, Shape{3, 4, 5, 6},
                      Shape{1, 130, 1, 67}, Shape{64, 2, 64}}) {
    Tensor a = randomTensor<type>(random, shape, 0, 100);
    std::vector<int64_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
    auto flat = valuesOf<type>(a);
    do {
      Result<Tensor> moved = transpose(a, order);
      ASSERT_TRUE(moved);
      auto result = valuesOf<type>(*moved);
      int64_t at = 0;
      forEachIndex(moved->shape(), [&](const std::vector<int64_t> &index) {
        std::vector<int64_t> source(index.size());
        for (size_t d = 0; d < index.size(); ++d)
          source[order[d]] = index[d];
        ASSERT_EQ(result[at++], flat[flatIndex(shape, source)]);
      });
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(DataMovement, TransposesOfEveryElementSizeAgreeWithTheirDefinition) {
  std::mt19937 random(1);
  checkTransposes<DType::I8>(random);
  checkTransposes<DType::I16>(random);
  checkTransposes<DType::I32>(random);
  checkTransposes<DType::I64>(random);
  checkTransposes<DType::C128>(random);
}

TEST(DataMovement, PadLowHighInterior) {
  Tensor a = counting({3}), v = Tensor::of<I32>({}, {9});
  EXPECT_EQ(valuesOf<I32>(pad(a, v, I64s{1}, I64s{2}, I64s{0})), (I32s{9, 0, 1, 2, 9, 9}));
  EXPECT_EQ(valuesOf<I32>(pad(a, v, I64s{0}, I64s{0}, I64s{1})), (I32s{0, 9, 1, 9, 2}));
  // Negative padding cuts after interior padding: 0 9 9 1 9 9 2 without its first two and last.
  EXPECT_EQ(valuesOf<I32>(pad(a, v, I64s{-2}, I64s{-1}, I64s{2})), (I32s{9, 1, 9, 9}));
  EXPECT_EQ(valuesOf<I32>(pad(a, v, I64s{-1}, I64s{1}, I64s{0})), (I32s{1, 2, 9}));
  EXPECT_EQ(valuesOf<I32>(pad(a, v, I64s{-3}, I64s{2}, I64s{0})), (I32s{9, 9}));
  EXPECT_EQ(valuesOf<I32>(pad(a, v, I64s{4}, I64s{-6}, I64s{0})), (I32s{9}));
  EXPECT_EQ(valuesOf<I32>(pad(counting({0}), v, I64s{1}, I64s{1}, I64s{3})), (I32s{9, 9}));
  EXPECT_EQ(valuesOf<I32>(pad(counting({}), v, I64s{}, I64s{}, I64s{})), (I32s{0}));
  // Two dimensions, of a transposed view ([[0, 2], [1, 3]]).
  EXPECT_EQ(valuesOf<I32>(pad(counting({2, 2}).transposed(I64s{1, 0}), v, I64s{0, 1}, I64s{1, 0},
                              I64s{0, 1})),
            (I32s{9, 0, 9, 2, 9, 1, 9, 3, 9, 9, 9, 9}));
}

TEST(DataMovement, PadRefusesHostileSizes) {
  Tensor a = counting({3}), v = Tensor::of<I32>({}, {9});
  int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  EXPECT_FALSE(pad(a, v, I64s{-2}, I64s{-2}, I64s{0}));
  EXPECT_FALSE(pad(a, v, I64s{0}, I64s{0}, I64s{-1}));
  EXPECT_FALSE(pad(a, v, I64s{most}, I64s{most}, I64s{0}));
  EXPECT_FALSE(pad(a, v, I64s{0}, I64s{0}, I64s{most}));
  EXPECT_FALSE(pad(a, v, I64s{least}, I64s{most}, I64s{0}));
  EXPECT_FALSE(pad(a, v, I64s{least}, I64s{0}, I64s{0}));
  EXPECT_FALSE(pad(a, v, I64s{}, I64s{0}, I64s{0}));
}

TEST(DataMovement, IotaOfEveryType) {
  EXPECT_EQ(valuesOf<I32>(iota(I32, {2, 3}, 0)), (I32s{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(valuesOf<I32>(iota(I32, {2, 3}, 1)), (I32s{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(valuesOf<DType::I2>(iota(DType::I2, {6}, 0)),
            (std::vector<int8_t>{0, 1, -2, -1, 0, 1}));
  EXPECT_EQ(valuesOf<DType::U4>(iota(DType::U4, {18}, 0))[17], 1);
  EXPECT_EQ(valuesOf<DType::F32>(iota(DType::F32, {3}, 0)), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(valuesOf<DType::F16>(iota(DType::F16, {2050}, 0))[2049], 0x6800); // 2048: ties to even
  EXPECT_EQ(valuesOf<DType::BF16>(iota(DType::BF16, {3}, 0)),
            (std::vector<uint16_t>{0, 0x3f80, 0x4000}));
  EXPECT_EQ(valuesOf<DType::C64>(iota(DType::C64, {2}, 0))[1], std::complex<float>(1, 0));
  EXPECT_EQ(valuesOf<I32>(iota(I32, {0}, 0)), I32s{});
  EXPECT_FALSE(iota(I32, {}, 0));
  EXPECT_FALSE(iota(I32, {-1}, 0));
  for (int t = 0; t < tensor::kDTypeCount; ++t)
    EXPECT_TRUE(iota(static_cast<DType>(t), {2, 300}, 1));
}

TEST(DataMovement, BitcastConvertPutsLeastSignificantBitsFirst) {
  Tensor f = Tensor::of<DType::F32>({2}, {1.0f, -2.0f});
  EXPECT_EQ(valuesOf<DType::U32>(bitcastConvert(f, DType::U32, {2})),
            (std::vector<uint32_t>{0x3f800000, 0xc0000000}));
  EXPECT_EQ(valuesOf<DType::U16>(bitcastConvert(f, DType::U16, {2, 2})),
            (std::vector<uint16_t>{0, 0x3f80, 0, 0xc000}));
  Tensor u = Tensor::of<DType::U8>({4}, {0x00, 0x00, 0x80, 0x3f});
  EXPECT_EQ(valuesOf<DType::F32>(bitcastConvert(u, DType::F32, {})), (std::vector<float>{1.0f}));
  // A view: reversed bytes.
  EXPECT_EQ(valuesOf<DType::U32>(bitcastConvert(u.reversed(I64s{0}), DType::U32, {})),
            (std::vector<uint32_t>{0x0000803f}));
}

TEST(DataMovement, BitcastConvertPacksTypesBelowAByte) {
  Tensor bytes = Tensor::of<DType::U8>({2}, {0x9a, 0x0f});
  EXPECT_EQ(valuesOf<DType::I4>(bitcastConvert(bytes, DType::I4, {2, 2})),
            (std::vector<int8_t>{-6, -7, -1, 0}));
  EXPECT_EQ(valuesOf<DType::U4>(bitcastConvert(bytes, DType::U4, {2, 2})),
            (std::vector<uint8_t>{0xa, 9, 15, 0}));
  EXPECT_EQ(valuesOf<DType::U2>(bitcastConvert(bytes, DType::U2, {2, 4})),
            (std::vector<uint8_t>{2, 2, 1, 2, 3, 3, 0, 0}));
  EXPECT_EQ(valuesOf<DType::I1>(bitcastConvert(bytes, DType::I1, {2, 8})),
            (std::vector<uint8_t>{0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0}));
  Tensor nibbles = Tensor::of<DType::I4>({2, 2}, {-6, -7, -1, 0});
  EXPECT_EQ(valuesOf<DType::U8>(bitcastConvert(nibbles, DType::U8, {2})),
            (std::vector<uint8_t>{0x9a, 0x0f}));
  EXPECT_EQ(valuesOf<DType::U4>(bitcastConvert(nibbles, DType::U4, {2, 2})),
            (std::vector<uint8_t>{10, 9, 15, 0}));
  EXPECT_EQ(valuesOf<DType::U16>(
                bitcastConvert(Tensor::of<DType::I4>({4}, {1, 2, 3, -4}), DType::U16, {})),
            (std::vector<uint16_t>{0xc321}));
}

TEST(DataMovement, BitcastConvertRefusesOtherBitCounts) {
  EXPECT_FALSE(bitcastConvert(counting({3}), DType::I64, {1}));
  EXPECT_FALSE(bitcastConvert(counting({3}), DType::I16, {3}));
  EXPECT_FALSE(bitcastConvert(counting({3}), DType::I32, {4}));
  EXPECT_FALSE(bitcastConvert(*Tensor::zeros(DType::C128, {1}), DType::I4, {32}));
  EXPECT_TRUE(bitcastConvert(counting({0}), DType::I16, {0, 2}));
}

TEST(DataMovement, DimensionSizes) {
  Tensor a = counting({2, 3});
  EXPECT_EQ(valuesOf<I32>(getDimensionSize(a, 1)), (I32s{3}));
  EXPECT_FALSE(getDimensionSize(a, 2));
  auto size = [](int32_t value) { return Tensor::of<I32>({}, {value}); };
  EXPECT_EQ(valuesOf<I32>(setDimensionSize(a, size(2), 1)), (I32s{0, 1, 3, 4}));
  EXPECT_EQ(valuesOf<I32>(setDimensionSize(a, size(4), 1, 5)), (I32s{0, 1, 2, 0, 3, 4, 5, 0}));
  EXPECT_FALSE(setDimensionSize(a, size(4), 1));
  EXPECT_FALSE(setDimensionSize(a, size(-1), 1));
}

} // namespace
} // namespace cupel::reference
