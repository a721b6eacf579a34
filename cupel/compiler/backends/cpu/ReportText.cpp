// How reports are written: lines for people, JSON for tools.

#include "cupel/compiler/backends/cpu/Report.h"

#include "cupel/compiler/backends/cpu/Bf16Product.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <map>

namespace cupel::compiler {

namespace {

/// Launches that take longest are listed one by one.
constexpr size_t kMostListed = 20;

/// As devices declare it.
const char *precisionName(const CpuReport &report) { return report.keepsNarrow ? "bf16/bf16" : "bf16/f32"; }

struct Sum {
  int64_t count = 0, runs = 0, bytes = 0;
  double flops = 0, transcendentals = 0, seconds = 0;

  void add(const LaunchReport &one) {
    ++count;
    runs += one.runs;
    bytes += one.bytes;
    flops += one.flops;
    transcendentals += one.transcendentals;
    seconds += one.seconds;
  }
};

using Sums = std::map<std::string, Sum>;

struct Totals {
  Sum all, fallback;
  Sums kernels, fallbacks; // By kind, by operation.
  std::map<std::string, int64_t> fused; // Operations inside, by what they were fused into.

  explicit Totals(const CpuReport &report) {
    for (const LaunchReport &one : report.launches) {
      all.add(one);
      kernels[one.kernel].add(one);
      if (one.isFallback) {
        fallback.add(one);
        fallbacks[one.operation].add(one);
      }
      if (llvm::StringRef name = one.operation; name.consume_front("tir.") && !one.fused.empty())
        fused[name.str()] += int64_t(one.fused.size());
    }
  }
};

template <typename Map, typename Count>
std::string listed(const Map &counts, Count count, const char *otherwise) {
  std::string text;
  for (const auto &[what, number] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count(number)) + " " + what;
  return text.empty() ? otherwise : text;
}

std::string percent(double part, double whole) {
  return llvm::formatv("{0:F1} %", whole > 0 ? 100 * part / whole : 0.0).str();
}

llvm::json::Object sumObject(const Sum &sum, bool wasRun) {
  llvm::json::Object object{{"count", sum.count},
                            {"flops", sum.flops},
                            {"transcendentals", sum.transcendentals},
                            {"bytes", sum.bytes}};
  if (wasRun) {
    object["runs"] = sum.runs;
    object["seconds"] = sum.seconds;
  }
  return object;
}

} // namespace

std::optional<double> estimatedSeconds(const CpuReport &report, const MachineRates &rates) {
  if (rates.flopsPerSecond <= 0 || rates.bytesPerSecond <= 0)
    return std::nullopt;
  double seconds = 0;
  for (const LaunchReport &one : report.launches)
    seconds += std::max(one.flops / rates.flopsPerSecond,
                        double(one.bytes - one.sramBytes) / rates.bytesPerSecond);
  return seconds;
}

static int64_t movedBytes(const CpuReport &report, bool isSram) {
  int64_t bytes = 0;
  for (const LaunchReport &one : report.launches)
    bytes += isSram ? one.sramBytes : one.bytes - one.sramBytes;
  return bytes;
}

std::string asText(llvm::ArrayRef<LevelReport> levels) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto milliseconds = [](const std::optional<double> &seconds) {
    return seconds ? llvm::formatv("{0:F3} ms", *seconds * 1e3).str() : std::string("-");
  };
  os << llvm::formatv("{0,-6}{1,9}{2,10}{3,14}{4,14}{5,12}{6,9}{7,13}{8,13}\n", "level", "launches", "fallbacks",
                      "DRAM bytes", "SRAM bytes", "SRAM used", "spilled", "estimated", "measured");
  for (const LevelReport &one : levels) {
    const CpuReport &report = one.report;
    Totals totals(report);
    bool isPlanned = report.sramBytes > 0 || report.inSram > 0;
    os << llvm::formatv("{0,-6}{1,9}{2,10}{3,14}{4,14}{5,12}{6,9}{7,13}{8,13}\n", one.level, totals.all.count,
                        totals.fallback.count, movedBytes(report, false), movedBytes(report, true),
                        report.sramBytes, isPlanned ? std::to_string(report.spilled) : "-",
                        milliseconds(one.estimated), milliseconds(report.seconds));
  }
  return text;
}

