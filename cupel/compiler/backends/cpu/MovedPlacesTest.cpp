// Complex numbers, cumulative sums, and gathers and scatters of what was transposed: on the device's own kernels and on none
// of the golden reference's, with the reference's bits.

#include "cupel/compiler/backends/cpu/OwnKernelTesting.h"

namespace cupel::compiler {
namespace {

std::string tensorOf(const std::string &shape, const std::string &element) { return "tensor<" + shape + (shape.empty() ? "" : "x") + element + ">"; }

/// A cumulative operation along dimension `d` of a tensor.
std::string scanOf(const std::vector<int64_t> &sizes, size_t d, bool fromEnd, const std::string &element, const std::string &combiner, const std::string &init) {
  std::string shape, window, padding;
  for (size_t k = 0; k < sizes.size(); ++k) {
    std::string comma = k ? ", " : "", before = k == d ? std::to_string(sizes[k] - 1) : "0";
    shape += (k ? "x" : "") + std::to_string(sizes[k]);
    window += comma + std::to_string(k == d ? sizes[k] : 1);
    padding += comma + (fromEnd ? "[0, " + before + "]" : "[" + before + ", 0]");
  }
  std::string x = tensorOf(shape, element), e = tensorOf("", element), rank = std::to_string(sizes.size());
  return "func.func @main(%x: " + x + ") -> " + x + " {\n  %z = stablehlo.constant dense<" + init + "> : " + e +
         "\n  %0 = \"stablehlo.reduce_window\"(%x, %z) <{window_dimensions = array<i64: " + window + ">, padding = dense<[" + padding + "]> : tensor<" + rank +
         "x2xi64>}> ({\n  ^bb0(%a: " + e + ", %b: " + e + "):\n    %s = stablehlo." + combiner + " %a, %b : " + e + "\n    stablehlo.return %s : " + e +
         "\n  }) : (" + x + ", " + e + ") -> " + x + "\n  return %0 : " + x + "\n}\n";
}

/// Of tensors that pools are of as well, and along every dimension: no pool, whose time grows with its windows.
TEST(MovedPlacesTest, CumulativeOperationsOfAnyRank) {
  for (std::vector<int64_t> sizes : {std::vector<int64_t>{9, 37}, {3, 20, 33}, {2, 5, 7, 31}, {2, 3, 4, 5, 40}})
    for (size_t d = 0; d < sizes.size(); ++d) {
      expectOwnKernel(scanOf(sizes, d, d % 2 == 1, "f32", "add", "0.0"), true);
      expectOwnKernel(scanOf(sizes, d, d % 2 == 0, "f32", "maximum", "0xFF800000"), false, true);
    }
  expectOwnKernel(scanOf({5, 6, 1000}, 1, false, "i32", "add", "0"));
  expectOwnKernel(scanOf({7, 4500}, 0, true, "f64", "add", "0.0"), true);
}

/// More than the caches hold, and of lines of memory or not.
TEST(MovedPlacesTest, CumulativeSumsOfMuch) {
  expectOwnKernel(scanOf({384, 8208}, 0, false, "f32", "add", "0.0"), true);
  expectOwnKernel(scanOf({384, 8209}, 0, true, "f32", "add", "0.0"), true);
}

TEST(MovedPlacesTest, CumulativeSumsOfHalvesAreOfTheDevicesOwn) {
  for (const char *half : {"bf16", "f16"})
    for (std::vector<int64_t> sizes : {std::vector<int64_t>{3, 50}, {2, 9, 4, 30}}) {
      auto actual = outcomeBy("cpu", scanOf(sizes, 1, false, half, "add", "0.0"), true);
      ASSERT_TRUE(actual) << actual.message();
      EXPECT_EQ(actual->notes.count("fallbacks"), 0u) << actual->notes["fallbacks"];
    }
}

/// Given as complex numbers, computed and handed out as such, and as their parts.
TEST(MovedPlacesTest, ComplexNumbers) {
  for (std::string e : {"f32", "f64"})
    for (std::string shape : {"7x33", "4x3x40", "2x5"}) {
      std::string z = tensorOf(shape, "complex<" + e + ">"), x = tensorOf(shape, e), b = tensorOf(shape, "i1");
      std::string magnitude = e == "f32" ? "stablehlo.abs %4 : (" + z + ") -> " + x : "stablehlo.real %4 : (" + z + ") -> " + x;
      expectOwnKernel("func.func @main(%a: " + z + ", %b: " + z + ", %x: " + x + ", %y: " + x + ", %c: " + b + ") -> (" + z + ", " + x + ", " + x + ", " + b + ") {\n" +
                          "  %0 = stablehlo.complex %x, %y : " + z + "\n  %1 = stablehlo.multiply %a, %0 : " + z + "\n  %2 = stablehlo.subtract %1, %b : " + z +
                          "\n  %3 = stablehlo.select %c, %2, %a : " + b + ", " + z + "\n  %4 = stablehlo.negate %3 : " + z + "\n  %5 = " + magnitude +
                          "\n  %6 = stablehlo.imag %4 : (" + z + ") -> " + x + "\n  %7 = stablehlo.compare NE, %4, %b : (" + z + ", " + z + ") -> " + b +
                          "\n  return %4, %5, %6, %7 : " + z + ", " + x + ", " + x + ", " + b + "\n}\n",
                      false, true);
    }
}

TEST(MovedPlacesTest, ComplexNumbersAreMovedAsPairs) {
  for (std::string e : {"complex<f32>", "complex<f64>"}) {
    std::string x = tensorOf("6x5x8", e), n = tensorOf("", e);
    expectOwnKernel("func.func @main(%a: " + x + ") -> (" + tensorOf("8x6x5", e) + ", " + tensorOf("2x6x5x8", e) + ", " + tensorOf("3x2x8", e) + ", " +
                    tensorOf("6x8x8", e) + ", " + tensorOf("30x8", e) + ") {\n  %z = stablehlo.constant dense<(0.0, 0.0)> : " + n +
                    "\n  %0 = stablehlo.transpose %a, dims = [2, 0, 1] : (" + x + ") -> " + tensorOf("8x6x5", e) +
                    "\n  %1 = stablehlo.broadcast_in_dim %a, dims = [1, 2, 3] : (" + x + ") -> " + tensorOf("2x6x5x8", e) +
                    "\n  %2 = stablehlo.slice %a [1:6:2, 0:4:2, 0:8] : (" + x + ") -> " + tensorOf("3x2x8", e) +
                    "\n  %3 = stablehlo.pad %a, %z, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 0, 0] : (" + x + ", " + n + ") -> " + tensorOf("6x8x8", e) +
                    "\n  %4 = stablehlo.reverse %a, dims = [0, 2] : " + x + "\n  %5 = stablehlo.reshape %4 : (" + x + ") -> " + tensorOf("30x8", e) +
                    "\n  return %0, %1, %2, %3, %5 : " + tensorOf("8x6x5", e) + ", " + tensorOf("2x6x5x8", e) + ", " + tensorOf("3x2x8", e) + ", " +
                    tensorOf("6x8x8", e) + ", " + tensorOf("30x8", e) + "\n}\n");
  }
}

/// Rotary embeddings as complex numbers, and what a magnitude is of infinities.
TEST(MovedPlacesTest, ComplexProductsOfReals) {
  expectOwnKernel(R"(func.func @main(%x: tensor<4x6x16x2xf32>, %w: tensor<6x16xcomplex<f32>>) -> tensor<4x6x32xf32> {
  %0 = stablehlo.slice %x [0:4, 0:6, 0:16, 0:1] : (tensor<4x6x16x2xf32>) -> tensor<4x6x16x1xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x6x16x1xf32>) -> tensor<4x6x16xf32>
  %2 = stablehlo.slice %x [0:4, 0:6, 0:16, 1:2] : (tensor<4x6x16x2xf32>) -> tensor<4x6x16x1xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x6x16x1xf32>) -> tensor<4x6x16xf32>
  %4 = stablehlo.complex %1, %3 : tensor<4x6x16xcomplex<f32>>
  %5 = stablehlo.broadcast_in_dim %w, dims = [1, 2] : (tensor<6x16xcomplex<f32>>) -> tensor<4x6x16xcomplex<f32>>
  %6 = stablehlo.multiply %4, %5 : tensor<4x6x16xcomplex<f32>>
  %7 = stablehlo.real %6 : (tensor<4x6x16xcomplex<f32>>) -> tensor<4x6x16xf32>
  %8 = stablehlo.imag %6 : (tensor<4x6x16xcomplex<f32>>) -> tensor<4x6x16xf32>
  %9 = stablehlo.reshape %7 : (tensor<4x6x16xf32>) -> tensor<4x6x16x1xf32>
  %10 = stablehlo.reshape %8 : (tensor<4x6x16xf32>) -> tensor<4x6x16x1xf32>
  %11 = stablehlo.concatenate %9, %10, dim = 3 : (tensor<4x6x16x1xf32>, tensor<4x6x16x1xf32>) -> tensor<4x6x16x2xf32>
  %12 = stablehlo.reshape %11 : (tensor<4x6x16x2xf32>) -> tensor<4x6x32xf32>
  return %12 : tensor<4x6x32xf32>
}
)", true);
  expectOwnKernel(R"(func.func @main() -> tensor<6xf32> {
  %z = stablehlo.constant dense<[(0x7F800000, 0x7FC00000), (0x7FC00000, 0xFF800000), (0.0, -0.0), (3.0e+38, 1.0), (1.0e-45, 0.0), (3.0, -4.0)]> : tensor<6xcomplex<f32>>
  %b = stablehlo.optimization_barrier %z : tensor<6xcomplex<f32>>
  %0 = stablehlo.abs %b : (tensor<6xcomplex<f32>>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
)");
}

