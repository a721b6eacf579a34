// Expected values are worked out by hand; the random cases are checked against oracles here that
// transcribe the specification index by index.

#include "cupel/reference/Indexing.h"
#include "cupel/reference/KernelTesting.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <set>

namespace cupel::reference {
namespace {

using I64s = std::vector<int64_t>;
using I32s = std::vector<int32_t>;
constexpr DType I32 = DType::I32;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

TestFunction addition(bool known) {
  return binary<I32>([](int32_t a, int32_t b) { return a + b; },
                     known ? std::optional(KnownFunction::Add) : std::nullopt);
}
TestFunction overwriting(bool known) {
  return binary<I32>([](int32_t, int32_t b) { return b; },
                     known ? std::optional(KnownFunction::Second) : std::nullopt);
}
/// Neither commutative nor associative: only the right order gives the right result.
TestFunction orderly() {
  return binary<I32>([](int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) * 31u + static_cast<uint32_t>(b));
  });
}

TEST(Indexing, ReadsIntegersOfEveryType) {
  EXPECT_EQ(*readIntegers(Tensor::of<DType::U8>({2}, {200, 1})), (I64s{200, 1}));
  EXPECT_EQ(*readIntegers(Tensor::of<DType::I8>({2}, {-3, 1}).reversed(I64s{0})), (I64s{1, -3}));
  EXPECT_EQ(*readIntegers(Tensor::of<DType::U64>({1}, {~uint64_t{0}})), (I64s{kMost}));
  EXPECT_EQ(*readIntegers(Tensor::of<DType::I4>({1}, {-8})), (I64s{-8}));
  EXPECT_FALSE(readIntegers(Tensor::of<DType::F32>({1}, {1.0f})));
  EXPECT_FALSE(readScalars(std::vector{counting({2})}));
}

TEST(Indexing, DynamicSliceClampsStarts) {
  Tensor a = counting({3, 4});
  EXPECT_EQ(valuesOf<I32>(dynamicSlice(a, I64s{1, 2}, I64s{2, 2})), (I32s{6, 7, 10, 11}));
  EXPECT_EQ(valuesOf<I32>(dynamicSlice(a, I64s{kMost, -5}, I64s{1, 2})), (I32s{8, 9}));
  EXPECT_EQ(valuesOf<I32>(dynamicSlice(a, I64s{kLeast, kMost}, I64s{2, 1})), (I32s{3, 7}));
  EXPECT_EQ(valuesOf<I32>(dynamicSlice(a.transposed(I64s{1, 0}), I64s{3, 1}, I64s{1, 2})),
            (I32s{7, 11}));
  EXPECT_EQ(valuesOf<I32>(dynamicSlice(counting({}), I64s{}, I64s{})), (I32s{0}));
  EXPECT_EQ(valuesOf<I32>(dynamicSlice(counting({0}), I64s{7}, I64s{0})), I32s{});
  EXPECT_FALSE(dynamicSlice(a, I64s{0, 0}, I64s{4, 1}));
  EXPECT_FALSE(dynamicSlice(a, I64s{0}, I64s{1, 1}));
}

TEST(Indexing, DynamicUpdateSliceClampsAndWorksInPlace) {
  Tensor a = counting({2, 3}), u = Tensor::of<I32>({1, 2}, {10, 11});
  EXPECT_EQ(valuesOf<I32>(dynamicUpdateSlice(a, u, I64s{1, 9})), (I32s{0, 1, 2, 3, 10, 11}));
  EXPECT_EQ(valuesOf<I32>(a), (I32s{0, 1, 2, 3, 4, 5})); // still ours
  Tensor own = counting({2, 3});
  const std::byte *before = own.data();
  Result<Tensor> updated = dynamicUpdateSlice(std::move(own), u, I64s{-4, 0});
  EXPECT_EQ(updated->data(), before);
  EXPECT_EQ(valuesOf<I32>(*updated), (I32s{10, 11, 2, 3, 4, 5}));
  EXPECT_EQ(valuesOf<I32>(dynamicUpdateSlice(a.transposed(I64s{1, 0}), u, I64s{0, 0})),
            (I32s{10, 11, 1, 4, 2, 5}));
  EXPECT_FALSE(dynamicUpdateSlice(a, counting({3, 1}), I64s{0, 0}));
  EXPECT_EQ(valuesOf<I32>(dynamicUpdateSlice(a, counting({0, 2}), I64s{0, 0})), valuesOf<I32>(a));
}

