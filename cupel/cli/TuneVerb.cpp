// `cupel tune`: throughput and latency of a model by batch size. The session of `cupel bench` measures
// each size; here are the options, the shapes of each size, and what is kept between runs.

#include "cupel/cli/BenchSupport.h"
#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ModelArguments.h"
#include "cupel/cli/SiblingVerbs.h"
#include "cupel/compare/Defaults.h"
#include "cupel/runtime/Options.h"
#include "cupel/support/Files.h"
#include "cupel/support/Sha256.h"
#include "cupel/support/TemporaryFolder.h"
#include "cupel/testbench/bench/Session.h"
#include "cupel/testbench/bench/Tuning.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {

using namespace testbench::bench;

namespace {

/// Where a shape has the batch size.
constexpr std::string_view kBatch = "B";

/// `ids=Bx128` for a batch of 4 is `ids=4x128`; nothing where no size is B.
std::optional<std::string> withBatch(const std::string &shape, int64_t batch) {
  size_t at = shape.rfind('=');
  if (at == std::string::npos)
    return std::nullopt;
  std::string made = shape.substr(0, at + 1);
  bool isMet = false;
  for (std::string_view rest = std::string_view(shape).substr(at + 1); !rest.empty();) {
    std::string_view size = rest.substr(0, rest.find('x'));
    isMet |= size == kBatch;
    made += (made.back() == '=' ? "" : "x") + (size == kBatch ? std::to_string(batch) : std::string(size));
    rest.remove_prefix(std::min(size.size() + 1, rest.size()));
  }
  return isMet ? std::optional(made) : std::nullopt;
}

/// The shapes of a model's inputs, with B for the batch: as they were typed, or where that says nothing
/// the first dimension of all inputs that have it as large as the first input has.
Result<std::vector<std::string>> batchedShapes(const std::vector<std::string> &typed, const std::string &file,
                                               BenchOptions options, const volatile std::sig_atomic_t &stop) {
  if (std::ranges::any_of(typed, [](const std::string &shape) { return withBatch(shape, 1).has_value(); }))
    return typed;
  options.shapes = typed;
  Result<BenchProgram> program = BenchSession(options, [](const std::string &, double) {}, stop).describe(file);
  if (!program)
    return program.error();
  if (program->form == "mlir" || program->form == "workload")
    return Error{"the sizes of a program stand in it; batch sizes are tried on models (.onnx, .pt2)"};
  auto first = std::ranges::find_if(program->inputShapes, [](const auto &shape) { return !shape.empty(); });
  if (first == program->inputShapes.end())
    return Error{"no input has a dimension that could be a batch"};
  std::vector<std::string> shapes;
  for (size_t i = 0; i < std::min(program->inputShapes.size(), program->inputNames.size()); ++i) {
    std::vector<int64_t> shape = program->inputShapes[i];
    if (shape.empty() || shape[0] != (*first)[0])
      continue;
    std::string rest;
    for (size_t d = 1; d < shape.size(); ++d)
      rest += "x" + std::to_string(shape[d]);
    shapes.push_back(program->inputNames[i] + "=" + std::string(kBatch) + rest);
  }
  return shapes;
}

/// Of all that times depend on: a file that is another by now is measured anew.
std::string keyOf(const std::string &file, const BenchOptions &options, const std::vector<std::string> &shapes) {
  std::error_code error;
  auto modified = std::filesystem::last_write_time(file, error).time_since_epoch().count();
  auto bytes = std::filesystem::is_directory(file, error) ? 0 : std::filesystem::file_size(file, error);
  return sha256(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", std::filesystem::absolute(file, error).string(), modified, bytes,
                            fmt::join(options.devices, ","), options.threads, options.seconds, options.seed,
                            fmt::join(shapes, ",")))
      .substr(0, 16);
}

/// What `cupel tune --formats` is asked; the worker does it.
struct FormatsRequest {
  bool isAsked = false;
  double pcc = compare::kDefaultPcc;
  std::string overrides;
};

