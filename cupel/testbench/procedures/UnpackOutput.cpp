// The table for tests of which nobody knows what training goes back from: a class of outputs gets a
// line in the registry; what has no class of its own gets a method of its loader.

#include "cupel/testbench/procedures/Procedure.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cupel::testbench::procedures {
namespace {

bool saysSo(std::string_view message) {
  return message.find("unpack_forward_output") != std::string_view::npos ||
         message.find("No handler for class") != std::string_view::npos;
}

bool isFailure(const CpuPhase &phase) {
  return phase.ok ? !phase.unpackedIsTensor : phase.step == "unpack";
}
bool isFine(const CpuPhase &phase) { return phase.ok && phase.unpackedIsTensor; }

Decision decide(const CpuRun &cpu) {
  const CpuPhase &narrow = cpu.bfloat16();
  if (isFine(narrow))
    return {Decision::Kind::OnlyYaml, "its output is handled already: only the entry is stale"};
  if (!isFailure(narrow) && narrow.step == "backward")
    return {Decision::Kind::OnlyYaml,
            fmt::format("its output is handled already; it fails later: {}", narrow.errorLine())};
  if (!isFailure(narrow))
    return {Decision::Kind::Stop, fmt::format("it fails before its output is there, in {}: {}",
                                              narrow.step, narrow.errorLine())};
  return {};
}

bool mayFix(std::string_view) { return true; }

/// What losses are computed from, by how results call it; the first that is a tensor.
std::optional<std::string> lossRelevant(const std::vector<NamedValue> &outputs) {
  std::vector<const NamedValue *> floats;
  for (const NamedValue &value : outputs)
    if (value.isFloating)
      floats.push_back(&value);
  for (std::string_view wanted : {"logits", "pred_logits", "predicted_depth", "scores",
                                  "logits_per_image", "last_hidden_state", "pooler_output"})
    for (const NamedValue *value : floats)
      if (value->name == wanted)
        return value->name;
  return floats.size() == 1 ? std::optional(floats[0]->name) : std::nullopt;
}

Result<std::vector<FileFix>> override(FixRequest &request, std::string_view expression,
                                      std::string_view selected, std::vector<FileFix> others = {}) {
  Result<LoaderFix> found =
      addUnpack(request.loader, expression, request.cpu->bfloat16().outputStructure, selected);
  if (!found)
    return found.error();
  others.push_back({request.loaderPath, std::move(*found)});
  return others;
}

Result<std::vector<FileFix>> fixBare(FixRequest &request) {
  const CpuPhase &phase = request.cpu->bfloat16();
  bool isMapping = phase.outputClass == "dict";
  if (isMapping)
    if (std::optional<std::string> key = lossRelevant(phase.outputs))
      return override(request, fmt::format("forward_output[\"{}\"]", *key),
                      fmt::format("\"{}\", which a loss is computed from", *key));
  std::vector<std::string> floats;
  for (const NamedValue &value : phase.outputs) {
    if (value.dtype.empty() && value.className != "NoneType")
      return Error{fmt::format("its output is nested: {}", phase.outputStructure)};
    if (value.isFloating)
      floats.push_back(isMapping ? fmt::format("forward_output[\"{}\"]", value.name)
                                 : fmt::format("forward_output[{}]", value.name));
  }
  if (floats.empty())
    return Error{fmt::format("its output holds no floating tensor: {}", phase.outputStructure)};
  if (floats.size() == 1)
    return override(request, floats[0], "the only floating tensor");
  request.review.push_back(
      fmt::format("which of {} tensors a loss is computed from is not known: all of them are taken",
                  floats.size()));
  for (std::string &one : floats)
    one += ".flatten()";
  return override(request, fmt::format("torch.cat([{}])", fmt::join(floats, ", ")),
                  "all floating tensors in one, since nothing says which a loss is computed from");
}

Result<std::vector<FileFix>> fix(FixRequest &request) {
  const CpuPhase &phase = request.cpu->bfloat16();
  if (hasOwnUnpack(request.loader))
    return Error{
        "the loader has an unpack_forward_output of its own, which does not give a tensor"};
  if (phase.outputIsBare)
    return fixBare(request);
  std::optional<std::string> attribute = lossRelevant(phase.outputs);
  if (std::optional<std::string> known = registeredAttribute(request.registry, phase.outputClass)) {
    // It is registered, and what it names is no tensor: the line is wrong.
    Result<LoaderFix> gone = unregisterOutput(request.registry, phase.outputClass);
    if (!gone)
      return gone.error();
    if (!attribute)
      return Error{fmt::format("{}.{} is no tensor, and nothing else of it is known to be what a "
                               "loss is computed from",
                               phase.outputClass, *known)};
    request.review.push_back(
        fmt::format("the registry's line for {} is wrong ({} is no tensor) and is taken out",
                    phase.outputClass, *known));
    return override(request, "forward_output." + *attribute,
                    fmt::format("{}, which a loss is computed from", *attribute),
                    {{request.registryPath, std::move(*gone)}});
  }
  if (!attribute)
    return Error{fmt::format("which attribute of {} a loss is computed from is not known: {}",
                             phase.outputClass, phase.outputStructure)};
  if (request.registry.empty())
    return override(request, "forward_output." + *attribute,
                    fmt::format("{}, which a loss is computed from", *attribute));
  Result<LoaderFix> line = registerOutput(request.registry, phase.outputClass, *attribute);
  if (!line)
    return line.error();
  return std::vector<FileFix>{{request.registryPath, std::move(*line)}};
}

} // namespace

const Procedure kUnpackOutput = {
    .name = "unpack-forward-output",
    .summary = "A training test whose output nobody unpacks",
    .handles = "unpack_forward_output training failures",
    .gate = nullptr,
    .isFailure = isFailure,
    .saysSo = saysSo,
    .isFine = isFine,
    .decide = decide,
    .mayFix = mayFix,
    .fix = fix,
};

std::span<const Procedure *const> allProcedures() {
  static constexpr const Procedure *kAll[] = {&kBfloat16, &kMissingInputs, &kUnpackOutput};
  return kAll;
}

} // namespace cupel::testbench::procedures
