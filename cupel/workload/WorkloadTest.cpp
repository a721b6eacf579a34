#include "cupel/workload/Workload.h"

#include "cupel/support/Files.h"
#include "cupel/tensor/Safetensors.h"
#include "cupel/workload/Folder.h"
#include "cupel/workload/Judge.h"
#include "cupel/workload/Tensors.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

using namespace cupel;
using namespace cupel::workload;
using tensor::DType;
using tensor::Tensor;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

std::string artifact(const std::string &version) {
  return std::string("ML\xefR\x0d") + "StableHLO_v" + version + std::string(1, '\0') + "rest";
}

class WorkloadTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cupel-workload-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder); }
  void write(const char *name, std::string_view text) {
    ASSERT_TRUE(writeOutput((folder / name).string(), text));
  }
  std::string errorOfReading() {
    Result<Workload> workload = readWorkload(folder.string());
    return workload ? "" : workload.message();
  }
  fs::path folder;
};

TEST_F(WorkloadTest, ComesBackAsItWasWritten) {
  Workload workload;
  workload.name = "two programs";
  workload.programs = {{ProgramVersion{1, 13, 0}, artifact("1.13.0")},
                       {ProgramVersion{1, 0, 0}, artifact("1.0.0")}};
  workload.options.replicas = 2;
  workload.options.deviceIds = {3, 1};
  workload.hasDeviceIds = true;
  workload.options.useShardy = true;
  workload.options.flags = {{"level", int64_t(2)}, {"fast", true}, {"x", 0.5}, {"s", "t"}};
  workload.inputs = {{Tensor::of<DType::I4>({2}, {-8, 7})}, {Tensor::of<DType::I4>({2}, {1, 2})}};
  workload.expected = {{Tensor::of<DType::C128>({1}, {{1.5, -2}})}};
  workload.checks = {{Check::Kind::Close, 0, 1, false, 0, 1, 3, "a.mlir:3:4", 1},
                     {Check::Kind::AlmostEqual, 2, 0, true, 1e-4, 0, 0, ""}};
  workload.constants = {Tensor::of<DType::F32>({1}, {7})};
  workload.tolerances = {{.pcc = 0.98, .largest = 0.5, .nan = compare::NanPolicy::Unequal},
                         {.ulp = compare::UlpRange{1, 3}, .complex = compare::ComplexPolicy::Parts}};
  workload.isAsserted = false;
  workload.expectsFirst = true;
  workload.precision = *compare::DevicePrecision::parse("tf32/f32");
  workload.noise = {{{Tensor::of<DType::C128>({1}, {{1.25, -2}})}},
                    {{Tensor::of<DType::C128>({1}, {{1.75, -2}})}}};
  workload.noiseCenter = {{Tensor::of<DType::C128>({1}, {{1.5, -2.5}})}};
  workload.provenance = {.test = "programs::a.mlir#2",
                         .file = "/a.mlir",
                         .part = 1,
                         .frontend = "stablehlo",
                         .variant = "base",
                         .parallelism = "single_device",
                         .runMode = "inference",
                         .expectation = "the file beside it",
                         .seed = 7,
                         .wideSums = true,
                         .resultNames = {"fc.weight", "output"},
                         .device = "cupel",
                         .outcome = "crashed",
                         .stage = "execute",
                         .message = "of \"it\"",
                         .versions = {{"cupel", "1.0"}}};
  Status written = writeWorkload((folder / "w").string(), workload);
  ASSERT_TRUE(written) << written.message();
  Result<Workload> back = readWorkload((folder / "w").string());
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(back->name, workload.name);
  ASSERT_EQ(back->programs.size(), 2u);
  EXPECT_EQ(back->options.replicas, 2);
  EXPECT_EQ(back->options.deviceIds, workload.options.deviceIds);
  EXPECT_EQ(back->options.flags, workload.options.flags);
  EXPECT_TRUE(back->options.useShardy);
  EXPECT_EQ(back->checks, workload.checks);
  ASSERT_EQ(back->constants.size(), 1u);
  EXPECT_EQ(*back->constants[0].dataAs<float>(), 7);
  EXPECT_EQ(back->tolerances, workload.tolerances);
  EXPECT_FALSE(back->isAsserted);
  EXPECT_TRUE(back->expectsFirst);
  EXPECT_EQ(back->precision.text(), "tf32/f32");
  compare::Noise noise = back->noiseFor(1, 0);
  ASSERT_EQ(noise.samples.size(), 2u);
  EXPECT_EQ(noise.samples[1].dataAs<std::complex<double>>()->real(), 1.75);
  EXPECT_EQ(noise.center->dataAs<std::complex<double>>()->imag(), -2.5);
  EXPECT_EQ(back->provenance, workload.provenance);
  ASSERT_EQ(back->inputs.size(), 2u);
  EXPECT_EQ(back->inputs[1][0].dtype(), DType::I4);
  EXPECT_EQ(back->inputs[1][0].dataAs<int8_t>()[1], 2);
  EXPECT_EQ(*back->expected[0][0].dataAs<std::complex<double>>(), (std::complex<double>{1.5, -2}));
}