std::string asText(const CpuReport &report) {
  Totals totals(report);
  auto counted = [](const Sum &sum) { return sum.count; };
  auto number = [](int64_t count) { return count; };
  std::string fused = listed(totals.fused, number, "");
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "launches:  " << totals.all.count << "\n";
  os << "kernels:   " << listed(totals.kernels, counted, "none") << "\n";
  os << "fallbacks: " << listed(totals.fallbacks, counted, "none") << "\n";
  os << "fused:     " << (fused.empty() ? "none" : "operations inside: " + fused) << "\n";
  os << "arena:     " << report.arenaBytes << " bytes\n";
  if (report.sramBytes > 0 || report.inSram > 0)
    os << "sram:      " << report.sramBytes << " bytes hold " << report.inSram << " buffers; " << report.spilled
       << " of " << report.spilledBytes << " bytes are spilled\n";
  os << "constants: " << report.constantBytes << " bytes\n";
  if (report.kept > 0)
    os << "kept:      " << report.kept << " launches follow from small arguments, and are run again only when these change (here: always)\n";
  os << "flops:     " << llvm::formatv("{0:F0}", totals.all.flops) << ", and "
     << llvm::formatv("{0:F0}", totals.all.transcendentals) << " transcendental functions\n";
  os << "bytes:     " << totals.all.bytes << " read and written by launches\n";
  if (!report.fusions.empty())
    os << "fusions:   " << describeFusions(report.fusions) << "\n";
  if (!report.recognised.empty())
    os << "recognised: " << describeFusions(report.recognised) << "\n";
  if (!report.composites.empty())
    os << "composites: " << describeComposites(report.composites) << "\n";
  os << "trace:     " << report.trace << "\n";
  if (report.narrowProducts > 0)
    os << "precision: " << precisionName(report) << ", products and convolutions: " << report.narrowProducts << " (" << howBf16IsMultiplied() << ")\n";
  for (const RoundedWeight &one : report.weights) {
    os << llvm::formatv("weight:    {0} {1} as {2}, {3} bytes instead of {4}", one.name, one.type,
                        llvm::StringRef(tensor::nameOf(one.format)), one.packed, one.bytes);
    if (one.correlation)
      os << llvm::formatv(", PCC {0:F6}, at most {1:F2} % of its largest number off", *one.correlation,
                          100 * one.error.value_or(0));
    os << "\n";
  }
  if (!report.seconds)
    return text;
  double all = *report.seconds;
  os << llvm::formatv("time:      {0:F3} ms (the best of {1}), {2} of it in {3} runs of fallbacks\n",
                      all * 1e3, report.runs, percent(totals.fallback.seconds, all),
                      totals.fallback.runs);
  for (const auto &[kind, sum] : totals.kernels)
    os << llvm::formatv("  {0,-12} {1,8:F3} ms {2,8}  {3} runs\n", kind, sum.seconds * 1e3,
                        percent(sum.seconds, all), sum.runs);
  std::vector<const LaunchReport *> order;
  for (const LaunchReport &one : report.launches)
    order.push_back(&one);
  std::ranges::sort(order, [](const LaunchReport *a, const LaunchReport *b) {
    return std::pair(-a->seconds, a) < std::pair(-b->seconds, b);
  });
  os << "the longest launches:\n";
  for (const LaunchReport *one : llvm::ArrayRef(order).take_front(kMostListed))
    os << llvm::formatv("  {0,8:F3} ms {1,8}  {2} {3} ({4}), {5} fused, {6:F2} GFLOP/s, {7:F2} GB/s\n",
                        one->seconds * 1e3, percent(one->seconds, all), one->kernel, one->operation,
                        one->location, one->fused.size(),
                        one->seconds > 0 ? one->flops * double(one->runs) / one->seconds / 1e9 : 0.0,
                        one->seconds > 0 ? double(one->bytes * one->runs) / one->seconds / 1e9 : 0.0);
  return text;
}

