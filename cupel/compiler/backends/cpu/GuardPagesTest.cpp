#include "cupel/compiler/backends/cpu/LaunchWatch.h"
#include "cupel/reference/Grid.h"

#include <gtest/gtest.h>

#include <array>

namespace cupel::compiler {
namespace {

/// Adds one to each of what it reads, and reads or writes one byte that is not its own if told to.
class Adder final : public Kernel {
public:
  Adder(int64_t bytes, int64_t readsAt, int64_t writesAt)
      : bytes(bytes), readsAt(readsAt), writesAt(writesAt) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    for (int64_t i = 0; i < bytes; ++i)
      writes[0][i] = std::byte(int(reads[0][i]) + 1);
    if (readsAt != 0)
      writes[0][0] = reads[0][readsAt];
    if (writesAt != 0)
      *(volatile std::byte *)(writes[0] + writesAt) = std::byte{7};
    return {};
  }
  std::string_view kind() const override { return "adder"; }

private:
  int64_t bytes, readsAt, writesAt;
};

std::array<std::byte, 12> run(bool isAtEnd, int64_t readsAt, int64_t writesAt, bool isInPlace) {
  std::array<std::byte, 12> input{}, output{};
  for (size_t i = 0; i < input.size(); ++i)
    input[i] = std::byte(i);
  reference::Run reference{reference::RunOptions()};
  reference::Grid grid(1, 1);
  reference::GridProcess process{reference, &grid};
  LaunchContext context{process, {}};
  const std::byte *reads[] = {input.data()};
  std::byte *writes[] = {isInPlace ? input.data() : output.data()};
  int64_t bytes[] = {12, 12};
  Adder kernel(12, readsAt, writesAt);
  Status status = makeGuardPages(isAtEnd)->run(kernel, context, {reads, writes, bytes});
  EXPECT_TRUE(status) << status.message();
  return isInPlace ? input : output;
}

TEST(GuardPagesTest, KernelsComputeWhatTheyDo) {
  for (bool isAtEnd : {false, true})
    for (bool isInPlace : {false, true})
      for (size_t i = 0; i < 12; ++i)
        EXPECT_EQ(int(run(isAtEnd, 0, 0, isInPlace)[i]), int(i) + 1);
}

TEST(GuardPagesDeathTest, OneByteBeyondEndsTheProcess) {
  EXPECT_DEATH((void)run(true, 12, 0, false), "");
  EXPECT_DEATH((void)run(true, 0, 12, false), "");
  EXPECT_DEATH((void)run(false, -1, 0, false), "");
  EXPECT_DEATH((void)run(false, 0, -1, true), "");
}

} // namespace
} // namespace cupel::compiler