TEST_F(WorkloadTest, EveryElementTypeIsKept) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < tensor::kDTypeCount; ++i) {
    Result<Tensor> tensor = Tensor::zeros(static_cast<DType>(i), {2, 2});
    ASSERT_TRUE(tensor);
    for (int64_t b = 0; b < tensor->byteSize(); ++b)
      tensor->mutableData()[b] = static_cast<std::byte>(b & 1);
    tensors.push_back(*tensor);
  }
  std::string path = (folder / "all.safetensors").string();
  Status written = writeTensors(path, {tensors});
  ASSERT_TRUE(written) << written.message();
  auto back = readTensors(path);
  ASSERT_TRUE(back) << back.message();
  ASSERT_EQ(back->front().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &tensor = back->front()[i];
    EXPECT_EQ(tensor.dtype(), tensors[i].dtype());
    EXPECT_TRUE(std::ranges::equal(tensor.shape(), tensors[i].shape()));
    EXPECT_TRUE(std::equal(tensor.data(), tensor.data() + tensor.byteSize(), tensors[i].data()));
  }
}

TEST_F(WorkloadTest, TheNewestProgramThatThePluginReadsIsTaken) {
  Workload workload;
  workload.programs = {{ProgramVersion{1, 13, 0}, "new"},
                       {ProgramVersion{1, 0, 0}, "old"},
                       {ProgramVersion{1, 8, 0}, "middle"}};
  auto taken = [&](std::optional<std::vector<int64_t>> version) {
    Result<const ProgramBytes *> program = workload.programFor(version);
    return program ? (*program)->bytes : program.message();
  };
  EXPECT_EQ(taken(std::vector<int64_t>{1, 20, 0}), "new");
  EXPECT_EQ(taken(std::vector<int64_t>{1, 13, 0}), "new");
  EXPECT_EQ(taken(std::vector<int64_t>{1, 12, 9}), "middle");
  EXPECT_EQ(taken(std::nullopt), "old");
  EXPECT_THAT(taken(std::vector<int64_t>{0, 19, 0}), HasSubstr("save it for an older version"));
}

TEST_F(WorkloadTest, VersionsOfArtifactsAreRead) {
  EXPECT_EQ(artifactVersion(artifact("1.13.7")), (ProgramVersion{1, 13, 7}));
  EXPECT_EQ(artifactVersion("module {}"), std::nullopt);
  EXPECT_EQ(artifactVersion(artifact("1.x")), std::nullopt);
  EXPECT_EQ(artifactVersion(""), std::nullopt);
}

TEST_F(WorkloadTest, AFolderWithoutAProgramIsNone) {
  EXPECT_THAT(errorOfReading(), HasSubstr("holds no program.mlirbc"));
  Result<Workload> missing = readWorkload((folder / "nowhere").string());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.message(), HasSubstr("no such folder"));
}

TEST_F(WorkloadTest, ADamagedVersionIsNotPassedOver) {
  write("program-v1.0.0.mlirbc", artifact("1.0.0"));
  write("program.mlirbc", "\x17 no program");
  EXPECT_THAT(errorOfReading(), HasSubstr("program.mlirbc: is damaged"));
  write("program.mlirbc", artifact("1.13.7"));
  EXPECT_TRUE(readWorkload(folder.string()));
}

TEST_F(WorkloadTest, ProgramAloneIsEnough) {
  write("program.mlirbc", "module {}");
  Result<Workload> workload = readWorkload(folder.string());
  ASSERT_TRUE(workload) << workload.message();
  ASSERT_EQ(workload->inputs.size(), 1u);
  EXPECT_TRUE(workload->inputs[0].empty());
}