/// Rows of a cache are written where it lies, whichever dimension they are of, and read where they lie.
TEST(MovedPlacesTest, GathersAndScattersOfWhatWasTransposed) {
  for (const char *body : {"stablehlo.return %q", "%s = stablehlo.add %p, %q : tensor<f32>\n    stablehlo.return %s"})
    expectOwnKernel(std::string(R"(func.func @main(%c: tensor<2x3x9x8xf32>, %i: tensor<4x1xi32>, %u: tensor<4x2x3x8xf32>) -> tensor<2x3x9x8xf32> {
  %0 = stablehlo.transpose %c, dims = [2, 0, 1, 3] : (tensor<2x3x9x8xf32>) -> tensor<9x2x3x8xf32>
  %1 = "stablehlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2, 3], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    )") + body + R"( : tensor<f32>
  }) : (tensor<9x2x3x8xf32>, tensor<4x1xi32>, tensor<4x2x3x8xf32>) -> tensor<9x2x3x8xf32>
  %2 = stablehlo.transpose %1, dims = [1, 2, 0, 3] : (tensor<9x2x3x8xf32>) -> tensor<2x3x9x8xf32>
  return %2 : tensor<2x3x9x8xf32>
}
)", true);
  expectOwnKernel(R"(func.func @main(%c: tensor<5x6x7x4xf32>, %i: tensor<8x2xi32>) -> (tensor<5x8x4xf32>, tensor<3x4x8x5xf32>) {
  %0 = stablehlo.transpose %c, dims = [2, 1, 3, 0] : (tensor<5x6x7x4xf32>) -> tensor<7x6x4x5xf32>
  %1 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 4, 5>}> : (tensor<7x6x4x5xf32>, tensor<8x2xi32>) -> tensor<8x4x5xf32>
  %2 = stablehlo.transpose %1, dims = [2, 0, 1] : (tensor<8x4x5xf32>) -> tensor<5x8x4xf32>
  %3 = stablehlo.transpose %c, dims = [3, 2, 1, 0] : (tensor<5x6x7x4xf32>) -> tensor<4x7x6x5xf32>
  %4 = "stablehlo.gather"(%3, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 3], collapsed_slice_dims = [2], start_index_map = [2, 1], index_vector_dim = 1>, slice_sizes = array<i64: 3, 4, 1, 5>}> : (tensor<4x7x6x5xf32>, tensor<8x2xi32>) -> tensor<3x4x8x5xf32>
  return %2, %4 : tensor<5x8x4xf32>, tensor<3x4x8x5xf32>
}
)");
}

/// What lies two to four elements apart is read in vectors, forwards and backwards, to the last element and not beyond.
TEST(MovedPlacesTest, ElementsThatLieNear) {
  for (int step : {2, 3, 4})
    for (const char *element : {"f32", "f64", "i16", "bf16"}) {
      std::string e = element, all = tensorOf(std::to_string(7 * step) + "x" + std::to_string(67 * step), e), some = tensorOf("7x67", e), by = std::to_string(step);
      expectOwnKernel("func.func @main(%x: " + all + ") -> (" + some + ", " + some + ") {\n  %0 = stablehlo.slice %x [" + std::to_string(step - 1) + ":" +
                          std::to_string(7 * step) + ":" + by + ", " + std::to_string(step - 1) + ":" + std::to_string(67 * step) + ":" + by + "] : (" + all + ") -> " + some +
                          "\n  %1 = stablehlo.add %0, %0 : " + some + "\n  %2 = stablehlo.reverse %0, dims = [1] : " + some + "\n  %3 = stablehlo.add %2, %0 : " + some +
                          "\n  return %1, %3 : " + some + ", " + some + "\n}\n",
                      true);
    }
}

} // namespace
} // namespace cupel::compiler
