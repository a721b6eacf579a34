// How single pieces of Python are read: strings, syntax errors with their places, values that must
// stay unknown. Whole loaders and trees of them are tested from outside (tests/zoo).

#include "cupel/testbench/zoo/Loader.h"
#include "cupel/testbench/zoo/Evaluator.h"
#include "cupel/testbench/zoo/PythonStrings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace cupel::testbench::zoo {
namespace {

class LoaderTest : public testing::Test {
protected:
  LoaderTest() {
    std::string pattern = testing::TempDir() + "cupel-loader-XXXXXX";
    root = mkdtemp(pattern.data());
  }
  ~LoaderTest() override { std::filesystem::remove_all(root); }

  std::string write(const std::string &path, const std::string &text) {
    std::string file = root + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
    return file;
  }

  /// What `x` is after running `text`, as Python's str() has it; `?` where it is not known.
  std::string valueOf(const std::string &text) {
    static int count = 0;
    ModuleLibrary library(root);
    Evaluator evaluator(library);
    const Why *why = nullptr;
    ModuleState *module =
        evaluator.module(write("m" + std::to_string(++count) + ".py", text), &why);
    if (!module)
      return "error: " + why->message;
    std::optional<Value> value = evaluator.global(module, "x");
    if (!value)
      return "undefined";
    return evaluator.stringOf(*value).value_or("?");
  }

