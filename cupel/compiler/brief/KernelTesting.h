// Tests that ask the same of kernels with machine code (compiler/codegen) and without it. Only tests
// use it.

#pragma once

#include "cupel/compiler/brief/Brief.h"
#include "cupel/compiler/codegen/CodegenTesting.h"

#include <gtest/gtest.h>

namespace cupel::codegen {

/// And none: kernels run operation by operation (compiler/brief), of which tests ask the same.
inline std::vector<std::pair<std::string, Target>>
withBrief(std::vector<std::pair<std::string, Target>> targets) {
  targets.emplace_back("brief", Target::host());
  targets.back().second.cpu = "brief";
  return targets;
}

struct TestedKernel : CompiledKernel {
  std::shared_ptr<const brief::Work> work; // Where it is brief.
};
template <typename Kernel>
Result<TestedKernel> make(const Kernel &kernel, const Target &target = Target::host()) {
  if (target.cpu == "brief") {
    auto work = brief::prepare(kernel, 1e12);
    if (!work)
      return work.error();
    return TestedKernel{{}, std::move(*work)};
  }
  auto code = compile(kernel, target);
  if (!code)
    return code.error();
  return TestedKernel{std::move(*code), nullptr};
}

inline void runBrief(const brief::Work &work, const std::vector<const void *> &inputs,
                     const std::vector<void *> &outputs) {
  GuardedBytes scratch(static_cast<size_t>(work.scratchBytes + 63) / 64 * 64);
  work.run(inputs.data(), outputs.data(), scratch.data());
}

/// Of either kind; what is brief has no pieces.
inline void runInPieces(const TestedKernel &kernel, std::vector<const void *> inputs,
                        std::vector<void *> outputs, int64_t most, uint32_t seed = 1) {
  if (kernel.work)
    return runBrief(*kernel.work, inputs, outputs);
  runInPieces(static_cast<const CompiledKernel &>(kernel), std::move(inputs), std::move(outputs),
              most, seed);
}

/// Of every instruction set, and of none.
class KernelTest : public testing::TestWithParam<std::pair<std::string, Target>> {
protected:
  const Target &target() const { return GetParam().second; }
  mlir::Block *parse(std::string text, int64_t length) {
    std::string size = std::to_string(length);
    for (size_t at; (at = text.find("$N")) != std::string::npos;)
      text.replace(at, 2, size);
    mlir::Block *body = bodies.parse(text);
    EXPECT_TRUE(body) << text;
    return body;
  }
  static void fillRandom(float *data, int64_t count, uint32_t seed) {
    uint64_t state = seed;
    for (int64_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      data[i] = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-30f; // -2 to 2
    }
  }
  Bodies bodies;
};

} // namespace cupel::codegen
