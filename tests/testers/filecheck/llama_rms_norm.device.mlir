// One kernel.
// CHECK-COUNT-1: dev.launch
// CHECK: tir.row
// CHECK-NOT: dev.launch
