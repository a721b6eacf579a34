// `cupel ops extract`: the operator cases of a model, as a file that `cupel run` takes.

#include "cupel/cli/OpsExtract.h"

#include "cupel/cli/ExtractedCases.h"
#include "cupel/cli/ModelArguments.h"
#include "cupel/cli/SiblingVerbs.h"
#include "cupel/frontends/torch/Archive.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace cupel::cli {

namespace torch = frontends::torch_import;

static int fail(std::string_view message) {
  return reportError("ops extract", message, kExitUsage);
}

int runOpsExtract(const Arguments &arguments) {
  CommandLine line("ops extract",
                   "Write the operator calls of a model (.pt2, .onnx) as operator cases, each "
                   "distinct one once, with shapes, dtypes,\n"
                   "layouts and arguments as the model has them and where in it they stand. "
                   "`cupel run` runs them.");
  ModelArguments model;
  std::string output, name;
  model.addTo(line);
  line.option("-o,--output", output, "The file of cases; - is standard output (-)")
      .placeholder("FILE");
  line.option("--name", name, "What the cases' model is called (the file's name)");
  line.example("cupel ops extract llama.pt2 -o llama.yaml", "a model's operators, one test each");
  line.example("cupel run llama.yaml --device cupel", "and how a device does on them");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  const std::string &file = model.file;
  if (name.empty())
    name = std::filesystem::path(file).stem().string();
  if (file.ends_with(".onnx")) {
    Result<nlohmann::json> request = model.request();
    if (!request)
      return fail(request.message());
    (*request)["output"] = output;
    (*request)["name"] = name;
    return handOver("ops extract", "cupel-worker", {"ops-extract", request->dump()});
  }
  if (!file.ends_with(".pt2"))
    return fail(file + ": cases are extracted from .pt2 and .onnx files");
  Result<torch::Archive> archive = torch::Archive::open(file);
  if (!archive)
    return fail(archive.message());
  Result<torch::Program> read = archive->program(model.program);
  if (!read)
    return fail(read.message());
  return writeExtractedCases(testbench::worker::extractCases(*read, name), file, output,
                             "torch " + read->torchVersion);
}

} // namespace cupel::cli
