// Memory that hosts lend: read where it lies, given back behind the first use, and weights that are left in
// packed form only.

#include "cupel/pjrt/plugin/PluginTesting.h"

#include <bit>
#include <numeric>
#include <thread>

namespace cupel::pjrt {
namespace {

constexpr int64_t kDepth = 192, kColumns = 128; // 96 KiB of weights.

constexpr const char *kProduct = R"(func.func @main(%x: tensor<4x192xf32>, %w: tensor<192x128xf32>) -> tensor<4x128xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x192xf32>, tensor<192x128xf32>) -> tensor<4x128xf32>
  return %0 : tensor<4x128xf32>
})";
constexpr const char *kTurnedProduct = R"(func.func @main(%x: tensor<4x128xf32>, %w: tensor<192x128xf32>) -> tensor<4x192xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<4x128xf32>, tensor<192x128xf32>) -> tensor<4x192xf32>
  return %0 : tensor<4x192xf32>
})";
constexpr const char *kTwice = R"(func.func @main(%w: tensor<192x128xf32>) -> tensor<192x128xf32> {
  %0 = stablehlo.add %w, %w : tensor<192x128xf32>
  return %0 : tensor<192x128xf32>
})";

/// A buffer on memory that the host has lent.
struct LentBuffer {
  PJRT_Buffer *buffer = nullptr;
  PJRT_Event *done = nullptr;
  int released = 0; // How often the host was told.

  bool isReleased() const {
    auto args = makeStruct<PJRT_Event_IsReady_Args>();
    args.event = done;
    expectFine(api()->PJRT_Event_IsReady(&args));
    return args.is_ready;
  }
};

class BorrowTest : public PluginTest {
protected:
  void SetUp() override {
    setenv("CUPEL_HOST_MEMORY", "borrowed", true);
    PluginTest::SetUp();
    unsetenv("CUPEL_HOST_MEMORY");
    weights.resize(kDepth * kColumns);
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = float(int(i * 37 % 101) - 50) / 16;
    original = weights;
    x.resize(4 * kDepth);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(int(i * 11 % 23) - 11) / 8;
  }

  void lend(LentBuffer &lent, const void *data, std::vector<int64_t> dims,
            PJRT_HostBufferSemantics semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy,
            PJRT_Buffer_Type type = PJRT_Buffer_Type_F32) {
    auto args = makeStruct<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = client;
    args.data = data;
    args.type = type;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.host_buffer_semantics = semantics;
    args.memory = memory();
    expectFine(api()->PJRT_Client_BufferFromHostBuffer(&args));
    lent.buffer = args.buffer;
    lent.done = args.done_with_host_buffer;
    auto listen = makeStruct<PJRT_Event_OnReady_Args>();
    listen.event = lent.done;
    listen.user_arg = &lent.released;
    listen.callback = [](PJRT_Error *error, void *count) {
      expectFine(error);
      ++*static_cast<int *>(count);
    };
    expectFine(api()->PJRT_Event_OnReady(&listen));
  }
  void end(LentBuffer &lent) {
    if (lent.buffer)
      destroy(lent.buffer);
    lent.buffer = nullptr;
    EXPECT_TRUE(lent.isReleased());
    EXPECT_EQ(lent.released, 1);
    EXPECT_EQ(await(lent.done).code, 0);
  }

