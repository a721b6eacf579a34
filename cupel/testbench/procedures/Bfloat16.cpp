// The table for tests that fail because something is not of the type bfloat16: operands of two
// types (the loader may be mended), or an operation that has no kernel for it (nothing can be done
// here).

#include "cupel/testbench/procedures/Procedure.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::procedures {
namespace {

constexpr std::string_view kNotImplemented = "op_not_implemented", kCrossDtype = "cross_dtype";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<std::string> gate(std::string_view reason) {
  if (!contains(reason, "BFloat16"))
    return std::nullopt;
  if (contains(reason, "not implemented for 'BFloat16'"))
    return std::string(kNotImplemented);
  for (std::string_view sign : {"must have the same dtype", "dtypes match", "expected scalar type"})
    if (contains(reason, sign))
      return std::string(kCrossDtype);
  return std::nullopt;
}

bool saysSo(std::string_view message) { return gate(message).has_value(); }

/// torch words some of them otherwise: "expected m1 and m2 to have the same dtype, but got: float
/// != c10::BFloat16".
bool isMismatch(std::string_view error) {
  return gate(error).has_value() || (contains(error, "BFloat16") && contains(error, "same dtype"));
}

bool isFailure(const CpuPhase &phase) { return !phase.ok && isMismatch(phase.error); }
bool isFine(const CpuPhase &phase) { return phase.ok; }

Decision decide(const CpuRun &cpu) {
  const CpuPhase &narrow = cpu.bfloat16(), &wide = cpu.float32();
  for (const CpuPhase &phase : cpu.phases)
    if (!phase.ok && phase.step == "unpack")
      return {Decision::Kind::Stop,
              fmt::format("unpack_forward_output fails ({}): triage that first, with cupel triage "
                          "unpack-forward-output",
                          phase.errorLine())};
  if (narrow.ok)
    return {Decision::Kind::Stop, "it does not fail on the CPU in bfloat16: the entry is stale or "
                                  "the environment differs; run the test again first"};
  if (!isFailure(narrow))
    return {Decision::Kind::Stop,
            fmt::format("it fails on the CPU for another reason: {}", narrow.errorLine())};
  if (!wide.ok)
    return {Decision::Kind::Stop,
            fmt::format("it fails in float32 too, which is another problem: {}; in bfloat16: {}",
                        wide.errorLine(), narrow.errorLine())};
  return {};
}

bool mayFix(std::string_view flavour) { return flavour == kCrossDtype; }

bool isNamed(std::string_view traceback, std::string_view name) {
  auto isWord = [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; };
  for (size_t at = traceback.find(name); at != std::string_view::npos;
       at = traceback.find(name, at + 1))
    if ((at == 0 || !isWord(traceback[at - 1])) &&
        (at + name.size() >= traceback.size() || !isWord(traceback[at + name.size()])))
      return true;
  return false;
}

Result<std::vector<FileFix>> fix(FixRequest &request) {
  const CpuPhase &phase = request.cpu->bfloat16();
  std::vector<size_t> offenders;
  for (size_t i = 0; i < phase.inputs.size(); ++i)
    if (phase.inputs[i].isFloating && phase.inputs[i].dtype == "float32")
      offenders.push_back(i);
  auto fixOf = [&](size_t i) {
    std::optional<size_t> position =
        phase.inputsKind == "sequence" ? std::optional(i) : std::nullopt;
    return honourDtype(request.loader, phase.inputs[i].name, position, false);
  };
  auto one = [&](Result<LoaderFix> found) -> Result<std::vector<FileFix>> {
    if (!found)
      return found.error();
    return std::vector<FileFix>{{request.loaderPath, std::move(*found)}};
  };
  if (offenders.size() == 1)
    return one(fixOf(offenders[0]));
  if (offenders.empty()) {
    if (phase.strays.size() != 1)
      return Error{fmt::format(
          "no input is float32 in the bfloat16 phase, and {} of the model's own tensors "
          "{}",
          phase.strays.size(), phase.strays.size() == 1 ? "is" : "are")};
    return one(honourDtype(request.loader, phase.strays[0], std::nullopt, true));
  }
  // Several: the one that the traceback names, else the first where all could be mended.
  std::string names;
  std::vector<size_t> named;
  for (size_t i : offenders) {
    names += (names.empty() ? "" : ", ") + phase.inputs[i].name;
    if (phase.inputsKind == "mapping" && isNamed(phase.traceback, phase.inputs[i].name))
      named.push_back(i);
  }
  request.review.push_back(
      fmt::format("{} inputs are float32 in the bfloat16 phase: {}", offenders.size(), names));
  if (named.size() == 1)
    return one(fixOf(named[0]));
  for (size_t i : offenders)
    if (Result<LoaderFix> found = fixOf(i); !found)
      return Error{
          fmt::format("{} inputs are float32 ({}), and not all can be traced to a constructor: {}",
                      offenders.size(), names, found.message())};
  return one(fixOf(offenders[0]));
}

} // namespace

const Procedure kBfloat16 = {
    .name = "bfloat16",
    .summary = "A training test that fails because something is not bfloat16",
    .handles = "bfloat16 dtype-mismatch training failures",
    .gate = gate,
    .isFailure = isFailure,
    .saysSo = saysSo,
    .isFine = isFine,
    .decide = decide,
    .mayFix = mayFix,
    .fix = fix,
    .needsFloat32 = true,
};

} // namespace cupel::testbench::procedures
