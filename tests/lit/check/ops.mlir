// The six ops, printed as they are read; also through generic form and bytecode.
// RUN: cupel opt %s | FileCheck %s
// RUN: cupel opt %s --emit=generic | cupel opt - | FileCheck %s
// RUN: cupel opt %s --emit=bytecode | cupel opt - | FileCheck %s
// RUN: cupel opt %s --emit=generic | FileCheck %s --check-prefix=GENERIC

func.func @ops(%ints: tensor<2xi32>, %double: tensor<f64>, %complex: tensor<2xcomplex<f32>>,
               %half: tensor<f16>, %quantized: tensor<2x!quant.uniform<i8:f32, 1.0:3>>) {
  // CHECK: check.expect_eq %arg0, %arg0 : tensor<2xi32>
  check.expect_eq %ints, %ints : tensor<2xi32>
  // CHECK-NEXT: check.expect_eq %arg4, %arg4 : tensor<2x!quant.uniform<i8:f32, 1.000000e+00:3>>
  check.expect_eq %quantized, %quantized : tensor<2x!quant.uniform<i8:f32, 1.0:3>>

  // CHECK-NEXT: check.expect_eq_const %arg0, dense<[1, 2]> : tensor<2xi32>
  // GENERIC: "check.expect_eq_const"({{.*}}) <{value = dense<[1, 2]> : tensor<2xi32>}> : (tensor<2xi32>) -> ()
  check.expect_eq_const %ints, dense<[1, 2]> : tensor<2xi32>

  // The tolerance is printed only if it was given.
  // CHECK-NEXT: check.expect_almost_eq %arg1, %arg1 : tensor<f64>
  check.expect_almost_eq %double, %double : tensor<f64>
  // CHECK-NEXT: check.expect_almost_eq %arg1, %arg1, tolerance = 1.000000e-01 : tensor<f64>
  check.expect_almost_eq %double, %double, tolerance = 0.1 : tensor<f64>

  // CHECK-NEXT: check.expect_almost_eq_const %arg1, dense<5.100000e+00> : tensor<f64>{{$}}
  // GENERIC: "check.expect_almost_eq_const"({{.*}}) <{value = dense<5.100000e+00> : tensor<f64>}> : (tensor<f64>) -> ()
  check.expect_almost_eq_const %double, dense<5.1> : tensor<f64>
  // Both spellings of the tolerance are read.
  // CHECK-NEXT: check.expect_almost_eq_const %arg1, dense<5.100000e+00> : tensor<f64>, tolerance = 1.000000e-01
  // GENERIC: "check.expect_almost_eq_const"({{.*}}) <{tolerance = 1.000000e-01 : f64, value = dense<5.100000e+00> : tensor<f64>}>
  check.expect_almost_eq_const %double, dense<5.1> : tensor<f64>, tolerance = 0.1
  // CHECK-NEXT: check.expect_almost_eq_const %arg1, dense<5.100000e+00> : tensor<f64>, tolerance = 1.000000e-01
  check.expect_almost_eq_const %double, dense<5.1> : tensor<f64> {tolerance = 0.1 : f64}
  // CHECK-NEXT: check.expect_almost_eq_const %arg2, dense<(1.000000e+00,2.000000e+00)> : tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %complex, dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>

  // CHECK-NEXT: check.expect_close %arg3, %arg3, max_ulp_difference = 3 : tensor<f16>, tensor<f16>
  // GENERIC: "check.expect_close"({{.*}}) <{max_ulp_difference = 3 : ui64}>
  check.expect_close %half, %half, max_ulp_difference = 3 : tensor<f16>, tensor<f16>
  // CHECK-NEXT: check.expect_close %arg3, %arg3, max_ulp_difference = 3, min_ulp_difference = 2 : tensor<f16>, tensor<f16>
  check.expect_close %half, %half, max_ulp_difference = 3, min_ulp_difference = 2 : tensor<f16>, tensor<f16>
  // CHECK-NEXT: check.expect_close %arg3, %arg3, max_ulp_difference = 1 : tensor<f16>, tensor<f16>
  "check.expect_close"(%half, %half) : (tensor<f16>, tensor<f16>) -> ()

  // CHECK-NEXT: check.expect_serialized_eq %arg0, probe_id = "probe0" : tensor<2xi32>
  check.expect_serialized_eq %ints, probe_id = "probe0" : tensor<2xi32>
  // CHECK-NEXT: check.expect_serialized_eq %arg0, probe_id = "probe0", iter = 1 : tensor<2xi32>
  check.expect_serialized_eq %ints, probe_id = "probe0", iter = 1 : tensor<2xi32>
  return
}
