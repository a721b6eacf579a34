// Gathers, scatters, windows, gradients of pools, transforms and convolutions of halves: on the device's own kernels and
// on none of the golden reference's, with the reference's bits.

#include "cupel/compiler/backends/cpu/OwnKernelTesting.h"

#include <algorithm>

namespace cupel::compiler {
namespace {

using tensor::DType;
using tensor::Tensor;

/// Where lines are largest (GT) or smallest: as torch writes it, with the place that stands first of equal ones; as JAX does; or as
/// torch-mlir, of which what is compared with NaN goes.
enum class PickWriting { Torch, Jax, TorchMlir };

std::string pickOf(const std::string &sizes, int dimension, const std::string &result, const std::string &element, const std::string &place,
                   const char *direction, PickWriting writing, const std::string &initial) {
  std::string e = "tensor<" + element + ">", n = "tensor<" + place + ">", x = "tensor<" + sizes + "x" + element + ">", i = "tensor<" + sizes + "x" + place + ">",
              te = " : (" + e + ", " + e + ") -> tensor<i1>\n", tn = " : (" + n + ", " + n + ") -> tensor<i1>\n", l = " : tensor<i1>\n";
  std::string body = std::string("    %g = stablehlo.compare ") + direction + ", %p, %r" + te + "    %n = stablehlo.compare NE, %p, %p" + te,
              chosen = "    %2 = stablehlo.select %c, %q, %s : tensor<i1>, " + n;
  if (writing == PickWriting::TorchMlir) {
    body = std::string("    %v = stablehlo.compare ") + direction[0] + "E, %p, %r" + te + "    %e = stablehlo.compare EQ, %p, %r" + te + "    %l = stablehlo.minimum %q, %s : " + n + "\n";
    chosen = "    %y = stablehlo.select %v, %q, %s : tensor<i1>, " + n + "\n    %2 = stablehlo.select %e, %l, %y : tensor<i1>, " + n;
  } else if (writing == PickWriting::Jax)
    body += "    %v = stablehlo.or %g, %n" + l + "    %e = stablehlo.compare EQ, %p, %r" + te + "    %i = stablehlo.compare LT, %q, %s" + tn +
            "    %t = stablehlo.and %e, %i" + l + "    %c = stablehlo.or %v, %t" + l;
  else
    body += "    %m = stablehlo.compare EQ, %r, %r" + te + "    %b = stablehlo.and %n, %m" + l + "    %h = stablehlo.or %g, %b" + l +
            "    %o = stablehlo.not %m" + l + "    %w = stablehlo.and %n, %o" + l + "    %e = stablehlo.compare EQ, %p, %r" + te +
            "    %y = stablehlo.or %e, %w" + l + "    %i = stablehlo.compare LT, %q, %s" + tn + "    %t = stablehlo.and %y, %i" + l +
            "    %v = stablehlo.or %h, %t" + l + "    %c = stablehlo.or %v, %t" + l;
  return "func.func @main(%a: " + x + ") -> (tensor<" + result + element + ">, tensor<" + result + place + ">) {\n  %x = stablehlo.constant dense<" + initial +
         "> : " + e + "\n  %z = stablehlo.constant dense<0> : " + n + "\n  %k = stablehlo.iota dim = " + std::to_string(dimension) + " : " + i +
         "\n  %0:2 = stablehlo.reduce(%a init: %x), (%k init: %z) across dimensions = [" + std::to_string(dimension) + "] : (" + x + ", " + i + ", " + e + ", " + n +
         ") -> (tensor<" + result + element + ">, tensor<" + result + place + ">)\n   reducer(%p: " + e + ", %r: " + e + ") (%q: " + n + ", %s: " + n + ") {\n" +
         body + "    %1 = stablehlo.select %v, %p, %r : tensor<i1>, " + e + "\n" + chosen +
         "\n    stablehlo.return %1, %2 : " + e + ", " + n + "\n  }\n  return %0#0, %0#1 : tensor<" + result + element + ">, tensor<" + result + place + ">\n}\n";
}

TEST(OwnKernelsTest, ReductionsThatPickAnElementKnowItsPlace) {
  for (PickWriting writing : {PickWriting::Torch, PickWriting::Jax, PickWriting::TorchMlir})
    for (const char *direction : {"GT", "LT"}) {
      std::string initial = std::string_view(direction) == "GT" ? "0xFF800000" : "0x7F800000";
      for (bool isTame : {true, false}) {
        // Of zeros of both signs either is the largest: elements are looked at where there are none.
        expectOwnKernel(pickOf("5x700", 1, "5x", "f32", "i64", direction, writing, initial), isTame);
        expectOwnKernel(pickOf("300x7", 0, "7x", "f32", "i32", direction, writing, initial), isTame);
        expectOwnKernel(pickOf("900x19", 1, "900x", "f32", "i32", direction, writing, initial),
                        isTame); // Many short lines.
        expectOwnKernel(pickOf("70x64", 1, "70x", "f32", "ui32", direction, writing, "0.0"),
                        isTame); // Which some lines do not reach, or only equal.
        expectOwnKernel(pickOf("3x40x300", 1, "3x300x", "f32", "ui32", direction, writing, initial), isTame);
      }
      std::string least = std::string_view(direction) == "GT" ? "-2147483648" : "2147483647";
      expectOwnKernel(pickOf("2x9x300", 1, "2x300x", "i32", "i64", direction, writing, least));
      expectOwnKernel(pickOf("2x9x300", 1, "2x300x", "i32", "i64", direction, writing, "0")); // Which some lines do not reach.
      expectOwnKernel(pickOf("1000", 0, "", "i32", "i64", direction, writing, std::string_view(direction) == "GT" ? "-2147483648" : "2147483647"));
      expectOwnKernel(pickOf("4x0", 1, "4x", "f32", "i64", direction, writing, initial));
    }
}

TEST(OwnKernelsTest, GathersOfElementsOfRowsClampTheirPlaces) {
  for (const char *element : {"f32", "bf16", "i64", "ui8"}) {
    std::string x = std::string("tensor<3x5x40x") + element + ">", y = std::string("tensor<3x5x90x") + element + ">";
    expectOwnKernel("func.func @main(%a: " + x + ", %i: tensor<90x1xi32>) -> " + y + " {\n  %0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = "
                    "#stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [2], start_index_map = [2], index_vector_dim = 1>, "
                    "slice_sizes = array<i64: 3, 5, 1>}> : (" + x + ", tensor<90x1xi32>) -> " + y + "\n  return %0 : " + y + "\n}\n");
  }
}

/// Places found at run time, in stretches, one by one, of inner and outer dimensions; with batches that count.
TEST(OwnKernelsTest, GathersAlongOneDimensionAndInBatches) {
  for (const char *element : {"f32", "i64", "ui8"})
    for (int64_t many : {6, 118}) { // Few are no stretch.
      std::string e = element, n = std::to_string(many);
      for (int d : {0, 1, 2}) {
        int64_t sizes[] = {3, 4, 5};
        sizes[d] = 112;
        auto shape = [&] { return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" + std::to_string(sizes[2]) + "x" + e; };
        std::string x = "tensor<" + shape() + ">", offsets = d == 0 ? "1, 2" : d == 1 ? "0, 2" : "0, 1", slices;
        for (int k : {0, 1, 2})
          slices += (k ? ", " : "") + std::to_string(k == d ? 1 : sizes[k]);
        sizes[d] = many;
        std::string y = "tensor<" + shape() + ">", at = "tensor<" + n + "xi32>", wide = "tensor<" + n + "xf32>";
        // Forwards from an element before the first, but for where the argument is small.
        expectOwnKernel("func.func @main(%a: " + x + ", %f: " + wide + ") -> " + y + " {\n  %c = stablehlo.iota dim = 0 : " + at +
                        "\n  %z = stablehlo.constant dense<-8.0> : " + wide + "\n  %three = stablehlo.constant dense<3> : " + at +
                        "\n  %p = stablehlo.compare LT, %f, %z : (" + wide + ", " + wide + ") -> tensor<" + n + "xi1>\n  %m = stablehlo.subtract %c, %three : " +
                        at + "\n  %i = stablehlo.select %p, %three, %m : tensor<" + n + "xi1>, " + at +
                        "\n  %0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [" + offsets + "], collapsed_slice_dims = [" +
                        std::to_string(d) + "], start_index_map = [" + std::to_string(d) + "], index_vector_dim = 1>, slice_sizes = array<i64: " + slices +
                        ">}> : (" + x + ", " + at + ") -> " + y + "\n  return %0 : " + y + "\n}\n");
      }
      std::string y = "tensor<7x" + n + "x" + e + ">", at = "tensor<7x" + n + "x1xi32>", both = "tensor<7x" + n + "x2xi32>", x = "tensor<7x20x" + e + ">";
      expectOwnKernel("func.func @main(%a: " + x + ", %i: " + at + ") -> " + y + " {\n  %c = stablehlo.iota dim = 0 : " + at +
                      "\n  %j = stablehlo.concatenate %c, %i, dim = 2 : (" + at + ", " + at + ") -> " + both +
                      "\n  %0 = \"stablehlo.gather\"(%a, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], "
                      "index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (" + x + ", " + both + ") -> " + y + "\n  return %0 : " + y + "\n}\n");
    }
}

/// Batches of several dimensions, of which some are one for the kernel and some have one element;
/// places outside among them.
TEST(OwnKernelsTest, GathersOfElementsWhoseBatchesAreJoined) {
  for (std::string batch : {"40", "40x1", "1x40", "5x8", "5x1x8"})
    for (std::string e : {"f32", "ui8", "i64"})
      for (std::string i : {"i32", "i64"}) {
        std::string y = "tensor<" + batch + "x" + e + ">",
                    last = std::to_string(std::count(batch.begin(), batch.end(), 'x') + 1);
        for (bool hasTwo : {false, true}) {
          std::string x = std::string("tensor<") + (hasTwo ? "6x7x" : "9x") + e + ">",
                      at = "tensor<" + batch + (hasTwo ? "x2x" : "x1x") + i + ">";
          expectOwnKernel("func.func @main(%a: " + x + ", %i: " + at + ") -> " + y +
                          " {\n  %0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = " +
                          "#stablehlo.gather<collapsed_slice_dims = [0" + (hasTwo ? ", 1" : "") +
                          "], start_index_map = [0" + (hasTwo ? ", 1" : "") +
                          "], index_vector_dim = " + last + ">, slice_sizes = array<i64: 1" +
                          (hasTwo ? ", 1" : "") + ">}> : (" + x + ", " + at + ") -> " + y +
                          "\n  return %0 : " + y + "\n}\n");
        }
      }
}

/// Keys that several heads share are read where they lie.
TEST(OwnKernelsTest, ProductsWithMatricesThatAreShared) {
  for (std::string rows : {"1", "3"})
    expectOwnKernel("func.func @main(%q: tensor<12x" + rows +
                        "x8xf32>, %k: tensor<3x2x10x8xf32>) -> tensor<12x" + rows + "x10xf32> {" +
                        R"(
  %0 = stablehlo.broadcast_in_dim %k, dims = [0, 1, 3, 4] : (tensor<3x2x10x8xf32>) -> tensor<3x2x2x10x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<3x2x2x10x8xf32>) -> tensor<12x10x8xf32>
  %2 = stablehlo.dot_general %q, %1, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<12x)" +
                        rows + "x8xf32>, tensor<12x10x8xf32>) -> tensor<12x" + rows +
                        "x10xf32>\n  return %2 : tensor<12x" + rows + "x10xf32>\n}\n",
                    true);
}

/// Rows of a few elements, places outside among them.
TEST(OwnKernelsTest, ScattersOfRows) {
  for (const char *row : {"x", "x5x", "x2x3x"})
    for (const std::string combine : {"stablehlo.add %a, %b : tensor<f32>", "stablehlo.minimum %a, %b : tensor<f32>"}) {
      std::string x = std::string("tensor<9") + row + "f32>", u = std::string("tensor<40") + row + "f32>";
      std::string windows = std::string_view(row) == "x" ? "" : std::string_view(row) == "x5x" ? "update_window_dims = [1], " : "update_window_dims = [1, 2], ";
      expectOwnKernel("func.func @main(%x: " + x + ", %i: tensor<40x1xi32>, %u: " + u + ") -> " + x + R"( {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<)" + windows + R"(inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = )" + combine + "\n    stablehlo.return %1 : tensor<f32>\n  }) : (" + x + ", tensor<40x1xi32>, " + u + ") -> " + x + "\n  return %0 : " + x + "\n}\n", true);
    }
}

/// Single elements, as importers write scatter_add: all parts of an index vector count but one; places outside and places met often among them.
TEST(OwnKernelsTest, ScattersOfElementsInBatches) {
  for (const char *kind : {"i32", "i64", "ui8"})
    for (const char *combine : {"stablehlo.add %a, %b : tensor<f32>", "stablehlo.maximum %a, %b : tensor<f32>"})
      for (int placed : {0, 1, 2}) {
        std::string at = std::string("tensor<40x33x6x1x") + kind + ">", both = std::string("tensor<40x33x6x3x") + kind + ">";
        std::string x = placed == 0 ? "tensor<9x33x6xf32>" : placed == 1 ? "tensor<40x9x6xf32>" : "tensor<40x33x9xf32>", u = "tensor<40x33x6xf32>";
        std::string text = "func.func @main(%x: " + x + ", %i: " + at + ", %u: " + u + ") -> " + x + " {\n", parts;
        for (int d : {0, 1, 2}) {
          text += "  %c" + std::to_string(d) + " = stablehlo.iota dim = " + std::to_string(d) + " : " + at + "\n";
          parts += (d ? ", " : "") + (d == placed ? std::string("%i") : "%c" + std::to_string(d));
        }
        text += "  %v = stablehlo.concatenate " + parts + ", dim = 3 : (" + at + ", " + at + ", " + at + ") -> " + both + R"(
  %0 = "stablehlo.scatter"(%x, %v, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [0, 1, 2], index_vector_dim = 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = )" + combine + "\n    stablehlo.return %1 : tensor<f32>\n  }) : (" + x + ", " + both + ", " + u + ") -> " + x + "\n  return %0 : " + x + "\n}\n";
        expectOwnKernel(text, true);
      }
}

