#include "cupel/cli/TuneFormats.h"

#include "cupel/cli/Compile.h"
#include "cupel/cli/Verbs.h"
#include "cupel/compare/Compare.h"
#include "cupel/compare/Defaults.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/backends/cpu/CpuBackend.h"
#include "cupel/compiler/passes/ExposeWeights.h"
#include "cupel/compiler/passes/RoundWeights.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/support/Files.h"

#include <cmath>
#include <fmt/format.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <numeric>

namespace cupel::cli {

using namespace mlir;
using compiler::ExposedProgram;
using tensor::BlockFormat;
using tensor::Tensor;

namespace {

constexpr const char *kTune = "tune";
constexpr BlockFormat kFormats[] = {BlockFormat::Bfp8, BlockFormat::Bfp4};

const char *spelled(std::optional<BlockFormat> format) {
  return !format ? "bf16" : *format == BlockFormat::Bfp8 ? "bfp_bf8" : "bfp_bf4";
}

/// How alike two tensors are; 1 where nothing differs, 0 where the question has no meaning and they do.
double correlation(const Tensor &actual, const Tensor &expected) {
  Result<compare::Statistics> found = compare::compare(actual, expected, {}, {.worst = 0, .firstMismatches = 0});
  if (!found || !found->sameShape())
    return 0;
  if (!std::isnan(found->pcc))
    return found->pcc;
  // Too few numbers, or a constant: what can be said is how far apart they are.
  return std::max(0.0, 1 - found->relativeL2);
}

/// One name: all forms in which products take it get the same format.
struct Weight {
  std::string name, type;
  std::vector<size_t> forms;
  int64_t bytes = 0, packed[2] = {};
  double own[2] = {1, 1};    ///< Of the numbers of the weight with what a format makes of them.
  double alone[2] = {1, 1};  ///< Of the model's results, where no other weight is rounded.
  std::optional<BlockFormat> chosen;
  double layer = 1; ///< Of what its products give, with all that was chosen.
};

using Choice = std::vector<std::optional<BlockFormat>>; ///< By weight.

class FormatSearch {
public:
  FormatSearch(ExposedProgram program, compiler::ExecutablePointer executable, std::vector<Tensor> arguments,
               std::vector<Tensor> forms)
      : program(std::move(program)), executable(std::move(executable)), arguments(std::move(arguments)),
        forms(std::move(forms)) {}

  Status prepare() {
    for (size_t i = 0; i < program.all.size(); ++i) {
      const compiler::ExposedWeight &one = program.all[i];
      auto [at, isNew] = numbers.try_emplace(one.name, weights.size());
      if (isNew)
        weights.push_back({.name = one.name, .type = {}, .forms = {}, .chosen = {}});
      Weight &weight = weights[at->second];
      weight.forms.push_back(i);
      llvm::raw_string_ostream(weight.type) << (weight.type.empty() ? "" : ", ") << one.type;
      weight.bytes += stablehlo::bytesOf(one.type);
      for (size_t f = 0; f < 2; ++f) {
        weight.packed[f] += compiler::packedBytes(one.type, kFormats[f]);
        Result<Tensor> made = tensor::roundToBlocks(forms[i], kFormats[f]);
        if (!made)
          return made.error();
        weight.own[f] = std::min(weight.own[f], correlation(*made, forms[i]));
        rounded[f].push_back(std::move(*made));
      }
    }
    Result<std::vector<Tensor>> found = run(Choice(weights.size()));
    if (!found)
      return found.error();
    expected = std::move(*found);
    return {};
  }

  /// The correlation of the result that moves most.
  Result<double> measure(const Choice &choice) {
    Result<std::vector<Tensor>> results = run(choice);
    if (!results)
      return results.error();
    last = std::move(*results);
    double worst = 1;
    for (size_t i = 0; i < program.results; ++i)
      if (tensor::isFloat(last[i].dtype()))
        worst = std::min(worst, correlation(last[i], expected[i]));
    return worst;
  }

  Status measureAlone() {
    for (size_t w = 0; w < weights.size(); ++w)
      for (size_t f = 0; f < 2; ++f) {
        Choice choice(weights.size());
        choice[w] = kFormats[f];
        Result<double> found = measure(choice);
        if (!found)
          return found.error();
        weights[w].alone[f] = *found;
      }
    return {};
  }

  /// As many weights as can be: first to bfp8, then of these to bfp4, those first that move results least.
  /// What is found is measured with all of it together.
  Result<Choice> search(double required) {
    Choice choice(weights.size());
    for (size_t f = 0; f < 2; ++f) {
      std::vector<size_t> order;
      for (size_t w = 0; w < weights.size(); ++w)
        if (f == 0 || choice[w])
          order.push_back(w);
      std::ranges::sort(order, [&](size_t a, size_t b) {
        return std::pair(-weights[a].alone[f], a) < std::pair(-weights[b].alone[f], b);
      });
      size_t good = 0, bad = order.size() + 1;
      for (size_t tried = order.size(); good + 1 < bad; tried = (good + bad) / 2) {
        Choice more = choice;
        for (size_t i = 0; i < tried; ++i)
          more[order[i]] = kFormats[f];
        Result<double> found = measure(more);
        if (!found)
          return found.error();
        (*found >= required ? good : bad) = tried;
      }
      for (size_t i = 0; i < good; ++i)
        choice[order[i]] = kFormats[f];
    }
    return choice;
  }