TEST(Indexing, RealDynamicSliceChecksItsBounds) {
  Tensor a = counting({5});
  auto list = [](int64_t value) { return Tensor::of<DType::I64>({1}, {value}); };
  EXPECT_EQ(valuesOf<I32>(realDynamicSlice(a, list(1), list(5), list(2))), (I32s{1, 3}));
  EXPECT_FALSE(realDynamicSlice(a, list(-1), list(5), list(2)));
  EXPECT_FALSE(realDynamicSlice(a, list(1), list(6), list(2)));
  EXPECT_FALSE(realDynamicSlice(a, list(1), list(5), list(0)));
}

TEST(Indexing, GatherRowsClamped) {
  Tensor a = counting({3, 2});
  GatherNumbers rows;
  rows.offsetDims = {1};
  rows.collapsedSliceDims = {0};
  rows.startIndexMap = {0};
  rows.indexVectorDim = 1;
  EXPECT_EQ(
      valuesOf<I32>(gather(a, Tensor::of<DType::I64>({4}, {2, -7, kMost, 1}), rows, I64s{1, 2})),
      (I32s{4, 5, 0, 1, 4, 5, 2, 3}));
  EXPECT_EQ(valuesOf<I32>(gather(a, Tensor::of<DType::U8>({1}, {200}), rows, I64s{1, 2})),
            (I32s{4, 5}));
  // Columns: index dimension last in the result.
  GatherNumbers columns = rows;
  columns.offsetDims = {0};
  columns.collapsedSliceDims = {1};
  columns.startIndexMap = {1};
  EXPECT_EQ(valuesOf<I32>(gather(a, Tensor::of<I32>({3}, {1, 0, 1}), columns, I64s{3, 1})),
            (I32s{1, 0, 1, 3, 2, 3, 5, 4, 5}));
  EXPECT_EQ(valuesOf<I32>(gather(a, counting({0}), rows, I64s{1, 2})), I32s{});
  EXPECT_FALSE(gather(a, Tensor::of<DType::F32>({1}, {0.0f}), rows, I64s{1, 2}));
  EXPECT_FALSE(gather(a, counting({1}), rows, I64s{1, 3}));
  EXPECT_FALSE(gather(counting({0, 2}), counting({1}), rows, I64s{0, 2}));
}

I64s shuffled(std::mt19937 &random, int64_t n) {
  I64s list(static_cast<size_t>(n));
  std::iota(list.begin(), list.end(), 0);
  std::shuffle(list.begin(), list.end(), random);
  return list;
}

/// Random dimension numbers of a gather or scatter on an operand, and the shapes that go with
/// them: full tensors of slices as `updates` have them.
struct Numbers {
  Shape operand, indices, result; // result of a gather, updates of a scatter
  I64s sliceSizes, offsetDims, collapsed, operandBatching, indicesBatching, indexMap;
  int64_t vectorDim;
};