/// Rows of whole lines in less than a megabyte, which threads cut into columns; and of elements that are larger.
TEST(OwnKernelsTest, ScattersOfRowsOfWholeLines) {
  for (std::string row : {"96xf32", "16xf32", "3x48xf64", "64xi32"}) {
    std::string x = "tensor<900x" + row + ">", u = "tensor<7000x" + row + ">", e = row.substr(row.rfind('x') + 1), windows = row[1] == 'x' ? "1, 2" : "1";
    expectOwnKernel("func.func @main(%x: " + x + ", %i: tensor<7000x1xi32>, %u: " + u + ") -> " + x + R"( {
  %c = stablehlo.constant dense<97> : tensor<7000x1xi32>
  %j = stablehlo.multiply %i, %c : tensor<7000x1xi32>
  %0 = "stablehlo.scatter"(%x, %j, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [)" + windows + R"(], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<)" + e + ">, %q: tensor<" + e + R"(>):
    %r = stablehlo.add %p, %q : tensor<)" + e + R"(>
    stablehlo.return %r : tensor<)" + e + R"(>
  }) : ()" + x + ", tensor<7000x1xi32>, " + u + ") -> " + x + "\n  return %0 : " + x + "\n}\n", true);
  }
}

/// The same places in every channel: whole planes are gathered and scattered into, places outside and places met often among them.
TEST(OwnKernelsTest, PlanesOfPlaces) {
  for (std::string e : {"f32", "f64", "ui8"})
    for (std::string i : {"i32", "i64", "ui8"}) {
      std::string x = "tensor<2x5x9x7x" + e + ">", at = "tensor<2x4x6x3x" + i + ">", y = "tensor<2x5x4x6x" + e + ">";
      expectOwnKernel("func.func @main(%a: " + x + ", %i: " + at + ") -> " + y +
                      " {\n  %0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2, 3], "
                      "start_index_map = [0, 2, 3], index_vector_dim = 3>, slice_sizes = array<i64: 1, 5, 1, 1>}> : (" +
                      x + ", " + at + ") -> " + y + "\n  return %0 : " + y + "\n}\n");
    }
  // More places than are found at once, in more planes than they are looked up in at once.
  expectOwnKernel(R"(func.func @main(%x: tensor<40x9x7xf32>, %i: tensor<2x60x51x2xi32>) -> tensor<2x40x60x51xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 3>, slice_sizes = array<i64: 40, 1, 1>}> : (tensor<40x9x7xf32>, tensor<2x60x51x2xi32>) -> tensor<2x40x60x51xf32>
  return %0 : tensor<2x40x60x51xf32>
}
)");
  for (std::string combine : {"add", "maximum"})
    for (std::string i : {"i32", "i64"}) {
      std::string x = "tensor<2x5x9x7xf32>", at = "tensor<4x6x2x" + i + ">", u = "tensor<2x5x4x6xf32>";
      expectOwnKernel("func.func @main(%x: " + x + ", %i: " + at + ", %u: " + u + ") -> " + x + R"( {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], inserted_window_dims = [2, 3], scatter_dims_to_operand_dims = [2, 3], index_vector_dim = 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.)" + combine + R"( %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : ()" + x + ", " + at + ", " + u + ") -> " + x + "\n  return %0 : " + x + "\n}\n", true);
    }
}

