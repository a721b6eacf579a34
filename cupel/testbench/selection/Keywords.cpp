#include "cupel/testbench/selection/Keywords.h"

#include "cupel/runtime/BuiltInArchitectures.h"
#include "cupel/support/Text.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace cupel::testbench::selection {

namespace {

char lowered(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

bool equalsLowered(const char *text, const char *lower, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (lowered(text[i]) != lower[i])
      return false;
  return true;
}

} // namespace

Keyword::Keyword(std::string_view word) : lower(word) {
  for (char &c : lower)
    c = lowered(c);
}

bool Keyword::isIn(std::string_view text) const {
  size_t size = lower.size();
  if (size == 0)
    return true;
  if (text.size() < size)
    return false;
  size_t i = 0, last = text.size() - size;
#ifdef __SSE2__
  // Sixteen places at a time where the first and the last letter could fit: setting bit 5 maps
  // upper case onto lower and at worst a few signs onto others, which the comparison sorts out.
  const __m128i bit = _mm_set1_epi8(0x20);
  const __m128i first = _mm_set1_epi8(char(lower.front() | 0x20));
  const __m128i final = _mm_set1_epi8(char(lower.back() | 0x20));
  for (; i + 15 <= last; i += 16) {
    __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i *>(text.data() + i));
    __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i *>(text.data() + i + size - 1));
    __m128i hits = _mm_and_si128(_mm_cmpeq_epi8(_mm_or_si128(a, bit), first),
                                 _mm_cmpeq_epi8(_mm_or_si128(b, bit), final));
    for (unsigned mask = unsigned(_mm_movemask_epi8(hits)); mask; mask &= mask - 1) {
      size_t at = i + size_t(__builtin_ctz(mask));
      if (equalsLowered(text.data() + at, lower.data(), size))
        return true;
    }
  }
#endif
  for (; i <= last; ++i)
    if (lowered(text[i]) == lower[0] && equalsLowered(text.data() + i, lower.data(), size))
      return true;
  return false;
}

std::span<const std::string_view> namesAroundPytestItems() {
  // The folders and the file, and the attribute in which pytest keeps a function's marks, which it
  // takes for a name like any other.
  static constexpr std::string_view kNames[] = {"tests", "runner", "test_models.py", "pytestmark"};
  return kNames;
}

std::span<const std::string_view> markersOfPytestItems() {
  static constexpr std::string_view kMarkers[] = {"model_test", "no_auto_properties",
                                                  "parametrize"};
  return kMarkers;
}

std::span<const std::string_view> wellKnownMarkers() {
  static constexpr std::string_view kOthers[] = {
      // Schedules and kinds.
      "push", "nightly", "weekly", "large", "notimeout", "extended", "baseline_uplift", "llm",
      "placeholder", "model_test", "no_auto_properties", "parametrize", "filecheck", "cpu",
      // Pytest's own.
      "skip", "skipif", "xfail", "usefixtures", "filterwarnings",
      // Statuses and bring-up statuses.
      "unspecified", "expected_passing", "known_failure_xfail", "not_supported_skip",
      "exclude_model", "unknown", "not_started", "failed_fe_compilation",
      "failed_ttmlir_compilation", "failed_runtime", "incorrect_result", "passed",
      // Parameters and model groups.
      "inference", "training", "single_device", "data_parallel", "tensor_parallel", "red",
      "generality", "vulcan",
      // What machines are called.
      "dual_chip", "llmbox", "galaxy", "bhqb", "multi_host_cluster"};
  // And architectures, as they are and as markers spell them.
  static const std::vector<std::string> kArchs = [] {
    std::vector<std::string> names;
    for (const runtime::BuiltInArchitecture &one : runtime::builtInArchitectures()) {
      names.emplace_back(one.name);
      names.emplace_back(one.name);
      std::replace(names.back().begin(), names.back().end(), '-', '_');
    }
    return names;
  }();
  static const std::vector<std::string_view> kMarkers = [] {
    std::vector<std::string_view> all(std::begin(kOthers), std::end(kOthers));
    all.insert(all.end(), kArchs.begin(), kArchs.end());
    return all;
  }();
  return kMarkers;
}

std::vector<std::string> unknownMarkers(const Expression &expression,
                                        std::span<const std::string_view> present) {
  std::span<const std::string_view> known = wellKnownMarkers();
  auto has = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> warnings;
  for (const std::string &word : expression.words()) {
    if (has(known, word) || has(present, word))
      continue;
    std::vector<std::string_view> candidates(known.begin(), known.end());
    candidates.insert(candidates.end(), present.begin(), present.end());
    std::string_view near = nearestWord(word, candidates);
    warnings.push_back("-m: no test has the marker " + word +
                       (near.empty() ? "" : "; did you mean " + std::string(near) + "?"));
  }
  return warnings;
}

} // namespace cupel::testbench::selection
