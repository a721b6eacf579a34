// Bits of elements as elements of another type are computed in the maps around them, and keep what floats would not: payloads and signs of NaNs.

#include "cupel/compiler/backends/cpu/OwnKernelTesting.h"

namespace cupel::compiler {
namespace {

TEST(BitsTest, AreElementsOfTheMapsAroundThem) {
  // A sign that is copied, as importers write it.
  const std::string copied = R"(func.func @main(%x: tensor<1003xf32>, %y: tensor<1003xf32>) -> tensor<1003xf32> {
  %z = stablehlo.constant dense<0> : tensor<1003xi32>
  %0 = stablehlo.bitcast_convert %x : (tensor<1003xf32>) -> tensor<1003xi32>
  %1 = stablehlo.compare LT, %0, %z : (tensor<1003xi32>, tensor<1003xi32>) -> tensor<1003xi1>
  %2 = stablehlo.abs %y : tensor<1003xf32>
  %3 = stablehlo.negate %2 : tensor<1003xf32>
  %4 = stablehlo.select %1, %3, %2 : tensor<1003xi1>, tensor<1003xf32>
  return %4 : tensor<1003xf32>
})";
  for (bool isTame : {true, false}) {
    expectOwnKernel(copied, isTame);
    Result<Outcome> outcome = outcomeBy("cpu", copied, isTame);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->notes["kernels"], "1 map");
    // There and back, in f32 and f64, with and without a sign.
    for (const char *types : {"f32 ui32", "f32 i32", "f64 i64", "f64 ui64"}) {
      std::string real(types, 3), bits(types + 4), x = "tensor<517x" + real + ">", i = "tensor<517x" + bits + ">";
      expectOwnKernel("func.func @main(%x: " + x + ") -> (" + x + ", " + i + ") {\n  %c = stablehlo.constant dense<1> : " + i + "\n  %0 = stablehlo.bitcast_convert %x : (" + x +
                          ") -> " + i + "\n  %1 = stablehlo.xor %0, %c : " + i + "\n  %2 = stablehlo.bitcast_convert %1 : (" + i + ") -> " + x +
                          "\n  return %2, %0 : " + x + ", " + i + "\n}\n",
                      isTame);
    }
  }
}

} // namespace
} // namespace cupel::compiler