/// Updates whose places are equally far apart, as those of patches that are added up: side by side, every second, down a column, all at one place,
/// and some of them outside.
TEST(OwnKernelsTest, PlanesOfPlacesInRuns) {
  for (std::string places : {"[[0, 1]]", "[[0, 2]]", "[[1, 0]]", "[[0, 0]]", "[[0, -1]]"})
    for (std::string combine : {"add", "maximum"})
      expectOwnKernel("func.func @main(%x: tensor<5x9x37xf32>, %u: tensor<5x3x24xf32>) -> tensor<5x9x37xf32> {\n  %steps = stablehlo.constant dense<" + places + R"(> : tensor<1x2xi64>
  %first = stablehlo.constant dense<[[1, 3], [0, 30], [8, 12]]> : tensor<3x2xi64>
  %n = stablehlo.iota dim = 1 : tensor<3x24x2xi64>
  %step = stablehlo.broadcast_in_dim %steps, dims = [0, 2] : (tensor<1x2xi64>) -> tensor<3x24x2xi64>
  %begin = stablehlo.broadcast_in_dim %first, dims = [0, 2] : (tensor<3x2xi64>) -> tensor<3x24x2xi64>
  %far = stablehlo.multiply %n, %step : tensor<3x24x2xi64>
  %all = stablehlo.add %begin, %far : tensor<3x24x2xi64>
  %0 = "stablehlo.scatter"(%x, %all, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.)" + combine + R"( %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<5x9x37xf32>, tensor<3x24x2xi64>, tensor<5x3x24xf32>) -> tensor<5x9x37xf32>
  return %0 : tensor<5x9x37xf32>
}
)", true);
}