TEST_F(WorkloadTest, WrongOptionsAreNamed) {
  write("program.mlirbc", "module {}");
  for (auto [json, message] : std::initializer_list<std::pair<const char *, const char *>>{
           {"{", "is not JSON"},
           {"[]", "must be an object"},
           {R"({"replicas": "two"})", "'replicas' has the wrong type"},
           {R"({"replicas": 1.5})", "'replicas' has the wrong type"},
           {R"({"replicas": 18446744073709551615})", "'replicas' has the wrong type"},
           {R"({"use_spmd": 1})", "'use_spmd' has the wrong type"},
           {R"({"name": null})", "'name' has the wrong type"},
           {R"({"device_ids": ["0"]})", "'device_ids' has the wrong type"},
           {R"({"tolerance": {"ulp": [1]}})", "'ulp' must be"},
           {R"({"replicas": 0})", "between 1 and 65536"},
           {R"({"replica": 1})", "'replica' is not an option"},
           {R"({"device_ids": [1, 2]})", "2 device_ids for 1 replicas"},
           {R"({"format": 2})", "format 2 is newer"},
           {R"({"compile_options": {"a": [1]}})", "compile option 'a'"},
           {R"({"checks": [{"kind": "odd", "actual": 0, "expected": 1}]})", "'odd' is not a kind"},
           {R"({"checks": [{"kind": "equal", "actual": 0}]})", "'expected' is missing"},
           {R"({"tolerance": {"pccc": 1}})", "'pccc' is not an option"},
           {R"({"tolerances": {}})", "'tolerances' must be a list"},
           {R"({"tolerances": [{"pcc": 2}]})", "pcc of 2 is not between"},
           {R"({"tolerances": [{"ulp": 2}]})", "'ulp' has the wrong type"},
       }) {
    write("options.json", json);
    EXPECT_THAT(errorOfReading(), HasSubstr(message)) << json;
  }
}

TEST_F(WorkloadTest, TensorsMustBeNamedByPosition) {
  write("program.mlirbc", "module {}");
  std::string path = (folder / "inputs.safetensors").string();
  Tensor one = Tensor::of<DType::F32>({1}, {1});
  auto errorOf = [&](tensor::NamedTensors tensors) {
    tensor::Safetensors contents;
    contents.tensors = std::move(tensors);
    EXPECT_TRUE(tensor::writeSafetensors(path, contents));
    return errorOfReading();
  };
  EXPECT_THAT(errorOf({{"x", one}}), HasSubstr("'x' is not named by a position"));
  EXPECT_THAT(errorOf({{"1", one}}), HasSubstr("tensor 0 of device 0 is missing"));
  EXPECT_THAT(errorOf({{"0", one}, {"d0/0", one}}), HasSubstr("two tensors stand at 'd0/0'"));
  EXPECT_THAT(errorOf({{"0", one}, {"d1/0", one}}), HasSubstr("only 1 tensors"));
  EXPECT_THAT(errorOf({{"0", one}, {"d0/1", one}, {"d1/2", one}}), HasSubstr("tensor 1 of device 1 is missing"));
  EXPECT_THAT(errorOf({{"d999999999/0", one}}), HasSubstr("only 1 tensors"));
  EXPECT_THAT(errorOf({{"d0/0", one}, {"d1/0", one}}), HasSubstr("inputs for 2 devices"));
}

TEST_F(WorkloadTest, WhatNamesNoDeviceIsTheSameOnAll) {
  write("program.mlirbc", "module {}");
  write("options.json", R"({"partitions": 2})");
  Tensor common = Tensor::of<DType::F32>({1}, {1}), first = Tensor::of<DType::F32>({1}, {2}),
         second = Tensor::of<DType::F32>({1}, {3});
  tensor::Safetensors contents;
  contents.tensors = {{"0", common}, {"d0/1", first}, {"d1/1", second}};
  ASSERT_TRUE(tensor::writeSafetensors((folder / "inputs.safetensors").string(), contents));
  Result<Workload> read = readWorkload(folder.string());
  ASSERT_TRUE(read) << read.message();
  ASSERT_EQ(read->inputs.size(), 2u);
  for (size_t device = 0; device < 2; ++device) {
    ASSERT_EQ(read->inputs[device].size(), 2u);
    EXPECT_EQ(read->inputs[device][0].data(), read->inputs[0][0].data());
    EXPECT_EQ(*reinterpret_cast<const float *>(read->inputs[device][1].data()), 2.0f + device);
  }
}

