#include "cupel/cli/PageJobForms.h"

#include "cupel/cli/OperationOptions.h"
#include "cupel/runtime/BuiltInArchitectures.h"
#include "cupel/runtime/Options.h"

#include <algorithm>

namespace cupel::cli {
namespace {

using results::serve::JobField;
using results::serve::JobKind;
using Kind = JobField::Kind;

/// Options that a page has no business with: free text (folders of the server), faults that tests
/// plant, and what the choice of the device says. Whatever else the table has is offered.
bool isOffered(const runtime::OptionInfo &option) {
  constexpr std::string_view kNotOffered[] = {"export_tensors", "plant_wrong_rewrite", "num_devices", "memory_limit", "host_reads", "host_memory", "arenas", "num_threads"};
  bool isFreeText = option.type == runtime::OptionInfo::Type::String && option.choices.empty();
  return !isFreeText && std::ranges::find(kNotOffered, option.name) == std::end(kNotOffered);
}

constexpr std::string_view kPrefix = "option.";
constexpr std::string_view kUnchanged = "(default)";

/// A field for each option of our own device.
std::vector<JobField> deviceOptions() {
  std::vector<JobField> fields;
  for (const runtime::OptionInfo &option : runtime::optionTable()) {
    if (!option.isFor(runtime::OptionScope::Client) || !isOffered(option))
      continue;
    JobField field{.name = std::string(kPrefix) + std::string(option.name), .label = std::string(option.name), .help = std::string(option.help)};
    if (option.type == runtime::OptionInfo::Type::Integer) {
      field.kind = Kind::Integer;
      field.least = std::max<int64_t>(option.least, -1);
      field.most = std::min(option.most, int64_t(1) << 40);
    } else {
      field.kind = Kind::Choice;
      field.initial = kUnchanged;
      field.choices = {std::string(kUnchanged)};
      bool isBoolean = option.type == runtime::OptionInfo::Type::Boolean;
      for (std::string_view word : runtime::optionWords(isBoolean ? "false true" : option.choices))
        if (!word.starts_with("codegen_")) // Code is written into folders of the server.
          field.choices.emplace_back(word.substr(0, word.find('|')));
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

JobField deviceField(const std::vector<std::string> &devices, bool hasReference) {
  JobField field{.name = "device", .label = "Device", .help = "Our own device, as an architecture or not, and those that the server was started with (--device).", .kind = Kind::Choice};
  field.choices = devices;
  field.choices.emplace_back("cupel");
  for (const runtime::BuiltInArchitecture &architecture : runtime::builtInArchitectures())
    if (architecture.isDescribed && architecture.name != "cpu")
      field.choices.emplace_back(architecture.name);
  if (hasReference)
    field.choices.emplace_back("reference");
  field.initial = field.choices.front();
  return field;
}

JobField seedField() {
  return {.name = "seed", .label = "Seed of made-up inputs", .help = "The same seed gives the same inputs on every machine.", .kind = Kind::Integer, .initial = "0", .least = 0, .most = int64_t(1) << 53};
}

JobField inputsField() {
  return {.name = "inputs", .label = "Inputs from a file", .help = "A .safetensors file of at most 700 KB with the inputs by name or position; without one they are made up, or are the workload's own.", .kind = Kind::File};
}

JobField precisionField() {
  return {.name = "precision", .label = "Precision", .help = "What the device computes in, which sets the limits of its results.", .kind = Kind::Choice,
          .choices = {"(declared)", "f32", "tf32", "f16", "bf16", "bfp8", "fp8"}, .initial = "(declared)"};
}

JobField architectureField() {
  JobField field{.name = "option.arch", .label = "arch", .help = "The architecture whose element types the program is rounded to.", .kind = Kind::Choice, .choices = {std::string(kUnchanged)}, .initial = std::string(kUnchanged)};
  for (const runtime::BuiltInArchitecture &architecture : runtime::builtInArchitectures())
    if (architecture.isDescribed)
      field.choices.emplace_back(architecture.name);
  return field;
}

JobField editsField() {
  JobField field{.name = "edits", .label = "Options of single operations", .help = "Chosen with an operation's details: " + listOperationOptions(false) + ".", .kind = Kind::Edits};
  for (const OperationOptionInfo &one : kOperationOptions) {
    std::vector<std::string> choices;
    for (std::string_view word : runtime::optionWords(one.choices))
      choices.emplace_back(word);
    field.edits.push_back({.name = std::string(one.name), .label = std::string(one.label), .help = std::string(one.help), .choices = std::move(choices)});
  }
  return field;
}

} // namespace

std::vector<JobKind> pageJobKinds(const std::vector<std::string> &devices) {
  std::vector<JobField> options = deviceOptions();
  auto with = [&](std::vector<JobField> fields) {
    fields.insert(fields.end(), options.begin(), options.end());
    return fields;
  };
  return {
      {.name = "open", .title = "Open the graph", .summary = "The graph of a test's program, at every stage of its compilation.",
       .fields = {{.name = "test", .label = "Test", .help = "suite::id, or the id alone."}}, .needsProgram = false},
      {.name = "run", .title = "Run and compare", .summary = "Runs the program on a device and compares its results with the golden reference's.",
       .fields = with({deviceField(devices, true), seedField(), inputsField(), precisionField(),
                       {.name = "repeat", .label = "Executions", .help = "How often it is executed, with other inputs and with its own in turn; none: 3 and more where it is quick.", .kind = Kind::Integer, .least = 1, .most = 1000}})},
      {.name = "explain", .title = "Find the first bad operation", .summary = "Cuts the program into pieces that are fed right values, and names the operation that makes it fail on a device.",
       .fields = {deviceField(devices, false), seedField(), precisionField(),
                  {.name = "seconds", .label = "Seconds it may take", .help = "", .kind = Kind::Integer, .initial = "300", .least = 10, .most = 3600}}},
      {.name = "op-by-op", .title = "Operation by operation", .summary = "Compiles, or runs and judges, every operation alone: which the device takes, which are right.",
       .fields = {deviceField(devices, false), {.name = "depth", .label = "How far", .help = "compile: which operations the device takes; execute: and whether their results are right.", .kind = Kind::Choice, .choices = {"execute", "compile"}, .initial = "execute"}, precisionField()}},
      {.name = "values", .title = "Value statistics", .summary = "Evaluates the program on the golden reference: largest magnitude, mean, deviation, zeros and what is not finite, of every value.",
       .fields = {seedField()}},
      {.name = "time", .title = "Measure times", .summary = "Runs the compiled program on made-up inputs and shows where the time goes.",
       .fields = {{.name = "runs", .label = "Runs", .help = "Times are those of the best.", .kind = Kind::Integer, .initial = "20", .least = 1, .most = 10000}}},
      {.name = "compile", .title = "Compile with options", .summary = "Compiles the program once more, with other options and with what was chosen for single operations, and opens that graph.",
       .fields = with({architectureField(),
                       {.name = "composites", .label = "Keep composites", .help = "Of a model: Gelu, LayerNormalization, Softmax, ... stay one operation.", .kind = Kind::Toggle, .initial = "true"},
                       editsField()})},
      {.name = "extract", .title = "Extract the selection", .summary = "Makes a program of the selected operations, to download, run and look at by itself.",
       .fields = {{.name = "nodes", .label = "Operations", .help = "Of the graph as StableHLO.", .kind = Kind::Nodes}}},
      {.name = "workload", .title = "Save as Workload", .summary = "Program, inputs and what is expected as one folder, which `cupel run` and `cupel-device` run anywhere.",
       .fields = {seedField(), inputsField()}},
  };
}

std::vector<std::string> deviceOptionsIn(const results::serve::JobValues &values) {
  std::vector<std::string> options;
  for (const auto &[name, value] : values)
    if (name.starts_with(kPrefix) && !value.empty() && value != kUnchanged)
      options.push_back(name.substr(kPrefix.size()) + "=" + value);
  return options;
}

} // namespace cupel::cli
