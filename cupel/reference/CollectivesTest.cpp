// Expected values by hand, from the specification's definitions.

#include "cupel/reference/Collectives.h"

#include "cupel/reference/LinearTesting.h"

using namespace cupel;
using namespace cupel::reference;
using namespace cupel::reference::testing;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace cupel::reference {
void PrintTo(const Process &process, std::ostream *out) {
  *out << "(" << process.replica << ", " << process.partition << ")";
}
} // namespace cupel::reference

namespace {

/// x * 10 + y: shows the order of folding.
class Digits : public ElementFunction {
public:
  explicit Digits(DType type) : types{type, type} {}
  std::span<const tensor::ElementType> argumentTypes() const override { return types; }
  std::span<const tensor::ElementType> resultTypes() const override { return {types, 1}; }
  std::optional<KnownFunction> known() const override { return std::nullopt; }
  Status run(std::span<const void *const> arguments, std::span<void *const> results,
             int64_t lanes) const override {
    auto *x = static_cast<const int32_t *>(arguments[0]),
         *y = static_cast<const int32_t *>(arguments[1]);
    for (int64_t i = 0; i < lanes; ++i)
      static_cast<int32_t *>(results[0])[i] = x[i] * 10 + y[i];
    return {};
  }

private:
  tensor::ElementType types[2];
};

Tensor ints(Shape shape, std::initializer_list<int32_t> values) {
  return Tensor::of<DType::I32>(std::move(shape), values);
}
std::vector<int32_t> intsOf(const Tensor &tensor) { return valuesOf<DType::I32>(tensor); }

TEST(ProcessGroups, FourWaysToReadIds) {
  ProcessGrid grid{4, 2};
  IdGroups pairs{{0, 2}, {3, 1}};
  auto groups = processGroups(Grouping::CrossReplica, pairs, grid);
  ASSERT_TRUE(groups) << groups.message();
  EXPECT_THAT(*groups, ElementsAre(ProcessGroup{{0, 0}, {2, 0}}, ProcessGroup{{0, 1}, {2, 1}},
                                   ProcessGroup{{3, 0}, {1, 0}}, ProcessGroup{{3, 1}, {1, 1}}));
  groups = processGroups(Grouping::CrossPartition, {{1, 0}}, {2, 2});
  EXPECT_THAT(*groups, ElementsAre(ProcessGroup{{0, 1}, {0, 0}}, ProcessGroup{{1, 1}, {1, 0}}));
  groups = processGroups(Grouping::CrossReplicaAndPartition, {{1, 0}}, {2, 2});
  EXPECT_THAT(*groups, ElementsAre(ProcessGroup{{1, 0}, {0, 0}, {1, 1}, {0, 1}}));
  groups = processGroups(Grouping::FlattenedIds, {{3, 0}, {1, 2}}, {2, 2});
  EXPECT_THAT(*groups, ElementsAre(ProcessGroup{{1, 1}, {0, 0}}, ProcessGroup{{0, 1}, {1, 0}}));
  groups = processGroups(Grouping::CrossReplica, {}, {3, 1});
  EXPECT_THAT(*groups, ElementsAre(ProcessGroup{{0, 0}, {1, 0}, {2, 0}}));
  EXPECT_EQ(findGroup(*groups, {2, 0}), &(*groups)[0]);
  EXPECT_EQ(findGroup(*groups, {2, 1}), nullptr);
  EXPECT_THAT(processGroups(Grouping::CrossReplica, {{4}}, grid).message(), HasSubstr("id 4"));
  EXPECT_THAT(processGroups(Grouping::CrossReplica, {{1}, {1}}, grid).message(),
              HasSubstr("twice"));
}

TEST(ProcessGroups, ShortGroupsArePadded) {
  auto groups = idGroups(Tensor::of<DType::I64>({2, 2}, {0, 1, 2, -1}));
  ASSERT_TRUE(groups);
  EXPECT_THAT(*groups, ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_TRUE(idGroups(*Tensor::zeros(DType::I64, {0, 0}))->empty());
  EXPECT_FALSE(idGroups(*Tensor::zeros(DType::I64, {3})));
}

TEST(ProcessGroups, WhatIdsMeanFollowsFromTheChannel) {
  using enum Collective;
  EXPECT_EQ(*groupingOf(AllGather, 0, false), Grouping::CrossReplica);
  EXPECT_EQ(*groupingOf(AllReduce, 1, false), Grouping::CrossReplicaAndPartition);
  EXPECT_EQ(*groupingOf(ReduceScatter, 1, true), Grouping::FlattenedIds);
  EXPECT_EQ(*groupingOf(AllToAll, 1, false), Grouping::CrossPartition);
  EXPECT_EQ(*groupingOf(CollectivePermute, -1, false), Grouping::CrossReplica);
  EXPECT_FALSE(groupingOf(AllReduce, 0, true));
}

TEST(ProcessGroups, MeshAxes) {
  Mesh mesh{{2, 3}, {}};
  EXPECT_THAT(*meshGroups(mesh, {{{0}}}),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2, 5)));
  EXPECT_THAT(*meshGroups(mesh, {{{1}}}), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  EXPECT_THAT(*meshGroups(mesh, {{{1}, {0}}}), ElementsAre(ElementsAre(0, 3, 1, 4, 2, 5)));
  EXPECT_THAT(*meshGroups({{2, 2}, {3, 2, 1, 0}}, {{{1}}}),
              ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
  // An axis of 8 as 2 x 2 x 2: its middle part.
  EXPECT_THAT(
      *meshGroups({{8}, {}}, {{{0, 2, 2}}}),
      ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4, 6), ElementsAre(5, 7)));
  EXPECT_FALSE(meshGroups(mesh, {{{2}}}));
  EXPECT_FALSE(meshGroups(mesh, {{{0}, {0}}}));
  EXPECT_FALSE(meshGroups(mesh, {{{1, 2, 2}}}));
  EXPECT_FALSE(meshGroups({{2}, {0}}, {{{0}}}));
}

