// An ONNX model file as it lies on disk: the parsed protobuf and its tensors, weights shared and
// never copied (external data is memory-mapped). Used by the importer; says what is wrong with a
// file and where. Knows nothing of MLIR.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include <memory>
#include <string>

namespace onnx {
class ModelProto;
class TensorProto;
class SparseTensorProto;
class TypeProto;
} // namespace onnx

namespace cupel::frontends::onnx_import {

namespace proto = ::onnx;

class Model {
public:
  /// Reads and checks a file. The folder of the file is where external data may lie.
  static Result<Model> load(const std::string &path);
  /// For tests and models in memory; external data is refused where `folder` is empty.
  static Result<Model> parse(std::string_view bytes, std::string folder = {});

  /// The model; large initializers of a file lack their bytes here, `tensor` has them.
  const proto::ModelProto &proto() const { return *model; }
  const std::string &folder() const { return directory; }

  /// The value of a tensor; shares the model's memory where its form allows. Strings are refused.
  Result<tensor::Tensor> tensor(const proto::TensorProto &tensor) const;
  Result<tensor::Tensor> tensor(const proto::SparseTensorProto &tensor) const;

private:
  struct InFile;
  Result<tensor::Tensor> fromFile(const proto::TensorProto &tensor, size_t offset,
                                  size_t size) const;
  Result<tensor::Tensor> external(const proto::TensorProto &tensor) const;

  std::shared_ptr<const proto::ModelProto> model;
  std::string directory;
  std::shared_ptr<const InFile> inFile;
};

/// A tensor in a file of its own (test data); shares nothing.
Result<tensor::Tensor> loadTensorFile(const std::string &path);

/// Our element type of ONNX's number; an error that names the type where there is none. Floats that
/// MLIR lacks are unsigned integers that hold their bits (CodedTypes.h).
Result<tensor::DType> elementType(int32_t number);
/// ONNX's number of an element type; 0 if it has none.
int32_t elementNumber(tensor::DType type);
std::string elementName(int32_t number);

} // namespace cupel::frontends::onnx_import
