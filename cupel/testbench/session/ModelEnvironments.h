// The Python environments that the models of a run ask for: made before its first test, each once,
// whatever number of tests use it. Says of each test which interpreter serves it, or why none can.
// Used by the session; never writes to the base environment.
#pragma once

#include "cupel/testbench/requirements/Environments.h"
#include "cupel/testbench/runner/Runner.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cupel::testbench::session {

class ModelEnvironments {
public:
  /// Makes what those of `items` need that will run, and groups the tests in `running` by it.
  /// `note` hears of what takes long.
  void make(const std::vector<TestItem> &items, runner::RunnerOptions &running,
            const std::function<void(const std::string &)> &note);

  /// What a test begins with: the interpreter of its environment (the base's: none), or its end,
  /// where its requirements could not be installed.
  runner::Prepared prepare(const TestItem &item) const;

private:
  struct Made {
    std::string python; ///< Empty: the base's.
    std::string failure;
  };
  std::map<std::string, Made> byFolder; ///< Of loaders.
};

} // namespace cupel::testbench::session
