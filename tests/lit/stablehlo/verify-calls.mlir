// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Custom calls and composites.

func.func @f(%a: tensor<2x3xf32>) {
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>, !stablehlo.token>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op layouts must be given for both operands and results, or for neither}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op operand_layouts must have one entry per value, but has 0 for 1}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op operand_layouts must be permutations of the dimensions, but entry #0 for 'tensor<2x3xf32>' is dense<0> : tensor<2xindex>}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[0, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op result_layouts must be permutations of the dimensions, but entry #0 for 'tensor<2x3xf32>' is dense<0> : tensor<9223372036854775807xindex>}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<0> : tensor<9223372036854775807xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op result_layouts must be empty for what is not a tensor, but entry #0 for '!stablehlo.token' has 2 dimensions}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> !stablehlo.token
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op backend_config must be a string for api_version 1, but is {a = 1 : i32}}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", backend_config = {a = 1 : i32}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op backend_config must be a dictionary for api_version 4, but is "x"}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", backend_config = "x", api_version = 4 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op result_tilings must be arrays of rank-1 tensors of index, but contain [1]}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", result_tilings = [[1 : i64]]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tuple<tensor<i32>, tensor<2x3xf32>>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op output_operand_aliases must name an operand in [0, 1), but name 1}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op output_operand_aliases must name existing values, but}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op output_operand_aliases must name existing values, but}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [-1], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tuple<tensor<i32>>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op output_operand_aliases must name values of one type, but name 'tensor<2x3xf32>' and 'tuple<>'}}
  "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "Pin"} : (tensor<2x3xf32>) -> memref<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op target Pin must turn a tensor into a memref of the same shape and element type, but got 'tensor<2x3xf32>' and 'memref<2x4xf32>'}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "Pin"} : (tensor<2x3xf32>) -> memref<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op target Unpin must turn a memref into a tensor of the same shape and element type, but got 'tensor<2x3xf32>' and 'tensor<2x3xf32>'}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "Unpin"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op target CreateBuffer takes 0 operands and has 1 result, but got 1 and 1}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "CreateBuffer"} : (tensor<2x3xf32>) -> memref<2xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'stablehlo.custom_call' op target CreateBuffer must give a memref, but gives 'tensor<2xf32>'}}
  %0 = "stablehlo.custom_call"() {call_target_name = "CreateBuffer"} : () -> tensor<2xf32>
  return
}

// -----

func.func private @impl(tensor<f32>) -> tensor<f32>
func.func @f(%a: tensor<f32>) {
  %0 = stablehlo.composite "a.b" %a {decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @impl(tensor<f32>) -> tensor<f32>
func.func @f(%a: tensor<f32>) {
  %0 = stablehlo.composite "my_lib.v1.rms$norm" %a {decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @impl(tensor<f32>) -> tensor<f32>
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.composite' op name must be identifiers separated by dots (such as "my.op"), but is "ab"}}
  %0 = stablehlo.composite "ab" %a {decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @impl(tensor<f32>) -> tensor<f32>
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.composite' op name must be identifiers separated by dots (such as "my.op"), but is "a..b"}}
  %0 = stablehlo.composite "a..b" %a {decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @impl(tensor<f32>) -> tensor<f32>
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.composite' op name must be identifiers separated by dots (such as "my.op"), but is "1.b"}}
  %0 = stablehlo.composite "1.b" %a {decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @impl(tensor<f32>) -> tensor<f32>
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.composite' op decomposition @other is not a function in scope}}
  %0 = stablehlo.composite "a.b" %a {decomposition = @other} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @impl(tensor<f32>) -> tensor<f32>
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.composite' op decomposition @impl must have the type '(tensor<f32>) -> tensor<i32>', but has '(tensor<f32>) -> tensor<f32>'}}
  %0 = stablehlo.composite "a.b" %a {decomposition = @impl} : (tensor<f32>) -> tensor<i32>
  return
}
