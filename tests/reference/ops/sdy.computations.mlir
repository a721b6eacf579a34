// Values: by hand. A manual computation over a mesh of one device, and a named one, are their bodies.

module {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %y = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
      %b = stablehlo.add %a, %a : tensor<2xf32>
      sdy.return %b : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    check.expect_eq_const %y, dense<[2.0, 4.0]> : tensor<2xf32>
    %z = sdy.named_computation<"negated">(%y) (%a: tensor<2xf32>) {
      %b = stablehlo.negate %a : tensor<2xf32>
      sdy.return %b : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    check.expect_eq_const %z, dense<[-2.0, -4.0]> : tensor<2xf32>
    func.return
  }
}

// -----

// Each of four devices has its quarter: the row axis is split over x, columns over y. A sum over x leaves every column's total.
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main() {
    %x = stablehlo.constant dense<[[1, 2, 3, 4], [50, 60, 70, 80]]> : tensor<2x4xi32>
    %y:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}]>] manual_axes={"x", "y"} (%a: tensor<1x2xi32>) {
      %id = stablehlo.partition_id : tensor<ui32>
      %n = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
      %k = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<1x2xi32>
      %scaled = stablehlo.multiply %a, %k : tensor<1x2xi32>
      %row = stablehlo.reshape %a : (tensor<1x2xi32>) -> tensor<2xi32>
      %sum = "stablehlo.all_reduce"(%row) ({
        ^bb0(%p: tensor<i32>, %q: tensor<i32>):
          %s = stablehlo.add %p, %q : tensor<i32>
          stablehlo.return %s : tensor<i32>
      }) {replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<2xi32>) -> tensor<2xi32>
      sdy.return %scaled, %sum : tensor<1x2xi32>, tensor<2xi32>
    } : (tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<4xi32>)
    check.expect_eq_const %y#0, dense<[[0, 0, 3, 4], [100, 120, 210, 240]]> : tensor<2x4xi32>
    check.expect_eq_const %y#1, dense<[51, 62, 73, 84]> : tensor<4xi32>
    func.return
  }
}

// -----

// The order of the devices: the first quarter lies on device 3. The dimension is split over y first, then x.
module {
  sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[3, 1, 0, 2]>
  func.func @main() {
    %x = stablehlo.constant dense<[10, 20, 30, 40]> : tensor<4xi32>
    %y = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"y", "x"}]>] out_shardings=[<@mesh, [{"y", "x"}]>] manual_axes={"x", "y"} (%a: tensor<1xi32>) {
      %id = stablehlo.partition_id : tensor<ui32>
      %n = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
      %k = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %b = stablehlo.add %a, %k : tensor<1xi32>
      sdy.return %b : tensor<1xi32>
    } : (tensor<4xi32>) -> tensor<4xi32>
    check.expect_eq_const %y, dense<[13, 20, 31, 42]> : tensor<4xi32>
    func.return
  }
}

// -----

// Parts of an axis: eight devices along one axis, of which a dimension is split over the middle factor of 2 * 2 * 2.
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func @main() {
    %x = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
    %y:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x":(2)2}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x":(2)2}]>] manual_axes={"x"} (%a: tensor<1xi32>) {
      sdy.return %a, %a : tensor<1xi32>, tensor<1xi32>
    } : (tensor<2xi32>) -> (tensor<8xi32>, tensor<2xi32>)
    check.expect_eq_const %y#0, dense<[10, 10, 20, 20, 10, 10, 20, 20]> : tensor<8xi32>
    check.expect_eq_const %y#1, dense<[10, 20]> : tensor<2xi32>
    func.return
  }
}

// -----

// One within another, as JAX nests shard_map: along y the inner one gathers, along x nothing is free any more.
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main() {
    %x = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi32>
    %y = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%a: tensor<1x4xi32>) {
      %b = stablehlo.add %a, %a : tensor<1x4xi32>
      %c = sdy.manual_computation(%b) in_shardings=[<@mesh, [{?}, {"y", ?}]>] out_shardings=[<@mesh, [{?}, {"y", ?}]>] manual_axes={"y"} (%d: tensor<1x2xi32>) {
        %e = "stablehlo.collective_permute"(%d) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]> : tensor<4x2xi64>} : (tensor<1x2xi32>) -> tensor<1x2xi32>
        sdy.return %e : tensor<1x2xi32>
      } : (tensor<1x4xi32>) -> tensor<1x4xi32>
      sdy.return %c : tensor<1x4xi32>
    } : (tensor<2x4xi32>) -> tensor<2x4xi32>
    check.expect_eq_const %y, dense<[[6, 8, 2, 4], [14, 16, 10, 12]]> : tensor<2x4xi32>
    func.return
  }
}