TEST(Collectives, AllGatherConcatenatesInGroupOrder) {
  Tensor operands[] = {ints({2, 1}, {1, 2}), ints({2, 1}, {3, 4})};
  auto results = allGather(operands, 1);
  ASSERT_TRUE(results) << results.message();
  EXPECT_THAT((*results)[1].shape(), ElementsAre(2, 2));
  EXPECT_THAT(intsOf((*results)[0]), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(intsOf((*allGather(operands, 0))[1]), ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(allGather(operands, 2));
  Tensor unlike[] = {ints({1}, {1}), ints({2}, {1, 2})};
  EXPECT_THAT(allGather(unlike, 0).message(), HasSubstr("different tensors"));
}

TEST(Collectives, ReductionsFoldInOrderOfProcesses) {
  ProcessGroup group{{2, 0}, {0, 0}, {1, 0}};
  Tensor operands[] = {ints({3}, {3, 6, 9}), ints({3}, {1, 4, 7}), ints({3}, {2, 5, 8})};
  Digits digits(DType::I32);
  auto all = allReduce(group, operands, digits);
  ASSERT_TRUE(all) << all.message();
  for (const Tensor &result : *all)
    EXPECT_THAT(intsOf(result), ElementsAre(123, 456, 789));
  auto parts = reduceScatter(group, operands, 0, digits);
  ASSERT_TRUE(parts) << parts.message();
  EXPECT_THAT(intsOf((*parts)[0]), ElementsAre(123));
  EXPECT_THAT(intsOf((*parts)[2]), ElementsAre(789));
  auto rooted = collectiveReduce(group, operands, 1, digits);
  ASSERT_TRUE(rooted) << rooted.message();
  EXPECT_THAT(intsOf((*rooted)[0]), ElementsAre(0, 0, 0));
  EXPECT_THAT(intsOf((*rooted)[1]), ElementsAre(123, 456, 789));
  EXPECT_FALSE(collectiveReduce(group, operands, 3, digits));
}

TEST(Collectives, ReductionInAWiderTypeThanTheOperands) {
  ProcessGroup group{{0, 0}, {1, 0}};
  Tensor operands[] = {Tensor::of<DType::I8>({1}, {100}), Tensor::of<DType::I8>({1}, {27})};
  auto results = allReduce(group, operands, Digits(DType::I32));
  ASSERT_TRUE(results) << results.message();
  EXPECT_THAT(intsOf((*results)[0]), ElementsAre(1027));
}

TEST(Collectives, AllToAllSendsPartIToMemberI) {
  Tensor operands[] = {ints({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                       ints({2, 4}, {9, 10, 11, 12, 13, 14, 15, 16})};
  auto results = allToAll(operands, 1, 0, 2);
  ASSERT_TRUE(results) << results.message();
  EXPECT_THAT((*results)[0].shape(), ElementsAre(4, 2));
  EXPECT_THAT(intsOf((*results)[0]), ElementsAre(1, 2, 5, 6, 9, 10, 13, 14));
  EXPECT_THAT(intsOf((*results)[1]), ElementsAre(3, 4, 7, 8, 11, 12, 15, 16));
  EXPECT_FALSE(allToAll(operands, 1, 0, 4));
}

TEST(Collectives, PermuteAndBroadcast) {
  ProcessGrid grid{3, 1};
  std::pair<int64_t, int64_t> ids[] = {{0, 1}, {1, 2}};
  auto pairs = permutePairs(Grouping::CrossReplica, ids, grid);
  ASSERT_TRUE(pairs);
  Process processes[] = {{0, 0}, {1, 0}, {2, 0}};
  Tensor operands[] = {ints({1}, {5}), ints({1}, {6}), ints({1}, {7})};
  auto moved = collectivePermute(processes, operands, *pairs);
  ASSERT_TRUE(moved) << moved.message();
  EXPECT_THAT(intsOf((*moved)[0]), ElementsAre(0));
  EXPECT_THAT(intsOf((*moved)[1]), ElementsAre(5));
  EXPECT_THAT(intsOf((*moved)[2]), ElementsAre(6));
  EXPECT_THAT(intsOf((*collectiveBroadcast(operands, 0))[2]), ElementsAre(5));
  EXPECT_THAT(intsOf((*collectiveBroadcast(operands, 2))[0]), ElementsAre(7));
  EXPECT_FALSE(collectiveBroadcast(operands, -1));
  std::pair<int64_t, int64_t> twice[] = {{0, 1}, {0, 2}}, outside[] = {{0, 3}};
  EXPECT_FALSE(permutePairs(Grouping::CrossReplica, twice, grid));
  EXPECT_FALSE(permutePairs(Grouping::CrossReplica, outside, grid));
}

TEST(Collectives, ZeroSizes) {
  Tensor operands[] = {*Tensor::zeros(DType::I32, {0, 2}), *Tensor::zeros(DType::I32, {0, 2})};
  EXPECT_THAT((*allGather(operands, 1))[0].shape(), ElementsAre(0, 4));
  ProcessGroup group{{0, 0}, {1, 0}};
  EXPECT_THAT((*reduceScatter(group, operands, 1, Digits(DType::I32)))[0].shape(),
              ElementsAre(0, 1));
  EXPECT_FALSE(allGather({}, 0));
}

} // namespace
