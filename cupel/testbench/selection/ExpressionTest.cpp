#include "cupel/testbench/selection/Expression.h"

#include "cupel/testbench/selection/Keywords.h"

#include <chrono>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace cupel::testbench::selection {
namespace {

using testing::ElementsAre;

Expression parsed(std::string_view text) {
  Result<Expression> result = Expression::parse(text);
  EXPECT_TRUE(bool(result)) << text;
  return result ? *result : Expression();
}

std::string failure(std::string_view text) {
  Result<Expression> result = Expression::parse(text);
  return result ? "parsed" : result.message();
}

bool holds(std::string_view text, const std::set<std::string> &words) {
  Expression expression = parsed(text);
  return expression.evaluate([&](uint32_t w) { return words.contains(expression.words()[w]); });
}

TEST(Expression, FollowsPytestsPrecedence) {
  EXPECT_TRUE(holds("a or b and c", {"a"}));
  EXPECT_FALSE(holds("(a or b) and c", {"a"}));
  EXPECT_TRUE(holds("not a and b", {"b"}));
  EXPECT_FALSE(holds("not (a and b)", {"a", "b"}));
  EXPECT_TRUE(holds("not not a", {"a"}));
  EXPECT_FALSE(holds("not not not a", {"a"}));
  EXPECT_TRUE(holds("not a or a", {}));
  EXPECT_TRUE(holds("  a\tand(b)", {"a", "b"}));
  EXPECT_TRUE(holds("", {}));
  EXPECT_TRUE(holds("   ", {}));
}

TEST(Expression, WordsHavePytestsCharacters) {
  Expression expression = parsed("n300-llmbox and qwen_2.5/x:y[z]\\+1 or AND or n300-llmbox or é");
  EXPECT_THAT(expression.words(), ElementsAre("n300-llmbox", "qwen_2.5/x:y[z]\\+1", "AND", "é"));
}

TEST(Expression, FailsWithPytestsMessages) {
  EXPECT_EQ(failure("("), "at column 2: expected not OR left parenthesis OR identifier; got end of "
                          "input");
  EXPECT_EQ(failure("(a"), "at column 3: expected right parenthesis; got end of input");
  EXPECT_EQ(failure("a and"), "at column 6: expected not OR left parenthesis OR identifier; got "
                              "end of input");
  EXPECT_EQ(failure("a b"), "at column 3: expected end of input; got identifier");
  EXPECT_EQ(failure(")"), "at column 1: expected not OR left parenthesis OR identifier; got right "
                          "parenthesis");
  EXPECT_EQ(failure("a or or b"), "at column 6: expected not OR left parenthesis OR identifier; "
                                  "got or");
  EXPECT_EQ(failure("a?b"), "at column 2: unexpected character \"?\"");
  EXPECT_EQ(failure("é &"), "at column 3: unexpected character \"&\"");
  EXPECT_EQ(failure("not"), "at column 4: expected not OR left parenthesis OR identifier; got end "
                            "of input");
}

TEST(Expression, HostileOnesAreRefusedOrEvaluated) {
  EXPECT_EQ(failure(std::string(100000, '(')).substr(0, 10), "at column ");
  std::string nots;
  for (int i = 0; i < 100001; ++i)
    nots += "not ";
  EXPECT_FALSE(holds(nots + "a", {"a"}));
  std::string chain = "a", nested = "a";
  for (int i = 0; i < 10000; ++i)
    chain += " or b and c";
  EXPECT_TRUE(holds(chain, {"a"}));
  EXPECT_FALSE(holds(chain, {"b"}));
  for (int i = 0; i < 100; ++i)
    nested = "b or c and (" + nested + ")";
  EXPECT_TRUE(holds(nested, {"a", "c"}));
  EXPECT_FALSE(holds(nested, {"a"}));
}

/// Random expressions with their value worked out while they are made.
TEST(Expression, RandomOnesAgreeWithTheirMaking) {
  std::mt19937 random(7);
  auto pick = [&](int n) { return int(random() % unsigned(n)); };
  for (int round = 0; round < 500; ++round) {
    unsigned truth = unsigned(random());
    std::function<std::pair<std::string, bool>(int)> make = [&](int depth) {
      int form = depth == 0 ? 0 : pick(4);
      if (form == 0) {
        int word = pick(8);
        return std::pair("w" + std::to_string(word), bool(truth >> word & 1));
      }
      if (form == 1) {
        auto [text, value] = make(depth - 1);
        return std::pair("not (" + text + ")", !value);
      }
      auto [a, x] = make(depth - 1);
      auto [b, y] = make(depth - 1);
      return form == 2 ? std::pair("(" + a + ") and (" + b + ")", x && y)
                       : std::pair("(" + a + ") or (" + b + ")", x || y);
    };
    auto [text, value] = make(5);
    Expression expression = parsed(text);
    EXPECT_EQ(expression.evaluate(
                  [&](uint32_t w) { return bool(truth >> (expression.words()[w][1] - '0') & 1); }),
              value)
        << text;
    // The same on sets of one item.
    std::vector<ItemSet> sets;
    std::vector<const ItemSet *> pointers;
    for (const std::string &word : expression.words())
      sets.emplace_back(1, bool(truth >> (word[1] - '0') & 1));
    for (const ItemSet &set : sets)
      pointers.push_back(&set);
    EXPECT_EQ(expression.evaluate(1, pointers).test(0), value) << text;
  }
}

TEST(ItemSet, KeepsItsTailClear) {
  ItemSet set(70, true);
  EXPECT_EQ(set.count(), 70u);
  set.flip();
  EXPECT_EQ(set.count(), 0u);
  set.set(69);
  set.set(3);
  set.flip();
  EXPECT_EQ(set.count(), 68u);
  std::vector<size_t> missing;
  ItemSet all(70, true);
  set.flip();
  set.forEach([&](size_t i) { missing.push_back(i); });
  EXPECT_THAT(missing, ElementsAre(3, 69));
  EXPECT_EQ(ItemSet(0, true).count(), 0u);
}

TEST(Keyword, IgnoresCase) {
  EXPECT_TRUE(Keyword("LLaMA").isIn("path/llama/causal"));
  EXPECT_TRUE(Keyword("").isIn(""));
  EXPECT_FALSE(Keyword("a").isIn(""));
  EXPECT_FALSE(Keyword("[").isIn("{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{"));
  EXPECT_TRUE(Keyword("ü").isIn("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxüx"));
}

TEST(Keyword, AgreesWithASimpleSearchEverywhere) {
  std::mt19937 random(11);
  const std::string letters = "abAB[{_";
  auto word = [&](size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i)
      text += letters[random() % letters.size()];
    return text;
  };
  auto lower = [](std::string text) {
    for (char &c : text)
      c = char(std::tolower(c));
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    std::string text = word(random() % 60), part = word(1 + random() % 6);
    EXPECT_EQ(Keyword(part).isIn(text), lower(text).find(lower(part)) != std::string::npos)
        << part << " in " << text;
  }
}

