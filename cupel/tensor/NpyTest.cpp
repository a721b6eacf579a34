#include "cupel/tensor/Npy.h"

#include "cupel/tensor/Fill.h"
#include "cupel/tensor/TestFiles.h"

#include <gmock/gmock.h>

using namespace cupel;
using namespace cupel::tensor;
using testing::HasSubstr;

namespace {

const std::vector<double> kRamp = {-1, -0.5, 0, 0.5, 1, 1.5};

void expectSample(const char *name, DType type, Shape shape, std::vector<double> expected,
                  std::optional<DType> hint = std::nullopt) {
  SCOPED_TRACE(name);
  Result<Tensor> t = readNpy(sample(name), hint);
  ASSERT_TRUE(t) << t.message();
  EXPECT_EQ(t->dtype(), type);
  EXPECT_EQ(shapeOf(*t), shape);
  EXPECT_EQ(values(*t), expected);
}

std::string problemOf(const std::string &bytes) {
  Result<Tensor> t = parseNpy(shared(bytes), "x.npy");
  return t ? "" : t.message();
}

/// A version 1 file with this header and `dataBytes` zeros.
std::string npy(const std::string &header, size_t dataBytes) {
  std::string out = "\x93NUMPY";
  out +=
      {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return out + header + std::string(dataBytes, '\0');
}

TEST(Npy, ReadsWhatNumpyWrites) {
  expectSample("f32.npy", DType::F32, {2, 3}, kRamp);
  expectSample("f64-big-endian.npy", DType::F64, {2, 3}, kRamp);
  expectSample("c64-big-endian.npy", DType::C64, {2, 3}, kRamp);
  expectSample("i16-fortran.npy", DType::I16, {2, 3}, {0, 1, 2, 3, 4, 5});
  expectSample("bool.npy", DType::I1, {3}, {1, 0, 1});
  expectSample("u64-scalar.npy", DType::U64, {}, {0x1p64});
  expectSample("f16-empty.npy", DType::F16, {0, 3}, {});
  expectSample("i32-version2.npy", DType::I32, {3}, {0, 1, 2});
  expectSample("i8-version3.npy", DType::I8, {3}, {0, 1, 2});
  Result<Tensor> complex = readNpy(sample("c64-big-endian.npy"));
  EXPECT_EQ(complex->dataAs<std::complex<float>>()[1], (std::complex<float>(-0.5f, 2)));
}

TEST(Npy, ReadsWhatMlDtypesWrites) {
  expectSample("bf16.npy", DType::BF16, {2, 3}, kRamp);
  expectSample("bf16.npy", DType::BF16, {2, 3}, kRamp, DType::BF16);
  expectSample("f8e5m2.npy", DType::F8E5M2, {2, 3}, kRamp);
  expectSample("f8e4m3fn.npy", DType::F8E4M3FN, {2, 3}, kRamp, DType::F8E4M3FN);
  expectSample("i4.npy", DType::I4, {4}, {-8, -1, 0, 7}, DType::I4);
  Result<Tensor> unknown = readNpy(sample("f8e4m3fn.npy"));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.message(), HasSubstr("say which type is expected"));
  EXPECT_FALSE(readNpy(sample("bf16.npy"), DType::F32));
}

TEST(Npy, MapsInsteadOfCopying) {
  Result<SharedBytes> file = mapFile(sample("f32.npy"));
  Result<Tensor> t = parseNpy(*file, "x");
  EXPECT_EQ(t->data(), file->bytes.data() + 128);
  Result<Tensor> fortran = readNpy(sample("i16-fortran.npy"));
  EXPECT_FALSE(fortran->isContiguous());
  std::string shifted = "x" + bytesOf(sample("f32.npy"));
  SharedBytes odd = shared(shifted);
  Result<Tensor> copied = parseNpy(odd.part(1, shifted.size() - 1), "x");
  ASSERT_TRUE(copied);
  EXPECT_EQ(values(*copied), kRamp);
}

TEST(Npy, RefusesWhatIsNoTensor) {
  EXPECT_THAT(readNpy(sample("object.npy")).message(), HasSubstr("never loaded"));
  EXPECT_THAT(readNpy(sample("structured.npy")).message(), HasSubstr("structured"));
  EXPECT_THAT(readNpy(sample("text.npy")).message(), HasSubstr("<U2"));
  EXPECT_THAT(readNpy("/no/such/file.npy").message(), HasSubstr("no such file"));
}

TEST(Npy, SaysWhatIsWrongWithHostileHeaders) {
  auto header = [](const std::string &shape, const std::string &type = "<f4") {
    return npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }", 64);
  };
  EXPECT_EQ(problemOf(header("4, 4")), "");
  EXPECT_EQ(problemOf(header("16L,")), "");
  EXPECT_THAT(problemOf(""), HasSubstr("is no .npy file"));
  EXPECT_THAT(problemOf(std::string("\x93NUMPY\1\0", 8)), HasSubstr("is no .npy file"));
  EXPECT_THAT(problemOf(std::string("\x93NUMPY\4\0\0\0", 10)), HasSubstr("version 4"));
  EXPECT_THAT(problemOf(std::string("\x93NUMPY\1\0\xff\xff", 10)), HasSubstr("cut off"));
  EXPECT_THAT(problemOf(std::string("\x93NUMPY\2\0\0\0\0\xff", 12)), HasSubstr("claims a header"));
  EXPECT_THAT(problemOf(header("17,")), HasSubstr("needs 68 bytes, 64 are there"));
  EXPECT_THAT(problemOf(header("4611686018427387904, 4611686018427387904")),
              HasSubstr("more than 2^63"));
  EXPECT_THAT(problemOf(header("99999999999999999999")), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(problemOf(header("-1,")), HasSubstr("not a number"));
  EXPECT_THAT(problemOf(header("1 2")), HasSubstr("comma"));
  std::string ranks;
  for (int i = 0; i < 70; ++i)
    ranks += "1,";
  EXPECT_THAT(problemOf(header(ranks)), HasSubstr("dimensions"));
  EXPECT_THAT(problemOf(header("1,", "<f16")), HasSubstr("no tensor type"));
  EXPECT_THAT(problemOf(header("1,", "\x1b[2J")), Not(HasSubstr("\x1b")));
  EXPECT_THAT(problemOf(npy("{'descr': '<f4'}", 4)), HasSubstr("lacks"));
  EXPECT_THAT(problemOf(npy("{'descr': '<f4', 'descr': '<f4'}", 4)), HasSubstr("repeated"));
  EXPECT_THAT(problemOf(npy("{'descr': '<f4", 4)), HasSubstr("descr is not a type"));
  EXPECT_THAT(problemOf(npy("", 4)), HasSubstr("does not start"));
  EXPECT_THAT(problemOf(npy(std::string(1000, '{'), 4)), HasSubstr("expected a key"));
  // Sub-byte integers that are none, and booleans that NumPy would take for True.
  EXPECT_THAT(
      parseNpy(
          shared(npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1,)} # i4", 0) + "\x19"),
          "x")
          .message(),
      HasSubstr("does not fit i4"));
  Result<Tensor> odd = parseNpy(
      shared(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", 1) + "\x07"), "x");
  EXPECT_EQ(values(*odd), (std::vector<double>{0, 1}));
}

class NpyFiles : public ScratchFolder {};

TEST_F(NpyFiles, WritesTheBytesThatNumpyWrites) {
  for (const char *name : {"f32.npy", "bool.npy", "u64-scalar.npy", "f16-empty.npy"}) {
    Result<Tensor> t = readNpy(sample(name));
    ASSERT_TRUE(writeNpy(path(name), *t));
    EXPECT_EQ(bytesOf(path(name)), bytesOf(sample(name))) << name;
  }
}

TEST_F(NpyFiles, EveryTypeComesBackWithItsType) {
  NamedTensors all;
  for (int i = 0; i < kDTypeCount; ++i) {
    auto type = static_cast<DType>(i);
    Result<Tensor> t = randomTensor(type, {3, 5}, defaultFill(type), {7, 1});
    Tensor view = t->transposed(std::vector<int64_t>{1, 0});
    ASSERT_TRUE(writeNpy(path("one.npy"), view));
    Result<Tensor> back = readNpy(path("one.npy"));
    ASSERT_TRUE(back) << back.message();
    expectSame(*back, view);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(back->data()) % 64,
              isInteger(type) && info(type).bits < 8
                  ? reinterpret_cast<uintptr_t>(back->data()) % 64
                  : 0);
    all.emplace_back(std::string(info(type).name), view);
  }
  for (bool compress : {false, true}) {
    ASSERT_TRUE(writeNpz(path("all.npz"), all, compress));
    Result<NamedTensors> back = readNpz(path("all.npz"));
    ASSERT_TRUE(back) << back.message();
    ASSERT_EQ(back->size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ((*back)[i].first, all[i].first);
      expectSame((*back)[i].second, all[i].second);
    }
  }
}

TEST(Npz, ReadsWhatNumpyWrites) {
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    Result<NamedTensors> t = readNpz(sample(name));
    ASSERT_TRUE(t) << t.message();
    EXPECT_EQ((*t)[0].first, "weights");
    EXPECT_EQ(values((*t)[0].second), kRamp);
    EXPECT_EQ((*t)[1].first, "steps");
    EXPECT_EQ(values((*t)[1].second), (std::vector<double>{3}));
  }
  Result<NamedTensors> t = readNpz(sample("deflated.npz"));
  EXPECT_EQ(values((*t)[2].second), std::vector<double>(64 * 64, 0));
}

