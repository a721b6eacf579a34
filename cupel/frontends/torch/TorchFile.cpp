#include "cupel/frontends/torch/TorchFile.h"

#include "cupel/frontends/torch/Archive.h"
#include "cupel/frontends/torch/Import.h"
#include "cupel/frontends/torch/OpTable.h"
#include "cupel/frontends/torch/SourceGraph.h"
#include "cupel/frontends/torch/Symbols.h"

#include <filesystem>

namespace cupel::frontends::torch_import {

namespace {

/// A size as messages show it: the number, the symbol, or "?" for what is computed.
std::string describeSize(const SymInt &size) {
  if (!size.isSymbolic())
    return std::to_string(size.value);
  return Symbols::symbolOf(size.expression).value_or("?");
}

class TorchFile : public ModelFile {
public:
  /// `companions` is what files beside the program are named after.
  TorchFile(std::string path, std::string companions, Program program)
      : path(std::move(path)), companions(std::move(companions)), program(std::move(program)) {}

  std::string baseFile() const override { return companions; }

  std::vector<ModelInput> inputs() const override {
    std::vector<ModelInput> result;
    for (const InputSpec &input : program.inputs) {
      auto meta = program.graph.tensors.find(input.name);
      if (input.kind != InputKind::UserInput || !input.constant.as<Name>() ||
          meta == program.graph.tensors.end())
        continue;
      std::string sizes;
      for (const SymInt &size : meta->second.sizes)
        sizes += (sizes.empty() ? "" : ",") + describeSize(size);
      result.push_back({input.name,
                        std::string(tensor::info(meta->second.type).name) + "[" + sizes + "]",
                        true});
    }
    return result;
  }

  Result<ImportedModel> import(mlir::MLIRContext &context,
                               const frontends::ImportOptions &options) const override {
    Result<Imported> imported = importProgram(program, context, {options, {}});
    if (!imported)
      return imported.error();
    return ImportedModel(std::move(*imported));
  }

  ModelSurvey survey(mlir::MLIRContext &context,
                     const frontends::ImportOptions &options) const override {
    return surveyProgram(program, context, {options, {}});
  }

  SourceGraph sourceGraph() const override { return sourceGraphOf(program); }

  /// The inputs that the program was exported with, unless others lie beside it.
  Result<std::optional<ModelData>> testData(uint32_t number) const override {
    std::error_code error;
    std::string stem = companions;
    stem.resize(stem.size() - std::string_view(".pt2").size());
    std::vector<ModelInput> wanted = inputs();
    if (number != 0 || program.sampleInputs.size() != wanted.size() || wanted.empty() ||
        std::filesystem::exists(stem + ".inputs.safetensors", error))
      return std::optional<ModelData>();
    ModelData data;
    data.source = path + ": the sample inputs";
    for (size_t i = 0; i < wanted.size(); ++i) {
      const TensorMeta &meta = program.graph.tensors.find(wanted[i].name)->second;
      const tensor::Tensor &value = program.sampleInputs[i];
      if (value.dtype() != meta.type || size_t(value.rank()) != meta.sizes.size())
        return std::optional<ModelData>();
      data.wideSums |= meta.type == tensor::DType::F16 || meta.type == tensor::DType::BF16;
      data.inputs[wanted[i].name] = value;
    }
    return std::optional(std::move(data));
  }

private:
  std::string path, companions;
  Program program;
};

} // namespace

Result<std::unique_ptr<ModelFile>> loadTorchFile(const std::string &path,
                                                 const std::string &wanted) {
  Result<Archive> archive = Archive::open(path);
  if (!archive)
    return archive.error();
  Result<Program> program = archive->program(wanted);
  if (!program)
    return program.error();
  return std::unique_ptr<ModelFile>(std::make_unique<TorchFile>(
      path, fileOfProgram(path, program->name, archive->programs().size()), std::move(*program)));
}

std::vector<KnownOperator> knownOperators() {
  std::vector<KnownOperator> result;
  for (std::string &name : OpTable::get().names())
    result.push_back({std::move(name), {}});
  return result;
}

} // namespace cupel::frontends::torch_import
