#include "cupel/frontends/torch/Schema.h"

#include <gtest/gtest.h>

using namespace cupel::frontends::torch_import;

TEST(Schema, FindsOverloadsAndFillsDefaults) {
  const Schema *add = findSchema("aten.add.Tensor");
  ASSERT_TRUE(add);
  ASSERT_EQ(add->arguments.size(), 3u);
  EXPECT_EQ(add->arguments[2].name, "alpha");
  EXPECT_EQ(*add->arguments[2].missing->as<int64_t>(), 1);
  EXPECT_FALSE(add->arguments[1].missing);
  EXPECT_FALSE(add->writes());

  const Schema *conv = findSchema("aten.conv2d.default");
  ASSERT_TRUE(conv);
  EXPECT_EQ(*conv->find("stride")->missing->as<std::vector<int64_t>>(),
            (std::vector<int64_t>{1, 1}));
  EXPECT_TRUE(conv->find("bias")->missing->isNone());
  EXPECT_TRUE(conv->find("bias")->type.isOptional);

  const Schema *gelu = findSchema("aten.gelu.default");
  ASSERT_TRUE(gelu);
  EXPECT_EQ(*gelu->find("approximate")->missing->as<std::string>(), "none");
  const Schema *rrelu = findSchema("aten.rrelu.default");
  ASSERT_TRUE(rrelu);
  EXPECT_DOUBLE_EQ(*rrelu->find("upper")->missing->as<double>(), 1.0 / 3);
  EXPECT_EQ(*rrelu->find("training")->missing->as<bool>(), false);
}

TEST(Schema, KnowsWhatIsSharedAndWritten) {
  const Schema *view = findSchema("aten.view.default");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->arguments[0].type.alias, view->results[0].alias);
  EXPECT_FALSE(view->writes());
  const Schema *split = findSchema("aten.split.Tensor");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->arguments[0].name, "self");
  EXPECT_EQ(split->arguments[0].type.alias, "a");
  EXPECT_TRUE(split->results[0].isList);
  EXPECT_EQ(split->results[0].alias, "a");
  const Schema *write = findSchema("aten.add_.Tensor");
  ASSERT_TRUE(write);
  EXPECT_TRUE(write->writes());
  const Schema *each = findSchema("aten._foreach_add_.Scalar");
  ASSERT_TRUE(each);
  EXPECT_TRUE(each->arguments[0].type.isList);
  EXPECT_TRUE(each->arguments[0].type.isWritten);
  EXPECT_TRUE(each->results.empty());
}

TEST(Schema, UnknownOperatorsHaveNone) {
  EXPECT_FALSE(findSchema("aten.no_such_operator.default"));
  EXPECT_FALSE(findSchema("aten.add.no_such_overload"));
  EXPECT_FALSE(findSchema("add"));
  EXPECT_FALSE(parseSchema("not a schema"));
}