/// Places in two dimensions at once, of numbers that are nothing but given; many are outside. Gathers take the nearest inside, scatters nothing.
TEST(OwnKernelsTest, PlacesInNeighbouringDimensions) {
  for (std::string i : {"i32", "i64"}) {
    std::string part = "tensor<4x6x1x" + i + ">", at = "tensor<4x6x3x" + i + ">";
    std::string vectors = "  %all = stablehlo.concatenate %n, %y, %z, dim = 2 : (" + part + ", " + part + ", " + part + ") -> " + at + "\n";
    for (std::string images : {"1", "2"}) {
      std::string x = "tensor<" + images + "x5x3x4xf32>";
      std::string signature = "func.func @main(%x: " + x + ", %n: " + part + ", %y: " + part + ", %z: " + part;
      expectOwnKernel(signature + ") -> tensor<5x4x6xf32> {\n" + vectors +
                      "  %0 = \"stablehlo.gather\"(%x, %all) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0, 2, 3], "
                      "start_index_map = [0, 2, 3], index_vector_dim = 2>, slice_sizes = array<i64: 1, 5, 1, 1>}> : (" +
                      x + ", " + at + ") -> tensor<5x4x6xf32>\n  return %0 : tensor<5x4x6xf32>\n}\n");
      expectOwnKernel(signature + ", %u: tensor<5x4x6xf32>) -> " + x + " {\n" + vectors + R"(  %0 = "stablehlo.scatter"(%x, %all, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0, 2, 3], scatter_dims_to_operand_dims = [0, 2, 3], index_vector_dim = 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : ()" + x + ", " + at + ", tensor<5x4x6xf32>) -> " + x + "\n  return %0 : " + x + "\n}\n", true);
    }
  }
}

/// As an importer writes them that knows no other places than index vectors of all dimensions, computed for every channel.
TEST(OwnKernelsTest, PlacesThatAreTheSameInAllChannels) {
  const std::string places = R"(
  %c0 = stablehlo.iota dim = 0 : tensor<2xi32>
  %c1 = stablehlo.constant dense<[0, 1, 2]> : tensor<3xi32>
  %two = stablehlo.constant dense<2> : tensor<2x3x4x6xi32>
  %n = stablehlo.broadcast_in_dim %c0, dims = [0] : (tensor<2xi32>) -> tensor<2x3x4x6x1xi32>
  %c = stablehlo.broadcast_in_dim %c1, dims = [1] : (tensor<3xi32>) -> tensor<2x3x4x6x1xi32>
  %wide = stablehlo.broadcast_in_dim %i, dims = [0, 2, 3] : (tensor<2x4x6xi32>) -> tensor<2x3x4x6xi32>
  %up = stablehlo.add %wide, %two : tensor<2x3x4x6xi32>
  %twice = stablehlo.multiply %up, %two : tensor<2x3x4x6xi32>
  %h = stablehlo.reshape %up : (tensor<2x3x4x6xi32>) -> tensor<2x3x4x6x1xi32>
  %w = stablehlo.reshape %twice : (tensor<2x3x4x6xi32>) -> tensor<2x3x4x6x1xi32>
  %all = stablehlo.concatenate %n, %c, %h, %w, dim = 4 : (tensor<2x3x4x6x1xi32>, tensor<2x3x4x6x1xi32>, tensor<2x3x4x6x1xi32>, tensor<2x3x4x6x1xi32>) -> tensor<2x3x4x6x4xi32>
)";
  expectOwnKernel("func.func @main(%x: tensor<2x3x9x7xf32>, %i: tensor<2x4x6xi32>) -> tensor<2x3x4x6xf32> {" + places + R"(
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2, 3], start_index_map = [0, 1, 2, 3], index_vector_dim = 4>, slice_sizes = array<i64: 1, 1, 1, 1>}> : (tensor<2x3x9x7xf32>, tensor<2x3x4x6x4xi32>) -> tensor<2x3x4x6xf32>
  %weight = stablehlo.convert %twice : (tensor<2x3x4x6xi32>) -> tensor<2x3x4x6xf32>
  %1 = stablehlo.multiply %0, %weight : tensor<2x3x4x6xf32>
  return %1 : tensor<2x3x4x6xf32>
}
)");
  expectOwnKernel("func.func @main(%x: tensor<2x3x9x7xf32>, %i: tensor<2x4x6xi32>, %u: tensor<2x3x4x6xf32>) -> tensor<2x3x9x7xf32> {" + places + R"(
  %0 = "stablehlo.scatter"(%x, %all, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1, 2, 3], scatter_dims_to_operand_dims = [0, 1, 2, 3], index_vector_dim = 4>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<2x3x9x7xf32>, tensor<2x3x4x6x4xi32>, tensor<2x3x4x6xf32>) -> tensor<2x3x9x7xf32>
  return %0 : tensor<2x3x9x7xf32>
}
)", true);
}

/// Single numbers of two slices side by side, one of which begins further on.
TEST(OwnKernelsTest, PairsOfSlices) {
  for (std::string e : {"f32", "f64", "complex<f32>", "i16"})
    expectOwnKernel("func.func @main(%x: tensor<4x28x1x" + e + ">) -> tensor<3x28x2x" + e + "> {\n  %0 = stablehlo.slice %x [0:3, 0:28, 0:1] : (tensor<4x28x1x" + e +
                    ">) -> tensor<3x28x1x" + e + ">\n  %1 = stablehlo.slice %x [1:4, 0:28, 0:1] : (tensor<4x28x1x" + e + ">) -> tensor<3x28x1x" + e +
                    ">\n  %2 = stablehlo.concatenate %0, %1, dim = 2 : (tensor<3x28x1x" + e + ">, tensor<3x28x1x" + e + ">) -> tensor<3x28x2x" + e +
                    ">\n  return %2 : tensor<3x28x2x" + e + ">\n}\n");
}

