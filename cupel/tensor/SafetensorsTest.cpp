#include "cupel/tensor/Safetensors.h"

#include "cupel/tensor/Fill.h"
#include "cupel/tensor/TestFiles.h"

#include <gmock/gmock.h>

using namespace cupel;
using namespace cupel::tensor;
using testing::HasSubstr;

namespace {

std::string file(const std::string &header, size_t dataBytes) {
  uint64_t length = header.size();
  std::string out(reinterpret_cast<const char *>(&length), 8);
  return out + header + std::string(dataBytes, '\0');
}

std::string problemOf(const std::string &bytes) {
  Result<Safetensors> t = parseSafetensors(shared(bytes), "x.safetensors");
  return t ? "" : t.message();
}

TEST(SafetensorsFile, ReadsEveryTypeThatThePackageWrites) {
  Result<Safetensors> all = readSafetensors(sample("types.safetensors"));
  ASSERT_TRUE(all) << all.message();
  EXPECT_EQ(all->metadata, (std::map<std::string, std::string>{{"made by", "safetensors"},
                                                               {"note", "\xc3\xbc\n"}}));
  std::map<std::string, DType> expected = {{"bool", DType::I1},
                                           {"uint8", DType::U8},
                                           {"int8", DType::I8},
                                           {"float8_e5m2", DType::F8E5M2},
                                           {"float8_e4m3fn", DType::F8E4M3FN},
                                           {"int16", DType::I16},
                                           {"uint16", DType::U16},
                                           {"float16", DType::F16},
                                           {"bfloat16", DType::BF16},
                                           {"int32", DType::I32},
                                           {"uint32", DType::U32},
                                           {"float32", DType::F32},
                                           {"complex64", DType::C64},
                                           {"float64", DType::F64},
                                           {"int64", DType::I64},
                                           {"uint64", DType::U64},
                                           {"scalar", DType::F32},
                                           {"empty", DType::F32}};
  EXPECT_EQ(all->tensors.size(), expected.size());
  for (const auto &[name, tensor] : all->tensors) {
    ASSERT_TRUE(expected.count(name)) << name;
    EXPECT_EQ(tensor.dtype(), expected[name]) << name;
    if (name == "scalar")
      EXPECT_EQ(values(tensor), (std::vector<double>{2.5}));
    else if (name == "empty")
      EXPECT_EQ(shapeOf(tensor), (Shape{2, 0}));
    else
      EXPECT_EQ(values(tensor), (std::vector<double>{0, 1, 1})) << name;
  }
}

TEST(SafetensorsFile, MapsInsteadOfCopying) {
  Result<SharedBytes> mapped = mapFile(sample("one.safetensors"));
  Result<Safetensors> one = parseSafetensors(*mapped, "x");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->tensors[0].second.data(), mapped->bytes.data() + mapped->bytes.size() - 24);
}

class SafetensorsFiles : public ScratchFolder {};

TEST_F(SafetensorsFiles, WritesTheBytesThatThePackageWrites) {
  Result<Safetensors> one = readSafetensors(sample("one.safetensors"));
  ASSERT_TRUE(writeSafetensors(path("one"), *one));
  EXPECT_EQ(bytesOf(path("one")), bytesOf(sample("one.safetensors")));
}

