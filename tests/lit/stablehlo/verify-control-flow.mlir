// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Tuples, barriers, branches and loops.

func.func @f(%t: tuple<tensor<i32>>) {
  // expected-error@+2 {{'stablehlo.get_tuple_element' op index must be in [0, 1), but is 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<i32>>) -> tensor<i32>
  return
}

// -----

func.func @f(%t: tuple<tensor<i32>, tensor<f32>>) {
  // expected-error@+2 {{'stablehlo.get_tuple_element' op inferred type(s) 'tensor<f32>' are incompatible with return type(s) of operation 'tensor<i32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<i32>, tensor<f32>>) -> tensor<i32>
  return
}

// -----

func.func @f(%t: tensor<i32>) {
  // expected-error@+2 {{'stablehlo.tuple' op inferred type(s) 'tuple<tensor<i32>>' are incompatible with return type(s) of operation 'tuple<tensor<i32>, tensor<i32>>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.tuple"(%t) : (tensor<i32>) -> tuple<tensor<i32>, tensor<i32>>
  return
}

// -----

func.func @f(%t: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.optimization_barrier' op requires the type of result #0 to match its operand, but got 'tensor<i64>' for operand type 'tensor<i32>'}}
  %0 = "stablehlo.optimization_barrier"(%t) : (tensor<i32>) -> tensor<i64>
  return
}

// -----

func.func @f(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<?xf32>, %c: tensor<3xf32>) {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %b : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<?xf32>, %c: tensor<3xf32>) {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %b : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<?xf32>, %c: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.if' op regions 'true_branch' and 'false_branch' must return compatible types, but return ('tensor<2xf32>') and ('tensor<3xf32>')}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %c : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<?xf32>, %c: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.if' op regions 'true_branch' and 'false_branch' must return compatible types, but return ('tensor<2xf32>') and ()}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<?xf32>, %c: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.if' op inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %a : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%p: tensor<1xi1>, %a: tensor<2xf32>, %b: tensor<?xf32>, %c: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.if' op pred must be tensor<i1>, but is 'tensor<1xi1>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %a : tensor<2xf32>
  }) : (tensor<1xi1>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<?xf32>, %c: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.if' op region 'true_branch' must take no arguments, but takes 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %a : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%i: tensor<i32>) {
  // expected-error@+2 {{'stablehlo.case' op expects at least one branch}}
  // expected-error@+1 {{failed to infer returned types}}
  "stablehlo.case"(%i) : (tensor<i32>) -> ()
  return
}

// -----

func.func @f(%i: tensor<1xi32>) {
  // expected-error@+2 {{'stablehlo.case' op index must be tensor<i32>, but is 'tensor<1xi32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  "stablehlo.case"(%i) ({
    stablehlo.return
  }) : (tensor<1xi32>) -> ()
  return
}

// -----

func.func @f(%i: tensor<i32>, %a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.case' op regions 'branch #0' and 'branch #1' must return compatible types, but return ('tensor<2xf32>') and ('tensor<i32>')}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %i : tensor<i32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<i32>, %b: tensor<?xf32>) {
  %0:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<?xf32>
  }) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>)
  return
}

// -----

func.func @f(%a: tensor<i32>, %b: tensor<?xf32>) {
  // expected-error@+1 {{'stablehlo.while' op region 'cond' must take the types of the operands, ('tensor<i32>', 'tensor<?xf32>'), but takes ('tensor<i32>')}}
  %0:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<?xf32>
  }) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>)
  return
}

// -----

func.func @f(%a: tensor<i32>, %b: tensor<?xf32>) {
  // expected-error@+1 {{'stablehlo.while' op region 'body' must take the types of the operands, ('tensor<i32>', 'tensor<?xf32>'), but takes ('tensor<i32>', 'tensor<?xf64>')}}
  %0:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<?xf64>):
    stablehlo.return %x, %y : tensor<i32>, tensor<?xf64>
  }) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>)
  return
}

// -----

func.func @f(%a: tensor<i32>, %b: tensor<?xf32>) {
  // expected-error@+1 {{'stablehlo.while' op region 'cond' must return one tensor<i1>, but returns ('tensor<i32>')}}
  %0:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    stablehlo.return %x : tensor<i32>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<?xf32>
  }) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>)
  return
}

// -----

func.func @f(%a: tensor<i32>, %b: tensor<?xf32>) {
  // expected-error@+1 {{'stablehlo.while' op region 'cond' must return one tensor<i1>, but returns ()}}
  %0:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    stablehlo.return
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<?xf32>
  }) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>)
  return
}

// -----

func.func @f(%a: tensor<i32>, %b: tensor<?xf32>) {
  // expected-error@+1 {{'stablehlo.while' op region 'body' must return the types of the operands, ('tensor<i32>', 'tensor<?xf32>'), but returns ('tensor<i32>')}}
  %0:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>)
  return
}

// -----

func.func @f(%a: tensor<i32>, %b: tensor<?xf32>) {
  // expected-error@+1 {{'stablehlo.while' op region 'body' must be one block that ends with 'stablehlo.return'}}
  %0:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<?xf32>):
    func.return
  }) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>)
  return
}
