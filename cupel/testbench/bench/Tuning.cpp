#include "cupel/testbench/bench/Tuning.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::bench {

using nlohmann::ordered_json;

namespace {

/// A size brings something if it brings more than this; one that is nearer to the best is as good.
constexpr double kGain = 1.05, kAsGood = 0.98;

std::string milliseconds(double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); }

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

} // namespace

bool TunePoint::isOutOfMemory() const {
  return failure.find("RESOURCE_EXHAUSTED") != std::string::npos || failure.find("out of memory") != std::string::npos ||
         failure.find("bytes are free") != std::string::npos;
}

std::optional<int64_t> TunePoint::spilled() const {
  // "12 buffers in 4096 bytes, 3 spilled"
  size_t at = sram.rfind(", ");
  int64_t number = 0;
  if (at == std::string::npos ||
      std::from_chars(sram.data() + at + 2, sram.data() + sram.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

TunePoint pointOf(int64_t batch, const Measurement &measurement) {
  TunePoint point;
  point.batch = batch;
  point.failure = measurement.failure;
  if (!point.failure.empty() || measurement.contestants.empty())
    return point;
  const Contestant &one = measurement.contestants.front();
  point.first = one.latency.first;
  point.peakBytes = one.peakBytes;
  point.sram = one.sram;
  if (one.isWrong)
    point.failure = "its results are wrong";
  else if (!one.ran())
    point.failure = one.failure.empty() ? "it made no run" : one.failure;
  else
    point.seconds = one.latency.percentile(50);
  return point;
}

const TunePoint *Tuning::find(int64_t batch) const {
  auto found = std::ranges::find(points, batch, &TunePoint::batch);
  return found == points.end() ? nullptr : &*found;
}

std::string Tuning::reasonToStop() const {
  if (points.empty())
    return "";
  const TunePoint &last = points.back();
  if (last.isOutOfMemory())
    return fmt::format("memory ends at a batch of {}", last.batch);
  if (!last.ran())
    return fmt::format("a batch of {} does not run: {}", last.batch, last.failure);
  // Two sizes in a row that bring nothing: one alone may be noise.
  double best = 0;
  int idle = 0;
  for (const TunePoint &point : points) {
    idle = point.samplesPerSecond() > best * kGain ? 0 : idle + 1;
    best = std::max(best, point.samplesPerSecond());
  }
  if (idle >= 2)
    return fmt::format("throughput {}", last.samplesPerSecond() < best * kAsGood ? "falls" : "has flattened");
  return "";
}

const TunePoint *Tuning::winner() const {
  double best = 0;
  for (const TunePoint &point : points)
    best = std::max(best, point.samplesPerSecond());
  const TunePoint *chosen = nullptr;
  for (const TunePoint &point : points)
    if (point.ran() && point.samplesPerSecond() >= best * kAsGood && (!chosen || point.batch < chosen->batch))
      chosen = &point;
  return chosen;
}

std::string Tuning::why() const {
  const TunePoint *best = winner();
  if (!best)
    return "no batch size ran";
  std::string text = fmt::format("a batch of {} gives {:.1f} samples/s, {} a run", best->batch, best->samplesPerSecond(),
                                 milliseconds(best->seconds));
  const TunePoint *next = nullptr; // The next larger one that ran.
  for (const TunePoint &point : points)
    if (point.ran() && point.batch > best->batch && (!next || point.batch < next->batch))
      next = &point;
  if (next)
    text += fmt::format("; {} would give {:+.0f} % for {:.1f} times the latency", next->batch,
                        100 * (next->samplesPerSecond() / best->samplesPerSecond() - 1), next->seconds / best->seconds);
  for (const TunePoint &point : points)
    if (point.batch > best->batch && point.spilled().value_or(0) > best->spilled().value_or(0)) {
      text += fmt::format("; from {} on {} buffers find no room in SRAM (here {})", point.batch, *point.spilled(),
                          best->spilled().value_or(0));
      break;
    }
  return text;
}

std::string asText(const Tuning &tuning) {
  constexpr int kWidth = 32;
  double best = 0;
  for (const TunePoint &point : tuning.points)
    best = std::max(best, point.samplesPerSecond());
  const TunePoint *winner = tuning.winner();
  std::string text = fmt::format("{} on {}, {} threads\n{:>8}  {:>12}  {:>12}  {:>10}\n", tuning.model, tuning.device,
                                 tuning.threads, "batch", "samples/s", "latency", "peak MB");
  for (const TunePoint &point : tuning.points) {
    if (!point.ran()) {
      text += fmt::format("{:>8}  not run: {}\n", point.batch, point.failure);
      continue;
    }
    text += fmt::format("{:>8}  {:>12.1f}  {:>12}  {:>10}  {}{}{}\n", point.batch, point.samplesPerSecond(),
                        milliseconds(point.seconds),
                        point.peakBytes ? fmt::format("{:.1f}", *point.peakBytes / 1e6) : "",
                        std::string(size_t(kWidth * point.samplesPerSecond() / best), '#'),
                        &point == winner ? " <-" : "", point.sram.empty() ? "" : "  sram: " + point.sram);
  }
  if (std::string reason = tuning.reasonToStop(); !reason.empty())
    text += fmt::format("  stopped: {}\n", reason);
  return text + "  " + tuning.why() + "\n";
}

std::string asSvg(const Tuning &tuning) {
  constexpr double kWidth = 640, kHeight = 360, kLeft = 72, kTop = 40, kRight = 24, kBottom = 56;
  std::vector<const TunePoint *> ran;
  for (const TunePoint &point : tuning.points)
    if (point.ran())
      ran.push_back(&point);
  std::ranges::sort(ran, {}, &TunePoint::batch);
  double best = 0;
  for (const TunePoint *point : ran)
    best = std::max(best, point->samplesPerSecond());
  auto x = [&](size_t i) { // Sizes double mostly: they stand at equal distances.
    return ran.size() < 2 ? kWidth / 2 : kLeft + (kWidth - kLeft - kRight) * double(i) / double(ran.size() - 1);
  };
  auto y = [&](double value) { return kHeight - kBottom - (kHeight - kTop - kBottom) * (best > 0 ? value / best : 0); };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<title>Throughput by batch size: {2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{3:.0f}\" y=\"20\" font-size=\"14\">{2} on {4}, {5} threads</text>\n"
      "<path d=\"M{3:.0f} {6:.0f}V{7:.0f}H{8:.0f}\" fill=\"none\" stroke=\"#555\"/>\n",
      kWidth, kHeight, escaped(tuning.model), kLeft, escaped(tuning.device), tuning.threads, kTop, kHeight - kBottom, kWidth - kRight);
  for (double part : {0.0, 0.5, 1.0})
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{:.4g}</text>\n", kLeft - 6, y(best * part) + 4, best * part);
  std::string line;
  const TunePoint *winner = tuning.winner();
  for (size_t i = 0; i < ran.size(); ++i) {
    line += fmt::format("{}{:.1f} {:.1f}", i ? "L" : "M", x(i), y(ran[i]->samplesPerSecond()));
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", x(i), kHeight - kBottom + 18, ran[i]->batch);
  }
  svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#2563eb\" stroke-width=\"2\"/>\n", line);
  for (size_t i = 0; i < ran.size(); ++i)
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>batch {}: {:.1f} samples/s, {}</title></circle>\n",
                       x(i), y(ran[i]->samplesPerSecond()), ran[i] == winner ? 6 : 4, ran[i] == winner ? "#16a34a" : "#2563eb",
                       ran[i]->batch, ran[i]->samplesPerSecond(), milliseconds(ran[i]->seconds));
  svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">batch size</text>\n<text x=\"{:.0f}\" y=\"{:.0f}\">samples/s</text>\n", kLeft,
                     kHeight - 10, 6.0, kTop - 8);
  return svg + "</svg>\n";
}

ordered_json asJson(const Tuning &tuning) {
  ordered_json points = ordered_json::array();
  for (const TunePoint &point : tuning.points) {
    ordered_json one = {{"batch", point.batch}};
    if (!point.failure.empty())
      one["failure"] = point.failure;
    if (point.ran()) {
      one["seconds"] = point.seconds;
      one["samples_per_second"] = point.samplesPerSecond();
    }
    if (!point.first.empty())
      one["first_seconds"] = point.first;
    if (point.peakBytes)
      one["peak_bytes"] = *point.peakBytes;
    if (!point.sram.empty())
      one["sram"] = point.sram;
    points.push_back(std::move(one));
  }
  ordered_json json = {{"key", tuning.key}, {"model", tuning.model}, {"device", tuning.device}, {"threads", tuning.threads}, {"points", points}};
  if (const TunePoint *winner = tuning.winner())
    json["winner"] = winner->batch;
  json["why"] = tuning.why();
  if (std::string reason = tuning.reasonToStop(); !reason.empty())
    json["stopped"] = reason;
  return json;
}

Result<Tuning> tuningFromJson(const std::string &text) {
  ordered_json json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("points") || !json["points"].is_array())
    return Error{"is not what cupel tune wrote"};
  Tuning tuning;
  auto word = [](const ordered_json &from, const char *key) {
    return from.contains(key) && from[key].is_string() ? from[key].get<std::string>() : std::string();
  };
  auto number = [](const ordered_json &from, const char *key) {
    return from.contains(key) && from[key].is_number() ? from[key].get<double>() : 0.0;
  };
  tuning.key = word(json, "key");
  tuning.model = word(json, "model");
  tuning.device = word(json, "device");
  tuning.threads = uint32_t(number(json, "threads"));
  for (const ordered_json &one : json["points"]) {
    if (!one.is_object())
      return Error{"is not what cupel tune wrote"};
    TunePoint point;
    point.batch = int64_t(number(one, "batch"));
    point.seconds = number(one, "seconds");
    point.failure = word(one, "failure");
    point.sram = word(one, "sram");
    if (one.contains("peak_bytes"))
      point.peakBytes = number(one, "peak_bytes");
    if (one.contains("first_seconds") && one["first_seconds"].is_array())
      for (const ordered_json &seconds : one["first_seconds"])
        point.first.push_back(seconds.is_number() ? seconds.get<double>() : 0);
    tuning.points.push_back(std::move(point));
  }
  return tuning;
}

} // namespace cupel::testbench::bench
