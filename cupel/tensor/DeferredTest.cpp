// Elements that were lent: where they are read, when they are given back, and that forms give them again.

#include "cupel/tensor/Deferred.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace cupel::tensor {
namespace {

/// Memory of a host who is told when it is his again.
struct Host {
  std::vector<float> values;
  std::atomic<int> releases = 0;

  std::shared_ptr<const void> owner() {
    return std::shared_ptr<const void>(values.data(), [this](const void *) { ++releases; });
  }
  const std::byte *data() const { return reinterpret_cast<const std::byte *>(values.data()); }
};

using Values = std::vector<float>;

/// A form: the values from the last to the first.
DeferredElements::Pack packing(size_t count, std::atomic<int> &packings) {
  return [count, &packings](const std::byte *data) {
    ++packings;
    auto *values = reinterpret_cast<const float *>(data);
    return std::make_shared<const Values>(std::reverse_iterator(values + count), std::reverse_iterator(values));
  };
}

Status unpack(const void *form, std::byte *to) {
  const auto &values = *static_cast<const Values *>(form);
  std::reverse_copy(values.begin(), values.end(), reinterpret_cast<float *>(to));
  return {};
}

Tensor lent(Host &host) {
  return Tensor::deferred(DType::F32, {int64_t(host.values.size())},
                          std::make_shared<DeferredElements>(host.data(), host.owner()));
}

TEST(Deferred, TensorsHaveNoMemoryAndNobodyWritesThem) {
  Host host{{1, 2, 3}};
  Tensor tensor = lent(host);
  EXPECT_EQ(tensor.data(), nullptr);
  EXPECT_EQ(tensor.mutableData(), nullptr);
  EXPECT_EQ(tensor.byteSize(), 12);
  EXPECT_TRUE(tensor.isContiguous());
  EXPECT_EQ(tensor.deferred()->lent().data, host.data());
  EXPECT_EQ(Tensor::of<DType::F32>({1}, {1}).deferred(), nullptr);
}

TEST(Deferred, LentMemoryIsGivenBackOnceBehindTheLastUse) {
  Host host{{1, 2, 3}};
  {
    Tensor tensor = lent(host), other = tensor;
    DeferredElements::Lent use = tensor.deferred()->lent();
    std::atomic<int> packings = 0;
    ASSERT_TRUE(tensor.deferred()->form(tensor, "turned", packing(3, packings), unpack));
    EXPECT_EQ(tensor.deferred()->lent().data, nullptr);
    EXPECT_EQ(host.releases, 0); // Somebody reads it yet.
    use = {};
    EXPECT_EQ(host.releases, 1);
  }
  EXPECT_EQ(host.releases, 1);
  { Tensor unused = lent(host); }
  EXPECT_EQ(host.releases, 2);
}

TEST(Deferred, AFormIsMadeOnceAndGivesTheElementsBack) {
  Host host{{1, -0.0f, 3, 4}};
  Values before = host.values;
  Tensor tensor = lent(host);
  std::atomic<int> packings = 0;
  auto form = tensor.deferred()->form(tensor, "turned", packing(4, packings), unpack);
  ASSERT_TRUE(form);
  EXPECT_EQ(*static_cast<const Values *>(form->get()), Values({4, 3, -0.0f, 1}));
  std::fill(host.values.begin(), host.values.end(), 7); // It is the host's again.
  EXPECT_EQ(tensor.deferred()->form(tensor, "turned", packing(4, packings), unpack)->get(), form->get());
  EXPECT_EQ(packings, 1);
  Result<Tensor> whole = wholeTensor(tensor);
  ASSERT_TRUE(whole);
  EXPECT_EQ(std::memcmp(whole->data(), before.data(), 16), 0);
  // Another layout is made of what the first gives back.
  auto other = tensor.deferred()->form(tensor, "turned as well", packing(4, packings), unpack);
  ASSERT_TRUE(other);
  EXPECT_EQ(*static_cast<const Values *>(other->get()), *static_cast<const Values *>(form->get()));
  EXPECT_EQ(packings, 2);
}

TEST(Deferred, AFailureToUnpackIsAnErrorOfWhoReads) {
  Host host{{1, 2}};
  Tensor tensor = lent(host);
  std::atomic<int> packings = 0;
  auto fails = [](const void *, std::byte *) -> Status { return Error{"broken"}; };
  ASSERT_TRUE(tensor.deferred()->form(tensor, "turned", packing(2, packings), fails));
  EXPECT_EQ(wholeTensor(tensor).message(), "broken");
  EXPECT_FALSE(tensor.deferred()->form(tensor, "other", packing(2, packings), fails));
}

TEST(Deferred, ReadersAndPackersMayMeet) {
  for (int round = 0; round < 200; ++round) {
    Host host{Values(512)};
    for (size_t i = 0; i < host.values.size(); ++i)
      host.values[i] = float(i);
    const Values before = host.values;
    Tensor tensor = lent(host);
    std::atomic<int> packings = 0, wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        if (t % 2 == 0)
          wrong += !tensor.deferred()->form(tensor, "turned", packing(512, packings), unpack);
        Result<Tensor> whole = wholeTensor(tensor);
        wrong += !whole || std::memcmp(whole->data(), before.data(), 2048) != 0;
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(packings, 1);
    EXPECT_EQ(host.releases, 1);
  }
}

} // namespace
} // namespace cupel::tensor
