#include "cupel/frontends/onnx/OnnxFile.h"

#include "cupel/frontends/onnx/DataSets.h"
#include "cupel/frontends/onnx/Import.h"
#include "cupel/frontends/onnx/OpTable.h"
#include "onnx-ml.pb.h"

#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace cupel::frontends::onnx_import {

namespace {

namespace fs = std::filesystem;
using tensor::DType;
using tensor::Tensor;

std::string describeType(const proto::TypeProto &type) {
  if (type.has_sequence_type())
    return "sequence";
  if (type.has_optional_type())
    return "optional";
  if (!type.has_tensor_type())
    return "not a tensor";
  std::string text = elementName(type.tensor_type().elem_type());
  if (!type.tensor_type().has_shape())
    return text + "[...]";
  std::string sizes;
  for (const proto::TensorShapeProto_Dimension &dim : type.tensor_type().shape().dim()) {
    if (!sizes.empty())
      sizes += ",";
    sizes += dim.has_dim_value()       ? std::to_string(dim.dim_value())
             : dim.dim_param().empty() ? "?"
                                       : dim.dim_param();
  }
  return text + "[" + sizes + "]";
}

/// Whether a value of this type can be read as a tensor; what cannot is refused by the import, for
/// its own reason.
bool isReadable(const proto::ValueInfoProto &value) {
  return value.type().has_tensor_type() && elementType(value.type().tensor_type().elem_type());
}

int countFiles(const fs::path &folder, const char *stem) {
  int count = 0;
  std::error_code error;
  while (fs::exists(folder / fmt::format("{}_{}.pb", stem, count), error))
    ++count;
  return count;
}

class OnnxFile : public ModelFile {
public:
  OnnxFile(std::string path, Model model) : path(std::move(path)), model(std::move(model)) {
    for (const proto::TensorProto &tensor : graph().initializer())
      constants.insert(tensor.name());
    for (const proto::SparseTensorProto &tensor : graph().sparse_initializer())
      constants.insert(tensor.values().name());
  }

  std::string baseFile() const override { return path; }

  std::vector<ModelInput> inputs() const override {
    std::vector<ModelInput> result;
    for (const proto::ValueInfoProto &input : graph().input())
      result.push_back({input.name(), describeType(input.type()), !constants.count(input.name())});
    return result;
  }

  Result<ImportedModel> import(mlir::MLIRContext &context,
                               const ImportOptions &options) const override {
    return importModel(model, context, options);
  }

  ModelSurvey survey(mlir::MLIRContext &context, const ImportOptions &options) const override {
    return surveyModel(model, context, options);
  }

  Result<std::optional<ModelData>> testData(uint32_t number) const override {
    if (number >= countDataSets(path))
      return std::optional<ModelData>();
    ModelData data;
    data.source = dataSetFolder(path, number);
    fs::path folder(data.source);
    // The data hold all inputs, or all that have no value in the model.
    int files = countFiles(folder, "input"), next = 0;
    bool all = files == graph().input_size();
    for (const proto::ValueInfoProto &input : graph().input()) {
      if (!all && constants.count(input.name()))
        continue;
      std::string file = fmt::format("input_{}.pb", next++);
      if (!isReadable(input))
        continue;
      if (next > files)
        return Error{fmt::format("{}: holds no {} for input '{}' of the model", data.source, file,
                                 input.name())};
      Result<Tensor> value = loadTensorFile((folder / file).string());
      if (!value)
        return value.error();
      data.wideSums |= value->dtype() == DType::F16 || value->dtype() == DType::BF16;
      data.inputs[input.name()] = std::move(*value);
    }
    if (next < files)
      return Error{
          fmt::format("{}: holds {} inputs, but the model takes {}", data.source, files, next)};
    int stored = countFiles(folder, "output");
    if (stored > graph().output_size())
      return Error{fmt::format("{}: holds {} outputs, but the model gives {}", data.source, stored,
                               graph().output_size())};
    for (int i = 0; i < stored && isReadable(graph().output(i)); ++i) {
      Result<Tensor> value = loadTensorFile((folder / fmt::format("output_{}.pb", i)).string());
      if (!value)
        return value.error();
      data.outputs.push_back(std::move(*value));
    }
    return std::optional(std::move(data));
  }

private:
  const proto::GraphProto &graph() const { return model.proto().graph(); }

  std::string path;
  Model model;
  std::set<std::string> constants; ///< Inputs that have a value in the file.
};

} // namespace

Result<std::unique_ptr<ModelFile>> loadOnnxFile(const std::string &path,
                                               const std::string & /*program*/) {
  Result<Model> model = Model::load(path);
  if (!model)
    return model.error();
  return std::unique_ptr<ModelFile>(std::make_unique<OnnxFile>(path, std::move(*model)));
}

std::vector<KnownOperator> knownOperators() {
  const OpTable &table = OpTable::get();
  std::vector<KnownOperator> result;
  for (const auto &[domain, op] : table.names())
    result.push_back({domain.empty() ? op : domain + "." + op, table.versions(domain, op)});
  return result;
}

} // namespace cupel::frontends::onnx_import
