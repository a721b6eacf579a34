// What the Python worker is told of an operator case: the case with everything resolved, as JSON,
// or that it is not to be run here at all. Reads the files of cases again as tests come to their
// turn and keeps the last few. Used by the session on behalf of the runner.
#pragma once

#include "cupel/testbench/opcases/Case.h"
#include "cupel/testbench/runner/Runner.h"

#include <list>
#include <string>

namespace cupel::testbench::session {

class CaseRequests {
public:
  /// `backend` and `arch` are those of the run, for the conditions of `skip_if`.
  CaseRequests(std::string backend, std::string arch)
      : backend(std::move(backend)), arch(std::move(arch)) {}

  runner::Prepared prepare(const TestItem &item, const std::string &device);

private:
  struct Kept {
    std::string path;
    int64_t modified = 0, size = 0;
    opcases::CaseFile file;
  };
  Result<const opcases::CaseFile *> load(const std::string &path);

  std::string backend, arch;
  std::list<Kept> kept; ///< The files read last.
};

/// The device as conditions of cases name it: `cupel?arch=n150` is `cupel`,
/// `/a/pjrt_plugin_spyre.so` is `spyre`.
std::string deviceType(std::string_view device);

} // namespace cupel::testbench::session