TEST_F(SafetensorsFiles, RoundTripsAndRefusesTypesWithoutAName) {
  Safetensors all;
  all.metadata["key \"\n"] = "value";
  for (int i = 0; i < kDTypeCount; ++i) {
    auto type = static_cast<DType>(i);
    Result<Tensor> t = randomTensor(type, {4, 6}, defaultFill(type), {7, 1});
    bool hasName = !(isInteger(type) && info(type).bits < 8) && type != DType::F8E4M3 &&
                   type != DType::F8E3M4 && type != DType::F8E4M3B11FNUZ && type != DType::C128;
    Safetensors one{{{"t", *t}}, {}};
    EXPECT_EQ(static_cast<bool>(writeSafetensors(path("one"), one)), hasName) << info(type).name;
    if (hasName)
      all.tensors.emplace_back("n/" + std::string(info(type).name),
                               t->transposed(std::vector<int64_t>{1, 0}));
  }
  ASSERT_TRUE(writeSafetensors(path("all"), all));
  Result<Safetensors> back = readSafetensors(path("all"));
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(back->metadata, all.metadata);
  std::map<std::string, Tensor> written(all.tensors.begin(), all.tensors.end());
  ASSERT_EQ(back->tensors.size(), written.size());
  for (auto &[name, tensor] : back->tensors)
    expectSame(tensor, written[name]);
  Tensor t = Tensor::of<DType::F32>({1}, {1});
  EXPECT_FALSE(writeSafetensors(path("x"), {{{"a", t}, {"a", t}}, {}}));
  EXPECT_FALSE(writeSafetensors(path("x"), {{{"__metadata__", t}}, {}}));
  EXPECT_FALSE(writeSafetensors(path("x"), {{{"\xff\xfe", t}}, {}}));
  EXPECT_FALSE(writeSafetensors(path("no/such/folder"), {{{"a", t}}, {}}));
}

TEST_F(SafetensorsFiles, PacksFloatsBelowAByte) {
  Tensor four = Tensor::of<DType::F4E2M1FN>({2, 2}, {0x1, 0xf, 0x8, 0x7});
  Tensor six = Tensor::of<DType::F6E2M3FN>({4}, {0x3f, 0x01, 0x20, 0x15});
  Tensor other = Tensor::of<DType::F6E3M2FN>({8}, {1, 2, 3, 4, 60, 61, 62, 63});
  Tensor scale = Tensor::of<DType::F8E8M0FNU>({3}, {0, 127, 255});
  std::string where = path("packed");
  ASSERT_TRUE(writeSafetensors(where, {{{"4", four}, {"6", six}, {"7", other}, {"8", scale}}, {}}));
  Result<Safetensors> back = readSafetensors(where);
  ASSERT_TRUE(back) << back.message();
  ASSERT_EQ(back->tensors.size(), 4u);
  for (const auto &[name, tensor] : back->tensors) {
    const Tensor &wanted = name == "4" ? four : name == "6" ? six : name == "7" ? other : scale;
    ASSERT_EQ(tensor.dtype(), wanted.dtype());
    ASSERT_EQ(tensor.byteSize(), wanted.byteSize());
    EXPECT_EQ(std::memcmp(tensor.data(), wanted.data(), wanted.byteSize()), 0) << name;
  }
  // Two bytes, three, six and three, the first element in the lowest bits.
  std::string bytes = bytesOf(where);
  EXPECT_EQ(bytes.substr(bytes.size() - 14, 5), std::string("\xf1\x78\x7f\x00\x56", 5));
  Tensor half = Tensor::of<DType::F4E2M1FN>({1}, {1});
  EXPECT_THAT(writeSafetensors(where, {{{"a", half}}, {}}).message(), HasSubstr("whole bytes"));
  EXPECT_FALSE(writeSafetensors(where, {{{"a", Tensor::of<DType::F8E3M4>({1}, {1})}}, {}}));
}

