// Programs just within the guards' limits must not overflow the stack of MLIR's parser, reader,
// verifier or printer, and programs beyond must be refused by the guards.
#include "tests/fuzz/Target.h"

#include <gtest/gtest.h>

using namespace cupel::fuzz;

namespace {
std::string repeat(const std::string &piece, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += piece;
  return out;
}

/// `open` and `close` around `core`, `depth` times.
std::string nest(const std::string &open, const std::string &core, const std::string &close,
                 size_t depth) {
  return repeat(open, depth) + core + repeat(close, depth);
}

std::string attribute(const std::string &value) {
  return "\"foreign.op\"() {a = " + value + "} : () -> ()\n";
}

struct Shape {
  const char *name;
  /// Deepest that the guards accept, or more; made with `make`.
  size_t depth;
  std::string (*make)(size_t depth);
};

/// The text and, where it reads, the same as bytecode.
std::vector<Outcome> outcomes(const std::string &text) {
  CorpusFile file{"limits.mlir", text, false};
  std::vector<Outcome> all = {readProgram({"text", text}, {})};
  if (all.front() == Outcome::Valid)
    for (const CorpusFile &written : asBytecode(file))
      all.push_back(readProgram({written.path, written.content}, {}));
  return all;
}
} // namespace

class Limits : public testing::TestWithParam<Shape> {};

TEST_P(Limits, HoldWithinAndRefuseBeyond) {
  const Shape &shape = GetParam();
  std::vector<Outcome> within = outcomes(shape.make(shape.depth));
  EXPECT_EQ(within.front(), Outcome::Valid);
  for (Outcome outcome : within)
    EXPECT_TRUE(outcome == Outcome::Valid || outcome == Outcome::Guarded);
  EXPECT_EQ(outcomes(shape.make(shape.depth * 3)).front(), Outcome::Guarded);
  EXPECT_EQ(outcomes(shape.make(100000)).front(), Outcome::Guarded);
}

static const Shape kShapes[] = {
    {"Arrays", 395, [](size_t depth) { return attribute(nest("[", "1", "]", depth)); }},
    {"Dictionaries", 395, [](size_t depth) { return attribute(nest("{a = ", "1", "}", depth)); }},
    {"Tuples", 395, [](size_t depth) { return attribute(nest("tuple<", "i1", ">", depth)); }},
    {"FunctionTypes", 395,
     [](size_t depth) { return attribute(nest("(", "() -> ()", ") -> ()", depth)); }},
    {"DenseLists", 390,
     [](size_t depth) {
       return attribute("dense<" + nest("[", "1", "]", depth) + "> : tensor<" +
                        repeat("1x", depth) + "i32>");
     }},
    {"Opaque", 390,
     [](size_t depth) { return attribute("#foreign.x<" + nest("<", "1", ">", depth) + ">"); }},
    {"AffineBrackets", 390,
     [](size_t depth) {
       return attribute("affine_map<(d0) -> (" + nest("(", "d0", ")", depth) + ")>");
     }},
    {"AffineSums", 990,
     [](size_t depth) {
       return attribute("affine_map<(d0, d1) -> (d0" + repeat(" + d1", depth) + ")>");
     }},
    {"AffineMinus", 390,
     [](size_t depth) { return attribute("affine_map<(d0) -> (" + repeat("- ", depth) + "d0)>"); }},
    {"Regions", 190,
     [](size_t depth) { return nest("\"foreign.op\"() ({\n", "", "}) : () -> ()\n", depth); }},
    {"Modules", 390, [](size_t depth) { return nest("module {\n", "", "}\n", depth); }},
    {"CallSites", 190,
     [](size_t depth) {
       return "\"foreign.op\"() : () -> () loc(" + nest("callsite(\"a\" at ", "\"b\"", ")", depth) +
              ")\n";
     }},
    {"NameLocations", 390,
     [](size_t depth) {
       return "\"foreign.op\"() : () -> () loc(" + nest("\"a\"(", "\"b\"", ")", depth) + ")\n";
     }},
    {"AttributeAliases", 990,
     [](size_t depth) {
       std::string text = "#a0 = [1]\n";
       for (size_t i = 1; i < depth; ++i)
         text += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + "]\n";
       return text + attribute("#a" + std::to_string(depth - 1));
     }},
    {"TypeAliases", 990,
     [](size_t depth) {
       std::string text = "!a0 = tuple<i1>\n";
       for (size_t i = 1; i < depth; ++i)
         text += "!a" + std::to_string(i) + " = tuple<!a" + std::to_string(i - 1) + ">\n";
       return text + attribute("!a" + std::to_string(depth - 1));
     }},
    {"LocationAliases", 490,
     [](size_t depth) {
       std::string text = "#l0 = loc(\"x\")\n";
       for (size_t i = 1; i < depth; ++i)
         text += "#l" + std::to_string(i) + " = loc(callsite(\"y\" at #l" + std::to_string(i - 1) +
                 "))\n";
       return text + "\"foreign.op\"() : () -> () loc(#l" + std::to_string(depth - 1) + ")\n";
     }},
};

INSTANTIATE_TEST_SUITE_P(Shapes, Limits, testing::ValuesIn(kShapes),
                         [](const testing::TestParamInfo<Shape> &info) { return info.param.name; });
