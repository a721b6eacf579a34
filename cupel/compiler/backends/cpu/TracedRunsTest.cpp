// Recorded programs: the bits of every replay are those of runs without a trace, whatever changes between
// runs; what cannot be recorded is named; the region is kept.

#include "cupel/compiler/backends/cpu/BackendTesting.h"
#include "cupel/runtime/Trace.h"
#include "cupel/tensor/Fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace cupel::compiler {
namespace {

using ::testing::HasSubstr;
using tensor::Tensor;
using Tensors = std::vector<Tensor>;
using Executable = std::shared_ptr<const runtime::Executable>;

const char *const kMaps = R"(func.func @main(%a: tensor<5x7xf32>, %b: tensor<7xf32>) -> (tensor<5x7xf32>, tensor<5xf32>) {
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<7xf32>) -> tensor<5x7xf32>
  %d = stablehlo.add %a, %c : tensor<5x7xf32>
  %e = stablehlo.tanh %d : tensor<5x7xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x7xf32>, tensor<f32>) -> tensor<5xf32>
  return %e, %s : tensor<5x7xf32>, tensor<5xf32>
})";

const char *const kLayers = R"(func.func @main(%x: tensor<16x24xf32>, %w: tensor<24x24xf32>) -> tensor<16x24xf32> {
  %k = stablehlo.constant dense<0.25> : tensor<24x24xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x24xf32>, tensor<24x24xf32>) -> tensor<16x24xf32>
  %1 = stablehlo.logistic %0 : tensor<16x24xf32>
  %2 = stablehlo.dot_general %1, %k, contracting_dims = [1] x [0] : (tensor<16x24xf32>, tensor<24x24xf32>) -> tensor<16x24xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<16x24xf32>) -> tensor<24x16xf32>
  %4 = stablehlo.exponential %3 : tensor<24x16xf32>
  %5 = stablehlo.reshape %4 : (tensor<24x16xf32>) -> tensor<16x24xf32>
  %6 = stablehlo.add %5, %x : tensor<16x24xf32>
  return %6 : tensor<16x24xf32>
})";

const char *const kLoop = R"(func.func @main(%a: tensor<9xf32>, %n: tensor<i32>) -> (tensor<9xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %h = stablehlo.constant dense<0.5> : tensor<9xf32>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<9xf32> cond {
    %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %y = stablehlo.multiply %x, %h : tensor<9xf32>
    %z = stablehlo.cosine %y : tensor<9xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %z : tensor<i32>, tensor<9xf32>
  }
  return %r#1, %r#0 : tensor<9xf32>, tensor<i32>
})";

const char *const kBranch = R"(func.func @main(%k: tensor<i32>, %a: tensor<6xf32>) -> tensor<6xf32> {
  %r = "stablehlo.case"(%k) ({
    %x = stablehlo.sine %a : tensor<6xf32>
    stablehlo.return %x : tensor<6xf32>
  }, {
    %x = stablehlo.negate %a : tensor<6xf32>
    stablehlo.return %x : tensor<6xf32>
  }, {
    stablehlo.return %a : tensor<6xf32>
  }) : (tensor<i32>) -> tensor<6xf32>
  %s = stablehlo.add %r, %a : tensor<6xf32>
  return %s : tensor<6xf32>
})";

const char *const kIntegers = R"(func.func @main(%a: tensor<33xi32>, %b: tensor<33xi32>) -> (tensor<33xi32>, tensor<33xi1>, tensor<33xi32>) {
  %0 = stablehlo.add %a, %b : tensor<33xi32>
  %1 = stablehlo.compare LT, %a, %b : (tensor<33xi32>, tensor<33xi32>) -> tensor<33xi1>
  %2 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<33xi32>) -> tensor<33xi32>
  return %0, %1, %2 : tensor<33xi32>, tensor<33xi1>, tensor<33xi32>
})";

