// Images are brought to channels inmost, kernels are read as they lie.
// RUN: cupel opt %s --form-convolutions | FileCheck %s

// CHECK: %[[I:.*]] = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<1x2x6x6xf32>) -> tensor<1x6x6x2xf32>
// CHECK: %[[C:.*]] = tir.convolution(%[[I]], %arg1) window [3, 3] strides [2, 2] padding [1, 1, 1, 1] dilations [1, 1] groups 1 reading [#tir.view<0, [3, 1, 9, 18]>]
// CHECK: stablehlo.transpose %[[C]], dims = [0, 3, 1, 2] {tir.layout}
// CHECK: tir.pool "maximum"
// CHECK: stablehlo.transpose {{.*}} {tir.layout}
func.func @main(%x: tensor<1x2x6x6xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x2x2xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  %1 = "stablehlo.reduce_window"(%0, %low) <{window_dimensions = array<i64: 1, 1, 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x4x3x3xf32>, tensor<f32>) -> tensor<1x4x2x2xf32>
  return %1 : tensor<1x4x2x2xf32>
}

// A transposed convolution whose kernel is turned round.
// CHECK-LABEL: func.func @transposed
// CHECK: tir.convolution({{.*}}, %arg1) window [3, 3] strides [1, 1] padding [1, 2, 1, 2] dilations [1, 1] spread [2, 2] groups 1 reading [#tir.view<8, [-3, -1, 36, 9]>]
func.func @transposed(%x: tensor<2x3x5x4xf32>, %w: tensor<3x4x3x3xf32>) -> tensor<2x4x10x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x10x8xf32>
  return %0 : tensor<2x4x10x8xf32>
}

// A volume has one dimension more.
// CHECK-LABEL: func.func @volume
// CHECK: stablehlo.transpose %arg0, dims = [0, 2, 3, 4, 1]
// CHECK: tir.convolution({{.*}}, %arg1) window [3, 1, 2] strides [1, 2, 1] padding [1, 1, 0, 0, 0, 1] dilations [1, 1, 1] groups 2 reading [#tir.view<0, [2, 0, 1, 6, 18]>]
// CHECK: stablehlo.transpose {{.*}}, dims = [0, 4, 1, 2, 3] {tir.layout}
func.func @volume(%x: tensor<2x6x5x7x8xf32>, %w: tensor<8x3x3x1x2xf32>) -> tensor<2x8x5x4x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [1, 2, 1], pad = [[1, 1], [0, 0], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x5x7x8xf32>, tensor<8x3x3x1x2xf32>) -> tensor<2x8x5x4x8xf32>
  return %0 : tensor<2x8x5x4x8xf32>
}

// A line is an image of one row.
// CHECK-LABEL: func.func @line
// CHECK: stablehlo.reshape {{.*}} -> tensor<2x1x20x6xf32>
// CHECK: tir.convolution({{.*}}, %arg1) window [1, 3] strides [1, 2] padding [0, 0, 1, 1] dilations [1, 1] groups 2 reading [#tir.view<0, [0, 1, 3, 9]>]
// CHECK: stablehlo.reshape {{.*}} -> tensor<2x10x8xf32>
func.func @line(%x: tensor<2x6x20xf32>, %w: tensor<8x3x3xf32>) -> tensor<2x8x10xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x20xf32>, tensor<8x3x3xf32>) -> tensor<2x8x10xf32>
  return %0 : tensor<2x8x10xf32>
}