  std::vector<float> run(PJRT_LoadedExecutable *executable, std::vector<PJRT_Buffer *> arguments) {
    std::vector<std::vector<PJRT_Buffer *>> results(1, std::vector<PJRT_Buffer *>(1));
    Problem problem = execute(executable, {arguments}, results);
    EXPECT_EQ(problem.code, 0) << problem.text;
    std::vector<float> values;
    EXPECT_EQ(get(results[0][0], values).code, 0);
    destroy(results[0][0]);
    return values;
  }
  /// Every number in it is exact.
  std::vector<float> expectedProduct() const {
    std::vector<float> c(4 * kColumns);
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < kColumns; ++j)
        for (int64_t k = 0; k < kDepth; ++k)
          c[i * kColumns + j] += x[i * kDepth + k] * original[k * kColumns + j];
    return c;
  }

  struct PackedCase {
    std::string text;
    std::vector<int64_t> dims, image; // Of the weights, and of what is multiplied with them.
  };
  /// Convolutions have several forms: of pixels, of lines for few channels, of groups, of single channels.
  static std::string convolution(const std::string &type, std::string image, std::string kernel, std::string result,
                                 int groups) {
    for (std::string *one : {&image, &kernel, &result})
      *one = "tensor<" + *one + "x" + type + ">";
    return "func.func @main(%x: " + image + ", %w: " + kernel + ") -> " + result +
           " {\n  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
           "window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = " +
           std::to_string(groups) + " : i64} : (" + image + ", " + kernel + ") -> " + result + "\n  return %0 : " + result +
           "\n}";
  }
  /// Weights that are lent are given back with the first run, and whoever reads them then gets what they were.
  void expectBack(const PackedCase &one, const void *data, PJRT_Buffer_Type type) {
    auto count = [](const std::vector<int64_t> &dims) {
      return size_t(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()));
    };
    const size_t bytes = count(one.dims) * (type == PJRT_Buffer_Type_F32 ? 4 : 2);
    PJRT_LoadedExecutable *executable = compiled(one.text);
    std::vector<float> image(count(one.image), std::bit_cast<float>(0x3f003f00u)), values; // Half, in either type.
    LentBuffer left, lent;
    lend(left, image.data(), one.image, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, type);
    lend(lent, data, one.dims, PJRT_HostBufferSemantics_kImmutableZeroCopy, type);
    EXPECT_FALSE(lent.isReleased()) << one.text;
    run(executable, {left.buffer, lent.buffer});
    EXPECT_TRUE(lent.isReleased()) << one.text;
    EXPECT_EQ(get(lent.buffer, values).code, 0);
    ASSERT_EQ(values.size() * sizeof(float), bytes);
    EXPECT_EQ(std::memcmp(values.data(), data, bytes), 0) << one.text;
    end(left);
    end(lent);
    destroy(executable);
  }

  std::vector<float> weights, original, x;
};

TEST_F(BorrowTest, WeightsAreGivenBackWhenTheyArePacked) {
  PJRT_LoadedExecutable *product = compiled(kProduct);
  PJRT_Buffer *left = put(x.data(), {4, kDepth});
  LentBuffer lent;
  lend(lent, weights.data(), {kDepth, kColumns});
  EXPECT_FALSE(lent.isReleased());
  EXPECT_EQ(run(product, {left, lent.buffer}), expectedProduct());
  EXPECT_TRUE(lent.isReleased());
  std::fill(weights.begin(), weights.end(), 1000.0f); // The host's again.
  EXPECT_EQ(run(product, {left, lent.buffer}), expectedProduct());
  std::vector<float> values;
  EXPECT_EQ(get(lent.buffer, values).code, 0);
  EXPECT_EQ(values, original);
  EXPECT_EQ(run(product, {left, lent.buffer}), expectedProduct()); // Behind the reading, too.
  end(lent);
  destroy(left);
  destroy(product);
}

TEST_F(BorrowTest, LentMemoryIsCopiedWhereNobodyAskedToBorrowIt) {
  destroyClient(client);
  client = makeClient(1);
  PJRT_LoadedExecutable *product = compiled(kProduct);
  PJRT_Buffer *left = put(x.data(), {4, kDepth});
  LentBuffer lent;
  lend(lent, weights.data(), {kDepth, kColumns});
  EXPECT_TRUE(lent.isReleased());
  std::vector<float> expected = expectedProduct();
  std::fill(weights.begin(), weights.end(), 1000.0f);
  EXPECT_EQ(run(product, {left, lent.buffer}), expected);
  end(lent);
  destroy(left);
  destroy(product);
}

TEST_F(BorrowTest, PackedWeightsComeBackBitByBit) {
  for (size_t i = 0; i < weights.size(); ++i) // NaNs with payloads, infinities, denormal numbers, both zeros.
    weights[i] = std::bit_cast<float>(uint32_t(i * 2654435761u));
  weights[0] = -0.0f;
  weights[1] = std::bit_cast<float>(0x7f800001u);
  weights[2] = std::bit_cast<float>(0x00000001u);
  original = weights;
  std::vector<PackedCase> cases = {
      {kProduct, {kDepth, kColumns}, {4, kDepth}},
      {kTurnedProduct, {kDepth, kColumns}, {4, kColumns}},
      {convolution("f32", "1x4x4x30", "3x3x30x77", "1x4x4x77", 1), {3, 3, 30, 77}, {1, 4, 4, 30}},
      {convolution("f32", "1x4x4x3", "3x3x3x700", "1x4x4x700", 1), {3, 3, 3, 700}, {1, 4, 4, 3}},
      {convolution("f32", "1x4x4x512", "3x3x4x512", "1x4x4x512", 128), {3, 3, 4, 512}, {1, 4, 4, 512}},
      {convolution("f32", "1x4x4x2048", "3x3x1x2048", "1x4x4x2048", 2048), {3, 3, 1, 2048}, {1, 4, 4, 2048}},
  };
  for (const PackedCase &one : cases)
    expectBack(one, weights.data(), PJRT_Buffer_Type_F32);
}

