#include "cupel/testbench/bench/Report.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::bench {

using nlohmann::ordered_json;

std::string formatSeconds(double seconds) {
  if (seconds >= 1)
    return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3)
    return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

/// Arguments and results move at least once in a run.
static double movedBytes(const BenchProgram &program) {
  return program.inputBytes + program.weightBytes + program.resultBytes;
}

static std::string megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }

static std::string seconds(const std::optional<double> &value) {
  return value ? formatSeconds(*value) : "-";
}

static std::vector<std::string> cellsOf(const Contestant &one, const BenchProgram &program) {
  double median = one.latency.percentile(50);
  std::vector<std::string> cells = {one.name};
  for (double percent : {50., 90., 99., 0.})
    cells.push_back(formatSeconds(one.latency.percentile(percent)));
  cells.push_back(fmt::format("{:.1f}", one.latency.throughput()));
  cells.push_back(fmt::format("{:.1f}", program.flops / median / 1e9));
  cells.push_back(fmt::format("{:.2f}", movedBytes(program) / median / 1e9));
  cells.push_back(seconds(one.compileSeconds));
  cells.push_back(seconds(one.recompileSeconds));
  for (size_t i = 0; i < 3; ++i)
    cells.push_back(i < one.latency.first.size() ? formatSeconds(one.latency.first[i]) : "-");
  cells.push_back(one.peakBytes ? fmt::format("{:.0f}", *one.peakBytes / 1e6) : "-");
  cells.push_back(one.difference ? fmt::format("{:.1e}", *one.difference) : "-");
  return cells;
}

static std::string asTable(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto &row : rows) {
    text += "  " + fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i)
      text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += "\n";
  }
  return text;
}

std::string asText(const Measurement &measurement) {
  const BenchProgram &program = measurement.program;
  if (!measurement.failure.empty())
    return program.file + ": " + measurement.failure + "\n";
  std::string text = fmt::format(
      "{}: {} threads, {:.3g} GFLOP, {} of inputs, {} of weights, {} of results", program.file,
      measurement.threads, program.flops / 1e9, megabytes(program.inputBytes),
      megabytes(program.weightBytes), megabytes(program.resultBytes));
  if (program.form != "mlir" && program.form != "workload")
    text += fmt::format(", imported in {}", formatSeconds(program.importSeconds));
  text += "\n";
  if (measurement.limits)
    text += fmt::format("  this machine: {:.0f} GFLOP/s (a product in f32), {:.1f} GB/s (a copy)\n",
                        measurement.limits->flopsPerSecond / 1e9,
                        measurement.limits->bytesPerSecond / 1e9);
  std::vector<std::vector<std::string>> rows = {
      {"", "p50", "p90", "p99", "min", "runs/s", "GFLOP/s", "GB/s", "compile", "again", "1st",
       "2nd", "3rd", "peak MB", "differs"}};
  for (const Contestant &one : measurement.contestants)
    if (one.ran())
      rows.push_back(cellsOf(one, program));
  if (rows.size() > 1)
    text += asTable(rows);
  for (const Contestant &one : measurement.contestants) {
    if (one.isWrong)
      text += fmt::format("  {}: WRONG: its results differ from what is expected by {:.1e} of it; its "
                          "times count for nothing\n",
                          one.name, one.difference.value_or(0));
    if (!one.failure.empty())
      text += fmt::format("  {}: {}: {}\n", one.name, one.ran() ? "ended early" : "not run",
                          one.failure);
    if (!one.note.empty())
      text += fmt::format("  {}: {}\n", one.name, one.note);
  }
  if (const Contestant *best = measurement.bestPeer())
    for (const Contestant &one : measurement.contestants)
      if (!one.isPeer && one.counts())
        text += fmt::format("  {}: {:.2f} of the time of the best peer, {} (by the best run {:.2f})\n",
                            one.name,
                            one.latency.percentile(50) / best->latency.percentile(50), best->name,
                            one.latency.percentile(0) / best->latency.percentile(0));
  if (measurement.isInterrupted)
    text += "  interrupted: these are the runs until then\n";
  return text;
}

static ordered_json asJson(const Contestant &one, const Measurement &measurement) {
  const BenchProgram &program = measurement.program;
  ordered_json json = {{"name", one.name}, {"peer", one.isPeer}};
  if (!one.version.empty())
    json["version"] = one.version;
  if (!one.failure.empty())
    json["failure"] = one.failure;
  if (!one.note.empty())
    json["note"] = one.note;
  if (one.compileSeconds)
    json["compile_seconds"] = *one.compileSeconds;
  if (one.recompileSeconds)
    json["recompile_seconds"] = *one.recompileSeconds;
  if (!one.latency.first.empty())
    json["first_seconds"] = one.latency.first;
  if (!one.sram.empty())
    json["sram"] = one.sram;
  if (one.peakBytes)
    json["peak_bytes"] = *one.peakBytes;
  if (one.baseBytes)
    json["base_bytes"] = *one.baseBytes;
  if (one.difference) {
    json["difference"] = *one.difference; // null where it is infinite
    json["wrong"] = one.isWrong;
  }
  if (!one.ran())
    return json;
  double median = one.latency.percentile(50);
  json["runs"] = one.latency.steady.size();
  json["p50_seconds"] = median;
  json["p90_seconds"] = one.latency.percentile(90);
  json["p99_seconds"] = one.latency.percentile(99);
  json["min_seconds"] = one.latency.percentile(0);
  json["runs_per_second"] = one.latency.throughput();
  json["flops_per_second"] = program.flops / median;
  json["bytes_per_second"] = movedBytes(program) / median;
  if (measurement.limits) {
    json["of_peak_flops"] = program.flops / median / measurement.limits->flopsPerSecond;
    json["of_peak_bytes"] = movedBytes(program) / median / measurement.limits->bytesPerSecond;
  }
  if (const Contestant *best = measurement.bestPeer(); best && one.counts()) {
    json["ratio_to_best_peer"] = median / best->latency.percentile(50);
    json["ratio_to_best_peer_min"] = one.latency.percentile(0) / best->latency.percentile(0);
  }
  return json;
}

ordered_json asJson(const Measurement &measurement) {
  const BenchProgram &program = measurement.program;
  ordered_json json = {{"model", program.file}};
  if (!measurement.failure.empty()) {
    json["failure"] = measurement.failure;
    return json;
  }
  json["form"] = program.form;
  json["threads"] = measurement.threads;
  json["flops"] = program.flops;
  json["transcendentals"] = program.transcendentals;
  json["input_bytes"] = program.inputBytes;
  json["weight_bytes"] = program.weightBytes;
  json["result_bytes"] = program.resultBytes;
  json["import_seconds"] = program.importSeconds;
  json["checked_by"] = program.hasExpected ? "the golden reference" : "the first device";
  if (measurement.limits)
    json["machine"] = {{"flops_per_second", measurement.limits->flopsPerSecond},
                       {"bytes_per_second", measurement.limits->bytesPerSecond}};
  if (const Contestant *best = measurement.bestPeer())
    json["best_peer"] = best->name;
  json["contestants"] = ordered_json::array();
  for (const Contestant &one : measurement.contestants)
    json["contestants"].push_back(asJson(one, measurement));
  if (measurement.isInterrupted)
    json["interrupted"] = true;
  return json;
}

} // namespace cupel::testbench::bench
