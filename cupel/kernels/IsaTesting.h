// Tests of kernels on every instruction set that they are compiled for. One that this processor lacks
// is skipped and named, but for matrix registers, which are emulated there; only for tests.

#pragma once

#include "cupel/kernels/EmulatedBlocks.h"
#include "cupel/kernels/Isa.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace cupel::kernels {

/// Runs each test as if the processor had this instruction set and none better.
class OnEveryIsa : public testing::TestWithParam<Isa> {
protected:
  void SetUp() override {
    if (hasIsa(GetParam()))
      scope.emplace(GetParam());
    else if (GetParam() == Isa::Amx)
      scope.emplace(kernelsWithEmulatedBlocks());
    else
      GTEST_SKIP() << "this processor has no " << isaName(GetParam());
  }
  std::optional<IsaScope> scope;
};

inline auto everyIsa() { return testing::ValuesIn(kAllIsas); }
inline std::string nameOfIsa(const testing::TestParamInfo<Isa> &info) {
  return std::string(isaName(info.param));
}

} // namespace cupel::kernels
