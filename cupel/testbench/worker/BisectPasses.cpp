// Which rewrite of our own compiler makes a result wrong: the device does the first so many of them
// (its option opt_bisect_limit), and the smallest number with which the test fails is the one.

#include "cupel/runtime/DeviceName.h"
#include "cupel/testbench/worker/Explain.h"

#include <fmt/format.h>

namespace cupel::testbench::worker {

using results::Explanation;

namespace {

/// More rewrites than these no program has.
constexpr int64_t kMostRewrites = int64_t(1) << 24;

bool isOurs(const runtime::DeviceName &device) {
  return device.plugin == "cupel" || device.plugin.ends_with("pjrt_plugin_cupel.so");
}

} // namespace

void Explainer::bisectPasses(Explanation &found) {
  runtime::DeviceName device = runtime::DeviceName::parse(request.device, request.arch);
  if (request.device.find('@') != std::string::npos || !isOurs(device)) {
    found.remarks.push_back("--bisect-passes names passes of our own compiler, and this device is "
                            "none of ours");
    return;
  }
  std::erase_if(device.options,
                [](const std::string &one) { return one.starts_with("opt_bisect_limit="); });
  auto proberFor = [&](int64_t limit) {
    runtime::DeviceName limited = device;
    limited.options.push_back(fmt::format("opt_bisect_limit={}", limit));
    auto made = std::make_unique<Prober>(request, reference, isolatedName(limited.str()), 1);
    made->setDeadline(options.probeSeconds);
    return made;
  };
  auto fails = [&](int64_t limit) -> Result<bool> {
    seams.tell(fmt::format("with the first {} rewrites of the compiler", limit));
    Result<TriedPiece> tried = proberFor(limit)->probe(*plain);
    if (!tried)
      return tried.error();
    return tried->failsLike(failure);
  };
  int64_t right = 0, wrong = 1;
  Result<bool> failed = fails(0);
  if (failed && *failed) {
    found.remarks.push_back("it fails without any rewrite that the compiler may leave");
    return;
  }
  // In ever larger steps up, then between the last two.
  while (failed && wrong < kMostRewrites) {
    failed = fails(wrong);
    if (!failed || *failed)
      break;
    right = wrong;
    wrong *= 2;
  }
  while (failed && wrong - right > 1) {
    int64_t middle = right + (wrong - right) / 2;
    failed = fails(middle);
    if (failed)
      (*failed ? wrong : right) = middle;
  }
  if (!failed) {
    found.remarks.push_back("the compiler's rewrites cannot be searched: " + failed.message());
    return;
  }
  if (wrong >= kMostRewrites) {
    found.remarks.push_back("it does not fail with any limit of the compiler's rewrites");
    return;
  }
  std::unique_ptr<Prober> last = proberFor(wrong);
  if (Result<std::vector<tensor::Tensor>> given = last->execute(*plain); given)
    if (std::map<std::string, std::string> notes = last->notes(); notes.contains("last_rewrite"))
      found.pass = notes["last_rewrite"];
  if (found.pass.empty())
    found.pass = fmt::format("rewrite {} of the compiler (opt_bisect_limit)", wrong);
}

} // namespace cupel::testbench::worker
