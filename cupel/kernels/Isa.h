// Which instruction set kernels use: chosen once when first asked, by what the processor has and the
// operating system saves, and never above what the environment variable CUPEL_KERNELS names (one of
// `baseline`, `v3`, `v4`, `bf16`), with which the paths of lesser processors are tested. Internal to
// this folder, its tests and its benchmark.

#pragma once

#include "cupel/kernels/KernelTable.h"

#include <string_view>

namespace cupel::kernels {

/// x86-64's levels, and v4 with the instructions on bf16 and on pairs of integers (VNNI). `Baseline` is portable.
enum class Isa { Baseline, V3, V4, Bf16 };

constexpr Isa kAllIsas[] = {Isa::Baseline, Isa::V3, Isa::V4, Isa::Bf16};

std::string_view isaName(Isa isa);

/// The best that this machine can run, whatever the environment says.
Isa bestIsa();

/// What new packed matrices and calls use.
Isa currentIsa();
const KernelTable &currentKernels();
/// As it was compiled; only to be run where `isa` <= bestIsa().
const KernelTable &kernelsOf(Isa isa);

/// For tests: uses `isa` while it exists, in the whole process.
class IsaScope {
public:
  explicit IsaScope(Isa isa);
  ~IsaScope();
  IsaScope(const IsaScope &) = delete;
  IsaScope &operator=(const IsaScope &) = delete;

private:
  Isa outer;
};

// One for each instruction set, defined in the file compiled for it.
const KernelTable &kernelsBaseline();
const KernelTable &kernelsV3();
const KernelTable &kernelsV4();
const KernelTable &kernelsBf16();

} // namespace cupel::kernels
