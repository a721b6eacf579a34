#include "cupel/tensor/Shards.h"

#include <gtest/gtest.h>

namespace cupel::tensor {
namespace {

Tensor counting(Shape shape) {
  Result<Tensor> tensor = Tensor::uninitialized(DType::I32, std::move(shape));
  for (int64_t i = 0; i < tensor->size(); ++i)
    tensor->mutableAs<int32_t>()[i] = static_cast<int32_t>(i);
  return *tensor;
}

std::vector<int32_t> valuesOf(const Tensor &tensor) {
  Result<Tensor> flat = tensor.contiguous();
  const int32_t *data = flat->dataAs<int32_t>();
  return {data, data + flat->size()};
}

void expectRoundTrip(const Shards &shards, Shape shape, int64_t deviceCount) {
  Tensor whole = counting(shape);
  std::vector<Tensor> pieces;
  for (int64_t device = 0; device < deviceCount; ++device) {
    Result<Tensor> piece = shards.piece(whole, device);
    ASSERT_TRUE(piece) << piece.message();
    EXPECT_TRUE(std::ranges::equal(piece->shape(), shards.shardShape(shape)));
    pieces.push_back(*piece);
  }
  Result<Tensor> again = shards.assemble(pieces, shape);
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(valuesOf(*again), valuesOf(whole)) << shards.str();
}

TEST(ShardsTest, CutsAndAssembles) {
  expectRoundTrip(Shards::replicated(), {3, 5}, 4);
  expectRoundTrip(Shards::tiled({2, 2}, {0, 1, 2, 3}), {4, 6}, 4);
  expectRoundTrip(Shards::tiled({2, 2}, {3, 1, 0, 2}), {4, 6}, 4);
  expectRoundTrip(Shards::tiled({1, 4, 1}, {0, 1, 2, 3}), {2, 8, 3}, 4);
  expectRoundTrip(Shards::tiled({2, 1}, {0, 2, 1, 3}), {6, 2}, 4);
}

TEST(ShardsTest, PadsWhatDoesNotDivide) {
  Shards shards = Shards::tiled({4}, {0, 1, 2, 3});
  expectRoundTrip(shards, {5}, 4);
  expectRoundTrip(shards, {1}, 4);
  expectRoundTrip(Shards::tiled({2, 3}, {0, 1, 2, 3, 4, 5}), {3, 4}, 6);
  EXPECT_FALSE(shards.isEven(Shape{5}));
  EXPECT_TRUE(shards.isEven(Shape{8}));
  EXPECT_EQ(valuesOf(*shards.piece(counting({5}), 2)), (std::vector<int32_t>{4, 0}));
  EXPECT_EQ(valuesOf(*shards.piece(counting({5}), 3)), (std::vector<int32_t>{0, 0}));
}

TEST(ShardsTest, CopiesHoldTheSame) {
  Shards shards = Shards::tiled({2}, {0, 2, 1, 3});
  EXPECT_EQ(shards.copies(), 2);
  EXPECT_EQ(valuesOf(*shards.piece(counting({4}), 2)), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(valuesOf(*shards.piece(counting({4}), 3)), (std::vector<int32_t>{2, 3}));
}

TEST(ShardsTest, SummandsAddUp) {
  Shards shards = Shards::tiled({2}, {0, 1, 2, 3, 4, 5, 6, 7}, 2);
  EXPECT_EQ(shards.copies(), 2);
  EXPECT_EQ(valuesOf(*shards.piece(counting({4}), 5)), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(valuesOf(*shards.piece(counting({4}), 6)), (std::vector<int32_t>{0, 0}));
  std::vector<Tensor> pieces;
  for (int64_t device = 0; device < 8; ++device)
    pieces.push_back(counting({2}));
  EXPECT_EQ(valuesOf(*shards.assemble(pieces, Shape{4}, 1)), (std::vector<int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(shards.str(),
            "{devices=[2,2,2]0,1,2,3,4,5,6,7 last_tile_dims={unreduced, replicated}}");
  EXPECT_EQ(Shards::parse(shards.str(), 1, 8)->str(), shards.str());
}

TEST(ShardsTest, ReadsAndWritesText) {
  auto same = [](const char *text, int64_t rank) {
    Result<Shards> shards = Shards::parse(text, rank, 8);
    return shards ? shards->str() : shards.message();
  };
  EXPECT_EQ(same("{replicated}", 2), "{replicated}");
  EXPECT_EQ(same("{maximal device=3}", 2), "{maximal device=3}");
  EXPECT_EQ(same("{manual}", 2), "{manual}");
  EXPECT_EQ(same("{devices=[2,1]1,0}", 2), "{devices=[2,1]1,0}");
  EXPECT_EQ(same("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2),
            "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}");
  EXPECT_EQ(same("{devices=[4,2]<=[2,4]T(1,0)}", 2), "{devices=[4,2]0,4,1,5,2,6,3,7}");
  EXPECT_EQ(same("{devices=[1,1,8]<=[8] last_tile_dims={manual}}", 2), "{manual}");
  EXPECT_EQ(same("{devices=[1,8]<=[8] last_tile_dim_replicate}", 1), "{replicated}");
}

TEST(ShardsTest, RefusesWhatIsNoSharding) {
  for (const char *text :
       {"", "{", "replicated", "{devices=[2,1]0}", "{devices=[2]0,9}", "{devices=[0]<=[0]}",
        "{devices=[2]<=[2]T(1)}", "{devices=[99999999999,99999999999]<=[4]}", "{devices=[2,1]0,1}",
        "{maximal}", "{devices=[2]0,-1}"})
    EXPECT_FALSE(Shards::parse(text, 1, 8)) << text;
}

} // namespace
} // namespace cupel::tensor
