#include "cupel/frontends/onnx/OnnxFile.h"

#include "cupel/frontends/onnx/DataSets.h"
#include "cupel/frontends/onnx/Import.h"
#include "cupel/frontends/onnx/OpTable.h"
#include "cupel/frontends/onnx/SourceGraph.h"
#include "onnx-ml.pb.h"

#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace cupel::frontends::onnx_import {

namespace {

namespace fs = std::filesystem;
using tensor::DType;
using tensor::Tensor;

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

  SourceGraph sourceGraph() const override { return sourceGraphOf(model); }

  Result<std::optional<ModelData>> testData(uint32_t number) const override {
    if (number >= countDataSets(path))
      return std::optional<ModelData>();
    bool mayBeForeign = sharesDataSets(path);
    if (mayBeForeign && !fitsInNumber(dataSetFolder(path, number)))
      return std::optional<ModelData>();
    Result<ModelData> data = readDataSet(number);
    if (!data)
      return data.error();
    if (mayBeForeign && !fits(*data))
      return std::optional<ModelData>();
    return std::optional(std::move(*data));
  }

private:
  const proto::GraphProto &graph() const { return model.proto().graph(); }

  Result<ModelData> readDataSet(uint32_t number) const {
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
    return data;
  }

  /// Whether a value can stand where the model says this type.
  static bool fits(const Tensor &value, const proto::ValueInfoProto &declared) {
    if (!isReadable(declared))
      return false;
    const proto::TypeProto_Tensor &type = declared.type().tensor_type();
    if (value.dtype() != *elementType(type.elem_type()))
      return false;
    if (!type.has_shape())
      return true;
    if (size_t(type.shape().dim_size()) != value.shape().size())
      return false;
    for (int i = 0; i < type.shape().dim_size(); ++i)
      if (type.shape().dim(i).has_dim_value() &&
          type.shape().dim(i).dim_value() != value.shape()[size_t(i)])
        return false;
    return true;
  }

  /// Whether a folder holds as many values as this model takes and gives.
  bool fitsInNumber(const fs::path &folder) const {
    int inputs = countFiles(folder, "input"), needed = 0;
    for (const proto::ValueInfoProto &input : graph().input())
      needed += !constants.count(input.name());
    return (inputs == graph().input_size() || inputs == needed) &&
           countFiles(folder, "output") <= graph().output_size();
  }

  /// Whether data that may be another model's could be this one's.
  bool fits(const ModelData &data) const {
    for (const proto::ValueInfoProto &input : graph().input())
      if (auto found = data.inputs.find(input.name());
          found != data.inputs.end() && !fits(found->second, input))
        return false;
    for (size_t i = 0; i < data.outputs.size(); ++i)
      if (!fits(data.outputs[i], graph().output(int(i))))
        return false;
    return true;
  }

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