int tuneFormats(const FormatsRequest &asked, const std::string &file, const std::vector<std::string> &shapes,
                const std::vector<std::string> &compilerOptions, uint64_t seed, const std::string &json) {
  runtime::Options options(runtime::OptionScope::Client);
  for (const std::string &option : compilerOptions)
    if (Status status = options.setText(option); !status)
      return reportError("tune", "--option: " + status.message(), kExitUsage);
  for (const std::string &option : compilerOptions)
    if (!option.starts_with("experimental_weight_dtype="))
      return reportError("tune", "with --formats, --option takes experimental_weight_dtype alone: formats whose cost is to be said", kExitUsage);
  ModelArguments model;
  model.file = file;
  model.shapes = shapes;
  Result<nlohmann::json> request = model.request();
  if (!request)
    return reportError("tune", request.message(), kExitUsage);
  (*request)["pcc"] = asked.pcc;
  (*request)["seed"] = seed;
  (*request)["json"] = json;
  (*request)["overrides"] = asked.overrides;
  (*request)["given"] = options.string("experimental_weight_dtype").value_or("");
  return handOver("tune", "cupel-worker", {"tune-formats", request->dump()});
}

} // namespace

int runTuneVerb(const Arguments &arguments) {
  CommandLine line("tune",
                   "Find the batch size at which a model's throughput ends to grow: sizes are tried in their order, each "
                   "measured after warm-up, until throughput flattens or falls, or memory ends. The smallest size that is as "
                   "good as the best wins.\n"
                   "With --formats: find which weights of products can be held in block floats (bfp8, bfp4), each tried alone and then as many as "
                   "can be together, so that results still correlate with those of the weights as they are.");
  BenchOptions options;
  std::string file, json, svg;
  std::vector<std::string> shapes, compilerOptions;
  std::vector<std::string> sizes;
  std::string device = "cupel?backend=cpu";
  bool all = false, resume = false;
  options.threads = processors();
  options.rounds = 4;
  line.option("MODEL", file, "A model (.onnx, .pt2)").placeholder("FILE").required();
  line.option("--batch", sizes, "The sizes (1,2,4,8,16,32)").placeholder("N,...").delimiter(',').oneValueEach();
  line.option("--shape", shapes,
              "The shape of an input, with B where the batch size stands: NAME=Bx128. Without it the batch is the first "
              "dimension of all inputs that have it as large as the first input has")
      .placeholder("NAME=SIZES")
      .oneValueEach();
  line.option("--device", device, "What to measure on, as for 'cupel bench'").placeholder("DEVICE");
  line.option("--option", compilerOptions, kCompilerOptionHelp).placeholder("NAME=VALUE").oneValueEach();
  line.option("--threads", options.threads, "Processors that it is kept on (all)").placeholder("N").between(1, 1024);
  line.option("--seconds", options.seconds, "Of runs of each size").placeholder("S").positive().showDefault();
  line.option("--seed", options.seed, "Of inputs that are made up (0)").placeholder("N");
  line.option("--timeout", options.timeout, "Seconds for a compilation, or for a round").placeholder("SECONDS").positive().showDefault();
  line.flag("--all", all, "Try all sizes, whatever throughput does");
  line.option("--svg", svg, "Draw the curve into a file").placeholder("FILE");
  line.option("--json", json, "Write what was measured to a file, after each size").placeholder("FILE");
  line.flag("--resume", resume, "Take the sizes from the file of --json that were measured already, with the same model and settings");
  FormatsRequest formats;
  line.flag("--formats", formats.isAsked, "Find formats of weights in place of a batch size; with --option experimental_weight_dtype=... only say what that costs");
  line.option("--pcc", formats.pcc, "The correlation that results must keep").placeholder("PCC").between(0, 1).showDefault();
  line.option("--overrides", formats.overrides, "Write the formats that were found to a file NAME.json, which --option experimental_weight_dtype=NAME.json takes").placeholder("FILE");
  line.example("cupel tune model.onnx --formats --pcc 0.999 --overrides formats.json", "which weights can be bfp8 and bfp4");
  line.example("cupel tune model.onnx", "the usual sizes");
  line.example("cupel tune model.onnx --batch 1,8,64 --threads 2 --svg curve.svg", "others, drawn");
  line.example("cupel tune bert.onnx --shape ids=Bx128 --device n150 --option optimization_level=2", "where the SRAM of a chip ends");
  line.example("cupel tune model.pt2 --json tuned.json --resume", "go on where it was interrupted");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  auto usage = [](const std::string &message) {
    return reportError("tune", message + " (cupel tune --help explains)", kExitUsage);
  };
  if (formats.isAsked)
    return tuneFormats(formats, file, shapes, compilerOptions, options.seed, json);
  std::vector<int64_t> batches;
  if (sizes.empty())
    batches = {1, 2, 4, 8, 16, 32};
  for (const std::string &size : sizes) {
    int64_t batch = 0;
    auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), batch);
    if (error != std::errc() || end != size.data() + size.size() || batch < 1)
      return usage("--batch takes sizes from 1 on, not '" + size + "'");
    batches.push_back(batch);
  }
  std::ranges::sort(batches);
  batches.erase(std::ranges::unique(batches).begin(), batches.end());
  if (resume && (json.empty() || json == "-"))
    return usage("--resume goes with --json FILE");
  options.devices = {device};
  if (Status status = chooseDevices(options.devices, compilerOptions); !status)
    return usage(status.message());
  if (Status status = pinTo(options.threads); !status)
    return usage(status.message());
  TemporaryFolder scratch("cupel-tune");
  if (scratch.path.empty())
    return reportError("tune", "no folder can be made for temporary files", kExitUsage);
  options.scratch = scratch.path.string();
  listenForInterrupts();
  Result<std::vector<std::string>> batched = batchedShapes(shapes, file, options, gInterrupted);
  if (!batched)
    return reportError("tune", file + ": " + batched.message(), kExitFailure);

  Tuning tuning{.key = keyOf(file, options, *batched), .model = file, .device = options.devices[0], .threads = options.threads, .points = {}};
  Tuning known;
  if (resume)
    if (Result<FileContents> kept = readInput(json)) {
      Result<Tuning> read = tuningFromJson(std::string(kept->bytes()));
      if (!read)
        return reportError("tune", json + ": " + read.message(), kExitUsage);
      if (read->key == tuning.key)
        known = std::move(*read);
    }
  Bar bar(batches.size());
  for (size_t i = 0; i < batches.size() && !gInterrupted; ++i) {
    if (!all && !tuning.reasonToStop().empty())
      break;
    int64_t batch = batches[i];
    if (const TunePoint *point = known.find(batch)) {
      tuning.points.push_back(*point);
      continue;
    }
    BenchOptions sized = options;
    sized.shapes.clear();
    for (const std::string &shape : *batched)
      sized.shapes.push_back(withBatch(shape, batch).value_or(shape));
    BenchSession session(
        sized, [&](const std::string &what, double part) { bar.show(fmt::format("batch {}", batch), i, what, part); }, gInterrupted);
    Measurement measured = session.measure(file);
    bar.clear();
    if (gInterrupted)
      break;
    tuning.points.push_back(pointOf(batch, measured));
    if (!json.empty() && json != "-")
      if (Status written = writeOutput(json, asJson(tuning).dump(1) + "\n"); !written)
        return reportError("tune", written.message(), kExitUsage);
  }
  if (!gInterrupted || !tuning.points.empty())
    fmt::print(json == "-" ? stderr : stdout, "{}", asText(tuning));
  if (gInterrupted)
    fmt::print(stderr, "cupel tune: interrupted after {} of {} batch sizes{}\n", tuning.points.size(), batches.size(),
               json.empty() || json == "-" ? "; --json FILE would have kept them for --resume" : "; --resume goes on behind them");
  if (!json.empty())
    if (Status written = writeOutput(json, asJson(tuning).dump(1) + "\n"); !written)
      return reportError("tune", written.message(), kExitUsage);
  if (!svg.empty())
    if (Status written = writeOutput(svg, asSvg(tuning)); !written)
      return reportError("tune", written.message(), kExitUsage);
  if (gInterrupted)
    return kExitUnaccounted;
  return tuning.winner() ? kExitSuccess : kExitFailure;
}

} // namespace cupel::cli