TEST_F(WorkloadTest, OneToleranceForAllFloatsIsReadAsItAlwaysWas) {
  write("program.mlirbc", "module {}");
  write("options.json", R"({"tolerance": {"atol": 0.5}})");
  Status written = writeTensors((folder / "expected.safetensors").string(),
                                {{Tensor::of<DType::F32>({1}, {1}), Tensor::of<DType::I32>({1}, {1})}});
  ASSERT_TRUE(written) << written.message();
  Result<Workload> workload = readWorkload(folder.string());
  ASSERT_TRUE(workload) << workload.message();
  EXPECT_EQ(workload->toleranceFor(0), compare::Tolerance{.atol = 0.5});
  EXPECT_EQ(workload->toleranceFor(1), compare::Tolerance());
}

TEST_F(WorkloadTest, AFolderIsSavedWholeOrNotAtAll) {
  Workload workload;
  workload.programs = {{std::nullopt, "module {}"}};
  workload.inputs = {{Tensor::of<DType::F32>({1}, {1})}};
  std::string target = (folder / "deep" / "w").string();
  for (int i = 0; i < 2; ++i) { // The second replaces the first.
    Status saved = saveWorkload(target, workload);
    ASSERT_TRUE(saved) << saved.message();
    EXPECT_TRUE(isWorkloadFolder(target));
    EXPECT_TRUE(readWorkload(target));
  }
  // A tensor that cannot be written leaves nothing behind.
  auto entries = [&] {
    return std::distance(fs::directory_iterator(folder / "deep"), fs::directory_iterator());
  };
  EXPECT_EQ(entries(), 1);
  write("file", "");
  EXPECT_THAT(saveWorkload((folder / "file" / "w").string(), workload).message(),
              HasSubstr("cannot be created"));
  if (::geteuid() != 0) {
    fs::permissions(folder / "deep", fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_FALSE(saveWorkload((folder / "deep" / "x").string(), workload));
    fs::permissions(folder / "deep", fs::perms::owner_all);
    EXPECT_EQ(entries(), 1);
  }
}

TEST_F(WorkloadTest, FewElementsOfWhatRoundingDecidesMayBeFartherOffHereToo) {
  // Rows that rounding picks: each evaluation has others, and a few of them the large value.
  constexpr int kCount = 4096;
  auto picked = [](unsigned seed, int large) {
    std::mt19937 random(seed);
    std::normal_distribution<float> numbers;
    std::vector<float> values(kCount);
    for (int i = 0; i < kCount; ++i)
      values[i] = i % 97 == 0 && i / 97 < large ? 24 : float(std::sin(i)) + numbers(random);
    return Tensor::of<DType::F32>({kCount}, std::span<const float>(values));
  };
  Workload workload{.noise = {{{picked(1, 0)}}, {{picked(2, 0)}}}, .noiseCenter = {{picked(3, 0)}}};
  workload.expected = {{picked(5, 3)}};
  Judgement right = judge(workload, {{picked(4, 0)}}).front();
  EXPECT_TRUE(right.passed) << right.sentence;
  EXPECT_TRUE(right.tellsLittle);
  EXPECT_THAT(right.sentence, HasSubstr("rounding decides this output"));
  // More of them are too many; what is not stored is not known here.
  workload.expected = {{picked(5, 6)}};
  Judgement wrong = judge(workload, {{picked(4, 0)}}).front();
  EXPECT_FALSE(wrong.passed);
  EXPECT_THAT(wrong.sentence, HasSubstr("cupel run makes them"));
  workload.noise.push_back({{picked(6, 0)}});
  EXPECT_THAT(judge(workload, {{picked(4, 0)}}).front().sentence,
              testing::Not(HasSubstr("cupel run makes them")));
}

TEST_F(WorkloadTest, ResultsAreJudged) {
  Tensor a = Tensor::of<DType::F32>({2}, {1, 2}), b = Tensor::of<DType::F32>({2}, {1, 2.5});
  Tensor c = Tensor::of<DType::I32>({2}, {1, 2});
  auto first = [](std::vector<Tensor> results, std::vector<Tensor> expected, Workload workload) {
    workload.expected = {std::move(expected)};
    return judge(workload, {std::move(results)}).front();
  };
  EXPECT_TRUE(first({a}, {a}, {}).passed);
  EXPECT_FALSE(first({b}, {a}, {}).passed);
  EXPECT_TRUE(first({b}, {a}, {.tolerances = {{.atol = 1}}}).passed);
  EXPECT_FALSE(first({b}, {a}, {.tolerances = {{.atol = 1, .largest = 0.1}}}).passed);
  EXPECT_TRUE(first({b}, {a}, {.isAsserted = false}).passed);
  EXPECT_THAT(first({c}, {a}, {.isAsserted = false}).sentence, HasSubstr("is a tensor<2xi32> where"));
  // Without bounds noise decides; where none was measured, the declared precision does.
  Tensor near = Tensor::of<DType::F32>({2}, {1, 2.01f});
  EXPECT_FALSE(first({near}, {a}, {}).passed);
  EXPECT_TRUE(first({near}, {a}, {.precision = *compare::DevicePrecision::parse("bf16")}).passed);
  EXPECT_TRUE(first({near}, {a}, {.noise = {{{Tensor::of<DType::F32>({2}, {1, 2.005f})}}}}).passed);
  EXPECT_FALSE(first({b}, {a}, {.noise = {{{Tensor::of<DType::F32>({2}, {1, 2.005f})}}}}).passed);
  EXPECT_THAT(first({b}, {a}, {}).sentence, HasSubstr("beyond 8x noise"));
  // From noise of a sixteenth on a pass tells little, but of what is equal.
  const Workload decided{.noise = {{{Tensor::of<DType::F32>({2}, {2, 1})}}}};
  EXPECT_TRUE(first({b}, {a}, decided).passed);
  EXPECT_TRUE(first({b}, {a}, decided).tellsLittle);
  EXPECT_FALSE(first({a}, {a}, decided).tellsLittle);
  EXPECT_FALSE(first({near}, {a}, {.noise = {{{Tensor::of<DType::F32>({2}, {1, 2.005f})}}}}).tellsLittle);
  // Who judges without noise says so, unless nothing differs.
  const char *kAlone = "no noise stored: limits from the declared precision f32 alone";
  EXPECT_THAT(first({b}, {a}, {}).sentence, HasSubstr(kAlone));
  EXPECT_THAT(first({a}, {a}, {}).sentence, testing::Not(HasSubstr(kAlone)));
  EXPECT_THAT(first({b}, {a}, {.noise = {{{Tensor::of<DType::F32>({2}, {1, 2.005f})}}}}).sentence,
              testing::Not(HasSubstr(kAlone)));
  EXPECT_FALSE(first({}, {a}, {}).passed);
  EXPECT_FALSE(first({a, b}, {a}, {}).passed);
  EXPECT_TRUE(first({a, b}, {a}, {.expectsFirst = true}).passed);
  // Of several devices each has its own.
  Workload both;
  both.expected = {{a}, {b}};
  std::vector<Judgement> judgements = judge(both, {{a}, {a}});
  ASSERT_EQ(judgements.size(), 2u);
  EXPECT_TRUE(judgements[0].passed);
  EXPECT_FALSE(judgements[1].passed);
  EXPECT_EQ(judgements[1].device, 1u);
  Check equal{Check::Kind::Equal, 0, 1};
  EXPECT_FALSE(judgeChecks({a, b}, 0, {equal}, {}).front().passed);
  EXPECT_TRUE(judgeChecks({a, a}, 0, {equal}, {}).front().passed);
  Check almost{Check::Kind::AlmostEqual, 0, 1, false, 0.6};
  EXPECT_TRUE(judgeChecks({a, b}, 0, {almost}, {}).front().passed);
  Check outside{Check::Kind::Equal, 0, 7};
  EXPECT_THAT(judgeChecks({a, b}, 0, {outside}, {}).front().sentence,
              HasSubstr("but there are 2 and 2"));
  Check constant{Check::Kind::Equal, 0, 0, true};
  EXPECT_TRUE(judgeChecks({a}, 0, {constant}, {a}).front().passed);
  EXPECT_FALSE(judgeChecks({b}, 0, {constant}, {a}).front().passed);
  constant.device = 1; // Other devices may give what they like.
  EXPECT_TRUE(judgeChecks({b}, 0, {constant}, {a}).empty());
  EXPECT_FALSE(judgeChecks({b}, 1, {constant}, {a}).front().passed);
}

} // namespace
