// The operands of checks become results of the entry function, and a module attribute says what was
// to be compared.
// RUN: cupel opt %s --extract-checks --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: module attributes {cupel.checks = [
// CHECK-SAME: {actual = 1 : i64, expected = 2 : i64, kind = "equal"}
// CHECK-SAME: {actual = 0 : i64, kind = "equal", value = dense<[3, 4]> : tensor<2xi32>}
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %arg0, %arg1
// CHECK-NEXT: return %[[SUM]], %arg0, %arg1
func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.add %a, %b : tensor<2xi32>
  check.expect_eq %a, %b : tensor<2xi32>
  check.expect_eq_const %0, dense<[3, 4]> : tensor<2xi32>
  return %0 : tensor<2xi32>
}

// -----

// The only function that nobody calls is the entry, and is called main afterwards.
// CHECK: {actual = 0 : i64, kind = "almost_equal", tolerance = 1.000000e-01 : f64, value = dense<1.000000e+00> : tensor<f32>}
// CHECK-SAME: {actual = 0 : i64, kind = "close", max_ulps = 3 : i64, min_ulps = 0 : i64, value = dense<2.000000e+00> : tensor<f32>}
// CHECK-LABEL: func.func @main
// CHECK-SAME: () -> tensor<f32>
// CHECK-NOT: check.
func.func @abs_test() {
  %a = stablehlo.constant dense<-1.0> : tensor<f32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.abs %a : tensor<f32>
  check.expect_almost_eq_const %0, dense<1.0> : tensor<f32>, tolerance = 0.1
  check.expect_close %0, %b, max_ulp_difference = 3 : tensor<f32>, tensor<f32>
  return
}

// -----

// Checks of a function that is called twice are made twice; probes and prints go away.
// CHECK: {actual = 1 : i64, kind = "equal", value = dense<2> : tensor<i32>}
// CHECK-SAME: {actual = 2 : i64, kind = "equal", value = dense<2> : tensor<i32>}
// CHECK-SAME: {actual = 3 : i64, expected = 3 : i64, kind = "equal"}
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]]:2 = call @double(%arg0) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)
// CHECK: %[[B:.*]]:2 = call @double(%[[A]]#0)
// CHECK: return %[[B]]#0, %[[A]]#1, %[[B]]#1, %[[A]]#0
// CHECK-LABEL: func.func private @double
// CHECK-NOT: interpreter.probe
// CHECK: return %[[R:.*]], %arg0
func.func @main(%a: tensor<i32>) -> tensor<i32> {
  %0 = func.call @double(%a) : (tensor<i32>) -> tensor<i32>
  %1 = func.call @double(%0) : (tensor<i32>) -> tensor<i32>
  %2 = interpreter.probe %0, probe_id = "x" : tensor<i32>
  check.expect_eq %2, %2 : tensor<i32>
  return %1 : tensor<i32>
}
func.func private @double(%a: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.add %a, %a : tensor<i32>
  check.expect_eq_const %a, dense<2> : tensor<i32>
  return %0 : tensor<i32>
}

// -----

