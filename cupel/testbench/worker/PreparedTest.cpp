#include "cupel/testbench/worker/Prepared.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::testbench::worker;

namespace {

Prepared asking() {
  Request request;
  request.item.expectation.optimizationLevel = 0;
  request.item.expectation.enableWeightBfp8Conversion = true;
  Prepared prepared;
  prepared.workload = workloadFor(request, "torch");
  prepared.read = std::make_unique<ProgramReader::Read>();
  prepared.read->program.flags = prepared.workload.options.flags;
  return prepared;
}

// What a test's configuration asks of the compiler holds where the run says nothing of it.
TEST(Prepared, OptionsOfTheRunOverruleThoseOfTheTest) {
  Prepared prepared = asking();
  EXPECT_EQ(overrule(prepared, "n300"), "");
  EXPECT_EQ(prepared.workload.options.flags.size(), 2u);

  EXPECT_EQ(overrule(prepared, "cupel?arch=n300&optimization_level=2"), "optimization_level=0");
  ASSERT_EQ(prepared.workload.options.flags.size(), 1u);
  EXPECT_EQ(prepared.workload.options.flags.front().first, "experimental_weight_dtype");
  EXPECT_EQ(prepared.program().flags, prepared.workload.options.flags);

  prepared = asking();
  EXPECT_EQ(overrule(prepared, "/opt/vendor.so?compile.experimental_weight_dtype=bf16&other=1"),
            "experimental_weight_dtype=bfp_bf8");
  ASSERT_EQ(prepared.program().flags.size(), 1u);
  EXPECT_EQ(prepared.program().flags.front().first, "optimization_level");
}

} // namespace