// Where operands are rounded to bf16, the convolution rounds its image itself; small groups are left to what rounds them.
// CHECK-LABEL: func.func @rounded
// CHECK-SAME: (%[[X:.*]]: tensor<1x6x6x16xf32>, %[[Y:.*]]: tensor<1x6x6x4xf32>
// CHECK-NOT: (tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xbf16>
// CHECK: %[[FEW:.*]] = stablehlo.convert {{.*}} : (tensor<1x6x6x4xbf16>) -> tensor<1x6x6x4xf32>
// CHECK: tir.convolution(%[[X]], {{.*}} groups 1 rounded reading
// CHECK: tir.convolution(%[[FEW]], {{.*}} groups 2 reading
func.func @rounded(%x: tensor<1x6x6x16xf32>, %y: tensor<1x6x6x4xf32>, %w: tensor<3x3x16x8xf32>, %v: tensor<3x3x2x8xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) {
  %0 = stablehlo.convert %x : (tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xbf16>
  %1 = stablehlo.convert %0 : (tensor<1x6x6x16xbf16>) -> tensor<1x6x6x16xf32>
  %2 = stablehlo.convert %y : (tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xbf16>
  %3 = stablehlo.convert %2 : (tensor<1x6x6x4xbf16>) -> tensor<1x6x6x4xf32>
  %4 = stablehlo.convolution(%1, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, cupel.narrowed} : (tensor<1x6x6x16xf32>, tensor<3x3x16x8xf32>) -> tensor<1x4x4x8xf32>
  %5 = stablehlo.convolution(%3, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, cupel.narrowed} : (tensor<1x6x6x4xf32>, tensor<3x3x2x8xf32>) -> tensor<1x4x4x8xf32>
  return %4, %5 : tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>
}

// Groups of which a vector holds whole ones, though not as many as fill the last.
// CHECK-LABEL: func.func @rounded_groups
// CHECK-NOT: stablehlo.convert
// CHECK: tir.convolution(%arg0, %arg1) {{.*}} groups 5 rounded reading
func.func @rounded_groups(%x: tensor<1x6x6x40xf32>, %w: tensor<3x3x8x40xf32>) -> tensor<1x4x4x40xf32> {
  %0 = stablehlo.convert %x : (tensor<1x6x6x40xf32>) -> tensor<1x6x6x40xbf16>
  %1 = stablehlo.convert %0 : (tensor<1x6x6x40xbf16>) -> tensor<1x6x6x40xf32>
  %2 = stablehlo.convolution(%1, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 5 : i64, cupel.narrowed} : (tensor<1x6x6x40xf32>, tensor<3x3x8x40xf32>) -> tensor<1x4x4x40xf32>
  return %2 : tensor<1x4x4x40xf32>
}

// Images of colours, and channels each by itself, which are read in bf16 where their maker can give it. That bf16 was asked for and is not
// the program's is still to be seen.
// CHECK-LABEL: func.func @rounded_few
// CHECK: tir.convolution(%arg0, %arg1) {{.*}} groups 1 rounded reading
// CHECK: %[[N:.*]] = stablehlo.convert {{.*}} : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xbf16>
// CHECK: tir.convolution(%[[N]], {{.*}} groups 8 rounded reading {{.*}}] attributes {cupel.narrowed} :
func.func @rounded_few(%x: tensor<1x6x6x3xf32>, %v: tensor<3x3x3x8xf32>, %w: tensor<3x3x1x8xf32>) -> tensor<1x2x2x8xf32> {
  %0 = stablehlo.convert %x : (tensor<1x6x6x3xf32>) -> tensor<1x6x6x3xbf16>
  %1 = stablehlo.convert %0 : (tensor<1x6x6x3xbf16>) -> tensor<1x6x6x3xf32>
  %2 = stablehlo.convolution(%1, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, cupel.narrowed} : (tensor<1x6x6x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x4x4x8xf32>
  %3 = stablehlo.convert %2 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xbf16>
  %4 = stablehlo.convert %3 : (tensor<1x4x4x8xbf16>) -> tensor<1x4x4x8xf32>
  %5 = stablehlo.convolution(%4, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 8 : i64, cupel.narrowed} : (tensor<1x4x4x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x2x2x8xf32>
  return %5 : tensor<1x2x2x8xf32>
}

// The same where several channels of the result are made of one of the image.
// CHECK-LABEL: func.func @rounded_more
// CHECK-NOT: stablehlo.convert
// CHECK: tir.convolution(%arg0, %arg1) {{.*}} groups 8 rounded reading
func.func @rounded_more(%x: tensor<1x4x4x8xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<1x2x2x16xf32> {
  %0 = stablehlo.convert %x : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xbf16>
  %1 = stablehlo.convert %0 : (tensor<1x4x4x8xbf16>) -> tensor<1x4x4x8xf32>
  %2 = stablehlo.convolution(%1, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 8 : i64, cupel.narrowed} : (tensor<1x4x4x8xf32>, tensor<3x3x1x16xf32>) -> tensor<1x2x2x16xf32>
  return %2 : tensor<1x2x2x16xf32>
}

// The gradient of a kernel: what is computed is laid over the image at few places, with channels inmost in both.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[G:.*]] = stablehlo.tanh
// CHECK: %[[I:.*]] = stablehlo.transpose %arg0, dims = [1, 2, 3, 0] : (tensor<6x2x9x8xf32>) -> tensor<2x9x8x6xf32>
// CHECK: %[[W:.*]] = stablehlo.transpose %[[G]], dims = [1, 2, 3, 0] : (tensor<7x2x5x4xf32>) -> tensor<2x5x4x7xf32>
// CHECK: %[[C:.*]] = tir.correlation(%[[I]], %[[W]]) strides [1, 1] padding [1, 0, 1, 0] dilations [2, 2] : (tensor<2x9x8x6xf32>, tensor<2x5x4x7xf32>) -> tensor<2x3x6x7xf32>
// CHECK: stablehlo.transpose %[[C]], dims = [2, 3, 0, 1] {tir.layout}
func.func @gradient(%x: tensor<6x2x9x8xf32>, %y: tensor<7x2x5x4xf32>) -> tensor<6x7x2x3xf32> {
  %g = stablehlo.tanh %y : tensor<7x2x5x4xf32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 0], [1, 0]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<6x2x9x8xf32>, tensor<7x2x5x4xf32>) -> tensor<6x7x2x3xf32>
  return %0 : tensor<6x7x2x3xf32>
}

// Of lines.
// CHECK-LABEL: func.func @gradient_of_line
// CHECK: tir.correlation({{.*}}) strides [1, 1] padding [0, 0, 1, 1] dilations [1, 1] : (tensor<2x1x20x6xf32>, tensor<2x1x20x8xf32>) -> tensor<1x3x6x8xf32>
// CHECK: stablehlo.reshape {{.*}} -> tensor<3x6x8xf32>
func.func @gradient_of_line(%x: tensor<6x2x20xf32>, %y: tensor<8x2x20xf32>) -> tensor<6x8x3xf32> {
  %g = stablehlo.tanh %y : tensor<8x2x20xf32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<6x2x20xf32>, tensor<8x2x20xf32>) -> tensor<6x8x3xf32>
  return %0 : tensor<6x8x3xf32>
}

// What is given is packed once, however large it is; a window in groups, or between zeros, stays a convolution.
// CHECK-LABEL: func.func @no_gradient
// CHECK-NOT: tir.correlation
// CHECK: return
func.func @no_gradient(%x: tensor<6x2x9x8xf32>, %y: tensor<8x2x9x8xf32>, %z: tensor<8x1x9x8xf32>) -> (tensor<6x8x1x1xf32>, tensor<6x8x1x1xf32>, tensor<6x8x9x1xf32>) {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<6x2x9x8xf32>, tensor<8x2x9x8xf32>) -> tensor<6x8x1x1xf32>
  %g = stablehlo.tanh %z : tensor<8x1x9x8xf32>
  %1 = stablehlo.convolution(%x, %g) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<6x2x9x8xf32>, tensor<8x1x9x8xf32>) -> tensor<6x8x1x1xf32>
  %h = stablehlo.tanh %y : tensor<8x2x9x8xf32>
  %2 = stablehlo.convolution(%x, %h) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {lhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<6x2x9x8xf32>, tensor<8x2x9x8xf32>) -> tensor<6x8x9x1xf32>
  return %0, %1, %2 : tensor<6x8x1x1xf32>, tensor<6x8x1x1xf32>, tensor<6x8x9x1xf32>
}