/// As halves of words, or widened to them, by what the processor multiplies.
TEST_F(BorrowTest, PackedWeightsOfBf16ComeBackBitByBit) {
  std::vector<uint16_t> halves(3 * 3 * 64 * 160);
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = uint16_t(i * 40503u);
  halves[0] = 0x8000, halves[1] = 0x7f81, halves[2] = 0x0001;
  auto product = [](std::string left, std::string right, std::string result, std::string contracted) {
    return "func.func @main(%x: tensor<" + left + "xbf16>, %w: tensor<" + right + "xbf16>) -> tensor<" + result +
           "xbf16> {\n  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [" + contracted + "] : (tensor<" + left +
           "xbf16>, tensor<" + right + "xbf16>) -> tensor<" + result + "xbf16>\n  return %0 : tensor<" + result + "xbf16>\n}";
  };
  std::vector<PackedCase> cases = {
      {product("4x256", "256x160", "4x160", "0"), {256, 160}, {4, 256}},
      {product("4x255", "255x300", "4x300", "0"), {255, 300}, {4, 255}}, // Odd, and more than halves have numbers.
      {product("4x256", "160x256", "4x160", "1"), {160, 256}, {4, 256}},
      {convolution("bf16", "1x4x4x64", "3x3x64x160", "1x4x4x160", 1), {3, 3, 64, 160}, {1, 4, 4, 64}},
      {convolution("bf16", "1x4x4x31", "3x3x31x130", "1x4x4x130", 1), {3, 3, 31, 130}, {1, 4, 4, 31}},
      {convolution("bf16", "1x4x4x3", "3x3x3x1300", "1x4x4x1300", 1), {3, 3, 3, 1300}, {1, 4, 4, 3}},
      {convolution("bf16", "1x4x4x1024", "3x3x4x1024", "1x4x4x1024", 256), {3, 3, 4, 1024}, {1, 4, 4, 1024}},
      {convolution("bf16", "1x4x4x4096", "3x3x1x4096", "1x4x4x4096", 4096), {3, 3, 1, 4096}, {1, 4, 4, 4096}},
  };
  for (const PackedCase &one : cases)
    expectBack(one, halves.data(), PJRT_Buffer_Type_BF16);
}

TEST_F(BorrowTest, WhatIsReadPlainlyIsTheHostsWhenTheCallReturns) {
  PJRT_LoadedExecutable *twice = compiled(kTwice);
  LentBuffer lent;
  lend(lent, weights.data(), {kDepth, kColumns});
  Launch launch(twice, {lent.buffer});
  EXPECT_TRUE(lent.isReleased());
  std::fill(weights.begin(), weights.end(), 1000.0f);
  EXPECT_EQ(await(launch.event).code, 0);
  std::vector<float> values;
  EXPECT_EQ(get(launch.result, values).code, 0);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], 2 * original[i]);
  destroy(launch.result);
  end(lent);
  destroy(twice);
}

TEST_F(BorrowTest, OtherProgramsAndLayoutsReadPackedWeights) {
  PJRT_LoadedExecutable *product = compiled(kProduct), *turned = compiled(kTurnedProduct),
                        *twice = compiled(kTwice);
  std::vector<float> row(4 * kColumns, 1.0f), sums(kDepth);
  for (int64_t k = 0; k < kDepth; ++k)
    sums[k] = std::accumulate(&original[k * kColumns], &original[k * kColumns] + kColumns, 0.0f);
  PJRT_Buffer *left = put(x.data(), {4, kDepth}), *ones = put(row.data(), {4, kColumns});
  LentBuffer lent;
  lend(lent, weights.data(), {kDepth, kColumns});
  run(product, {left, lent.buffer});
  std::fill(weights.begin(), weights.end(), 1000.0f);
  destroy(product); // Who packed them is gone, they are not.
  std::vector<float> values = run(turned, {ones, lent.buffer});
  for (int64_t i = 0; i < 4 * kDepth; ++i)
    ASSERT_EQ(values[i], sums[i % kDepth]);
  values = run(twice, {lent.buffer});
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], 2 * original[i]);
  end(lent);
  for (PJRT_Buffer *buffer : {left, ones})
    destroy(buffer);
  for (PJRT_LoadedExecutable *executable : {turned, twice})
    destroy(executable);
}

