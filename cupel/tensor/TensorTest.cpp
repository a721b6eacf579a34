#include "cupel/tensor/Tensor.h"
#include "cupel/support/ProcessTree.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace cupel;
using namespace cupel::tensor;

namespace {

Tensor counting(Shape shape) {
  std::vector<int32_t> values(*elementCount(shape));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(i);
  return Tensor::of<DType::I32>(std::move(shape), values);
}

std::vector<int32_t> valuesOf(const Tensor &tensor) {
  Result<Tensor> flat = tensor.contiguous();
  const int32_t *data = flat->dataAs<int32_t>();
  return {data, data + flat->size()};
}

TEST(DType, NamesGoBothWays) {
  for (int i = 0; i < kDTypeCount; ++i)
    EXPECT_EQ(parseDType(kDTypes[i].name), static_cast<DType>(i));
  EXPECT_EQ(parseDType("f31"), std::nullopt);
  EXPECT_EQ(parseDType(""), std::nullopt);
}

TEST(Tensor, CountsAreChecked) {
  EXPECT_EQ(elementCount(Shape{}), 1);
  EXPECT_EQ(elementCount(Shape{2, 0, 3}), 0);
  EXPECT_EQ(elementCount(Shape{2, -1}), std::nullopt);
  EXPECT_EQ(elementCount(Shape{int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
  EXPECT_EQ(elementCount(Shape{int64_t{1} << 62, int64_t{1} << 62, 0}), 0);
  EXPECT_EQ(byteCount(DType::F64, Shape{int64_t{1} << 61}), std::nullopt);
  EXPECT_EQ(byteCount(DType::C128, Shape{3}), 48);
  EXPECT_FALSE(Tensor::zeros(DType::F32, {int64_t{1} << 40, int64_t{1} << 30}));
  EXPECT_FALSE(Tensor::zeros(DType::I8, {INT64_MAX}));
  EXPECT_FALSE(Tensor::zeros(DType::F32, {-2}));
  EXPECT_TRUE(Tensor::zeros(DType::F32, {int64_t{1} << 62, 0, int64_t{1} << 62}));
}

TEST(Tensor, OwnsZeroedMemoryAlignedForVectors) {
  for (Shape shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 5, 7}, Shape{3000, 1000}}) {
    Result<Tensor> t = Tensor::zeros(DType::F32, shape);
    ASSERT_TRUE(t);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t->data()) % 64, 0u);
    EXPECT_TRUE(t->isContiguous());
    for (int64_t i = 0; i < t->size(); ++i)
      ASSERT_EQ(t->dataAs<float>()[i], 0.0f);
  }
}

// The system would promise it, and end this process when it is used.
TEST(Tensor, TakesNoMoreThanTheMachineHasLeft) {
  std::optional<uint64_t> left = availableMemory();
  ASSERT_TRUE(left);
  int64_t count = int64_t(*left / 4 + (uint64_t{1} << 28));
  Result<Tensor> tensor = Tensor::uninitialized(DType::F32, {count});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::OutOfMemory);
  EXPECT_NE(tensor.message().find("the machine has"), std::string::npos) << tensor.message();
  EXPECT_TRUE(Tensor::uninitialized(DType::F32, {int64_t{1} << 20}));
}

TEST(Tensor, IsWritableOnlyWhileNobodySharesIt) {
  Tensor t = counting({2, 3});
  EXPECT_NE(t.mutableData(), nullptr);
  {
    Tensor copy = t;
    EXPECT_EQ(t.mutableData(), nullptr);
    EXPECT_EQ(copy.data(), t.data());
  }
  EXPECT_NE(t.mutableData(), nullptr);
  int32_t outside[2] = {1, 2};
  Result<Tensor> borrowed = Tensor::borrow(DType::I32, {2}, std::as_bytes(std::span(outside)));
  ASSERT_TRUE(borrowed);
  EXPECT_EQ(borrowed->mutableData(), nullptr);
  EXPECT_EQ(borrowed->dataAs<int32_t>(), outside);
}

TEST(Tensor, BorrowingChecksSizeAndAlignment) {
  alignas(8) std::byte bytes[17] = {};
  EXPECT_FALSE(Tensor::borrow(DType::F64, {3}, bytes));
  EXPECT_FALSE(Tensor::borrow(DType::F64, {2}, std::span(bytes).subspan(1)));
  EXPECT_FALSE(Tensor::borrow(DType::F64, {-1}, bytes));
  EXPECT_TRUE(Tensor::borrow(DType::F64, {2}, bytes));
  EXPECT_TRUE(Tensor::borrow(DType::I8, {16}, std::span(bytes).subspan(1)));
  EXPECT_TRUE(Tensor::borrow(DType::C128, {}, bytes));
}