/// Large enough for several threads.
const char *const kLarge = R"(func.func @main(%a: tensor<600x700xf32>, %b: tensor<600x700xf32>) -> (tensor<600x700xf32>, tensor<600xf32>) {
  %0 = stablehlo.multiply %a, %b : tensor<600x700xf32>
  %1 = stablehlo.exponential %0 : tensor<600x700xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<600x700xf32>, tensor<f32>) -> tensor<600xf32>
  return %1, %s : tensor<600x700xf32>, tensor<600xf32>
})";

const char *const kHandedOn = R"(func.func @main(%a: tensor<3xf32>, %unused: tensor<8xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) {
  %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %a, %a, %c : tensor<3xf32>, tensor<3xf32>, tensor<2xf32>
})";

const struct {
  const char *name, *text;
} kPrograms[] = {{"maps", kMaps},         {"layers", kLayers}, {"loop", kLoop},          {"branch", kBranch},
                 {"integers", kIntegers}, {"large", kLarge},   {"handed on", kHandedOn}};

Result<Executable> compiled(const char *text, bool isTraced, std::shared_ptr<runtime::TraceRegion> region = nullptr,
                            bool alwaysCode = false) {
  CompileOptions options;
  options.backend = "cpu";
  options.enablesTrace = isTraced;
  options.traceRegion = std::move(region);
  options.alwaysMakesCode = alwaysCode;
  return compile(text, options);
}

Tensors inputsFor(const runtime::Executable &executable, uint64_t seed) {
  Tensors all;
  for (const runtime::ValueInfo &value : executable.info().arguments)
    all.push_back(std::move(*tensor::randomTensor(value.type, value.shape, tensor::defaultFill(value.type),
                                                  {seed, uint64_t(all.size())})));
  return all;
}

::testing::AssertionResult areSameBits(const Tensors &expected, const Tensors &got) {
  if (expected.size() != got.size())
    return ::testing::AssertionFailure() << got.size() << " results";
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i].byteSize() != expected[i].byteSize() ||
        std::memcmp(got[i].data(), expected[i].data(), size_t(got[i].byteSize())) != 0)
      return ::testing::AssertionFailure() << "result " << i << " has other bits";
  return ::testing::AssertionSuccess();
}

Tensors resultsOf(const runtime::Executable &executable, Tensors inputs) {
  runtime::ProcessTensors arguments;
  arguments.push_back(std::move(inputs));
  auto results = executable.execute(std::move(arguments));
  EXPECT_TRUE(results) << (results ? "" : results.message());
  return results ? std::move((*results)[0]) : Tensors();
}

TEST(TracedRunsTest, EveryReplayGivesTheBitsOfARunWithoutOne) {
  for (bool alwaysCode : {false, true})
    for (const auto &program : kPrograms) {
      SCOPED_TRACE(std::string(program.name) + (alwaysCode ? ", all of it code" : ""));
      auto plain = compiled(program.text, false, nullptr, alwaysCode), traced = compiled(program.text, true, nullptr, alwaysCode);
      ASSERT_TRUE(plain) << plain.message();
      ASSERT_TRUE(traced) << traced.message();
      EXPECT_THAT((*traced)->info().notes.at("trace"), HasSubstr("recorded at the second run: "));
      for (uint64_t seed = 0; seed < 6; ++seed) // Other memory and other values each time.
        EXPECT_TRUE(areSameBits(resultsOf(**plain, inputsFor(**plain, seed)), resultsOf(**traced, inputsFor(**traced, seed)))) << seed;
      runtime::TraceCounts counts = (*traced)->traceCounts();
      EXPECT_EQ(counts.untraced, 1);
      EXPECT_EQ(counts.misses, 1);
      EXPECT_EQ(counts.replayed, 5);
      EXPECT_EQ(counts.recorded, 1 + counts.stale);
      std::optional<runtime::TraceRecord> record = (*traced)->trace();
      ASSERT_TRUE(record);
      EXPECT_FALSE(record->commands.empty());
      EXPECT_FALSE((*plain)->trace());
    }
}

