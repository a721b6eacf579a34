#include "cupel/compiler/Backends.h"

#include "cupel/compiler/backends/cpu/CpuBackend.h"
#include "cupel/compiler/backends/null/NullBackend.h"
#include "cupel/compiler/backends/reference/ReferenceBackend.h"
#include "cupel/support/Text.h"

namespace cupel::compiler {

std::span<const Backend *const> backends() {
  static const Backend *const kAll[] = {&referenceBackend(), &cpuBackend(), &nullBackend()};
  return kAll;
}

Result<const Backend *> findBackend(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Backend *backend : backends()) {
    if (backend->name() == name)
      return backend;
    names.push_back(backend->name());
  }
  std::string_view nearest = nearestWord(name, names);
  std::string message = "there is no backend '" + std::string(name) + "'; ";
  if (!nearest.empty())
    return Error{message + "the nearest is '" + std::string(nearest) + "'"};
  message += "there are";
  for (std::string_view one : names)
    message += (one == names.front() ? " '" : ", '") + std::string(one) + "'";
  return Error{message};
}

} // namespace cupel::compiler
