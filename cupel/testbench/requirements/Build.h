// Makes one environment: a virtual environment that sees the base's packages, with a model's own
// installed on top. Used by Environments.cpp, which decides where and when.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/requirements/Environments.h"

#include <string>
#include <vector>

namespace cupel::testbench::requirements {

/// What the base environment is, asked once per process and interpreter.
struct BaseEnvironment {
  std::string python;      ///< As it was named.
  std::string fingerprint; ///< Interpreter, version and every distribution with its version.
  std::vector<std::string> folders; ///< Its site-packages.
  bool hasPip = false;
};
Result<BaseEnvironment> describeBase(const std::string &python);

/// Makes the environment in `folder`, which must not exist, as it shall be once it is moved to
/// `final`.
Status build(const Requirements &requirements, const BaseEnvironment &base,
             const EnvironmentOptions &options, const std::string &folder,
             const std::string &final);

void say(const EnvironmentOptions &options, const std::string &line);

} // namespace cupel::testbench::requirements
