#include "cupel/ir/bytecode/Prepare.h"
#include "cupel/ir/bytecode/TextBooleans.h"
#include "cupel/ir/bytecode/TextFloats.h"
#include "cupel/ir/bytecode/TextGuard.h"
#include "cupel/ir/bytecode/TextLocations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace cupel::bytecode;
using testing::HasSubstr;

namespace {
std::string problemOf(std::string_view text) { return checkText(text).what; }
std::string repeat(std::string_view piece, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += piece;
  return out;
}
} // namespace

TEST(TextGuard, AcceptsOrdinaryPrograms) {
  EXPECT_EQ(problemOf(""), "");
  EXPECT_EQ(problemOf(R"(
    #loc1 = loc("a.py":1:2)
    !t = tensor<4x?x8xf32>
    module @m attributes {x = "([{<"} {  // ((((((
      func.func @f(%arg0: !t) -> (tensor<4xi32>, i1) {
        %0:2 = "op"(%arg0) ({}) {map = affine_map<(d0) -> (d0 + 1, -d0)>} : (!t) -> (tensor<4xi32>, i1)
        return %0#0, %0#1 : tensor<4xi32>, i1
      }
    })"),
            "");
}

TEST(TextGuard, BoundsNesting) {
  EXPECT_EQ(problemOf(repeat("[", 400)), "");
  EXPECT_THAT(problemOf(repeat("[", 401)), HasSubstr("nested more than 400 deep"));
  EXPECT_THAT(problemOf(repeat("tuple<", 401)), HasSubstr("nested more than 400 deep"));
  EXPECT_THAT(problemOf(repeat("< (", 201)), HasSubstr("nested more than 400 deep"));
  EXPECT_EQ(problemOf(repeat("[]", 5000)), "");
  EXPECT_EQ(problemOf(repeat("() -> ", 5000)), "");
  EXPECT_EQ(problemOf("\"" + repeat("[", 5000) + "\""), "");
  EXPECT_EQ(problemOf("// " + repeat("[", 5000)), "");
  EXPECT_THAT(problemOf("affine_map<(d0) -> (" + repeat("-", 401) + "d0)>"),
              HasSubstr("minus signs in a row"));
  EXPECT_THAT(problemOf("affine_map<(d0) -> (d0" + repeat(" + d0", 1001) + ")>"),
              HasSubstr("more than 1000 operators"));
  TextProblem problem = checkText("\n  x " + repeat("[", 500));
  EXPECT_EQ(problem.line, 2u);
  EXPECT_EQ(problem.column, 5u + 400u);
}

TEST(TextGuard, BoundsAliases) {
  std::string chain = "#a0 = 1\n";
  for (int i = 1; i < 1200; ++i)
    chain += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + "]\n";
  EXPECT_THAT(problemOf(chain), HasSubstr("nested more than 1000 deep"));
  std::string doubling = "!a0 = i32\n";
  for (int i = 1; i < 40; ++i) {
    std::string last = "!a" + std::to_string(i - 1);
    doubling += "!a" + std::to_string(i) + " = tuple<" + last + ", " + last + ">\n";
  }
  EXPECT_THAT(problemOf(doubling), HasSubstr("expands to more than"));
  // Uses in operations are no part of the alias before them.
  std::string uses = "#a = [1]\nmodule {\n" + repeat("\"x\"() {a = [#a, #a]} : () -> ()\n", 1000) +
                     "}\n#b = [#a]\n";
  EXPECT_EQ(problemOf(uses), "");
}

