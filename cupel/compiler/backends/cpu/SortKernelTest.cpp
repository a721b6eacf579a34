// Sorts on the device's own kernels: by one key and by several, by comparators however they are
// written, and the first few of a line.

#include "cupel/compiler/backends/cpu/OwnKernelTesting.h"

namespace cupel::compiler {
namespace {

std::string sortOf(const std::string &shape, const std::string &element, const std::string &compare,
                   int dimension) {
  std::string type = "tensor<" + shape + "x" + element + ">", other = "tensor<" + shape + "xi32>",
              e = "tensor<" + element + ">";
  return "func.func @main(%a: " + type + ", %b: " + other + ") -> (" + type + ", " + other +
         ") {\n"
         "  %0:2 = \"stablehlo.sort\"(%a, %b) <{dimension = " +
         std::to_string(dimension) + " : i64, is_stable = true}> ({\n  ^bb0(%p: " + e +
         ", %q: " + e + ", %r: tensor<i32>, %s: tensor<i32>):\n" + compare +
         "    stablehlo.return %c : tensor<i1>\n  }) : (" + type + ", " + other + ") -> (" + type +
         ", " + other + ")\n  return %0#0, %0#1 : " + type + ", " + other + "\n}\n";
}

std::string plain(const std::string &direction, const std::string &element, const char *order,
                  const char *sides = "%p, %q") {
  return "    %c = stablehlo.compare " + direction + ", " + sides + ", " + order + " : (tensor<" +
         element + ">, tensor<" + element + ">) -> tensor<i1>\n";
}

TEST(SortKernelTest, SortsByOneKeyAreStableAndPutSpecialNumbersWhereTheyBelong) {
  for (const char *shape : {"1", "7x5", "3x600", "2x9000"})
    for (int dimension : {0, 1}) {
      if (std::string_view(shape) == "1" && dimension == 1)
        continue;
      for (const char *direction : {"LT", "GT"}) {
        // Without a place for NaNs they are no order.
        expectOwnKernel(sortOf(shape, "f32", plain(direction, "f32", "FLOAT"), dimension), true);
        expectOwnKernel(sortOf(shape, "f32", plain(direction, "f32", "TOTALORDER"), dimension));
      }
      expectOwnKernel(sortOf(shape, "bf16", plain("LT", "bf16", "TOTALORDER"), dimension));
      expectOwnKernel(sortOf(shape, "f64", plain("GT", "f64", "FLOAT"), dimension), true);
      expectOwnKernel(sortOf(shape, "i64", plain("LT", "i64", "SIGNED"), dimension));
      expectOwnKernel(sortOf(shape, "i32", plain("LT", "i32", "SIGNED", "%q, %p"), dimension));
      expectOwnKernel(sortOf(shape, "ui8", plain("GT", "ui8", "UNSIGNED"), dimension));
    }
}

/// The first few of so many lines.
void expectFirstOf(const std::string &e, int64_t lines, int64_t count, int64_t first) {
  const bool isInteger = e == "i64";
  std::string all = std::to_string(lines) + "x" + std::to_string(count), some = std::to_string(lines) + "x" + std::to_string(first);
  std::string text = sortOf(all, e, plain("GT", e, isInteger ? "SIGNED" : "TOTALORDER"), 1);
  std::string end = "  return %0#0, %0#1 : tensor<" + all + "x" + e + ">, tensor<" + all + "xi32>\n}\n";
  ASSERT_TRUE(text.ends_with(end));
  text.resize(text.size() - end.size());
  text.replace(text.find("-> ("), text.find(") {\n") - text.find("-> ("), "-> (tensor<" + some + "x" + e + ">, tensor<" + some + "xi32>");
  for (auto [name, type] : {std::pair<std::string, std::string>{"0", e}, {"1", "i32"}})
    text += "  %f" + name + " = stablehlo.slice %0#" + name + " [0:" + std::to_string(lines) + ", 0:" + std::to_string(first) + "] : (tensor<" + all + "x" + type +
            ">) -> tensor<" + some + "x" + type + ">\n";
  text += "  return %f0, %f1 : tensor<" + some + "x" + e + ">, tensor<" + some + "xi32>\n}\n";
  expectOwnKernel(text);
}

/// Equal ones too come in their order, wherever the limit was found that later ones are held
/// against.
TEST(SortKernelTest, TheFirstOfSortedLines) {
  for (const char *element : {"f32", "i64", "bf16"})
    for (int count : {300, 4097})
      for (int first : {1, 12, 30})
        expectFirstOf(element, 3, count, first);
}

/// Of short ones, which are lanes of vectors: whole ones, and some that are left.
TEST(SortKernelTest, TheFirstOfManyShortLines) {
  for (const char *element : {"f32", "i64", "bf16"})
    for (int64_t lines : {1, 37, 1003})
      for (auto [count, first] : {std::pair{8, 2}, {64, 8}, {65, 8}, {5, 5}, {9, 9}, {3, 1}})
        expectFirstOf(element, lines, count, first);
}

/// NaN counts as the largest, as torch has it, and of equal elements the one that stands first:
/// `direction` GT or LT.
std::string nanIsLargest(const std::string &element, const char *direction, const char *p,
                         const char *q) {
  std::string t = " : (tensor<" + element + ">, tensor<" + element + ">) -> tensor<i1>\n",
              l = " : tensor<i1>\n";
  bool isFirst = std::string_view(direction) == "GT";
  std::string nan = isFirst ? p : q, other = isFirst ? q : p;
  return std::string("    %g = stablehlo.compare ") + direction + ", " + p + ", " + q + t +
         "    %n = stablehlo.compare NE, " + nan + ", " + nan + t +
         "    %o = stablehlo.compare EQ, " + other + ", " + other + t +
         "    %w = stablehlo.and %n, %o" + l + "    %c = stablehlo.or %g, %w" + l;
}

TEST(SortKernelTest, SortsKnowOrdersHoweverTheyAreWritten) {
  for (const char *shape : {"7x5", "3x600", "2x9000"})
    for (const char *direction : {"LT", "GT"})
      for (const char *element : {"f32", "bf16"})
        for (int dimension : {0, 1})
          expectOwnKernel(
              sortOf(shape, element, nanIsLargest(element, direction, "%p", "%q"), dimension));
  // By exclusive or and select: (p > q) xor false, if p is p, else false.
  expectOwnKernel(
      sortOf("3x50", "i32",
             "    %f = stablehlo.constant dense<false> : tensor<i1>\n"
             "    %e = stablehlo.compare EQ, %p, %p : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
             "    %g = stablehlo.compare GT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
             "    %x = stablehlo.xor %g, %f : tensor<i1>\n"
             "    %c = stablehlo.select %e, %x, %f : tensor<i1>, tensor<i1>\n",
             1));
}

TEST(SortKernelTest, SortsCountTheirIndicesAndFindTheFirstFew) {
  for (const char *length : {"40", "3000", "20000"})
    for (const char *direction : {"LT", "GT"})
      for (int first : {1, 4, 37}) {
        std::string t = std::string("tensor<3x") + length + "xf32>",
                    i = std::string("tensor<3x") + length + "xi64>",
                    few = "3x" + std::to_string(first),
                    cut = " [0:3, 0:" + std::to_string(first) + "] : ";
        expectOwnKernel(
            "func.func @main(%a: " + t + ") -> (tensor<" + few + "xf32>, tensor<" + few +
            "xi64>) {\n  %i = stablehlo.iota dim = 1 : " + i +
            "\n  %0:2 = \"stablehlo.sort\"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({\n"
            "  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i64>, %s: tensor<i64>):\n" +
            nanIsLargest("f32", direction, "%p", "%q") +
            "    stablehlo.return %c : tensor<i1>\n  }) : (" + t + ", " + i + ") -> (" + t + ", " +
            i + ")\n  %1 = stablehlo.slice %0#0" + cut + "(" + t + ") -> tensor<" + few +
            "xf32>\n  %2 = stablehlo.slice %0#1" + cut + "(" + i + ") -> tensor<" + few +
            "xi64>\n  return %1, %2 : tensor<" + few + "xf32>, tensor<" + few + "xi64>\n}\n");
      }
}

TEST(SortKernelTest, SortsBySeveralKeysLookAtTheNextWhereTheFirstAreEqual) {
  auto keys = [](const std::string &element, const char *order, const char *direction) {
    std::string e = "(tensor<" + element + ">, tensor<" + element + ">) -> tensor<i1>\n";
    return "    %before = stablehlo.compare " + std::string(direction) + ", %p, %q, " + order +
           " : " + e + "    %same = stablehlo.compare EQ, %p, %q, " + order + " : " + e +
           "    %next = stablehlo.compare GT, %r, %s, SIGNED : (tensor<i32>, tensor<i32>) -> "
           "tensor<i1>\n";
  };
  const char *jax = "    %both = stablehlo.and %same, %next : tensor<i1>\n    %c = stablehlo.or "
                    "%before, %both : tensor<i1>\n",
             *turned = "    %both = stablehlo.and %next, %same : tensor<i1>\n    %c = stablehlo.or "
                       "%both, %before : tensor<i1>\n",
             *chosen = "    %c = stablehlo.select %same, %next, %before : tensor<i1>, tensor<i1>\n";
  for (const char *shape : {"1x1", "7x5", "40x3", "2x9000"})
    for (int dimension : {0, 1})
      for (const char *way : {jax, turned, chosen}) {
        expectOwnKernel(sortOf(shape, "f32", keys("f32", "TOTALORDER", "LT") + way, dimension));
        expectOwnKernel(sortOf(shape, "i64", keys("i64", "SIGNED", "GT") + way, dimension));
        expectOwnKernel(sortOf(shape, "ui8", keys("ui8", "UNSIGNED", "LT") + way, dimension));
      }
}

TEST(SortKernelTest, ComparatorsThatAreNoOrderOfKeysStayTheReferences) {
  // Where the first keys are equal by another operand's word.
  auto actual = outcomeBy("cpu",
                          sortOf("5x4", "f32",
                                 "    %before = stablehlo.compare LT, %p, %q, TOTALORDER : "
                                 "(tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                                 "    %same = stablehlo.compare EQ, %r, %s, SIGNED : (tensor<i32>, "
                                 "tensor<i32>) -> tensor<i1>\n"
                                 "    %both = stablehlo.and %same, %before : tensor<i1>\n    %c = "
                                 "stablehlo.or %before, %both : tensor<i1>\n",
                                 1),
                          false);
  ASSERT_TRUE(actual) << actual.message();
  EXPECT_EQ(actual->notes.count("fallbacks"), 1u);
}

TEST(SortKernelTest, SortsAsJaxWritesThem) {
  std::string text =
      sortOf("4x333", "f32", R"(    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %0 = stablehlo.compare EQ, %p, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %zero, %p : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %nan, %1 : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare EQ, %q, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.select %4, %zero, %q : tensor<i1>, tensor<f32>
    %6 = stablehlo.compare NE, %q, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %7 = stablehlo.select %6, %nan, %5 : tensor<i1>, tensor<f32>
    %c = stablehlo.compare LT, %3, %7, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
)",
             1);
  expectOwnKernel(text);
  // With constants around the comparator, as passes may leave them.
  for (const char *name : {"    %zero =", "    %nan ="}) {
    size_t begin = text.find(name), end = text.find('\n', begin) + 1;
    std::string line = text.substr(begin, end - begin);
    text.erase(begin, end - begin);
    text.insert(text.find('\n') + 1, line);
  }
  expectOwnKernel(text);
}

} // namespace
} // namespace cupel::compiler