std::string asJson(const CpuReport &report, llvm::ArrayRef<LevelReport> levels) {
  Totals totals(report);
  bool wasRun = report.seconds.has_value();
  llvm::json::Object kernels, fallbacks, fused;
  for (const auto &[kind, sum] : totals.kernels)
    kernels[kind] = sumObject(sum, wasRun);
  for (const auto &[operation, sum] : totals.fallbacks)
    fallbacks[operation] = sumObject(sum, wasRun);
  for (const auto &[kind, count] : totals.fused)
    fused[kind] = count;
  llvm::json::Array launches;
  for (const LaunchReport &one : report.launches) {
    llvm::json::Object launch{{"program", one.program},
                              {"kernel", one.kernel},
                              {"operation", one.operation},
                              {"location", llvm::json::fixUTF8(one.location)},
                              {"fused", llvm::json::Array(one.fused)},
                              {"fallback", one.isFallback},
                              {"flops", one.flops},
                              {"transcendentals", one.transcendentals},
                              {"bytes", one.bytes},
                              {"sram_bytes", one.sramBytes}};
    if (wasRun) {
      launch["runs"] = one.runs;
      launch["seconds"] = one.seconds;
    }
    launches.push_back(std::move(launch));
  }
  llvm::json::Object object{{"launches", std::move(launches)},
                            {"kernels", std::move(kernels)},
                            {"fallbacks", std::move(fallbacks)},
                            {"fused", std::move(fused)},
                            {"flops", totals.all.flops},
                            {"transcendentals", totals.all.transcendentals},
                            {"bytes", totals.all.bytes},
                            {"arena_bytes", report.arenaBytes},
                            {"constant_bytes", report.constantBytes},
                            {"kept_launches", report.kept},
                            {"argument_bytes", report.argumentBytes},
                            {"result_bytes", report.resultBytes},
                            {"sram_bytes", report.sramBytes},
                            {"sram_buffers", report.inSram},
                            {"spilled_buffers", report.spilled},
                            {"spilled_bytes", report.spilledBytes},
                            {"trace", llvm::json::fixUTF8(report.trace)}};
  llvm::json::Array rows;
  for (const LevelReport &one : levels) {
    Totals all(one.report);
    llvm::json::Object kinds;
    for (const auto &[kind, sum] : all.kernels)
      kinds[kind] = sum.count;
    llvm::json::Object row{{"level", one.level},
                           {"launches", all.all.count},
                           {"kernels", std::move(kinds)},
                           {"fallbacks", all.fallback.count},
                           {"dram_bytes", movedBytes(one.report, false)},
                           {"sram_bytes", movedBytes(one.report, true)},
                           {"sram_used", one.report.sramBytes},
                           {"spilled_buffers", one.report.spilled},
                           {"arena_bytes", one.report.arenaBytes}};
    if (one.estimated)
      row["estimated_seconds"] = *one.estimated;
    if (one.report.seconds)
      row["seconds"] = *one.report.seconds;
    rows.push_back(std::move(row));
  }
  if (!levels.empty())
    object["levels"] = std::move(rows);
  auto listCounts = [&](llvm::StringRef key, llvm::ArrayRef<FusionCount> counts) {
    llvm::json::Array list;
    for (const FusionCount &one : counts)
      list.push_back(llvm::json::Object{
          {"name", llvm::json::fixUTF8(one.name)}, {"count", one.count}, {"off", one.isOff}});
    if (!counts.empty())
      object[key] = std::move(list);
  };
  listCounts("fusions", report.fusions);
  listCounts("recognised", report.recognised);
  if (!report.composites.empty()) {
    llvm::json::Array composites;
    for (const CompositeUse &use : report.composites)
      composites.push_back(llvm::json::Object{
          {"name", llvm::json::fixUTF8(use.name)}, {"count", use.count}, {"known", use.isKnown}});
    object["composites"] = std::move(composites);
  }
  if (report.narrowProducts > 0)
    object["precision"] = llvm::json::Object{{"name", precisionName(report)}, {"products", report.narrowProducts}, {"how", howBf16IsMultiplied()}};
  if (!report.weights.empty()) {
    llvm::json::Array weights;
    for (const RoundedWeight &one : report.weights) {
      llvm::json::Object weight{{"name", llvm::json::fixUTF8(one.name)},
                                {"type", one.type},
                                {"format", llvm::StringRef(tensor::nameOf(one.format))},
                                {"bytes", one.bytes},
                                {"packed_bytes", one.packed}};
      if (one.correlation)
        weight["pcc"] = *one.correlation;
      if (one.error)
        weight["largest_error"] = *one.error;
      weights.push_back(std::move(weight));
    }
    object["weights"] = std::move(weights);
  }
  if (wasRun) {
    object["runs"] = report.runs;
    object["seconds"] = *report.seconds;
  }
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object))).str();
}

} // namespace cupel::compiler
