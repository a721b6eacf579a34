// What MLIR's own bytecode encodes: every builtin attribute and type, regions, blocks, forward references, use-list orders
// and resources, under operations of no known dialect. The fuzz test writes it as bytecode of every version.
#alias = [1, 2, "three"]
!nested = tuple<i1, tuple<f32, tensor<2x?xcomplex<f64>>>>
module @builtin attributes {a.array = #alias, a.dict = {x = 1 : i8, y = {z = unit}}} {
  "foreign.attributes"() {
    array = [1 : i8, 2 : i16, 3 : i32, -4 : i64, 5 : index, 6 : i100, 7 : si4, 8 : ui4],
    bools = [true, false], unit,
    floats = [1.0 : f16, 2.0 : bf16, 3.0 : f32, 4.0 : f64, 5.0 : f80, 6.0 : f128, 7.0 : f8E4M3FN, 8.0 : f8E5M2, 9.0 : tf32],
    strings = ["", "plain", "typed" : i32, "\00\FF"],
    symbols = [@flat, @root::@nested::@deep],
    types = [i1, si8, ui16, index, bf16, none, (i32, f32) -> (), !nested, vector<4x[4]xf32>, memref<4x?xf32>,
             memref<4xf32, strided<[2], offset: 1>>, memref<2xi8, 3>, memref<*xf32>, memref<*xf32, 1>, tensor<*xi1>,
             tensor<4xf32, "encoding">, !foreign.opaque<"x", [1, {2}]>],
    dense = [dense<[1, 2, 3]> : tensor<3xi32>, dense<7> : tensor<4x4xi64>, dense<true> : tensor<9xi1>,
             dense<[true, false, true]> : tensor<3xi1>, dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>, dense<> : tensor<0x3xf32>,
             dense<[1, -2, 3]> : tensor<3xi4>, dense<1.5> : vector<4xf16>, dense<["a", "b"]> : tensor<2x!foreign.string>,
             dense<"all"> : tensor<5x!foreign.string>],
    arrays = [array<i1: true, false>, array<i8: 1, 2>, array<i64: 3, -4>, array<f32: 1.0, 2.0>, array<i32>],
    resource = [dense_resource<blob> : tensor<2xi32>, dense_resource<declared> : tensor<4xi8>],
    maps = [affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2)>, affine_set<(d0) : (d0 - 1 >= 0)>],
    opaque = #foreign.attribute<with [brackets] and "strings">, distinct = distinct[0]<42 : i32>, location = loc("attr":1:2)
  } : () -> () loc("file.mlir":10:2)
  "foreign.locations"() ({
    "foreign.a"() : () -> () loc(callsite("inner"("f.mlir":1:2) at callsite("g":3:4 at unknown)))
    "foreign.b"() : () -> () loc(fused["x", "f.mlir":5:6])
    "foreign.c"() : () -> () loc(fused<"metadata">["f.mlir":7:8])
  }) : () -> ()
  func.func @uses(%a: i32, %b: i32) -> i32 {
    %0:3 = "foreign.results"(%a, %b, %a) : (i32, i32, i32) -> (i32, f32, i32)
    "foreign.use"(%0#2, %0#0, %0#2, %0#2) : (i32, i32, i32, i32) -> ()
    "foreign.use"(%0#2, %a) : (i32, i32) -> ()
    %1 = "foreign.nest"(%0#0) ({
    ^bb0(%x: i32 loc("arg"), %y: tensor<4xf32>):
      %2 = "foreign.inner"(%x, %a, %0#2) ({
        "foreign.end"(%x, %y) : (i32, tensor<4xf32>) -> ()
      }, {
      }) : (i32, i32, i32) -> i32
      "foreign.yield"(%2) : (i32) -> ()
    }) : (i32) -> i32
    return %1 : i32
  }
  func.func @blocks(%c: i1, %v: i32) -> i32 {
    "foreign.branch"(%c, %v)[^bb2, ^bb3] : (i1, i32) -> ()
  ^bb1:
    "foreign.jump"(%later)[^bb3] : (i32) -> ()
  ^bb2:
    %later = "foreign.make"(%v) : (i32) -> i32
    "foreign.jump"(%later)[^bb1] : (i32) -> ()
  ^bb3:
    return %v : i32
  }
  func.func private @declaration(tensor<?xf32> {a.b = 1}) -> (tensor<?xf32> {a.c})
  "foreign.graph"() ({
    %0 = "foreign.cycle"(%1) : (i32) -> i32
    %1 = "foreign.cycle"(%0) : (i32) -> i32
  }) : () -> ()
  module @inner { module { func.func private @f() } }
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000100000002000000",
      declared: "0x0800000001020304"
    }
  }
#-}
