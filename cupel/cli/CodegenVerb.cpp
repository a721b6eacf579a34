// `cupel codegen`: a model or program as standalone source code. The worker does it; here are the
// options.

#include "cupel/cli/ModelArguments.h"
#include "cupel/cli/SiblingVerbs.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cupel::cli {

namespace {

/// The options of compilers that code generation knows, by the names that frameworks give them.
Status applyOption(const std::string &option, nlohmann::json &request) {
  size_t at = option.find('=');
  std::string key = option.substr(0, at), value = at == std::string::npos ? "" : option.substr(at + 1);
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
  if (key == "export_path") {
    request["output"] = option.substr(at + 1);
    return {};
  }
  if (key == "export_tensors") {
    if (value == "true" || value == "1" || value == "yes" || value == "on")
      request["export_tensors"] = true;
    else if (value == "false" || value == "0" || value == "no" || value == "off")
      request["export_tensors"] = false;
    else
      return Error{"export_tensors is true or false, not '" + value + "'"};
    return {};
  }
  if (key == "backend") {
    std::string language = request["language"];
    if (value != "codegen_" + language)
      return Error{"backend is codegen_" + language + ", not '" + value + "'"};
    return {};
  }
  if (key == "optimization_level") {
    if (value != "0" && value != "1" && value != "2")
      return Error{"optimization_level is 0, 1 or 2, not '" + value + "'"};
    return {}; // Generated code has one form.
  }
  return Error{"there is no option '" + key +
               "'; there are backend, export_path, export_tensors and optimization_level"};
}

} // namespace

int runCodegenVerb(const Arguments &arguments) {
  CommandLine line("codegen",
                   "Write a model (.onnx, .pt2) or program as source code that runs without Cupel:\n"
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
              "backend, export_path, export_tensors, optimization_level: as compilers' options are called")
      .placeholder("KEY=VALUE")
      .oneValueEach();
  line.example("cupel codegen py model.onnx -o model && model/run", "NumPy alone");
  line.example("cupel codegen cpp model.onnx -o model && model/run", "built by g++ on the way");
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
  for (const std::string &option : options)
    if (Status status = applyOption(option, *request); !status)
      return reportError("codegen", "--option: " + status.message(), kExitUsage);
  if ((*request)["output"].get<std::string>().empty())
    return reportError("codegen", "-o DIR says where to write", kExitUsage);
  return handOver("codegen", "cupel-worker", {"codegen", request->dump()});
}

} // namespace cupel::cli