/// Many rows and few, of numbers, of a few bytes and of many, with slices that are read where they lie.
TEST(OwnKernelsTest, ConcatenationsAndRolls) {
  for (const char *element : {"f32", "ui8", "i64", "complex<f32>"})
    for (const char *shape : {"3x70x", "900x70x", "40x5x7x", "2x20000x", "700x2x"})
      for (int d : {0, 1}) {
        std::string text = shape, e = element;
        std::vector<int64_t> sizes;
        for (size_t at = 0, x; (x = text.find('x', at)) != std::string::npos; at = x + 1)
          sizes.push_back(std::stoll(text.substr(at, x - at)));
        auto type = [&](int64_t along) {
          std::string all = "tensor<";
          for (size_t k = 0; k < sizes.size(); ++k)
            all += std::to_string(int(k) == d ? along : sizes[k]) + "x";
          return all + e + ">";
        };
        auto sliced = [&](int64_t from, int64_t to) {
          std::string all = "stablehlo.slice %a [";
          for (size_t k = 0; k < sizes.size(); ++k)
            all += (k ? ", " : "") + (int(k) == d ? std::to_string(from) + ":" + std::to_string(to) : "0:" + std::to_string(sizes[k]));
          return all + "] : (" + type(sizes[size_t(d)]) + ") -> " + type(to - from);
        };
        int64_t whole = sizes[size_t(d)];
        expectOwnKernel("func.func @main(%a: " + type(whole) + ", %b: " + type(1) + ") -> " + type(2 * whole + 1) + " {\n  %0 = " + sliced(1, whole) +
                        "\n  %1 = " + sliced(0, 1) + "\n  %2 = stablehlo.concatenate %0, %1, %b, %a, dim = " + std::to_string(d) + " : (" + type(whole - 1) +
                        ", " + type(1) + ", " + type(1) + ", " + type(whole) + ") -> " + type(2 * whole + 1) + "\n  return %2 : " + type(2 * whole + 1) + "\n}\n");
      }
}

TEST(OwnKernelsTest, TwoArraysNumberByNumber) {
  for (const char *element : {"f32", "i64", "ui8"}) {
    std::string one = std::string("tensor<3x70001x1x") + element + ">", two = std::string("tensor<3x70001x2x") + element + ">";
    expectOwnKernel("func.func @main(%a: " + one + ", %b: " + one + ") -> " + two + " {\n  %0 = stablehlo.concatenate %a, %b, dim = 2 : (" + one + ", " + one +
                    ") -> " + two + "\n  return %0 : " + two + "\n}\n");
  }
}

/// One column: the products of rows, with what is done to them.
TEST(OwnKernelsTest, AMatrixTimesOneColumn) {
  for (const char *dimensions : {"contracting_dims = [1] x [0] : (tensor<70x37xf32>, tensor<37x1xf32>) -> tensor<70x1xf32>",
                                 "contracting_dims = [0] x [0] : (tensor<70x37xf32>, tensor<70x1xf32>) -> tensor<37x1xf32>"}) {
    std::string text = dimensions, result = text.substr(text.rfind("tensor")), column = text.substr(text.find(", tensor") + 2);
    column = column.substr(0, column.find(')'));
    expectOwnKernel("func.func @main(%x: tensor<70x37xf32>, %w: " + column + ", %b: " + result + ") -> " + result +
                        " {\n  %0 = stablehlo.negate %x : tensor<70x37xf32>\n  %1 = stablehlo.dot_general %0, %w, " + text + "\n  %2 = stablehlo.add %1, %b : " + result +
                        "\n  %3 = stablehlo.abs %2 : " + result + "\n  return %3 : " + result + "\n}\n", true);
  }
}

/// A matrix for each expert or head, whose columns are one dimension of the product.
TEST(OwnKernelsTest, MatricesBroughtTogether) {
  expectOwnKernel(
      R"(func.func @main(%x: tensor<1x2x5x16xf32>, %w: tensor<6x16x32xf32>) -> tensor<1x2x5x192xf32> {
  %0 = stablehlo.transpose %w, dims = [1, 0, 2] : (tensor<6x16x32xf32>) -> tensor<16x6x32xf32>
  %1 = stablehlo.reshape %0 : (tensor<16x6x32xf32>) -> tensor<1x16x192xf32>
  %2 = stablehlo.dot_general %x, %1, batching_dims = [0] x [0], contracting_dims = [3] x [1] : (tensor<1x2x5x16xf32>, tensor<1x16x192xf32>) -> tensor<1x2x5x192xf32>
  return %2 : tensor<1x2x5x192xf32>
})",
      true);
  expectOwnKernel(
      R"(func.func @main(%x: tensor<16x5xf32>, %w: tensor<6x16x32xf32>) -> tensor<5x192xf32> {
  %0 = stablehlo.transpose %w, dims = [0, 2, 1] : (tensor<6x16x32xf32>) -> tensor<6x32x16xf32>
  %1 = stablehlo.reshape %0 : (tensor<6x32x16xf32>) -> tensor<192x16xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [1] : (tensor<16x5xf32>, tensor<192x16xf32>) -> tensor<5x192xf32>
  return %2 : tensor<5x192xf32>
})",
      true);
  // As deep as there are columns, of which one of size one lies before the depth.
  expectOwnKernel(
      R"(func.func @main(%x: tensor<5x32xf32>, %w: tensor<16x2x32xf32>) -> tensor<5x1x32xf32> {
  %0 = stablehlo.transpose %w, dims = [1, 0, 2] : (tensor<16x2x32xf32>) -> tensor<2x16x32xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x16x32xf32>) -> tensor<1x32x32xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [1] : (tensor<5x32xf32>, tensor<1x32x32xf32>) -> tensor<5x1x32xf32>
  return %2 : tensor<5x1x32xf32>
})",
      true);
}

