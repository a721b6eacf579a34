// What the verifiers refuse.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

func.func @main() {
  // expected-error @+1 {{needs at least one program in `programs`}}
  "interpreter.run_parallel"() {programs = []} : () -> ()
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{row 1 of `programs` has 2 programs, but row 0 has 1}}
  "interpreter.run_parallel"() {programs = [[@f], [@f, @f]]} : () -> ()
  return
}
func.func private @f()

// -----

func.func @main() {
  // expected-error @+1 {{there is no function @g in the module}}
  "interpreter.run_parallel"() {programs = [[@g]]} : () -> ()
  return
}

// -----

func.func @main(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{has 1 inputs, but its programs together have 2}}
  "interpreter.run_parallel"(%arg0) {programs = [[@f], [@f]]} : (tensor<2xi32>) -> ()
  return
}
func.func private @f(tensor<2xi32>)

// -----

func.func @main(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{input 0 is 'tensor<2xi32>', but its program has 'tensor<3xi32>'}}
  "interpreter.run_parallel"(%arg0) {programs = [[@f]]} : (tensor<2xi32>) -> ()
  return
}
func.func private @f(tensor<3xi32>)

// -----

func.func @main() {
  // expected-error @+1 {{infeed function @q must take nothing and return one tensor, but is of type '() -> ()'}}
  "interpreter.run_parallel"() {programs = [[@q]], infeed = [@q]} : () -> ()
  return
}
func.func private @q()
