// Memory of runs: a program's own, and that of others where these share it.

#include "cupel/compiler/backends/cpu/Frames.h"

#include "cupel/compiler/backends/cpu/BackendTesting.h"

#include <cstring>
#include <gtest/gtest.h>

namespace cupel::compiler {
namespace {

using tensor::Tensor;

constexpr size_t kLarge = size_t{16} << 20;

class FramesTest : public testing::Test {
protected:
  void TearDown() override { shareFrames(false); }

  std::shared_ptr<Frames> first = Frames::make(), second = Frames::make();
};

/// Runs with this argument in a frame; whether a value was there that follows from it.
bool keepsOne(Frame &frame, const Tensor &given) {
  KeptPlan plan;
  plan.arguments = {0};
  plan.launches = {{0, {0}}};
  plan.launchCount = 1;
  const std::vector<Tensor> all = {given};
  std::span<const uint8_t> left = frame.kept.begin(plan, all);
  frame.kept.end();
  return !left.empty() && left[0];
}

TEST_F(FramesTest, AProgramRunsInItsOwnMemoryAgain) {
  Frame frame = first->take(kLarge);
  ASSERT_TRUE(frame);
  Tensor given = filled({4}, 1);
  EXPECT_FALSE(keepsOne(frame, given));
  const std::byte *memory = frame.get();
  Frame another = first->take(kLarge); // Beside it.
  EXPECT_NE(another.get(), memory);
  Frames::give(std::move(frame));
  frame = first->take(kLarge);
  EXPECT_EQ(frame.get(), memory);
  EXPECT_TRUE(keepsOne(frame, given));
}

TEST_F(FramesTest, WhoDoesNotShareHasMemoryOfItsOwn) {
  Frame frame = first->take(kLarge);
  const std::byte *memory = frame.get();
  Frames::give(std::move(frame));
  EXPECT_NE(second->take(kLarge / 2).get(), memory);
}

TEST_F(FramesTest, ThoseThatShareRunInTheSmallestThatFits) {
  shareFrames(true);
  std::shared_ptr<Frames> larger = Frames::make();
  Frame frame = first->take(kLarge), large = larger->take(2 * kLarge);
  Tensor given = filled({4}, 1);
  EXPECT_FALSE(keepsOne(frame, given));
  const std::byte *memory = frame.get(), *largest = large.get();
  Frames::give(std::move(large));
  Frames::give(std::move(frame));
  Frame lent = second->take(kLarge / 2);
  EXPECT_EQ(lent.get(), memory);
  EXPECT_EQ(second->take(kLarge + 1).get(), largest);
  // It is the first one's again, which computes anew what it had kept there.
  Frames::give(std::move(lent));
  lent = first->take(kLarge);
  EXPECT_EQ(lent.get(), memory);
  EXPECT_FALSE(keepsOne(lent, given));
}

TEST_F(FramesTest, WhatIsInUseOrTooSmallIsNotShared) {
  shareFrames(true);
  Frame used = first->take(kLarge);
  EXPECT_NE(second->take(kLarge / 2).get(), used.get());
  Frame small = first->take(size_t{1} << 20);
  const std::byte *memory = small.get();
  Frames::give(std::move(small));
  EXPECT_NE(second->take(size_t{1} << 20).get(), memory); // It may be worth more where it is.
}

TEST_F(FramesTest, MemoryEndsWithWhoeverItIsOf) {
  shareFrames(true);
  Frame frame = first->take(kLarge);
  Frames::give(std::move(frame));
  Frame lent = second->take(kLarge / 2);
  first = nullptr;
  std::memset(lent.get(), 1, kLarge); // Still there.
  Frames::give(std::move(lent));
  EXPECT_TRUE(second->take(kLarge / 2).owner.lock() == second);
}

/// So many products of a matrix with itself, whose results lie in the arena.
std::string products(int count) {
  std::string text = "func.func @main(%0: tensor<1100x1100xf32>) -> tensor<1100x1100xf32> {\n";
  for (int i = 1; i <= count; ++i)
    text += "%" + std::to_string(i) + " = stablehlo.dot_general %" + std::to_string(i - 1) +
            ", %0, contracting_dims = [1] x [0] : (tensor<1100x1100xf32>, tensor<1100x1100xf32>) -> tensor<1100x1100xf32>\n";
  return text + "return %" + std::to_string(count) + " : tensor<1100x1100xf32>\n}\n";
}

/// What two programs give that are run by turns.
std::vector<std::vector<float>> byTurns() {
  CompileOptions options;
  options.backend = "cpu";
  std::vector<std::shared_ptr<const runtime::Executable>> programs;
  for (int count : {3, 5}) {
    auto made = compile(products(count), options);
    EXPECT_TRUE(made) << made.message();
    programs.push_back(*made);
  }
  std::vector<std::vector<float>> results;
  for (int turn = 0; turn < 4; ++turn) {
    Tensor argument = filled({1100, 1100}, 0);
    for (int64_t i = 0; i < argument.size(); ++i)
      argument.mutableAs<float>()[i] = float((i + turn) % 17 - 8) / 64;
    auto given = programs[size_t(turn % 2)]->execute({{argument}});
    EXPECT_TRUE(given) << given.message();
    const auto *data = (*given)[0][0].dataAs<float>();
    results.emplace_back(data, data + argument.size());
  }
  return results;
}

TEST_F(FramesTest, ProgramsThatRunByTurnsGiveTheSame) {
  const std::vector<std::vector<float>> own = byTurns();
  shareArenas(true);
  EXPECT_EQ(byTurns(), own);
}

} // namespace
} // namespace cupel::compiler