Numbers randomNumbers(std::mt19937 &random) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Numbers n;
  int64_t rank = pick(1, 4);
  for (int64_t d = 0; d < rank; ++d)
    n.operand.push_back(pick(1, 5));
  I64s dims = shuffled(random, rank);
  int64_t batching = std::min<int64_t>(pick(0, 1), rank - 1);
  int64_t collapsed = pick(0, rank - batching);
  n.operandBatching.assign(dims.begin(), dims.begin() + batching);
  n.collapsed.assign(dims.begin() + batching, dims.begin() + batching + collapsed);
  std::sort(n.collapsed.begin(), n.collapsed.end());
  for (int64_t d = 0; d < rank; ++d) {
    bool one = std::ranges::count(n.collapsed, d) || std::ranges::count(n.operandBatching, d);
    n.sliceSizes.push_back(one ? 1 : pick(1, n.operand[d]));
  }
  I64s mapped = shuffled(random, rank);
  std::erase_if(mapped, [&](int64_t d) { return std::ranges::count(n.operandBatching, d) > 0; });
  mapped.resize(static_cast<size_t>(pick(0, static_cast<int64_t>(mapped.size()))));
  n.indexMap = mapped;
  int64_t batchRank = pick(batching, 2);
  for (int64_t d = 0; d < batchRank; ++d)
    n.indices.push_back(pick(1, 4));
  for (int64_t k = 0; k < batching; ++k)
    n.indices[k] = n.operand[n.operandBatching[k]];
  n.vectorDim = pick(0, batchRank);
  if (n.indexMap.size() == 1 && pick(0, 1) == 0) {
    n.vectorDim = batchRank; // left out
  } else {
    n.indices.insert(n.indices.begin() + n.vectorDim, static_cast<int64_t>(n.indexMap.size()));
  }
  for (int64_t k = 0; k < batching; ++k) {
    bool shifted = static_cast<int64_t>(n.indices.size()) > batchRank && n.vectorDim <= k;
    n.indicesBatching.push_back(k + (shifted ? 1 : 0));
  }
  I64s sliceDims;
  for (int64_t d = 0; d < rank; ++d)
    if (!std::ranges::count(n.collapsed, d) && !std::ranges::count(n.operandBatching, d))
      sliceDims.push_back(d);
  int64_t resultRank = batchRank + static_cast<int64_t>(sliceDims.size());
  n.offsetDims = shuffled(random, resultRank);
  n.offsetDims.resize(sliceDims.size());
  std::sort(n.offsetDims.begin(), n.offsetDims.end());
  size_t nextSlice = 0, nextBatch = 0;
  for (int64_t d = 0; d < resultRank; ++d) {
    if (std::ranges::count(n.offsetDims, d)) {
      n.result.push_back(n.sliceSizes[sliceDims[nextSlice++]]);
    } else {
      bool present = static_cast<int64_t>(n.indices.size()) > batchRank;
      size_t at = nextBatch + (present && static_cast<int64_t>(nextBatch) >= n.vectorDim ? 1 : 0);
      n.result.push_back(n.indices[at]);
      ++nextBatch;
    }
  }
  return n;
}

/// Where in the operand a position of the result (or of the updates) belongs; clamped or not.
I64s operandIndex(const Numbers &n, const std::vector<int32_t> &indices, const I64s &at,
                  bool clamp) {
  I64s batch, offset;
  for (size_t d = 0; d < at.size(); ++d)
    (std::ranges::count(n.offsetDims, static_cast<int64_t>(d)) ? offset : batch).push_back(at[d]);
  I64s full(n.operand.size(), 0);
  bool present = n.indices.size() > batch.size();
  I64s position = batch;
  if (present)
    position.insert(position.begin() + n.vectorDim, 0);
  for (size_t k = 0; k < n.indexMap.size(); ++k) {
    if (present)
      position[n.vectorDim] = static_cast<int64_t>(k);
    int64_t start = indices[flatIndex(n.indices, position)];
    int64_t d = n.indexMap[k];
    full[d] = clamp ? std::clamp<int64_t>(start, 0, n.operand[d] - n.sliceSizes[d]) : start;
  }
  for (size_t k = 0; k < n.operandBatching.size(); ++k)
    full[n.operandBatching[k]] = position[n.indicesBatching[k]];
  size_t next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(n.operand.size()); ++d)
    if (!std::ranges::count(n.collapsed, d) && !std::ranges::count(n.operandBatching, d))
      full[d] += offset[next++];
  return full;
}