// What is computed and rounded is read in bf16, so that its maker can give it so; f32 that others need as well is rounded
// on the way. Kernels are packed from what they were.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[T:.*]] = stablehlo.tanh
// CHECK: %[[N:.*]] = stablehlo.convert %[[T]] : (tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xbf16>
// CHECK: %[[E:.*]] = stablehlo.exponential
// CHECK: tir.convolution(%[[N]], %arg1) {{.*}} rounded reading {{.*}} : (tensor<1x6x6x16xbf16>, tensor<3x3x16x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK: tir.convolution(%[[E]], %arg1) {{.*}} rounded reading {{.*}} : (tensor<1x6x6x16xf32>, tensor<3x3x16x8xf32>) -> tensor<1x4x4x8xf32>
func.func @narrow(%x: tensor<1x6x6x16xf32>, %w: tensor<3x3x16x8xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x6x6x16xf32>) {
  %t = stablehlo.tanh %x : tensor<1x6x6x16xf32>
  %0 = stablehlo.convert %t : (tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xbf16>
  %1 = stablehlo.convert %0 : (tensor<1x6x6x16xbf16>) -> tensor<1x6x6x16xf32>
  %e = stablehlo.exponential %x : tensor<1x6x6x16xf32>
  %2 = stablehlo.convert %e : (tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xbf16>
  %3 = stablehlo.convert %2 : (tensor<1x6x6x16xbf16>) -> tensor<1x6x6x16xf32>
  %4 = stablehlo.convert %w : (tensor<3x3x16x8xf32>) -> tensor<3x3x16x8xbf16>
  %5 = stablehlo.convert %4 : (tensor<3x3x16x8xbf16>) -> tensor<3x3x16x8xf32>
  %6 = stablehlo.convolution(%1, %5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, cupel.narrowed} : (tensor<1x6x6x16xf32>, tensor<3x3x16x8xf32>) -> tensor<1x4x4x8xf32>
  %7 = stablehlo.convolution(%3, %5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, cupel.narrowed} : (tensor<1x6x6x16xf32>, tensor<3x3x16x8xf32>) -> tensor<1x4x4x8xf32>
  return %6, %7, %e : tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x6x6x16xf32>
}

// Written in bf16, and not marked: sums are f32 and rounded once. Who asks for more gets f32. An argument is transposed as it
// is. Sums of windows are f32, the greatest stays what it is.
// CHECK-LABEL: func.func @written
// CHECK: tir.convolution(%arg0, %arg1) {{.*}} rounded reading {{.*}}] : (tensor<1x6x6x16xbf16>, tensor<3x3x16x8xbf16>) -> tensor<1x4x4x8xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %arg2
// CHECK: tir.convolution(%[[T]], {{.*}} groups 1 rounded reading {{.*}} : (tensor<1x6x6x3xbf16>
// CHECK: tir.convolution({{.*}} groups 1 reading {{.*}} : (tensor<1x6x6x16xf32>, tensor<3x3x16x8xf32>)
// CHECK: tir.pool "maximum"{{.*}} : (tensor<1x6x6x16xbf16>) -> tensor<1x5x5x16xbf16>
// CHECK: tir.pool "add"{{.*}} : (tensor<1x6x6x16xf32>) -> tensor<1x5x5x16xf32>
// CHECK: stablehlo.convert {{.*}} -> tensor<1x5x5x16xbf16>
func.func @written(%x: tensor<1x6x6x16xbf16>, %w: tensor<3x3x16x8xbf16>, %y: tensor<1x3x6x6xbf16>, %v: tensor<3x3x3x8xbf16>) -> (tensor<1x4x4x8xbf16>, tensor<1x4x4x8xbf16>, tensor<1x4x4x8xf32>, tensor<1x5x5x16xbf16>, tensor<1x5x5x16xbf16>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x16xbf16>, tensor<3x3x16x8xbf16>) -> tensor<1x4x4x8xbf16>
  %1 = stablehlo.convolution(%y, %v) dim_numbers = [b, f, 0, 1]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x6x6xbf16>, tensor<3x3x3x8xbf16>) -> tensor<1x4x4x8xbf16>
  %2 = stablehlo.convert %x : (tensor<1x6x6x16xbf16>) -> tensor<1x6x6x16xf32>
  %3 = stablehlo.convert %w : (tensor<3x3x16x8xbf16>) -> tensor<3x3x16x8xf32>
  %4 = stablehlo.convolution(%2, %3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<1x6x6x16xf32>, tensor<3x3x16x8xf32>) -> tensor<1x4x4x8xf32>
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %5 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %m = stablehlo.maximum %a, %b : tensor<bf16>
    stablehlo.return %m : tensor<bf16>
  }) : (tensor<1x6x6x16xbf16>, tensor<bf16>) -> tensor<1x5x5x16xbf16>
  %nothing = stablehlo.constant dense<0.0> : tensor<bf16>
  %sums = "stablehlo.reduce_window"(%x, %nothing) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %m = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %m : tensor<bf16>
  }) : (tensor<1x6x6x16xbf16>, tensor<bf16>) -> tensor<1x5x5x16xbf16>
  return %0, %1, %4, %5, %sums : tensor<1x4x4x8xbf16>, tensor<1x4x4x8xbf16>, tensor<1x4x4x8xf32>, tensor<1x5x5x16xbf16>, tensor<1x5x5x16xbf16>
}

