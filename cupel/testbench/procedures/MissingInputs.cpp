// The table for tests whose model needs an input in training that the loader does not give: ids for
// a decoder, targets for a detector, or a second example for batch normalisation.

#include "cupel/testbench/procedures/Procedure.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::procedures {
namespace {

struct Sign {
  std::string_view text, flavour;
};

constexpr Sign kSigns[] = {
    {"decoder_input_ids or decoder_inputs_embeds", "decoder_inputs"},
    {"targets should not be none when in training mode", "missing_targets"},
    {"Model expects targets to be passed while in training mode", "missing_targets"},
    {"'NoneType' object has no attribute 'max'", "missing_targets"},
    {"Expected more than 1 value per channel when training", "bn_single_value"},
};

std::optional<std::string> gate(std::string_view reason) {
  for (const Sign &sign : kSigns)
    if (reason.find(sign.text) != std::string_view::npos)
      return std::string(sign.flavour);
  return std::nullopt;
}

bool saysSo(std::string_view message) { return gate(message).has_value(); }
bool isFailure(const CpuPhase &phase) { return !phase.ok && saysSo(phase.error); }
bool isFine(const CpuPhase &phase) { return phase.ok; }

Decision decide(const CpuRun &cpu) {
  const CpuPhase &narrow = cpu.bfloat16();
  for (const CpuPhase &phase : cpu.phases)
    if (!phase.ok && phase.step == "unpack")
      return {Decision::Kind::Stop,
              fmt::format("unpack_forward_output fails ({}): triage that first, with cupel triage "
                          "unpack-forward-output",
                          phase.errorLine())};
  if (narrow.ok)
    return {Decision::Kind::Stop, "it does not fail on the CPU: the entry is stale or the "
                                  "environment differs; run the test again first"};
  if (!isFailure(narrow))
    return {Decision::Kind::Stop,
            fmt::format("it fails on the CPU for another reason: {}", narrow.errorLine())};
  return {};
}

bool mayFix(std::string_view) { return true; }

Result<std::vector<FileFix>> fix(FixRequest &request) {
  const CpuPhase &phase = request.cpu->bfloat16();
  if (request.cpu->float32().ok)
    request.review.push_back("it works in float32: the loader gives other inputs there");
  Result<LoaderFix> found = Error{"no fix is known for it"};
  if (request.flavour == "decoder_inputs") {
    if (!phase.decoderStartToken)
      return Error{"the model's configuration names no decoder_start_token_id"};
    found = addInput(request.loader, "decoder_input_ids",
                     fmt::format("torch.full(({{first}}.shape[0], 1), {}, dtype=torch.long)",
                                 *phase.decoderStartToken),
                     phase.signature);
  } else if (request.flavour == "missing_targets") {
    found = addInput(request.loader, "targets",
                     "[{\"boxes\": torch.tensor([[10.0, 10.0, 100.0, 100.0]]), \"labels\": "
                     "torch.tensor([1])} for _ in range({first}.shape[0])]",
                     phase.signature);
  } else if (request.flavour == "bn_single_value") {
    size_t rank = phase.inputs.size() == 1 && !phase.inputs[0].dtype.empty()
                      ? size_t(std::ranges::count(phase.inputs[0].shape, 'x') + 1)
                      : 0;
    found = doubleBatch(request.loader, rank);
  }
  if (!found)
    return found.error();
  return std::vector<FileFix>{{request.loaderPath, std::move(*found)}};
}

} // namespace

const Procedure kMissingInputs = {
    .name = "inputs",
    .summary = "A training test whose loader lacks an input that training needs",
    .handles = "missing-input training failures",
    .gate = gate,
    .isFailure = isFailure,
    .saysSo = saysSo,
    .isFine = isFine,
    .decide = decide,
    .mayFix = mayFix,
    .fix = fix,
    .checksInference = true,
};

} // namespace cupel::testbench::procedures
