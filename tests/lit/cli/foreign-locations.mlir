// A diagnostic about code from another file shows that place without opening the file: this one never ends.
// RUN: not cupel opt %s 2>&1 | FileCheck %s

// CHECK: /dev/zero:3:4: error: type of return operand 0
// CHECK-NEXT: foreign-locations.mlir: note: the program was read from this file
func.func @f(%arg0: tensor<2xf32>) -> tensor<3xf32> {
  return %arg0 : tensor<2xf32> loc("/dev/zero":3:4)
}