// The greatest of bytes, beginning with the least there is.
// CHECK-LABEL: func.func @bytes
// CHECK: tir.pool "maximum"{{.*}} : (tensor<1x6x6x4xui8>) -> tensor<1x5x5x4xui8>
// CHECK: tir.pool "maximum"{{.*}} : (tensor<1x6x6x4xi8>) -> tensor<1x5x5x4xi8>
// CHECK: stablehlo.reduce_window
func.func @bytes(%x: tensor<1x6x6x4xui8>, %y: tensor<1x6x6x4xi8>) -> (tensor<1x5x5x4xui8>, tensor<1x5x5x4xi8>, tensor<1x5x5x4xi8>) {
  %none = stablehlo.constant dense<0> : tensor<ui8>
  %low = stablehlo.constant dense<-128> : tensor<i8>
  %other = stablehlo.constant dense<0> : tensor<i8>
  %0 = "stablehlo.reduce_window"(%x, %none) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %m = stablehlo.maximum %a, %b : tensor<ui8>
    stablehlo.return %m : tensor<ui8>
  }) : (tensor<1x6x6x4xui8>, tensor<ui8>) -> tensor<1x5x5x4xui8>
  %1 = "stablehlo.reduce_window"(%y, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %m = stablehlo.maximum %a, %b : tensor<i8>
    stablehlo.return %m : tensor<i8>
  }) : (tensor<1x6x6x4xi8>, tensor<i8>) -> tensor<1x5x5x4xi8>
  %2 = "stablehlo.reduce_window"(%y, %other) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %m = stablehlo.maximum %a, %b : tensor<i8>
    stablehlo.return %m : tensor<i8>
  }) : (tensor<1x6x6x4xi8>, tensor<i8>) -> tensor<1x5x5x4xi8>
  return %0, %1, %2 : tensor<1x5x5x4xui8>, tensor<1x5x5x4xi8>, tensor<1x5x5x4xi8>
}

