#include "cupel/runtime/Trace.h"

#include <cstdlib>

namespace cupel::runtime {

const std::shared_ptr<TraceRegion> &TraceRegion::ofProcess() {
  static const auto region = std::make_shared<TraceRegion>(kDefaultBytes);
  return region;
}

Status TraceRegion::fits(int64_t wanted, std::string_view program) const {
  if (wanted <= bytes)
    return {};
  return Error{ErrorCode::OutOfMemory,
               "the trace of " + std::string(program) + " needs " + std::to_string(wanted) +
                   " bytes and the trace region has " + std::to_string(bytes) +
                   "; set trace_region_size (TT_RUNTIME_TRACE_REGION_SIZE) to at least " +
                   std::to_string(wanted) + ", or leave enable_trace"};
}

Result<uint64_t> TraceRegion::take(int64_t wanted, std::string_view program) {
  if (Status status = fits(wanted, program); !status)
    return status.error();
  std::lock_guard lock(mutex);
  if (inUse + wanted > bytes) {
    inUse = 0;
    generation.fetch_add(1, std::memory_order_acq_rel);
  }
  inUse += wanted;
  return generation.load(std::memory_order_relaxed);
}

void TraceRegion::giveBack(int64_t given, uint64_t ofGeneration) {
  std::lock_guard lock(mutex);
  if (generation.load(std::memory_order_relaxed) == ofGeneration)
    inUse -= given;
}

int64_t TraceRegion::used() const {
  std::lock_guard lock(mutex);
  return inUse;
}

} // namespace cupel::runtime