TEST(TracedRunsTest, ResultsThatSomebodyHoldsAreNotOverwritten) {
  auto traced = compiled(kMaps, true);
  ASSERT_TRUE(traced) << traced.message();
  std::vector<Tensors> held;
  for (uint64_t seed = 0; seed < 5; ++seed)
    held.push_back(resultsOf(**traced, inputsFor(**traced, seed)));
  auto plain = compiled(kMaps, false);
  for (uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_TRUE(areSameBits(resultsOf(**plain, inputsFor(**plain, seed)), held[seed])) << seed;
}

TEST(TracedRunsTest, SlotsThatNobodyLooksAtAreUsedAgain) {
  auto traced = compiled(kMaps, true, nullptr, true); // Code from the beginning: nothing gets stale.
  ASSERT_TRUE(traced) << traced.message();
  Tensors inputs = inputsFor(**traced, 1);
  // The first result may lie in an argument; the second has the size of none.
  auto run = [&] { return resultsOf(**traced, inputs)[1].data(); };
  run(); // Not yet recorded.
  const std::byte *first = run();
  Tensors others; // They would take what was given back.
  for (int i = 0; i < 16; ++i)
    others.push_back(*Tensor::uninitialized(inputs[0].elementType(), {5}));
  EXPECT_EQ(run(), first);
}

TEST(TracedRunsTest, DonatedArgumentsBecomeResultsAndGoRoundAndRound) {
  const char *step = R"(func.func @main(%w: tensor<4000xf32> {jax.buffer_donor = true}, %g: tensor<4000xf32>) -> tensor<4000xf32> {
    %rate = stablehlo.constant dense<0.125> : tensor<4000xf32>
    %d = stablehlo.multiply %g, %rate : tensor<4000xf32>
    %n = stablehlo.subtract %w, %d : tensor<4000xf32>
    return %n : tensor<4000xf32>
  })";
  auto plain = compiled(step, false), traced = compiled(step, true);
  ASSERT_TRUE(plain && traced);
  Tensors expected = inputsFor(**plain, 3), got = inputsFor(**traced, 3);
  const std::byte *memory = got[0].data();
  Tensor gradient = expected[1];
  for (int i = 0; i < 6; ++i) {
    Tensors first, second;
    first.push_back(std::move(expected[0]));
    first.push_back(gradient);
    second.push_back(std::move(got[0]));
    second.push_back(gradient);
    expected = resultsOf(**plain, std::move(first));
    got = resultsOf(**traced, std::move(second));
    ASSERT_TRUE(areSameBits(expected, got)) << i;
    EXPECT_EQ(got[0].data(), memory) << i; // In place, also when it is replayed.
  }
}

TEST(TracedRunsTest, ArgumentsThatAreNoneOfTheirOwnStayAsTheyAre) {
  auto traced = compiled(kMaps, true);
  ASSERT_TRUE(traced);
  Tensors inputs = inputsFor(**traced, 5), before = inputsFor(**traced, 5);
  for (int i = 0; i < 4; ++i)
    resultsOf(**traced, inputs);
  EXPECT_TRUE(areSameBits(before, inputs));
}

TEST(TracedRunsTest, RunsSideBySideHaveTracesOfTheirOwn) {
  for (const char *text : {kLayers, kLoop, kLarge}) {
    auto plain = compiled(text, false), traced = compiled(text, true);
    ASSERT_TRUE(plain && traced);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (uint64_t number = 0; number < 12; ++number)
      threads.emplace_back([&, number] {
        for (uint64_t i = 0; i < 8; ++i) {
          uint64_t seed = number * 100 + i;
          Tensors expected = resultsOf(**plain, inputsFor(**plain, seed));
          wrong += !areSameBits(expected, resultsOf(**traced, inputsFor(**traced, seed)));
        }
      });
    for (std::thread &one : threads)
      one.join();
    EXPECT_EQ(wrong, 0);
    runtime::TraceCounts counts = (*traced)->traceCounts();
    EXPECT_EQ(counts.replayed + counts.untraced, 12 * 8);
    EXPECT_LE(counts.misses, 8);
    EXPECT_GT(counts.replayed, 0);
  }
}

