// The table of model formats. A format is a row here and a library in this target's DEPS.

#include "cupel/frontends/ModelImport.h"
#include "cupel/frontends/onnx/OnnxFile.h"
#include "cupel/frontends/torch/Archive.h"
#include "cupel/frontends/torch/TorchFile.h"

namespace cupel::frontends {

std::span<const ModelFormat> modelFormats() {
  static constexpr ModelFormat kFormats[] = {
      {".onnx", "ONNX model", onnx_import::loadOnnxFile, onnx_import::knownOperators},
      {".pt2", "exported PyTorch program", torch_import::loadTorchFile,
       torch_import::knownOperators, torch_import::programsIn},
  };
  return kFormats;
}

const ModelFormat *modelFormatOf(std::string_view path) {
  for (const ModelFormat &format : modelFormats())
    if (path.ends_with(format.ending))
      return &format;
  return nullptr;
}

Result<std::unique_ptr<ModelFile>> loadModel(const std::string &path, const std::string &program) {
  const ModelFormat *format = modelFormatOf(path);
  if (!format) {
    std::string endings;
    for (const ModelFormat &known : modelFormats())
      endings += (endings.empty() ? "" : ", ") + std::string(known.ending);
    return Error{path + ": is no model by its name; known endings are " + endings};
  }
  if (!program.empty() && !format->programs)
    return Error{path + ": an " + std::string(format->name) + " holds one program, and none '" +
                 program + "' by name"};
  return format->load(path, program);
}

} // namespace cupel::frontends