  /// Of the whole, and of each layer.
  Result<double> take(const Choice &choice) {
    Result<double> found = measure(choice);
    if (!found)
      return found;
    for (size_t w = 0; w < weights.size(); ++w)
      weights[w].chosen = choice[w];
    for (size_t i = 0; i < program.layers.size(); ++i) {
      Weight &weight = weights[numbers.at(program.all[program.layers[i]].name)];
      size_t at = program.results + i;
      weight.layer = std::min(weight.layer, correlation(last[at], expected[at]));
    }
    return found;
  }

  std::vector<Weight> weights;
  size_t runs = 0;

private:
  Result<std::vector<Tensor>> run(const Choice &choice) {
    std::vector<Tensor> given = arguments;
    given.insert(given.end(), forms.begin(), forms.end());
    for (size_t w = 0; w < weights.size(); ++w)
      if (choice[w])
        for (size_t form : weights[w].forms)
          given[arguments.size() + form] = rounded[*choice[w] == BlockFormat::Bfp4][form];
    ++runs;
    Result<runtime::ProcessTensors> results = executable->execute({given});
    if (!results)
      return results.error();
    return std::move((*results)[0]);
  }

  ExposedProgram program;
  compiler::ExecutablePointer executable;
  std::vector<Tensor> arguments, forms, rounded[2], expected, last;
  std::map<std::string, size_t> numbers;
};

Result<compiler::ExecutablePointer> compiled(ModuleOp module, FallbackAsmResourceMap *resources) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ir::printProgram(module, os, OpPrintingFlags(), resources);
  compiler::CompileOptions options;
  options.backend = "cpu";
  return compiler::cpuBackend().compileSource(text, options);
}

/// Inputs of the model's data, made-up ones for the rest, and weights.
Result<std::vector<Tensor>> argumentsOf(Compiled &model, const ModelRequest &request, uint64_t seed) {
  func::FuncOp main = compiler::entryOf(*model.module);
  if (!main)
    return Error{"there is no main function"};
  std::vector<Tensor> made;
  size_t weights = model.weights.size();
  for (BlockArgument argument : main.getArguments()) {
    size_t i = argument.getArgNumber();
    if (i + weights >= main.getNumArguments()) {
      made.push_back(model.weights[i + weights - main.getNumArguments()].second);
      continue;
    }
    if (auto name = argument.getLoc()->findInstanceOf<NameLoc>())
      if (auto found = request.options.inputs.find(name.getName().str()); found != request.options.inputs.end()) {
        made.push_back(found->second);
        continue;
      }
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape())
      return Error{fmt::format("argument {} has no shape that is known", i)};
    Result<Tensor> random = madeUpInput(type, seed, i);
    if (!random)
      return random.error();
    made.push_back(std::move(*random));
  }
  return made;
}

/// A pattern that matches this name alone.
std::string patternOf(const std::string &name) {
  std::string made;
  for (char c : name) {
    if (std::string_view("*?[]{}\\").find(c) != std::string_view::npos)
      made += '\\';
    made += c;
  }
  return made;
}

/// A correlation, fine enough for the nines that block floats leave.
std::string digits(double pcc) { return pcc >= 1 ? "1" : fmt::format("{:.7f}", pcc); }

std::string kilobytes(int64_t bytes) { return fmt::format("{:.1f} kB", double(bytes) / 1e3); }

llvm::json::Object overridesOf(const FormatSearch &search) {
  llvm::json::Object overrides{{"default", "bf16"}};
  for (const Weight &weight : search.weights)
    if (weight.chosen)
      overrides[patternOf(weight.name)] = spelled(weight.chosen);
  return overrides;
}

struct Found {
  double required = 0, pcc = 1;
  bool isGiven = false; ///< Formats that were asked for, not searched.
  size_t hidden = 0;
};

int64_t bytesAs(const Weight &weight) {
  return weight.chosen ? weight.packed[*weight.chosen == BlockFormat::Bfp4] : weight.bytes;
}

