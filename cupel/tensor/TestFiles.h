// For tests only: sample files, scratch folders, and bytes in memory of exactly their own size (so
// that a sanitizer sees every read beyond them).

#pragma once

#include "cupel/tensor/Convert.h"
#include "cupel/tensor/MappedFile.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace cupel::tensor {

inline std::string sample(const std::string &name) {
  return std::string(CUPEL_TENSOR_TESTDATA) + "/" + name;
}

inline std::string bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline SharedBytes shared(std::string_view bytes) {
  auto copy = std::shared_ptr<std::byte[]>(new std::byte[bytes.size()]);
  if (!bytes.empty())
    std::memcpy(copy.get(), bytes.data(), bytes.size());
  return {{copy.get(), bytes.size()}, copy};
}

inline std::vector<double> values(const Tensor &tensor) {
  Result<Tensor> wide = convert(tensor, DType::F64);
  const double *data = wide->dataAs<double>();
  return {data, data + wide->size()};
}

inline Shape shapeOf(const Tensor &tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

inline void expectSame(const Tensor &a, const Tensor &b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(shapeOf(a), shapeOf(b));
  Result<Tensor> x = a.contiguous(), y = b.contiguous();
  if (x->byteSize() > 0)
    EXPECT_EQ(std::memcmp(x->data(), y->data(), x->byteSize()), 0) << info(a.dtype()).name;
}

class ScratchFolder : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/cupel-tensor-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) const { return (folder / name).string(); }
  std::filesystem::path folder;
};

} // namespace cupel::tensor
