// What the verifiers of manual and named computations refuse.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{operand 0: manual axis "a" comes after free axis "b" in dimension 0, but manual axes must come first}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"b", "a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{operand 0: with sharding #sdy.sharding<@mesh, [{"a"}]>, 'tensor<16xf32>' must be 'tensor<8xf32>' in the region, but is 'tensor<16xf32>'}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"a"} (%arg1: tensor<16xf32>) {
    sdy.return %arg1 : tensor<16xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<15xf32>) {
  // expected-error @+1 {{operand 0: dimension 0 of size 15 is not divisible by its manual axes {"a"}}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"a"} (%arg1: tensor<7xf32>) {
    sdy.return %arg1 : tensor<7xf32>
  } : (tensor<15xf32>) -> tensor<15xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{has 1 operands, but its region has 0}}
  sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[] manual_axes={"a"} () {
    sdy.return
  } : (tensor<16xf32>) -> ()
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{has 1 operands, but 0 shardings for them}}
  sdy.manual_computation(%arg0) in_shardings=[] out_shardings=[] manual_axes={"a"} (%arg1: tensor<8xf32>) {
    sdy.return
  } : (tensor<16xf32>) -> ()
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{manual axis "a" is given twice}}
  sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[] manual_axes={"a", "a"} (%arg1: tensor<8xf32>) {
    sdy.return
  } : (tensor<16xf32>) -> ()
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{operand 0: manual axis "z" is not one of its mesh #sdy.mesh<["a"=2, "b"=4]>}}
  sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}]>] out_shardings=[] manual_axes={"z"} (%arg1: tensor<16xf32>) {
    sdy.return
  } : (tensor<16xf32>) -> ()
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
sdy.mesh @other = <["a"=2, "c"=4]>
func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{uses two meshes}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@other, [{"a"}]>] manual_axes={"a"} (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16xf32>) {
  // expected-note @+1 {{made manual by this op}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%arg1: tensor<8xf32>) {
    // expected-error @+1 {{axis "a" is already manual here}}
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"a"}]> : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{operand 0 is 'tensor<16xf32>', but in the region it is 'tensor<8xf32>'}}
  %0 = sdy.named_computation<"n">(%arg0) (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<16xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<16xf32>) {
  // expected-error @+1 {{has 0 results, but its region has 1}}
  sdy.named_computation<"n">(%arg0) (%arg1: tensor<16xf32>) {
    sdy.return %arg1 : tensor<16xf32>
  } : (tensor<16xf32>) -> ()
  return
}
