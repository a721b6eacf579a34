// What a version cannot express is named, with the version since which it exists.
// RUN: cupel opt %s --split-input-file --verify-diagnostics --emit=vhlo --target-version=0.15.0 -o %t
// RUN: cupel opt %s --split-input-file --emit=vhlo --target-version=1.20.0 -o %t

// expected-error @+1 {{failed to convert VHLO to v0.15.0}}
module {
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+2 {{failed to legalize operation 'vhlo.tan_v2'}}
  // expected-note @+1 {{operation 'tan' exists since version 1.4.0, the target is 0.15.0}}
  %0 = stablehlo.tan %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

// expected-error @+1 {{failed to convert VHLO to v0.15.0}}
module {
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+2 {{failed to legalize operation 'vhlo.exponential_v2'}}
  // expected-note-re @+1 {{result_accuracy}}
  %0 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
