// `cupel codegen`: a model or program as standalone source code. The worker does it; here are the
// options.

#include "cupel/cli/ModelArguments.h"
#include "cupel/cli/SiblingVerbs.h"

#include "cupel/runtime/Options.h"

#include <nlohmann/json.hpp>

namespace cupel::cli {

namespace {

/// What options by the names that frameworks give them say.
Status applyOptions(const std::vector<std::string> &given, nlohmann::json &request) {
  runtime::Options options(runtime::OptionScope::Codegen);
  for (const std::string &option : given)
    if (Status status = options.setText(option); !status)
      return status;
  if (std::optional<std::string> folder = options.string("export_path"))
    request["output"] = *folder;
  if (std::optional<bool> isExported = options.boolean("export_tensors"))
    request["export_tensors"] = *isExported;
  std::string language = "codegen_" + request["language"].get<std::string>();
  if (std::string backend = options.string("backend").value_or(language); backend != language)
    return Error{"backend is " + language + ", not '" + backend + "'"};
  return {};
}

} // namespace

int runCodegenVerb(const Arguments &arguments) {
  CommandLine line("codegen",
                   "Write a model (.onnx, .pt2), program or saved workload as source code that runs without Cupel:\n"
                   "py needs NumPy alone, cpp a C++17 compiler and nothing else. The folder holds main.py or\n"
                   "main.cpp, run, ops/ (the operations it is written with), tensors/ (inputs and weights),\n"
                   "irs/ (the program at every stage) and manifest.json. A program that cannot be written\n"
                   "is refused by the operation's name, and nothing is written.");
  std::string language, output, inputs;
  std::vector<std::string> options;
  uint64_t seed = 0;
  bool noTensors = false;
  ModelArguments model;
  line.option("LANGUAGE", language, "py or cpp").required().oneOf({"py", "cpp"});
  model.addTo(line);
  line.option("-o,--output", output, "The folder, which is made or, if it was generated, replaced")
      .placeholder("DIR");
  line.flag("--no-tensors", noTensors, "Write no inputs and weights: the code takes ones");
  line.option("--inputs", inputs, "Inputs by name from a .safetensors file (random ones)").placeholder("FILE");
  line.option("--seed", seed, "Of random inputs (0)").placeholder("N");
  line.option("--option", options,
              "backend, export_path, export_tensors, ...: what compilers' options say of code "
              "(docs/reference/plugin-options.md)")
      .placeholder("KEY=VALUE")
      .oneValueEach();
  line.example("cupel codegen py model.onnx -o model && model/run", "NumPy alone");
  line.example("cupel codegen cpp model.onnx -o model && model/run", "built by g++ on the way");
  line.example("cupel codegen cpp results/failed/RUN/NAME -o model", "a saved workload, with its inputs");
  line.example("cupel codegen py model.mlir -o model --option export_tensors=false", "inputs are ones");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  Result<nlohmann::json> request = model.request();
  if (!request)
    return reportError("codegen", request.message(), kExitUsage);
  (*request)["language"] = language;
  (*request)["output"] = output;
  (*request)["export_tensors"] = !noTensors;
  (*request)["inputs"] = inputs;
  (*request)["seed"] = seed;
  if (Status status = applyOptions(options, *request); !status)
    return reportError("codegen", "--option: " + status.message(), kExitUsage);
  if ((*request)["output"].get<std::string>().empty())
    return reportError("codegen", "-o DIR says where to write", kExitUsage);
  return handOver("codegen", "cupel-worker", {"codegen", request->dump()});
}

} // namespace cupel::cli
