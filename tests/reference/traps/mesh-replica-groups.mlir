// Trap: groups given by mesh axes: devices are numbered row-major over the axes, a group varies the named axes, the others enumerate the groups.
// On a mesh x=2, y=2 the groups along x are (0, 2) and (1, 3).

func.func @main() {
  %a = stablehlo.constant dense<[1]> : tensor<1xi32>
  %b = stablehlo.constant dense<[2]> : tensor<1xi32>
  %c = stablehlo.constant dense<[3]> : tensor<1xi32>
  %d = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%a, %b, %c, %d) {programs = [[@each], [@each], [@each], [@each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[1, 3]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[2, 4]> : tensor<2xi32>
  check.expect_eq_const %y#2, dense<[1, 3]> : tensor<2xi32>
  check.expect_eq_const %y#3, dense<[2, 4]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<2xi32> {
  %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 2>]>, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<1xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}
