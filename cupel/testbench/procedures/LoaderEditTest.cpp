#include "cupel/testbench/procedures/LoaderEdit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::testbench::procedures {
namespace {

using testing::HasSubstr;

/// A loader with this body of load_inputs.
std::string loader(const std::string &body,
                   const std::string &parameters = "self, dtype_override=None, batch_size=1") {
  return "import torch\n\n\nclass ModelLoader(ForgeModel):\n    # keep   this\n    def "
         "load_inputs(" +
         parameters + "):\n" + body + "\n    def after(self):\n        return torch.zeros(3)\n";
}

/// What is different: the line before, and the line after. Everything else must be as it was.
std::string edited(const std::string &body, std::string_view name,
                   std::optional<size_t> position = {}) {
  std::string before = loader(body);
  Result<LoaderFix> fix = honourDtype(before, name, position, false);
  if (!fix)
    return "no: " + fix.message();
  // One stretch was put in.
  size_t head = 0;
  while (head < before.size() && before[head] == fix->text[head])
    ++head;
  size_t tail = 0;
  while (tail < before.size() - head &&
         before[before.size() - 1 - tail] == fix->text[fix->text.size() - 1 - tail])
    ++tail;
  EXPECT_EQ(head + tail, before.size()) << fix->text;
  return fix->what;
}

TEST(HonourDtype, GivesTheConstructorItsType) {
  EXPECT_EQ(
      edited("        mask = torch.zeros((1, 1, 8))\n        return {\"mask\": mask}\n", "mask"),
      "mask = torch.zeros((1, 1, 8), dtype=dtype_override)");
  EXPECT_EQ(edited("        return {\"ids\": i, \"mask\": torch.ones(4)}\n", "mask"),
            "return {\"ids\": i, \"mask\": torch.ones(4, dtype=dtype_override)}");
  EXPECT_EQ(
      edited("        inputs = {}\n        inputs['mask'] = torch.ones(4)\n        return inputs\n",
             "mask"),
      "inputs['mask'] = torch.ones(4, dtype=dtype_override)");
  EXPECT_EQ(edited("        return dict(mask=torch.rand(4))\n", "mask"),
            "return dict(mask=torch.rand(4, dtype=dtype_override))");
  EXPECT_EQ(edited("        x = torch.randn(2, 3)\n        return x\n", ""),
            "x = torch.randn(2, 3, dtype=dtype_override)");
  EXPECT_EQ(edited("        a = torch.ones(1)\n        b = torch.ones(2)\n        return [a, b]\n",
                   "1", 1),
            "b = torch.ones(2, dtype=dtype_override)");
}

TEST(HonourDtype, FollowsMethodsAndVariables) {
  EXPECT_EQ(
      edited("        m = torch.ones(4).unsqueeze(0)\n        return {\"mask\": m}\n", "mask"),
      "m = torch.ones(4, dtype=dtype_override).unsqueeze(0)");
  EXPECT_EQ(
      edited(
          "        m = torch.ones(4)\n        m = m.unsqueeze(0)\n        return {\"mask\": m}\n",
          "mask"),
      "m = torch.ones(4, dtype=dtype_override)");
}

TEST(HonourDtype, KeepsTheLayoutOfCalls) {
  EXPECT_EQ(edited("        mask = torch.zeros(\n            1,\n            8,\n        )\n       "
                   " return {\"mask\": mask}\n",
                   "mask"),
            "dtype=dtype_override,");
  EXPECT_EQ(edited("        mask = torch.zeros(\n            1, 8\n        )\n        return "
                   "{\"mask\": mask}\n",
                   "mask"),
            "1, 8, dtype=dtype_override");
}

TEST(HonourDtype, CastsWhatAHelperGives) {
  EXPECT_EQ(
      edited("        pixels = load_image(path)\n        return {\"pixels\": pixels}\n", "pixels"),
      "pixels = pixels.to(dtype_override) if dtype_override is not None else pixels");
  EXPECT_EQ(
      edited(
          "        p = Processor.make()\n        pixels = p.run(path)\n        return [pixels]\n",
          "0", 0),
      "pixels = pixels.to(dtype_override) if dtype_override is not None else pixels");
}

TEST(HonourDtype, LeavesAloneWhatIsNotCertain) {
  EXPECT_THAT(edited("        return {\"mask\": torch.ones(4, dtype=torch.float32)}\n", "mask"),
              HasSubstr("has a dtype already"));
  EXPECT_THAT(
      edited("        mask = torch.ones(4).float()\n        return {\"mask\": mask}\n", "mask"),
      HasSubstr("cast there already"));
  EXPECT_THAT(edited("        return processor(text)\n", "mask"),
              HasSubstr("does not say what makes 'mask'"));
  EXPECT_THAT(edited("        if a:\n            return {\"mask\": torch.ones(1)}\n        return "
                     "{\"mask\": torch.ones(2)}\n",
                     "mask"),
              HasSubstr("in 2 places"));
  EXPECT_THAT(
      honourDtype(loader("        return torch.ones(1)\n", "self"), "", {}, false).message(),
      HasSubstr("does not know dtype_override"));
  EXPECT_THAT(honourDtype("def f(:\n", "x", {}, false).message(), HasSubstr("no valid Python"));
}

TEST(HonourDtype, KnowsBuffersOfTheModel) {
  std::string text = "class ModelLoader:\n    def load_model(self, dtype_override=None):\n        "
                     "model.register_buffer(\"scale\", torch.ones(8))\n        return model\n";
  Result<LoaderFix> fix = honourDtype(text, "net.scale", {}, true);
  ASSERT_TRUE(fix) << fix.message();
  EXPECT_EQ(fix->what, "model.register_buffer(\"scale\", torch.ones(8, dtype=dtype_override))");
  EXPECT_EQ(fix->line, 3u);
}

std::string added(const std::string &body, std::vector<std::string> signature) {
  Result<LoaderFix> fix = addInput(loader(body), "targets", "make({first})", signature);
  return fix ? fix->what : "no: " + fix.message();
}

TEST(AddInput, ByTheNamesOfTheModel) {
  EXPECT_EQ(added("        return {\"images\": x}\n", {"images", "targets"}),
            "return {\"images\": x, \"targets\": make(x)}");
  EXPECT_EQ(
      added("        return {\n            \"images\": x,\n        }\n", {"images", "targets"}),
      "\"targets\": make(x),");
  EXPECT_EQ(added("        return x\n", {"images", "targets"}),
            "return {\"images\": x, \"targets\": make(x)}");
  EXPECT_EQ(added("        return [x]\n", {"images", "targets"}),
            "return {\"images\": x, \"targets\": make(x)}");
  // It is there, in the wrong place.
  EXPECT_EQ(added("        return [x, targets]\n", {"images", "mask", "targets"}),
            "return {\"images\": x, \"targets\": targets}");
  EXPECT_EQ(
      added("        inputs = {\"images\": x}\n        return inputs\n", {"images", "targets"}),
      "inputs[\"targets\"] = make(inputs[\"images\"])");
  EXPECT_THAT(
      added("        inputs = processor(x)\n        return inputs\n", {"images", "targets"}),
      HasSubstr("nothing can be added to"));
  EXPECT_THAT(added("        return x\n", {"images"}), HasSubstr("takes no 'targets'"));
}

TEST(DoubleBatch, ByDefaultOrByRepetition) {
  Result<LoaderFix> fix = doubleBatch(loader("        return x\n"), 4);
  ASSERT_TRUE(fix);
  EXPECT_EQ(fix->what, "def load_inputs(self, dtype_override=None, batch_size=2):");
  fix = doubleBatch(loader("        return x\n", "self, dtype_override=None"), 4);
  ASSERT_TRUE(fix);
  EXPECT_EQ(fix->what, "x = x.repeat(2, 1, 1, 1)");
  EXPECT_FALSE(doubleBatch(loader("        return {\"a\": x}\n", "self"), 4));
}

TEST(Unpack, RegistryStaysInOrder) {
  std::string registry = "_register_attr(\"Alpha\", \"logits\")\n_register_attr(\"Gamma\", "
                         "\"logits\")  # g\n\nother = 1\n";
  Result<LoaderFix> fix = registerOutput(registry, "Beta", "scores");
  ASSERT_TRUE(fix);
  EXPECT_EQ(fix->text, "_register_attr(\"Alpha\", \"logits\")\n_register_attr(\"Beta\", "
                       "\"scores\")\n_register_attr(\"Gamma\", \"logits\")  # g\n\nother = 1\n");
  fix = registerOutput(registry, "Zeta", "x");
  ASSERT_TRUE(fix);
  EXPECT_THAT(fix->text, HasSubstr("# g\n_register_attr(\"Zeta\", \"x\")\n\nother"));
  EXPECT_EQ(registeredAttribute(registry, "Gamma"), "logits");
  EXPECT_EQ(registeredAttribute(registry, "Beta"), std::nullopt);
  fix = unregisterOutput(registry, "Alpha");
  ASSERT_TRUE(fix);
  EXPECT_EQ(fix->text, "_register_attr(\"Gamma\", \"logits\")  # g\n\nother = 1\n");
}

TEST(Unpack, OverrideStandsBehindTheInputs) {
  std::string before = loader("        return x\n");
  Result<LoaderFix> fix = addUnpack(before, "forward_output[0]", "(f32[2], f32[3])", "the first");
  ASSERT_TRUE(fix) << fix.message();
  EXPECT_TRUE(hasOwnUnpack(fix->text));
  EXPECT_FALSE(hasOwnUnpack(before));
  EXPECT_THAT(
      fix->text,
      HasSubstr("        return x\n\n    def unpack_forward_output(self, forward_output):\n"));
  EXPECT_THAT(fix->text, HasSubstr("Forward output structure: (f32[2], f32[3])\n        What is "
                                   "selected and why: the first\n"));
  EXPECT_THAT(fix->text, HasSubstr("        return forward_output[0]\n\n    def after(self):"));
}

} // namespace
} // namespace cupel::testbench::procedures