TEST(Indexing, GatherAgreesWithTheSpecificationOnRandomDimensionNumbers) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    Numbers n = randomNumbers(random);
    Tensor operand = randomTensor<I32>(random, n.operand, -1000, 1000);
    Tensor indices = randomTensor<I32>(random, n.indices, -3, 7);
    GatherNumbers numbers{n.offsetDims,      n.collapsed, n.operandBatching,
                          n.indicesBatching, n.indexMap,  n.vectorDim};
    Result<Tensor> result =
        gather(asView(operand, round % 3), asView(indices, round / 3 % 3), numbers, n.sliceSizes);
    ASSERT_TRUE(result) << result.message();
    ASSERT_EQ(shapeOf(*result), n.result);
    I32s flat = valuesOf<I32>(operand), starts = valuesOf<I32>(indices), got;
    got = valuesOf<I32>(*result);
    size_t at = 0;
    forEachIndex(n.result, [&](const I64s &index) {
      I64s source = operandIndex(n, starts, index, /*clamp=*/true);
      ASSERT_EQ(got[at++], flat[flatIndex(n.operand, source)]) << "round " << round;
    });
  }
}

TEST(Indexing, ScatterAgreesWithTheSpecificationOnRandomDimensionNumbers) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    Numbers n = randomNumbers(random);
    Tensor operand = randomTensor<I32>(random, n.operand, -1000, 1000);
    Tensor indices = randomTensor<I32>(random, n.indices, -3, 7);
    Tensor updates = randomTensor<I32>(random, n.result, -1000, 1000);
    ScatterNumbers numbers{n.offsetDims, n.collapsed, n.operandBatching, n.indicesBatching,
                           n.indexMap,   n.vectorDim, round % 5 == 0};
    TestFunction bodies[] = {addition(true), overwriting(true), orderly(), overwriting(false)};
    const TestFunction &body = bodies[round % 4];
    Result<std::vector<Tensor>> result =
        scatter({asView(operand, round % 3)}, asView(indices, round / 3 % 3),
                std::vector{asView(updates, round / 9 % 3)}, numbers, body);
    ASSERT_TRUE(result) << result.message();
    I32s expected = valuesOf<I32>(operand), starts = valuesOf<I32>(indices);
    I32s values = valuesOf<I32>(updates);
    size_t at = 0;
    auto isOutside = [&](const I64s &target) {
      for (size_t d = 0; d < target.size(); ++d)
        if (target[d] < 0 || target[d] >= n.operand[d])
          return true;
      return false;
    };
    // What all elements of a window have in common.
    auto windowOf = [&](I64s index) {
      for (int64_t d : n.offsetDims)
        index[d] = 0;
      return index;
    };
    std::set<I64s> skipped;
    if (numbers.skipsWholeWindows)
      forEachIndex(n.result, [&](const I64s &index) {
        if (isOutside(operandIndex(n, starts, index, /*clamp=*/false)))
          skipped.insert(windowOf(index));
      });
    forEachIndex(n.result, [&](const I64s &index) {
      int32_t update = values[at++];
      I64s target = operandIndex(n, starts, index, /*clamp=*/false);
      if (isOutside(target) || skipped.contains(windowOf(index)))
        return;
      int32_t &place = expected[flatIndex(n.operand, target)];
      const void *in[] = {&place, &update};
      int32_t fresh = 0;
      void *out[] = {&fresh};
      ASSERT_TRUE(body.run(in, out, 1));
      place = fresh;
    });
    ASSERT_EQ(valuesOf<I32>((*result)[0]), expected) << "round " << round;
  }
}

ScatterNumbers rowNumbers() {
  ScatterNumbers numbers;
  numbers.updateWindowDims = {1};
  numbers.insertedWindowDims = {0};
  numbers.scatterDimsToOperandDims = {0};
  numbers.indexVectorDim = 1;
  return numbers;
}

