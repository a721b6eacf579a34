// Which instruction set kernels use: chosen once when first asked, by what the processor has and the
// operating system saves, and never above what the environment variable CUPEL_KERNELS names (one of
// `baseline`, `v3`, `v3vnni`, `v4`, `bf16`, `amx`), with which the paths of lesser processors are tested. Internal to
// this folder, its tests and its benchmark.

#pragma once

#include "cupel/kernels/KernelTable.h"

#include <string_view>

namespace cupel::kernels {

/// x86-64's levels; v3 with sums of products of bytes (AVX_VNNI); v4 with those (AVX512_VNNI) and with the instructions
/// on bf16; and that with matrix registers for both (AMX). `Baseline` is portable. Of two that a machine has, the later is
/// the better; a machine that has one need not have all before it.
enum class Isa { Baseline, V3, V3Vnni, V4, Bf16, Amx };

constexpr Isa kAllIsas[] = {Isa::Baseline, Isa::V3, Isa::V3Vnni, Isa::V4, Isa::Bf16, Isa::Amx};

std::string_view isaName(Isa isa);

/// Whether this machine can run it, whatever the environment says.
bool hasIsa(Isa isa);
/// The best of those.
Isa bestIsa();

/// What new packed matrices and calls use.
Isa currentIsa();
const KernelTable &currentKernels();
/// As it was compiled, without what this processor gains nothing from; only to be run where hasIsa(isa).
const KernelTable &kernelsOf(Isa isa);

/// For tests: uses `isa`, or a table made of the current one, while it exists, in the whole process.
class IsaScope {
public:
  explicit IsaScope(Isa isa);
  explicit IsaScope(const KernelTable &table);
  ~IsaScope();
  IsaScope(const IsaScope &) = delete;
  IsaScope &operator=(const IsaScope &) = delete;

private:
  Isa outer;
  const KernelTable *outerTable;
};

// One for each instruction set, defined in the file compiled for it.
const KernelTable &kernelsBaseline();
const KernelTable &kernelsV3();
const KernelTable &kernelsV4();
const KernelTable &kernelsBf16();

// What takes the place of some of v3's and of tiles of bf16's: with nothing but that in it.
const KernelTable &integersV3Vnni();
const BlockTable &blocksAmx();
/// Whether they compute what they should.
bool tryBlocksAmx();

} // namespace cupel::kernels
