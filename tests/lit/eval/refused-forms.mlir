// What has no meaning is refused with the reason.
// RUN: not cupel eval %s --args zeros 2>&1 | FileCheck %s

// CHECK: refused-forms.mlir:[[#@LINE+2]]:8: stablehlo.unary_einsum: einsum "i->ii" has no meaning: the result has the letter i twice
func.func @main(%a: tensor<2xf32>) -> tensor<2x2xf32> {
  %y = stablehlo.unary_einsum %a, config = "i->ii" : (tensor<2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// CHECK: refused-forms.mlir:[[#@LINE+2]]:8: stablehlo.unary_einsum: einsum "...i->..." has no meaning: dimensions are named by letters, not by '.'
func.func @main(%a: tensor<2x3xf32>) -> tensor<2xf32> {
  %y = stablehlo.unary_einsum %a, config = "...i->..." : (tensor<2x3xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// CHECK: refused-forms.mlir:[[#@LINE+2]]:8: stablehlo.einsum: einsum "ab,bc->ad" has no meaning: no operand has the letter d of the result
func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %y = stablehlo.einsum %a, %a, config = "ab,bc->ad" : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// CHECK: refused-forms.mlir:[[#@LINE+2]]:8: stablehlo.unary_einsum: dimensions of sizes 2 and 3 have the same letter i
func.func @main(%a: tensor<2x3xf32>) -> tensor<2xf32> {
  %y = stablehlo.unary_einsum %a, config = "ii->i" : (tensor<2x3xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// CHECK: refused-forms.mlir:[[#@LINE+2]]:8: stablehlo.reduce: a region that combines tensors is not evaluated: StableHLO says what it means for scalars only
func.func @main(%a: tensor<7x5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %y = stablehlo.reduce(%a init: %b) across dimensions = [0] : (tensor<7x5xf32>, tensor<5xf32>) -> tensor<5xf32>
   reducer(%c: tensor<5xf32>, %d: tensor<5xf32>) {
    %s = stablehlo.add %c, %d : tensor<5xf32>
    stablehlo.return %s : tensor<5xf32>
  }
  return %y : tensor<5xf32>
}

// -----

module {
  func.func private @mesh()
  func.func @main(%x: tensor<1xi32>) -> tensor<1xi32> {
    // CHECK: refused-forms.mlir:[[#@LINE+1]]:10: stablehlo.all_gather: @mesh is no mesh: neither an sdy.mesh nor an operation with the attribute stablehlo.mesh
    %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<1xi32>) -> tensor<1xi32>
    return %y : tensor<1xi32>
  }
}

// CHECK: 0 passed, 6 failed