TEST(SafetensorsFile, SaysWhatIsWrongWithHostileHeaders) {
  auto tensor = [](const std::string &type, const std::string &shape, const std::string &offsets) {
    return "{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
  };
  auto one = [&](const std::string &type, const std::string &shape, const std::string &offsets,
                 size_t dataBytes = 8) {
    return problemOf(file("{\"a\":" + tensor(type, shape, offsets) + "}", dataBytes));
  };
  EXPECT_EQ(one("F32", "[2]", "[0,8]"), "");
  EXPECT_EQ(problemOf(file("{}", 0)), "");
  EXPECT_THAT(problemOf("1234567"), HasSubstr("shorter than 8"));
  EXPECT_THAT(problemOf(std::string(8, '\xff')), HasSubstr("claims a header"));
  EXPECT_THAT(problemOf(file("{}", 0).substr(0, 9)), HasSubstr("cut off"));
  EXPECT_THAT(problemOf(file("[]", 0)), HasSubstr("does not start with {"));
  EXPECT_THAT(problemOf(file("{\"a\":", 0)), HasSubstr("no valid JSON"));
  EXPECT_THAT(problemOf(file("{}x", 0)), HasSubstr("no valid JSON"));
  EXPECT_THAT(problemOf(file("{\"\xff\":1}", 0)), HasSubstr("no valid JSON"));
  EXPECT_THAT(problemOf(file("{\"a\":" + std::string(1000000, '['), 0)), HasSubstr("list where"));
  EXPECT_THAT(problemOf(file("{\"a\":{\"shape\":" + std::string(100000, '['), 0)),
              HasSubstr("list where"));
  std::string nested;
  for (int i = 0; i < 100000; ++i)
    nested += "{\"a\":";
  EXPECT_THAT(problemOf(file(nested, 0)), HasSubstr("unknown or repeated"));
  EXPECT_THAT(one("F32", "[3]", "[0,8]"), HasSubstr("does not take the 8 bytes"));
  EXPECT_THAT(one("F32", "[2]", "[0,9]"), HasSubstr("within the 8 bytes"));
  EXPECT_THAT(one("F32", "[2]", "[8,0]"), HasSubstr("within the 8 bytes"));
  EXPECT_THAT(one("F32", "[2]", "[0]"), HasSubstr("pair"));
  EXPECT_THAT(one("F32", "[2]", "[0,8,8]"), HasSubstr("not a pair"));
  EXPECT_THAT(one("F32", "[2]", "[0,18446744073709551616]"), HasSubstr("not whole or beyond"));
  EXPECT_THAT(one("F32", "[-2]", "[0,8]"), HasSubstr("negative"));
  EXPECT_THAT(one("F32", "[2.0]", "[0,8]"), HasSubstr("not whole"));
  EXPECT_THAT(one("F32", "[9223372036854775808]", "[0,8]"), HasSubstr("too large"));
  EXPECT_THAT(one("F32", "[4611686018427387904,4611686018427387904]", "[0,8]"),
              HasSubstr("does not take"));
  EXPECT_THAT(one("F32", "[2]", "[0,8]", 9), HasSubstr("belong to no tensor"));
  EXPECT_THAT(one("F32", "[1]", "[4,8]"), HasSubstr("hole"));
  EXPECT_THAT(one("F4", "[2]", "[0,8]"), HasSubstr("does not take the 8 bytes"));
  EXPECT_THAT(one("F6_E2M3", "[5]", "[0,8]"), HasSubstr("does not take the 8 bytes"));
  EXPECT_EQ(one("F4", "[2,8]", "[0,8]"), "");
  EXPECT_THAT(one("F31", "[2]", "[0,8]"), HasSubstr("no safetensors type"));
  EXPECT_THAT(one("F32", "null", "[0,8]"), HasSubstr("a null"));
  EXPECT_THAT(one("F32", "[2],\"shape\":[2]", "[0,8]"), HasSubstr("repeated"));
  EXPECT_THAT(problemOf(file("{\"a\":{\"dtype\":\"F32\"}}", 0)), HasSubstr("lacks"));
  EXPECT_THAT(problemOf(file("{\"__metadata__\":{\"a\":1}}", 0)), HasSubstr("number"));
  std::string f = tensor("F32", "[2]", "[0,8]"), g = tensor("F32", "[2]", "[4,12]");
  EXPECT_THAT(problemOf(file("{\"a\":" + f + ",\"b\":" + g + "}", 12)), HasSubstr("inside"));
  EXPECT_THAT(problemOf(file("{\"a\":" + f + ",\"b\":" + f + "}", 8)), HasSubstr("inside"));
  EXPECT_THAT(problemOf(file("{\"a\":" + f + ",\"a\":" + f + "}", 8)), HasSubstr("twice"));
  std::string boolean = file("{\"a\":" + tensor("BOOL", "[1]", "[0,1]") + "}", 0) + "\2";
  EXPECT_THAT(problemOf(boolean), HasSubstr("neither 0 nor 1"));
}

} // namespace