TEST(OwnKernelsTest, ConvolutionsAndPoolsOfVolumes) {
  for (const char *window : {"stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]]", "stride = [2, 1, 2], pad = [[0, 2], [1, 0], [-1, 1]], rhs_dilate = [2, 1, 1]",
                             "stride = [1, 2, 1], pad = [[2, 1], [0, 0], [1, 1]], lhs_dilate = [2, 2, 1], reverse = [true, false, true]"})
    for (int groups : {1, 2, 4}) { // Of as many groups as channels, four filters of one each.
      std::string text = std::string("func.func @main(%x: tensor<2x4x7x6x9xf32>, %k: tensor<6x") + std::to_string(4 / groups) +
                         "x3x2x3xf32>) -> tensor<RESULTxf32> {\n  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {" +
                         window + "} {batch_group_count = 1 : i64, feature_group_count = " + std::to_string(groups) +
                         " : i64} : (tensor<2x4x7x6x9xf32>, tensor<6x" + std::to_string(4 / groups) + "x3x2x3xf32>) -> tensor<RESULTxf32>\n  return %0 : tensor<RESULTxf32>\n}\n";
      const char *result = std::strstr(window, "lhs_dilate") ? "2x6x14x5x9" : std::strstr(window, "rhs_dilate") ? "2x6x3x6x4" : "2x6x7x7x9";
      for (size_t at; (at = text.find("RESULT")) != std::string::npos;)
        text.replace(at, 6, groups == 4 ? std::string(result).replace(2, 1, "4") : result);
      for (size_t at; groups == 4 && (at = text.find("<6x1x")) != std::string::npos;)
        text.replace(at, 5, "<4x1x");
      expectOwnKernel(text, /*isTame=*/true);
    }
  // Of halves, and the gradient of a kernel.
  expectOwnKernel(
      R"(func.func @main(%x: tensor<1x4x5x6x2xbf16>, %k: tensor<3x3x3x2x16xbf16>) -> tensor<1x4x5x6x16xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x5x6x2xbf16>, tensor<3x3x3x2x16xbf16>) -> tensor<1x4x5x6x16xf32>
  return %0 : tensor<1x4x5x6x16xf32>
})",
      /*isTame=*/true);
  expectOwnKernel(
      R"(func.func @main(%x: tensor<2x4x7x8x8xf32>, %y: tensor<2x6x7x8x8xf32>) -> tensor<6x4x3x3x3xf32> {
  %g = stablehlo.negate %y : tensor<2x6x7x8x8xf32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, b, 0, 1, 2]x[i, o, 0, 1, 2]->[f, b, 0, 1, 2], window = {pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x7x8x8xf32>, tensor<2x6x7x8x8xf32>) -> tensor<6x4x3x3x3xf32>
  return %0 : tensor<6x4x3x3x3xf32>
})",
      /*isTame=*/true);
  for (const char *fold : {"maximum", "add"}) {
    std::string init = std::string_view(fold) == "add" ? "0.0" : "0xFF800000";
    auto pool = [&](const std::string &from, const std::string &to, const std::string &rest) {
      return "func.func @main(%x: tensor<" + from + "xf32>) -> tensor<" + to + "xf32> {\n  %i = stablehlo.constant dense<" + init +
             "> : tensor<f32>\n  %0 = \"stablehlo.reduce_window\"(%x, %i) <{" + rest +
             "}> ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %1 = stablehlo." + fold +
             " %a, %b : tensor<f32>\n    stablehlo.return %1 : tensor<f32>\n  }) : (tensor<" + from + "xf32>, tensor<f32>) -> tensor<" + to +
             "xf32>\n  return %0 : tensor<" + to + "xf32>\n}\n";
    };
    expectOwnKernel(pool("2x3x6x7x8", "2x3x3x4x4", "window_dimensions = array<i64: 1, 1, 2, 3, 3>, window_strides = array<i64: 1, 1, 2, 2, 2>, "
                         "padding = dense<[[0, 0], [0, 0], [0, 0], [1, 1], [0, 1]]> : tensor<5x2xi64>"), true);
    expectOwnKernel(pool("2x3x6x7x8", "2x3x6x3x4", "window_dimensions = array<i64: 1, 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 1, 2, 2>"), true);
    expectOwnKernel(pool("2x6x7x8x3", "2x2x7x8x3", "window_dimensions = array<i64: 1, 3, 1, 1, 1>, window_strides = array<i64: 1, 3, 1, 1, 1>"), true);
    expectOwnKernel(pool("2x3x9", "2x3x5", "window_dimensions = array<i64: 1, 1, 3>, window_strides = array<i64: 1, 1, 2>, "
                         "padding = dense<[[0, 0], [0, 0], [1, 1]]> : tensor<3x2xi64>"), true);
    expectOwnKernel(pool("2x9x3", "2x4x3", "window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>"), true);
  }
}

std::string windowOf(const std::string &in, const std::string &out, const std::string &element,
                     const std::string &init, const std::string &op, const std::string &attributes) {
  std::string i = "tensor<" + in + "x" + element + ">", o = "tensor<" + out + "x" + element + ">",
              e = "tensor<" + element + ">";
  return "func.func @main(%a: " + i + ") -> " + o + " {\n  %z = stablehlo.constant dense<" + init +
         "> : " + e + "\n  %0 = \"stablehlo.reduce_window\"(%a, %z) <{" + attributes +
         "}> ({\n  ^bb0(%p: " + e + ", %q: " + e + "):\n    %s = stablehlo." + op + " %p, %q : " + e +
         "\n    stablehlo.return %s : " + e + "\n  }) : (" + i + ", " + e + ") -> " + o +
         "\n  return %0 : " + o + "\n}\n";
}

TEST(OwnKernelsTest, WindowsOfAnyRankStrideAndDilation) {
  // A line, a solid, and a beginning that counts as padding too.
  expectOwnKernel(windowOf("3x11", "3x5", "f32", "0xFF800000", "maximum",
                           "window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>"));
  expectOwnKernel(windowOf("2x5x6x7x2", "2x2x3x3x2", "f32", "0xFF800000", "maximum",
                           "window_dimensions = array<i64: 1, 3, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 2, 1>"));
  // Images with columns inmost, also where windows reach beyond them. Which of two NaNs is taken is not said.
  for (const char *op : {"maximum", "minimum", "add"}) {
    std::string initial = std::string_view(op) == "add" ? "0.0" : std::string_view(op) == "maximum" ? "0xFF800000" : "0x7F800000";
    expectOwnKernel(windowOf("2x3x9x37", "2x3x5x19", "f32", initial, op,
                             "window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>, padding = dense<[[0, 0], [0, 0], [1, 1], [1, 1]]> : tensor<4x2xi64>"), true);
    expectOwnKernel(windowOf("2x3x8x40", "2x3x8x8", "f32", initial, op,
                             "window_dimensions = array<i64: 1, 1, 1, 5>, window_strides = array<i64: 1, 1, 1, 5>"), true);
    expectOwnKernel(windowOf("3x4x30", "3x6x28", "f32", initial, op,
                             "window_dimensions = array<i64: 1, 3, 2>, window_dilations = array<i64: 1, 1, 3>, padding = dense<[[0, 0], [2, 2], [0, 1]]> : tensor<3x2xi64>"), true);
  }
  expectOwnKernel(windowOf("2x3x4x6", "2x3x5x6", "f32", "2.0", "add",
                           "window_dimensions = array<i64: 1, 1, 2, 1>, padding = dense<[[0, 0], [0, 0], [1, 1], [0, 0]]> : tensor<4x2xi64>"), true);
  expectOwnKernel(windowOf("9", "13", "i32", "3", "add",
                           "window_dimensions = array<i64: 4>, base_dilations = array<i64: 2>, window_dilations = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>"));
  expectOwnKernel(windowOf("4x4", "3x3", "f64", "2.0", "multiply",
                           "window_dimensions = array<i64: 2, 2>"), true);
  expectOwnKernel(windowOf("4x6", "6x6", "i64", "-1", "and",
                           "window_dimensions = array<i64: 2, 3>, padding = dense<[[2, 1], [1, 1]]> : tensor<2x2xi64>"));
}