TEST_F(BorrowTest, PointersIntoPackedWeightsStayGood) {
  PJRT_LoadedExecutable *product = compiled(kProduct);
  PJRT_Buffer *left = put(x.data(), {4, kDepth});
  LentBuffer lent;
  lend(lent, weights.data(), {kDepth, kColumns});
  run(product, {left, lent.buffer});
  std::fill(weights.begin(), weights.end(), 1000.0f);
  auto hold = makeStruct<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  hold.buffer = lent.buffer;
  expectFine(api()->PJRT_Buffer_IncreaseExternalReferenceCount(&hold));
  auto pointer = makeStruct<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  pointer.buffer = lent.buffer;
  expectFine(api()->PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&pointer));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(run(product, {left, lent.buffer}), expectedProduct());
  EXPECT_EQ(std::memcmp(pointer.device_memory_ptr, original.data(), original.size() * sizeof(float)), 0);
  auto release = makeStruct<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  release.buffer = lent.buffer;
  expectFine(api()->PJRT_Buffer_DecreaseExternalReferenceCount(&release));
  end(lent);
  destroy(left);
  destroy(product);
}

TEST_F(BorrowTest, RowsOfATableAreReadWhereTheyLie) {
  PJRT_LoadedExecutable *gather = compiled(R"(func.func @main(%w: tensor<192x128xf32>) -> tensor<2x128xf32> {
  %at = stablehlo.constant dense<[[3], [190]]> : tensor<2x1xi32>
  %0 = "stablehlo.gather"(%w, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>}> : (tensor<192x128xf32>, tensor<2x1xi32>) -> tensor<2x128xf32>
  return %0 : tensor<2x128xf32>
})");
  LentBuffer lent;
  lend(lent, weights.data(), {kDepth, kColumns});
  for (int i = 0; i < 3; ++i) {
    std::vector<float> values = run(gather, {lent.buffer});
    for (int64_t j = 0; j < kColumns; ++j) {
      ASSERT_EQ(values[j], original[3 * kColumns + j]);
      ASSERT_EQ(values[kColumns + j], original[190 * kColumns + j]);
    }
    EXPECT_FALSE(lent.isReleased());
  }
  end(lent);
  destroy(gather);
}

TEST_F(BorrowTest, DonatedWeightsAreGivenBackToo) {
  PJRT_LoadedExecutable *product = compiled(
      R"(func.func @main(%x: tensor<192x192xf32>, %w: tensor<192x128xf32> {jax.buffer_donor = true}) -> tensor<192x128xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<192x192xf32>, tensor<192x128xf32>) -> tensor<192x128xf32>
  return %0 : tensor<192x128xf32>
})");
  std::vector<float> one(kDepth * kDepth);
  for (int64_t i = 0; i < kDepth; ++i)
    one[size_t(i * kDepth + i)] = 1;
  PJRT_Buffer *left = put(one.data(), {kDepth, kDepth});
  LentBuffer lent;
  lend(lent, weights.data(), {kDepth, kColumns});
  EXPECT_EQ(run(product, {left, lent.buffer}), original);
  EXPECT_TRUE(isDeleted(lent.buffer));
  EXPECT_TRUE(lent.isReleased());
  end(lent);
  destroy(left);
  destroy(product);
}

TEST_F(BorrowTest, OnlyLargeDenseMemoryThatIsLentIsBorrowed) {
  LentBuffer small, during, until, unused;
  lend(small, weights.data(), {128});
  EXPECT_TRUE(small.isReleased());
  lend(during, weights.data(), {kDepth, kColumns}, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  EXPECT_TRUE(during.isReleased());
  lend(until, weights.data(), {kDepth, kColumns}, PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
  EXPECT_TRUE(until.isReleased());
  lend(unused, weights.data(), {kDepth, kColumns});
  EXPECT_FALSE(unused.isReleased());
  for (LentBuffer *one : {&small, &during, &until, &unused})
    end(*one);
}

TEST_F(BorrowTest, ReadersMeetARunThatPacks) {
  PJRT_LoadedExecutable *product = compiled(kProduct), *twice = compiled(kTwice);
  PJRT_Buffer *left = put(x.data(), {4, kDepth});
  const std::vector<float> expected = expectedProduct();
  for (int round = 0; round < 25; ++round) {
    LentBuffer lent;
    lend(lent, weights.data(), {kDepth, kColumns});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::vector<float> values;
        if (t == 3) {
          values = run(twice, {lent.buffer});
          EXPECT_EQ(values[5], 2 * original[5]);
        } else if (t == 2) {
          EXPECT_EQ(get(lent.buffer, values).code, 0);
          EXPECT_EQ(values, original);
        } else {
          EXPECT_EQ(run(product, {left, lent.buffer}), expected);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    end(lent);
  }
  destroy(left);
  for (PJRT_LoadedExecutable *executable : {product, twice})
    destroy(executable);
}

} // namespace
} // namespace cupel::pjrt
