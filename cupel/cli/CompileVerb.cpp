// `cupel compile`: a model or program as StableHLO. The worker does it; here are the options.

#include "cupel/cli/CompileModel.h"
#include "cupel/cli/Fusions.h"
#include "cupel/cli/ModelArguments.h"
#include "cupel/cli/SiblingVerbs.h"
#include "cupel/runtime/Options.h"

#include <nlohmann/json.hpp>

#include <charconv>

namespace cupel::cli {

static std::optional<int64_t> wholeNumber(const std::string &text) {
  int64_t value;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

int runCompileVerb(const Arguments &arguments) {
  CommandLine line(
      "compile",
      "Turn a model (.onnx, .pt2) or a program into StableHLO of static shapes.\n"
      "A model's weights become arguments behind its inputs and are written beside the output as\n"
      "NAME.weights.safetensors, where `cupel run` and `cupel eval` find them. A test of a model\n"
      "loader, by its id, becomes a workload folder, which runs again without Python.");
  ModelArguments model;
  std::string emit = "stablehlo", trace, output = "-", weights = "beside", target, limit = "-1", reportFile, printAfter, printBefore;
  uint32_t reportRuns = 0;
  std::vector<std::string> options, fusions;
  ModelCompilation loader;
  bool noComposites = false, report = false, printRewrites = false, timing = false;
  model.addTo(line);
  line.option("--emit", emit,
              "stablehlo or shlo: MLIR text; portable: a portable artifact; tensor, device, asm: what "
              "the cpu backend makes of it")
      .oneOf({"stablehlo", "shlo", "portable", "tensor", "device", "asm"})
      .showDefault();
  line.option("-o", output, "Where to write; - is standard output")
      .placeholder("FILE")
      .showDefault();
  line.option("--weights", weights,
              "beside: in NAME.weights.safetensors; inline: as constants of the program")
      .oneOf({"beside", "inline"})
      .showDefault();
  line.option("--target-version", target, "StableHLO version of a portable artifact")
      .placeholder("X.Y.Z");
  line.option("--zoo", loader.zoo, "Of a test of a model loader: the zoo (else the project file's)").placeholder("DIR");
  line.option("--python", loader.python, "The Python for loaders ($CUPEL_PYTHON, .venv, python3)").placeholder("FILE");
  line.option("--dtype", loader.dtype, "What loaders of PyTorch are asked for (bfloat16)").placeholder("NAME");
  line.flag("--no-composites", noComposites,
            "Write out Gelu, LayerNormalization, Softmax, ... instead of keeping them as "
            "stablehlo.composite");
  line.flag("--report", report,
            "Say on standard error what the cpu backend runs: kernels, fallbacks, memory");
  line.option("--report-json", reportFile, "Write the report as JSON to a file").placeholder("FILE");
  line.option("--report-runs", reportRuns,
              "Run the program so often, on made-up inputs, and report where the time goes")
      .placeholder("N");
  line.option("--trace", trace,
              "Run the program on made-up inputs, record its commands and write them to a file, which "
              "`cupel show trace` shows and replays")
      .placeholder("FILE");
  line.option("--print-ir-after", printAfter,
              "Print the program on standard error behind these passes of the cpu backend (all: behind "
              "every one that changes something)")
      .placeholder("PASS,...");
  line.option("--print-ir-before", printBefore, "The same before passes").placeholder("PASS,...");
  line.flag("--timing", timing, "Say on standard error how long each pass of the cpu backend took");
  line.option("--opt-bisect-limit", limit,
              "Do only the first N of the rewrites that the cpu backend may leave, and say on standard "
              "error which was the last; -1: all")
      .placeholder("N");
  line.option("--option", options,
              "An option of our own device that decides what the cpu backend makes "
              "(docs/reference/plugin-options.md); may be repeated")
      .placeholder("NAME=VALUE")
      .oneValueEach();
  line.option("--fusions", fusions,
              "Rewrites of StableHLO that are done before the program is compiled: a file of PDLL (docs/performance.md); may be repeated")
      .placeholder("FILE")
      .oneValueEach();
  line.flag("--print-rewrites", printRewrites,
            "List the rewrites that the cpu backend may leave on standard error");
  line.example("cupel compile model.onnx -o model.mlir", "text, and model.weights.safetensors");
  line.example("cupel compile model.onnx --emit=portable -o model.mlirbc", "a portable artifact");
  line.example("cupel compile model.onnx --shape x=8x128 --weights=inline -o m.mlir",
               "one file, batch of 8");
  line.example("cupel compile model.mlir --emit=portable -o model.mlirbc", "from a program");
  line.example("cupel compile model.mlir --emit=device --report", "as the cpu backend runs it");
  line.example("cupel compile model.mlir --trace model.trace -o /dev/null", "the commands that it gives the device");
  line.example("cupel compile model.onnx --emit=asm --report-runs 20 -o model.s",
               "its machine code, and where the time goes");
  line.example("cupel compile models::cnn/pytorch-small-single_device-inference --zoo zoo/models -o cnn",
               "a loader's model, for `cupel run cnn` and cupel-device");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  if (isModelId(model.file)) {
    loader.id = model.file;
    loader.output = output;
    return compileModel(loader);
  }
  if (!loader.zoo.empty() || !loader.python.empty() || !loader.dtype.empty())
    return reportError("compile", "--zoo, --python and --dtype go with the id of a model's test, and '" +
                                      model.file + "' is none (cupel list --zoo DIR lists them)",
                       kExitUsage);
  Result<nlohmann::json> request = model.request();
  if (!request)
    return reportError("compile", request.message(), kExitUsage);
  if (!target.empty() && emit != "portable")
    return reportError("compile", "--target-version goes with --emit=portable", kExitUsage);
  std::optional<int64_t> rewriteLimit = wholeNumber(limit);
  if (!rewriteLimit || *rewriteLimit < -1)
    return reportError("compile", "--opt-bisect-limit takes a number from -1 on, not '" + limit + "'",
                       kExitUsage);
  if (reportRuns > 0 && reportFile.empty())
    report = true;
  bool isCompiled = emit == "tensor" || emit == "device" || emit == "asm" || report || !reportFile.empty() || !trace.empty();
  for (auto [option, isGiven] :
       {std::pair("--opt-bisect-limit", *rewriteLimit >= 0), std::pair("--print-rewrites", printRewrites),
        std::pair("--option", !options.empty()), std::pair("--fusions", !fusions.empty()), std::pair("--print-ir-after", !printAfter.empty()),
        std::pair("--print-ir-before", !printBefore.empty()), std::pair("--timing", timing)})
    if (isGiven && !isCompiled)
      return reportError("compile",
                         std::string(option) +
                             " goes with --emit=tensor, --emit=device, --emit=asm, --report or --trace",
                         kExitUsage);
  if (Status status = addFusions(fusions, options); !status)
    return reportError("compile", status.message(), kExitUsage);
  runtime::Options known(runtime::OptionScope::Client);
  for (const std::string &option : options) {
    if (Status status = known.setText(option); !status)
      return reportError("compile", "--option: " + status.message(), kExitUsage);
    (*request)["options"][option.substr(0, option.find('='))] = option.substr(option.find('=') + 1);
  }
  (*request)["emit"] = emit;
  (*request)["output"] = output;
  (*request)["weights"] = weights;
  (*request)["target_version"] = target;
  (*request)["composites"] = !noComposites;
  (*request)["report"] = report;
  (*request)["opt_bisect_limit"] = *rewriteLimit;
  (*request)["print_rewrites"] = printRewrites;
  (*request)["report_file"] = reportFile;
  (*request)["report_runs"] = reportRuns;
  (*request)["print_after"] = printAfter;
  (*request)["print_before"] = printBefore;
  (*request)["timing"] = timing;
  (*request)["trace"] = trace;
  return handOver("compile", "cupel-worker", {"compile", request->dump()});
}

} // namespace cupel::cli