TEST(Keywords, UnknownMarkersAreNamed) {
  std::vector<std::string_view> present = {"special"};
  EXPECT_THAT(unknownMarkers(parsed("nigthly and special and not large or qqqqqqq"), present),
              ElementsAre("-m: no test has the marker nigthly; did you mean nightly?",
                          "-m: no test has the marker qqqqqqq"));
}

TEST(Expression, AHundredThousandItemsCostLittle) {
  constexpr size_t kItems = 107000;
  std::vector<std::string> ids;
  for (size_t i = 0; i < kItems; ++i)
    ids.push_back("llama/causal_lm/pytorch-3.2_1B_Instruct-llm_prefill-seq_1024-batch_4-fsdp-no_dp-"
                  "tensor_parallel-mesh_2x4-inference-" +
                  std::to_string(i));
  Expression expression = parsed("qwen or not 777 and mesh_2X4");
  auto start = std::chrono::steady_clock::now();
  std::vector<ItemSet> sets;
  std::vector<const ItemSet *> pointers;
  for (const std::string &word : expression.words()) {
    Keyword keyword(word);
    ItemSet set(kItems);
    for (size_t i = 0; i < kItems; ++i)
      if (keyword.isIn(ids[i]))
        set.set(i);
    sets.push_back(std::move(set));
  }
  for (const ItemSet &set : sets)
    pointers.push_back(&set);
  size_t count = expression.evaluate(kItems, pointers).count();
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::cout << "three words over " << kItems << " ids took " << took.count() << " ms\n";
  size_t with777 = 0;
  for (size_t i = 0; i < kItems; ++i)
    with777 += std::to_string(i).find("777") != std::string::npos;
  EXPECT_EQ(count, kItems - with777);
#ifndef CUPEL_SANITIZED
  EXPECT_LT(took.count(), 300.0);
#endif
}

} // namespace
} // namespace cupel::testbench::selection
