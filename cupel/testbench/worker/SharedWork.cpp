#include "cupel/testbench/worker/Device.h"

#include <charconv>
#include <sstream>

namespace cupel::testbench::worker {

/// Whether a list such as "2 map, 1 reference" names a kernel that computes and is not the reference's.
static bool namesOwnKernel(const std::string &kernels) {
  std::istringstream words(kernels);
  std::string count, kind;
  while (words >> count >> kind) {
    if (kind.ends_with(','))
      kind.pop_back();
    if (kind != "reference" && kind != "copy")
      return true;
  }
  return false;
}

std::map<std::string, std::string> notesForRecords(const std::map<std::string, std::string> &notes) {
  std::map<std::string, std::string> kept;
  for (const char *name : {"composites", "fusions", "precision", "trace"})
    if (auto found = notes.find(name); found != notes.end())
      kept.insert(*found);
  return kept;
}

std::optional<int64_t> arenaOf(const std::map<std::string, std::string> &notes) {
  auto found = notes.find("arena");
  int64_t bytes = 0;
  if (found == notes.end() ||
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), bytes).ec != std::errc())
    return std::nullopt;
  return bytes;
}

SharedWork sharedWorkOf(const std::map<std::string, std::string> &notes) {
  auto note = [&](const char *name) {
    auto found = notes.find(name);
    return found == notes.end() ? std::string() : found->second;
  };
  if (note("backend").starts_with("reference"))
    return {.isAll = true, .what = ""};
  std::string fallbacks = note("fallbacks"), folded = note("folded"), what = fallbacks;
  if (!folded.empty())
    what += (what.empty() ? "" : ", ") + folded + " folded at compile time";
  return {.isAll = !what.empty() && !namesOwnKernel(note("kernels")), .what = what};
}

} // namespace cupel::testbench::worker
