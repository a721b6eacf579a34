// Nothing is kept whole.
// CHECK-NOT: stablehlo.composite
// CHECK: stablehlo.rsqrt
// CHECK-NOT: stablehlo.composite