  std::string root;
};

TEST_F(LoaderTest, Strings) {
  EXPECT_EQ(valueOf("x = 'a\\tb\\x41\\u00e9\\101\\\\'"), "a\tbA\xC3\xA9"
                                                         "A\\");
  EXPECT_EQ(valueOf("x = r'a\\tb' 'c' \"d\""), "a\\tbcd");
  EXPECT_EQ(valueOf("x = '''a\nb'''"), "a\nb");
  EXPECT_EQ(valueOf("x = f'{1 + 1}-{{}}-{\"a\".upper()}'"), "2-{}-A");
  EXPECT_EQ(valueOf("x = f'{7:03}'"), "007");
  EXPECT_EQ(valueOf("x = f'{7:>5}'"), "?"); // Not followed, so nothing is claimed.
  EXPECT_EQ(valueOf("x = f'{y}'"), "?");
  EXPECT_EQ(valueOf("x = 'a/b-c'.rsplit('/', 1)[-1].replace('-', '_')"), "b_c");
  EXPECT_EQ(valueOf("x = '%s-%d' % ('a', 3)"), "a-3");
  EXPECT_EQ(valueOf("x = '{}_{name}'.format(1, name='b')"), "1_b");
  EXPECT_EQ(valueOf("x = ','.join(s[::1] for s in ('a', 'b'))"), "?");
  EXPECT_EQ(valueOf("x = ','.join(s[:1] for s in ('abc', 'bcd'))"), "a,b");
  EXPECT_FALSE(unescape("\\N{BULLET}", false, false));
}

TEST_F(LoaderTest, Numbers) {
  EXPECT_EQ(valueOf("x = 0x10 + 0b11 + 0o7 + 1_000"), "1026");
  EXPECT_EQ(valueOf("x = -7 // 2"), "-4");
  EXPECT_EQ(valueOf("x = -7 % 3"), "2");
  EXPECT_EQ(valueOf("x = 1 / 4"), "0.25");
  EXPECT_EQ(valueOf("x = 2 ** 62 * 4"), "?");
  EXPECT_EQ(valueOf("x = 1 // 0"), "?");
  EXPECT_EQ(valueOf("x = 1 < 2 < 3"), "True");
  EXPECT_EQ(valueOf("x = 1 if 2 not in (3, 4) else 0"), "1");
}

TEST_F(LoaderTest, Scopes) {
  EXPECT_EQ(valueOf("y = 1\ndef f(a, *b, c=2, **d):\n    return a + c + len(b) + len(d)\n"
                    "x = f(y, 5, 6, z=1)"),
            "6");
  EXPECT_EQ(valueOf("def f():\n    y = 2\n    def g():\n        return y\n    return g()\nx = f()"),
            "2");
  EXPECT_EQ(valueOf("class A:\n    y = 1\n    def f(self):\n        return self.y\n"
                    "class B(A):\n    y = 5\nx = B().f()"),
            "5");
  EXPECT_EQ(
      valueOf("class A:\n    @classmethod\n    def f(cls):\n        return 1\n"
              "class B(A):\n    @classmethod\n    def f(cls):\n        return super().f() + 1\n"
              "x = B.f()"),
      "2");
  EXPECT_EQ(valueOf("x = 0\nfor i in range(4):\n    if i == 1:\n        continue\n    if i == 3:\n"
                    "        break\n    x += i\nelse:\n    x = 100\n"),
            "2");
}

TEST_F(LoaderTest, NothingIsGuessed) {
  EXPECT_EQ(valueOf("import os\nx = 1\nif os.environ.get('A'):\n    x = 2\n"), "?");
  EXPECT_EQ(valueOf("import os\nd = {}\nif os.environ.get('A'):\n    d['k'] = 1\nx = len(d)\n"),
            "?");
  EXPECT_EQ(valueOf("import os\nd = {1: 2}\nos.change(d)\nx = len(d)\n"), "?");
  EXPECT_EQ(valueOf("x = 1\nwhile True:\n    x = 2\n    break\n"), "?");
  EXPECT_EQ(valueOf("x = 1\ndel x\n"), "?");
  EXPECT_EQ(valueOf("from m0 import *\nx = y\n"), "?");
  EXPECT_EQ(valueOf("import torch\n@torch.wrap\ndef f():\n    return 1\nx = f()\n"), "?");
  EXPECT_EQ(valueOf("import torch\n@torch.wrap\nclass A:\n    y = 1\nx = A.y\n"), "?");
  EXPECT_EQ(valueOf("d = {1: 2}\ndef f():\n    while y:\n        d[2] = 3\nf()\nx = len(d)\n"),
            "?");
  EXPECT_EQ(valueOf("x = 1\nglobals()['x'] = 2\n"), "?");
  EXPECT_EQ(valueOf("x = 1\nexec('x = 2')\n"), "?");
  EXPECT_EQ(valueOf("class A:\n    y = 1\nsetattr(A, 'y', 2)\nx = A.y\n"), "?");
  EXPECT_EQ(valueOf("import m\nclass A(metaclass=m.M):\n    y = 1\nx = A.y\n"), "?");
  EXPECT_EQ(valueOf("from abc import ABCMeta\nclass A(metaclass=ABCMeta):\n    y = 1\nx = A.y\n"),
            "1");
  EXPECT_EQ(valueOf("class A:\n    def __init_subclass__(cls):\n        cls.y = 2\n"
                    "class B(A):\n    y = 1\nx = B.y\n"),
            "2");
  EXPECT_EQ(valueOf("from enum import Enum, auto\nclass E(Enum):\n"
                    "    def _generate_next_value_(name, start, count, last):\n"
                    "        return name.lower()\n    AB = auto()\nx = E.AB.value\n"),
            "ab");
  EXPECT_EQ(valueOf("from enum import Enum\nclass E(Enum):\n    def __new__(cls, a):\n"
                    "        return object.__new__(cls)\n    A = 1\nx = E.A.value\n"),
            "?");
  EXPECT_EQ(valueOf("l = [1]\nl += l\nl += l\nx = len(l)\n"), "4");
}

TEST_F(LoaderTest, SyntaxErrorsHavePlaces) {
  std::string file = write("bad/pytorch/loader.py", "a = 1\n\nb = = 2\n");
  ModuleLibrary library(root);
  Evaluator evaluator(library);
  Loader loader = readLoader(evaluator, file, "bad/pytorch");
  EXPECT_EQ(loader.state, Loader::Broken);
  EXPECT_EQ(loader.why.line, 3u);
  EXPECT_GT(loader.why.column, 0u);
  EXPECT_NE(loader.why.text().find("loader.py:3:"), std::string::npos);
}

TEST_F(LoaderTest, MethodsAndParameters) {
  // No base module here: the interface all loaders share is known.
  std::string file =
      write("m/pytorch/loader.py",
            "from ...base import ForgeModel\n"
            "from ...config import ModelGroup, ModelInfo\n"
            "class ModelLoader(ForgeModel):\n"
            "    @classmethod\n"
            "    def _get_model_info(cls, variant=None):\n"
            "        return ModelInfo('m', variant, ModelGroup.VULCAN, 1, 2, 3)\n"
            "    def load_inputs(self, dtype_override=None, *, batch_size=1, **rest):\n"
            "        pass\n"
            "    def load_inputs_decode(self): pass\n");
  ModuleLibrary library(root);
  Evaluator evaluator(library);
  Loader loader = readLoader(evaluator, file, "m/pytorch");
  ASSERT_EQ(loader.state, Loader::Decided) << loader.why.text();
  ASSERT_EQ(loader.variants.size(), 1u);
  EXPECT_EQ(loader.variants[0].name, "");
  EXPECT_EQ(loader.variants[0].group, "vulcan");
  EXPECT_TRUE(loader.hasDecode);
  EXPECT_FALSE(loader.hasPrefill);
  ASSERT_EQ(loader.methods.size(), 2u);
  EXPECT_EQ(loader.methods[0].name, "load_inputs");
  EXPECT_EQ(loader.methods[0].parameters,
            (std::vector<std::string>{"dtype_override", "batch_size", "**rest"}));
}

} // namespace
} // namespace cupel::testbench::zoo