TEST(Indexing, ScatterSkipsWhatLiesOutside) {
  Tensor updates = Tensor::of<I32>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Tensor indices = Tensor::of<DType::I64>({4}, {1, kMost, kLeast, 1});
  auto run = [&](const TestFunction &body) {
    return valuesOf<I32>(
        (*scatter({counting({2, 2})}, indices, std::vector{updates}, rowNumbers(), body))[0]);
  };
  EXPECT_EQ(run(addition(true)), (I32s{0, 1, 10, 13}));
  EXPECT_EQ(run(addition(false)), (I32s{0, 1, 10, 13}));
  EXPECT_EQ(run(overwriting(true)), (I32s{0, 1, 7, 8}));
  EXPECT_EQ(run(binary<I32>([](int32_t a, int32_t) { return a; }, KnownFunction::First)),
            (I32s{0, 1, 2, 3}));
}

TEST(Indexing, ScatterWorksInPlaceOnlyOnItsOwnInput) {
  Tensor updates = Tensor::of<I32>({1, 2}, {1, 2}), index = counting({1});
  Tensor mine = counting({2, 2});
  Result<std::vector<Tensor>> copied =
      scatter({mine}, index, std::vector{updates}, rowNumbers(), addition(true));
  EXPECT_EQ(valuesOf<I32>(mine), (I32s{0, 1, 2, 3}));
  EXPECT_EQ(valuesOf<I32>((*copied)[0]), (I32s{1, 3, 2, 3}));
  std::vector<Tensor> own;
  own.push_back(counting({2, 2}));
  const std::byte *before = own[0].data();
  Result<std::vector<Tensor>> moved =
      scatter(std::move(own), index, std::vector{updates}, rowNumbers(), addition(true));
  EXPECT_EQ((*moved)[0].data(), before);
}

TEST(Indexing, ScatterOfTwoInputsThroughOneBody) {
  // (a, b), (x, y) -> (max, y where x is larger): an arg-max.
  TestFunction body({I32, DType::F32, I32, DType::F32}, {I32, DType::F32}, std::nullopt,
                    [](auto in, auto out, int64_t i) {
                      int32_t a = static_cast<const int32_t *>(in[0])[i];
                      int32_t x = static_cast<const int32_t *>(in[2])[i];
                      static_cast<int32_t *>(out[0])[i] = std::max(a, x);
                      static_cast<float *>(out[1])[i] =
                          static_cast<const float *>(in[x > a ? 3 : 1])[i];
                    });
  std::vector<Tensor> inputs{Tensor::of<I32>({2}, {0, 0}), Tensor::of<DType::F32>({2}, {-1, -1})};
  std::vector<Tensor> updates{Tensor::of<I32>({3}, {5, 9, 7}),
                              Tensor::of<DType::F32>({3}, {.5f, .9f, .7f})};
  ScatterNumbers numbers;
  numbers.insertedWindowDims = {0};
  numbers.scatterDimsToOperandDims = {0};
  numbers.indexVectorDim = 1;
  Result<std::vector<Tensor>> result =
      scatter(inputs, Tensor::of<I32>({3}, {1, 1, 1}), updates, numbers, body);
  EXPECT_EQ(valuesOf<I32>((*result)[0]), (I32s{0, 9}));
  EXPECT_EQ(valuesOf<DType::F32>((*result)[1]), (std::vector<float>{-1, .9f}));
}

TEST(Indexing, ScatterIntoManyPlacesAtOnceKeepsTheOrder) {
  // 5,000 updates on 700 places, in lanes; the oracle applies them one by one.
  std::mt19937 random(4);
  Tensor indices = randomTensor<I32>(random, {5000}, -20, 720);
  Tensor updates = randomTensor<I32>(random, {5000}, -99, 99);
  ScatterNumbers numbers;
  numbers.insertedWindowDims = {0};
  numbers.scatterDimsToOperandDims = {0};
  numbers.indexVectorDim = 1;
  TestFunction body = orderly();
  I32s expected(700, 0), at = valuesOf<I32>(indices), with = valuesOf<I32>(updates);
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] >= 0 && at[i] < 700)
      expected[at[i]] = static_cast<int32_t>(static_cast<uint32_t>(expected[at[i]]) * 31u +
                                             static_cast<uint32_t>(with[i]));
  Result<std::vector<Tensor>> result =
      scatter({*Tensor::zeros(I32, {700})}, indices, std::vector{updates}, numbers, body);
  EXPECT_EQ(valuesOf<I32>((*result)[0]), expected);
  EXPECT_LT(body.calls, 500);
}

