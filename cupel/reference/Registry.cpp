#include "cupel/reference/Registry.h"

namespace cupel::reference {

const Registry &Registry::get() {
  static const Registry registry = [] {
    Registry all;
    registerBasics(all);
    registerControlFlow(all);
    registerElementwise(all);
    registerDataMovement(all);
    registerReductions(all);
    registerLinear(all);
    registerQuantized(all);
    registerProbes(all);
    registerCollectives(all);
    registerProcesses(all);
    registerManual(all);
    return all;
  }();
  return registry;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> result;
  for (const auto &entry : planners)
    result.push_back(entry.getKey().str());
  llvm::sort(result);
  return result;
}

} // namespace cupel::reference