TEST(OwnKernelsTest, GradientsOfPoolsPickOneOfEachWindow) {
  for (const char *pick : {"GE", "GT", "LE", "LT"})
    for (const char *padding : {"", ", padding = dense<[[0, 0], [1, 1], [1, 0]]> : tensor<3x2xi64>"}) {
      std::string source = *padding ? "tensor<2x7x6xf32>" : "tensor<2x5x5xf32>";
      expectOwnKernel("func.func @main(%a: tensor<2x6x6xf32>, %g: " + source + R"() -> tensor<2x6x6xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 1, 1>)" +
                          std::string(padding) + R"(}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare )" + pick + R"(, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x6x6xf32>, )" + source + R"(, tensor<f32>) -> tensor<2x6x6xf32>
  return %0 : tensor<2x6x6xf32>
})", true);
    }
}

TEST(OwnKernelsTest, TransformsOfSeveralDimensionsAreOfTheDevicesOwn) {
  for (const std::string kind : {"FFT", "IFFT", "RFFT", "IRFFT"}) {
    bool isFromReals = kind == "RFFT", isToReals = kind == "IRFFT";
    std::string in = isFromReals ? "tensor<3x6x8xf32>" : isToReals ? "tensor<3x6x5xcomplex<f32>>" : "tensor<3x6x8xcomplex<f32>>",
                out = isFromReals ? "tensor<3x6x5xcomplex<f32>>" : isToReals ? "tensor<3x6x8xf32>" : "tensor<3x6x8xcomplex<f32>>",
                text = "func.func @main(%x: " + in + ") -> " + out + " {\n  %0 = stablehlo.fft %x, type = " + kind +
                       ", length = [6, 8] : (" + in + ") -> " + out + "\n  return %0 : " + out + "\n}\n";
    auto expected = outcomeBy("reference", text, true), actual = outcomeBy("cpu", text, true);
    ASSERT_TRUE(expected && actual) << text;
    EXPECT_EQ(actual->notes.count("fallbacks"), 0u) << text;
    const auto *a = reinterpret_cast<const float *>(expected->results[0].data()),
               *b = reinterpret_cast<const float *>(actual->results[0].data());
    for (int64_t i = 0; i < expected->results[0].byteSize() / int64_t(sizeof(float)); ++i)
      EXPECT_NEAR(a[i], b[i], 2e-6f * (std::fabs(a[i]) + 10)) << kind << " at " << i;
  }
}

TEST(OwnKernelsTest, OneLongLineIsTransformed) {
  constexpr int64_t length = 8192;
  std::string text = "func.func @main(%x: tensor<8192xcomplex<f32>>) -> tensor<8192xcomplex<f32>> {\n"
                     "  %0 = stablehlo.fft %x, type = FFT, length = [8192] : (tensor<8192xcomplex<f32>>) -> tensor<8192xcomplex<f32>>\n"
                     "  return %0 : tensor<8192xcomplex<f32>>\n}\n";
  auto expected = outcomeBy("reference", text, true), actual = outcomeBy("cpu", text, true);
  ASSERT_TRUE(expected && actual);
  EXPECT_EQ(actual->notes.count("fallbacks"), 0u);
  const auto *a = reinterpret_cast<const float *>(expected->results[0].data()),
             *b = reinterpret_cast<const float *>(actual->results[0].data());
  for (int64_t i = 0; i < 2 * length; ++i)
    // Sums of 8192 numbers up to 11, in 13 steps that round; without fused steps more than with them.
    ASSERT_NEAR(a[i], b[i], 2e-6f * (std::fabs(a[i]) + 1000)) << i;
}

/// As much as threads share, with rows that are hit often, once and never.
TEST(OwnKernelsTest, ScattersOfManyRowsAreShared) {
  for (const std::string combine : {"stablehlo.add %a, %b : tensor<f32>", "stablehlo.maximum %a, %b : tensor<f32>"})
    expectOwnKernel(R"(func.func @main(%x: tensor<19x9000xf32>, %i: tensor<700x1xi32>, %u: tensor<700x9000xf32>) -> tensor<19x9000xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = )" + combine + R"(
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<19x9000xf32>, tensor<700x1xi32>, tensor<700x9000xf32>) -> tensor<19x9000xf32>
  return %0 : tensor<19x9000xf32>
})", true);
}

/// More than caches hold, which is written past them, rows that are no multiple of a line, and short ones, whose size is known.
TEST(OwnKernelsTest, GathersOfManyRows) {
  for (const std::string width : {"3", "4", "6", "8", "12", "64", "72"})
    expectOwnKernel("func.func @main(%x: tensor<50x" + width + "xf32>, %i: tensor<50001x1xi32>) -> tensor<50001x" + width + R"(xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, )" + width + R"(>, indices_are_sorted = false}> : (tensor<50x)" + width + "xf32>, tensor<50001x1xi32>) -> tensor<50001x" + width + "xf32>\n  return %0 : tensor<50001x" + width + "xf32>\n}");
}

TEST(OwnKernelsTest, ConvolutionsOfHalvesAreRoundedOnce) {
  expectOwnKernel(R"(func.func @main(%x: tensor<2x9x3xbf16>, %k: tensor<3x3x4xbf16>) -> tensor<2x7x4xbf16> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x3xbf16>, tensor<3x3x4xbf16>) -> tensor<2x7x4xbf16>
  return %0 : tensor<2x7x4xbf16>
})", true);
  expectOwnKernel(R"(func.func @main(%x: tensor<1x8x8x2xbf16>, %k: tensor<3x3x2x5xbf16>) -> tensor<1x8x8x5xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x2xbf16>, tensor<3x3x2x5xbf16>) -> tensor<1x8x8x5xf32>
  return %0 : tensor<1x8x8x5xf32>
})", true);
}