TEST(Tensor, KeepsTheOwnerAlive) {
  auto owner = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{4, 5});
  std::weak_ptr<std::vector<int32_t>> watch = owner;
  Result<Tensor> t = Tensor::borrow(DType::I32, {2}, std::as_bytes(std::span(*owner)), owner);
  owner.reset();
  {
    Tensor view = t->reversed(std::vector<int64_t>{0});
    t = Error{"gone"};
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(valuesOf(view), (std::vector<int32_t>{5, 4}));
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, Transposes) {
  Tensor t = counting({2, 3}).transposed(std::vector<int64_t>{1, 0});
  EXPECT_FALSE(t.isContiguous());
  EXPECT_EQ(valuesOf(t), (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
  // Against the plain definition, with tiles cut off at the edges, for every element size.
  for (DType type : {DType::U8, DType::U16, DType::U32, DType::U64, DType::C128}) {
    Shape shape = {37, 3, 101};
    int bytes = info(type).bytes;
    Result<Tensor> source = Tensor::zeros(type, shape);
    std::byte *data = source->mutableData();
    for (int64_t i = 0; i < source->size(); ++i) {
      data[i * bytes] = std::byte(i & 255);
      data[i * bytes + bytes - 1] = std::byte((i * 7 + i / 256) & 255);
    }
    for (std::vector<int64_t> p :
         {std::vector<int64_t>{2, 1, 0}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}}) {
      Result<Tensor> moved = source->transposed(p).contiguous();
      ASSERT_TRUE(moved->isContiguous());
      int64_t position = 0;
      std::vector<int64_t> i(3);
      for (i[0] = 0; i[0] < shape[p[0]]; ++i[0])
        for (i[1] = 0; i[1] < shape[p[1]]; ++i[1])
          for (i[2] = 0; i[2] < shape[p[2]]; ++i[2], ++position) {
            int64_t at[3];
            for (int k = 0; k < 3; ++k)
              at[p[k]] = i[k];
            int64_t from = (at[0] * 3 + at[1]) * 101 + at[2];
            ASSERT_EQ(
                std::memcmp(moved->data() + position * bytes, source->data() + from * bytes, bytes),
                0);
          }
    }
  }
}

TEST(Tensor, SlicesWithStrides) {
  Tensor t = counting({4, 5});
  Tensor s =
      t.sliced(std::vector<int64_t>{1, 0}, std::vector<int64_t>{4, 5}, std::vector<int64_t>{2, 3});
  EXPECT_EQ(Shape(s.shape().begin(), s.shape().end()), (Shape{2, 2}));
  EXPECT_EQ(valuesOf(s), (std::vector<int32_t>{5, 8, 15, 18}));
  Tensor none = t.sliced(std::vector<int64_t>{4, 5}, std::vector<int64_t>{4, 5},
                         std::vector<int64_t>{1, INT64_MAX});
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(none.isContiguous());
  Tensor one = t.sliced(std::vector<int64_t>{3, 4}, std::vector<int64_t>{4, 5},
                        std::vector<int64_t>{INT64_MAX, INT64_MAX});
  EXPECT_EQ(valuesOf(one), (std::vector<int32_t>{19}));
}

TEST(Tensor, BroadcastsAndReverses) {
  Tensor row = counting({1, 3}).broadcastTo({2, 2, 3}, std::vector<int64_t>{0, 2});
  EXPECT_EQ(valuesOf(row), (std::vector<int32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  Tensor column = counting({2}).broadcastTo({2, 3}, std::vector<int64_t>{0});
  EXPECT_EQ(valuesOf(column), (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  Tensor scalar = counting({}).broadcastTo({int64_t{1} << 40, 1}, std::vector<int64_t>{});
  EXPECT_EQ(scalar.size(), int64_t{1} << 40);
  Tensor back = counting({2, 3}).reversed(std::vector<int64_t>{0, 1});
  EXPECT_EQ(valuesOf(back), (std::vector<int32_t>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(valuesOf(back.reversed(std::vector<int64_t>{1})),
            (std::vector<int32_t>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(counting({0, 3}).reversed(std::vector<int64_t>{0, 1}).size(), 0);
}

TEST(Tensor, ReshapesAndRenames) {
  Tensor t = counting({2, 3}).reshaped({3, 2});
  EXPECT_EQ(t.dim(0), 3);
  EXPECT_EQ(t.strides()[0], 8);
  EXPECT_EQ(t.withElementType(DType::U32).dtype(), DType::U32);
  EXPECT_EQ(counting({1, 1}).reshaped({}).rank(), 0);
}

TEST(Tensor, DescribesTypes) {
  EXPECT_EQ(describe(DType::F32, Shape{2, 3}), "tensor<2x3xf32>");
  EXPECT_EQ(describe(DType::C64, Shape{}), "tensor<complex<f32>>");
  auto q = std::make_shared<Quantization>();
  q->storageMin = -128, q->storageMax = 127, q->scales = {2.0}, q->zeroPoints = {15};
  ElementType perTensor(DType::I8, q);
  EXPECT_EQ(perTensor.str(), "!quant.uniform<i8:f32, 2.000000e+00:15>");
  auto axis = std::make_shared<Quantization>(*q);
  axis->storageMin = 0, axis->storageMax = 200;
  axis->axis = 1, axis->scales = {0.1, 0.25}, axis->zeroPoints = {0, 3};
  EXPECT_EQ(ElementType(DType::U8, axis).str(),
            "!quant.uniform<u8<0:200>:f32:1, {1.000000e-01, 2.500000e-01:3}>");
  EXPECT_EQ(perTensor, ElementType(DType::I8, std::make_shared<Quantization>(*q)));
  EXPECT_FALSE(perTensor == ElementType(DType::I8));
  EXPECT_FALSE(perTensor == ElementType(DType::I8, axis));
}

TEST(Tensor, WritesFollowTheReadsOfOthers) {
  // Whoever lets go of a tensor has read it before the last owner writes over it.
  for (int round = 0; round < 50; ++round) {
    Tensor mine = counting({64});
    int64_t sum = 0;
    std::thread reader([&sum, theirs = mine]() mutable {
      for (int32_t value : valuesOf(theirs))
        sum += value;
      theirs = Tensor();
    });
    while (!mine.mutableData())
      std::this_thread::yield();
    mine.mutableAs<int32_t>()[0] = 1000;
    reader.join();
    EXPECT_EQ(sum, 63 * 32);
  }
}

} // namespace
