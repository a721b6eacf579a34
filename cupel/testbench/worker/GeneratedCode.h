// Generated code as a device: a folder that `cupel codegen` wrote is built where it is C++, and run in
// a process of its own with inputs and results as files. It runs the program that it was generated
// from and no other. Used by the worker for tests of the suite `generated`.
#pragma once

#include "cupel/testbench/worker/Device.h"

namespace cupel::testbench::worker {

/// How such a device is named: this, and the folder.
inline constexpr std::string_view kGeneratedDevice = "generated:";

Result<std::unique_ptr<Device>> openGeneratedCode(const std::string &folder);

} // namespace cupel::testbench::worker