// A pool of images with columns inmost stays as it is where no convolution is near: two transposes would cost more than the windows.
// CHECK-LABEL: func.func @pool_alone
// CHECK-NOT: transpose
// CHECK: stablehlo.reduce_window
// CHECK-NOT: transpose
// CHECK: return
func.func @pool_alone(%x: tensor<2x8x12x12xf32>) -> tensor<2x8x11x11xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<2x8x12x12xf32>
  %1 = "stablehlo.reduce_window"(%0, %low) <{window_dimensions = array<i64: 1, 1, 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<2x8x12x12xf32>, tensor<f32>) -> tensor<2x8x11x11xf32>
  return %1 : tensor<2x8x11x11xf32>
}

// Zeros around an image are the convolution's padding; other numbers, and zeros between channels, are not.
// CHECK-LABEL: func.func @padded
// CHECK-NOT: stablehlo.pad
// CHECK: tir.convolution({{.*}}, %arg1) window [1, 3] strides [1, 1] padding [0, 0, 5, 1] dilations [1, 2] groups 1
// CHECK: stablehlo.pad %arg0
// CHECK: tir.convolution({{.*}}, %arg1) window [1, 3] strides [1, 1] padding [0, 0, 0, 0] dilations [1, 2] groups 1
func.func @padded(%x: tensor<2x6x20xf32>, %w: tensor<8x6x3xf32>) -> (tensor<2x8x22xf32>, tensor<2x8x20xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0, 0, 4], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<2x6x20xf32>, tensor<f32>) -> tensor<2x6x24xf32>
  %1 = stablehlo.convolution(%0, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x24xf32>, tensor<8x6x3xf32>) -> tensor<2x8x22xf32>
  %2 = stablehlo.pad %x, %one, low = [0, 0, 4], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<2x6x20xf32>, tensor<f32>) -> tensor<2x6x24xf32>
  %3 = stablehlo.convolution(%2, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x24xf32>, tensor<8x6x3xf32>) -> tensor<2x8x20xf32>
  return %1, %3 : tensor<2x8x22xf32>, tensor<2x8x20xf32>
}

