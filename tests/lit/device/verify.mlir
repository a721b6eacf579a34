// Plans that write over what is still needed are refused; a program reads what it prints.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

dev.program @main arena 64 {
  %a = dev.argument 0 : !dev.buffer<tensor<4xf32>>
  %p = dev.place 0 : !dev.buffer<tensor<4xf32>>
  // expected-error @below {{overlaps memory that is still needed}}
  %q = dev.place 0 : !dev.buffer<tensor<4xf32>>
  %r = dev.result 0 : !dev.buffer<tensor<4xf32>>
  dev.launch(%a) to(%p) : (!dev.buffer<tensor<4xf32>>) to(!dev.buffer<tensor<4xf32>>) {
  ^bb0(%x: tensor<4xf32>):
    dev.yield %x : tensor<4xf32>
  }
  dev.launch(%a) to(%q) : (!dev.buffer<tensor<4xf32>>) to(!dev.buffer<tensor<4xf32>>) {
  ^bb0(%x: tensor<4xf32>):
    dev.yield %x : tensor<4xf32>
  }
  dev.launch(%p, %q) to(%r) : (!dev.buffer<tensor<4xf32>>, !dev.buffer<tensor<4xf32>>) to(!dev.buffer<tensor<4xf32>>) {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    %s = stablehlo.add %x, %y : tensor<4xf32>
    dev.yield %s : tensor<4xf32>
  }
}

// -----

dev.program @main arena 0 {
  %a = dev.argument 0 : !dev.buffer<tensor<4xf32>>
  // expected-error @below {{writes to memory that is only read}}
  dev.launch(%a) to(%a) : (!dev.buffer<tensor<4xf32>>) to(!dev.buffer<tensor<4xf32>>) {
  ^bb0(%x: tensor<4xf32>):
    dev.yield %x : tensor<4xf32>
  }
}

// -----

dev.program @main arena 64 {
  // expected-error @below {{does not lie in the arena}}
  %p = dev.place 64 : !dev.buffer<tensor<4xf32>>
}

// -----

// expected-error @below {{writes result 0 over an argument that is needed}}
dev.program @main arena 0 attributes {in_place = array<i64: 0>} {
  %a = dev.argument 0 : !dev.buffer<tensor<4xf32>>
  %r = dev.result 0 : !dev.buffer<tensor<4xf32>>
  %s = dev.result 1 : !dev.buffer<tensor<4xf32>>
  dev.launch(%a) to(%r) : (!dev.buffer<tensor<4xf32>>) to(!dev.buffer<tensor<4xf32>>) {
  ^bb0(%x: tensor<4xf32>):
    dev.yield %x : tensor<4xf32>
  }
  dev.launch(%a) to(%s) : (!dev.buffer<tensor<4xf32>>) to(!dev.buffer<tensor<4xf32>>) {
  ^bb0(%x: tensor<4xf32>):
    dev.yield %x : tensor<4xf32>
  }
}
