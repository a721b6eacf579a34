// Tests that ask the same of kernels with machine code (compiler/codegen) and without it. Only tests
// use it.

#pragma once

#include "cupel/compiler/brief/Brief.h"
#include "cupel/compiler/codegen/CodegenTesting.h"

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

} // namespace cupel::codegen