TEST_F(NpyFiles, StoredArchivesAreMappedAndSharedNamesRefused) {
  Tensor t = Tensor::of<DType::F64>({2}, {1, 2});
  ASSERT_TRUE(writeNpz(path("a.npz"), {{"x", t}, {"longer name", t}}));
  Result<SharedBytes> file = mapFile(path("a.npz"));
  Result<NamedTensors> back = parseNpz(*file, "a.npz");
  for (auto &[name, tensor] : *back) {
    EXPECT_GE(tensor.data(), file->bytes.data());
    EXPECT_LT(tensor.data(), file->bytes.data() + file->bytes.size());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  }
  EXPECT_FALSE(writeNpz(path("a.npz"), {{"x", t}, {"x", t}}));
  ASSERT_TRUE(writeNpz(path("empty.npz"), {}));
  EXPECT_TRUE(readNpz(path("empty.npz"))->empty());
}

TEST(Npz, SaysWhatIsWrongWithDamagedArchives) {
  std::string good = bytesOf(sample("stored.npz")), deflated = bytesOf(sample("deflated.npz"));
  auto problem = [](const std::string &bytes) {
    Result<NamedTensors> t = parseNpz(shared(bytes), "x.npz");
    return t ? "" : t.message();
  };
  EXPECT_THAT(problem(""), HasSubstr("no zip archive"));
  EXPECT_THAT(problem(good.substr(0, good.size() - 5)), HasSubstr("end is missing"));
  EXPECT_THAT(problem(good.substr(20)), HasSubstr("x.npz: "));
  std::string flipped = good;
  flipped[good.find("NUMPY") + 140] ^= 1; // a value
  EXPECT_THAT(problem(flipped), HasSubstr("checksum"));
  std::string directory = good; // both entries start at the first one's header
  size_t first = good.find("PK\1\2"), second = good.find("PK\1\2", first + 1);
  directory.replace(second + 42, 4, good.substr(first + 42, 4));
  EXPECT_THAT(problem(directory), HasSubstr("overlap"));
  std::string locked = good;
  locked[first + 8] |= 1;
  EXPECT_THAT(problem(locked), HasSubstr("encrypted"));
  std::string method = good;
  method[first + 10] = 14;
  EXPECT_THAT(problem(method), HasSubstr("method 14"));
  // A bomb: a size that the compressed bytes cannot reach.
  std::string bomb = deflated;
  size_t at = deflated.find("PK\1\2");
  bomb.replace(at + 24, 4, std::string("\xf0\xff\xff\xff", 4));
  EXPECT_THAT(problem(bomb), HasSubstr("claims to hold 4294967280 bytes"));
}

} // namespace