TEST(TextGuard, BoundsNumbers) {
  EXPECT_THAT(problemOf(repeat("9", 5000)), HasSubstr("a number of more than 4096 digits"));
  EXPECT_EQ(problemOf("i64 si64 ui1 i4096 %i99999 @i99999"), "");
  EXPECT_THAT(problemOf("i16777215"), HasSubstr("integer type i16777215 has more than 4096 bits"));
  EXPECT_THAT(problemOf("tensor<4xi16777215>"), HasSubstr("integer type i16777215"));
  EXPECT_EQ(problemOf("tensor<0x9223372036854775807x?xf32>"), "");
  EXPECT_THAT(problemOf("tensor<9223372036854775807x2xf32>"), HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(problemOf("vector<99999999999999999999x2xf32>"),
              HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(problemOf("\"x\"(%a#4000000000) : (i32) -> ()"),
              HasSubstr("result number 4000000000 is used"));
  EXPECT_EQ(problemOf("%a:3 = \"x\"() : () -> (i1, i1, i1)\n \"y\"(%a#2) : (i1) -> ()"), "");
  EXPECT_THAT(problemOf("{-# dialect_resources: {builtin: {a: \"0x00000080FF\"}} #-}"),
              HasSubstr("resource alignment"));
  EXPECT_EQ(problemOf("{-# dialect_resources: {builtin: {a: \"0x40000000FF\"}} #-}"), "");
}

TEST(TextFloats, SpellsTypesThatMlir19Lacks) {
  EXPECT_EQ(spellRareFloats("tensor<4xf8E4M3FN>"), std::nullopt);
  EXPECT_EQ(spellRareFloats("@f8E3M4 !vhlo.f8E3M4_v1 \"f8E3M4\" // f8E3M4"), std::nullopt);
  EXPECT_EQ(spellRareFloats("{f8E3M4 = 1}"), std::nullopt);
  EXPECT_EQ(spellRareFloats("tensor<f8E3M4>"), "tensor<!stablehlo.f8E3M4>");
  EXPECT_EQ(spellRareFloats("tensor<4x8xf4E2M1FN>, tensor<?x2xf8E8M0FNU, #e>"),
            "tensor<4x8x!stablehlo.f4E2M1FN>, tensor<?x2x!stablehlo.f8E8M0FNU, #e>");
  // Which the lexer takes for a number.
  EXPECT_EQ(spellRareFloats("tensor<0xf6E2M3FN>"), "tensor<0x!stablehlo.f6E2M3FN>");
  EXPECT_EQ(spellRareFloats("dense<> : tensor<0xf8E3M4>"),
            "#stablehlo.bits<dense<> : tensor<0xui8>> : tensor<0x!stablehlo.f8E3M4>");
}

TEST(TextFloats, SpellsConstantsAsBits) {
  EXPECT_EQ(spellRareFloats("dense<1.0> : tensor<f8E3M4>"),
            "#stablehlo.bits<dense<48> : tensor<ui8>> : tensor<!stablehlo.f8E3M4>");
  EXPECT_EQ(spellRareFloats("dense<[[0.0, -0.0],\n[3.1415, 0x0F]]> : tensor<2x2xf4E2M1FN>"),
            "#stablehlo.bits<dense<[[0, 8],\n[5, 15]]> : tensor<2x2xui8>> : "
            "tensor<2x2x!stablehlo.f4E2M1FN>");
  EXPECT_EQ(spellRareFloats("dense<\"0x00FF\"> : tensor<2xf8E8M0FNU>"),
            "#stablehlo.bits<dense<\"0x00FF\"> : tensor<2xui8>> : tensor<2x!stablehlo.f8E8M0FNU>");
  // A type without zero has its least number there.
  EXPECT_EQ(spellRareFloats("dense<[0.0, 3.0, -1.0]> : tensor<3xf8E8M0FNU>"),
            "#stablehlo.bits<dense<[0, 129, 255]> : tensor<3xui8>> : tensor<3x!stablehlo.f8E8M0FNU>");
  // What is no float literal stays one that MLIR refuses among integers.
  EXPECT_EQ(spellRareFloats("dense<[1, 0x1F, -0x1]> : tensor<3xf4E2M1FN>"),
            "#stablehlo.bits<dense<[1.0, 0.0, 0.0]> : tensor<3xui8>> : "
            "tensor<3x!stablehlo.f4E2M1FN>");
  EXPECT_EQ(spellRareFloats("dense<1.0> : tensor<f32> tensor<f8E3M4>"),
            "dense<1.0> : tensor<f32> tensor<!stablehlo.f8E3M4>");
  EXPECT_EQ(spellRareFloats("#vhlo.tensor_v1<dense<[1.0, 2.0]> : tensor<2xf8E3M4>>"),
            "#vhlo.tensor_v1<\"0x3040\" : !vhlo.tensor_v1<2x!vhlo.f8E3M4_v1>>");
}

TEST(TextFloats, NamesThemPlainlyAgain) {
  for (const char *text :
       {"tensor<4x8xf4E2M1FN> dense<1.0> : tensor<f32>",
        "dense<1.000000e+00> : tensor<f8E3M4> dense<[[0.000000e+00, -0.000000e+00], "
        "[3.000000e+00, 6.000000e+00]]> : tensor<2x2xf4E2M1FN>",
        "dense<\"0x00FF\"> : tensor<2xf8E8M0FNU>", "dense<> : tensor<0xf6E3M2FN>",
        "\"!stablehlo.f8E3M4\" tensor<f8E3M4>"}) {
    std::optional<std::string> spelled = spellRareFloats(text);
    ASSERT_TRUE(spelled) << text;
    EXPECT_EQ(nameRareFloats(*spelled), text) << *spelled;
  }
  EXPECT_EQ(nameRareFloats("dense<1.0> : tensor<f32>"), "dense<1.0> : tensor<f32>");
}

TEST(TextLocations, TurnsRangesIntoPoints) {
  EXPECT_EQ(pointLocations(R"(loc("f":2:21 to :30))"), R"(loc("f":2:21))");
  EXPECT_EQ(pointLocations(R"(loc("f":2:21 to 3:30))"), R"(loc("f":2:21))");
  EXPECT_EQ(pointLocations(R"(#l = loc(callsite("f":2:21 to :30 at "g":4:5 to 6:7)))"),
            R"(#l = loc(callsite("f":2:21 at "g":4:5)))");
  EXPECT_EQ(pointLocations(R"(loc(fused["a"("f":1:2 to :3), "g":4:5]))"),
            R"(loc(fused["a"("f":1:2), "g":4:5]))");
  EXPECT_EQ(pointLocations("loc(\"f\" : 2 : 21 to\n :\n 30) x"), "loc(\"f\" : 2 : 21\n\n) x");
}

TEST(TextLocations, LeavesTheRestAlone) {
  EXPECT_EQ(pointLocations(R"(loc("f":2:21))"), std::nullopt);
  EXPECT_EQ(pointLocations(R"x("loc(\"f\":2:21 to :30)")x"), std::nullopt);
  EXPECT_EQ(pointLocations("// loc(\"f\":2:21 to :30)"), std::nullopt);
  EXPECT_EQ(pointLocations(R"("f":2:21 to x)"), std::nullopt);
  EXPECT_EQ(pointLocations(R"("f":2 to :30)"), std::nullopt);
  EXPECT_EQ(pointLocations(R"("unterminated :2:21 to :30)"), std::nullopt);
}

TEST(Prepare, TreatsTextAsText) {
  Prepared plain = prepareForMlir("module {}");
  EXPECT_TRUE(plain.ok());
  EXPECT_FALSE(plain.isBytecode());
  EXPECT_FALSE(plain.isCopy());
  Prepared ranged = prepareForMlir("module {} loc(\"f\":2:21 to :30)");
  EXPECT_TRUE(ranged.isCopy());
  EXPECT_EQ(ranged.text(), "module {} loc(\"f\":2:21)");
  Prepared deep = prepareForMlir("\n" + repeat("[", 1000));
  EXPECT_FALSE(deep.ok());
  EXPECT_EQ(deep.line, 2u);
}

TEST(TextBooleans, PacksOneBytePerElement) {
  // 10 elements: bits 0, 2, 9.
  EXPECT_EQ(packBooleanLiterals(R"(dense<"0x01000100000000000001"> : tensor<2x5xi1>)"),
            R"(dense<"0x0502"> : tensor<2x5xi1>)");
  // Several, with what lies between them kept.
  EXPECT_EQ(packBooleanLiterals("a dense<\"0x0101\">:tensor<2xi1> b\nc dense<\"0x0001\"> :\n"
                                "tensor<1x2xi1> d"),
            "a dense<\"0x03\">:tensor<2xi1> b\nc dense<\"0x02\"> :\ntensor<1x2xi1> d");
}

TEST(TextBooleans, LeavesEverythingElseAlone) {
  for (std::string_view text :
       {R"(dense<"0x0502"> : tensor<2x5xi1>)",   // packed already
        R"(dense<"0x01000100"> : tensor<4xi8>)", // not booleans
        R"(dense<"0x0102"> : tensor<2xi1>)",     // not one byte per element
        R"(dense<"0x01"> : tensor<i1>)", R"(dense<"0x01"> : tensor<1xi1>)",
        R"(dense<"0x0101"> : tensor<?xi1>)", R"(dense<"0x0101"> : vector<2xi1>)",
        R"(dense<"0x0101)", R"(dense<"0x0101">)", R"(dense<"0x0101"> : tensor<)",
        R"(dense<"0x0101"> : tensor<99999999999999999999999xi1>)", "", "dense<true>"})
    EXPECT_EQ(packBooleanLiterals(text), std::nullopt) << text;
}

TEST(TextGuard, RefusesResourcesThatAreNeverClosed) {
  std::string open = "module {}\n{-# external_resources: { x: { k:";
  EXPECT_THAT(problemOf(open), HasSubstr("never closed"));
  EXPECT_THAT(problemOf(open + " \"#-}\""), HasSubstr("never closed"));
  EXPECT_THAT(problemOf(open + " // #-}\n"), HasSubstr("never closed"));
  EXPECT_EQ(problemOf(open + " 1 } } #-}"), "");
  EXPECT_EQ(problemOf("{-##-}\n{-# a: {} #-} module {}"), "");
  EXPECT_THAT(problemOf("{-# #-} {-#"), HasSubstr("never closed"));
}
