#include "cupel/frontends/torch/Symbols.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::frontends::torch_import;

namespace {

constexpr const char *kS = "Symbol('s77', positive=True, integer=True)";

int64_t evaluated(const Symbols &symbols, const std::string &expression) {
  Result<Number> value = symbols.evaluate(expression);
  EXPECT_TRUE(value) << (value ? "" : value.message());
  return value ? value->integer : INT64_MIN;
}

} // namespace

TEST(Symbols, EvaluatesWhatSympyPrints) {
  Symbols symbols;
  symbols.bind("s77", 6);
  std::string s = kS;
  EXPECT_EQ(evaluated(symbols, s), 6);
  EXPECT_EQ(evaluated(symbols, "Add(Mul(Integer(2), " + s + "), Integer(-1))"), 11);
  EXPECT_EQ(evaluated(symbols, "FloorDiv(" + s + ", Integer(4))"), 1);
  EXPECT_EQ(evaluated(symbols, "CeilDiv(" + s + ", Integer(4))"), 2);
  EXPECT_EQ(evaluated(symbols, "Mod(Integer(-1), Integer(4))"), 3);
  EXPECT_EQ(evaluated(symbols, "Pow(" + s + ", Integer(3))"), 216);
  EXPECT_EQ(evaluated(symbols, "Max(Integer(1), " + s + ")"), 6);
  EXPECT_EQ(evaluated(symbols, "TruncToInt(IntTrueDiv(" + s + ", Integer(4)))"), 1);
  EXPECT_EQ(evaluated(symbols, "GreaterThan(" + s + ", Integer(6))"), 1);
  EXPECT_EQ(evaluated(symbols, "ModularIndexing(Integer(17), Integer(3), Integer(4))"), 1);
  Result<Number> real = symbols.evaluate("Float('1.5', precision=53)");
  ASSERT_TRUE(real);
  EXPECT_DOUBLE_EQ(real->real, 1.5);
}

TEST(Symbols, RefusesWhatIsWrong) {
  Symbols symbols;
  for (const char *expression :
       {"", "Integer(", "Symbol()", "Symbol('s1')", "Nothing(Integer(1))", "Integer(1) 2",
        "FloorDiv(Integer(1), Integer(0))", "Pow(Integer(2), Integer(64))",
        "Mul(Integer(9223372036854775807), Integer(2))", "__import__('os')"})
    EXPECT_FALSE(symbols.evaluate(expression)) << expression;
  std::string deep;
  for (int i = 0; i < 100000; ++i)
    deep += "Add(";
  EXPECT_FALSE(symbols.evaluate(deep));
}

TEST(Symbols, SolvesForOneUnknown) {
  Symbols symbols;
  std::string s = kS;
  Result<bool> solved = symbols.solve("Add(Mul(Integer(2), " + s + "), Integer(1))", 21);
  ASSERT_TRUE(solved);
  EXPECT_TRUE(*solved);
  EXPECT_EQ(evaluated(symbols, s), 10);
  EXPECT_FALSE(symbols.solve(s, 11)) << "contradicts what is bound";
  Symbols odd;
  EXPECT_FALSE(odd.solve("Mul(Integer(2), " + s + ")", 7));
}

TEST(Symbols, CallsOnNumbers) {
  std::vector<Number> numbers = {Number::of(int64_t{7}), Number::of(int64_t{-2})};
  EXPECT_EQ(callOnNumbers("_operator.floordiv", numbers)->integer, -4);
  EXPECT_EQ(callOnNumbers("_operator.mod", numbers)->integer, -1);
  EXPECT_EQ(callOnNumbers("_operator.sub", numbers)->integer, 9);
  EXPECT_DOUBLE_EQ(callOnNumbers("_operator.truediv", numbers)->real, -3.5);
  EXPECT_EQ(callOnNumbers("torch.sym_max", numbers)->integer, 7);
  EXPECT_TRUE(callOnNumbers("_operator.gt", numbers)->truth());
  EXPECT_FALSE(callOnNumbers("_operator.unknown", numbers));
  EXPECT_TRUE(isNumberCall("_operator.add"));
  EXPECT_FALSE(isNumberCall("torch.ops.aten.add.Tensor"));
}
