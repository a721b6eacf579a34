// `cupel ops`: what a model is made of and how far it can be lowered. The worker does it; here are
// the options.

#include "cupel/cli/ModelArguments.h"
#include "cupel/cli/OpsExtract.h"
#include "cupel/cli/SiblingVerbs.h"

#include <nlohmann/json.hpp>

namespace cupel::cli {

int runOpsVerb(const Arguments &arguments) {
  if (!arguments.empty() && arguments[0] == "extract")
    return runOpsExtract({arguments.begin() + 1, arguments.end()});
  CommandLine line("ops",
                   "List the operators of a model (.onnx, .pt2) or program: how often each stands "
                   "there, with which types,\n"
                   "which are lowered, and where and why the rest fails. Looks past what fails as "
                   "far as types are known.\n"
                   "Ends with 1 where an operator fails.");
  ModelArguments model;
  std::string format = "table";
  bool known = false;
  model.addTo(line);
  line.added("FILE").required(false);
  line.flag("--known", known, "List the operators there are lowerings of, for all formats");
  line.option("--format", format, "table or json").oneOf({"table", "json"}).showDefault();
  line.example("cupel ops model.onnx", "the operators, and what fails");
  line.example("cupel ops model.onnx --format json", "the same with all types, for scripts");
  line.example("cupel ops --known", "what can be lowered, and from which version on");
  line.example("cupel ops model.onnx --shape ids=1x128", "with the sizes of an input");
  line.example("cupel ops extract model.pt2 -o cases.yaml", "its calls as operator cases");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  if (known == !model.file.empty())
    return reportError("ops", "wants a FILE, or --known (cupel ops --help explains)", kExitUsage);
  Result<nlohmann::json> request = model.request();
  if (!request)
    return reportError("ops", request.message(), kExitUsage);
  (*request)["format"] = format;
  (*request)["known"] = known;
  return handOver("ops", "cupel-worker", {"ops", request->dump()});
}

} // namespace cupel::cli
