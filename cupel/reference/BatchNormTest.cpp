#include "cupel/reference/BatchNorm.h"

#include "cupel/reference/LinearTesting.h"

#include <cmath>

using namespace cupel;
using namespace cupel::reference;
using namespace cupel::reference::testing;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

// Expected values by NumPy; the gradient's formula was also compared with difference quotients.
Tensor operand() {
  return generate<DType::F64>({2, 3, 4}, [](int64_t i) { return wave(i, 5); });
}
Tensor three(double a, double b, double c) { return Tensor::of<DType::F64>({3}, {a, b, c}); }

void expectNear(const Tensor &result, std::vector<double> expected) {
  auto values = valuesOf<DType::F64>(result);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-13) << "at " << i;
}

TEST(BatchNorm, Training) {
  auto result = batchNormTraining(operand(), three(1.5, -2, 0.5), three(0.25, 1, -3), 0.125, 1);
  ASSERT_TRUE(result) << result.message();
  expectNear(result->mean, {-0.1475, 0.03500000000000003, -0.03500000000000002});
  expectNear(result->variance, {0.29089375, 0.357175, 0.35717499999999996});
  expectNear(result->output,
             {-1.5002761154517867, 0.2209256459227277,  1.9421274072972423,  -1.0350864502154313,
              0.9855988340344032,  -1.1457737288739192, 2.540924758318855,   0.40955219541053245,
              -2.269140827245964,  -3.190815449044157,  -2.6579723083170768, -3.57964693011527,
              0.3604825454936344,  2.0816843068681483,  -0.8955295506445249, 0.8256722107299898,
              -1.3185877204610805, 2.3681107667316934,  0.23673820382337096, 3.9234366910161453,
              -3.147611951147367,  -2.614768810420286,  -3.53644343221848,   -3.003600291491399});
}

TEST(BatchNorm, Inference) {
  auto result = batchNormInference(operand(), three(1.5, -2, 0.5), three(0.25, 1, -3),
                                   three(0.1, -0.2, 0.3), three(1, 2, 0.5), 0.125, 1);
  ASSERT_TRUE(result) << result.message();
  expectNear(*result, {-1.1642135623730951,  -0.11769552621700474, 0.9288225099390858,
                       -0.881370849898476,   0.6707227165263829,   -0.3445489075172692,
                       1.4115966043420212,   0.39632498029836893,  -2.5699302382171005,
                       -3.3794733192202058,  -2.9114562255152854,  -3.72099930651839,
                       -0.03284271247461901, 1.0136753236814713,   -0.7965180361560904,
                       0.2500000000000001,   -0.4268682283856735,  1.3292772834736168,
                       0.3140056594299647,   2.070151171289255,    -3.341525987298185,
                       -2.873508893593265,   -3.6830519745963697,  -3.2150348808914497});
}

TEST(BatchNorm, Grad) {
  Tensor grad = generate<DType::F64>({2, 3, 4}, [](int64_t i) { return wave(i, 77); });
  auto result = batchNormGrad(operand(), three(1.5, -2, 0.5),
                              three(-0.1475, 0.03500000000000003, -0.03500000000000002),
                              three(0.29089375, 0.357175, 0.35717499999999996), grad, 0.125, 1);
  ASSERT_TRUE(result) << result.message();
  expectNear(result->operand, {0.5003583478762201,   -1.8023734885432978, 0.5933102939243717,
                               1.1478404512458604,   2.1627718386476946,  -0.649939322104318,
                               -1.6027802563100408,  1.4025796330390425,  0.4190685535219773,
                               -0.5679791632427702,  0.00265779801184953, 0.47012784377237604,
                               -1.6081288575324055,  0.7875549249352638,  1.3420850822567527,
                               -0.9606467541627653,  -0.8779969837869139, -1.8308379179926364,
                               1.1745219713564468,   0.2216810371507246,  -0.5217113015194227,
                               0.048925659735197115, 0.5163957054957234,  -0.36748509577493077});
  expectNear(result->scale, {-2.0217142851172, -1.7758077752177381, -0.39401590081872784});
  expectNear(result->offset, {0.2400000000000002, 1.6999999999999997, -0.8800000000000001});
}

// By hand: mean 2, variance 1.
TEST(BatchNorm, NarrowTypesAreRoundedOnce) {
  auto bf16 = [](float x) { return tensor::fromFloat<DType::BF16>(x); };
  Tensor x = Tensor::of<DType::BF16>({2, 1}, {bf16(1), bf16(3)});
  Tensor one = Tensor::of<DType::BF16>({1}, {bf16(1)}), zero = Tensor::of<DType::BF16>({1}, {0});
  auto result = batchNormTraining(x, one, zero, 0, 1);
  ASSERT_TRUE(result);
  EXPECT_THAT(valuesOf<DType::BF16>(result->output), ElementsAre(bf16(-1), bf16(1)));
}

TEST(BatchNorm, ZeroSizesAndBadFeature) {
  Tensor x = *Tensor::zeros(DType::F32, {0, 2}), p = *Tensor::zeros(DType::F32, {2});
  auto result = batchNormTraining(x, p, p, 1e-3, 1);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->output.shape(), ElementsAre(0, 2));
  EXPECT_TRUE(std::isnan(valuesOf<DType::F32>(result->mean)[0]));
  EXPECT_THAT(batchNormTraining(x, p, p, 1e-3, 2).message(), HasSubstr("feature_index 2"));
  EXPECT_FALSE(batchNormTraining(x, p, p, 1e-3, 0));
}

} // namespace
