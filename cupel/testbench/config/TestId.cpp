#include "cupel/testbench/config/TestId.h"

#include <algorithm>
#include <iterator>

namespace cupel::testbench::config {

namespace {

constexpr std::string_view kRunModes[] = {"inference", "training"};
constexpr std::string_view kParallelisms[] = {"single_device", "data_parallel", "tensor_parallel"};
constexpr std::string_view kShardings[] = {"megatron-no_dp-", "fsdp-no_dp-", "fsdp-dp-",
                                           "megatron-dp-"};
constexpr std::string_view kMeshes[] = {"mesh_default", "mesh_1x4", "mesh_2x2",
                                        "mesh_1x8",     "mesh_2x4", "mesh_4x8"};
constexpr std::string_view kPhases[] = {"llm_decode", "llm_prefill"};

/// Takes `-word` off the end of `text`, for the word of `words` that is there.
template <size_t N>
std::string_view takeEnd(std::string_view &text, const std::string_view (&words)[N]) {
  for (std::string_view word : words)
    if (text.size() > word.size() + 1 && text.ends_with(word) &&
        text[text.size() - word.size() - 1] == '-') {
      text.remove_suffix(word.size() + 1);
      return word;
    }
  return {};
}

/// Takes `-<prefix><digits>` off the end.
bool takeNumber(std::string_view &text, std::string_view prefix) {
  size_t dash = text.rfind('-');
  if (dash == std::string_view::npos)
    return false;
  std::string_view part = text.substr(dash + 1);
  if (!part.starts_with(prefix) || part.size() == prefix.size() ||
      part.find_first_not_of("0123456789", prefix.size()) != std::string_view::npos)
    return false;
  text = text.substr(0, dash);
  return true;
}

/// The folder of a loader that a text begins with, up to the segment that is a framework's; empty
/// if there is none.
std::string_view takeModelPath(std::string_view text, std::string_view &framework) {
  for (size_t slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    size_t end = text.find_first_of("-/", slash + 1);
    std::string_view segment = text.substr(slash + 1, end - slash - 1);
    if (std::find(std::begin(kFrameworks), std::end(kFrameworks), segment) !=
            std::end(kFrameworks) &&
        (end == std::string_view::npos || text[end] == '-')) {
      framework = segment;
      return text.substr(0, end);
    }
  }
  return {};
}

} // namespace

std::optional<TestId> parseTestId(std::string_view id) {
  TestId result;
  std::string_view rest = id;
  result.runMode = takeEnd(rest, kRunModes);
  if (result.runMode.empty())
    return std::nullopt;
  bool hasMesh = !takeEnd(rest, kMeshes).empty();
  result.parallelism = takeEnd(rest, kParallelisms);
  if (result.parallelism.empty())
    return std::nullopt;
  if (hasMesh) {
    if (result.parallelism == "data_parallel")
      return std::nullopt;
    if (result.parallelism == "tensor_parallel")
      for (std::string_view sharding : kShardings) {
        sharding.remove_suffix(1); // Its dash is that of the parallelism, taken already.
        if (rest.size() > sharding.size() + 1 && rest.ends_with(sharding) &&
            rest[rest.size() - sharding.size() - 1] == '-') {
          rest.remove_suffix(sharding.size() + 1);
          break;
        }
      }
    if (!takeNumber(rest, "batch_") || !takeNumber(rest, "seq_"))
      return std::nullopt;
    result.phase = takeEnd(rest, kPhases);
    if (result.phase.empty())
      return std::nullopt;
  }
  // What is left is the folder of the loader and perhaps the variant, which may have slashes too.
  result.modelPath = takeModelPath(rest, result.framework);
  return result.modelPath.empty() ? std::nullopt : std::optional(result);
}

bool mayBeFileTestId(std::string_view id) {
  constexpr std::string_view kEndings[] = {".mlir", ".mlirbc", ".mlir.bc", ".onnx",
                                           ".pt2",  ".yaml",   ".yml"};
  if (id.empty() || parseTestId(id))
    return false;
  std::string_view path = id.substr(0, id.find('#'));
  for (std::string_view ending : kEndings)
    if (path.size() > ending.size() && path.ends_with(ending))
      return true;
  // A model in ONNX's layout and a workload are folders, by any name.
  std::string_view rest = path, framework;
  return takeEnd(rest, kRunModes).empty() && takeModelPath(path, framework).empty();
}

} // namespace cupel::testbench::config
