#include "cupel/testbench/procedures/CpuRun.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::procedures {

using Json = nlohmann::json;

namespace {

std::vector<NamedValue> valuesOf(const Json &list) {
  std::vector<NamedValue> values;
  for (const Json &row : list) {
    NamedValue &value = values.emplace_back();
    value.name = row.value("name", "");
    value.dtype = row.value("dtype", "");
    value.className = row.value("class", "");
    value.isFloating = row.value("floating", false);
    if (row.contains("shape"))
      value.shape = fmt::format("{}", fmt::join(row["shape"].get<std::vector<int64_t>>(), "x"));
  }
  return values;
}

CpuPhase phaseOf(const Json &json) {
  CpuPhase phase;
  phase.dtype = json.value("dtype", "");
  phase.ok = json.value("ok", false);
  phase.step = json.value("step", "");
  phase.errorClass = json.value("error_class", "");
  phase.error = json.value("error", "");
  phase.traceback = json.value("traceback", "");
  phase.strays = json.value("strays", std::vector<std::string>());
  phase.signature = json.value("signature", std::vector<std::string>());
  if (json.contains("decoder_start_token_id"))
    phase.decoderStartToken = json["decoder_start_token_id"].get<int64_t>();
  if (json.contains("inputs")) {
    phase.inputsKind = json["inputs"].value("kind", "");
    phase.inputs = valuesOf(json["inputs"]["items"]);
  }
  if (json.contains("output")) {
    phase.outputClass = json["output"].value("class", "");
    phase.outputStructure = json["output"].value("structure", "");
    phase.outputIsBare = json["output"].value("bare", false);
    phase.outputs = valuesOf(json["output"]["items"]);
  }
  phase.unpackedIsTensor = json.value("unpacked_tensor", false);
  phase.unpackedClass = json.value("unpacked", "");
  return phase;
}

} // namespace

std::string CpuPhase::errorLine() const {
  std::string first = error.substr(0, error.find('\n'));
  return first.empty() ? errorClass : errorClass + ": " + first;
}

Result<std::vector<CpuRun>> parseCpuRuns(std::string_view text) {
  try {
    Json json = Json::parse(text);
    if (json.contains("stopped"))
      return Error{"the loader on the CPU: " + json["stopped"].get<std::string>()};
    std::vector<CpuRun> runs;
    for (const Json &test : json.at("tests")) {
      CpuRun &run = runs.emplace_back();
      run.variant = test.value("variant", "");
      for (const Json &phase : test.at("phases"))
        run.phases.push_back(phaseOf(phase));
      if (run.phases.empty())
        return Error{"the loader on the CPU: no phase was run"};
    }
    return runs;
  } catch (const Json::exception &error) {
    return Error{fmt::format("the loader on the CPU: its answer cannot be read: {}", error.what())};
  }
}

} // namespace cupel::testbench::procedures