// A window that is all of an image is a reduction; one that has more than one place, or padding, is not.
// CHECK-LABEL: func.func @whole_window
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x8x7x7xf32>, tensor<f32>) -> tensor<2x8xf32>
// CHECK: stablehlo.reshape %[[SUM]] : (tensor<2x8xf32>) -> tensor<2x8x1x1xf32>
// CHECK: "stablehlo.reduce_window"(%arg0
// CHECK: "stablehlo.reduce_window"(%arg0
func.func @whole_window(%x: tensor<2x8x7x7xf32>) -> (tensor<2x8x1x1xf32>, tensor<2x8x1x2xf32>, tensor<2x8x1x1xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 1, 7, 7>, window_strides = array<i64: 1, 1, 7, 7>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<2x8x7x7xf32>, tensor<f32>) -> tensor<2x8x1x1xf32>
  %1 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 1, 7, 6>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<2x8x7x7xf32>, tensor<f32>) -> tensor<2x8x1x2xf32>
  %2 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 1, 7, 7>, window_strides = array<i64: 1, 1, 7, 7>, padding = dense<[[0, 0], [0, 0], [1, 0], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<2x8x7x7xf32>, tensor<f32>) -> tensor<2x8x1x1xf32>
  return %0, %1, %2 : tensor<2x8x1x1xf32>, tensor<2x8x1x2xf32>, tensor<2x8x1x1xf32>
}

// Windows as long as the channels are a cumulative sum, no pool; of halves it is one of f32, rounded once.
// CHECK-LABEL: func.func @scans
// CHECK-NOT: tir.pool
// CHECK: "stablehlo.reduce_window"(%arg0
// CHECK: %[[W:.*]] = stablehlo.convert %arg1 : (tensor<3x9xbf16>) -> tensor<3x9xf32>
// CHECK: %[[S:.*]] = "stablehlo.reduce_window"(%[[W]]
// CHECK: stablehlo.add {{.*}} : tensor<f32>
// CHECK: stablehlo.convert %[[S]] : (tensor<3x9xf32>) -> tensor<3x9xbf16>
func.func @scans(%x: tensor<2x8x7x7xf32>, %h: tensor<3x9xbf16>) -> (tensor<2x8x7x7xf32>, tensor<3x9xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 8, 1, 1>, padding = dense<[[0, 0], [7, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<2x8x7x7xf32>, tensor<f32>) -> tensor<2x8x7x7xf32>
  %1 = "stablehlo.reduce_window"(%h, %none) <{window_dimensions = array<i64: 1, 9>, padding = dense<[[0, 0], [8, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %2 = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %2 : tensor<bf16>
  }) : (tensor<3x9xbf16>, tensor<bf16>) -> tensor<3x9xbf16>
  return %0, %1 : tensor<2x8x7x7xf32>, tensor<3x9xbf16>
}

// Groups of a batch are groups of channels.
// CHECK-LABEL: func.func @groups_of_a_batch
// CHECK: stablehlo.transpose {{.*}} : (tensor<3x2x5x5x4xf32>) -> tensor<2x5x5x3x4xf32>
// CHECK: tir.convolution({{.*}} groups 3 reading {{.*}} -> tensor<2x3x3x9xf32>
func.func @groups_of_a_batch(%x: tensor<6x5x5x4xf32>, %k: tensor<3x3x4x9xf32>) -> tensor<2x3x3x9xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<6x5x5x4xf32>, tensor<3x3x4x9xf32>) -> tensor<2x3x3x9xf32>
  return %0 : tensor<2x3x3x9xf32>
}

// The gradient of a depthwise kernel: every channel of every image by itself, and their sum over the images.
// CHECK-LABEL: func.func @gradient_of_depthwise
// CHECK: tir.convolution({{.*}} groups 16 reading {{.*}} -> tensor<1x3x3x16xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [3] : (tensor<3x3x1x2x8xf32>, tensor<f32>) -> tensor<3x3x1x8xf32>
func.func @gradient_of_depthwise(%x: tensor<2x5x6x8xf32>, %y: tensor<2x5x6x8xf32>) -> tensor<3x3x1x8xf32> {
  %g = stablehlo.tanh %y : tensor<2x5x6x8xf32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 8 : i64, feature_group_count = 1 : i64} : (tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>) -> tensor<3x3x1x8xf32>
  return %0 : tensor<3x3x1x8xf32>
}
