// Sizes that the type of an argument leaves open are asked for.
// RUN: not cupel eval %s --args random 2>&1 | FileCheck %s --check-prefix=ASKS
// RUN: not cupel eval %s --args random:2x4 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: cupel eval %s --args zeros:2x3 --print | FileCheck %s --check-prefix=WHOLE
// RUN: cupel eval %s --args 'random:?=4' --save %t && cupel eval %s --args %t/result0.npy --print | FileCheck %s --check-prefix=EACH

// ASKS: argument 0: a tensor<?x3xf32> has sizes that are known at run time only; say them, as in random:2x3 (the whole shape) or random:?=2 (each of them)
// WRONG: argument 0: '2x4' is no shape of a tensor<?x3xf32>
// WHOLE: tensor<2x3xf32>
// EACH: tensor<4x3xf32>
func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = stablehlo.add %x, %x : tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