std::string asText(const FormatSearch &search, const Found &found) {
  size_t width = 6;
  for (const Weight &weight : search.weights)
    width = std::max(width, weight.name.size());
  std::string text = fmt::format("{:<{}}  {:>10}  {:>10}  {:>10}  {:>8}  {:>10}  {:>11}\n", "weight", width, "size", "bfp8 alone",
                                 "bfp4 alone", "chosen", "size then", "its layers");
  int64_t before = 0, after = 0;
  for (const Weight &weight : search.weights) {
    before += weight.bytes;
    after += bytesAs(weight);
    text += fmt::format("{:<{}}  {:>10}  {:>10}  {:>10}  {:>8}  {:>10}  {:>11}\n", weight.name, width, kilobytes(weight.bytes),
                        found.isGiven ? "-" : digits(weight.alone[0]), found.isGiven ? "-" : digits(weight.alone[1]),
                        weight.chosen ? spelled(weight.chosen) : "as it is", kilobytes(bytesAs(weight)), digits(weight.layer));
  }
  text += fmt::format("results correlate by {} with those of the weights as they are", digits(found.pcc));
  text += found.isGiven ? std::string() : fmt::format(" ({} is asked for)", digits(found.required));
  text += fmt::format("; weights of products take {} in place of {} ({} runs)\n", kilobytes(after), kilobytes(before), search.runs);
  if (found.hidden > 0)
    text += fmt::format("{} products inside loops, branches and functions were not looked at\n", found.hidden);
  return text;
}

llvm::json::Object asJson(const FormatSearch &search, const Found &found, const std::string &model) {
  llvm::json::Array rows;
  for (const Weight &weight : search.weights) {
    llvm::json::Object row{{"name", weight.name}, {"type", weight.type}, {"bytes", weight.bytes}, {"chosen", spelled(weight.chosen)},
                           {"bytes_then", bytesAs(weight)}, {"pcc_of_layers", weight.layer}};
    for (size_t f = 0; f < 2; ++f) {
      llvm::json::Object one{{"bytes", weight.packed[f]}, {"pcc_of_weight", weight.own[f]}};
      if (!found.isGiven)
        one["pcc_alone"] = weight.alone[f];
      row[f == 0 ? "bfp8" : "bfp4"] = std::move(one);
    }
    rows.push_back(std::move(row));
  }
  llvm::json::Object made{{"model", model}, {"pcc", found.pcc}, {"weights", std::move(rows)}, {"overrides", overridesOf(search)},
                          {"runs", int64_t(search.runs)}, {"not_looked_at", int64_t(found.hidden)}};
  if (!found.isGiven)
    made["required_pcc"] = found.required;
  return made;
}

} // namespace

int runTuneFormats(const char *text) {
  Result<llvm::json::Object> object = workerRequest(text);
  if (!object)
    return reportError(kTune, object.message(), kExitUsage);
  Result<ModelRequest> request = ModelRequest::parse(kTune, *object);
  if (!request)
    return reportError(kTune, request.message(), kExitUsage);
  auto word = [&](llvm::StringRef key) { return object->getString(key).value_or("").str(); };
  auto failed = [&](const std::string &message) { return reportError(kTune, request->file + ": " + message, kExitFailure); };
  ModelContext context;
  Compiled model;
  if (std::optional<int> code = readAsStablehlo(*request, context, model))
    return *code;
  Result<std::vector<Tensor>> arguments = argumentsOf(model, *request, uint64_t(object->getInteger("seed").value_or(0)));
  if (!arguments)
    return failed(arguments.message());
  Result<ExposedProgram> exposed = compiler::exposeWeights(*model.module);
  if (!exposed)
    return failed(exposed.message());
  Result<compiler::ExecutablePointer> giving = compiled(*exposed->weights, model.resources.get()),
                                      program = compiled(*exposed->program, model.resources.get());
  for (const auto *made : {&giving, &program})
    if (!*made)
      return failed("is not compiled: " + made->message());
  Result<runtime::ProcessTensors> forms = (*giving)->execute({*arguments});
  if (!forms)
    return failed(forms.message());
  Found found{.required = object->getNumber("pcc").value_or(compare::kDefaultPcc), .isGiven = !word("given").empty(), .hidden = exposed->hidden};
  FormatSearch search(std::move(*exposed), std::move(*program), std::move(*arguments), std::move((*forms)[0]));
  if (Status status = search.prepare(); !status)
    return failed(status.message());
  Choice choice(search.weights.size());
  if (found.isGiven) {
    Result<compiler::WeightFormats> given = compiler::parseWeightFormats(word("given"));
    if (!given)
      return reportError(kTune, given.message(), kExitUsage);
    for (size_t w = 0; w < choice.size(); ++w)
      choice[w] = given->of(search.weights[w].name);
  } else {
    if (Status status = search.measureAlone(); !status)
      return failed(status.message());
    Result<Choice> best = search.search(found.required);
    if (!best)
      return failed(best.message());
    choice = std::move(*best);
  }
  Result<double> pcc = search.take(choice);
  if (!pcc)
    return failed(pcc.message());
  found.pcc = *pcc;
  std::string report = word("json"), overrides = word("overrides");
  (report == "-" ? llvm::errs() : llvm::outs()) << asText(search, found);
  auto write = [](const std::string &file, llvm::json::Object value) -> Status {
    return file.empty() ? Status() : writeOutput(file, llvm::formatv("{0:2}\n", llvm::json::Value(std::move(value))).str());
  };
  for (const Status &status : {write(report, asJson(search, found, request->file)), write(overrides, overridesOf(search))})
    if (!status)
      return reportError(kTune, status.message(), kExitUsage);
  return found.isGiven || found.pcc >= found.required ? kExitSuccess : kExitFailure;
}

} // namespace cupel::cli