func.func @main(%a: tensor<i1>) {
  "stablehlo.if"(%a) ({
    // expected-error @below {{stands inside a region, so it cannot be taken out of the program}}
    check.expect_eq %a, %a : tensor<i1>
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}

// -----

func.func @main(%a: tensor<i1>) {
  // expected-error @below {{only an interpreter can run it}}
  check.expect_serialized_eq %a, probe_id = "p" : tensor<i1>
  return
}

// -----

func.func @first() { return }
// expected-error @below {{both @first and @second are called by nobody}}
func.func @second() { return }

// -----

// expected-error @below {{calls itself}}
func.func @main() {
  func.call @main() : () -> ()
  return
}

// -----

// expected-error @below {{has no body}}
func.func private @main()

// -----

// The form that JAX's export writes; a constant that a function returns is taken from there.
// CHECK: {actual = 0 : i64, kind = "close", max_ulps = 3 : i64, min_ulps = 0 : i64, value = dense<1.000000e+00> : tensor<f32>}
// CHECK-SAME: {actual = 0 : i64, expected = 1 : i64, kind = "almost_equal", tolerance = 1.000000e-03 : f64}
// CHECK-SAME: {actual = 0 : i64, expected = 0 : i64, kind = "equal"}
// CHECK-LABEL: func.func @main
// CHECK-NOT: custom_call
// CHECK: return %{{.*}}, %arg0
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = func.call @expected() : () -> tensor<f32>
  %1 = stablehlo.abs %a : tensor<f32>
  stablehlo.custom_call @check.expect_close(%1, %0) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%1, %a) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
  stablehlo.custom_call @check.expect_eq(%1, %1) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
  return %1 : tensor<f32>
}
func.func private @expected() -> tensor<f32> {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK: {actual = 1 : i64, expected = 2 : i64, kind = "almost_equal", tolerance = 1.000000e-04 : f64}
// CHECK-LABEL: func.func @main
// CHECK: %[[TRUE:.*]] = stablehlo.constant dense<true>
// CHECK: return %[[TRUE]], %arg1, %arg0
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
  %0 = stablehlo.custom_call @check.eq(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}

// -----

// A grid of programs becomes what each of its processes runs; checks say of which they speak.
// CHECK: cupel.checks = [
// CHECK-SAME: {actual = 0 : i64, kind = "equal", process = 0 : i64, value = dense<0> : tensor<ui32>}
// CHECK-SAME: {actual = 0 : i64, kind = "equal", process = 1 : i64, value = dense<1> : tensor<ui32>}
// CHECK-SAME: cupel.inputs = [
// CHECK-SAME: [dense<1> : tensor<i32>], [dense<2> : tensor<i32>]
// CHECK-SAME: mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32
// CHECK: func.func @main(%{{.*}}: tensor<i32>) -> tensor<ui32>
// CHECK-NEXT: stablehlo.partition_id
// CHECK-NOT: run_parallel
func.func private @which(%x: tensor<i32>) -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}
func.func @main() {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2> : tensor<i32>
  %0:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@which, @which]]} : (tensor<i32>, tensor<i32>) -> (tensor<ui32>, tensor<ui32>)
  check.expect_eq_const %0#0, dense<0> : tensor<ui32>
  check.expect_eq_const %0#1, dense<1> : tensor<ui32>
  return
}

// -----

// Different programs: an argument says which one the device runs.
// CHECK: {actual = 0 : i64, kind = "equal", process = 0 : i64, value = dense<3> : tensor<i32>}
// CHECK-SAME: {actual = 1 : i64, kind = "equal", process = 1 : i64, value = dense<4.000000e+00> : tensor<f32>}
// CHECK-SAME: [dense<0> : tensor<i32>, dense<3> : tensor<i32>, dense<0.000000e+00> : tensor<f32>]
// CHECK-SAME: [dense<1> : tensor<i32>, dense<0> : tensor<i32>, dense<4.000000e+00> : tensor<f32>]
// CHECK: func.func @main(%[[WHICH:.*]]: tensor<i32>, %[[A:.*]]: tensor<i32>, %[[B:.*]]: tensor<f32>) -> (tensor<i32>, tensor<f32>)
// CHECK: stablehlo.case"(%[[WHICH]])
// CHECK: call @one(%[[A]])
// CHECK: call @two(%[[B]])
func.func private @one(%x: tensor<i32>) -> tensor<i32> {
  return %x : tensor<i32>
}
func.func private @two(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @main() {
  %a = stablehlo.constant dense<3> : tensor<i32>
  %b = stablehlo.constant dense<4.0> : tensor<f32>
  %0:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@one], [@two]]} : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
  check.expect_eq_const %0#0, dense<3> : tensor<i32>
  check.expect_eq_const %0#1, dense<4.0> : tensor<f32>
  return
}

// -----

func.func private @one(%x: tensor<i32>) -> tensor<i32> {
  return %x : tensor<i32>
}
func.func @main() {
  %a = stablehlo.constant dense<3> : tensor<i32>
  %0 = "interpreter.run_parallel"(%a) {programs = [[@one]]} : (tensor<i32>) -> tensor<i32>
  // expected-error@+1 {{is the second one of the program, so only an interpreter can run it}}
  %1 = "interpreter.run_parallel"(%0) {programs = [[@one]]} : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %1, dense<3> : tensor<i32>
  return
}

// -----

func.func private @one(%x: tensor<i32>) -> tensor<i32> {
  return %x : tensor<i32>
}
func.func @main() {
  %a = stablehlo.constant dense<3> : tensor<i32>
  // expected-error@+1 {{has results that the program goes on computing with}}
  %0 = "interpreter.run_parallel"(%a) {programs = [[@one]]} : (tensor<i32>) -> tensor<i32>
  %1 = stablehlo.add %0, %0 : tensor<i32>
  check.expect_eq_const %1, dense<6> : tensor<i32>
  return
}