TEST(Indexing, ScatterKnownFunctionsOnNarrowTypes) {
  ScatterNumbers numbers;
  numbers.insertedWindowDims = {0};
  numbers.scatterDimsToOperandDims = {0};
  numbers.indexVectorDim = 1;
  Tensor index = Tensor::of<I32>({2}, {0, 0});
  // i4: 7 + 1 wraps to -8, minus 1 is 7.
  auto i4 = binary<DType::I4>([](int8_t a, int8_t b) { return a + b; }, KnownFunction::Add);
  EXPECT_EQ(valuesOf<DType::I4>(
                (*scatter({Tensor::of<DType::I4>({1}, {7})}, index,
                          std::vector{Tensor::of<DType::I4>({2}, {1, -1})}, numbers, i4))[0]),
            (std::vector<int8_t>{7}));
  // bf16 rounds after each step: 256 + 1 stays 256, twice.
  auto bf = binary<DType::BF16>([](uint16_t a, uint16_t) { return a; }, KnownFunction::Add);
  EXPECT_EQ(valuesOf<DType::BF16>((*scatter(
                {Tensor::of<DType::BF16>({1}, {0x4380})}, index,
                std::vector{Tensor::of<DType::BF16>({2}, {0x3f80, 0x3f80})}, numbers, bf))[0]),
            (std::vector<uint16_t>{0x4380}));
  // i1: addition is or.
  auto i1 = binary<DType::I1>([](uint8_t a, uint8_t b) { return a | b; }, KnownFunction::Add);
  EXPECT_EQ(valuesOf<DType::I1>(
                (*scatter({Tensor::of<DType::I1>({1}, {1})}, index,
                          std::vector{Tensor::of<DType::I1>({2}, {1, 0})}, numbers, i1))[0]),
            (std::vector<uint8_t>{1}));
}

TEST(Indexing, ScatterReportsErrors) {
  Tensor updates = Tensor::of<I32>({1, 2}, {1, 2});
  TestFunction failing = addition(false);
  failing.failing = true;
  EXPECT_FALSE(
      scatter({counting({2, 2})}, counting({1}), std::vector{updates}, rowNumbers(), failing));
  EXPECT_FALSE(scatter({counting({2, 2})}, counting({2}), std::vector{updates}, rowNumbers(),
                       addition(true)));
  EXPECT_FALSE(scatter({*Tensor::zeros(DType::F32, {2, 2})}, counting({1}), std::vector{updates},
                       rowNumbers(), addition(true)));
  EXPECT_EQ(
      valuesOf<I32>((*scatter({counting({2, 2})}, counting({0}), std::vector{counting({0, 2})},
                              rowNumbers(), addition(true)))[0]),
      (I32s{0, 1, 2, 3}));
}

TEST(Indexing, TorchIndexSelect) {
  Tensor a = counting({2, 3});
  EXPECT_EQ(valuesOf<I32>(torchIndexSelect(a, Tensor::of<I32>({2}, {2, 0}), 1, 0)),
            (I32s{2, 0, 5, 3}));
  EXPECT_EQ(valuesOf<I32>(torchIndexSelect(a, Tensor::of<I32>({1, 2}, {1, 0}), 0, 0)),
            (I32s{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(shapeOf(*torchIndexSelect(a, Tensor::of<I32>({1, 2}, {1, 0}), 0, 0)), (Shape{1, 2, 3}));
  // One index list for each row.
  EXPECT_EQ(valuesOf<I32>(torchIndexSelect(a, Tensor::of<I32>({2, 2}, {2, 9, 0, -1}), 1, 1)),
            (I32s{2, 2, 3, 3}));
  EXPECT_FALSE(torchIndexSelect(a, counting({1}), 2, 0));
}

} // namespace
} // namespace cupel::reference
