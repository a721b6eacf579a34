// The three ops, printed as they are read; also through generic form and bytecode.
// RUN: cupel opt %s | FileCheck %s
// RUN: cupel opt %s --emit=generic | cupel opt - | FileCheck %s
// RUN: cupel opt %s --emit=bytecode | cupel opt - | FileCheck %s

// CHECK-LABEL: func @main
func.func @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
  // CHECK: %[[PROBED:.*]] = interpreter.probe %arg0, probe_id = "p" : tensor<2xi32>
  %0 = interpreter.probe %arg0, probe_id = "p" : tensor<2xi32>
  // CHECK: interpreter.print %[[PROBED]] : tensor<2xi32>
  interpreter.print %0 : tensor<2xi32>
  // CHECK: %[[GRID:.*]]:2 = "interpreter.run_parallel"(%arg0, %arg0) <{programs = {{\[\[}}@twice], [@twice]]}> : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  %1:2 = "interpreter.run_parallel"(%arg0, %arg0) {programs = [[@twice], [@twice]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  // CHECK: "interpreter.run_parallel"(%arg0) <{infeed = [@queue0, @queue1], programs = {{\[\[}}@twice, @nothing]]}> : (tensor<2xi32>) -> tensor<2xi32>
  %2 = "interpreter.run_parallel"(%arg0) {infeed = [@queue0, @queue1], programs = [[@twice, @nothing]]} : (tensor<2xi32>) -> tensor<2xi32>
  return %1#0 : tensor<2xi32>
}
func.func private @twice(%arg0: tensor<2xi32>) -> tensor<2xi32>
func.func private @nothing()
func.func private @queue0() -> tensor<2xi32>
func.func private @queue1() -> tensor<3xf32>