/// As torch's models in bfloat16 are imported: sums in f32, all else in bf16.
/// What kernels do to sums in registers, and what is left behind it, is what the program says: also of zeros, infinities and NaNs.
TEST(OwnKernelsTest, StepsBehindConvolutionsAreDoneOneByOne) {
  for (const char *channels : {"5", "48"})
    for (bool isDepthwise : {false, true}) {
      std::string c = channels, image = "tensor<1x6x6x" + c + "xf32>", row = "tensor<" + c + "xf32>";
      std::string kernel = isDepthwise ? "tensor<3x3x1x" + c + "xf32>" : "tensor<1x1x" + c + "x" + c + "xf32>";
      std::string head = "func.func @main(%x: " + image + ", %k: " + kernel + ", %m: " + row + ", %s: " + row + ", %b: " + row + ", %r: " + image + ") -> " + image +
                         " {\n  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {" +
                         (isDepthwise ? "pad = [[1, 1], [1, 1]]" : "") + "} {batch_group_count = 1 : i64, feature_group_count = " + (isDepthwise ? c : "1") + " : i64} : (" + image +
                         ", " + kernel + ") -> " + image + "\n";
      for (const char *name : {"m", "s", "b"})
        head += std::string("  %") + name + "w = stablehlo.broadcast_in_dim %" + name + ", dims = [3] : (" + row + ") -> " + image + "\n";
      for (auto [name, number] : {std::pair{"z", "0.0"}, {"six", "6.0"}, {"n", "-0.0"}, {"two", "2.0"}})
        head += std::string("  %") + name + " = stablehlo.constant dense<" + number + "> : " + image + "\n";
      auto step = [&](const char *text) { return "  " + std::string(text) + " : " + image + "\n"; };
      std::string normalised = step("%1 = stablehlo.subtract %0, %mw") + step("%2 = stablehlo.multiply %1, %sw") + step("%3 = stablehlo.multiply %sw, %2") + step("%4 = stablehlo.add %bw, %3");
      std::string result = "  return %9 : " + image + "\n}\n";
      for (bool isTame : {true, false}) {
        expectOwnKernel(head + normalised + step("%5 = stablehlo.maximum %4, %z") + step("%9 = stablehlo.minimum %5, %six") + result, isTame, true);
        expectOwnKernel(head + normalised + step("%5 = stablehlo.add %r, %4") + step("%9 = stablehlo.maximum %z, %5") + result, isTame, true);
        expectOwnKernel(head + step("%9 = stablehlo.maximum %0, %n") + result, isTame, true);
        expectOwnKernel(head + step("%9 = stablehlo.minimum %0, %z") + result, isTame, true);
        expectOwnKernel(head + step("%1 = stablehlo.minimum %0, %two") + step("%9 = stablehlo.maximum %1, %z") + result, isTame, true);
        expectOwnKernel(head + step("%1 = stablehlo.subtract %mw, %0") + step("%9 = stablehlo.multiply %1, %sw") + result, isTame, true);
        expectOwnKernel(head + step("%1 = stablehlo.add %0, %r") + step("%2 = stablehlo.add %1, %bw") + step("%9 = stablehlo.multiply %2, %0") + result, isTame, true);
      }
    }
}

TEST(OwnKernelsTest, ProgramsWrittenInBf16) {
  expectOwnKernel(R"(func.func @main(%x: tensor<1x8x8x16xbf16>, %w: tensor<3x3x16x24xbf16>, %b: tensor<24xbf16>, %d: tensor<3x3x1x24xbf16>, %v: tensor<1x1x24x24xbf16>, %m: tensor<24x10xbf16>) -> tensor<16x10xbf16> {
  %x32 = stablehlo.convert %x : (tensor<1x8x8x16xbf16>) -> tensor<1x8x8x16xf32>
  %w32 = stablehlo.convert %w : (tensor<3x3x16x24xbf16>) -> tensor<3x3x16x24xf32>
  %d32 = stablehlo.convert %d : (tensor<3x3x1x24xbf16>) -> tensor<3x3x1x24xf32>
  %v32 = stablehlo.convert %v : (tensor<1x1x24x24xbf16>) -> tensor<1x1x24x24xf32>
  %m32 = stablehlo.convert %m : (tensor<24x10xbf16>) -> tensor<24x10xf32>
  %0 = stablehlo.convolution(%x32, %w32) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x16xf32>, tensor<3x3x16x24xf32>) -> tensor<1x8x8x24xf32>
  %1 = stablehlo.convert %0 : (tensor<1x8x8x24xf32>) -> tensor<1x8x8x24xbf16>
  %b1 = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<24xbf16>) -> tensor<1x8x8x24xbf16>
  %2 = stablehlo.add %1, %b1 : tensor<1x8x8x24xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<1x8x8x24xbf16>
  %3 = stablehlo.maximum %2, %zero : tensor<1x8x8x24xbf16>
  %4 = stablehlo.convert %3 : (tensor<1x8x8x24xbf16>) -> tensor<1x8x8x24xf32>
  %5 = stablehlo.convolution(%4, %d32) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 24 : i64} : (tensor<1x8x8x24xf32>, tensor<3x3x1x24xf32>) -> tensor<1x8x8x24xf32>
  %6 = stablehlo.convert %5 : (tensor<1x8x8x24xf32>) -> tensor<1x8x8x24xbf16>
  %7 = stablehlo.convert %6 : (tensor<1x8x8x24xbf16>) -> tensor<1x8x8x24xf32>
  %8 = stablehlo.convolution(%7, %v32) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x24xf32>, tensor<1x1x24x24xf32>) -> tensor<1x8x8x24xf32>
  %9 = stablehlo.convert %8 : (tensor<1x8x8x24xf32>) -> tensor<1x8x8x24xbf16>
  %10 = stablehlo.add %9, %3 : tensor<1x8x8x24xbf16>
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %11 = "stablehlo.reduce_window"(%10, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):
    %s = stablehlo.maximum %p, %q : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<1x8x8x24xbf16>, tensor<bf16>) -> tensor<1x4x4x24xbf16>
  %12 = stablehlo.reshape %11 : (tensor<1x4x4x24xbf16>) -> tensor<16x24xbf16>
  %13 = stablehlo.convert %12 : (tensor<16x24xbf16>) -> tensor<16x24xf32>
  %14 = stablehlo.dot_general %13, %m32, contracting_dims = [1] x [0] : (tensor<16x24xf32>, tensor<24x10xf32>) -> tensor<16x10xf32>
  %15 = stablehlo.convert %14 : (tensor<16x10xf32>) -> tensor<16x10xbf16>
  return %15 : tensor<16x10xbf16>
})", true);
}

} // namespace
} // namespace cupel::compiler
