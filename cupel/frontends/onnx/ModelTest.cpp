#include "cupel/frontends/onnx/Model.h"

#include "onnx-ml.pb.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cupel::frontends::onnx_import {
namespace {

using tensor::DType;
using tensor::Tensor;
namespace fs = std::filesystem;

/// A model whose only initializer is `tensor`.
std::string modelBytes(const proto::TensorProto &tensor) {
  proto::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  *model.mutable_graph()->add_initializer() = tensor;
  return model.SerializeAsString();
}

Result<Tensor> read(const proto::TensorProto &tensor, const std::string &folder = {}) {
  Result<Model> model = Model::parse(modelBytes(tensor), folder);
  if (!model)
    return model.error();
  return model->tensor(model->proto().graph().initializer(0));
}

proto::TensorProto make(int32_t type, std::vector<int64_t> shape) {
  proto::TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  for (int64_t size : shape)
    tensor.add_dims(size);
  return tensor;
}

proto::TensorProto raw(int32_t type, std::vector<int64_t> shape, std::string bytes) {
  proto::TensorProto tensor = make(type, std::move(shape));
  tensor.set_raw_data(bytes);
  return tensor;
}

template <typename T> std::vector<T> elements(Result<Tensor> tensor) {
  EXPECT_TRUE(bool(tensor)) << (tensor ? "" : tensor.message());
  if (!tensor)
    return {};
  return {tensor->dataAs<T>(), tensor->dataAs<T>() + tensor->size()};
}

using P = proto::TensorProto;

TEST(OnnxTensor, ReadsTypedFieldsOfFourAndEightBytes) {
  proto::TensorProto f = make(P::FLOAT, {2});
  f.add_float_data(1.5f);
  f.add_float_data(-2);
  EXPECT_EQ(elements<float>(read(f)), (std::vector<float>{1.5f, -2}));
  proto::TensorProto d = make(P::DOUBLE, {1});
  d.add_double_data(0.1);
  EXPECT_EQ(elements<double>(read(d)), std::vector<double>{0.1});
  proto::TensorProto i = make(P::INT64, {2});
  i.add_int64_data(-1);
  i.add_int64_data(int64_t(1) << 40);
  EXPECT_EQ(elements<int64_t>(read(i)), (std::vector<int64_t>{-1, int64_t(1) << 40}));
  proto::TensorProto u = make(P::UINT64, {1});
  u.add_uint64_data(~uint64_t(0));
  EXPECT_EQ(elements<uint64_t>(read(u)), std::vector<uint64_t>{~uint64_t(0)});
  proto::TensorProto u32 = make(P::UINT32, {1});
  u32.add_uint64_data(4000000000u);
  EXPECT_EQ(elements<uint32_t>(read(u32)), std::vector<uint32_t>{4000000000u});
  proto::TensorProto c = make(P::COMPLEX64, {1});
  c.add_float_data(3);
  c.add_float_data(4);
  Result<Tensor> complex = read(c);
  ASSERT_TRUE(bool(complex));
  EXPECT_EQ(complex->dtype(), DType::C64);
  EXPECT_EQ(complex->dataAs<float>()[1], 4);
}

TEST(OnnxTensor, ReadsNarrowTypesFromInt32Data) {
  auto bits = [](int32_t type, std::vector<int32_t> values) {
    proto::TensorProto tensor = make(type, {int64_t(values.size())});
    for (int32_t value : values)
      tensor.add_int32_data(value);
    return tensor;
  };
  EXPECT_EQ(elements<int32_t>(read(bits(P::INT32, {-7, 9}))), (std::vector<int32_t>{-7, 9}));
  EXPECT_EQ(elements<int16_t>(read(bits(P::INT16, {-300}))), std::vector<int16_t>{-300});
  EXPECT_EQ(elements<uint16_t>(read(bits(P::UINT16, {65535}))), std::vector<uint16_t>{65535});
  EXPECT_EQ(elements<int8_t>(read(bits(P::INT8, {-128}))), std::vector<int8_t>{-128});
  EXPECT_EQ(elements<uint8_t>(read(bits(P::UINT8, {255}))), std::vector<uint8_t>{255});
  EXPECT_EQ(elements<uint8_t>(read(bits(P::BOOL, {0, 1, 7}))), (std::vector<uint8_t>{0, 1, 1}));
  EXPECT_EQ(elements<uint16_t>(read(bits(P::FLOAT16, {0x3c00}))), std::vector<uint16_t>{0x3c00});
  EXPECT_EQ(elements<uint16_t>(read(bits(P::BFLOAT16, {0x3f80}))), std::vector<uint16_t>{0x3f80});
  for (int32_t type : {P::FLOAT8E4M3FN, P::FLOAT8E4M3FNUZ, P::FLOAT8E5M2, P::FLOAT8E5M2FNUZ})
    EXPECT_EQ(elements<uint8_t>(read(bits(type, {0x38, 0x80}))),
              (std::vector<uint8_t>{0x38, 0x80}));
}

TEST(OnnxTensor, UnpacksFourAndTwoBits) {
  using Bytes = std::vector<int8_t>;
  EXPECT_EQ(elements<int8_t>(read(raw(P::INT4, {3}, "\xe1\x03"))), (Bytes{1, -2, 3}));
  EXPECT_EQ(elements<int8_t>(read(raw(P::UINT4, {3}, "\xe1\x03"))), (Bytes{1, 14, 3}));
  EXPECT_EQ(elements<int8_t>(read(raw(25, {5}, "\x79\x02"))), (Bytes{1, 2, 3, 1, 2}));
  EXPECT_EQ(elements<int8_t>(read(raw(26, {5}, "\x79\x02"))), (Bytes{1, -2, -1, 1, -2}));
  // The typed field holds packed bytes, not elements.
  proto::TensorProto typed = make(P::INT4, {3});
  typed.add_int32_data(0xe1);
  typed.add_int32_data(0x03);
  EXPECT_EQ(elements<int8_t>(read(typed)), (Bytes{1, -2, 3}));
}

TEST(OnnxTensor, UnpacksFloatsOfFourAndSixBits) {
  EXPECT_EQ(elements<uint8_t>(read(raw(27, {3}, "\x01\xf2\x01"))),
            (std::vector<uint8_t>{1, 8, 31}));
  proto::TensorProto typed = make(28, {3});
  for (int32_t bits : {1, 8, 31})
    typed.add_int32_data(bits);
  EXPECT_EQ(elements<uint8_t>(read(typed)), (std::vector<uint8_t>{1, 8, 31}));
  EXPECT_EQ(elements<uint8_t>(read(raw(23, {3}, "\xe1\x03"))), (std::vector<uint8_t>{1, 14, 3}));
}

TEST(OnnxTensor, ReadsRawData) {
  EXPECT_EQ(elements<int32_t>(read(raw(P::INT32, {1}, std::string("\x02\x01\0\0", 4)))),
            std::vector<int32_t>{0x102});
  EXPECT_EQ(elements<uint16_t>(read(raw(P::FLOAT16, {1}, std::string("\0\x3c", 2)))),
            std::vector<uint16_t>{0x3c00});
  EXPECT_EQ(elements<uint8_t>(read(raw(P::BOOL, {2}, std::string("\0\x05", 2)))),
            (std::vector<uint8_t>{0, 1}));
  Result<Tensor> empty = read(make(P::FLOAT, {0, 3}));
  ASSERT_TRUE(bool(empty));
  EXPECT_EQ(empty->size(), 0);
}

TEST(OnnxTensor, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(read(raw(P::FLOAT, {2}, "1234")));
  EXPECT_FALSE(read(raw(P::INT4, {3}, "\xe1")));
  EXPECT_FALSE(read(make(P::FLOAT, {2}))); // no data at all
  EXPECT_FALSE(read(make(P::FLOAT, {-1})));
  EXPECT_FALSE(read(make(P::FLOAT, {int64_t(1) << 40, int64_t(1) << 40})));
  EXPECT_FALSE(read(make(99, {1})));
  Result<Tensor> strings = read(make(P::STRING, {1}));
  ASSERT_FALSE(strings);
  EXPECT_NE(strings.message().find("string"), std::string::npos);
}

TEST(OnnxTensor, FillsSparseTensors) {
  proto::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  proto::SparseTensorProto *sparse = model.mutable_graph()->add_sparse_initializer();
  sparse->add_dims(2);
  sparse->add_dims(2);
  *sparse->mutable_values() = make(P::FLOAT, {1});
  sparse->mutable_values()->add_float_data(5);
  *sparse->mutable_indices() = make(P::INT64, {1});
  sparse->mutable_indices()->add_int64_data(2);
  auto dense = [&] {
    Result<Model> parsed = Model::parse(model.SerializeAsString());
    return parsed->tensor(parsed->proto().graph().sparse_initializer(0));
  };
  EXPECT_EQ(elements<float>(dense()), (std::vector<float>{0, 0, 5, 0}));
  sparse->mutable_indices()->set_int64_data(0, 4);
  EXPECT_FALSE(dense());
}

class ExternalData : public testing::Test {
protected:
  void SetUp() override {
    folder =
        fs::temp_directory_path() / ("cupel-onnx-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder / "inside");
    std::ofstream(folder / "inside/w.bin", std::ios::binary) << std::string("\1\0\0\0\2\0\0\0", 8);
    std::ofstream(folder / "outside.bin", std::ios::binary) << std::string(8, '\0');
  }
  void TearDown() override { fs::remove_all(folder); }

  Result<Tensor> external(std::vector<std::pair<std::string, std::string>> entries,
                          int64_t count = 2) {
    proto::TensorProto tensor = make(P::INT32, {count});
    tensor.set_data_location(P::EXTERNAL);
    for (auto &[key, value] : entries) {
      auto *entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return read(tensor, (folder / "inside").string());
  }

  fs::path folder;
};

TEST_F(ExternalData, ReadsWholeFilesAndRanges) {
  EXPECT_EQ(elements<int32_t>(external({{"location", "w.bin"}})), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(
      elements<int32_t>(external({{"location", "w.bin"}, {"offset", "4"}, {"length", "4"}}, 1)),
      std::vector<int32_t>{2});
}

TEST_F(ExternalData, StaysInTheFolder) {
  EXPECT_FALSE(external({{"location", "../outside.bin"}}));
  EXPECT_FALSE(external({{"location", (folder / "outside.bin").string()}}));
  fs::create_symlink(folder / "outside.bin", folder / "inside/link.bin");
  EXPECT_FALSE(external({{"location", "link.bin"}}));
  EXPECT_FALSE(external({}));
  EXPECT_FALSE(external({{"location", "none.bin"}}));
}

TEST_F(ExternalData, RefusesRangesPastTheEnd) {
  EXPECT_FALSE(external({{"location", "w.bin"}}, 3));
  EXPECT_FALSE(external({{"location", "w.bin"}, {"offset", "4"}}));
  EXPECT_FALSE(external({{"location", "w.bin"}, {"offset", "9"}}));
  EXPECT_FALSE(external({{"location", "w.bin"}, {"length", "16"}}));
  EXPECT_FALSE(external({{"location", "w.bin"}, {"offset", "-4"}}));
  EXPECT_FALSE(external({{"location", "w.bin"}, {"offset", "9223372036854775807"}}));
  EXPECT_FALSE(external({{"location", "w.bin"}, {"offset", "x"}}));
}

TEST(OnnxModel, RefusesTruncatedAndForeignFiles) {
  std::string whole = modelBytes(raw(P::FLOAT, {1}, "1234"));
  ASSERT_TRUE(bool(Model::parse(whole)));
  // Every prefix is either refused or lacks what is behind it; none is read as the whole.
  for (size_t size = 0; size < whole.size(); ++size) {
    Result<Model> cut = Model::parse(std::string_view(whole).substr(0, size));
    if (cut) {
      EXPECT_NE(cut->proto().SerializeAsString(), whole);
    }
  }
  EXPECT_FALSE(Model::parse("not a model"));
  EXPECT_FALSE(Model::parse(""));
  EXPECT_FALSE(Model::load("/nonexistent/model.onnx"));
}

TEST(OnnxModel, RefusesFilesBeyondTheLimitOfAProtobuf) {
  fs::path path = fs::temp_directory_path() / ("cupel-onnx-large-" + std::to_string(getpid()));
  std::ofstream(path).close();
  fs::resize_file(path, uint64_t(3) << 30); // Holes: it takes no room.
  Result<Model> model = Model::load(path.string());
  fs::remove(path);
  ASSERT_FALSE(bool(model));
  EXPECT_NE(std::string(model.message()).find("2 GiB"), std::string::npos) << model.message();
}

TEST(OnnxModel, ChecksVersions) {
  proto::ModelProto model;
  model.mutable_graph();
  model.add_opset_import()->set_version(21);
  for (auto [version, good] : {std::pair{2, false}, {3, true}, {14, true}, {15, false}}) {
    model.set_ir_version(version);
    EXPECT_EQ(bool(Model::parse(model.SerializeAsString())), good) << version;
  }
  model.set_ir_version(10);
  model.clear_opset_import();
  EXPECT_FALSE(Model::parse(model.SerializeAsString()));
}

} // namespace
} // namespace cupel::frontends::onnx_import
