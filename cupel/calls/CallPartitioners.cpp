#include "cupel/calls/CallPartitioners.h"

namespace cupel::calls {

CallPartitioners &CallPartitioners::get() {
  // Never destroyed: threads may still compile while the process ends.
  static CallPartitioners &all = *new CallPartitioners;
  return all;
}

std::shared_ptr<const CallPartitioner> CallPartitioners::find(std::string_view target) const {
  std::lock_guard lock(mutex);
  auto found = partitioners.find(target);
  return found == partitioners.end() ? nullptr : found->second;
}

void CallPartitioners::set(std::string target, CallPartitioner partitioner) {
  auto made = std::make_shared<const CallPartitioner>(std::move(partitioner));
  std::lock_guard lock(mutex);
  partitioners[std::move(target)].swap(made);
}

} // namespace cupel::calls