TEST(TracedRunsTest, KernelsThatBecomeCodeMakeATraceStale) {
  // Exact and brief: machine code is made when it has run often.
  const char *text = R"(func.func @main(%a: tensor<500xf32>) -> tensor<500xf32> {
    %b = stablehlo.add %a, %a : tensor<500xf32>
    %c = stablehlo.reverse %b, dims = [0] : tensor<500xf32>
    %d = stablehlo.multiply %c, %a : tensor<500xf32>
    return %d : tensor<500xf32>
  })";
  auto plain = compiled(text, false), traced = compiled(text, true);
  ASSERT_TRUE(plain && traced);
  Tensors inputs = inputsFor(**traced, 1), expected = resultsOf(**plain, inputs);
  std::string before = "none";
  for (int i = 0; i < 200'000 && (*traced)->traceCounts().stale == 0; ++i) {
    Tensors got = resultsOf(**traced, inputs);
    if (i == 1)
      before = (*traced)->trace()->commands[0].call;
    ASSERT_TRUE(areSameBits(expected, got)) << i;
  }
  EXPECT_EQ(before, "kernel");
  EXPECT_GT((*traced)->traceCounts().stale, 0);
  std::vector<std::string> calls;
  std::optional<runtime::TraceRecord> record = (*traced)->trace();
  ASSERT_TRUE(record);
  for (const runtime::TraceCommand &one : record->commands)
    calls.push_back(one.call);
  EXPECT_THAT(calls, ::testing::Contains("code"));
  EXPECT_TRUE(areSameBits(expected, resultsOf(**traced, inputs)));
}

TEST(TracedRunsTest, ARegionThatIsTooSmallSaysTheSizeNeeded) {
  auto small = compiled(kMaps, true, std::make_shared<runtime::TraceRegion>(16));
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::OutOfMemory);
  EXPECT_THAT(small.message(), HasSubstr("the trace of @program needs "));
  EXPECT_THAT(small.message(), HasSubstr("trace_region_size"));
  std::string said = small.message();
  int64_t needed = std::stoll(said.substr(said.find("needs ") + 6));
  EXPECT_TRUE(compiled(kMaps, true, std::make_shared<runtime::TraceRegion>(needed)));
  EXPECT_FALSE(compiled(kMaps, true, std::make_shared<runtime::TraceRegion>(needed - 1)));
}

TEST(TracedRunsTest, TwoProgramsThatShareARegionForOneTakeTurns) {
  auto alone = compiled(kMaps, true), other = compiled(kLayers, true);
  ASSERT_TRUE(alone && other);
  for (auto *one : {&alone, &other})
    for (int i = 0; i < 2; ++i)
      resultsOf(***one, inputsFor(***one, 1));
  int64_t most = std::max((*alone)->trace()->commandBytes, (*other)->trace()->commandBytes);
  auto region = std::make_shared<runtime::TraceRegion>(most);
  auto first = compiled(kMaps, true, region), second = compiled(kLayers, true, region);
  ASSERT_TRUE(first && second);
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_TRUE(areSameBits(resultsOf(**alone, inputsFor(**alone, turn)), resultsOf(**first, inputsFor(**first, turn))));
    EXPECT_TRUE(areSameBits(resultsOf(**other, inputsFor(**other, turn)), resultsOf(**second, inputsFor(**second, turn))));
  }
  EXPECT_EQ((*first)->traceCounts().stale, 2); // Each turn but the first two found the other's there.
  EXPECT_EQ((*second)->traceCounts().stale, 2);
  EXPECT_LE(region->used(), most);
}

