// Products of f16 and of several types are f32, rounded once behind the sum; weights are converted where the program is compiled.
// RUN: cupel opt %s --split-input-file --widen-products | FileCheck %s
// RUN: cupel opt %s --split-input-file --widen-products --opt-bisect-limit=0 | FileCheck %s --check-prefix=OFF

// OFF-NOT: stablehlo.convert

// CHECK-LABEL: func.func @halves
// CHECK: %[[A:.*]] = stablehlo.convert %arg0 : (tensor<3x5xf16>) -> tensor<3x5xf32>
// CHECK: %[[B:.*]] = stablehlo.convert %arg1 : (tensor<5x2xf16>) -> tensor<5x2xf32>
// CHECK: %[[C:.*]] = stablehlo.dot_general %[[A]], %[[B]], contracting_dims = [1] x [0], precision = [HIGH, HIGH] : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
// CHECK: %[[D:.*]] = stablehlo.convert %[[C]] : (tensor<3x2xf32>) -> tensor<3x2xf16>
// CHECK: stablehlo.add %[[D]], %[[D]]
func.func @halves(%a: tensor<3x5xf16>, %b: tensor<5x2xf16>) -> tensor<3x2xf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGH, HIGH] : (tensor<3x5xf16>, tensor<5x2xf16>) -> tensor<3x2xf16>
  %1 = stablehlo.add %0, %0 : tensor<3x2xf16>
  return %1 : tensor<3x2xf16>
}

// -----
// CHECK-LABEL: func.func @wide_sums
// CHECK: stablehlo.dot_general {{.*}} (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: return
func.func @wide_sums(%a: tensor<3x5xf16>, %b: tensor<5x2xf16>) -> tensor<3x2xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x5xf16>, tensor<5x2xf16>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----
// CHECK-LABEL: func.func @several
// CHECK: stablehlo.convert %arg1 : (tensor<5x2xbf16>) -> tensor<5x2xf32>
// CHECK: stablehlo.dot_general %arg0, {{.*}} (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
func.func @several(%a: tensor<3x5xf32>, %b: tensor<5x2xbf16>) -> tensor<3x2xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x5xf32>, tensor<5x2xbf16>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----
// There are kernels for these, f64 keeps its sums, and who names an algorithm says what they are.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: stablehlo.convert
func.func @stay(%a: tensor<3x5xbf16>, %b: tensor<5x2xbf16>, %c: tensor<5x2xf64>, %d: tensor<5x2xf16>) -> (tensor<3x2xbf16>, tensor<3x2xf32>, tensor<2x2xf64>, tensor<2x2xf16>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x5xbf16>, tensor<5x2xbf16>) -> tensor<3x2xbf16>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x5xbf16>, tensor<5x2xbf16>) -> tensor<3x2xf32>
  %2 = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (tensor<5x2xf64>, tensor<5x2xf64>) -> tensor<2x2xf64>
  %3 = stablehlo.dot_general %d, %d, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<5x2xf16>, tensor<5x2xf16>) -> tensor<2x2xf16>
  return %0, %1, %2, %3 : tensor<3x2xbf16>, tensor<3x2xf32>, tensor<2x2xf64>, tensor<2x2xf16>
}
