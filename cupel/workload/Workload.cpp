#include "cupel/workload/Workload.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

using namespace cupel;
using namespace cupel::workload;

std::string cupel::workload::toString(const ProgramVersion &version) {
  return fmt::format("{}.{}.{}", version[0], version[1], version[2]);
}

static std::optional<ProgramVersion> parseVersion(std::string_view text) {
  ProgramVersion version{};
  for (int i = 0; i < 3; ++i) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version[i]);
    if (error != std::errc() || version[i] < 0)
      return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (i < 2) {
      if (!text.starts_with('.'))
        return std::nullopt;
      text.remove_prefix(1);
    }
  }
  return text.empty() ? std::optional(version) : std::nullopt;
}

std::optional<ProgramVersion> cupel::workload::artifactVersion(std::string_view bytes) {
  // Magic, the bytecode's own version in one or two bytes, then the producer up to a NUL.
  if (!bytes.starts_with("ML\xefR"))
    return std::nullopt;
  constexpr std::string_view kProducer = "StableHLO_v";
  size_t at = bytes.substr(0, 64).find(kProducer);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view rest = bytes.substr(at + kProducer.size());
  return parseVersion(rest.substr(0, rest.substr(0, 64).find('\0')));
}

std::optional<compare::Tolerance> Workload::toleranceFor(size_t result) const {
  if (tolerances.empty())
    return std::nullopt;
  return tolerances[result % tolerances.size()];
}

compare::Noise Workload::noiseFor(size_t device, size_t result) const {
  using Lists = std::vector<std::vector<tensor::Tensor>>;
  compare::Noise known{.precision = precision};
  auto find = [&](const Lists &lists) -> const tensor::Tensor * {
    if (lists.empty())
      return nullptr;
    const std::vector<tensor::Tensor> &own = lists[device < lists.size() ? device : 0];
    return result < own.size() ? &own[result] : nullptr;
  };
  for (const Lists &sample : noise)
    if (const tensor::Tensor *found = find(sample))
      known.samples.push_back(*found);
  if (const tensor::Tensor *found = find(noiseCenter); found && !known.samples.empty())
    known.center = *found;
  return known;
}

uint64_t Workload::byteSize() const {
  uint64_t bytes = 0;
  auto add = [&](const std::vector<tensor::Tensor> &list) {
    for (const tensor::Tensor &tensor : list)
      bytes += uint64_t(tensor.size()) * uint64_t(tensor::info(tensor.dtype()).bytes);
  };
  for (const ProgramBytes &program : programs)
    bytes += program.bytes.size();
  std::vector<const std::vector<std::vector<tensor::Tensor>> *> all = {&inputs, &expected,
                                                                       &noiseCenter};
  for (const auto &sample : noise)
    all.push_back(&sample);
  for (const auto *lists : all)
    for (const std::vector<tensor::Tensor> &list : *lists)
      add(list);
  add(constants);
  return bytes;
}

Result<const ProgramBytes *>
Workload::programFor(const std::optional<std::vector<int64_t>> &pluginVersion) const {
  const ProgramBytes *best = nullptr;
  std::vector<std::string> available;
  for (const ProgramBytes &program : programs) {
    if (!program.version) {
      if (!best)
        best = &program; // Text: taken where no artifact fits.
      continue;
    }
    available.push_back(toString(*program.version));
    bool fits = !pluginVersion ||
                std::ranges::lexicographical_compare(*program.version, *pluginVersion) ||
                std::ranges::equal(*program.version, *pluginVersion);
    if (!fits)
      continue;
    // The newest that fits; the oldest where the plugin keeps its version to itself.
    if (!best || !best->version ||
        (pluginVersion ? *best->version < *program.version : *program.version < *best->version))
      best = &program;
  }
  if (best)
    return best;
  return Error{fmt::format("the plugin reads StableHLO up to {}, the workload holds {}; save it "
                           "for an older version",
                           fmt::join(*pluginVersion, "."), fmt::join(available, ", "))};
}