TEST(TracedRunsTest, WhatIsDroppedGivesItsRoomBack) {
  auto region = std::make_shared<runtime::TraceRegion>(100'000);
  {
    auto traced = compiled(kMaps, true, region);
    ASSERT_TRUE(traced);
    for (int i = 0; i < 3; ++i)
      resultsOf(**traced, inputsFor(**traced, 1));
    EXPECT_GT(region->used(), 0);
  }
  EXPECT_EQ(region->used(), 0);
}

const char *const kFallback = R"(func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
})";

TEST(TracedRunsTest, WhatCannotBeRecordedIsNamedAndRunsWithout) {
  auto traced = compiled(kFallback, true);
  ASSERT_TRUE(traced) << traced.message();
  EXPECT_THAT((*traced)->info().notes.at("trace"), HasSubstr("not recorded: stablehlo.cholesky at "));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(resultsOf(**traced, inputsFor(**traced, 1)).size(), 1u);
  EXPECT_EQ((*traced)->traceCounts().recorded, 0);
  EXPECT_FALSE((*traced)->trace());

  CompileOptions options;
  options.backend = "cpu";
  options.enablesTrace = options.isStrict = true;
  auto strict = compile(kFallback, options);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(strict.message(), HasSubstr("stablehlo.cholesky"));
}

TEST(TracedRunsTest, FallbacksWithinLoopsAreFound) {
  const char *text = R"(func.func @main(%a: tensor<4x4xf32>, %n: tensor<i32>) -> tensor<4x4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4x4xf32> cond {
      %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %y = stablehlo.cholesky %x, lower = true : tensor<4x4xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %y : tensor<i32>, tensor<4x4xf32>
    }
    return %r#1 : tensor<4x4xf32>
  })";
  auto traced = compiled(text, true);
  ASSERT_TRUE(traced) << traced.message();
  EXPECT_THAT((*traced)->info().notes.at("trace"), HasSubstr("not recorded: stablehlo.cholesky at "));
}

TEST(TracedRunsTest, ProgramsOfOtherBackendsAndOfSeveralDevicesSayThatTheyAreNotRecorded) {
  CompileOptions options;
  options.enablesTrace = true;
  options.backend = "reference";
  auto reference = compile(kMaps, options);
  ASSERT_TRUE(reference);
  EXPECT_THAT((*reference)->info().notes.at("trace"), HasSubstr("not recorded: it runs whole on the backend reference"));
  options.backend = "cpu";
  options.replicas = 2;
  auto two = compile(kMaps, options);
  ASSERT_TRUE(two) << two.message();
  EXPECT_EQ((*two)->info().notes.at("trace"), "not recorded: it runs on 2 devices");
}

TEST(TracedRunsTest, ASavedExecutableIsRecordedToo) {
  auto traced = compiled(kLayers, true);
  ASSERT_TRUE(traced);
  auto region = std::make_shared<runtime::TraceRegion>(1'000'000);
  auto loaded = deserialize((*traced)->serialize(), region);
  ASSERT_TRUE(loaded) << loaded.message();
  for (uint64_t seed = 0; seed < 4; ++seed)
    EXPECT_TRUE(areSameBits(resultsOf(**traced, inputsFor(**traced, seed)), resultsOf(**loaded, inputsFor(**loaded, seed))));
  EXPECT_EQ((*loaded)->traceCounts().replayed, 3);
  EXPECT_GT(region->used(), 0);
  EXPECT_EQ((*loaded)->trace()->commands, (*traced)->trace()->commands);
}

TEST(TracedRunsTest, AStoppedRunEndsAndTheNextIsRight) {
  auto traced = compiled(kLayers, true), plain = compiled(kLayers, false);
  ASSERT_TRUE(traced && plain);
  for (int i = 0; i < 2; ++i)
    resultsOf(**traced, inputsFor(**traced, 1));
  std::atomic<bool> stop = true;
  auto stopped = (*traced)->execute({inputsFor(**traced, 1)}, &stop);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::Cancelled);
  EXPECT_TRUE(areSameBits(resultsOf(**plain, inputsFor(**plain, 2)), resultsOf(**traced, inputsFor(**traced, 2))));
}

} // namespace
} // namespace cupel::compiler
